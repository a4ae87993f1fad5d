#!/bin/sh
# Checks of the built tool with programs that are used when they are there.
# Usage: run.sh LEAFLOG SESSION
set -eu
leaflog=$1
session=$2
dir=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

has() {
    command -v "$1" >/dev/null 2>&1 && return
    echo "skipped: $2 ($1 is not installed)"
    return 1
}

fail() {
    echo "failed: $1" >&2
    exit 1
}

# A view opens its file for reading only, takes no lock, writes, creates, removes, renames nothing.
if has strace "that reading writes nothing"; then
    calls=openat,open,creat,flock,fcntl,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,ftruncate,pwrite64,utimensat
    for command in show context stats check; do
        strace -f -qq -e trace="$calls" -o "$tmp/trace" "$leaflog" "$command" "$session" >"$tmp/out"
        grep -q "$(basename "$session")" "$tmp/trace" || fail "strace did not see $command open the session"
        if grep -E 'O_WRONLY|O_RDWR|O_CREAT|flock|F_(OFD_)?SETLK|rename|unlink|mkdir|ftruncate|pwrite|utimensat' "$tmp/trace" >"$tmp/writes"; then
            cat "$tmp/writes" >&2
            fail "$command wrote, locked or changed something"
        fi
    done
    home=$tmp/home
    mkdir -p "$home/.xcsh/agent/sessions/--x--"
    cp "$session" "$home/.xcsh/agent/sessions/--x--/"
    for command in "list --all --json" "list" "recent" "resume 1"; do
        # shellcheck disable=SC2086 # a command and its options
        HOME=$home strace -f -qq -e trace="$calls" -o "$tmp/trace" "$leaflog" $command >"$tmp/out" 2>&1 || true
        grep -q "agent/sessions" "$tmp/trace" || fail "strace did not see $command look for sessions"
        if grep "agent/sessions" "$tmp/trace" | grep -E 'O_WRONLY|O_RDWR|O_CREAT|rename|unlink|mkdir|utimensat' >"$tmp/writes" ||
            grep -E 'flock|F_(OFD_)?SETLK|ftruncate|pwrite' "$tmp/trace" >"$tmp/writes"; then
            cat "$tmp/writes" >&2
            fail "$command wrote, locked or changed something"
        fi
    done
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
