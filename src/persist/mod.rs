//! Writing what a session manager decided: what is not on disk yet, and how it gets there.

mod apart;
mod blobs;
mod copy;
mod file;
mod prepare;
mod rewrite;
mod storage;

pub(crate) use apart::SyncApart;
pub(crate) use copy::{CopyLine, Moved};
pub(crate) use file::{Begun, Known, SessionFile};
pub(crate) use prepare::{LineForm, MayChange, Prepared, is_plain, prepare};
pub(crate) use rewrite::Layout;
pub(crate) use storage::{StoredSession, copy_text};

use crate::entry::time;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What is in memory and not yet, or not in this form, on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// Entries without a line, in the order they were appended.
    pub(crate) unsaved: Vec<u32>,
    /// Those of them that had a line before another file took the place of theirs: an entry of that id is the same.
    pub(crate) again: BTreeSet<u32>,
    /// Entries that were given another text: a line they have has the older one.
    pub(crate) changed: BTreeSet<u32>,
    /// Header fields set here: the last value of each.
    pub(crate) header: Vec<(&'static str, String)>,
    /// The file is to be rewritten. It stays so when it was locked, for whichever write is next.
    pub(crate) rewrite: bool,
}

impl Pending {
    pub(crate) fn set_header(&mut self, key: &'static str, value: String) {
        self.header.retain(|(known, _)| *known != key);
        self.header.push((key, value));
    }

    /// Nothing waits to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.unsaved.is_empty() && self.changed.is_empty() && self.header.is_empty() && !self.rewrite
    }

    /// The first `count` unsaved entries are on disk, as they are in memory.
    pub(crate) fn written(&mut self, count: usize) {
        for index in self.unsaved.drain(..count) {
            self.changed.remove(&index);
            self.again.remove(&index);
        }
    }

    /// Everything is on disk.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Where what stands at `path` and is no session is copied (R16).
fn aside(path: &Path, now_ms: i64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".invalid-{}", time::in_file_name(&time::format(now_ms))));
    path.with_file_name(name)
}

#[cfg(test)]
#[path = "persist_tests.rs"]
mod tests;
