//! Labels by the entry they name.

use hashbrown::HashMap;

/// The labels in force. Their order is that of a JavaScript `Map`: a label that is changed keeps
/// its place, one that is cleared and set again goes last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    by_target: HashMap<String, (u64, String)>,
    set: u64,
}

impl Labels {
    /// Takes in a label entry: `None` clears (R9).
    pub(crate) fn apply(&mut self, target: String, label: Option<String>) {
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

    pub(crate) fn get(&self, target: &str) -> Option<&str> {
        Some(&self.by_target.get(target)?.1)
    }

    /// Target and label of each, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut labels: Vec<_> = self.by_target.iter().collect();
        labels.sort_unstable_by_key(|(_, (set, _))| *set);
        labels.into_iter().map(|(target, (_, label))| (target.as_str(), label.as_str()))
    }
}
