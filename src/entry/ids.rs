//! New ids and the time (R4).

use crate::random;
use parking_lot::Mutex;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where session managers have their ids and times from. All managers that are made with the same options share
/// one, on whichever threads they are.
pub trait Generator: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00Z.
    fn now_ms(&self) -> i64;
    /// A candidate for an entry's id; it is checked against those in use.
    fn entry_id(&self) -> u32;
    /// The id of a new session. It names the session's file too: managers that share a folder need different ones.
    fn session_id(&self) -> String;
}

/// Ids and times that are known beforehand, for tests: the same calls make the same files.
///
/// Its one state is a clock, which moves on with each id it gives and stands still otherwise. An id is made of the
/// moment it is given at: that of an entry is the lowest 32 bits of the milliseconds, in hex, which are those of
/// the entry's timestamp. Ids that one generator gives never meet, whether for one session or many; two
/// generators that begin at the same moment give the same ids. So for sessions that are opened again, share one
/// (`Arc<SequenceGenerator>` is a [`Generator`] too), or begin where the other ended.
///
/// ```
/// use leaflog::{ManagerOptions, SequenceGenerator};
///
/// # fn main() -> leaflog::Result<()> {
/// // From 2026-02-16T10:00:00.000Z on, a second for each id.
/// let generator = SequenceGenerator::new(1_771_236_000_000, 1000);
/// let mut session = ManagerOptions::new().generator(generator).in_memory("/home/ada/shop")?;
/// assert_eq!(session.header().timestamp.as_deref(), Some("2026-02-16T10:00:00.000Z"));
/// let id = session.append_message(r#"{"role":"user","content":"Hello"}"#)?;
/// assert_eq!(id, format!("{:08x}", 1_771_236_001_000_u64 as u32));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SequenceGenerator {
    now_ms: AtomicI64,
    step_ms: NonZero<u32>,
}

impl SequenceGenerator {
    /// A clock that stands at `start_ms`, in milliseconds since 1970-01-01T00:00Z, and moves on by `step_ms`
    /// milliseconds with each id. A step of 0 is one of 1.
    #[must_use]
    pub fn new(start_ms: i64, step_ms: u32) -> Self {
        Self { now_ms: AtomicI64::new(start_ms), step_ms: NonZero::new(step_ms).unwrap_or(NonZero::<u32>::MIN) }
    }

    /// The moment of an id, and on to the next.
    fn tick(&self) -> i64 {
        self.now_ms.fetch_add(self.step_ms.get().into(), Ordering::Relaxed)
    }
}

impl Generator for SequenceGenerator {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn entry_id(&self) -> u32 {
        lowest_bits(self.tick())
    }

    fn session_id(&self) -> String {
        let now = self.tick();
        // Before 2015 the sequence alone tells them apart.
        session_id(now, lowest_bits(now) & SEQUENCE_MASK)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the lowest bits are what is wanted")]
const fn lowest_bits(ms: i64) -> u32 {
    ms as u32
}

impl<G: Generator + ?Sized> Generator for Arc<G> {
    fn now_ms(&self) -> i64 {
        (**self).now_ms()
    }

    fn entry_id(&self) -> u32 {
        (**self).entry_id()
    }

    fn session_id(&self) -> String {
        (**self).session_id()
    }
}

/// The clock of the machine and random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemGenerator;

/// 2015-01-01T00:00Z in milliseconds since 1970.
const SESSION_EPOCH_MS: u64 = 1_420_070_400_000;
const SEQUENCE_BITS: u32 = 22;
const SEQUENCE_MASK: u32 = (1 << SEQUENCE_BITS) - 1;

impl Generator for SystemGenerator {
    fn now_ms(&self) -> i64 {
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds fit for 292 million years")]
        let ms = |time: std::time::Duration| time.as_millis() as i64;
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => ms(since),
            Err(before) => -ms(before.duration()),
        }
    }

    fn entry_id(&self) -> u32 {
        upper_half(random::quick())
    }

    fn session_id(&self) -> String {
        /// The last one, and the process that gave it: starts at a random place and wraps, so that two
        /// processes seldom meet, parent and child after `fork()` no more than others.
        static SEQUENCE: Mutex<Option<(u32, u32)>> = Mutex::new(None);
        let process = random::process();
        let mut sequence = SEQUENCE.lock();
        let next = match *sequence {
            Some((owner, last)) if owner == process => last.wrapping_add(1),
            _ => upper_half(random::quick()),
        };
        *sequence = Some((process, next));
        session_id(self.now_ms(), next & SEQUENCE_MASK)
    }
}

const fn upper_half(number: u64) -> u32 {
    (number >> 32) as u32
}

/// Sixteen hex digits that sort by time.
fn session_id(now_ms: i64, sequence: u32) -> String {
    let since = u64::try_from(now_ms).unwrap_or(0).saturating_sub(SESSION_EPOCH_MS);
    format!("{:016x}", since << SEQUENCE_BITS | u64::from(sequence))
}

#[cfg(test)]
mod tests {
    use super::{Generator, SequenceGenerator, SystemGenerator, session_id};
    use std::collections::HashSet;

    // R4: an entry's id is of its moment, a session's too; the clock moves with ids alone.
    #[test]
    fn r4_a_sequence() {
        // printf %x 1771236000000: 19c65e48100; one second is 3e8.
        let sequence = SequenceGenerator::new(1_771_236_000_000, 1000);
        assert_eq!((sequence.now_ms(), sequence.now_ms()), (1_771_236_000_000, 1_771_236_000_000));
        assert_eq!((sequence.entry_id(), sequence.now_ms()), (0x65e4_8100, 1_771_236_001_000));
        // (1771236001000 - 1420070400000) << 22, and the lowest 22 bits of 1771236001000.
        assert_eq!(sequence.session_id(), "1470c6753a2484e8");
        assert_eq!((sequence.entry_id(), sequence.now_ms()), (0x65e4_88d0, 1_771_236_003_000));
    }

    // Ids never meet: not with a step of 0, not before 2015, not over the threads that share a generator.
    #[test]
    fn ids_of_a_sequence_never_meet() {
        for (start, step) in [(0, 0), (-1, 1), (1_771_236_000_000, 60_000), (i64::MAX, u32::MAX)] {
            let sequence = SequenceGenerator::new(start, step);
            let ids = |_| (0..1000).map(|_| (sequence.entry_id(), sequence.session_id())).collect::<Vec<_>>();
            let all: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || ids(at))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            let entries: HashSet<_> = all.iter().map(|(entry, _)| entry).collect();
            let sessions: HashSet<_> = all.iter().map(|(_, session)| session).collect();
            assert_eq!((entries.len(), sessions.len()), (4000, 4000), "from {start} by {step}");
        }
    }

    // R4: milliseconds since 2015-01-01T00:00Z << 22 | sequence.
    #[test]
    fn r4_session_ids() {
        assert_eq!(session_id(1_420_070_400_000, 0), "0000000000000000");
        assert_eq!(session_id(1_420_070_400_001, 5), "0000000000400005");
        // 2026-02-16T10:20:30.000Z is 351166830000 ms after; << 22 is 1472900431380480000.
        assert_eq!(session_id(1_771_237_230_000, 1), format!("{:016x}", 351_166_830_000u64 * 4_194_304 + 1));
        let (a, b) = (SystemGenerator.session_id(), SystemGenerator.session_id());
        assert_ne!(a, b);
        assert_eq!(a.len(), 16);
    }
}
