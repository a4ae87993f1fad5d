//! Sessions that are kept in a storage: one body over files, over memory, and over a storage whose
//! writes are carried out later.

use super::queued::Queued;
use leaflog::{ErrorCode, FileSessionStorage, Leaf, ManagerOptions, MemorySessionStorage, MigrationRewrite};
use leaflog::{Result, SessionManager, SessionStorage, SessionStorageWriter, SessionView, StorageStat, TitleSource};
use leaflog::{ViewOptions, WriterMode};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const USER: &str = r#"{"role":"user","content":"Hello"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":"Hi"}"#;

/// A storage of somebody's own that happens to keep files.
#[derive(Clone, Copy)]
struct Own;

impl SessionStorage for Own {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        FileSessionStorage.ensure_dir(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        FileSessionStorage.exists(path)
    }
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        FileSessionStorage.read(path)
    }
    fn read_prefix(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        FileSessionStorage.read_prefix(path, most)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        FileSessionStorage.write(path, bytes)
    }
    fn stat(&self, path: &Path) -> Result<StorageStat> {
        FileSessionStorage.stat(path)
    }
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        FileSessionStorage.list_files(dir, pattern)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        FileSessionStorage.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> Result<()> {
        FileSessionStorage.unlink(path)
    }
    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        FileSessionStorage.open_writer(path, mode)
    }
}

/// One in memory, with folders that have no end: each names itself, another in it and the one above it.
#[derive(Debug)]
struct Endless(MemorySessionStorage);

impl SessionStorage for Endless {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        self.0.ensure_dir(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.0.read(path)
    }
    fn read_prefix(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        self.0.read_prefix(path, most)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.0.write(path, bytes)
    }
    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.0.stat(path)
    }
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.0.list_files(dir, pattern)
    }
    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let above = dir.parent().filter(|above| above.starts_with("/s"));
        [dir, &dir.join("more"), above.unwrap_or(dir)].map(Path::to_owned).to_vec()
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> Result<()> {
        self.0.unlink(path)
    }
    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        self.0.open_writer(path, mode)
    }
}

// R41: a storage whose folders have no end is looked into 16 deep, and that is said, once.
#[test]
fn folders_without_end() {
    let storage = Endless(MemorySessionStorage::new());
    let header = "{\"type\":\"session\",\"id\":\"00aa\",\"cwd\":\"/home/ada\"}\n";
    let at = |depth: usize| {
        let mut path = PathBuf::from("/s");
        path.extend(vec!["more"; depth]);
        path
    };
    storage.write_text(&at(16).join("last.jsonl"), header).unwrap();
    storage.write_text(&at(17).join("out.jsonl"), header).unwrap();
    let finder = leaflog::SessionFinder::new().roots(["/s"]).storage(storage);
    let listing = finder.list_all();
    let found: Vec<_> = listing.sessions.iter().map(|session| session.path.clone()).collect();
    assert_eq!(found, [at(16).join("last.jsonl")]);
    let [problem] = &*listing.problems else { panic!("{:?}", listing.problems) };
    assert_eq!((problem.code(), problem.path()), (ErrorCode::InvalidArgument, Some(&*at(17))));
    assert_eq!(finder.candidates("00aa", "/home/ada").sessions.len(), 1);
    assert!(finder.resolve("00aa", "/home/ada").unwrap().is_some());
}

/// A storage, and how sessions are made in it.
struct Place<'a> {
    storage: &'a dyn SessionStorage,
    options: &'a dyn Fn() -> ManagerOptions,
    /// The folder of the project `/home/ada/shop`.
    shop: PathBuf,
}

impl Place<'_> {
    fn view(&self, path: &Path) -> SessionView {
        ViewOptions::new().read_bytes(self.storage.read_text(path).unwrap()).unwrap()
    }

    fn lines(&self, path: &Path) -> Vec<String> {
        let text = self.storage.read_text(path).unwrap();
        assert!(text.ends_with('\n'));
        text.lines().map(str::to_owned).collect()
    }

    fn create(&self) -> SessionManager {
        (self.options)().create("/home/ada/shop").unwrap()
    }
}

/// Runs a body over every kind of storage.
fn over_all(body: impl Fn(&Place<'_>)) {
    fn run<S: SessionStorage + Clone + 'static>(storage: S, body: &impl Fn(&Place<'_>)) {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("agent");
        let options = || ManagerOptions::new().agent_dir(&agent).storage(storage.clone());
        body(&Place { storage: &storage, options: &options, shop: agent.join("sessions/--home-ada-shop--") });
    }
    run(FileSessionStorage, &body);
    run(Own, &body);
    run(MemorySessionStorage::new(), &body);
    run(Queued::default(), &body);
}

fn ids(view: &SessionView) -> Vec<String> {
    view.entries().map(|entry| entry.id().unwrap().into_owned()).collect()
}

fn file(manager: &SessionManager) -> PathBuf {
    manager.session_file().unwrap().to_owned()
}

fn leaf(view: &SessionView) -> Option<String> {
    Some(view.leaf()?.id()?.into_owned())
}

// R29, R30: nothing before the start, then everything, then one line for each append.
#[test]
fn appends() {
    over_all(|place| {
        let mut m = place.create();
        let path = file(&m);
        assert_eq!(path.parent(), Some(&*place.shop));
        let mut expected = vec![m.append_message(USER).unwrap()];
        m.flush().unwrap();
        m.close().unwrap();
        assert!(!place.storage.exists(&path));
        expected.push(m.append_message(ASSISTANT).unwrap());
        m.flush().unwrap();
        let first = place.lines(&path);
        assert_eq!(first.len(), 3);
        for _ in 0..3 {
            expected.push(m.append_message(USER).unwrap());
        }
        m.flush().unwrap();
        let lines = place.lines(&path);
        assert_eq!((lines.len(), &lines[..3]), (6, &first[..]));
        assert_eq!(ids(&place.view(&path)), expected);
        // Closing is not final.
        m.close().unwrap();
        expected.push(m.append_message(USER).unwrap());
        m.close().unwrap();
        assert_eq!(ids(&place.view(&path)), expected);
        assert_eq!(m.persist_status().unsaved, 0);
        assert_eq!(m.persist_status().last_saved.as_ref(), expected.last());
    });
}

// R31: a rename and a rewrite change what they say and copy the rest.
#[test]
fn renames_and_rewrites() {
    over_all(|place| {
        let mut m = place.create();
        let ids = [USER, ASSISTANT, USER].map(|message| m.append_message(message).unwrap());
        m.flush().unwrap();
        let path = file(&m);
        let before = place.lines(&path);
        assert!(m.set_session_name("A name", TitleSource::User).unwrap());
        let named = place.lines(&path);
        assert_eq!(named[0], before[0].replace('}', r#","title":"A name","titleSource":"user"}"#));
        assert_eq!(named[1..], before[1..]);
        let changed = named[1].replace("Hello", "[pruned]");
        m.rewrite_entries(&[(&ids[0], &changed)]).unwrap();
        m.append_message(USER).unwrap();
        m.flush().unwrap();
        let lines = place.lines(&path);
        assert_eq!((&lines[0], &lines[1], &lines[2..4]), (&named[0], &changed, &named[2..]));
        assert_eq!(lines.len(), 5);
        // Nothing is left of how it was written.
        assert_eq!(place.storage.list_files(&place.shop, "*"), [path]);
    });
}

// Part C: forks, branches, and a move; the session that is left stays as it was.
#[test]
fn copies_and_moves() {
    over_all(|place| {
        let mut m = place.create();
        let entries = [USER, ASSISTANT, USER, ASSISTANT].map(|message| m.append_message(message).unwrap());
        m.append_label_change(&entries[0], Some("begin")).unwrap();
        m.set_session_name("A name", TitleSource::User).unwrap();
        m.branch(&entries[1]).unwrap();
        let first = file(&m);
        let before = place.lines(&first);

        let fork = m.fork().unwrap().unwrap();
        assert_eq!((&fork.old_session_file, &fork.new_session_file), (&first, &file(&m)));
        assert_eq!(place.lines(&fork.new_session_file)[1..], before[1..]);
        assert_eq!(leaf(&m).as_ref(), Some(&entries[1]));
        m.append_message(USER).unwrap();
        m.flush().unwrap();
        assert_eq!(place.view(&fork.new_session_file).entries().count(), 6);
        assert_eq!(place.lines(&first), before);

        let branch = m.create_branched_session(&entries[1]).unwrap().unwrap();
        m.flush().unwrap();
        let view = place.view(&branch);
        assert_eq!(ids(&view)[..2], entries[..2]);
        assert_eq!((view.entries().count(), view.label(&entries[0]).as_deref()), (3, Some("begin")));
        assert_eq!(view.header().parent_session.as_deref(), fork.new_session_file.to_str());
        assert_eq!(view.title(), Some("A name"));

        let lines = place.lines(&branch);
        m.move_to("/home/ada/other").unwrap();
        let moved = file(&m);
        assert_eq!(moved, place.shop.with_file_name("--home-ada-other--").join(branch.file_name().unwrap()));
        assert!(!place.storage.exists(&branch));
        assert_eq!(place.lines(&moved)[0], lines[0].replace("/home/ada/shop", "/home/ada/other"));
        assert_eq!(place.lines(&moved)[1..], lines[1..]);
        m.append_message(USER).unwrap();
        m.flush().unwrap();
        assert_eq!(place.lines(&moved).len(), lines.len() + 1);
    });
}

// Part C: what never was written moves without a file; what was deleted is written at its new
// place; nothing is replaced.
#[test]
fn moves() {
    over_all(|place| {
        let mut m = place.create();
        m.append_message(USER).unwrap();
        m.move_to("/home/ada/other").unwrap();
        let path = file(&m);
        assert!(!place.storage.exists(&path));
        m.append_message(ASSISTANT).unwrap();
        m.flush().unwrap();
        assert_eq!(place.view(&path).header().cwd.as_deref(), Some("/home/ada/other"));
        // Deleted while it was open.
        place.storage.unlink(&path).unwrap();
        m.move_to("/home/ada/third").unwrap();
        assert_eq!(place.view(&file(&m)).entries().count(), 2);
        // Something is in the way.
        let path = file(&m);
        let text = place.storage.read_text(&path).unwrap();
        let taken = place.shop.join(path.file_name().unwrap());
        place.storage.write_text(&taken, "mine").unwrap();
        assert_eq!(m.move_to("/home/ada/shop").unwrap_err().code(), ErrorCode::AlreadyExists);
        assert_eq!(place.storage.read_text(&taken).unwrap(), "mine");
        assert_eq!(place.storage.read_text(&path).unwrap(), text);
        assert_eq!((file(&m), m.cwd()), (path.clone(), Path::new("/home/ada/third")));
        m.append_message(USER).unwrap();
        m.flush().unwrap();
        assert_eq!(place.view(&path).entries().count(), 3);
    });
}

// R16, R17: what is opened is as it was left; opening and closing change nothing.
#[test]
fn reopened() {
    over_all(|place| {
        let mut m = place.create();
        let mut expected = [USER, ASSISTANT, USER].map(|message| m.append_message(message).unwrap()).to_vec();
        m.set_session_name("A name", TitleSource::User).unwrap();
        m.close().unwrap();
        let path = file(&m);
        drop(m);
        let text = place.storage.read_text(&path).unwrap();
        let mut m = (place.options)().open(&path).unwrap();
        assert_eq!((ids(&m), m.title(), m.cwd()), (expected.clone(), Some("A name"), Path::new("/home/ada/shop")));
        assert_eq!(leaf(&m).as_ref(), expected.last());
        m.close().unwrap();
        assert_eq!(place.storage.read_text(&path).unwrap(), text);
        // R46: what was torn stays a line of its own.
        place.storage.write_text(&path, &format!("{text}{{\"type\":\"mess")).unwrap();
        m.set_session_file(&path).unwrap();
        expected.push(m.append_message(USER).unwrap());
        m.flush().unwrap();
        let lines = place.lines(&path);
        assert_eq!((&*lines[4], lines.len()), ("{\"type\":\"mess", 6));
        assert_eq!(ids(&place.view(&path)), expected);
        assert_eq!(m.context(Leaf::Last).unwrap().messages().len(), 4);
    });
}

// R16: a missing and an empty one become sessions; what is none is set aside.
#[test]
fn no_sessions() {
    over_all(|place| {
        for text in [None, Some("")] {
            let path = place.shop.join("new.jsonl");
            if let Some(text) = text {
                place.storage.write_text(&path, text).unwrap();
            }
            let m = (place.options)().open(&path).unwrap();
            assert_eq!(place.lines(&path), [m.header().json().text()]);
            place.storage.unlink(&path).unwrap();
        }
        let path = place.shop.join("notes.jsonl");
        place.storage.write_text(&path, "my notes\n").unwrap();
        (place.options)().open(&path).unwrap();
        assert_eq!(place.lines(&path).len(), 1);
        let aside: Vec<PathBuf> = place.storage.list_files(&place.shop, "*");
        let aside: Vec<&PathBuf> = aside.iter().filter(|other| **other != path).collect();
        let [aside] = aside[..] else { panic!("{aside:?}") };
        assert!(aside.to_str().unwrap().contains("notes.jsonl.invalid-"));
        assert_eq!(place.storage.read_text(aside).unwrap(), "my notes\n");
    });
}

// R12: migrations.
#[test]
fn older_versions() {
    let old = "{\"type\":\"session\",\"id\":\"1f9d2a6b9c0d1234\",\"timestamp\":\"2026-02-16T10:20:30.000Z\",\"cwd\":\"/home/ada/shop\"}\n\
               {\"type\":\"message\",\"timestamp\":\"2026-02-16T10:20:30.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n";
    over_all(|place| {
        let path = place.shop.join("old.jsonl");
        place.storage.write_text(&path, old).unwrap();
        let deferred = (place.options)().migration_rewrite(MigrationRewrite::Deferred);
        let mut m = deferred.open(&path).unwrap();
        assert_eq!(place.storage.read_text(&path).unwrap(), old);
        let id = m.append_message(USER).unwrap();
        m.flush().unwrap();
        let view = place.view(&path);
        assert_eq!((view.header().version, ids(&view).last()), (3, Some(&id)));
        place.storage.write_text(&path, old).unwrap();
        (place.options)().open(&path).unwrap();
        assert_eq!(place.view(&path).header().version, 3);
    });
}

// Part C: a state of before comes back; what was appended since is kept.
#[test]
fn restored() {
    over_all(|place| {
        for between in ["append", "rename", "leave", "move"] {
            let mut m = place.create();
            let first = m.append_message(ASSISTANT).unwrap();
            let path = file(&m);
            let state = m.capture_state();
            let mut expected = vec![first.clone()];
            expected.push(m.append_message(USER).unwrap());
            match between {
                "rename" => drop(m.set_session_name("A name", TitleSource::User).unwrap()),
                "leave" => drop(m.new_session(None).unwrap()),
                _ => {}
            }
            m.restore_state(state);
            assert_eq!((ids(&m), file(&m), leaf(&m)), (vec![first.clone()], path.clone(), Some(first.clone())));
            if between != "move" {
                expected.push(m.append_message(USER).unwrap());
                m.flush().unwrap();
                assert_eq!(ids(&place.view(&path)), expected, "{between}");
                m.rewrite_entries(&[]).unwrap();
            } else {
                m.move_to("/home/ada/other").unwrap();
                assert!(!place.storage.exists(&path));
            }
            let view = place.view(&file(&m));
            assert_eq!(ids(&view), expected, "{between}");
            assert_eq!(view.title(), (between == "rename").then_some("A name"));
            if between != "move" {
                let parent = view.entry(expected.last().unwrap()).unwrap().parent().unwrap().id().unwrap().into_owned();
                assert_eq!(parent, first, "{between}");
            }
        }
    });
}

// R32: an error that comes late is said by the next append, and everything is written by the retry.
#[test]
fn errors_that_come_late() {
    for lines_before in 0..3 {
        for ask in ["append", "flush", "close", "rename", "rewrite"] {
            let storage = Queued::default();
            let dir = tempfile::tempdir().unwrap();
            let mut m =
                ManagerOptions::new().agent_dir(dir.path()).storage(storage.clone()).create("/home/ada").unwrap();
            let mut expected = vec![m.append_message(ASSISTANT).unwrap()];
            let path = file(&m);
            storage.fail_after(lines_before);
            for _ in 0..4 {
                expected.push(m.append_message(USER).unwrap());
            }
            assert_eq!(storage.waiting(), 4);
            storage.turn();
            let error = match ask {
                "append" => {
                    let error = m.append_message(USER).unwrap_err();
                    expected.push(leaf(&m).unwrap());
                    assert_eq!(error.entry_id(), expected.last().map(String::as_str));
                    error.error().clone()
                }
                "flush" => m.flush().unwrap_err(),
                "close" => m.close().unwrap_err(),
                // A full rewrite writes what the lines in the queue should have.
                "rename" => {
                    m.set_session_name("A name", TitleSource::User).unwrap();
                    m.flush().unwrap();
                    assert_eq!(
                        ids(&ViewOptions::new().read_bytes(storage.read_text(&path).unwrap()).unwrap()),
                        expected
                    );
                    continue;
                }
                _ => {
                    m.rewrite_entries(&[]).unwrap();
                    assert_eq!(
                        ids(&ViewOptions::new().read_bytes(storage.read_text(&path).unwrap()).unwrap()),
                        expected
                    );
                    continue;
                }
            };
            assert_eq!((error.code(), &*error.message()), (ErrorCode::Io, "the other side hung up"), "{ask}");
            assert_eq!(m.persist_status().error.unwrap().message(), error.message());
            // It stays in force: with the next append, and with a flush.
            assert_eq!(m.append_message(USER).unwrap_err().message(), error.message());
            expected.push(leaf(&m).unwrap());
            assert_eq!(m.flush().unwrap_err().message(), error.message());
            m.ensure_on_disk().unwrap();
            expected.push(m.append_message(ASSISTANT).unwrap());
            m.flush().unwrap();
            let view = ViewOptions::new().read_bytes(storage.read_text(&path).unwrap()).unwrap();
            assert_eq!(ids(&view), expected, "{ask}");
            assert!(view.report().unwrap().is_empty());
            assert!(m.persist_status().error.is_none());
        }
    }
}

// R31, R32: when the new file is what fails, the old one stays.
#[test]
fn a_rewrite_that_fails_late() {
    for lines_before in 0..4 {
        let storage = Queued::default();
        let dir = tempfile::tempdir().unwrap();
        let mut m = ManagerOptions::new().agent_dir(dir.path()).storage(storage.clone()).create("/home/ada").unwrap();
        let expected = [USER, ASSISTANT, USER].map(|message| m.append_message(message).unwrap());
        m.flush().unwrap();
        let path = file(&m);
        let before = storage.read_text(&path).unwrap();
        storage.fail_after(lines_before);
        let error = m.set_session_name("A name", TitleSource::User).unwrap_err();
        assert_eq!(error.message(), "the other side hung up");
        assert_eq!(storage.read_text(&path).unwrap(), before);
        assert_eq!(storage.list_files(path.parent().unwrap(), "*"), [path.as_path()]);
        assert_eq!(m.append_message(USER).unwrap_err().message(), error.message());
        m.ensure_on_disk().unwrap();
        let view = ViewOptions::new().read_bytes(storage.read_text(&path).unwrap()).unwrap();
        assert_eq!((view.title(), &ids(&view)[..3]), (Some("A name"), &expected[..]));
        assert_eq!(view.entries().count(), 4);
    }
}

// R30, R32: after a rewrite there is no writer to ask; a rename that failed late is told by the flush.
#[test]
fn a_rename_that_fails_late() {
    let storage = Queued::default();
    let dir = tempfile::tempdir().unwrap();
    let mut m = ManagerOptions::new().agent_dir(dir.path()).storage(storage.clone()).create("/home/ada").unwrap();
    m.append_message(USER).unwrap();
    *storage.rename_fails.lock().unwrap() = true;
    m.append_message(ASSISTANT).unwrap();
    assert_eq!(m.flush().unwrap_err().path(), Some(&*file(&m)));
    m.append_message(USER).unwrap_err();
    assert!(!storage.exists(&file(&m)));
    m.ensure_on_disk().unwrap();
    m.flush().unwrap();
    let view = ViewOptions::new().read_bytes(storage.read_text(&file(&m)).unwrap()).unwrap();
    assert_eq!((ids(&view), view.entries().count()), (ids(&m), 3));
}

// R53: the storage that is files is kept as files are: with a lock, and others' lines taken in.
#[test]
fn file_storage_is_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let options = || ManagerOptions::new().agent_dir(dir.path()).storage(FileSessionStorage);
    let mut a = options().create("/home/ada").unwrap();
    let mut expected = vec![a.append_message(ASSISTANT).unwrap()];
    let path = file(&a);
    let mut b = options().open(&path).unwrap();
    expected.push(b.append_message(USER).unwrap());
    a.set_session_name("A name", TitleSource::User).unwrap();
    expected.push(b.append_message(USER).unwrap());
    expected.push(a.append_message(USER).unwrap());
    assert_eq!(ids(&SessionView::open(&path).unwrap()), expected);
    assert_eq!(b.title(), Some("A name"));
    // One append is in the file when it returns (R54).
    let before = std::fs::metadata(&path).unwrap().len();
    a.append_message(USER).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > before);
}

// B25: what is damaged in a session stays what it is, in files and in any storage, over appends, rewrites
// and copies: U+FFFD is written nowhere.
#[test]
fn b25_damaged_bytes_in_a_storage() {
    let damaged: &[u8] = b"{\"type\":\"message\",\"id\":\"0000000a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"\xff\xed\xa0\xbd\"}}";
    let header =
        br#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/home/ada/shop"}"#;
    let torn = b"\n{\"type\":\"mess\xc3";
    let text = [&header[..], b"\n", damaged, torn].concat();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let has = |bytes: &[u8], line: &[u8]| bytes.split(|&byte| byte == b'\n').any(|found| found == line);
    let body = |storage: &dyn SessionStorage, options: ManagerOptions| {
        storage.write(&path, &text).unwrap();
        let mut m = options.agent_dir(dir.path().join("agent")).open(&path).unwrap();
        assert_eq!(m.entry("0000000a").unwrap().text().unwrap().json().bytes(), damaged);
        m.append_message(ASSISTANT).unwrap();
        m.flush().unwrap();
        assert!(storage.read(&path).unwrap().starts_with(&text));
        m.set_session_name("Name", TitleSource::User).unwrap();
        m.flush().unwrap();
        let bytes = storage.read(&path).unwrap();
        assert!(has(&bytes, damaged) && has(&bytes, &torn[1..]), "{}", String::from_utf8_lossy(&bytes));
        m.fork().unwrap();
        m.flush().unwrap();
        assert!(has(&storage.read(m.session_file().unwrap()).unwrap(), damaged));
    };
    body(&FileSessionStorage, ManagerOptions::new());
    let memory = MemorySessionStorage::new();
    body(&memory, ManagerOptions::new().storage(memory.clone()));
    let queued = Queued::default();
    body(&queued, ManagerOptions::new().storage(queued.clone()));
    // What is no session is set aside byte for byte.
    memory.write(&path, b"\xff\xfe").unwrap();
    ManagerOptions::new().agent_dir(dir.path().join("agent")).storage(memory.clone()).open(&path).unwrap();
    let aside =
        memory.list_files(dir.path(), "*").into_iter().find(|file| file.to_str().unwrap().contains(".invalid-"));
    assert_eq!(memory.read(&aside.unwrap()).unwrap(), b"\xff\xfe");
}

/// How a session in `options` appends: with a lock file, and taking in what others wrote.
fn is_in_files(options: ManagerOptions, dir: &Path) -> bool {
    let mut m = options.agent_dir(dir).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    let file = m.session_file().unwrap().to_owned();
    let other = r#"{"type":"odd","id":"odd","parentId":null}"#;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{other}\n")).unwrap();
    m.append_message(USER).unwrap();
    let lock = file.with_file_name(format!(".{}.lock", file.file_name().unwrap().to_str().unwrap()));
    let (is_locked, is_merged) = (lock.exists(), m.entry("odd").is_some());
    assert_eq!(is_locked, is_merged);
    is_locked
}

// B10: files are files, whatever points to them: they keep locks, merging and the one write of an append.
#[test]
fn b10_pointers_to_files() {
    let dir = tempfile::tempdir().unwrap();
    let options = ManagerOptions::new;
    assert!(is_in_files(options().storage(Arc::new(FileSessionStorage)), dir.path()));
    assert!(is_in_files(options().storage(Box::new(FileSessionStorage)), dir.path()));
    let borrowed: &'static FileSessionStorage = &FileSessionStorage;
    assert!(is_in_files(options().storage(borrowed), dir.path()));
    let any: Arc<dyn SessionStorage> = Arc::new(Box::new(FileSessionStorage));
    assert!(is_in_files(options().storage(any), dir.path()));
    // A storage of one's own is none, though it keeps files.
    assert!(!is_in_files(options().storage(Arc::new(Own)), dir.path()));
}
