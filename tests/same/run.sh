#!/bin/sh
# The same operations through Rust, C and JavaScript give the same files, byte for byte:
#
#   run.sh <cargo's target folder> <folder of the npm package>
#
# needs `libleaflog.a` and `examples/same` in <target>/debug and a built package. Each script of `scripts`, and random
# ones, is done by same.rs, same.c and same.mjs, each in a folder of the same path (paths stand in session files), with
# ids and times of a SequenceGenerator. What cannot be had on a machine is said in one line; with LEAFLOG_REQUIRE=1
# that is a failure. LEAFLOG_LONG=1 does more random scripts, LEAFLOG_LONG_SECONDS=N as many as fit, of other seeds each
# time. The files stay when faces differ, and LEAFLOG_KEEP is set.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
debug=$(cd "$1/debug" && pwd)
package=$(cd "$2" && pwd)
# Syncing to a disk takes long.
work=$(mktemp -d /dev/shm/leaflog-same.XXXXXX 2>/dev/null || mktemp -d)
trap '[ -n "${LEAFLOG_KEEP:-}" ] || rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
now=$work/now

of=
cc=${CC:-cc}
have() { command -v "$1" >/dev/null 2>&1; }
. "$root/tests/skip.sh"
fail() { echo "FAILED: $1$of (with LEAFLOG_KEEP=1 the files stay, in $work)" >&2; exit 1; }

faces="rust"
rust="$debug/examples/same run"

strict="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -pedantic -g"
build_c() {
    $cc $strict "$@" -I"$root/include" "$here/same.c" "$debug/libleaflog.a" -lpthread -lm -ldl -lgcc_s -o "$work/same-c"
}
if ! have "$cc"; then
    skip "C beside the others (no C compiler: a package gcc or clang)"
else
    build_c -fsanitize=address,undefined -fno-sanitize-recover=all 2>/dev/null || {
        skip "C beside the others with sanitizers (the C compiler has none); plain C is done"
        build_c
    }
    faces="$faces c" c="$work/same-c"
fi

bun_program=$package/node_modules/bun/bin/bun.exe
if [ ! -e "$package/dist/index.js" ]; then
    skip "JavaScript beside the others (no built npm package: make npm)"
else
    if have node; then
        faces="$faces node" node="node $here/same.mjs $package"
    else
        skip "Node beside the others (no node: install Node 20 or later)"
    fi
    if "$bun_program" --version >/dev/null 2>&1; then
        faces="$faces bun" bun="$bun_program $here/same.mjs $package"
    else
        skip "Bun beside the others (no Bun for this machine)"
    fi
fi
[ "$faces" != rust ] || { skip "the faces beside one another (there is only Rust)"; exit 0; }

# Does a script through a face, and keeps its files under the face's name.
run() {
    face=$1 script=$2
    mkdir -p "$now/agent"
    cp -R "$root/tests/fixtures" "$now/in"
    cp -R "$root/tests/fixtures/blobs" "$now/agent/blobs"
    eval "command=\$$face"
    # A home that is not this machine's, and a terminal of its own.
    (cd "$now" && env -u PI_CODING_AGENT_DIR -u PI_CONFIG_DIR -u XDG_DATA_HOME -u XDG_STATE_HOME \
        HOME=/home/ada KITTY_WINDOW_ID=7 $command "$script" "$now/log" </dev/null) || fail "$face: $script"
    mv "$now" "$work/$face"
}

# Each after the other, and compared with the first.
compare() {
    for face in $faces; do
        rm -rf "${work:?}/$face"
        run "$face" "$1"
        diff -r "$work/rust" "$work/$face" >"$work/difference" || {
            head -c 4000 "$work/difference" >&2
            fail "$face does not do what Rust does: $1"
        }
    done
}

for script in "$here"/scripts/*.txt; do
    compare "$script"
done
made=$work/script.txt
for migration in immediate deferred; do
    "$debug/examples/same" files $migration >"$made"
    compare "$made"
done
random=6
[ -z "${LEAFLOG_LONG:-}" ] || random=400
# Does the random script of a seed; the seed does it again.
random() {
    "$debug/examples/same" random "$1" >"$made"
    of=", the random script of the seed $1"
    compare "$made"
}
if [ -n "${LEAFLOG_LONG_SECONDS:-}" ]; then
    random=0
    end=$(($(date +%s) + LEAFLOG_LONG_SECONDS))
    while [ "$random" = 0 ] || [ "$(date +%s)" -lt "$end" ]; do
        random "$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')"
        random=$((random + 1))
    done
else
    seed=1
    while [ "$seed" -le "$random" ]; do
        random "$seed"
        seed=$((seed + 1))
    done
fi
echo "ok: the same files, with $random random scripts among others, through:" $faces
