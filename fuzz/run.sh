#!/bin/sh
# Builds the fuzz targets and runs one: fuzz/run.sh TARGET [libFuzzer options]
# Where cargo-fuzz and a nightly compiler are installed, `cargo fuzz run TARGET` does the same with
# the address sanitizer; this needs neither.
#
# Each target begins with the options that suit it, which those given here override:
#   line, edit, prepare,  one line or object, or some calls: -max_len=1024, lengths grow
#   capi                  quickly
#   load                  a whole file: -max_len=4096
#   operations            two bytes a step, 120 steps: -max_len=256 -len_control=0, for a short
#                         sequence reaches little
# The committed session files make good seeds of `line` and `load`: give tests/fixtures as a second folder.
set -e
cd "$(dirname "$0")"
target=$1
shift
case $target in
operations) options="-max_len=256 -len_control=0" ;;
load) options="-max_len=4096" ;;
*) options="-max_len=1024 -len_control=20" ;;
esac
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags" cargo build --release --target "$host" --bin "$target"
mkdir -p "corpus/$target"
# shellcheck disable=SC2086
exec "${CARGO_TARGET_DIR:-target}/$host/release/$target" $options "$@" "corpus/$target"
