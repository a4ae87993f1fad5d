//! Making sessions.

use crate::error::{convert, guarded};
use crate::session::{Handle, Log, Session, handle, session};
use crate::storage::StorageHandle;
use leaflog::{DirNaming, Durability, Environment, ManagerOptions, MigrationRewrite, SessionManager};
use napi::bindgen_prelude::{AsyncTask, External, ExternalRef};
use napi::{Env, Task};
use napi_derive::napi;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How sessions are made; the facade fills it from `configure` and the environment.
#[napi(object)]
#[derive(Clone, Debug)]
pub struct Options {
    pub agent_dir: Option<String>,
    pub config_dir_name: Option<String>,
    pub home_relative: Option<bool>,
    /// The variables that folders and the terminal are found by.
    pub env: HashMap<String, String>,
    pub session_dir: Option<String>,
    pub lock_timeout_ms: Option<f64>,
    pub sync_appends: Option<bool>,
    pub deferred_migration: Option<bool>,
}

impl Options {
    pub(crate) fn apply(self, storage: Option<&External<StorageHandle>>) -> (ManagerOptions, Log) {
        let log = Log::default();
        let lines = Log::clone(&log);
        let mut options = ManagerOptions::new()
            .logger(move |line| lines.lock().push(line.to_owned()))
            .environment(Environment::from_vars(self.env));
        if let Some(name) = self.config_dir_name {
            options = options.config_dir_name(name);
        }
        if self.home_relative == Some(true) {
            options = options.dir_naming(DirNaming::HomeRelative);
        }
        if let Some(dir) = self.agent_dir {
            options = options.agent_dir(dir);
        }
        if let Some(dir) = self.session_dir {
            options = options.session_dir(dir);
        }
        if let Some(ms) = self.lock_timeout_ms {
            options = options.lock_timeout(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(Duration::MAX));
        }
        if self.sync_appends == Some(true) {
            options = options.durability(Durability::EveryAppend);
        }
        if self.deferred_migration == Some(true) {
            options = options.migration_rewrite(MigrationRewrite::Deferred);
        }
        options = match storage.map(|storage| &**storage) {
            None => options,
            Some(StorageHandle::Memory(memory)) => options.storage(memory.clone()),
            Some(StorageHandle::Queue(queue)) => options.storage(queue.clone()),
            Some(StorageHandle::Loaded(loaded)) => options.storage(loaded.clone()),
        };
        (options, log)
    }
}

#[napi(catch_unwind)]
pub fn create(cwd: String, options: Options, storage: Option<&External<StorageHandle>>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(options.create(cwd).map_err(convert)?, log))
}

#[napi(catch_unwind)]
pub fn in_memory(cwd: String, options: Options, storage: Option<&External<StorageHandle>>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(options.in_memory(cwd).map_err(convert)?, log))
}

#[napi(catch_unwind)]
pub fn open_now(path: String, options: Options, storage: Option<&External<StorageHandle>>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(options.open(path).map_err(convert)?, log))
}

#[napi(catch_unwind)]
pub fn fork_now(
    source: String,
    cwd: String,
    options: Options,
    storage: Option<&External<StorageHandle>>,
) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(options.fork_from(source, cwd).map_err(convert)?, log))
}

#[napi(catch_unwind)]
pub fn continue_now(cwd: String, options: Options, storage: Option<&External<StorageHandle>>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(options.continue_recent(cwd).map_err(convert)?, log))
}

/// Makes a session on another thread.
pub struct Making {
    made: Option<(ManagerOptions, Log)>,
    how: How,
}

enum How {
    Open(String),
    Fork(String, String),
    Continue(String),
}

impl Task for Making {
    type Output = (SessionManager, Log);
    type JsValue = ExternalRef<Arc<Session>>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let (options, log) = self.made.take().ok_or_else(|| napi::Error::from_reason("made twice"))?;
        let manager = guarded(|| match &self.how {
            How::Open(path) => options.open(path),
            How::Fork(source, cwd) => options.fork_from(source, cwd),
            How::Continue(cwd) => options.continue_recent(cwd),
        })?;
        Ok((manager, log))
    }

    fn resolve(&mut self, env: Env, (manager, log): Self::Output) -> napi::Result<Self::JsValue> {
        ExternalRef::new(&env, session(manager, log))
    }
}

#[napi(catch_unwind)]
pub fn open(path: String, options: Options) -> AsyncTask<Making> {
    AsyncTask::new(Making { made: Some(options.apply(None)), how: How::Open(path) })
}

#[napi(catch_unwind)]
pub fn fork_from(source: String, cwd: String, options: Options) -> AsyncTask<Making> {
    AsyncTask::new(Making { made: Some(options.apply(None)), how: How::Fork(source, cwd) })
}

#[napi(catch_unwind)]
pub fn continue_recent(cwd: String, options: Options) -> AsyncTask<Making> {
    AsyncTask::new(Making { made: Some(options.apply(None)), how: How::Continue(cwd) })
}
