//! What an operation on the file system is made of.

use super::{Identity, Op, create_dir, create_new, dir_of, faults, write_once};
#[cfg(unix)]
use super::{open_hidden, open_lock, open_plain};
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

// B19: a write that gets only a part of the line into the file keeps why. The limit is that of the
// process: a child has one of its own.
#[cfg(target_os = "linux")]
#[test]
fn b19_a_limit_of_the_process_is_no_full_disk() {
    const CHILD: &str = "LEAFLOG_B19_FILE";
    if let Some(path) = std::env::var_os(CHILD) {
        let file = create_new(Path::new(&path)).unwrap();
        assert!(write_once(&file, &[b'x'; 1000]).is_ok());
        let (error, written) = write_once(&file, &[b'y'; 1000]).unwrap_err();
        // EFBIG
        assert_eq!((error.raw_os_error(), written), (Some(27), 24));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let test = "storage::disk::tests::b19_a_limit_of_the_process_is_no_full_disk";
    // In units of 1,024 bytes.
    let script = format!("ulimit -f 1; exec '{}' --exact {test}", program.display());
    let mut shell = std::process::Command::new("bash");
    // What it says goes to pipes: the limit is also that of a log that this process may write to.
    let output = shell.arg("-c").arg(script).env(CHILD, dir.path().join("file")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap().len(), 1024);
}

// B18: a link in the place of a lock or of a hidden file makes no file elsewhere, and a pipe is not waited for, on every
// Unix. That it was so on Linux alone could not be seen there.
#[cfg(unix)]
#[test]
fn b18_links_and_pipes() {
    let dir = tempfile::tempdir().unwrap();
    let [elsewhere, link, pipe, to_pipe] = ["elsewhere", "link", "pipe", "to-pipe"].map(|name| dir.path().join(name));
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    open_lock(&link).unwrap_err();
    open_hidden(&link, true).unwrap_err();
    std::fs::write(&elsewhere, "x").unwrap();
    open_lock(&link).unwrap_err();
    open_hidden(&link, false).unwrap_err();
    assert_eq!(std::fs::read(&elsewhere).unwrap(), b"x");

    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&pipe, &to_pipe).unwrap();
    for path in [&pipe, &to_pipe] {
        assert_eq!(open_plain(path).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
}

// A5: a later file that was given the inode of an earlier one is another file, by its time of birth or its device.
// One that grew is the same.
#[test]
fn a05_a_file_is_more_than_its_inode() {
    let file = Identity { device: 1, inode: 2, born: Some(3), len: 4 };
    assert!(file.is_same_file(&Identity { len: 5, ..file }));
    for other in [Identity { device: 9, ..file }, Identity { inode: 9, ..file }, Identity { born: Some(9), ..file }] {
        assert!(!file.is_same_file(&other));
    }
}
