//! A folder of artifacts that goes to another file system.

use super::copy_dir;
use crate::storage::disk::{Op, faults};
use std::io::ErrorKind;

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
