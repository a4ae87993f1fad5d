//! Scanning a physical line: where it ends, and the JSON values it begins with.

use super::block::Classifier;
use super::cursor::{Bitmap, Checked, Cursor, Search, Seeking, Strings};
use std::borrow::Cow;

/// Scans the lines of a buffer. Holds the bitmap between lines, so one scanner serves a thread.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    classifier: Classifier,
    quotes: Vec<u64>,
}

/// One classified line of a buffer.
pub(crate) struct Line<'a> {
    bytes: &'a [u8],
    start: usize,
    /// Index of the newline, or the length of the buffer.
    pub(crate) end: usize,
    quotes: &'a [u64],
    clean: bool,
    /// Keys and values of the line may be spelled with `\u` escapes.
    unicode_escapes: bool,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self::with(Classifier::best())
    }

    pub(crate) fn with(classifier: Classifier) -> Self {
        Self { classifier, quotes: Vec::with_capacity(64) }
    }

    /// The line that starts at `start`. It ends at the first newline, or with the buffer.
    pub(crate) fn line<'a>(&'a mut self, buf: &'a [u8], start: usize) -> Line<'a> {
        let line = self.classifier.classify(buf, start, &mut self.quotes);
        Line {
            bytes: &buf[..line.end],
            start,
            end: line.end,
            quotes: &self.quotes,
            clean: line.clean,
            unicode_escapes: line.unicode_escapes,
        }
    }
}

/// What may stand between the values of a line: NUL bytes too (R48).
#[inline]
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0)
}

/// `text` without the blanks around it, when it is one JSON value and nothing else; without
/// newlines, so that it can stand in a line.
pub(crate) fn one_value(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let text = text.trim_ascii();
    let mut scanner = Scanner::new();
    let line = scanner.line(text, 0);
    let end = if line.clean && line.end == text.len() {
        Cursor::new(text, Bitmap { quotes: line.quotes, base: 0 }).value(0)
    } else {
        Cursor::new(text, Checked).value(0)
    };
    if end != Some(text.len()) {
        return None;
    }
    Some(in_one_line(Cow::Borrowed(text)))
}

/// A valid text without newlines, so that it can stand in a line. Inside a string there are none; between tokens a blank
/// is as good.
pub(crate) fn in_one_line(mut text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', &text).is_some() {
        for byte in text.to_mut().iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
    text
}

/// What [`Line::values`] hands out: a way to read the value at a position.
pub(crate) trait OnValue {
    /// What is looked for meanwhile.
    type Search: Search;
    /// Reads the object at `at` and gives the position after it.
    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize>;
    /// The value `start..end` is whole; for an object, [`OnValue::object`] just read it.
    fn value(&mut self, start: usize, end: usize);
}

impl Line<'_> {
    pub(crate) fn is_clean(&self) -> bool {
        self.clean
    }

    /// Something may be spelled with a `\u` escape.
    pub(crate) fn has_unicode_escapes(&self) -> bool {
        self.unicode_escapes
    }

    /// Reads the leading values of the line, one after another (R14). Gives the position of the
    /// first byte that belongs to none of them and is not blank; `end` when there is no such byte.
    ///
    /// NUL bytes count as blanks between values, and a byte order mark at the start of the line
    /// does too (R48).
    pub(crate) fn values(&self, on_value: &mut impl OnValue) -> usize {
        if self.clean {
            self.read(Bitmap { quotes: self.quotes, base: self.start }, on_value)
        } else {
            self.read(Checked, on_value)
        }
    }

    fn read<V: OnValue>(&self, strings: impl Strings, on_value: &mut V) -> usize {
        let strings = Seeking::<_, V::Search>::new(strings);
        let mut cursor = Cursor::new(self.bytes, strings).with_escapes(self.unicode_escapes);
        let mut at = self.start;
        if self.bytes[at..].starts_with(b"\xEF\xBB\xBF") {
            at += 3;
        }
        loop {
            while self.bytes.get(at).is_some_and(|&byte| is_blank(byte)) {
                at += 1;
            }
            let start = at;
            let Some(first) = self.bytes.get(at) else { return self.end };
            let end = if *first == b'{' {
                on_value.object(&mut cursor, at)
            } else {
                cursor.value(at).filter(|&end| {
                    // A bare number or word runs to a delimiter, or it is no value: `2026-11-30`.
                    matches!(first, b'"' | b'[')
                        || self.bytes.get(end).is_none_or(|&next| is_blank(next) || matches!(next, b'{' | b'[' | b'"'))
                })
            };
            let Some(end) = end else { return start };
            on_value.value(start, end);
            at = end;
        }
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
