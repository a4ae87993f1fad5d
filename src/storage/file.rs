//! The storage that is the file system.

use super::disk;
use super::in_use::{Fate, InUse};
use super::lock::{self, SessionLock};
use super::session_storage::{SessionStorage, SessionStorageWriter, StorageStat, WriterMode, fits};
use super::{TempFile, source, temp};
use crate::error::{Error, ErrorCode, Result};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keeps sessions as files. A [`SessionManager`](crate::SessionManager) does not go through these
/// methods for files: it appends with one `write` under a lock. They are for programs that look
/// after files themselves, and behave alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSessionStorage;

impl FileSessionStorage {
    /// Removes a session file and its folder of artifacts (R56): the file first, so that what
    /// cannot be removed never leaves a session without its artifacts. What was set aside when the session
    /// took the place of a file that was not one (`NAME.invalid-TIME`) goes too. A process that has the
    /// session open learns of it with its next write, which is an error of code `GONE`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a path that does not end in `.jsonl`, `NOT_FOUND` for a missing
    /// file, `LOCKED` when another process holds the session's lock for 10 seconds, and nothing else is
    /// touched then. When only the artifacts stayed the error says so.
    pub fn delete_session_with_artifacts(&self, path: impl AsRef<Path>) -> Result<()> {
        Self::delete(path.as_ref(), lock::TIMEOUT)
    }

    /// The same, with another time to wait for the lock.
    pub(crate) fn delete(path: &Path, lock_timeout: Duration) -> Result<()> {
        let Some(artifacts) = artifacts_dir(path) else {
            return Err(Error::new(ErrorCode::InvalidArgument, "a session file ends in .jsonl").at(path));
        };
        let metadata = std::fs::symlink_metadata(path).map_err(|e| Error::io(e, "cannot delete the session", path))?;
        if metadata.is_dir() {
            return Err(source::is_a_folder(path));
        }
        let mut lock = SessionLock::new(path, lock_timeout);
        let held = lock.acquire(true)?;
        let mut in_use = InUse::new(path);
        in_use.say(Some(&Fate::Deleted));
        if let Err(error) = disk::unlink(path) {
            in_use.say(None);
            return Err(Error::io(error, "cannot delete the session", path));
        }
        in_use.remove();
        temp::remove_leftover(path);
        lock.remove();
        drop(held);
        for aside in set_aside(path) {
            let _: io::Result<()> = disk::unlink_hidden(&aside);
        }
        // A name that a power cut brings back is that of a session that was not deleted.
        let _: io::Result<()> = disk::sync_dir(disk::dir_of(path));
        let removed = match std::fs::symlink_metadata(&artifacts) {
            Ok(metadata) if metadata.is_dir() => disk::remove_dir_all(&artifacts),
            // A link is not followed, and not what this session made.
            _ => Ok(()),
        };
        removed.map_err(|error| {
            let dir = artifacts.display();
            Error::io(error, &format!("Session file deleted but failed to remove artifacts directory {dir}"), path)
        })
    }
}

/// What was set aside when a session took the place of what was not one: `NAME.invalid-TIME`.
fn set_aside(session: &Path) -> Vec<PathBuf> {
    let name = session.file_name().unwrap_or_default().as_encoded_bytes();
    let is_time = |text: &[u8]| {
        let form = b"0000-00-00T00-00-00-000Z";
        text.len() == form.len()
            && text.iter().zip(form).all(|(c, of)| if *of == b'0' { c.is_ascii_digit() } else { c == of })
    };
    let is_copy = |entry: &std::fs::DirEntry| {
        let found = entry.file_name();
        let time = found.as_encoded_bytes().strip_prefix(name).and_then(|rest| rest.strip_prefix(b".invalid-"));
        time.is_some_and(is_time) && entry.file_type().is_ok_and(|kind| kind.is_file())
    };
    let entries = std::fs::read_dir(disk::dir_of(session)).into_iter().flatten().flatten();
    entries.filter(is_copy).map(|entry| entry.path()).collect()
}

/// The folder of a session's artifacts: its file without `.jsonl`.
pub(crate) fn artifacts_dir(session: &Path) -> Option<PathBuf> {
    let stem = session.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    if matches!(stem, "" | "." | "..") {
        // Not a name of a folder beside it.
        return None;
    }
    Some(session.with_file_name(stem))
}

impl SessionStorage for FileSessionStorage {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        disk::create_dir(dir).map_err(|error| Error::io(error, "cannot make the folder", dir))
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        std::fs::read(path).map_err(|error| Error::io(error, "cannot read the file", path))
    }

    fn read_prefix(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        let failed = |error| Error::io(error, "cannot read the file", path);
        let mut bytes = Vec::new();
        File::open(path).map_err(failed)?.take(limit as u64).read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        make_parent(path)?;
        let failed = |error| Error::io(error, "cannot write the file", path);
        // As a session's file: another takes its place, and a link is followed.
        let target = disk::followed(path);
        match std::fs::metadata(&target) {
            Ok(metadata) => disk::plain(&metadata).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let temp = TempFile::random(&target).map_err(failed)?;
        temp.take_mode_of(&target);
        disk::write_all(temp.file(), bytes).map_err(failed)?;
        disk::sync(temp.file()).map_err(failed)?;
        temp.put_in_place(&target).map_err(failed)?;
        disk::sync_dir(disk::dir_of(&target)).map_err(failed)
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        let failed = |error| Error::io(error, "cannot look at the file", path);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        Ok(StorageStat { size: metadata.len(), modified: metadata.modified().map_err(failed)? })
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter(|entry| {
                entry.file_name().to_str().is_some_and(|name| !name.starts_with('.') && fits(name, pattern))
            })
            .map(|entry| entry.path())
            .collect();
        files.sort_unstable();
        files
    }

    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = std::fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
            .map(|entry| entry.path())
            .collect();
        dirs.sort_unstable();
        dirs
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        match disk::rename(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => Ok(()),
            result => result.map_err(|error| Error::io(error, "cannot rename the file", from)),
        }
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        match disk::unlink(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result.map_err(|error| Error::io(error, "cannot remove the file", path)),
        }
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        make_parent(path)?;
        let failed = |error| Error::io(error, "cannot open the file", path);
        let file = disk::open_append(path, true).map_err(failed)?;
        if mode == WriterMode::Truncate {
            disk::truncate(&file, 0).map_err(failed)?;
        }
        Ok(Box::new(FileWriter { file: Some(file), path: path.to_owned(), error: None }))
    }

    fn as_files(&self) -> Option<&FileSessionStorage> {
        Some(self)
    }
}

fn make_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => FileSessionStorage.ensure_dir(dir),
        _ => Ok(()),
    }
}

struct FileWriter {
    file: Option<File>,
    path: PathBuf,
    /// The first one.
    error: Option<Error>,
}

impl FileWriter {
    fn open(&self) -> Result<&File> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        self.file.as_ref().ok_or_else(|| Error::new(ErrorCode::Closed, "Writer closed").at(&self.path))
    }

    fn note(&mut self, result: io::Result<()>, what: &str) -> Result<()> {
        result.map_err(|error| {
            let error = Error::io(error, what, &self.path);
            self.error.get_or_insert_with(|| error.clone());
            error
        })
    }
}

impl SessionStorageWriter for FileWriter {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        let written = disk::write_all(self.open()?, line);
        self.note(written, "cannot write the line")
    }

    fn flush(&mut self) -> Result<()> {
        match (&self.error, &self.file) {
            (None, None) => Ok(()),
            _ => self.open().map(|_| ()),
        }
    }

    fn fsync(&mut self) -> Result<()> {
        let synced = disk::sync(self.open()?);
        self.note(synced, "cannot sync the file")
    }

    fn close(&mut self) -> Result<()> {
        self.file = None;
        Ok(())
    }

    fn error(&self) -> Option<Error> {
        self.error.clone()
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
