//! Derived ids, positions and single lines; whole files are in `tests/golden.rs`.

use super::{derived_id, header};
use crate::{Leaf, SessionView, ViewOptions};
use hashbrown::HashSet;

// R10. `printf '%s' 'abc:2' | sha256sum | cut -c1-8` and so on.
#[test]
fn derived_ids() {
    let id = |header: &str, line, on_line| format!("{:08x}", derived_id(header, line, on_line, &mut HashSet::new()));
    assert_eq!(id("abc", 2, 0), "16455f08");
    assert_eq!(id("1f9d2a6b9c0d1234", 2, 0), "b5714b9a");
    assert_eq!(id("1f9d2a6b9c0d1234", 3, 0), "6bb8d694");
    assert_eq!(id("1f9d2a6b9c0d1234", 3, 1), "bb9d2493");
    assert_eq!(id("1f9d2a6b9c0d1234", 5, 0), "54309865");
    assert_eq!(id("", 2, 0), "5212c5c4");
    assert_eq!(id("é\"\\", 2, 0), "d52635b0");
}

// An id that is taken: one more colon, again and again.
#[test]
fn derived_ids_that_collide() {
    let mut used = HashSet::new();
    let ids: Vec<String> = (0..3).map(|_| format!("{:08x}", derived_id("abc", 2, 0, &mut used))).collect();
    assert_eq!(ids, ["16455f08", "fba79b1d", "605cffbc"]);
}

// R10, R12: the header is the first line of the migrated file.
#[test]
fn headers_of_the_fixtures() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut seen = 0;
    for file in std::fs::read_dir(&dir).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(case) = name.strip_suffix(".migrated.jsonl") else { continue };
        let view = ViewOptions::new().open(dir.join(format!("{case}.jsonl"))).unwrap();
        let migrated = std::fs::read_to_string(dir.join(&name)).unwrap();
        assert_eq!(
            String::from_utf8(header(view.header().json().bytes())).unwrap(),
            migrated.lines().next().unwrap(),
            "{case}"
        );
        seen += 1;
    }
    assert!(seen >= 7, "only {seen} migrated files found");
}

fn view(lines: &[&str]) -> SessionView {
    ViewOptions::new().read_bytes(lines.join("\n")).unwrap()
}

fn texts(view: &SessionView) -> Vec<String> {
    view.entries().map(|entry| entry.text().unwrap().json().to_string()).collect()
}

const V1: &str = r#"{"type":"session","id":"1f9d2a6b9c0d1234"}"#;

// R10: ids by line and place on the line, one chain in file order.
#[test]
fn version_1() {
    let view =
        view(&[V1, r#"{"type":"a"}"#, r#"{"type":"b"} {"type":"c","parentId":7,"id":"old"}"#, "", r#"{"type":"d"}"#]);
    assert_eq!(
        texts(&view),
        [
            r#"{"type":"a","id":"b5714b9a","parentId":null}"#,
            r#"{"type":"b","id":"6bb8d694","parentId":"b5714b9a"}"#,
            r#"{"type":"c","parentId":"6bb8d694","id":"bb9d2493"}"#,
            r#"{"type":"d","id":"54309865","parentId":"bb9d2493"}"#,
        ]
    );
    assert!(view.is_migrated());
    assert_eq!(view.leaf().unwrap().id().unwrap(), "54309865");
    assert!(view.entry("old").is_none());
}

// Which versions are old (R10, R11, R13). A version that is no number is left alone.
#[test]
fn versions() {
    for (version, migrates, chains) in [
        ("", true, true),
        (",\"version\":null", true, true),
        (",\"version\":0", true, true),
        (",\"version\":-5", true, true),
        (",\"version\":1", true, true),
        (",\"version\":1.5", true, true),
        (",\"version\":2", true, false),
        (",\"version\":2e0", true, false),
        (",\"version\":3", false, false),
        (",\"version\":4", false, false),
        (",\"version\":1e400", false, false),
        (",\"version\":\"1\"", false, false),
        (",\"version\":1,\"version\":3", false, false),
    ] {
        let header = format!("{{\"type\":\"session\",\"id\":\"1f9d2a6b9c0d1234\"{version}}}");
        let view = view(&[&header, r#"{"type":"message","id":"x","message":{"role":"hookMessage"}}"#]);
        let entry = view.entries().next().unwrap();
        assert_eq!(view.is_migrated(), migrates, "{version}");
        assert_eq!(entry.id().unwrap(), if chains { "b5714b9a" } else { "x" }, "{version}");
        let role = entry.text().unwrap().json().get("message").unwrap().get_str("role").unwrap().into_owned();
        assert_eq!(role, if migrates { "custom" } else { "hookMessage" }, "{version}");
    }
}

// R10: the index counts every value that parsed, from the header.
#[test]
fn first_kept_index() {
    let cases: &[(&str, Option<&str>)] = &[
        ("0", None),
        ("1", Some("b5714b9a")),
        ("2", None),
        ("3", Some("bb9d2493")),
        ("4", None),
        ("5", None),
        ("6", Some("54309865")),
        ("1.0", Some("b5714b9a")),
        ("6e0", Some("54309865")),
        ("1.5", None),
        ("-1", None),
        ("7", None),
        ("4294967295", None),
        ("4294967296", None),
        ("1e400", None),
    ];
    for &(number, kept) in cases {
        // Values: header 0, a 1, [1] 2, b 3, a later header 4, {} 5, the compaction 6.
        let compaction = format!("{{\"type\":\"compaction\",\"firstKeptEntryIndex\":{number}}}");
        let view = view(&[
            V1,
            r#"{"type":"a"}"#,
            r#"[1] {"type":"b"} {"type":"session","id":"later"} "#,
            "not JSON",
            &format!("{{}}{compaction}"),
        ]);
        let text = texts(&view).pop().unwrap();
        // The ids of lines 2, 3 and 5; b is the first entry of its line.
        let kept = kept.map(|id| if id == "bb9d2493" { "6bb8d694" } else { id });
        let first = kept.map_or_else(String::new, |id| format!(",\"firstKeptEntryId\":\"{id}\""));
        assert_eq!(
            text,
            format!("{{\"type\":\"compaction\",\"id\":\"54309865\",\"parentId\":\"6bb8d694\"{first}}}"),
            "{number}"
        );
    }
    // Values before the header have no number (R15); a text is none either.
    let view = view(&[
        "[0]",
        r#"{"type":"early"}"#,
        V1,
        r#"{"type":"x"}"#,
        r#"{"type":"compaction","firstKeptEntryIndex":1}"#,
    ]);
    let texts = texts(&view);
    let id = view.entries().nth(1).unwrap().id().unwrap().into_owned();
    assert!(texts[2].ends_with(&format!("\"firstKeptEntryId\":\"{id}\"}}")), "{}", texts[2]);
    let text = r#"{"type":"compaction","firstKeptEntryIndex":"1"}"#;
    assert!(self::texts(&self::view(&[V1, text]))[0].contains("\"firstKeptEntryIndex\":\"1\""));
}

// R11: the role only, in its own place and spelling around it.
#[test]
fn version_2() {
    let header = r#"{"type":"session","id":"s","version":2}"#;
    let changed = [
        (
            r#"{"type":"message","message":{ "role" : "hookMessage" , "n":1e2 }}"#,
            r#"{"type":"message","message":{ "role" : "custom" , "n":1e2 }}"#,
        ),
        (
            r#"{"message":{"content":"hookMessage","r\u006fle":"hook\u004dessage"},"type":"message"}"#,
            r#"{"message":{"content":"hookMessage","r\u006fle":"custom"},"type":"message"}"#,
        ),
        (
            r#"{"type":"message","message":{"role":"user","role":"hookMessage"}}"#,
            r#"{"type":"message","message":{"role":"user","role":"custom"}}"#,
        ),
    ];
    for (old, new) in changed {
        assert_eq!(texts(&view(&[header, old])), [new]);
    }
    for same in [
        r#"{"type":"message","message":{"role":"hookMessage","role":"user"}}"#,
        r#"{"type":"message","message":{"role":"custom"}}"#,
        r#"{"type":"message","message":{"role":"cust\u006fm"}}"#,
        r#"{"type":"custom","message":{"role":"hookMessage"}}"#,
        r#"{"type":"message","message":{"inner":{"role":"hookMessage"}}}"#,
        r#"{"type":"message","message":{"role":"hookMessage"},"message":null}"#,
        r#"{"type":"message","message":"hookMessage"}"#,
        r#"{"type":"compaction","firstKeptEntryIndex":1}"#,
    ] {
        assert_eq!(texts(&view(&[header, same])), [same]);
    }
    assert_eq!(view(&[header, changed[0].0]).context(Leaf::Last).unwrap().messages().len(), 0, "no id, no leaf");
}
