//! Walks from an entry towards the root (R24).

use super::{Parent, Tree};

impl Tree {
    /// The entry's parent, or what it hangs on in place of one that was lost; `None` for a root and when nothing
    /// says where an entry belongs whose parent is missing.
    pub(crate) fn parent(&self, index: u32) -> Option<u32> {
        match self.slot(index).parent() {
            Parent::Entry(parent) => Some(parent),
            Parent::Id(_) => self.bridge(index),
            Parent::Root => None,
        }
    }

    /// From `index` to the root, both included. A missing parent ends the walk, and so does the
    /// second visit of an entry.
    pub(crate) fn towards_root(&self, index: u32) -> impl Iterator<Item = u32> {
        let mut next = Some(index);
        // The first entry of a cycle that was met: the walk ends when it comes back there.
        let mut cycle = None;
        std::iter::from_fn(move || {
            let index = next?;
            next = self.parent(index);
            if cycle.is_none() && self.slot(index).is_in_cycle() {
                cycle = Some(index);
            }
            if next == cycle {
                next = None;
            }
            Some(index)
        })
    }

    /// From the root to `index`.
    pub(crate) fn path(&self, index: u32) -> Vec<u32> {
        let mut path: Vec<u32> = self.towards_root(index).collect();
        path.reverse();
        path
    }
}
