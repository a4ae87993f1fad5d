//! Forks and branches as sessions of their own.

use super::common::{ASSISTANT, Dir, NOW, USER, file, ids, leaf, lines, names_in, read, sequence_b, text};
use leaflog::{Compaction, ErrorCode, Leaf, ManagerOptions, SessionManager, SessionView, TitleSource};

// Part C, F26: fork keeps title, leaf, labels and everything in memory; the old file stays.
#[test]
fn fork() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(r#"{"role":"assistant","usage":{"input":7}}"#).unwrap();
    m.append_label_change("00000001", Some("x")).unwrap();
    m.set_session_name("Cart", TitleSource::User).unwrap();
    m.branch("00000001").unwrap();
    let (old, before) = (file(&m), text(&m));
    let fork = m.fork().unwrap().unwrap();
    assert_eq!((&fork.old_session_file, fork.new_session_file.clone()), (&old, file(&m)));
    assert_eq!(read(&old), before);
    assert_eq!((m.session_id(), m.header().parent_session.as_deref()), ("a000000000000002", Some("a000000000000001")));
    assert_eq!((m.title(), m.title_source(), m.label("00000001").as_deref()), (Some("Cart"), Some("user"), Some("x")));
    assert_eq!((leaf(&m).as_deref(), m.usage().input), (Some("00000001"), 7.0));
    // Entries are the same lines.
    assert_eq!(text(&m).lines().skip(1).collect::<Vec<_>>(), before.lines().skip(1).collect::<Vec<_>>());
    let id = m.append_message(USER).unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(view.entry(&id).unwrap().parent().unwrap().id().as_deref(), Some("00000001"));
    assert_eq!(read(&old), before);
    assert_eq!(m.persist_status().last_saved, Some(id));
}

// Part C, R29: the fork of a session that has not started is written.
#[test]
fn fork_of_an_unstarted_session() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.reset_leaf();
    let fork = m.fork().unwrap().unwrap();
    assert!(!fork.old_session_file.exists());
    assert_eq!(read(&fork.new_session_file).lines().count(), 2);
    assert_eq!((leaf(&m), m.persist_status().unsaved), (None, 0));
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 3);
}

// Part C: forkFrom takes the history, and the source is left alone.
#[test]
fn fork_from() {
    let dir = Dir::new();
    let mut source = dir.create();
    source.append_message(USER).unwrap();
    source.append_message(ASSISTANT).unwrap();
    source.append_label_change("00000001", Some("x")).unwrap();
    source.set_session_name("Cart", TitleSource::Auto).unwrap();
    source.branch("00000001").unwrap();
    source.append_message(USER).unwrap();
    let before = text(&source);
    let mut m = dir.options().generator(sequence_b()).fork_from(file(&source), "/home/ada/other").unwrap();
    assert_eq!(text(&source), before);
    assert_eq!((m.session_id(), m.header().parent_session.as_deref()), ("b000000000000001", Some("a000000000000001")));
    assert_eq!((m.title(), m.title_source()), (Some("Cart"), Some("auto")));
    assert_eq!(m.cwd().to_str(), Some("/home/ada/other"));
    // The last entry is the leaf.
    assert_eq!((ids(&m), leaf(&m).as_deref()), (ids(&source), Some("00000004")));
    assert_eq!(m.label("00000001").as_deref(), Some("x"));
    assert_eq!(text(&m).lines().skip(1).collect::<Vec<_>>(), before.lines().skip(1).collect::<Vec<_>>());
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 6);
}

// R16: forkFrom rejects what is missing and what is no session, and leaves no file.
#[test]
fn fork_from_nothing() {
    let dir = Dir::new();
    let notes = dir.path().join("notes.jsonl");
    std::fs::write(&notes, "notes\n").unwrap();
    let empty = dir.path().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    for (source, code) in [
        (dir.path().join("missing.jsonl"), ErrorCode::NotFound),
        (notes, ErrorCode::NotASession),
        (empty, ErrorCode::NotASession),
        (dir.path().to_owned(), ErrorCode::IsADirectory),
    ] {
        assert_eq!(dir.options().fork_from(&source, "/home/ada/shop").unwrap_err().code(), code, "{source:?}");
    }
    // Nothing was made, no folder either.
    assert_eq!(names_in(dir.path()), ["empty.jsonl", "notes.jsonl"]);
}

// R45: who has an id as a Rust string names the entry all the same; a label is written as it was.
#[test]
fn labels_of_ids_that_are_no_text() {
    let dir = Dir::new();
    let path = dir.path().join("s.jsonl");
    std::fs::write(
        &path,
        lines(&[
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}"#,
            r#"{"type":"custom","id":"\ud83d","parentId":null}"#,
            r#"{"type":"custom","id":"b","parentId":"\ud83d"}"#,
        ]),
    )
    .unwrap();
    let mut m = dir.options().open(&path).unwrap();
    m.append_label_change("\u{fffd}", Some("one")).unwrap();
    m.branch_with_summary(Some("\u{fffd}"), "left", None, None).unwrap();
    m.append_compaction(&Compaction { first_kept_entry_id: "\u{fffd}", ..Compaction::default() }).unwrap();
    let written = text(&m);
    let last: Vec<&str> = written.lines().skip(3).collect();
    assert!(last[0].ends_with(r#""targetId":"\ud83d","label":"one"}"#), "{written}");
    assert!(last[1].contains(r#""fromId":"\ud83d""#), "{written}");
    assert!(last[2].contains(r#""firstKeptEntryId":"\ud83d""#), "{written}");
    m.append_entry(r#"{"type":"label","targetId":"\ud83d","label":"\ude00!"}"#).unwrap();
    m.create_branched_session("b").unwrap();
    assert!(text(&m).ends_with(concat!(r#""targetId":"\ud83d","label":"\ude00!"}"#, "\n")), "{}", text(&m));
}

/// Labels between messages: on the path, off it, changed, cleared.
fn labelled(dir: &Dir) -> SessionManager {
    let mut m = dir.create();
    m.append_message(USER).unwrap(); // 1
    m.append_label_change("00000001", Some("one")).unwrap(); // 2
    m.append_message(ASSISTANT).unwrap(); // 3, child of 2
    m.append_label_change("00000003", Some("three")).unwrap(); // 4
    m.append_label_change("00000002", Some("on a label")).unwrap(); // 5
    m.append_message(USER).unwrap(); // 6, child of 5
    m.append_message(USER).unwrap(); // 7
    m.append_label_change("00000007", Some("off the path")).unwrap(); // 8
    m.append_label_change("00000001", Some("uno")).unwrap(); // 9
    m.append_label_change("00000003", None).unwrap(); // a
    m.append_label_change("00000003", Some("tres")).unwrap(); // b
    m
}

fn message(id: &str, parent: Option<&str>, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{NOW}","message":{message}}}"#)
}

fn label(id: &str, parent: &str, target: &str, label: &str) -> String {
    format!(
        r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"{NOW}","targetId":"{target}","label":"{label}"}}"#
    )
}

// Part C, F7: children of left-out labels hang on what is before them; then the labels in force of
// what is kept, in the order of the map, as a chain; the leaf is the last line.
#[test]
fn branched_session_with_labels() {
    let dir = Dir::new();
    let mut m = labelled(&dir);
    let (old, before) = (file(&m), text(&m));
    let new = m.create_branched_session("00000006").unwrap().unwrap();
    assert_eq!(new, file(&m));
    let header = format!(
        r#"{{"type":"session","version":3,"id":"a000000000000002","timestamp":"{NOW}","cwd":"/home/ada/shop","parentSession":"{}"}}"#,
        old.to_str().unwrap()
    );
    // 00000003 was cleared and set again: it goes last in the map.
    assert_eq!(
        text(&m),
        lines(&[
            &header,
            &message("00000001", None, USER),
            &message("00000003", Some("00000001"), ASSISTANT),
            &message("00000006", Some("00000003"), USER),
            &label("0000000c", "00000006", "00000001", "uno"),
            &label("0000000d", "0000000c", "00000003", "tres"),
        ])
    );
    assert_eq!(leaf(&m).as_deref(), Some("0000000d"));
    let labels: Vec<_> = m.labels().collect();
    assert_eq!(labels, [("00000001".into(), "uno".into()), ("00000003".into(), "tres".into())]);
    assert!(m.load_report().unwrap().is_empty());
    assert_eq!(m.roots().len(), 1);
    assert_eq!(m.persist_status().last_saved.as_deref(), Some("0000000d"));
    assert_eq!(read(&old), before);
    m.append_message(USER).unwrap();
    assert!(text(&m).lines().last().unwrap().contains(r#""parentId":"0000000d""#));
}

// The leaf of the branch may be a label entry, and the first entry one too.
#[test]
fn branched_session_of_labels() {
    let dir = Dir::new();
    let mut m = labelled(&dir);
    m.create_branched_session("00000005").unwrap().unwrap();
    assert_eq!(
        text(&m).lines().skip(1).collect::<Vec<_>>(),
        [
            message("00000001", None, USER),
            message("00000003", Some("00000001"), ASSISTANT),
            label("0000000c", "00000003", "00000001", "uno"),
            label("0000000d", "0000000c", "00000003", "tres"),
        ]
    );

    let mut m = dir.options().create("/home/ada/b").unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.reset_leaf();
    m.append_label_change("00000001", Some("x")).unwrap();
    m.append_message(USER).unwrap();
    m.create_branched_session("00000003").unwrap().unwrap();
    assert_eq!(text(&m).lines().skip(1).collect::<Vec<_>>(), [message("00000003", None, USER)]);
    assert_eq!(leaf(&m).as_deref(), Some("00000003"));
    // Nothing but labels: a session without entries.
    m.reset_leaf();
    m.append_label_change("00000003", Some("y")).unwrap();
    let leaf_id = leaf(&m).unwrap();
    m.create_branched_session(&leaf_id).unwrap().unwrap();
    assert_eq!((text(&m).lines().count(), leaf(&m)), (1, None));
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 2);
}

// A9: a compaction that keeps from a label entry on keeps the same without it: the next entry that stays
// takes its place. So the context is what it was.
#[test]
fn a09_a_label_is_first_kept() {
    let dir = Dir::new();
    let compact = |m: &mut SessionManager, kept: &str| {
        let compaction =
            Compaction { summary: "sum", first_kept_entry_id: kept, tokens_before: 9, ..Default::default() };
        m.append_compaction(&compaction).unwrap()
    };
    let context = |m: &SessionManager| m.context(Leaf::Last).unwrap().to_json();
    let first_kept = |m: &SessionManager, id: &str| {
        let entry = m.entry(id).unwrap().text().unwrap();
        entry.json().get_str("firstKeptEntryId").unwrap().into_owned()
    };
    let mut m = dir.create();
    let first = m.append_message(USER).unwrap();
    let label = m.append_label_change(&first, Some("mark")).unwrap();
    let another = m.append_label_change(&first, Some("two")).unwrap();
    let second = m.append_message(ASSISTANT).unwrap();
    let outer = compact(&mut m, &label);
    let third = m.append_message(USER).unwrap();
    let inner = compact(&mut m, &another);
    let leaf = m.append_message(USER).unwrap();
    let before = context(&m);
    m.create_branched_session(&leaf).unwrap();
    assert_eq!(ids(&m), [&*first, &second, &outer, &third, &inner, &leaf, "00000009"]);
    assert_eq!([first_kept(&m, &outer), first_kept(&m, &inner)], [&*second, &*second]);
    assert_eq!(context(&m), before);
    assert!(m.load_report().unwrap().is_empty());
    // Also for who reads the file, and the line is otherwise as it was.
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(view.context(Leaf::Last).unwrap().to_json(), before);
    assert!(text(&m).contains(&format!(
        r#"{{"type":"compaction","id":"{outer}","parentId":"{second}","timestamp":"{NOW}","summary":"sum","firstKeptEntryId":"{second}","tokensBefore":9}}"#
    )));

    // Nothing but labels was kept: the compaction itself comes next, which keeps nothing.
    let mut m = dir.options().create("/home/ada/b").unwrap();
    let first = m.append_message(ASSISTANT).unwrap();
    let label = m.append_label_change(&first, Some("mark")).unwrap();
    let inner = compact(&mut m, &label);
    let before = context(&m);
    m.create_branched_session(&inner).unwrap();
    assert_eq!((first_kept(&m, &inner), context(&m)), (inner, before));
    assert!(m.load_report().unwrap().is_empty());
}

// Part C: an unknown id is an error and changes nothing.
#[test]
fn branched_session_of_nothing() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = names_in(&dir.shop());
    let error = m.create_branched_session("nope").unwrap_err();
    assert_eq!(error.code(), ErrorCode::EntryNotFound);
    assert!(error.to_string().ends_with("Entry nope not found"), "{error}");
    assert_eq!((names_in(&dir.shop()), m.session_id()), (before, "a000000000000001"));
}

// Part C: in memory the path takes the session's place.
#[test]
fn branched_session_in_memory() {
    let mut m = ManagerOptions::new().generator(super::common::sequence_a()).in_memory("/home/ada/shop").unwrap();
    m.append_message(USER).unwrap();
    m.append_label_change("00000001", Some("x")).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.append_message(USER).unwrap();
    m.set_session_name("Cart", TitleSource::User).unwrap();
    assert_eq!(m.create_branched_session("00000003").unwrap(), None);
    assert_eq!(ids(&m), ["00000001", "00000003", "00000005"]);
    assert_eq!((m.session_id(), m.header().parent_session.as_deref()), ("a000000000000002", None));
    assert_eq!((m.title(), m.title_source(), m.label("00000001").as_deref()), (Some("Cart"), Some("user"), Some("x")));
    assert_eq!(m.entry("00000003").unwrap().parent().unwrap().id().as_deref(), Some("00000001"));
    assert_eq!((leaf(&m).as_deref(), m.session_file()), (Some("00000005"), None));
    m.append_message(USER).unwrap();
    assert_eq!(m.entries().count(), 4);
}

/// A newer version, and everything that is not an entry.
const MIXED: &str = concat!(
    "\u{feff}\r\n",
    "{\"garbage\n",
    r#"{"z":[1e2,-0],"type":"session","version":4,"id":"newer","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/ada/shop","unknown":{"k":1}}"#,
    "\r\n",
    r#"{"type":"message","id":"m1","parentId":null,"message":{"role":"user","n":1e400}} {"type":"odd","id":"o1","parentId":"m1"}"#,
    "\r\n\n42\n\"text\"\n",
    r#"{"type":"session","id":"later"}"#,
    "\n\0\0\n",
    r#"{"type":"odd","parentId":"o1","n":-0,"n":1}"#,
    "\0\n",
    r#"{"type":"message","id":"m2","parentId":"o1","message":{"role":"assistant"}} and text"#,
    "\n{\"torn",
);

// R13: copies keep a version above 3. R6, R47: what is not an entry stays behind. R45: entries are
// copied as they are spelled.
#[test]
fn copies_take_entries_only() {
    let dir = Dir::new();
    let path = dir.put("x.jsonl", MIXED);
    let entries = [
        r#"{"type":"message","id":"m1","parentId":null,"message":{"role":"user","n":1e400}}"#,
        r#"{"type":"odd","id":"o1","parentId":"m1"}"#,
        r#"{"type":"odd","parentId":"o1","n":-0,"n":1}"#,
        r#"{"type":"message","id":"m2","parentId":"o1","message":{"role":"assistant"}}"#,
    ];
    let from = dir.options().fork_from(&path, "/home/ada/shop").unwrap();
    let header = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"session","version":4,"id":"{id}","timestamp":"{NOW}","cwd":"/home/ada/shop","parentSession":"{parent}"}}"#
        )
    };
    let want = |header: String, entries: &[&str]| format!("{header}\n{}", lines(entries));
    assert_eq!(text(&from), want(header("a000000000000001", "newer"), &entries));
    assert_eq!(from.load_report().unwrap().newer_version, Some(4));

    let mut m = dir.options().generator(sequence_b()).open(&path).unwrap();
    m.fork().unwrap().unwrap();
    assert_eq!(text(&m), want(header("b000000000000002", "newer"), &entries));
    // The branch has no entry without an id: none is on a path.
    let old = file(&m);
    m.create_branched_session("m2").unwrap().unwrap();
    assert_eq!(
        text(&m),
        want(header("b000000000000003", old.to_str().unwrap()), &[entries[0], entries[1], entries[3]])
    );
    assert_eq!(read(&path), MIXED);
}

// R13: opened, appended to and renamed, a newer version stays what it is.
#[test]
fn r13_never_lowered() {
    let dir = Dir::new();
    let path =
        dir.put("x.jsonl", "{\"type\":\"session\",\"version\":4.5,\"id\":\"newer\",\"cwd\":\"/home/ada/shop\"}\n");
    let mut m = dir.options().open(&path).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.set_session_name("N", TitleSource::User).unwrap();
    assert!(text(&m).starts_with(
        r#"{"type":"session","version":4.5,"id":"newer","cwd":"/home/ada/shop","title":"N","titleSource":"user"}"#
    ));
}

// R48, F26: a title slot's title goes into the header of a copy; the slot stays behind.
#[test]
fn title_slots_stay_behind() {
    let dir = Dir::new();
    let slot = super::names::slot("\"Slot\"", "\"source\":\"user\",");
    let path = dir.put(
        "x.jsonl",
        lines(&[
            slot.trim_end(),
            r#"{"type":"session","version":3,"id":"s","cwd":"/home/ada/shop","title":"Old","titleSource":"auto"}"#,
        ]),
    );
    let m = dir.options().fork_from(&path, "/home/ada/shop").unwrap();
    assert_eq!(
        text(&m),
        lines(&[&format!(
            r#"{{"type":"session","version":3,"id":"a000000000000001","timestamp":"{NOW}","cwd":"/home/ada/shop","parentSession":"s","title":"Slot","titleSource":"user"}}"#
        )])
    );
}

// R48: a title slot's line has 256 bytes. One with a carriage return has 257 and is an entry, which a
// copy does not make a slot of: what is copied reads the same.
#[test]
fn r48_an_entry_becomes_no_title_slot() {
    let dir = Dir::new();
    let slot = super::names::slot("\"Slot\"", "\"id\":\"0000000a\",\"parentId\":null,");
    let entry = slot.trim_end();
    let header = r#"{"type":"session","version":3,"id":"s","cwd":"/home/ada/shop"}"#;
    let path = dir.put("x.jsonl", format!("{header}\r\n{entry}\r\n"));
    let is_the_same = |m: &SessionManager| {
        assert_eq!((m.title(), ids(m)), (None, vec!["0000000a".to_owned()]));
        let view = SessionView::open(file(m)).unwrap();
        assert_eq!((view.title(), ids(&view)), (None, vec!["0000000a".to_owned()]));
        assert_eq!(text(m).lines().nth(1).unwrap().trim_end(), entry);
    };
    let mut m = dir.options().open(&path).unwrap();
    is_the_same(&m);
    m.fork().unwrap().unwrap();
    is_the_same(&m);
    m.create_branched_session("0000000a").unwrap().unwrap();
    is_the_same(&m);
    is_the_same(&dir.options().fork_from(&path, "/home/ada/shop").unwrap());
    // Written anew from memory.
    let mut m = dir.options().open(&path).unwrap();
    m.rewrite_entries(&[]).unwrap();
    is_the_same(&m);
}

// Part C: what a line holds only in part on disk is whole in a copy's memory still.
#[test]
fn copies_keep_what_is_in_memory() {
    let dir = Dir::new();
    let mut m = dir.create();
    let long = "x".repeat(600_000);
    m.append_message(&format!(r#"{{"role":"assistant","content":"{long}","partialJson":"p"}}"#)).unwrap();
    for copy in 0..2 {
        if copy == 0 {
            m.fork().unwrap().unwrap();
        } else {
            m.create_branched_session("00000001").unwrap().unwrap();
        }
        let written = text(&m);
        assert!(written.contains("[Session persistence truncated large content]\"}"), "{copy}");
        assert!(!written.contains("partialJson"));
        let entry = m.entry("00000001").unwrap().text().unwrap();
        let message = entry.json().get("message").unwrap();
        assert_eq!(message.get_str("content").unwrap().len(), 600_000);
        assert_eq!(message.get_str("partialJson").as_deref(), Some("p"));
        // A rewrite does not lose it either.
        m.rewrite_entries(&[]).unwrap();
        assert_eq!(text(&m), written);
    }
}

// What could not be written yet is in the copy.
#[test]
fn copies_of_copies() {
    let dir = Dir::new();
    let mut m = dir.create();
    for round in 0..5u32 {
        m.append_message(USER).unwrap();
        let last = m.append_message(ASSISTANT).unwrap();
        if round % 2 == 0 {
            m.fork().unwrap().unwrap();
        } else {
            m.create_branched_session(&last).unwrap().unwrap();
        }
    }
    assert_eq!(m.entries().count(), 10);
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(ids(&view), ids(&m));
    assert!(view.report().unwrap().is_empty());
    assert_eq!(
        SessionView::open(dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000001.jsonl"))
            .unwrap()
            .entries()
            .count(),
        2
    );
}

// R53d: the flush that comes before a copy may find that another process wrote the file anew; what
// is copied is what is there then.
#[test]
fn copies_of_a_file_that_was_replaced() {
    for branched in [false, true] {
        let dir = Dir::new();
        let mut m = dir.create();
        let first = m.append_message(ASSISTANT).unwrap();
        let mut other = dir.options().generator(sequence_b()).open(file(&m)).unwrap();
        let mine = m.append_message(USER).unwrap();
        // The replacement has one entry more, before those that are known.
        let text = text(&m);
        let (header, rest) = text.split_once('\n').unwrap();
        let odd = r#"{"type":"odd","id":"odd","parentId":null}"#;
        let new = file(&m).with_extension("new");
        std::fs::write(&new, format!("{header}\n{odd}\n{rest}")).unwrap();
        std::fs::rename(&new, file(&m)).unwrap();
        other.set_session_name("Name", TitleSource::User).unwrap();
        if branched {
            m.create_branched_session(&mine).unwrap();
            assert_eq!(ids(&m), [&*first, &mine]);
        } else {
            m.fork().unwrap();
            assert_eq!(ids(&m), ["odd", &first, &mine]);
        }
        assert_eq!(leaf(&m).as_deref(), Some(&*mine));
        assert_eq!((m.title(), ids(&SessionView::open(file(&m)).unwrap())), (Some("Name"), ids(&m)));
    }
}

// A short branch of a long session takes the room of its lines, not that of the whole session.
#[cfg(unix)]
#[test]
fn a_copy_takes_no_more_room_than_it_needs() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = Dir::new();
    let mut m = dir.create();
    let first = m.append_message(ASSISTANT).unwrap();
    m.append_message(&format!(r#"{{"role":"user","content":"{}"}}"#, "Hello ".repeat(80_000))).unwrap();
    m.append_message(&format!(r#"{{"role":"user","content":"{}"}}"#, "World ".repeat(80_000))).unwrap();
    let before = std::fs::metadata(file(&m)).unwrap();
    assert!(before.len() > 900_000);
    m.create_branched_session(&first).unwrap();
    let branch = std::fs::metadata(file(&m)).unwrap();
    assert!(branch.len() < 1000);
    // In units of 512 bytes; file systems give room in pieces of some kilobytes.
    assert!(branch.blocks() * 512 < 300_000, "{} bytes take {} blocks", branch.len(), branch.blocks());
}

// F7: what a cycle was cut at does not hang on a label that is left out.
#[test]
fn f7_a_branch_out_of_a_cycle() {
    let dir = Dir::new();
    let line = |kind: &str, id: &str, parent: &str, more: &str| {
        format!(r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","timestamp":"2026-02-16T10:00:00.000Z"{more}}}"#)
    };
    let message = r#","message":{"role":"user","content":"x"}"#;
    let path = dir.put(
        "s.jsonl",
        lines(&[
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/home/ada/shop"}"#,
            &line("message", "a", "l", message),
            &line("message", "b", "a", message),
            &line("label", "l", "b", r#","targetId":"none","label":"x""#),
            &line("message", "c", "l", message),
        ]),
    );
    let mut m = dir.options().open(path).unwrap();
    m.create_branched_session("c").unwrap();
    let parents: Vec<_> =
        m.entries().map(|entry| entry.parent().and_then(|parent| parent.id().map(String::from))).collect();
    assert_eq!(ids(&m), ["a", "b", "c"]);
    assert_eq!(parents, [None, Some("a".to_owned()), Some("b".to_owned())]);
    assert!(m.load_report().unwrap().is_empty());
}

// G13: the leaf is not in a file. A fork whose leaf is not its last entry is on the branch of its last entry when it is
// opened again; what was appended before keeps it on the other one. docs/format.md says so.
#[test]
fn g13_the_leaf_of_a_fork_that_is_opened_again() {
    for appends in [false, true] {
        let dir = Dir::new();
        let mut m = dir.create();
        let question = m.append_message(USER).unwrap();
        let answer = m.append_message(ASSISTANT).unwrap();
        let last = m.append_message(USER).unwrap();
        m.branch(&answer).unwrap();
        m.fork().unwrap();
        assert_eq!(leaf(&m).as_ref(), Some(&answer));
        let mark = appends.then(|| m.append_label_change(&question, Some("here")).unwrap());
        let path = file(&m);
        m.close().unwrap();
        drop(m);
        // A fork has the bytes of its source, and nothing that says where the leaf was.
        let added = usize::from(appends);
        assert_eq!(read(&path).lines().count(), 1 + 3 + added);
        let again = dir.options().open(&path).unwrap();
        assert_eq!(leaf(&again), Some(mark.clone().unwrap_or(last)));
        let parent = again.leaf().unwrap().parent_id().map(|id| id.to_string());
        assert_eq!(parent, Some(answer));
    }
}
