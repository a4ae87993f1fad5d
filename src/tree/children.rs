//! Who hangs on whom, downwards. Derived from the parents when somebody first asks.

use super::{Slot, Tree};

const NONE: u32 = u32::MAX;

/// The children of every node as linked lists, in the order of the tree.
#[derive(Debug)]
pub(crate) struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
    roots: Vec<u32>,
}

impl Children {
    fn build(tree: &Tree) -> Self {
        let count = tree.slots.len();
        let mut children = Self { first: vec![NONE; count], next: vec![NONE; count], roots: Vec::new() };
        let nodes = tree.nodes();
        let mut cut: Vec<u32> = tree.cycles().iter().map(|cycle| cycle[0]).collect();
        cut.sort_unstable();
        // Backwards, so that each list can be built by pushing in front.
        for &index in nodes.iter().rev() {
            // The first entry of a cycle is a root (R49).
            match tree.parent(index).filter(|_| cut.binary_search(&index).is_err()) {
                Some(parent) => {
                    children.next[index as usize] = children.first[parent as usize];
                    children.first[parent as usize] = index;
                }
                None => children.roots.push(index),
            }
        }
        children.roots.reverse();
        children
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
