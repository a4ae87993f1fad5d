//! Storages: where sessions are kept when it is not simply files (R37).

use crate::error::Result;
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
/// [`FileSessionStorage`](crate::FileSessionStorage) and
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

    /// The whole text of a file.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn read_text(&self, path: &Path) -> Result<String>;

    /// The beginning of a file: `most` of what [`StorageStat::size`] counts.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none.
    fn read_text_prefix(&self, path: &Path, most: usize) -> Result<String>;

    /// Makes `text` the content of a file, and the folders above it.
    ///
    /// # Errors
    /// When it cannot be written.
    fn write_text(&self, path: &Path, text: &str) -> Result<()>;

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

    /// Puts a file in another's place. A missing source is no error: somebody else was faster.
    ///
    /// # Errors
    /// When it cannot be done.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file.
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
}

/// A storage that several hold.
impl<S: SessionStorage + ?Sized> SessionStorage for Arc<S> {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        (**self).ensure_dir(dir)
    }

    fn exists(&self, path: &Path) -> bool {
        (**self).exists(path)
    }

    fn read_text(&self, path: &Path) -> Result<String> {
        (**self).read_text(path)
    }

    fn read_text_prefix(&self, path: &Path, most: usize) -> Result<String> {
        (**self).read_text_prefix(path, most)
    }

    fn write_text(&self, path: &Path, text: &str) -> Result<()> {
        (**self).write_text(path, text)
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
}

/// Writes lines to one file of a storage.
pub trait SessionStorageWriter: Send {
    /// Writes a line, which brings its newline.
    ///
    /// # Errors
    /// `CLOSED` after [`SessionStorageWriter::close`]; the first error of this writer ever after.
    fn write_line(&mut self, line: &str) -> Result<()>;

    /// Hands on what is still in the writer.
    ///
    /// # Errors
    /// The first error of this writer.
    fn flush(&mut self) -> Result<()>;

    /// Waits until what was written would survive a power cut.
    ///
    /// # Errors
    /// `CLOSED` after closing; the first error of this writer.
    fn fsync(&mut self) -> Result<()>;

    /// Closes the file; closing again does nothing.
    ///
    /// # Errors
    /// The first error of this writer.
    fn close(&mut self) -> Result<()>;

    /// The first error of this writer, as text.
    fn error(&self) -> Option<String>;
}

/// Whether a file name fits a pattern of [`SessionStorage::list_files`].
pub(crate) fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some("") => true,
        Some(end) if end.starts_with('.') => name.ends_with(end),
        _ => name == pattern,
    }
}
