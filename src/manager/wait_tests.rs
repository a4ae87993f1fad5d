//! A flush that is waited for without the manager (B15).

use crate::storage::disk::Op;
use crate::storage::disk::faults::{self, Fault};
use crate::{ErrorCode, ManagerOptions, SessionManager, SessionView};

const ASSISTANT: &str = r#"{"role":"assistant","content":[]}"#;

/// A session with one entry that no sync has covered.
fn unsynced(dir: &tempfile::TempDir) -> SessionManager {
    let mut manager = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada/shop").unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager
}

/// How many entries the file has.
fn stored(manager: &SessionManager) -> usize {
    SessionView::open(manager.session_file().unwrap()).unwrap().entries().len()
}

/// Says whether a flush syncs the file.
fn syncs(manager: &mut SessionManager) -> bool {
    faults::plan(None, false);
    manager.flush().unwrap();
    faults::end().contains(&Op::Sync)
}

#[test]
fn b15_a_flush_covers_what_was_appended_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = unsynced(&dir);
    let mut flush = manager.begin_flush().unwrap().unwrap();
    flush.wait();
    assert!(manager.end_flush(flush).unwrap());
    assert!(!syncs(&mut manager));
    assert!(manager.begin_flush().unwrap().is_none());
    // What comes in between is not covered.
    manager.append_message(ASSISTANT).unwrap();
    let mut flush = manager.begin_flush().unwrap().unwrap();
    manager.append_message(ASSISTANT).unwrap();
    flush.wait();
    assert!(manager.end_flush(flush).unwrap());
    assert!(syncs(&mut manager));
    assert!(!syncs(&mut manager));
}

#[test]
fn b15_a_sync_that_fails_is_told_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = unsynced(&dir);
    let mut flush = manager.begin_flush().unwrap().unwrap();
    manager.append_message(ASSISTANT).unwrap();
    faults::plan_every(Op::Sync, Fault::Errno(5));
    flush.wait();
    faults::end();
    assert_eq!(manager.end_flush(flush).unwrap_err().os_errno(), Some(5));
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Io);
    assert!(manager.persist_status().error.is_some());
    // What no sync covered is written again from memory.
    faults::plan(None, false);
    manager.ensure_on_disk().unwrap();
    let done = faults::end();
    assert!(done.contains(&Op::Sync) && done.contains(&Op::Rename), "{done:?}");
    assert_eq!(stored(&manager), 3);
}

// The system tells of a failure once: another sync that comes before the first one is ended has it too.
#[test]
fn b15_a_failure_is_not_missed_by_a_sync_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = unsynced(&dir);
    let mut flush = manager.begin_flush().unwrap().unwrap();
    faults::plan_every(Op::Sync, Fault::Errno(5));
    flush.wait();
    faults::end();
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Io);
    assert_eq!(manager.end_flush(flush).unwrap_err().code(), ErrorCode::Io);
    manager.ensure_on_disk().unwrap();
    // Also when nobody ends it.
    manager.append_message(ASSISTANT).unwrap();
    let mut flush = manager.begin_flush().unwrap().unwrap();
    faults::plan_every(Op::Sync, Fault::Errno(5));
    flush.wait();
    faults::end();
    drop(flush);
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Io);
}

#[test]
fn b15_a_file_that_was_written_anew_in_between() {
    let dir = tempfile::tempdir().unwrap();
    for fault in [None, Some(Fault::Errno(5))] {
        let mut manager = unsynced(&dir);
        let mut flush = manager.begin_flush().unwrap().unwrap();
        manager.rewrite_entries(&[]).unwrap();
        match fault {
            Some(fault) => faults::plan_every(Op::Sync, fault),
            None => faults::plan(None, false),
        }
        flush.wait();
        faults::end();
        // Everything is in the new file, which was synced.
        assert!(manager.end_flush(flush).unwrap());
        assert!(!syncs(&mut manager));
        // Not what is appended to it.
        let mut flush = {
            manager.append_message(ASSISTANT).unwrap();
            manager.begin_flush().unwrap().unwrap()
        };
        manager.rewrite_entries(&[]).unwrap();
        manager.append_message(ASSISTANT).unwrap();
        flush.wait();
        assert!(!manager.end_flush(flush).unwrap());
        assert!(syncs(&mut manager));
    }
}

#[test]
fn b15_the_manager_is_closed_or_goes_on_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = unsynced(&dir);
    let mut flush = manager.begin_flush().unwrap().unwrap();
    manager.close().unwrap();
    flush.wait();
    assert!(manager.end_flush(flush).unwrap());
    manager.append_message(ASSISTANT).unwrap();
    let mut flush = manager.begin_flush().unwrap().unwrap();
    manager.new_session(None).unwrap();
    flush.wait();
    assert!(manager.end_flush(flush).unwrap());
    // Nothing to wait for: it has not started; it is kept nowhere.
    assert!(manager.begin_flush().unwrap().is_none());
    let mut nowhere = ManagerOptions::new().agent_dir(dir.path()).in_memory("/home/ada").unwrap();
    nowhere.append_message(ASSISTANT).unwrap();
    assert!(nowhere.begin_flush().unwrap().is_none());
}
