use super::{LARGEST_BUFFER, RECENT_BYTES, Recent};

/// A text of the `nth` entry: mostly short, sometimes long, once longer than all that is kept.
fn text(nth: u32) -> Vec<u8> {
    let len = match nth {
        700 => RECENT_BYTES + 1,
        _ if nth % 13 == 0 => LARGEST_BUFFER + nth as usize * 40,
        _ => 100 + nth as usize % 50,
    };
    format!("{nth} ").into_bytes().into_iter().cycle().take(len).collect()
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
                assert_eq!(recent.get(*index).as_ref(), Some(text), "entry {index} after {nth}");
            }
        }
        let kept: usize = recent.texts.iter().map(|(_, len)| len).sum();
        assert_eq!(kept, recent.bytes.len());
        assert!(kept <= RECENT_BYTES, "no more is kept");
    }
    assert_eq!(recent.get(0), None, "the oldest are gone");
    assert_eq!(recent.get(1_000), None);
}
