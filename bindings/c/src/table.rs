//! Everything that was handed out and not given back.
//!
//! A handle that C holds looks like a pointer and is a number that was never used before: it is
//! looked up here, never followed. So a handle that was freed, is of another type or never was
//! one is an error for certain; and what another thread is using while it is freed lives until
//! that thread is done with it.

use crate::abi::Out;
use crate::error::{Failure, guard};
use crate::status::leaflog_status;
use parking_lot::RwLock;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A type that C sees only as the target of a pointer.
pub(crate) trait Opaque {
    /// What stands behind its handles.
    type Object: Any + Send + Sync;
    /// What it is called in messages.
    const NAME: &'static str;
}

struct Table {
    handles: BTreeMap<usize, Arc<dyn Any + Send + Sync>>,
    /// By address.
    texts: BTreeMap<usize, Box<[u8]>>,
    last: usize,
}

// The lock of parking_lot, which the core uses too: unlike that of the standard library, a thread sanitizer sees
// into it.
static TABLE: RwLock<Table> =
    RwLock::new(Table { handles: BTreeMap::new(), texts: BTreeMap::new(), last: FIRST as usize });

/// On machines of 64 bits no address begins with these bits, so that an address taken for a handle
/// is not found.
#[allow(clippy::cast_possible_truncation, reason = "machines of 32 bits have no such bits")]
const FIRST: u64 = 0x1eaf << 48;

/// Handles are multiples of this, as addresses are.
const STEP: usize = 16;

/// Makes a handle.
pub(crate) fn add<O: Opaque>(object: O::Object) -> *mut O {
    add_shared(Arc::new(object))
}

/// Makes a handle of something that others hold too.
pub(crate) fn add_shared<O: Opaque>(object: Arc<O::Object>) -> *mut O {
    let mut table = TABLE.write();
    let mut token = table.last;
    loop {
        token = token.wrapping_add(STEP);
        if token != 0 && !table.handles.contains_key(&token) {
            break;
        }
    }
    table.last = token;
    table.handles.insert(token, object);
    std::ptr::without_provenance_mut(token)
}

/// What a handle stands for.
pub(crate) fn get<O: Opaque>(handle: *const O) -> Result<Arc<O::Object>, Failure> {
    let found = TABLE.read().handles.get(&handle.addr()).cloned();
    match found.map(Arc::downcast) {
        Some(Ok(object)) => Ok(object),
        Some(Err(_)) => Err(Failure::handle(&format!("this handle is of another type, not a {}", O::NAME))),
        None if handle.is_null() => Err(Failure::handle(&format!("the {} is NULL", O::NAME))),
        None => Err(Failure::handle(&format!("this is no {}, or it was freed before", O::NAME))),
    }
}

/// As [`get`], where NULL is allowed.
pub(crate) fn get_optional<O: Opaque>(handle: *const O) -> Result<Option<Arc<O::Object>>, Failure> {
    if handle.is_null() { Ok(None) } else { get(handle).map(Some) }
}

/// Gives a handle back: what the exported `_free` functions do. NULL is nothing to free.
pub(crate) fn free<O: Opaque>(handle: *const O) -> leaflog_status {
    guard(std::ptr::null_mut(), || {
        if handle.is_null() {
            return Ok(());
        }
        get(handle)?;
        // Two threads may have come so far; one of them gets it. Dropped after the table is let go:
        // that may call functions of the caller.
        let removed = take(&mut TABLE.write().handles, handle.addr());
        removed.map(drop).ok_or_else(|| Failure::handle("it was freed before"))
    })
}

/// Keeps a text for the caller, and gives its address.
pub(crate) fn add_text(text: Box<[u8]>) -> *const u8 {
    let address = text.as_ptr();
    TABLE.write().texts.insert(address.addr(), text);
    address
}

/// Says whether there was such a text.
pub(crate) fn free_text(address: *const u8) -> bool {
    let removed = take(&mut TABLE.write().texts, address.addr());
    removed.is_some()
}

/// Removes an item. A map that is empty then holds no memory, so that a leak checker has nothing to say about
/// a program that gave back everything.
fn take<T>(map: &mut BTreeMap<usize, T>, key: usize) -> Option<T> {
    let item = map.remove(&key);
    if map.is_empty() {
        *map = BTreeMap::new();
    }
    item
}

/// How many handles and texts were handed out and not given back, those of other threads too: a
/// program that gave back everything reads 0.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_live_handles() -> usize {
    let table = TABLE.read();
    table.handles.len() + table.texts.len()
}

/// Writes a new handle where C wants it.
pub(crate) fn hand_out<O: Opaque>(out: Out<*mut O>, object: O::Object) {
    out.put_with(|| add(object));
}
