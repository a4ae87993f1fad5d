//! Finding sessions.

use crate::error::{convert, guarded, invalid};
use crate::make::Options;
use crate::storage::{Storage, StorageHandle};
use crate::text;
use leaflog::{ManagerOptions, RecentSession, SessionFinder, SessionInfo};
use napi::bindgen_prelude::{AsyncTask, External};
use napi::{Env, JsString, Task};
use napi_derive::napi;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Puts a file into a storage in memory: one of a storage of the caller's own, to be looked through.
#[napi(catch_unwind)]
pub fn memory_put(storage: &External<StorageHandle>, path: String, text: String, ms: f64) -> napi::Result<()> {
    let StorageHandle::Memory(memory) = &**storage else { return Err(invalid("this storage takes no files")) };
    memory.put(path, text, from_ms(ms));
    Ok(())
}

/// The folders that sessions of a project, or of all, are looked for in.
#[napi(catch_unwind)]
pub fn session_folders(cwd: Option<String>, options: Options) -> Vec<String> {
    let folders = finder(options, None).folders(cwd.as_deref().map(Path::new));
    folders.iter().map(|dir| dir.to_string_lossy().into_owned()).collect()
}

/// How far a listing is, and whether it is to stop.
#[derive(Default)]
pub struct Progress {
    done: AtomicU32,
    total: AtomicU32,
    stop: AtomicBool,
}

#[napi(catch_unwind)]
pub fn progress_new() -> External<Arc<Progress>> {
    External::new(Arc::default())
}

/// Files done, and all.
#[napi(catch_unwind)]
pub fn progress_get(progress: &External<Arc<Progress>>) -> Vec<u32> {
    vec![progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed)]
}

#[napi(catch_unwind)]
pub fn progress_stop(progress: &External<Arc<Progress>>) {
    progress.stop.store(true, Ordering::Relaxed);
}

/// Looks for sessions on another thread.
pub struct Finding {
    finder: SessionFinder,
    what: What,
}

enum What {
    List(Option<String>),
    MostRecentOf(String),
    Recent(String, usize),
    Resolve(String, String),
}

impl Task for Finding {
    type Output = Value;
    type JsValue = String;

    fn compute(&mut self) -> napi::Result<Value> {
        guarded(|| {
            Ok(match &self.what {
                What::List(cwd) => {
                    let listing = match cwd {
                        Some(cwd) => self.finder.list(cwd),
                        None => self.finder.list_all(),
                    };
                    json!({
                        "sessions": listing.sessions.iter().map(info).collect::<Vec<_>>(),
                        "problems": listing.not_listed().into_iter().map(|error| convert(error).reason).collect::<Vec<_>>(),
                    })
                }
                What::MostRecentOf(cwd) => {
                    self.finder.most_recent_of(cwd).map(|path| path.to_string_lossy().into_owned()).into()
                }
                What::Recent(dir, limit) => self.finder.recent(dir, *limit).iter().map(recent).collect(),
                What::Resolve(arg, cwd) => match self.finder.resolve(arg, cwd)? {
                    Some(found) => json!({ "session": info(&found.session), "scope": found.scope.as_str() }),
                    None => Value::Null,
                },
            })
        })
    }

    fn resolve(&mut self, _env: Env, found: Value) -> napi::Result<String> {
        Ok(found.to_string())
    }
}

fn info(session: &SessionInfo) -> Value {
    json!({
        "path": session.path.to_string_lossy(),
        "id": session.id,
        "cwd": session.cwd,
        "title": session.title,
        "parentSessionPath": session.parent_session,
        "created": session.created_ms,
        "modified": to_ms(session.modified),
        "projectGone": session.project_gone,
        "messageCount": session.message_count,
        "firstMessage": session.first_message,
    })
}

fn recent(session: &RecentSession) -> Value {
    json!({
        "path": session.path.to_string_lossy(),
        "mtime": to_ms(session.modified),
        "fullName": session.full_name,
        "name": session.name(),
    })
}

/// Milliseconds since 1970.
pub(crate) fn to_ms(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64() * 1000.0,
        Err(before) => -before.duration().as_secs_f64() * 1000.0,
    }
}

fn from_ms(ms: f64) -> SystemTime {
    Duration::try_from_secs_f64(ms / 1000.0).map_or(UNIX_EPOCH, |since| UNIX_EPOCH + since)
}

fn finder(options: Options, storage: Storage<'_>) -> SessionFinder {
    options.apply(storage).0.finder()
}

/// The sessions of a project, or of all.
#[napi(catch_unwind)]
pub fn list(
    cwd: Option<String>,
    options: Options,
    storage: Storage<'_>,
    progress: &External<Arc<Progress>>,
) -> AsyncTask<Finding> {
    let progress = Arc::clone(progress);
    let finder = finder(options, storage).progress(move |done, total| {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        progress.total.store(count(total), Ordering::Relaxed);
        progress.done.store(count(done), Ordering::Relaxed);
        if progress.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    AsyncTask::new(Finding { finder, what: What::List(cwd) })
}

#[napi(catch_unwind)]
pub fn recent_sessions(dir: String, limit: u32, options: Options, storage: Storage<'_>) -> AsyncTask<Finding> {
    AsyncTask::new(Finding { finder: finder(options, storage), what: What::Recent(dir, limit as usize) })
}

/// The session of a project to go on with.
#[napi(catch_unwind)]
pub fn most_recent_of(cwd: String, options: Options, storage: Storage<'_>) -> AsyncTask<Finding> {
    AsyncTask::new(Finding { finder: finder(options, storage), what: What::MostRecentOf(cwd) })
}

#[napi(catch_unwind)]
pub fn resolve_session(arg: String, cwd: String, options: Options, storage: Storage<'_>) -> AsyncTask<Finding> {
    AsyncTask::new(Finding { finder: finder(options, storage), what: What::Resolve(arg, cwd) })
}

/// How long before now a session changed, in words.
#[napi(catch_unwind)]
pub fn time_ago(ms: f64) -> String {
    let then = from_ms(ms);
    let session = RecentSession {
        path: PathBuf::new(),
        modified: then,
        used: then,
        project_gone: false,
        full_name: String::new(),
    };
    session.time_ago(SystemTime::now())
}

/// The texts of a session, joined by spaces.
#[napi(catch_unwind)]
pub fn all_messages_text<'env>(env: &'env Env, path: String, storage: Storage<'_>) -> napi::Result<JsString<'env>> {
    let finder = match storage.map(|storage| &**storage) {
        Some(StorageHandle::Memory(memory)) => SessionFinder::new().storage(memory.clone()),
        _ => SessionFinder::new(),
    };
    text::give_value(env, &finder.all_messages_text(path).map_err(convert)?)
}

/// The agent's blob store.
#[napi(catch_unwind)]
pub fn blobs_dir(options: Options) -> String {
    options.apply(None).0.dirs().blobs().to_string_lossy().into_owned()
}

/// The agent's prompt history.
#[napi(catch_unwind)]
pub fn history_db(options: Options) -> String {
    options.apply(None).0.dirs().history_db().to_string_lossy().into_owned()
}

/// The folder that new sessions of a project go to; it is made.
#[napi(catch_unwind)]
pub fn default_session_dir(cwd: String, options: Options, storage: Storage<'_>) -> napi::Result<String> {
    let (options, _): (ManagerOptions, _) = options.apply(storage);
    options.default_session_dir(cwd).map(|dir| dir.to_string_lossy().into_owned()).map_err(convert)
}
