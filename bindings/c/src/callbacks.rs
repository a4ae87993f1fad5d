//! A storage of the caller's own functions.

use crate::abi::{self, leaflog_str, path_bytes, read_sized};
use crate::error::{Failure, guard};
use crate::status::{core_code, leaflog_status};
use crate::storage::from_ms;
use crate::table::{self, Opaque};
use leaflog_core::{Error, ErrorCode, Result, SessionStorage, SessionStorageWriter, StorageStat, WriterMode};
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The version of `leaflog_storage_functions` that this header describes.
pub const LEAFLOG_STORAGE_VERSION: u32 = 1;

/// What a function of a caller's storage answers with, beside its status. It is made for one call of that
/// function and used on that thread only; when the function has returned, it is gone and a call with it is
/// LEAFLOG_STATUS_INVALID_HANDLE.
pub struct leaflog_reply {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_reply {
    type Object = Mutex<Reply>;
    const NAME: &'static str = "reply";
}

#[derive(Default)]
pub(crate) struct Reply {
    pieces: Vec<Vec<u8>>,
    message: Option<String>,
    os_errno: i32,
}

/// A storage of the caller's own. Set all to 0, then `struct_size`, `version` and the functions; all but
/// `release` and `list_dirs` are needed. Every function is handed `data` first.
///
/// Those that give an `int32_t` give a `leaflog_status`, LEAFLOG_STATUS_OK when they did it;
/// `leaflog_reply_fail()` can say more about a failure. Numbers from LEAFLOG_STATUS_INVALID_HANDLE on mean
/// LEAFLOG_STATUS_IO. NOT_FOUND of `read_text` is how a session that does not exist yet is told.
///
/// Functions are called inside calls of the library, on the thread that called it: on several threads
/// at once when several sessions use the storage, but never so for one writer. They must return: no exception, no
/// `longjmp` may leave one. Paths and what is in files are bytes, borrowed for the call:
/// UTF-8, unless a session is damaged, and then they are to be kept as they are.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_storage_functions {
    /// `sizeof(leaflog_storage_functions)`.
    pub struct_size: usize,
    /// LEAFLOG_STORAGE_VERSION.
    pub version: u32,
    /// Handed to every function.
    pub data: *mut c_void,
    /// Called once, when the handle and all sessions and writers of the storage are freed. May be NULL.
    pub release: Option<unsafe extern "C" fn(data: *mut c_void)>,
    /// Makes a folder and those above it.
    pub ensure_dir: Option<unsafe extern "C" fn(data: *mut c_void, dir: leaflog_str, reply: *mut leaflog_reply) -> i32>,
    /// Not 0 when there is something at the path.
    pub exists: Option<unsafe extern "C" fn(data: *mut c_void, path: leaflog_str) -> i32>,
    /// Gives the first `most` bytes of a file, UINT64_MAX for all, with `leaflog_reply_add()`, in any number of
    /// pieces.
    pub read_text:
        Option<unsafe extern "C" fn(data: *mut c_void, path: leaflog_str, most: u64, reply: *mut leaflog_reply) -> i32>,
    /// Makes `text` the content of a file, and the folders above it.
    pub write_text: Option<
        unsafe extern "C" fn(data: *mut c_void, path: leaflog_str, text: leaflog_str, reply: *mut leaflog_reply) -> i32,
    >,
    /// Size and milliseconds since 1970 of the last change. Both places are there.
    pub stat: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            path: leaflog_str,
            size: *mut u64,
            modified_ms: *mut i64,
            reply: *mut leaflog_reply,
        ) -> i32,
    >,
    /// Gives the path of each file of a folder that `pattern` names (`*`, `*.ext` or a name) with one
    /// `leaflog_reply_add()`.
    pub list_files: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            dir: leaflog_str,
            pattern: leaflog_str,
            reply: *mut leaflog_reply,
        ) -> i32,
    >,
    /// Puts a file in another's place, at once. A missing one is not an error and changes nothing.
    pub rename: Option<
        unsafe extern "C" fn(data: *mut c_void, from: leaflog_str, to: leaflog_str, reply: *mut leaflog_reply) -> i32,
    >,
    /// Removes a file. A missing one is not an error.
    pub unlink: Option<unsafe extern "C" fn(data: *mut c_void, path: leaflog_str, reply: *mut leaflog_reply) -> i32>,
    /// Opens a file for writing lines, and makes the folders above it. `mode` is LEAFLOG_WRITER_APPEND or
    /// LEAFLOG_WRITER_TRUNCATE. What it puts into `writer` is handed to the functions below, and given back to
    /// `writer_free` once.
    pub open_writer: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            path: leaflog_str,
            mode: i32,
            writer: *mut *mut c_void,
            reply: *mut leaflog_reply,
        ) -> i32,
    >,
    /// Writes a line, which brings its newline.
    pub writer_write_line: Option<
        unsafe extern "C" fn(
            data: *mut c_void,
            writer: *mut c_void,
            line: leaflog_str,
            reply: *mut leaflog_reply,
        ) -> i32,
    >,
    /// Hands on what is still in the writer.
    pub writer_flush:
        Option<unsafe extern "C" fn(data: *mut c_void, writer: *mut c_void, reply: *mut leaflog_reply) -> i32>,
    /// Waits until what was written would survive a power cut.
    pub writer_fsync:
        Option<unsafe extern "C" fn(data: *mut c_void, writer: *mut c_void, reply: *mut leaflog_reply) -> i32>,
    /// Closes the file; nothing is written after it.
    pub writer_close:
        Option<unsafe extern "C" fn(data: *mut c_void, writer: *mut c_void, reply: *mut leaflog_reply) -> i32>,
    /// Frees a writer, closed or not.
    pub writer_free: Option<unsafe extern "C" fn(data: *mut c_void, writer: *mut c_void)>,
    /// Gives the path of each folder in a folder with one `leaflog_reply_add()`, hidden ones and links left out. May be
    /// NULL: then `leaflog_list_all()` finds what is in the roots themselves.
    pub list_dirs: Option<unsafe extern "C" fn(data: *mut c_void, dir: leaflog_str, reply: *mut leaflog_reply) -> i32>,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers, pointers and optional functions after it.
unsafe impl abi::Plain for leaflog_storage_functions {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_storage_functions {
        version,
        data,
        release,
        ensure_dir,
        exists,
        read_text,
        write_text,
        stat,
        list_files,
        rename,
        unlink,
        open_writer,
        writer_write_line,
        writer_flush,
        writer_fsync,
        writer_close,
        writer_free,
        list_dirs
    });
}

/// Adds a piece of the text, or a path, to what the function gives.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_reply_add(reply: *mut leaflog_reply, piece: leaflog_str) -> leaflog_status {
    guard(ptr::null_mut(), || {
        let reply: Arc<Mutex<Reply>> = table::get(reply.cast_const())?;
        let piece = piece.bytes("piece")?.to_owned();
        reply.lock().unwrap_or_else(PoisonError::into_inner).pieces.push(piece);
        Ok(())
    })
}

/// Says why the function is going to fail. With an `os_errno` that is not 0 the status that it gives is not
/// looked at, and the error of the operating system tells.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_reply_fail(reply: *mut leaflog_reply, message: leaflog_str, os_errno: i32) -> leaflog_status {
    guard(ptr::null_mut(), || {
        let reply: Arc<Mutex<Reply>> = table::get(reply.cast_const())?;
        let message = String::from_utf8_lossy(message.bytes("message")?).into_owned();
        let mut reply = reply.lock().unwrap_or_else(PoisonError::into_inner);
        (reply.message, reply.os_errno) = (Some(message), os_errno);
        Ok(())
    })
}

/// The caller's functions, as long as somebody uses them.
struct Functions {
    table: leaflog_storage_functions,
}

// SAFETY: the contract says that the functions may be called on any thread, on several at once; `data` is only
// handed to them.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl Drop for Functions {
    fn drop(&mut self) {
        if let Some(release) = self.table.release {
            // SAFETY: once, and nobody has the functions any more.
            unsafe { release(self.table.data) }
        }
    }
}

/// The storage that calls them.
pub(crate) struct Storage(Arc<Functions>);

/// Checks a table of the caller.
pub(crate) fn storage(functions: *const leaflog_storage_functions) -> std::result::Result<Storage, Failure> {
    let table = read_sized(functions, "functions")?;
    if table.version != LEAFLOG_STORAGE_VERSION {
        let version = table.version;
        return Err(Failure::argument(format!(
            "functions.version is {version}; this library knows {LEAFLOG_STORAGE_VERSION}"
        )));
    }
    let missing = [
        (table.ensure_dir.is_none(), "ensure_dir"),
        (table.exists.is_none(), "exists"),
        (table.read_text.is_none(), "read_text"),
        (table.write_text.is_none(), "write_text"),
        (table.stat.is_none(), "stat"),
        (table.list_files.is_none(), "list_files"),
        (table.rename.is_none(), "rename"),
        (table.unlink.is_none(), "unlink"),
        (table.open_writer.is_none(), "open_writer"),
        (table.writer_write_line.is_none(), "writer_write_line"),
        (table.writer_flush.is_none(), "writer_flush"),
        (table.writer_fsync.is_none(), "writer_fsync"),
        (table.writer_close.is_none(), "writer_close"),
        (table.writer_free.is_none(), "writer_free"),
    ];
    match missing.iter().find(|(is_missing, _)| *is_missing) {
        Some((_, name)) => Err(Failure::argument(format!("functions.{name} is NULL"))),
        None => Ok(Storage(Arc::new(Functions { table }))),
    }
}

/// Calls a function with a reply of its own, and gives what was replied.
fn ask(path: &Path, what: &str, call: impl FnOnce(*mut leaflog_reply) -> i32) -> Result<Vec<Vec<u8>>> {
    let handle: *mut leaflog_reply = table::add(Mutex::new(Reply::default()));
    let reply = table::get(handle.cast_const()).map_err(|_| Error::new(ErrorCode::Io, "the reply was lost"))?;
    let status = call(handle);
    // Whatever it holds on to, there is no such reply any more.
    table::free(handle.cast_const());
    let mut reply = reply.lock().unwrap_or_else(PoisonError::into_inner);
    if status == leaflog_status::Ok as i32 {
        return Ok(std::mem::take(&mut reply.pieces));
    }
    let message = reply.message.take().filter(|message| !message.is_empty()).unwrap_or_else(|| what.to_owned());
    if reply.os_errno != 0 {
        return Err(Error::io(std::io::Error::from_raw_os_error(reply.os_errno), &message, path));
    }
    Err(Error::new(core_code(status), message).at(path))
}

/// A path as the functions get it.
struct PathText(Vec<u8>);

impl PathText {
    fn new(path: &Path) -> Self {
        Self(path_bytes(path))
    }

    fn lend(&self) -> leaflog_str {
        leaflog_str::of(&self.0)
    }
}

/// The pieces of a reply as paths; none when it failed.
fn paths(reply: Result<Vec<Vec<u8>>>) -> Vec<PathBuf> {
    let path = |piece: &Vec<u8>| leaflog_str::of(piece).path("path").ok().map(Path::to_owned);
    reply.unwrap_or_default().iter().filter_map(path).collect()
}

fn lend(text: &str) -> leaflog_str {
    leaflog_str::of(text.as_bytes())
}

/// Calls one function of a table, which `storage` made sure is there.
macro_rules! call {
    ($functions:expr, $name:ident $(, $argument:expr)*) => {
        match $functions.table.$name {
            // SAFETY: the contract says that the function can be called with these; what is lent lives until it
            // returns.
            Some(function) => unsafe { function($functions.table.data $(, $argument)*) },
            None => Default::default(),
        }
    };
}

impl Storage {
    fn beginning(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        let text = PathText::new(path);
        let pieces = ask(path, "cannot read the file", |reply| call!(self.0, read_text, text.lend(), most, reply))?;
        Ok(pieces.concat())
    }
}

impl SessionStorage for Storage {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        let text = PathText::new(dir);
        ask(dir, "cannot make the folder", |reply| call!(self.0, ensure_dir, text.lend(), reply)).map(drop)
    }

    fn exists(&self, path: &Path) -> bool {
        let text = PathText::new(path);
        let exists: i32 = call!(self.0, exists, text.lend());
        exists != 0
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.beginning(path, u64::MAX)
    }

    fn read_prefix(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        self.beginning(path, limit as u64)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let (text, bytes) = (PathText::new(path), leaflog_str::of(bytes));
        ask(path, "cannot write the file", |reply| call!(self.0, write_text, text.lend(), bytes, reply)).map(drop)
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        let text = PathText::new(path);
        let (mut size, mut modified_ms) = (0, 0);
        ask(path, "cannot look at the file", |reply| {
            call!(self.0, stat, text.lend(), &raw mut size, &raw mut modified_ms, reply)
        })?;
        Ok(StorageStat { size, modified: from_ms(modified_ms) })
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        let text = PathText::new(dir);
        let found =
            ask(dir, "cannot list the folder", |reply| call!(self.0, list_files, text.lend(), lend(pattern), reply));
        paths(found)
    }

    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        if self.0.table.list_dirs.is_none() {
            return Vec::new();
        }
        let text = PathText::new(dir);
        paths(ask(dir, "cannot list the folder", |reply| call!(self.0, list_dirs, text.lend(), reply)))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = (PathText::new(from), PathText::new(to));
        ask(from, "cannot rename the file", |reply| call!(self.0, rename, old.lend(), new.lend(), reply)).map(drop)
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        let text = PathText::new(path);
        ask(path, "cannot remove the file", |reply| call!(self.0, unlink, text.lend(), reply)).map(drop)
    }

    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        let text = PathText::new(path);
        let mode = match mode {
            WriterMode::Append => crate::storage::LEAFLOG_WRITER_APPEND,
            WriterMode::Truncate => crate::storage::LEAFLOG_WRITER_TRUNCATE,
        };
        let mut writer = ptr::null_mut();
        ask(path, "cannot open the file", |reply| {
            call!(self.0, open_writer, text.lend(), mode, &raw mut writer, reply)
        })?;
        Ok(Box::new(Writer {
            functions: Arc::clone(&self.0),
            writer,
            path: path.to_owned(),
            closed: false,
            error: None,
        }))
    }
}

/// A writer of the caller's.
struct Writer {
    functions: Arc<Functions>,
    writer: *mut c_void,
    path: PathBuf,
    closed: bool,
    /// The first one.
    error: Option<Error>,
}

// SAFETY: the contract says that a writer may be used on one thread after another.
unsafe impl Send for Writer {}

impl Writer {
    fn check(&self) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        if self.closed { Err(Error::new(ErrorCode::Closed, "Writer closed").at(&self.path)) } else { Ok(()) }
    }

    fn ask(&mut self, what: &str, call: impl FnOnce(&Self, *mut leaflog_reply) -> i32) -> Result<()> {
        let asked = ask(&self.path, what, |reply| call(self, reply)).map(drop);
        if let Err(error) = &asked {
            self.error.get_or_insert_with(|| error.clone());
        }
        asked
    }
}

impl SessionStorageWriter for Writer {
    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.check()?;
        self.ask("cannot write the file", |it, reply| {
            call!(it.functions, writer_write_line, it.writer, leaflog_str::of(line), reply)
        })
    }

    fn flush(&mut self) -> Result<()> {
        if self.closed && self.error.is_none() {
            return Ok(());
        }
        self.check()?;
        self.ask("cannot write the file", |it, reply| call!(it.functions, writer_flush, it.writer, reply))
    }

    fn fsync(&mut self) -> Result<()> {
        self.check()?;
        self.ask("cannot sync the file", |it, reply| call!(it.functions, writer_fsync, it.writer, reply))
    }

    fn close(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        let closed = self.ask("cannot close the file", |it, reply| call!(it.functions, writer_close, it.writer, reply));
        self.error.clone().map_or(closed, Err)
    }

    fn error(&self) -> Option<Error> {
        self.error.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.closed {
            // Nobody is left to be told.
            let _: Result<()> = self.close();
        }
        call!(self.functions, writer_free, self.writer);
    }
}
