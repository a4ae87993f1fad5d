//! Where ids and times come from.

use crate::abi::Out;
use crate::error::{guard, leaflog_error};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::SequenceGenerator;

/// Ids and times that are known beforehand, for tests: the same calls make the same files. Any number of threads
/// may use one at once. Sessions that were made with it keep it; the caller frees the handle with
/// `leaflog_generator_free()`.
pub struct leaflog_generator {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_generator {
    type Object = SequenceGenerator;
    const NAME: &'static str = "generator";
}

/// A clock that stands at `start_ms`, in milliseconds since 1970, and moves on by `step_ms` milliseconds with each
/// id it gives; otherwise it stands still. A step of 0 is one of 1. The id of an entry is the lowest 32 bits of the
/// milliseconds of its timestamp, in hex. Ids that one generator gives never meet; two that begin at the same moment
/// give the same ids. So share one among all that goes on with the same sessions.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_generator_sequence(
    start_ms: i64,
    step_ms: u32,
    generator: *mut *mut leaflog_generator,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(generator, "generator")?;
        table::hand_out(out, SequenceGenerator::new(start_ms, step_ms));
        Ok(())
    })
}

/// Frees the handle; sessions that were made with it go on. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_generator_free(generator: *mut leaflog_generator) -> leaflog_status {
    table::free(generator.cast_const())
}
