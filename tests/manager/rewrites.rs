//! What a full rewrite changes and what it leaves (R45, R47, R48).

use super::common::{ASSISTANT, Dir, USER, file, ids, lines, read, sequence_b, text};
use leaflog::{ErrorCode, Leaf, SessionManager, SessionView, TitleSource};
use proptest::prelude::*;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#;
const RENAMED: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop","title":"Name","titleSource":"user"}"#;

/// What becomes of a file's bytes when the session is renamed.
fn renamed(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let dir = Dir::new();
    let path = dir.put("x.jsonl", bytes);
    let mut m = dir.options().open(&path).unwrap();
    assert!(m.set_session_name("Name", TitleSource::User).unwrap());
    let rewritten = std::fs::read(&path).unwrap();
    // What the manager holds is what the file holds.
    let view = SessionView::open(&path).unwrap();
    assert_eq!(view.entries().count(), m.entries().count());
    for (in_file, held) in view.entries().zip(m.entries()) {
        assert_eq!(in_file.text().unwrap(), held.text().unwrap());
        assert_eq!(in_file.line(), held.line());
    }
    let mut report = m.load_report().unwrap();
    assert_eq!(report.set_aside_file.take(), None);
    assert_eq!(report, view.report().unwrap());
    // A second rewrite changes nothing more, and neither does an append before its own line.
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), rewritten);
    m.append_message(ASSISTANT).unwrap();
    let appended = std::fs::read(&path).unwrap();
    assert!(appended.starts_with(&rewritten) && appended.ends_with(b"}\n"));
    assert_eq!(appended[rewritten.len()..].iter().filter(|&&byte| byte == b'\n').count(), 1);
    rewritten
}

#[track_caller]
fn assert_renamed(before: impl AsRef<[u8]>, after: impl AsRef<[u8]>) {
    let got = renamed(before);
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(after.as_ref()));
    assert_eq!(got, after.as_ref());
}

// R45: lines that need no change are copied byte for byte.
#[test]
fn r45_lines_are_copied() {
    let odd = lines(&[
        r#"{"type":"odd","id":"a","parentId":null,"n":[1e2,-0,1e400,0.10,123456789012345678901234567890,1E+2]}"#,
        r#"{ "type" : "message","message":{"role":"user","content":"\ud83d \u0041\/ \ud83d\ude00"},"id":"b","parentId":"a" }"#,
        r#"{"type":"odd","id":"x","id":"c","parentId":"b","k":1,"k":2,"\u006b":3}"#,
        r#"{"id":"d","type":"unknown_type","parentId":"c","deep":[[[[{"a":{}}]]]]}"#,
        r#"{"type":"odd"}"#,
        r#"{"type":"odd","id":"e","parentId":"d","s":"  "}"#,
    ]);
    let torn = "{\"type\":\"message\",\"id";
    assert_renamed(format!("{HEADER}\n{odd}{torn}"), format!("{RENAMED}\n{odd}{torn}\n"));
    let bytes = [HEADER.as_bytes(), b"\n{\"type\":\"odd\",\"s\":\"\xff\xc3\"}\n\xff\xfe\n"].concat();
    let want = [RENAMED.as_bytes(), b"\n{\"type\":\"odd\",\"s\":\"\xff\xc3\"}\n\xff\xfe\n"].concat();
    assert_renamed(bytes, want);
}

// R47: lines that do not parse, scalars and later headers survive; R6, R14 several values a line
// and what follows them too.
#[test]
fn r47_what_is_no_entry_survives() {
    let rest = lines(&[
        "{\"garbage",
        "42",
        "\"text\"",
        "[1,2]",
        "{\"no\":\"type\"}",
        r#"{"type":"session","id":"later","title":"Later"}"#,
        r#"{"type":"session","id":5}"#,
        r#"{"type":"odd","id":"a"} {"type":"odd","id":"b","parentId":"a"}42 {"torn"#,
        r#"{"type":"odd","id":"c"} and text  "#,
        "   spaces before",
        "\ttab",
        "2026-11-30 no number",
        "a\0b",
    ]);
    assert_renamed(format!("{HEADER}\n{rest}"), format!("{RENAMED}\n{rest}"));
}

// R15, R48: lines before the header keep their place.
#[test]
fn r15_a_late_header() {
    let before = lines(&["garbage", r#"{"type":"odd","id":"a","parentId":null}"#, r#"{"type":"session"}"#]);
    assert_renamed(format!("{before}{HEADER}\n"), format!("{before}{RENAMED}\n"));
    // Values around it on its line.
    let line = |header| format!("1 {header} {{\"type\":\"odd\",\"id\":\"a\"}} rest\n");
    assert_renamed(line(HEADER), line(RENAMED));
}

// R47: blank lines, NUL padding and a byte order mark are dropped.
#[test]
fn r47_blanks_are_dropped() {
    let entry = r#"{"type":"odd","id":"a"}"#;
    assert_renamed(format!("\u{feff}{HEADER}\n\n\n   \n\t\r\n{entry}\n\n"), format!("{RENAMED}\n{entry}\n"));
    assert_renamed(format!("\n\r\n\0\n{HEADER}\n"), format!("{RENAMED}\n"));
    assert_renamed(format!("\0\0{HEADER}\0\n\0\0\0\n\0{entry}\0\0\n\0\0"), format!("{RENAMED}\n{entry}\n"));
    // After a crash: a block of NUL bytes, then more lines.
    let nul = "\0".repeat(4096);
    assert_renamed(format!("{HEADER}\n{nul}\n{nul}{entry}\n"), format!("{RENAMED}\n{entry}\n"));
    assert_renamed(HEADER, format!("{RENAMED}\n"));
    assert_renamed(format!("{HEADER}\n{entry}"), format!("{RENAMED}\n{entry}\n"));
    assert_renamed(format!("{HEADER}\n{entry}\n  "), format!("{RENAMED}\n{entry}\n"));
}

// R14, R45: CRLF lines stay CRLF lines.
#[test]
fn crlf_is_kept() {
    let entry = r#"{"type":"odd","id":"a"}"#;
    assert_renamed(
        format!("\u{feff}{HEADER}\r\n\r\n{entry}\r\ngarbage\r\n42\r\n{entry}\n"),
        format!("{RENAMED}\r\n{entry}\r\ngarbage\r\n42\r\n{entry}\n"),
    );
}

/// A line and what a rewrite makes of it; `None` when it is dropped.
fn line() -> impl Strategy<Value = (Vec<u8>, Option<Vec<u8>>)> {
    let kept = prop_oneof![
        Just(r#"{"type":"message","id":"ID","parentId":null,"message":{"role":"user","content":"x"}}"#.to_owned()),
        Just(
            r#"{"type":"message","message":{"role":"assistant","usage":{"input":1e2}},"id":"ID","parentId":"ID"}"#
                .to_owned()
        ),
        Just(r#"{"type":"label","targetId":"ID","label":"l","id":"ID"}"#.to_owned()),
        Just(r#"{"type":"compaction","id":"ID","firstKeptEntryId":"ID","summary":"\ud800"}"#.to_owned()),
        Just(r#"{"type":"odd","id":"ID","n":[1e2,-0,123456789012345678901234567890,1e400],"k":1,"k":2}"#.to_owned()),
        Just(r#"{"type":"odd","id":"ID"} {"type":"odd","id":"ID"}"#.to_owned()),
        Just(r#"{"type":"odd","id":"ID"} trailing"#.to_owned()),
        Just(r#"{"type":"odd"}"#.to_owned()),
        Just(r#"{"type":"session","id":"ID"}"#.to_owned()),
        Just("{\"torn".to_owned()),
        "[ -~]{0,12}[!-~]",
        "[a-z\u{e9}\u{2028}\u{1f600}\"\\\\{}\\[\\]:,0-9]{1,20}",
        "-?[0-9]{1,30}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,4})?",
    ];
    let kept = (kept, 0..6u8, any::<bool>()).prop_map(|(line, id, cr)| {
        let line = line.replace("ID", &format!("0000000{id}")) + if cr { "\r" } else { "" };
        (line.clone().into_bytes(), Some(line.into_bytes()))
    });
    let blank = prop_oneof![Just(""), Just("\r"), Just("  \t"), Just("\0\0\0"), Just(" \0\r")];
    prop_oneof![6 => kept, 1 => blank.prop_map(|line| (line.as_bytes().to_vec(), None))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // R45, R47: a rename changes the header line, drops blank lines, and nothing else.
    #[test]
    fn r45_only_the_header_changes(
        before in prop::collection::vec(line(), 0..4),
        after in prop::collection::vec(line(), 0..12),
        newline: bool,
    ) {
        // A header among the generated lines would be the header.
        let before: Vec<_> =
            before.into_iter().filter(|(line, _)| !line.starts_with(br#"{"type":"session""#)).collect();
        let header = (HEADER.as_bytes().to_vec(), Some(RENAMED.as_bytes().to_vec()));
        let all: Vec<_> = before.into_iter().chain([header]).chain(after).collect();
        let mut bytes = Vec::new();
        let mut want = Vec::new();
        for (line, kept) in &all {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
            if let Some(kept) = kept {
                want.extend_from_slice(kept);
                want.push(b'\n');
            }
        }
        if !newline {
            bytes.pop();
        }
        let got = renamed(&bytes);
        prop_assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(&want));
        prop_assert_eq!(got, want);
    }
}

fn message(id: &str, parent: &str, content: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-16T10:20:30.000Z","message":{{"role":"user","content":"{content}"}}}}"#
    )
}

fn three(dir: &Dir) -> SessionManager {
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.append_message(USER).unwrap();
    m.append_message(USER).unwrap();
    m
}

// R45, part C: a changed text is written, the others are copied.
#[test]
fn rewrite_entries() {
    let dir = Dir::new();
    let mut m = three(&dir);
    let before = text(&m);
    let changed = message("00000002", "\"00000001\"", "Pruned");
    m.rewrite_entries(&[("00000002", &changed)]).unwrap();
    let want: Vec<&str> = before.lines().enumerate().map(|(at, line)| if at == 2 { &*changed } else { line }).collect();
    assert_eq!(text(&m), lines(&want));
    assert_eq!(m.entry("00000002").unwrap().text().unwrap().json().text(), changed);
    let context = m.context(Leaf::Last).unwrap();
    assert_eq!(context.messages().nth(1).unwrap().get_str("content").as_deref(), Some("Pruned"));
    // Again, and others with it.
    let changes = [
        ("00000003", message("00000003", "\"00000002\"", "a longer text than there was")),
        ("00000002", message("00000002", "\"00000001\"", "")),
        ("00000001", message("00000001", "null", "first")),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(id, text)| (*id, &**text)).collect();
    m.rewrite_entries(&changes).unwrap();
    assert_eq!(text(&m), lines(&[before.lines().next().unwrap(), changes[2].1, changes[1].1, changes[0].1]));
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ids(&m));
}

// A text that is not that entry is refused, and then nothing of the call is done.
#[test]
fn rewrite_entries_refuses() {
    let dir = Dir::new();
    let mut m = three(&dir);
    let before = text(&m);
    let good = message("00000001", "null", "changed");
    for (id, wrong, code) in [
        ("nope", good.clone(), ErrorCode::EntryNotFound),
        ("00000002", message("00000003", "\"00000001\"", "another's id"), ErrorCode::InvalidArgument),
        ("00000002", message("00000002", "\"00000003\"", "another parent"), ErrorCode::InvalidArgument),
        ("00000002", message("00000002", "null", "no parent"), ErrorCode::InvalidArgument),
        ("00000002", r#"{"id":"00000002","parentId":"00000001"}"#.to_owned(), ErrorCode::InvalidArgument),
        (
            "00000002",
            r#"{"type":"session","id":"00000002","parentId":"00000001"}"#.to_owned(),
            ErrorCode::InvalidArgument,
        ),
        ("00000002", "not JSON".to_owned(), ErrorCode::InvalidArgument),
        ("00000002", String::new(), ErrorCode::InvalidArgument),
        ("00000002", "[]".to_owned(), ErrorCode::InvalidArgument),
    ] {
        let error = m.rewrite_entries(&[("00000001", &good), (id, &wrong)]).unwrap_err();
        assert_eq!(error.code(), code, "{wrong}");
        assert_eq!(text(&m), before, "{wrong}");
        let context = m.context(Leaf::Last).unwrap();
        assert_eq!(context.messages().next().unwrap().text(), ASSISTANT, "{wrong}");
    }
    // Nothing is in force after that.
    assert!(m.persist_status().error.is_none());
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(text(&m), before);
}

// A text that is handed in on several lines is one line of the file.
#[test]
fn rewrite_entries_on_several_lines() {
    let dir = Dir::new();
    let mut m = three(&dir);
    let changed = message("00000002", "\"00000001\"", "x").replace(",\"", ",\n  \"");
    m.rewrite_entries(&[("00000002", &changed)]).unwrap();
    assert_eq!(text(&m).lines().count(), 4);
    assert!(text(&m).contains(&changed.replace('\n', " ")));
}

// An entry that is not written yet is changed in memory, and written with the others.
#[test]
fn rewrite_entries_before_the_start() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    let changed = message("00000001", "null", "changed");
    m.rewrite_entries(&[("00000001", &changed)]).unwrap();
    assert_eq!(text(&m).lines().nth(1), Some(&*changed));
}

// R33-R35: what is too large is cut on disk and whole in memory, through every kind of write.
#[test]
fn large_entries_are_whole_in_memory() {
    let dir = Dir::new();
    let mut m = dir.create();
    let long = "é".repeat(500_001);
    let large = format!(r#"{{"role":"assistant","content":"{long}","jsonlEvents":[1]}}"#);
    m.append_message(&large).unwrap();
    let cut = format!(r#""content":"{}\n\n[Session persistence truncated large content]"}}}}"#, "é".repeat(499_953));
    let check = |m: &SessionManager, what: &str| {
        let line = text(m).lines().nth(1).unwrap().to_owned();
        assert!(line.ends_with(&cut), "{what}");
        assert!(!line.contains("jsonlEvents"), "{what}");
        assert_eq!(m.context(Leaf::Last).unwrap().messages().next().unwrap().text(), large, "{what}");
    };
    check(&m, "append");
    m.set_session_name("Name", TitleSource::User).unwrap();
    check(&m, "rename");
    m.rewrite_entries(&[]).unwrap();
    check(&m, "rewrite");
    m.move_to("/home/ada/other").unwrap();
    check(&m, "move");
    std::fs::remove_file(file(&m)).unwrap();
    m.ensure_on_disk().unwrap();
    check(&m, "written again");
    // The process that opens it has what is on disk.
    let loaded = dir.options().open(file(&m)).unwrap();
    let content = loaded.context(Leaf::Last).unwrap();
    assert_eq!(content.messages().next().unwrap().get_str("content").unwrap().chars().count(), 499_953 + 47);
    // Changed to something small, it is one text again.
    let small = format!(r#"{{"type":"message","id":"00000001","parentId":null,"message":{ASSISTANT}}}"#);
    m.rewrite_entries(&[("00000001", &small)]).unwrap();
    assert_eq!(text(&m).lines().nth(1), Some(&*small));
    assert_eq!(m.entry("00000001").unwrap().text().unwrap().json().text(), small);
}

// R45: a rewrite of a file that others appended to keeps their lines (R53e).
#[test]
fn lines_of_others_are_kept() {
    let dir = Dir::new();
    let mut m = three(&dir);
    let before = text(&m);
    let others = "{\"type\":\"odd\",\"id\":\"other\",\"parentId\":\"00000003\",\"n\":1e2}\ngarbage\n";
    std::fs::write(file(&m), format!("{before}{others}")).unwrap();
    let changed = message("00000002", "\"00000001\"", "changed");
    m.rewrite_entries(&[("00000002", &changed)]).unwrap();
    let want: Vec<&str> = before.lines().enumerate().map(|(at, line)| if at == 2 { &*changed } else { line }).collect();
    assert_eq!(read(&file(&m)), lines(&want) + others);
    // R53c: the own leaf does not move.
    assert_eq!(m.leaf().unwrap().id().as_deref(), Some("00000003"));
    assert!(m.entry("other").is_some());
}

// Part C: the usage is that of the texts in force, whoever reads it.
#[test]
fn usage_follows_a_changed_text() {
    let dir = Dir::new();
    let mut m = dir.create();
    let id = m.append_message(r#"{"role":"assistant","usage":{"input":7}}"#).unwrap();
    m.append_message(r#"{"role":"assistant","usage":{"input":1}}"#).unwrap();
    let changed = format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"assistant","usage":{{"input":5}}}}}}"#
    );
    m.rewrite_entries(&[(&id, &changed)]).unwrap();
    assert_eq!(m.usage().input, 6.0);
    assert_eq!(SessionView::open(file(&m)).unwrap().usage().input, 6.0);
}

// R33-R36 are for the line only: a text given to a loaded entry is whole in memory, also after
// another process wrote the file anew.
#[test]
fn a_changed_text_is_whole_after_a_rewrite_of_others() {
    let dir = Dir::new();
    let path = file(&three(&dir));
    let mut m = dir.options().open(&path).unwrap();
    let mut other = dir.options().open(&path).unwrap();
    let changed = r#"{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","partialJson":"x"}}"#;
    m.rewrite_entries(&[("00000001", changed)]).unwrap();
    other.set_session_name("Name", TitleSource::User).unwrap();
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(m.title(), Some("Name"));
    assert_eq!(m.entry("00000001").unwrap().text().unwrap().json().text(), changed);
    assert!(!text(&m).contains("partialJson"));
}

// R9: a label that a rewrite changes is another label at once, as it is for who reads the file.
#[test]
fn r9_a_label_is_given_another_text() {
    let dir = Dir::new();
    let mut m = dir.create();
    let message = m.append_message(ASSISTANT).unwrap();
    let id = m.append_label_change(&message, Some("one")).unwrap();
    let before = m.entry(&id).unwrap().text().unwrap().json().to_string();
    m.rewrite_entries(&[(&id, &before.replace("\"one\"", "\"two\""))]).unwrap();
    assert_eq!(m.label(&message).as_deref(), Some("two"));
    assert_eq!(SessionView::open(file(&m)).unwrap().label(&message).as_deref(), Some("two"));
    m.rewrite_entries(&[(&id, &before.replace("\"one\"", "\"\""))]).unwrap();
    assert_eq!(m.label(&message), None);
}

// G1: a rewrite loses nothing of a damaged line, and gives the entry behind a fragment a line of its own.
#[test]
fn g01_a_rewrite_parts_fragment_and_entry() {
    let (a, b) = (
        r#"{"type":"custom","id":"a","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z"}"#,
        r#"{"type":"custom","id":"c","parentId":"b","timestamp":"2026-02-16T10:20:30.000Z"}"#,
    );
    let torn = r#"{"type":"custom","id":"b","parentId":"a","timesta"#;
    assert_renamed(format!("{HEADER}\n{a}\n{torn}{b}\n"), lines(&[RENAMED, a, torn, b]));
    assert_renamed(
        format!("{HEADER}\n{a}{torn}{b}{torn}"),
        lines(&[RENAMED, &format!("{a}{torn}"), &format!("{b}{torn}")]),
    );
    assert_renamed(format!("{}{HEADER}\r\n{a}\r\n", &HEADER[..30]), format!("{}\n{RENAMED}\r\n{a}\r\n", &HEADER[..30]));
}

// U3: a rewrite puts a value that goes over several lines into one.
#[test]
fn u03_a_rewrite_puts_a_value_into_one_line() {
    let a = "{\"type\":\"custom\",\n\"id\":\"a\",\r\n\"parentId\":null}";
    let header = HEADER.replace(',', ",\n");
    let renamed = RENAMED.replace(',', ", ").replace(", \"title", ",\"title");
    assert_renamed(
        format!("{header}\n{a}\n{HEADER}\n"),
        lines(&[&renamed, r#"{"type":"custom", "id":"a",  "parentId":null}"#, HEADER]),
    );
}

// G1: the chain holds in memory, in the file after appends, and in copies, which leave the damage out.
#[test]
fn g01_the_chain_holds_in_copies() {
    let dir = Dir::new();
    let entry = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-16T10:20:30.000Z","message":{USER}}}"#
        )
    };
    let (a, b, c) = (entry("0000000a", "null"), entry("0000000b", "\"0000000a\""), entry("0000000c", "\"0000000b\""));
    let bytes = format!("{HEADER}\n{a}\n{}{c}\n", &b[..100]);
    let path = dir.put("x.jsonl", &bytes);
    let path_of = |view: &SessionView| {
        let leaf = view.leaf().unwrap();
        leaf.path().iter().map(|entry| entry.id().unwrap().into_owned()).collect::<Vec<_>>()
    };
    let mut m = dir.options().open(&path).unwrap();
    assert_eq!(path_of(&m), ["0000000a", "0000000c"]);
    let id = m.append_message(ASSISTANT).unwrap();
    assert_eq!(path_of(&SessionView::open(&path).unwrap()), ["0000000a", "0000000c", &id]);
    assert!(read(&path).starts_with(&bytes));
    m.create_branched_session(&id).unwrap().unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(
        (path_of(&m), path_of(&view)),
        (path_of(&m), vec!["0000000a".to_owned(), "0000000c".to_owned(), id.clone()])
    );
    assert_eq!(view.entry("0000000c").unwrap().parent_id().as_deref(), Some("0000000a"));
    let mut m = dir.options().generator(sequence_b()).open(&path).unwrap();
    m.fork().unwrap().unwrap();
    assert_eq!(path_of(&SessionView::open(file(&m)).unwrap()), ["0000000a", "0000000c", &id]);
    assert!(SessionView::open(file(&m)).unwrap().report().unwrap().is_empty());
    let m = Dir::new().options().fork_from(&path, "/home/ada/shop").unwrap();
    assert_eq!(path_of(&m), ["0000000a", "0000000c", &id]);
}

// G1, U3: damage that another program appends is read as when the file is opened.
#[test]
fn g01_u03_damage_that_others_append() {
    let entry = |id: &str, parent: &str| {
        format!(r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"2026-02-16T10:20:30.000Z"}}"#)
    };
    let (b, c, d) = (entry("b", "a"), entry("c", "b"), entry("d", "c"));
    let spread = d.replace(',', ",\n ");
    for more in [
        format!("{}{c}\n", &b[..50]),
        format!("{}\n{c}\n{spread}\n", &b[..50]),
        format!("{b}\n{}{d}\n", &c[..20]),
        format!("{b}\n{}", &c[..50]),
        format!("{spread}\n{}{}", &c[..50], &b[..10]),
    ] {
        let dir = Dir::new();
        let path = dir.put("x.jsonl", lines(&[HEADER, r#"{"type":"custom","id":"a","parentId":null}"#]));
        let mut m = dir.options().open(&path).unwrap();
        m.append_message(USER).unwrap();
        for part in [&more[..more.len() / 2], &more[more.len() / 2..]] {
            use std::io::Write as _;
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(part.as_bytes()).unwrap();
            // Takes in what is there, a line that is not whole too.
            m.append_message(USER).unwrap();
        }
        m.append_message(USER).unwrap();
        let view = SessionView::open(&path).unwrap();
        assert_eq!(ids(&m), ids(&view), "{more}");
        for (held, found) in m.entries().zip(view.entries()) {
            assert_eq!(
                held.parent().and_then(|parent| parent.id()),
                found.parent().and_then(|parent| parent.id()),
                "{more}"
            );
            assert_eq!((held.text().unwrap(), held.line()), (found.text().unwrap(), found.line()), "{more}");
        }
        assert_eq!(m.load_report().unwrap(), view.report().unwrap(), "{more}");
    }
}
