//! A storage that puts its writes off: it stands for one whose operations are asynchronous.

use leaflog::{Error, ErrorCode, MemorySessionStorage, Result};
use leaflog::{SessionStorage, SessionStorageWriter, StorageStat, WriterMode};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Lines are queued, and written when [`Queued::turn`] is called or something waits for them: a
/// flush, a sync, or an operation that is not the writing of a line.
#[derive(Clone, Default)]
pub struct Queued {
    pub files: MemorySessionStorage,
    queue: Arc<Mutex<VecDeque<Line>>>,
    /// How many of the next lines will be written, before one fails and all that are queued
    /// behind it are dropped.
    fails_after: Arc<Mutex<Option<usize>>>,
    /// The next rename is accepted, and fails later.
    pub rename_fails: Arc<Mutex<bool>>,
    late: Arc<Mutex<Option<Error>>>,
}

struct Line {
    path: PathBuf,
    bytes: Vec<u8>,
    error: Arc<Mutex<Option<Error>>>,
}

fn hung_up() -> Error {
    Error::new(ErrorCode::Io, "the other side hung up")
}

impl Queued {
    /// How many lines wait.
    pub fn waiting(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    pub fn fail_after(&self, lines: usize) {
        *self.fails_after.lock().unwrap() = Some(lines);
    }

    /// Carries out what waits, in order.
    pub fn turn(&self) {
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some(line) = next else { return };
            let mut fails_after = self.fails_after.lock().unwrap();
            match *fails_after {
                Some(0) => {
                    *fails_after = None;
                    *line.error.lock().unwrap() = Some(hung_up());
                    // Half a line is what there is of it.
                    self.append(&line.path, &line.bytes[..line.bytes.len() / 2]);
                    let queue = std::mem::take(&mut *self.queue.lock().unwrap());
                    for dropped in queue {
                        dropped.error.lock().unwrap().get_or_insert_with(hung_up);
                    }
                    return;
                }
                Some(left) => *fails_after = Some(left - 1),
                None => {}
            }
            drop(fails_after);
            self.append(&line.path, &line.bytes);
        }
    }

    fn append(&self, path: &Path, line: &[u8]) {
        self.files.open_writer(path, WriterMode::Append).unwrap().write_line(line).unwrap();
    }
}

impl SessionStorage for Queued {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        self.files.ensure_dir(dir)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.exists(path)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.turn();
        self.files.read(path)
    }

    fn read_prefix(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        self.turn();
        self.files.read_prefix(path, most)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.turn();
        self.files.write(path, bytes)
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.turn();
        self.files.stat(path)
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.files.list_files(dir, pattern)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.turn();
        if std::mem::take(&mut *self.rename_fails.lock().unwrap()) {
            *self.late.lock().unwrap() = Some(Error::new(ErrorCode::Io, "the rename failed").at(to));
            return Ok(());
        }
        self.files.rename(from, to)
    }

    fn flush(&self) -> Result<()> {
        self.turn();
        self.late.lock().unwrap().take().map_or(Ok(()), Err)
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        self.turn();
        self.files.unlink(path)
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        self.turn();
        self.files.open_writer(path, mode)?;
        Ok(Box::new(QueuedWriter {
            storage: self.clone(),
            path: path.to_owned(),
            error: Arc::default(),
            closed: false,
        }))
    }
}

struct QueuedWriter {
    storage: Queued,
    path: PathBuf,
    error: Arc<Mutex<Option<Error>>>,
    closed: bool,
}

impl QueuedWriter {
    fn check(&self) -> Result<()> {
        self.error().map_or(Ok(()), Err)
    }
}

impl SessionStorageWriter for QueuedWriter {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        if self.closed {
            return Err(Error::new(ErrorCode::Closed, "Writer closed"));
        }
        self.check()?;
        let line = Line { path: self.path.clone(), bytes: line.to_owned(), error: Arc::clone(&self.error) };
        self.storage.queue.lock().unwrap().push_back(line);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.storage.turn();
        self.check()
    }

    fn fsync(&mut self) -> Result<()> {
        self.flush()
    }

    fn close(&mut self) -> Result<()> {
        self.closed = true;
        self.flush()
    }

    fn error(&self) -> Option<Error> {
        self.error.lock().unwrap().clone()
    }
}
