//! Faults that users of session stores reported, where a session is written; and what other
//! processes and programs can do to a session's file (R53).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "write_faults/edits.rs"]
mod edits;
#[path = "write_faults/random_edits.rs"]
mod random_edits;
mod support;

#[path = "write_faults/files.rs"]
mod files;

use leaflog::{ErrorCode, Leaf, ManagerOptions, SessionManager, SessionView, TitleSource};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const USER: &str = r#"{"role":"user","content":"Hello"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::new().agent_dir(dir.join("agent"))
}

/// A started session of two entries.
fn started(dir: &Path) -> (SessionManager, PathBuf) {
    let mut manager = options(dir).create(dir).unwrap();
    manager.append_message(USER).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    (manager, path)
}

fn ids(view: &SessionView) -> Vec<String> {
    view.entries().map(|entry| entry.id().unwrap().into_owned()).collect()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// An image message that needs the blob store.
fn image() -> String {
    format!(r#"{{"role":"user","content":[{{"type":"image","data":"{}"}}]}}"#, "AAAA".repeat(400))
}

/// Makes blobs impossible to write: a file stands where their folder belongs.
fn block_blobs(dir: &Path) -> PathBuf {
    let blobs = dir.join("agent/blobs");
    fs::write(&blobs, "in the way").unwrap();
    blobs
}

/// In a child whose files may not grow beyond a limit: the session's folder.
const LIMITED: &str = "LEAFLOG_WRITE_FAULTS_LIMITED";

// F1: the disk is full in the middle of a line. The kernel writes a part of the line and refuses
// the rest; the file ends where it ended before, and nothing is fused.
#[test]
fn f1_a_full_disk_tears_no_line() {
    if let Some(dir) = std::env::var_os(LIMITED) {
        let (mut manager, _) = started(Path::new(&dir));
        println!("\nsession {}", manager.session_file().unwrap().display());
        let error = loop {
            match manager.append_message(USER) {
                Ok(id) => println!("ack {id}"),
                Err(error) => break error,
            }
        };
        println!("failed {error}");
        assert!(manager.append_message(USER).is_err() && manager.flush().is_err());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // The signal that a file grew too large is ignored, so the write is cut short and then fails.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 3; exec \"$0\" --exact f1_a_full_disk_tears_no_line --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env(LIMITED, dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Vec<(String, String)> = BufReader::new(&output.stdout[..])
        .lines()
        .filter_map(|line| line.unwrap().split_once(' ').map(|(what, rest)| (what.to_owned(), rest.to_owned())))
        .collect();
    let of = |what: &str| said.iter().filter(|(known, _)| known == what).map(|(_, rest)| rest.clone()).collect();
    let (session, failed, acknowledged): (Vec<String>, Vec<String>, Vec<String>) =
        (of("session"), of("failed"), of("ack"));
    assert!(failed.len() == 1 && acknowledged.len() > 3, "{said:?}");
    let path = Path::new(&session[0]);
    assert!(fs::read(path).unwrap().ends_with(b"\n"));
    // The disk has room again: nothing earlier is lost to the next append.
    let mut manager = options(dir.path()).open(path).unwrap();
    assert_eq!(ids(&manager)[2..], acknowledged);
    let id = manager.append_message(USER).unwrap();
    let view = SessionView::open(path).unwrap();
    assert!(view.report().unwrap().is_empty());
    assert_eq!(ids(&view)[2..], [acknowledged, vec![id]].concat());
}

// F2: an append fails, and its entry is the leaf. The next entry hangs on it, and both reach the
// disk with the next write that succeeds.
#[test]
fn f2_the_parent_of_a_written_entry_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let before = fs::read(&path).unwrap();
    let blobs = block_blobs(dir.path());
    let error = manager.append_message(&image()).unwrap_err();
    // A11: the store is a file. ENOTDIR is 20.
    assert_eq!((error.code(), error.error().os_errno()), (ErrorCode::Io, Some(20)), "{error}");
    assert!(manager.append_message(USER).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(manager.persist_status().unsaved, 2);
    fs::remove_file(blobs).unwrap();
    manager.ensure_on_disk().unwrap();
    let last = manager.append_message(USER).unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), ids(&manager));
    assert_eq!(view.branch(&last).unwrap().len(), 5);
    assert!(view.report().unwrap().is_empty());
}

// F3: one failure does not stop persistence silently: every call says it, it is logged once with
// the file, and an explicit retry writes everything.
#[test]
fn f3_a_failure_is_said_until_the_retry() {
    let dir = tempfile::tempdir().unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let logger = Arc::clone(&log);
    let options = options(dir.path()).logger(move |line| logger.lock().unwrap().push(line.to_owned()));
    let mut manager = options.create(dir.path()).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    // A folder stands where the file was.
    let aside = dir.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    fs::create_dir(&path).unwrap();
    let first = manager.append_message(USER).unwrap_err();
    assert_eq!(first.code(), ErrorCode::IsADirectory);
    for error in [
        manager.append_message(USER).unwrap_err().error().clone(),
        manager.append_label_change(&ids(&manager)[0], Some("label")).unwrap_err().error().clone(),
        manager.flush().unwrap_err(),
        manager.close().unwrap_err(),
        manager.rewrite_entries(&[]).unwrap_err(),
        manager.set_session_name("name", TitleSource::User).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), first.error().to_string());
    }
    assert_eq!(manager.label(&ids(&manager)[0]).as_deref(), Some("label"));
    let status = manager.persist_status();
    assert_eq!((status.unsaved, status.last_saved), (3, Some(ids(&manager)[0].clone())));
    // The retry fails as long as there is a reason, and that is said again.
    assert!(manager.ensure_on_disk().is_err());
    assert!(manager.persist_status().error.is_some());
    fs::remove_dir(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    manager.ensure_on_disk().unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
    let status = manager.persist_status();
    assert_eq!((status.unsaved, status.last_saved, status.error.is_none()), (0, ids(&manager).pop(), true));
    let log = log.lock().unwrap();
    // Once for each time that it came into force.
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log.iter().all(|line| line.contains(&*path.to_string_lossy())));
}

// F5, R53b: the file is deleted while in use.
#[test]
fn f5_a_deleted_file_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = started(dir.path());
    drop(manager);
    // Entries of an earlier process too.
    let mut manager = options(dir.path()).open(&path).unwrap();
    manager.append_message(USER).unwrap();
    let before = lines(&path);
    fs::remove_file(&path).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(lines(&path)[..4], before);
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
    // The folder may be gone as well; and a retry that is asked for notices too.
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    manager.append_message(USER).unwrap();
    fs::remove_file(&path).unwrap();
    manager.ensure_on_disk().unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
    assert_eq!(ids(&manager).len(), 5);
}

// F7: a branch copy leaves labels out, and who hung on them hangs on what was before.
#[test]
fn f7_a_branch_has_no_orphans() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, _) = started(dir.path());
    let root = ids(&manager)[0].clone();
    manager.append_label_change(&root, Some("start")).unwrap();
    manager.append_label_change(&root, Some("begin")).unwrap();
    let after = manager.append_message(USER).unwrap();
    let mut expected = ids(&manager);
    let path = manager.create_branched_session(&after).unwrap().unwrap();
    let view = SessionView::open(&path).unwrap();
    assert!(view.report().unwrap().is_empty());
    // Two messages, the one after the labels, and one label with the text in force.
    expected.drain(2..4);
    assert_eq!(ids(&view)[..3], expected);
    assert_eq!(view.entries().len(), 4);
    let parents: Vec<_> = view.entries().map(|entry| entry.parent().map(|parent| parent.position())).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
    assert_eq!(view.label(&root).as_deref(), Some("begin"));
    assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), 3);
}

// F13: a long-lived process's rewrite keeps what another appended since.
#[test]
fn f13_a_rewrite_keeps_the_turns_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let (mut old, path) = started(dir.path());
    let mut new = options(dir.path()).open(&path).unwrap();
    let theirs = [new.append_message(USER).unwrap(), new.append_message(ASSISTANT).unwrap()];
    let before = lines(&path);
    old.set_session_name("name", TitleSource::User).unwrap();
    assert_eq!(lines(&path)[1..], before[1..]);
    let more = new.append_message(USER).unwrap();
    old.rewrite_entries(&[]).unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap())[2..], [&theirs[..], &[more]].concat());
    // The name reached the other with its next append.
    assert_eq!(new.title(), Some("name"));
}

// F14: two processes go on with the same session.
#[test]
fn f14_both_turns_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let (mut a, path) = started(dir.path());
    let mut b = options(dir.path()).open(&path).unwrap();
    let mut expected = ids(&a);
    for _ in 0..3 {
        expected.push(a.append_message(USER).unwrap());
        expected.push(b.append_message(ASSISTANT).unwrap());
    }
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), expected);
    assert!(view.report().unwrap().is_empty());
    // Two branches from where both began.
    let branch = |id: &str| view.branch(id).unwrap().iter().map(|entry| entry.position()).collect::<Vec<_>>();
    assert_eq!(branch(&expected[6]), [0, 1, 2, 4, 6]);
    assert_eq!(branch(&expected[7]), [0, 1, 3, 5, 7]);
}

// F17: a flush writes what is new, and nothing again.
#[test]
fn f17_a_flush_writes_nothing_again() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let large = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400_000));
    for _ in 0..20 {
        manager.append_message(&large).unwrap();
    }
    manager.flush().unwrap();
    let before = fs::metadata(&path).unwrap();
    let id = manager.append_message(USER).unwrap();
    manager.flush().unwrap();
    let after = fs::metadata(&path).unwrap();
    let line = manager.entry(&id).unwrap().len() + 1;
    assert_eq!((after.ino(), after.len()), (before.ino(), before.len() + line));
    manager.flush().unwrap();
    manager.close().unwrap();
    let again = fs::metadata(&path).unwrap();
    assert_eq!((again.ino(), again.len(), again.mtime_nsec()), (after.ino(), after.len(), after.mtime_nsec()));
}

// F21: a move across file systems, with artifacts.
#[test]
fn f21_a_move_across_file_systems() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let memory = Path::new("/dev/shm");
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    if device(memory).is_none_or(|memory| Some(memory) == device(dir.path())) {
        support::skip(format_args!("/dev/shm is not another file system than {}", dir.path().display()));
        return;
    }
    let other = tempfile::tempdir_in(memory).unwrap();
    // The folder given is no default one, so the session goes to the default root: elsewhere.
    let options = ManagerOptions::new().agent_dir(other.path().join("agent")).session_dir(dir.path().join("sessions"));
    let mut manager = options.create(dir.path()).unwrap();
    manager.append_message(USER).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    let artifact = manager.save_artifact(b"output", "bash").unwrap();
    let (old, entries) = (manager.session_file().unwrap().to_owned(), ids(&manager));
    let old_artifacts = manager.artifacts_dir().unwrap();
    fs::create_dir(old_artifacts.join("nested")).unwrap();
    fs::write(old_artifacts.join("nested/file"), "deep").unwrap();
    // Something stands where the artifacts would go: nothing is moved.
    let name = old.file_stem().unwrap();
    let new_cwd = dir.path().join("new");
    let new_dir = format!("--{}--", new_cwd.to_string_lossy()[1..].replace('/', "-"));
    let blocker = other.path().join("agent/sessions").join(new_dir).join(name);
    fs::create_dir_all(&blocker).unwrap();
    assert_eq!(manager.move_to(&new_cwd).unwrap_err().code(), ErrorCode::AlreadyExists);
    assert!(old.exists() && old_artifacts.join("nested/file").exists());
    fs::remove_dir(&blocker).unwrap();

    manager.move_to(&new_cwd).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    assert!(path.starts_with(other.path()) && !old.exists() && !old_artifacts.exists());
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), entries);
    assert_eq!(view.header().cwd.as_deref(), new_cwd.to_str());
    assert_eq!(fs::read(manager.artifact_path(&artifact).unwrap()).unwrap(), b"output");
    assert_eq!(fs::read(manager.artifacts_dir().unwrap().join("nested/file")).unwrap(), b"deep");
    manager.append_message(USER).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 3);
}

// A move over something that exists does nothing, and puts everything back.
#[test]
fn f21_a_move_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, old) = started(dir.path());
    let artifact = manager.save_artifact(b"output", "bash").unwrap();
    let text = fs::read(&old).unwrap();
    let sessions = old.parent().unwrap().parent().unwrap();
    let new_cwd = dir.path().join("new");
    let folder = sessions.join(format!("--{}--", new_cwd.to_string_lossy()[1..].replace('/', "-")));
    let new = folder.join(old.file_name().unwrap());
    fs::create_dir(&folder).unwrap();
    fs::write(&new, "in the way").unwrap();
    assert_eq!(manager.move_to(&new_cwd).unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!((manager.session_file(), manager.cwd()), (Some(&*old), dir.path()));
    assert_eq!(fs::read(&new).unwrap(), b"in the way");
    assert_eq!(fs::read(&old).unwrap(), text);
    assert_eq!(fs::read(manager.artifact_path(&artifact).unwrap()).unwrap(), b"output");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    manager.append_message(USER).unwrap();
    assert_eq!(SessionView::open(&old).unwrap().entries().len(), 3);
    fs::remove_file(&new).unwrap();
    manager.move_to(&new_cwd).unwrap();
    assert_eq!(SessionView::open(&new).unwrap().entries().len(), 3);
    assert!(manager.artifact_path(&artifact).unwrap().starts_with(&folder));
}

/// Gives every session the same id and time.
struct Same;

impl leaflog::Generator for Same {
    fn now_ms(&self) -> i64 {
        1_771_237_230_000
    }

    fn entry_id(&self) -> u32 {
        fastrand::u32(..)
    }

    fn session_id(&self) -> String {
        "00000000000000aa".into()
    }
}

// No copy takes the place of a session that exists.
#[test]
fn f21_a_copy_never_replaces_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut manager = options(dir.path()).generator(Same).create(dir.path()).unwrap();
    let id = manager.append_message(ASSISTANT).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    let text = fs::read(&path).unwrap();
    assert_eq!(manager.fork().unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!(manager.create_branched_session(&id).unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), text);
    manager.append_message(USER).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 2);
}

// F24, R55: nobody else can read what is written, whatever it is.
#[test]
fn f24_only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, _) = started(dir.path());
    manager.append_message(&image()).unwrap();
    manager.set_session_name("name", TitleSource::User).unwrap();
    manager.save_artifact(b"output", "bash").unwrap();
    manager.fork().unwrap();
    manager.move_to(dir.path().join("new")).unwrap();
    let invalid = manager.session_dir().join("invalid.jsonl");
    fs::write(&invalid, "secret notes").unwrap();
    manager.set_session_file(&invalid).unwrap();
    // A file that others could read keeps its mode (R31); its copy does not get it.
    let mut seen = 0;
    let mut folders = vec![dir.path().join("agent")];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for path in fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path != invalid {
                assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
                seen += 1;
            }
        }
    }
    // Sessions, locks, the blob, the artifact, the copy.
    assert!(seen >= 6, "{seen}");
}

// F25: no id leads out of the folders.
#[test]
fn f25_ids_are_not_paths() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "mine").unwrap();
    let sessions = dir.path().join("agent/sessions/x");
    fs::create_dir_all(&sessions).unwrap();
    let path = sessions.join("evil.jsonl");
    let header =
        r#"{"type":"session","version":3,"id":"../../../victim","timestamp":"../../../victim","cwd":"/home/ada"}"#;
    let entry = r#"{"type":"message","id":"../../../victim","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:../../../victim"}]}}"#;
    fs::write(&path, format!("{header}\n{entry}\n")).unwrap();
    let mut manager = options(dir.path()).open(&path).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.save_artifact(b"x", "bash").unwrap();
    assert_eq!(manager.allocate_artifact_path("../../../victim").unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(manager.artifact_path("../../../victim"), None);
    assert!(!manager.context(Leaf::Last).unwrap().messages().next().unwrap().to_string().contains("mine"));
    manager.create_branched_session("../../../victim").unwrap();
    manager.fork().unwrap();
    manager.new_session(Some("../../../victim")).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    options(dir.path()).fork_from(&path, dir.path()).unwrap();
    let storage = leaflog::FileSessionStorage;
    storage.delete_session_with_artifacts(&path).unwrap();
    // Names whose artifact folder would be this folder, or the one above.
    for name in ["..jsonl", "...jsonl", ".jsonl"] {
        let path = sessions.join(name);
        fs::write(&path, format!("{header}\n")).unwrap();
        assert_eq!(storage.delete_session_with_artifacts(&path).unwrap_err().code(), ErrorCode::InvalidArgument);
        assert!(path.exists());
        assert_eq!(leaflog::ArtifactManager::new(&path).map(|artifacts| artifacts.dir().to_owned()), None);
    }
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    let mut there: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    there.sort();
    assert_eq!(there, ["agent", "victim"]);
    assert!(!path.exists() && !sessions.join("evil").exists());
}

// F26: the title goes along.
#[test]
fn f26_forks_and_branches_keep_the_title() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, first) = started(dir.path());
    manager.set_session_name("A name", TitleSource::User).unwrap();
    let title = |path: &Path| {
        let view = SessionView::open(path).unwrap();
        (view.title().map(str::to_owned), view.title_source().map(str::to_owned))
    };
    let expected = (Some("A name".to_owned()), Some("user".to_owned()));
    let fork = manager.fork().unwrap().unwrap();
    assert_eq!((fork.old_session_file, title(&fork.new_session_file)), (first.clone(), expected.clone()));
    let leaf = manager.leaf().unwrap().id().unwrap().into_owned();
    assert_eq!(title(&manager.create_branched_session(&leaf).unwrap().unwrap()), expected);
    let other = options(dir.path()).fork_from(&first, dir.path().join("other")).unwrap();
    assert_eq!(title(other.session_file().unwrap()), expected);
    manager.move_to(dir.path().join("moved")).unwrap();
    assert_eq!(title(manager.session_file().unwrap()), expected);
    // A person's name is not replaced by the agent's.
    assert!(!manager.set_session_name("Other", TitleSource::Auto).unwrap());
}

// F27: a session whose blob is gone can be read, written, copied.
#[test]
fn f27_a_missing_blob_costs_itself_only() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let id = manager.append_message(&image()).unwrap();
    drop(manager);
    fs::remove_dir_all(dir.path().join("agent/blobs")).unwrap();
    let mut manager = options(dir.path()).open(&path).unwrap();
    let context = manager.context(Leaf::Last).unwrap();
    let message = context.messages().nth(2).unwrap().to_string();
    assert!(message.contains(r#""data":"blob:sha256:"#), "{message}");
    assert_eq!(manager.load_report().unwrap().missing_blobs.len(), 1);
    manager.append_message(ASSISTANT).unwrap();
    manager.flush().unwrap();
    manager.set_session_name("name", TitleSource::User).unwrap();
    manager.fork().unwrap();
    manager.append_message(USER).unwrap();
    let view = SessionView::open(manager.session_file().unwrap()).unwrap();
    assert_eq!(ids(&view)[2], id);
    assert_eq!(view.entries().len(), 5);
    // The same image again is written again.
    manager.append_message(&image()).unwrap();
    assert!(SessionView::open(&path).unwrap().report().unwrap().missing_blobs.is_empty());
}

// F27, R51: a blob that is removed before it was made to survive a power cut is put again by the retry:
// the image is in memory still.
#[test]
fn f27_a_blob_that_is_removed_before_the_flush() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    manager.append_message(&image()).unwrap();
    fs::remove_dir_all(dir.path().join("agent/blobs")).unwrap();
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::NotFound);
    manager.ensure_on_disk().unwrap();
    manager.append_message(USER).unwrap();
    manager.flush().unwrap();
    let report = SessionView::open(&path).unwrap().report().unwrap();
    assert_eq!(report.missing_blobs, []);
}
