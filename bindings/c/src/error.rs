//! Errors, and the guard around every function.

use crate::abi::path_bytes;
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{AppendError, Error};
use std::any::Any;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

/// What went wrong: a handle that the caller frees with `leaflog_error_free()`. It does not change,
/// and any number of threads may read it at once. Every text that it lends lives until it is freed.
///
/// Functions take the place for one as their last argument. The place may be NULL. It is written when
/// the function fails, and left as it is otherwise; what was in it is not freed.
pub struct leaflog_error {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_error {
    type Object = Failure;
    const NAME: &'static str = "error";
}

/// An error on its way to C.
#[derive(Debug)]
pub(crate) struct Failure {
    status: leaflog_status,
    message: CString,
    /// The message with path and line.
    text: CString,
    path: Option<CString>,
    line: u64,
    os_errno: i32,
    entry_id: Option<CString>,
}

/// A text as C reads it: a NUL inside, which a message can quote, becomes a blank.
fn c_text(mut text: Vec<u8>) -> CString {
    for byte in &mut text {
        if *byte == 0 {
            *byte = b' ';
        }
    }
    CString::new(text).unwrap_or_default()
}

impl Failure {
    /// The id of the entry that an append has put in memory all the same.
    pub(crate) fn entry_id(&self) -> Option<&str> {
        self.entry_id.as_ref().and_then(|id| id.to_str().ok())
    }

    pub(crate) fn new(status: leaflog_status, message: impl Into<String>) -> Self {
        let message = c_text(message.into().into_bytes());
        Self { status, text: message.clone(), message, path: None, line: 0, os_errno: 0, entry_id: None }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(leaflog_status::InvalidArgument, message)
    }

    pub(crate) fn handle(message: &str) -> Self {
        Self::new(leaflog_status::InvalidHandle, message)
    }

    pub(crate) fn not_utf8(what: &str, at: usize) -> Self {
        Self::new(leaflog_status::InvalidUtf8, format!("{what} is not UTF-8 from byte {at} on"))
    }

    pub(crate) fn end() -> Self {
        Self::new(leaflog_status::End, "")
    }

    pub(crate) fn busy(what: &str) -> Self {
        Self::new(leaflog_status::Busy, format!("the {what} is in use by another call"))
    }

    pub(crate) fn broken(what: &str) -> Self {
        Self::new(leaflog_status::Panic, format!("a bug of the library stopped an earlier call with this {what}"))
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        Self::new(leaflog_status::Panic, format!("a bug of the library: {text}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            status: leaflog_status::of(error.code()),
            message: c_text(error.message().into_bytes()),
            text: c_text(error.to_string().into_bytes()),
            path: error.path().map(|path| c_text(path_bytes(path))),
            line: error.line().unwrap_or(0),
            os_errno: error.os_errno().unwrap_or(0),
            entry_id: None,
        }
    }
}

impl From<AppendError> for Failure {
    fn from(error: AppendError) -> Self {
        let text = c_text(error.to_string().into_bytes());
        let entry_id = error.entry_id().map(|id| c_text(id.into()));
        Self { text, entry_id, ..Self::from(error.error().clone()) }
    }
}

/// Runs the body of a function. Neither a panic nor an error leaves it but as a status, and with an
/// error in `error` when the caller wants one.
pub(crate) fn guard(error: *mut *mut leaflog_error, body: impl FnOnce() -> Result<(), Failure>) -> leaflog_status {
    // What a panic may leave half done is behind locks that remember it.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return leaflog_status::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panic(&*payload),
    };
    let status = failure.status;
    if status != leaflog_status::End
        && let Ok(out) = crate::abi::Out::optional(error, "error")
    {
        table::hand_out(out, failure);
    }
    status
}

/// What one of the functions below reads of an error.
fn read<T>(error: *const leaflog_error, otherwise: T, what: impl FnOnce(&Failure) -> T) -> T {
    let found: Result<Arc<Failure>, Failure> = table::get(error);
    found.map_or(otherwise, |error| what(&error))
}

/// The status that the function gave; LEAFLOG_STATUS_INVALID_HANDLE for a handle that is no error.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_status(error: *const leaflog_error) -> leaflog_status {
    read(error, leaflog_status::InvalidHandle, |error| error.status)
}

/// What happened and the cause the operating system gave, without the place. NUL-terminated, lent by
/// the error; NULL for a handle that is no error.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_message(error: *const leaflog_error) -> *const c_char {
    read(error, ptr::null(), |error| error.message.as_ptr())
}

/// One line for people: the path, the line, what happened, the cause. NUL-terminated, lent by the
/// error; NULL for a handle that is no error.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_text(error: *const leaflog_error) -> *const c_char {
    read(error, ptr::null(), |error| error.text.as_ptr())
}

/// The file or folder it is about. NUL-terminated, lent by the error; NULL when it is about none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_path(error: *const leaflog_error) -> *const c_char {
    read(error, ptr::null(), |error| error.path.as_ref().map_or(ptr::null(), |path| path.as_ptr()))
}

/// The line of the file, counted from 1; 0 when it is about none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_line(error: *const leaflog_error) -> u64 {
    read(error, 0, |error| error.line)
}

/// The operating system's error number; 0 when it gave none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_os_errno(error: *const leaflog_error) -> i32 {
    read(error, 0, |error| error.os_errno)
}

/// The id of the entry that an append left in memory because it could not be written: do not append it again.
/// NUL-terminated, borrowed from the error; NULL when nothing was appended, and for the errors of other functions.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_entry_id(error: *const leaflog_error) -> *const c_char {
    read(error, ptr::null(), |error| error.entry_id.as_ref().map_or(ptr::null(), |id| id.as_ptr()))
}

/// Frees an error. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_error_free(error: *mut leaflog_error) -> leaflog_status {
    table::free(error.cast_const())
}

#[cfg(test)]
mod tests {
    use super::{guard, leaflog_error_free, leaflog_error_message, leaflog_error_status};
    use crate::error::Failure;
    use crate::session::{Session, lock};
    use crate::status::leaflog_status;
    use std::ffi::CStr;
    use std::ptr;
    use std::sync::Mutex;

    fn message(error: *const super::leaflog_error) -> String {
        // SAFETY: the error is alive.
        unsafe { CStr::from_ptr(leaflog_error_message(error)) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        std::panic::set_hook(Box::new(|_| {}));
        let mut error = ptr::null_mut();
        let status = guard(&raw mut error, || panic!("left\0{}", 7));
        assert_eq!(status, leaflog_status::Panic);
        assert_eq!(leaflog_error_status(error), leaflog_status::Panic);
        // A NUL cannot stand in a C string.
        assert_eq!(message(error), "a bug of the library: left 7");
        assert_eq!(leaflog_error_free(error), leaflog_status::Ok);
        assert_eq!(guard(ptr::null_mut(), || std::panic::panic_any(7)), leaflog_status::Panic);
    }

    #[test]
    fn what_a_panic_left_half_done_is_not_used_again() {
        std::panic::set_hook(Box::new(|_| {}));
        let session = Session::from(leaflog_core::SessionManager::in_memory("/home/ada").unwrap());
        assert_eq!(guard(ptr::null_mut(), || session.work(|_| panic!())), leaflog_status::Panic);
        assert_eq!(guard(ptr::null_mut(), || session.work(|_| Ok(()))), leaflog_status::Panic);
        assert_eq!(guard(ptr::null_mut(), || session.read(|_| Ok(()))), leaflog_status::Panic);
    }

    #[test]
    fn nobody_waits_for_a_lock() {
        let mutex = Mutex::new(1);
        let held = lock(&mutex, "thing").unwrap();
        let Err(failure) = lock(&mutex, "thing") else { panic!("taken twice") };
        assert_eq!(guard(ptr::null_mut(), || Err(failure)), leaflog_status::Busy);
        drop(held);
        assert_eq!(*lock(&mutex, "thing").unwrap(), 1);
    }

    #[test]
    fn the_end_of_an_iterator_makes_no_error() {
        let mut error = ptr::null_mut();
        assert_eq!(guard(&raw mut error, || Err(Failure::end())), leaflog_status::End);
        assert!(error.is_null());
    }
}
