//! A move, and a folder of artifacts that goes to another file system.

use super::{Artifacts, copy_dir};
use crate::manager::ManagerOptions;
use crate::storage::disk::Op;
use crate::storage::disk::faults::{self, Fault};
use crate::view::SessionView;
use std::io::ErrorKind;
use std::path::Path;

// What a move removes at its old place would survive a power cut at the new one.
#[test]
fn a_folder_is_synced_before_the_old_one_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::create_dir_all(from.join("below")).unwrap();
    std::fs::write(from.join("below/0.bash.log"), "output").unwrap();
    faults::plan(None, false);
    copy_dir(&from, &to).unwrap();
    // The file, the folder it is in, the folder above.
    assert!(faults::end().ends_with(&[Op::Sync, Op::SyncDir, Op::SyncDir]));
    assert_eq!(std::fs::read(to.join("below/0.bash.log")).unwrap(), b"output");
}

// A pipe among the artifacts is not waited for: the move fails, and everything is where it was.
#[test]
#[cfg(unix)]
fn a_pipe_is_not_copied() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    std::fs::create_dir(&from).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(from.join("pipe")).status().unwrap().success());
    assert_eq!(copy_dir(&from, &dir.path().join("to")).unwrap_err().kind(), ErrorKind::InvalidInput);
}

/// A session's directory of artifacts, on its way to another file system.
#[cfg(target_os = "linux")]
fn copied(dir: &Path) -> Artifacts {
    let (old, new) = (dir.join("old.jsonl"), dir.join("new.jsonl"));
    std::fs::create_dir_all(dir.join("old/below")).unwrap();
    std::fs::write(dir.join("old/below/0.bash.log"), "output").unwrap();
    let mut artifacts = Artifacts::default();
    // EXDEV
    faults::plan_every(Op::Rename, Fault::Errno(18));
    artifacts.go([&old, &old], &new).unwrap();
    faults::end();
    for name in ["old", "new"] {
        assert_eq!(std::fs::read(dir.join(name).join("below/0.bash.log")).unwrap(), b"output");
    }
    artifacts
}

// B6: until the old session file is gone, both directories are whole; then the old one goes. That it
// cannot go is no failed move.
#[cfg(target_os = "linux")]
#[test]
fn b06_copied_artifacts_are_removed_last() {
    let dir = tempfile::tempdir().unwrap();
    copied(dir.path()).finish().unwrap();
    assert!(!dir.path().join("old").exists() && dir.path().join("new/below/0.bash.log").exists());

    let dir = tempfile::tempdir().unwrap();
    let artifacts = copied(dir.path());
    faults::plan_every(Op::Unlink, Fault::Errno(13));
    artifacts.finish().unwrap_err();
    faults::end();
    assert!(dir.path().join("new/below/0.bash.log").exists());
}

// B6: what is put back is whole.
#[cfg(target_os = "linux")]
#[test]
fn b06_copied_artifacts_are_put_back() {
    let dir = tempfile::tempdir().unwrap();
    copied(dir.path()).put_back().unwrap();
    assert!(dir.path().join("old/below/0.bash.log").exists() && !dir.path().join("new").exists());

    // The copy stops half way.
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("old")).unwrap();
    std::fs::write(dir.path().join("old/0.bash.log"), "output").unwrap();
    let names = ["old.jsonl", "new.jsonl"].map(|name| dir.path().join(name));
    let mut artifacts = Artifacts::default();
    faults::plan_every(Op::Rename, Fault::Errno(18));
    std::os::unix::fs::symlink("nowhere", dir.path().join("old/link")).unwrap();
    artifacts.go([&names[0], &names[0]], &names[1]).unwrap_err();
    faults::end();
    artifacts.put_back().unwrap();
    assert!(dir.path().join("old/0.bash.log").exists() && !dir.path().join("new").exists());
}

// B7: a move that is killed at any of its steps leaves the session whole at one place or at both, and its artifacts beside
// a file of it: never at a place where there is none.
#[test]
fn b07_a_move_that_is_killed() {
    let message = r#"{"role":"assistant","content":"answer"}"#;
    let mut both = 0;
    for step in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let options = || ManagerOptions::new().agent_dir(dir.path().join("agent"));
        let mut manager = options().create("/w/old").unwrap();
        manager.append_message(message).unwrap();
        manager.save_artifact(b"output", "bash").unwrap();
        manager.flush().unwrap();
        let old = manager.session_file().unwrap().to_owned();
        let new = manager.dir_after_move("/w/new").join(old.file_name().unwrap());
        faults::kill(step, 0);
        let moved = manager.move_to("/w/new");
        drop(manager);
        let steps = faults::end().len();

        let artifacts = |session: &Path| session.with_extension("").join("0.bash.log");
        let there: Vec<&Path> = [&*old, &*new].into_iter().filter(|path| path.exists()).collect();
        for path in &there {
            let view = SessionView::open(path).unwrap();
            assert_eq!((view.entries().len(), view.report().unwrap().is_empty()), (1, true), "step {step}");
        }
        both += usize::from(there.len() == 2);
        let beside: Vec<_> = there.iter().filter(|path| artifacts(path).exists()).collect();
        assert_eq!(beside.len(), 1, "step {step}: {there:?}");
        assert_eq!(std::fs::read(artifacts(beside[0])).unwrap(), b"output");
        if steps <= step {
            moved.unwrap();
            assert_eq!(there, [&*new]);
            break;
        }
    }
    assert_ne!(both, 0);
}
