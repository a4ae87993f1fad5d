//! One call: how its arguments are drawn, and what must be true when it was made.

use super::arguments::{Argument, Given, Place};
use super::structs::{Fields, Lends};
use super::world::{Make, Memory, World};
use crate::abi::Plain;
use crate::error::{self, leaflog_error};
use crate::status::leaflog_status;
use std::ffi::{CStr, c_char};
use std::ptr;

/// What a place holds before the call.
pub(super) const UNTOUCHED: u8 = 0xa5;

/// What is looked at after the call, which was done or was not.
type Check = Box<dyn FnOnce(&World, bool)>;

/// One call that is being made.
pub(super) struct Call<'w> {
    pub(super) world: &'w World,
    pub(super) name: &'static str,
    parameters: &'static [String],
    at: usize,
    memory: Vec<Memory>,
    pub(super) checks: Vec<Check>,
    /// Handles that are not what they must be.
    pub(super) wrong_handles: usize,
    /// Something else than a handle may be wrong.
    odd: bool,
    /// Something is wrong for certain.
    malformed: bool,
    read_only: bool,
    /// The first handle: it lends what is lent.
    first: Option<usize>,
    /// The length of the array that was drawn last.
    pub(super) len: usize,
    pub(super) error: Option<(*mut *mut leaflog_error, usize)>,
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

    pub(super) fn argument<A: Argument>(&mut self) -> A {
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

    pub(super) fn note(&self, name: &str, what: impl FnOnce() -> String) {
        if self.world.show {
            eprintln!("{:indent$}    {name}: {}", "", what(), indent = self.world.depth.get() * 4);
        }
    }

    /// A handle of a type, or of none; one whose name ends with a question mark may be NULL.
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
        } else if token != 0 || !(frees || name.ends_with('?')) {
            self.wrong_handles += 1;
        }
        self.first.get_or_insert(token);
        token
    }

    /// Memory for a `T`, or none, or one that is not aligned.
    pub(super) fn place<T: Given>(&mut self, name: &'static str) -> *mut T {
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
                if !T::OF_FAILURES_TOO {
                    self.untouched(name, start, size_of::<T>(), true);
                }
                let place = Place { owner: self.first.unwrap_or(0), function: self.name, name };
                self.checks.push(Box::new(move |world, done| {
                    // SAFETY: the memory is kept until the call is over.
                    let mut bytes = unsafe { std::slice::from_raw_parts(start, size_of::<T>()) }.iter();
                    if done || T::OF_FAILURES_TOO && bytes.any(|byte| *byte != UNTOUCHED) {
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
    pub(super) fn untouched(&mut self, name: &'static str, start: *mut u8, len: usize, may_be_written: bool) {
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
    pub(super) fn input<T: Plain + Fields>(&mut self, name: &str) -> *const T {
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
        if !T::can_have(size) || size > 4096 || kind == 12 {
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
    pub(super) fn output<T: Plain + Lends>(&mut self, name: &'static str) -> *mut T {
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
        if !T::can_have(size) || size > 4096 {
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
                value.lent().into_iter().for_each(|text| world.lent(owner, text, true));
            }
        }));
        self.keep(memory)
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
    let in_memory = text(error::leaflog_error_entry_id(error));
    world.hold(in_memory.is_none_or(|len| (1..=16).contains(&len)), || format!("{name}: the error has no such id"));
    world.hold(error::leaflog_error_status(error) == status, || format!("{name}: the error is not {status:?}"));
    world.hold(message.is_some_and(|len| len > 0) && whole >= message, || format!("{name}: the error says nothing"));
    if world.next(4) != 1 {
        world.hold(error::leaflog_error_free(error) == leaflog_status::Ok, || "an error is not freed".to_owned());
        world.remove(error.addr());
    }
}
