#!/bin/sh
# The tests of the C interface: run.sh <folder of libleaflog.so and libleaflog.a> [<scratch folder>]
#
# With TSAN_LIB, the folder of a libleaflog.a made with a thread sanitizer, the test of threads runs under it too
# (`make test-c` makes one where it can).
#
# Every program is built as C11 and as C++17 and run: plain, under AddressSanitizer and UndefinedBehaviorSanitizer,
# and under valgrind with no leak at all. What cannot be had on a machine is said in one line; with LEAFLOG_REQUIRE=1 that is a
# failure.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
lib=$(cd "$1" && pwd)
work=${2:-$lib/c-tests}
rm -rf "$work"
mkdir -p "$work"

cc=${CC:-cc}
cxx=${CXX:-c++}
strict="-Wall -Wextra -Werror -pedantic -g"
programs="session reading keeping finding history misuse threads"
system_libs="-lpthread -lm -ldl -lgcc_s"

have() { command -v "$1" >/dev/null 2>&1; }
. "$here/../skip.sh"
fail() { echo "FAILED: $1" >&2; exit 1; }
have "$cc" || fail "no C compiler (a package gcc or clang)"

# The name the program will ask for at run time; cargo only makes the other.
soname=$(readelf -d "$lib/libleaflog.so" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')
abi=$(sed -n 's/^#define LEAFLOG_ABI_VERSION //p' "$root/include/leaflog.h")
[ "$soname" = "libleaflog.so.$abi" ] || fail "the shared library's name is '$soname', not libleaflog.so.$abi"
ln -sf "$lib/libleaflog.so" "$work/libleaflog.so"
ln -sf "$lib/libleaflog.so" "$work/$soname"

# run <name of the run> <program> [<before it> ...]: in a folder of its own
run() {
    name=$1 program=$2
    shift 2
    mkdir -p "$work/dirs/$name"
    TEST_DIR="$work/dirs/$name" XDG_DATA_HOME= HOME="$work/dirs/$name" LD_LIBRARY_PATH="$work" \
        "$@" "$work/$program" >"$work/$name.out" 2>&1 || {
        cat "$work/$name.out" >&2
        fail "$name"
    }
}

for p in $programs; do
    $cc -std=c11 $strict -I"$root/include" "$here/$p.c" -o "$work/$p" -L"$work" -lleaflog -lpthread
    # The calls that are made are those that the dynamic linker looks up when they are first made.
    LD_DEBUG=bindings LD_DEBUG_OUTPUT="$work/$p.bindings" LD_BIND_NOW= run "$p" "$p"
    $cc -std=c11 $strict -I"$root/include" "$here/$p.c" -o "$work/$p-static" "$lib/libleaflog.a" $system_libs
    run "$p-static" "$p-static"
done
echo "ok: $programs, as C11, with the shared and with the static library"

# Every function of the header is called, and the library exports those and no others.
sed -n 's/^[a-z].*[ *]\(leaflog_[a-z0-9_]*\)(.*/\1/p' "$root/include/leaflog.h" | grep -v '^leaflog_cstr$' |
    sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 100 ] || fail "the functions of the header were not found"
nm -D --defined-only "$lib/libleaflog.so" | sed 's/.* //; s/@.*//' | sort >"$work/exported"
diff "$work/declared" "$work/exported" || fail "the header (<) and the library's symbols (>) differ"
nm -g --defined-only "$lib/libleaflog.a" 2>/dev/null | sed -n 's/.* T \(leaflog_.*\)/\1/p' | sort -u |
    diff "$work/declared" - || fail "the header (<) and the static library's symbols (>) differ"
sed -n 's/.*`\(leaflog_[a-z0-9_]*\)'"'"'.*/\1/p' "$work"/*.bindings.* | sort -u >"$work/called"
comm -23 "$work/declared" "$work/called" >"$work/uncalled"
[ ! -s "$work/uncalled" ] || fail "no test calls $(tr '\n' ' ' <"$work/uncalled")"
echo "ok: $(wc -l <"$work/declared") functions are declared, exported and called"

if have "$cxx"; then
    for p in $programs; do
        $cxx -x c++ -std=c++17 $strict -I"$root/include" "$here/$p.c" -o "$work/$p-cxx" -L"$work" -lleaflog -lpthread
        run "$p-cxx" "$p-cxx"
    done
    echo "ok: the same as C++17"
else
    skip "C++ (no C++ compiler: a package g++ or clang)"
fi

san="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
if $cc $san "$here/fault.c" -I"$root/include" -o "$work/fault-san" -L"$work" -lleaflog 2>/dev/null; then
    for kind in heap undefined leak; do
        # Proof that it is really in: it stops a program that is wrong.
        if LD_LIBRARY_PATH="$work" "$work/fault-san" $kind >"$work/fault.out" 2>&1; then
            fail "the sanitizer did not notice the fault '$kind'"
        fi
        grep -Eq 'heap-buffer-overflow|signed integer overflow|detected memory leaks' "$work/fault.out" ||
            fail "the fault '$kind' ended the program, but not by the sanitizer"
    done
    for p in $programs; do
        $cc -std=c11 $strict $san -I"$root/include" "$here/$p.c" -o "$work/$p-san" -L"$work" -lleaflog -lpthread
        run "$p-san" "$p-san"
    done
    echo "ok: the same under AddressSanitizer and UndefinedBehaviorSanitizer, which notice faults"
else
    skip "sanitizers (the C compiler has none: packages libasan and libubsan)"
fi

if have valgrind; then
    vg="valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --suppressions=$here/valgrind.supp"
    $cc -std=c11 $strict -I"$root/include" "$here/fault.c" -o "$work/fault" -L"$work" -lleaflog
    for kind in heap leak; do
        status=0
        LD_LIBRARY_PATH="$work" $vg "$work/fault" $kind >"$work/fault.out" 2>&1 || status=$?
        [ $status = 99 ] || fail "valgrind did not notice the fault '$kind'"
    done
    for p in $programs; do
        run "$p-valgrind" "$p" $vg
    done
    echo "ok: the same under valgrind, without an error and with nothing leaked or still reachable"
else
    skip "valgrind (a package valgrind)"
fi

if [ -n "${TSAN_LIB:-}" ]; then
    # The runtime of the Rust compiler that made the library, which knows the calls it makes.
    runtime=$(rustc +nightly --print sysroot)/lib/rustlib/$TSAN_TARGET/lib/librustc-nightly_rt.tsan.a
    build_tsan() {
        $cc -std=c11 $strict -fsanitize=thread -I"$root/include" -c "$here/$1.c" -o "$work/$1-tsan.o"
        $cc "$work/$1-tsan.o" "$TSAN_LIB/libleaflog.a" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive \
            $system_libs -lrt -o "$work/$1-tsan"
    }
    build_tsan fault
    if "$work/fault-tsan" race >"$work/fault.out" 2>&1; then fail "the sanitizer did not notice the fault 'race'"; fi
    grep -q 'data race' "$work/fault.out" || fail "the fault 'race' ended the program, but not by the sanitizer"
    build_tsan threads
    TSAN_OPTIONS="suppressions=$here/tsan.supp" run threads-tsan threads-tsan
    echo "ok: four threads under ThreadSanitizer, which notices faults"
else
    echo "not done: ThreadSanitizer, which needs a nightly Rust (rustup toolchain install nightly)"
fi
