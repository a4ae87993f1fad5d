use super::{A_TABLE, IdMap};
use std::cell::Cell;
use std::collections::HashMap;

/// Random numbers that are the same each time, here ids with their hash.
fn numbers(count: u32) -> impl Iterator<Item = u64> {
    (0..u64::from(count)).map(|nth| nth.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[test]
fn finds_what_was_put_last() {
    // Room for all, for some, for none.
    for room in [0, 1, 5_000, 100_000] {
        let mut map = IdMap::with_capacity(room);
        let mut ids: Vec<u64> = Vec::new();
        let mut expected = HashMap::new();
        for hash in numbers(50_000) {
            // Every seventh id comes again.
            let id = if ids.len() % 7 == 6 { ids[ids.len() / 2] } else { hash };
            let index = ids.len() as u32;
            ids.push(id);
            let before = map.put(id, index, |other| ids[other as usize] == id, |other| ids[other as usize]);
            assert_eq!(before, expected.insert(id, index));
        }
        for (&id, &index) in &expected {
            assert_eq!(map.find(id, |other| ids[other as usize] == id), Some(index));
            assert_eq!(map.find(!id, |other| ids[other as usize] == !id), None);
        }
    }
}

#[test]
fn ids_of_one_hash_are_kept_apart() {
    let mut map = IdMap::with_capacity(0);
    for index in 0..3_000 {
        assert_eq!(map.put(7, index, |other| other == index, |_| 7), None);
    }
    for index in 0..3_000 {
        assert_eq!(map.find(7, |other| other == index), Some(index));
    }
}

// However many entries there are, an append has to do with those of one table, and of the two another is divided into. In the
// worst case each of them has more than twice the average, and is made anew for one more.
#[test]
fn no_entry_waits_for_all_others() {
    let mut map = IdMap::with_capacity(0);
    let ids: Vec<u64> = numbers(300_000).collect();
    let mut most = 0;
    for (index, &id) in (0..).zip(&ids) {
        let asked = Cell::new(0);
        map.put(
            id,
            index,
            |other| ids[other as usize] == id,
            |other| {
                asked.set(asked.get() + 1);
                ids[other as usize]
            },
        );
        most = most.max(asked.get());
    }
    assert!(most <= 8 * A_TABLE, "{most} entries were moved for one");
}
