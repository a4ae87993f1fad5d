//! Entries, one after another or as JSON.

use crate::abi::{self, Out, OutSized, leaflog_str, leaflog_string};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, Session, leaflog_session};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{EntryRef, Error, SessionView};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The text of an entry as stored, in the form of the current version; references to blobs stay.
pub const LEAFLOG_STORED: i32 = 0;
/// The text of an entry as an agent sees it after loading: blobs in place of references, without a
/// provider's payload that belonged to another process.
pub const LEAFLOG_LOADED: i32 = 1;

/// Children in the order of the file.
pub const LEAFLOG_ORDER_FILE: i32 = 0;
/// Children with the oldest first, those without a date last.
pub const LEAFLOG_ORDER_TIME: i32 = 1;

/// The time of an entry whose timestamp is no date.
pub const LEAFLOG_NO_TIME: i64 = i64::MIN;

/// Goes over entries of a session: those that were there when it was made. Entries that are appended
/// meanwhile are not visited; when the handle of the session goes on with another session, or another
/// process replaced the file, `leaflog_entries_next()` gives LEAFLOG_STATUS_STALE.
///
/// An iterator is for one thread at a time (LEAFLOG_STATUS_BUSY). It keeps its session, whose handle
/// can be freed before, and uses it: not while another thread works on it. What it lends lives until
/// the next call with it. The caller frees it with `leaflog_entries_free()`.
pub struct leaflog_entries {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_entries {
    type Object = Mutex<Entries>;
    const NAME: &'static str = "iterator of entries";
}

pub(crate) struct Entries {
    session: Arc<Session>,
    /// The session's when the iterator was made.
    revision: u64,
    list: List,
    /// How many were visited.
    visited: usize,
    /// The texts of the entry that was visited last, each followed by a NUL.
    lent: Vec<u8>,
    json: Vec<u8>,
}

enum List {
    /// The first so many of the session.
    All(usize),
    /// Places and depths.
    Some(Vec<(usize, usize)>),
}

impl List {
    fn get(&self, at: usize) -> Option<(usize, usize)> {
        match self {
            Self::All(count) => (at < *count).then_some((at, 0)),
            Self::Some(list) => list.get(at).copied(),
        }
    }

    fn of<'v>(entries: impl IntoIterator<Item = EntryRef<'v>>) -> Self {
        Self::Some(entries.into_iter().map(|entry| (entry.position(), 0)).collect())
    }
}

/// What the index knows of an entry. The texts are lent by the iterator until the next call with it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_entry {
    /// `sizeof(leaflog_entry)`, set by the caller.
    pub struct_size: usize,
    /// The id; absent when the line has none.
    pub id: leaflog_str,
    /// The id of the parent; absent for a root, and when no entry has the id that the line names.
    pub parent_id: leaflog_str,
    /// The type.
    pub type_name: leaflog_str,
    /// The role of a message; absent for other types.
    pub role: leaflog_str,
    /// The label in force; may be absent.
    pub label: leaflog_str,
    /// Milliseconds since 1970 of the timestamp; LEAFLOG_NO_TIME when it is no date.
    pub time_ms: i64,
    /// Its place among all entries, counted from 0.
    pub position: u64,
    /// How many entries lie between it and a root, in an iterator of the tree; 0 in others.
    pub depth: u64,
    /// The line of the file, counted from 1; 0 for an entry that has none yet.
    pub line: u64,
    /// Where its text starts in the file; 0 for an entry that has no line there.
    pub offset: u64,
    /// Bytes of its text: in the file, or in memory while it is not there, or there only in part.
    pub len: u64,
    /// Not 0: a later line has the same id, and this one is not in the tree.
    pub is_superseded: i32,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers and pointers after it.
unsafe impl abi::Plain for leaflog_entry {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_entry {
        id,
        parent_id,
        type_name,
        role,
        label,
        time_ms,
        position,
        depth,
        line,
        offset,
        len,
        is_superseded
    });
}

/// Makes an iterator.
fn iterate(
    session: *const leaflog_session,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
    list: impl FnOnce(&SessionView) -> Result<List, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(entries, "entries")?;
        let session = session::get(session)?;
        let (revision, list) = session.read(|view| Ok((view.revision(), list(view)?)))?;
        table::hand_out(
            out,
            Mutex::new(Entries { session, revision, list, visited: 0, lent: Vec::new(), json: Vec::new() }),
        );
        Ok(())
    })
}

fn entry<'v>(view: &'v SessionView, id: &str) -> Result<EntryRef<'v>, Failure> {
    view.entry(id).ok_or_else(|| Error::entry_not_found(id).into())
}

/// All entries, in the order of the file.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_entries(
    session: *const leaflog_session,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| Ok(List::All(view.entries().len())))
}

/// The tree: roots in the order of the file, each entry before its children, the oldest child first.
/// `depth` of each entry tells where it hangs. Every entry is visited once, whatever the file says.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_tree(
    session: *const leaflog_session,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| {
        Ok(List::Some(view.tree_entries().map(|(depth, entry)| (entry.position(), depth)).collect()))
    })
}

/// The one entry of an id: its last line. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_entry(
    session: *const leaflog_session,
    entry_id: leaflog_str,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| Ok(List::of([entry(view, entry_id.text("entry_id")?)?])))
}

/// The path from the root to an entry; with an absent id to the leaf. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_path(
    session: *const leaflog_session,
    entry_id: leaflog_str,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| {
        let leaf = || view.leaf().and_then(|leaf| leaf.id());
        match entry_id.optional_text("entry_id")?.map(Cow::Borrowed).or_else(leaf) {
            Some(id) => Ok(List::of(view.branch(&id)?)),
            None => Ok(List::of([])),
        }
    })
}

/// The children of an entry. `order` is LEAFLOG_ORDER_FILE or LEAFLOG_ORDER_TIME. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_children(
    session: *const leaflog_session,
    entry_id: leaflog_str,
    order: i32,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| {
        let parent = entry(view, entry_id.text("entry_id")?)?;
        match order {
            LEAFLOG_ORDER_FILE => Ok(List::of(parent.children())),
            LEAFLOG_ORDER_TIME => Ok(List::of(parent.children_by_time())),
            other => Err(Failure::argument(format!("order: there is no {other}"))),
        }
    })
}

/// The entries that hang on none, in the order of the file.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_roots(
    session: *const leaflog_session,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| Ok(List::of(view.roots())))
}

/// The entries without children, in the order of the file: the end of every branch.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_leaves(
    session: *const leaflog_session,
    entries: *mut *mut leaflog_entries,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    iterate(session, entries, error, |view| Ok(List::of(view.leaves())))
}

impl Entries {
    /// Reads the entry at a place of the list.
    fn read<T>(&self, at: usize, read: impl FnOnce(EntryRef<'_>, usize) -> Result<T, Failure>) -> Result<T, Failure> {
        let (position, depth) = self.list.get(at).ok_or_else(Failure::end)?;
        self.session.read(|view| {
            let entry = view.entry_at(position).filter(|_| view.revision() == self.revision);
            let stale = || Failure::new(leaflog_status::Stale, "the session has other entries than this iterator");
            read(entry.ok_or_else(stale)?, depth)
        })
    }

    fn next(&mut self) -> Result<leaflog_entry, Failure> {
        let mut lent = std::mem::take(&mut self.lent);
        lent.clear();
        let read = self.read(self.visited, |entry, depth| {
            let mut lend = |text: Option<Cow<'_, str>>| {
                text.map(|text| {
                    let start = lent.len();
                    lent.extend_from_slice(text.as_bytes());
                    lent.push(0);
                    start..lent.len() - 1
                })
            };
            let parent = entry.parent();
            let texts = [
                lend(entry.id()),
                lend(parent.and_then(|parent| parent.id())),
                lend(Some(type_name(entry)?)),
                lend(role(entry)?),
                lend(entry.label()),
            ];
            let entry = leaflog_entry {
                struct_size: 0,
                id: leaflog_str::ABSENT,
                parent_id: leaflog_str::ABSENT,
                type_name: leaflog_str::ABSENT,
                role: leaflog_str::ABSENT,
                label: leaflog_str::ABSENT,
                time_ms: entry.time_ms().unwrap_or(LEAFLOG_NO_TIME),
                position: entry.position() as u64,
                depth: depth as u64,
                line: entry.line(),
                offset: entry.offset(),
                len: entry.len(),
                is_superseded: i32::from(entry.is_superseded()),
            };
            Ok((entry, texts))
        });
        self.lent = lent;
        let (mut entry, [id, parent_id, type_name, role, label]) = read?;
        // Now that they do not move any more.
        let text =
            |span: Option<Range<usize>>| span.map_or(leaflog_str::ABSENT, |span| leaflog_str::of(&self.lent[span]));
        entry.id = text(id);
        entry.parent_id = text(parent_id);
        entry.type_name = text(type_name);
        entry.role = text(role);
        entry.label = text(label);
        self.visited += 1;
        Ok(entry)
    }
}

/// The type as stored; a name that the index does not know is read.
fn type_name<'v>(entry: EntryRef<'v>) -> Result<Cow<'v, str>, Failure> {
    match entry.kind().name() {
        Some(name) => Ok(Cow::Borrowed(name)),
        None => Ok(Cow::Owned(entry.text()?.type_name().into_owned())),
    }
}

/// The role as stored.
fn role<'v>(entry: EntryRef<'v>) -> Result<Option<Cow<'v, str>>, Failure> {
    let Some(role) = entry.role() else { return Ok(None) };
    match role.name() {
        Some(name) => Ok(Some(Cow::Borrowed(name))),
        None => {
            let text = entry.text()?;
            let role = text.json().get("message").and_then(|message| message.get_str("role"));
            Ok(role.map(|role| Cow::Owned(role.into_owned())))
        }
    }
}

/// Goes to the next entry and fills in what is known of it; LEAFLOG_STATUS_END after the last, without an
/// error. After another failure the iterator stays where it was.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_entries_next(
    entries: *mut leaflog_entries,
    entry: *mut leaflog_entry,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = OutSized::new(entry, "entry")?;
        let entries = table::get(entries.cast_const())?;
        let next = session::lock(&entries, "iterator")?.next()?;
        out.put(&next);
        Ok(())
    })
}

/// The JSON text of the entry that was visited last, lent by the iterator: the bytes as they are in the
/// file, which are UTF-8 unless it is damaged. `form` is LEAFLOG_STORED or LEAFLOG_LOADED. INVALID_ARGUMENT
/// before the first entry.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_entries_json(
    entries: *mut leaflog_entries,
    form: i32,
    json: *mut leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(json, "json")?;
        let entries = table::get(entries.cast_const())?;
        let mut entries = session::lock(&entries, "iterator")?;
        let Some(at) = entries.visited.checked_sub(1) else {
            return Err(Failure::argument("the iterator is before its first entry"));
        };
        let mut text = entries.read(at, |entry, _| text(entry, form))?;
        text.push(0);
        entries.json = text;
        out.put(leaflog_str::of(&entries.json[..entries.json.len() - 1]));
        Ok(())
    })
}

/// How many entries the iterator visits in all.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_entries_count(
    entries: *const leaflog_entries,
    count: *mut u64,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(count, "count")?;
        let entries = table::get(entries)?;
        out.put(match &session::lock(&entries, "iterator")?.list {
            List::All(count) => *count as u64,
            List::Some(list) => list.len() as u64,
        });
        Ok(())
    })
}

/// Frees an iterator. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_entries_free(entries: *mut leaflog_entries) -> leaflog_status {
    table::free(entries.cast_const())
}

fn text(entry: EntryRef<'_>, form: i32) -> Result<Vec<u8>, Failure> {
    match form {
        LEAFLOG_STORED => Ok(entry.text()?.into_bytes()),
        LEAFLOG_LOADED => Ok(entry.loaded_text()?.into_bytes()),
        other => Err(Failure::argument(format!("form: there is no {other}"))),
    }
}

/// The whole text of one entry as JSON; U+FFFD stands for bytes that are not UTF-8. `form` is
/// LEAFLOG_STORED or LEAFLOG_LOADED. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_entry_json(
    session: *const leaflog_session,
    entry_id: leaflog_str,
    form: i32,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    json(session, out, error, |view, json| push(json, entry(view, entry_id.text("entry_id")?)?, form))
}

/// All entries as a JSON array, in the order of the file: for sessions that fit in memory well. As
/// `leaflog_session_entry_json()`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_entries_json(
    session: *const leaflog_session,
    form: i32,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    json(session, out, error, |view, json| array(json, view.entries(), |json, entry| push(json, entry, form)))
}

/// The tree as a JSON array of objects `{"depth", "label"?, "entry"}`, in the order of
/// `leaflog_session_tree()`. It is not nested: a session is as deep as it is long, and most parsers of
/// JSON are not. As `leaflog_session_entry_json()`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_tree_json(
    session: *const leaflog_session,
    form: i32,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    json(session, out, error, |view, json| {
        array(json, view.tree_entries(), |json, (depth, entry)| {
            json.push_str(&format!("{{\"depth\":{depth}"));
            if let Some(label) = entry.label() {
                json.push_str(",\"label\":");
                json.push_str(&serde_json::Value::from(&*label).to_string());
            }
            json.push_str(",\"entry\":");
            push(json, entry, form)?;
            json.push('}');
            Ok(())
        })
    })
}

fn json(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    write: impl FnOnce(&SessionView, &mut String) -> Result<(), Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let mut json = String::new();
        session::read(session, |view| write(view, &mut json))?;
        out.put(leaflog_string::new(json));
        Ok(())
    })
}

fn array<T>(
    json: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    json.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            json.push(',');
        }
        write(json, item)?;
    }
    json.push(']');
    Ok(())
}

fn push(json: &mut String, entry: EntryRef<'_>, form: i32) -> Result<(), Failure> {
    json.push_str(&String::from_utf8_lossy(&text(entry, form)?));
    Ok(())
}
