//! Raw JSON text: find its parts without decoding it, change parts without touching the rest.
//!
//! Nothing here builds a tree of values. A line is *scanned* once ([`Scanner`]), strictly, and
//! yields the spans somebody asked for; a value known to be valid is walked as [`Json`]; a change
//! is a list of [`Edit`]s over the bytes ([`edit`]), so whatever is not changed keeps its
//! spelling (R45).

pub(crate) mod block;
pub(crate) mod cursor;
pub(crate) mod damage;
pub(crate) mod edit;
mod scan;
mod string;
mod value;
mod walk;

pub(crate) use cursor::{Cursor, Key};
pub(crate) use edit::{Edit, Object, apply};
pub(crate) use scan::{Line, OnValue, Scanner, in_one_line, is_blank, one_value};
pub(crate) use string::{decode, decode_wtf8, push_string, push_wtf8, quoted, wtf8_to_str};
pub use value::{Json, JsonKind};
pub(crate) use walk::{Visitor, walk};
