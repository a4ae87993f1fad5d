//! Deleting a session with its artifacts (R56, F25).

use crate::common::Home;
use leaflog::{ErrorCode, FileSessionStorage};
use std::fs;
use std::path::{Path, PathBuf};

fn delete(path: impl AsRef<Path>) -> leaflog::Result<()> {
    FileSessionStorage.delete_session_with_artifacts(path)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// A folder with the session `a`, its artifacts, and other things.
fn folder(home: &Home) -> (PathBuf, PathBuf) {
    let session = home.file("d/a.jsonl", "A");
    home.file("d/a/0.bash.log", "log");
    home.file("d/a/0-task.jsonl", "task");
    home.file("d/ab.jsonl", "AB");
    home.file("d/ab/0.log", "log");
    home.file("outside/0.log", "log");
    (home.sessions().join("d"), session)
}

#[test]
fn r56_a_session_and_its_artifacts() {
    let home = Home::new();
    let (dir, session) = folder(&home);
    delete(&session).unwrap();
    assert_eq!(names(&dir), ["ab", "ab.jsonl"]);
    assert_eq!(delete(&session).unwrap_err().code(), ErrorCode::NotFound);
    // Without artifacts.
    delete(home.file("d/b.jsonl", "B")).unwrap();
    assert_eq!(names(&dir), ["ab", "ab.jsonl"]);
}

// R56: a missing file, and then its artifacts are not touched.
#[test]
fn r56_a_missing_file() {
    let home = Home::new();
    let (dir, session) = folder(&home);
    fs::remove_file(&session).unwrap();
    let error = delete(&session).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(error.path(), Some(&*session));
    #[cfg(target_os = "linux")]
    assert_eq!(error.os_errno(), Some(2), "ENOENT");
    assert_eq!(names(&dir), ["a", "ab", "ab.jsonl"]);
}

// F25: only paths that end in `.jsonl`, and what belongs to them lies beside them.
#[test]
fn f25_paths_that_are_no_session() {
    let home = Home::new();
    let (dir, _) = folder(&home);
    let before = names(&dir);
    home.file(".jsonl", "hidden");
    home.file("d/..jsonl", "dots");
    home.file("d/...jsonl", "more dots");
    for name in ["a", "a/0.bash.log", ".jsonl", "..jsonl", "...jsonl", "", "a.jsonl.bak", "a.JSONL", "../outside"] {
        let error = delete(dir.join(name)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{name}: {error}");
    }
    fs::create_dir(dir.join("folder.jsonl")).unwrap();
    assert_eq!(delete(dir.join("folder.jsonl")).unwrap_err().code(), ErrorCode::IsADirectory);
    fs::remove_dir(dir.join("folder.jsonl")).unwrap();
    fs::remove_file(dir.join("..jsonl")).unwrap();
    fs::remove_file(dir.join("...jsonl")).unwrap();
    assert_eq!(names(&dir), before);
    assert_eq!(names(&home.sessions().join("outside")), ["0.log"]);
}

// R56: links are removed, and what they lead to stays.
#[cfg(unix)]
#[test]
fn r56_links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let (dir, session) = folder(&home);
    symlink(&session, dir.join("link.jsonl")).unwrap();
    symlink(home.sessions().join("outside"), dir.join("link")).unwrap();
    delete(dir.join("link.jsonl")).unwrap();
    assert!(!dir.join("link.jsonl").is_symlink());
    assert_eq!(fs::read_to_string(&session).unwrap(), "A");
    assert_eq!(names(&home.sessions().join("outside")), ["0.log"]);
    // A link among the artifacts goes, and not what it leads to.
    symlink(home.sessions().join("outside"), dir.join("a/out")).unwrap();
    delete(&session).unwrap();
    assert_eq!(names(&home.sessions().join("outside")), ["0.log"]);
    assert!(!dir.join("a").exists());
}
