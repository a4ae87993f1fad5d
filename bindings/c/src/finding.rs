//! Finding sessions: listings, the latest, the one that somebody means.

use crate::abi::{self, Out, OutSized, leaflog_str, leaflog_string, path_bytes, path_list, read_optional, slice};
use crate::entries::LEAFLOG_NO_TIME;
use crate::error::{Failure, guard, leaflog_error};
use crate::options::{leaflog_options, manager_options};
use crate::status::leaflog_status;
use crate::storage::{from_ms, to_ms};
use crate::table::{self, Opaque};
use leaflog_core::{Candidates, Error, Listing, RecentSession, Resumable, Scope, SessionFinder, SessionInfo};
use std::ffi::c_void;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A session that was asked for was found in the project, or the folder, that was given.
pub const LEAFLOG_SCOPE_LOCAL: i32 = 0;
/// A session that was asked for was found elsewhere among the agent's sessions.
pub const LEAFLOG_SCOPE_GLOBAL: i32 = 1;

/// Is told how many files of how many are done, and stops the listing by giving anything but 0. It is called on the
/// thread that asked for the listing.
pub type leaflog_progress = Option<unsafe extern "C" fn(data: *mut c_void, done: u64, all: u64) -> i32>;

/// How sessions are looked for, beside `leaflog_options`, which say where. Set all to 0 and `struct_size` to
/// `sizeof(leaflog_find_options)`: 0 is the default of every field. A NULL pointer in place of the struct is all
/// defaults.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_find_options {
    /// `sizeof(leaflog_find_options)`.
    pub struct_size: usize,
    /// Paths: the folders that hold the session folders of projects; NULL: the one of the agent.
    pub roots: *const leaflog_str,
    /// How many roots there are.
    pub root_count: usize,
    /// How many threads may read at once; 0: as many as the machine has, at most four. The functions of a storage of
    /// the caller's own are called from several threads, unless this is 1.
    pub threads: u32,
    /// Is told how far a listing is; NULL: nobody is.
    pub progress: leaflog_progress,
    /// Handed to `progress`.
    pub progress_data: *mut c_void,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers, pointers and an optional function after it.
unsafe impl abi::Plain for leaflog_find_options {
    const FIELDS: &'static [usize] =
        abi::fields!(leaflog_find_options { roots, root_count, threads, progress, progress_data });
}

/// What was found: sessions, and what could not be read. It does not change, and any number of threads may read it at
/// once. The caller frees it with `leaflog_listing_free()`.
pub struct leaflog_listing {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_listing {
    type Object = Found;
    const NAME: &'static str = "listing";
}

#[derive(Default)]
pub(crate) struct Found {
    sessions: Vec<Session>,
    problems: Vec<Error>,
    cancelled: bool,
}

/// A session that was found, with its texts as C reads them.
struct Session {
    info: Option<SessionInfo>,
    /// `path`, `id`, `cwd`, `title`, `parent_session`, `first_message`, `name`, `full_name`, `time_ago`: each with a
    /// NUL after it, `None` when absent.
    texts: [Option<Vec<u8>>; 9],
    modified: SystemTime,
    used: SystemTime,
    project_gone: bool,
    scope: Scope,
}

fn text(text: impl Into<Vec<u8>>) -> Option<Vec<u8>> {
    let mut text = text.into();
    text.push(0);
    Some(text)
}

impl Session {
    fn new(info: SessionInfo, scope: Scope) -> Self {
        let texts = [
            text(path_bytes(&info.path)),
            text(info.id.as_str()),
            text(info.cwd.as_str()),
            info.title.as_deref().and_then(text),
            info.parent_session.as_deref().and_then(text),
            text(info.first_message.as_str()),
            None,
            None,
            text(info.time_ago(SystemTime::now())),
        ];
        Self {
            texts,
            modified: info.modified,
            used: info.used,
            project_gone: info.project_gone,
            info: Some(info),
            scope,
        }
    }

    fn recent(recent: &RecentSession) -> Self {
        let texts = [
            text(path_bytes(&recent.path)),
            None,
            None,
            None,
            None,
            None,
            text(recent.name()),
            text(recent.full_name.as_str()),
            text(recent.time_ago(SystemTime::now())),
        ];
        Self {
            info: None,
            texts,
            modified: recent.modified,
            used: recent.used,
            project_gone: recent.project_gone,
            scope: Scope::Local,
        }
    }
}

impl From<Listing> for Found {
    fn from(listing: Listing) -> Self {
        let problems = listing.not_listed();
        let sessions = listing.sessions.into_iter().map(|info| Session::new(info, Scope::Local)).collect();
        Self { sessions, problems, cancelled: listing.cancelled }
    }
}

impl From<Vec<RecentSession>> for Found {
    fn from(recent: Vec<RecentSession>) -> Self {
        Self { sessions: recent.iter().map(Session::recent).collect(), ..Self::default() }
    }
}

impl From<Candidates> for Found {
    fn from(Candidates { sessions, mut problems, not_searched }: Candidates) -> Self {
        problems.extend(not_searched);
        Self { problems, ..sessions.into() }
    }
}

impl From<Vec<Resumable>> for Found {
    fn from(resumable: Vec<Resumable>) -> Self {
        let sessions = resumable.into_iter().map(|found| Session::new(found.session, found.scope)).collect();
        Self { sessions, ..Self::default() }
    }
}

/// What is known of a session that was found. The texts are lent by the listing until it is freed. Of a session of
/// `leaflog_recent()` and `leaflog_recent_of()`, which read the beginnings of files only, the path, the names and the
/// time of the last change are known; the names are known of those only.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_session_info {
    /// `sizeof(leaflog_session_info)`, set by the caller.
    pub struct_size: usize,
    /// The path of its file.
    pub path: leaflog_str,
    /// Its id.
    pub id: leaflog_str,
    /// The folder of its project; empty when the header has none.
    pub cwd: leaflog_str,
    /// Its title, else the short summary of its last compaction, each when it is not blank; may be absent.
    pub title: leaflog_str,
    /// What it was derived from, an id or a path, not to be resolved; may be absent.
    pub parent_session: leaflog_str,
    /// The first text of a user that is not blank, else the task of the session, else the first text of a custom
    /// message; at most 64 KiB of it. Empty when there is none.
    pub first_message: leaflog_str,
    /// What to call it: one line, cut to 40 UTF-16 units.
    pub name: leaflog_str,
    /// The same, not cut.
    pub full_name: leaflog_str,
    /// How long before the listing it was used last, in words: `5m ago`.
    pub time_ago: leaflog_str,
    /// When it began, in milliseconds since 1970; LEAFLOG_NO_TIME when the header does not say.
    pub created_ms: i64,
    /// When the file last changed, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The bytes of the file; of another storage, its units.
    pub size: u64,
    /// Its messages, of every branch.
    pub message_count: u64,
    /// LEAFLOG_SCOPE_LOCAL or, from `leaflog_resolve()` and `leaflog_candidates()`, LEAFLOG_SCOPE_GLOBAL.
    pub scope: i32,
    /// 1 when the session is another project's, whose directory does not exist any longer; it is listed since the two
    /// projects share a session directory. Only what is found for a project says so. Else 0.
    pub project_gone: i32,
    /// When the session was used last, in milliseconds since 1970, by which it is older or newer than others: when its
    /// last message was written or it began, whichever is later, and not after `modified_ms`. A new name, a label or a
    /// migration is not a use.
    pub used_ms: i64,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers and pointers after it.
unsafe impl abi::Plain for leaflog_session_info {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_session_info {
        path,
        id,
        cwd,
        title,
        parent_session,
        first_message,
        name,
        full_name,
        time_ago,
        created_ms,
        modified_ms,
        size,
        message_count,
        scope,
        project_gone,
        used_ms,
    });
}

#[derive(Clone, Copy)]
struct Progress {
    progress: unsafe extern "C" fn(*mut c_void, u64, u64) -> i32,
    data: *mut c_void,
}

// SAFETY: it is called on the thread that asks for the listing; `data` is only handed to it.
unsafe impl Send for Progress {}
// SAFETY: as above.
unsafe impl Sync for Progress {}

impl Progress {
    fn call(&self, done: usize, all: usize) -> ControlFlow<()> {
        // SAFETY: the contract says that the function can be called with these during the call of the library.
        let stop = unsafe { (self.progress)(self.data, done as u64, all as u64) };
        if stop == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn finder(options: *const leaflog_options, find: *const leaflog_find_options) -> Result<SessionFinder, Failure> {
    let mut finder = manager_options(options)?.finder();
    let Some(find) = read_optional(find, "find_options")? else { return Ok(finder) };
    if let Some(roots) = slice(find.roots, find.root_count, "find_options.roots")? {
        let roots: Vec<&Path> =
            roots.iter().map(|root| root.path("find_options.roots")).collect::<Result<_, Failure>>()?;
        finder = finder.roots(roots);
    }
    if let Some(threads) = NonZero::new(find.threads as usize) {
        finder = finder.threads(threads);
    }
    if let Some(progress) = find.progress {
        let progress = Progress { progress, data: find.progress_data };
        finder = finder.progress(move |done, all| progress.call(done, all));
    }
    Ok(finder)
}

/// Makes a listing.
fn listing<F: Into<Found>>(
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
    find: impl FnOnce() -> Result<F, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(listing, "listing")?;
        table::hand_out(out, find()?.into());
        Ok(())
    })
}

/// Makes a text.
fn one_text(
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    find: impl FnOnce() -> Result<leaflog_string, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        out.put(find()?);
        Ok(())
    })
}

fn path(path: Option<PathBuf>) -> leaflog_string {
    path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path))
}

fn limit(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// The sessions of the project at the path `cwd`, the newest first: those in its default folders, or in
/// `options->session_dir`. A folder that is not there holds none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_list(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    cwd: leaflog_str,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || Ok(finder(options, find_options)?.list(cwd.path("cwd")?)))
}

/// The sessions of all projects, those of sub-agents too, the newest first.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_list_all(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || Ok(finder(options, find_options)?.list_all()))
}

/// The latest sessions in the folder at the path `dir`, at most `limit`, the newest first. Only the beginnings and ends
/// of files are read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_recent(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    dir: leaflog_str,
    limit: u64,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    let most = self::limit(limit);
    self::listing(listing, error, || Ok(finder(options, find_options)?.recent(dir.path("dir")?, most)))
}

/// The latest sessions of the project at the path `cwd`, as `leaflog_recent()` tells them of a folder. Those whose header
/// names the project come first, whatever their age; then those that name no directory; then those of a project that is
/// gone.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_recent_of(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    cwd: leaflog_str,
    limit: u64,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    let most = self::limit(limit);
    self::listing(listing, error, || Ok(finder(options, find_options)?.recent_of(cwd.path("cwd")?, most)))
}

/// The path of the newest session in the folder at the path `dir`; absent when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_most_recent(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    dir: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    one_text(out, error, || Ok(path(finder(options, find_options)?.most_recent(dir.path("dir")?))))
}

/// The path of the session of the project at the path `cwd` to go on with: the first of `leaflog_recent_of()`; absent
/// when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_most_recent_of(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    cwd: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    one_text(out, error, || Ok(path(finder(options, find_options)?.most_recent_of(cwd.path("cwd")?))))
}

/// The path of the newest session of all projects; absent when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_newest(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    one_text(out, error, || Ok(path(finder(options, find_options)?.newest())))
}

/// The session that `arg` means, by the beginning of its id, of its file's name, or of what follows the last `_` of
/// that: a listing of one or none. The first of the project at the path `cwd`, in the order of `leaflog_recent_of()`, else
/// the newest of all projects; with `options->session_dir` only of that folder. An error when the session that is meant,
/// by the name of its file, cannot be read, or when none was found and a directory that may hold it cannot be read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_resolve(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    arg: leaflog_str,
    cwd: leaflog_str,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || {
        let found = finder(options, find_options)?.resolve(arg.text("arg")?, cwd.path("cwd")?)?;
        Ok(found.into_iter().collect::<Vec<_>>())
    })
}

/// All sessions that `leaflog_resolve()` could mean, in that order. When `arg` is the whole id, or the whole name of the
/// file, of just one of them, that one alone. A file that cannot be read is one of them by its name, and among the
/// problems of the listing; when nothing is meant, directories that cannot be read are.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_candidates(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    arg: leaflog_str,
    cwd: leaflog_str,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || Ok(finder(options, find_options)?.candidates(arg.text("arg")?, cwd.path("cwd")?)))
}

/// The paths of the sessions of all projects that `prefix` means, as in `leaflog_candidates()`, the newest first,
/// those that cannot be read too: one after another, a NUL after each.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_by_prefix(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    prefix: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    one_text(out, error, || Ok(path_list(&finder(options, find_options)?.by_prefix(prefix.text("prefix")?)?)))
}

/// The texts of the users and assistants of the session at `path`, of every branch, joined by spaces: what a person
/// searches in.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_all_messages_text(
    options: *const leaflog_options,
    find_options: *const leaflog_find_options,
    path: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    one_text(out, error, || {
        Ok(leaflog_string::new(finder(options, find_options)?.all_messages_text(path.path("path")?)?))
    })
}

/// Whether a session whose header names the folder `header_cwd`, which may be absent, is shown for the project at
/// the path `cwd`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_shows(
    cwd: leaflog_str,
    header_cwd: leaflog_str,
    shows: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(shows, "shows")?;
        out.put(SessionFinder::shows(cwd.path("cwd")?, header_cwd.optional_text("header_cwd")?));
        Ok(())
    })
}

/// What a listing would say of a session that is in memory: a listing of one, or of none when the bytes have no
/// header. `modified_ms` is in milliseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_info_of_bytes(
    path: leaflog_str,
    modified_ms: i64,
    bytes: leaflog_str,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || {
        let bytes = bytes.bytes("bytes")?.to_owned();
        let info = SessionInfo::of_bytes(path.path("path")?, from_ms(modified_ms), bytes);
        Ok(Listing { sessions: info.into_iter().collect(), ..Listing::default() })
    })
}

/// What `leaflog_recent()` would say of a session with these first bytes: a listing of one, or of none when they have
/// no header. `modified_ms` is in milliseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_recent_of_prefix(
    path: leaflog_str,
    modified_ms: i64,
    prefix: leaflog_str,
    listing: *mut *mut leaflog_listing,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    self::listing(listing, error, || {
        let recent = RecentSession::of_prefix(path.path("path")?, from_ms(modified_ms), prefix.bytes("prefix")?);
        Ok(recent.into_iter().collect::<Vec<_>>())
    })
}

/// How many sessions a listing has; 0 for a handle that is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_count(listing: *const leaflog_listing) -> u64 {
    read(listing, |found| found.sessions.len() as u64)
}

/// How many files and directories could not be read, are not sessions, or are symbolic links that are not followed; 0 for
/// a handle that is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_problem_count(listing: *const leaflog_listing) -> u64 {
    read(listing, |found| found.problems.len() as u64)
}

/// Whether the listing was stopped: it has what was found until then.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_is_cancelled(listing: *const leaflog_listing) -> bool {
    read(listing, |found| found.cancelled)
}

fn read<T: Default>(listing: *const leaflog_listing, read: impl FnOnce(&Found) -> T) -> T {
    let found: Result<Arc<Found>, Failure> = table::get(listing);
    found.map_or_else(|_| T::default(), |found| read(&found))
}

/// What is at a place, counted from 0.
fn at<T>(items: &[T], at: u64) -> Result<&T, Failure> {
    usize::try_from(at).ok().and_then(|at| items.get(at)).ok_or_else(Failure::end)
}

/// What is known of a session of the listing, counted from 0. LEAFLOG_STATUS_END, without an error, when there is none
/// of that number.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_session(
    listing: *const leaflog_listing,
    at: u64,
    info: *mut leaflog_session_info,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = OutSized::new(info, "info")?;
        let found: Arc<Found> = table::get(listing)?;
        let session = self::at(&found.sessions, at)?;
        let [path, id, cwd, title, parent_session, first_message, name, full_name, time_ago] = session
            .texts
            .each_ref()
            .map(|text| text.as_ref().map_or(leaflog_str::ABSENT, |text| leaflog_str::of(&text[..text.len() - 1])));
        let info = session.info.as_ref();
        out.put(&leaflog_session_info {
            struct_size: 0,
            path,
            id,
            cwd,
            title,
            parent_session,
            first_message,
            name,
            full_name,
            time_ago,
            created_ms: info.and_then(|info| info.created_ms).unwrap_or(LEAFLOG_NO_TIME),
            modified_ms: to_ms(session.modified),
            size: info.map_or(0, |info| info.size),
            message_count: info.map_or(0, |info| info.message_count),
            scope: match session.scope {
                Scope::Local => LEAFLOG_SCOPE_LOCAL,
                Scope::Global => LEAFLOG_SCOPE_GLOBAL,
            },
            project_gone: i32::from(session.project_gone),
            used_ms: to_ms(session.used),
        });
        Ok(())
    })
}

/// Whether `prefix` means a session of the listing, as in `leaflog_resolve()`. LEAFLOG_STATUS_END when there is none of
/// that number; never for those of `leaflog_recent()`, whose ids are not known.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_is_meant(
    listing: *const leaflog_listing,
    at: u64,
    prefix: leaflog_str,
    is_meant: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(is_meant, "is_meant")?;
        let found: Arc<Found> = table::get(listing)?;
        let prefix = prefix.text("prefix")?;
        out.put(self::at(&found.sessions, at)?.info.as_ref().is_some_and(|info| info.is_meant_by(prefix)));
        Ok(())
    })
}

/// One of the files and directories that are not listed, as an error that the caller frees: a link is an
/// INVALID_ARGUMENT. LEAFLOG_STATUS_END when there is none of that number.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_problem(
    listing: *const leaflog_listing,
    at: u64,
    problem: *mut *mut leaflog_error,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(problem, "problem")?;
        let found: Arc<Found> = table::get(listing)?;
        let problem = self::at(&found.problems, at)?.clone();
        table::hand_out(out, problem.into());
        Ok(())
    })
}

/// Frees a listing. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_listing_free(listing: *mut leaflog_listing) -> leaflog_status {
    table::free(listing.cast_const())
}
