//! Who has a session open, and what became of a session that was open.

use super::disk::{self, TryLock};
use super::temp;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A hidden file beside a session, on which every manager that has the session open holds a shared
/// lock. It is there as long as one of them is. It goes with a session that is moved, and says where
/// that went: a manager that finds no session at its path asks the file it has open.
///
/// All of it is a help. Where such a file cannot be made, or cannot be locked, a session is open all
/// the same, and what happens to it is not known.
#[derive(Debug)]
pub(crate) struct InUse {
    path: PathBuf,
    file: Option<File>,
    /// The process that took the lock: after a `fork(2)` the lock is the child's too.
    process: u32,
}

/// What became of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Another process moved it, to this path.
    Moved(PathBuf),
    /// Another process deleted it on purpose.
    Deleted,
}

/// How long another process is waited for that moves the session, or has been the last to have it.
const PATIENCE: Duration = Duration::from_secs(1);

/// As many bytes have the last thing that was said in them: no path is longer than half of it.
const LAST_WORDS: u64 = 8 << 10;

impl InUse {
    pub(crate) fn new(session: &Path) -> Self {
        Self { path: path_for(session), file: None, process: std::process::id() }
    }

    /// Says that this process has the session open.
    pub(crate) fn hold(&mut self) {
        if self.file.as_ref().is_some_and(|file| disk::is_at(file, &self.path)) {
            return;
        }
        self.release();
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let Ok(file) = disk::open_hidden(&self.path, true) else { return };
            match disk::try_share_hidden(&file) {
                Ok(TryLock::Taken) if clear_if_alone(&file) && disk::is_at(&file, &self.path) => {
                    (self.file, self.process) = (Some(file), std::process::id());
                    return;
                }
                // The last one that had it has removed it meanwhile.
                Ok(TryLock::Taken) => {}
                Ok(TryLock::Busy) => std::thread::sleep(Duration::from_millis(1)),
                Ok(TryLock::NoLocks) | Err(_) => {
                    let _: io::Result<()> = disk::unlink_hidden(&self.path);
                    return;
                }
            }
        }
    }

    /// Lets go of the session; the last process that had it removes the file.
    pub(crate) fn release(&mut self) {
        if let Some(file) = self.file.take().filter(|_| self.process == std::process::id())
            && disk::try_lock_hidden(&file).is_ok_and(|lock| lock == TryLock::Taken)
            && disk::is_at(&file, &self.path)
        {
            let _: io::Result<()> = disk::unlink_hidden(&self.path);
        }
    }

    /// Tells every process that has the session open what becomes of it; `None` takes that back.
    pub(crate) fn say(&mut self, fate: Option<&Fate>) {
        self.hold();
        if let Some(file) = &self.file {
            // The others then take it for one that a person removed.
            let _: io::Result<()> = disk::append_hidden(file, &Fate::to_bytes(fate));
        }
    }

    /// What became of the session, if a process said so.
    pub(crate) fn said(&self) -> Option<Fate> {
        let mut file = self.file.as_ref()?;
        let mut bytes = Vec::new();
        let start = file.metadata().ok()?.len().saturating_sub(LAST_WORDS);
        file.seek(SeekFrom::Start(start)).and_then(|_| file.read_to_end(&mut bytes)).ok()?;
        Fate::from_bytes(&bytes)
    }

    /// The session is at another path from now on. Its file of this kind goes there when this process
    /// is the one that moved it.
    pub(crate) fn move_to(&mut self, session: &Path) {
        let old = std::mem::replace(&mut self.path, path_for(session));
        if self.file.as_ref().is_some_and(|file| disk::is_at(file, &old))
            && disk::rename_hidden(&old, &self.path).is_err()
        {
            let _: io::Result<()> = disk::unlink_hidden(&old);
        }
    }

    /// The session is at another path, where another process moved it with this file.
    pub(crate) fn follow_to(&mut self, session: &Path) {
        self.path = path_for(session);
    }

    /// Nobody is told anything by this file any more.
    pub(crate) fn remove(&mut self) {
        if let Some(file) = self.file.take()
            && disk::is_at(&file, &self.path)
        {
            let _: io::Result<()> = disk::unlink_hidden(&self.path);
        }
    }

    /// Nothing that was said counts any more.
    pub(crate) fn forget(&mut self) {
        self.file = None;
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.release();
    }
}

/// Keeps every process from opening a session, until it is dropped.
pub(crate) struct Alone {
    path: PathBuf,
    _file: File,
}

impl Alone {
    /// `None` when a process has the session open, or nobody can say.
    pub(crate) fn with(session: &Path) -> Option<Self> {
        let path = path_for(session);
        let file = disk::open_hidden(&path, true).ok()?;
        let is_free = disk::try_lock_hidden(&file).is_ok_and(|lock| lock == TryLock::Taken);
        if is_free && disk::is_at(&file, &path) { Some(Self { path, _file: file }) } else { None }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _: io::Result<()> = disk::unlink_hidden(&self.path);
    }
}

/// What a process left in the file that died says nothing to one that comes later. Says whether the
/// file is still held.
fn clear_if_alone(file: &File) -> bool {
    if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        return true;
    }
    if disk::try_lock_hidden(file).is_ok_and(|lock| lock == TryLock::Taken) {
        let _: io::Result<()> = file.set_len(0);
    }
    // Also when it was not: to try is to let go of what was held.
    disk::try_share_hidden(file).is_ok_and(|lock| lock == TryLock::Taken)
}

impl Fate {
    /// A word, and a path; each ends with a NUL, which no path has. They are added to what was said before,
    /// so that a process which reads meanwhile has one or the other.
    fn to_bytes(fate: Option<&Self>) -> Vec<u8> {
        match fate {
            None => b"nothing\0\0".to_vec(),
            Some(Self::Deleted) => b"deleted\0\0".to_vec(),
            Some(Self::Moved(path)) => [b"moved\0", path.as_os_str().as_encoded_bytes(), b"\0"].concat(),
        }
    }

    /// The last that was said in whole.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut parts: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        // Nothing, or what is being written.
        parts.pop();
        // No path is one of the words: each begins at a root.
        match parts.windows(2).rfind(|pair| matches!(pair[0], b"moved" | b"deleted" | b"nothing"))? {
            [b"moved", path] => to_path(path).map(Self::Moved),
            [b"deleted", _] => Some(Self::Deleted),
            _ => None,
        }
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "elsewhere not all bytes are a path")]
fn to_path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn to_path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

fn path_for(session: &Path) -> PathBuf {
    temp::beside(session, ".use")
}

#[cfg(test)]
#[path = "in_use_tests.rs"]
mod tests;
