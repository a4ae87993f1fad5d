//! Where a session's bytes are read from: a file by position, or bytes in memory.

use super::disk::{self, Identity};
use crate::error::{Error, ErrorCode, Result};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that can be read at any position and do not change up to `len`. A file that is replaced
/// by a rename stays readable; one that grows is read up to the length it had.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    File { file: Arc<ReadFile>, path: PathBuf, len: u64 },
    Bytes(Vec<u8>),
}

/// A file that is read: closed between [`Source::release`] and the next read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    open: Mutex<Option<Arc<File>>>,
    /// As it was when it was opened first.
    opened: Identity,
    /// When it had been changed last, then.
    changed: i64,
    /// It is not what was read any more.
    differs: AtomicBool,
}

impl ReadFile {
    fn get(&self, path: &Path) -> Result<Arc<File>> {
        let mut open = self.open.lock();
        if let Some(file) = &*open {
            return Ok(Arc::clone(file));
        }
        let failed = |error| Error::io(error, "cannot open the session", path);
        let file = disk::open_plain(path).map_err(failed)?;
        if !disk::identity_of(&file).map_err(failed)?.is_same_file(&self.opened) {
            return Err(Error::new(ErrorCode::FileChanged, "the file was replaced after it was closed").at(path));
        }
        Ok(Arc::clone(open.insert(Arc::new(file))))
    }
}

impl Source {
    /// Opens the file at `path` for reading only. A pipe is read to its end.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_if(path, |_| Ok(()))
    }

    /// As [`Source::open`], but a pipe only when `judge` says so of its beginning: it may have no end.
    pub(crate) fn open_if(path: &Path, judge: impl FnOnce(&[u8]) -> Result<()>) -> Result<Self> {
        let failed = |error| Error::io(error, "cannot open the session", path);
        // Asked before opening: a folder opens on Unix and a pipe blocks.
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(is_a_folder(path));
        }
        if is_device(&metadata) {
            return Err(Error::new(ErrorCode::InvalidArgument, "this is a device, not a session file").at(path));
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_file() {
            return Self::of_file(file, path);
        }
        Self::of_stream(file, path, judge)
    }

    /// Reads a stream to its end, when `judge` says so of its first [`Source::JUDGED`] bytes. A short one is kept in memory,
    /// a longer one in a file of the system's temporary directory that has no name any more.
    pub(crate) fn of_stream(
        mut stream: impl Read,
        name: &Path,
        judge: impl FnOnce(&[u8]) -> Result<()>,
    ) -> Result<Self> {
        let failed = |error| Error::io(error, "cannot read the session", name);
        let mut bytes = Vec::new();
        (&mut stream).take(Self::JUDGED).read_to_end(&mut bytes).map_err(failed)?;
        judge(&bytes)?;
        (&mut stream).take(Self::IN_MEMORY).read_to_end(&mut bytes).map_err(failed)?;
        if (bytes.len() as u64) < Self::IN_MEMORY {
            return Ok(Self::Bytes(bytes));
        }
        match disk::unnamed() {
            None => {
                stream.read_to_end(&mut bytes).map_err(failed)?;
                Ok(Self::Bytes(bytes))
            }
            Some(file) => {
                let spooled = |error| Error::io(error, "cannot keep what was read in a temporary file", name);
                let mut file = file.map_err(spooled)?;
                disk::write_all(&file, &bytes).map_err(spooled)?;
                drop(bytes);
                io::copy(&mut stream, &mut file).map_err(spooled)?;
                Self::of_file(file, name)
            }
        }
    }

    /// Bytes of a stream that say whether it is a session: those in which a listing looks for a header (R15).
    const JUDGED: u64 = 64 << 10;
    /// A stream that is longer than this goes into a file.
    const IN_MEMORY: u64 = 16 << 20;

    /// Opens the plain file at `path`: one that is written to as well, which no pipe or device is.
    pub(crate) fn open_plain(path: &Path) -> Result<Self> {
        match disk::open_plain(path) {
            Ok(file) => Self::of_file(file, path),
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Err(is_a_folder(path)),
            Err(error) => Err(Error::io(error, "cannot open the session", path)),
        }
    }

    /// The plain file that was opened at `path`.
    pub(crate) fn of_file(file: File, path: &Path) -> Result<Self> {
        let (opened, changed) =
            disk::state_of(&file).map_err(|error| Error::io(error, "cannot open the session", path))?;
        let open = Mutex::new(Some(Arc::new(file)));
        let file = ReadFile { open, opened, changed, differs: AtomicBool::new(false) };
        Ok(Self::File { file: Arc::new(file), path: path.to_owned(), len: opened.len })
    }

    /// The same file, as it is now.
    pub(crate) fn opened_again(&self) -> Result<Self> {
        match self {
            Self::File { file, path, .. } => {
                let open = file.get(path)?;
                let failed = |error| Error::io(error, "cannot open the session", path);
                Self::of_file(open.try_clone().map_err(failed)?, path)
            }
            Self::Bytes(_) => Ok(self.clone()),
        }
    }

    /// What tells the file from another, with the length that is read, and when it was changed last as of
    /// opening; `None` for bytes.
    pub(crate) fn identity(&self) -> Option<(Identity, i64)> {
        match self {
            Self::File { file, len, .. } => Some((Identity { len: *len, ..file.opened }, file.changed)),
            Self::Bytes(_) => None,
        }
    }

    /// The same, as it is now.
    pub(crate) fn state(&self) -> Result<Option<(Identity, i64)>> {
        let Self::File { file, path, .. } = self else { return Ok(None) };
        let state = disk::state_of(&*file.get(path)?);
        state.map(Some).map_err(|error| Error::io(error, "cannot read the session", path))
    }

    /// The file is held open, so no other one has its inode.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::File { file, .. } if file.open.lock().is_some())
    }

    /// A span of the file was found to hold something else than before: another program wrote over it.
    pub(crate) fn found_changed(&self) -> Error {
        self.mark_changed();
        let error = Error::new(ErrorCode::FileChanged, "the file was changed in place while it was open");
        match self {
            Self::File { path, .. } => error.at(path),
            Self::Bytes(_) => error,
        }
    }

    /// The file has to be read again before anything is written of it.
    pub(crate) fn mark_changed(&self) {
        if let Self::File { file, .. } = self {
            file.differs.store(true, Ordering::Relaxed);
        }
    }

    /// The file has to be read again.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(self, Self::File { file, .. } if file.differs.load(Ordering::Relaxed))
    }

    /// Closes the file; the next read opens it again. A file that a copy of this source reads too
    /// stays open: it may not be at its path any more.
    pub(crate) fn release(&self) {
        if let Self::File { file, .. } = self
            && Arc::strong_count(file) == 1
        {
            *file.open.lock() = None;
        }
    }

    /// The file has `now` bytes now.
    pub(crate) fn grown(&mut self, now: u64) {
        if let Self::File { len, .. } = self {
            *len = now;
        }
    }

    /// Adds bytes that were written to where these came from.
    pub(crate) fn append(&mut self, more: &[u8]) {
        if let Self::Bytes(bytes) = self {
            bytes.extend_from_slice(more);
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// Fills `buf` with the bytes from `offset` on.
    pub(crate) fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match self {
            Self::File { file, path, .. } => read_exact_at(&*file.get(path)?, buf, offset).map_err(|error| {
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    self.mark_changed();
                    Error::new(ErrorCode::FileChanged, "the file was cut short while it was open").at(path)
                } else {
                    Error::io(error, "cannot read the session", path)
                }
            }),
            Self::Bytes(bytes) => {
                let from = offset as usize;
                buf.copy_from_slice(&bytes[from..from + buf.len()]);
                Ok(())
            }
        }
    }

    /// The `len` bytes from `offset` on.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        if let Self::Bytes(bytes) = self {
            let from = offset as usize;
            return Ok(Cow::Borrowed(&bytes[from..from + len]));
        }
        let mut buf = vec![0; len];
        self.read_exact_at(&mut buf, offset)?;
        Ok(Cow::Owned(buf))
    }
}

/// A device may have no end.
fn is_device(metadata: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

pub(super) fn is_a_folder(path: &Path) -> Error {
    Error::new(ErrorCode::IsADirectory, "this is a folder, not a session file").at(path)
}

#[cfg(unix)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(any(test, fuzzing))]
    disk::faults::read()?;
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buf, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buf = &mut buf[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

/// Reads spans of a source that lie near each other with few system calls: one read fetches the
/// span and what follows it.
pub(crate) struct Window<'s> {
    source: &'s Source,
    buf: Vec<u8>,
    offset: u64,
    read_ahead: usize,
}

impl<'s> Window<'s> {
    const LARGEST_READ_AHEAD: usize = 256 << 10;

    pub(crate) fn new(source: &'s Source) -> Self {
        Self { source, buf: Vec::new(), offset: 0, read_ahead: 4 << 10 }
    }

    /// Reads `bytes` from `offset` on at once, because spans in them will be asked for.
    pub(crate) fn prefetch(&mut self, offset: u64, bytes: usize) -> Result<()> {
        if matches!(self.source, Source::Bytes(_)) {
            return Ok(());
        }
        self.offset = offset;
        let want = (bytes as u64).min(self.source.len().saturating_sub(offset));
        self.fill(want as usize).inspect_err(|_| self.buf.clear())
    }

    /// The `len` bytes from `offset` on.
    pub(crate) fn get(&mut self, offset: u64, len: usize) -> Result<&[u8]> {
        if let Source::Bytes(bytes) = self.source {
            let from = offset as usize;
            return Ok(&bytes[from..from + len]);
        }
        let end = offset + len as u64;
        if offset < self.offset || end > self.offset + self.buf.len() as u64 {
            // Going forwards, read more each time; a jump starts small again.
            let near = offset >= self.offset && offset - self.offset <= (self.buf.len() + self.read_ahead) as u64;
            self.read_ahead = if near { (self.read_ahead * 2).min(Self::LARGEST_READ_AHEAD) } else { 4 << 10 };
            let want = (len.max(self.read_ahead) as u64).min(self.source.len().saturating_sub(offset));
            self.offset = offset;
            // Of a file that was cut short, what is still there can be read.
            let read = self.fill(want as usize).or_else(|error| {
                if want > len as u64 && error.code() == ErrorCode::FileChanged { self.fill(len) } else { Err(error) }
            });
            if let Err(error) = read {
                self.buf.clear();
                return Err(error);
            }
        }
        let from = (offset - self.offset) as usize;
        match self.buf.get(from..from + len) {
            Some(bytes) => Ok(bytes),
            None => Err(Error::new(ErrorCode::InvalidArgument, "a span past the end of the session")),
        }
    }

    fn fill(&mut self, len: usize) -> Result<()> {
        self.buf.clear();
        self.buf.resize(len, 0);
        self.source.read_exact_at(&mut self.buf, self.offset)
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
