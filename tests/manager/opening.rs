//! What opening a file does, and going on in another (R16, R17, part C).

use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, lines, names_in, read, text};
use leaflog::{ErrorCode, SessionView};
use std::path::Path;

fn header(id: &str, cwd: &str) -> String {
    format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-02-16T10:20:30.000Z","cwd":"{cwd}"}}"#)
}

// R16: a missing or empty file becomes a session at exactly that path, and its header is written.
#[test]
fn r16_missing_and_empty() {
    let dir = Dir::new();
    let empty = dir.put("empty.jsonl", "");
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    for (path, id) in [
        (empty, "a000000000000002"),
        (dir.shop().join("missing.jsonl"), "a000000000000003"),
        // The folder too.
        (dir.path().join("far/away/x.jsonl"), "a000000000000004"),
    ] {
        m.set_session_file(&path).unwrap();
        assert_eq!(file(&m), path);
        assert_eq!(read(&path), lines(&[&header(id, "/home/ada/shop")]));
        assert_eq!((m.session_id(), m.entries().count(), leaf(&m)), (id, 0, None));
        // Project and folder stay.
        assert_eq!((m.cwd(), m.session_dir()), (Path::new("/home/ada/shop"), &*dir.shop()));
        // Started: the first append is written.
        m.append_message(USER).unwrap();
        assert_eq!(read(&path).lines().count(), 2);
        assert_eq!(m.load_report().unwrap().set_aside_file, None);
    }
}

// R16: bytes without a header are copied first.
#[test]
fn r16_invalid_files_are_set_aside() {
    let dir = Dir::new();
    for (at, bytes) in
        [&b"some notes\n"[..], b"\n", b"{\"type\":\"session\"}\n", b"\xff\x00\xfe", b"{\"type\":\"session\",\"id\":1}"]
            .into_iter()
            .enumerate()
    {
        let path = dir.put(&format!("{at}.jsonl"), bytes);
        let m = dir.options().open(&path).unwrap();
        let aside = dir.shop().join(format!("{at}.jsonl.invalid-2026-02-16T10-20-30-000Z"));
        assert_eq!(std::fs::read(&aside).unwrap(), bytes);
        assert_eq!(m.load_report().unwrap().set_aside_file, Some(aside));
        assert_eq!(file(&m), path);
        assert_eq!(SessionView::open(&path).unwrap().header().id, m.session_id());
        assert_eq!(m.entries().count(), 0);
    }
}

// R16: when there is a file of that name already, nothing is replaced and nothing is changed.
#[test]
fn r16_set_aside_is_exclusive() {
    let dir = Dir::new();
    let path = dir.put("x.jsonl", "some notes");
    let aside = dir.put("x.jsonl.invalid-2026-02-16T10-20-30-000Z", "older notes");
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = (file(&m), m.session_id().to_owned());
    m.set_session_file(&path).unwrap_err();
    dir.options().open(&path).unwrap_err();
    assert_eq!((read(&path), read(&aside)), ("some notes".to_owned(), "older notes".to_owned()));
    assert_eq!((file(&m), m.session_id().to_owned()), before);
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 3);
}

// R16: any other error of reading changes nothing.
#[test]
fn r16_other_errors() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = (file(&m), m.session_id().to_owned(), ids(&m), leaf(&m));
    let folder = dir.shop().join("folder.jsonl");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(m.set_session_file(&folder).unwrap_err().code(), ErrorCode::IsADirectory);
    let under_a_file = file(&m).join("x.jsonl");
    m.set_session_file(&under_a_file).unwrap_err();
    assert_eq!((file(&m), m.session_id().to_owned(), ids(&m), leaf(&m)), before);
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 3);
    assert_eq!(dir.options().open(&folder).unwrap_err().code(), ErrorCode::IsADirectory);
}

// R16, R17: opening and closing a valid file touches neither its bytes nor its mtime; its last
// entry is the leaf.
#[test]
fn r16_r17_opening_changes_nothing() {
    let dir = Dir::new();
    let text = lines(&[
        "{\"garbage",
        &header("s", "/home/ada/elsewhere"),
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant"}}"#,
        "",
        r#"{"type":"odd","id":"x","parentId":"00000001"}"#,
    ]) + r#"{"type":"odd","parentId":"x"}"#;
    let path = dir.put("x.jsonl", &text);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let mut m = dir.options().open(&path).unwrap();
    assert_eq!(leaf(&m).as_deref(), Some("x"));
    // The project is the header's, the folder the file's.
    assert_eq!((m.cwd(), m.session_dir()), (Path::new("/home/ada/elsewhere"), &*dir.shop()));
    m.flush().unwrap();
    m.ensure_on_disk().unwrap();
    m.close().unwrap();
    drop(m);
    assert_eq!(read(&path), text);
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), old);
    assert_eq!(names_in(&dir.shop()), ["x.jsonl"]);
}

// Part C: open. The folder may be given; a header without cwd leaves the process's own.
#[test]
fn open_folders() {
    let dir = Dir::new();
    let path = dir.put("x.jsonl", "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let other = dir.path().join("other/folder");
    let m = dir.options().session_dir(&other).open(&path).unwrap();
    assert_eq!((m.session_dir(), file(&m)), (&*other, path));
    assert!(other.is_dir());
    assert_eq!(m.cwd(), std::env::current_dir().unwrap());
    // A new session goes to that folder.
    let mut m = m;
    let new = m.new_session(None).unwrap().unwrap();
    assert_eq!(new.parent().unwrap(), other);
}

// Part C: setSessionFile goes on in another session, with its leaf, labels, usage and name.
#[test]
fn set_session_file_switches() {
    let dir = Dir::new();
    let mut other = dir.options().generator(super::common::sequence_b()).create("/home/ada/other").unwrap();
    other.append_message(r#"{"role":"assistant","usage":{"input":5}}"#).unwrap();
    other.append_label_change("000000b1", Some("here")).unwrap();
    other.set_session_name("Other", leaflog::TitleSource::User).unwrap();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let first = file(&m);
    m.set_session_file(file(&other)).unwrap();
    assert_eq!(m.session_id(), "b000000000000001");
    assert_eq!((m.title(), m.title_source()), (Some("Other"), Some("user")));
    assert_eq!(m.label("000000b1").as_deref(), Some("here"));
    assert_eq!(m.usage().input, 5.0);
    assert_eq!(leaf(&m).as_deref(), Some("000000b2"));
    assert_eq!(m.cwd(), Path::new("/home/ada/shop"));
    m.append_message(USER).unwrap();
    assert_eq!(text(&m).lines().count(), 4);
    m.set_session_file(&first).unwrap();
    assert_eq!(ids(&m), ["00000001"]);
    m.append_message(USER).unwrap();
    assert_eq!(read(&first).lines().count(), 3);
}
