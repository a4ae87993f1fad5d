//! Appending. A string of JavaScript may hold half a surrogate pair, which only JSON text carries
//! on: so entries come as JSON.

use crate::error::{convert_append, invalid};
use crate::session::{Handle, Session};
use crate::text;
use leaflog::{AppendError, SessionManager};
use napi::{Env, JsString};
use napi_derive::napi;

/// Appends and gives the id.
fn append<'env>(
    env: &'env Env,
    session: &Session,
    run: impl FnOnce(&mut SessionManager) -> leaflog::Result<String, AppendError>,
) -> napi::Result<JsString<'env>> {
    let id = run(&mut *session.opened()?).map_err(convert_append)?;
    text::string(env, id.as_bytes())
}

#[napi(catch_unwind)]
pub fn append_message<'env>(env: &'env Env, session: &Handle, message: String) -> napi::Result<JsString<'env>> {
    append_text(env, session, &message)
}

/// The object that a message was given as is the entry's.
fn append_text<'env>(env: &'env Env, session: &Session, message: &str) -> napi::Result<JsString<'env>> {
    append(env, session, |manager| {
        let appended = manager.append_message(message);
        if !matches!(appended, Err(AppendError::Rejected(_))) {
            session.prints().record(manager.entries().len() - 1, message.as_bytes());
        }
        appended
    })
}

/// The same for the first bytes of an array: engines put text into one that is there in half the time
/// that they take to hand it over.
#[napi(catch_unwind)]
pub fn append_message_bytes<'env>(
    env: &'env Env,
    session: &Handle,
    array: &[u8],
    len: u32,
) -> napi::Result<JsString<'env>> {
    let text = array.get(..len as usize).and_then(|bytes| str::from_utf8(bytes).ok());
    let text = text.ok_or_else(|| invalid("the array holds no text"))?;
    append_text(env, session, text)
}

#[napi(catch_unwind)]
pub fn append_entry<'env>(env: &'env Env, session: &Handle, fields: String) -> napi::Result<JsString<'env>> {
    append(env, session, |manager| manager.append_entry(&fields))
}
