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
/// As the line already names the cause, [`source`](std::error::Error::source) does not return it
/// again: reports that print the whole chain say it once. [`Error::io_error`] returns it.
///
/// Cloning is cheap, and a sticky failure is returned more than once. A clone is a value of its own:
/// what is added to it is not added to the others.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: ErrorCode,
    message: String,
    path: Option<PathBuf>,
    line: Option<u64>,
    source: Option<Arc<io::Error>>,
    /// What else a reader has to know, in the order in which it was added.
    notes: Vec<String>,
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
    /// Another process deleted the session while this one had it open. It is said once: the next append,
    /// or `ensure_on_disk`, writes everything again.
    Gone = 13,
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
        Self::Gone,
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
            Self::Gone => "GONE",
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
        Self(Arc::new(Inner { code, message: message.into(), path: None, line: None, source: None, notes: Vec::new() }))
    }

    /// A failure of the operating system while doing `what` with `path`.
    #[must_use]
    pub fn io(source: io::Error, what: &str, path: &Path) -> Self {
        let mut error = Self::new(code_of(&source), what).at(path);
        error.inner().source = Some(Arc::new(source));
        error
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

    /// Says which file or directory it is about.
    #[must_use]
    pub fn at(mut self, path: &Path) -> Self {
        self.inner().path = Some(path.to_owned());
        self
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.inner().line = Some(line);
        self
    }

    /// Adds a failure that came of undoing what was begun.
    pub(crate) fn besides(self, other: &Self) -> Self {
        self.note(format!("besides, {other}"))
    }

    fn note(mut self, note: String) -> Self {
        self.inner().notes.push(note);
        self
    }

    /// The parts, for this error alone.
    fn inner(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
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
        for note in &self.0.notes {
            message += "; ";
            message += note;
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
        self.io_error().and_then(io::Error::raw_os_error)
    }

    /// The operating system's error.
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_deref()
    }

    /// There is nothing at the path.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == ErrorCode::NotFound
    }

    /// No entry has the id.
    #[must_use]
    pub fn is_entry_not_found(&self) -> bool {
        self.code() == ErrorCode::EntryNotFound
    }

    /// Another process held the session's lock for too long. Trying again later can succeed.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.code() == ErrorCode::Locked
    }

    /// The operating system forbids it.
    #[must_use]
    pub fn is_permission_denied(&self) -> bool {
        self.code() == ErrorCode::PermissionDenied
    }

    /// Something is there already that must not be replaced.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.code() == ErrorCode::AlreadyExists
    }

    /// Another process deleted the session while this one had it open.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.code() == ErrorCode::Gone
    }

    /// An argument is invalid: the call is wrong, and wrong the next time too.
    #[must_use]
    pub fn is_invalid_argument(&self) -> bool {
        self.code() == ErrorCode::InvalidArgument
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
        // The cause itself stands in the line that is printed.
        self.io_error().and_then(std::error::Error::source)
    }
}

/// For functions that return [`io::Result`]: of the kind that the operating system's error had, or
/// that the code stands for, with the whole error inside.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        use io::ErrorKind as Kind;
        let kind = match (error.io_error(), error.code()) {
            (Some(source), _) => source.kind(),
            (None, ErrorCode::NotFound | ErrorCode::EntryNotFound | ErrorCode::Gone) => Kind::NotFound,
            (None, ErrorCode::IsADirectory) => Kind::IsADirectory,
            (None, ErrorCode::PermissionDenied) => Kind::PermissionDenied,
            (None, ErrorCode::NotASession) => Kind::InvalidData,
            (None, ErrorCode::InvalidArgument) => Kind::InvalidInput,
            (None, ErrorCode::Locked) => Kind::WouldBlock,
            (None, ErrorCode::AlreadyExists) => Kind::AlreadyExists,
            (None, _) => Kind::Other,
        };
        Self::new(kind, error)
    }
}

/// Why an append failed, and whether there is an entry all the same.
///
/// An append changes memory first and the file second. When the *writing* fails, the entry exists:
/// it has its id and is the leaf. Appending it again would make a second one.
///
/// `?` turns it into an [`Error`], whose message says that there is an entry, and which.
///
/// ```no_run
/// use leaflog::{AppendError, SessionManager};
///
/// fn ask(session: &mut SessionManager, question: &str) -> leaflog::Result<String> {
///     match session.append_message(question) {
///         Ok(id) => Ok(id),
///         Err(AppendError::Unsaved { id, error }) => {
///             eprintln!("not on disk yet: {error}");
///             Ok(id)
///         }
///         Err(rejected) => Err(rejected.into()),
///     }
/// }
/// # fn main() {}
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AppendError {
    /// Nothing was appended, and the leaf stays. The call can be made again when its reason is gone.
    Rejected(Error),
    /// The entry is in memory and is the leaf, but is not in the file. The next successful write
    /// carries it: another append, [`flush`] or [`close`] after [`ErrorCode::Locked`], another append or
    /// [`ensure_on_disk`] after [`ErrorCode::Gone`], [`ensure_on_disk`] after any other error. Do not append
    /// it again.
    ///
    /// [`flush`]: crate::SessionManager::flush
    /// [`close`]: crate::SessionManager::close
    /// [`ensure_on_disk`]: crate::SessionManager::ensure_on_disk
    Unsaved {
        /// The id of the entry.
        id: String,
        /// Why it could not be written.
        error: Error,
    },
}

impl AppendError {
    /// Why the append failed.
    #[must_use]
    pub fn error(&self) -> &Error {
        match self {
            Self::Rejected(error) | Self::Unsaved { error, .. } => error,
        }
    }

    /// The id of the entry that is in memory; `None` when nothing was appended.
    #[must_use]
    pub fn entry_id(&self) -> Option<&str> {
        match self {
            Self::Rejected(_) => None,
            Self::Unsaved { id, .. } => Some(id),
        }
    }

    /// The kind of the error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.error().code()
    }

    /// What happened and the cause, without the place: [`Error::message`].
    #[must_use]
    pub fn message(&self) -> String {
        self.error().message()
    }

    /// The file or directory it is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.error().path()
    }

    /// The operating system's error number.
    #[must_use]
    pub fn os_errno(&self) -> Option<i32> {
        self.error().os_errno()
    }
}

/// What says that there is an entry.
fn unsaved(id: &str) -> String {
    format!("entry {id} is in memory, unsaved")
}

/// Nothing was appended yet.
impl From<Error> for AppendError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl From<AppendError> for Error {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Rejected(error) => error,
            AppendError::Unsaved { id, error } => error.note(unsaved(&id)),
        }
    }
}

impl From<AppendError> for io::Error {
    fn from(error: AppendError) -> Self {
        Error::from(error).into()
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(error) => error.fmt(f),
            Self::Unsaved { id, error } => write!(f, "{error}; {}", unsaved(id)),
        }
    }
}

/// As of [`Error`].
impl fmt::Debug for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (f.alternate(), self) {
            (false, _) => write!(f, "{}: {self}", self.code()),
            (true, Self::Rejected(error)) => f.debug_tuple("Rejected").field(error).finish(),
            (true, Self::Unsaved { id, error }) => {
                f.debug_struct("Unsaved").field("id", id).field("error", error).finish()
            }
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().source()
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, ErrorCode};

    // B13
    #[test]
    fn b13_what_is_added_to_a_copy_is_not_lost() {
        let error = Error::new(ErrorCode::Io, "cannot move");
        let copy = error.clone();
        let other = Error::new(ErrorCode::Io, "cannot move back");
        let added = copy.clone().at(std::path::Path::new("/a")).at_line(7).besides(&other);
        assert_eq!(added.to_string(), "/a:7: cannot move; besides, cannot move back");
        assert_eq!((error.to_string(), copy.to_string()), ("cannot move".to_owned(), "cannot move".to_owned()));
    }
}
