//! Entries that are their own ancestors (R49). Files that agents write have none; when no parent
//! comes after its child there can be none, and nothing here runs.

use super::Tree;

impl Tree {
    /// Marks every entry that lies on a cycle.
    pub(super) fn mark_cycles(&mut self) {
        for slot in &mut self.slots {
            slot.clear_in_cycle();
        }
        // For each entry the walk that reached it first, counted from 1.
        let mut seen = vec![0u32; self.slots.len()];
        for start in 0..self.count() {
            let walk = start + 1;
            let mut at = Some(start).filter(|_| self.slot(start).is_node());
            while let Some(index) = at {
                let mark = &mut seen[index as usize];
                if *mark != 0 {
                    if *mark == walk {
                        self.mark_cycle(index);
                    }
                    break;
                }
                *mark = walk;
                at = self.parent(index);
            }
        }
    }

    fn mark_cycle(&mut self, member: u32) {
        let mut at = member;
        loop {
            self.slots[at as usize].mark_in_cycle();
            match self.parent(at) {
                Some(parent) if parent != member => at = parent,
                _ => return,
            }
        }
    }

    /// The cycles, each in file order, by their first entries.
    pub(crate) fn cycles(&self) -> Vec<Vec<u32>> {
        if !self.forward {
            return Vec::new();
        }
        let mut cycles = Vec::new();
        let mut done = vec![false; self.slots.len()];
        for start in 0..self.count() {
            if !self.slot(start).is_in_cycle() || done[start as usize] {
                continue;
            }
            let mut cycle = Vec::new();
            let mut at = Some(start);
            while let Some(index) = at.filter(|&index| !done[index as usize]) {
                done[index as usize] = true;
                cycle.push(index);
                at = self.parent(index);
            }
            cycle.sort_unstable_by_key(|&index| self.first_line(index));
            cycles.push(cycle);
        }
        cycles.sort_unstable_by_key(|cycle| self.first_line(cycle[0]));
        cycles
    }
}
