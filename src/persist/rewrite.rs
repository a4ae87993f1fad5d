//! What a full rewrite writes (R31, R45, R47, R53e): the file's lines in their order, changed
//! ones in their new form, unsaved ones last. Spans that stay are copied, not read.

use super::Pending;
use super::prepare::LineForm;
use crate::blob::BlobHash;
use crate::entry::{TitleSlot, time};
use crate::error::Result;
use crate::json::in_one_line;
use crate::load::OtherKind;
use crate::migrate;
use crate::storage::Source;
use crate::view::SessionView;
use std::borrow::Cow;
use std::ops::Range;

/// Where a rewrite goes.
pub(crate) trait Sink {
    /// Writes bytes.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()>;
    /// Copies a span of the source, in which `edges` are the first and last bytes of entries.
    fn copy(&mut self, source: &Source, span: Range<u64>, edges: &[Range<u64>]) -> Result<()>;
    /// Puts a blob into the store, before the line that names it is written.
    fn blob(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<()>;
}

/// Where everything stands in what was written.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) len: u64,
    pub(crate) entries: Vec<Placed>,
    /// For each of the view's others: its place, length and line.
    pub(crate) others: Vec<(u64, u64, u64)>,
    pub(crate) lines: u64,
}

/// Where an entry will stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub(crate) index: u32,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) line: u64,
    pub(crate) form: LineForm,
}

/// A piece of the file as it is.
#[derive(Clone, Copy)]
struct Piece {
    offset: u64,
    len: u64,
    line: u64,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Entry(u32),
    Other(usize),
}

/// The bytes from `at` on are copied: in them, the entries among `edges` begin and end as entries do. A program
/// that knows no lock may write over the file while it is copied.
pub(crate) fn check_edges(source: &Source, bytes: &[u8], at: u64, edges: &[Range<u64>]) -> Result<()> {
    let byte = |place: u64| place.checked_sub(at).and_then(|place| bytes.get(place as usize));
    let first = edges.partition_point(|entry| entry.end <= at);
    for entry in edges[first..].iter().take_while(|entry| entry.start < at + bytes.len() as u64) {
        if byte(entry.start).is_some_and(|&byte| byte != b'{') || byte(entry.end - 1).is_some_and(|&byte| byte != b'}')
        {
            return Err(source.found_changed());
        }
    }
    Ok(())
}

/// Writes a view's file anew. `now_ms` goes into a title slot that changes.
pub(crate) fn rewrite(view: &SessionView, pending: &Pending, now_ms: i64, sink: &mut impl Sink) -> Result<Layout> {
    let entries = Vec::with_capacity(view.tree().count() as usize);
    let layout = Layout { entries, others: vec![(0, 0, 0); view.others().len()], ..Layout::default() };
    let mut rewriter = Rewriter { view, pending, sink, layout, span: 0..0, edges: Vec::new(), alone: false };
    let mut end = 0;
    let mut line = 1;
    for piece in pieces(view) {
        if piece.offset < end || piece.line < line {
            return Err(view.source().found_changed());
        }
        let slot = rewriter.slot_text(piece, now_ms)?;
        rewriter.gap(
            end..piece.offset,
            piece.line - line,
            slot.is_none() && rewriter.is_copied(piece),
            slot.is_some(),
        )?;
        match piece.what {
            What::Entry(index) => rewriter.entry(index, piece)?,
            What::Other(at) => rewriter.other(at, piece, slot)?,
        }
        end = piece.offset + piece.len;
        line = piece.line;
    }
    // After the last piece stand blanks, NUL bytes and newlines.
    if !rewriter.alone {
        rewriter.blanks(end..view.source().len())?;
    }
    rewriter.newline()?;
    for &index in &pending.unsaved {
        rewriter.prepared(index)?;
        rewriter.newline()?;
    }
    rewriter.flush()?;
    Ok(rewriter.layout)
}

struct Rewriter<'a, S> {
    view: &'a SessionView,
    pending: &'a Pending,
    sink: &'a mut S,
    layout: Layout,
    /// A span of the source that is to be copied.
    span: Range<u64>,
    /// The entries in it.
    edges: Vec<Range<u64>>,
    /// What was written last, or comes next, has a line of its own, without blanks around it.
    alone: bool,
}

/// So much is read at once, and so many entries are copied at once.
const STEP: u64 = 256 << 10;
const EDGES: usize = 4096;

impl<S: Sink> Rewriter<'_, S> {
    /// The piece is copied as it stands in the file, or nothing of it is read.
    fn is_copied(&self, piece: Piece) -> bool {
        !matches!(piece.what, What::Entry(index) if self.is_changed(index))
    }

    fn is_changed(&self, index: u32) -> bool {
        self.pending.changed.contains(&index) && self.view.in_memory(index).is_some()
    }

    /// Between two pieces stand blanks, NUL bytes and newlines, of which at most one stays.
    fn gap(&mut self, gap: Range<u64>, lines: u64, is_next_copied: bool, is_next_alone: bool) -> Result<()> {
        let is_last_alone = std::mem::replace(&mut self.alone, is_next_alone);
        if gap.end - gap.start == 1 && lines == 1 && gap.start > 0 {
            // Beside a text from memory, which may be there because the file cannot be trusted, the
            // newline is not read either.
            if !is_next_copied || self.span.end != gap.start {
                return self.newline();
            }
            self.layout.lines += 1;
            return self.copy(gap);
        }
        let Some(last) = self.last_newline(gap.clone())? else {
            return if is_last_alone || is_next_alone && gap.start > 0 {
                self.newline()
            } else if is_next_alone {
                Ok(())
            } else {
                self.blanks(gap)
            };
        };
        // Before the first piece there is no line to end.
        if gap.start > 0 {
            if !is_last_alone {
                self.blanks(gap.start..last)?;
            }
            self.newline()?;
        }
        if is_next_alone { Ok(()) } else { self.blanks(last + 1..gap.end) }
    }

    fn last_newline(&self, gap: Range<u64>) -> Result<Option<u64>> {
        let mut end = gap.end;
        while end > gap.start {
            let start = end.saturating_sub(STEP).max(gap.start);
            let bytes = self.view.source().read(start, (end - start) as usize)?;
            if let Some(at) = memchr::memrchr(b'\n', &bytes) {
                return Ok(Some(start + at as u64));
            }
            end = start;
        }
        Ok(None)
    }

    /// The blanks of a line, up to its end if that is in the span, without NUL bytes and byte order mark (R47).
    fn blanks(&mut self, span: Range<u64>) -> Result<()> {
        let mut at = span.start;
        while at < span.end {
            let bytes = self.view.source().read(at, STEP.min(span.end - at) as usize)?;
            let line_end = memchr::memchr(b'\n', &bytes);
            let mut blanks = &bytes[..line_end.unwrap_or(bytes.len())];
            if at == span.start {
                blanks = blanks.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(blanks);
            }
            let kept: Vec<u8> = blanks.iter().copied().filter(|&byte| byte != 0).collect();
            self.bytes(&kept)?;
            if line_end.is_some() {
                break;
            }
            at += bytes.len() as u64;
        }
        Ok(())
    }

    fn entry(&mut self, index: u32, piece: Piece) -> Result<()> {
        if self.is_changed(index) {
            return self.prepared(index);
        }
        let offset = self.layout.len;
        match self.view.migrated_line(index)? {
            Some(text) => self.bytes(&text)?,
            None => self.copy_entry(piece.offset..piece.offset + piece.len)?,
        }
        // A text in memory stays: the line has it in another form.
        let form = if self.view.in_memory(index).is_some() { LineForm::Reduced } else { LineForm::Same };
        self.place(index, offset, form);
        Ok(())
    }

    /// Writes an entry from its text in memory.
    fn prepared(&mut self, index: u32) -> Result<()> {
        let offset = self.layout.len;
        let text = self.view.in_memory(index).unwrap_or_default();
        let (line, form) = match self.view.prepared(index) {
            None => (Cow::Borrowed(text), LineForm::Same),
            Some(prepared) => {
                let (line, form) = prepared.put_blobs(|hash, bytes| self.sink.blob(hash, bytes))?;
                (Cow::Owned(line), form)
            }
        };
        self.bytes(&line)?;
        self.place(index, offset, form);
        Ok(())
    }

    fn place(&mut self, index: u32, offset: u64, form: LineForm) {
        #[allow(clippy::cast_possible_truncation, reason = "the loader refuses entries over 4 GB")]
        let len = (self.layout.len - offset) as u32;
        self.layout.entries.push(Placed { index, offset, len, line: self.layout.lines + 1, form });
    }

    /// The line of the title slot, when the piece is it and does not stay as it is: it is renamed, or it has another length
    /// than relatives can write over in place.
    fn slot_text(&self, piece: Piece, now_ms: i64) -> Result<Option<Vec<u8>>> {
        let What::Other(at) = piece.what else { return Ok(None) };
        let Some(slot) = self.view.title_slot().filter(|_| self.view.title_slot_place() == Some(at)) else {
            return Ok(None);
        };
        if self.pending.header.iter().any(|(key, _)| key.starts_with("title")) {
            return Ok(Some(slot.to_text(&time::format(now_ms))));
        }
        let source = self.view.source();
        let end = piece.offset + piece.len;
        let is_right = piece.len + 1 == TitleSlot::LEN as u64
            && (piece.offset == 0 || *source.read(piece.offset - 1, 1)? == *b"\n")
            && (end == source.len() || *source.read(end, 1)? == *b"\n");
        Ok(if is_right { None } else { slot.in_right_length() })
    }

    fn other(&mut self, at: usize, piece: Piece, slot: Option<Vec<u8>>) -> Result<()> {
        let offset = self.layout.len;
        let view = self.view;
        let span = piece.offset..piece.offset + piece.len;
        match (slot, view.others()[at].kind) {
            (Some(text), _) => self.bytes(&text)?,
            _ if view.header_place() == Some(at) && (view.is_migrated() || !self.pending.header.is_empty()) => {
                let text = view.header().json().bytes();
                let migrated = view.is_migrated().then(|| migrate::header(text));
                self.bytes(migrated.as_deref().unwrap_or(text))?;
            }
            (None, OtherKind::Session { .. } | OtherKind::TitleSlot) => {
                let text = view.source().read(piece.offset, piece.len as usize)?;
                if memchr::memchr(b'\n', &text).is_some() {
                    self.bytes(&in_one_line(text))?;
                } else {
                    self.copy(span)?;
                }
            }
            _ => self.copy(span)?,
        }
        self.layout.others[at] = (offset, self.layout.len - offset, self.layout.lines + 1);
        // The entry behind it gets a line of its own: other programs find it then too.
        if let OtherKind::Fragment { .. } = view.others()[at].kind { self.newline() } else { Ok(()) }
    }

    fn copy_entry(&mut self, span: Range<u64>) -> Result<()> {
        if self.edges.len() == EDGES {
            self.flush()?;
        }
        self.copy(span.clone())?;
        self.edges.push(span);
        Ok(())
    }

    fn copy(&mut self, span: Range<u64>) -> Result<()> {
        self.layout.len += span.end - span.start;
        if self.span.end == span.start {
            self.span.end = span.end;
        } else {
            self.flush()?;
            self.span = span;
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.flush()?;
        self.layout.len += bytes.len() as u64;
        self.sink.bytes(bytes)
    }

    fn newline(&mut self) -> Result<()> {
        self.layout.lines += 1;
        self.bytes(b"\n")
    }

    fn flush(&mut self) -> Result<()> {
        let span = std::mem::take(&mut self.span);
        if span.is_empty() {
            return Ok(());
        }
        self.sink.copy(self.view.source(), span, &self.edges)?;
        self.edges.clear();
        Ok(())
    }
}

/// Everything that stands in the file, in its order.
fn pieces(view: &SessionView) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..view.tree().count())
        .filter_map(|index| {
            let (offset, len) = view.span(index)?;
            Some(Piece { offset, len: u64::from(len), line: view.line_of(index), what: What::Entry(index) })
        })
        .collect();
    pieces.extend(view.others().iter().enumerate().map(|(at, other)| Piece {
        offset: other.offset,
        len: other.len,
        line: other.line,
        what: What::Other(at),
    }));
    // Two runs that are in order: this sort merges them.
    pieces.sort_by_key(|piece| piece.offset);
    pieces
}
