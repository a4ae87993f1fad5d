//! Entries: their types, what the index wants of them, and their fields on demand.

mod body;
mod facts;
mod header;
mod ids;
pub(crate) mod images;
mod kind;
mod line;
pub(crate) mod time;
mod usage;

pub use body::{Body, EntryText};
pub(crate) use body::{strings, time_ms};
pub(crate) use facts::{BLOB_PREFIX, Facts, Field, MessageFacts, is_record, take};
pub(crate) use header::TitleSlot;
pub use header::{CURRENT_SESSION_VERSION, Header};
pub(crate) use ids::SystemGenerator;
pub use ids::{Generator, SequenceGenerator};
pub use kind::{EntryKind, Role};
pub(crate) use line::LineBuilder;
pub use usage::Usage;
