//! A storage of the caller's own, written in JavaScript. Its methods give promises, which nothing
//! here can wait for: what has to be done is queued, and the facade does it in order. What has to
//! be known is handed in beforehand.

use crate::storage::StorageHandle;
use crate::text;
use leaflog::{Error, ErrorCode, Result, SessionStorage, SessionStorageWriter, StorageStat, WriterMode};
use napi::bindgen_prelude::External;
use napi::{Env, JsString};
use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Queue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    texts: HashMap<PathBuf, String>,
    exists: HashMap<PathBuf, bool>,
    tasks: Vec<Value>,
    writers: u32,
}

impl Queue {
    fn push(&self, task: Value) {
        self.0.lock().tasks.push(task);
    }
}

impl SessionStorage for Queue {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        self.push(json!(["ensureDir", dir.to_string_lossy()]));
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        let state = self.0.lock();
        state.exists.get(path).copied().unwrap_or_else(|| state.texts.contains_key(path))
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let text = self.0.lock().texts.remove(path);
        text.map(String::into_bytes).ok_or_else(|| Error::file_not_found(path))
    }

    fn read_prefix(&self, path: &Path, _limit: usize) -> Result<Vec<u8>> {
        let text = self.0.lock().texts.get(path).cloned();
        text.map(String::into_bytes).ok_or_else(|| Error::file_not_found(path))
    }

    // Texts are what a storage in JavaScript has: it gave no bytes that are none.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.push(json!(["writeText", path.to_string_lossy(), String::from_utf8_lossy(bytes)]));
        self.0.lock().exists.insert(path.to_owned(), true);
        Ok(())
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        Err(Error::file_not_found(path))
    }

    fn list_files(&self, _dir: &Path, _pattern: &str) -> Vec<PathBuf> {
        Vec::new()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.push(json!(["rename", from.to_string_lossy(), to.to_string_lossy()]));
        let exists = &mut self.0.lock().exists;
        exists.insert(from.to_owned(), false);
        exists.insert(to.to_owned(), true);
        Ok(())
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        self.push(json!(["unlink", path.to_string_lossy()]));
        self.0.lock().exists.insert(path.to_owned(), false);
        Ok(())
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        let flags = match mode {
            WriterMode::Append => "a",
            WriterMode::Truncate => "w",
        };
        let mut state = self.0.lock();
        state.writers += 1;
        let number = state.writers;
        state.tasks.push(json!(["openWriter", number, path.to_string_lossy(), flags]));
        state.exists.insert(path.to_owned(), true);
        drop(state);
        Ok(Box::new(Writer { queue: self.clone(), number, closed: false }))
    }
}

struct Writer {
    queue: Queue,
    number: u32,
    closed: bool,
}

impl Writer {
    fn task(&self, name: &str) -> Result<()> {
        if self.closed {
            return Err(Error::new(ErrorCode::Closed, "Writer closed"));
        }
        self.queue.push(json!([name, self.number]));
        Ok(())
    }
}

impl SessionStorageWriter for Writer {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        if self.closed {
            return Err(Error::new(ErrorCode::Closed, "Writer closed"));
        }
        self.queue.push(json!(["writeLine", self.number, String::from_utf8_lossy(line)]));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.task("flush")
    }

    fn fsync(&mut self) -> Result<()> {
        self.task("fsync")
    }

    fn close(&mut self) -> Result<()> {
        self.task("close")?;
        self.closed = true;
        Ok(())
    }

    fn error(&self) -> Option<Error> {
        None
    }
}

#[napi(catch_unwind)]
pub fn queue_new() -> External<StorageHandle> {
    External::new(StorageHandle::Queue(Queue::default()))
}

fn queue(storage: &StorageHandle) -> napi::Result<&Queue> {
    match storage {
        StorageHandle::Queue(queue) => Ok(queue),
        StorageHandle::Memory(_) => Err(crate::error::invalid("this storage has no queue")),
    }
}

/// Hands in the text of a file; `None` when there is no such file.
#[napi(catch_unwind)]
pub fn queue_text(storage: &External<StorageHandle>, path: String, text: Option<String>) -> napi::Result<()> {
    let mut state = queue(storage)?.0.lock();
    let path = PathBuf::from(path);
    state.exists.insert(path.clone(), text.is_some());
    match text {
        Some(text) => state.texts.insert(path, text),
        None => state.texts.remove(&path),
    };
    Ok(())
}

/// Hands in whether there is something at a path.
#[napi(catch_unwind)]
pub fn queue_exists(storage: &External<StorageHandle>, path: String, exists: bool) -> napi::Result<()> {
    queue(storage)?.0.lock().exists.insert(PathBuf::from(path), exists);
    Ok(())
}

/// Takes what is to be done.
#[napi(catch_unwind)]
pub fn queue_take<'env>(env: &'env Env, storage: &External<StorageHandle>) -> napi::Result<JsString<'env>> {
    let tasks = std::mem::take(&mut queue(storage)?.0.lock().tasks);
    text::give_value(env, &tasks)
}
