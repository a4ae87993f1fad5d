//! Reading what C hands in, writing what it asks for.
//!
//! The functions here are safe to call under the contract of docs/c-api.md, which no Rust code
//! can break: this crate is a C library and no Rust program links it but its own fuzz target. A pointer that C hands in is
//! NULL, or valid for what its type and the length beside it say, until the call returns.

use crate::error::Failure;
use crate::table;
#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::{OsString, c_char};
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A text or bytes of the caller: a pointer and a length, borrowed for the call. `data` need not end
/// with a NUL. NULL with the length 0 is an absent text, where a text may be absent, and an empty
/// one elsewhere; NULL with another length is an error. Texts are UTF-8; paths are bytes on Unix
/// and UTF-8 elsewhere. `leaflog_cstr()` makes one of a NUL-terminated string.
///
/// Handed out by the library, it is borrowed from the handle that the function names, and a NUL that
/// is not counted follows the text, unless the function says that none does.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_str {
    /// The first byte, or NULL.
    pub data: *const c_char,
    /// The number of bytes.
    pub len: usize,
}

/// A text that the library made for the caller, who owns it and gives it back with
/// `leaflog_string_free()`. A NUL that is not counted follows the text. NULL and 0 when there is
/// nothing to give. What was in the variable before is overwritten, not freed.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_string {
    /// The first byte, or NULL.
    pub data: *const c_char,
    /// The number of bytes before the NUL.
    pub len: usize,
}

/// The id of an entry that was appended: NUL-terminated, at most 16 characters.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_id {
    /// The characters, then at least one NUL.
    pub text: [c_char; 24],
}

/// A struct that C fills in or has filled in, which begins with its own size.
///
/// # Safety
/// The type is `repr(C)`, begins with a `usize`, and is valid with every byte 0 and with whatever
/// C can store in its fields.
pub(crate) unsafe trait Plain: Copy {
    /// Where its fields begin: the struct of an earlier version ends there. [`fields!`] makes it.
    const FIELDS: &'static [usize];

    /// A version of the struct can have this size.
    fn can_have(size: usize) -> bool {
        size.is_multiple_of(align_of::<Self>()) && (size >= size_of::<Self>() || Self::FIELDS.contains(&size))
    }
}

/// Where the fields of a struct begin that begins with `struct_size`. One that is not named does not compile.
macro_rules! fields {
    ($type:ident { $($field:ident),* $(,)? }) => {{
        let _ = |$type { struct_size: _, $($field: _),* }: $type| {};
        &[$(::std::mem::offset_of!($type, $field)),*]
    }};
}
pub(crate) use fields;

impl leaflog_str {
    pub(crate) const ABSENT: Self = Self { data: std::ptr::null(), len: 0 };

    /// `text` must stay where it is for as long as C may read it.
    pub(crate) fn of(text: &[u8]) -> Self {
        Self { data: text.as_ptr().cast(), len: text.len() }
    }

    /// The bytes; `None` when it is absent.
    pub(crate) fn get<'a>(self, what: &str) -> Result<Option<&'a [u8]>, Failure> {
        slice(self.data.cast::<u8>(), self.len, what)
    }

    pub(crate) fn bytes<'a>(self, what: &str) -> Result<&'a [u8], Failure> {
        self.get(what).map(Option::unwrap_or_default)
    }

    pub(crate) fn optional_text<'a>(self, what: &str) -> Result<Option<&'a str>, Failure> {
        self.get(what)?
            .map(|bytes| std::str::from_utf8(bytes).map_err(|error| Failure::not_utf8(what, error.valid_up_to())))
            .transpose()
    }

    pub(crate) fn text<'a>(self, what: &str) -> Result<&'a str, Failure> {
        self.optional_text(what).map(Option::unwrap_or_default)
    }

    pub(crate) fn optional_path<'a>(self, what: &str) -> Result<Option<&'a Path>, Failure> {
        let Some(bytes) = self.get(what)? else { return Ok(None) };
        if bytes.is_empty() {
            return Err(Failure::argument(format!("{what} is empty")));
        }
        if bytes.contains(&0) {
            return Err(Failure::argument(format!("{what} has a NUL inside")));
        }
        #[cfg(unix)]
        let path = Path::new(OsStr::from_bytes(bytes));
        #[cfg(not(unix))]
        let path = Path::new(self.text(what)?);
        Ok(Some(path))
    }

    pub(crate) fn path<'a>(self, what: &str) -> Result<&'a Path, Failure> {
        self.optional_path(what)?.ok_or_else(|| Failure::argument(format!("{what} is missing")))
    }
}

impl leaflog_string {
    pub(crate) const ABSENT: Self = Self { data: std::ptr::null(), len: 0 };

    /// A text for the caller to own.
    pub(crate) fn new(text: impl Into<Vec<u8>>) -> Self {
        let mut text = text.into();
        let len = text.len();
        text.push(0);
        Self { data: table::add_text(text.into_boxed_slice()).cast(), len }
    }

    pub(crate) fn optional(text: Option<impl Into<Vec<u8>>>) -> Self {
        text.map_or(Self::ABSENT, Self::new)
    }

    pub(crate) fn path(path: &Path) -> Self {
        Self::new(path_bytes(path))
    }
}

impl leaflog_id {
    pub(crate) fn new(id: &str) -> Self {
        let mut text = [0; 24];
        // The last one stays NUL.
        for (to, from) in text[..23].iter_mut().zip(id.bytes()) {
            *to = from.cast_signed() as c_char;
        }
        Self { text }
    }
}

/// A path as C gets it.
pub(crate) fn path_bytes(path: &Path) -> Vec<u8> {
    #[cfg(unix)]
    return path.as_os_str().as_bytes().to_owned();
    #[cfg(not(unix))]
    return path.to_string_lossy().into_owned().into_bytes();
}

/// A text of the operating system: bytes on Unix.
pub(crate) fn os_text(bytes: &[u8]) -> OsString {
    #[cfg(unix)]
    return OsStr::from_bytes(bytes).to_owned();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}

/// Paths for C to own, one after another, with a NUL after each.
pub(crate) fn path_list(paths: &[impl AsRef<Path>]) -> leaflog_string {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(&path_bytes(path.as_ref()));
        list.push(0);
    }
    leaflog_string::new(list)
}

/// The texts of an array.
pub(crate) fn texts<'a>(items: *const leaflog_str, count: usize, what: &str) -> Result<Vec<&'a str>, Failure> {
    slice(items, count, what)?.unwrap_or_default().iter().map(|item| item.text(what)).collect()
}

/// The items of an array; `None` for NULL and 0.
pub(crate) fn slice<'a, T: Copy>(items: *const T, count: usize, what: &str) -> Result<Option<&'a [T]>, Failure> {
    if items.is_null() {
        let wrong = || Failure::argument(format!("{what}: NULL with the length {count}"));
        return if count == 0 { Ok(None) } else { Err(wrong()) };
    }
    if !items.is_aligned() || count.checked_mul(size_of::<T>()).is_none_or(|size| size > isize::MAX as usize) {
        return Err(Failure::argument(format!("{what}: no such array can be (length {count})")));
    }
    // SAFETY: not NULL, aligned, and not longer than memory; the contract says that C has `count`
    // items there until the call returns, and nothing that is made of them outlives the call.
    Ok(Some(unsafe { std::slice::from_raw_parts(items, count) }))
}

/// Where C wants something written.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A place that must be there.
    pub(crate) fn new(place: *mut T, what: &str) -> Result<Self, Failure> {
        if place.is_null() {
            return Err(Failure::argument(format!("{what} is NULL")));
        }
        Self::optional(place, what)
    }

    /// A place that may be NULL.
    pub(crate) fn optional(place: *mut T, what: &str) -> Result<Self, Failure> {
        if place.is_aligned() { Ok(Self(place)) } else { Err(Failure::argument(format!("{what} is not aligned"))) }
    }

    pub(crate) fn wanted(&self) -> bool {
        !self.0.is_null()
    }

    /// Writes, when somebody wants it.
    pub(crate) fn put(self, value: T) {
        self.put_with(|| value);
    }

    /// Makes and writes it, when somebody wants it.
    pub(crate) fn put_with(self, value: impl FnOnce() -> T) {
        if self.wanted() {
            // SAFETY: not NULL and aligned; the contract says that C has room for a `T` there. What
            // was there is not read and not dropped.
            unsafe { self.0.write(value()) }
        }
    }
}

/// Reads a struct of the caller. Fields beyond the size it gives are 0, which is their default; a
/// larger struct than this library knows must have nothing but 0 in what is not known.
pub(crate) fn read_sized<T: Plain>(from: *const T, what: &str) -> Result<T, Failure> {
    // SAFETY: the trait says that all 0 is valid.
    let mut value: T = unsafe { std::mem::zeroed() };
    let size = size_at(from, what)?;
    let known = size.min(size_of::<T>());
    // SAFETY: C has `size` bytes at `from`, says the contract; `value` has at least `known`.
    unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    if size > known {
        // SAFETY: the rest of the `size` bytes.
        let rest = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(known), size - known) };
        if rest.iter().any(|&byte| byte != 0) {
            return Err(Failure::argument(format!(
                "{what} has a field that this version of the library does not know"
            )));
        }
    }
    Ok(value)
}

/// A struct of the caller that may be NULL, which is all defaults.
pub(crate) fn read_optional<T: Plain>(from: *const T, what: &str) -> Result<Option<T>, Failure> {
    if from.is_null() { Ok(None) } else { read_sized(from, what).map(Some) }
}

/// A struct that C wants filled in, as far as the size it gives reaches.
pub(crate) struct OutSized<T> {
    place: *mut T,
    size: usize,
}

impl<T: Plain> OutSized<T> {
    pub(crate) fn new(place: *mut T, what: &str) -> Result<Self, Failure> {
        let size = size_at(place.cast_const(), what)?;
        Ok(Self { place, size })
    }

    /// Writes all of `value` that the caller knows, but the size.
    pub(crate) fn put(self, value: &T) {
        let from = size_of::<usize>();
        let count = self.size.min(size_of::<T>()) - from;
        // SAFETY: both have at least `from + count` bytes, and do not overlap: `value` is ours.
        unsafe {
            let value = std::ptr::from_ref(value).cast::<u8>().add(from);
            std::ptr::copy_nonoverlapping(value, self.place.cast::<u8>().add(from), count);
        }
    }
}

/// The size that a struct begins with.
fn size_at<T: Plain>(from: *const T, what: &str) -> Result<usize, Failure> {
    /// No struct will ever be as large; a variable that was never set often is.
    const MOST: usize = 4096;
    if from.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    if !from.is_aligned() {
        return Err(Failure::argument(format!("{what} is not aligned")));
    }
    // SAFETY: not NULL and aligned; the contract says that a struct of this type begins there, and
    // its first field is a `usize`.
    let size = unsafe { from.cast::<usize>().read() };
    // A size of no version would end inside of a pointer, which would be followed, or between a text and its length.
    if size > MOST || !T::can_have(size) {
        return Err(Failure::argument(format!("{what}: struct_size is {size}, not the size of the struct")));
    }
    Ok(size)
}

/// Gives back a text of the library, and makes the variable an absent one. Giving back an absent
/// text does nothing; a text that is not the library's, or was given back already through a copy of
/// the variable, is LEAFLOG_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_string_free(text: *mut leaflog_string) -> crate::status::leaflog_status {
    crate::error::guard(std::ptr::null_mut(), || {
        if text.is_null() {
            return Ok(());
        }
        let known = slice(text.cast_const(), 1, "text")?.and_then(|texts| texts.first()).copied();
        let Some(leaflog_string { data, .. }) = known.filter(|text| !text.data.is_null()) else { return Ok(()) };
        if !table::free_text(data.cast()) {
            return Err(Failure::handle("this is no text of the library, or it was freed before"));
        }
        Out::new(text, "text")?.put(leaflog_string::ABSENT);
        Ok(())
    })
}
