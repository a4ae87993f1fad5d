//! One index record an entry line, and the ids.

use crate::entry::{EntryKind, Role};
use crate::hex::HEX;
use std::borrow::Cow;

/// What the index keeps of an entry: where its text is, and what the walks ask for. 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Where the entry's JSON starts.
    pub(crate) offset: u64,
    /// Milliseconds since 1970, or [`Slot::NO_TIME`].
    pub(crate) time: i64,
    /// Bytes of the JSON.
    pub(crate) len: u32,
    /// The id, in the form that `forms` says.
    id: u32,
    /// The parent, in the form that `forms` says.
    parent: u32,
    pub(crate) kind: EntryKind,
    pub(crate) role: Role,
    forms: u8,
    flags: u8,
}

/// An id: eight lowercase hex digits as their number, any other string by its place in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Hex(u32),
    Name(u32),
}

/// What an entry hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Nothing: a root.
    Root,
    /// The entry of this index.
    Entry(u32),
    /// An id that is not looked up yet or that no entry has.
    Id(Id),
}

/// Another line with the same id comes later.
const SUPERSEDED: u8 = 1;
/// Some string in it may be a blob reference.
const BLOB_REFERENCE: u8 = 2;
/// Its message has a `providerPayload`.
const PROVIDER_PAYLOAD: u8 = 4;
/// Following parents from it leads back to it.
const IN_CYCLE: u8 = 8;
/// This process appended it.
const OWN: u8 = 16;
/// This process appended it, but shows it as if it was loaded.
const AS_LOADED: u8 = 32;
/// Its text is known to be written as it is.
const PLAIN: u8 = 64;
/// It is a message whose text, but for the message, can be made from the index again.
const USUAL: u8 = 128;

/// Set in an offset that is a place in memory, not in the file.
const IN_MEMORY: u64 = 1 << 63;

impl Slot {
    pub(crate) const NO_TIME: i64 = i64::MIN;

    pub(crate) fn new(offset: u64, len: u32, kind: EntryKind, role: Role) -> Self {
        Self { offset, time: Self::NO_TIME, len, id: 0, parent: 0, kind, role, forms: 0, flags: 0 }
    }

    pub(crate) fn id(&self) -> Option<Id> {
        match self.forms & 3 {
            0 => None,
            1 => Some(Id::Hex(self.id)),
            _ => Some(Id::Name(self.id)),
        }
    }

    pub(crate) fn set_id(&mut self, id: Id) {
        let (form, value) = match id {
            Id::Hex(value) => (1, value),
            Id::Name(value) => (2, value),
        };
        self.id = value;
        self.forms = self.forms & !3 | form;
    }

    pub(crate) fn parent(&self) -> Parent {
        match self.forms >> 2 {
            0 => Parent::Root,
            1 => Parent::Id(Id::Hex(self.parent)),
            2 => Parent::Id(Id::Name(self.parent)),
            _ => Parent::Entry(self.parent),
        }
    }

    pub(crate) fn set_parent(&mut self, parent: Parent) {
        let (form, value) = match parent {
            Parent::Root => (0, 0),
            Parent::Id(Id::Hex(value)) => (1, value),
            Parent::Id(Id::Name(value)) => (2, value),
            Parent::Entry(index) => (3, index),
        };
        self.parent = value;
        self.forms = self.forms & 3 | form << 2;
    }

    /// Moves the names of the slot, when its names are put after `by` others.
    pub(crate) fn shift_names(&mut self, by: u32) {
        if let Some(Id::Name(name)) = self.id() {
            self.set_id(Id::Name(name + by));
        }
        if let Parent::Id(Id::Name(name)) = self.parent() {
            self.set_parent(Parent::Id(Id::Name(name + by)));
        }
    }

    /// The text is in memory: its place there.
    pub(crate) fn memory(&self) -> Option<usize> {
        (self.offset & IN_MEMORY != 0).then_some((self.offset & !IN_MEMORY) as usize)
    }

    pub(crate) fn set_memory(&mut self, place: usize) {
        self.offset = place as u64 | IN_MEMORY;
    }

    pub(crate) fn is_own(&self) -> bool {
        self.flags & OWN != 0
    }

    pub(crate) fn mark_own(&mut self) {
        self.flag(OWN);
    }

    /// An agent sees it as it is after loading.
    pub(crate) fn is_as_loaded(&self) -> bool {
        self.flags & (OWN | AS_LOADED) != OWN
    }

    pub(crate) fn mark_as_loaded(&mut self) {
        self.flag(AS_LOADED);
    }

    /// Whose entry it is, when it is a copy of another.
    pub(crate) fn take_owner(&mut self, other: &Self) {
        self.flag(other.flags & (OWN | AS_LOADED));
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.flags & PLAIN != 0
    }

    pub(crate) fn mark_plain(&mut self) {
        self.flag(PLAIN);
    }

    /// Takes over what the text of the same entry says now.
    pub(crate) fn take_text(&mut self, other: &Self) {
        const OF_TEXT: u8 = BLOB_REFERENCE | PROVIDER_PAYLOAD | PLAIN | USUAL;
        (self.kind, self.role, self.time, self.len) = (other.kind, other.role, other.time, other.len);
        self.flags = self.flags & !OF_TEXT | other.flags & OF_TEXT;
    }

    /// The text of the same entry says the same here as there, as far as it is kept; but for references to
    /// blobs, of which only that there may be some is known.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        (self.kind, self.role, self.time, self.has_provider_payload())
            == (other.kind, other.role, other.time, other.has_provider_payload())
    }

    pub(crate) fn clear_in_cycle(&mut self) {
        self.flags &= !IN_CYCLE;
    }

    fn flag(&mut self, flag: u8) {
        self.flags |= flag;
    }

    pub(crate) fn is_superseded(&self) -> bool {
        self.flags & SUPERSEDED != 0
    }

    pub(crate) fn supersede(&mut self) {
        self.flag(SUPERSEDED);
    }

    pub(crate) fn has_blob_reference(&self) -> bool {
        self.flags & BLOB_REFERENCE != 0
    }

    pub(crate) fn mark_blob_reference(&mut self) {
        self.flag(BLOB_REFERENCE);
    }

    pub(crate) fn has_provider_payload(&self) -> bool {
        self.flags & PROVIDER_PAYLOAD != 0
    }

    pub(crate) fn mark_provider_payload(&mut self) {
        self.flag(PROVIDER_PAYLOAD);
    }

    pub(crate) fn is_usual(&self) -> bool {
        self.flags & USUAL != 0
    }

    pub(crate) fn mark_usual(&mut self) {
        self.flag(USUAL);
    }

    pub(crate) fn is_in_cycle(&self) -> bool {
        self.flags & IN_CYCLE != 0
    }

    pub(crate) fn mark_in_cycle(&mut self) {
        self.flag(IN_CYCLE);
    }

    /// A node of the tree: it has an id, and no later line has the same.
    pub(crate) fn is_node(&self) -> bool {
        self.forms & 3 != 0 && !self.is_superseded()
    }
}

/// The ids that are not eight lowercase hex digits, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Names {
    pub(crate) fn push(&mut self, name: &[u8]) -> u32 {
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
        self.len() - 1
    }

    #[allow(clippy::cast_possible_truncation, reason = "at most two names an entry, and entries are counted in u32")]
    pub(crate) fn len(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(crate) fn get(&self, name: u32) -> &[u8] {
        let at = name as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// An id as it is compared: in WTF-8.
    pub(crate) fn id(&self, id: Id) -> Cow<'_, [u8]> {
        match id {
            Id::Hex(hex) => Cow::Owned(hex_text(hex).into_bytes()),
            Id::Name(name) => Cow::Borrowed(self.get(name)),
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.ends.extend(other.ends.iter().map(|end| end + before));
    }
}

/// The number of an id of eight lowercase hex digits.
pub(crate) fn hex_id(id: &[u8]) -> Option<u32> {
    let id: &[u8; 8] = id.try_into().ok()?;
    // A byte that is no digit sets bits above the digits.
    let mut number = 0u64;
    let mut wrong = 0;
    for &byte in id {
        let digit = DIGITS[usize::from(byte)];
        wrong |= digit;
        number = number << 4 | u64::from(digit & 15);
    }
    #[allow(clippy::cast_possible_truncation, reason = "eight digits of four bits")]
    (wrong < 16).then_some(number as u32)
}

/// The text of such an id.
pub(crate) fn hex_text(id: u32) -> String {
    String::from_utf8_lossy(&hex_digits(id)).into_owned()
}

/// The characters of such an id.
pub(crate) fn hex_digits(id: u32) -> [u8; 8] {
    std::array::from_fn(|at| HEX[(id >> (28 - 4 * at)) as usize & 15])
}

/// The value of each hex digit; 255 for other bytes.
const DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    digits
};
