//! Functions of a caller: a storage in memory, a log, a progress. They do what they should, fail, answer nonsense, or
//! call the library again with whatever is there, as the bytes say.

use super::world::{FILES, World};
use crate::abi::leaflog_str;
use crate::callbacks::{
    LEAFLOG_STORAGE_VERSION, leaflog_reply, leaflog_reply_add, leaflog_reply_fail, leaflog_storage_functions,
};
use crate::table::Opaque as _;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What functions without a storage are handed.
pub(super) fn data(world: &World) -> *mut c_void {
    std::ptr::from_ref(world).cast_mut().cast()
}

/// The storage that a table of functions stands for.
pub(super) struct Store {
    world: *const World,
    files: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// The path of each writer that was opened; absent when it was freed.
    writers: RefCell<Vec<Option<Vec<u8>>>>,
    closed: RefCell<Vec<bool>>,
    released: AtomicUsize,
}

impl Store {
    /// A table, which lives as long as the world.
    pub(super) fn functions(world: &World) -> leaflog_storage_functions {
        let store = Rc::new(Self {
            world,
            files: RefCell::default(),
            writers: RefCell::default(),
            closed: RefCell::default(),
            released: AtomicUsize::new(0),
        });
        let data = std::ptr::from_ref(&*store).cast_mut().cast();
        world.stores.borrow_mut().push(store);
        leaflog_storage_functions {
            struct_size: size_of::<leaflog_storage_functions>(),
            version: LEAFLOG_STORAGE_VERSION,
            data,
            release: Some(release),
            ensure_dir: Some(ensure_dir),
            exists: Some(exists),
            read_text: Some(read_text),
            write_text: Some(write_text),
            stat: Some(stat),
            list_files: Some(list_files),
            rename: Some(rename),
            unlink: Some(unlink),
            open_writer: Some(open_writer),
            writer_write_line: Some(writer_write_line),
            writer_flush: Some(writer_flush),
            writer_fsync: Some(writer_flush),
            writer_close: Some(writer_close),
            writer_free: Some(writer_free),
            list_dirs: Some(list_dirs),
        }
    }

    /// At the end, when nothing holds on to it.
    pub(super) fn check(&self, world: &World) {
        let open = self.writers.borrow().iter().filter(|writer| writer.is_some()).count();
        world.hold(open == 0, || format!("{open} writers of a storage were never freed"));
        world.hold(self.released.load(Ordering::SeqCst) <= 1, || "a storage was released twice".to_owned());
    }
}

/// What a function is called with.
struct Asked<'s> {
    store: &'s Store,
    world: &'s World,
}

/// Nothing when there is nothing to draw from: without a storage, and on another thread, which a listing with several
/// threads may call from.
fn asked<'s>(data: *mut c_void) -> Option<Asked<'s>> {
    // SAFETY: it is what `Store::functions` made, which lives as long as the world.
    let store = unsafe { data.cast::<Store>().as_ref() }?;
    // SAFETY: the world lives as long as everything that is made in it.
    let world = unsafe { &*store.world };
    world.hold_released(store);
    (world.thread == std::thread::current().id()).then_some(Asked { store, world })
}

impl World {
    fn hold_released(&self, store: &Store) {
        if self.thread == std::thread::current().id() {
            self.hold(store.released.load(Ordering::SeqCst) == 0, || "a storage is used after its release".to_owned());
        }
    }
}

fn bytes_of(world: &World, text: leaflog_str) -> Vec<u8> {
    match text.get("text") {
        Ok(text) => text.unwrap_or_default().to_owned(),
        Err(_) => {
            world.wrong("a function of the caller got no text".to_owned());
            Vec::new()
        }
    }
}

/// A status that no function should give.
const STATUSES: [i32; 10] = [1, 3, 8, 9, 10, 12, 100, 102, -1, i32::MAX];

/// Does it, with a reply that is alive as long as the function runs, or not.
fn answer(data: *mut c_void, reply: *mut leaflog_reply, act: impl FnOnce(&Asked) -> i32) -> i32 {
    let Some(asked) = asked(data) else { return 1 };
    let world = asked.world;
    world.add(leaflog_reply::NAME, reply.addr(), false);
    let status = match world.next(12) {
        8 => world.one(&STATUSES),
        9 => {
            leaflog_reply_fail(reply, leaflog_str::of(b"a\0b\xff"), world.one(&[0, 2, 28, -1, i32::MIN, i32::MAX]));
            world.one(&STATUSES)
        }
        10 => {
            super::inner_call(world);
            act(&asked)
        }
        11 => {
            let status = act(&asked);
            super::inner_call(world);
            status
        }
        _ => act(&asked),
    };
    world.remove(reply.addr());
    status
}

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: it is what `Store::functions` made, which lives as long as the world.
    let Some(store) = (unsafe { data.cast::<Store>().as_ref() }) else { return };
    store.released.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the world lives as long as everything that is made in it.
    let world = unsafe { &*store.world };
    if world.thread == std::thread::current().id() && world.next(4) == 3 {
        super::inner_call(world);
    }
}

unsafe extern "C" fn ensure_dir(data: *mut c_void, dir: leaflog_str, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        bytes_of(asked.world, dir);
        0
    })
}

unsafe extern "C" fn exists(data: *mut c_void, path: leaflog_str) -> i32 {
    let Some(asked) = asked(data) else { return 0 };
    let path = bytes_of(asked.world, path);
    let exists = asked.store.files.borrow().contains_key(&path);
    if asked.world.next(8) == 7 { asked.world.one(&[i32::MIN, 1, 0]) } else { i32::from(exists) }
}

unsafe extern "C" fn read_text(data: *mut c_void, path: leaflog_str, most: u64, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        let path = bytes_of(asked.world, path);
        let text = asked.store.files.borrow().get(&path).cloned();
        let text = match (text, asked.world.next(4)) {
            (Some(text), _) => text,
            (None, 3) => asked.world.one(&FILES).as_bytes().to_owned(),
            (None, _) => return 1,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(text.len());
        let text = if asked.world.next(8) == 7 { b"\xff\xfe{".to_vec() } else { text[..most].to_owned() };
        text.chunks(1000).for_each(|piece| {
            leaflog_reply_add(reply, leaflog_str::of(piece));
        });
        0
    })
}

unsafe extern "C" fn write_text(
    data: *mut c_void,
    path: leaflog_str,
    text: leaflog_str,
    reply: *mut leaflog_reply,
) -> i32 {
    answer(data, reply, |asked| {
        let (path, text) = (bytes_of(asked.world, path), bytes_of(asked.world, text));
        asked.store.files.borrow_mut().insert(path, text);
        0
    })
}

unsafe extern "C" fn stat(
    data: *mut c_void,
    path: leaflog_str,
    size: *mut u64,
    modified_ms: *mut i64,
    reply: *mut leaflog_reply,
) -> i32 {
    answer(data, reply, |asked| {
        let path = bytes_of(asked.world, path);
        let Some(len) = asked.store.files.borrow().get(&path).map(Vec::len) else { return 1 };
        let known = len as u64;
        // SAFETY: both places are there, says the header.
        unsafe {
            size.write(asked.world.one(&[known, known, known, 0, u64::MAX]));
            modified_ms.write(asked.world.one(&[7, 1_771_237_230_000, i64::MIN, i64::MAX]));
        }
        0
    })
}

unsafe extern "C" fn list_files(
    data: *mut c_void,
    dir: leaflog_str,
    pattern: leaflog_str,
    reply: *mut leaflog_reply,
) -> i32 {
    answer(data, reply, |asked| {
        let (dir, _) = (bytes_of(asked.world, dir), bytes_of(asked.world, pattern));
        for path in asked.store.files.borrow().keys().filter(|path| path.starts_with(&dir)) {
            leaflog_reply_add(reply, leaflog_str::of(path));
        }
        if asked.world.next(4) == 3 {
            for piece in [leaflog_str::of(b""), leaflog_str::of(b"a\0b"), leaflog_str::of(b"\xff"), leaflog_str::ABSENT]
            {
                leaflog_reply_add(reply, piece);
            }
        }
        0
    })
}

unsafe extern "C" fn list_dirs(data: *mut c_void, dir: leaflog_str, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        let mut dir = bytes_of(asked.world, dir);
        // No endless tree.
        if !dir.ends_with(b"-") {
            dir.extend_from_slice(b"/--work-tides--");
            leaflog_reply_add(reply, leaflog_str::of(&dir));
        }
        0
    })
}

unsafe extern "C" fn rename(data: *mut c_void, from: leaflog_str, to: leaflog_str, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        let (from, to) = (bytes_of(asked.world, from), bytes_of(asked.world, to));
        let Some(text) = asked.store.files.borrow_mut().remove(&from) else { return 1 };
        asked.store.files.borrow_mut().insert(to, text);
        0
    })
}

unsafe extern "C" fn unlink(data: *mut c_void, path: leaflog_str, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        let path = bytes_of(asked.world, path);
        i32::from(asked.store.files.borrow_mut().remove(&path).is_none())
    })
}

unsafe extern "C" fn open_writer(
    data: *mut c_void,
    path: leaflog_str,
    mode: i32,
    writer: *mut *mut c_void,
    reply: *mut leaflog_reply,
) -> i32 {
    answer(data, reply, |asked| {
        let (world, store) = (asked.world, asked.store);
        let path = bytes_of(world, path);
        world.hold(mode == 0 || mode == 1, || format!("a writer is opened with the mode {mode}"));
        // SAFETY: the place is there, says the header.
        let place = unsafe { &mut *writer };
        world.hold(place.is_null(), || "a writer was there before it was opened".to_owned());
        if world.next(8) == 7 {
            // A failure that left something there, which nobody may free.
            *place = std::ptr::without_provenance_mut(77);
            return 9;
        }
        if mode == 1 {
            store.files.borrow_mut().insert(path.clone(), Vec::new());
        }
        store.closed.borrow_mut().push(false);
        let mut writers = store.writers.borrow_mut();
        writers.push(Some(path));
        *place = std::ptr::without_provenance_mut(writers.len() * 8);
        0
    })
}

impl Asked<'_> {
    /// The number and the path of a writer, which was opened and not freed.
    fn writer(&self, writer: *mut c_void) -> Option<(usize, Vec<u8>)> {
        let number = writer.addr().checked_sub(8).filter(|at| at % 8 == 0).map(|at| at / 8);
        let found = number.and_then(|at| Some((at, self.store.writers.borrow().get(at)?.clone()?)));
        self.world.hold(found.is_some(), || format!("{writer:?} is no writer, or was freed"));
        found
    }
}

unsafe extern "C" fn writer_write_line(
    data: *mut c_void,
    writer: *mut c_void,
    line: leaflog_str,
    reply: *mut leaflog_reply,
) -> i32 {
    answer(data, reply, |asked| {
        let line = bytes_of(asked.world, line);
        let Some((at, path)) = asked.writer(writer) else { return 9 };
        asked.world.hold(!asked.store.closed.borrow()[at], || "a line is written after closing".to_owned());
        asked.store.files.borrow_mut().entry(path).or_default().extend_from_slice(&line);
        0
    })
}

unsafe extern "C" fn writer_flush(data: *mut c_void, writer: *mut c_void, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        asked.writer(writer);
        0
    })
}

unsafe extern "C" fn writer_close(data: *mut c_void, writer: *mut c_void, reply: *mut leaflog_reply) -> i32 {
    answer(data, reply, |asked| {
        if let Some((at, _)) = asked.writer(writer) {
            let was = std::mem::replace(&mut asked.store.closed.borrow_mut()[at], true);
            asked.world.hold(!was, || "a writer is closed twice".to_owned());
        }
        0
    })
}

unsafe extern "C" fn writer_free(data: *mut c_void, writer: *mut c_void) {
    let Some(asked) = asked(data) else { return };
    if let Some((at, _)) = asked.writer(writer) {
        asked.store.writers.borrow_mut()[at] = None;
    }
    if asked.world.next(4) == 3 {
        super::inner_call(asked.world);
    }
}

/// The world of functions without a storage; none where the size of the struct did not reach to it.
fn world_of<'w>(data: *mut c_void) -> Option<&'w World> {
    // SAFETY: it is what `data` made of a world that lives as long as everything that is made in it.
    let world = unsafe { data.cast::<World>().as_ref() }?;
    world.hold(world.thread == std::thread::current().id(), || "a function is called on another thread".to_owned());
    Some(world)
}

pub(super) unsafe extern "C" fn log(data: *mut c_void, message: leaflog_str) {
    let Some(world) = world_of(data) else { return };
    world.hold(!bytes_of(world, message).is_empty(), || "an empty message is logged".to_owned());
    if world.next(2) == 1 {
        super::inner_call(world);
    }
}

pub(super) unsafe extern "C" fn progress(data: *mut c_void, done: u64, all: u64) -> i32 {
    let Some(world) = world_of(data) else { return 0 };
    world.hold(done <= all, || format!("{done} of {all} are done"));
    if world.next(4) == 3 {
        super::inner_call(world);
    }
    world.one(&[0, 0, 0, 1, -1, i32::MIN])
}
