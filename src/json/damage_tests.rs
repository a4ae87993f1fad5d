//! Damaged lines: what is found in them, and in linear time.

use super::super::cursor::{Cursor, Nothing, Strings};
use super::super::scan::OnValue;
use super::{Broken, Damaged, OnDamage, Read, ReadAhead, object, read};

/// Tells what it was handed; an object with an `"id"` is a record.
struct Told<'b> {
    bytes: &'b [u8],
    told: Vec<String>,
    is_record: bool,
    lines: u64,
}

impl OnValue for Told<'_> {
    type Search = Nothing;

    fn object<S: Strings>(&mut self, cursor: &mut Cursor<'_, S>, at: usize) -> Option<usize> {
        self.is_record = false;
        cursor.object(at, |cursor, key, at| {
            self.is_record |= &*cursor.name(key) == b"id";
            cursor.value(at)
        })
    }

    fn value(&mut self, start: usize, end: usize) {
        self.say("value", start, end);
    }
}

impl OnDamage for Told<'_> {
    fn is_record(&self) -> bool {
        self.is_record
    }

    fn has_type(&self) -> bool {
        self.is_record
    }

    fn unfinished(&mut self, start: usize, end: usize) {
        self.say("begun", start, end);
    }

    fn fragment(&mut self, start: usize, end: usize) {
        self.say("fragment", start, end);
    }

    fn spread(&mut self, lines: u64) {
        self.lines = lines;
    }
}

impl Told<'_> {
    fn say(&mut self, what: &str, start: usize, end: usize) {
        self.told.push(format!("{what} {}", String::from_utf8_lossy(&self.bytes[start..end])));
    }
}

/// What is told of the first line, and what it was.
fn tell(text: &str, more: bool) -> (Vec<String>, Read, u64) {
    let buf = text.as_bytes();
    let end = memchr::memchr(b'\n', buf).unwrap_or(buf.len());
    let mut told = Told { bytes: buf, told: Vec::new(), is_record: false, lines: 0 };
    let line = Damaged { buf, at: 0, end, is_first: true, more };
    let read = read(line, &mut ReadAhead::new(), &mut told);
    (told.told, read, told.lines)
}

// G1: the record behind a fragment, wherever that was cut.
#[test]
fn g01_every_cut() {
    let whole = r#"{"type":"x","n":-12.5e3,"s":"a\"b\\\u00e9 {","l":[true,{"q":"{"}],"id":"a"}"#;
    let next = r#"{"type":"y","id":"b"}"#;
    for cut in 1..whole.len() {
        let line = format!("{}{next}", &whole[..cut]);
        let (told, read, _) = tell(&line, false);
        assert_eq!(read, Read::Rest(line.len()), "{line}");
        let [begun @ .., fragment, value] = &told[..] else { panic!("{told:?}") };
        // Where it was cut behind `{"`, that might begin a record.
        let begun: String = begun.iter().map(|begun| &begun["begun ".len()..]).collect();
        assert_eq!(begun, whole[..cut]);
        assert_eq!(fragment, &format!("fragment {}", &whole[..cut]));
        assert_eq!(value, &format!("value {next}"));
    }
}

// G1: several on a line; blanks and NUL bytes between them; what is no record, and what is not the last of its line.
#[test]
fn g01_what_counts() {
    let told = |line: &str| tell(line, false).0;
    assert_eq!(
        told(r#"{"a{"id":1} {"id":2}"#),
        ["begun {\"a", "fragment {\"a", "value {\"id\":1}", "value {\"id\":2}"]
    );
    assert_eq!(
        told("x{\"id\":1}\0{\"id\":{\"id\":2}\0"),
        ["begun x", "fragment x", "value {\"id\":1}", "begun {\"id\":", "fragment {\"id\":", "value {\"id\":2}"]
    );
    // Inside another: a comma or a bracket follows.
    assert_eq!(told(r#"{"a":[{"id":1},{"id":2}],"b":"#), [r#"begun {"a":[{"id":1},{"id":2}],"b":"#]);
    assert_eq!(told(r#"x{"id":1}y"#), ["begun x", r#"begun {"id":1}y"#]);
    // No record.
    assert_eq!(told(r#"{"a":{"b":1}"#), [r#"begun {"a":{"b":1}"#]);
    // A quoted one is none: its quotes have a backslash (T15).
    assert_eq!(told(r#"{"a":"{\"id\":\"q\"}"#), [r#"begun {"a":"{\"id\":\"q\"}"#]);
    assert_eq!(
        told(r#"{"a":"{\"id\":\"q\"}{"id":1}"#),
        [r#"begun {"a":"{\"id\":\"q\"}"#, r#"fragment {"a":"{\"id\":\"q\"}"#, r#"value {"id":1}"#]
    );
    // The end of one whose start is lost.
    assert_eq!(told(r#"tail"}],"x":1}}{"id":1}"#).last().unwrap(), r#"value {"id":1}"#);
}

// U3: a value over several lines, and what is not one.
#[test]
fn u03_over_several_lines() {
    let text = "{\n\t\"id\": [\r\n1]}\r\nnext";
    assert_eq!(tell(text, false), (vec!["value {\n\t\"id\": [\r\n1]}".to_owned()], Read::Spread(16), 3));
    // Its end may come.
    assert_eq!(tell("{\n\"id\":\n", true).1, Read::More);
    assert_eq!(tell("{\n\"id\":1}", true).1, Read::More);
    for (text, first) in [
        ("{\n\"id\":", 1),
        ("{\n\"id\":1} x\n", 1),
        ("{\n\"b\":1}\n", 1),
        ("{\"id\":\"a\nb\"}\n", 8),
        ("{\"a\":[\n{\"id\":1}\n{\"id\":2}\n", 6),
        ("[\n{\"id\":1}]\n", 1),
    ] {
        let (told, read, _) = tell(text, false);
        assert_eq!((read, told), (Read::Rest(0), vec![format!("begun {}", &text[..first])]), "{text:?}");
    }
}

// Any line costs what its length says, not its square.
#[test]
fn g01_linear() {
    let many = 200_000;
    for line in [
        "{\"a\":".repeat(many),
        "{\"id\":1,\"a\":[".repeat(many),
        "{\"a\":1}".repeat(many) + "x",
        "x{\"".repeat(many),
        "[{\"a\":{\"id\":1}".repeat(many),
    ] {
        let (_, read, _) = tell(&format!("{{{line}"), false);
        assert!(matches!(read, Read::Rest(_)));
    }
    // Nor do many lines that each look like the start of a value.
    let text = "{\"a\":[\n".repeat(20_000);
    let mut ahead = ReadAhead::new();
    let mut told = Told { bytes: text.as_bytes(), told: Vec::new(), is_record: false, lines: 0 };
    for at in (0..text.len()).step_by(7) {
        let line = Damaged { buf: text.as_bytes(), at, end: at + 6, is_first: true, more: false };
        assert!(matches!(read(line, &mut ahead, &mut told), Read::Rest(_)));
    }
    assert_eq!(ahead.0, 0);
}

// Where a text breaks, and what was closed right before.
#[test]
fn where_it_breaks() {
    for (text, at, closed) in [
        ("{", 1, None),
        ("{}", 2, Some((0, 2))),
        ("{]", 1, None),
        (r#"{"a" 1}"#, 5, None),
        (r#"{"a":1,}"#, 7, None),
        (r#"{"a":tru}"#, 5, None),
        (r#"{"a":"x"#, 5, None),
        (r#"{"a":{}"#, 7, Some((5, 7))),
        (r#"{"a":[{} {"#, 9, Some((6, 8))),
        (r#"{"a":[{},"#, 9, None),
        (r#"{"a":[]"#, 7, None),
    ] {
        let found = match object(text.as_bytes(), 0) {
            Ok(end) => (end, Some((0, end))),
            Err(Broken { at, closed }) => (at, closed),
        };
        assert_eq!(found, (at, closed), "{text}");
    }
}
