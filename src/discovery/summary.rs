//! What a listing says of a session, picked up in one scan that keeps no entry.

use super::info::says_something;
use crate::entry::{Field, Header, TitleSlot, is_record, take, time};
use crate::error::{Error, ErrorCode, Result};
use crate::json::cursor::{Nothing, Strings};
use crate::json::damage::{self, Damaged, OnDamage, ReadAhead};
use crate::json::{Cursor, Json, OnValue, Scanner};
use crate::load::{End, pieces, time_of};
use crate::storage::Source;
use std::time::SystemTime;

/// A header is looked for in this much of a file (R15).
pub(super) const HEADER_WITHIN: usize = 64 << 10;

/// A line that is longer is judged by its beginning, so that a listing needs no more memory than
/// this for each thread.
const LONGEST_LINE: usize = 4 << 20;

/// When a session was used is told by the last message that begins so near its end: as far as the
/// end of a file is read where the rest of it is not.
pub(super) const USED_WITHIN: u64 = 4 << 20;

/// The first message of a session is kept up to this length, in bytes.
pub(super) const LONGEST_FIRST_MESSAGE: usize = 64 << 10;

/// What is taken from a session's lines, in their order.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) header: Option<Header>,
    slot: Option<TitleSlot>,
    pub(super) message_count: u64,
    /// The first text of a user that says something.
    first_message: Option<String>,
    /// The first task of a `session_init` that says something.
    task: Option<String>,
    /// The first text of a custom message that says something.
    custom: Option<String>,
    /// Of the last compaction that has one.
    short_summary: Option<String>,
    /// Where the last message has to begin to tell when the session was used.
    used_from: u64,
    /// The time of that message.
    last_message_ms: Option<i64>,
    /// Collects the texts of users and assistants, joined by spaces.
    pub(super) texts: Option<String>,
    ahead: ReadAhead,
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
    /// What was read will do.
    Enough,
    Stop,
}

/// What is said of a session, one rule for all lists: the title, the short summary, the first text of
/// a user, the task, the first custom message, each when it says something.
impl Summary {
    pub(super) fn title(&self) -> Option<&str> {
        TitleSlot::title_of(self.slot.as_ref(), self.header.as_ref()).filter(|title| says_something(title))
    }

    /// The title, else the short summary of the last compaction that has one.
    pub(super) fn title_or_summary(&self) -> Option<&str> {
        self.title().or(self.short_summary.as_deref())
    }

    pub(super) fn first_text(&self) -> Option<&str> {
        [&self.first_message, &self.task, &self.custom].into_iter().find_map(Option::as_deref)
    }

    /// No more is to be read for [`Summary::first_text`].
    pub(super) fn has_text_of_user(&self) -> bool {
        self.first_message.is_some()
    }

    /// When the session was used last, of a file that last changed at `modified`: when its last
    /// message was written or it began, whichever is later; not when it was renamed, migrated or
    /// labeled. That of the file when its end does not say.
    pub(super) fn used(&self, modified: SystemTime) -> SystemTime {
        if self.last_message_ms.is_none() && self.used_from > 0 {
            return modified;
        }
        let used = self.last_message_ms.max(self.header.as_ref().and_then(began_ms));
        used.and_then(time::system_time).map_or(modified, |used| used.min(modified))
    }

    /// The end of a session, with what its beginning says of the header.
    pub(super) fn with_header_of(mut self, beginning: &Self) -> Self {
        self.header.clone_from(&beginning.header);
        self
    }

    /// Reads the end of a session, as far as it takes to know when it was used.
    pub(super) fn of_end(scanner: &mut Scanner, source: &Source) -> Result<Self> {
        const STEPS: [u64; 3] = [64 << 10, 512 << 10, USED_WITHIN];
        let mut summary = Self::default();
        for most in STEPS {
            summary = Self { used_from: source.len().saturating_sub(most), ..Self::default() };
            // One more shows whether a line begins there.
            let from = summary.used_from.saturating_sub(1);
            let bytes = source.read(from, (source.len() - from) as usize)?;
            let start = match summary.used_from {
                0 => Some(0),
                _ => memchr::memchr(b'\n', &bytes).map(|end| end + 1),
            };
            if let Some(start) = start {
                summary.lines(scanner, &bytes[start..], from + start as u64, End::Last);
            }
            if summary.used_from == 0 || summary.last_message_ms.is_some() {
                break;
            }
        }
        Ok(summary)
    }

    /// Reads a whole session. `judge` is asked before each piece, of what was read until then and
    /// where the piece begins, from the moment the header is known; what it stops gives `None`.
    ///
    /// # Errors
    /// `NOT_A_SESSION` without a header in the first 64 KiB; an error of reading.
    pub(super) fn read(
        source: &Source,
        worker: &mut Worker,
        texts: bool,
        judge: &mut dyn FnMut(&Self, u64) -> Verdict,
    ) -> Result<Option<Self>> {
        let used_from = source.len().saturating_sub(USED_WITHIN);
        let mut summary = Self { texts: texts.then(String::new), used_from, ..Self::default() };
        let mut verdict = Verdict::GoOn;
        let Worker { scanner, buf } = worker;
        let longest = if texts { usize::MAX } else { LONGEST_LINE };
        let read = pieces(source, 0..source.len(), longest, buf, |bytes, offset, end| {
            let mut done = 0;
            if summary.header.is_none() {
                // As far as the header may stand, so that a foreign file costs no more than that.
                done = summary.head(scanner, bytes, offset, end);
            }
            if summary.header.is_none() {
                return Err(not_a_session(source));
            }
            verdict = judge(&summary, offset);
            if verdict != Verdict::GoOn {
                return Err(not_a_session(source));
            }
            Ok(done + summary.lines(scanner, &bytes[done..], offset + done as u64, end))
        });
        match (verdict, read) {
            (Verdict::Stop, _) => Ok(None),
            (Verdict::GoOn, Err(error)) => Err(error),
            (Verdict::Enough, _) | (Verdict::GoOn, Ok(())) => Ok(Some(summary)),
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
        let mut stop = line.end;
        let tells_use = offset + start as u64 >= self.used_from;
        let mut reader = LineReader {
            summary: self,
            bytes: &bytes[..stop],
            header_before: HEADER_WITHIN.saturating_sub(offset as usize),
            tells_use,
            facts: Facts::default(),
            is_open: false,
            any: false,
        };
        let read = line.values(&mut reader);
        if read < stop && (whole || end == End::Last) {
            let damaged = Damaged { buf: bytes, at: read, end: stop, is_first: !reader.any, more: end == End::Open };
            match self.damaged(damaged, offset) {
                Some(last) => stop = last,
                None => return 0,
            }
            return (stop + usize::from(stop < bytes.len())) - start;
        }
        if reader.is_open && !whole && end == End::Cut {
            reader.value(start, stop);
        }
        (stop + usize::from(whole)) - start
    }
}

/// When a session began, in milliseconds since 1970.
pub(super) fn began_ms(header: &Header) -> Option<i64> {
    header.timestamp.as_deref().and_then(|text| time::parse(text.as_bytes()))
}

impl Summary {
    /// Reads what of a line is no value, as [`crate::load`] does. Gives the end of the last line that was read; `None`
    /// when that cannot be known before more bytes are there.
    #[cold]
    fn damaged(&mut self, line: Damaged<'_>, offset: u64) -> Option<usize> {
        let mut ahead = self.ahead;
        let tells_use = offset + line.at as u64 >= self.used_from;
        let mut reader = LineReader {
            summary: self,
            bytes: line.buf,
            header_before: HEADER_WITHIN.saturating_sub(offset as usize),
            tells_use,
            facts: Facts::default(),
            is_open: false,
            any: false,
        };
        let read = damage::read(line, &mut ahead, &mut reader);
        self.ahead = ahead;
        match read {
            damage::Read::More => None,
            damage::Read::Spread(last) => Some(last),
            damage::Read::Rest(_) => Some(line.end),
        }
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
    id: Field,
    timestamp: Field,
    short_summary: Field,
    task: Field,
    /// The content of a custom message.
    own_content: Option<(usize, usize)>,
    /// A message that JavaScript takes for true.
    has_message: bool,
    role: Field,
    content: Option<(usize, usize)>,
}

struct LineReader<'a> {
    summary: &'a mut Summary,
    /// The piece up to the end of the line.
    bytes: &'a [u8],
    /// A header ends here at the latest.
    header_before: usize,
    /// A message that begins here tells when the session was used.
    tells_use: bool,
    facts: Facts,
    /// `facts` are of an object whose end was not found.
    is_open: bool,
    /// A value was read.
    any: bool,
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
            b"id" => take(cursor, at, &mut facts.id),
            b"timestamp" => take(cursor, at, &mut facts.timestamp),
            b"shortSummary" => take(cursor, at, &mut facts.short_summary),
            b"task" => take(cursor, at, &mut facts.task),
            b"content" => span(cursor, at, &mut facts.own_content),
            b"message" => facts.message(cursor, at),
            _ => cursor.value(at),
        })?;
        self.is_open = false;
        Some(end)
    }

    fn value(&mut self, start: usize, end: usize) {
        self.any = true;
        let facts = std::mem::take(&mut self.facts);
        let bytes = self.bytes;
        let Some(type_name) = facts.type_name.text(bytes) else { return };
        match &*type_name {
            b"message" if facts.has_message => {
                self.summary.message_count += 1;
                if self.tells_use
                    && let Some(ms) = time_of(bytes, facts.timestamp)
                {
                    self.summary.last_message_ms = Some(ms);
                }
                if let Some((from, to)) = facts.content {
                    self.text(&facts, Json::new(&bytes[from..to]));
                }
            }
            b"compaction" => {
                if let Some(text) = saying_something(&facts.short_summary, bytes) {
                    self.summary.short_summary = Some(text);
                }
            }
            b"session_init" if self.summary.task.is_none() => {
                self.summary.task = saying_something(&facts.task, bytes);
            }
            b"custom_message" if self.summary.custom.is_none() => {
                if let Some((from, to)) = facts.own_content {
                    self.summary.custom = first_text(Json::new(&bytes[from..to]));
                }
            }
            b"session" if self.summary.header.is_none() && end <= self.header_before => {
                self.summary.header = Header::read(bytes[start..end].to_vec());
            }
            b"title" if self.summary.slot.is_none() => {
                self.summary.slot = TitleSlot::read(Json::new(&bytes[start..end]));
            }
            _ => {}
        }
    }
}

impl OnDamage for LineReader<'_> {
    fn is_record(&self) -> bool {
        is_record(self.facts.type_name, self.facts.id, self.facts.timestamp)
    }

    fn has_type(&self) -> bool {
        self.facts.type_name.is_text()
    }

    fn unfinished(&mut self, _start: usize, _end: usize) {}

    fn fragment(&mut self, _start: usize, _end: usize) {}

    fn spread(&mut self, _lines: u64) {}
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
            self.summary.first_message = first_text(content);
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
            b"content" => span(cursor, at, &mut self.content),
            _ => cursor.value(at),
        })
    }
}

/// Notes where a value stands.
fn span<S: Strings>(cursor: &mut Cursor<'_, S>, at: usize, span: &mut Option<(usize, usize)>) -> Option<usize> {
    // Should the line be cut here, as far as it goes.
    *span = Some((at, cursor.bytes.len()));
    let end = cursor.value(at)?;
    *span = Some((at, end));
    Some(end)
}

/// What JavaScript takes for true, of the values that are no object.
fn is_true(value: Json<'_>) -> bool {
    match value.bytes() {
        b"null" | b"false" | b"\"\"" => false,
        [b'-' | b'0'..=b'9', ..] => value.as_f64().is_some_and(|number| number != 0.0),
        _ => true,
    }
}

/// A text, at most as much of it as of a first message, when it says something.
fn saying_something(text: &Field, bytes: &[u8]) -> Option<String> {
    let mut text = String::from_utf8_lossy(&text.text(bytes)?).into_owned();
    text.truncate(text.floor_char_boundary(LONGEST_FIRST_MESSAGE));
    says_something(&text).then_some(text)
}

/// The text of a first message, when it says something.
fn first_text(content: Json<'_>) -> Option<String> {
    let mut text = String::new();
    push_text(&mut text, content, LONGEST_FIRST_MESSAGE);
    says_something(&text).then_some(text)
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
