//! Errors on their way to the engine.

use leaflog::{AppendError, Error};
use napi_derive::napi;
use serde_json::json;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// An error as the facade takes it apart: a mark, then JSON.
pub(crate) fn convert(error: Error) -> napi::Error {
    marked(&error, None)
}

/// The same of an append, with the id of the entry that is in memory all the same.
pub(crate) fn convert_append(error: AppendError) -> napi::Error {
    marked(error.error(), error.entry_id())
}

fn marked(error: &Error, entry_id: Option<&str>) -> napi::Error {
    // Where it happened is said as in Rust, but not twice.
    let path = error.path().map(Path::to_string_lossy);
    let message = match (error.message(), &path) {
        (message, Some(path)) if message.contains(&**path) => message,
        _ => error.to_string(),
    };
    let fields = json!({
        "code": error.code().as_str(),
        "message": message,
        "words": error.message(),
        "path": path,
        "line": error.line(),
        "errno": error.os_errno(),
        "entryId": entry_id,
    });
    napi::Error::from_reason(format!("leaflog:{fields}"))
}

/// The names of the codes that errors of the core have.
#[napi(catch_unwind)]
pub fn error_codes() -> Vec<&'static str> {
    leaflog::ErrorCode::ALL.iter().map(|code| code.as_str()).collect()
}

pub(crate) fn invalid(message: &str) -> napi::Error {
    convert(Error::new(leaflog::ErrorCode::InvalidArgument, message))
}

/// Runs what another thread does for the engine; a panic becomes an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> leaflog::Result<T>) -> napi::Result<T> {
    match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(convert),
        Err(panic) => Err(napi::Error::from_reason(format!("panic: {}", what(&*panic)))),
    }
}

fn what(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("")
}
