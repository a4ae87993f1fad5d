//! Syncing a session's file while the session goes on being used.

use crate::error::{Error, Result};
use crate::storage::disk;
use parking_lot::{Mutex, MutexGuard};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Syncs of a session's file, one at a time. The system tells of a failure once, to whichever sync comes
/// first: so what one apart learned is kept here until the session has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Syncs(Arc<Mutex<Failed>>);

/// A sync apart failed, and the session has not been told.
pub(super) type Failed = bool;

impl Syncs {
    /// Waits for a sync that is under way.
    pub(super) fn lock(&self) -> MutexGuard<'_, Failed> {
        self.0.lock()
    }
}

/// A sync that is under way without the session, of what was appended by then.
#[derive(Debug)]
pub(crate) struct SyncApart {
    pub(super) file: Arc<File>,
    syncs: Syncs,
    path: PathBuf,
    /// How many entries had been appended.
    pub(super) appended: u64,
    /// `None` until it was waited for.
    pub(super) result: Option<Result<()>>,
}

impl SyncApart {
    pub(super) fn new(file: &Arc<File>, syncs: &Syncs, path: &Path, appended: u64) -> Self {
        Self { file: Arc::clone(file), syncs: syncs.clone(), path: path.to_owned(), appended, result: None }
    }

    /// Waits until the disk has it.
    pub(crate) fn wait(&mut self) {
        let mut failed = self.syncs.lock();
        let synced = disk::sync(&self.file);
        *failed |= synced.is_err();
        self.result = Some(synced.map_err(|error| Error::io(error, "cannot sync the session", &self.path)));
    }
}
