//! Steps of the model in `tests/model`, drawn from the bytes by the strategy that the test uses.
//! With `LEAFLOG_SHOW` each step is printed.
#![no_main]
#![allow(clippy::unwrap_used)]

#[path = "../../tests/model/check.rs"]
mod check;
#[path = "../../tests/model/context.rs"]
mod context;
#[path = "../../tests/model/item.rs"]
mod item;
#[path = "../../tests/model/ops.rs"]
mod ops;
#[path = "../../tests/model/place.rs"]
mod place;
#[path = "../../tests/model/world.rs"]
mod world;

use place::Where;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use world::World;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let place = match first % 8 {
        0 => Where::Memory,
        1 => Where::FileStorage,
        2 => Where::Nowhere,
        _ => Where::Files,
    };
    let mut world = World::new(place);
    // Four bytes are a step: changing them changes that step only.
    for chunk in data.chunks(4).take(60) {
        let mut seed = [0; 32];
        seed[..chunk.len()].copy_from_slice(chunk);
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let op = ops::op().new_tree(&mut runner).unwrap().current();
        if std::env::var_os("LEAFLOG_SHOW").is_some() {
            eprintln!("{op:?}");
        }
        world.step(&op);
        world.check();
    }
});
