//! Random numbers that a forked child does not share with its parent.
//!
//! `fork()` copies the state of a generator: without care, parent and children would draw the same
//! numbers, give the same ids to different entries, and meet at one temporary file. A process is
//! told apart by its id. Asking for that is a system call, which an append must not pay, so
//! [`quick`] does not ask: whatever opens or creates a session has asked before ([`process`]), and
//! a child opens its own sessions.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::SystemTime;

static SOURCE: Source = Source::new();

/// A random number of this process.
pub(crate) fn number() -> u64 {
    process();
    SOURCE.draw()
}

/// The same without asking which process this is: for what is drawn with each append.
pub(crate) fn quick() -> u64 {
    if SOURCE.owner.load(Ordering::Acquire) == NOBODY {
        process();
    }
    SOURCE.draw()
}

/// The id of this process. Numbers that are drawn from now on are its own.
pub(crate) fn process() -> u32 {
    let process = std::process::id();
    // The keys of `RandomState` come from the system, once per thread.
    SOURCE.belong_to(process, || RandomState::new().hash_one(SystemTime::now()));
    process
}

/// No process has this id.
const NOBODY: u32 = 0;

/// The generator SplitMix64: a counter, and a function that scatters it. A counter needs no lock,
/// which another thread might hold at the moment of a `fork()`.
#[derive(Debug)]
struct Source {
    counter: AtomicU64,
    /// The process that the counter was started in.
    owner: AtomicU32,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Source {
    const fn new() -> Self {
        Self { counter: AtomicU64::new(0), owner: AtomicU32::new(NOBODY) }
    }

    /// In another process than before the counter starts somewhere else. Two children may find the
    /// same `entropy`, so the process id is part of the place.
    fn belong_to(&self, process: u32, entropy: impl FnOnce() -> u64) {
        if self.owner.load(Ordering::Acquire) == process {
            return;
        }
        self.counter.store(scatter(entropy()) ^ scatter(STEP.wrapping_mul(process.into())), Ordering::Relaxed);
        self.owner.store(process, Ordering::Release);
    }

    fn draw(&self) -> u64 {
        scatter(self.counter.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }
}

const fn scatter(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::{NOBODY, STEP, Source, number, process, quick, scatter};
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    fn forked(parent: &Source) -> Source {
        let (counter, owner) = (parent.counter.load(Ordering::Relaxed), parent.owner.load(Ordering::Relaxed));
        Source { counter: AtomicU64::new(counter), owner: AtomicU32::new(owner) }
    }

    // A3: parent and children have the same state and find the same entropy; only the process differs.
    #[test]
    fn a03_children_of_fork_draw_other_numbers() {
        let parent = Source::new();
        parent.belong_to(100, || 7);
        parent.draw();
        let children = [forked(&parent), forked(&parent)];
        children[0].belong_to(101, || 8);
        children[1].belong_to(102, || 8);
        let mut seen = HashSet::new();
        for source in [&parent, &children[0], &children[1]] {
            seen.extend((0..1000).map(|_| source.draw()));
        }
        assert_eq!(seen.len(), 3000);
        // The parent goes on where it was, and so does a child that asks again.
        let before = children[0].counter.load(Ordering::Relaxed);
        parent.belong_to(100, || unreachable!("it is the same process"));
        children[0].belong_to(101, || unreachable!("it is the same process"));
        assert_eq!(children[0].counter.load(Ordering::Relaxed), before);
    }

    // The first outputs of SplitMix64 from the seed 0, as published with it.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let source = Source::new();
        assert_eq!([source.draw(), source.draw()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!(scatter(STEP), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn no_number_is_drawn_before_the_process_is_known() {
        let drawn: HashSet<u64> = (0..1000).map(|at| if at % 2 == 0 { quick() } else { number() }).collect();
        assert_eq!(drawn.len(), 1000);
        assert_ne!(process(), NOBODY);
        assert!(!drawn.contains(&0xe220_a839_7b1d_cdaf), "the counter was never started");
    }
}
