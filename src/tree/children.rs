//! Who hangs on whom, downwards. Derived from the parents when somebody first asks.

use super::{Slot, Tree};

const NONE: u32 = u32::MAX;

/// The children of every node as linked lists, in the order of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Children {
    first: Vec<u32>,
    last: Vec<u32>,
    next: Vec<u32>,
    roots: Vec<u32>,
}

impl Children {
    fn build(tree: &Tree) -> Self {
        let count = tree.slots.len();
        let none = || vec![NONE; count];
        let mut children = Self { first: none(), last: none(), next: none(), roots: Vec::new() };
        let nodes = tree.nodes();
        let mut cut: Vec<u32> = tree.cycles().iter().map(|cycle| cycle[0]).collect();
        cut.sort_unstable();
        // Backwards, so that each list can be built by pushing in front.
        for &index in nodes.iter().rev() {
            // The first entry of a cycle is a root (R49).
            match tree.parent(index).filter(|_| cut.binary_search(&index).is_err()) {
                Some(parent) => {
                    let first = std::mem::replace(&mut children.first[parent as usize], index);
                    children.next[index as usize] = first;
                    if first == NONE {
                        children.last[parent as usize] = index;
                    }
                }
                None => children.roots.push(index),
            }
        }
        children.roots.reverse();
        children
    }

    /// Takes in the entries from `from` on, of which each hangs on one before it.
    pub(super) fn extend(&mut self, tree: &Tree, from: u32) {
        for list in [&mut self.first, &mut self.last, &mut self.next] {
            list.resize(tree.slots.len(), NONE);
        }
        for index in (from..tree.count()).filter(|&index| tree.slot(index).is_node()) {
            let Some(parent) = tree.parent(index) else {
                self.roots.push(index);
                continue;
            };
            match std::mem::replace(&mut self.last[parent as usize], index) {
                NONE => self.first[parent as usize] = index,
                before => self.next[before as usize] = index,
            }
        }
    }
}

impl Tree {
    fn downwards(&self) -> &Children {
        self.children.get_or_init(|| Children::build(self))
    }

    /// The entries without a parent, in the order of the tree.
    pub(crate) fn roots(&self) -> &[u32] {
        &self.downwards().roots
    }

    /// The children of an entry, in the order of the tree.
    pub(crate) fn children(&self, index: u32) -> impl Iterator<Item = u32> {
        let children = self.downwards();
        let mut at = children.first[index as usize];
        std::iter::from_fn(move || {
            let child = at;
            (child != NONE).then(|| {
                at = children.next[child as usize];
                child
            })
        })
    }

    /// The children of an entry, the oldest first; those without a date last (R49).
    pub(crate) fn children_by_time(&self, index: u32) -> Vec<u32> {
        let mut children: Vec<u32> = self.children(index).collect();
        if children.len() > 1 {
            children.sort_by_key(|&child| {
                let time = self.slot(child).time;
                (time == Slot::NO_TIME, time)
            });
        }
        children
    }

    /// The entries without children, in the order of the tree.
    pub(crate) fn leaves(&self) -> Vec<u32> {
        let mut leaves = self.nodes();
        leaves.retain(|&index| self.downwards().first[index as usize] == NONE);
        leaves
    }
}
