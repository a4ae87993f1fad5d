//! The map from an id to the index of its entry.
//!
//! Many small tables, each for a part of the hashes, in place of a large one: it grows by dividing one table in two at a
//! time (linear hashing), so no append waits for a table of all entries to be made anew.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Indices by the hash of their id. It knows neither ids nor entries: who asks says which index has the id.
#[derive(Clone, Debug, Default)]
pub(super) struct IdMap {
    tables: Vec<HashTable<u32>>,
    len: usize,
}

/// Entries a table has on average when another comes to the tables.
const A_TABLE: usize = 128;

impl IdMap {
    /// An empty map, with room for as many entries as will come.
    pub(super) fn with_capacity(entries: usize) -> Self {
        let count = entries.div_ceil(A_TABLE).next_power_of_two();
        // Some tables get more than others.
        let room = entries / count + entries / count / 4;
        Self { tables: (0..count).map(|_| HashTable::with_capacity(room)).collect(), len: 0 }
    }

    /// The table for a hash. The first of the tables are divided in `2 * round` already, the others in `round`.
    #[inline]
    fn table(&self, hash: u64) -> usize {
        let count = self.tables.len();
        let round = 1 << count.ilog2();
        // Within a table, the lowest bits say the place and the highest ones are compared.
        let part = (hash >> 24) as usize;
        let table = part & (2 * round - 1);
        if table < count { table } else { part & (round - 1) }
    }

    /// The index that has the id.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut has_id: impl FnMut(u32) -> bool) -> Option<u32> {
        self.tables[self.table(hash)].find(hash, |&index| has_id(index)).copied()
    }

    /// Puts an index in the place of the one that has the id, which it gives.
    #[inline]
    pub(super) fn put(
        &mut self,
        hash: u64,
        index: u32,
        mut has_id: impl FnMut(u32) -> bool,
        hash_of: impl Fn(u32) -> u64,
    ) -> Option<u32> {
        let table = self.table(hash);
        match self.tables[table].entry(hash, |&index| has_id(index), |&index| hash_of(index)) {
            Entry::Occupied(mut place) => return Some(std::mem::replace(place.get_mut(), index)),
            Entry::Vacant(place) => _ = place.insert(index),
        }
        self.len += 1;
        if self.len > self.tables.len() * A_TABLE {
            self.divide(hash_of);
        }
        None
    }

    /// Adds a table, which takes half of what is in another.
    #[cold]
    fn divide(&mut self, hash_of: impl Fn(u32) -> u64) {
        let count = self.tables.len();
        let divided = count - (1 << count.ilog2());
        let room = self.tables[divided].len() * 5 / 8;
        let indices = std::mem::replace(&mut self.tables[divided], HashTable::with_capacity(room));
        self.tables.push(HashTable::with_capacity(room));
        for index in indices {
            let hash = hash_of(index);
            let table = self.table(hash);
            self.tables[table].insert_unique(hash, index, |&index| hash_of(index));
        }
    }
}

#[cfg(test)]
#[path = "ids_tests.rs"]
mod tests;
