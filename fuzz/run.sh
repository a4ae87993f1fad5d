#!/bin/sh
# Builds the fuzz targets and runs one: fuzz/run.sh TARGET [libFuzzer options]
# Where cargo-fuzz and a nightly compiler are installed, `cargo fuzz run TARGET` does the same with
# the address sanitizer; this needs neither.
set -e
cd "$(dirname "$0")"
target=$1
shift
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" cargo build --release --target "$host" --bin "$target"
mkdir -p "corpus/$target"
exec "${CARGO_TARGET_DIR:-target}/$host/release/$target" "corpus/$target" -max_len=4096 "$@"
