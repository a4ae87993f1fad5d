//! Making sessions.

use crate::error::{convert, guarded, invalid};
use crate::session::{Handle, Log, Session, handle};
use crate::storage::{Storage, StorageHandle};
use leaflog::{
    DirNaming, Durability, Environment, ManagerOptions, MigrationRewrite, SequenceGenerator, SessionManager,
    ViewOptions,
};
use napi::bindgen_prelude::{AsyncTask, External, ExternalRef};
use napi::{Env, Task};
use napi_derive::napi;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How sessions are made; the facade fills it from `configure` and the environment.
#[napi(object)]
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
    pub generator: Option<ExternalRef<Sequence>>,
}

/// A time that is waited for; infinity is one too.
pub(crate) fn from_ms(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or(Duration::MAX)
}

/// Ids and times that are known beforehand.
pub type Sequence = Arc<SequenceGenerator>;

#[napi(catch_unwind)]
pub fn sequence_new(start_ms: f64, step_ms: u32) -> External<Sequence> {
    #[allow(clippy::cast_possible_truncation, reason = "the facade takes whole numbers only")]
    External::new(Arc::new(SequenceGenerator::new(start_ms as i64, step_ms)))
}

impl Options {
    pub(crate) fn apply(self, storage: Storage<'_>) -> (ManagerOptions, Log) {
        let log = Log::default();
        let lines = Log::clone(&log);
        let mut options = ManagerOptions::new()
            .logger(move |line| lines.lock().push(line.to_owned()))
            .keep_replaced(true)
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
            options = options.lock_timeout(from_ms(ms));
        }
        if self.sync_appends == Some(true) {
            options = options.durability(Durability::EveryAppend);
        }
        if self.deferred_migration == Some(true) {
            options = options.migration_rewrite(MigrationRewrite::Deferred);
        }
        if let Some(generator) = self.generator {
            options = options.generator(Sequence::clone(&generator));
        }
        options = match storage.map(|storage| &**storage) {
            None => options,
            Some(StorageHandle::Memory(memory)) => options.storage(memory.clone()),
            Some(StorageHandle::Queue(queue)) => options.storage(queue.clone()),
        };
        (options, log)
    }
}

/// The names of the variables that [`Options::env`] is asked for.
#[napi(catch_unwind)]
pub fn environment_variables() -> Vec<&'static str> {
    Environment::VARIABLES.to_vec()
}

#[napi(catch_unwind)]
pub fn create(cwd: String, options: Options, storage: Storage<'_>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(Session::of(options.create(cwd).map_err(convert)?, log)))
}

#[napi(catch_unwind)]
pub fn in_memory(cwd: String, options: Options, storage: Storage<'_>) -> napi::Result<Handle> {
    let (options, log) = options.apply(storage);
    Ok(handle(Session::of(options.in_memory(cwd).map_err(convert)?, log)))
}

/// Where a session that another thread makes is put: what a promise gives cannot tell the engine how
/// much it holds.
pub type Slot = External<Arc<Mutex<Option<Session>>>>;

#[napi(catch_unwind)]
pub fn slot_new() -> Slot {
    External::new(Arc::default())
}

#[napi(catch_unwind)]
pub fn slot_take(slot: &Slot) -> napi::Result<Handle> {
    slot.lock().take().map(handle).ok_or_else(|| invalid("no session was made"))
}

/// Makes a session on another thread.
pub struct Making {
    slot: Arc<Mutex<Option<Session>>>,
    options: Option<(ManagerOptions, Log)>,
    how: How,
}

enum How {
    Open(String),
    Fork(String, String),
    Continue(String),
    /// The path, or the text that another storage has there.
    View(String, Option<String>),
}

impl Making {
    fn task(slot: &Slot, options: Options, storage: Storage<'_>, how: How) -> AsyncTask<Self> {
        AsyncTask::new(Self { slot: Arc::clone(slot), options: Some(options.apply(storage)), how })
    }
}

impl Task for Making {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        let (options, log) = self.options.take().ok_or_else(|| invalid("made twice"))?;
        let manager = |manager: leaflog::Result<SessionManager>| manager.map(|manager| Session::of(manager, log));
        let session = guarded(|| match &mut self.how {
            How::Open(path) => manager(options.open(path)),
            How::Fork(source, cwd) => manager(options.fork_from(source, cwd)),
            How::Continue(cwd) => manager(options.continue_recent(cwd)),
            How::View(path, content) => {
                let view = ViewOptions::new().blobs(options.dirs().blobs());
                let view = match content.take() {
                    Some(content) => view.read_bytes(content).map_err(|error| error.at(Path::new(path))),
                    None => view.open(path),
                };
                view.map(Session::view)
            }
        })?;
        *self.slot.lock() = Some(session);
        Ok(())
    }

    fn resolve(&mut self, _env: Env, (): ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi(catch_unwind)]
pub fn open(slot: &Slot, path: String, options: Options, storage: Storage<'_>) -> AsyncTask<Making> {
    Making::task(slot, options, storage, How::Open(path))
}

#[napi(catch_unwind)]
pub fn fork_from(
    slot: &Slot,
    source: String,
    cwd: String,
    options: Options,
    storage: Storage<'_>,
) -> AsyncTask<Making> {
    Making::task(slot, options, storage, How::Fork(source, cwd))
}

#[napi(catch_unwind)]
pub fn continue_recent(slot: &Slot, cwd: String, options: Options, storage: Storage<'_>) -> AsyncTask<Making> {
    Making::task(slot, options, storage, How::Continue(cwd))
}

/// Opens a session to be read only; its text is given when it is in a storage that is not the file system.
#[napi(catch_unwind)]
pub fn open_view(slot: &Slot, path: String, content: Option<String>, options: Options) -> AsyncTask<Making> {
    Making::task(slot, options, None, How::View(path, content))
}
