//! What an entry's line may hold on disk: large strings cut, transient keys dropped, images put
//! into the blob store (R33-R36, R51, R52). Memory is never touched.

use crate::blob::BlobHash;
use crate::entry::images::{self, Form, Members, is_image_data_url};
use crate::error::Result;
use crate::json::{Edit, Key, Visitor, apply, decode, push_string, walk};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Longest string that is written whole, in UTF-16 units.
const MOST_UNITS: usize = 500_000;
/// What stands for the rest of a longer one.
const NOTICE: &str = "\n\n[Session persistence truncated large content]";
/// Shortest base64 of an image block that goes into the blob store.
const SMALLEST_BLOB: usize = 1024;

/// A line to be written in place of an entry's text.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) line: Vec<u8>,
    /// What must be in the blob store before the line is written.
    pub(crate) blobs: Vec<(BlobHash, Vec<u8>)>,
    /// The entry can be had back from the line and the blobs.
    pub(crate) lossless: bool,
}

/// How the line of an entry holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineForm {
    /// With the text it has in memory.
    Same,
    /// With blob references, from which the text can be had back.
    References,
    /// Only in part.
    Reduced,
}

impl Prepared {
    pub(crate) fn form(&self) -> LineForm {
        if self.lossless { LineForm::References } else { LineForm::Reduced }
    }

    /// Puts the blobs, and only then gives the line that names them (R51), with its form.
    pub(crate) fn put_blobs(self, mut put: impl FnMut(BlobHash, &[u8]) -> Result<()>) -> Result<(Vec<u8>, LineForm)> {
        let form = self.form();
        for (hash, bytes) in self.blobs {
            put(hash, &bytes)?;
        }
        Ok((self.line, form))
    }
}

/// The line for an entry; `None` when the text can be written as it is.
pub(crate) fn prepare(text: &[u8]) -> Option<Prepared> {
    if !may_change(text) {
        return None;
    }
    let mut preparer = Preparer { lossless: true, ..Preparer::default() };
    walk(text, &mut preparer);
    let Preparer { edits, blobs, lossless, .. } = preparer;
    (!edits.is_empty()).then(|| Prepared { line: apply(text, edits), blobs, lossless })
}

/// Keys that are never written, at any depth (R34).
const DROPPED: [&str; 2] = ["partialJson", "jsonlEvents"];

/// What is in every text that may have to change, unless it is long or spelled with escapes.
pub(crate) struct MayChange;

impl crate::json::cursor::Search for MayChange {
    #[inline(always)]
    fn key(key: &[u8]) -> bool {
        DROPPED.iter().any(|dropped| dropped.as_bytes() == key)
    }

    /// The type of an image, its MIME type, or an image URL.
    #[inline(always)]
    fn value(value: &[u8]) -> bool {
        value.starts_with(b"image") || value.starts_with(b"data:image")
    }
}

/// The text can be written as it is. `found`: [`MayChange`] is in it; `escapes`: it has some of
/// the kind `\uXXXX`. Spares almost every entry the walk.
pub(crate) fn is_plain(text: &[u8], found: bool, escapes: bool) -> bool {
    static ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\\u"));
    // A key may be spelled with \u escapes; those of control characters spell none.
    let spelled =
        || ESCAPE.find_iter(text).any(|at| !text[at + 2..].starts_with(b"00") || text.get(at + 4) > Some(&b'1'));
    !found && text.len() <= MOST_UNITS && !(escapes && spelled())
}

fn may_change(text: &[u8]) -> bool {
    use crate::json::cursor;
    let mut reader = cursor::Cursor::new(text, cursor::Seeking::<_, MayChange>::new(cursor::Valid));
    reader.value(0);
    !is_plain(text, reader.found, true)
}

#[derive(Default)]
struct Preparer {
    open: Vec<Frame>,
    /// Frames inside the value of a dropped key.
    inside_dropped: usize,
    edits: Vec<Edit>,
    blobs: Vec<(BlobHash, Vec<u8>)>,
    lossless: bool,
}

/// An open object or array. The last of duplicate keys counts.
#[derive(Default)]
struct Frame {
    object: bool,
    /// A member stays.
    kept: bool,
    /// The first of the members that go before one stays.
    dropped_from: Option<usize>,
    /// Where the last member ends.
    end: usize,
    /// An array under the key `content`, or one inside such an array.
    content: bool,
    /// An object that is an item of such an array.
    content_item: bool,
    images: Members,
    changed: bool,
    data: Option<Range<usize>>,
    /// The string `content`, and lines in what it becomes.
    lines: Option<usize>,
    line_count: Option<Range<usize>>,
}

impl Visitor for Preparer {
    fn open(&mut self, text: &[u8], key: Option<Key>, object: bool, at: usize) {
        if self.inside_dropped > 0 {
            self.inside_dropped += 1;
            return;
        }
        let name = key.map(|key| name(text, key)).unwrap_or_default();
        if self.starts_dropped(key, &name) {
            self.inside_dropped = 1;
            return;
        }
        let in_content = self.open.last().is_some_and(|frame| frame.content);
        self.open.push(Frame {
            object,
            end: at + 1,
            content: !object && (in_content || name == "content"),
            content_item: object && in_content,
            images: Members::of(&name, object),
            ..Frame::default()
        });
    }

    fn close(&mut self, text: &[u8], end: usize) {
        if self.inside_dropped > 0 {
            self.inside_dropped -= 1;
            if self.inside_dropped == 0 {
                self.ends_dropped(end);
            }
            return;
        }
        let Some(mut frame) = self.open.pop() else { return };
        if let Some(span) = frame.data.take() {
            frame.changed |= self.data(text, &frame, span);
        }
        if let Some(from) = frame.dropped_from {
            self.drop_span(from..frame.end);
        }
        if let (true, Some(lines), Some(count)) = (frame.changed, frame.lines, frame.line_count) {
            let with = lines.to_string().into_bytes();
            if text[count.clone()] != *with {
                self.lossless = false;
                self.edits.push(Edit { range: count, with });
            }
        }
        if let Some(parent) = self.open.last_mut() {
            parent.changed |= frame.changed;
            parent.end = end;
        }
    }

    fn scalar(&mut self, text: &[u8], key: Option<Key>, span: Range<usize>) {
        if self.inside_dropped > 0 {
            return;
        }
        let is_string = text[span.start] == b'"';
        let name = key.map(|key| name(text, key)).unwrap_or_default();
        if self.starts_dropped(key, &name) {
            self.ends_dropped(span.end);
            return;
        }
        let Some(frame) = self.open.last_mut() else { return };
        frame.end = span.end;
        if frame.object {
            frame.images.member(&name, is_string.then(|| &text[span.start + 1..span.end - 1]));
            match &*name {
                "data" if is_string => {
                    // Whether it is an image's is known at the end of the object.
                    frame.data = Some(span);
                    return;
                }
                "lineCount" if !is_string && !matches!(text[span.start], b'n' | b't' | b'f') => {
                    frame.line_count = Some(span);
                    return;
                }
                _ => {}
            }
        }
        if !is_string {
            return;
        }
        let with = match frame.images.form(&name) {
            Some(Form::Text) => self.url(text, &span),
            _ => None,
        };
        let changed = match with {
            Some(with) => {
                self.edits.push(Edit { range: span.clone(), with });
                true
            }
            None => self.string(text, &name, span.clone()),
        };
        if let Some(frame) = self.open.last_mut() {
            frame.changed |= changed;
            if frame.object && name == "content" {
                let now = match self.edits.last() {
                    Some(edit) if changed => Cow::Borrowed(&edit.with[1..edit.with.len() - 1]),
                    _ => Cow::Borrowed(&text[span.start + 1..span.end - 1]),
                };
                frame.lines = Some(newlines(&now) + 1);
            }
        }
    }
}

impl Frame {
    /// A later member of the same name takes the place of an earlier one.
    fn forget(&mut self, name: &str) {
        self.images.member(name, None);
        match name {
            "data" => self.data = None,
            "content" => self.lines = None,
            "lineCount" => self.line_count = None,
            _ => {}
        }
    }
}

impl Preparer {
    /// A value begins. Says whether it is one that goes.
    fn starts_dropped(&mut self, key: Option<Key>, name: &str) -> bool {
        let Some((key, frame)) = key.zip(self.open.last_mut()) else { return false };
        let start = key.start - 1;
        if DROPPED.contains(&name) {
            frame.changed = true;
            if !frame.kept {
                frame.dropped_from.get_or_insert(start);
            }
            return true;
        }
        frame.forget(name);
        frame.kept = true;
        if let Some(from) = frame.dropped_from.take() {
            // The comma behind them goes too; behind a member that stays it is the one before.
            self.drop_span(from..start);
        }
        false
    }

    /// A value that goes ended.
    fn ends_dropped(&mut self, end: usize) {
        let Some(frame) = self.open.last_mut() else { return };
        let from = std::mem::replace(&mut frame.end, end);
        if frame.kept {
            self.drop_span(from..end);
        }
    }

    fn drop_span(&mut self, range: Range<usize>) {
        self.lossless = false;
        self.edits.push(Edit { range, with: Vec::new() });
    }

    fn blob(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let hash = BlobHash::of(&bytes);
        let mut reference = Vec::new();
        push_string(&mut reference, &hash.reference());
        self.blobs.push((hash, bytes));
        reference
    }

    /// The `data` of an object that is closed now. Says whether it changed.
    fn data(&mut self, text: &[u8], frame: &Frame, span: Range<usize>) -> bool {
        let raw = &text[span.start + 1..span.end - 1];
        if frame.images.form("data").is_none() {
            return self.string(text, "data", span);
        }
        // Base64 has one unit a byte, and none of its characters needs an escape.
        let is_block = frame.content_item && frame.images.has_image_type() && raw.len() >= SMALLEST_BLOB;
        if !is_block && raw.len() <= MOST_UNITS {
            return false;
        }
        let decoded = decode(raw);
        let large = is_block && decoded.len() >= SMALLEST_BLOB || decoded.len() > MOST_UNITS;
        // Decoding is strict: only what encoding gives back is decoded.
        let Some(bytes) = STANDARD.decode(&*decoded).ok().filter(|_| large) else { return false };
        let with = self.blob(bytes);
        self.edits.push(Edit { range: span, with });
        true
    }

    /// What stands for an image URL.
    fn url(&mut self, text: &[u8], span: &Range<usize>) -> Option<Vec<u8>> {
        let raw = &text[span.start + 1..span.end - 1];
        // The store keeps text; a lone surrogate or a damaged byte cannot be had back from it.
        let url = decode(raw);
        if !is_image_data_url(&url) || url.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        Some(self.blob(url.into_owned().into_bytes()))
    }

    /// Any other string. Says whether it changed.
    fn string(&mut self, text: &[u8], name: &str, span: Range<usize>) -> bool {
        let raw = &text[span.start + 1..span.end - 1];
        if raw.len() <= MOST_UNITS || units(raw) <= MOST_UNITS {
            return false;
        }
        let with = if images::is_signature(name) {
            // Half a signature is none.
            b"\"\"".to_vec()
        } else if images::is_opaque(name, raw) {
            return false;
        } else {
            let kept = &raw[..cut(raw, MOST_UNITS - NOTICE.len())];
            let mut with = Vec::with_capacity(kept.len() + NOTICE.len() + 4);
            with.push(b'"');
            with.extend_from_slice(kept);
            push_string(&mut with, NOTICE);
            // The notice brought its own opening quote.
            with.remove(1 + kept.len());
            with
        };
        self.lossless = false;
        self.edits.push(Edit { range: span, with });
        true
    }
}

fn name(text: &[u8], key: Key) -> Cow<'_, str> {
    decode(&text[key.start..key.end])
}

/// One character of a JSON string as spelled: its bytes, its UTF-16 units, and whether it is the
/// first half of a surrogate pair.
fn character(raw: &[u8]) -> (usize, usize, bool) {
    match raw {
        [b'\\', b'u', a, b, ..] => {
            (6, 1, matches!(a, b'd' | b'D') && matches!(b, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'))
        }
        [b'\\', ..] => (2, 1, false),
        [0xf0..=0xf7, 0x80..=0xbf, 0x80..=0xbf, 0x80..=0xbf, ..] => (4, 2, false),
        [0xe0..=0xef, 0x80..=0xbf, 0x80..=0xbf, ..] => (3, 1, false),
        [0xc0..=0xdf, 0x80..=0xbf, ..] => (2, 1, false),
        _ => (1, 1, false),
    }
}

/// UTF-16 units of a JSON string.
fn units(raw: &[u8]) -> usize {
    let (mut at, mut units) = (0, 0);
    while at < raw.len() {
        let (bytes, more, _) = character(&raw[at..]);
        at += bytes;
        units += more;
    }
    units
}

/// The bytes of the first `most` units, one unit fewer when the last would be the first half of a
/// pair (R33).
fn cut(raw: &[u8], most: usize) -> usize {
    let (mut at, mut left) = (0, most);
    while at < raw.len() {
        let (bytes, units, first_half) = character(&raw[at..]);
        if units > left || first_half && left == 1 {
            break;
        }
        at += bytes;
        left -= units;
    }
    at
}

/// Newlines in a JSON string.
fn newlines(raw: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while let Some(next) = memchr::memchr(b'\\', &raw[at..]) {
        at += next;
        match raw.get(at + 1) {
            Some(b'n') => count += 1,
            Some(b'u') => {
                count += usize::from(raw[at + 2..].starts_with(b"000a") || raw[at + 2..].starts_with(b"000A"))
            }
            _ => {}
        }
        at = (at + 2).min(raw.len());
    }
    count
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
