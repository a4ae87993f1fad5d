//! Storages: where sessions are kept when it is not simply files (R37).

use super::FileSessionStorage;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What a storage knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageStat {
    /// Its size: bytes for files; UTF-16 units for [`MemorySessionStorage`](crate::MemorySessionStorage).
    pub size: u64,
    /// When it last changed.
    pub modified: SystemTime,
}

/// How a writer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterMode {
    /// After what is there.
    Append,
    /// With an empty file.
    Truncate,
}

/// A place that keeps sessions under paths. A storage may be used by several threads.
///
/// What it keeps is bytes: the text of a session may be damaged, and what is damaged is kept as it is.
/// [`conformance::storage`](crate::conformance::storage) checks that an implementation does what is
/// written here.
///
/// [`FileSessionStorage`] and
/// [`MemorySessionStorage`](crate::MemorySessionStorage) are the two that come with the library;
/// any other can drive a [`SessionManager`](crate::SessionManager) too.
pub trait SessionStorage: Send + Sync {
    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// When it cannot be made.
    fn ensure_dir(&self, dir: &Path) -> Result<()>;

    /// Whether there is something at the path.
    fn exists(&self, path: &Path) -> bool;

    /// Reads a whole file.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn read(&self, path: &Path) -> Result<Vec<u8>>;

    /// Reads the beginning of a file: `limit` of what [`StorageStat::size`] counts, or less when it has
    /// less or a character would be split.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn read_prefix(&self, path: &Path, limit: usize) -> Result<Vec<u8>>;

    /// Makes `bytes` the content of a file, and the directories above it. The old content or the new is
    /// there at any time.
    ///
    /// # Errors
    /// When it cannot be written; the old content is there then.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()>;

    /// Reads a whole file as text; U+FFFD stands for bytes that are not UTF-8.
    ///
    /// # Errors
    /// As [`SessionStorage::read`].
    fn read_text(&self, path: &Path) -> Result<String> {
        let bytes = self.read(path)?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Writes a text as [`SessionStorage::write`] writes bytes.
    ///
    /// # Errors
    /// As [`SessionStorage::write`].
    fn write_text(&self, path: &Path, text: &str) -> Result<()> {
        self.write(path, text.as_bytes())
    }

    /// What is known of a file.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn stat(&self, path: &Path) -> Result<StorageStat>;

    /// The files of a folder that `pattern` names: `*`, `*.ext` or a name. None when the folder
    /// cannot be read.
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf>;

    /// The folders in a folder, for listing the sessions of all projects; hidden ones and links left
    /// out. They are looked into 16 deep. A storage that does not know of folders need not have this.
    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let _ = dir;
        Vec::new()
    }

    /// Puts a file in another's place, at once. A missing source is not an error and changes nothing: so an
    /// operation whose answer was lost can be tried again.
    ///
    /// # Errors
    /// When it cannot be done.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file. A missing one is not an error.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn unlink(&self, path: &Path) -> Result<()>;

    /// Opens a file for writing lines, and makes the folders above it.
    ///
    /// # Errors
    /// When it cannot be opened.
    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>>;

    /// Waits for operations that were accepted and are still to be carried out; there are none
    /// unless a storage says so here.
    ///
    /// A storage whose operations are asynchronous accepts them and carries them out in order.
    /// After one of them failed it carries out none that comes behind it for the same session, so
    /// that a file that was not written is never given another's name, and tells the error with
    /// the writer's next call or here.
    ///
    /// # Errors
    /// The first error that was not told yet.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the storage when it is the file system: a session in files has locks and is appended to with
    /// one write, which no other storage can. One that hands everything on to another hands this on too;
    /// any other leaves it as it is.
    fn as_files(&self) -> Option<&FileSessionStorage> {
        None
    }
}

/// A pointer to a storage is one.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: SessionStorage + ?Sized> SessionStorage for $pointer {
            fn ensure_dir(&self, dir: &Path) -> Result<()> {
                (**self).ensure_dir(dir)
            }

            fn exists(&self, path: &Path) -> bool {
                (**self).exists(path)
            }

            fn read(&self, path: &Path) -> Result<Vec<u8>> {
                (**self).read(path)
            }

            fn read_prefix(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
                (**self).read_prefix(path, limit)
            }

            fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
                (**self).write(path, bytes)
            }

            fn stat(&self, path: &Path) -> Result<StorageStat> {
                (**self).stat(path)
            }

            fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
                (**self).list_files(dir, pattern)
            }

            fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
                (**self).list_dirs(dir)
            }

            fn rename(&self, from: &Path, to: &Path) -> Result<()> {
                (**self).rename(from, to)
            }

            fn unlink(&self, path: &Path) -> Result<()> {
                (**self).unlink(path)
            }

            fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
                (**self).open_writer(path, mode)
            }

            fn flush(&self) -> Result<()> {
                (**self).flush()
            }

            fn as_files(&self) -> Option<&FileSessionStorage> {
                (**self).as_files()
            }
        }
    )*};
}

forward!(Arc<S>, Box<S>, &S);

/// A storage for a session to be kept in; none for files.
pub(crate) fn other_than_files(storage: impl SessionStorage + 'static) -> Option<Arc<dyn SessionStorage>> {
    storage.as_files().is_none().then(|| Arc::new(storage) as _)
}

/// Writes lines to one file of a storage.
pub trait SessionStorageWriter: Send {
    /// Writes a line, which brings its newline. What is damaged in it is written as it is.
    ///
    /// # Errors
    /// `CLOSED` after [`SessionStorageWriter::close`]; the first error of this writer ever after.
    fn write_line(&mut self, line: &[u8]) -> Result<()>;

    /// Hands on what is still in the writer.
    ///
    /// # Errors
    /// The first error of this writer.
    fn flush(&mut self) -> Result<()>;

    /// Waits until what was written would survive a power cut.
    ///
    /// # Errors
    /// The first error of this writer; after closing `CLOSED`, unless there is nothing to wait for.
    fn fsync(&mut self) -> Result<()>;

    /// Closes the file; closing again does nothing.
    ///
    /// # Errors
    /// The first error of this writer.
    fn close(&mut self) -> Result<()>;

    /// The first error of this writer. That it was closed is none.
    fn error(&self) -> Option<Error>;
}

/// Whether a file name fits a pattern of [`SessionStorage::list_files`].
pub(crate) fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some("") => true,
        Some(end) if end.starts_with('.') => name.ends_with(end),
        _ => name == pattern,
    }
}
