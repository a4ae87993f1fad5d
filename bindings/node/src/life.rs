//! What changes a session but appends.

use crate::error::{convert, guarded, invalid};
use crate::make::from_ms;
use crate::session::{Handle, Session};
use crate::text;
use leaflog::{Error, ErrorCode, LockWait, SessionState, TitleSource};
use napi::bindgen_prelude::{AsyncTask, External, Uint32Array};
use napi::{Env, JsString, Task};
use napi_derive::napi;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[napi(catch_unwind)]
pub fn cwd(session: &Handle) -> napi::Result<String> {
    Ok(string(session.opened()?.cwd()))
}

#[napi(catch_unwind)]
pub fn session_dir(session: &Handle) -> napi::Result<String> {
    Ok(string(session.opened()?.session_dir()))
}

#[napi(catch_unwind)]
pub fn session_id(session: &Handle) -> napi::Result<String> {
    Ok(session.opened()?.session_id().to_owned())
}

#[napi(catch_unwind)]
pub fn session_file(session: &Handle) -> napi::Result<Option<String>> {
    Ok(session.opened()?.session_file().map(string))
}

#[napi(catch_unwind)]
pub fn is_persisted(session: &Handle) -> napi::Result<bool> {
    Ok(session.opened()?.is_persisted())
}

#[napi(catch_unwind)]
pub fn is_started(session: &Handle) -> napi::Result<bool> {
    Ok(session.opened()?.is_started())
}

fn string(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[napi(catch_unwind)]
pub fn branch(session: &Handle, id: String) -> napi::Result<()> {
    session.run(|manager| manager.branch(&id))
}

#[napi(catch_unwind)]
pub fn reset_leaf(session: &Handle) -> napi::Result<()> {
    session.run(|manager| {
        manager.reset_leaf();
        Ok(())
    })
}

/// How long another process's lock is waited for, in milliseconds.
#[napi(catch_unwind)]
pub fn lock_timeout(session: &Handle) -> napi::Result<f64> {
    Ok(session.opened()?.lock_timeout().as_secs_f64() * 1000.0)
}

#[napi(catch_unwind)]
pub fn set_lock_timeout(session: &Handle, ms: f64) -> napi::Result<()> {
    session.opened()?.set_lock_timeout(from_ms(ms));
    Ok(())
}

/// Waits on another thread until no process holds the lock.
pub struct Waiting(Option<LockWait>);

impl Task for Waiting {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        guarded(|| self.0.as_mut().map_or(Ok(()), LockWait::wait))
    }

    fn resolve(&mut self, _env: Env, (): ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi(catch_unwind)]
pub fn lock_wait(session: &Handle, ms: f64) -> napi::Result<AsyncTask<Waiting>> {
    Ok(AsyncTask::new(Waiting(session.opened()?.lock_wait(from_ms(ms)))))
}

/// Waits for the disk on another thread, and for another process's lock so long.
pub struct Flushing(Arc<Session>, Duration);

impl Flushing {
    /// Without the manager while the disk, or another process that holds the lock, is waited for: it is used
    /// meanwhile.
    fn flush(&self) -> leaflog::Result<()> {
        let start = Instant::now();
        loop {
            let mut manager = self.0.manager()?;
            let usual = manager.lock_timeout();
            manager.set_lock_timeout(Duration::ZERO);
            let begun = manager.begin_flush();
            manager.set_lock_timeout(usual);
            match begun {
                Ok(None) => return Ok(()),
                Ok(Some(mut flush)) => {
                    drop(manager);
                    flush.wait();
                    if self.0.manager()?.end_flush(flush)? {
                        return Ok(());
                    }
                }
                Err(error) if error.is_locked() => {
                    let wait = manager.lock_wait(self.1.saturating_sub(start.elapsed()));
                    drop(manager);
                    wait.map_or(Err(error), |mut wait| wait.wait())?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Task for Flushing {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        guarded(|| self.flush())
    }

    fn resolve(&mut self, _env: Env, (): ()) -> napi::Result<()> {
        Ok(())
    }
}

#[napi(catch_unwind)]
pub fn flush(session: &Handle, lock_timeout_ms: f64) -> AsyncTask<Flushing> {
    AsyncTask::new(Flushing(Arc::clone(session), from_ms(lock_timeout_ms)))
}

#[napi(catch_unwind)]
pub fn flush_now(session: &Handle) -> napi::Result<()> {
    session.run(|manager| manager.flush())
}

#[napi(catch_unwind)]
pub fn close(session: &Handle) -> napi::Result<()> {
    session.run(|manager| manager.close())
}

/// Closes the file for reading too.
#[napi(catch_unwind)]
pub fn release(session: &Handle) {
    match &***session {
        Session::Manager { manager, .. } => manager.lock().release(),
        Session::View(view, _) => view.release(),
    }
}

#[napi(catch_unwind)]
pub fn ensure_on_disk(session: &Handle) -> napi::Result<()> {
    session.run(|manager| manager.ensure_on_disk())
}

/// Gives entries other texts, which the next rewrite writes.
#[napi(catch_unwind)]
pub fn replace_texts(session: &Handle, positions: Uint32Array, texts: Vec<String>) -> napi::Result<()> {
    let changes: Vec<(usize, &str)> =
        positions.iter().map(|&at| at as usize).zip(texts.iter().map(String::as_str)).collect();
    session.run(|manager| manager.replace_texts(&changes))?;
    for (position, text) in changes {
        session.prints().record(position, text.as_bytes());
    }
    Ok(())
}

#[napi(catch_unwind)]
pub fn rewrite_entries(session: &Handle) -> napi::Result<()> {
    session.run(|manager| manager.rewrite_entries(&[]))
}

/// Shows what was appended here as it is shown when it is loaded.
#[napi(catch_unwind)]
pub fn show_as_loaded(session: &Handle) -> napi::Result<bool> {
    session.run(|manager| manager.sanitize_loaded_openai_responses_replay_metadata())
}

#[napi(catch_unwind)]
pub fn set_session_name(session: &Handle, name: String, by_user: bool) -> napi::Result<bool> {
    let source = if by_user { TitleSource::User } else { TitleSource::Auto };
    session.run(|manager| manager.set_session_name(&name, source))
}

#[napi(catch_unwind)]
pub fn set_session_file(session: &Handle, path: String) -> napi::Result<()> {
    session.run(|manager| manager.set_session_file(&path))
}

#[napi(catch_unwind)]
pub fn new_session(session: &Handle, parent: Option<String>) -> napi::Result<Option<String>> {
    session.run(|manager| manager.new_session(parent.as_deref()).map(|path| path.as_deref().map(string)))
}

/// Old and new file of a fork.
#[napi(catch_unwind)]
pub fn fork(session: &Handle) -> napi::Result<Option<Vec<String>>> {
    let fork = session.run(|manager| manager.fork())?;
    Ok(fork.map(|fork| vec![string(&fork.old_session_file), string(&fork.new_session_file)]))
}

#[napi(catch_unwind)]
pub fn move_to(session: &Handle, cwd: String) -> napi::Result<()> {
    session.run(|manager| manager.move_to(&cwd))
}

#[napi(catch_unwind)]
pub fn dir_after_move(session: &Handle, cwd: String) -> napi::Result<String> {
    Ok(string(&session.opened()?.dir_after_move(&cwd)))
}

#[napi(catch_unwind)]
pub fn create_branched_session(session: &Handle, leaf: String) -> napi::Result<Option<String>> {
    session.run(|manager| manager.create_branched_session(&leaf).map(|path| path.as_deref().map(string)))
}

#[napi(catch_unwind)]
pub fn capture_state(session: &Handle) -> napi::Result<External<SessionState>> {
    Ok(External::new(session.opened()?.capture_state()))
}

/// What a state holds, to be read.
#[napi(catch_unwind)]
pub fn state_view(state: &External<SessionState>) -> Handle {
    External::new(Arc::new(Session::view(state.view().clone())))
}

#[napi(catch_unwind)]
pub fn restore_state(session: &Handle, state: &External<SessionState>) -> napi::Result<()> {
    session.opened()?.restore_state((**state).clone());
    Ok(())
}

#[napi(catch_unwind)]
pub fn persist_status<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    let status = session.opened()?.persist_status();
    let error = status.error.map(|error| convert(error).reason);
    text::give_value(env, &json!({ "error": error, "unsaved": status.unsaved, "lastSaved": status.last_saved }))
}

/// Keeps a failure in force that the caller's own storage reported.
#[napi(catch_unwind)]
pub fn report_failure(session: &Handle, message: String) -> napi::Result<()> {
    session.opened()?.report_failure(Error::new(ErrorCode::Io, message));
    Ok(())
}

/// The lines for the logger that came since the last call.
#[napi(catch_unwind)]
pub fn take_log(session: &Handle) -> napi::Result<Vec<String>> {
    match &***session {
        Session::Manager { log, .. } => Ok(std::mem::take(&mut *log.lock())),
        Session::View(..) => Err(invalid("this session is only read")),
    }
}
