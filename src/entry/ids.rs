//! New ids and the time (R4).

use parking_lot::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a session manager has its ids and times from.
pub trait Generator: Send {
    /// Milliseconds since 1970-01-01T00:00Z.
    fn now_ms(&mut self) -> i64;
    /// A candidate for an entry's id; it is checked against those in use.
    fn entry_id(&mut self) -> u32;
    /// The id of a new session.
    fn session_id(&mut self) -> String;
}

/// The clock of the machine and random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemGenerator;

/// 2015-01-01T00:00Z in milliseconds since 1970.
const SESSION_EPOCH_MS: u64 = 1_420_070_400_000;
const SEQUENCE_BITS: u32 = 22;

impl Generator for SystemGenerator {
    fn now_ms(&mut self) -> i64 {
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds fit for 292 million years")]
        let ms = |time: std::time::Duration| time.as_millis() as i64;
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => ms(since),
            Err(before) => -ms(before.duration()),
        }
    }

    fn entry_id(&mut self) -> u32 {
        fastrand::u32(..)
    }

    fn session_id(&mut self) -> String {
        /// Starts at a random place and wraps, so that two processes seldom meet.
        static SEQUENCE: Mutex<Option<u32>> = Mutex::new(None);
        let mut sequence = SEQUENCE.lock();
        let next = sequence.map_or_else(|| fastrand::u32(..), |last| last.wrapping_add(1)) & ((1 << SEQUENCE_BITS) - 1);
        *sequence = Some(next);
        session_id(self.now_ms(), next)
    }
}

/// Sixteen hex digits that sort by time.
fn session_id(now_ms: i64, sequence: u32) -> String {
    let since = u64::try_from(now_ms).unwrap_or(0).saturating_sub(SESSION_EPOCH_MS);
    format!("{:016x}", since << SEQUENCE_BITS | u64::from(sequence))
}

#[cfg(test)]
mod tests {
    use super::{Generator, SystemGenerator, session_id};

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
