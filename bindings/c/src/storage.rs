//! Storages: where sessions are kept when it is not simply files.

use crate::abi::{Out, leaflog_str, leaflog_string, path_list};
use crate::callbacks::{self, leaflog_storage_functions};
use crate::error::{Failure, guard, leaflog_error};
use crate::session;
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{FileSessionStorage, MemorySessionStorage, SessionStorage, SessionStorageWriter, WriterMode};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A place that keeps sessions under paths. Any number of threads may use one at once. Sessions that were
/// made with it keep it; the caller frees the handle with `leaflog_storage_free()`.
pub struct leaflog_storage {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_storage {
    type Object = Storage;
    const NAME: &'static str = "storage";
}

pub(crate) enum Storage {
    Files(FileSessionStorage),
    Other(Arc<dyn SessionStorage>),
}

impl Storage {
    fn get(&self) -> &dyn SessionStorage {
        match self {
            Self::Files(files) => files,
            Self::Other(other) => other,
        }
    }
}

/// Writes lines to one file of a storage. It is for one thread at a time (LEAFLOG_STATUS_BUSY) and may be
/// handed to another. It keeps its storage. The caller frees it with `leaflog_writer_free()`.
pub struct leaflog_writer {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_writer {
    type Object = Mutex<Box<dyn SessionStorageWriter>>;
    const NAME: &'static str = "writer";
}

/// A writer begins after what is there.
pub const LEAFLOG_WRITER_APPEND: i32 = 0;
/// A writer begins with an empty file.
pub const LEAFLOG_WRITER_TRUNCATE: i32 = 1;

fn new(
    storage: *mut *mut leaflog_storage,
    error: *mut *mut leaflog_error,
    make: impl FnOnce() -> Result<Storage, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(storage, "storage")?;
        table::hand_out(out, make()?);
        Ok(())
    })
}

/// The storage that is the file system. A session that is given it is kept in files, as one that is given none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_files(
    storage: *mut *mut leaflog_storage,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    new(storage, error, || Ok(Storage::Files(FileSessionStorage)))
}

/// An empty storage in memory.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_memory(
    storage: *mut *mut leaflog_storage,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    new(storage, error, || Ok(Storage::Other(Arc::new(MemorySessionStorage::new()))))
}

/// A storage of the caller's own functions. The table is copied. After a failure its `release` is not called.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_new(
    functions: *const leaflog_storage_functions,
    storage: *mut *mut leaflog_storage,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    new(storage, error, || Ok(Storage::Other(Arc::new(callbacks::storage(functions)?))))
}

/// Frees the handle; sessions and writers of the storage go on. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_free(storage: *mut leaflog_storage) -> leaflog_status {
    table::free(storage.cast_const())
}

/// Milliseconds since 1970.
pub(crate) fn to_ms(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

/// The moment so many milliseconds after 1970.
pub(crate) fn from_ms(ms: i64) -> SystemTime {
    let far = Duration::from_millis(ms.unsigned_abs());
    let time = if ms < 0 { UNIX_EPOCH.checked_sub(far) } else { UNIX_EPOCH.checked_add(far) };
    time.unwrap_or(UNIX_EPOCH)
}

/// Uses a storage.
fn with(
    storage: *const leaflog_storage,
    error: *mut *mut leaflog_error,
    use_it: impl FnOnce(&dyn SessionStorage) -> Result<(), Failure>,
) -> leaflog_status {
    guard(error, || {
        let storage: Arc<Storage> = table::get(storage)?;
        use_it(storage.get())
    })
}

/// Makes a folder and those above it.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_ensure_dir(
    storage: *const leaflog_storage,
    dir: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| Ok(storage.ensure_dir(dir.path("dir")?)?))
}

/// Whether there is something at the path.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_exists(
    storage: *const leaflog_storage,
    path: leaflog_str,
    exists: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let out = Out::new(exists, "exists")?;
        out.put(storage.exists(path.path("path")?));
        Ok(())
    })
}

/// What is in a file, or in its first `most` bytes; UINT64_MAX for all. Its bytes are given as they are, and are not
/// UTF-8 where the file is damaged. NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_read_text(
    storage: *const leaflog_storage,
    path: leaflog_str,
    most: u64,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let out = Out::new(out, "out")?;
        let path = path.path("path")?;
        let bytes = match usize::try_from(most) {
            Ok(most) if most < usize::MAX => storage.read_prefix(path, most)?,
            _ => storage.read(path)?,
        };
        out.put(leaflog_string::new(bytes));
        Ok(())
    })
}

/// Makes `text`, any bytes, the content of a file, and the directories above it. The old content or the new is there
/// at any time.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_write_text(
    storage: *const leaflog_storage,
    path: leaflog_str,
    text: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| Ok(storage.write(path.path("path")?, text.bytes("text")?)?))
}

/// Size and time of the last change, in milliseconds since 1970, of a file; each may be NULL. Sizes are bytes
/// for files and UTF-16 units in memory. NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_stat(
    storage: *const leaflog_storage,
    path: leaflog_str,
    size: *mut u64,
    modified_ms: *mut i64,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let (size, modified) = (Out::optional(size, "size")?, Out::optional(modified_ms, "modified_ms")?);
        let stat = storage.stat(path.path("path")?)?;
        size.put(stat.size);
        modified.put(to_ms(stat.modified));
        Ok(())
    })
}

/// The paths of the files of a folder that `pattern` names, `*`, `*.ext` or a name: one after another, a NUL
/// after each. Empty when the folder cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_list_files(
    storage: *const leaflog_storage,
    dir: leaflog_str,
    pattern: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let out = Out::new(out, "out")?;
        out.put(path_list(&storage.list_files(dir.path("dir")?, pattern.text("pattern")?)));
        Ok(())
    })
}

/// The paths of the folders in a folder, hidden ones and links left out: one after another, a NUL after each. A storage
/// need not know of folders.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_list_dirs(
    storage: *const leaflog_storage,
    dir: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let out = Out::new(out, "out")?;
        out.put(path_list(&storage.list_dirs(dir.path("dir")?)));
        Ok(())
    })
}

/// Puts a file in another's place. A missing one is not an error and changes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_rename(
    storage: *const leaflog_storage,
    from: leaflog_str,
    to: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| Ok(storage.rename(from.path("from")?, to.path("to")?)?))
}

/// Removes a file. A missing one is not an error.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_unlink(
    storage: *const leaflog_storage,
    path: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| Ok(storage.unlink(path.path("path")?)?))
}

/// Removes a session file of the file system and its folder of artifacts. INVALID_ARGUMENT for a path that does
/// not end in `.jsonl` and NOT_FOUND for a missing file: nothing is touched then.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_delete_session(path: leaflog_str, error: *mut *mut leaflog_error) -> leaflog_status {
    guard(error, || Ok(FileSessionStorage.delete_session_with_artifacts(path.path("path")?)?))
}

/// Opens a file for writing lines, and makes the folders above it. `mode` is LEAFLOG_WRITER_APPEND or
/// LEAFLOG_WRITER_TRUNCATE.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_storage_open_writer(
    storage: *const leaflog_storage,
    path: leaflog_str,
    mode: i32,
    writer: *mut *mut leaflog_writer,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(storage, error, |storage| {
        let out = Out::new(writer, "writer")?;
        let mode = match mode {
            LEAFLOG_WRITER_APPEND => WriterMode::Append,
            LEAFLOG_WRITER_TRUNCATE => WriterMode::Truncate,
            other => return Err(Failure::argument(format!("mode: there is no {other}"))),
        };
        let writer = storage.open_writer(path.path("path")?, mode)?;
        table::hand_out(out, Mutex::new(writer));
        Ok(())
    })
}

/// Uses a writer.
fn write(
    writer: *mut leaflog_writer,
    error: *mut *mut leaflog_error,
    write: impl FnOnce(&mut dyn SessionStorageWriter) -> Result<(), Failure>,
) -> leaflog_status {
    guard(error, || {
        let writer = table::get(writer.cast_const())?;
        let mut writer = session::lock(&writer, "writer")?;
        write(&mut **writer)
    })
}

/// Writes a line, any bytes, which bring their newline. CLOSED after closing; the first error of the writer ever after.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_write_line(
    writer: *mut leaflog_writer,
    line: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    write(writer, error, |writer| Ok(writer.write_line(line.bytes("line")?)?))
}

/// Hands on what is still in the writer.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_flush(writer: *mut leaflog_writer, error: *mut *mut leaflog_error) -> leaflog_status {
    write(writer, error, |writer| Ok(writer.flush()?))
}

/// Waits until what was written would survive a power cut. CLOSED after closing.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_fsync(writer: *mut leaflog_writer, error: *mut *mut leaflog_error) -> leaflog_status {
    write(writer, error, |writer| Ok(writer.fsync()?))
}

/// Closes the file; closing again does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_close(writer: *mut leaflog_writer, error: *mut *mut leaflog_error) -> leaflog_status {
    write(writer, error, |writer| Ok(writer.close()?))
}

/// The first error of the writer, as text; absent when it had none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_error(
    writer: *mut leaflog_writer,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    write(writer, error, |writer| {
        let out = Out::new(out, "out")?;
        out.put_with(|| leaflog_string::optional(writer.error().map(|error| error.message())));
        Ok(())
    })
}

/// Frees a writer, and closes it. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_writer_free(writer: *mut leaflog_writer) -> leaflog_status {
    table::free(writer.cast_const())
}
