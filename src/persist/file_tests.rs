//! A session file that a program writes to which knows no lock (R53h); a failed sync (R32).

use super::{Blobs, SessionFile};
use crate::blob::{BlobHash, BlobStore};
use crate::error::ErrorCode;
use crate::manager::{ManagerOptions, SessionManager, TitleSource};
use crate::persist::Pending;
use crate::storage::disk::Op;
use crate::storage::disk::faults::{self, Fault};
use crate::storage::lock::SessionLock;
use crate::view::SessionView;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}"#;

fn entry(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"custom","id":"{id}","parentId":{parent}}}"#)
}

// Between the look at the file and the write another program appends a line: ours is found where it
// is, the other's is taken in with the next write, and a rewrite loses neither.
#[test]
fn a_line_between_look_and_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let first = entry("00000001", "null");
    std::fs::write(&path, format!("{HEADER}\n{first}\n")).unwrap();
    let mut file = SessionFile::new(&path, BlobStore::new(dir.path().join("blobs")), Duration::ZERO, false);
    let mut view = file.open(true, 0).unwrap().unwrap();
    let mut pending = Pending::default();

    let begun = file.begin_append(&mut view, &mut pending, 0).unwrap();
    let theirs = entry("00000002", r#""00000001""#);
    writeln!(std::fs::OpenOptions::new().append(true).open(&path).unwrap(), "{theirs}").unwrap();
    let ours = entry("00000003", r#""00000001""#);
    let index = view.push(ours.clone().into_bytes()).unwrap();
    pending.unsaved.push(index);
    file.append(Some(begun), &mut view, &mut pending, 0).unwrap();
    assert_eq!(&*view.stored_text(index).unwrap(), ours.as_bytes());

    let last = entry("00000004", r#""00000003""#);
    let begun = file.begin_append(&mut view, &mut pending, 0).unwrap();
    pending.unsaved.push(view.push(last.clone().into_bytes()).unwrap());
    file.append(Some(begun), &mut view, &mut pending, 0).unwrap();
    let texts = |view: &SessionView| -> Vec<String> {
        view.entries().map(|entry| entry.text().unwrap().json().text().into_owned()).collect()
    };
    let all = [first, theirs, ours, last];
    assert_eq!(texts(&view), all);
    file.rewrite(&mut view, &mut pending, 0).unwrap();
    assert_eq!(texts(&view), all);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n{}\n", all.join("\n")));
}

// R53d: an entry that was lost with its file, and waits to be written again, is the one that another process wrote again
// meanwhile in another form. It is there once: with this process's text when that was changed here.
#[test]
fn u09_an_entry_that_two_processes_write_again() {
    let of = |id: &str, data: &str| format!(r#"{{"type":"custom","id":"{id}","parentId":null,"data":"{data}"}}"#);
    for is_changed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let save = |lines: &[&str]| {
            let new = dir.path().join("new");
            std::fs::write(&new, lines.join("\n") + "\n").unwrap();
            std::fs::rename(new, &path).unwrap();
        };
        let (first, ours, theirs) = (of("00000001", "first"), of("00000002", "ours"), of("00000002", "theirs"));
        save(&[HEADER, &first]);
        let mut file = SessionFile::new(&path, BlobStore::new(dir.path().join("blobs")), Duration::ZERO, false);
        let mut view = file.open(true, 0).unwrap().unwrap();
        let mut pending = Pending::default();
        let index = view.push(ours.clone().into_bytes()).unwrap();
        view.mark_own(index);
        pending.unsaved.push(index);
        file.append(None, &mut view, &mut pending, 0).unwrap();
        if is_changed {
            pending.changed.insert(index);
        }
        save(&[HEADER, &first]);
        drop(file.begin_append(&mut view, &mut pending, 0).unwrap());
        assert_eq!(pending.unsaved.len(), 1);
        save(&[HEADER, &first, &theirs]);
        file.rewrite(&mut view, &mut pending, 0).unwrap();
        let second = if is_changed { &ours } else { &theirs };
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n{first}\n{second}\n"));
    }
}

// B2: another file took the place of the session's, and reading it fails at each of its reads. The manager has the
// old session then, does not take it for the new file, and loses neither's lines with what comes next.
#[test]
fn b02_a_replaced_file_that_cannot_be_read() {
    let theirs = entry("00000002", "null");
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, format!("{HEADER}\n")).unwrap();
        let mut manager = ManagerOptions::new().agent_dir(dir.path()).open(&path).unwrap();
        let first = manager.append_message(ASSISTANT).unwrap();
        // Of more than one kind: one that is put into the blob store, one that is whole in memory only.
        manager.append_message(&image()).unwrap();
        manager.append_message(PARTIAL).unwrap();
        let kept = std::fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = kept.lines().collect();
        std::fs::write(dir.path().join("new"), format!("{HEADER}\n{theirs}\n{}\n{}\n", kept[2], kept[3])).unwrap();
        std::fs::rename(dir.path().join("new"), &path).unwrap();
        faults::plan_read(at);
        let appended = manager.append_message(ASSISTANT);
        faults::end();
        if appended.is_ok() {
            assert!(at > 3, "{at}");
            break;
        }
        assert_eq!(appended.unwrap_err().code(), ErrorCode::Io);
        assert_eq!(manager.entries().len(), 4);
        manager.ensure_on_disk().unwrap();
        let lines = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[1..5], [&*theirs, kept[2], kept[3], kept[1]]);
        assert_eq!(lines.len(), 6);
        assert!(lines[4].contains(&first));
        let view = SessionView::open(&path).unwrap();
        assert_eq!(loaded(&view).len(), 5);
        assert_eq!(manager.entries().len(), 5);
    }
}

const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

/// A session whose last flush failed to sync: what it wrote may be gone with the next power cut,
/// and another sync would not say so.
fn not_synced(dir: &Path) -> SessionManager {
    let options = ManagerOptions::new().agent_dir(dir).lock_timeout(Duration::ZERO);
    let mut manager = options.create("/home/ada/shop").unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    // The look at the file, then the sync.
    faults::plan(Some((1, Fault::Fails)), false);
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Io);
    assert_eq!(faults::end(), [Op::Stat, Op::Sync]);
    manager
}

/// The failure is in force, and a retry that succeeds ends it.
fn is_in_force(manager: &mut SessionManager) {
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Io);
    manager.ensure_on_disk().unwrap();
    manager.flush().unwrap();
}

// R32: a retry that found the session locked was none.
#[test]
fn r32_a_retry_that_cannot_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = not_synced(dir.path());
    let mut other = SessionLock::new(manager.session_file().unwrap(), Duration::ZERO);
    let held = other.acquire(true).unwrap();
    assert_eq!(manager.ensure_on_disk().unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    is_in_force(&mut manager);
}

// R32: who could not go to another session has the old one, with its failure.
#[test]
fn r32_a_session_that_could_not_be_left() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = not_synced(dir.path());
    faults::plan(Some((0, Fault::Fails)), true);
    manager.set_session_file(dir.path().join("new.jsonl")).unwrap_err();
    faults::end();
    is_in_force(&mut manager);

    // A move that fails at each of its operations.
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let mut manager = not_synced(dir.path());
        faults::plan(Some((at, Fault::Fails)), true);
        let moved = manager.move_to("/other");
        faults::end();
        if moved.is_ok() {
            assert!(at > 5);
            break;
        }
        is_in_force(&mut manager);
    }
}

/// Overwrites what stands in a file from `from` on, as a system leaves it that gave up pages it could
/// not write: the length stays.
fn drop_pages(path: &Path, from: u64) {
    let len = std::fs::metadata(path).unwrap().len();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![0; (len - from) as usize], from).unwrap();
}

/// Base64 of 1,200 zero bytes, which goes into the blob store.
fn image() -> String {
    let data = "AAAA".repeat(400);
    format!(r#"{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#)
}

const PARTIAL: &str = r#"{"role":"assistant","content":[{"type":"toolCall","partialJson":"{"}]}"#;

fn loaded(view: &SessionView) -> Vec<String> {
    view.entries().map(|entry| entry.loaded_text().unwrap().json().text().into_owned()).collect()
}

// R32: after a sync that failed, what no sync has covered comes from memory: the file may not have it
// any more, and neither may the blob store.
#[cfg(unix)]
#[test]
fn r32_what_was_not_synced_is_written_from_memory() {
    type Again = fn(&mut SessionManager);
    let ways: [Again; 4] = [
        |manager| manager.ensure_on_disk().unwrap(),
        |manager| drop(manager.fork().unwrap()),
        |manager| manager.move_to("/home/ada/store").unwrap(),
        |manager| {
            let leaf = manager.leaf().unwrap().id().unwrap().into_owned();
            manager.create_branched_session(&leaf).unwrap();
        },
    ];
    for again in ways {
        let dir = tempfile::tempdir().unwrap();
        let mut manager = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada/shop").unwrap();
        manager.append_message(ASSISTANT).unwrap();
        manager.flush().unwrap();
        let path = manager.session_file().unwrap().to_owned();
        let synced = std::fs::metadata(&path).unwrap().len();
        for message in [ASSISTANT, &image(), PARTIAL, ASSISTANT] {
            manager.append_message(message).unwrap();
        }
        let lines = std::fs::read_to_string(&path).unwrap();
        let all = loaded(&manager);
        faults::plan_every(Op::Sync, Fault::Errno(5));
        manager.flush().unwrap_err();
        faults::end();
        drop_pages(&path, synced);
        for blob in std::fs::read_dir(dir.path().join("blobs")).unwrap() {
            drop_pages(&blob.unwrap().path(), 0);
        }
        again(&mut manager);
        assert_eq!(loaded(&manager), all);
        manager.flush().unwrap();
        let now = std::fs::read_to_string(manager.session_file().unwrap()).unwrap();
        assert!(now.lines().skip(1).eq(lines.lines().skip(1)), "{now}");
        let report = manager.load_report().unwrap();
        assert!(report.is_empty(), "{report}");
    }
}

// R30, R32: going back to a state puts the failure out of force, but the next flush does not say that
// lines are safe which no sync has covered: it writes them anew, from memory.
#[cfg(unix)]
#[test]
fn r32_a_state_from_before_or_after_a_failed_sync() {
    for captured_after in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut manager = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada/shop").unwrap();
        manager.append_message(ASSISTANT).unwrap();
        manager.flush().unwrap();
        let path = manager.session_file().unwrap().to_owned();
        let synced = std::fs::metadata(&path).unwrap().len();
        manager.append_message(ASSISTANT).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        let early = manager.capture_state();
        faults::plan_every(Op::Sync, Fault::Errno(5));
        manager.flush().unwrap_err();
        faults::end();
        let state = if captured_after { manager.capture_state() } else { early };
        manager.restore_state(state);
        drop_pages(&path, synced);
        manager.flush().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before, "{captured_after}");
        // Once is enough: the file is only looked at.
        faults::plan(None, false);
        manager.flush().unwrap();
        assert_eq!(faults::end(), [Op::Stat]);
    }
}

// The same for a session that was read anew since: another process wrote the file.
#[cfg(unix)]
#[test]
fn r32_what_was_not_synced_before_the_file_was_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let options = ManagerOptions::new().agent_dir(dir.path());
    let mut manager = options.clone().create("/home/ada/shop").unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    manager.append_message(&image()).unwrap();
    let mut other = options.open(&path).unwrap();
    other.set_session_name("Shop", TitleSource::User).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let all = loaded(&manager);
    faults::plan_every(Op::Sync, Fault::Errno(5));
    manager.flush().unwrap_err();
    faults::end();
    // Header and first entry were synced when the file was made.
    let synced: usize = std::fs::read_to_string(&path).unwrap().split_inclusive('\n').take(2).map(str::len).sum();
    drop_pages(&path, synced as u64);
    manager.ensure_on_disk().unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!((loaded(&view), view.title()), (all, Some("Shop")));
}

// A rewrite takes the place of a file nobody synced: what that was to hold comes from memory too. Behind
// a torn line the newline is not left to the file either.
#[cfg(unix)]
#[test]
fn r31_a_rewrite_of_a_file_that_was_not_synced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let torn = format!("{HEADER}\n{{\"type\":\"mess");
    std::fs::write(&path, &torn).unwrap();
    let mut manager = ManagerOptions::new().agent_dir(dir.path()).open(&path).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let before = std::fs::read_to_string(&path).unwrap();
    drop_pages(&path, torn.len() as u64);
    manager.rewrite_entries(&[]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

// R51: a blob whose sync failed is written anew, for another sync would not say so.
#[test]
fn r51_a_blob_whose_sync_failed() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::new(dir.path().join("blobs"));
    faults::plan_every(Op::Sync, Fault::Errno(5));
    assert_eq!(store.put(b"picture").unwrap_err().code(), ErrorCode::Io);
    faults::plan(None, false);
    store.put(b"picture").unwrap();
    assert!(faults::end().ends_with(&[Op::Create, Op::Write, Op::Sync, Op::Rename, Op::SyncDir]));
    // One that is there is synced, and written anew when that fails.
    faults::plan(Some((0, Fault::Errno(5))), false);
    store.put(b"picture").unwrap();
    assert!(faults::end().ends_with(&[Op::Create, Op::Write, Op::Sync, Op::Rename, Op::SyncDir]));

    let mut blobs = Blobs::new(store);
    blobs.put(BlobHash::of(b"picture"), b"picture").unwrap();
    faults::plan_every(Op::Sync, Fault::Errno(5));
    blobs.sync().unwrap_err();
    blobs.sync().unwrap_err();
    faults::plan(None, false);
    blobs.sync().unwrap();
    assert!(faults::end().contains(&Op::Write));
    faults::plan(None, false);
    blobs.sync().unwrap();
    assert_eq!(faults::end(), []);
}

// A move that fails and cannot be undone either says why it failed first, and where the artifacts are.
#[test]
fn the_cause_of_a_failed_move_comes_first() {
    let mut told = 0;
    for at in 0.. {
        let dir = tempfile::tempdir().unwrap();
        let mut manager = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada/shop").unwrap();
        manager.append_message(ASSISTANT).unwrap();
        manager.save_artifact(b"log", "bash").unwrap();
        let artifacts = manager.artifacts_dir().unwrap();
        faults::plan(Some((at, Fault::Fails)), true);
        let moved = manager.move_to("/home/ada/store");
        faults::end();
        let Err(error) = moved else { break };
        let text = error.to_string();
        let (cause, besides) = text.split_once("; besides, ").unwrap_or((&text, ""));
        assert!(!cause.contains("put the artifacts back"), "{text}");
        assert_eq!(error.code(), ErrorCode::Io);
        assert_eq!(artifacts.is_dir(), !besides.contains(": cannot put the artifacts back: "), "{text}");
        told += usize::from(!artifacts.is_dir());
    }
    // The new file is written before the artifacts go along (B7): they are at their new place while the
    // directory is synced, the others are told, and the old file is removed.
    assert_eq!(told, 3);
}

// R32: a move within the folder starts without the failure in force, and when it fails all is as before.
#[test]
fn r32_a_move_within_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = not_synced(dir.path());
    let before = std::fs::read_to_string(manager.session_file().unwrap()).unwrap();
    // Both have the folder `--home-ada-shop--`.
    manager.ensure_on_disk().unwrap();
    let moves = |manager: &mut SessionManager| manager.move_to("/home/ada-shop");
    faults::plan(Some((4, Fault::Fails)), true);
    moves(&mut manager).unwrap_err();
    faults::end();
    assert_eq!((manager.cwd(), manager.header().cwd.as_deref()), (Path::new("/home/ada/shop"), Some("/home/ada/shop")));
    assert_eq!(std::fs::read_to_string(manager.session_file().unwrap()).unwrap(), before);
    manager.append_message(ASSISTANT).unwrap();

    let dir = tempfile::tempdir().unwrap();
    let mut manager = not_synced(dir.path());
    moves(&mut manager).unwrap();
    assert_eq!((manager.cwd(), manager.header().cwd.as_deref()), (Path::new("/home/ada-shop"), Some("/home/ada-shop")));
    manager.flush().unwrap();
}

// R53h: on a file system without locks a session works all the same; who writes there at the same time
// is on their own. The numbers are those of Linux's errno.h.
#[cfg(target_os = "linux")]
#[test]
fn r53_a_file_system_without_locks() {
    for (errno, name) in [(37, "ENOLCK"), (38, "ENOSYS"), (95, "EOPNOTSUPP")] {
        let dir = tempfile::tempdir().unwrap();
        let options = ManagerOptions::new().agent_dir(dir.path()).lock_timeout(Duration::ZERO);
        faults::plan_every(Op::Lock, Fault::Errno(errno));
        let mut manager = options.clone().create("/home/ada/shop").unwrap();
        manager.append_message(ASSISTANT).unwrap();
        let path = manager.session_file().unwrap().to_owned();
        let mut other = options.open(&path).unwrap();
        other.append_message(ASSISTANT).unwrap();
        manager.append_message(ASSISTANT).unwrap();
        manager.set_session_name("Shop", TitleSource::User).unwrap();
        manager.close().unwrap();
        assert!(faults::end().contains(&Op::Lock));
        assert_eq!(SessionView::open(&path).unwrap().entries().len(), 3, "{name}");
    }
}

// A signal that comes while the lock is taken is nothing; any other failure is one of writing.
#[cfg(target_os = "linux")]
#[test]
fn a_lock_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    let options = ManagerOptions::new().agent_dir(dir.path()).lock_timeout(Duration::ZERO);
    let mut manager = options.create("/home/ada/shop").unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    faults::plan(Some((0, Fault::Errno(4))), false);
    manager.append_message(ASSISTANT).unwrap();
    assert_eq!(faults::end()[..2], [Op::Lock, Op::Lock]);

    faults::plan_every(Op::Lock, Fault::Errno(5));
    let error = manager.append_message(ASSISTANT).unwrap_err();
    assert_eq!((error.code(), error.os_errno()), (ErrorCode::Io, Some(5)));
    // What is there can be read, what was said is in memory.
    assert_eq!((SessionView::open(&path).unwrap().entries().len(), manager.entries().len()), (2, 3));
    faults::end();
    manager.ensure_on_disk().unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 3);
}

// B8: when another program wrote between the look and the write, what the file is like is not known; whether what was
// acknowledged is in it is not assumed then, but looked for: the file may have been replaced since.
#[test]
fn b08_a_file_that_is_replaced_after_another_wrote_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let before = format!("{HEADER}\n{}\n", entry("00000001", "null"));
    std::fs::write(&path, &before).unwrap();
    let mut file = SessionFile::new(&path, BlobStore::new(dir.path().join("blobs")), Duration::ZERO, false);
    let mut view = file.open(true, 0).unwrap().unwrap();
    let mut pending = Pending::default();
    let begun = file.begin_append(&mut view, &mut pending, 0).unwrap();
    let theirs = entry("00000002", r#""00000001""#);
    writeln!(std::fs::OpenOptions::new().append(true).open(&path).unwrap(), "{theirs}").unwrap();
    pending.unsaved.push(view.push(entry("00000003", r#""00000001""#).into_bytes()).unwrap());
    file.append(Some(begun), &mut view, &mut pending, 0).unwrap();

    let older = dir.path().join("older");
    std::fs::write(&older, &before).unwrap();
    std::fs::rename(&older, &path).unwrap();
    assert!(file.has_lost_writes(&view).unwrap());
}

// A1: what appears at the new place under the locks of both, made by a program that knows no lock, is neither replaced nor
// added to, and the session stays where it is.
#[test]
fn a01_a_file_that_appears_while_a_session_is_moved() {
    let dir = tempfile::tempdir().unwrap();
    let [path, new] = ["s.jsonl", "new.jsonl"].map(|name| dir.path().join(name));
    let before = format!("{HEADER}\n{}\n", entry("00000001", "null"));
    std::fs::write(&path, &before).unwrap();
    let session = |path: &Path| SessionFile::new(path, BlobStore::new(dir.path().join("blobs")), Duration::ZERO, false);
    let (mut from, mut to) = (session(&path), session(&new));
    let mut view = from.open(true, 0).unwrap().unwrap();
    let appears = |_: &mut SessionView, _: &mut Pending| std::fs::write(&new, "theirs").unwrap();
    let along = || panic!("the artifacts stay");
    let moved = from.move_to(&mut to, &mut view, &mut Pending::default(), 0, appears, along);
    assert_eq!(moved.unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!(std::fs::read(&new).unwrap(), b"theirs");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

// A copy that cannot be made leaves no lock file: nobody would ever look at that name again.
#[test]
fn a_copy_that_fails_leaves_no_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    let given = dir.path().join("given");
    let options = || ManagerOptions::new().agent_dir(dir.path().join("agent")).session_dir(&given);
    let mut manager = options().create(dir.path()).unwrap();
    let id = manager.append_message(r#"{"role":"assistant","content":[]}"#).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    let names = || {
        let names = std::fs::read_dir(&given).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".use")).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    assert_eq!(before.len(), 2, "the session and its lock: {before:?}");
    for op in [Op::Write, Op::Rename, Op::SyncDir] {
        manager.flush().unwrap();
        faults::plan_every(op, Fault::Fails);
        let errors = [
            manager.fork().unwrap_err(),
            manager.create_branched_session(&id).unwrap_err(),
            options().fork_from(&path, dir.path()).unwrap_err(),
        ];
        faults::end();
        for error in errors {
            assert_eq!(error.code(), ErrorCode::Io, "{op:?}");
        }
        assert_eq!(names(), before, "{op:?}");
    }
}

// A session that another process moves between the look and the opening for a flush is looked for again: that is no
// failure, which would stay in force.
#[test]
fn a_session_that_is_moved_while_it_is_flushed() {
    let enoent = Fault::Errno(2);
    let dir = tempfile::tempdir().unwrap();
    let mut manager = ManagerOptions::new().agent_dir(dir.path().join("agent")).create(dir.path()).unwrap();
    manager.append_message(r#"{"role":"assistant","content":[]}"#).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    let mut flush = |at: Option<usize>| {
        manager.append_custom_entry("x", None).unwrap();
        // Saved by a program that writes another file: what was appended is to be flushed, and nothing is open.
        let copy = dir.path().join("copy");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::rename(&copy, &path).unwrap();
        faults::plan(at.map(|at| (at, enoent)), false);
        let flushed = manager.flush();
        (flushed, faults::end())
    };
    let (flushed, steps) = flush(None);
    flushed.unwrap();
    let opened = steps.iter().rposition(|&step| step == Op::Open).unwrap();
    assert_eq!(steps[opened + 1..].first(), Some(&Op::Sync), "{steps:?}");
    let (flushed, steps) = flush(Some(opened));
    flushed.unwrap();
    assert_eq!(steps.last(), Some(&Op::Sync), "{steps:?}");
    assert_eq!(manager.persist_status().error.map(|error| error.code()), None);
}
