//! The tree over the index: who hangs on whom, labels, leaves, walks. No text is read here.
//!
//! One node an id: the last line of an id counts, at the place of its first (R49). A reference to
//! an id is resolved to the index of that line once, so a walk is a chase through an array.

mod ancestry;
mod bridges;
mod children;
mod cycles;
mod ids;
mod labels;
mod slot;
mod walk;

pub(crate) use ancestry::Ancestry;
use bridges::Bridges;
use children::Children;
use ids::IdMap;
use labels::Labels;
use slot::hex_digits;
pub(crate) use slot::{Id, Names, Parent, Slot, hex_id, hex_text};

use crate::entry::Usage;
use crate::json::{push_wtf8, wtf8_to_str};
use crate::load::{LabelEvent, Scan};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::OnceLock;

/// The index of a session, and what is derived from it at once.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    slots: Vec<Slot>,
    names: Names,
    by_id: IdMap,
    hasher: DefaultHashBuilder,
    /// For an id on several lines: the index of its last line to that of its first.
    first_lines: HashMap<u32, u32>,
    leaf: Option<u32>,
    labels: Labels,
    /// Of every line; the caller makes it anew when there are duplicate ids, and labels when there are
    /// more of them than before.
    usage: Usage,
    /// Nodes whose parent no entry is, by the hash of the parent's id.
    orphans: HashMap<u64, Vec<u32>>,
    /// What entries hang on whose parent was lost.
    bridges: Bridges,
    /// Some parent comes after its child, or is the child: there may be cycles.
    forward: bool,
    children: OnceLock<Children>,
}

impl Tree {
    /// Builds the tree over what a scan found.
    pub(crate) fn build(scan: &mut Scan) -> Self {
        let slots = std::mem::take(&mut scan.slots);
        let mut tree = Self {
            by_id: IdMap::default(),
            slots,
            names: std::mem::take(&mut scan.names),
            hasher: DefaultHashBuilder::default(),
            first_lines: HashMap::new(),
            leaf: None,
            labels: Labels::default(),
            usage: scan.usage,
            orphans: HashMap::new(),
            bridges: Bridges::default(),
            forward: false,
            children: OnceLock::new(),
        };
        // Apart from the tree while it grows: putting an entry changes both.
        let mut by_id = IdMap::with_capacity(tree.slots.len());
        for index in 0..tree.count() {
            tree.insert(&mut by_id, index);
            if tree.slot(index).id().is_some() {
                tree.leaf = Some(index);
            }
        }
        tree.by_id = by_id;
        for index in 0..tree.count() {
            tree.resolve(index);
        }
        tree.take_damage(&mut scan.damage, 0);
        tree.build_bridges();
        if tree.forward {
            tree.mark_cycles();
        }
        tree.apply_labels(std::mem::take(&mut scan.labels), 0);
        tree
    }

    /// Adds the entries of another scan after those that are there; the leaf stays. Gives the
    /// index of the first. Usage and labels are added too: when ids repeat they have to be made anew.
    pub(crate) fn extend(&mut self, mut scan: Scan) -> u32 {
        let first = self.count();
        self.take_damage(&mut scan.damage, first);
        let names = self.names.len();
        self.names.append(&scan.names);
        self.slots.extend(scan.slots.into_iter().map(|mut slot| {
            slot.shift_names(names);
            slot
        }));
        self.link(first);
        self.apply_labels(scan.labels, first);
        for usage in scan.usages {
            self.usage += usage;
        }
        first
    }

    /// Adds one entry, which has a number for an id and an entry or nothing for a parent; the leaf
    /// stays. Gives its index.
    pub(crate) fn push(&mut self, slot: Slot, usage: Option<Usage>) -> u32 {
        let index = self.count();
        self.slots.push(slot);
        self.link(index);
        if let Some(usage) = usage {
            self.usage += usage;
        }
        index
    }

    /// Gives the entries from `first` on their places in the tree. The others are looked at only
    /// when an id comes again, or one comes that was missing.
    fn link(&mut self, first: u32) {
        let mut replaced = HashMap::new();
        let mut by_id = std::mem::take(&mut self.by_id);
        for index in first..self.count() {
            if let Some(before) = self.insert(&mut by_id, index) {
                replaced.insert(before, index);
            }
        }
        self.by_id = by_id;
        let forward = std::mem::take(&mut self.forward);
        for index in first..self.count() {
            self.adopt(index);
            self.resolve(index);
        }
        if !replaced.is_empty() {
            self.point_to_last_lines(&replaced);
        }
        // An entry that hangs on one before it closes no cycle.
        self.bridges.stale |= !replaced.is_empty();
        let changed = self.forward || !replaced.is_empty();
        self.forward |= forward;
        let changed = self.build_bridges() || changed;
        if changed && self.forward {
            self.mark_cycles();
        }
        match self.children.take() {
            Some(mut children) if !changed => {
                children.extend(self, first);
                self.children = OnceLock::from(children);
            }
            _ => {}
        }
    }

    /// After ids came again: who hung on an earlier line hangs on the last.
    fn point_to_last_lines(&mut self, replaced: &HashMap<u32, u32>) {
        for index in 0..self.count() {
            let Parent::Entry(mut parent) = self.slot(index).parent() else { continue };
            while let Some(&last) = replaced.get(&parent) {
                parent = last;
            }
            self.forward |= parent >= index;
            self.slots[index as usize].set_parent(Parent::Entry(parent));
        }
        if let Some(leaf) = self.leaf {
            self.leaf = self.slot(leaf).id().and_then(|id| self.lookup(id));
        }
    }

    /// Hangs an entry where another text of it says: on the entry of an id of `names`, or on none.
    pub(crate) fn hang(&mut self, index: u32, parent: Option<Id>, names: &Names) {
        let parent = parent.map(|id| names.id(id));
        let slot = self.slot(index);
        let before = match slot.parent() {
            Parent::Root => None,
            Parent::Id(id) => Some(self.names.id(id)),
            Parent::Entry(parent) => self.slot(parent).id().map(|id| self.names.id(id)),
        };
        if before == parent {
            return;
        }
        let id = parent.map(|id| hex_id(&id).map_or_else(|| Id::Name(self.names.push(&id)), Id::Hex));
        self.orphans.values_mut().for_each(|waiting| waiting.retain(|&orphan| orphan != index));
        self.slots[index as usize].set_parent(id.map_or(Parent::Root, Parent::Id));
        self.resolve(index);
        self.bridges.stale = true;
        self.build_bridges();
        if self.forward {
            self.mark_cycles();
        }
        self.children = OnceLock::new();
    }

    /// Labels anew, from what all label entries say.
    pub(crate) fn set_labels(&mut self, events: Vec<LabelEvent>) {
        self.labels = Labels::default();
        self.apply_labels(events, 0);
    }

    /// `first`: the index of the first entry the events count from.
    fn apply_labels(&mut self, events: Vec<LabelEvent>, first: u32) {
        for event in events {
            if !self.slot(first + event.entry).is_superseded() {
                self.labels.apply(event.target, event.label);
            }
        }
    }

    /// Entries, in file order, are `0..count`.
    #[allow(clippy::cast_possible_truncation, reason = "the loader counts entries in u32")]
    pub(crate) fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn slot(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }

    /// After building, the last entry with an id (R17); then what it was set to.
    pub(crate) fn leaf(&self) -> Option<u32> {
        self.leaf
    }

    pub(crate) fn set_leaf(&mut self, leaf: Option<u32>) {
        self.leaf = leaf;
    }

    pub(crate) fn slot_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn set_usage(&mut self, usage: Usage) {
        self.usage = usage;
    }

    pub(crate) fn has_duplicates(&self) -> bool {
        !self.first_lines.is_empty()
    }

    /// The entry of an id: its last line.
    pub(crate) fn find(&self, id: &[u8]) -> Option<u32> {
        match hex_id(id) {
            Some(hex) => self.lookup(Id::Hex(hex)),
            None => self.by_id.find(self.hash_name(id), |index| match self.slot(index).id() {
                Some(Id::Name(name)) => self.names.get(name) == id,
                _ => false,
            }),
        }
    }

    /// The entry of an id as it is shown, where a lone surrogate is U+FFFD.
    pub(crate) fn find_shown(&self, id: &str) -> Option<u32> {
        let exact = self.find(id.as_bytes());
        if exact.is_some() || !id.contains(char::REPLACEMENT_CHARACTER) {
            return exact;
        }
        (0..self.count()).rev().find(|&index| self.slot(index).is_node() && self.id(index).as_deref() == Some(id))
    }

    /// The id of an entry as it is compared: in WTF-8.
    pub(crate) fn id_bytes(&self, index: u32) -> Option<Cow<'_, [u8]>> {
        Some(self.names.id(self.slot(index).id()?))
    }

    /// An entry has an id, of no characters.
    pub(crate) fn has_empty_id(&self, index: u32) -> bool {
        matches!(self.slot(index).id(), Some(Id::Name(name)) if self.names.get(name).is_empty())
    }

    /// Appends the id of an entry as JSON.
    pub(crate) fn push_id(&self, out: &mut Vec<u8>, index: u32) {
        match self.slot(index).id() {
            None => out.extend_from_slice(b"null"),
            Some(Id::Hex(hex)) => {
                out.push(b'"');
                out.extend_from_slice(&hex_digits(hex));
                out.push(b'"');
            }
            Some(Id::Name(name)) => push_wtf8(out, self.names.get(name)),
        }
    }

    /// The id of an entry, as text.
    pub(crate) fn id(&self, index: u32) -> Option<Cow<'_, str>> {
        Some(self.id_text(self.slot(index).id()?))
    }

    pub(crate) fn id_text(&self, id: Id) -> Cow<'_, str> {
        match id {
            Id::Hex(hex) => Cow::Owned(hex_text(hex)),
            Id::Name(name) => wtf8_to_str(self.names.get(name)),
        }
    }

    /// The place of a node in the order of the tree: the index of its id's first line.
    pub(crate) fn first_line(&self, index: u32) -> u32 {
        self.first_lines.get(&index).copied().unwrap_or(index)
    }

    /// The nodes, in the order of the tree.
    pub(crate) fn nodes(&self) -> Vec<u32> {
        // Few have another place than their own line: the rest need not be sorted, nor looked up.
        let mut moved: Vec<(u32, u32)> = self.first_lines.iter().map(|(&index, &first)| (first, index)).collect();
        moved.sort_unstable();
        let mut lines: Vec<u32> = moved.iter().map(|&(_, index)| index).collect();
        lines.sort_unstable();
        let (mut moved, mut lines) = (moved.into_iter().peekable(), lines.into_iter().peekable());
        let mut nodes = Vec::with_capacity(self.slots.len());
        for index in 0..self.count() {
            nodes.extend(moved.next_if(|&(first, _)| first == index).map(|(_, index)| index));
            if lines.next_if_eq(&index).is_none() && self.slot(index).is_node() {
                nodes.push(index);
            }
        }
        nodes
    }

    fn hash_name(&self, name: &[u8]) -> u64 {
        self.hasher.hash_one(name)
    }

    /// The hash of an id as it is compared.
    fn hash_id(&self, id: &[u8]) -> u64 {
        hex_id(id).map_or_else(|| self.hash_name(id), |hex| self.hash(Id::Hex(hex)))
    }

    fn hash(&self, id: Id) -> u64 {
        match id {
            Id::Hex(hex) => self.hasher.hash_one(hex),
            Id::Name(name) => self.hash_name(self.names.get(name)),
        }
    }

    fn same(&self, a: Id, b: Id) -> bool {
        match (a, b) {
            (Id::Hex(a), Id::Hex(b)) => a == b,
            (Id::Name(a), Id::Name(b)) => a == b || self.names.get(a) == self.names.get(b),
            _ => false,
        }
    }

    /// The entry of an id.
    pub(crate) fn lookup(&self, id: Id) -> Option<u32> {
        self.by_id.find(self.hash(id), |index| self.slot(index).id().is_some_and(|other| self.same(id, other)))
    }

    /// Makes `index` the entry of its id; gives the one that was before.
    fn insert(&mut self, by_id: &mut IdMap, index: u32) -> Option<u32> {
        let id = self.slot(index).id()?;
        let has_id = |other| self.slot(other).id().is_some_and(|other| self.same(id, other));
        let hash_of = |other| self.slot(other).id().map_or(0, |id| self.hash(id));
        let before = by_id.put(self.hash(id), index, has_id, hash_of)?;
        self.slots[before as usize].supersede();
        let first = self.first_lines.remove(&before).unwrap_or(before);
        self.first_lines.insert(index, first);
        Some(before)
    }

    /// Turns the parent's id into the parent's index, when there is such an entry.
    fn resolve(&mut self, index: u32) {
        let Parent::Id(id) = self.slot(index).parent() else { return };
        if !self.slot(index).is_node() {
            return;
        }
        let before = index.checked_sub(1).filter(|&before| {
            let slot = self.slot(before);
            slot.is_node() && slot.id().is_some_and(|other| self.same(id, other))
        });
        if let Some(parent) = before.or_else(|| self.lookup(id)) {
            self.forward |= parent >= index;
            self.slots[index as usize].set_parent(Parent::Entry(parent));
        } else {
            self.orphans.entry(self.hash(id)).or_default().push(index);
            self.bridges.stale = true;
        }
    }

    /// Hangs on an entry who waited for its id.
    fn adopt(&mut self, index: u32) {
        if self.orphans.is_empty() {
            return;
        }
        let waiting = self.slot(index).id().and_then(|id| self.orphans.remove(&self.hash(id)));
        self.bridges.stale |= waiting.is_some();
        for orphan in waiting.unwrap_or_default() {
            self.resolve(orphan);
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
