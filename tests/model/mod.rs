//! Random sequences of everything a session manager can do, against a plain model of what must be
//! in memory and in the files after each step. `LEAFLOG_LONG=1` runs many more, `LEAFLOG_LONG_SECONDS=N` as many as fit.
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
    use super::item::Message;
    use super::ops::{self, Append, Op, Trouble};
    use super::state::Line;
    use super::{Where, World, run};
    use crate::support::{long_run, rounds};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
    use std::collections::BTreeSet;

    fn sequences(place: Where, cases: u32, most: usize) {
        let long = std::env::var_os("LEAFLOG_LONG").is_some();
        let by_time = !long_run().is_zero();
        // Short rounds keep to the time.
        let cases = if by_time {
            5
        } else if long {
            cases * 40
        } else {
            cases
        };
        let most = if by_time || long { most * 3 } else { most };
        rounds(|seed| round(place, cases, most, seed));
    }

    fn round(place: Where, cases: u32, most: usize, seed: u64) {
        let rng_seed = RngSeed::Fixed(seed);
        let config = Config { cases, rng_seed, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
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

    // G12: a move makes no session again.
    #[test]
    fn moves_of_a_deleted_session() {
        let steps = [
            Op::Rewrite(0, vec![]),
            Op::Artifact(0, 0),
            Op::Reopen { who: 0, close: false },
            Op::Outside(ops::Outside::Deleted),
            Op::Move(0, 1),
            Op::Move(0, 1),
            Op::Close(0),
        ];
        run(Where::Files, false, steps);
    }

    #[test]
    fn in_a_file_storage() {
        sequences(Where::FileStorage, 30, 40);
    }

    // B10.
    #[test]
    fn in_shared_files() {
        sequences(Where::SharedFiles, 30, 40);
    }

    #[test]
    fn nowhere() {
        sequences(Where::Nowhere, 60, 40);
    }

    /// Kills a step at each of its operations. Gives what is there then: the folder of each file, how many
    /// lines it has after its header, and how many of those are torn.
    fn killed(op: &Op) -> BTreeSet<Vec<(String, usize, usize)>> {
        let message = |role| Op::Append(0, Append::Message(Message { role, ..Message::default() }));
        let outcome = |at| {
            let mut world = World::new(Where::Files, false);
            for op in [message(1), Op::Artifact(0, 0), message(0)] {
                world.step(&op);
            }
            world.step(&Op::Under(Trouble::Killed { at, room: 30 }, Box::new(op.clone())));
            world.check();
            let files = world.files.iter().map(|(path, file)| {
                let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
                let torn = file.lines.iter().filter(|line| matches!(line, Line::Junk(_))).count();
                (folder.to_owned(), file.lines.len(), torn)
            });
            files.collect()
        };
        (0..60).map(outcome).collect()
    }

    #[test]
    fn a_summary_of_an_entry_that_is_gone() {
        let steps = [
            Op::Rewrite(0, vec![]),
            Op::Append(0, Append::Compaction { kept: 0, own_details: None, remote: false, short: false }),
            Op::SetFile(0, ops::Target::Known(0)),
            Op::Outside(ops::Outside::Old(ops::Old { version: 1, entries: vec![] })),
            Op::Summary(0, Some(0), 0),
        ];
        run(Where::Files, false, steps);
    }

    // A scan suspects a reference to a blob where an escape stands in the next line: that is no edit of the
    // file, so a branch takes in nothing.
    #[test]
    fn a_suspected_reference_is_no_edit() {
        let msg = |who| Op::Append(who, Append::Message(Message::default()));
        let steps = [
            Op::Rewrite(0, vec![]),
            msg(0),
            Op::Second,
            Op::Append(0, Append::Compaction { kept: 0, own_details: Some(14), remote: false, short: true }),
            Op::Append(1, Append::CustomMessage(3, None)),
            msg(0),
            Op::Under(Trouble::Full { room: 0 }, Box::new(Op::BranchFile(1, 0))),
        ];
        run(Where::Files, false, steps);
    }

    // A3: the text that is not written yet is another than the one of that id that is in the file.
    #[test]
    fn a_state_from_before_a_text_was_changed() {
        let msg = |who, role| Op::Append(who, Append::Message(Message { role, ..Message::default() }));
        let steps = [
            msg(0, 2),
            Op::Capture(0),
            Op::Rewrite(0, vec![(0, Message::default())]),
            Op::Restore(0),
            msg(0, 0),
            Op::Rename(0, 0, false),
        ];
        run(Where::Files, false, steps);
    }

    // The moment at which a title slot was written is no edit of the file, so what others appended is not taken in.
    #[test]
    fn a_renamed_session_with_a_title_slot_is_removed() {
        let msg = |role| Op::Append(0, Append::Message(Message { role, ..Message::default() }));
        let steps = [
            msg(1),
            Op::Second,
            Op::Outside(ops::Outside::Slot { title: 0, source: 0, first: false, len: 0 }),
            Op::Rename(0, 0, false),
            Op::Outside(ops::Outside::Entries(vec![(0, 0)])),
            Op::Outside(ops::Outside::Delete),
            msg(0),
        ];
        run(Where::Files, false, steps);
    }

    // R54: nothing, a torn line, or all of it.
    #[test]
    fn killed_appends() {
        let file = |lines, torn| vec![("--no-such-a--".to_owned(), lines, torn)];
        let append = Op::Append(0, Append::Message(Message::default()));
        assert_eq!(killed(&append), BTreeSet::from([file(2, 0), file(3, 1), file(3, 0)]));
    }

    // R31: the old file, both, or the new one.
    #[test]
    fn killed_moves() {
        let (a, b) = (("--no-such-a--".to_owned(), 2, 0), ("--no-such-b--".to_owned(), 2, 0));
        let expected = BTreeSet::from([vec![a.clone()], vec![a, b.clone()], vec![b]]);
        assert_eq!(killed(&Op::Move(0, 1)), expected);
    }
}
