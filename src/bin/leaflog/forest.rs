//! The shape of a session's tree: sizes, depths, and which child a line of entries goes on with.
//! Nothing here recurses; everything takes one pass over the entries.

use leaflog::{EntryRef, SessionView};

const NONE: u32 = u32::MAX;

/// The trees of a session. Entries are named by their position.
pub struct Forest<'v> {
    entries: Vec<EntryRef<'v>>,
    roots: Vec<EntryRef<'v>>,
    /// All entries of the trees, parents before children.
    order: Vec<u32>,
    /// The parent in the tree: a cycle is cut at its first entry.
    parents: Vec<u32>,
    /// Entries in the subtree, the entry itself included.
    sizes: Vec<u32>,
}

impl<'v> Forest<'v> {
    pub fn new(view: &'v SessionView) -> Self {
        let entries: Vec<EntryRef<'v>> = view.entries().collect();
        let roots = view.roots();
        let mut parents = vec![NONE; entries.len()];
        let mut order = Vec::with_capacity(entries.len());
        let mut open: Vec<u32> = roots.iter().rev().map(|root| index(*root)).collect();
        while let Some(at) = open.pop() {
            order.push(at);
            for child in entries[at as usize].children() {
                parents[child.position()] = at;
                open.push(index(child));
            }
        }
        let mut sizes = vec![1u32; entries.len()];
        for &at in order.iter().rev() {
            if let Some(parent) = some(parents[at as usize]) {
                sizes[parent as usize] += sizes[at as usize];
            }
        }
        Self { entries, roots, order, parents, sizes }
    }

    /// Entries in the trees.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Entries that are in no tree: without an id, or with an id that a later line has.
    pub fn outside(&self) -> usize {
        self.entries.len() - self.order.len()
    }

    pub fn roots(&self) -> &[EntryRef<'v>] {
        &self.roots
    }

    /// Entries in the subtree of `entry`.
    pub fn size(&self, entry: EntryRef<'_>) -> usize {
        self.sizes[entry.position()] as usize
    }

    /// For each entry of the session, whether it is in the subtree of `entry`.
    pub fn subtree(&self, entry: EntryRef<'_>) -> Vec<bool> {
        let mut inside = vec![false; self.entries.len()];
        for &at in &self.order {
            let parent = some(self.parents[at as usize]);
            inside[at as usize] = at == index(entry) || parent.is_some_and(|parent| inside[parent as usize]);
        }
        inside
    }

    /// From the root to `entry`, within the tree.
    pub fn path(&self, entry: EntryRef<'v>) -> Vec<EntryRef<'v>> {
        let mut path = vec![entry];
        let mut at = entry.position();
        while let Some(parent) = some(self.parents[at]) {
            at = parent as usize;
            path.push(self.entries[at]);
        }
        path.reverse();
        path
    }

    /// Entries on the longest path from a root.
    pub fn depth(&self) -> usize {
        let mut depths = vec![1u32; self.entries.len()];
        let mut deepest = 0;
        for &at in &self.order {
            if let Some(parent) = some(self.parents[at as usize]) {
                depths[at as usize] = depths[parent as usize] + 1;
            }
            deepest = deepest.max(depths[at as usize]);
        }
        deepest as usize
    }

    /// The children, the oldest first.
    pub fn children(&self, entry: EntryRef<'v>) -> Vec<EntryRef<'v>> {
        let mut children = entry.children();
        match (children.next(), children.next()) {
            (None, _) => Vec::new(),
            (Some(only), None) => vec![only],
            _ => entry.children_by_time(),
        }
    }

    /// The one of `entries` with the largest subtree, of several such the last. A line of entries
    /// that goes on with it leaves aside at most half of what is there, so however a tree is
    /// built, branches off branches are nested no deeper than the binary logarithm of its size.
    pub fn largest(&self, entries: &[EntryRef<'v>]) -> Option<usize> {
        (0..entries.len()).max_by_key(|&at| self.size(entries[at]))
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the library counts entries in u32")]
fn index(entry: EntryRef<'_>) -> u32 {
    entry.position() as u32
}

fn some(index: u32) -> Option<u32> {
    (index != NONE).then_some(index)
}
