//! Changing parts of JSON text: a list of spans and what stands there instead. What no span
//! covers is copied byte for byte (R45).

use super::cursor::{Cursor, Valid};
use super::string::{decode, push_string};
use std::ops::Range;

/// `range` of the text becomes `with`.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) with: Vec<u8>,
}

/// `text` with the edits made. They do not overlap; those at one place keep their order.
pub(crate) fn apply(text: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.range.start);
    let grown: usize = edits.iter().map(|edit| edit.with.len()).sum();
    let mut out = Vec::with_capacity(text.len() + grown);
    let mut done = 0;
    for edit in edits {
        out.extend_from_slice(&text[done..edit.range.start]);
        out.extend_from_slice(&edit.with);
        done = edit.range.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

struct Member {
    /// The key's opening quote.
    start: usize,
    key: Range<usize>,
    value: Range<usize>,
    fate: Fate,
}

enum Fate {
    Kept,
    Removed,
    Becomes(Vec<u8>),
}

/// The members of one object in a text, to be changed.
pub(crate) struct Object<'a> {
    text: &'a [u8],
    open: usize,
    members: Vec<Member>,
    added: Vec<(&'static str, Vec<u8>)>,
}

impl<'a> Object<'a> {
    /// The object that opens at `open` of valid JSON; without members when there is none.
    pub(crate) fn read(text: &'a [u8], open: usize) -> Self {
        let mut members = Vec::new();
        let mut cursor = Cursor::new(text, Valid);
        cursor.object(open, |cursor, key, at| {
            let end = cursor.value(at)?;
            members.push(Member { start: key.start - 1, key: key.start..key.end, value: at..end, fate: Fate::Kept });
            Some(end)
        });
        Self { text, open, members, added: Vec::new() }
    }

    fn is(&self, member: &Member, key: &str) -> bool {
        let raw = &self.text[member.key.clone()];
        raw == key.as_bytes() || memchr::memchr(b'\\', raw).is_some() && decode(raw) == key
    }

    /// The span of the value of `key`, the last one of that name.
    pub(crate) fn get(&self, key: &str) -> Option<Range<usize>> {
        self.members.iter().rev().find(|member| self.is(member, key)).map(|member| member.value.clone())
    }

    /// Gives `key` another value, in its place; a new key goes last.
    pub(crate) fn set(&mut self, key: &'static str, value: Vec<u8>) {
        match self.members.iter().rposition(|member| self.is(member, key)) {
            Some(at) => self.members[at].fate = Fate::Becomes(value),
            None => self.added.push((key, value)),
        }
    }

    /// Drops every member named `key`.
    pub(crate) fn remove(&mut self, key: &str) {
        for at in 0..self.members.len() {
            if self.is(&self.members[at], key) {
                self.members[at].fate = Fate::Removed;
            }
        }
    }

    /// The text with the changes made.
    pub(crate) fn finish(self) -> Vec<u8> {
        let text = self.text;
        let mut edits = Vec::new();
        self.into_edits(&mut edits);
        apply(text, edits)
    }

    /// The edits that make the changes.
    pub(crate) fn into_edits(self, edits: &mut Vec<Edit>) {
        // Where the text after the last member starts, and whether a member stands before it.
        let mut end = self.open + 1;
        let mut kept = false;
        let starts: Vec<usize> = self.members.iter().map(|member| member.start).collect();
        for (at, member) in self.members.into_iter().enumerate() {
            match member.fate {
                Fate::Kept => kept = true,
                Fate::Becomes(with) => {
                    kept = true;
                    edits.push(Edit { range: member.value.clone(), with });
                }
                // A comma goes with it: the one before, or for a first member the one after.
                Fate::Removed if kept => edits.push(Edit { range: end..member.value.end, with: Vec::new() }),
                Fate::Removed => {
                    let until = starts.get(at + 1).copied().unwrap_or(member.value.end);
                    edits.push(Edit { range: member.start..until, with: Vec::new() });
                }
            }
            end = member.value.end;
        }
        for (key, value) in self.added {
            let mut with = Vec::with_capacity(key.len() + value.len() + 4);
            if kept {
                with.push(b',');
            }
            push_string(&mut with, key);
            with.push(b':');
            with.extend_from_slice(&value);
            edits.push(Edit { range: end..end, with });
            kept = true;
        }
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
