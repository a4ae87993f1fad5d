//! The facts the index wants of a value, picked up while the line is scanned.

use super::kind::Role;
use super::time;
use super::usage::{self, Usage};
use crate::json::cursor::Strings;
use crate::json::{Cursor, decode, decode_wtf8};
use std::borrow::Cow;

/// A string value that begins so may be a blob reference (R51).
pub(crate) const BLOB_PREFIX: &[u8] = b"blob:sha256:";

/// A member's value, as far as the index cares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Field {
    #[default]
    Absent,
    /// A string: its bytes between the quotes.
    Text { start: usize, end: usize },
    /// Anything else.
    Other { start: usize, end: usize },
}

/// What has these members is a record of a session, also where it stands behind something torn (G1).
pub(crate) fn is_record(type_name: Field, id: Field, timestamp: Field) -> bool {
    type_name.is_text() && id.is_text() && timestamp != Field::Absent
}

impl Field {
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Text { .. })
    }

    /// The bytes of a string value between the quotes, escapes and all.
    pub(crate) fn raw(self, bytes: &[u8]) -> Option<&[u8]> {
        let Self::Text { start, end } = self else { return None };
        Some(&bytes[start..end])
    }

    /// What `read` makes of a string value: first of its bytes, which is right when it has no
    /// escapes, then of its characters.
    pub(crate) fn read<T>(self, bytes: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let raw = self.raw(bytes)?;
        read(raw).or_else(|| {
            memchr::memchr(b'\\', raw)?;
            read(decode(raw).as_bytes())
        })
    }

    /// The characters of a string value as WTF-8, in which two strings are the same when a
    /// JavaScript program reads them as the same.
    pub(crate) fn text<'a>(self, bytes: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        self.raw(bytes).map(decode_wtf8)
    }
}

/// What an object on a line says of itself. The last of duplicate keys counts (R45).
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) type_name: Field,
    pub(crate) id: Field,
    pub(crate) parent: Field,
    pub(crate) timestamp: Field,
    pub(crate) target: Field,
    pub(crate) label: Field,
    pub(crate) message: MessageFacts,
    /// Where the value of `message` stands.
    message_at: (usize, usize),
    /// Members of the object, duplicates too.
    members: usize,
    /// Some string in it looks like a blob reference.
    pub(crate) blob_reference: bool,
}

/// What the `message` of an entry says.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageFacts {
    pub(crate) role: Field,
    tool: Field,
    usage: Option<Usage>,
    details_usage: Option<Usage>,
    pub(crate) has_provider_payload: bool,
}

impl MessageFacts {
    pub(crate) fn role(&self, bytes: &[u8]) -> Role {
        self.role
            .read(bytes, |name| Some(Role::from_bytes(name)).filter(|&role| role != Role::Other))
            .unwrap_or(Role::Other)
    }

    /// What the message adds to the session's usage.
    pub(crate) fn usage(&self, bytes: &[u8]) -> Option<Usage> {
        match self.role(bytes) {
            Role::Assistant => self.usage,
            Role::ToolResult if self.tool.text(bytes).as_deref() == Some(b"task") => self.details_usage,
            _ => None,
        }
    }
}

impl Facts {
    /// Reads the object at `at` in place of what was here; gives the position after it.
    pub(crate) fn read<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        *self = Self::default();
        let facts = self;
        cursor.watch(BLOB_PREFIX);
        let end = cursor.object(at, |cursor, key, at| {
            facts.members += 1;
            let field = match &*cursor.name(key) {
                b"type" => &mut facts.type_name,
                b"id" => &mut facts.id,
                b"parentId" => &mut facts.parent,
                b"timestamp" => &mut facts.timestamp,
                b"targetId" => &mut facts.target,
                b"label" => &mut facts.label,
                b"message" => {
                    let end = facts.message.read(cursor, at)?;
                    facts.message_at = (at, end);
                    return Some(end);
                }
                _ => return cursor.value(at),
            };
            take(cursor, at, field)
        })?;
        facts.blob_reference = cursor.marked;
        Some(end)
    }

    /// The object that ends at `end` has the members of a message entry, in the usual order and
    /// spelling: everything but the message can be made from the index again.
    pub(crate) fn is_usual_message(&self, bytes: &[u8], end: usize) -> bool {
        const KEY: &[u8] = b"\"message\":";
        let plain = |field: Field| {
            let Field::Text { start, end } = field else { return None };
            let raw = &bytes[start..end];
            raw.iter().all(|byte| byte.is_ascii() && *byte != b'\\').then_some((start, raw))
        };
        let (at, to) = self.message_at;
        if self.members != 5 || to + 1 != end || !bytes[..at].ends_with(KEY) || bytes[at] != b'{' {
            return false;
        }
        let parent = match self.parent {
            Field::Other { start, end } if &bytes[start..end] == b"null" => start,
            parent => match plain(parent) {
                Some((start, raw)) if !raw.is_empty() => start,
                _ => return false,
            },
        };
        let (Some((type_at, name)), Some((id_at, _)), Some((time_at, time))) =
            (plain(self.type_name), plain(self.id), plain(self.timestamp))
        else {
            return false;
        };
        name == b"message"
            && type_at < id_at
            && id_at < parent
            && parent < time_at
            && time_at < at
            && time::is_usual(time)
    }
}

impl MessageFacts {
    /// Reads the message at `at` in place of what was here; gives the position after it.
    pub(crate) fn read<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        *self = Self::default();
        if cursor.bytes.get(at) != Some(&b'{') {
            return cursor.value(at);
        }
        cursor.object(at, |cursor, key, at| {
            let field = match &*cursor.name(key) {
                b"role" => &mut self.role,
                b"toolName" => &mut self.tool,
                b"usage" => return usage::read(cursor, at, &mut self.usage),
                b"details" => return details(cursor, at, &mut self.details_usage),
                b"providerPayload" => {
                    self.has_provider_payload = true;
                    return cursor.value(at);
                }
                _ => return cursor.value(at),
            };
            take(cursor, at, field)
        })
    }
}

fn details<S: Strings>(cursor: &mut Cursor<'_, S>, at: usize, found: &mut Option<Usage>) -> Option<usize> {
    *found = None;
    if cursor.bytes.get(at) != Some(&b'{') {
        return cursor.value(at);
    }
    cursor.object(
        at,
        |cursor, key, at| {
            if &*cursor.name(key) == b"usage" { usage::read(cursor, at, found) } else { cursor.value(at) }
        },
    )
}

/// Reads the value at `at` into a field; gives the position after it.
#[inline]
pub(crate) fn take<S: Strings>(cursor: &mut Cursor<'_, S>, at: usize, field: &mut Field) -> Option<usize> {
    let end = cursor.value(at)?;
    *field = if cursor.bytes[at] == b'"' {
        Field::Text { start: at + 1, end: end - 1 }
    } else {
        Field::Other { start: at, end }
    };
    Some(end)
}
