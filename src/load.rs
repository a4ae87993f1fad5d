//! Loading: one streaming scan of a session file into its index.
//!
//! A file is read in pieces into a reused buffer, never whole; a large one by several threads,
//! each from a line's start to another's. Bytes in memory are scanned where they are.

use crate::entry::{BLOB_PREFIX, EntryKind, Facts, Field, MessageFacts, Role, TitleSlot, Usage, is_record, time};
use crate::error::{Error, ErrorCode, Result};
use crate::json::cursor::{Checked, Nothing, Search, Strings};
use crate::json::damage::{self, Damaged, OnDamage, ReadAhead};
use crate::json::{Cursor, Json, Line, OnValue, Scanner, is_blank};
use crate::storage::Source;
use crate::tree::{Id, Names, Parent, Slot, hex_id};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::Range;

/// Everything a scan found, in file order.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) slots: Vec<Slot>,
    pub(crate) names: Names,
    /// What is not an entry.
    pub(crate) others: Vec<Other>,
    pub(crate) lines: LineNumbers,
    pub(crate) labels: Vec<LabelEvent>,
    /// The usage of all lines, but for those of `usages`.
    pub(crate) usage: Usage,
    /// What each message says, when they are not the first of a sum: a sum of floats depends on its
    /// order, so it is made in that of the file.
    pub(crate) usages: Vec<Usage>,
    collect_usages: bool,
    pub(crate) damage: Damage,
    /// Physical lines.
    pub(crate) line_count: u64,
}

/// What damaged lines leave behind, beside the text that is skipped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage {
    /// Entries that were begun and not finished, as far as they say what they hang on.
    pub(crate) unfinished: Vec<Unfinished>,
    /// Where something was lost that does not say what it was: entries before it, and its place in the file.
    pub(crate) gaps: Vec<(u32, u64)>,
    /// Values over several lines.
    pub(crate) spread: Vec<Spread>,
}

/// The start of an entry of which the rest is lost. Ids are in WTF-8.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) id: Vec<u8>,
    pub(crate) parent: Option<Vec<u8>>,
    /// Entries before it.
    pub(crate) at: u32,
    pub(crate) offset: u64,
}

/// An entry, a header or a title slot that ends on a later line than it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) line: u64,
    pub(crate) lines: u64,
    /// Entries before it.
    pub(crate) at: u32,
    pub(crate) is_entry: bool,
}

impl Damage {
    /// Adds what was found after this; `entries` and `lines` stand before it.
    pub(crate) fn append(&mut self, part: Self, entries: u32, lines: u64) {
        self.unfinished.extend(part.unfinished.into_iter().map(|begun| Unfinished { at: begun.at + entries, ..begun }));
        self.gaps.extend(part.gaps.into_iter().map(|(at, offset)| (at + entries, offset)));
        self.spread.extend(part.spread.into_iter().map(|value| Spread {
            line: value.line + lines,
            at: value.at + entries,
            ..value
        }));
    }

    /// The text of this entry goes over several lines of the file.
    #[inline]
    pub(crate) fn is_spread(&self, entry: u32) -> bool {
        if self.spread.is_empty() {
            return false;
        }
        let from = self.spread.partition_point(|value| value.at < entry);
        self.spread[from..].iter().take_while(|value| value.at == entry).any(|value| value.is_entry)
    }
}

/// A piece of the file that is not an entry, and not blank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Other {
    pub(crate) kind: OtherKind,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// Entries before it.
    pub(crate) at: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherKind {
    /// An object of type `session`, with a string id or without.
    Session { has_id: bool },
    /// A title slot (R48).
    TitleSlot,
    /// A value that is no entry.
    Value,
    /// A line that begins with no value.
    Invalid,
    /// The same, cut off by the end of the file.
    Torn,
    /// Text in front of an entry or a header on the same line.
    Fragment {
        /// A value stands in front of it.
        after_value: bool,
    },
    /// Text after a line's last value.
    Trailing,
}

/// A label entry, decoded while its line was at hand.
#[derive(Debug)]
pub(crate) struct LabelEvent {
    pub(crate) entry: u32,
    /// In WTF-8, as ids are compared.
    pub(crate) target: Vec<u8>,
    pub(crate) label: Option<Vec<u8>>,
}

impl LabelEvent {
    /// What an entry says with these fields: nothing without a target; without a label, or with an empty
    /// one, that the label is cleared (R9).
    pub(crate) fn of(entry: u32, target: Option<Cow<'_, [u8]>>, label: Option<Cow<'_, [u8]>>) -> Option<Self> {
        let label = label.filter(|label| !label.is_empty()).map(Cow::into_owned);
        Some(Self { entry, target: target?.into_owned(), label })
    }
}

/// The physical line of each entry: kept only where it is not the line after the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineNumbers(Vec<(u32, u64)>);

impl LineNumbers {
    /// The line of an entry that comes after all that have one.
    pub(crate) fn push(&mut self, entry: u32, line: u64) {
        let expected = self.0.last().map(|&(first, at)| at + u64::from(entry - first));
        if expected != Some(line) {
            self.0.push((entry, line));
        }
    }

    /// The line of an entry, counted from 1.
    pub(crate) fn of(&self, entry: u32) -> u64 {
        let after = self.0.partition_point(|&(first, _)| first <= entry);
        after.checked_sub(1).map_or(0, |at| self.0[at].1 + u64::from(entry - self.0[at].0))
    }
}

/// What each thread gets at least.
const BYTES_A_THREAD: u64 = 2 << 20;
const MOST_THREADS: u64 = 4;
/// Fits the second-level cache.
const READ: usize = 256 << 10;

/// Scans a whole source. `threads`: how many may be used; `None` for what fits the machine.
pub(crate) fn scan(source: &Source, threads: Option<NonZero<usize>>) -> Result<Scan> {
    let most = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, |n| n.get() as u64);
    let parts = (source.len() / BYTES_A_THREAD).clamp(1, most.min(MOST_THREADS));
    let mut bounds = vec![0];
    for part in 1..parts {
        let bound = part_start(source, (source.len() / parts * part).max(bounds[bounds.len() - 1]))?;
        bounds.push(bound);
    }
    bounds.push(source.len());
    let ranges: Vec<Range<u64>> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let (first, rest) = ranges.split_first().map_or((0..0, &[][..]), |(first, rest)| (first.clone(), rest));
    std::thread::scope(|scope| {
        let start = |range: &Range<u64>| {
            let range = range.clone();
            std::thread::Builder::new().spawn_scoped(scope, move || scan_range(source, range, true))
        };
        let others: Vec<_> = rest.iter().map(start).collect();
        let mut whole = scan_range(source, first, false)?;
        for (other, range) in others.into_iter().zip(rest) {
            let part = match other.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(part)) => part,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gives no more threads: this one does the part.
                Err(_) => scan_range(source, range.clone(), true),
            };
            match (&mut whole, part?) {
                (Some(whole), Some(part)) => whole.append(part)?,
                _ => whole = None,
            }
        }
        match whole {
            Some(whole) => Ok(whole),
            // A part began in the middle of a value.
            None => Ok(scan_range(source, 0..source.len(), false)?.unwrap_or_default()),
        }
    })
}

/// What a scan needs from line to line.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    scanner: Scanner,
    facts: Facts,
    ahead: ReadAhead,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self { scanner: Scanner::new(), facts: Facts::default(), ahead: ReadAhead::new() }
    }

    /// Scans a piece of a file that grew: whole lines, the last one even without its newline.
    /// `line`: the number of lines before it.
    pub(crate) fn lines(&mut self, bytes: &[u8], offset: u64, line: u64) -> Result<Scan> {
        let mut scan = Scan { line_count: line, collect_usages: true, ..Scan::default() };
        scan.piece(self, bytes, offset, true)?;
        Ok(scan)
    }

    /// Scans what a file grew by: `range` of the source, which starts with a line. `line`: the number of
    /// lines before it.
    pub(crate) fn grown(&mut self, source: &Source, range: Range<u64>, line: u64) -> Result<Scan> {
        let mut scan = Scan { line_count: line, collect_usages: true, ..Scan::default() };
        pieces(source, range, usize::MAX, &mut Vec::new(), |bytes, offset, end| {
            scan.piece(self, bytes, offset, end == End::Last)
        })?;
        Ok(scan)
    }

    /// Scans a text that is to be one entry.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it is not.
    pub(crate) fn entry(&mut self, text: &[u8]) -> Result<Scan> {
        let scan = self.lines(text, 0, 0)?;
        let whole = scan.slots.first().is_some_and(|slot| slot.offset == 0 && slot.len as usize == text.len());
        if whole && scan.slots.len() == 1 && scan.others.is_empty() && scan.damage.spread.is_empty() {
            return Ok(scan);
        }
        let message = "the text is not one entry: a JSON object with a string type, other than session";
        Err(Error::new(ErrorCode::InvalidArgument, message))
    }
}

impl Reader {
    /// Reads a text that is to be one object and nothing else, as every entry is. `None` when it is not.
    pub(crate) fn object(&mut self, text: &[u8]) -> Option<&Facts> {
        let line = self.scanner.line(text, 0);
        let end = if line.end == text.len() {
            let mut object = WholeObject { facts: &mut self.facts, end: None };
            line.values(&mut object);
            object.end
        } else {
            self.facts.read(&mut Cursor::new(text, Checked).with_escapes(true), 0)
        };
        (end == Some(text.len())).then_some(&self.facts)
    }
}

/// Takes in the object that starts the text.
struct WholeObject<'a> {
    facts: &'a mut Facts,
    end: Option<usize>,
}

impl OnValue for WholeObject<'_> {
    type Search = Nothing;

    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        if at > 0 {
            // One more than there may be.
            self.end = None;
            return None;
        }
        self.end = self.facts.read(cursor, at);
        self.end
    }

    fn value(&mut self, _start: usize, _end: usize) {}
}

/// What the index wants of a message that is to be appended, read from the message alone: the line
/// that is built around it need not be scanned again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message {
    role: Role,
    usage: Option<Usage>,
    has_provider_payload: bool,
    blob_reference: bool,
    /// What was looked for is in it.
    pub(crate) found: bool,
    /// Keys and values may be spelled with `\u` escapes, which hide what is looked for.
    pub(crate) unicode_escapes: bool,
}

impl Message {
    /// Its role is one of those that mean something here.
    pub(crate) fn has_known_role(&self) -> bool {
        self.role != Role::Other
    }

    /// The entry of a message; the rest of what is known of it is not set.
    pub(crate) fn slot(&self, len: u32) -> Slot {
        let mut slot = Slot::new(0, len, EntryKind::Message, self.role);
        if self.blob_reference {
            slot.mark_blob_reference();
        }
        if self.has_provider_payload {
            slot.mark_provider_payload();
        }
        slot
    }

    /// What it adds to the session's usage.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl Reader {
    /// Reads a text that is to be a message, and looks for `F` in it. `None` when it is not one object and nothing else, or
    /// has line ends, which cannot stand in a line.
    pub(crate) fn message<F: Search>(&mut self, text: &[u8]) -> Option<Message> {
        let line = self.scanner.line(text, 0);
        // Line ends make a line unclean, or end it.
        if line.end != text.len() || !line.is_clean() && memchr::memchr(b'\r', text).is_some() {
            return None;
        }
        let facts = &mut self.facts.message;
        let mut object = LoneObject::<F> { facts, blob_reference: false, found: false, end: None, seeks: PhantomData };
        line.values(&mut object);
        let LoneObject { facts, blob_reference, found, end, .. } = object;
        (end == Some(text.len())).then(|| Message {
            role: facts.role(text),
            usage: facts.usage(text),
            has_provider_payload: facts.has_provider_payload,
            blob_reference,
            found,
            unicode_escapes: line.has_unicode_escapes(),
        })
    }
}

/// Takes in an object that starts the text.
struct LoneObject<'a, F> {
    facts: &'a mut MessageFacts,
    blob_reference: bool,
    found: bool,
    end: Option<usize>,
    seeks: PhantomData<F>,
}

impl<F: Search> OnValue for LoneObject<'_, F> {
    type Search = F;

    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        cursor.watch(BLOB_PREFIX);
        self.end = if at == 0 { self.facts.read(cursor, at) } else { None };
        (self.blob_reference, self.found) = (cursor.marked, cursor.found);
        self.end
    }

    fn value(&mut self, _start: usize, _end: usize) {}
}

/// Where a part may begin: the first line that starts at `from` or later, with an object that is likely no part of a value
/// over several lines. Those are mostly set in; when there are only such lines, any of them.
fn part_start(source: &Source, from: u64) -> Result<u64> {
    const TRIES: usize = 1000;
    let first = line_start(source, from)?;
    let mut at = first;
    for _ in 0..TRIES {
        if at >= source.len() {
            break;
        }
        if *source.read(at, 1)? == *b"{" {
            return Ok(at);
        }
        at = line_start(source, at + 1)?;
    }
    Ok(first)
}

/// The first line that starts at `from` or later.
fn line_start(source: &Source, from: u64) -> Result<u64> {
    let mut at = from.saturating_sub(1);
    let mut step = 4 << 10;
    while at < source.len() {
        let piece = source.read(at, step.min(source.len() - at) as usize)?;
        if let Some(newline) = memchr::memchr(b'\n', &piece) {
            return Ok(at + newline as u64 + 1);
        }
        at += piece.len() as u64;
        step = READ as u64;
    }
    Ok(source.len())
}

/// Scans the lines of `range`, which starts and ends with a line. `None` when a value that begins in it may go on
/// behind it.
fn scan_range(source: &Source, range: Range<u64>, collect_usages: bool) -> Result<Option<Scan>> {
    let mut part = Scan { collect_usages, ..Scan::default() };
    let mut reader = Reader::new();
    let is_last = range.end == source.len();
    let mut is_whole = true;
    pieces(source, range, usize::MAX, &mut Vec::new(), |bytes, offset, end| {
        let done = part.piece(&mut reader, bytes, offset, end == End::Last && is_last)?;
        is_whole = end != End::Last || done == bytes.len();
        Ok(done)
    })?;
    Ok(is_whole.then_some(part))
}

/// Where a piece ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// After a line, or within one that is handed out again with what follows.
    Open,
    /// Within a line that is too long: what follows of it is left out.
    Cut,
    /// With the last byte.
    Last,
}

/// Reads the lines of `range`, which starts and ends with a line, in pieces into `buf`. `take` is
/// handed a piece and its offset, and gives how many bytes it is done with: whole lines, and
/// everything when no more of it comes. A line of more than `longest` bytes is cut.
pub(crate) fn pieces(
    source: &Source,
    range: Range<u64>,
    longest: usize,
    buf: &mut Vec<u8>,
    mut take: impl FnMut(&[u8], u64, End) -> Result<usize>,
) -> Result<()> {
    if let Source::Bytes(bytes) = source {
        return take(&bytes[range.start as usize..range.end as usize], range.start, End::Last).map(drop);
    }
    buf.truncate(READ);
    buf.shrink_to(READ);
    let want = READ.min((range.end - range.start) as usize);
    if buf.len() < want {
        buf.resize(want, 0);
    }
    // `buf[..have]` are the bytes from `offset` on.
    let mut have = 0;
    let mut offset = range.start;
    loop {
        let left = range.end - offset - have as u64;
        if have == buf.len() && left > 0 {
            // One line fills the buffer.
            buf.resize(buf.len() + (buf.len() as u64).min(left) as usize, 0);
        }
        let read = ((buf.len() - have) as u64).min(left) as usize;
        source.read_exact_at(&mut buf[have..have + read], offset + have as u64)?;
        have += read;
        let ends = left == read as u64;
        // Nothing to do before the line that fills the buffer has an end.
        if ends || memchr::memrchr(b'\n', &buf[have - read..have]).is_some() {
            let done = take(&buf[..have], offset, if ends { End::Last } else { End::Open })?;
            buf.copy_within(done..have, 0);
            have -= done;
            offset += done as u64;
        } else if has_no_value(&buf[..have]) {
            // The crash of a file system leaves gigabytes of them (R48). Some stay, so that what comes
            // is not taken for the start of its line, which may have a byte order mark.
            let gone = have.saturating_sub(TitleSlot::LEN);
            buf.copy_within(gone..have, 0);
            have -= gone;
            offset += gone as u64;
        } else if have >= longest {
            take(&buf[..have], offset, End::Cut)?;
            offset = line_start(source, offset + have as u64)?;
            have = 0;
            buf.truncate(READ);
        }
        if ends {
            return Ok(());
        }
    }
}

/// The start of a line holds no value yet.
fn has_no_value(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    line.iter().all(|&byte| is_blank(byte))
}

impl Scan {
    /// Scans the lines of `buf`, whose first byte is at `offset` of the source; the last line
    /// only when it is whole or the source `ends` there. Gives the bytes done with.
    fn piece(&mut self, reader: &mut Reader, buf: &[u8], offset: u64, ends: bool) -> Result<usize> {
        let Reader { scanner, facts, ahead } = reader;
        let mut start = 0;
        while start < buf.len() {
            let line = scanner.line(buf, start);
            let whole = line.end < buf.len();
            if !whole && !ends {
                break;
            }
            let mut end = line.end;
            self.line_count += 1;
            let (stop, values) = self.line(buf, line, facts, offset)?;
            if stop < end {
                let damaged = Damaged { buf, at: stop, end, is_first: values == 0, more: !ends };
                match self.damaged(damaged, facts, ahead, offset)? {
                    Some(last) => end = last,
                    None => {
                        self.line_count -= 1;
                        break;
                    }
                }
            }
            start = end + 1;
        }
        Ok(start.min(buf.len()))
    }

    /// Reads the values that a line begins with; gives where they end, and their number.
    fn line(&mut self, buf: &[u8], line: Line<'_>, facts: &mut Facts, offset: u64) -> Result<(usize, usize)> {
        let mut reader = LineReader::new(self, &buf[..line.end], offset, facts);
        let stop = line.values(&mut reader);
        reader.values_read().map(|values| (stop, values))
    }

    /// Reads what of a line is no value. Gives the end of the last line that was read; `None` when that cannot be
    /// known before more bytes are there.
    #[cold]
    fn damaged(
        &mut self,
        line: Damaged<'_>,
        facts: &mut Facts,
        ahead: &mut ReadAhead,
        offset: u64,
    ) -> Result<Option<usize>> {
        let Damaged { buf, end, is_first, .. } = line;
        let entries = self.entry_count();
        let mut reader = LineReader::new(self, buf, offset, facts);
        reader.after_value = !is_first;
        let read = damage::read(line, ahead, &mut reader);
        let (lost, lines) = (reader.lost, reader.lines);
        let values = reader.values_read()?;
        let rest = match read {
            damage::Read::More => return Ok(None),
            damage::Read::Spread(last) => {
                let is_entry = self.entry_count() > entries;
                self.damage.spread.push(Spread { line: self.line_count, lines, at: entries, is_entry });
                self.line_count += lines - 1;
                return Ok(Some(last));
            }
            damage::Read::Rest(rest) => rest,
        };
        if rest < end {
            let mut text = &buf[rest..end];
            if let [text_of_line @ .., b'\r'] = text {
                text = text_of_line;
            }
            let kind = match (is_first && values == 0, end < buf.len()) {
                (false, _) => OtherKind::Trailing,
                (true, true) => OtherKind::Invalid,
                (true, false) => OtherKind::Torn,
            };
            self.other(kind, offset + rest as u64, text.len());
        }
        // What comes after the last record is in front of the next line's entry.
        self.damage.gaps.extend(lost.map(|(entries, at)| (entries, offset + at as u64)));
        Ok(Some(end))
    }

    fn other(&mut self, kind: OtherKind, offset: u64, len: usize) {
        let at = self.entry_count();
        self.others.push(Other { kind, line: self.line_count, offset, len: len as u64, at });
    }

    #[allow(clippy::cast_possible_truncation, reason = "checked where a slot is pushed")]
    fn entry_count(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Puts what a later part found after this.
    fn append(&mut self, part: Self) -> Result<()> {
        let entries = self.entry_count();
        if self.slots.len() + part.slots.len() > u32::MAX as usize {
            return Err(Error::new(ErrorCode::InvalidArgument, "more entries than 4 billion"));
        }
        let names = self.names.len();
        self.slots.reserve_exact(part.slots.len());
        if part.names.len() == 0 {
            self.slots.extend_from_slice(&part.slots);
        } else {
            self.names.append(&part.names);
            self.slots.extend(part.slots.into_iter().map(|mut slot| {
                slot.shift_names(names);
                slot
            }));
        }
        let lines = self.line_count;
        for (entry, line) in part.lines.0 {
            self.lines.push(entries + entry, lines + line);
        }
        self.others.extend(part.others.into_iter().map(|other| Other {
            line: other.line + lines,
            at: other.at + entries,
            ..other
        }));
        self.labels.extend(part.labels.into_iter().map(|event| LabelEvent { entry: event.entry + entries, ..event }));
        for usage in part.usages {
            self.usage += usage;
        }
        self.damage.append(part.damage, entries, lines);
        self.line_count += part.line_count;
        Ok(())
    }
}

/// Takes in the values of one line.
struct LineReader<'a> {
    scan: &'a mut Scan,
    /// The buffer, at least up to the end of the line.
    bytes: &'a [u8],
    /// Of the buffer in the source.
    offset: u64,
    /// Of the object just read.
    facts: &'a mut Facts,
    /// `facts` are those of the value that ends now.
    is_object: bool,
    values: usize,
    too_many: bool,
    /// Of a damaged line: whether a value stands in front of what is read next, the lines of a value that goes on
    /// over several, and where an entry may be lost that is not known.
    after_value: bool,
    lines: u64,
    lost: Option<(u32, usize)>,
}

impl<'a> LineReader<'a> {
    fn new(scan: &'a mut Scan, bytes: &'a [u8], offset: u64, facts: &'a mut Facts) -> Self {
        Self {
            scan,
            bytes,
            offset,
            facts,
            is_object: false,
            values: 0,
            too_many: false,
            after_value: false,
            lines: 1,
            lost: None,
        }
    }

    /// How many values were read.
    fn values_read(self) -> Result<usize> {
        if self.too_many {
            let error = Error::new(ErrorCode::InvalidArgument, "more entries than 4 billion");
            return Err(error.at_line(self.scan.line_count));
        }
        Ok(self.values)
    }
}

impl OnDamage for LineReader<'_> {
    fn is_record(&self) -> bool {
        is_record(self.facts.type_name, self.facts.id, self.facts.timestamp)
    }

    fn has_type(&self) -> bool {
        self.facts.type_name.is_text()
    }

    fn unfinished(&mut self, start: usize, end: usize) {
        let at = self.scan.entry_count();
        match unfinished(&self.bytes[start..end]) {
            Some((id, parent)) => {
                let offset = self.offset + start as u64;
                self.scan.damage.unfinished.push(Unfinished { id, parent, at, offset });
            }
            None => self.lost = self.lost.or(Some((at, start))),
        }
    }

    fn fragment(&mut self, start: usize, end: usize) {
        let after_value = self.after_value || self.values > 0;
        self.scan.other(OtherKind::Fragment { after_value }, self.offset + start as u64, end - start);
        if let Some((at, start)) = self.lost.take() {
            self.scan.damage.gaps.push((at, self.offset + start as u64));
        }
    }

    fn spread(&mut self, lines: u64) {
        self.lines = lines;
    }
}

/// The id and the parent's id of an entry that was begun, when both can be read.
fn unfinished(text: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let mut facts = Facts::default();
    // It ends too early; what was read before that is there.
    let _: Option<usize> = facts.read(&mut Cursor::new(text, Checked).with_escapes(true), 0);
    let is_entry = facts.type_name.text(text).is_some_and(|name| *name != *b"session");
    let id = facts.id.text(text).filter(|_| is_entry)?.into_owned();
    let parent = match facts.parent {
        Field::Other { start, end } if &text[start..end] == b"null" => None,
        parent => Some(parent.text(text)?.into_owned()),
    };
    Some((id, parent))
}

impl OnValue for LineReader<'_> {
    type Search = Nothing;

    #[inline]
    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        self.is_object = true;
        self.facts.read(cursor, at)
    }

    #[inline]
    fn value(&mut self, start: usize, end: usize) {
        self.values += 1;
        let offset = self.offset + start as u64;
        let type_name = if std::mem::take(&mut self.is_object) { self.facts.type_name } else { Field::Absent };
        let Some(raw) = type_name.raw(self.bytes) else {
            self.scan.other(OtherKind::Value, offset, end - start);
            return;
        };
        let kind = EntryKind::from_bytes(raw);
        if kind != EntryKind::Other {
            self.entry(kind, offset, end - start);
            return;
        }
        let other = match type_name.text(self.bytes).as_deref() {
            Some(b"session") => OtherKind::Session { has_id: self.facts.id.is_text() },
            Some(b"title") if TitleSlot::read(Json::new(&self.bytes[start..end])).is_some() => OtherKind::TitleSlot,
            Some(name) => return self.entry(EntryKind::from_bytes(name), offset, end - start),
            None => return,
        };
        self.scan.other(other, offset, end - start);
    }
}

impl LineReader<'_> {
    #[inline]
    fn entry(&mut self, kind: EntryKind, offset: u64, len: usize) {
        let facts = &*self.facts;
        let index = self.scan.entry_count();
        let Ok(len) = u32::try_from(len) else {
            self.scan.other(OtherKind::Invalid, offset, len);
            return;
        };
        if index == u32::MAX {
            self.too_many = true;
            return;
        }
        let role = if kind == EntryKind::Message { facts.message.role(self.bytes) } else { Role::Other };
        let mut slot = Slot::new(offset, len, kind, role);
        if let Some(time) = time_of(self.bytes, facts.timestamp) {
            slot.time = time;
        }
        if let Some(hex) = facts.id.raw(self.bytes).and_then(hex_id) {
            slot.set_id(Id::Hex(hex));
        } else if let Some(id) = facts.id.text(self.bytes) {
            slot.set_id(hex_id(&id).map_or_else(|| Id::Name(self.scan.names.push(&id)), Id::Hex));
        }
        if let Some(hex) = facts.parent.raw(self.bytes).and_then(hex_id) {
            slot.set_parent(Parent::Id(Id::Hex(hex)));
        } else if let Some(parent) = facts.parent.text(self.bytes)
            && !parent.is_empty()
        {
            let before = self.scan.slots.last().and_then(Slot::id);
            slot.set_parent(Parent::Id(match (hex_id(&parent), before) {
                (Some(hex), _) => Id::Hex(hex),
                (None, Some(Id::Name(name))) if self.scan.names.get(name) == &*parent => Id::Name(name),
                (None, _) => Id::Name(self.scan.names.push(&parent)),
            }));
        }
        if facts.blob_reference {
            slot.mark_blob_reference();
        }
        if kind == EntryKind::Message {
            let start = (offset - self.offset) as usize;
            if facts.is_usual_message(self.bytes, start + len as usize) {
                slot.mark_usual();
            }
            if facts.message.has_provider_payload {
                slot.mark_provider_payload();
            }
            if let Some(usage) = facts.message.usage(self.bytes) {
                if self.scan.collect_usages {
                    self.scan.usages.push(usage);
                } else {
                    self.scan.usage += usage;
                }
            }
        } else if kind == EntryKind::Label
            && let Some(event) = LabelEvent::of(index, facts.target.text(self.bytes), facts.label.text(self.bytes))
        {
            self.scan.labels.push(event);
        }
        let line = self.scan.line_count;
        self.scan.lines.push(index, line);
        self.scan.slots.push(slot);
    }
}

/// The moment that a timestamp says: a text, or a number of milliseconds.
#[inline]
pub(crate) fn time_of(bytes: &[u8], field: Field) -> Option<i64> {
    match field {
        Field::Text { .. } => field.read(bytes, time::parse),
        Field::Other { start, end } => crate::entry::time_ms(Json::new(&bytes[start..end])),
        Field::Absent => None,
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
