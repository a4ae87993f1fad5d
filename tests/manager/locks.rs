//! The lock beside a session, and who is told what became of it.

use super::common::{ASSISTANT, Dir, USER, file, ids, read};
use leaflog::{ErrorCode, SessionView, TitleSource};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A hidden file beside a session.
fn beside(session: &Path, ending: &str) -> PathBuf {
    session.with_file_name(format!(".{}{ending}", session.file_name().unwrap().to_str().unwrap()))
}

/// Holds the lock that is at the session's path.
fn hold_lock(session: &Path) -> fs::File {
    let lock = fs::File::open(beside(session, ".lock")).unwrap();
    lock.try_lock().unwrap();
    lock
}

/// Gives the directory of a session another name, and puts a copy of it in its place.
fn put_copy_in_place(dir: &Path) {
    let aside = dir.with_extension("before");
    fs::rename(dir, &aside).unwrap();
    fs::create_dir(dir).unwrap();
    for entry in fs::read_dir(&aside).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
    }
}

// A4: the lock that counts is the file at the path, not one that lives on under another name.
#[test]
fn a04_a_lock_file_under_another_name() {
    let dir = Dir::new();
    let mut m = dir.options().lock_timeout(Duration::ZERO).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    put_copy_in_place(&dir.shop());
    let held = hold_lock(&file(&m));
    assert_eq!(m.append_message(USER).unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(m.set_session_name("Name", TitleSource::User).unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(m.move_to("/home/ada/new").unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002", "00000003"]);
    // The directory of the other name is as it was.
    assert_eq!(read(&dir.shop().with_extension("before").join(file(&m).file_name().unwrap())).lines().count(), 2);
}

// A4: only the lock file has another name, and a rename looks at the path each time.
#[test]
fn a04_a_lock_file_that_was_copied_back() {
    let dir = Dir::new();
    let mut m = dir.options().lock_timeout(Duration::ZERO).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    let lock = beside(&file(&m), ".lock");
    fs::rename(&lock, dir.path().join("lock")).unwrap();
    fs::write(&lock, "").unwrap();
    let held = hold_lock(&file(&m));
    assert_eq!(m.set_session_name("Name", TitleSource::User).unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    assert!(m.set_session_name("Name", TitleSource::User).unwrap());
}

// A4: a temporary file that another process is writing is left to it.
#[test]
fn a04_a_temporary_file_in_use() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let temp = beside(&file(&m), ".tmp");
    fs::write(&temp, "theirs").unwrap();
    let theirs = fs::File::open(&temp).unwrap();
    theirs.try_lock().unwrap();
    m.set_session_name("Name", TitleSource::User).unwrap();
    assert_eq!(SessionView::open(file(&m)).unwrap().title(), Some("Name"));
    drop(dir.options().open(file(&m)).unwrap());
    assert_eq!(read(&temp), "theirs");
    // Its process has died.
    drop(theirs);
    drop(dir.options().open(file(&m)).unwrap());
    assert!(!temp.exists());
}

// A11: what a process left that died while it made a session goes with the next one that is made.
#[test]
fn a11_leftovers_of_sessions_that_never_were() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let put = |name: &str, seconds| {
        let path = dir.put(name, "x");
        let at = std::time::SystemTime::now() - Duration::from_secs(seconds);
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        path
    };
    let hash = "0123456789abcdef".repeat(4);
    let dead = [
        put(".a.jsonl.tmp", 100),
        put(".a.jsonl.0123456789abcdef.tmp", 100),
        put(&format!(".{hash}.tmp"), 100),
        put(&format!(".{hash}.0123456789abcdef.tmp"), 100),
    ];
    let written = put(".b.jsonl.tmp", 100);
    let lock = fs::File::open(&written).unwrap();
    lock.try_lock().unwrap();
    let stay = [
        written,
        put(".new.jsonl.tmp", 0),
        put("a.jsonl.tmp", 100),
        put(".a.txt.tmp", 100),
        put(".a.jsonl.0123.tmp", 100),
        put(".a.jsonl", 100),
    ];
    m.fork().unwrap();
    assert!(dead.iter().all(|path| !path.exists()));
    assert!(stay.iter().all(|path| path.exists()));
    // So does the first write of a session.
    let again = put(".a.jsonl.tmp", 100);
    m.new_session(None).unwrap();
    m.append_message(ASSISTANT).unwrap();
    assert!(!again.exists());
}

// U14: how long the lock is waited for can be changed, and it can be waited for without the manager.
#[test]
fn u14_waiting_for_the_lock_without_the_manager() {
    let dir = Dir::new();
    let mut m = dir.options().create("/home/ada/shop").unwrap();
    assert_eq!(m.lock_timeout(), Duration::from_secs(10));
    m.append_message(ASSISTANT).unwrap();
    m.set_lock_timeout(Duration::ZERO);
    assert_eq!(m.lock_timeout(), Duration::ZERO);
    let held = hold_lock(&file(&m));
    assert!(m.append_message(USER).unwrap_err().message().contains("waited 0 ms"));
    let refused = m.lock_wait(Duration::from_millis(1)).unwrap().wait().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Locked);
    assert!(refused.message().contains("waited 1 ms"));
    let mut wait = m.lock_wait(Duration::MAX).unwrap();
    let waiting = std::thread::spawn(move || wait.wait());
    // The manager is free meanwhile.
    assert_eq!(m.append_message(USER).unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    waiting.join().unwrap().unwrap();
    m.flush().unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002", "00000003"]);
    // A session that the manager goes on to is waited for as long; one without a file has no lock.
    m.new_session(None).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let _held = hold_lock(&file(&m));
    assert!(m.append_message(USER).unwrap_err().message().contains("waited 0 ms"));
    assert!(dir.options().in_memory("/home/ada/shop").unwrap().lock_wait(Duration::ZERO).is_none());
}
