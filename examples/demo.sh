#!/bin/sh
# Shows what leaflog makes of a session: the newest one on this machine, or the bundled example.
# Usage: demo.sh LEAFLOG EXAMPLE
set -eu
leaflog=$1
session=$2

if "$leaflog" stats @last >/dev/null 2>&1; then
    session=@last
    echo "The newest session on this machine:"
else
    echo "No session of an agent on this machine; this is the bundled example:"
fi

run() {
    printf '\n$ leaflog %s\n\n' "$*"
    "$leaflog" "$@"
}

run show "$session" --limit 40
run context "$session"
run stats "$session"
# `check` exits with 1 when it has something to say.
run check "$session" || true
