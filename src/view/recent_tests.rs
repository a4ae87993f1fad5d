use super::{LARGEST_BUFFER, RECENT_BYTES, Recent};

/// A text of the `nth` entry: mostly short, sometimes long, once longer than all that is kept.
fn text(nth: u32) -> Vec<u8> {
    let len = match nth {
        700 => RECENT_BYTES + 1,
        _ if nth.is_multiple_of(13) => LARGEST_BUFFER + nth as usize * 40,
        _ => 100 + nth as usize % 50,
    };
    format!("{nth} ").into_bytes().into_iter().cycle().take(len).collect()
}

/// The last text of an entry.
fn last(recent: &Recent, index: u32) -> Option<Vec<u8>> {
    recent.iter().filter(|(known, _)| *known == index).last().map(|(_, kept)| recent.text(&kept))
}

#[test]
fn the_last_4_mb_are_there_whenever_they_are_asked_for() {
    let mut recent = Recent::default();
    // All that was given.
    let mut given: Vec<(u32, Vec<u8>)> = Vec::new();
    for nth in 0..1_000 {
        // Every tenth entry is one that was written before, with another text.
        let index = if nth % 10 == 9 { nth - 5 } else { nth };
        given.push((index, text(nth)));
        let buffer = recent.push(index, text(nth));
        assert!(buffer.is_empty() && buffer.capacity() <= LARGEST_BUFFER, "a buffer to use again");
        if nth % 61 != 0 {
            continue;
        }
        let mut bytes = 0;
        for (at, (index, text)) in given.iter().enumerate().rev() {
            bytes += text.len();
            if bytes > RECENT_BYTES {
                break;
            }
            if given[at + 1..].iter().all(|(other, _)| other != index) {
                assert_eq!(last(&recent, *index).as_ref(), Some(text), "entry {index} after {nth}");
            }
        }
        let kept: usize = recent.texts.iter().map(|(_, len)| len).sum();
        assert_eq!(kept, recent.bytes.len());
        assert!(kept <= RECENT_BYTES, "no more is kept");
    }
    assert_eq!(last(&recent, 0), None, "the oldest are gone");
    assert_eq!(last(&recent, 1_000), None);
}

// R32: what no sync has covered is at the end, wherever it is kept, and can be taken out.
#[test]
fn what_no_sync_has_covered() {
    for (synced, unsynced) in [(0, 1), (0, 64), (1, 63), (64, 1), (100, 100), (130, 3)] {
        let mut recent = Recent::default();
        (0..synced).for_each(|nth| drop(recent.push(nth, text(nth))));
        recent.set_unsynced(0);
        (synced..synced + unsynced).for_each(|nth| drop(recent.push(nth, text(nth))));
        assert_eq!(recent.first_unsynced(), synced as usize);
        let ours: Vec<_> = (synced..synced + unsynced).map(|nth| (nth, text(nth))).collect();
        assert_eq!(recent.take_unsynced(), ours);
        assert_eq!((recent.take_unsynced(), recent.iter().count()), (Vec::new(), synced as usize));
        drop(recent.push(7, b"later".to_vec()));
        assert_eq!(recent.take_unsynced(), [(7, b"later".to_vec())]);
    }
    // A text too long to be kept, and those that went for it, are not there.
    let mut recent = Recent::default();
    drop(recent.push(1, text(1)));
    drop(recent.push(700, text(700)));
    drop(recent.push(2, text(2)));
    assert_eq!((recent.first_unsynced(), recent.take_unsynced()), (0, vec![(2, text(2))]));
}
