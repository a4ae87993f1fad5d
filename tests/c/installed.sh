#!/bin/sh
# The C interface as it is installed: installed.sh <folder of libleaflog.so and libleaflog.a> [<scratch folder>]
#
# Installs into an empty prefix, builds the examples of bindings/c/examples with what a user has, and runs them.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(cd "$1" && pwd)
work=${2:-$lib/c-installed}
rm -rf "$work"
mkdir -p "$work"
prefix=$work/prefix
examples=$root/bindings/c/examples

cc=${CC:-cc}
cxx=${CXX:-c++}
have() { command -v "$1" >/dev/null 2>&1; }
. "$root/tests/skip.sh"
fail() { echo "FAILED: $1" >&2; exit 1; }
expect() { grep -q -- "$2" "$1" || { cat "$1" >&2; fail "'$2' is not in $1"; }; }

PREFIX=$prefix sh "$root/bindings/c/install.sh" "$lib"
abi=$(sed -n 's/^#define LEAFLOG_ABI_VERSION //p' "$prefix/include/leaflog.h")
[ -L "$prefix/lib/libleaflog.so" ] && [ -e "$prefix/lib/libleaflog.so" ] || fail "libleaflog.so is no link to the library"
[ -L "$prefix/lib/libleaflog.so.$abi" ] || fail "libleaflog.so.$abi is no link to the library"
# With DESTDIR everything is under it, and says what it would without.
PREFIX=/opt/leaflog DESTDIR=$work/stage sh "$root/bindings/c/install.sh" "$lib"
expect "$work/stage/opt/leaflog/lib/pkgconfig/leaflog.pc" '^prefix=/opt/leaflog$'
if grep -rqF "$work" "$work/stage/opt/leaflog/lib/pkgconfig" "$work/stage/opt/leaflog/lib/cmake"; then
    fail "DESTDIR is in an installed file"
fi

# What was put there is gone again, and nothing else.
echo mine >"$work/stage/opt/leaflog/lib/libother.so"
PREFIX=/opt/leaflog DESTDIR=$work/stage sh "$root/bindings/c/install.sh" --remove
left=$(find "$work/stage" ! -type d)
[ "$left" = "$work/stage/opt/leaflog/lib/libother.so" ] || fail "after --remove there is: $left"
echo "ok: installed and removed again"

if have pkg-config; then
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    flags=$(pkg-config --cflags --libs leaflog)
else
    skip "pkg-config (a package pkg-config or pkgconf); its flags are taken as known"
    flags="-I$prefix/include -L$prefix/lib -lleaflog"
fi
export LD_LIBRARY_PATH="$prefix/lib"

# As the head of the example says.
$cc -Wall -Wextra -Werror -pedantic "$examples/tour.c" $flags -o "$work/tour"
"$work/tour" "$work/agent" >"$work/tour.out" || fail "examples/tour.c"
expect "$work/tour.out" '^  [0-9a-f]\{8\} message assistant$'
expect "$work/tour.out" 'At 12:04.*Thank you'
! grep -q '"At noon' "$work/tour.out" || fail "examples/tour.c: the context has the other branch"
readelf -d "$work/tour" | grep -q "NEEDED.*libleaflog.so.$abi" || fail "the program does not ask for libleaflog.so.$abi"
echo "ok: examples/tour.c, with cc and pkg-config alone"

# The static library, with what leaflog.pc says it needs.
private=$(sed -n 's/^Libs.private: //p' "$prefix/lib/pkgconfig/leaflog.pc")
$cc "$examples/tour.c" -I"$prefix/include" "$prefix/lib/libleaflog.a" $private -o "$work/tour-static"
LD_LIBRARY_PATH="" "$work/tour-static" "$work/agent-static" >/dev/null || fail "examples/tour.c with the static library"
echo "ok: the same with the static library"

# Beside an SQLite of the program's own, shared and static, each uses its own (U20).
nm -g --defined-only "$prefix/lib/libleaflog.a" 2>/dev/null | sed -n 's/^[0-9a-f]* [A-Z] //p' | sort -u >"$work/exported"
expect "$work/exported" '^leaflog_sqlite3_open$'
! grep '^sqlite3_' "$work/exported" || fail "libleaflog.a exports an SQLite by its own names"
if echo '#include <sqlite3.h>' | $cc -E - >/dev/null 2>&1; then
    for sqlite in -lsqlite3 -l:libsqlite3.a; do
        $cc -Wall -Wextra -Werror "$root/tests/c/beside.c" -I"$prefix/include" "$prefix/lib/libleaflog.a" $sqlite $private \
            -o "$work/beside"
        TEST_DIR="$work" LD_LIBRARY_PATH="" "$work/beside" >"$work/beside.out" 2>&1 ||
            { cat "$work/beside.out" >&2; fail "tests/c/beside.c with $sqlite"; }
        rm -f "$work"/history.db*
    done
    echo "ok: libleaflog.a beside another SQLite ($(cat "$work/beside.out"))"
else
    skip "another SQLite beside ours (a package libsqlite3-dev)"
fi

if have "$cxx"; then
    $cxx -std=c++17 -Wall -Wextra -Werror -pedantic "$examples/raii.cpp" $flags -o "$work/raii"
    "$work/raii" >"$work/raii.out" || fail "examples/raii.cpp"
    expect "$work/raii.out" 'At 12:04'
    expect "$work/raii.out" '^ENTRY_NOT_FOUND: Entry nobody not found$'
    echo "ok: examples/raii.cpp"
else
    skip "C++ (no C++ compiler: a package g++ or clang)"
fi

if have python3; then
    file=$(find "$work/agent/sessions" -name '*.jsonl')
    python3 "$examples/session.py" "$prefix/lib/libleaflog.so" "$file" "$work/history.db" >"$work/python.out" || fail "examples/session.py"
    expect "$work/python.out" '^  message assistant \[rough\] "At noon."$'
    expect "$work/python.out" 'message user "And tomorrow?"$'
    expect "$work/python.out" '^found: When is high water at the old pier? (/home/ada/tides)$'
    [ "$(grep -c '^found' "$work/python.out")" = 1 ] || fail "examples/session.py: the search found more"
    expect "$work/python.out" 'ENTRY_NOT_FOUND: .*Entry nobody not found$'
    echo "ok: examples/session.py"
else
    skip "Python (a package python3)"
fi

if have cmake; then
    mkdir -p "$work/cmake"
    cat >"$work/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(leaflog 0.1 REQUIRED)
add_executable(tour $examples/tour.c)
target_link_libraries(tour leaflog::leaflog)
add_executable(tour_static $examples/tour.c)
target_link_libraries(tour_static leaflog::static)
END
    cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.out" 2>&1 &&
        cmake --build "$work/cmake/build" >>"$work/cmake.out" 2>&1 || { cat "$work/cmake.out" >&2; fail "CMake"; }
    "$work/cmake/build/tour" "$work/agent-cmake" >/dev/null || fail "examples/tour.c, by CMake"
    LD_LIBRARY_PATH="" "$work/cmake/build/tour_static" "$work/agent-cmake-static" >/dev/null || fail "the static library, by CMake"
    echo "ok: examples/tour.c, by find_package(leaflog)"
else
    skip "CMake (a package cmake)"
fi
