//! Arguments, drawn by their type and by the name that the header gives them, and what must be true of them after
//! the call.

use super::structs::{Fields, Lends};
use super::world::{FILES, Make, Memory, World};
use crate::abi::{Plain, leaflog_id, leaflog_str, leaflog_string};
use crate::callbacks::leaflog_storage_functions;
use crate::error::{self, leaflog_error};
use crate::status::leaflog_status;
use crate::{append, entries, finding, history, life, options, read};
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

/// What a place holds before the call.
const UNTOUCHED: u8 = 0xa5;

/// What is looked at after the call, which was done or was not.
type Check = Box<dyn FnOnce(&World, bool)>;

/// One call that is being made.
pub(super) struct Call<'w> {
    pub(super) world: &'w World,
    pub(super) name: &'static str,
    parameters: &'static [String],
    at: usize,
    memory: Vec<Memory>,
    checks: Vec<Check>,
    /// Handles that are not what they must be.
    wrong_handles: usize,
    /// Something else than a handle may be wrong.
    odd: bool,
    /// Something is wrong for certain.
    malformed: bool,
    read_only: bool,
    /// The first handle: it lends what is lent.
    first: Option<usize>,
    /// The length of the array that was drawn last.
    pub(super) len: usize,
    error: Option<(*mut *mut leaflog_error, usize)>,
    /// It is given a handle that there is, to free it.
    frees: bool,
}

impl<'w> Call<'w> {
    pub(super) fn new(world: &'w World, name: &'static str, parameters: &'static [String]) -> Self {
        Self {
            world,
            name,
            parameters,
            at: 0,
            memory: Vec::new(),
            checks: Vec::new(),
            wrong_handles: 0,
            odd: false,
            malformed: false,
            read_only: false,
            first: None,
            len: 0,
            error: None,
            frees: false,
        }
    }

    pub(super) fn argument<A: Arg>(&mut self) -> A {
        let name = self.parameters.get(self.at).map_or("", String::as_str);
        self.at += 1;
        A::draw(self, name)
    }

    pub(super) fn keep<T>(&mut self, memory: Memory) -> *mut T {
        let start = memory.start();
        self.memory.push(memory);
        start
    }

    pub(super) fn odd(&mut self) {
        self.odd = true;
    }

    pub(super) fn malformed(&mut self) {
        self.malformed = true;
    }

    fn note(&self, name: &str, what: impl FnOnce() -> String) {
        if self.world.show {
            eprintln!("{:indent$}    {name}: {}", "", what(), indent = self.world.depth.get() * 4);
        }
    }

    pub(super) fn handle<T: Make>(&mut self, name: &str) -> usize {
        let world = self.world;
        let frees = self.name.ends_with("_free");
        let token = match world.next(16) {
            0..=9 => world.pick(T::NAME).or_else(|| world.make::<T>()),
            10 | 11 => world.make::<T>(),
            12 => world.pick_other(T::NAME).or_else(|| world.pick_text().map(|text| text.data.addr())),
            13 => world.pick_freed(),
            14 => Some(world.one(&[0, usize::MAX, 16])),
            _ => match world.next(3) {
                0 => world.pick(T::NAME).map(|token| token + 1),
                1 => world.pick(T::NAME).map(|token| token - 16),
                _ => Some(ptr::from_ref(world).addr()),
            },
        };
        let token = token.unwrap_or(0);
        self.note(name, || format!("{} {token:#x}", T::NAME));
        if world.is_live(T::NAME, token) {
            self.read_only |= world.is_read_only(token);
        } else if token != 0 || !(frees || name == "storage?") {
            self.wrong_handles += 1;
        }
        self.first.get_or_insert(token);
        token
    }

    /// Memory for a `T`, or none, or one that is not aligned.
    fn place<T: Given>(&mut self, name: &'static str) -> *mut T {
        match self.world.next(16) {
            14 => {
                self.odd();
                self.note(name, || "NULL".to_owned());
                ptr::null_mut()
            }
            15 if align_of::<T>() > 1 => {
                self.malformed();
                self.note(name, || "not aligned".to_owned());
                let start: *mut u8 = self.keep(Memory::new(size_of::<T>() + 1, UNTOUCHED));
                self.untouched(name, start, size_of::<T>() + 1, false);
                start.wrapping_add(1).cast()
            }
            _ => {
                let start: *mut u8 = self.keep(Memory::new(size_of::<T>(), UNTOUCHED));
                self.untouched(name, start, size_of::<T>(), true);
                let place = Place { owner: self.first.unwrap_or(0), function: self.name, name };
                self.checks.push(Box::new(move |world, done| {
                    if done {
                        // SAFETY: the library wrote a `T`, which was seen above.
                        let value = unsafe { start.cast::<T>().read() };
                        value.given(world, &place);
                    }
                }));
                start.cast()
            }
        }
    }

    /// These bytes are as before when the call failed, or at any rate; and are not all when it was done.
    fn untouched(&mut self, name: &'static str, start: *mut u8, len: usize, may_be_written: bool) {
        let function = self.name;
        self.checks.push(Box::new(move |world, done| {
            // SAFETY: the memory is kept until the call is over.
            let bytes = unsafe { std::slice::from_raw_parts(start, len) };
            let same = bytes.iter().all(|byte| *byte == UNTOUCHED);
            if !(done && may_be_written) {
                world.hold(same, || format!("{function} wrote {name}"));
            } else if same {
                world.wrong(format!("{function} did not write {name}"));
                // Nobody may look at it.
                // SAFETY: as above; 0 is valid for all types of places.
                unsafe { start.write_bytes(0, len) };
            }
        }));
    }

    /// A struct that the caller fills in: of this library's size, an earlier one's, a later one's, and nonsense.
    fn input<T: Plain + Fields>(&mut self, name: &str) -> *const T {
        let kind = self.world.next(16);
        if kind == 15 {
            // All defaults, where that is allowed.
            self.odd();
            self.note(name, || "NULL".to_owned());
            return ptr::null();
        }
        // SAFETY: the trait says that all 0 is valid.
        let mut value: T = unsafe { std::mem::zeroed() };
        let (wrong_handles, malformed) = (self.wrong_handles, self.malformed);
        value.fill(self);
        let whole = size_of::<T>();
        let (size, room) = match kind {
            9 => (whole / 16 * 8, whole),
            10 => {
                let size = self.world.next(whole);
                (size, size.max(8))
            }
            11 | 12 => (whole + 16, whole + 16),
            13 => (self.world.one(&[0, 7, 4097, usize::MAX]), whole),
            _ => (whole, whole),
        };
        if size < 8 || size % align_of::<T>() != 0 || size > 4096 || kind == 12 {
            self.malformed();
        } else if size < whole {
            self.odd();
            // What is wrong may lie beyond.
            self.malformed = malformed;
            if self.wrong_handles > wrong_handles {
                self.wrong_handles = wrong_handles;
                // SAFETY: as above.
                value = unsafe { std::mem::zeroed() };
            }
        }
        self.note(name, || format!("struct of {size}, {room} bytes"));
        let memory = Memory::new(room, u8::from(kind == 12));
        let start: *mut u8 = memory.start();
        // SAFETY: there is room for so many bytes in both.
        unsafe {
            start.copy_from_nonoverlapping(ptr::from_ref(&value).cast(), whole.min(room));
            start.cast::<usize>().write(size);
        }
        let start = self.keep::<T>(memory);
        if kind == 14 && self.world.next(2) == 1 {
            self.malformed();
            let moved: *mut u8 = self.keep(Memory::new(room + 1, 0));
            return moved.wrapping_add(1).cast();
        }
        start
    }

    /// A struct that the library fills in, as far as its size reaches.
    fn output<T: Plain + Lends>(&mut self, name: &'static str) -> *mut T {
        let whole = size_of::<T>();
        let (size, room) = match self.world.next(16) {
            10 => (self.world.next(whole), whole),
            11 => (whole + 16, whole + 16),
            12 => (self.world.one(&[0, 7, 4097, usize::MAX]), whole),
            13 => {
                self.malformed();
                return ptr::null_mut();
            }
            14 => (8, 8),
            _ => (whole, whole),
        };
        if size < 8 || size % align_of::<T>() != 0 || size > 4096 {
            self.malformed();
        }
        self.note(name, || format!("struct of {size}, {room} bytes"));
        let memory = Memory::new(room, UNTOUCHED);
        let start: *mut u8 = memory.start();
        // SAFETY: there is room for it.
        unsafe { start.cast::<usize>().write(size) };
        let (owner, function) = (self.first.unwrap_or(0), self.name);
        self.checks.push(Box::new(move |world, done| {
            // SAFETY: the memory is kept until the call is over.
            let bytes = unsafe { std::slice::from_raw_parts(start, room) };
            world.hold(bytes[..8] == size.to_ne_bytes(), || format!("{function} wrote the size of {name}"));
            let from = if done { size.min(whole) } else { 8 };
            world.hold(bytes[from.max(8)..].iter().all(|byte| *byte == UNTOUCHED), || {
                format!("{function} wrote {name}")
            });
            if done {
                // SAFETY: all 0 is valid, and so is what the library wrote over it.
                let value = unsafe {
                    let mut value: T = std::mem::zeroed();
                    ptr::from_mut(&mut value).cast::<u8>().copy_from_nonoverlapping(start, size.min(whole));
                    value
                };
                // A size that ends inside of a text has no length of it.
                value.lent().into_iter().for_each(|text| world.lent(owner, text, size >= whole));
            }
        }));
        self.keep(memory)
    }

    pub(super) fn text(&mut self, name: &str) -> leaflog_str {
        let world = self.world;
        let bytes = match world.next(16) {
            11 => {
                self.odd();
                self.note(name, || "absent".to_owned());
                return leaflog_str::ABSENT;
            }
            12 => {
                let len = world.one(&[0, 1, 5, isize::MAX.unsigned_abs(), usize::MAX]);
                if len == 0 {
                    self.odd();
                } else {
                    self.malformed();
                }
                self.note(name, || format!("NULL, {len}"));
                return leaflog_str { data: ptr::null(), len };
            }
            13 if world.next(2) == 0 => {
                self.malformed();
                let data: *mut c_char = self.keep(Memory::of(b"text"));
                let len = world.one(&[isize::MAX.unsigned_abs() + 1, usize::MAX, usize::MAX - 7]);
                self.note(name, || format!("a text of {len} bytes"));
                return leaflog_str { data, len };
            }
            13 | 14 => {
                self.odd();
                let odd: [&[u8]; 10] = [
                    b"",
                    b"a\0b",
                    b"\xff\xfe",
                    b"\xed\xa0\xbd",
                    b"{\"type\":\"custom\",\"x\":\"\xed\xb2\x80\"}",
                    "\u{feff}{}".as_bytes(),
                    b"{\"role\":\"user\",\"content\":",
                    b"\r\n\t ",
                    b"{\"role\":\"user\",\"role\":\"assistant\",\"content\":{\"a\":1e999}}",
                    "\u{2028}\u{10ffff}".as_bytes(),
                ];
                match world.next(odd.len() + 2) {
                    10 => "[".repeat(3000).into_bytes(),
                    11 => format!("{{\"role\":\"user\",\"content\":\"{}\"}}", "x".repeat(70_000)).into_bytes(),
                    at => odd[at].to_vec(),
                }
            }
            15 => {
                self.odd();
                let mut raw = world.raw();
                if is_path(name) {
                    // It must stay in the folder.
                    raw.iter_mut().filter(|byte| matches!(byte, b'/' | b'.')).for_each(|byte| *byte = b'_');
                }
                raw
            }
            _ => self.good(name),
        };
        let bytes = if is_path(name) && !bytes.is_empty() { world.in_home(&bytes) } else { bytes };
        self.note(name, || String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned());
        let data = self.keep(Memory::of(&bytes));
        leaflog_str { data, len: bytes.len() }
    }

    /// A text as it may be meant.
    fn good(&mut self, name: &str) -> Vec<u8> {
        let world = self.world;
        if is_path(name) {
            return path(world).into_bytes();
        }
        match name {
            "message_json" => world.one(&MESSAGES).to_owned(),
            "entry_json" | "json" => world.one(&ENTRIES).to_owned(),
            _ if name.ends_with("_json") => json(world, 2),
            "entry_id" | "from_id" | "target_id" | "leaf_id" | "first_kept_entry_id" | "hash" | "id" | "arg" => {
                let ids = world.ids.borrow();
                ids[world.next(ids.len())].clone()
            }
            "bytes" | "prefix" | "content" | "piece" => world.one(&FILES).to_owned(),
            "text" => world.one(&["text", FILES[0], "blob:sha256:x", "\n"]).to_owned(),
            "pattern" => world.one(&["*", "*.jsonl", "a.jsonl"]).to_owned(),
            "line" => {
                let mut line = world.one(&ENTRIES).to_owned();
                line.push('\n');
                line
            }
            "query" => world.one(&["what", "now*", "\"", "a OR b"]).to_owned(),
            "variable" => world.one(&["HOME", "PI_CONFIG_DIR", "TMUX_PANE", "A=B"]).to_owned(),
            _ => world.one(&["default", "plan", "a/b", "high", "Tides", "auto", "é漢🙂"]).to_owned(),
        }
        .into_bytes()
    }

    /// An array and its length.
    pub(super) fn array<T: Copy>(&mut self, item: impl Fn(&mut Self) -> T) -> *const T {
        let world = self.world;
        self.len = 0;
        match world.next(12) {
            8 => {
                self.odd();
                ptr::null()
            }
            9 => {
                self.malformed();
                self.len = world.one(&[1, 3, usize::MAX]);
                ptr::null()
            }
            kind => {
                let items: Vec<T> = (0..world.next(4)).map(|_| item(self)).collect();
                self.len = items.len();
                let start: *mut T = self.keep(Memory::items(&items));
                if kind == 10 {
                    self.malformed();
                    self.len = world.one(&[usize::MAX, usize::MAX / size_of::<T>(), isize::MAX.unsigned_abs()]);
                } else if kind == 11 && self.len > 0 {
                    self.malformed();
                    let bytes = size_of::<T>() * self.len + 1;
                    let moved: *mut u8 = self.keep(Memory::new(bytes, 0));
                    return moved.wrapping_add(1).cast();
                }
                start
            }
        }
    }

    /// What must be true of every call. Gives whether it was done.
    pub(super) fn finish(self, status: Option<leaflog_status>) {
        let (world, name) = (self.world, self.name);
        let done = status.is_none_or(|status| status == leaflog_status::Ok);
        if let Some(status) = status.filter(|_| name != "leaflog_error_status") {
            let hold = |holds: bool| world.hold(holds, || format!("{name} gave {status:?}"));
            hold(!matches!(status, leaflog_status::Panic | leaflog_status::Other));
            hold(status != leaflog_status::Busy || world.depth.get() > 0);
            hold(status != leaflog_status::ReadOnly || self.read_only);
            hold(status != leaflog_status::InvalidHandle || self.wrong_handles > 0);
            hold(!(self.malformed && done));
            if self.wrong_handles > 0 {
                let earlier = [leaflog_status::Busy, leaflog_status::ReadOnly].contains(&status);
                let argument = [leaflog_status::InvalidArgument, leaflog_status::InvalidUtf8].contains(&status);
                let excused = earlier || argument && (self.odd || self.malformed);
                hold(status == leaflog_status::InvalidHandle || excused);
            }
        }
        if let Some((place, before)) = self.error {
            // SAFETY: the memory is kept until the call is over.
            let after = unsafe { place.read() };
            let status = status.unwrap_or(leaflog_status::Ok);
            if done || status == leaflog_status::End {
                world.hold(after.addr() == before, || format!("{name} gave {status:?} and wrote an error"));
            } else if after.addr() == before {
                world.wrong(format!("{name} gave {status:?} and no error"));
            } else {
                read_error(world, name, status, after);
            }
        }
        self.checks.into_iter().for_each(|check| check(world, done));
        world.hold(done || !self.frees, || format!("{name} freed nothing"));
    }

    /// Before the call: the handle that is going to be freed or asked still lends what it lent.
    pub(super) fn before(&mut self) {
        let first = self.first.unwrap_or(0);
        let frees = self.name.ends_with("_free");
        if frees || self.name.starts_with("leaflog_entries_") {
            self.world.check_lent(first);
            self.world.forget_lent(first);
        }
        // While it is freed, and calls a function of the caller, it is no handle any more.
        if frees && self.wrong_handles == 0 {
            self.frees = self.world.remove(first);
        }
    }
}

/// The error is that of the status, and has its texts; one of four is kept.
fn read_error(world: &World, name: &str, status: leaflog_status, error: *mut leaflog_error) {
    world.add("error", error.addr(), false);
    let text = |data: *const c_char| {
        // SAFETY: it is lent by the error.
        (!data.is_null()).then(|| unsafe { CStr::from_ptr(data) }.to_bytes().len())
    };
    let (message, whole) = (text(error::leaflog_error_message(error)), text(error::leaflog_error_text(error)));
    text(error::leaflog_error_path(error));
    error::leaflog_error_line(error);
    error::leaflog_error_os_errno(error);
    world.hold(error::leaflog_error_status(error) == status, || format!("{name}: the error is not {status:?}"));
    world.hold(message.is_some_and(|len| len > 0) && whole >= message, || format!("{name}: the error says nothing"));
    if world.next(4) != 1 {
        world.hold(error::leaflog_error_free(error) == leaflog_status::Ok, || "an error is not freed".to_owned());
        world.remove(error.addr());
    }
}

const MESSAGES: [&str; 5] = [
    r#"{"role":"user","content":"Hello"}"#,
    r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}],"usage":{"input":1,"cost":{"total":2.5}}}"#,
    r#"{"role":"toolResult","content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}]}"#,
    r#"{"role":"user","content":[],"timestamp":1771237230000}"#,
    r#"{"role":"custom","x":{"y":[1,2,{"z":null}]}}"#,
];

const ENTRIES: [&str; 5] = [
    r#"{"type":"message","id":"a0000001","parentId":null,"message":{"role":"user","content":"Hello"}}"#,
    r#"{"type":"custom","customType":"a","data":{"x":1}}"#,
    r#"{"type":"label","targetId":"bb000001","label":"L"}"#,
    r#"{"type":"session","version":3,"id":"s"}"#,
    r#"{"type":"compaction","summary":"s","firstKeptEntryId":"bb000001","tokensBefore":1}"#,
];

/// JSON of some depth.
fn json(world: &World, depth: usize) -> String {
    match world.next(if depth == 0 { 6 } else { 8 }) {
        0 => "{}".to_owned(),
        1 => "[1,-2.5e3,null,true]".to_owned(),
        2 => "\"a\\u0000\\ud83d\\n\"".to_owned(),
        3 => world.one(&["1", "[]", "1e400", "nul", "{\"a\":}", " {} ", "\"x"]).to_owned(),
        4 => r#"[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}]"#.to_owned(),
        5 => "[".repeat(600) + &"]".repeat(600),
        6 => format!("[{},{}]", json(world, depth - 1), json(world, depth - 1)),
        _ => format!("{{\"a\":{},\"\":{}}}", json(world, depth - 1), json(world, depth - 1)),
    }
}

fn is_path(name: &str) -> bool {
    let paths = ["path", "dir", "cwd", "source", "parent_session", "from", "to", "session_file", "value"];
    paths.contains(&name) || name.ends_with("_dir") || name.ends_with("_cwd") || name == "config_dir_name"
}

/// A path from the folder of the test, with a session file at it now and then.
fn path(world: &World) -> String {
    let name = world.one(&[
        "a.jsonl",
        "dir/b.jsonl",
        "work",
        ".xcsh/agent/sessions/--work-tides--/2026-02-16T09-12-44-120Z_1470bba2d62a6f1b.jsonl",
        ".",
        "dir",
        "history.db",
        "a.jsonl/x",
        "blobs",
        ".xcsh",
    ]);
    let path = Path::new(OsStr::from_bytes(&world.in_home(name.as_bytes()))).to_owned();
    if name.ends_with(".jsonl") && world.next(2) == 1 && !path.exists() {
        if let Some(dir) = path.parent() {
            let _: std::io::Result<()> = std::fs::create_dir_all(dir);
        }
        let _: std::io::Result<()> = std::fs::write(&path, world.one(&FILES));
    }
    world.one(&["", "", "x/../", ".//"]).to_owned() + name
}

/// A type of arguments.
pub(super) trait Arg {
    fn draw(call: &mut Call, name: &'static str) -> Self;
}

impl<T: Make> Arg for *const T {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        ptr::without_provenance(call.handle::<T>(name))
    }
}

impl<T: Make> Arg for *mut T {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        ptr::without_provenance_mut(call.handle::<T>(name))
    }
}

impl<T: Make> Arg for *mut *mut T {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        if name != "error" {
            return call.place(name);
        }
        let before = match call.world.next(16) {
            13 => return ptr::null_mut(),
            14 => {
                let start: *mut u8 = call.keep(Memory::new(9, UNTOUCHED));
                call.untouched(name, start, 9, false);
                return start.wrapping_add(1).cast();
            }
            15 => usize::from_ne_bytes([UNTOUCHED; 8]),
            _ => 0,
        };
        let place: *mut usize = call.keep(Memory::items(&[before]));
        call.error = Some((place.cast(), before));
        place.cast()
    }
}

impl Arg for leaflog_str {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        call.text(name)
    }
}

impl Arg for *const leaflog_str {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| call.text("item"))
    }
}

impl Arg for *const life::leaflog_change {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| life::leaflog_change { id: call.text("entry_id"), json: call.text("json") })
    }
}

impl Arg for *const u16 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| call.world.one(&[0x61, 0xd83d, 0xde42, 0, 0xdc00]))
    }
}

impl Arg for usize {
    /// All lengths follow their array.
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.len
    }
}

impl Arg for u64 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.world.one(&[0, 1, 2, 7, 1000, u64::MAX, 1 << 40, i64::MAX.cast_unsigned()])
    }
}

impl Arg for i64 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.world.one(&[0, 1_771_237_230_000, -1, i64::MIN, i64::MAX])
    }
}

impl Arg for i32 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        let value = call.world.one(&[0, 1, 0, 1, 0, 1, 2, 3, 4, -1, 99, i32::MIN, i32::MAX]);
        if !(0..=1).contains(&value) {
            call.odd();
        }
        value
    }
}

macro_rules! inputs {
    ($($type:ty),*) => {$(
        impl Arg for *const $type {
            fn draw(call: &mut Call, name: &'static str) -> Self {
                call.input(name)
            }
        }
    )*};
}

inputs!(
    options::leaflog_options,
    options::leaflog_view_options,
    finding::leaflog_find_options,
    append::leaflog_session_init,
    append::leaflog_compaction,
    append::leaflog_custom_message,
    leaflog_storage_functions
);

macro_rules! outputs {
    ($($type:ty),*) => {$(
        impl Arg for *mut $type {
            fn draw(call: &mut Call, name: &'static str) -> Self {
                call.output(name)
            }
        }
    )*};
}

outputs!(entries::leaflog_entry, finding::leaflog_session_info, history::leaflog_prompt, read::leaflog_usage);

macro_rules! places {
    ($($type:ty),*) => {$(
        impl Arg for *mut $type {
            fn draw(call: &mut Call, name: &'static str) -> Self {
                call.place(name)
            }
        }
    )*};
}

places!(leaflog_str, leaflog_id, u64, i64, i32);

impl Arg for *mut bool {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        call.place::<Truth>(name).cast()
    }
}

impl Arg for *mut leaflog_string {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        if call.name != "leaflog_string_free" {
            return call.place(name);
        }
        let world = call.world;
        let foreign = leaflog_string { data: ptr::from_ref(world).cast(), len: 3 };
        let absent = leaflog_string { data: ptr::null(), len: world.next(2) };
        let text = match world.next(8) {
            0..=3 => world.pick_text().unwrap_or(absent),
            4 => world.pick_freed_text().unwrap_or(absent),
            5 => foreign,
            6 => absent,
            _ => return ptr::null_mut(),
        };
        if !text.data.is_null() && !world.is_text(text) {
            call.wrong_handles += 1;
        }
        let place: *mut leaflog_string = call.keep(Memory::items(&[text]));
        call.checks.push(Box::new(move |world, done| {
            // SAFETY: the memory is kept until the call is over.
            let after = unsafe { place.read() };
            if text.data.is_null() || !done {
                world.hold(after.data == text.data && after.len == text.len, || "no text, and written".to_owned());
            } else {
                world.hold(after.data.is_null() && after.len == 0, || "a freed text is not absent".to_owned());
                world.remove_text(text);
            }
        }));
        place
    }
}

/// A byte that has to be a `bool`.
#[derive(Clone, Copy)]
struct Truth(u8);

/// Where something is written.
pub(super) struct Place {
    /// The first handle of the call.
    pub(super) owner: usize,
    pub(super) function: &'static str,
    pub(super) name: &'static str,
}

/// What the library writes to a place.
pub(super) trait Given {
    fn given(&self, world: &World, place: &Place);
}

impl Given for leaflog_string {
    fn given(&self, world: &World, _: &Place) {
        world.given(*self);
    }
}

impl Given for leaflog_str {
    fn given(&self, world: &World, place: &Place) {
        world.lent(place.owner, *self, place.function != "leaflog_context_message");
    }
}

impl Given for leaflog_id {
    fn given(&self, world: &World, _: &Place) {
        let text: Vec<u8> = self.text.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
        world.hold(text.len() <= 16, || "an id is longer than 16 characters".to_owned());
        match String::from_utf8(text) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => world.ids.borrow_mut().push(text),
            Err(_) => world.wrong("an id is not UTF-8".to_owned()),
        }
    }
}

impl<T: Make> Given for *mut T {
    fn given(&self, world: &World, place: &Place) {
        // `leaflog_session_persist_status()` gives one only when there is one.
        if self.is_null() && place.name == "failure" {
            return;
        }
        let makers = ["leaflog_session_open_read_only", "leaflog_session_read_bytes", "leaflog_session_snapshot"];
        world.add(T::NAME, self.addr(), makers.contains(&place.function));
    }
}

impl Given for Truth {
    fn given(&self, world: &World, place: &Place) {
        world.hold(self.0 <= 1, || format!("{} is neither true nor false", place.name));
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Given for $type {
            fn given(&self, _: &World, _: &Place) {}
        }
    )*};
}

numbers!(u64, i64, i32);

/// What a function gives.
pub(super) trait Answer {
    fn status(self) -> Option<leaflog_status>;
}

impl Answer for leaflog_status {
    fn status(self) -> Option<leaflog_status> {
        Some(self)
    }
}

impl Answer for *const c_char {
    fn status(self) -> Option<leaflog_status> {
        if !self.is_null() {
            // SAFETY: it is lent by a handle that was looked up, or by nobody.
            std::hint::black_box(unsafe { CStr::from_ptr(self) }.to_bytes().len());
        }
        None
    }
}

macro_rules! no_statuses {
    ($($type:ty),*) => {$(
        impl Answer for $type {
            fn status(self) -> Option<leaflog_status> {
                None
            }
        }
    )*};
}

no_statuses!(u64, u32, i32, usize, bool);

/// A function with arguments that can be drawn.
pub(super) trait Function {
    fn call(&self, call: Call);
}

macro_rules! functions_of {
    ($(($($arg:ident)*))*) => {$(
        impl<R: Answer, $($arg: Arg),*> Function for extern "C" fn($($arg),*) -> R {
            #[allow(non_snake_case, unused_mut, reason = "one name for a type and its value")]
            fn call(&self, mut call: Call) {
                $(let $arg = call.argument::<$arg>();)*
                call.before();
                let status = self($($arg),*).status();
                call.finish(status);
            }
        }
    )*};
}

functions_of!(() (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G));
