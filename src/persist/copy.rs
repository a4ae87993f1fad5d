//! Copies of a session: a header of their own, then lines of the source's entries. What is not an
//! entry stays behind (R6, R47).

use super::prepare::prepare;
use super::rewrite::Sink;
use crate::error::Result;
use crate::json::{Object, push_wtf8};
use crate::view::SessionView;
use std::borrow::Cow;

/// A line of a copy.
#[derive(Clone, Debug)]
pub(crate) enum CopyLine {
    /// An entry of the source.
    Entry(u32),
    /// The same, with another place among the entries.
    Moved(u32, Moved),
    /// An entry the source has not.
    New(Vec<u8>),
}

/// What an entry of a copy says of others, where it says another thing than in the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    /// Its parent; none is a root's.
    pub(crate) parent: Option<Option<Vec<u8>>>,
    /// The first entry that it keeps, as a compaction.
    pub(crate) first_kept: Option<Vec<u8>>,
}

impl CopyLine {
    /// The entry of the source.
    pub(crate) fn entry(&self) -> Option<u32> {
        match self {
            Self::Entry(index) | Self::Moved(index, _) => Some(*index),
            Self::New(_) => None,
        }
    }

    /// The entry as it is in memory.
    pub(crate) fn text<'t>(&'t self, source: &'t SessionView) -> Result<Cow<'t, [u8]>> {
        match self {
            Self::Entry(index) => source.stored_text(*index),
            Self::New(text) => Ok(Cow::Borrowed(text)),
            Self::Moved(index, moved) => {
                let text = source.stored_text(*index)?;
                let mut entry = Object::read(&text, 0);
                if let Some(parent) = &moved.parent {
                    entry.set("parentId", id(parent.as_deref()));
                }
                if moved.first_kept.is_some() {
                    entry.set("firstKeptEntryId", id(moved.first_kept.as_deref()));
                }
                Ok(Cow::Owned(entry.finish()))
            }
        }
    }
}

/// An id as JSON; `null` for none.
fn id(id: Option<&[u8]>) -> Vec<u8> {
    let mut value = Vec::new();
    match id {
        Some(id) => push_wtf8(&mut value, id),
        None => value.extend_from_slice(b"null"),
    }
    value
}

/// Writes a copy.
pub(crate) fn copy(source: &SessionView, header: &[u8], lines: &[CopyLine], sink: &mut impl Sink) -> Result<()> {
    sink.bytes(header)?;
    sink.bytes(b"\n")?;
    for line in lines {
        let text = line.text(source)?;
        // A line that came from a file was prepared when it was written.
        let is_new = line.entry().is_none_or(|index| source.in_memory(index).is_some());
        let line = match is_new.then(|| prepare(&text)).flatten() {
            None => text,
            Some(prepared) => prepared.put_blobs(|hash, blob| sink.blob(hash, blob))?.0.into(),
        };
        sink.bytes(&line)?;
        sink.bytes(b"\n")?;
    }
    Ok(())
}
