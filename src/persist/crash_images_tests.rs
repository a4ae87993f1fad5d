//! Files as a crash leaves them: every length of the last write (R46), leftovers, and the order of
//! the operations that a power cut can come between.

use super::places::{Files, Place, Stored};
use super::{ASSISTANT, USER, entries, image};
use crate::manager::{Durability, ManagerOptions, SessionManager, TitleSource};
use crate::storage::disk::Op;
use crate::storage::disk::faults::{self, Fault};
use crate::storage::lock::SessionLock;
use crate::view::SessionView;
use crate::{ErrorCode, Json, Result};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

fn ids(view: &SessionView) -> Vec<String> {
    entries(view).into_iter().map(|(id, _)| id).collect()
}

fn id_of(line: &str) -> String {
    Json::new(line.as_bytes()).get_str("id").unwrap().into_owned()
}

/// A started session of two entries.
fn started(options: ManagerOptions, place: &Files) -> (SessionManager, PathBuf) {
    let mut manager = options.create(place.dir()).unwrap();
    manager.append_message(USER).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    (manager, path)
}

/// Appends messages while somebody holds the lock: they stay unsaved (R53a).
fn append_locked(manager: &mut SessionManager, messages: &[&str]) {
    let held = SessionLock::new(manager.session_file().unwrap(), Duration::ZERO).acquire(true).unwrap();
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(manager.append_message(message).unwrap_err().code(), ErrorCode::Locked);
        let status = manager.persist_status();
        assert_eq!((status.unsaved, status.error.is_none()), (at + 1, true));
    }
    drop(held);
}

/// Opens every length of the last write and goes on, with two managers in turn.
fn every_length(unsaved_before: usize) {
    let place = Files::new();
    let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
    let before = fs::read_to_string(&path).unwrap().len();
    append_locked(&mut manager, &vec![USER; unsaved_before]);
    manager.append_message(ASSISTANT).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    assert_eq!(whole.lines().count(), 4 + unsaved_before);
    let cut_path = place.sessions().join("cut.jsonl");
    for cut in before..=whole.len() {
        fs::write(&cut_path, &whole[..cut]).unwrap();
        let mut a = place.options().open(&cut_path).unwrap();
        let mut b = place.options().open(&cut_path).unwrap();
        let new = [
            a.append_message(USER).unwrap(),
            a.append_message(USER).unwrap(),
            b.append_message(ASSISTANT).unwrap(),
            a.append_message(USER).unwrap(),
            b.append_message(USER).unwrap(),
        ];
        let text = fs::read_to_string(&cut_path).unwrap();
        // What was there is there still, byte for byte, and the torn piece is a line.
        assert_eq!(text[..cut], whole[..cut]);
        let lines: Vec<&str> = text.lines().collect();
        let old: Vec<&str> = whole[..cut].lines().collect();
        assert_eq!(lines.len(), old.len() + new.len(), "cut at {cut}: {text}");
        assert_eq!(lines[..old.len()], old);
        assert_eq!(lines[old.len()..].iter().map(|line| id_of(line)).collect::<Vec<_>>(), new);
        let is_torn = old.last().is_some_and(|line| !whole.lines().any(|known| known == *line));
        let view = SessionView::open(&cut_path).unwrap();
        let report = view.report().unwrap();
        assert_eq!(report.skipped_lines.len(), usize::from(is_torn), "cut at {cut}");
        // The last to append knows as much as who reads the file now.
        let numbers = |view: &SessionView| view.entries().map(|entry| entry.line()).collect::<Vec<_>>();
        assert_eq!((numbers(&b), b.report().unwrap()), (numbers(&view), report.clone()), "cut at {cut}");
        assert_eq!((report.trailing_text, report.duplicate_ids), (vec![], vec![]));
        // Both know the same, and a rewrite keeps it, the torn piece too (R47).
        b.set_session_name("name", TitleSource::User).unwrap();
        let last = a.append_message(USER).unwrap();
        let renamed = fs::read_to_string(&cut_path).unwrap();
        let rest: Vec<&str> = renamed.lines().skip(1).collect();
        assert_eq!(rest[..rest.len() - 1], lines[1..], "cut at {cut}");
        assert_eq!(id_of(rest[rest.len() - 1]), last);
        assert_eq!(ids(&a), ids(&SessionView::open(&cut_path).unwrap()), "cut at {cut}");
        assert_eq!(ids(&b), ids(&a)[..ids(&a).len() - 1], "cut at {cut}");
    }
}

// R46.
#[test]
fn every_length_of_one_line() {
    every_length(0);
}

#[test]
fn every_length_of_three_lines() {
    every_length(2);
}

/// The same, where the process lives on: the write stops, and cannot be cut back either.
#[test]
fn every_stop_of_three_lines() {
    let lines = {
        let place = Files::new();
        let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
        let before = fs::metadata(&path).unwrap().len();
        append_locked(&mut manager, &[USER; 2]);
        manager.append_message(ASSISTANT).unwrap();
        (fs::metadata(&path).unwrap().len() - before) as usize
    };
    for stop in 0..lines {
        let place = Files::new();
        let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
        let before = fs::read(&path).unwrap();
        append_locked(&mut manager, &[USER; 2]);
        // The third operation is the write: lock, look, write.
        faults::plan(Some((2, Fault::StopsAfter(stop))), true);
        manager.append_message(ASSISTANT).unwrap_err();
        let steps = [Op::Lock, Op::Stat, Op::Write, Op::Truncate];
        assert_eq!(faults::end(), steps[..if stop == 0 { 3 } else { 4 }]);
        assert_eq!(fs::read(&path).unwrap().len(), before.len() + stop);
        // Another process goes on behind the torn line.
        let other = if stop % 2 == 0 { Some(place.options().open(&path).unwrap()) } else { None };
        let other = other.map(|mut other| other.append_message(USER).unwrap());
        assert_eq!(manager.append_message(USER).unwrap_err().code(), ErrorCode::Io);
        manager.ensure_on_disk().unwrap();
        manager.append_message(USER).unwrap();
        let view = SessionView::open(&path).unwrap();
        let (mut mine, mut there) = (ids(&manager), ids(&view));
        assert_eq!(there.len(), 7 + usize::from(other.is_some()), "stopped after {stop}");
        let report = view.report().unwrap();
        assert_eq!((report.trailing_text, report.duplicate_ids), (vec![], vec![]), "stopped after {stop}");
        assert!(report.skipped_lines.len() <= 1);
        // Of each process its own order.
        let other = other.unwrap_or_default();
        mine.retain(|id| *id != other);
        there.retain(|id| *id != other);
        assert_eq!(mine, there, "stopped after {stop}");
    }
}

// R54.
#[test]
fn a_failed_append_is_cut_back() {
    let place = Files::new();
    let (mut manager, path) = started(place.options(), &place);
    let before = fs::read(&path).unwrap();
    faults::plan(Some((2, Fault::StopsAfter(10))), false);
    let error = manager.append_message(USER).unwrap_err();
    assert_eq!(faults::end(), [Op::Lock, Op::Stat, Op::Write, Op::Truncate]);
    assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*path)));
    assert_eq!(fs::read(&path).unwrap(), before);
}

// R31, R54, R51: what a power cut can come between.
#[test]
fn the_order_of_operations() {
    let steps = |act: &mut dyn FnMut()| {
        faults::plan(None, false);
        act();
        let mut steps = faults::end();
        steps.retain(|op| !matches!(op, Op::CreateDir | Op::Create | Op::Open | Op::Reserve | Op::Hidden));
        steps
    };
    const NEW_FILE: [Op; 4] = [Op::Write, Op::Sync, Op::Rename, Op::SyncDir];
    let place = Files::new();
    let mut manager = place.options().lock_timeout(Duration::ZERO).create(place.dir()).unwrap();
    assert_eq!(steps(&mut || drop(manager.append_message(USER))), []);
    let of_writing =
        |steps: Vec<Op>| steps.into_iter().filter(|op| !matches!(op, Op::Lock | Op::Stat | Op::ReadDir)).collect();
    let writing = |act: &mut dyn FnMut()| -> Vec<Op> { of_writing(steps(act)) };
    // The first write, and every rewrite.
    assert_eq!(writing(&mut || drop(manager.append_message(ASSISTANT))), NEW_FILE);
    assert_eq!(writing(&mut || drop(manager.set_session_name("name", TitleSource::User))), NEW_FILE);
    assert_eq!(writing(&mut || drop(manager.rewrite_entries(&[]))), NEW_FILE);
    // An append is a look under the lock and one write.
    assert_eq!(steps(&mut || drop(manager.append_message(USER))), [Op::Lock, Op::Stat, Op::Write]);
    // A flush makes sure that the file is still the one at the path.
    assert_eq!(steps(&mut || drop(manager.flush())), [Op::Stat, Op::Sync]);
    assert_eq!(steps(&mut || drop(manager.flush())), [Op::Stat]);
    // The blob is whole and has its name before the line that names it is written; its folder is new.
    assert_eq!(
        writing(&mut || drop(manager.append_message(&image()))),
        [Op::SyncDir, Op::Write, Op::Rename, Op::Write]
    );
    assert_eq!(steps(&mut || drop(manager.flush())), [Op::Stat, Op::Sync, Op::SyncDir, Op::Sync]);
    // In a rewrite the blob is synced before the file takes its place.
    let picture = image().replace("AAAA", "BBBB");
    append_locked(&mut manager, &[&picture]);
    assert_eq!(
        writing(&mut || drop(manager.rewrite_entries(&[]))),
        [Op::Write, Op::Rename, Op::Write, Op::Sync, Op::SyncDir, Op::Sync, Op::Rename, Op::SyncDir]
    );
    // A fork is a new file; a move is one too, and the old one goes last.
    assert_eq!(writing(&mut || drop(manager.fork())), NEW_FILE);
    let moved = writing(&mut || drop(manager.move_to(place.dir().join("b"))));
    // The folder of the project is new.
    assert_eq!(moved, [&[Op::SyncDir], &NEW_FILE[..], &[Op::Unlink]].concat());
}

#[test]
fn every_append_is_synced_when_asked() {
    let place = Files::new();
    let (mut manager, _) = started(place.options().durability(Durability::EveryAppend), &place);
    faults::plan(None, false);
    manager.append_message(USER).unwrap();
    assert_eq!(faults::end(), [Op::Lock, Op::Stat, Op::Write, Op::Sync]);
}

// R33-R36 are for the line only, whoever rewrote the file since.
#[test]
fn what_the_line_has_in_part_is_whole_in_memory() {
    let place = Files::new();
    let (mut manager, path) = started(place.options(), &place);
    let message = r#"{"role":"assistant","content":[{"type":"toolCall","partialJson":"{\"a\":"}]}"#;
    let id = manager.append_message(message).unwrap();
    manager.append_message(&image()).unwrap();
    let is_whole = |manager: &SessionManager| {
        let text = manager.entry(&id).unwrap().text().unwrap();
        assert_eq!(Json::new(text.json().bytes()).get("message").unwrap().to_string(), message);
        let image_text = entries(manager)[3].1.clone();
        assert!(image_text.ends_with(&format!("{}}}", image())), "{image_text:.300}");
    };
    is_whole(&manager);
    let mut other = place.options().open(&path).unwrap();
    other.set_session_name("name", TitleSource::User).unwrap();
    manager.append_message(USER).unwrap();
    is_whole(&manager);
    other.append_message(USER).unwrap();
    manager.rewrite_entries(&[]).unwrap();
    is_whole(&manager);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("partialJson") && !text.contains("AAAA"));
    // The context has the image too.
    let context = manager.context(crate::view::Leaf::Last).unwrap();
    assert_eq!(context.messages().nth(3).unwrap().to_string(), image());
}

// R53c: what others wrote comes before the entry that is appended, so the last label of the file
// is the one in force for everybody; the own leaf stays.
#[test]
fn others_entries_come_first() {
    let place = Files::new();
    let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
    let mut other = place.options().open(&path).unwrap();
    let root = ids(&manager)[0].clone();
    other.append_label_change(&root, Some("theirs")).unwrap();
    manager.append_label_change(&root, Some("mine")).unwrap();
    assert_eq!(manager.label(&root).as_deref(), Some("mine"));
    other.append_label_change(&root, Some("theirs again")).unwrap();
    // So too when the own entry had to wait.
    append_locked(&mut manager, &[USER]);
    other.append_label_change(&root, None).unwrap();
    let mine = manager.append_label_change(&root, Some("mine again")).unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(
        (view.label(&root).as_deref(), manager.label(&root).as_deref()),
        (Some("mine again"), Some("mine again"))
    );
    assert_eq!(ids(&manager), ids(&view));
    assert_eq!(manager.leaf().unwrap().id().unwrap(), mine);
    // The own branch has only own entries.
    let branch = SessionView::branch(&manager, &mine).unwrap();
    assert_eq!(branch.len(), 5);
}

// R53a: what found the lock taken is written before another session takes the manager.
#[test]
fn unsaved_entries_are_written_before_the_session_is_left() {
    type Leave = fn(&mut SessionManager, PathBuf) -> Result<()>;
    let ways: [Leave; 4] = [
        |manager, path| manager.set_session_file(path),
        |manager, _| manager.new_session(None).map(drop),
        |manager, _| manager.fork().map(drop),
        |manager, _| manager.close(),
    ];
    for leave in ways {
        let place = Files::new();
        let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
        append_locked(&mut manager, &[USER]);
        leave(&mut manager, place.sessions().join("other.jsonl")).unwrap();
        assert_eq!(SessionView::open(&path).unwrap().entries().len(), 3);
    }
}

// R37: a storage's new file is complete before it takes the other's place.
#[test]
fn the_order_of_operations_in_a_storage() {
    let place = Stored::new();
    let mut manager = place.options().create(place.dir()).unwrap();
    let complete = ["fsync", "close of a new file", "rename"];
    place.plan(None, false);
    manager.append_message(ASSISTANT).unwrap();
    let steps = place.end();
    assert_eq!(steps[..3], ["open_writer", "write_line", "write_line"]);
    assert_eq!(steps[4..], complete);
    place.plan(None, false);
    manager.append_message(USER).unwrap();
    manager.append_message(USER).unwrap();
    manager.flush().unwrap();
    assert_eq!(place.end(), ["open_writer", "write_line", "write_line", "flush", "fsync"]);
    place.plan(None, false);
    manager.fork().unwrap();
    assert!(place.end().windows(3).any(|steps| steps == complete));
}

// R32, R53a: a rename that found the lock taken is written by the retry.
#[test]
fn a_locked_rename_is_not_lost() {
    let place = Files::new();
    let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
    let mut lock = SessionLock::new(&path, Duration::ZERO);
    let held = lock.acquire(true).unwrap();
    assert_eq!(manager.set_session_name("name", TitleSource::User).unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(manager.ensure_on_disk().unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    assert_eq!(SessionView::open(&path).unwrap().title(), None);
    manager.ensure_on_disk().unwrap();
    assert_eq!(SessionView::open(&path).unwrap().title(), Some("name"));
}

// R53d: a change that found the lock taken is made in the file that came meanwhile.
#[test]
fn a_locked_change_is_not_lost() {
    let place = Files::new();
    let (mut manager, path) = started(place.options().lock_timeout(Duration::ZERO), &place);
    let mut other = place.options().open(&path).unwrap();
    let (id, text) = entries(&manager).pop().unwrap();
    let changed = text.replace("Hi", "Changed");
    let mut lock = SessionLock::new(&path, Duration::ZERO);
    let held = lock.acquire(true).unwrap();
    assert_eq!(manager.rewrite_entries(&[(&id, &changed)]).unwrap_err().code(), ErrorCode::Locked);
    drop(held);
    other.set_session_name("name", TitleSource::User).unwrap();
    manager.ensure_on_disk().unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(entries(&view)[1], (id, changed));
    assert_eq!(view.title(), Some("name"));
}

/// A process that died in a rewrite left its temporary file, of any length.
#[test]
fn leftovers_are_removed_when_the_session_is_opened() {
    let place = Files::new();
    let (manager, path) = started(place.options(), &place);
    let whole = fs::read(&path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let leftover = path.with_file_name(format!(".{name}.tmp"));
    drop(manager);
    for len in [0, 1, whole.len() / 2, whole.len()] {
        fs::write(&leftover, &whole[..len]).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(place.visible(), std::slice::from_ref(&path));
        let mut manager = place.options().open(&path).unwrap();
        assert!(!leftover.exists());
        // R16: the session itself is not touched.
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        // One that appears later is in nobody's way.
        fs::write(&leftover, "{").unwrap();
        manager.rewrite_entries(&[]).unwrap();
        assert!(!leftover.exists());
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

// Opening needs no lock: what another process is writing just now is no leftover.
#[test]
fn a_rewrite_of_another_is_not_waited_for() {
    let place = Files::new();
    let (manager, path) = started(place.options(), &place);
    let leftover = path.with_file_name(format!(".{}.tmp", path.file_name().unwrap().to_string_lossy()));
    fs::write(&leftover, "{").unwrap();
    let mut lock = SessionLock::new(&path, Duration::ZERO);
    let held = lock.acquire(true).unwrap();
    // Its writer has it locked (A4).
    let written = fs::File::open(&leftover).unwrap();
    written.try_lock().unwrap();
    let again = place.options().lock_timeout(Duration::ZERO).open(&path).unwrap();
    assert_eq!(ids(&again), ids(&manager));
    assert!(leftover.exists());
    drop((held, written));
    place.options().open(&path).unwrap();
    assert!(!leftover.exists());
}
