//! What entries hang on whose parent was lost: in place of an entry that was not written to its end, what that entry
//! hung on; in place of one of which nothing can be read, the entry before it in the file. The entries themselves
//! still name the parent that is missing.

use super::{Parent, Tree};
use crate::load::{Damage, Unfinished};
use hashbrown::HashMap;

/// Lost entries that are followed from one to the next.
const MOST_LOST: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Bridges {
    unfinished: HashMap<Vec<u8>, Unfinished>,
    /// In file order: entries before the place, and where it is.
    gaps: Vec<(u32, u64)>,
    /// What entries hang on in place of a parent that is missing.
    instead: HashMap<u32, u32>,
    /// Something came that may change `instead`.
    pub(super) stale: bool,
}

impl Bridges {
    pub(super) fn get(&self, index: u32) -> Option<u32> {
        self.instead.get(&index).copied()
    }

    /// Nothing was lost.
    pub(super) fn is_empty(&self) -> bool {
        self.unfinished.is_empty() && self.gaps.is_empty()
    }
}

impl Tree {
    /// Takes in what damaged lines left behind; `first` entries stand before them.
    pub(super) fn take_damage(&mut self, damage: &mut Damage, first: u32) {
        let unfinished = std::mem::take(&mut damage.unfinished);
        let gaps = std::mem::take(&mut damage.gaps);
        self.bridges.stale |= !unfinished.is_empty() || !gaps.is_empty();
        for begun in unfinished {
            self.bridges.unfinished.insert(begun.id.clone(), Unfinished { at: begun.at + first, ..begun });
        }
        self.bridges.gaps.extend(gaps.into_iter().map(|(at, offset)| (at + first, offset)));
    }

    /// Forgets damage from `offset` on: what was cut off there is being read again.
    pub(crate) fn forget_damage(&mut self, offset: u64) {
        self.bridges.unfinished.retain(|_, begun| begun.offset < offset);
        self.bridges.gaps.retain(|&(_, at)| at < offset);
        self.bridges.stale = true;
    }

    /// The entries of which only a beginning was read are the same.
    pub(crate) fn has_fragments_of(&self, other: &Self) -> bool {
        let (mine, others) = (&self.bridges.unfinished, &other.bridges.unfinished);
        mine.len() == others.len() && mine.keys().all(|id| others.contains_key(id))
    }

    /// What the entry hangs on in place of its parent, which is missing.
    pub(crate) fn bridge(&self, index: u32) -> Option<u32> {
        self.bridges.get(index)
    }

    /// Finds what entries hang on whose parent was lost. Says whether any of it changed.
    pub(super) fn build_bridges(&mut self) -> bool {
        if !std::mem::take(&mut self.bridges.stale) || self.bridges.is_empty() {
            return false;
        }
        let mut instead = HashMap::new();
        for &index in self.orphans.values().flatten() {
            if self.slot(index).is_node()
                && let Some(parent) = self.instead_of_parent(index)
            {
                instead.insert(index, parent);
            }
        }
        // When the parent of what is not finished comes, all this is to be asked again.
        let waiting: Vec<u64> = self
            .bridges
            .unfinished
            .values()
            .filter_map(|begun| begun.parent.as_deref())
            .filter(|id| self.find(id).is_none())
            .map(|id| self.hash_id(id))
            .collect();
        for hash in waiting {
            self.orphans.entry(hash).or_default();
        }
        self.forward |= instead.iter().any(|(&index, &parent)| parent >= index);
        if instead == self.bridges.instead {
            return false;
        }
        self.bridges.instead = instead;
        if self.forward {
            // A guess closes no cycle.
            self.mark_cycles();
            let mut instead = std::mem::take(&mut self.bridges.instead);
            instead.retain(|&index, _| !self.slot(index).is_in_cycle());
            self.bridges.instead = instead;
        }
        true
    }

    fn instead_of_parent(&self, index: u32) -> Option<u32> {
        let Parent::Id(missing) = self.slot(index).parent() else { return None };
        let mut id = self.names.id(missing);
        let mut at = index;
        for _ in 0..MOST_LOST {
            let Some(begun) = self.bridges.unfinished.get(&*id) else { break };
            let parent = begun.parent.as_deref()?;
            if let Some(found) = self.find(parent) {
                return Some(found);
            }
            (id, at) = (parent.into(), begun.at);
        }
        self.bridges.gaps.binary_search_by_key(&at, |gap| gap.0).ok()?;
        (0..at).rev().take(MOST_LOST).find(|&before| self.slot(before).is_node())
    }
}
