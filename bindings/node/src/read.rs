//! Reading. Entries are named by their position; lists of positions go to the engine as JSON and
//! come from it as typed arrays.

use crate::error::{convert, invalid};
use crate::session::{Handle, Session};
use crate::text;
use leaflog::{ContextItem, ContextPlan, EntryReader, EntryRef, Leaf, SessionView};
use napi::bindgen_prelude::{BufferSlice, Uint32Array};
use napi::{Env, JsString};
use napi_derive::napi;
use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

/// Where a group of texts ends.
const GROUP: usize = 128 << 10;

/// Puts generation and number of entries, two doubles, into an array of 16 bytes: as long as the first
/// stays the same, positions do. To be given a new array of two takes the engine longer.
#[napi(catch_unwind)]
pub fn stamp(session: &Handle, mut stamp: BufferSlice<'_>) -> napi::Result<()> {
    let (numbers, _) = stamp.as_chunks_mut();
    let [generation, count, ..] = numbers else { return Err(invalid("the array has no room for a stamp")) };
    let view = session.read();
    #[allow(clippy::cast_precision_loss, reason = "a number of JavaScript is a double, exact to 2^53")]
    let (now, entries) = (view.revision() as f64, view.entries().len() as f64);
    (*generation, *count) = (now.to_ne_bytes(), entries.to_ne_bytes());
    Ok(())
}

/// For each position id, parent and timestamp of a usual message, or `0` for an entry that has to
/// be read whole; for all from `from` on without positions.
#[napi(catch_unwind)]
pub fn light<'env>(
    env: &'env Env,
    session: &Handle,
    positions: Option<Uint32Array>,
    from: u32,
) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let mut out = Vec::with_capacity(1 << 16);
    out.push(b'[');
    match positions {
        Some(positions) => {
            positions.iter().filter_map(|&at| view.entry_at(at as usize)).for_each(|entry| push_light(&mut out, entry));
        }
        None => (from as usize..view.entries().len())
            .filter_map(|at| view.entry_at(at))
            .for_each(|entry| push_light(&mut out, entry)),
    }
    end(&mut out, b']');
    text::give(env, &out)
}

fn push_light(out: &mut Vec<u8>, entry: EntryRef<'_>) {
    let is_light = entry.is_usual_message() && !entry.is_superseded();
    let (true, Some(id), Some(ms)) = (is_light, entry.id(), entry.time_ms()) else {
        out.extend_from_slice(b"0,");
        return;
    };
    out.push(b'"');
    out.extend_from_slice(id.as_bytes());
    match entry.parent_id() {
        Some(parent) => {
            out.extend_from_slice(b"\",\"");
            out.extend_from_slice(parent.as_bytes());
            out.extend_from_slice(b"\",\"");
        }
        None => out.extend_from_slice(b"\",null,\""),
    }
    out.extend_from_slice(leaflog::format_time(ms).as_bytes());
    out.extend_from_slice(b"\",");
}

/// Closes a list that ends with a comma, or is empty.
fn end(out: &mut Vec<u8>, close: u8) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = close,
        _ => out.push(close),
    }
}

/// The texts of the entries at `positions[start..]`, of as many as make a group: at least one. The
/// text of a message that may have lost a provider's history stands in an array of its own, and so
/// does an array: JSON cannot say that a key has no value, so the facade puts it there.
#[napi(catch_unwind)]
pub fn texts<'env>(
    env: &'env Env,
    session: &Handle,
    positions: Uint32Array,
    start: u32,
) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let mut reader = view.reader();
    prefetch(&mut reader, &positions, start);
    group(env, &positions, start, |position, out| {
        let marked = reader.may_drop_payload(position);
        let text = reader.entry(position)?;
        session.prints().record(position, &text);
        push_marked(out, marked, &text);
        Ok(())
    })
}

/// The same for the messages of entries; `null` for one that has none.
#[napi(catch_unwind)]
pub fn messages<'env>(
    env: &'env Env,
    session: &Handle,
    positions: Uint32Array,
    start: u32,
) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let mut reader = view.reader();
    prefetch(&mut reader, &positions, start);
    group(env, &positions, start, |position, out| {
        let marked = reader.may_drop_payload(position);
        let text = reader.message(position)?;
        let text = text.as_deref().unwrap_or(b"null");
        session.prints().record(position, text);
        push_marked(out, marked, text);
        Ok(())
    })
}

fn push_marked(out: &mut Vec<u8>, marked: bool, json: &[u8]) {
    if !marked && json.first() != Some(&b'[') {
        return text::push(out, json);
    }
    out.push(b'[');
    text::push(out, json);
    out.extend_from_slice(if marked { b",1]" } else { b"]" });
}

/// Reads at once what a group needs, when its entries stand one after another.
fn prefetch(reader: &mut EntryReader<'_>, positions: &[u32], start: u32) {
    if let [first, second, ..] = positions[(start as usize).min(positions.len())..]
        && second.wrapping_sub(first) == 1
    {
        reader.prefetch(first as usize, GROUP + GROUP / 8);
    }
}

fn group<'env>(
    env: &'env Env,
    positions: &[u32],
    start: u32,
    mut push: impl FnMut(usize, &mut Vec<u8>) -> leaflog::Result<()>,
) -> napi::Result<JsString<'env>> {
    let mut out = Vec::with_capacity(GROUP + GROUP / 4);
    out.push(b'[');
    for &position in positions.iter().skip(start as usize) {
        push(position as usize, &mut out).map_err(convert)?;
        out.push(b',');
        if out.len() >= GROUP {
            break;
        }
    }
    end(&mut out, b']');
    text::string(env, &out)
}

/// Compares the text of an entry with this, which an object says: 0 when they are the same. With `changed`,
/// 0 as well when the object says what it did when the engine was given it, for then it was not changed here, and
/// 2 when it says something else than then. Else 1.
#[napi(catch_unwind)]
pub fn differs(session: &Handle, position: u32, text: String, changed: bool) -> napi::Result<u32> {
    let view = session.read();
    let position = position as usize;
    let as_given = if changed { session.prints().is_as_given(&view, position, text.as_bytes()) } else { None };
    if as_given == Some(true) {
        return Ok(0);
    }
    let mut reader = view.reader();
    match reader.entry(position) {
        Ok(stored) if *stored == *text.as_bytes() => Ok(0),
        // Also when what was stored there is gone.
        _ if as_given.is_some() => Ok(2),
        stored => stored.map(|_| 1).map_err(convert),
    }
}

/// The position of an id's entry; -1 when there is none.
#[napi(catch_unwind)]
pub fn find(session: &Handle, id: String) -> f64 {
    position(session.read().entry(&id))
}

/// The position of the leaf; -1 when there is none.
#[napi(catch_unwind)]
pub fn leaf(session: &Handle) -> f64 {
    position(session.read().leaf())
}

fn position(entry: Option<EntryRef<'_>>) -> f64 {
    entry.and_then(|entry| u32::try_from(entry.position()).ok()).map_or(-1.0, f64::from)
}

/// The positions on the path from the root to an entry, by default the leaf.
#[napi(catch_unwind)]
pub fn path<'env>(env: &'env Env, session: &Handle, id: Option<String>) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let from = match &id {
        Some(id) => view.entry(id),
        None => view.leaf(),
    };
    positions(env, from.into_iter().flat_map(EntryRef::path))
}

/// The positions of an entry's children, in the order of the file.
#[napi(catch_unwind)]
pub fn children<'env>(env: &'env Env, session: &Handle, id: String) -> napi::Result<JsString<'env>> {
    let view = session.read();
    positions(env, view.entry(&id).into_iter().flat_map(EntryRef::children))
}

fn positions<'env, 'v>(env: &'env Env, entries: impl Iterator<Item = EntryRef<'v>>) -> napi::Result<JsString<'env>> {
    let mut out = vec![b'['];
    for entry in entries {
        push_number(&mut out, entry.position() as u64);
    }
    end(&mut out, b']');
    text::string(env, &out)
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    // Writing to memory does not fail.
    let _: std::io::Result<()> = write!(out, "{number},");
}

/// The tree, each node before its children, the oldest first: position and number of children.
#[napi(catch_unwind)]
pub fn tree<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let mut out = vec![b'['];
    let mut waiting = view.roots();
    waiting.reverse();
    while let Some(entry) = waiting.pop() {
        let children = entry.children_by_time();
        push_number(&mut out, entry.position() as u64);
        push_number(&mut out, children.len() as u64);
        waiting.extend(children.into_iter().rev());
    }
    end(&mut out, b']');
    text::string(env, &out)
}

/// All labels, as objects `{id, label}`.
#[napi(catch_unwind)]
pub fn labels<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    text::give(env, session.read().labels_to_json().as_bytes())
}

#[napi(catch_unwind)]
pub fn label(session: &Handle, id: String) -> Option<String> {
    session.read().label(&id).map(Cow::into_owned)
}

#[napi(catch_unwind)]
pub fn usage<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    text::give_value(env, &session.read().usage())
}

#[napi(catch_unwind)]
pub fn header<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    text::give(env, &session.read().header_text())
}

#[napi(catch_unwind)]
pub fn title(session: &Handle) -> Option<String> {
    session.read().title().map(str::to_owned)
}

#[napi(catch_unwind)]
pub fn title_source(session: &Handle) -> Option<String> {
    session.read().title_source().map(str::to_owned)
}

#[napi(catch_unwind)]
pub fn last_model_change_role(session: &Handle) -> napi::Result<Option<String>> {
    session.run(|manager| manager.last_model_change_role())
}

/// What the context of the leaf is made of.
#[napi(catch_unwind)]
pub fn context<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    let view = session.read();
    let leaf = view.leaf().and_then(EntryRef::id);
    give_plan(env, &view, leaf.as_deref().map_or(Leaf::Before, Leaf::Id))
}

/// State and items of a context: an item is its entry's position plus its kind times 2^32, so that a
/// message's is the position alone.
pub(crate) fn give_plan<'env>(env: &'env Env, view: &SessionView, leaf: Leaf<'_>) -> napi::Result<JsString<'env>> {
    let ContextPlan { state, items } = view.context_plan(leaf).map_err(convert)?;
    let mut out = Vec::with_capacity(1024 + items.len() * 8);
    out.extend_from_slice(b"{\"state\":");
    text::push(&mut out, state.to_json().as_bytes());
    out.extend_from_slice(b",\"items\":[");
    for item in items {
        let (position, kind) = match item {
            ContextItem::Message(at) => (at, 0),
            ContextItem::Custom(at) => (at, 1),
            ContextItem::BranchSummary(at) => (at, 2),
            ContextItem::Compaction(at) => (at, 3),
            ContextItem::RemoteCompaction(at) => (at, 4),
        };
        push_number(&mut out, position as u64 + (kind << 32));
    }
    end(&mut out, b']');
    out.push(b'}');
    text::string(env, &out)
}

#[napi(catch_unwind)]
pub fn report<'env>(env: &'env Env, session: &Handle) -> napi::Result<JsString<'env>> {
    let report = match &***session {
        Session::Manager { manager, .. } => manager.lock().load_report(),
        Session::View(view, _) => view.report(),
    };
    text::give_value(env, &report.map_err(convert)?)
}

/// What a manager holds now, to be read later.
#[napi(catch_unwind)]
pub fn snapshot(session: &Handle) -> Handle {
    let view = session.read();
    Handle::new(Arc::new(Session::view((*view).clone())))
}

/// What a manager held before the file was replaced, to be read; once, and only when it was.
#[napi(catch_unwind)]
pub fn take_replaced(session: &Handle) -> napi::Result<Option<Handle>> {
    let mut manager = session.opened()?;
    Ok(manager.take_replaced().map(|view| {
        let prints = session.prints().moved(&view, &manager);
        let before = session.prints().replace(prints);
        Handle::new(Arc::new(Session::View(view, before)))
    }))
}
