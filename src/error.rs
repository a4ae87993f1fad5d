//! The one error type.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and because of what.
///
/// Printed, it is one line: the path, the line of the file when there is one, what happened, and
/// the cause the operating system gave. `{:?}` puts the code before it; `{:#?}` prints the parts.
///
/// An error can be cloned: a failure that stays in force is handed out more than once.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    code: ErrorCode,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    source: Option<io::Error>,
    /// What went wrong besides.
    besides: Option<String>,
}

/// The kind of an [`Error`]. Names and numbers are stable: a code is never given another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum ErrorCode {
    /// Nothing at the path.
    NotFound = 1,
    /// A folder where a file belongs.
    IsADirectory = 2,
    /// The operating system forbids it: no right to it, or a file system that is read-only.
    PermissionDenied = 3,
    /// No line of the file is a session header (R15).
    NotASession = 4,
    /// No entry has the id.
    EntryNotFound = 5,
    /// The file is shorter than it was when it was opened.
    FileChanged = 6,
    /// More than one session fits.
    Ambiguous = 7,
    /// A value that cannot be meant.
    InvalidArgument = 8,
    /// Any other failure of the operating system.
    Io = 9,
    /// Another process held the session's lock for too long (R53).
    Locked = 10,
    /// A writer was used after it was closed.
    Closed = 11,
    /// Something is there already that must not be replaced.
    AlreadyExists = 12,
}

impl ErrorCode {
    /// Every code, in the order of their numbers.
    pub const ALL: &[Self] = &[
        Self::NotFound,
        Self::IsADirectory,
        Self::PermissionDenied,
        Self::NotASession,
        Self::EntryNotFound,
        Self::FileChanged,
        Self::Ambiguous,
        Self::InvalidArgument,
        Self::Io,
        Self::Locked,
        Self::Closed,
        Self::AlreadyExists,
    ];

    /// The name of the code, as programs compare it: `NOT_FOUND`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "NOT_FOUND",
            Self::IsADirectory => "IS_A_DIRECTORY",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::NotASession => "NOT_A_SESSION",
            Self::EntryNotFound => "ENTRY_NOT_FOUND",
            Self::FileChanged => "FILE_CHANGED",
            Self::Ambiguous => "AMBIGUOUS",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::Io => "IO",
            Self::Locked => "LOCKED",
            Self::Closed => "CLOSED",
            Self::AlreadyExists => "ALREADY_EXISTS",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error {
    /// An error without a cause in the operating system: for storages of one's own.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { code, message: message.into(), path: None, line: None, source: None, besides: None }))
    }

    /// A failure of the operating system while doing `what` with `path`.
    #[must_use]
    pub fn io(source: io::Error, what: &str, path: &Path) -> Self {
        let (code, path) = (code_of(&source), Some(path.to_owned()));
        Self(Arc::new(Inner { code, message: what.into(), path, line: None, source: Some(source), besides: None }))
    }

    /// No entry has the id `id`.
    #[must_use]
    pub fn entry_not_found(id: &str) -> Self {
        Self::new(ErrorCode::EntryNotFound, format!("Entry {id} not found"))
    }

    /// A storage has no file at the path: in the words that callers of storages know (R37).
    #[must_use]
    pub fn file_not_found(path: &Path) -> Self {
        Self::new(ErrorCode::NotFound, format!("File not found: {}", path.display())).at(path)
    }

    /// Says which file or folder it is about, on an error nobody has a copy of yet.
    #[must_use]
    pub fn at(mut self, path: &Path) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.path = Some(path.to_owned());
        }
        self
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.line = Some(line);
        }
        self
    }

    /// Adds a failure that came of undoing what was begun, on an error nobody has a copy of yet.
    pub(crate) fn besides(mut self, other: &Self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.besides = Some(other.to_string());
        }
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// What happened and the cause, without the place.
    #[must_use]
    pub fn message(&self) -> String {
        let mut message = self.0.message.clone();
        if let Some(source) = &self.0.source {
            message += &format!(": {source}");
        }
        if let Some(besides) = &self.0.besides {
            message += &format!("; besides, {besides}");
        }
        message
    }

    /// The file or folder it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The operating system's error number.
    #[must_use]
    pub fn os_errno(&self) -> Option<i32> {
        self.0.source.as_ref().and_then(io::Error::raw_os_error)
    }
}

/// The code of a failure of the operating system. What is missing here has none of its own: the number
/// and the words of the system say what it is (`ENOSPC`, `EMFILE`, `ENAMETOOLONG`). `ENOTDIR` is among
/// them: only a missing file may be taken for one that is still to be made.
fn code_of(error: &io::Error) -> ErrorCode {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => ErrorCode::NotFound,
        Kind::IsADirectory => ErrorCode::IsADirectory,
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => ErrorCode::PermissionDenied,
        Kind::AlreadyExists | Kind::DirectoryNotEmpty => ErrorCode::AlreadyExists,
        // Refused before the system was asked: a path with a NUL in it.
        Kind::InvalidInput if error.raw_os_error().is_none() => ErrorCode::InvalidArgument,
        _ => ErrorCode::Io,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}", path.display())?;
            if let Some(line) = self.0.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message())
    }
}

/// A program whose `main` returns an error prints it so.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { self.0.fmt(f) } else { write!(f, "{}: {self}", self.code()) }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
