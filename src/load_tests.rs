//! The scan: line numbers, what is not an entry, files read in pieces and by several threads.

#[path = "load_messages_tests.rs"]
mod messages;

use super::{BYTES_A_THREAD, LineNumbers, Other, OtherKind, READ, Scan, line_start, scan};
use crate::entry::{EntryKind, Role};
use crate::error::ErrorCode;
use crate::storage::Source;
use crate::tree::{Id, Parent, Slot};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZero;

fn bytes(text: impl Into<Vec<u8>>) -> Source {
    Source::Bytes(text.into())
}

fn scanned(text: impl Into<Vec<u8>>) -> Scan {
    scan(&bytes(text), None).unwrap()
}

/// The file and its source: the file goes when the handle does.
fn file(text: &[u8]) -> (tempfile::NamedTempFile, Source) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let source = Source::open(file.path()).unwrap();
    (file, source)
}

fn id(scan: &Scan, slot: &Slot) -> String {
    slot.id().map_or_else(|| "-".to_owned(), |id| name(scan, id))
}

fn name(scan: &Scan, id: Id) -> String {
    match id {
        Id::Hex(hex) => format!("{hex:08x}"),
        Id::Name(at) => format!("'{}'", String::from_utf8_lossy(scan.names.get(at))),
    }
}

/// All a scan found, in words that do not depend on how it was cut into parts.
fn told(scan: &Scan) -> Vec<String> {
    let mut told: Vec<String> = (0..)
        .zip(&scan.slots)
        .map(|(at, slot)| {
            let parent = match slot.parent() {
                Parent::Id(parent) => name(scan, parent),
                other => format!("{other:?}"),
            };
            format!(
                "{} {} {} {} {:?} {:?} {parent} {} {} {}",
                scan.lines.of(at),
                slot.offset,
                slot.len,
                slot.time,
                slot.kind,
                slot.role,
                id(scan, slot),
                slot.has_blob_reference(),
                slot.has_provider_payload(),
            )
        })
        .collect();
    told.extend(scan.others.iter().map(|other| format!("{other:?}")));
    told.extend(scan.labels.iter().map(|label| format!("{label:?}")));
    let usage = scan.usage;
    for number in [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.premium_requests, usage.cost] {
        told.push(format!("{:016x}", number.to_bits()));
    }
    told.push(format!("{} lines", scan.line_count));
    told
}

fn same(got: &Scan, want: &Scan, what: &str) {
    let (got, want) = (told(got), told(want));
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got, want, "{what}");
    }
    assert_eq!(got.len(), want.len(), "{what}");
}

fn threads(count: usize) -> Option<NonZero<usize>> {
    NonZero::new(count)
}

const ENTRY: &str = r#"{"type":"custom","id":"0000000a","parentId":null}"#;

fn lines_of(scan: &Scan) -> Vec<u64> {
    (0..scan.entry_count()).map(|entry| scan.lines.of(entry)).collect()
}

// R50: physical lines from 1, whatever stands between.
#[test]
fn line_numbers() {
    assert_eq!(lines_of(&scanned(format!("{ENTRY}\n{ENTRY}\n{ENTRY}"))), [1, 2, 3]);
    assert_eq!(
        lines_of(&scanned(format!("\n\r\n{ENTRY}\n \n\0\0\n{ENTRY}{ENTRY}{ENTRY}\nx\n{ENTRY}\r\n"))),
        [3, 6, 6, 6, 8]
    );
    assert_eq!(lines_of(&scanned(format!("7{ENTRY}\n{ENTRY}x\n\n\n{ENTRY}"))), [1, 2, 5]);
    assert!(lines_of(&scanned("")).is_empty());
    assert_eq!(scanned("a\nb").line_count, 2);
    assert_eq!(scanned("a\nb\n").line_count, 2);
    assert_eq!(scanned("\n\n\n").line_count, 3);
}

#[test]
fn line_numbers_keep_only_what_is_not_next() {
    let mut lines = LineNumbers::default();
    for (entry, line) in [(0, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 9)] {
        lines.push(entry, line);
    }
    assert_eq!(lines.0, [(0, 2), (3, 4), (5, 9)]);
    assert_eq!((0..7).map(|entry| lines.of(entry)).collect::<Vec<_>>(), [2, 3, 4, 4, 5, 9, 10]);
}

// R14, R47: what each kind of line is, and where.
#[test]
fn what_is_not_an_entry() {
    use OtherKind::{Invalid, Session, TitleSlot, Torn, Trailing, Value};
    let other = |kind, line, offset, len, at| Other { kind, line, offset, len, at };
    let cases: &[(&str, &[Other])] = &[
        ("", &[]),
        (" \t\r\n\0\n\u{feff}\n", &[]),
        ("{\"type\":\"session\",\"id\":\"x\"}\n", &[other(Session { has_id: true }, 1, 0, 27, 0)]),
        ("{\"type\":\"session\",\"id\":7}\n", &[other(Session { has_id: false }, 1, 0, 25, 0)]),
        ("{\"type\":\"\\u0073ession\"}\n", &[other(Session { has_id: false }, 1, 0, 23, 0)]),
        (
            "{\"type\":7}\n{\"type\":null}\n{}\n",
            &[other(Value, 1, 0, 10, 0), other(Value, 2, 11, 13, 0), other(Value, 3, 25, 2, 0)],
        ),
        ("1 [2]\n", &[other(Value, 1, 0, 1, 0), other(Value, 1, 2, 3, 0)]),
        ("oops\r\n", &[other(Invalid, 1, 0, 4, 0)]),
        ("oops", &[other(Torn, 1, 0, 4, 0)]),
        (" {\"type\":\"x\"", &[other(Torn, 1, 1, 11, 0)]),
        ("{\"type\":\"x\"\n{}", &[other(Invalid, 1, 0, 11, 0), other(Value, 2, 12, 2, 0)]),
        ("{\"type\":\"x\"} y z\r\n", &[other(Trailing, 1, 13, 3, 1)]),
        ("{\"type\":\"x\"}{\"type\":", &[other(Trailing, 1, 12, 8, 1)]),
        ("5 y\n", &[other(Value, 1, 0, 1, 0), other(Trailing, 1, 2, 1, 0)]),
        // The last of duplicate keys says what it is.
        ("{\"type\":\"x\",\"type\":3}\n", &[other(Value, 1, 0, 21, 0)]),
        ("{\"type\":3,\"type\":\"\"}\n", &[]),
    ];
    for (text, want) in cases {
        let scan = scanned(*text);
        assert_eq!(scan.others, *want, "{text:?}");
    }
    assert_eq!(scanned("{\"type\":3,\"type\":\"\"}\n").slots.len(), 1);

    // R48, G7: a slot is one by what it says, in a line of any length; what has an id is an entry.
    let slot = |pad: usize, end: &str| {
        let fields = r#"{"type":"title","v":1,"title":"T","updatedAt":"","pad":""#;
        format!("{fields}{}\"}}{end}", " ".repeat(pad - fields.len() - 2))
    };
    let kinds = |text: String| scanned(text).others.iter().map(|other| other.kind).collect::<Vec<_>>();
    assert_eq!(kinds(slot(255, "\n")), [TitleSlot]);
    for (pad, end) in [(254, "\n"), (256, "\n"), (255, ""), (254, ""), (256, ""), (255, "\r\n"), (70, "\n")] {
        assert_eq!(kinds(slot(pad, end)), [TitleSlot], "{pad} {end:?}");
    }
    assert_eq!(kinds(slot(255, "\n").replace("\"v\":1", "\"v\":1,\"id\":\"a\"")), []);
    assert_eq!(kinds(slot(254, " \n")), [TitleSlot]);
    assert_eq!(kinds(slot(255, "\n").replace("\"v\":1", "\"v\":2")), []);
    assert_eq!(kinds(format!("x\n{}", slot(255, "\n"))), [Invalid, TitleSlot]);
    assert_eq!(kinds(format!("\u{feff}\0{}", slot(255, "\0\n"))), [TitleSlot]);
}

#[test]
fn what_the_index_knows_of_an_entry() {
    let text = concat!(
        r#" {"type":"message","id":"0a1b2c3d","parentId":"n-1","timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant","providerPayload":1,"content":"blob:sha256:"}} "#,
        "\n",
        r#"{"type":"model_change","id":"n-1","parentId":"","timestamp":1e3}"#,
        "\n",
        r#"{"type":"message","id":7,"parentId":8,"timestamp":"never","message":null}"#,
        "\n",
        r#"{"type":"mess\u0061ge","id":"n-\u0031","parentId":"0A1B2C3D","message":{"r\u006fle":"us\u0065r"}}"#,
        "\n",
        r#"{"type":"made up","id":"","parentId":["n-1"],"message":{"role":"user"}}"#,
    );
    let scan = scanned(text);
    let told: Vec<_> = scan
        .slots
        .iter()
        .map(|slot| (slot.kind, slot.role, id(&scan, slot), slot.time, slot.offset, slot.len))
        .collect();
    let first_line = u32::try_from(text.find('\n').unwrap()).unwrap();
    let none = Slot::NO_TIME;
    let at = |line: usize| text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() as u64;
    let len = |line: usize| u32::try_from(text.lines().nth(line).unwrap().len()).unwrap();
    assert_eq!(
        told,
        [
            (EntryKind::Message, Role::Assistant, "0a1b2c3d".to_owned(), 1_771_237_230_000, 1, first_line - 2),
            (EntryKind::ModelChange, Role::Other, "'n-1'".to_owned(), 1000, at(1), len(1)),
            (EntryKind::Message, Role::Other, "-".to_owned(), none, at(2), len(2)),
            (EntryKind::Message, Role::User, "'n-1'".to_owned(), none, at(3), len(3)),
            (EntryKind::Other, Role::Other, "''".to_owned(), none, at(4), len(4)),
        ]
    );
    let parents: Vec<_> = scan
        .slots
        .iter()
        .map(|slot| match slot.parent() {
            Parent::Id(id) => name(&scan, id),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(parents, ["'n-1'", "Root", "Root", "'0A1B2C3D'", "Root"]);
    let flags = |at: usize| (scan.slots[at].has_blob_reference(), scan.slots[at].has_provider_payload());
    assert_eq!((flags(0), flags(1)), ((true, true), (false, false)));
}

/// A session of some length with everything in it that a scan looks at, about `size` bytes.
fn mixture(size: usize) -> String {
    let mut text = String::with_capacity(size + 4000);
    text.push_str("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let mut state = 5u32;
    let mut at = 0u32;
    while text.len() < size {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        at += 1;
        let pad = "p\\n\\u00e9é".repeat((state >> 24) as usize);
        let parent = at - 1;
        match state >> 16 & 15 {
            0 => writeln!(text, "{{\"type\":\"custom\",\"id\":\"name {at}\",\"parentId\":\"{parent:08x}\"}}"),
            1 => writeln!(text, "{{\"type\":\"custom\",\"id\":\"{at:08x}\",\"parentId\":\"name {parent}\",\"data\":\"{pad}\"}}"),
            2 => writeln!(
                text,
                "{{\"type\":\"label\",\"id\":\"{at:08x}\",\"parentId\":null,\"targetId\":\"{parent:08x}\",\"label\":\"{at}\"}}"
            ),
            3 => writeln!(text, "\r\n \n[\"{pad}\"] {{\"type\":\"custom\"}}{{\"type\":\"custom\",\"id\":\"{at:08x}\"}} tail\r"),
            4 => writeln!(text, "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"text\":\"{pad}"),
            _ => writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":\"{parent:08x}\",\"timestamp\":\"2026-02-16T10:20:30.{:03}Z\",\"message\":{{\"role\":\"assistant\",\"content\":\"{pad}{pad}\",\"usage\":{{\"input\":{at}.{n},\"output\":2.{n},\"cacheRead\":0.{n},\"cacheWrite\":0.{n},\"premiumRequests\":0.{n},\"cost\":{{\"total\":0.{n}}}}}}}}}",
                at % 1000,
                n = state >> 12,
            ),
        }
        .unwrap();
    }
    text
}

// Cut into parts or not: the same entries, lines, labels, others, and the same usage to the last
// bit, because it is summed in the order of the file.
#[test]
fn threads_find_what_one_finds() {
    let size = usize::try_from(BYTES_A_THREAD * 4 + 100_000).unwrap();
    let mut text = mixture(size);
    // Numbers that sum to something else in another order.
    let large = r#"{"type":"message","id":"ffffffff","message":{"role":"assistant","usage":{"input":1e16,"output":1e16,"cacheRead":1e16,"cacheWrite":1e16,"premiumRequests":1e16,"cost":{"total":1e16}}}}"#;
    let minus = large.replace("1e16", "-1e16");
    let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    text.insert_str(starts[starts.len() / 2], &format!("{minus}\n"));
    text.insert_str(starts[0], &format!("{large}\n"));
    let (_kept, from_file) = file(text.as_bytes());
    let in_memory = bytes(text);
    let one = scan(&in_memory, threads(1)).unwrap();
    assert!(one.slots.len() > 2000 && one.others.len() > 100 && one.labels.len() > 50 && one.names.len() > 100);
    for count in [2, 3, 4, 16] {
        same(&scan(&in_memory, threads(count)).unwrap(), &one, &format!("{count} threads, memory"));
        same(&scan(&from_file, threads(count)).unwrap(), &one, &format!("{count} threads, file"));
    }
    same(&scan(&from_file, threads(1)).unwrap(), &one, "one thread, file");
}

// A border may fall on a newline, after it, into a line longer than a part, or behind the last line.
#[test]
fn borders_between_threads() {
    let part = usize::try_from(BYTES_A_THREAD).unwrap();
    let filler = |len: usize| {
        let line = format!("{{\"type\":\"custom\",\"data\":\"{}\"}}\n", "f".repeat(900));
        let mut text = line.repeat(len / line.len());
        text.push_str(&" ".repeat(len - text.len()));
        text
    };
    for shift in [0, 1, 2] {
        // The newline stands before, at or after the border.
        let mut text = filler(part - shift);
        text.push('\n');
        text.push_str(&filler(2 * part - text.len() - 1));
        text.push('\n');
        assert_eq!(text.len(), 2 * part);
        same(&scan(&bytes(text.clone()), threads(2)).unwrap(), &scan(&bytes(text), threads(1)).unwrap(), "newline");
    }
    let long = format!("{ENTRY}\n{{\"type\":\"custom\",\"data\":\"{}\"}}\n{ENTRY}", "x".repeat(part * 3));
    let (_kept, from_file) = file(long.as_bytes());
    let one = scan(&bytes(long), threads(1)).unwrap();
    assert_eq!(lines_of(&one), [1, 2, 3]);
    for count in [2, 3, 4] {
        same(&scan(&from_file, threads(count)).unwrap(), &one, "long line");
    }
    let open = format!("{ENTRY}\n\"{}", "x".repeat(part * 2));
    same(&scan(&bytes(open.clone()), threads(2)).unwrap(), &scan(&bytes(open), threads(1)).unwrap(), "no end");
}

// U3: where a part begins in the middle of a value, however it is set in, the value is read all the same.
#[test]
fn u03_a_value_over_a_border_between_threads() {
    let lines = usize::try_from(BYTES_A_THREAD).unwrap() / 2 + 50_000;
    let shapes = [
        // More lines than are looked at for a better border.
        ("{\"type\":\"custom\",\"data\":[\n", " 1,\n".repeat(lines)),
        ("{\n", "\"k\":\n1,\n".repeat(lines / 2)),
        // Lines that look like the start of an entry.
        ("{\"type\":\"custom\",\"data\":[\n", "{\"type\":\"custom\"},\n".repeat(lines / 4)),
        ("{\"type\":\"custom\",\"data\":[\n", "{\n\"type\":\"custom\"},\n".repeat(lines / 4)),
    ];
    for (begin, middle) in shapes {
        let end = if begin == "{\n" { "\"type\":\"custom\"}" } else { "1]}" };
        let text = format!("{ENTRY}\n{begin}{middle}{end}\n{ENTRY}\n");
        assert!(text.len() as u64 > 2 * BYTES_A_THREAD);
        let spread = 2 + middle.matches('\n').count() as u64;
        let (_kept, from_file) = file(text.as_bytes());
        for (source, count) in [(&from_file, 2), (&bytes(text), 4)] {
            let scan = scan(source, threads(count)).unwrap();
            assert_eq!(lines_of(&scan), [1, 2, 2 + spread], "{count} threads, {begin:?}");
            assert_eq!((scan.others.len(), scan.line_count), (0, 2 + spread));
        }
    }
}

#[test]
fn starts_of_lines() {
    let text = "ab\n\ncd\n".to_owned() + &"x".repeat(5000) + "\ny";
    let (_kept, from_file) = file(text.as_bytes());
    for source in [bytes(text), from_file] {
        let want = [
            (1, 3),
            (2, 3),
            (3, 3),
            (4, 4),
            (5, 7),
            (6, 7),
            (7, 7),
            (8, 5008),
            (5007, 5008),
            (5008, 5008),
            (5009, 5009),
        ];
        for (from, start) in want {
            assert_eq!(line_start(&source, from).unwrap(), start, "{from}");
        }
    }
}

// Lines that end before, at and after the end of the read buffer, and lines that do not fit it.
#[test]
fn pieces_of_a_file() {
    let line = |len: usize, id: u32| {
        let fields = format!("{{\"type\":\"custom\",\"id\":\"{id:08x}\",\"data\":\"");
        format!("{fields}{}\"}}", "d".repeat(len - fields.len() - 2))
    };
    for first in [READ - 2, READ - 1, READ, READ + 1, 2 * READ - 1, 2 * READ, 2 * READ + 1, 5 * READ + 17] {
        for second in [100, READ - 1, READ] {
            for end in ["", "\n", "\r\n", "\n\n"] {
                let text = format!("{}\n{}{end}", line(first, 1), line(second, 2));
                let (_kept, source) = file(text.as_bytes());
                let got = scan(&source, threads(1)).unwrap();
                same(&got, &scanned(text), &format!("{first} {second} {end:?}"));
                assert_eq!(lines_of(&got), [1, 2]);
                assert_eq!(got.slots[1].offset, first as u64 + 1);
            }
        }
    }
}

// The last byte of the file is the last of a buffer.
#[test]
fn a_file_that_fills_the_buffer() {
    for whole in [READ, 2 * READ] {
        for last in ["}", "\n", "\r", "x"] {
            let mut text = mixture(whole - 4000);
            text.push_str("{\"type\":\"custom\",\"data\":\"");
            text.push_str(&"z".repeat(whole - text.len() - 2 - last.len()));
            text.push_str("\"}");
            if last != "}" {
                text.push_str(last);
            } else {
                let brace = text.pop();
                text.push('z');
                text.truncate(text.len() - 2);
                text.push_str("z\"");
                text.extend(brace);
            }
            assert_eq!(text.len(), whole, "{last:?}");
            let (_kept, source) = file(text.as_bytes());
            let scan = scan(&source, threads(1)).unwrap();
            same(&scan, &scanned(text), last);
            assert_eq!(
                scan.others.last().is_some_and(|other| other.kind == OtherKind::Trailing && other.len == 1),
                last == "x"
            );
        }
    }
}

// A file cut short between opening and reading is an error, not a shorter session.
#[test]
fn a_file_cut_short() {
    let text = mixture(3 * READ);
    for keep in [0, 1, READ as u64, READ as u64 + 1, text.len() as u64 - 1] {
        let (kept, source) = file(text.as_bytes());
        kept.as_file().set_len(keep).unwrap();
        let error = scan(&source, threads(1)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::FileChanged);
        assert_eq!(error.path(), Some(kept.path()));
    }
    let text = mixture(usize::try_from(3 * BYTES_A_THREAD).unwrap());
    let (kept, source) = file(text.as_bytes());
    kept.as_file().set_len(text.len() as u64 - 1).unwrap();
    assert_eq!(scan(&source, threads(3)).unwrap_err().code(), ErrorCode::FileChanged);
}

// What is appended after opening is not read.
#[test]
fn a_file_that_grows() {
    let (mut kept, source) = file(format!("{ENTRY}\n{ENTRY}").as_bytes());
    kept.write_all(b"tail\n").unwrap();
    let scan = scan(&source, None).unwrap();
    assert_eq!((lines_of(&scan), scan.others.len()), (vec![1, 2], 0));
}

// R4. Numbers from `node -p 'Date.parse(TEXT)'`.
#[test]
fn timestamps() {
    let times = |text: &str| scanned(format!("{{\"type\":\"x\",\"timestamp\":{text}}}")).slots[0].time;
    for (text, want) in [
        ("\"2000-02-29T00:00:00.000Z\"", 951_782_400_000),
        ("\"1900-02-28T00:00:00.000Z\"", -2_203_977_600_000),
        ("\"0001-01-01T00:00:00.000Z\"", -62_135_596_800_000),
        ("\"9999-12-31T23:59:59.999Z\"", 253_402_300_799_999),
        ("\"2026-02-16T10:20:30.000+02:00\"", 1_771_230_030_000),
        ("\"2026-02-16T10:20Z\"", 1_771_237_200_000),
        ("\"2026\\u002d02-16T10:20:30.000Z\"", 1_771_237_230_000),
        ("1771237230000", 1_771_237_230_000),
        ("1.5", 1),
        ("-1.5", -1),
        ("8.64e15", 8_640_000_000_000_000),
    ] {
        assert_eq!(times(text), want, "{text}");
    }
    for text in [
        "\"2026-02-16T24:00:01.000Z\"",
        "\"2026-02-16T23:60:00.000Z\"",
        "\"2026-02-16T25:00:00.000Z\"",
        "\"2026-00-16T10:00:00.000Z\"",
        "\"2026-02-00T10:00:00.000Z\"",
        "\"2026-02-16T10:20:30.00\\u00e9Z\"",
        "\"\"",
        "8.65e15",
        "1e400",
        "null",
        "[]",
    ] {
        assert_eq!(times(text), Slot::NO_TIME, "{text}");
    }
}

// R49 and part C: what counts as usage. Sums worked out by hand.
#[test]
fn usage() {
    let message = |message: &str| format!("{{\"type\":\"message\",\"message\":{message}}}\n");
    let of = |text: String| {
        let usage = scanned(text).usage;
        [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.premium_requests, usage.cost]
    };
    let all =
        r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"premiumRequests":5,"cost":{"input":9,"total":0.5}}"#;
    assert_eq!(of(message(&format!(r#"{{"role":"assistant","usage":{all}}}"#))), [1.0, 2.0, 3.0, 4.0, 5.0, 0.5]);
    assert_eq!(of(message(&format!(r#"{{"usage":{all},"role":"assist\u0061nt"}}"#))), [1.0, 2.0, 3.0, 4.0, 5.0, 0.5]);
    for task in [r#""toolName":"task","details":{"usage":U}"#, r#""details":{"x":1,"usage":U},"toolName":"t\u0061sk""#]
    {
        let text = message(&format!("{{\"role\":\"toolResult\",{}}}", task.replace('U', all)));
        assert_eq!(of(text), [1.0, 2.0, 3.0, 4.0, 5.0, 0.5]);
    }
    for none in [
        format!(r#"{{"role":"user","usage":{all}}}"#),
        format!(r#"{{"role":"toolResult","toolName":"bash","details":{{"usage":{all}}}}}"#),
        format!(r#"{{"role":"toolResult","toolName":"task","usage":{all}}}"#),
        format!(r#"{{"role":"assistant","details":{{"usage":{all}}}}}"#),
        format!(r#"{{"role":"assistant","usage":{all},"usage":null}}"#),
        format!(r#"{{"role":"assistant","usage":[{all}]}}"#),
        r#"{"role":"assistant","usage":7}"#.to_owned(),
        r#"{"role":"assistant","usage":{"input":"1","output":null,"cost":3,"cacheRead":{},"cacheWrite":true}}"#
            .to_owned(),
        "null".to_owned(),
        format!(r#"[{{"role":"assistant","usage":{all}}}]"#),
    ] {
        assert_eq!(of(message(&none)), [0.0; 6], "{none}");
    }
    let numbers = r#"{"role":"assistant","usage":{"input":1e2,"output":-3,"cacheRead":0.25,"cacheWrite":123456789012345678,"input":7}}"#;
    assert_eq!(of(message(numbers)), [7.0, -3.0, 0.25, 123_456_789_012_345_680.0, 0.0, 0.0]);
    // Other types have none, and the last of two messages counts.
    assert_eq!(
        of(format!("{{\"type\":\"custom\",\"message\":{{\"role\":\"assistant\",\"usage\":{all}}}}}\n")),
        [0.0; 6]
    );
    assert_eq!(
        of(format!("{{\"type\":\"message\",\"message\":{{\"role\":\"assistant\",\"usage\":{all}}},\"message\":1}}\n")),
        [0.0; 6]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    // R45, R47: entries, other values, what is no value, and blanks are the whole file; each has
    // the line it stands on.
    #[test]
    fn nothing_of_a_file_is_lost(pieces in prop::collection::vec(any::<u8>(), 0..60)) {
        const PIECES: [&[u8]; 16] = [
            b"\n", b"\n", b"\r\n", b" \t", b"\0", b"\xEF\xBB\xBF", b"oops", b"{\"type\":\"x\"", b"}", b"7", b"\"\xff\"", b"[1,", b"\r",
            b"{\"type\":\"x\"}", b"{\"type\":\"session\",\"id\":\"s\"}", b"{\"type\":\"label\",\"targetId\":\"\\u00e9\"}",
        ];
        let text: Vec<u8> = pieces.iter().flat_map(|&piece| PIECES[usize::from(piece % 16)]).copied().collect();
        let scan = scanned(text.clone());
        let line_at = |offset: u64| 1 + text[..offset as usize].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (at, slot) in (0..).zip(&scan.slots) {
            prop_assert_eq!(scan.lines.of(at), line_at(slot.offset));
            spans.push((slot.offset, u64::from(slot.len)));
        }
        for other in &scan.others {
            prop_assert_eq!(other.line, line_at(other.offset));
            prop_assert_eq!(u64::from(other.at), scan.slots.iter().filter(|slot| slot.offset < other.offset).count() as u64);
            spans.push((other.offset, other.len));
        }
        spans.sort_unstable();
        let mut rest = Vec::new();
        let mut done = 0;
        for (offset, len) in spans {
            prop_assert!(offset >= done, "spans overlap");
            rest.extend_from_slice(&text[done as usize..offset as usize]);
            rest.push(b'|');
            done = offset + len;
        }
        rest.extend_from_slice(&text[done as usize..]);
        let rest = String::from_utf8(rest).unwrap();
        prop_assert!(rest.chars().all(|c| " \t\r\n\0\u{feff}|".contains(c)), "{:?}", rest);
    }
}

// R48: blanks and NUL bytes that fill the buffer are read past, and everything is as it would be with a
// buffer that holds the line.
#[test]
fn a_long_run_of_blanks() {
    let slot = {
        let bare = r#"{"type":"title","v":1,"title":"T","updatedAt":"","pad":""}"#.len();
        format!(r#"{{"type":"title","v":1,"title":"T","updatedAt":"","pad":"{}"}}"#, " ".repeat(255 - bare))
    };
    let entry = r#"{"type":"custom","id":"0000000a"}"#;
    for blank in [b"\0", b" "] {
        for len in [READ, 2 * READ + 7] {
            let run = blank.repeat(len);
            for (before, after) in
                [("", entry), ("\u{feff}", entry), ("", &*slot), ("", "\u{feff}1"), ("", "x"), ("", "")]
            {
                let text =
                    [b"\n".as_slice(), before.as_bytes(), &run, after.as_bytes(), b"\n", entry.as_bytes(), b"\n", &run]
                        .concat();
                let (_kept, source) = file(&text);
                let found = scan(&source, NonZero::new(1)).unwrap();
                assert_eq!(told(&found), told(&scanned(text.clone())), "{len} {before:?} {after:?}");
                assert_eq!(found.line_count, 4);
                assert_eq!(found.lines.of(found.slots.len() as u32 - 1), 3);
                let slots = found.others.iter().filter(|other| other.kind == OtherKind::TitleSlot).count();
                assert_eq!(slots, usize::from(after == slot));
            }
        }
    }
}
