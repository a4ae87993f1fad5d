#!/bin/sh
# Checks of the built tool with programs that are used when they are there.
# Usage: run.sh LEAFLOG SESSION
set -eu
leaflog=$1
session=$2
dir=$(dirname "$0")
. "$dir/../skip.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

has() {
    command -v "$1" >/dev/null 2>&1 && return
    skip "$2 ($1 is not installed)"
    return 1
}

fail() {
    echo "failed: $1" >&2
    exit 1
}

# A view opens its file for reading only, takes no lock, writes, creates, removes, renames nothing.
if has strace "that reading writes nothing"; then
    calls=openat,open,creat,flock,fcntl,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,ftruncate,pwrite64,utimensat
    # Runs a command of the tool, which is to look at what the first argument names.
    watch() {
        what=$1
        shift
        HOME=$home PI_CODING_AGENT_DIR='' PI_CONFIG_DIR='' \
            strace -f -qq -e trace="$calls" -o "$tmp/trace" "$leaflog" "$@" >"$tmp/out" 2>&1
        grep -q "$what" "$tmp/trace" || fail "strace did not see $1 look at $what"
        if grep -E 'O_WRONLY|O_RDWR|O_CREAT|flock|F_(OFD_)?SETLK|rename|unlink|mkdir|ftruncate|pwrite|utimensat' "$tmp/trace" >"$tmp/writes"; then
            cat "$tmp/writes" >&2
            fail "$1 wrote, locked or changed something"
        fi
    }
    home=$tmp/home
    name=$(basename "$session")
    mkdir -p "$home/.xcsh/agent/sessions/--x--"
    cp "$session" "$home/.xcsh/agent/sessions/--x--/"
    for command in show context stats check; do
        watch "$name" "$command" "$session"
    done
    watch "$name" list --all --json
    watch "$name" resume "${name%.jsonl}"
    watch agent/sessions list --cwd "$home"
    watch agent/sessions recent --cwd "$home"
    echo "passed: reading writes nothing and takes no lock (strace)"
fi

# The block scanner reads no byte it was not given.
if has valgrind "memory errors of the scanner"; then
    for file in "$session" "$dir"/../fixtures/*.jsonl; do
        status=0
        valgrind -q --error-exitcode=99 "$leaflog" check "$file" >"$tmp/out" 2>"$tmp/valgrind" || status=$?
        if [ "$status" -gt 1 ]; then
            cat "$tmp/valgrind" >&2
            fail "valgrind on $file (exit $status)"
        fi
    done
    echo "passed: no memory errors (valgrind)"
fi
