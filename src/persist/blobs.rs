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
    /// Those of which a sync failed: another would not say so.
    failed: Vec<BlobHash>,
}

impl Blobs {
    pub(super) fn new(store: BlobStore) -> Self {
        Self { store, unsynced: Vec::new(), failed: Vec::new() }
    }

    pub(super) fn dir(&self) -> &Path {
        self.store.dir()
    }

    pub(super) fn put(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<()> {
        self.store.put_as(&hash, bytes)?;
        self.unsynced.push(hash);
        Ok(())
    }

    /// Waits until all that were put would survive a power cut. One whose sync failed is written anew.
    pub(super) fn sync(&mut self) -> Result<()> {
        while let Some(hash) = self.failed.last() {
            match self.store.renew(hash) {
                // One that is lost is said once: no retry brings it back.
                Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
                result => {
                    self.failed.pop();
                    result?;
                }
            }
        }
        while let Some(hash) = self.unsynced.pop() {
            if let Err(error) = self.store.sync(&hash) {
                if error.code() != ErrorCode::NotFound {
                    self.failed.push(hash);
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
