//! Going back to how a manager was (part C, captureState and restoreState).

use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, read, text};
use leaflog::{SessionManager, SessionView};
use std::path::Path;

// Part C: captureState and restoreState, the leaf too.
#[test]
fn capture_and_restore() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.append_label_change("00000001", Some("x")).unwrap();
    m.set_session_name("Name", leaflog::TitleSource::User).unwrap();
    m.branch("00000001").unwrap();
    let state = m.capture_state();
    assert_eq!(state.session_id(), "a000000000000001");
    let first = file(&m);
    m.new_session(None).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.restore_state(state);
    assert_eq!((file(&m), m.session_id()), (first.clone(), "a000000000000001"));
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));
    assert_eq!(
        (m.title(), m.label("00000001").as_deref(), m.cwd()),
        (Some("Name"), Some("x"), Path::new("/home/ada/shop"))
    );
    assert_eq!(m.persist_status().last_saved.as_deref(), Some("00000003"));
    let id = m.append_message(USER).unwrap();
    let view = SessionView::open(&first).unwrap();
    assert_eq!(view.entries().count(), 4);
    assert_eq!(view.entry(&id).unwrap().parent().unwrap().id().as_deref(), Some("00000001"));
}

// What was appended after a state was captured is not in memory, and stays in the file.
#[test]
fn restoring_loses_nothing_of_the_file() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let state = m.capture_state();
    let later = m.append_message(USER).unwrap();
    m.restore_state(state);
    assert!(m.entry(&later).is_none());
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));
    let own = m.append_message(USER).unwrap();
    m.rewrite_entries(&[]).unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!(ids(&view), ["00000001", &later, &own]);
    assert_eq!(view.entry(&own).unwrap().parent().unwrap().id().as_deref(), Some("00000001"));
    // R53: what stands in the file was taken in.
    assert!(m.entry(&later).is_some());
}

// A text given after going back to a state in which the session had not started takes the place of
// the one that was written meanwhile.
#[test]
fn restoring_and_changing_what_was_written_since() {
    let dir = Dir::new();
    for storage in [None, Some(leaflog::MemorySessionStorage::new())] {
        let options = match &storage {
            None => dir.options(),
            Some(storage) => dir.options().storage(storage.clone()),
        };
        let mut m = options.create("/home/ada/memory-or-not").unwrap();
        let first = m.append_message(USER).unwrap();
        let state = m.capture_state();
        let second = m.append_message(ASSISTANT).unwrap();
        m.restore_state(state);
        let before = m.entry(&first).unwrap().text().unwrap().json().text().into_owned();
        let after = before.replace("Hello", "Changed");
        m.rewrite_entries(&[(&first, &after)]).unwrap();
        assert_eq!(m.entry(&first).unwrap().text().unwrap().json().text(), after);
        let written = match &storage {
            None => text(&m),
            Some(storage) => leaflog::SessionStorage::read_text(storage, m.session_file().unwrap()).unwrap(),
        };
        assert_eq!(written.lines().nth(1), Some(&*after));
        assert_eq!((ids(&m), written.lines().count()), (vec![first, second], 3));
    }
}

// The same where a storage keeps the session; the leaf is that of the state.
#[test]
fn restoring_loses_nothing_of_a_storage() {
    let dir = Dir::new();
    let storage = leaflog::MemorySessionStorage::new();
    let mut m = dir.options().storage(storage.clone()).create("/home/ada/shop").unwrap();
    let stored = |m: &SessionManager| {
        let text = leaflog::SessionStorage::read_text(&storage, m.session_file().unwrap()).unwrap();
        ids(&leaflog::ViewOptions::new().read_bytes(text).unwrap())
    };
    m.append_message(ASSISTANT).unwrap();
    let state = m.capture_state();
    let later = m.append_message(USER).unwrap();
    m.restore_state(state);
    assert!(m.entry(&later).is_none());
    let own = m.append_message(USER).unwrap();
    assert_eq!(stored(&m), ["00000001", &later, &own]);
    assert_eq!(m.entry(&own).unwrap().parent().unwrap().id().as_deref(), Some("00000001"));
    let state = m.capture_state();
    m.append_message(USER).unwrap();
    m.set_session_name("Name", leaflog::TitleSource::User).unwrap();
    m.restore_state(state);
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(stored(&m).len(), 4);
}

// An unstarted session comes back unstarted.
#[test]
fn restoring_an_unstarted_session() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    let (state, path) = (m.capture_state(), file(&m));
    m.new_session(None).unwrap();
    m.restore_state(state);
    assert_eq!((file(&m), ids(&m)), (path.clone(), vec!["00000001".to_owned()]));
    assert_eq!(m.persist_status().unsaved, 1);
    m.flush().unwrap();
    assert!(!path.exists());
    m.append_message(ASSISTANT).unwrap();
    assert_eq!(read(&path).lines().count(), 3);
}

// R53g: going back to before a session started does not take away what it has on a storage since.
#[test]
fn restoring_what_had_not_started_keeps_what_is_stored() {
    let dir = Dir::new();
    let storage = leaflog::MemorySessionStorage::new();
    let mut m = dir.options().storage(storage.clone()).create("/home/ada/shop").unwrap();
    let state = m.capture_state();
    let first = m.append_message(ASSISTANT).unwrap();
    m.restore_state(state);
    let second = m.append_message(ASSISTANT).unwrap();
    let text = leaflog::SessionStorage::read_text(&storage, m.session_file().unwrap()).unwrap();
    let stored = leaflog::ViewOptions::new().read_bytes(text).unwrap();
    assert_eq!(ids(&stored), [first, second]);
}
