//! The only place with file I/O.

mod source;

pub(crate) use source::{Source, Window};
