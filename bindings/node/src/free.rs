//! Functions without a session.

use crate::error::convert;
use crate::read::give_plan;
use crate::text;
use leaflog::{ErrorCode, Leaf, ViewOptions};
use napi::{Env, JsString};
use napi_derive::napi;

/// Headers and entries of a session's text, as they stand.
#[napi(catch_unwind)]
pub fn parse_entries<'env>(env: &'env Env, content: String) -> napi::Result<JsString<'env>> {
    text::give(env, &leaflog::parse_session_entries(content).map_err(convert)?)
}

/// The header and the entries of a session's text; none when it has no header.
#[napi(catch_unwind)]
pub fn load_entries<'env>(env: &'env Env, content: String) -> napi::Result<JsString<'env>> {
    give_raw(env, ViewOptions::new().read_bytes(content))
}

/// The same of a file; none when there is no file.
#[napi(catch_unwind)]
pub fn load_file<'env>(env: &'env Env, path: String) -> napi::Result<JsString<'env>> {
    give_raw(env, ViewOptions::new().open(path))
}

fn give_raw(env: &Env, view: leaflog::Result<leaflog::SessionView>) -> napi::Result<JsString<'_>> {
    match view {
        Ok(view) => text::give(env, &view.raw_entries().map_err(convert)?),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::NotASession) => text::give(env, b"[]"),
        Err(error) => Err(convert(error)),
    }
}

/// The entries of a session's text in the form of the current version.
#[napi(catch_unwind)]
pub fn migrate_entries<'env>(env: &'env Env, content: String) -> napi::Result<JsString<'env>> {
    let view = ViewOptions::new().read_bytes(content).map_err(convert)?;
    let mut out = vec![b'['];
    for entry in view.entries() {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(entry.text().map_err(convert)?.json().bytes());
    }
    out.push(b']');
    text::give(env, &out)
}

/// What the context of a session's text is made of: of the last entry, of a known one, or of none.
#[napi(catch_unwind)]
pub fn plan_context<'env>(
    env: &'env Env,
    content: String,
    leaf: Option<String>,
    before: bool,
) -> napi::Result<JsString<'env>> {
    let view = ViewOptions::new().read_bytes(content).map_err(convert)?;
    let leaf = leaf.filter(|leaf| view.entry(leaf).is_some());
    let leaf = match &leaf {
        _ if before => Leaf::Before,
        Some(id) => Leaf::Id(id),
        None => Leaf::Last,
    };
    give_plan(env, &view, leaf)
}
