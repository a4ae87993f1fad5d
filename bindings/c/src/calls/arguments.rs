//! The types of arguments and answers.

use super::call::{Call, UNTOUCHED};
use super::world::{Make, Memory, World};
use crate::abi::{leaflog_id, leaflog_str, leaflog_string};
use crate::callbacks::leaflog_storage_functions;
use crate::status::leaflog_status;
use crate::{append, entries, finding, history, life, options, read};
use std::ffi::{CStr, c_char};
use std::ptr;

/// A type of arguments.
pub(super) trait Argument {
    fn draw(call: &mut Call, name: &'static str) -> Self;
}

impl<T: Make> Argument for *const T {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        ptr::without_provenance(call.handle::<T>(name))
    }
}

impl<T: Make> Argument for *mut T {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        ptr::without_provenance_mut(call.handle::<T>(name))
    }
}

impl<T: Make> Argument for *mut *mut T {
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

impl Argument for leaflog_str {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        call.text(name)
    }
}

impl Argument for *const leaflog_str {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| call.text("item"))
    }
}

impl Argument for *const life::leaflog_change {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| life::leaflog_change { id: call.text("entry_id"), json: call.text("json") })
    }
}

impl Argument for *const u16 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.array(|call| call.world.one(&[0x61, 0xd83d, 0xde42, 0, 0xdc00]))
    }
}

impl Argument for usize {
    /// All lengths follow their array.
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.len
    }
}

impl Argument for u64 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.world.one(&[0, 1, 2, 7, 1000, u64::MAX, 1 << 40, i64::MAX.cast_unsigned()])
    }
}

impl Argument for u32 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.world.one(&[0, 1, 1000, u32::MAX])
    }
}

impl Argument for i64 {
    fn draw(call: &mut Call, _: &'static str) -> Self {
        call.world.one(&[0, 1_771_237_230_000, -1, i64::MIN, i64::MAX])
    }
}

impl Argument for i32 {
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
        impl Argument for *const $type {
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
        impl Argument for *mut $type {
            fn draw(call: &mut Call, name: &'static str) -> Self {
                call.output(name)
            }
        }
    )*};
}

outputs!(entries::leaflog_entry, finding::leaflog_session_info, history::leaflog_prompt, read::leaflog_usage);

macro_rules! places {
    ($($type:ty),*) => {$(
        impl Argument for *mut $type {
            fn draw(call: &mut Call, name: &'static str) -> Self {
                call.place(name)
            }
        }
    )*};
}

places!(leaflog_str, leaflog_id, u64, i64, i32);

impl Argument for *mut bool {
    fn draw(call: &mut Call, name: &'static str) -> Self {
        call.place::<Truth>(name).cast()
    }
}

impl Argument for *mut leaflog_string {
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
    /// A call that failed may have written it too.
    const OF_FAILURES_TOO: bool = false;

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
    const OF_FAILURES_TOO: bool = true;

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
        impl<R: Answer, $($arg: Argument),*> Function for extern "C" fn($($arg),*) -> R {
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
