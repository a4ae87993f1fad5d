//! Is one entry an ancestor of another?

use super::Tree;

/// Answers for many pairs. A near ancestor is found by walking; for the others the tree is
/// numbered once, so that no number of questions costs more than one pass.
pub(crate) struct Ancestry<'t> {
    tree: &'t Tree,
    /// For each entry the span of numbers of its subtree, when the tree is numbered.
    spans: Option<Vec<(u32, u32)>>,
}

const NEAR: usize = 256;

impl<'t> Ancestry<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        Self { tree, spans: None }
    }

    pub(crate) fn is_ancestor(&mut self, ancestor: u32, of: u32) -> bool {
        // The subtrees of a numbering have no cycles; a walk follows them as R24 says.
        if self.tree.slot(of).is_in_cycle() || self.tree.slot(ancestor).is_in_cycle() {
            return self.tree.towards_root(of).skip(1).any(|index| index == ancestor);
        }
        let mut walked = 0;
        for index in self.tree.towards_root(of).skip(1) {
            if index == ancestor {
                return true;
            }
            walked += 1;
            if walked == NEAR {
                let spans = self.spans.get_or_insert_with(|| number(self.tree));
                let (outer, inner) = (spans[ancestor as usize], spans[of as usize]);
                return outer.0 <= inner.0 && inner.1 <= outer.1;
            }
        }
        false
    }
}

fn number(tree: &Tree) -> Vec<(u32, u32)> {
    let mut spans = vec![(0, 0); tree.count() as usize];
    let mut next = 0;
    for &root in tree.roots() {
        let mut open = vec![(root, tree.children(root))];
        spans[root as usize].0 = next;
        next += 1;
        while let Some((index, children)) = open.last_mut() {
            if let Some(child) = children.next() {
                spans[child as usize].0 = next;
                next += 1;
                open.push((child, tree.children(child)));
            } else {
                spans[*index as usize].1 = next;
                open.pop();
            }
        }
    }
    spans
}
