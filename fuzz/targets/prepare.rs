#![no_main]
#![allow(clippy::unwrap_used)]

#[path = "../../tests/fuzz/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| { bodies::prepared(data) });
