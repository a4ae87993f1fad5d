//! The storages that come with the library, for callers of their methods.

use crate::discovery::to_ms;
use crate::error::convert;
use crate::queue::Queue;
use leaflog::{Error, FileSessionStorage, MemorySessionStorage, SessionStorage, SessionStorageWriter, WriterMode};
use napi::bindgen_prelude::External;
use napi_derive::napi;
use parking_lot::Mutex;
use std::path::Path;

/// A storage that is not the file system.
pub enum StorageHandle {
    /// In memory.
    Memory(MemorySessionStorage),
    /// The caller's own.
    Queue(Queue),
}

/// Handle of a storage; none is the file system.
pub(crate) type Storage<'a> = Option<&'a External<StorageHandle>>;

fn with<T>(storage: Storage<'_>, run: impl FnOnce(&dyn SessionStorage) -> leaflog::Result<T>) -> napi::Result<T> {
    let storage: &dyn SessionStorage = match storage.map(|storage| &**storage) {
        None => &FileSessionStorage,
        Some(StorageHandle::Memory(memory)) => memory,
        Some(StorageHandle::Queue(queue)) => queue,
    };
    run(storage).map_err(convert)
}

#[napi(catch_unwind)]
pub fn memory_new() -> External<StorageHandle> {
    External::new(StorageHandle::Memory(MemorySessionStorage::new()))
}

#[napi(catch_unwind)]
pub fn storage_ensure_dir(storage: Storage<'_>, dir: String) -> napi::Result<()> {
    with(storage, |storage| storage.ensure_dir(Path::new(&dir)))
}

#[napi(catch_unwind)]
pub fn storage_exists(storage: Storage<'_>, path: String) -> napi::Result<bool> {
    with(storage, |storage| Ok(storage.exists(Path::new(&path))))
}

#[napi(catch_unwind)]
pub fn storage_read(storage: Storage<'_>, path: String) -> napi::Result<String> {
    with(storage, |storage| storage.read_text(Path::new(&path)))
}

#[napi(catch_unwind)]
pub fn storage_read_prefix(storage: Storage<'_>, path: String, most: u32) -> napi::Result<String> {
    with(storage, |storage| {
        let bytes = storage.read_prefix(Path::new(&path), most as usize)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
}

#[napi(catch_unwind)]
pub fn storage_write(storage: Storage<'_>, path: String, content: String) -> napi::Result<()> {
    with(storage, |storage| storage.write_text(Path::new(&path), &content))
}

/// Size and time of the last change in milliseconds.
#[napi(catch_unwind)]
pub fn storage_stat(storage: Storage<'_>, path: String) -> napi::Result<Vec<f64>> {
    let stat = with(storage, |storage| storage.stat(Path::new(&path)))?;
    #[allow(clippy::cast_precision_loss, reason = "a number of JavaScript is a double")]
    Ok(vec![stat.size as f64, to_ms(stat.modified)])
}

#[napi(catch_unwind)]
pub fn storage_list(storage: Storage<'_>, dir: String, pattern: String) -> napi::Result<Vec<String>> {
    let files = with(storage, |storage| Ok(storage.list_files(Path::new(&dir), &pattern)))?;
    Ok(files.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// In memory a missing one is an error, as the agent's callers know it.
#[napi(catch_unwind)]
pub fn storage_rename(storage: Storage<'_>, from: String, to: String) -> napi::Result<()> {
    if let Some(StorageHandle::Memory(memory)) = storage.map(|storage| &**storage)
        && !memory.exists(Path::new(&from))
    {
        return Err(convert(Error::file_not_found(Path::new(&from))));
    }
    with(storage, |storage| storage.rename(Path::new(&from), Path::new(&to)))
}

/// A missing file of the file system is an error, as the agent's callers know it.
#[napi(catch_unwind)]
pub fn storage_unlink(storage: Storage<'_>, path: String) -> napi::Result<()> {
    if storage.is_none() {
        let removed = std::fs::remove_file(&path);
        return removed.map_err(|error| convert(Error::io(error, "cannot remove the file", Path::new(&path))));
    }
    with(storage, |storage| storage.unlink(Path::new(&path)))
}

#[napi(catch_unwind)]
pub fn delete_session(path: String) -> napi::Result<()> {
    FileSessionStorage.delete_session_with_artifacts(&path).map_err(convert)
}

/// Handle of a writer.
pub struct WriterHandle(Mutex<Box<dyn SessionStorageWriter>>);

#[napi(catch_unwind)]
pub fn writer_open(storage: Storage<'_>, path: String, truncate: bool) -> napi::Result<External<WriterHandle>> {
    let mode = if truncate { WriterMode::Truncate } else { WriterMode::Append };
    let writer = with(storage, |storage| storage.open_writer(Path::new(&path), mode))?;
    Ok(External::new(WriterHandle(Mutex::new(writer))))
}

fn on(
    writer: &WriterHandle,
    run: impl FnOnce(&mut dyn SessionStorageWriter) -> leaflog::Result<()>,
) -> napi::Result<()> {
    run(&mut **writer.0.lock()).map_err(convert)
}

#[napi(catch_unwind)]
pub fn writer_line(writer: &External<WriterHandle>, line: String) -> napi::Result<()> {
    on(writer, |writer| writer.write_line(line.as_bytes()))
}

#[napi(catch_unwind)]
pub fn writer_flush(writer: &External<WriterHandle>) -> napi::Result<()> {
    on(writer, |writer| writer.flush())
}

#[napi(catch_unwind)]
pub fn writer_fsync(writer: &External<WriterHandle>) -> napi::Result<()> {
    on(writer, |writer| writer.fsync())
}

#[napi(catch_unwind)]
pub fn writer_close(writer: &External<WriterHandle>) -> napi::Result<()> {
    on(writer, |writer| writer.close())
}
