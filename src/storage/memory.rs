//! A storage in memory, for tests and for sessions that are not kept.

use super::session_storage::{SessionStorage, SessionStorageWriter, StorageStat, WriterMode, fits};
use crate::error::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Keeps files in memory. Copies share their files.
#[derive(Clone, Debug, Default)]
pub struct MemorySessionStorage {
    files: Arc<Mutex<BTreeMap<PathBuf, MemoryFile>>>,
}

#[derive(Debug)]
struct MemoryFile {
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl MemorySessionStorage {
    /// A storage without files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file in, with the time of its last change: for programs that have files to be looked
    /// through, and no storage.
    pub fn put(&self, path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>, modified: SystemTime) {
        self.files.lock().insert(path.into(), MemoryFile { bytes: bytes.into(), modified });
    }

    fn with<T>(&self, path: &Path, read: impl FnOnce(&MemoryFile) -> T) -> Result<T> {
        let files = self.files.lock();
        files.get(path).map(read).ok_or_else(|| Error::file_not_found(path))
    }

    fn change(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut files = self.files.lock();
        let file = files
            .entry(path.to_owned())
            .or_insert_with(|| MemoryFile { bytes: Vec::new(), modified: SystemTime::now() });
        change(&mut file.bytes);
        file.modified = SystemTime::now();
    }
}

impl SessionStorage for MemorySessionStorage {
    fn ensure_dir(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.lock().contains_key(path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.with(path, |file| file.bytes.clone())
    }

    fn read_prefix(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        self.with(path, |file| file.bytes[..prefix(&file.bytes, limit).0].to_vec())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.change(path, |file| bytes.clone_into(file));
        Ok(())
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.with(path, |file| StorageStat { size: prefix(&file.bytes, usize::MAX).1 as u64, modified: file.modified })
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        let files = self.files.lock();
        files
            .keys()
            .filter(|path| path.parent() == Some(dir))
            .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| fits(name, pattern)))
            .cloned()
            .collect()
    }

    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let files = self.files.lock();
        let below = files.keys().filter_map(|path| {
            let rest = path.strip_prefix(dir).ok()?;
            let name = rest.components().next()?;
            let is_dir = rest.components().nth(1).is_some();
            (is_dir && !name.as_os_str().as_encoded_bytes().starts_with(b".")).then(|| dir.join(name))
        });
        let mut dirs: Vec<PathBuf> = below.collect();
        // Not all paths of a folder follow one another.
        dirs.sort_unstable();
        dirs.dedup();
        dirs
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut files = self.files.lock();
        if let Some(file) = files.remove(from) {
            files.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        self.files.lock().remove(path);
        Ok(())
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        if mode == WriterMode::Truncate {
            self.write(path, &[])?;
        }
        Ok(Box::new(MemoryWriter { storage: self.clone(), path: path.to_owned(), closed: false }))
    }
}

/// How many bytes the first `limit` UTF-16 units take, as far as they are whole characters, and how many
/// units those are. Bytes that are not UTF-8 are what U+FFFD stands for.
fn prefix(bytes: &[u8], limit: usize) -> (usize, usize) {
    let (mut len, mut units) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let characters = chunk.valid().chars().map(|c| (c.len_utf8(), c.len_utf16()));
        let damaged = Some((chunk.invalid().len(), 1)).filter(|(len, _)| *len > 0);
        for (bytes, more) in characters.chain(damaged) {
            if units + more > limit {
                return (len, units);
            }
            (len, units) = (len + bytes, units + more);
        }
    }
    (len, units)
}

struct MemoryWriter {
    storage: MemorySessionStorage,
    path: PathBuf,
    closed: bool,
}

impl SessionStorageWriter for MemoryWriter {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        if self.closed {
            return Err(Error::new(ErrorCode::Closed, "Writer closed").at(&self.path));
        }
        self.storage.change(&self.path, |file| file.extend_from_slice(line));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn fsync(&mut self) -> Result<()> {
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.closed = true;
        Ok(())
    }

    fn error(&self) -> Option<Error> {
        None
    }
}
