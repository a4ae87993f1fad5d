//! What stands in the part of a line that is not JSON: whole records behind a fragment, or the first line of a value
//! that goes on in the next ones. Only lines that do not parse come here.

use super::cursor::{Checked, Cursor, Strings};
use super::scan::{OnValue, is_blank};
use memchr::memmem;

/// A value over several lines may take this many bytes.
const LONGEST_VALUE: usize = 16 << 20;
/// Brackets open at once that are kept track of.
const MOST_OPEN: usize = 4096;

/// What [`read`] reports of a damaged line. A record is an object that says of itself that it is an entry or a header.
pub(crate) trait OnDamage: OnValue {
    /// The object that was just read is a record.
    fn is_record(&self) -> bool;
    /// The object that was just read has a type. Of a whole value that is enough.
    fn has_type(&self) -> bool;
    /// A record was begun at `start` and not finished; nothing of it stands from `end` on.
    fn unfinished(&mut self, start: usize, end: usize);
    /// Text that belongs to no value, in front of a record on the same line.
    fn fragment(&mut self, start: usize, end: usize);
    /// The record that comes next goes on over this many lines.
    fn spread(&mut self, lines: u64);
}

/// How much may be read ahead in vain. So a file of any bytes is read in linear time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAhead(usize);

impl Default for ReadAhead {
    fn default() -> Self {
        Self::new()
    }
}

impl ReadAhead {
    pub(crate) const fn new() -> Self {
        Self(4 * LONGEST_VALUE)
    }

    fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

/// A line whose bytes from `at` on are no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damaged<'b> {
    /// The bytes that were read so far, from before the line to after it.
    pub(crate) buf: &'b [u8],
    pub(crate) at: usize,
    /// Index of the newline, or the length of the buffer.
    pub(crate) end: usize,
    /// No value stands in front of `at`.
    pub(crate) is_first: bool,
    /// More bytes come after the buffer.
    pub(crate) more: bool,
}

/// What a damaged line turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// The bytes from here to the end of the line belong to no value.
    Rest(usize),
    /// It begins a value that ends on a later line, whose end this is.
    Spread(usize),
    /// Whether it does cannot be known before more bytes are there.
    More,
}

/// Reads a damaged line.
pub(crate) fn read<V: OnDamage>(line: Damaged<'_>, ahead: &mut ReadAhead, on: &mut V) -> Read {
    if line.is_first
        && let Some(read) = spread(line, ahead, on)
    {
        return read;
    }
    Read::Rest(records(&line.buf[..line.end], line.at, on))
}

/// A value that begins on this line and ends on a later one, as an editor or a formatter writes it.
fn spread<V: OnDamage>(line: Damaged<'_>, ahead: &mut ReadAhead, on: &mut V) -> Option<Read> {
    let Damaged { buf, at: start, end, more, .. } = line;
    if end == buf.len() || buf[start] != b'{' || ahead.0 == 0 {
        return None;
    }
    match object(&buf[..end], start) {
        Err(Broken { at, .. }) if at == end => {}
        _ => return None,
    }
    // Whole lines only: a string that is not closed in them never is.
    let known = if more { memchr::memrchr(b'\n', buf)? + 1 } else { buf.len() };
    let limit = known.min(start + LONGEST_VALUE);
    let close = match object(&buf[..limit], start) {
        Ok(close) => close,
        Err(Broken { at, .. }) => {
            ahead.spend(at - start);
            return (more && at == limit && limit == known).then_some(Read::More);
        }
    };
    let line_end = memchr::memchr(b'\n', &buf[close..]).map_or(buf.len(), |newline| close + newline);
    let mut cursor = Cursor::new(&buf[..close], Checked).with_escapes(true);
    let counts = buf[close..line_end].iter().all(|&byte| is_blank(byte))
        && on.object(&mut cursor, start) == Some(close)
        && on.has_type();
    if !counts {
        ahead.spend(close - start);
        return None;
    }
    on.spread(memchr::memchr_iter(b'\n', &buf[start..close]).count() as u64 + 1);
    on.value(start, close);
    Some(Read::Spread(line_end))
}

/// Finds the whole records in `line[rest..]`; gives the start of what is left after the last.
///
/// A record counts when another or the end of the line follows it. Text that a message quotes is never taken for one: inside
/// a string a quote has a backslash, so a record cannot begin there. An object inside another is followed by a comma or a
/// bracket, or is the last thing that was written of a line that was cut right behind it.
fn records<V: OnDamage>(line: &[u8], rest: usize, on: &mut V) -> usize {
    let begins = memmem::Finder::new(b"{\"");
    let mut fragment = rest;
    let mut from = rest;
    loop {
        let Broken { at, closed } = match line.get(from) {
            Some(b'{') => {
                object(line, from).map_or_else(|broken| broken, |end| Broken { at: end, closed: Some((from, end)) })
            }
            _ => Broken { at: from, closed: None },
        };
        if let Some((start, end)) = closed {
            let next = end + line[end..].iter().take_while(|&&byte| is_blank(byte)).count();
            let mut cursor = Cursor::new(&line[..end], Checked).with_escapes(true);
            if line.get(next).is_none_or(|&byte| byte == b'{')
                && on.object(&mut cursor, start) == Some(end)
                && on.is_record()
            {
                if start > from {
                    on.unfinished(from, start);
                }
                if start > fragment {
                    // Read before the record: it is what was there first.
                    on.fragment(fragment, start);
                    on.object(&mut cursor, start);
                }
                on.value(start, end);
                if next == line.len() {
                    return next;
                }
                (fragment, from) = (next, next);
                continue;
            }
        }
        // What broke it may be the first key of a record: two bytes before, its bracket.
        let after = at.saturating_sub(2).max(from + 1).min(line.len());
        let next = begins.find(&line[after..]).map(|found| after + found);
        on.unfinished(from, next.unwrap_or(line.len()));
        match next {
            Some(next) => from = next,
            None => return fragment,
        }
    }
}

/// Where a text stops being an object.
#[derive(Clone, Copy, Debug)]
struct Broken {
    /// The first token that cannot stand where it stands; the length of the text when it ends too early.
    at: usize,
    /// The object that ends right before that, white space aside.
    closed: Option<(usize, usize)>,
}

/// What may come next inside an object or array.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    /// The first member or item, or the end.
    First,
    Key,
    Value,
    /// A comma, or the end.
    Comma,
}

/// Reads the object at `start` by the grammar of the cursor; gives the position after it, or where and how it broke.
fn object(text: &[u8], start: usize) -> Result<usize, Broken> {
    let mut cursor = Cursor::new(text, Checked);
    let mut open = vec![start];
    let mut closed = None;
    let mut next = Next::First;
    let mut at = start + 1;
    loop {
        at = cursor.white(at);
        let broken = Broken { at, closed };
        let (Some(&byte), Some(&inner)) = (text.get(at), open.last()) else { return Err(broken) };
        let is_object = text[inner] == b'{';
        closed = None;
        match (next, byte) {
            (Next::First | Next::Comma, b'}') if is_object => {}
            (Next::First | Next::Comma, b']') if !is_object => {}
            (Next::Comma, b',') => {
                next = if is_object { Next::Key } else { Next::Value };
                at += 1;
                continue;
            }
            (Next::First | Next::Key, b'"') if is_object => {
                let close = Checked.close(text, at + 1).ok_or(broken)?;
                let colon = cursor.white(close + 1);
                if text.get(colon) != Some(&b':') {
                    return Err(Broken { at: colon, closed: None });
                }
                next = Next::Value;
                at = colon + 1;
                continue;
            }
            (Next::Value, _) | (Next::First, _) if next == Next::Value || !is_object => {
                if matches!(byte, b'{' | b'[') {
                    if open.len() == MOST_OPEN {
                        return Err(broken);
                    }
                    open.push(at);
                    next = Next::First;
                    at += 1;
                } else {
                    at = cursor.value(at).ok_or(broken)?;
                    next = Next::Comma;
                }
                continue;
            }
            _ => return Err(broken),
        }
        at += 1;
        open.pop();
        if open.is_empty() {
            return Ok(at);
        }
        closed = is_object.then_some((inner, at));
        next = Next::Comma;
    }
}

#[cfg(test)]
#[path = "damage_tests.rs"]
mod tests;
