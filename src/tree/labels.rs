//! Labels by the entry they name.

use hashbrown::HashMap;

/// The labels in force. Their order is that of a JavaScript `Map`: a label that is changed keeps
/// its place, one that is cleared and set again goes last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// Both in WTF-8: targets are compared as ids are.
    by_target: HashMap<Vec<u8>, (u64, Vec<u8>)>,
    set: u64,
}

impl Labels {
    /// Takes in a label entry: `None` clears (R9).
    pub(crate) fn apply(&mut self, target: Vec<u8>, label: Option<Vec<u8>>) {
        match label {
            Some(label) => {
                self.set += 1;
                let set = self.set;
                self.by_target.entry(target).and_modify(|entry| entry.1.clone_from(&label)).or_insert((set, label));
            }
            None => {
                self.by_target.remove(&target);
            }
        }
    }

    pub(crate) fn get(&self, target: &[u8]) -> Option<&[u8]> {
        Some(&self.by_target.get(target)?.1)
    }

    /// Target and label of each, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut labels: Vec<_> = self.by_target.iter().collect();
        labels.sort_unstable_by_key(|(_, (set, _))| *set);
        labels.into_iter().map(|(target, (_, label))| (target.as_slice(), label.as_slice()))
    }
}
