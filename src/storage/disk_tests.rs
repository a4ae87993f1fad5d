//! What an operation on the file system is made of.

use super::{Op, create_dir, dir_of, faults};
use std::path::Path;

// A new folder's name is in the folder above it, which must be on disk too.
#[test]
fn new_folders_are_synced() {
    let dir = tempfile::tempdir().unwrap();
    let steps = |path: &Path| {
        faults::plan(None, false);
        create_dir(path).unwrap();
        faults::end()
    };
    let deep = dir.path().join("a/b");
    assert_eq!(steps(&deep), [Op::CreateDir, Op::SyncDir, Op::SyncDir]);
    assert!(deep.is_dir());
    assert_eq!(steps(&deep), [Op::CreateDir]);
    assert_eq!(steps(&dir.path().join("a/c")), [Op::CreateDir, Op::SyncDir]);
    std::fs::write(deep.join("file"), "").unwrap();
    create_dir(&deep.join("file")).unwrap_err();
    create_dir(&deep.join("file/below")).unwrap_err();
}

#[test]
fn folders_of_paths() {
    assert_eq!(dir_of(Path::new("/a/b")), Path::new("/a"));
    assert_eq!(dir_of(Path::new("a/b")), Path::new("a"));
    assert_eq!(dir_of(Path::new("b")), Path::new("."));
}
