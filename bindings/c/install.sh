#!/bin/sh
# Installs the C interface: install.sh <folder of libleaflog.so and libleaflog.a>; removes it: install.sh --remove
# PREFIX (/usr/local), LIBDIR (PREFIX/lib), INCLUDEDIR (PREFIX/include) and DESTDIR as usual.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
header=$here/../../include/leaflog.h
built=${1:?the folder of libleaflog.so and libleaflog.a, or --remove}
PREFIX=${PREFIX:-/usr/local}
LIBDIR=${LIBDIR:-$PREFIX/lib}
INCLUDEDIR=${INCLUDEDIR:-$PREFIX/include}
DESTDIR=${DESTDIR:-}

case $PREFIX in
/*) ;;
*) echo "PREFIX must be an absolute path: $PREFIX" >&2; exit 2 ;;
esac

version=$(sed -n 's/^#define LEAFLOG_VERSION "\(.*\)"/\1/p' "$header")
abi=$(sed -n 's/^#define LEAFLOG_ABI_VERSION //p' "$header")
# What a program that links the static library needs beside it.
private="-lpthread -lm -ldl -lgcc_s"

# The static library contains an SQLite. A program that links an SQLite of its own after it would silently get ours, so
# ours is renamed to leaflog_sqlite3_... (The shared library does not export it.)
hide_sqlite() {
    # The tools of macOS cannot rename symbols.
    [ "$(uname -s)" != Darwin ] || return 0
    names=$1.names
    "${NM:-nm}" -g --defined-only "$1" 2>/dev/null | sed -n 's/^[0-9a-f]* . \(sqlite3_.*\)$/\1 leaflog_\1/p' | sort -u >"$names"
    "${OBJCOPY:-objcopy}" --redefine-syms="$names" "$1" || {
        rm -f "$names" "$1"
        echo "libleaflog.a is not installed: objcopy is needed (a package binutils)" >&2
        exit 1
    }
    rm -f "$names"
}

lib=$DESTDIR$LIBDIR
if [ "$built" = --remove ]; then
    rm -f "$DESTDIR$INCLUDEDIR/leaflog.h" "$lib/libleaflog.a" "$lib/libleaflog.so" "$lib/libleaflog.so.$abi" \
        "$lib/libleaflog.so.$version" "$lib/libleaflog.dylib" "$lib/libleaflog.$abi.dylib" "$lib/pkgconfig/leaflog.pc"
    rm -rf "$lib/cmake/leaflog"
    exit
fi
mkdir -p "$lib/pkgconfig" "$lib/cmake/leaflog" "$DESTDIR$INCLUDEDIR"
install -m 644 "$header" "$DESTDIR$INCLUDEDIR/leaflog.h"
install -m 644 "$built/libleaflog.a" "$lib/libleaflog.a"
hide_sqlite "$lib/libleaflog.a"
if [ "$(uname -s)" = Darwin ]; then
    shared=libleaflog.$abi.dylib soname=@rpath/libleaflog.$abi.dylib
    install -m 755 "$built/libleaflog.dylib" "$lib/$shared"
    ln -sf "$shared" "$lib/libleaflog.dylib"
else
    shared=libleaflog.so.$version soname=libleaflog.so.$abi
    install -m 755 "$built/libleaflog.so" "$lib/$shared"
    ln -sf "$shared" "$lib/$soname"
    ln -sf "$soname" "$lib/libleaflog.so"
fi

fill() {
    sed -e "s|@PREFIX@|$PREFIX|g" -e "s|@LIBDIR@|$LIBDIR|g" -e "s|@INCLUDEDIR@|$INCLUDEDIR|g" \
        -e "s|@VERSION@|$version|g" -e "s|@SHARED@|$shared|g" -e "s|@SONAME@|$soname|g" \
        -e "s|@PRIVATE@|$private|g" "$here/$1" >"$2"
    chmod 644 "$2"
}
fill leaflog.pc.in "$lib/pkgconfig/leaflog.pc"
fill leaflog-config.cmake.in "$lib/cmake/leaflog/leaflog-config.cmake"
fill leaflog-config-version.cmake.in "$lib/cmake/leaflog/leaflog-config-version.cmake"
