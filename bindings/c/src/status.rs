//! What a function says about how it went.

use leaflog_core::ErrorCode;
use std::ffi::{CStr, c_char};

/// How a call went. The numbers are fixed: none is ever given another meaning, and later versions
/// may add some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum leaflog_status {
    /// It was done.
    Ok = 0,
    /// Nothing at the path.
    NotFound = 1,
    /// A folder where a file belongs.
    IsADirectory = 2,
    /// The operating system forbids it.
    PermissionDenied = 3,
    /// No line of the file is a session header.
    NotASession = 4,
    /// No entry has the id.
    EntryNotFound = 5,
    /// The file is shorter than it was when it was opened.
    FileChanged = 6,
    /// More than one session fits.
    Ambiguous = 7,
    /// A value that cannot be meant: a missing argument, a text that is not the JSON it must be.
    InvalidArgument = 8,
    /// Any other failure of the operating system.
    Io = 9,
    /// Another process held the session's lock for too long.
    Locked = 10,
    /// A writer was used after it was closed.
    Closed = 11,
    /// Something is there already that must not be replaced.
    AlreadyExists = 12,
    /// Another process deleted the session while this one had it open. It is said once: the next append, or
    /// `leaflog_session_ensure_on_disk()`, writes everything again.
    Gone = 13,
    /// A handle that is NULL, of another type, freed before, or never was one.
    InvalidHandle = 100,
    /// Another thread is using the handle, or a function of the caller that it called is. Nothing
    /// was done.
    Busy = 101,
    /// A bug in the library: it stopped in the middle of something. The handle answers nothing else
    /// from then on and can only be freed.
    Panic = 102,
    /// An iterator is at its end. No error is made.
    End = 103,
    /// The session was opened for reading only.
    ReadOnly = 104,
    /// A text is not UTF-8.
    InvalidUtf8 = 105,
    /// The session has other entries now than when the iterator was made.
    Stale = 106,
    /// An error of the core that this version of the interface has no number for.
    Other = 107,
}

/// The one table: numbers of this interface, codes of the core, names.
const TABLE: [(leaflog_status, Option<ErrorCode>, &CStr); 22] = [
    (leaflog_status::Ok, None, c"OK"),
    (leaflog_status::NotFound, Some(ErrorCode::NotFound), c"NOT_FOUND"),
    (leaflog_status::IsADirectory, Some(ErrorCode::IsADirectory), c"IS_A_DIRECTORY"),
    (leaflog_status::PermissionDenied, Some(ErrorCode::PermissionDenied), c"PERMISSION_DENIED"),
    (leaflog_status::NotASession, Some(ErrorCode::NotASession), c"NOT_A_SESSION"),
    (leaflog_status::EntryNotFound, Some(ErrorCode::EntryNotFound), c"ENTRY_NOT_FOUND"),
    (leaflog_status::FileChanged, Some(ErrorCode::FileChanged), c"FILE_CHANGED"),
    (leaflog_status::Ambiguous, Some(ErrorCode::Ambiguous), c"AMBIGUOUS"),
    (leaflog_status::InvalidArgument, Some(ErrorCode::InvalidArgument), c"INVALID_ARGUMENT"),
    (leaflog_status::Io, Some(ErrorCode::Io), c"IO"),
    (leaflog_status::Locked, Some(ErrorCode::Locked), c"LOCKED"),
    (leaflog_status::Closed, Some(ErrorCode::Closed), c"CLOSED"),
    (leaflog_status::AlreadyExists, Some(ErrorCode::AlreadyExists), c"ALREADY_EXISTS"),
    (leaflog_status::Gone, Some(ErrorCode::Gone), c"GONE"),
    (leaflog_status::InvalidHandle, None, c"INVALID_HANDLE"),
    (leaflog_status::Busy, None, c"BUSY"),
    (leaflog_status::Panic, None, c"PANIC"),
    (leaflog_status::End, None, c"END"),
    (leaflog_status::ReadOnly, None, c"READ_ONLY"),
    (leaflog_status::InvalidUtf8, None, c"INVALID_UTF8"),
    (leaflog_status::Stale, None, c"STALE"),
    (leaflog_status::Other, None, c"OTHER"),
];

impl leaflog_status {
    pub(crate) fn of(code: ErrorCode) -> Self {
        TABLE.iter().find(|(_, core, _)| *core == Some(code)).map_or(Self::Other, |(status, ..)| *status)
    }
}

/// The core's code for a status that a function of the caller gave.
pub(crate) fn core_code(status: i32) -> ErrorCode {
    TABLE.iter().find(|(known, ..)| *known as i32 == status).and_then(|(_, core, _)| *core).unwrap_or(ErrorCode::Io)
}

/// The name of a status, `NOT_FOUND`: NUL-terminated, of static lifetime. `UNKNOWN` for a number
/// that is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_status_name(status: i32) -> *const c_char {
    let known = TABLE.iter().find(|(known, ..)| *known as i32 == status);
    known.map_or(c"UNKNOWN", |(.., name)| name).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::{TABLE, core_code, leaflog_status};
    use leaflog_core::ErrorCode;

    // A code that is added to the core must get its number here.
    #[test]
    fn every_code_of_the_core_has_its_number_and_name() {
        for &code in ErrorCode::ALL {
            let (status, _, name) = TABLE.iter().find(|(_, core, _)| *core == Some(code)).unwrap();
            assert_eq!((*status as i32, name.to_str()), (code as i32, Ok(code.as_str())));
        }
        let of_core = TABLE.iter().filter(|(_, core, _)| core.is_some()).count();
        assert_eq!(of_core, ErrorCode::ALL.len());
    }

    #[test]
    fn a_number_that_is_no_code_of_the_core_is_an_io_error() {
        assert_eq!(core_code(leaflog_status::Busy as i32), ErrorCode::Io);
        assert_eq!(core_code(-7), ErrorCode::Io);
        assert_eq!(core_code(10), ErrorCode::Locked);
    }
}
