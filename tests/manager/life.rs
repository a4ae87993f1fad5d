//! When a session is written, and what stands at its path when it is opened.

use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, names_in, read, text};
use leaflog::{AppendError, Durability, Error, ErrorCode, Leaf, ManagerOptions, SessionManager, SessionView};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

// R28, R29: nothing is written before the first assistant message, not by flush or close either.
#[test]
fn r29_starts_with_an_assistant_message() {
    let dir = Dir::new();
    let mut m = dir.create();
    // The folder is made, nothing in it.
    assert_eq!(names_in(&dir.shop()), [""; 0]);
    assert!(m.is_persisted());
    m.append_message(USER).unwrap();
    m.append_model_change("a/b", None).unwrap();
    m.flush().unwrap();
    m.close().unwrap();
    assert_eq!(names_in(&dir.shop()), [""; 0]);
    assert_eq!(m.persist_status().unsaved, 2);
    assert_eq!(m.persist_status().last_saved, None);
    m.branch("00000001").unwrap();
    m.append_message(ASSISTANT).unwrap();
    assert_eq!(text(&m).lines().count(), 4);
    assert_eq!(m.persist_status().unsaved, 0);
    assert_eq!(m.persist_status().last_saved.as_deref(), Some("00000003"));
    // From then on every append.
    for count in 5..8 {
        m.append_message(USER).unwrap();
        assert_eq!(text(&m).lines().count(), count);
    }
    assert_eq!(m.persist_status().last_saved.as_deref(), Some("00000006"));
    // Until newSession.
    m.new_session(None).unwrap();
    m.append_message(USER).unwrap();
    m.close().unwrap();
    assert!(!file(&m).exists());
}

// R29: the other things that start a session.
#[test]
fn r29_other_starts() {
    let dir = Dir::new();
    type Start = fn(&mut SessionManager);
    let starts: [Start; 4] = [
        |m| m.ensure_on_disk().unwrap(),
        |m| m.rewrite_entries(&[]).unwrap(),
        |m| drop(m.fork().unwrap().unwrap()),
        |m| drop(m.create_branched_session("00000001").unwrap().unwrap()),
    ];
    for (at, start) in starts.into_iter().enumerate() {
        let mut m = dir.options().create(format!("/home/ada/{at}")).unwrap();
        m.append_message(USER).unwrap();
        start(&mut m);
        assert_eq!(text(&m).lines().count(), 2, "{at}");
        m.append_message(USER).unwrap();
        assert_eq!(text(&m).lines().count(), 3, "{at}");
    }
    // A name does not.
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    assert!(m.set_session_name("Name", leaflog::TitleSource::User).unwrap());
    assert!(!file(&m).exists());
    m.append_message(ASSISTANT).unwrap();
    assert!(text(&m).starts_with("{\"type\":\"session\"") && text(&m).contains("\"title\":\"Name\""));
}

// R30: closing is not final.
#[test]
fn r30_close_and_go_on() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    for _ in 0..3 {
        m.close().unwrap();
        m.close().unwrap();
        m.append_message(USER).unwrap();
        m.flush().unwrap();
    }
    assert_eq!(text(&m).lines().count(), 5);
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ids(&m));
}

// R28: a session in memory writes nothing, whatever is asked of it.
#[test]
fn r28_in_memory() {
    let dir = Dir::new();
    let mut m = dir.options().in_memory("/home/ada/shop").unwrap();
    assert!(!m.is_persisted());
    assert_eq!(m.cwd(), Path::new("/home/ada/shop"));
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.ensure_on_disk().unwrap();
    m.flush().unwrap();
    m.rewrite_entries(&[(
        "00000001",
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":"Changed"}}"#,
    )])
    .unwrap();
    assert!(m.set_session_name("Name", leaflog::TitleSource::Auto).unwrap());
    assert_eq!(m.title(), Some("Name"));
    assert_eq!(m.session_file(), None);
    assert_eq!(m.fork().unwrap(), None);
    let first = m.context(Leaf::Last).unwrap();
    assert_eq!(first.messages().next().unwrap().get_str("content").as_deref(), Some("Changed"));
    m.move_to("/home/ada/b").unwrap();
    assert_eq!(m.cwd(), Path::new("/home/ada/b"));
    assert_eq!(m.header().cwd.as_deref(), Some("/home/ada/b"));
    assert_eq!(m.persist_status().unsaved, 0);
    let id = m.session_id().to_owned();
    assert_eq!(m.new_session(Some("p")).unwrap(), None);
    assert_ne!(m.session_id(), id);
    assert_eq!(m.header().parent_session.as_deref(), Some("p"));
    assert_eq!(m.entries().count(), 0);
    m.close().unwrap();
    assert_eq!(names_in(dir.path()), [""; 0]);
}

// R28: opening a file from a session in memory reads it, and writes nothing either.
#[test]
fn r28_set_session_file_in_memory() {
    let dir = Dir::new();
    let mut source = dir.create();
    source.append_message(ASSISTANT).unwrap();
    let before = text(&source);
    let mut m = dir.options().storage(leaflog::FileSessionStorage).in_memory("/home/ada/shop").unwrap();
    m.set_session_file(file(&source)).unwrap();
    assert!(!m.is_persisted());
    assert_eq!(ids(&m), ["00000001"]);
    m.append_message(USER).unwrap();
    m.flush().unwrap();
    assert_eq!(text(&source), before);
    // A file that is not there, and one that is no session.
    let missing = dir.shop().join("missing.jsonl");
    m.set_session_file(&missing).unwrap();
    assert_eq!(m.entries().count(), 0);
    let notes = dir.put("notes.jsonl", "notes");
    m.set_session_file(&notes).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.close().unwrap();
    assert!(!missing.exists());
    assert_eq!(read(&notes), "notes");
    assert!(!names_in(&dir.shop()).iter().any(|name| name.contains("invalid")));
}

// Part C: newSession resets leaf, labels, usage and name.
#[test]
fn new_session_resets() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(r#"{"role":"assistant","usage":{"input":5}}"#).unwrap();
    m.append_label_change("00000001", Some("x")).unwrap();
    m.set_session_name("Name", leaflog::TitleSource::User).unwrap();
    let old = file(&m);
    let before = read(&old);
    let new = m.new_session(None).unwrap().unwrap();
    assert_ne!(new, old);
    assert_eq!((leaf(&m), m.labels().count(), m.title(), m.title_source()), (None, 0, None, None));
    assert_eq!((m.usage(), m.entries().count()), (leaflog::Usage::default(), 0));
    assert_eq!(m.header().parent_session, None);
    assert_eq!(m.persist_status().last_saved, None);
    // An agent's name may be given again.
    assert!(m.set_session_name("New", leaflog::TitleSource::Auto).unwrap());
    assert_eq!(read(&old), before);
}

/// A manager whose first write fails: a folder stands where its file belongs.
fn blocked(dir: &Dir, log: Arc<Mutex<Vec<String>>>) -> (SessionManager, PathBuf) {
    let mut m =
        dir.options().logger(move |line| log.lock().unwrap().push(line.to_owned())).create("/home/ada/shop").unwrap();
    m.append_message(USER).unwrap();
    let path = file(&m);
    std::fs::create_dir(&path).unwrap();
    (m, path)
}

// R32: a failure stays in force; entries of failed appends stay in memory; ensureOnDisk tries again.
#[test]
fn r32_failures_stay_in_force() {
    let dir = Dir::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let (mut m, path) = blocked(&dir, log.clone());
    let first = m.append_message(ASSISTANT).unwrap_err();
    assert_eq!(first.code(), ErrorCode::IsADirectory);
    let entry = r#"{"type":"message","id":"00000001","parentId":null,"message":{}}"#;
    let again = [
        m.append_message(USER).unwrap_err().error().clone(),
        m.append_label_change("00000001", Some("x")).unwrap_err().error().clone(),
        m.flush().unwrap_err(),
        m.close().unwrap_err(),
        m.rewrite_entries(&[("00000001", entry)]).unwrap_err(),
        m.set_session_name("Name", leaflog::TitleSource::User).unwrap_err(),
    ];
    for error in again {
        assert_eq!(error.to_string(), first.error().to_string());
    }
    // Memory has everything.
    assert_eq!(ids(&m), ["00000001", "00000002", "00000003", "00000004"]);
    assert_eq!((leaf(&m).as_deref(), m.label("00000001").as_deref()), (Some("00000004"), Some("x")));
    assert_eq!(m.title(), None);
    let status = m.persist_status();
    assert_eq!((status.unsaved, status.last_saved), (4, None));
    assert_eq!(status.error.unwrap().to_string(), first.error().to_string());
    // Logged once, with the session's file.
    let logged = log.lock().unwrap().clone();
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0].contains(path.to_str().unwrap()), "{logged:?}");

    // Trying again while it still fails is logged again, and keeps everything.
    m.ensure_on_disk().unwrap_err();
    std::fs::remove_dir(&path).unwrap();
    m.append_message(USER).unwrap_err();
    m.ensure_on_disk().unwrap();
    let status = m.persist_status();
    assert!(status.error.is_none());
    assert_eq!((status.unsaved, status.last_saved.as_deref()), (0, Some("00000005")));
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&m));
    m.append_message(USER).unwrap();
    m.close().unwrap();
    assert_eq!(read(&path).lines().count(), 7);
}

// B23: the error of an append says whether there is an entry all the same, and which.
#[test]
fn b23_an_append_that_could_not_be_written_says_which_entry_there_is() {
    let dir = Dir::new();
    let (mut m, path) = blocked(&dir, Arc::default());
    let error = m.append_message(ASSISTANT).unwrap_err();
    let AppendError::Unsaved { id, error: cause } = &error else { panic!("{error:?}") };
    assert_eq!((id.as_str(), leaf(&m).as_deref()), ("00000002", Some("00000002")));
    assert_eq!((error.entry_id(), error.code()), (Some("00000002"), ErrorCode::IsADirectory));
    assert_eq!((error.path(), error.message()), (Some(&*path), cause.message()));
    assert_eq!(error.to_string(), format!("{cause}; entry 00000002 is in memory, unsaved"));
    // Where `?` turns it into the error of other calls, that says so too.
    let plain = Error::from(error.clone());
    assert_eq!((plain.code(), plain.to_string()), (error.code(), error.to_string()));
    assert_eq!(
        m.persist_status().error.unwrap().to_string(),
        cause.to_string(),
        "the sticky error is not of one entry"
    );
    // So does every other append, with an id of its own.
    let next: [(&str, Result<String, AppendError>); 4] = [
        ("00000003", m.append_label_change("00000001", Some("x"))),
        ("00000004", m.branch_with_summary(Some("00000001"), "it led nowhere", None, None)),
        ("00000005", m.append_entry(r#"{"type":"odd"}"#)),
        ("00000006", m.append_thinking_level_change(None)),
    ];
    for (id, result) in next {
        assert_eq!(result.unwrap_err().entry_id(), Some(id));
    }
    assert_eq!(leaf(&m).as_deref(), Some("00000006"));
    // They are there once, without being appended again.
    std::fs::remove_dir(&path).unwrap();
    m.ensure_on_disk().unwrap();
    let written = SessionView::open(&path).unwrap();
    assert_eq!(ids(&written), ["00000001", "00000002", "00000003", "00000004", "00000005", "00000006"]);
    let parents = |view: &SessionView| {
        let parents = view.entries().map(|entry| entry.parent().map(|parent| parent.position()));
        parents.collect::<Vec<_>>()
    };
    assert_eq!(parents(&written), [None, Some(0), Some(1), Some(0), Some(3), Some(4)]);
}

// B23: and when there is none, nothing has changed.
#[test]
fn b23_a_rejected_append_changes_nothing() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    let rejected: [(ErrorCode, Result<String, AppendError>); 12] = [
        (ErrorCode::InvalidArgument, m.append_message("[]")),
        (ErrorCode::InvalidArgument, m.append_mode_change("plan", Some("{"))),
        (ErrorCode::InvalidArgument, m.append_entry(r#"{"type":"session"}"#)),
        // U18: a message has a role.
        (ErrorCode::InvalidArgument, m.append_message("{}")),
        (ErrorCode::InvalidArgument, m.append_message(r#"{"role":7,"content":"a"}"#)),
        (ErrorCode::InvalidArgument, m.append_message(r#"{"role":"","content":"a"}"#)),
        (ErrorCode::InvalidArgument, m.append_message(r#"{"content":{"role":"user"}}"#)),
        (ErrorCode::InvalidArgument, m.append_entry(r#"{"type":"message"}"#)),
        (ErrorCode::InvalidArgument, m.append_entry(r#"{"type":"message","message":{}}"#)),
        (ErrorCode::EntryNotFound, m.append_label_change("nobody", Some("x"))),
        (ErrorCode::EntryNotFound, m.branch_with_summary(Some("nobody"), "s", None, None)),
        (ErrorCode::InvalidArgument, m.branch_with_summary(Some("00000001"), "s", Some("{"), None)),
    ];
    for (code, result) in rejected {
        let error = result.unwrap_err();
        assert!(matches!(error, AppendError::Rejected(_)), "{error:?}");
        assert_eq!((error.code(), error.entry_id()), (code, None));
        assert_eq!(error.to_string(), error.error().to_string());
    }
    assert_eq!((ids(&m).len(), leaf(&m).as_deref()), (2, Some("00000002")));
    assert_eq!(text(&m), before);
}

// U18: any role is one, as a later version may have others.
#[test]
fn u18_a_message_of_any_role() {
    let mut m = SessionManager::in_memory("/home/ada/shop").unwrap();
    for message in [r#"{"role":"somebody"}"#, r#" {"content":"a","\u0072ole":"later"} "#] {
        m.append_message(message).unwrap();
    }
    m.append_entry(r#"{"type":"message","message":{"role":"somebody"}}"#).unwrap();
    assert_eq!(m.entries().len(), 3);
}

// R32: these start without the failure in force.
#[test]
fn r32_other_sessions_are_free_of_it() {
    type Go = fn(&mut SessionManager, &Dir);
    let ways: [Go; 6] = [
        |m, _| drop(m.new_session(None).unwrap()),
        |m, _| drop(m.fork().unwrap().unwrap()),
        |m, _| drop(m.create_branched_session("00000002").unwrap().unwrap()),
        |m, dir| m.set_session_file(dir.shop().join("other.jsonl")).unwrap(),
        |m, dir| m.move_to(dir.path().join("moved")).unwrap(),
        |m, _| {
            let state = m.capture_state();
            m.restore_state(state);
        },
    ];
    for (at, go) in ways.into_iter().enumerate() {
        let dir = Dir::new();
        let (mut m, path) = blocked(&dir, Arc::default());
        m.append_message(ASSISTANT).unwrap_err();
        if at >= 4 {
            std::fs::remove_dir(&path).unwrap();
        }
        go(&mut m, &dir);
        assert!(m.persist_status().error.is_none(), "{at}");
        m.append_message(ASSISTANT).unwrap();
        let in_file = SessionView::open(file(&m)).unwrap();
        // Copies, the moved and the restored session have what could not be written too.
        assert_eq!(ids(&in_file), ids(&m), "{at}");
        assert_eq!(in_file.entries().count(), [1, 3, 3, 1, 3, 3][at]);
    }
}

// Issue of every append made to survive a power cut: the same bytes.
#[test]
fn durability() {
    let dir = Dir::new();
    let mut every = dir.options().durability(Durability::EveryAppend).create("/home/ada/shop").unwrap();
    let mut flush = dir.options().create("/home/ada/b").unwrap();
    for m in [&mut every, &mut flush] {
        m.append_message(ASSISTANT).unwrap();
        m.append_message(USER).unwrap();
        m.flush().unwrap();
    }
    assert_eq!(text(&every), text(&flush).replace("/home/ada/b", "/home/ada/shop"));
}

// R53a: a lock that another holds for too long is an error that does not stay.
#[test]
fn r53_locked_is_not_latched() {
    let dir = Dir::new();
    let timeout = std::time::Duration::from_millis(1);
    let mut m = dir.options().lock_timeout(timeout).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    let path = file(&m);
    let lock = names_in(&dir.shop()).into_iter().find(|name| name.ends_with(".lock")).unwrap();
    assert!(lock.contains(path.file_name().unwrap().to_str().unwrap()));
    let held = std::fs::File::open(dir.shop().join(&lock)).unwrap();
    held.lock().unwrap();
    let error = m.append_message(USER).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Locked);
    assert!(m.persist_status().error.is_none());
    assert_eq!(m.persist_status().unsaved, 1);
    drop(held);
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ["00000001", "00000002", "00000003"]);
}

// F5: the file is deleted while it is in use.
#[test]
fn f5_a_deleted_file_comes_back_whole() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.append_message(USER).unwrap();
    let before = text(&m);
    std::fs::remove_file(file(&m)).unwrap();
    m.append_message(USER).unwrap();
    assert!(text(&m).starts_with(&before));
    assert_eq!(text(&m).lines().count(), 4);
    std::fs::remove_file(file(&m)).unwrap();
    m.ensure_on_disk().unwrap();
    assert_eq!(text(&m).lines().count(), 4);
    // A name changes nothing on disk when there is no file, and is not lost.
    std::fs::remove_file(file(&m)).unwrap();
    assert!(m.set_session_name("Name", leaflog::TitleSource::User).unwrap());
    assert!(!file(&m).exists());
    m.append_message(USER).unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!((view.title(), view.entries().count()), (Some("Name"), 4));
}

// F5, R30: flushing what was written to a file that is gone or was replaced writes it again, and a
// session nobody wrote to is left alone.
#[test]
fn f5_flush_notices_a_lost_file() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let older = text(&m);
    m.append_message(USER).unwrap();
    let whole = text(&m);
    std::fs::remove_file(file(&m)).unwrap();
    m.flush().unwrap();
    assert_eq!(text(&m), whole);
    // A program that knows no lock puts an older copy in its place.
    let id = m.append_message(USER).unwrap();
    let copy = dir.path().join("copy");
    std::fs::write(&copy, older).unwrap();
    std::fs::rename(&copy, file(&m)).unwrap();
    m.flush().unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ids(&m));
    assert_eq!(ids(&m).last(), Some(&id));
    m.close().unwrap();

    let mut reader = dir.options().open(file(&m)).unwrap();
    std::fs::remove_file(file(&m)).unwrap();
    reader.close().unwrap();
    m.close().unwrap();
    assert!(!file(&m).exists());
}

// Nothing of a burst is written before the start, and then everything at once.
#[test]
fn a_burst_before_the_start() {
    let dir = Dir::new();
    let mut m = dir.create();
    for _ in 0..5000 {
        m.append_message(USER).unwrap();
    }
    assert!(!file(&m).exists());
    m.append_message(ASSISTANT).unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(ids(&view), ids(&m));
    assert!(view.report().unwrap().is_empty());
}

// Debug output and the default options are there for programs that print them.
#[test]
fn options_print() {
    let options = ManagerOptions::default().agent_dir("/nowhere").storage(leaflog::MemorySessionStorage::new());
    let printed = format!("{options:?}");
    assert!(printed.contains("/nowhere") && printed.contains("lock_timeout: 10s"), "{printed}");
}
