//! The blobs of a session: put before the line that names them is written, synced before a flush
//! or a rewrite returns (R51).

use crate::blob::{BlobHash, BlobStore};
use crate::error::{ErrorCode, Result};
use std::path::Path;

/// A store, and which blobs a power cut could still take from it.
#[derive(Debug)]
pub(super) struct Blobs {
    store: BlobStore,
    unsynced: Vec<BlobHash>,
}

impl Blobs {
    pub(super) fn new(store: BlobStore) -> Self {
        Self { store, unsynced: Vec::new() }
    }

    pub(super) fn dir(&self) -> &Path {
        self.store.dir()
    }

    pub(super) fn put(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<()> {
        self.store.put_as(&hash, bytes)?;
        self.unsynced.push(hash);
        Ok(())
    }

    /// Waits until all that were put would survive a power cut.
    pub(super) fn sync(&mut self) -> Result<()> {
        while let Some(hash) = self.unsynced.pop() {
            if let Err(error) = self.store.sync(&hash) {
                // One that somebody removed is said once: no retry brings it back.
                if error.code() != ErrorCode::NotFound {
                    self.unsynced.push(hash);
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
