//! What an entry's line may hold on disk: large strings cut, transient keys dropped, images put
//! into the blob store (R33-R36, R51, R52). Memory is never touched.

use crate::blob::BlobHash;
use crate::json::{Edit, Key, Object, Visitor, apply, decode, push_string, walk};
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
}

/// The line for an entry; `None` when the text can be written as it is.
pub(crate) fn prepare(text: &[u8]) -> Option<Prepared> {
    if !may_change(text) {
        return None;
    }
    let mut preparer = Preparer { lossless: true, ..Preparer::default() };
    walk(text, &mut preparer);
    let Preparer { mut edits, blobs, dropped_in, mut lossless, .. } = preparer;
    for open in dropped_in {
        let mut object = Object::read(text, open);
        for key in DROPPED {
            object.remove(key);
        }
        object.into_edits(&mut edits);
        lossless = false;
    }
    (!edits.is_empty()).then(|| Prepared { line: apply(text, edits), blobs, lossless })
}

/// Keys that are never written, at any depth (R34).
const DROPPED: [&str; 2] = ["partialJson", "jsonlEvents"];

/// A quick look that spares almost every entry the walk.
fn may_change(text: &[u8]) -> bool {
    static IMAGE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("image"));
    static DROPPED_KEYS: LazyLock<[memmem::Finder<'static>; 2]> = LazyLock::new(|| DROPPED.map(memmem::Finder::new));
    static ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("\\u"));
    // A key may be spelled with \u escapes; those of control characters spell none.
    let spelled =
        || ESCAPE.find_iter(text).any(|at| !text[at + 2..].starts_with(b"00") || text.get(at + 4) > Some(&b'1'));
    text.len() > MOST_UNITS
        || IMAGE.find(text).is_some()
        || DROPPED_KEYS.iter().any(|key| key.find(text).is_some())
        || spelled()
}

#[derive(Default)]
struct Preparer {
    open: Vec<Frame>,
    /// Frames inside the value of a dropped key.
    inside_dropped: usize,
    /// Objects that have a dropped key.
    dropped_in: Vec<usize>,
    edits: Vec<Edit>,
    blobs: Vec<(BlobHash, Vec<u8>)>,
    lossless: bool,
}

/// An open object or array. The last of duplicate keys counts.
#[derive(Default)]
struct Frame {
    at: usize,
    object: bool,
    /// An array under the key `content`, or one inside such an array.
    content: bool,
    /// An object that is an item of such an array.
    content_item: bool,
    /// The value of `image_url`.
    image_url: bool,
    changed: bool,
    drops: bool,
    image_type: bool,
    image_mime: bool,
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
        let parent = self.open.last();
        let in_content = parent.is_some_and(|frame| frame.content);
        let name = key.map(|key| name(text, key));
        if let (Some(name), Some(frame)) = (&name, self.open.last_mut()) {
            if DROPPED.contains(&&**name) {
                frame.drop_key();
                self.inside_dropped = 1;
                return;
            }
            frame.forget(name);
        }
        self.open.push(Frame {
            at,
            object,
            content: !object && (in_content || name.as_deref() == Some("content")),
            content_item: object && in_content,
            image_url: object && name.as_deref() == Some("image_url"),
            ..Frame::default()
        });
    }

    fn close(&mut self, text: &[u8], _end: usize) {
        if self.inside_dropped > 0 {
            self.inside_dropped -= 1;
            return;
        }
        let Some(mut frame) = self.open.pop() else { return };
        if let Some(span) = frame.data.take() {
            frame.changed |= self.data(text, &frame, span);
        }
        if frame.drops {
            self.dropped_in.push(frame.at);
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
        }
    }

    fn scalar(&mut self, text: &[u8], key: Option<Key>, span: Range<usize>) {
        if self.inside_dropped > 0 {
            return;
        }
        let is_string = text[span.start] == b'"';
        let name = key.map(|key| name(text, key)).unwrap_or_default();
        let in_image_url = self.open.last().is_some_and(|frame| frame.image_url);
        let Some(frame) = self.open.last_mut() else { return };
        if frame.object {
            if DROPPED.contains(&&*name) {
                frame.drop_key();
                return;
            }
            frame.forget(&name);
            let short =
                |most: usize| is_string.then(|| &text[span.start + 1..span.end - 1]).filter(|raw| raw.len() <= most);
            match &*name {
                "type" => frame.image_type = short(64).is_some_and(|raw| decode(raw) == "image"),
                "mimeType" => frame.image_mime = short(1024).is_some_and(|raw| decode(raw).starts_with("image/")),
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
        let is_url = name == "image_url" || name == "url" && in_image_url;
        let with = if is_url { self.url(text, &span) } else { None };
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
    fn drop_key(&mut self) {
        self.drops = true;
        self.changed = true;
    }

    /// A later member of the same name takes the place of an earlier one.
    fn forget(&mut self, name: &str) {
        match name {
            "type" => self.image_type = false,
            "mimeType" => self.image_mime = false,
            "data" => self.data = None,
            "content" => self.lines = None,
            "lineCount" => self.line_count = None,
            _ => {}
        }
    }
}

impl Preparer {
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
        if !frame.image_type && !frame.image_mime {
            return self.string(text, "data", span);
        }
        // Base64 has one unit a byte, and none of its characters needs an escape.
        let is_block = frame.content_item && frame.image_type && raw.len() >= SMALLEST_BLOB;
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
        if is_image_data_url(&decode(&raw[..cut(raw, 4096)])) {
            return false;
        }
        let with = if matches!(name, "thinkingSignature" | "thoughtSignature" | "textSignature") {
            // Half a signature is none.
            b"\"\"".to_vec()
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

/// The text is a `data:` URL of an image in base64: what is never cut (R52).
#[must_use]
pub fn is_image_data_url(text: &str) -> bool {
    text.starts_with("data:image/") && text.contains(";base64,")
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
