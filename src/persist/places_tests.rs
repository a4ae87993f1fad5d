//! Where the scripts keep their sessions: files, and a storage that counts its operations.

use crate::manager::ManagerOptions;
use crate::storage::disk::faults::{self, Fault};
use crate::storage::{MemorySessionStorage, SessionStorage, SessionStorageWriter, StorageStat, WriterMode};
use crate::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A place for sessions whose operations can be made to fail.
pub(super) trait Place {
    /// The folder of everything.
    fn dir(&self) -> &Path;
    fn options(&self) -> ManagerOptions;
    /// Counts operations from 0 again; the one `at` will fail, and with `stays` all after it.
    fn plan(&self, at: Option<(usize, Fault)>, stays: bool);
    /// The operations since the last plan; none fails from here on.
    fn end(&self) -> Vec<String>;
    fn read(&self, path: &Path) -> Option<Vec<u8>>;
    fn put(&self, path: &Path, text: &str);
    /// The files below the session folder.
    fn files(&self) -> Vec<PathBuf>;
    /// A failed append is cut back (R54).
    fn cuts_back(&self) -> bool;

    fn sessions(&self) -> PathBuf {
        self.dir().join("agent/sessions/given")
    }

    fn blobs(&self) -> PathBuf {
        self.dir().join("agent/blobs")
    }

    /// The ways an operation can fail.
    fn faults(&self, operation: &str) -> Vec<Fault> {
        match operation {
            "Write" | "write_line" | "write" => vec![
                Fault::Fails,
                Fault::StopsAfter(0),
                Fault::StopsAfter(1),
                Fault::StopsAfter(70),
                // All but the last byte.
                Fault::StopsAfter(usize::MAX),
            ],
            _ => vec![Fault::Fails],
        }
    }

    /// Files that a listing of sessions would look at.
    fn visible(&self) -> Vec<PathBuf> {
        self.named(|name| !name.starts_with('.'))
    }

    fn temporary(&self) -> Vec<PathBuf> {
        self.named(|name| name.ends_with(".tmp"))
    }

    fn named(&self, is_meant: fn(&str) -> bool) -> Vec<PathBuf> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        self.files().into_iter().filter(|path| is_meant(&name(path))).collect()
    }
}

/// A folder in memory where there is one: syncing thousands of files to a disk takes long.
fn quick_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Real files.
pub(super) struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    pub(super) fn new() -> Self {
        let dir = quick_dir();
        fs::create_dir_all(dir.path().join("agent/sessions/given")).unwrap();
        Self { dir }
    }
}

impl Place for Files {
    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn options(&self) -> ManagerOptions {
        ManagerOptions::new().agent_dir(self.dir.path().join("agent"))
    }

    fn plan(&self, at: Option<(usize, Fault)>, stays: bool) {
        faults::plan(at, stays);
    }

    fn end(&self) -> Vec<String> {
        faults::end().into_iter().map(|operation| format!("{operation:?}")).collect()
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        fs::read(path).ok()
    }

    fn put(&self, path: &Path, text: &str) {
        fs::write(path, text).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        let sessions = self.dir.path().join("agent/sessions");
        let folders = fs::read_dir(sessions).unwrap().map(|folder| folder.unwrap().path());
        folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path()).collect()
    }

    fn cuts_back(&self) -> bool {
        true
    }
}

/// A storage of a user's own.
pub(super) struct Stored {
    dir: tempfile::TempDir,
    storage: Failing,
}

impl Stored {
    pub(super) fn new() -> Self {
        Self { dir: quick_dir(), storage: Failing::default() }
    }
}

impl Place for Stored {
    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn options(&self) -> ManagerOptions {
        ManagerOptions::new().agent_dir(self.dir.path().join("agent")).storage(self.storage.clone())
    }

    fn plan(&self, at: Option<(usize, Fault)>, stays: bool) {
        *self.storage.plan.lock() = Plan { operations: Vec::new(), at, stays };
    }

    fn end(&self) -> Vec<String> {
        std::mem::take(&mut *self.storage.plan.lock()).operations
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.storage.inner.read(path).ok()
    }

    fn put(&self, path: &Path, text: &str) {
        self.storage.inner.write_text(path, text).unwrap();
    }

    fn files(&self) -> Vec<PathBuf> {
        self.storage.paths.lock().iter().filter(|path| self.storage.inner.exists(path)).cloned().collect()
    }

    fn cuts_back(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Plan {
    operations: Vec<String>,
    at: Option<(usize, Fault)>,
    stays: bool,
}

/// Counts what it is asked to do, and fails as planned.
#[derive(Clone, Default)]
struct Failing {
    inner: MemorySessionStorage,
    plan: Arc<Mutex<Plan>>,
    /// Every path that was ever written.
    paths: Arc<Mutex<Vec<PathBuf>>>,
}

fn full() -> Error {
    Error::new(ErrorCode::Io, "no space left")
}

impl Failing {
    fn fault(&self, operation: &str) -> Option<Fault> {
        let mut plan = self.plan.lock();
        let step = plan.operations.len();
        plan.operations.push(operation.to_owned());
        let (at, fault) = plan.at?;
        (step == at || plan.stays && step > at).then_some(fault)
    }

    fn step(&self, operation: &str) -> Result<()> {
        self.fault(operation).map_or(Ok(()), |_| Err(full()))
    }

    /// Writes as much as the plan allows.
    fn allowed(&self, operation: &str, bytes: &[u8], write: impl FnOnce(&[u8]) -> Result<()>) -> Result<()> {
        match self.fault(operation) {
            None => write(bytes),
            Some(Fault::StopsAfter(most)) => {
                write(&bytes[..most.min(bytes.len() - 1)])?;
                Err(full())
            }
            Some(_) => Err(full()),
        }
    }

    fn written(&self, path: &Path) {
        self.paths.lock().push(path.to_owned());
    }
}

impl SessionStorage for Failing {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        self.step("ensure_dir").and_then(|()| self.inner.ensure_dir(dir))
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.step("read").and_then(|()| self.inner.read(path))
    }

    fn read_prefix(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        self.step("read_prefix").and_then(|()| self.inner.read_prefix(path, most))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.written(path);
        self.allowed("write", bytes, |bytes| self.inner.write(path, bytes))
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.step("stat").and_then(|()| self.inner.stat(path))
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.inner.list_files(dir, pattern)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.written(to);
        self.step("rename").and_then(|()| self.inner.rename(from, to))
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        self.step("unlink").and_then(|()| self.inner.unlink(path))
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        self.written(path);
        self.step("open_writer")?;
        let inner = self.inner.open_writer(path, mode)?;
        let names = match mode {
            WriterMode::Append => ["flush", "close"],
            WriterMode::Truncate => ["flush of a new file", "close of a new file"],
        };
        Ok(Box::new(FailingWriter { inner, storage: self.clone(), names, error: None }))
    }
}

/// Keeps its first failure, as the trait asks.
struct FailingWriter {
    inner: Box<dyn SessionStorageWriter>,
    storage: Failing,
    /// Of flushing and closing.
    names: [&'static str; 2],
    error: Option<Error>,
}

impl FailingWriter {
    fn check(&self) -> Result<()> {
        self.error.clone().map_or(Ok(()), Err)
    }

    fn note(&mut self, result: Result<()>) -> Result<()> {
        result.inspect_err(|error| {
            self.error.get_or_insert_with(|| error.clone());
        })
    }
}

impl SessionStorageWriter for FailingWriter {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.check()?;
        let written = self.storage.clone().allowed("write_line", line, |line| self.inner.write_line(line));
        self.note(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.check()?;
        let flushed = self.storage.step(self.names[0]).and_then(|()| self.inner.flush());
        self.note(flushed)
    }

    fn fsync(&mut self) -> Result<()> {
        self.check()?;
        let synced = self.storage.step("fsync").and_then(|()| self.inner.fsync());
        self.note(synced)
    }

    fn close(&mut self) -> Result<()> {
        self.check()?;
        let closed = self.storage.step(self.names[1]).and_then(|()| self.inner.close());
        self.note(closed)
    }

    fn error(&self) -> Option<Error> {
        self.error.clone()
    }
}
