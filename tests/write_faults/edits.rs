//! A session's file that an editor, or any program that knows no lock, writes over while a manager has it
//! open: the edit is kept, and nothing else changes.

use super::{ASSISTANT, USER, ids, lines, options, started};
use leaflog::{Durability, ErrorCode, Leaf, ManagerOptions, SessionManager, SessionView, TitleSource};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ANSWER: &str = r#"{"role":"assistant","content":"answer"}"#;

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

/// Three messages: `question`, `answer`, `more`.
fn three(dir: &Path) -> (SessionManager, PathBuf) {
    let mut manager = options(dir).create(dir).unwrap();
    for message in [&*user("question"), ANSWER, &user("more")] {
        manager.append_message(message).unwrap();
    }
    let path = manager.session_file().unwrap().to_owned();
    (manager, path)
}

/// Writes over the file in place, as `:w` of vim, `cp new old` or `cat >` do. Gives its lines then.
fn edit(path: &Path, from: &str, to: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
    lines(path)
}

/// Saves an edited copy and renames it over the file.
fn edit_by_rename(path: &Path, from: &str, to: &str) -> Vec<String> {
    let new = path.with_extension("new");
    fs::copy(path, &new).unwrap();
    let expected = edit(&new, from, to);
    fs::rename(&new, path).unwrap();
    expected
}

/// Every line of the file is JSON, and the manager has what is in it.
fn is_sound(manager: &SessionManager, path: &Path) {
    let view = SessionView::open(path).unwrap();
    assert!(view.report().unwrap().is_empty(), "{}", view.report().unwrap());
    assert_eq!(ids(manager), ids(&view));
    for (mine, there) in manager.entries().zip(view.entries()) {
        assert_eq!(mine.text().unwrap().json().bytes(), there.text().unwrap().json().bytes());
        assert_eq!((mine.offset(), mine.line()), (there.offset(), there.line()));
    }
}

// Longer, shorter, and of the same length; in the first line, the last, and the one between.
const EDITS: [(&str, &str); 7] = [
    ("question", "a longer question"),
    ("question", "q"),
    ("question", "QUESTION"),
    ("answer", "answers"),
    ("answer", "ANSWER"),
    ("more", "m"),
    ("more", "even more of it"),
];

// U9, B4, U7: the edit is in the file after the rename, and every line is whole.
#[test]
fn u09_a_name_after_an_edit() {
    for (from, to) in EDITS {
        let dir = tempfile::tempdir().unwrap();
        let (mut manager, path) = three(dir.path());
        let expected = edit(&path, from, to);
        assert!(manager.set_session_name("A name", TitleSource::User).unwrap());
        assert_eq!(lines(&path)[1..], expected[1..], "{to}");
        is_sound(&manager, &path);
        manager.flush().unwrap();
    }
}

// The same of entries that were loaded, not written here.
#[test]
fn u09_a_name_after_an_edit_of_what_was_loaded() {
    for (from, to) in EDITS {
        let dir = tempfile::tempdir().unwrap();
        let (manager, path) = three(dir.path());
        drop(manager);
        let mut manager = options(dir.path()).open(&path).unwrap();
        let expected = edit(&path, from, to);
        manager.set_session_name("A name", TitleSource::User).unwrap();
        assert_eq!(lines(&path)[1..], expected[1..], "{to}");
        is_sound(&manager, &path);
    }
}

// An edit, then an append, which looks at the file's length only; then the file is written anew.
#[test]
fn u07_an_append_after_an_edit() {
    for loaded in [false, true] {
        for (from, to) in EDITS {
            let dir = tempfile::tempdir().unwrap();
            let (mut manager, path) = three(dir.path());
            if loaded {
                drop(manager);
                manager = options(dir.path()).open(&path).unwrap();
            }
            let expected = edit(&path, from, to);
            manager.append_message(&user("last")).unwrap();
            assert_eq!(lines(&path)[..4], expected, "{to}");
            let context = manager.context(Leaf::Last).unwrap().to_json();
            assert_eq!((context.matches("\"role\"").count(), context.contains(to)), (4, true), "{to}: {context}");
            is_sound(&manager, &path);
            manager.set_session_name("A name", TitleSource::User).unwrap();
            assert_eq!(lines(&path)[1..4], expected[1..], "{to}");
            assert_eq!(lines(&path).len(), 5);
            is_sound(&manager, &path);
        }
    }
}

// Two edits that cancel out: the length says nothing. What is read is right or an error; the rename finds it.
#[test]
fn u07_two_edits_of_one_length() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = three(dir.path());
    edit(&path, "question", "a question");
    let expected = edit(&path, "more", "mo");
    for entry in manager.entries() {
        match entry.text() {
            Ok(text) => assert!(serde_json::from_slice::<serde_json::Value>(text.json().bytes()).is_ok()),
            Err(error) => assert_eq!(error.code(), ErrorCode::FileChanged),
        }
    }
    assert_eq!(manager.context(Leaf::Last).unwrap_err().code(), ErrorCode::FileChanged);
    // Once it was noticed, the next write reads the file again.
    manager.append_message(&user("last")).unwrap();
    assert_eq!(lines(&path)[..4], expected);
    is_sound(&manager, &path);
    assert_eq!(manager.context(Leaf::Last).unwrap().messages().len(), 4);
}

// U7: an editor that saves by a rename.
#[test]
fn u07_saved_by_a_rename() {
    for (from, to) in EDITS {
        for append in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let (mut manager, path) = three(dir.path());
            let expected = edit_by_rename(&path, from, to);
            if append {
                manager.append_message(&user("last")).unwrap();
                assert_eq!(lines(&path)[..4], expected, "{to}");
            }
            manager.set_session_name("A name", TitleSource::User).unwrap();
            assert_eq!(lines(&path)[1..4], expected[1..], "{to}");
            is_sound(&manager, &path);
        }
    }
}

// U9: after `rewrite_entries`, of another entry and of the one that was edited; this process's text wins there.
#[test]
fn u09_a_rewrite_after_an_edit() {
    for (from, to) in EDITS {
        for changed in 0..3 {
            let dir = tempfile::tempdir().unwrap();
            let (mut manager, path) = three(dir.path());
            let id = ids(&manager)[changed].clone();
            let text = lines(&path)[changed + 1].replace("\"content\":\"", "\"content\":\"mine: ");
            let mut expected = edit(&path, from, to);
            expected[changed + 1].clone_from(&text);
            manager.rewrite_entries(&[(&id, &text)]).unwrap();
            assert_eq!(lines(&path), expected, "{to}, {changed}");
            is_sound(&manager, &path);
        }
    }
}

// U9: the edited file is removed, and written again with the next append: as it was edited.
#[test]
fn u09_an_append_after_an_edit_and_rm() {
    for (from, to) in EDITS {
        let dir = tempfile::tempdir().unwrap();
        let (mut manager, path) = three(dir.path());
        let expected = edit(&path, from, to);
        fs::remove_file(&path).unwrap();
        manager.append_message(&user("last")).unwrap();
        assert_eq!(lines(&path)[..4], expected, "{to}");
        is_sound(&manager, &path);
    }
}

// U9: the same when an entry is changed that does not stand where it stood in the file that was removed.
#[test]
fn u09_a_change_after_an_edit_and_rm() {
    for (from, to) in EDITS {
        let dir = tempfile::tempdir().unwrap();
        let (manager, path) = three(dir.path());
        drop(manager);
        let mut manager = options(dir.path()).open(&path).unwrap();
        let id = ids(&manager)[2].clone();
        let mut expected = edit(&path, from, to);
        expected[3] = expected[3].replace("\"content\":\"", "\"content\":\"mine: ");
        fs::remove_file(&path).unwrap();
        manager.rewrite_entries(&[(&id, &expected[3])]).unwrap();
        assert_eq!(lines(&path), expected, "{to}");
        is_sound(&manager, &path);
    }
}

// U10: a fork, a branch and a move of a file that was edited have the edit. With and without an append between.
#[test]
fn u10_copies_after_an_edit() {
    type Copy = fn(&mut SessionManager);
    let copies: [Copy; 3] = [
        |manager| drop(manager.fork().unwrap()),
        |manager| {
            let leaf = manager.leaf().unwrap().id().unwrap().into_owned();
            manager.create_branched_session(&leaf).unwrap();
        },
        |manager| manager.move_to("/home/ada/store").unwrap(),
    ];
    for (from, to) in EDITS {
        for copy in copies {
            for (loaded, append) in [(false, false), (false, true), (true, false), (true, true)] {
                let dir = tempfile::tempdir().unwrap();
                let (mut manager, path) = three(dir.path());
                if loaded {
                    drop(manager);
                    manager = options(dir.path()).open(&path).unwrap();
                }
                let expected = edit(&path, from, to);
                if append {
                    manager.append_message(&user("last")).unwrap();
                }
                copy(&mut manager);
                let new = manager.session_file().unwrap().to_owned();
                assert_eq!(lines(&new)[1..4], expected[1..], "{to}");
                assert_eq!(lines(&new).len(), 4 + usize::from(append));
                is_sound(&manager, &new);
            }
        }
    }
}

// B3: what this process wrote long ago is read from where it stood in the file. When the file was written over
// there, that is not its text, and is not written as if it was.
#[test]
fn b03_own_text_that_is_another_now() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = three(dir.path());
    // More than is kept in memory.
    let large = user(&"x".repeat(400_000));
    for _ in 0..12 {
        manager.append_message(&large).unwrap();
    }
    let before = ids(&manager);
    // The first entry goes, and something else stands where it was.
    let text = fs::read_to_string(&path).unwrap();
    let first = lines(&path)[1].clone();
    fs::write(&path, text.replace(&first, r#"{"type":"custom","id":"00000001","parentId":null}"#)).unwrap();
    let error = manager.append_message(&user("last")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FileChanged, "{error}");
    manager.ensure_on_disk().unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view)[0], "00000001");
    assert_eq!(ids(&view)[1..before.len()], before[1..]);
    assert_eq!(ids(&view).len(), before.len() + 1);
    assert_eq!(ids(&view), ids(&manager));
}

// A6: the file is replaced by an older copy of itself after everything was synced. What says that everything is
// on disk looks, and puts it there.
#[test]
fn a06_an_older_copy_after_the_sync() {
    type Sure = fn(&mut SessionManager) -> leaflog::Result<()>;
    let ways: [Sure; 3] = [SessionManager::ensure_on_disk, SessionManager::flush, SessionManager::close];
    for durability in [Durability::Flush, Durability::EveryAppend] {
        for way in ways {
            for in_place in [false, true] {
                let dir = tempfile::tempdir().unwrap();
                let mut manager = options(dir.path()).durability(durability).create(dir.path()).unwrap();
                manager.append_message(ASSISTANT).unwrap();
                let path = manager.session_file().unwrap().to_owned();
                let old = fs::read(&path).unwrap();
                manager.append_message(USER).unwrap();
                manager.flush().unwrap();
                let all = lines(&path);
                if in_place {
                    fs::write(&path, &old).unwrap();
                } else {
                    fs::write(dir.path().join("old"), &old).unwrap();
                    fs::rename(dir.path().join("old"), &path).unwrap();
                }
                way(&mut manager).unwrap();
                assert_eq!(lines(&path), all);
                // Gone altogether; what was closed is let go.
                manager.append_message(USER).unwrap();
                let all = lines(&path);
                manager.flush().unwrap();
                fs::remove_file(&path).unwrap();
                way(&mut manager).unwrap();
                assert_eq!(lines(&path), all);
            }
        }
    }
}

// A6: the same when the file got longer.
#[test]
fn a06_a_longer_file_without_an_entry() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = three(dir.path());
    manager.flush().unwrap();
    let answer = lines(&path)[2].clone();
    let other = format!(r#"{{"type":"custom","id":"00000001","parentId":null,"data":"{}"}}"#, "x".repeat(500));
    edit(&path, &answer, &other);
    manager.flush().unwrap();
    assert_eq!(lines(&path)[2], other);
    assert_eq!(lines(&path)[4], answer);
    is_sound(&manager, &path);
}

// A5: nothing holds the file open, and another one gets its inode: the ones of two names change back and forth.
#[test]
fn a05_another_file_of_the_same_inode() {
    for close_first in [false, true] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut manager = options(dir.path()).create(dir.path()).unwrap();
        let all: Vec<String> = (0..5)
            .map(|n| manager.append_message(&format!(r#"{{"role":"assistant","content":"answer {n}"}}"#)).unwrap())
            .collect();
        let path = manager.session_file().unwrap().to_owned();
        let inode = || fs::metadata(&path).unwrap().ino();
        let first = inode();
        if close_first {
            manager.close().unwrap();
            manager.release();
        } else {
            manager.release();
            manager.close().unwrap();
        }
        let mut other = options(dir.path()).open(&path).unwrap();
        for n in 0..50 {
            other.set_session_name(&format!("a name {}", "x".repeat(n)), TitleSource::User).unwrap();
            if inode() == first {
                break;
            }
        }
        drop(other);
        // Its text, or that it cannot be had; never another one.
        match manager.entry(&all[2]).unwrap().text() {
            Ok(text) => assert!(text.json().to_string().contains("answer 2")),
            Err(error) => assert_eq!(error.code(), ErrorCode::FileChanged),
        }
        let last = lines(&path)[5].replace("answer 4", "shorter");
        manager.rewrite_entries(&[(&all[4], &last)]).unwrap();
        manager.fork().unwrap();
        assert_eq!(ids(&manager), all);
        is_sound(&manager, manager.session_file().unwrap());
        let view = SessionView::open(&path).unwrap();
        assert_eq!((ids(&view), lines(&path)[5].clone()), (all, last));
    }
}

pub(super) fn lock_of(path: &Path) -> File {
    let lock = path.with_file_name(format!(".{}.lock", path.file_name().unwrap().to_str().unwrap()));
    let lock = File::options().write(true).create(true).truncate(false).open(lock).unwrap();
    lock.lock().unwrap();
    lock
}

// Nothing holds the file open, and another process moves it: an entry is changed where it is now.
#[test]
fn u09_released_and_moved() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = three(dir.path());
    let mut other = options(dir.path()).open(&path).unwrap();
    let (id, line) = (ids(&other)[0].clone(), lines(&path)[1].replace("question", "mine"));
    manager.move_to("/home/ada/store").unwrap();
    other.release();
    other.rewrite_entries(&[(&id, &line)]).unwrap();
    let new = manager.session_file().unwrap();
    assert_eq!((other.session_file(), path.exists()), (Some(new), false));
    assert_eq!(lines(new)[1], line);
    is_sound(&other, new);
}

// The header that an editor saved is of an older version: the next rewrite writes one of this version.
#[test]
fn u09_an_older_header() {
    for removed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (mut manager, path) = three(dir.path());
        let before = lines(&path);
        edit(&path, "\"version\":3", "\"version\":2");
        if removed {
            fs::remove_file(&path).unwrap();
        }
        manager.rewrite_entries(&[]).unwrap();
        assert_eq!(lines(&path), before);
        is_sound(&manager, &path);
    }
}

// Nothing holds the file open, and it is removed: what this process wrote is written again, and later calls work.
#[test]
fn u09_released_and_removed() {
    type Next = fn(&mut SessionManager);
    let next: [Next; 3] = [
        |manager| drop(manager.append_message(USER).unwrap()),
        |manager| manager.rewrite_entries(&[]).unwrap(),
        |manager| manager.ensure_on_disk().unwrap(),
    ];
    // Something else may be in its place, which is no session.
    for (next, is_empty) in next.into_iter().flat_map(|next| [(next, false), (next, true)]) {
        let dir = tempfile::tempdir().unwrap();
        let (manager, path) = started(dir.path());
        drop(manager);
        let mut manager = options(dir.path()).open(&path).unwrap();
        let own = manager.append_message(&user("own")).unwrap();
        let line = lines(&path)[3].clone();
        manager.release();
        if is_empty {
            fs::write(dir.path().join("new"), "").unwrap();
            fs::rename(dir.path().join("new"), &path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        next(&mut manager);
        assert_eq!(lines(&path)[1], line);
        assert_eq!(ids(&manager)[0], own);
        let last = manager.append_message(USER).unwrap();
        assert_eq!(ids(&manager), ids(&SessionView::open(&path).unwrap()));
        assert_eq!(ids(&manager).last(), Some(&last));
    }
}

// A7: a name and a text that found the session locked go out with the next write of any kind.
#[test]
fn a07_a_rewrite_that_found_the_session_locked() {
    type Next = fn(&mut SessionManager) -> leaflog::Result<()>;
    let next: [Next; 4] = [
        |manager| Ok(manager.append_message(USER).map(drop)?),
        SessionManager::flush,
        SessionManager::close,
        SessionManager::ensure_on_disk,
    ];
    for next in next {
        let dir = tempfile::tempdir().unwrap();
        let mut manager = options(dir.path()).lock_timeout(Duration::ZERO).create(dir.path()).unwrap();
        let id = manager.append_message(ANSWER).unwrap();
        let path = manager.session_file().unwrap().to_owned();
        let text = lines(&path)[1].replace("answer", "another");
        let held = lock_of(&path);
        let locked = manager.set_session_name("new", TitleSource::User).unwrap_err();
        assert_eq!(locked.code(), ErrorCode::Locked);
        assert_eq!(manager.rewrite_entries(&[(&id, &text)]).unwrap_err().code(), ErrorCode::Locked);
        assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Locked);
        drop(held);
        next(&mut manager).unwrap();
        let view = SessionView::open(&path).unwrap();
        assert_eq!((view.title(), lines(&path)[1].clone()), (Some("new"), text));
        is_sound(&manager, &path);
    }
}

// Texts that wait for whichever rewrite comes next do not make one.
#[test]
fn a07_texts_that_wait_for_a_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = three(dir.path());
    let before = lines(&path);
    let text = before[1].replace("question", "another");
    manager.replace_texts(&[(0, &text)]).unwrap();
    manager.append_message(USER).unwrap();
    manager.flush().unwrap();
    assert_eq!(lines(&path)[..4], before);
    manager.set_session_name("name", TitleSource::User).unwrap();
    assert_eq!(lines(&path)[1], text);
}

// A11: the leaf was another process's entry, and the file that is there now is without it. The branch it was on
// goes on, not the one that the file ends with.
#[test]
fn a11_the_leaf_stays_on_its_branch() {
    let dir = tempfile::tempdir().unwrap();
    let mut one = options(dir.path()).create(dir.path()).unwrap();
    let root = one.append_message(&user("root")).unwrap();
    let main = one.append_message(ANSWER).unwrap();
    let path = one.session_file().unwrap().to_owned();
    let mut other = options(dir.path()).open(&path).unwrap();
    other.append_message(&user("on main")).unwrap();
    drop(other);
    let mut two = options(dir.path()).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    one.branch(&root).unwrap();
    one.append_message(&user("another branch")).unwrap();
    let last = two.append_message(&user("last")).unwrap();
    assert_eq!(two.entry(&last).unwrap().parent_id().unwrap(), main);
    is_sound(&two, &path);
}

/// Draws the same entry ids in every manager.
struct Twin(std::sync::atomic::AtomicU32);

impl leaflog::Generator for Twin {
    fn now_ms(&self) -> i64 {
        1_771_237_230_000
    }

    fn entry_id(&self) -> u32 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    fn session_id(&self) -> String {
        "00000000000000aa".into()
    }
}

// A3: two processes that drew the same id. An entry that is not written yet is not taken for written because
// another one of that id is there.
#[test]
fn a03_an_entry_of_the_same_id() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = started(dir.path());
    drop(manager);
    let open = || options(dir.path()).generator(Twin(1.into())).lock_timeout(Duration::ZERO).open(&path).unwrap();
    let (mut one, mut two) = (open(), open());
    let held = lock_of(&path);
    assert_eq!(one.append_message(&user("of one")).unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(two.append_message(&user("of two")).unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    one.flush().unwrap();
    two.flush().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!((text.matches("of one").count(), text.matches("of two").count()), (1, 1), "{text}");
    assert_eq!((one.persist_status().unsaved, two.persist_status().unsaved), (0, 0));
}

// A8: another program saves by a rename, again and again, while a manager that was closed appends. What was
// acknowledged is read back as what it is.
#[test]
fn a08_renames_between_look_and_open() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let header = lines(&path)[0].clone();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut last = String::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let new = dir.path().join("new");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(&new, format!("{header}\n")).unwrap();
                fs::rename(&new, &path).unwrap();
                std::thread::yield_now();
            }
        });
        for n in 0..40 {
            let text = format!("message {n}");
            match manager.append_message(&user(&text)) {
                Ok(id) => {
                    let there = manager.entry(&id).unwrap().text().unwrap();
                    assert!(there.json().to_string().contains(&text));
                    last = id;
                }
                Err(_) => manager.ensure_on_disk().unwrap_or_default(),
            }
            manager.close().unwrap_or_default();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    manager.ensure_on_disk().unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains(&last));
    is_sound(&manager, &path);
}

// B12: opening waits for no lock, whatever a process that died left beside the file.
#[test]
fn b12_opening_does_not_wait_for_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = started(dir.path());
    drop(manager);
    let left = path.with_file_name(format!(".{}.tmp", path.file_name().unwrap().to_str().unwrap()));
    fs::write(&left, "left").unwrap();
    let _held = lock_of(&path);
    let begun = std::time::Instant::now();
    let options = ManagerOptions::new().agent_dir(dir.path().join("agent")).lock_timeout(Duration::from_secs(600));
    assert_eq!(options.open(&path).unwrap().entries().len(), 2);
    assert!(begun.elapsed() < Duration::from_secs(60));
}

// U15: a full disk has room for what is unsaved, not for all of the session again.
#[test]
fn u15_the_unsaved_tail_is_appended() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let inode = fs::metadata(&path).unwrap().ino();
    let blobs = super::block_blobs(dir.path());
    manager.append_message(&super::image()).unwrap_err();
    manager.append_message(USER).unwrap_err();
    fs::remove_file(blobs).unwrap();
    manager.ensure_on_disk().unwrap();
    assert_eq!(lines(&path).len(), 5);
    // Appended to, not written anew.
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    is_sound(&manager, &path);
}

// B14: NUL bytes that a crash left at the end do not take as much memory as there are: see `tests/faults.rs` for
// reading. Here: they go with a rewrite, and a line behind them is taken in.
#[test]
fn b14_nul_bytes_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let before = lines(&path);
    let len = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(len + (3 << 20)).unwrap();
    let theirs = r#"{"type":"custom","id":"00000001","parentId":null}"#;
    writeln!(File::options().append(true).open(&path).unwrap(), "\n{theirs}").unwrap();
    let id = manager.append_message(USER).unwrap();
    assert_eq!(ids(&manager)[2..], ["00000001".to_owned(), id]);
    let last = lines(&path).pop().unwrap();
    let len = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(len + (3 << 20)).unwrap();
    manager.rewrite_entries(&[]).unwrap();
    assert_eq!(lines(&path), [&before[..], &[theirs.to_owned(), last]].concat());
    is_sound(&manager, &path);
}

// A fragment of which nothing but its place and length is known, and an entry that is one byte longer: where an editor
// swaps the two lines, and the file is then removed, no beginning of the entry is written for the fragment.
#[test]
fn u09_an_entry_where_a_fragment_stood() {
    let dir = tempfile::tempdir().unwrap();
    let (m, path) = started(dir.path());
    drop(m);
    let header = fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned();
    let entry = r#"{"type":"custom","customType":"c","id":"e","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z"}"#;
    let torn = r#"{"type":"custom","customType":"c","id":"t","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z""#;
    assert_eq!(torn.len() + 1, entry.len());
    fs::write(&path, format!("{header}\n{torn}")).unwrap();
    let mut m = options(dir.path()).open(&path).unwrap();
    fs::write(&path, format!("{header}\n{entry}\n{torn}")).unwrap();
    fs::remove_file(&path).unwrap();
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(lines(&path), [&*header, entry, torn]);
}
