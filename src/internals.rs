//! For the project's own benchmarks and fuzz targets; not part of the interface.
#![allow(missing_docs, reason = "not part of the interface")]

use crate::blob::BlobHash;
use crate::error::Result;
use crate::json::block::Classifier;
use crate::json::{Object, Scanner};
use crate::load;
use crate::storage::Source;
use std::num::NonZero;
use std::path::Path;

#[cfg(any(test, fuzzing))]
pub use crate::storage::disk::faults;

/// A session's bytes, for scans that repeat.
pub struct Input(Source);

impl Input {
    #[must_use]
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self(Source::Bytes(bytes))
    }

    /// # Errors
    /// As opening a session.
    pub fn file(path: &Path) -> Result<Self> {
        Source::open(path).map(Self)
    }

    /// The strict scan that opening does, without the tree; gives the number of entries.
    #[must_use]
    pub fn scan(&self, threads: NonZero<usize>) -> usize {
        load::scan(&self.0, Some(threads)).map_or(0, |scan| scan.slots.len())
    }
}

/// The names of the block classifiers this machine can run.
#[must_use]
pub fn classifiers() -> Vec<&'static str> {
    Classifier::all().into_iter().map(|(name, _)| name).collect()
}

/// Classifies all lines of `bytes` and gives how many were clean.
#[must_use]
pub fn classify(name: &str, bytes: &[u8]) -> usize {
    let Some((_, classifier)) = Classifier::all().into_iter().find(|(known, _)| *known == name) else { return 0 };
    let mut scanner = Scanner::with(classifier);
    let (mut start, mut clean) = (0, 0);
    while start < bytes.len() {
        let line = scanner.line(bytes, start);
        clean += usize::from(line.is_clean());
        start = line.end + 1;
    }
    clean
}

/// A change to a member of an object.
#[derive(Clone, Debug)]
pub enum Change {
    Set(&'static str, Vec<u8>),
    Remove(&'static str),
}

/// The JSON object `text`, changed.
#[must_use]
pub fn edit(text: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut object = Object::read(text, 0);
    for change in changes {
        match change {
            Change::Set(key, value) => object.set(key, value.clone()),
            Change::Remove(key) => object.remove(key),
        }
    }
    object.finish()
}

/// The line for an entry and its blobs; `None` when the text can be written as it is.
#[must_use]
pub fn prepare(text: &[u8]) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let prepared = crate::persist::prepare(text)?;
    Some((prepared.line, prepared.blobs.into_iter().map(|(_, bytes)| bytes).collect()))
}

/// What stands in a line for a blob.
#[must_use]
pub fn blob_reference(bytes: &[u8]) -> String {
    BlobHash::of(bytes).reference()
}
