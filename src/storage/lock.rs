//! The lock beside a session file (R53).

use super::disk::{self, TryLock};
use super::temp;
use crate::error::{Error, ErrorCode, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a lock is waited for when nothing else is said.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// The lock of one session. The kernel keeps it, so it cannot outlive its process; between calls
/// nobody holds it.
///
/// It is on a file of its own: a rewrite puts another file in the place of the session's, and a
/// lock on that would be a lock on the old one. The lock file stays; its name does not end in
/// `.jsonl`.
#[derive(Debug)]
pub(crate) struct SessionLock {
    path: PathBuf,
    file: Option<Arc<File>>,
    timeout: Duration,
}

/// Holds the lock until it is dropped.
pub(crate) struct Held {
    /// `None` on a file system without locks.
    file: Option<Arc<File>>,
}

impl Held {
    /// Nobody else holds it. On a file system without locks nobody can say.
    pub(crate) fn is_locked(&self) -> bool {
        self.file.is_some()
    }
}

impl SessionLock {
    pub(crate) fn new(session: &Path, timeout: Duration) -> Self {
        Self { path: path_for(session), file: None, timeout }
    }

    /// Changes how long the lock is waited for.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// The lock of the same session at another path.
    pub(crate) fn moved_to(&self, session: &Path) -> Self {
        Self::new(session, self.timeout)
    }

    /// Takes the locks of two sessions. Whoever takes both takes them in the same order, so that no two
    /// processes wait for each other.
    pub(crate) fn acquire_both(&mut self, other: &mut Self) -> Result<(Held, Held)> {
        // Two spellings of a directory must not be two places in the order.
        let key =
            |lock: &Self| lock.path.parent().map(|dir| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()));
        let keys = (key(self), key(other));
        if (&keys.0, self.path.file_name()) < (&keys.1, other.path.file_name()) {
            let held = self.acquire(true)?;
            Ok((held, other.acquire(true)?))
        } else {
            let held = other.acquire(true)?;
            Ok((self.acquire(true)?, held))
        }
    }

    /// Removes the lock file, for the one that holds the lock of a session that is there no more.
    pub(crate) fn remove(&self) {
        let _: io::Result<()> = disk::unlink_hidden(&self.path);
    }

    /// Closes the lock file; the next call opens it again.
    pub(crate) fn close(&mut self) {
        self.file = None;
    }

    /// Takes the lock, waiting for it at most the timeout.
    ///
    /// On a file system without locks there is nothing to take, and programs that write at the
    /// same time are on their own (R53h).
    ///
    /// With `verify`, the lock file is the one that stands at its path once the lock is held: it may
    /// have been removed, with its session, or live on under another name, with its directory. A caller
    /// that then finds the session's file as it was need not ask for that.
    pub(crate) fn acquire(&mut self, verify: bool) -> Result<Held> {
        let failed = |error: io::Error, path: &Path| Error::io(error, "cannot lock the session", path);
        loop {
            let file = match self.file.take() {
                Some(file) => file,
                None => Arc::new(self.open().map_err(|error| failed(error, &self.path))?),
            };
            let locked = match wait(&file, self.timeout) {
                Ok(TryLock::Taken) => true,
                Ok(TryLock::NoLocks) => false,
                Ok(TryLock::Busy) => {
                    if !disk::is_at(&file, &self.path) {
                        // Whoever holds it holds the lock of another name, or of none.
                        continue;
                    }
                    self.file = Some(file);
                    return Err(busy("session's lock", self.timeout, &self.path));
                }
                Err(error) => return Err(failed(error, &self.path)),
            };
            // Other processes lock the file at the path.
            if verify && !disk::is_at(&file, &self.path) {
                continue;
            }
            let file = self.file.insert(file);
            return Ok(Held { file: locked.then(|| Arc::clone(file)) });
        }
    }

    /// Opens the lock file, making its folder when that was removed.
    fn open(&self) -> io::Result<File> {
        match (disk::open_lock(&self.path), self.path.parent()) {
            (Err(error), Some(dir)) if error.kind() == io::ErrorKind::NotFound => {
                disk::create_dir(dir)?;
                disk::open_lock(&self.path)
            }
            (result, _) => result,
        }
    }
}

/// Another process held the lock for all of the timeout.
pub(crate) fn busy(what: &str, timeout: Duration, path: &Path) -> Error {
    let message = format!("another process holds the {what}; waited {} ms", timeout.as_millis());
    Error::new(ErrorCode::Locked, message).at(path)
}

/// Tries until the timeout, at first often.
pub(crate) fn wait(file: &File, timeout: Duration) -> io::Result<TryLock> {
    let mut start = None;
    let mut pause = Duration::from_micros(20);
    loop {
        match disk::try_lock(file)? {
            TryLock::Busy => {}
            done => return Ok(done),
        }
        let waited = start.get_or_insert_with(Instant::now).elapsed();
        if waited >= timeout {
            return Ok(TryLock::Busy);
        }
        std::thread::sleep(pause.min(timeout - waited));
        pause = (pause * 2).min(Duration::from_millis(2));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // Cannot fail in a way that anything could be done about; closing the file unlocks too.
            let _: io::Result<()> = file.unlock();
        }
    }
}

/// The lock file of a session: hidden, beside it.
pub(crate) fn path_for(session: &Path) -> PathBuf {
    temp::beside(session, ".lock")
}
