//! A JSON value as its text.

use super::cursor::{Cursor, Valid};
use super::string::{decode, decode_wtf8};
use std::borrow::Cow;
use std::fmt;

/// A valid JSON value, as its text. Nothing is decoded before somebody asks; numbers keep their
/// spelling, strings their escapes, objects their key order and duplicate keys (R45).
///
/// To build other types from it, hand [`Json::bytes`] to a JSON parser.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a [u8]);

/// What a [`Json`] value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any length and size.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> Json<'a> {
    /// `text` is one value that passed the scanner, without blanks around it.
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The text as stored. UTF-8 but for what a damaged file holds inside strings.
    #[must_use]
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text, with U+FFFD for bytes that are not UTF-8.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// What the value is.
    #[must_use]
    pub const fn kind(self) -> JsonKind {
        match self.0 {
            [b'n', ..] => JsonKind::Null,
            [b't' | b'f', ..] => JsonKind::Bool,
            [b'"', ..] => JsonKind::String,
            [b'[', ..] => JsonKind::Array,
            [b'{', ..] => JsonKind::Object,
            _ => JsonKind::Number,
        }
    }

    /// The value is `null`.
    #[must_use]
    pub const fn is_null(self) -> bool {
        matches!(self.kind(), JsonKind::Null)
    }

    /// The value is an object.
    #[must_use]
    pub const fn is_object(self) -> bool {
        matches!(self.kind(), JsonKind::Object)
    }

    /// The value is an array.
    #[must_use]
    pub const fn is_array(self) -> bool {
        matches!(self.kind(), JsonKind::Array)
    }

    /// The characters of a string; `None` for other values. Lone surrogates become U+FFFD.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.0 {
            [b'"', inner @ .., b'"'] => Some(decode(inner)),
            _ => None,
        }
    }

    /// The characters of a string in WTF-8, as they are compared.
    pub(crate) fn as_wtf8(self) -> Option<Cow<'a, [u8]>> {
        match self.0 {
            [b'"', inner @ .., b'"'] => Some(decode_wtf8(inner)),
            _ => None,
        }
    }

    /// The nearest double of a number, infinite when it is too large; `None` for other values.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self.kind() {
            JsonKind::Number => std::str::from_utf8(self.0).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// `true` or `false`; `None` for other values.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The member `key` of an object, the last one of that name (R45); `None` when there is none
    /// or the value is no object.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        let wanted = key.as_bytes();
        // With a backslash in it, the bytes of a key say something else than the same characters.
        let plain = memchr::memchr(b'\\', wanted).is_none();
        let mut found = None;
        for (raw, value) in self.raw_members() {
            if plain && raw == wanted || memchr::memchr(b'\\', raw).is_some() && decode(raw) == key {
                found = Some(value);
            }
        }
        found
    }

    /// [`Json::get`], then [`Json::as_str`].
    #[must_use]
    pub fn get_str(self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.as_str()
    }

    /// [`Json::get`], then [`Json::as_wtf8`].
    pub(crate) fn get_wtf8(self, key: &str) -> Option<Cow<'a, [u8]>> {
        self.get(key)?.as_wtf8()
    }

    /// The members of an object in the order of the text, duplicates too; none for other values.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        self.raw_members().map(|(key, value)| (decode(key), value))
    }

    fn raw_members(self) -> impl Iterator<Item = (&'a [u8], Self)> {
        let mut parts = Parts::of(self, b'{');
        std::iter::from_fn(move || {
            let at = parts.next_at()?;
            let (key, value) = parts.cursor.key(at)?;
            Some((&self.0[key.start..key.end], parts.take(value)?))
        })
    }

    /// The items of an array; none for other values.
    pub fn items(self) -> impl Iterator<Item = Self> {
        let mut parts = Parts::of(self, b'[');
        std::iter::from_fn(move || {
            let at = parts.next_at()?;
            parts.take(at)
        })
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Where a walk over the direct parts of an object or array stands.
struct Parts<'a> {
    cursor: Cursor<'a, Valid>,
    /// After the opening bracket or the last part; past the end for any other value.
    at: usize,
}

impl<'a> Parts<'a> {
    fn of(json: Json<'a>, open: u8) -> Self {
        let at = if json.0.first() == Some(&open) { 1 } else { json.0.len() };
        Self { cursor: Cursor::new(json.0, Valid), at }
    }

    /// The start of the next part.
    fn next_at(&mut self) -> Option<usize> {
        let mut at = self.cursor.white(self.at);
        if self.cursor.bytes.get(at) == Some(&b',') {
            at = self.cursor.white(at + 1);
        }
        (at + 1 < self.cursor.bytes.len()).then_some(at)
    }

    fn take(&mut self, at: usize) -> Option<Json<'a>> {
        self.at = self.cursor.value(at)?;
        Some(Json(&self.cursor.bytes[at..self.at]))
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
