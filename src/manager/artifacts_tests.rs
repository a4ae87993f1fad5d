use super::ArtifactManager;
use crate::error::ErrorCode;
use crate::storage::disk::{Op, faults};
use crate::{ManagerOptions, SessionManager};
use std::fs;
use std::path::Path;

const EIO: i32 = 5;

fn session(dir: &Path) -> SessionManager {
    let mut m = ManagerOptions::new().agent_dir(dir).create("/w").unwrap();
    m.append_message(r#"{"role":"assistant","content":"one"}"#).unwrap();
    m
}

/// What is not hidden.
fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

// A11: a directory that cannot be listed says nothing of which ids are taken: an error, and no second 0.
#[test]
fn a11_a_directory_that_cannot_be_listed() {
    let dir = tempfile::tempdir().unwrap();
    let mut m = session(dir.path());
    assert_eq!(m.save_artifact(b"a", "bash").unwrap(), "0");
    assert_eq!(m.save_artifact(b"b", "bash").unwrap(), "1");
    let artifacts = m.artifacts_dir().unwrap();
    let files = ArtifactManager::new(m.session_file().unwrap()).unwrap();
    for error in [
        {
            faults::plan_every(Op::ReadDir, faults::Fault::Errno(EIO));
            m.save_artifact(b"c", "read").unwrap_err()
        },
        files.allocate("read").unwrap_err(),
    ] {
        assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*artifacts)));
        assert!(error.message().starts_with("cannot list the artifacts"), "{error}");
    }
    faults::end();
    assert_eq!(names(&artifacts), ["0.bash.log", "1.bash.log"]);
    assert_eq!(m.save_artifact(b"c", "read").unwrap(), "2");
}

// G5: a copy whose artifacts cannot be brought along is not made, and nothing of it stays behind.
#[test]
fn g05_a_copy_that_fails_leaves_no_artifacts() {
    let dir = tempfile::tempdir().unwrap();
    let mut m = session(dir.path());
    let leaf = m.leaf().unwrap().id().unwrap().into_owned();
    m.save_artifact(b"a", "bash").unwrap();
    let old = m.session_file().unwrap().to_owned();
    let before = names(old.parent().unwrap());
    // The first write is of the artifact in a fork, and of the session in a branch.
    for op in [Op::ReadDir, Op::Write, Op::Sync] {
        faults::plan_every(op, faults::Fault::Fails);
        let forked = m.fork().unwrap_err();
        let branched = m.create_branched_session(&leaf).unwrap_err();
        faults::end();
        assert_eq!((forked.code(), branched.code()), (ErrorCode::Io, ErrorCode::Io), "{op:?}");
        assert_eq!(m.session_file(), Some(&*old));
        assert_eq!(names(old.parent().unwrap()), before, "{op:?}");
    }
    // Where there are no second names the file is copied.
    faults::plan_every(Op::Create, faults::Fault::Errno(18)); // EXDEV
    let error = super::Brought::along(&old, &old.with_file_name("x.jsonl"), super::Bring::Link).unwrap_err();
    assert_eq!(faults::end(), [Op::ReadDir, Op::CreateDir, Op::SyncDir, Op::Create, Op::Create]);
    assert_eq!(error.os_errno(), Some(18));
}
