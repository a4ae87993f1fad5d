//! Every classifier against a reader that looks at one byte after another.

use super::{Classifier, Line};
use proptest::prelude::*;

/// What a line is, found the slow way.
#[derive(Debug)]
struct Slow {
    end: usize,
    /// Indices into the buffer of the quotes that are not escaped.
    quotes: Vec<usize>,
    clean: bool,
    unicode_escapes: bool,
    /// A carriage return before the end is the last byte of a block: it may be called not clean.
    return_ends_block: bool,
}

fn slow(buf: &[u8], start: usize) -> Slow {
    let end = buf[start..].iter().position(|&byte| byte == b'\n').map_or(buf.len(), |at| start + at);
    let mut line = Slow { end, quotes: Vec::new(), clean: true, unicode_escapes: false, return_ends_block: false };
    let mut at = start;
    while at < end {
        match buf[at] {
            b'\\' => {
                let escape = buf[at + 1..end].first();
                match escape {
                    Some(b'u') => {
                        line.unicode_escapes = true;
                        let hex = &buf[at + 2..end.min(at + 6)];
                        line.clean &= hex.len() == 4 && hex.iter().all(u8::is_ascii_hexdigit);
                    }
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                    _ => line.clean = false,
                }
                // What is escaped is no quote and no backslash; a control character stays one.
                line.clean &= escape.is_none_or(|byte| *byte >= 0x20);
                at += 2;
            }
            b'"' => {
                line.quotes.push(at);
                at += 1;
            }
            b'\r' if at + 1 == end => {
                line.return_ends_block = (at - start) % 64 == 63;
                at += 1;
            }
            byte => {
                line.clean &= byte >= 0x20;
                at += 1;
            }
        }
    }
    line
}

fn bits(words: &[u64], start: usize) -> Vec<usize> {
    let mut bits = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            bits.push(start + at * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
    bits
}

/// Classifies with each classifier and holds the answers against the slow one. Gives the answer.
fn check(buf: &[u8], start: usize) -> Line {
    let want = slow(buf, start);
    let mut first: Option<(Line, Vec<u64>)> = None;
    for (name, classifier) in Classifier::all() {
        // A stale bitmap must not show through.
        let mut quotes = vec![u64::MAX; 3];
        let got = classifier.classify(buf, start, &mut quotes);
        let context = || format!("{name} from {start} of {:?}", String::from_utf8_lossy(buf));
        assert_eq!(got.end, want.end, "{}", context());
        let bits = bits(&quotes, start);
        assert_eq!(bits, want.quotes, "{}", context());
        // An invalid line is never clean. The other way round is checked where nothing follows
        // the line: bytes after its end may make it unclean.
        assert!(want.clean || !got.clean, "called clean: {}", context());
        if want.end + 1 >= buf.len() && !want.return_ends_block {
            assert_eq!(got.clean, want.clean, "{}", context());
        }
        assert!(got.unicode_escapes || !want.unicode_escapes, "{}", context());
        match &first {
            None => first = Some((got, quotes)),
            Some(first) => assert_eq!(first, &(got, quotes), "{}", context()),
        }
    }
    first.unwrap().0
}

#[test]
fn the_best_is_one_of_all() {
    let all = Classifier::all();
    assert!(all.iter().any(|(_, classifier)| *classifier == Classifier::best()));
    assert_eq!(all[0].0, "portable");
    if cfg!(target_arch = "x86_64") {
        assert!(all.len() >= 2);
    }
}

// B1: it was asked for AVX2 alone, and more was enabled. Only `HasAvx2::detect` makes what `avx2` wants.
#[cfg(target_arch = "x86_64")]
#[test]
fn b01_avx2_where_all_that_it_enables_is_there() {
    let has = [
        is_x86_feature_detected!("avx2"),
        is_x86_feature_detected!("bmi1"),
        is_x86_feature_detected!("bmi2"),
        is_x86_feature_detected!("lzcnt"),
        is_x86_feature_detected!("popcnt"),
    ];
    let offered = Classifier::all().iter().any(|(name, _)| *name == "avx2");
    assert_eq!(offered, has == [true; 5]);
    assert_eq!(Classifier::best() != Classifier::Sse2, offered);
}

#[test]
fn small_lines() {
    let line = |text: &[u8]| check(text, 0);
    assert_eq!(line(b""), Line { end: 0, clean: true, unicode_escapes: false });
    assert_eq!(line(b"\n"), Line { end: 0, clean: true, unicode_escapes: false });
    assert_eq!(line(br#"{"a":1}"#), Line { end: 7, clean: true, unicode_escapes: false });
    assert_eq!(line(b"{\"a\":1}\r\n"), Line { end: 8, clean: true, unicode_escapes: false });
    assert_eq!(line(b"\"\\u00e9\"\n"), Line { end: 8, clean: true, unicode_escapes: true });
    for unclean in [
        &b"\"\\x\""[..],
        b"\"\\u12g4\"",
        b"\"\\u123\"",
        b"\"\t\"",
        b"\"\0\"",
        b"\"\x1f\"",
        b"a\rb\n",
        b"\r\r\n",
        b"\"\\\r\n",
        b"\"\\\n",
        b"\\",
    ] {
        assert!(!line(unclean).clean, "{:?}", String::from_utf8_lossy(unclean));
    }
    // Bytes above 0x7f, DEL and a slash are nothing special.
    assert!(line("\"\u{2028}\u{7f}\\/é\"".as_bytes()).clean);
}

// Every pattern of four special bytes, across every place near the ends of the first two blocks.
#[test]
fn patterns_around_block_ends() {
    const BYTES: [u8; 8] = [b'\\', b'"', b'\n', b'\r', 0x1f, b'u', b'0', b'x'];
    for number in 0..8usize.pow(4) {
        let pattern: [u8; 4] = std::array::from_fn(|at| BYTES[number >> (3 * at) & 7]);
        for offset in (58..=66).chain([0, 1, 124, 125, 126, 127, 128]) {
            let mut buf = vec![b'a'; offset];
            buf.extend_from_slice(&pattern);
            check(&buf, 0);
            buf.extend_from_slice(b"0000\"b\n\"tail\"");
            check(&buf, if offset == 62 { 3 } else { 0 });
        }
    }
}

// Runs of backslashes of every length, from every place: the parity crosses blocks.
#[test]
fn runs_of_backslashes() {
    for run in 0..140 {
        for offset in 0..67 {
            for after in [&b"\""[..], b"n\"", b"x\"", b"u12ab\"", b"", b"\n"] {
                let mut buf = vec![b' '; offset];
                buf.extend(std::iter::repeat_n(b'\\', run));
                buf.extend_from_slice(after);
                let line = check(&buf, 0);
                if after == b"\"" {
                    // A whole number of pairs: valid however long.
                    assert!(line.clean);
                }
            }
        }
    }
}

#[test]
fn a_unicode_escape_across_a_block_end() {
    for offset in 50..70 {
        for (escape, clean) in [("\\uD83D", true), ("\\u12G4", false), ("\\u1\"34", false), ("\\\\u12G4", true)] {
            let text = format!("{}{escape}", "a".repeat(offset));
            assert_eq!(check(text.as_bytes(), 0).clean, clean, "{text}");
        }
    }
}

// R14: only 0x0A ends a line, and the first one does.
#[test]
fn line_ends() {
    for len in 0..200 {
        let mut buf = vec![b'a'; len];
        assert_eq!(check(&buf, 0).end, len);
        buf.extend_from_slice(b"\r\nb\nc");
        assert_eq!(check(&buf, 0).end, len + 1);
        assert_eq!(check(&buf, len + 2).end, len + 3);
        assert_eq!(check(&buf, len + 4).end, len + 5);
        assert_eq!(check(&buf, len + 5).end, len + 5);
    }
    // Only the carriage return before the newline is white space.
    for len in 60..70 {
        let buf = [&vec![b'a'; len][..], b"\rb\n"].concat();
        assert!(!check(&buf, 0).clean);
    }
}

#[test]
fn each_control_character_and_no_other_byte_is_unclean() {
    for byte in 0..=255u8 {
        for at in [0, 1, 7, 8, 63, 64, 65] {
            let mut buf = vec![b'a'; 70];
            buf[at] = byte;
            let line = check(&buf, 0);
            assert_eq!(line.clean, byte >= 0x20 && byte != b'\\' || byte == b'\n', "{byte:#x} at {at}");
        }
    }
}

/// Mostly bytes that mean something. A table: strategies for single bytes are slow.
fn special_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..400).prop_map(|mut bytes| {
        for byte in &mut bytes {
            *byte = match *byte {
                0..48 => b'\\',
                48..80 => b'"',
                80..100 => b'u',
                100..108 => b'\n',
                108..116 => b'\r',
                116..124 => *byte & 0x1f,
                124..160 => b"nbt/0aF19 {}[]"[usize::from(*byte) % 14],
                160..220 => b'x',
                other => other,
            };
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    // Line after line through random buffers, each starting where the one before ended.
    #[test]
    fn random_buffers(buf in special_bytes(), first in 0usize..70) {
        let mut start = first.min(buf.len());
        loop {
            let line = check(&buf, start);
            start = line.end + 1;
            if start >= buf.len() {
                break;
            }
        }
    }

    #[test]
    fn random_bytes(buf in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&buf, 0);
    }
}

#[test]
fn a_classifier_leaves_nothing_behind() {
    let classifier = Classifier::best();
    let mut quotes = Vec::new();
    classifier.classify(&[b'"'; 300], 0, &mut quotes);
    classifier.classify(b"ab\n\"", 0, &mut quotes);
    assert_eq!(quotes, [0]);
}
