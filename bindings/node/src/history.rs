//! The prompt history.

use crate::error::{convert, guarded};
use crate::text;
use leaflog::HistoryStorage;
use napi::bindgen_prelude::{AsyncTask, External, Utf16String};
use napi::{Env, JsString, Task};
use napi_derive::napi;
use std::sync::Arc;

/// Handle of a history.
pub type HistoryHandle = External<Arc<HistoryStorage>>;

#[napi(catch_unwind)]
pub fn history_open(path: String) -> napi::Result<HistoryHandle> {
    HistoryStorage::open(path).map(|history| External::new(Arc::new(history))).map_err(convert)
}

/// Takes a prompt in; it is stored a little later.
#[napi(catch_unwind)]
pub fn history_add(history: &HistoryHandle, prompt: Utf16String, cwd: Option<Utf16String>) -> napi::Result<()> {
    history.add_utf16(&prompt, cwd.as_deref()).map_err(convert)
}

/// Waits for what was added, on another thread.
pub struct Storing(Arc<HistoryStorage>);

impl Task for Storing {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        guarded(|| self.0.flush())
    }

    fn resolve(&mut self, _env: Env, (): ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi(catch_unwind)]
pub fn history_flush(history: &HistoryHandle) -> AsyncTask<Storing> {
    AsyncTask::new(Storing(Arc::clone(history)))
}

#[napi(catch_unwind)]
pub fn history_recent<'env>(env: &'env Env, history: &HistoryHandle, limit: u32) -> napi::Result<JsString<'env>> {
    text::give_value(env, &history.recent(limit as usize).map_err(convert)?)
}

#[napi(catch_unwind)]
pub fn history_search<'env>(
    env: &'env Env,
    history: &HistoryHandle,
    query: String,
    limit: u32,
) -> napi::Result<JsString<'env>> {
    text::give_value(env, &history.search(&query, limit as usize).map_err(convert)?)
}

#[napi(catch_unwind)]
pub fn history_close(history: &HistoryHandle) -> napi::Result<()> {
    history.close().map_err(convert)
}
