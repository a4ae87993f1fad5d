//! The strict JSON grammar over bytes, without recursion and without building anything.
//!
//! One grammar, three ways to find the end of a string ([`Strings`]): the quote bitmap of a line
//! the block classifier called clean, a scalar reader that checks every byte, and a quick one for
//! text that was checked before.

use super::string::decode;
use std::borrow::Cow;
use std::marker::PhantomData;

/// Finds where strings end.
pub(crate) trait Strings {
    /// Index of the quote that closes the string whose first byte is at `from`; `None` when the
    /// string is not closed or is not valid JSON.
    fn close(&self, bytes: &[u8], from: usize) -> Option<usize>;
    /// Whether a key, as it is spelled, is looked for.
    #[inline(always)]
    fn seeks_key(_key: &[u8]) -> bool {
        false
    }
    /// Whether a string value is.
    #[inline(always)]
    fn seeks_value(_value: &[u8]) -> bool {
        false
    }
}

/// What is looked for in a text while it is read, at any depth.
pub(crate) trait Search {
    /// Whether it is a key that is spelled so.
    fn key(key: &[u8]) -> bool;
    /// Whether it is a string value that is spelled so.
    fn value(value: &[u8]) -> bool;
}

/// Nothing is looked for.
pub(crate) struct Nothing;

impl Search for Nothing {
    #[inline(always)]
    fn key(_key: &[u8]) -> bool {
        false
    }

    #[inline(always)]
    fn value(_value: &[u8]) -> bool {
        false
    }
}

/// Reads strings as `S` does and looks for what `F` says.
#[derive(Clone, Copy)]
pub(crate) struct Seeking<S, F>(S, PhantomData<F>);

impl<S, F> Seeking<S, F> {
    pub(crate) fn new(strings: S) -> Self {
        Self(strings, PhantomData)
    }
}

impl<S: Strings, F: Search> Strings for Seeking<S, F> {
    #[inline(always)]
    fn close(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.0.close(bytes, from)
    }

    #[inline(always)]
    fn seeks_key(key: &[u8]) -> bool {
        F::key(key)
    }

    #[inline(always)]
    fn seeks_value(value: &[u8]) -> bool {
        F::value(value)
    }
}

/// The bitmap of a clean line; bit 0 is the byte at `base`.
#[derive(Clone, Copy)]
pub(crate) struct Bitmap<'q> {
    pub(crate) quotes: &'q [u64],
    pub(crate) base: usize,
}

impl Strings for Bitmap<'_> {
    #[inline]
    fn close(&self, _bytes: &[u8], from: usize) -> Option<usize> {
        let bit = from - self.base;
        let mut word = bit / 64;
        let mut bits = self.quotes.get(word)? & (u64::MAX << (bit % 64));
        while bits == 0 {
            word += 1;
            bits = *self.quotes.get(word)?;
        }
        Some(self.base + word * 64 + bits.trailing_zeros() as usize)
    }
}

/// Reads and checks every byte of a string.
#[derive(Clone, Copy)]
pub(crate) struct Checked;

impl Strings for Checked {
    fn close(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            match *bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => match bytes.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'u' => {
                        if !bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        at += 6;
                    }
                    _ => return None,
                },
                0..0x20 => return None,
                _ => at += 1,
            }
        }
    }
}

/// For text that passed one of the others.
#[derive(Clone, Copy)]
pub(crate) struct Valid;

impl Strings for Valid {
    #[inline]
    fn close(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
            if bytes[at] == b'"' {
                return Some(at);
            }
            at += 2;
        }
    }
}

/// A member's key: its bytes between the quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A reader over `bytes`. Positions are indices into it; every method that reads takes a position
/// and gives the one after what it read, or `None` when the text is not JSON there.
pub(crate) struct Cursor<'a, S> {
    pub(crate) bytes: &'a [u8],
    strings: S,
    /// A string value that begins with this sets [`Cursor::marked`].
    marker: &'static [u8],
    /// Strings may be spelled with `\u` escapes, so a prefix cannot be told from the bytes.
    escapes: bool,
    /// A skipped string value began with the marker, or may have.
    pub(crate) marked: bool,
    /// What is looked for was there.
    pub(crate) found: bool,
}

impl<'a, S: Strings> Cursor<'a, S> {
    pub(crate) fn new(bytes: &'a [u8], strings: S) -> Self {
        Self { bytes, strings, marker: b"", escapes: false, marked: false, found: false }
    }

    /// Tells that the text may spell characters with `\u` escapes.
    pub(crate) fn with_escapes(mut self, escapes: bool) -> Self {
        self.escapes = escapes;
        self
    }

    /// Watches for string values that begin with `marker`, or may, spelled with escapes.
    pub(crate) fn watch(&mut self, marker: &'static [u8]) {
        self.marker = marker;
        self.marked = false;
    }

    /// The characters of a key. Only a `\u` escape can spell those of a name.
    #[inline]
    pub(crate) fn name(&self, key: Key) -> Cow<'a, [u8]> {
        let raw = &self.bytes[key.start..key.end];
        if self.escapes && memchr::memchr(b'\\', raw).is_some() {
            return Cow::Owned(decode(raw).into_owned().into_bytes());
        }
        Cow::Borrowed(raw)
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Skips JSON white space; compact text has none.
    #[inline(always)]
    pub(crate) fn white(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(byte) if byte > b' ' => at,
            _ => self.some_white(at),
        }
    }

    #[cold]
    fn some_white(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.byte(at) {
            at += 1;
        }
        at
    }

    /// Skips the value at `at`, which is not white space.
    #[inline]
    pub(crate) fn value(&mut self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'"' => self.string(at),
            b'{' | b'[' => self.container(at),
            _ => self.scalar(at),
        }
    }

    /// Skips the string value that opens at `at`.
    #[inline(always)]
    fn string(&mut self, at: usize) -> Option<usize> {
        let close = self.strings.close(self.bytes, at + 1)?;
        if self.marker.first() == self.bytes.get(at + 1) || self.escapes {
            self.mark(at + 1, close);
        }
        self.found |= S::seeks_value(&self.bytes[at + 1..close]);
        Some(close + 1)
    }

    fn mark(&mut self, start: usize, end: usize) {
        let text = &self.bytes[start..end];
        // A character spelled \uXXXX takes six bytes.
        let head = &text[..text.len().min(self.marker.len() * 6)];
        self.marked |= !self.marker.is_empty()
            && (text.starts_with(self.marker) || self.escapes && memchr::memchr(b'\\', head).is_some());
    }

    /// Skips a number or a literal.
    #[inline]
    fn scalar(&self, at: usize) -> Option<usize> {
        let literal: &[u8] = match self.byte(at)? {
            b't' => b"true",
            b'f' => b"false",
            b'n' => b"null",
            _ => return self.number(at),
        };
        self.bytes[at..].starts_with(literal).then(|| at + literal.len())
    }

    #[inline]
    fn digits(&self, at: usize) -> Option<usize> {
        const EACH: u64 = 0x0101_0101_0101_0101;
        let mut end = at;
        loop {
            let Some(eight) = self.bytes.get(end..).and_then(|rest| rest.first_chunk::<8>()) else {
                while let Some(b'0'..=b'9') = self.byte(end) {
                    end += 1;
                }
                break;
            };
            // A digit is 0x30 and its value: what is left is at most 9.
            let values = u64::from_le_bytes(*eight) ^ (EACH * 0x30);
            let others = (values.wrapping_add(EACH * 0x76) | values) & (EACH * 0x80);
            // A byte that is no digit may carry into those after it, never into those before.
            end += others.trailing_zeros() as usize / 8;
            if others != 0 {
                break;
            }
        }
        (end > at).then_some(end)
    }

    #[inline]
    fn number(&self, mut at: usize) -> Option<usize> {
        if self.byte(at) == Some(b'-') {
            at += 1;
        }
        at = match self.byte(at)? {
            b'0' => at + 1,
            _ => self.digits(at)?,
        };
        if self.byte(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.byte(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.byte(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Some(at)
    }

    /// [`Cursor::key`], which may be looked for.
    #[inline(always)]
    fn sought_key(&mut self, at: usize) -> Option<(Key, usize)> {
        let (key, value) = self.key(at)?;
        self.found |= S::seeks_key(&self.bytes[key.start..key.end]);
        Some((key, value))
    }

    /// Reads the key that opens at `at`; gives it and the position of its value.
    #[inline]
    pub(crate) fn key(&self, at: usize) -> Option<(Key, usize)> {
        if self.byte(at)? != b'"' {
            return None;
        }
        let close = self.strings.close(self.bytes, at + 1)?;
        let colon = self.white(close + 1);
        if self.byte(colon)? != b':' {
            return None;
        }
        Some((Key { start: at + 1, end: close }, self.white(colon + 1)))
    }

    /// Reads the object at `at`. `member` is called with each key and the position of its value,
    /// and gives the position after the value.
    #[inline]
    pub(crate) fn object(
        &mut self,
        at: usize,
        mut member: impl FnMut(&mut Self, Key, usize) -> Option<usize>,
    ) -> Option<usize> {
        if self.byte(at)? != b'{' {
            return None;
        }
        let mut at = self.white(at + 1);
        if self.byte(at)? == b'}' {
            return Some(at + 1);
        }
        loop {
            let (key, value) = self.sought_key(at)?;
            at = member(self, key, value)?;
            at = self.white(at);
            match self.byte(at)? {
                b',' => at = self.white(at + 1),
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Reads the array at `at`; `item` is called as in [`Cursor::object`].
    pub(crate) fn array(
        &mut self,
        at: usize,
        mut item: impl FnMut(&mut Self, usize) -> Option<usize>,
    ) -> Option<usize> {
        if self.byte(at)? != b'[' {
            return None;
        }
        let mut at = self.white(at + 1);
        if self.byte(at)? == b']' {
            return Some(at + 1);
        }
        loop {
            at = item(self, at)?;
            at = self.white(at);
            match self.byte(at)? {
                b',' => at = self.white(at + 1),
                b']' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Skips the object or array at `at`, however deep.
    fn container(&mut self, at: usize) -> Option<usize> {
        let mut nesting = Nesting::default();
        let mut at = at;
        // Each turn stands at a value.
        loop {
            let ended = match self.byte(at)? {
                open @ (b'{' | b'[') => {
                    let object = open == b'{';
                    at = self.white(at + 1);
                    if self.byte(at)? == if object { b'}' } else { b']' } {
                        at += 1;
                        true
                    } else {
                        nesting.push(object);
                        if object {
                            at = self.sought_key(at)?.1;
                        }
                        false
                    }
                }
                b'"' => {
                    at = self.string(at)?;
                    true
                }
                _ => {
                    at = self.scalar(at)?;
                    true
                }
            };
            if !ended {
                continue;
            }
            // After a value: a comma leads to the next, closing brackets lead outwards.
            loop {
                let Some(object) = nesting.top() else { return Some(at) };
                at = self.white(at);
                match self.byte(at)? {
                    b',' => {
                        at = self.white(at + 1);
                        if object {
                            at = self.sought_key(at)?.1;
                        }
                        break;
                    }
                    b'}' if object => nesting.pop(),
                    b']' if !object => nesting.pop(),
                    _ => return None,
                }
                at += 1;
            }
        }
    }
}

/// The open brackets, one bit each: set for an object.
#[derive(Default)]
struct Nesting {
    /// The innermost ones, the last in bit 0.
    bits: u64,
    /// How many of `bits` are in use, at most 64.
    used: u32,
    outer: Vec<u64>,
}

impl Nesting {
    #[inline]
    fn push(&mut self, object: bool) {
        if self.used == 64 {
            self.outer.push(self.bits);
            self.used = 0;
        }
        self.bits = self.bits << 1 | u64::from(object);
        self.used += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.bits >>= 1;
        self.used -= 1;
        if self.used == 0
            && let Some(bits) = self.outer.pop()
        {
            self.bits = bits;
            self.used = 64;
        }
    }

    #[inline]
    fn top(&self) -> Option<bool> {
        (self.used > 0).then_some(self.bits & 1 == 1)
    }
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
