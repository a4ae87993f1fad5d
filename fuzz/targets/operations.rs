//! Steps of the model in `tests/model`, drawn from the bytes by the strategy that the test uses.
//! With `LEAFLOG_SHOW` each step is printed.
#![no_main]
#![allow(clippy::unwrap_used)]

#[path = "../../tests/model/mod.rs"]
mod model;

use model::{Where, ops};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let place = match first % 8 {
        0 => Where::Memory,
        1 => Where::FileStorage,
        2 => Where::Nowhere,
        _ => Where::Files,
    };
    // Two bytes are a step: changing them changes that step only, and an input of the usual first
    // lengths is a sequence already.
    let step = |bytes: &[u8]| {
        let mut seed = [0; 32];
        seed[..bytes.len()].copy_from_slice(bytes);
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let op = ops::op().new_tree(&mut TestRunner::new_with_rng(Config::default(), rng)).unwrap().current();
        if std::env::var_os("LEAFLOG_SHOW").is_some() {
            eprintln!("{op:?}");
        }
        op
    };
    model::run(place, first & 8 != 0, data.chunks(2).take(120).map(step));
});
