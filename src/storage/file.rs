//! The storage that is the file system.

use super::disk;
use super::lock::{self, SessionLock};
use super::session_storage::{SessionStorage, SessionStorageWriter, StorageStat, WriterMode, fits};
use super::{source, temp};
use crate::error::{Error, ErrorCode, Result};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Keeps sessions as files. A [`SessionManager`](crate::SessionManager) does not go through these
/// methods for files: it appends with one `write` under a lock. They are for programs that look
/// after files themselves, and behave alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSessionStorage;

impl FileSessionStorage {
    /// Removes a session file and its folder of artifacts (R56): the file first, so that what
    /// cannot be removed never leaves a session without its artifacts.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a path that does not end in `.jsonl`, `NOT_FOUND` for a missing
    /// file, and nothing else is touched then. When only the artifacts stayed the error says so.
    pub fn delete_session_with_artifacts(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let Some(artifacts) = artifacts_dir(path) else {
            return Err(Error::new(ErrorCode::InvalidArgument, "a session file ends in .jsonl").at(path));
        };
        let metadata = std::fs::symlink_metadata(path).map_err(|e| Error::io(e, "cannot delete the session", path))?;
        if metadata.is_dir() {
            return Err(source::is_a_folder(path));
        }
        let mut lock = SessionLock::new(path, lock::TIMEOUT);
        let held = lock.acquire(true)?;
        disk::unlink(path).map_err(|error| Error::io(error, "cannot delete the session", path))?;
        temp::remove_leftover(path);
        let _: io::Result<()> = std::fs::remove_file(lock::path_for(path));
        drop(held);
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

    fn read_text(&self, path: &Path) -> Result<String> {
        let bytes = std::fs::read(path).map_err(|error| Error::io(error, "cannot read the file", path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_text_prefix(&self, path: &Path, most: usize) -> Result<String> {
        let failed = |error| Error::io(error, "cannot read the file", path);
        let mut bytes = Vec::new();
        File::open(path).map_err(failed)?.take(most as u64).read_to_end(&mut bytes).map_err(failed)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn write_text(&self, path: &Path, text: &str) -> Result<()> {
        make_parent(path)?;
        let failed = |error| Error::io(error, "cannot write the file", path);
        let file = disk::open_append(path, true).map_err(failed)?;
        disk::truncate(&file, 0).map_err(failed)?;
        disk::write_all(&file, text.as_bytes()).map_err(failed)
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
        disk::unlink(path).map_err(|error| Error::io(error, "cannot remove the file", path))
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
    /// Code and text of the first error.
    error: Option<(ErrorCode, String)>,
}

impl FileWriter {
    fn open(&self) -> Result<&File> {
        if let Some((code, message)) = &self.error {
            return Err(Error::new(*code, message.clone()).at(&self.path));
        }
        self.file.as_ref().ok_or_else(|| Error::new(ErrorCode::Closed, "Writer closed").at(&self.path))
    }

    fn note(&mut self, result: io::Result<()>, what: &str) -> Result<()> {
        result.map_err(|error| {
            let error = Error::io(error, what, &self.path);
            self.error.get_or_insert_with(|| (error.code(), error.message()));
            error
        })
    }
}

impl SessionStorageWriter for FileWriter {
    fn write_line(&mut self, line: &str) -> Result<()> {
        let written = disk::write_all(self.open()?, line.as_bytes());
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

    fn error(&self) -> Option<String> {
        self.error.as_ref().map(|(_, message)| message.clone())
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
