//! What a sequence of calls has to do with: bytes that make the choices, the handles and texts that were handed
//! out, files, and what was found to be wrong.

use super::arguments::{Given as _, Place};
use super::functions::Store;
use crate::abi::{leaflog_id, leaflog_str, leaflog_string};
use crate::append::leaflog_session_append_message;
use crate::error::leaflog_error;
use crate::status::leaflog_status;
use crate::table::Opaque;
use crate::{artifacts, blobs, callbacks, context, entries, error, finding, generator, history, life, storage};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread::ThreadId;
use std::{fs, ptr};

/// Memory of exactly this many bytes, so that a sanitizer notices who reads or writes beyond.
pub(super) struct Memory {
    start: *mut u8,
    layout: Layout,
}

impl Memory {
    pub(super) fn new(size: usize, fill: u8) -> Self {
        let layout = Layout::from_size_align(size.max(1), 8).unwrap();
        // SAFETY: the size is not 0; the bytes are those that were just made.
        unsafe {
            let start = std::alloc::alloc(layout);
            assert!(!start.is_null());
            start.write_bytes(fill, size);
            Self { start, layout }
        }
    }

    pub(super) fn of(bytes: &[u8]) -> Self {
        let memory = Self::new(bytes.len(), 0);
        // SAFETY: there is room for them.
        unsafe { memory.start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
        memory
    }

    /// The bytes of `items` one after another.
    pub(super) fn items<T: Copy>(items: &[T]) -> Self {
        let memory = Self::new(size_of_val(items), 0);
        // SAFETY: there is room for them, and it is aligned for every type of the interface.
        unsafe { memory.start.cast::<T>().copy_from_nonoverlapping(items.as_ptr(), items.len()) }
        memory
    }

    pub(super) fn start<T>(&self) -> *mut T {
        self.start.cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was made with this layout.
        unsafe { std::alloc::dealloc(self.start, self.layout) }
    }
}

/// A text that a handle lends.
#[derive(Clone, Copy)]
struct Lent {
    data: *const u8,
    len: usize,
    hash: u64,
}

struct Live {
    kind: &'static str,
    token: usize,
    read_only: bool,
    lent: Vec<Lent>,
}

pub(super) struct World {
    bytes: RefCell<Vec<u8>>,
    at: Cell<usize>,
    pub(super) thread: ThreadId,
    /// How many calls are running, one inside of a function that the other called.
    pub(super) depth: Cell<usize>,
    /// How many calls may still be made from the caller's functions.
    pub(super) inner_calls: Cell<usize>,
    live: RefCell<Vec<Live>>,
    freed: RefCell<Vec<usize>>,
    texts: RefCell<Vec<leaflog_string>>,
    freed_texts: RefCell<Vec<leaflog_string>>,
    /// Ids of entries, and references to blobs.
    pub(super) ids: RefCell<Vec<String>>,
    pub(super) stores: RefCell<Vec<Rc<Store>>>,
    wrong: RefCell<Vec<String>>,
    pub(super) home: PathBuf,
    pub(super) show: bool,
}

/// Session files as they come: good, old, damaged.
pub(super) const FILES: [&str; 11] = [
    include_str!("../../../../tests/fixtures/branches.jsonl"),
    include_str!("../../../../tests/fixtures/v1-linear.jsonl"),
    include_str!("../../../../tests/fixtures/compaction-kept.jsonl"),
    include_str!("../../../../tests/fixtures/blobs-image.jsonl"),
    include_str!("../../../../tests/fixtures/cycle.jsonl"),
    include_str!("../../../../tests/fixtures/title-slot.jsonl"),
    include_str!("../../../../tests/fixtures/torn-tail.jsonl"),
    include_str!("../../../../tests/fixtures/wrong-types.jsonl"),
    include_str!("../../../../tests/fixtures/v1-compaction-index.jsonl"),
    include_str!("../../../../tests/fixtures/duplicates.jsonl"),
    "",
];

pub(super) fn str_of(text: &str) -> leaflog_str {
    leaflog_str::of(text.as_bytes())
}

/// A type of handles, and how one is come by.
pub(super) trait Make: Opaque {
    fn make(world: &World) -> Option<usize>;
}

impl World {
    /// `home` is the home of the environment, and nobody else's: it is emptied.
    pub(super) fn new(home: &Path, data: &[u8]) -> Self {
        for entry in fs::read_dir(home).unwrap().filter_map(Result::ok) {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        }
        let ids = ["bb000001", "bb000005", "ca000006", "d-a1", "c-1", "nobody", "0"];
        Self {
            bytes: RefCell::new(data.to_owned()),
            at: Cell::new(0),
            thread: std::thread::current().id(),
            depth: Cell::new(0),
            inner_calls: Cell::new(100),
            live: RefCell::default(),
            freed: RefCell::default(),
            texts: RefCell::default(),
            freed_texts: RefCell::default(),
            ids: RefCell::new(ids.map(str::to_owned).to_vec()),
            stores: RefCell::default(),
            wrong: RefCell::default(),
            home: home.to_owned(),
            show: std::env::var_os("LEAFLOG_SHOW").is_some(),
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at.get() >= self.bytes.borrow().len()
    }

    /// A choice: 0 when there are no more bytes.
    pub(super) fn next(&self, below: usize) -> usize {
        let at = self.at.get();
        self.at.set(at + 1);
        self.bytes.borrow().get(at).map_or(0, |byte| usize::from(*byte) % below)
    }

    /// A path in the folder of the test.
    pub(super) fn in_home(&self, name: &[u8]) -> Vec<u8> {
        [self.home.as_os_str().as_encoded_bytes(), b"/", name].concat()
    }

    pub(super) fn one<T: Copy>(&self, of: &[T]) -> T {
        of[self.next(of.len())]
    }

    /// Bytes as they are drawn.
    pub(super) fn raw(&self) -> Vec<u8> {
        (0..self.next(40)).map(|_| u8::try_from(self.next(256)).unwrap()).collect()
    }

    /// Not at once: there may be functions on the stack that nothing unwinds through.
    pub(super) fn wrong(&self, what: String) {
        self.wrong.borrow_mut().push(what);
    }

    pub(super) fn hold(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }

    pub(super) fn assert_right(&self) {
        let wrong = self.wrong.borrow();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    pub(super) fn add(&self, kind: &'static str, token: usize, read_only: bool) {
        self.hold(token != 0 && !self.freed.borrow().contains(&token), || format!("{kind} {token:#x} is not new"));
        self.live.borrow_mut().push(Live { kind, token, read_only, lent: Vec::new() });
    }

    pub(super) fn is_live(&self, kind: &str, token: usize) -> bool {
        self.live.borrow().iter().any(|live| live.kind == kind && live.token == token)
    }

    pub(super) fn is_read_only(&self, token: usize) -> bool {
        self.live.borrow().iter().any(|live| live.token == token && live.read_only)
    }

    /// One of a kind, of any kind but this, or one that was freed.
    pub(super) fn pick(&self, kind: &str) -> Option<usize> {
        self.pick_of(|live| live.kind == kind)
    }

    pub(super) fn pick_other(&self, kind: &str) -> Option<usize> {
        self.pick_of(|live| live.kind != kind)
    }

    fn pick_of(&self, which: impl Fn(&Live) -> bool) -> Option<usize> {
        let tokens: Vec<usize> = self.live.borrow().iter().filter(|live| which(live)).map(|live| live.token).collect();
        (!tokens.is_empty()).then(|| self.one(&tokens))
    }

    pub(super) fn pick_freed(&self) -> Option<usize> {
        let freed = self.freed.borrow().clone();
        (!freed.is_empty()).then(|| self.one(&freed))
    }

    /// A handle is about to be freed: until now what it lends has to be there.
    pub(super) fn check_lent(&self, token: usize) {
        let lent: Vec<Lent> = match self.live.borrow().iter().find(|live| live.token == token) {
            Some(live) => live.lent.clone(),
            None => return,
        };
        for Lent { data, len, hash } in lent {
            self.hold(hash_of(data, len) == hash, || format!("a text that {token:#x} lends has changed"));
        }
    }

    /// What an iterator lends is gone with the next call.
    pub(super) fn forget_lent(&self, token: usize) {
        if let Some(live) = self.live.borrow_mut().iter_mut().find(|live| live.token == token) {
            live.lent.clear();
        }
    }

    /// Says whether there was such a handle.
    pub(super) fn remove(&self, token: usize) -> bool {
        let mut live = self.live.borrow_mut();
        let Some(at) = live.iter().position(|live| live.token == token) else { return false };
        live.swap_remove(at);
        self.freed.borrow_mut().push(token);
        true
    }

    /// A text that a handle lends, and that ends with a NUL unless the function says otherwise.
    pub(super) fn lent(&self, owner: usize, text: leaflog_str, ends_with_nul: bool) {
        let data = text.data.cast::<u8>();
        if data.is_null() {
            self.hold(text.len == 0, || "an absent text is lent that has a length".to_owned());
            return;
        }
        let hash = hash_of(data, text.len);
        if ends_with_nul {
            // SAFETY: the library says that one more byte is there.
            let nul = unsafe { data.add(text.len).read_volatile() };
            self.hold(nul == 0, || "no NUL follows a lent text".to_owned());
        }
        if let Some(live) = self.live.borrow_mut().iter_mut().find(|live| live.token == owner) {
            live.lent.push(Lent { data, len: text.len, hash });
        }
    }

    /// A text that is the caller's from now on.
    pub(super) fn given(&self, text: leaflog_string) {
        if text.data.is_null() {
            self.hold(text.len == 0, || "an absent text has a length".to_owned());
            return;
        }
        let data = text.data.cast::<u8>();
        hash_of(data, text.len);
        // SAFETY: the library says that one more byte is there.
        let nul = unsafe { data.add(text.len).read_volatile() };
        self.hold(nul == 0, || "no NUL follows a text".to_owned());
        self.hold(!self.texts.borrow().iter().any(|live| live.data == text.data), || {
            "a text is given that was not given back".to_owned()
        });
        // SAFETY: as the library says.
        let bytes = unsafe { std::slice::from_raw_parts(data, text.len) };
        if bytes.starts_with(b"blob:")
            && let Ok(reference) = std::str::from_utf8(bytes)
        {
            self.ids.borrow_mut().push(reference.to_owned());
        }
        // An address may be used again.
        self.freed_texts.borrow_mut().retain(|freed| freed.data != text.data);
        self.texts.borrow_mut().push(text);
    }

    pub(super) fn pick_text(&self) -> Option<leaflog_string> {
        let texts = self.texts.borrow().clone();
        (!texts.is_empty()).then(|| self.one(&texts))
    }

    pub(super) fn pick_freed_text(&self) -> Option<leaflog_string> {
        let texts = self.freed_texts.borrow().clone();
        (!texts.is_empty()).then(|| self.one(&texts))
    }

    pub(super) fn is_text(&self, text: leaflog_string) -> bool {
        self.texts.borrow().iter().any(|live| live.data == text.data)
    }

    pub(super) fn remove_text(&self, text: leaflog_string) {
        self.texts.borrow_mut().retain(|live| live.data != text.data);
        self.freed_texts.borrow_mut().push(text);
    }

    /// Makes one more handle of a type.
    pub(super) fn make<T: Make>(&self) -> Option<usize> {
        T::make(self)
    }

    fn or_make<T: Make>(&self) -> Option<usize> {
        self.pick(T::NAME).or_else(|| self.make::<T>())
    }

    /// One call as any program makes it, which may fail only where others are in a call.
    fn call<T: Opaque>(
        &self,
        read_only: bool,
        call: impl FnOnce(*mut *mut T, *mut *mut leaflog_error) -> leaflog_status,
    ) -> Option<usize> {
        let (mut out, mut error) = (ptr::null_mut(), ptr::null_mut());
        let status = call(&raw mut out, &raw mut error);
        if status == leaflog_status::Ok {
            self.hold(error.is_null(), || format!("an error was made of a {} that was made", T::NAME));
            self.add(T::NAME, out.addr(), read_only);
            return Some(out.addr());
        }
        self.hold(out.is_null() && !error.is_null() && status != leaflog_status::Panic, || {
            format!("{status:?} for a new {}", T::NAME)
        });
        error::leaflog_error_free(error);
        None
    }

    /// The path of a session file that is there.
    fn file(&self, name: &str) -> String {
        let path = self.home.join(name);
        if !path.exists() {
            fs::write(&path, self.one(&FILES)).unwrap();
        }
        path.to_str().unwrap().to_owned()
    }

    /// Frees everything that is not freed.
    pub(super) fn free_all(&self) {
        loop {
            let Some((kind, token)) = self.live.borrow().last().map(|live| (live.kind, live.token)) else { break };
            self.check_lent(token);
            self.remove(token);
            let status = free(kind, token);
            self.hold(status == leaflog_status::Ok, || format!("{status:?} for freeing a {kind}"));
        }
        for mut text in self.texts.take() {
            let status = crate::abi::leaflog_string_free(&raw mut text);
            self.hold(status == leaflog_status::Ok, || format!("{status:?} for freeing a text"));
        }
    }
}

impl Drop for World {
    /// After a failure nothing may be left that has to do with it: the next case is made smaller.
    fn drop(&mut self) {
        self.free_all();
    }
}

/// Frees a handle of a type that is called so.
fn free(kind: &str, token: usize) -> leaflog_status {
    fn at<T>(token: usize) -> *mut T {
        ptr::without_provenance_mut(token)
    }
    match kind {
        "session" => life::leaflog_session_free(at(token)),
        "state" => life::leaflog_state_free(at(token)),
        "context" => context::leaflog_context_free(at(token)),
        "storage" => storage::leaflog_storage_free(at(token)),
        "writer" => storage::leaflog_writer_free(at(token)),
        "generator" => generator::leaflog_generator_free(at(token)),
        "listing" => finding::leaflog_listing_free(at(token)),
        "history" => history::leaflog_history_free(at(token)),
        "error" => error::leaflog_error_free(at(token)),
        "blob store" => blobs::leaflog_blobs_free(at(token)),
        "artifact folder" => artifacts::leaflog_artifacts_free(at(token)),
        "list of prompts" => history::leaflog_prompts_free(at(token)),
        _ => entries::leaflog_entries_free(at(token)),
    }
}

/// Reads every byte.
fn hash_of(data: *const u8, len: usize) -> u64 {
    // SAFETY: the library says that they are there.
    let bytes = unsafe { std::slice::from_raw_parts(data, len) };
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

impl Make for crate::session::leaflog_session {
    fn make(world: &World) -> Option<usize> {
        let none = ptr::null();
        let cwd = str_of("/home/ada/tides");
        let kind = world.next(8);
        let made = match kind {
            0 | 1 => world.call(false, |out, error| life::leaflog_session_in_memory(cwd, none, out, error)),
            2 => {
                let path = world.file("open.jsonl");
                world.call(false, |out, error| life::leaflog_session_open(str_of(&path), none, out, error))
            }
            3 => {
                let bytes = world.one(&FILES[..9]);
                world.call(true, |out, error| life::leaflog_session_read_bytes(str_of(bytes), ptr::null(), out, error))
            }
            4 => {
                let path = world.file("view.jsonl");
                world.call(true, |out, error| {
                    life::leaflog_session_open_read_only(str_of(&path), ptr::null(), out, error)
                })
            }
            5 | 6 => {
                let storage = world.or_make::<storage::leaflog_storage>()?;
                // SAFETY: all 0 is valid.
                let mut options: crate::options::leaflog_options = unsafe { std::mem::zeroed() };
                options.struct_size = size_of_val(&options);
                options.storage = ptr::without_provenance(storage);
                world.call(false, |out, error| life::leaflog_session_create(cwd, &raw const options, out, error))
            }
            _ => world.call(false, |out, error| life::leaflog_session_create(cwd, none, out, error)),
        }?;
        if world.next(2) == 1 && !world.is_read_only(made) {
            for message in ["{\"role\":\"user\",\"content\":\"Hi\"}", "{\"role\":\"assistant\",\"content\":[]}"] {
                let mut id = leaflog_id { text: [0; 24] };
                let session = ptr::without_provenance_mut(made);
                leaflog_session_append_message(session, str_of(message), &raw mut id, ptr::null_mut());
                let place = Place { owner: 0, function: "leaflog_session_append_message", name: "id" };
                id.given(world, &place);
            }
        }
        Some(made)
    }
}

impl Make for entries::leaflog_entries {
    fn make(world: &World) -> Option<usize> {
        let session = ptr::without_provenance(world.or_make::<crate::session::leaflog_session>()?);
        world.call(false, |out, error| entries::leaflog_session_entries(session, out, error))
    }
}

impl Make for context::leaflog_context {
    fn make(world: &World) -> Option<usize> {
        let session = ptr::without_provenance(world.or_make::<crate::session::leaflog_session>()?);
        world.call(false, |out, error| context::leaflog_session_context(session, 0, leaflog_str::ABSENT, out, error))
    }
}

impl Make for life::leaflog_state {
    fn make(world: &World) -> Option<usize> {
        let session = ptr::without_provenance(world.or_make::<crate::session::leaflog_session>()?);
        world.call(false, |out, error| life::leaflog_session_capture(session, out, error))
    }
}

impl Make for storage::leaflog_storage {
    fn make(world: &World) -> Option<usize> {
        match world.next(4) {
            0 => world.call(false, |out, error| storage::leaflog_storage_memory(out, error)),
            1 => world.call(false, |out, error| storage::leaflog_storage_files(out, error)),
            _ => {
                let functions = Store::functions(world);
                world.call(false, |out, error| storage::leaflog_storage_new(&raw const functions, out, error))
            }
        }
    }
}

impl Make for generator::leaflog_generator {
    fn make(world: &World) -> Option<usize> {
        world.call(false, |out, error| generator::leaflog_generator_sequence(1_771_236_000_000, 1000, out, error))
    }
}

impl Make for storage::leaflog_writer {
    fn make(world: &World) -> Option<usize> {
        let storage = ptr::without_provenance(world.or_make::<storage::leaflog_storage>()?);
        let path = world.in_home(b"dir/written.jsonl");
        let path = leaflog_str::of(&path);
        world.call(false, |out, error| storage::leaflog_storage_open_writer(storage, path, 0, out, error))
    }
}

impl Make for artifacts::leaflog_artifacts {
    fn make(world: &World) -> Option<usize> {
        let file = world.in_home(b"dir/open.jsonl");
        world.call(false, |out, error| artifacts::leaflog_artifacts_of(leaflog_str::of(&file), out, error))
    }
}

impl Make for blobs::leaflog_blobs {
    fn make(world: &World) -> Option<usize> {
        let dir = world.in_home(b"blobs");
        world.call(false, |out, error| blobs::leaflog_blobs_open(leaflog_str::of(&dir), out, error))
    }
}

impl Make for finding::leaflog_listing {
    fn make(world: &World) -> Option<usize> {
        if world.next(2) == 0 {
            let bytes = str_of(FILES[0]);
            world.call(false, |out, error| finding::leaflog_info_of_bytes(str_of("x"), 7, bytes, out, error))
        } else {
            world.file("open.jsonl");
            // SAFETY: all 0 is valid.
            let mut find: finding::leaflog_find_options = unsafe { std::mem::zeroed() };
            let root = world.in_home(b".");
            let root = [leaflog_str::of(&root)];
            find.struct_size = size_of_val(&find);
            (find.roots, find.root_count) = (root.as_ptr(), 1);
            world.call(false, |out, error| finding::leaflog_list_all(ptr::null(), &raw const find, out, error))
        }
    }
}

impl Make for history::leaflog_history {
    fn make(world: &World) -> Option<usize> {
        let path = world.in_home(b"history.db");
        world.call(false, |out, error| history::leaflog_history_open(leaflog_str::of(&path), out, error))
    }
}

impl Make for history::leaflog_prompts {
    fn make(world: &World) -> Option<usize> {
        let history = ptr::without_provenance(world.or_make::<history::leaflog_history>()?);
        history::leaflog_history_add(history, str_of("what now"), leaflog_str::ABSENT, ptr::null_mut());
        history::leaflog_history_flush(history, ptr::null_mut());
        world.call(false, |out, error| history::leaflog_history_recent(history, 9, out, error))
    }
}

impl Make for leaflog_error {
    fn make(world: &World) -> Option<usize> {
        let (mut out, mut error) = (ptr::null_mut(), ptr::null_mut());
        let path = str_of("no/such/file");
        let status = life::leaflog_session_open_read_only(path, ptr::null(), &raw mut out, &raw mut error);
        world.hold(status == leaflog_status::NotFound, || format!("{status:?} for a file that is missing"));
        world.add(Self::NAME, error.addr(), false);
        Some(error.addr())
    }
}

impl Make for callbacks::leaflog_reply {
    /// It is made for one call of a function of the caller.
    fn make(_: &World) -> Option<usize> {
        None
    }
}
