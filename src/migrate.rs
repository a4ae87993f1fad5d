//! Older versions, read as the current one (R10, R11). The text of a line is changed when it is
//! read; nothing is written here.

use crate::entry::{CURRENT_SESSION_VERSION, EntryKind, Role};
use crate::json::{Edit, Json, Object, apply, quoted};
use crate::load::{Other, OtherKind, Scan};
use crate::tree::{Id, Parent, Tree};
use hashbrown::HashSet;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// How the lines of an older file are to be read.
#[derive(Clone, Debug)]
pub(crate) struct Migration {
    from: u32,
    /// Entries before the header.
    before_header: u32,
    /// The numbers of the values after the header that are no entries; the header is 0.
    other_values: Vec<u64>,
}

impl Migration {
    /// Prepares the migration of a file of version `from`; `None` when it is current. Entries of
    /// a version 1 file get their ids and their place in the chain here, in the index.
    pub(crate) fn prepare(scan: &mut Scan, header: &Other, header_id: &str, from: u32) -> Option<Self> {
        if from >= CURRENT_SESSION_VERSION {
            return None;
        }
        for slot in &mut scan.slots {
            if slot.role == Role::HookMessage {
                slot.role = Role::Custom;
            }
        }
        if from < 2 {
            chain(scan, header_id);
        }
        let other_values = scan
            .others
            .iter()
            .filter(|other| other.offset > header.offset)
            .filter(|other| matches!(other.kind, OtherKind::Session { .. } | OtherKind::TitleSlot | OtherKind::Value))
            .zip(1..)
            .map(|(other, before)| u64::from(other.at - header.at) + before)
            .collect();
        Some(Self { from, before_header: header.at, other_values })
    }

    /// The entry as the current version writes it. Only what must change is changed: keys present
    /// keep their place, new ones go last (R10).
    pub(crate) fn entry<'t>(&self, tree: &Tree, index: u32, text: Cow<'t, [u8]>) -> Cow<'t, [u8]> {
        let mut edits = Vec::new();
        let slot = tree.slot(index);
        let mut entry = Object::read(&text, 0);
        if self.from < 2 {
            let id = |index| tree.id(index).map(|id| quoted(&id));
            if let Some(id) = id(index) {
                entry.set("id", id);
            }
            let parent = tree.parent(index).and_then(id).unwrap_or_else(|| b"null".to_vec());
            entry.set("parentId", parent);
            if slot.kind == EntryKind::Compaction
                && let Some(number) = entry.get("firstKeptEntryIndex").and_then(|span| Json::new(&text[span]).as_f64())
            {
                if let Some(kept) = self.entry_at(number, tree.count()).and_then(id) {
                    entry.set("firstKeptEntryId", kept);
                }
                entry.remove("firstKeptEntryIndex");
            }
        }
        if slot.kind == EntryKind::Message
            && slot.role == Role::Custom
            && let Some(message) = entry.get("message")
        {
            hook_role(&text, message.start, &mut edits);
        }
        entry.into_edits(&mut edits);
        if edits.is_empty() { text } else { Cow::Owned(apply(&text, edits)) }
    }

    /// The entry that is the value `number`, counted from the header, which is 0.
    fn entry_at(&self, number: f64, entries: u32) -> Option<u32> {
        if number.fract() != 0.0 || !(1.0..=f64::from(u32::MAX)).contains(&number) {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range by the check above")]
        let number = number as u32;
        let Err(skipped) = self.other_values.binary_search(&u64::from(number)) else { return None };
        let entry = self.before_header.checked_add(number - 1 - u32::try_from(skipped).ok()?)?;
        (entry < entries).then_some(entry)
    }
}

/// The header as the current version writes it.
pub(crate) fn header(text: &[u8]) -> Vec<u8> {
    let mut header = Object::read(text, 0);
    header.set("version", CURRENT_SESSION_VERSION.to_string().into_bytes());
    header.finish()
}

/// Version 2 to 3: a message's role `hookMessage` is `custom` (R11).
fn hook_role(text: &[u8], message: usize, edits: &mut Vec<Edit>) {
    let mut message = Object::read(text, message);
    let is_hook = message
        .get("role")
        .and_then(|span| Json::new(&text[span]).as_str())
        .is_some_and(|role| Role::from_name(&role) == Role::HookMessage);
    if is_hook {
        message.set("role", quoted(Role::Custom.name().unwrap_or_default()));
        message.into_edits(edits);
    }
}

/// Version 1 to 2: one chain in file order, under ids that every process derives alike (R10).
fn chain(scan: &mut Scan, header_id: &str) {
    let mut used = HashSet::with_capacity(scan.slots.len());
    let mut parent = Parent::Root;
    let mut line = 0;
    let mut on_line = 0;
    for (index, slot) in (0..).zip(&mut scan.slots) {
        let at = scan.lines.of(index);
        on_line = if at == line { on_line + 1 } else { 0 };
        line = at;
        let id = derived_id(header_id, line, on_line, &mut used);
        slot.set_id(Id::Hex(id));
        slot.set_parent(parent);
        parent = Parent::Id(Id::Hex(id));
    }
}

/// The first eight hex digits of SHA-256 over the header's id, the line and, for a further entry
/// on the same line, its number there, joined by colons. An id that is taken is hashed again with
/// one more colon at the end.
fn derived_id(header_id: &str, line: u64, on_line: u32, used: &mut HashSet<u32>) -> u32 {
    let mut text = format!("{header_id}:{line}");
    if on_line > 0 {
        text = format!("{text}:{on_line}");
    }
    loop {
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let id = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        if used.insert(id) {
            return id;
        }
        text.push(':');
    }
}

#[cfg(test)]
#[path = "migrate_tests.rs"]
mod tests;
