//! Finding sessions.

use crate::error::{convert, guarded, invalid};
use crate::make::Options;
use crate::storage::StorageHandle;
use crate::text;
use leaflog::{
    Error, ErrorCode, ManagerOptions, MemorySessionStorage, RecentSession, Result, SessionFinder, SessionInfo,
    SessionStorage, SessionStorageWriter, StorageStat, WriterMode,
};
use napi::bindgen_prelude::{AsyncTask, External};
use napi::{Env, JsString, Task};
use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Files of a storage of the caller's own, handed in: read only.
#[derive(Clone, Default)]
pub struct Loaded(Arc<Mutex<BTreeMap<PathBuf, (String, StorageStat)>>>);

fn read_only<T>() -> Result<T> {
    Err(Error::new(ErrorCode::PermissionDenied, "this storage is only read"))
}

impl Loaded {
    fn get<T>(&self, path: &Path, get: impl FnOnce(&(String, StorageStat)) -> T) -> Result<T> {
        self.0.lock().get(path).map(get).ok_or_else(|| Error::file_not_found(path))
    }
}

impl SessionStorage for Loaded {
    fn ensure_dir(&self, _dir: &Path) -> Result<()> {
        read_only()
    }

    fn exists(&self, path: &Path) -> bool {
        self.0.lock().contains_key(path)
    }

    fn read_text(&self, path: &Path) -> Result<String> {
        self.get(path, |(text, _)| text.clone())
    }

    fn read_text_prefix(&self, path: &Path, most: usize) -> Result<String> {
        self.get(path, |(text, _)| text[..text.floor_char_boundary(most)].to_owned())
    }

    fn write_text(&self, _path: &Path, _text: &str) -> Result<()> {
        read_only()
    }

    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.get(path, |(_, stat)| *stat)
    }

    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        let end = pattern.trim_start_matches('*');
        let files = self.0.lock();
        let is_listed = |path: &&PathBuf| path.parent() == Some(dir) && path.to_string_lossy().ends_with(end);
        files.keys().filter(is_listed).cloned().collect()
    }

    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let files = self.0.lock();
        let mut dirs: Vec<PathBuf> = files
            .keys()
            .filter_map(|path| path.strip_prefix(dir).ok().filter(|rest| rest.components().count() > 1))
            .filter_map(|rest| rest.components().next())
            .map(|name| dir.join(name))
            .collect();
        dirs.dedup();
        dirs
    }

    fn rename(&self, _from: &Path, _to: &Path) -> Result<()> {
        read_only()
    }

    fn unlink(&self, _path: &Path) -> Result<()> {
        read_only()
    }

    fn open_writer(&self, _path: &Path, _mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        read_only()
    }
}

#[napi(catch_unwind)]
pub fn loaded_new() -> External<StorageHandle> {
    External::new(StorageHandle::Loaded(Loaded::default()))
}

/// Hands in a file.
#[napi(catch_unwind)]
pub fn loaded_put(storage: &External<StorageHandle>, path: String, text: String, ms: f64) -> napi::Result<()> {
    let StorageHandle::Loaded(loaded) = &**storage else { return Err(invalid("this storage takes no files")) };
    let stat = StorageStat { size: text.encode_utf16().count() as u64, modified: from_ms(ms) };
    loaded.0.lock().insert(PathBuf::from(path), (text, stat));
    Ok(())
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
                    json!({ "sessions": listing.sessions.iter().map(info).collect::<Vec<_>>(), "cancelled": listing.cancelled })
                }
                What::Recent(dir, limit) => self.finder.recent(dir, *limit).iter().map(recent).collect(),
                What::Resolve(arg, cwd) => match self.finder.resolve(arg, cwd) {
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

fn finder(options: Options, storage: Option<&External<StorageHandle>>) -> SessionFinder {
    options.apply(storage).0.finder()
}

/// The sessions of a project, or of all.
#[napi(catch_unwind)]
pub fn list(
    cwd: Option<String>,
    options: Options,
    storage: Option<&External<StorageHandle>>,
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
pub fn recent_sessions(
    dir: String,
    limit: u32,
    options: Options,
    storage: Option<&External<StorageHandle>>,
) -> AsyncTask<Finding> {
    AsyncTask::new(Finding { finder: finder(options, storage), what: What::Recent(dir, limit as usize) })
}

#[napi(catch_unwind)]
pub fn resolve_session(
    arg: String,
    cwd: String,
    options: Options,
    storage: Option<&External<StorageHandle>>,
) -> AsyncTask<Finding> {
    AsyncTask::new(Finding { finder: finder(options, storage), what: What::Resolve(arg, cwd) })
}

/// How long before now a session changed, in words.
#[napi(catch_unwind)]
pub fn time_ago(ms: f64) -> String {
    RecentSession { path: PathBuf::new(), modified: from_ms(ms), full_name: String::new() }.time_ago(SystemTime::now())
}

/// The texts of a session, joined by spaces.
#[napi(catch_unwind)]
pub fn all_messages_text<'env>(
    env: &'env Env,
    path: String,
    storage: Option<&External<StorageHandle>>,
) -> napi::Result<JsString<'env>> {
    let finder = match storage.map(|storage| &**storage) {
        Some(StorageHandle::Memory(memory)) => SessionFinder::new().storage(MemorySessionStorage::clone(memory)),
        Some(StorageHandle::Loaded(loaded)) => SessionFinder::new().storage(loaded.clone()),
        _ => SessionFinder::new(),
    };
    text::give_value(env, &finder.all_messages_text(path).map_err(convert)?)
}

/// The folders of the agent, and those of a project.
#[napi(catch_unwind)]
pub fn folders<'env>(env: &'env Env, options: Options, cwd: Option<String>) -> napi::Result<JsString<'env>> {
    let (options, _) = options.apply(None);
    let dirs = options.dirs();
    let project: Vec<PathBuf> = cwd.map(|cwd| dirs.session_dirs(cwd)).unwrap_or_default();
    text::give_value(
        env,
        &json!({
            "agent": dirs.agent(),
            "sessions": dirs.sessions(),
            "blobs": dirs.blobs(),
            "historyDb": dirs.history_db(),
            "project": project,
        }),
    )
}

/// The folder that new sessions of a project go to; it is made.
#[napi(catch_unwind)]
pub fn default_session_dir(
    cwd: String,
    options: Options,
    storage: Option<&External<StorageHandle>>,
) -> napi::Result<String> {
    let (options, _): (ManagerOptions, _) = options.apply(storage);
    options.default_session_dir(cwd).map(|dir| dir.to_string_lossy().into_owned()).map_err(convert)
}
