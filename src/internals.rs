//! For the project's own benchmarks and fuzz targets; not part of the interface.
#![allow(missing_docs, reason = "not part of the interface")]

use crate::error::Result;
use crate::json::Scanner;
use crate::json::block;
use crate::load;
use crate::storage::Source;
use std::num::NonZero;
use std::path::Path;

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
    block::all().into_iter().map(|(name, _)| name).collect()
}

/// Classifies all lines of `bytes` and gives how many were clean.
#[must_use]
pub fn classify(name: &str, bytes: &[u8]) -> usize {
    let Some((_, classify)) = block::all().into_iter().find(|(known, _)| *known == name) else { return 0 };
    let mut scanner = Scanner::with(classify);
    let (mut start, mut clean) = (0, 0);
    while start < bytes.len() {
        let line = scanner.line(bytes, start);
        clean += usize::from(line.is_clean());
        start = line.end + 1;
    }
    clean
}
