//! Making sessions, going on with others, writing, closing.

use crate::abi::{Out, leaflog_str, leaflog_string, slice};
use crate::error::{Failure, guard, leaflog_error};
use crate::options::{leaflog_options, leaflog_view_options, manager_options, view_options};
use crate::session::{self, Session, leaflog_session};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{SessionManager, SessionState, TitleSource};
use std::sync::Arc;

/// Makes a session where C wants it.
fn make<S: Into<Session>>(
    out: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
    make: impl FnOnce() -> Result<S, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "session")?;
        table::hand_out(out, make()?.into());
        Ok(())
    })
}

/// Works on a session, for functions that give nothing back.
fn work(
    session: *mut leaflog_session,
    error: *mut *mut leaflog_error,
    work: impl FnOnce(&mut SessionManager) -> Result<(), Failure>,
) -> leaflog_status {
    guard(error, || session::work(session, work))
}

/// A new session of the project at the path `cwd`. Its folder is made; nothing else is written before it
/// starts: with the first assistant message, or `leaflog_session_ensure_on_disk()`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_create(
    cwd: leaflog_str,
    options: *const leaflog_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(manager_options(options)?.create(cwd.path("cwd")?)?))
}

/// The session at `path`, of the project that its header names. A missing or empty file becomes a
/// new session at exactly that path; bytes that are not a session are set aside first, never lost.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_open(
    path: leaflog_str,
    options: *const leaflog_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(manager_options(options)?.open(path.path("path")?)?))
}

/// Goes on with the session that was worked on last in the project at the path `cwd`: the one that this terminal had,
/// else the newest of the project. Without one, a new session.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_continue_recent(
    cwd: leaflog_str,
    options: *const leaflog_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(manager_options(options)?.continue_recent(cwd.path("cwd")?)?))
}

/// A session of the project at the path `cwd` that is kept nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_in_memory(
    cwd: leaflog_str,
    options: *const leaflog_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(manager_options(options)?.in_memory(cwd.path("cwd")?)?))
}

/// A new session of the project at the path `cwd` with the history of the session at the path `source`.
/// NOT_FOUND and NOT_A_SESSION for a source that is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_fork_from(
    source: leaflog_str,
    cwd: leaflog_str,
    options: *const leaflog_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(manager_options(options)?.fork_from(source.path("source")?, cwd.path("cwd")?)?))
}

/// Opens the session at `path` for reading only: no lock is taken, nothing is written, an older
/// version is migrated in memory only. The file may grow meanwhile or be replaced; the session stays
/// what it was. NOT_A_SESSION when no line of it is a session header.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_open_read_only(
    path: leaflog_str,
    options: *const leaflog_view_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(view_options(options)?.open(path.path("path")?)?))
}

/// A session from its bytes, for reading only. The bytes are copied.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_read_bytes(
    bytes: leaflog_str,
    options: *const leaflog_view_options,
    session: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(session, error, || Ok(view_options(options)?.read_bytes(bytes.bytes("bytes")?)?))
}

/// A copy of the session as it is now, in memory and for reading only: for other threads. It costs the
/// index of the session, not its text, unless that is in memory anyway.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_snapshot(
    session: *const leaflog_session,
    snapshot: *mut *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    make(snapshot, error, || session::read(session, |view| Ok(view.clone())))
}

/// Frees a session. NULL is nothing to free. What was acknowledged is on disk already and nothing is
/// synced: `leaflog_session_close()` says whether that went well. While another thread is in a call with
/// the session, it lives until that call returns.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_free(session: *mut leaflog_session) -> leaflog_status {
    table::free(session.cast_const())
}

/// Goes on with the session at `path`; the project and the folder stay. As `leaflog_session_open()` for a
/// file that is none. After an error the handle has the session it had.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_set_file(
    session: *mut leaflog_session,
    path: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| Ok(manager.set_session_file(path.path("path")?)?))
}

/// Begins a new session of the project. `parent_session` may be absent. `path`, which may be NULL, gets
/// the new file's path, absent when the session is kept nowhere. An error is that of closing the session
/// that was before; the new one has begun all the same.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_new(
    session: *mut leaflog_session,
    parent_session: leaflog_str,
    path: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let out = Out::optional(path, "path")?;
        let path = manager.new_session(parent_session.optional_text("parent_session")?)?;
        out.put_with(|| path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
        Ok(())
    })
}

/// Goes on in a copy of the session with an id of its own; title and leaf stay, artifacts are copied.
/// Both paths may be NULL, and get absent texts when the session is kept nowhere, which is no error.
/// After an error the handle has the session it had.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_fork(
    session: *mut leaflog_session,
    old_path: *mut leaflog_string,
    new_path: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let (old, new) = (Out::optional(old_path, "old_path")?, Out::optional(new_path, "new_path")?);
        let fork = manager.fork()?;
        let text =
            |path: Option<&std::path::PathBuf>| path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(path));
        old.put_with(|| text(fork.as_ref().map(|fork| &fork.old_session_file)));
        new.put_with(|| text(fork.as_ref().map(|fork| &fork.new_session_file)));
        Ok(())
    })
}

/// Goes on in a session of its own that has only the path from the root to the entry `leaf_id`, and the
/// labels of what is on it. `path`, which may be NULL, gets the file's path, absent when the session is
/// kept nowhere. ENTRY_NOT_FOUND; after an error the handle has the session it had.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_create_branched(
    session: *mut leaflog_session,
    leaf_id: leaflog_str,
    path: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let out = Out::optional(path, "path")?;
        let path = manager.create_branched_session(leaf_id.text("leaf_id")?)?;
        out.put_with(|| path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
        Ok(())
    })
}

/// Moves the session to the project at the path `new_cwd`: its file and its artifacts go to that project's
/// folder, and the header names the project. Nothing that exists is replaced (ALREADY_EXISTS); after an
/// error everything is as before.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_move(
    session: *mut leaflog_session,
    new_cwd: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| Ok(manager.move_to(new_cwd.path("new_cwd")?)?))
}

/// The folder that `leaflog_session_move()` would move the session to.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_dir_after_move(
    session: *const leaflog_session,
    new_cwd: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let new_cwd = new_cwd.path("new_cwd")?;
        let dir = session::work(session, |manager| Ok(manager.dir_after_move(new_cwd)))?;
        out.put_with(|| leaflog_string::path(&dir));
        Ok(())
    })
}

/// Waits until everything appended would survive a power cut. Before the session starts there is nothing
/// to wait for.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_flush(
    session: *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| Ok(manager.flush()?))
}

/// Flushes and closes the file, in any case; gives the first error there was. The next append opens it
/// again; the handle stays and is to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_close(
    session: *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| Ok(manager.close()?))
}

/// Writes the session even though it has not started. After a failed write, the way to try again: it
/// puts the failure out of force and writes everything.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_ensure_on_disk(
    session: *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| Ok(manager.ensure_on_disk()?))
}

/// Another text for an entry.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_change {
    /// The entry's id.
    pub id: leaflog_str,
    /// The whole entry as JSON; its id and parent stay what they are.
    pub json: leaflog_str,
}

/// Writes the file anew, with other texts for `count` entries, which may be 0. ENTRY_NOT_FOUND, or
/// INVALID_ARGUMENT for a text that is not that entry: nothing is changed then.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_rewrite(
    session: *mut leaflog_session,
    changes: *const leaflog_change,
    count: usize,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let changes = slice(changes, count, "changes")?.unwrap_or_default();
        let changes: Vec<(&str, &str)> = changes
            .iter()
            .map(|change| Ok((change.id.text("change.id")?, change.json.text("change.json")?)))
            .collect::<Result<_, Failure>>()?;
        Ok(manager.rewrite_entries(&changes)?)
    })
}

/// Who gives a name: the agent. It never replaces a name that a person gave.
pub const LEAFLOG_TITLE_AUTO: i32 = 0;
/// Who gives a name: a person.
pub const LEAFLOG_TITLE_USER: i32 = 1;

/// Gives the session a name. Control characters become spaces, runs of spaces one. `taken`, which may be
/// NULL, says whether the name was taken: an empty one is not, and one of LEAFLOG_TITLE_AUTO not over one
/// of LEAFLOG_TITLE_USER.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_set_name(
    session: *mut leaflog_session,
    name: leaflog_str,
    source: i32,
    taken: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let out = Out::optional(taken, "taken")?;
        let source = match source {
            LEAFLOG_TITLE_AUTO => TitleSource::Auto,
            LEAFLOG_TITLE_USER => TitleSource::User,
            other => return Err(Failure::argument(format!("source: there is no {other}"))),
        };
        out.put(manager.set_session_name(name.text("name")?, source)?);
        Ok(())
    })
}

/// Takes out of what is shown of this handle's assistant messages what belongs to a live connection to a
/// provider, as it is not shown of those that were loaded: for going on in another process's place. The file
/// keeps it, and so does LEAFLOG_STORED. `changed`, which may be NULL, says whether there was any.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_sanitize_replay_metadata(
    session: *mut leaflog_session,
    changed: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work(session, error, |manager| {
        let out = Out::optional(changed, "changed")?;
        out.put(manager.sanitize_loaded_openai_responses_replay_metadata()?);
        Ok(())
    })
}

/// What a session held at a moment: its entries, its leaf, its file. The caller frees it with
/// `leaflog_state_free()`. It does not change, and any number of threads may read it at once.
pub struct leaflog_state {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_state {
    type Object = SessionState;
    const NAME: &'static str = "state";
}

/// Keeps what the session holds now.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_capture(
    session: *const leaflog_session,
    state: *mut *mut leaflog_state,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(state, "state")?;
        let state = session::work(session, |manager| Ok(manager.capture_state()))?;
        table::hand_out(out, state);
        Ok(())
    })
}

/// Goes back to a state of this session, without the failure in force. The state can be used again and is to
/// be freed. What was appended since is not in memory; when it is in the file, it is there still.
/// Iterators that were made before are stale.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_restore(
    session: *mut leaflog_session,
    state: *const leaflog_state,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let session = session::get(session)?;
        let state: Arc<SessionState> = table::get(state)?;
        session.work(|manager| {
            manager.restore_state(SessionState::clone(&state));
            Ok(())
        })
    })
}

/// The id of the session that a state is of.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_state_session_id(
    state: *const leaflog_state,
    id: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(id, "id")?;
        let state: Arc<SessionState> = table::get(state)?;
        out.put_with(|| leaflog_string::new(state.session_id()));
        Ok(())
    })
}

/// Frees a state. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_state_free(state: *mut leaflog_state) -> leaflog_status {
    table::free(state.cast_const())
}
