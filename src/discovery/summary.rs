//! What a listing says of a session, picked up in one scan that keeps no entry.

use crate::entry::{Field, Header, TitleSlot, take};
use crate::error::{Error, ErrorCode, Result};
use crate::json::cursor::{Nothing, Strings};
use crate::json::{Cursor, Json, OnValue, Scanner};
use crate::load::{End, pieces};
use crate::storage::Source;

/// A header is looked for in this much of a file (R15).
pub(super) const HEADER_WITHIN: usize = 64 << 10;

/// A line that is longer is judged by its beginning, so that a listing needs no more memory than
/// this for each thread.
const LONGEST_LINE: usize = 4 << 20;

/// The first message of a session is kept up to this length, in bytes.
pub(super) const LONGEST_FIRST_MESSAGE: usize = 64 << 10;

/// What is taken from a session's lines, in their order.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) header: Option<Header>,
    slot: Option<TitleSlot>,
    pub(super) message_count: u64,
    /// The first text of a user.
    pub(super) first_message: Option<String>,
    /// Of the last compaction that has one.
    pub(super) short_summary: Option<String>,
    /// Collects the texts of users and assistants, joined by spaces.
    pub(super) texts: Option<String>,
}

/// What a thread keeps from file to file.
pub(super) struct Worker {
    scanner: Scanner,
    buf: Vec<u8>,
}

impl Worker {
    pub(super) fn new() -> Self {
        Self { scanner: Scanner::new(), buf: Vec::new() }
    }
}

/// Whether to go on with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    GoOn,
    Stop,
}

impl Summary {
    pub(super) fn title(&self) -> Option<&str> {
        TitleSlot::title_of(self.slot.as_ref(), self.header.as_ref())
    }

    /// Reads a whole session. `judge` is asked after each piece, from the moment the header is
    /// known; what it stops gives `None`.
    ///
    /// # Errors
    /// `NOT_A_SESSION` without a header in the first 64 KiB; an error of reading.
    pub(super) fn read(
        source: &Source,
        worker: &mut Worker,
        texts: bool,
        judge: &mut dyn FnMut(&Header) -> Verdict,
    ) -> Result<Option<Self>> {
        let mut summary = Self { texts: texts.then(String::new), ..Self::default() };
        let mut stopped = false;
        let Worker { scanner, buf } = worker;
        let longest = if texts { usize::MAX } else { LONGEST_LINE };
        let read = pieces(source, 0..source.len(), longest, buf, |bytes, offset, end| {
            let mut done = 0;
            if summary.header.is_none() {
                // As far as the header may stand, so that a foreign file costs no more than that.
                done = summary.head(scanner, bytes, offset, end);
            }
            let Some(header) = &summary.header else { return Err(not_a_session(source)) };
            if judge(header) == Verdict::Stop {
                stopped = true;
                return Err(not_a_session(source));
            }
            Ok(done + summary.lines(scanner, &bytes[done..], offset + done as u64, end))
        });
        match read {
            Err(_) if stopped => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(Some(summary)),
        }
    }

    /// Reads the beginning of a session; `end` says whether it is all of it.
    pub(super) fn of_prefix(scanner: &mut Scanner, prefix: &[u8], end: End) -> Self {
        let mut summary = Self::default();
        summary.lines(scanner, prefix, 0, end);
        summary
    }

    /// Reads lines until the header is found or can no longer come.
    fn head(&mut self, scanner: &mut Scanner, bytes: &[u8], offset: u64, end: End) -> usize {
        let mut done = 0;
        while self.header.is_none() && done < bytes.len() && offset + (done as u64) < HEADER_WITHIN as u64 {
            let read = self.line(scanner, bytes, done, offset, end);
            if read == 0 {
                break;
            }
            done += read;
        }
        done
    }

    /// Reads the whole lines of a piece, and what it ends with when no more of that comes. Gives
    /// the bytes done with.
    fn lines(&mut self, scanner: &mut Scanner, bytes: &[u8], offset: u64, end: End) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            let read = self.line(scanner, bytes, done, offset, end);
            if read == 0 {
                break;
            }
            done += read;
        }
        done
    }

    /// Reads the line at `start` and gives its length; 0 when more of it comes.
    fn line(&mut self, scanner: &mut Scanner, bytes: &[u8], start: usize, offset: u64, end: End) -> usize {
        let line = scanner.line(bytes, start);
        let whole = line.end < bytes.len();
        if !whole && end == End::Open {
            return 0;
        }
        let stop = line.end;
        let mut reader = LineReader {
            summary: self,
            bytes: &bytes[..stop],
            line_len: stop - start + usize::from(whole),
            header_before: HEADER_WITHIN.saturating_sub(offset as usize),
            facts: Facts::default(),
            is_open: false,
        };
        line.values(&mut reader);
        if reader.is_open && !whole && end == End::Cut {
            reader.value(start, stop);
        }
        (stop + usize::from(whole)) - start
    }
}

fn not_a_session(source: &Source) -> Error {
    let message = match source.len() {
        0 => "not a session: the file is empty",
        _ => "not a session: no session header in the first 64 KiB",
    };
    Error::new(ErrorCode::NotASession, message)
}

/// What an object on a line says of itself; the last of duplicate keys counts (R45).
#[derive(Default)]
struct Facts {
    type_name: Field,
    short_summary: Field,
    /// A message that JavaScript takes for true.
    has_message: bool,
    role: Field,
    content: Option<(usize, usize)>,
}

struct LineReader<'a> {
    summary: &'a mut Summary,
    /// The piece up to the end of the line.
    bytes: &'a [u8],
    /// With its newline.
    line_len: usize,
    /// A header ends here at the latest.
    header_before: usize,
    facts: Facts,
    /// `facts` are of an object whose end was not found.
    is_open: bool,
}

impl OnValue for LineReader<'_> {
    type Search = Nothing;

    #[inline]
    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        self.facts = Facts::default();
        self.is_open = true;
        let facts = &mut self.facts;
        let end = cursor.object(at, |cursor, key, at| match &*cursor.name(key) {
            b"type" => take(cursor, at, &mut facts.type_name),
            b"shortSummary" => take(cursor, at, &mut facts.short_summary),
            b"message" => facts.message(cursor, at),
            _ => cursor.value(at),
        })?;
        self.is_open = false;
        Some(end)
    }

    fn value(&mut self, start: usize, end: usize) {
        let facts = std::mem::take(&mut self.facts);
        let bytes = self.bytes;
        let Some(type_name) = facts.type_name.text(bytes) else { return };
        match &*type_name {
            b"message" if facts.has_message => {
                self.summary.message_count += 1;
                if let Some((from, to)) = facts.content {
                    self.text(&facts, Json::new(&bytes[from..to]));
                }
            }
            b"compaction" => {
                if let Some(text) = facts.short_summary.text(bytes) {
                    self.summary.short_summary = Some(String::from_utf8_lossy(&text).into_owned());
                }
            }
            b"session" if self.summary.header.is_none() && end <= self.header_before => {
                self.summary.header = Header::read(bytes[start..end].to_vec());
            }
            b"title" if self.summary.slot.is_none() => {
                self.summary.slot = TitleSlot::of_line(self.line_len, Json::new(&bytes[start..end]));
            }
            _ => {}
        }
    }
}

impl LineReader<'_> {
    /// Takes in the text of a message.
    fn text(&mut self, facts: &Facts, content: Json<'_>) {
        let is_first = self.summary.first_message.is_none();
        if self.summary.texts.is_none() && !is_first {
            return;
        }
        let is_user = match facts.role.text(self.bytes).as_deref() {
            Some(b"user") => true,
            Some(b"assistant") => false,
            _ => return,
        };
        if is_user && is_first {
            let mut text = String::new();
            push_text(&mut text, content, LONGEST_FIRST_MESSAGE);
            if !text.is_empty() {
                self.summary.first_message = Some(text);
            }
        }
        if let Some(texts) = &mut self.summary.texts {
            let before = texts.len();
            if before > 0 {
                texts.push(' ');
            }
            let from = texts.len();
            push_text(texts, content, usize::MAX);
            if texts.len() == from {
                texts.truncate(before);
            }
        }
    }
}

impl Facts {
    fn message<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        (self.role, self.content) = (Field::Absent, None);
        if cursor.bytes.get(at) != Some(&b'{') {
            let end = cursor.value(at)?;
            self.has_message = is_true(Json::new(&cursor.bytes[at..end]));
            return Some(end);
        }
        self.has_message = true;
        cursor.object(at, |cursor, key, at| match &*cursor.name(key) {
            b"role" => take(cursor, at, &mut self.role),
            b"content" => {
                // Should the line be cut here, as far as it goes.
                self.content = Some((at, cursor.bytes.len()));
                let end = cursor.value(at)?;
                self.content = Some((at, end));
                Some(end)
            }
            _ => cursor.value(at),
        })
    }
}

/// What JavaScript takes for true, of the values that are no object.
fn is_true(value: Json<'_>) -> bool {
    match value.bytes() {
        b"null" | b"false" | b"\"\"" => false,
        [b'-' | b'0'..=b'9', ..] => value.as_f64().is_some_and(|number| number != 0.0),
        _ => true,
    }
}

/// Appends the text of a message's content: a string, or the texts of blocks of the type `text`,
/// joined by spaces. Stops after `most` bytes.
fn push_text(to: &mut String, content: Json<'_>, most: usize) {
    let from = to.len();
    match content.as_str() {
        Some(text) => to.push_str(&text),
        None => {
            let texts = content.items().filter(|block| block.get_str("type").is_some_and(|name| name == "text"));
            for (nth, text) in texts.filter_map(|block| block.get_str("text")).enumerate() {
                if nth > 0 {
                    to.push(' ');
                }
                to.push_str(&text);
                if to.len() - from >= most {
                    break;
                }
            }
        }
    }
    if to.len() - from > most {
        to.truncate(to.floor_char_boundary(from + most));
    }
}
