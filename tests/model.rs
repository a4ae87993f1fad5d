//! Random sequences of everything a session manager can do, against a plain model of what must be
//! in memory and in the files after each step. `LEAFLOG_LONG=1` runs many more.
#![allow(clippy::unwrap_used)]

#[path = "model/check.rs"]
mod check;
#[path = "model/context.rs"]
mod context;
#[path = "model/item.rs"]
mod item;
#[path = "model/ops.rs"]
mod ops;
#[path = "model/place.rs"]
mod place;
#[path = "model/world.rs"]
mod world;

use ops::Op;
use place::Where;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use world::World;

/// Runs the steps from an empty folder and compares everything after each.
fn run(place: Where, ops: &[Op]) {
    let mut world = World::new(place);
    world.check();
    for op in ops {
        world.step(op);
        world.check();
    }
}

fn sequences(place: Where, cases: u32, most: usize) {
    let long = std::env::var_os("LEAFLOG_LONG").is_some();
    let (cases, most) = if long { (cases * 40, most * 3) } else { (cases, most) };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let steps = prop::collection::vec(ops::op(), 1..most);
    let result = TestRunner::new(config).run(&steps, |ops| {
        run(place, &ops);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn in_files() {
    sequences(Where::Files, 250, 40);
}

#[test]
fn in_a_memory_storage() {
    sequences(Where::Memory, 120, 40);
}

#[test]
fn in_a_file_storage() {
    sequences(Where::FileStorage, 60, 40);
}

#[test]
fn nowhere() {
    sequences(Where::Nowhere, 60, 40);
}
