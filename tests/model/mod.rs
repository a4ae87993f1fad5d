//! Random sequences of everything a session manager can do, against a plain model of what must be
//! in memory and in the files after each step. `LEAFLOG_LONG=1` runs many more.
//!
//! A unit test, for a step may be cut at each of its operations on the file system.

mod append;
mod check;
mod context;
mod copies;
mod item;
pub mod ops;
mod outside;
mod place;
mod state;
mod trouble;
mod world;

pub use place::Where;
pub use world::World;

/// Runs the steps from an empty folder and compares everything after each.
pub fn run(place: Where, deferred: bool, ops: impl IntoIterator<Item = ops::Op>) {
    let mut world = World::new(place, deferred);
    world.check();
    for op in ops {
        world.step(&op);
        world.check();
    }
}

#[cfg(test)]
mod tests {
    use super::{Where, ops, run};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestError, TestRunner};

    fn sequences(place: Where, cases: u32, most: usize) {
        let long = std::env::var_os("LEAFLOG_LONG").is_some();
        let (cases, most) = if long { (cases * 40, most * 3) } else { (cases, most) };
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
        let input = (any::<bool>(), prop::collection::vec(ops::op(), 1..most));
        let result = TestRunner::new(config).run(&input, |(deferred, ops)| {
            run(place, deferred, ops);
            Ok(())
        });
        match result {
            Err(TestError::Fail(why, (deferred, ops))) => {
                let steps = ops.iter().fold(String::new(), |steps, op| format!("{steps}\n{op:?}"));
                panic!("{why}\nin {place:?}, deferred {deferred}, the steps{steps}");
            }
            result => result.unwrap(),
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
}
