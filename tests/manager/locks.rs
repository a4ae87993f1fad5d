//! The lock beside a session, and who is told what became of it.

use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, read};
use leaflog::{DirNaming, Environment, ErrorCode, FileSessionStorage, SessionView, TitleSource};
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

// A4: whoever holds a lock file that was at the path before holds nothing that an append waits for.
#[test]
fn a04_a_lock_that_is_held_under_another_name() {
    let dir = Dir::new();
    let mut m = dir.options().lock_timeout(Duration::ZERO).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    let held = hold_lock(&file(&m));
    assert_eq!(m.append_message(USER).unwrap_err().code(), ErrorCode::Locked);
    fs::rename(beside(&file(&m), ".lock"), dir.path().join("lock")).unwrap();
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002", "00000003"]);
    drop(held);
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
    let _other = dir.options().open(file(&m)).unwrap();
    let dead = [
        put(".a.jsonl.tmp", 100),
        put(".a.jsonl.0123456789abcdef.tmp", 100),
        put(&format!(".{hash}.tmp"), 100),
        put(&format!(".{hash}.0123456789abcdef.tmp"), 100),
        put(".a.jsonl.use", 0),
        put(".a.jsonl.lock", 0),
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
        put(".a.txt.lock", 100),
        beside(&file(&m), ".use"),
        beside(&file(&m), ".lock"),
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

// G12: a deletion is said to the process that has the session open, once; then it is a wish.
#[test]
fn g12_an_open_session_is_deleted() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let mut other = dir.options().open(file(&m)).unwrap();
    let mut third = dir.options().open(file(&m)).unwrap();
    // Not synced yet.
    m.append_message(USER).unwrap();
    let aside = dir.put("s.jsonl.invalid-2026-01-02T03-04-05-678Z", "of another");
    let names = ["2026-01-02T03-04-05-678Z", "2026-01-02T03-04-05-678", "note"];
    let asides = names.map(|time| {
        let path = PathBuf::from(format!("{}.invalid-{time}", file(&m).display()));
        fs::write(&path, "x").unwrap();
        path
    });
    FileSessionStorage.delete_session_with_artifacts(file(&m)).unwrap();
    assert_eq!(asides.map(|path| path.exists()), [false, true, true]);
    assert!(aside.exists());
    // A flush, and a close, make nothing again.
    assert_eq!(m.flush().unwrap_err().code(), ErrorCode::Gone);
    assert_eq!(m.close().unwrap_err().code(), ErrorCode::Gone);
    let error = m.append_message(USER).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Gone);
    // B23: the entry is not lost, and is written with the next.
    assert_eq!(error.entry_id(), leaf(&m).as_deref());
    assert!(!file(&m).exists());
    let status = m.persist_status();
    assert_eq!((status.error.map(|error| error.code()), status.unsaved), (None, 1));
    assert_eq!(m.flush().unwrap_err().code(), ErrorCode::Gone);
    assert!(!file(&m).exists());
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002", "00000003", "00000004"]);
    m.flush().unwrap();
    m.close().unwrap();
    // To write it again on purpose needs no first try.
    FileSessionStorage.delete_session_with_artifacts(file(&m)).unwrap();
    m.ensure_on_disk().unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()).len(), 4);
    // The others find a session there, and are told of what happens to it from then on.
    other.append_message(USER).unwrap();
    m.move_to("/home/ada/a").unwrap();
    other.append_message(USER).unwrap();
    assert_eq!(file(&other), file(&m));
    FileSessionStorage.delete_session_with_artifacts(file(&m)).unwrap();
    assert_eq!(other.append_message(USER).unwrap_err().code(), ErrorCode::Gone);
    // This one did not look since the first time: what it knows of is not there.
    assert_eq!(third.move_to("/home/ada/b").unwrap_err().code(), ErrorCode::Gone);
    assert_eq!(third.cwd(), Path::new("/home/ada/shop"));
}

// G12: a session that another process made again is there: what this one has not written goes to it.
#[test]
fn g12_a_deleted_session_that_another_process_made_again() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let mut other = dir.options().open(file(&m)).unwrap();
    FileSessionStorage.delete_session_with_artifacts(file(&m)).unwrap();
    assert_eq!(other.append_message(USER).unwrap_err().code(), ErrorCode::Gone);
    m.ensure_on_disk().unwrap();
    other.flush().unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", &*leaf(&other).unwrap()]);
}

// R53b, F5: what a person removes is written again.
#[test]
fn g12_a_removed_file_is_written_again() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    fs::remove_file(file(&m)).unwrap();
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002"]);
}

// A10: with names relative to the home directory, a session that is open is not moved to the new directory.
#[test]
fn a10_an_open_session_is_not_relocated() {
    let dir = Dir::new();
    let home = dir.path().join("home");
    let cwd = home.join("proj");
    fs::create_dir_all(&cwd).unwrap();
    let options = |naming| {
        let environment = Environment::from_vars([("HOME", home.clone())]);
        dir.options().environment(environment).dir_naming(naming)
    };
    let mut a = options(DirNaming::default()).create(&cwd).unwrap();
    a.append_message(ASSISTANT).unwrap();
    assert_eq!(a.save_artifact(b"first", "bash").unwrap(), "0");
    let old = file(&a);
    drop(options(DirNaming::HomeRelative).create(&cwd).unwrap());
    assert!(old.exists());
    assert_eq!(a.save_artifact(b"second", "bash").unwrap(), "1");
    a.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(&old).unwrap()).len(), 2);
    drop(a);
    drop(options(DirNaming::HomeRelative).create(&cwd).unwrap());
    assert!(!old.exists());
    let c = options(DirNaming::HomeRelative).continue_recent(&cwd).unwrap();
    assert_eq!((ids(&c).len(), c.session_dir()), (2, &*dir.sessions().join("-proj")));
    assert_eq!(read(&c.artifact_path("1").unwrap()), "second");
}

// What is closed is not in use: it may be moved away, and nothing of it is left beside the session. The next write
// says again that it is open.
#[test]
fn a10_a_closed_session_is_not_in_use() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let of_use = beside(&file(&m), ".use");
    assert!(of_use.exists());
    m.close().unwrap();
    assert!(!of_use.exists());
    m.append_message(USER).unwrap();
    assert!(of_use.exists());
    m.close().unwrap();
    assert!(!of_use.exists());
    assert!(m.set_session_name("A name", TitleSource::User).unwrap());
    assert!(of_use.exists());
    m.close().unwrap();
    assert!(!of_use.exists());
    m.append_message(USER).unwrap();
    // What fails after it left the session leaves it in use.
    m.set_session_file(dir.path()).unwrap_err();
    assert!(of_use.exists());
    let mut other = dir.options().open(file(&m)).unwrap();
    other.move_to("/home/ada/a").unwrap();
    m.append_message(USER).unwrap();
    assert_eq!(file(&m), file(&other));
    // A move leaves it in use where it was, and not where it was not.
    let new = beside(&file(&m), ".use");
    assert_eq!((of_use.exists(), new.exists()), (false, true));
    drop(other);
    m.close().unwrap();
    assert!(!new.exists());
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()).len(), 4);
}

// A directory that cannot be written to is no reason not to open a session in it.
#[cfg(unix)]
#[test]
fn a10_opening_in_a_read_only_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let path = file(&m);
    drop(m);
    // The superuser may write there all the same.
    fs::set_permissions(dir.shop(), fs::Permissions::from_mode(0o500)).unwrap();
    let opened = dir.options().open(&path);
    fs::set_permissions(dir.shop(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(ids(&opened.unwrap()), ["00000001"]);
}
