use super::FileSessionStorage;
use crate::error::ErrorCode;
use crate::storage::disk::Op;
use crate::storage::disk::faults::{self, Fault};
use crate::storage::lock::SessionLock;
use crate::storage::temp;
use std::fs;
use std::time::Duration;

// R56: cut at every step, the artifacts go only after their session, and the error says what is left.
#[test]
fn r56_deleting_only_the_first_half() {
    let script = |at: Option<usize>| {
        let dir = tempfile::tempdir().unwrap();
        let (session, artifacts) = (dir.path().join("a.jsonl"), dir.path().join("a"));
        fs::write(&session, "A").unwrap();
        fs::create_dir(&artifacts).unwrap();
        fs::write(artifacts.join("0.log"), "log").unwrap();
        faults::plan(at.map(|at| (at, Fault::Fails)), false);
        let result = FileSessionStorage.delete_session_with_artifacts(&session);
        let steps = faults::end().len();
        let there = (session.exists(), artifacts.join("0.log").exists());
        let start = format!("Session file deleted but failed to remove artifacts directory {}: ", artifacts.display());
        (result, there, start, steps)
    };
    let (whole, there, _, steps) = script(None);
    whole.unwrap();
    assert_eq!(there, (false, false));
    let mut halves = 0;
    for at in 0..steps {
        let (result, there, start, _) = script(Some(at));
        let Err(error) = result else {
            assert_eq!(there, (false, false), "step {at}");
            continue;
        };
        if there == (false, true) {
            halves += 1;
            assert!(error.message().starts_with(&start), "{error}");
            assert!(error.io_error().is_some(), "the cause is told");
        } else {
            assert_eq!(there, (true, true), "step {at}: {error}");
        }
    }
    assert_eq!(halves, 1);
}

// R56: nothing of the session stays, not its lock, nor what a process that died left beside it.
#[test]
fn r56_what_belongs_to_a_session_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("a.jsonl");
    fs::write(&session, "A").unwrap();
    fs::write(temp::path_for(&session), "half of A").unwrap();
    drop(SessionLock::new(&session, Duration::ZERO).acquire(true).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
    FileSessionStorage.delete_session_with_artifacts(&session).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

// B9: whatever step of a write fails, the old content is there, and nothing beside it.
#[test]
fn b09_a_write_that_fails() {
    use crate::storage::SessionStorage as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    FileSessionStorage.write(&path, b"the old content").unwrap();
    for op in [Op::Create, Op::Write, Op::Sync, Op::Rename] {
        faults::plan_every(op, Fault::StopsAfter(2));
        let error = FileSessionStorage.write(&path, b"new").unwrap_err();
        faults::end();
        assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*path)), "{op:?}");
        assert_eq!(fs::read(&path).unwrap(), b"the old content", "{op:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{op:?}");
    }
}
