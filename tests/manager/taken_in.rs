//! What a manager takes in of lines that others appended while it had the session (R53c): it knows
//! then what who reads the file anew knows.

use super::common::{ASSISTANT, Dir, USER, file, ids, lines, read};
use leaflog::{Leaf, MigrationRewrite, SessionManager, SessionView};
use std::io::Write as _;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/home/ada/shop"}"#;
const FIRST: &str = r#"{"type":"message","id":"m","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"a"}}"#;

fn append(manager: &SessionManager, line: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(file(manager)).unwrap();
    writeln!(file, "{line}").unwrap();
}

// R48, R53c: the title of a slot that comes with them.
#[test]
fn r48_a_title_slot() {
    let dir = Dir::new();
    let path = dir.put("s.jsonl", lines(&[HEADER, FIRST]));
    let mut m = dir.options().open(&path).unwrap();
    let slot = r#"{"type":"title","v":1,"title":"Cart","source":"user","updatedAt":"2026-02-16T10:05:00.000Z","pad":""#;
    let slot = format!("{slot:<253}\"}}");
    assert_eq!(slot.len(), 255);
    append(&m, &slot);
    m.append_message(USER).unwrap();
    assert_eq!((m.title(), m.title_source()), (Some("Cart"), Some("user")));
    assert_eq!(SessionView::open(&path).unwrap().title(), Some("Cart"));
}

// R49: another entry under the id of a label takes the label out of force.
#[test]
fn r49_an_entry_under_the_id_of_a_label() {
    let dir = Dir::new();
    let label = r#"{"type":"label","id":"l","parentId":"m","timestamp":"2026-02-16T10:00:02.000Z","targetId":"m","label":"one"}"#;
    let path = dir.put("s.jsonl", lines(&[HEADER, FIRST, label]));
    let mut m = dir.options().open(&path).unwrap();
    assert_eq!(m.label("m").as_deref(), Some("one"));
    append(&m, r#"{"type":"custom","customType":"c","id":"l","parentId":"m","timestamp":"2026-02-16T10:00:03.000Z"}"#);
    m.append_message(USER).unwrap();
    assert_eq!(m.label("m"), None);
    assert_eq!(SessionView::open(&path).unwrap().label("m"), None);
}

// R10, R53f: lines that a program of version 1 appends belong to the same chain.
#[test]
fn r10_lines_of_version_1() {
    let dir = Dir::new();
    let old = |content: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2026-02-16T10:00:01.000Z","message":{{"role":"user","content":"{content}"}}}}"#
        )
    };
    let header = r#"{"type":"session","id":"s","cwd":"/home/ada/shop"}"#;
    let path = dir.put("s.jsonl", lines(&[header, &old("a")]));
    let mut m = dir.options().migration_rewrite(MigrationRewrite::Deferred).open(&path).unwrap();
    append(&m, &old("b"));
    m.append_message(ASSISTANT).unwrap();
    // printf s:2 | sha256sum, printf s:3 | sha256sum
    let (a, b) = ("5be39311", "d12d3bcf");
    assert_eq!(ids(&m), [a, b, "00000001"]);
    let new = |content, id: &str, parent: &str| {
        old(content).replace("}}", &format!(r#"}},"id":"{id}","parentId":{parent}}}"#))
    };
    // The own leaf does not move.
    let own = format!(
        r#"{{"type":"message","id":"00000001","parentId":"{a}","timestamp":"2026-02-16T10:20:30.000Z","message":{ASSISTANT}}}"#
    );
    let header = r#"{"type":"session","id":"s","cwd":"/home/ada/shop","version":3}"#;
    let want = lines(&[header, &new("a", a, "null"), &new("b", b, &format!("\"{a}\"")), &own]);
    assert_eq!(read(&path), want);
}

// R12: a file of an older version that took the session's place is read as one of the current, header
// and all, also when it could not be written yet.
#[test]
fn r12_an_older_file_in_its_place() {
    let dir = Dir::new();
    let path = dir.put("s.jsonl", lines(&[HEADER, FIRST]));
    let mut m = dir.options().open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    dir.put("s.jsonl", lines(&[&HEADER.replace(":3,", ":2,"), FIRST]));
    // Where blobs would go there is a file.
    std::fs::create_dir_all(dir.agent()).unwrap();
    std::fs::write(dir.blobs(), "").unwrap();
    let image = format!(r#"{{"role":"user","content":[{{"type":"image","data":"{}"}}]}}"#, "AAAA".repeat(300));
    m.append_message(&image).unwrap_err();
    assert_eq!(m.header().version, 3);
    std::fs::remove_file(dir.blobs()).unwrap();
    m.ensure_on_disk().unwrap();
    assert!(read(&path).starts_with(HEADER));
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ["m", "00000001"]);
}

// B23: a summary can be appended below an entry that only the file has yet, and the leaf moves with the append alone.
#[test]
fn b23_a_summary_below_an_entry_of_another_process() {
    let dir = Dir::new();
    let path = dir.put("s.jsonl", lines(&[HEADER, FIRST]));
    let mut m = dir.options().open(&path).unwrap();
    append(&m, &FIRST.replace(r#""id":"m""#, r#""id":"theirs""#));
    let id = m.branch_with_summary(Some("theirs"), "what was", None, None).unwrap();
    let summary = m.entry(&id).unwrap();
    assert_eq!(summary.parent().unwrap().id().as_deref(), Some("theirs"));
    assert!(read(&path).lines().last().unwrap().contains(r#""parentId":"theirs""#));
    assert!(read(&path).lines().last().unwrap().contains(r#""fromId":"theirs""#));
}

// R53d: what was held before a file was replaced is there once, the oldest of it; without the option it is not.
#[test]
fn r53_what_was_held_before_a_file_was_replaced() {
    let dir = Dir::new();
    let line = |content: &str| FIRST.replace(r#""content":"a""#, &format!(r#""content":"{content}""#));
    let path = dir.put("s.jsonl", lines(&[HEADER, FIRST]));
    let content = |view: &SessionView| view.entry("m").unwrap().text().unwrap().json().bytes().to_vec();
    for keep in [true, false] {
        std::fs::write(&path, lines(&[HEADER, FIRST])).unwrap();
        let mut m = dir.options().keep_replaced(keep).open(&path).unwrap();
        let revision = m.revision();
        m.append_message(USER).unwrap();
        assert!(m.take_replaced().is_none(), "nothing was replaced");
        for content in ["b", "c"] {
            let new = dir.put("new", lines(&[HEADER, &line(content)]));
            std::fs::rename(new, &path).unwrap();
            m.append_message(USER).unwrap();
        }
        assert_eq!(content(&m), line("c").into_bytes());
        let replaced = m.take_replaced();
        assert_eq!(replaced.is_some(), keep);
        if let Some(replaced) = replaced {
            assert_eq!(replaced.revision(), revision);
            assert_eq!(content(&replaced), FIRST.as_bytes());
        }
        assert!(m.take_replaced().is_none(), "it was taken");
    }
}

// B4: an edit in place that makes the file longer is not an append. What is rewritten then is what the file has, with the
// edit, and not the text that now stands where the lines stood. A line that another program appends in the same moment
// is not lost either.
#[test]
fn b04_an_edit_in_place_is_not_an_append() {
    let dir = Dir::new();
    let second = r#"{"type":"message","id":"n","parentId":"m","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"user","content":"b"}}"#;
    let edited = FIRST.replace(r#""content":"a""#, r#""content":"a much longer text""#);
    let theirs = r#"{"type":"custom","customType":"c","id":"o","parentId":"n","timestamp":"2026-02-16T10:00:03.000Z"}"#;
    for (number, after) in
        [lines(&[HEADER, &edited, second]), lines(&[HEADER, &edited, second, theirs])].iter().enumerate()
    {
        let path = dir.put(&format!("{number}.jsonl"), lines(&[HEADER, FIRST, second]));
        let mut m = dir.options().open(&path).unwrap();
        std::fs::write(&path, after).unwrap();
        m.append_message(USER).unwrap();
        let there = SessionView::open(&path).unwrap();
        assert_eq!(ids(&m), ids(&there));
        assert_eq!(m.context(Leaf::Last).unwrap().to_json(), there.context(Leaf::Last).unwrap().to_json());
        m.rewrite_entries(&[]).unwrap();
        let own = r#"{"type":"message","id":"00000001","parentId":"n","timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":"Hello"}}"#;
        assert_eq!(read(&path), format!("{after}{own}\n"));
        assert_eq!(ids(&m), ids(&SessionView::open(&path).unwrap()));
    }
}

// R53d: an entry that both changed has this process's text, and hangs where that text says, whatever the other said.
#[test]
fn r53d_an_entry_that_both_changed_hangs_where_its_text_says() {
    let entry = |id: &str, parent: &str, content: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-16T10:00:02.000Z","message":{{"role":"user","content":"{content}"}}}}"#
        )
    };
    let third = entry("o", r#""n""#, "c");
    let dir = Dir::new();
    // On none, on itself, on one that is nowhere, on one that hangs on it.
    for theirs in ["null", r#""n""#, r#""gone""#, r#""o""#] {
        for ours in [r#""m""#, "null", r#""gone""#] {
            let path = dir.put("s.jsonl", lines(&[HEADER, FIRST, &entry("n", ours, "b"), &third]));
            let mut m = dir.options().open(&path).unwrap();
            let other = dir.put("new", lines(&[HEADER, FIRST, &entry("n", theirs, "theirs"), &third]));
            std::fs::rename(other, &path).unwrap();
            m.rewrite_entries(&[("n", &entry("n", ours, "ours"))]).unwrap();
            assert_eq!(read(&path), lines(&[HEADER, FIRST, &entry("n", ours, "ours"), &third]));
            let parent =
                |view: &SessionView| view.entry("n").unwrap().parent().map(|parent| parent.id().unwrap().into_owned());
            assert_eq!(parent(&m).as_deref(), (ours == r#""m""#).then_some("m"), "{theirs} {ours}");
            let fresh = SessionView::open(&path).unwrap();
            assert_eq!(ids(&m), ids(&fresh));
            assert_eq!(m.report().unwrap(), fresh.report().unwrap());
            assert_eq!(m.context(Leaf::Last).unwrap(), fresh.context(Leaf::Last).unwrap());
        }
    }
}
