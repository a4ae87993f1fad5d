//! The prompt history.

use crate::abi::{self, Out, OutSized, leaflog_str, leaflog_string, slice};
use crate::error::{Failure, guard, leaflog_error};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{HistoryEntry, HistoryStorage};
use std::sync::Arc;

/// The prompt history: a SQLite database that any number of processes may have open. Any number of threads may use one
/// at once. A thread of its own writes; a forked child must not use its parent's. The caller frees it with
/// `leaflog_history_free()`.
///
/// A process must not open the database with two copies of SQLite: when one closes the file, the system takes away the
/// locks of the other, and the database may be damaged.
pub struct leaflog_history {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_history {
    type Object = HistoryStorage;
    const NAME: &'static str = "history";
}

/// Prompts that were read. They do not change, and any number of threads may read them at once. The caller frees them
/// with `leaflog_prompts_free()`.
pub struct leaflog_prompts {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_prompts {
    type Object = Prompts;
    const NAME: &'static str = "list of prompts";
}

pub(crate) struct Prompts {
    entries: Vec<HistoryEntry>,
    /// Prompt and folder of each, with a NUL after each.
    texts: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl From<Vec<HistoryEntry>> for Prompts {
    fn from(entries: Vec<HistoryEntry>) -> Self {
        let text = |text: &str| [text.as_bytes(), b"\0"].concat();
        let texts = entries.iter().map(|entry| (text(&entry.prompt), entry.cwd.as_deref().map(text))).collect();
        Self { entries, texts }
    }
}

/// A prompt of the history. The texts are lent by the list until it is freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_prompt {
    /// `sizeof(leaflog_prompt)`, set by the caller.
    pub struct_size: usize,
    /// Counts up; never given twice.
    pub id: i64,
    /// When it was stored, in seconds since 1970.
    pub created_at: i64,
    /// What was written.
    pub prompt: leaflog_str,
    /// The folder it was written in; may be absent.
    pub cwd: leaflog_str,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers and pointers after it.
unsafe impl abi::Plain for leaflog_prompt {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_prompt { id, created_at, prompt, cwd });
}

fn open(
    history: *mut *mut leaflog_history,
    error: *mut *mut leaflog_error,
    open: impl FnOnce() -> Result<HistoryStorage, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(history, "history")?;
        table::hand_out(out, open()?);
        Ok(())
    })
}

/// Opens the history at `path`, made with its folder when it is missing; the agent's own is
/// LEAFLOG_FOLDER_HISTORY_DB of `leaflog_folder()`. What may not be written is opened for reading. LOCKED when another
/// program holds the lock for 5 seconds; INVALID_ARGUMENT for a file that was never a database, which stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_open(
    path: leaflog_str,
    history: *mut *mut leaflog_history,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    open(history, error, || Ok(HistoryStorage::open(path.path("path")?)?))
}

/// Opens a history that is there, and changes nothing in it. NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_open_read_only(
    path: leaflog_str,
    history: *mut *mut leaflog_history,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    open(history, error, || Ok(HistoryStorage::open_read_only(path.path("path")?)?))
}

/// Uses a history.
fn with(
    history: *const leaflog_history,
    error: *mut *mut leaflog_error,
    use_it: impl FnOnce(&HistoryStorage) -> Result<(), Failure>,
) -> leaflog_status {
    guard(error, || {
        let history: Arc<HistoryStorage> = table::get(history)?;
        use_it(&history)
    })
}

/// Reads prompts.
fn read(
    history: *const leaflog_history,
    prompts: *mut *mut leaflog_prompts,
    error: *mut *mut leaflog_error,
    read: impl FnOnce(&HistoryStorage) -> Result<Vec<HistoryEntry>, Failure>,
) -> leaflog_status {
    with(history, error, |history| {
        let out = Out::new(prompts, "prompts")?;
        table::hand_out(out, read(history)?.into());
        Ok(())
    })
}

/// The path of the database.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_path(
    history: *const leaflog_history,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| {
        let out = Out::new(out, "out")?;
        out.put_with(|| leaflog_string::path(history.path()));
        Ok(())
    })
}

/// Where a damaged database was copied to before it was begun anew, if this history did that; absent otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_set_aside(
    history: *const leaflog_history,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| {
        let out = Out::new(out, "out")?;
        out.put_with(|| history.set_aside().map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
        Ok(())
    })
}

/// Adds a prompt written in the folder `cwd`, which may be absent. It is stored by a thread, within some 100 ms: this
/// never waits, and `leaflog_history_flush()` says whether it went well. An empty prompt, and one equal to the
/// previous, is not stored. CLOSED; PERMISSION_DENIED when the history is read-only.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_add(
    history: *const leaflog_history,
    prompt: leaflog_str,
    cwd: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| Ok(history.add(prompt.text("prompt")?, cwd.optional_text("cwd")?)?))
}

/// The same for UTF-16, lengths in units: U+FFFD takes the place of a lone surrogate. NULL and 0 is an absent `cwd`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_add_utf16(
    history: *const leaflog_history,
    prompt: *const u16,
    prompt_len: usize,
    cwd: *const u16,
    cwd_len: usize,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| {
        let prompt = slice(prompt, prompt_len, "prompt")?.unwrap_or_default();
        Ok(history.add_utf16(prompt, slice(cwd, cwd_len, "cwd")?)?)
    })
}

/// Stores at once what was added before, and waits for that. LOCKED when another program holds the lock for 5 seconds:
/// the prompts are kept, and tried again. What any other error is about is given up, and may be added again.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_flush(
    history: *const leaflog_history,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| Ok(history.flush()?))
}

/// Stores what was added, ends the thread and lets go of the files. Everything but flush and close is CLOSED from then
/// on; the handle is to be freed. Close before the process ends: what was added last may be lost otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_close(
    history: *const leaflog_history,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    with(history, error, |history| Ok(history.close()?))
}

/// The last `limit` prompts that are stored, at most 1,000, the newest first.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_recent(
    history: *const leaflog_history,
    limit: u64,
    prompts: *mut *mut leaflog_prompts,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    read(history, prompts, error, |history| Ok(history.recent(usize::try_from(limit).unwrap_or(usize::MAX))?))
}

/// The last `limit` stored prompts, at most 1,000, that have for every word of the query a word that begins with it;
/// the newest first. A part of a word counts as one, as in camelCase, and so does any piece of Chinese and the like;
/// when no word begins so, those are found that have it inside. Nothing in a query is an operator; one without words
/// finds nothing.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_search(
    history: *const leaflog_history,
    query: leaflog_str,
    limit: u64,
    prompts: *mut *mut leaflog_prompts,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    read(history, prompts, error, |history| {
        Ok(history.search(query.text("query")?, usize::try_from(limit).unwrap_or(usize::MAX))?)
    })
}

/// Closes and frees a history. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_history_free(history: *mut leaflog_history) -> leaflog_status {
    table::free(history.cast_const())
}

/// How many prompts there are; 0 for a handle that is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_prompts_count(prompts: *const leaflog_prompts) -> u64 {
    let found: Result<Arc<Prompts>, Failure> = table::get(prompts);
    found.map_or(0, |prompts| prompts.entries.len() as u64)
}

/// One of the prompts, counted from 0. LEAFLOG_STATUS_END, without an error, when there is none of that number.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_prompts_get(
    prompts: *const leaflog_prompts,
    at: u64,
    prompt: *mut leaflog_prompt,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = OutSized::new(prompt, "prompt")?;
        let prompts: Arc<Prompts> = table::get(prompts)?;
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let (entry, (prompt, cwd)) = prompts.entries.get(at).zip(prompts.texts.get(at)).ok_or_else(Failure::end)?;
        let text = |text: &Vec<u8>| leaflog_str::of(&text[..text.len() - 1]);
        out.put(&leaflog_prompt {
            struct_size: 0,
            id: entry.id,
            created_at: entry.created_at,
            prompt: text(prompt),
            cwd: cwd.as_ref().map_or(leaflog_str::ABSENT, text),
        });
        Ok(())
    })
}

/// The prompts as a JSON array of objects `{"id", "prompt", "created_at", "cwd"?}`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_prompts_json(
    prompts: *const leaflog_prompts,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let prompts: Arc<Prompts> = table::get(prompts)?;
        let json = serde_json::to_string(&prompts.entries);
        out.put(leaflog_string::new(json.map_err(|error| Failure::new(leaflog_status::Other, error.to_string()))?));
        Ok(())
    })
}

/// Frees a list of prompts. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_prompts_free(prompts: *mut leaflog_prompts) -> leaflog_status {
    table::free(prompts.cast_const())
}
