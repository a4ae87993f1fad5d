//! Which lines hold which values: the grammar of RFC 8259, and what R14, R47 and R48 add.

use super::super::block;
use super::super::cursor::Nothing;
use super::{Bitmap, Checked, Cursor, Line, OnValue, Scanner, Strings};

/// Collects the spans of values; objects are read member by member, or skipped whole.
#[derive(Default)]
struct Spans {
    by_member: bool,
    spans: Vec<(usize, usize)>,
}

impl OnValue for Spans {
    type Search = Nothing;

    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        if !self.by_member {
            return cursor.value(at);
        }
        cursor.object(at, |cursor, _, at| match cursor.bytes.get(at)? {
            b'{' => cursor.object(at, |cursor, _, at| cursor.value(at)),
            b'[' => cursor.array(at, Cursor::value),
            _ => cursor.value(at),
        })
    }

    fn value(&mut self, start: usize, end: usize) {
        self.spans.push((start, end));
    }
}

/// The spans of the leading values and where reading stopped, by every way there is to read a
/// line: they must agree.
fn read(text: &[u8]) -> (Vec<(usize, usize)>, usize) {
    let mut answers = Vec::new();
    for (name, classifier) in block::Classifier::all() {
        for by_member in [false, true] {
            for before in [&b""[..], b"{\"x\":\"\\u00e9\"}\n"] {
                let buf = [before, text].concat();
                let mut scanner = Scanner::with(classifier);
                let line = scanner.line(&buf, before.len());
                let mut spans = Spans { by_member, ..Spans::default() };
                let mut stop = line.values(&mut spans);
                answers.push((name, shift(&mut spans, &mut stop, before.len())));
                // As if the line were not clean.
                let scalar = Line { clean: false, ..line };
                let mut spans = Spans { by_member, ..Spans::default() };
                let mut stop = scalar.values(&mut spans);
                answers.push((name, shift(&mut spans, &mut stop, before.len())));
            }
        }
    }
    let (_, first) = answers[0].clone();
    for (name, answer) in answers {
        assert_eq!(answer, first, "{name}: {:?}", String::from_utf8_lossy(text));
    }
    first
}

fn shift(spans: &mut Spans, stop: &mut usize, by: usize) -> (Vec<(usize, usize)>, usize) {
    *stop -= by;
    (std::mem::take(&mut spans.spans).into_iter().map(|(start, end)| (start - by, end - by)).collect(), *stop)
}

fn values(text: &[u8]) -> Vec<String> {
    read(text).0.into_iter().map(|(start, end)| String::from_utf8_lossy(&text[start..end]).into_owned()).collect()
}

/// Texts that are one JSON value.
const ACCEPTED: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-7",
    "12345678",
    "123456789012345678901234567890",
    "0.0",
    "-0.5",
    "1.25",
    "10000000.00000001",
    "1e4",
    "1E4",
    "1e+4",
    "1e-4",
    "1.5E+400",
    "1e400",
    "0e0",
    "0e-00",
    "-1.0e012",
    r#""""#,
    r#"" ""#,
    r#""a""#,
    "\"\u{7f}\"",
    "\"\u{2028}\u{2029}\"",
    "\"\u{feff}\"",
    "\"\u{10ffff}\"",
    r#""\"\\\/\b\f\n\r\t""#,
    r#""\u0000""#,
    r#""\u00e9\u00E9""#,
    r#""\ud83d""#,
    r#""\ud83d\ude00""#,
    r#""\ude00\ud83d""#,
    r#""\\\\\"""#,
    r#""\\u12""#,
    "[]",
    "[ ]",
    "[\t]",
    "[1]",
    "[1,2]",
    "[ 1 , 2 ]",
    "[[],[[]]]",
    "[null,true,false,0,\"\",{},[]]",
    "{}",
    "{ }",
    r#"{"":0}"#,
    r#"{"a":1}"#,
    r#"{ "a" : 1 , "b" : [ ] }"#,
    r#"{"a":1,"a":2}"#,
    r#"{"a":{"b":{"c":[{"d":null}]}}}"#,
    r#"{"\u0061":"\u0062"}"#,
    r#"{"}":"{","]":"[",",":":"}"#,
];

/// Texts whose first value is not JSON.
const REJECTED: &[&str] = &[
    "nul",
    "nulll",
    "True",
    "NULL",
    "NaN",
    "Infinity",
    "-Infinity",
    "undefined",
    "+1",
    "-",
    "--1",
    "- 1",
    "00",
    "01",
    "-01",
    ".5",
    "1.",
    "-.5",
    "1.e4",
    "1e",
    "1e+",
    "1E-",
    "1e4.5",
    "1.2.3",
    "0x10",
    "1_000",
    "2026-11-30",
    "1,2",
    "truefalse",
    "true1",
    "null]",
    "1}",
    "1:",
    "\"",
    "\"a",
    r#""\"#,
    r#""\""#,
    r#""\x41""#,
    r#""\a""#,
    r#""\'""#,
    r#""\U0041""#,
    r#""\u""#,
    r#""\u1""#,
    r#""\u12""#,
    r#""\u123""#,
    r#""\u123g""#,
    r#""\u12 4""#,
    r#""\u+123""#,
    "\"\t\"",
    "\"\0\"",
    "\"\x1f\"",
    "'a'",
    "a",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[1:2]",
    "[\"a\":1]",
    "[1}",
    "[[]",
    "[01]",
    "[1.]",
    "[-]",
    "[tru]",
    "[nan]",
    "[\"\u{1}\"]",
    "[\0]",
    "[\x0c]",
    "[\u{a0}1]",
    "[\u{feff}1]",
    "{",
    "}",
    "{]",
    r#"{"a"#,
    r#"{"a""#,
    r#"{"a":"#,
    r#"{"a":1"#,
    r#"{"a":1,"#,
    r#"{"a":1,}"#,
    r#"{,"a":1}"#,
    r#"{"a" 1}"#,
    r#"{"a"::1}"#,
    r#"{"a":1 "b":2}"#,
    r#"{"a":1;"b":2}"#,
    r#"{"a":1:2}"#,
    r#"{"a",1}"#,
    r#"{"a"}"#,
    r#"{"a":}"#,
    r#"{"a":1]"#,
    r#"{a:1}"#,
    r#"{'a':1}"#,
    r#"{1:1}"#,
    r#"{null:1}"#,
    r#"{"a":[}"#,
    r#"{"a":01}"#,
    r#"{"\x":1}"#,
    r#"{"a":"\ud83"}"#,
    "{\"a\0\":1}",
    "{\"a\":1\0}",
    r#"{/*c*/"a":1}"#,
    r#"{"a":1//c"#,
    "#",
    "\u{a0}1",
    "\x0c1",
];

// R14: RFC 8259, no more and no less.
#[test]
fn one_value() {
    for text in ACCEPTED {
        let whole = (vec![(0, text.len())], text.len());
        assert_eq!(read(text.as_bytes()), whole, "{text}");
        // Inside other values, and after enough to end in another block.
        for pad in [0, 40, 50, 60, 63, 64] {
            let pad = "p".repeat(pad);
            for outer in
                [format!("[\"{pad}\",{text}]"), format!("{{\"{pad}\":{text}}}"), format!("[[{text}],\"{pad}\"]")]
            {
                assert_eq!(read(outer.as_bytes()), (vec![(0, outer.len())], outer.len()), "{outer}");
            }
        }
    }
}

#[test]
fn no_value() {
    for text in REJECTED {
        assert_eq!(read(text.as_bytes()), (vec![], 0), "{text:?}");
        for pad in [40, 62] {
            let pad = "p".repeat(pad);
            // Closed with each bracket, so that not only the missing end is wrong.
            for outer in [format!("[\"{pad}\",{text}]"), format!("{{\"{pad}\":{text}}}")] {
                let is_value = serde_json::from_str::<serde::de::IgnoredAny>(&outer).is_ok();
                assert_eq!(read(outer.as_bytes()) == (vec![(0, outer.len())], outer.len()), is_value, "{outer:?}");
            }
        }
    }
}

// R14: the leading values, one after another; then the rest.
#[test]
fn several_values() {
    let cases: &[(&str, &[&str], usize)] = &[
        ("", &[], 0),
        ("   \t ", &[], 5),
        (r#"{"a":1}{"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#], 14),
        (r#" {"a":1} [2]"x" "#, &[r#"{"a":1}"#, "[2]", "\"x\""], 16),
        (r#"{"a":1} {"b":"#, &[r#"{"a":1}"#], 8),
        (r#"{"a":1}}"#, &[r#"{"a":1}"#], 7),
        (r#"{"a":1},{"b":2}"#, &[r#"{"a":1}"#], 7),
        (r#"{"a":1}x"#, &[r#"{"a":1}"#], 7),
        (r#"{"a":1}   tail"#, &[r#"{"a":1}"#], 10),
        (r#"{"a":1}"open"#, &[r#"{"a":1}"#], 7),
        (r#""a""b"1 2"#, &["\"a\"", "\"b\"", "1", "2"], 9),
        (r#"1{"a":2}"#, &["1", r#"{"a":2}"#], 8),
        (r#"null[1]"#, &["null", "[1]"], 7),
        (r#"true"x""#, &["true", "\"x\""], 7),
        ("1 2 3x", &["1", "2"], 4),
        ("x1", &[], 0),
        ("  x", &[], 2),
    ];
    for (text, want, stop) in cases {
        assert_eq!(
            (values(text.as_bytes()), read(text.as_bytes()).1),
            (want.iter().map(ToString::to_string).collect(), *stop),
            "{text}"
        );
    }
}

// R48: NUL bytes around values, and a byte order mark, are blanks; inside a value they are not.
#[test]
fn nul_and_byte_order_mark() {
    let object = r#"{"a":1}"#.to_owned();
    for text in [
        &b"\0\0{\"a\":1}"[..],
        b"{\"a\":1}\0\0",
        b"\0 \0{\"a\":1}\0\r\0",
        b"\xEF\xBB\xBF{\"a\":1}",
        b"\xEF\xBB\xBF\0 {\"a\":1}",
        b"\xEF\xBB\xBF {\"a\":1}\r",
    ] {
        assert_eq!((values(text), read(text).1), (vec![object.clone()], text.len()), "{text:?}");
    }
    assert_eq!(values(b"{\"a\":1}\0{\"a\":1}"), [object.clone(), object.clone()]);
    assert_eq!(values(b"1\x002"), ["1", "2"]);
    for blank in [&b"\0\0\0\0"[..], b"\xEF\xBB\xBF", b"\xEF\xBB\xBF\0\r"] {
        assert_eq!(read(blank), (vec![], blank.len()));
    }
    for invalid in
        [&b"{\"a\":\x001}"[..], b"{\0\"a\":1}", b"\"a\0b\"", b"\xEF\xBB\xBF\xEF\xBB\xBF1", b"\xEF\xBB1", b"\xFE\xFF1"]
    {
        assert!(values(invalid).is_empty(), "{invalid:?}");
    }
    // A mark is one only where the line begins.
    assert_eq!(read(b"1 \xEF\xBB\xBF2"), (vec![(0, 1)], 2));
}

// R45: bytes that are not UTF-8 are kept where a string holds them.
#[test]
fn invalid_utf8_inside_strings_only() {
    for text in [&b"\"\xff\""[..], b"\"\xc3\"", b"{\"\xed\xa0\xbd\":\"\x80\"}"] {
        assert_eq!(read(text), (vec![(0, text.len())], text.len()));
    }
    for text in [&b"\xff"[..], b"[\xff]", b"{\"a\":1\xc3}"] {
        assert_eq!(read(text).0, []);
    }
}

// R49: any depth, in every mixture, closed and not.
#[test]
fn nesting() {
    for (open, close) in
        [("[", "]"), ("{\"k\":", "}"), ("[{\"k\":", "}]"), ("{\"k\":[", "]}"), ("[[[{\"k\":[", "]}]]]")]
    {
        for depth in [1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000] {
            let text = open.repeat(depth) + "0" + &close.repeat(depth);
            assert_eq!(read(text.as_bytes()).0, [(0, text.len())], "{open} {depth}");
            assert!(read(&text.as_bytes()[..text.len() - 1]).0.is_empty(), "{open} {depth}");
            // A bracket of the wrong kind at the end, and in the middle of the closing ones.
            for at in [text.len() - 1, text.len() - (close.len() * depth).div_ceil(2)] {
                let mut wrong = text.clone().into_bytes();
                wrong[at] = if wrong[at] == b']' { b'}' } else { b']' };
                assert!(read(&wrong).0.is_empty(), "{open} {depth}");
            }
        }
    }
    let deep = "[{\"k\":".repeat(50_000) + "0" + &"}]".repeat(50_000);
    assert_eq!(read(deep.as_bytes()).0, [(0, deep.len())]);
}

#[test]
fn the_next_line_is_not_read() {
    let buf = b"{\"a\":\"x\n\"}\n{\"b\":2}\r\n1";
    let mut scanner = Scanner::new();
    let mut starts = Vec::new();
    let mut start = 0;
    while start < buf.len() {
        let line = scanner.line(buf, start);
        let mut spans = Spans::default();
        let stop = line.values(&mut spans);
        starts.push((start, line.end, spans.spans, stop));
        start = line.end + 1;
    }
    assert_eq!(
        starts,
        [(0, 7, vec![], 0), (8, 10, vec![], 8), (11, 19, vec![(11, 18)], 19), (20, 21, vec![(20, 21)], 21),]
    );
}

#[test]
fn clean_lines_are_read_by_the_bitmap() {
    let mut scanner = Scanner::new();
    assert!(scanner.line(b"{\"a\":\"\\n\"}\n", 0).is_clean());
    assert!(!scanner.line(b"{\"a\":\"\\x\"}\n", 0).is_clean());
    let quotes = [0b1000_0001u64, 0b10];
    let bitmap = Bitmap { quotes: &quotes, base: 10 };
    assert_eq!(bitmap.close(b"", 10), Some(10));
    assert_eq!(bitmap.close(b"", 11), Some(17));
    assert_eq!(bitmap.close(b"", 18), Some(75));
    assert_eq!(bitmap.close(b"", 75), Some(75));
    assert_eq!(bitmap.close(b"", 76), None);
    assert_eq!(bitmap.close(b"", 500), None);
    assert_eq!(Checked.close(b"ab\"", 0), Some(2));
}
