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
        let mut above = self.tree.towards_root(of).skip(1);
        if above.by_ref().take(NEAR).any(|index| index == ancestor) {
            return true;
        }
        if above.next().is_none() || ancestor == of {
            return false;
        }
        let spans = self.spans.get_or_insert_with(|| number(self.tree));
        let (outer, inner) = (spans[ancestor as usize], spans[of as usize]);
        if self.tree.slot(ancestor).is_in_cycle() {
            // A walk that comes to a cycle goes through all of it (R24): whatever is numbered
            // under the same root leads there.
            let roots = self.tree.roots();
            let under = |number| roots.partition_point(|&root| spans[root as usize].0 <= number);
            return under(outer.0) == under(inner.0);
        }
        outer.0 <= inner.0 && inner.1 <= outer.1
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
