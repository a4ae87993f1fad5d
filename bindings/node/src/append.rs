//! Appending. A string of JavaScript may hold half a surrogate pair, which only JSON text carries
//! on: so entries come as JSON.

use crate::session::{Handle, Session};
use leaflog::SessionManager;
use napi::{Env, JsString};
use napi_derive::napi;

/// Appends and gives the id.
fn append<'env>(
    env: &'env Env,
    session: &Session,
    run: impl FnOnce(&mut SessionManager) -> leaflog::Result<String>,
) -> napi::Result<JsString<'env>> {
    env.create_string_latin1(session.run(run)?)
}

#[napi(catch_unwind)]
pub fn append_message<'env>(env: &'env Env, session: &Handle, message: String) -> napi::Result<JsString<'env>> {
    append(env, session, |manager| manager.append_message(&message))
}

#[napi(catch_unwind)]
pub fn append_entry<'env>(env: &'env Env, session: &Handle, fields: String) -> napi::Result<JsString<'env>> {
    append(env, session, |manager| manager.append_entry(&fields))
}
