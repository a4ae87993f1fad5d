# skip WHAT: says that something cannot be had on this machine. With LEAFLOG_REQUIRE=1 that is a failure.
skip() {
    if [ -n "${LEAFLOG_REQUIRE:-}" ]; then
        echo "FAILED: skipped, and LEAFLOG_REQUIRE is set: $1" >&2
        exit 1
    fi
    echo "skipped: $1"
}
