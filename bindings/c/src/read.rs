//! What can be read of a session at once. Entries are in `entries`, the context in `context`.

use crate::abi::{self, Out, OutSized, leaflog_str, leaflog_string};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, leaflog_session};
use crate::status::leaflog_status;
use crate::table;
use leaflog_core::{SessionManager, SessionView};
use std::borrow::Cow;

/// Reads a text of a session.
fn text(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    read: impl FnOnce(&SessionView) -> Result<leaflog_string, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        out.put(session::read(session, read)?);
        Ok(())
    })
}

/// Reads a text of a session that is worked on.
fn work_text(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    read: impl FnOnce(&mut SessionManager) -> Result<leaflog_string, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        out.put(session::work(session, read)?);
        Ok(())
    })
}

/// The id of the session.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_id(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::new(view.header().id.as_str())))
}

/// The path of the session's file, which need not exist yet; absent when it is kept nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_file(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let session = session::get(session)?;
        let text = |path: Option<&std::path::Path>| path.map_or(leaflog_string::ABSENT, leaflog_string::path);
        out.put(if session.is_read_only() {
            session.read(|view| Ok(text(view.path())))?
        } else {
            session.work(|manager| Ok(text(manager.session_file())))?
        });
        Ok(())
    })
}

/// The project's folder; for a session that is only read the header's, absent when that has none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_cwd(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let session = session::get(session)?;
        out.put(if session.is_read_only() {
            session.read(|view| Ok(leaflog_string::optional(view.header().cwd.as_deref())))?
        } else {
            session.work(|manager| Ok(leaflog_string::path(manager.cwd())))?
        });
        Ok(())
    })
}

/// The folder of the session's file. READ_ONLY for a session that is only read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_dir(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work_text(session, out, error, |manager| Ok(leaflog_string::path(manager.session_dir())))
}

/// The title; absent when it has none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_title(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::optional(view.title())))
}

/// Who gave the title, `auto` or `user`; may be absent.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_title_source(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::optional(view.title_source())))
}

/// The header as JSON, as stored.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_header_json(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::new(view.header().json().bytes())))
}

/// The whole file as one JSON array: the header, then further headers and the entries in the order of the file,
/// neither migrated nor with blobs in place of references.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_raw_json(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::new(view.raw_entries()?)))
}

/// The id of the leaf, which the next append becomes a child of; absent when that is a root.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_leaf_id(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| {
        let id = view.leaf().and_then(|leaf| leaf.id());
        Ok(leaflog_string::optional(id.map(Cow::into_owned)))
    })
}

/// The label of an entry; absent when it has none, or when there is no such entry.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_label(
    session: *const leaflog_session,
    entry_id: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| {
        Ok(leaflog_string::optional(view.label(entry_id.text("entry_id")?).map(Cow::into_owned)))
    })
}

/// All labels in force, as a JSON array of objects `{"id", "label"}`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_labels_json(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(session, out, error, |view| Ok(leaflog_string::new(view.labels_to_json())))
}

/// The role of the last model change on the leaf's path, `default` when it names none; absent when there
/// is no model change. READ_ONLY for a session that is only read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_last_model_change_role(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    work_text(session, out, error, |manager| Ok(leaflog_string::optional(manager.last_model_change_role()?)))
}

/// What was noticed while reading the session, as JSON: an object of arrays, with lines counted from 1.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_report_json(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    report(session, out, error, |report| {
        serde_json::to_string(report).map_err(|error| Failure::new(leaflog_status::Other, error.to_string()))
    })
}

/// What was noticed while reading the session, for people: one line for each thing, an empty text when
/// there is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_report_text(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    report(session, out, error, |report| Ok(report.to_string()))
}

fn report(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    write: impl FnOnce(&leaflog_core::LoadReport) -> Result<String, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let session = session::get(session)?;
        let report = if session.is_read_only() {
            session.read(|view| Ok(view.report()?))?
        } else {
            session.work(|manager| Ok(manager.load_report()?))?
        };
        out.put(leaflog_string::new(write(&report)?));
        Ok(())
    })
}

/// How many entries there are, those that are not in the tree included.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_entry_count(
    session: *const leaflog_session,
    count: *mut u64,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(count, "count")?;
        out.put(session::read(session, |view| Ok(view.entries().len() as u64))?);
        Ok(())
    })
}

/// The bytes of the session's file, as far as this handle knows it.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_size(
    session: *const leaflog_session,
    bytes: *mut u64,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(bytes, "bytes")?;
        out.put(session::read(session, |view| Ok(view.len()))?);
        Ok(())
    })
}

/// Whether the file is of an older version, and was migrated in memory only.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_is_migrated(
    session: *const leaflog_session,
    is_migrated: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(is_migrated, "is_migrated")?;
        out.put(session::read(session, |view| Ok(view.is_migrated()))?);
        Ok(())
    })
}

/// Whether the session was opened for reading only.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_is_read_only(
    session: *const leaflog_session,
    is_read_only: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(is_read_only, "is_read_only")?;
        out.put(session::get(session)?.is_read_only());
        Ok(())
    })
}

/// Whether the session is kept somewhere. READ_ONLY for a session that is only read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_is_persisted(
    session: *const leaflog_session,
    is_persisted: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(is_persisted, "is_persisted")?;
        out.put(session::work(session, |manager| Ok(manager.is_persisted()))?);
        Ok(())
    })
}

/// Whether the session has started: every append is written at once from then on. READ_ONLY for a session that is only
/// read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_is_started(
    session: *const leaflog_session,
    is_started: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(is_started, "is_started")?;
        out.put(session::work(session, |manager| Ok(manager.is_started()))?);
        Ok(())
    })
}

/// How far the session is on disk. Each of the places may be NULL. `unsaved` gets how many entries are in
/// memory and not on disk; `last_saved_id` the id of the last entry of this handle that is, absent when
/// there is none; `failure` the failure that stays in force until `leaflog_session_ensure_on_disk()`,
/// which the caller frees, or NULL. READ_ONLY for a session that is only read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_persist_status(
    session: *const leaflog_session,
    unsaved: *mut u64,
    last_saved_id: *mut leaflog_string,
    failure: *mut *mut leaflog_error,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let unsaved = Out::optional(unsaved, "unsaved")?;
        let last_saved = Out::optional(last_saved_id, "last_saved_id")?;
        let failure = Out::optional(failure, "failure")?;
        let status = session::work(session, |manager| Ok(manager.persist_status()))?;
        unsaved.put(status.unsaved as u64);
        last_saved.put_with(|| leaflog_string::optional(status.last_saved));
        failure.put_with(|| status.error.map_or(std::ptr::null_mut(), |error| table::add(error.into())));
        Ok(())
    })
}

/// Sums over the messages of all branches.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_usage {
    /// `sizeof(leaflog_usage)`, set by the caller.
    pub struct_size: usize,
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
    /// Requests billed as premium.
    pub premium_requests: f64,
    /// Cost in the provider's currency, US dollars as a rule.
    pub cost: f64,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers after it.
unsafe impl abi::Plain for leaflog_usage {
    const FIELDS: &'static [usize] =
        abi::fields!(leaflog_usage { input, output, cache_read, cache_write, premium_requests, cost });
}

/// What the messages say they cost.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_usage(
    session: *const leaflog_session,
    usage: *mut leaflog_usage,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = OutSized::new(usage, "usage")?;
        let usage = session::read(session, |view| Ok(view.usage()))?;
        out.put(&leaflog_usage {
            struct_size: 0,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            premium_requests: usage.premium_requests,
            cost: usage.cost,
        });
        Ok(())
    })
}
