#![no_main]
#![allow(clippy::unwrap_used)]

#[path = "../../tests/fuzz/bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    bodies::line(data.split(|byte| *byte == b'\n').next().unwrap_or_default(), data.len() % 2 == 0)
});
