//! What other programs do to a session's file while it is in use (R53), files that are no
//! sessions (R16), modes and links (R31).

use super::{ASSISTANT, Same, USER, ids, lines, options, started};
use leaflog::{
    ErrorCode, Leaf, ManagerOptions, MemorySessionStorage, MigrationRewrite, SessionStorage, SessionView, TitleSource,
};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn append_to(path: &Path, text: &str) {
    File::options().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn label(id: &str, parent: &str, target: &str, label: &str) -> String {
    format!(
        r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-02-16T10:20:30.000Z","targetId":"{target}","label":"{label}"}}"#
    )
}

// R53b, c: the file grew. What came is taken in before the entry that is appended.
#[test]
fn r53b_a_file_that_grew() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let own = ids(&manager);
    let usage = r#"{"type":"message","id":"0000000b","parentId":"0000000a","timestamp":"2026-02-16T10:20:31.000Z","message":{"role":"assistant","content":[],"usage":{"input":7,"output":2}}}"#;
    append_to(&path, &format!("{}\n{usage}\n", label("0000000a", &own[1], &own[0], "theirs")));
    // Reading asks nobody.
    assert_eq!(ids(&manager), own);
    let mine = manager.append_message(USER).unwrap();
    assert_eq!(ids(&manager), [&own[..], &["0000000a".into(), "0000000b".into(), mine.clone()]].concat());
    assert_eq!(manager.label(&own[0]).as_deref(), Some("theirs"));
    assert_eq!(manager.usage().input, 7.0);
    // The own leaf did not move.
    assert_eq!(manager.entry(&mine).unwrap().parent().unwrap().id().unwrap(), own[1]);
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), ids(&manager));
    // A program that died left half a line: it stays alone, and what comes after it is whole.
    append_to(&path, r#"{"type":"message","id":"00"#);
    let next = manager.append_message(USER).unwrap();
    append_to(&path, &format!("{}\n", label("0000000c", &next, &own[0], "again")));
    manager.append_message(USER).unwrap();
    manager.set_session_name("name", TitleSource::User).unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), ids(&manager));
    let report = view.report().unwrap();
    assert_eq!((report.skipped_lines.len(), report.skipped_lines[0].line), (1, 7));
    assert_eq!(view.label(&own[0]).as_deref(), Some("again"));
}

// R53d: another file was put in its place. Its lines and its header win; what this process wrote
// and it lacks comes again, byte for byte; the leaf stays.
#[test]
fn r53d_a_file_that_was_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let own = ids(&manager);
    let third = manager.append_message(USER).unwrap();
    manager.branch(&own[1]).unwrap();
    let before = lines(&path);
    // Another program's rewrite: a title, an entry of its own, a changed line, one line less.
    let header = before[0].replacen('{', r#"{"x":1e400,"title":"theirs","#, 1);
    let changed = before[1].replace("Hello", "Changed");
    let other = label("0000000a", &own[1], &own[0], "theirs");
    let replacement = format!("{header}\n{changed}\n{}\n{other}\n", before[2]);
    fs::write(path.with_extension("new"), &replacement).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    let mine = manager.append_message(USER).unwrap();
    let now = lines(&path);
    assert_eq!(now[..4], replacement.lines().collect::<Vec<_>>());
    assert_eq!(now[4], before[3]);
    assert_eq!(ids(&manager), [&own[..], &["0000000a".into(), third, mine.clone()]].concat());
    assert_eq!(manager.entry(&mine).unwrap().parent().unwrap().id().unwrap(), own[1]);
    assert_eq!((manager.title(), manager.label(&own[0]).as_deref()), (Some("theirs"), Some("theirs")));
    let text = String::from_utf8(manager.entry(&own[0]).unwrap().text().unwrap().into_bytes()).unwrap();
    assert_eq!(text, changed);
    // A rewrite keeps the header's other fields.
    manager.set_session_name("mine", TitleSource::User).unwrap();
    assert!(lines(&path)[0].starts_with(r#"{"x":1e400,"title":"mine","#), "{}", lines(&path)[0]);
    assert_eq!(lines(&path)[1..], now[1..]);
    // So too the next time: what it wrote itself is still known.
    fs::write(path.with_extension("new"), format!("{header}\n")).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    manager.append_message(USER).unwrap();
    let own_lines = [&changed, &before[2], &before[3], &now[5]];
    assert_eq!(lines(&path)[1..5].iter().collect::<Vec<_>>(), own_lines);
}

// R53d: the leaf was another process's entry and is gone: the next one hangs on what is there.
#[test]
fn r53d_a_leaf_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = started(dir.path());
    let (old, text) = (ids(&manager), lines(&path));
    drop(manager);
    let mut manager = options(dir.path()).open(&path).unwrap();
    fs::write(path.with_extension("new"), format!("{}\n{}\n", text[0], text[1])).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    let id = manager.append_message(USER).unwrap();
    assert_eq!(ids(&manager), [old[0].clone(), id.clone()]);
    let view = SessionView::open(&path).unwrap();
    assert!(view.report().unwrap().is_empty());
    assert_eq!(view.branch(&id).unwrap().len(), 2);
}

// R53d: the other file has the same length.
#[test]
fn r53d_a_file_that_was_replaced_by_one_of_its_length() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let text = fs::read_to_string(&path).unwrap().replace("Hello", "Jello");
    fs::write(path.with_extension("new"), &text).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap()[..text.len()], text);
    assert!(manager.context(Leaf::Last).unwrap().messages().next().unwrap().to_string().contains("Jello"));
}

// R53d: a name that was given while there was no file is not taken back by the file that comes.
#[test]
fn r53d_a_name_that_is_not_written_yet() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    manager.set_session_name("mine", TitleSource::User).unwrap();
    fs::write(&path, text.replacen('{', r#"{"title":"theirs","x":1,"#, 1)).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(manager.title(), Some("mine"));
    manager.ensure_on_disk().unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(view.title(), Some("mine"));
    assert!(lines(&path)[0].contains(r#""x":1"#));
}

// R53e: a rewrite copies the file's lines, replaces only those that this process changed, and adds
// unsaved ones last.
#[test]
fn r53e_a_rewrite_changes_only_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let own = ids(&manager);
    let odd = r#"{"type":"odd","n":-0,"n":1e2,"id":"0000000a","parentId":null,"s":"\ud83d"}"#;
    append_to(&path, &format!("{odd}\nnot JSON\n"));
    let before = lines(&path);
    let changed = before[2].replace("Hi", "Changed");
    manager.rewrite_entries(&[(&own[1], &changed)]).unwrap();
    let expected = [&before[0], &before[1], &changed, &before[3], &before[4]];
    assert_eq!(lines(&path).iter().collect::<Vec<_>>(), expected);
    // Nothing of it is asked for an entry that there is not, or for another entry's text.
    assert_eq!(manager.rewrite_entries(&[("ffffffff", odd)]).unwrap_err().code(), ErrorCode::EntryNotFound);
    assert_eq!(manager.rewrite_entries(&[(&own[0], odd)]).unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(lines(&path).iter().collect::<Vec<_>>(), expected);
}

// R53f: a migration runs under the lock, and two that want it agree.
#[test]
fn r53f_a_migration() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("agent/sessions/x");
    fs::create_dir_all(&sessions).unwrap();
    let path = sessions.join("old.jsonl");
    let message = |content: &str| format!(r#"{{"type":"message","message":{{"role":"user","content":"{content}"}}}}"#);
    let old = format!(
        "{}\n{}\n{}\n",
        r#"{"type":"session","id":"0000000000000001","cwd":"/home/ada"}"#,
        message("one"),
        message("two")
    );
    fs::write(&path, &old).unwrap();
    let lock = File::create(sessions.join(".old.jsonl.lock")).unwrap();
    lock.lock().unwrap();
    let locked = options(dir.path()).lock_timeout(Duration::from_millis(1)).open(&path);
    assert_eq!(locked.unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(fs::read_to_string(&path).unwrap(), old);
    lock.unlock().unwrap();
    // One read the old file and will write it anew with its first change; another is faster.
    let mut late = options(dir.path()).migration_rewrite(MigrationRewrite::Deferred).open(&path).unwrap();
    let mut fast = options(dir.path()).open(&path).unwrap();
    assert_eq!(ids(&late), ids(&fast));
    let first = fast.append_message(USER).unwrap();
    let second = late.append_message(USER).unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view)[2..], [first, second]);
    assert_eq!((view.header().version, view.report().unwrap().is_empty()), (3, true));
    assert_eq!(ids(&late), ids(&view));
}

// R53g: a first write that finds a session there.
#[test]
fn r53g_a_first_write_that_finds_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let (other, theirs) = started(dir.path());
    let mut manager = options(dir.path()).create(dir.path()).unwrap();
    let unsaved = manager.append_message(USER).unwrap();
    let path = manager.session_file().unwrap().to_owned();
    fs::copy(&theirs, &path).unwrap();
    let before = lines(&path);
    let last = manager.append_message(ASSISTANT).unwrap();
    assert_eq!(lines(&path)[..3], before);
    assert_eq!(manager.session_id(), other.session_id());
    assert_eq!(ids(&manager), [&ids(&other)[..], &[unsaved, last]].concat());
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
}

/// Appends to a session whose file is cut to `len` bytes in place, and gives the file's lines.
fn cut(len: impl Fn(&[String]) -> usize) -> (Vec<String>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    manager.append_message(USER).unwrap();
    let before = lines(&path);
    File::options().write(true).open(&path).unwrap().set_len(len(&before) as u64).unwrap();
    let last = manager.append_message(USER).unwrap();
    let view = SessionView::open(&path).unwrap();
    assert_eq!(ids(&view), ids(&manager));
    assert_eq!(view.leaf().unwrap().id().unwrap(), last);
    assert_eq!(view.branch(&last).unwrap().len(), 4);
    let now = lines(&path);
    manager.set_session_name("name", TitleSource::User).unwrap();
    assert_eq!(lines(&path)[1..], now[1..]);
    (before, now)
}

// R53b, d: the file was cut short in place; what this process wrote comes again, byte for byte.
#[test]
fn r53d_a_file_that_was_cut_to_nothing() {
    let (before, now) = cut(|_| 0);
    assert_eq!(now[..4], before);
}

#[test]
fn r53d_a_file_that_was_cut_in_its_lines() {
    let (before, now) = cut(|lines| lines[0].len() + 1 + lines[1].len() + 1 + 20);
    assert_eq!(now[..2], before[..2]);
    // The torn piece stands alone.
    assert_eq!(now[2], before[2][..20]);
    assert_eq!(now[3..5], before[2..]);
    assert_eq!(now.len(), 6);
}

#[test]
fn r53d_a_file_that_was_cut_in_its_header() {
    let (before, now) = cut(|_| 20);
    assert_eq!(now[..4], before);
}

// What was written too long ago to be kept in memory cannot be had back: that is said, and the
// rest goes on.
#[test]
fn r53d_what_cannot_be_had_back_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    let large = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400_000));
    for _ in 0..20 {
        manager.append_message(&large).unwrap();
    }
    let before = ids(&manager);
    File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    let error = manager.append_message(USER).unwrap_err();
    assert_eq!(error.code(), ErrorCode::FileChanged, "{error}");
    assert!(manager.append_message(USER).is_err());
    manager.ensure_on_disk().unwrap();
    let now = ids(&SessionView::open(&path).unwrap());
    assert_eq!(now, ids(&manager));
    // The last ones are there, and those that could not be written.
    assert_eq!(now[now.len() - 7..now.len() - 2], before[before.len() - 5..]);
    assert!(!now.contains(&before[0]));
}

// R16: bytes that are no session are copied to a name of their own first; an empty file is not
// worth it.
#[test]
fn r16_a_file_that_is_no_session_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let files = dir.path().join("files");
    fs::create_dir(&files).unwrap();
    let path = files.join("notes.jsonl");
    let aside = || -> Vec<PathBuf> {
        let all = fs::read_dir(&files).unwrap().map(|file| file.unwrap().path());
        all.filter(|path| path.to_string_lossy().contains("notes.jsonl.invalid-")).collect()
    };
    fs::write(&path, "").unwrap();
    let manager = options(dir.path()).open(&path).unwrap();
    assert_eq!((lines(&path).len(), manager.load_report().unwrap().set_aside_file), (1, None));
    assert_eq!(manager.session_file(), Some(&*path));
    fs::write(&path, b"my notes \xff\n{}").unwrap();
    let mut manager = options(dir.path()).open(&path).unwrap();
    let found = aside();
    assert_eq!(found.len(), 1);
    assert_eq!(fs::read(&found[0]).unwrap(), b"my notes \xff\n{}");
    assert_eq!(manager.load_report().unwrap().set_aside_file.as_ref(), Some(&found[0]));
    assert_eq!(lines(&path).len(), 1);
    manager.append_message(USER).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 1);
    // So too when the file changes while it is in use.
    fs::write(files.join("new"), "other notes").unwrap();
    fs::rename(files.join("new"), &path).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 2);
    assert!(aside().iter().any(|path| fs::read(path).unwrap() == b"other notes"));
    // A folder, and a source of a fork that is no session, change nothing.
    let session = manager.session_file().unwrap().to_owned();
    assert_eq!(manager.set_session_file(&files).unwrap_err().code(), ErrorCode::IsADirectory);
    assert_eq!(manager.session_file(), Some(&*session));
    fs::write(files.join("text"), "text").unwrap();
    let fork = |name: &str| options(dir.path()).fork_from(files.join(name), dir.path()).unwrap_err().code();
    assert_eq!((fork("text"), fork("missing")), (ErrorCode::NotASession, ErrorCode::NotFound));
    assert_eq!(fs::read(files.join("text")).unwrap(), b"text");
}

// R16: the copy is made under a name that nothing has.
#[test]
fn r16_a_copy_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let storage = MemorySessionStorage::new();
    let (path, aside) = (Path::new("/s/a.jsonl"), Path::new("/s/a.jsonl.invalid-2026-02-16T10-20-30-000Z"));
    storage.write_text(path, "notes").unwrap();
    storage.write_text(aside, "earlier notes").unwrap();
    let open = || options(dir.path()).generator(Same).storage(storage.clone()).open(path);
    assert_eq!(open().unwrap_err().code(), ErrorCode::AlreadyExists);
    let text = |path: &Path| storage.read_text(path).unwrap();
    assert_eq!((text(path), text(aside)), ("notes".into(), "earlier notes".into()));
    storage.unlink(aside).unwrap();
    open().unwrap();
    assert_eq!((text(path).lines().count(), text(aside)), (1, "notes".into()));
    // So too for files.
    let files = dir.path().join("agent/sessions/x");
    fs::create_dir_all(&files).unwrap();
    let (path, aside) = (files.join("a.jsonl"), files.join("a.jsonl.invalid-2026-02-16T10-20-30-000Z"));
    fs::write(&path, "notes").unwrap();
    fs::write(&aside, "earlier notes").unwrap();
    assert!(options(dir.path()).generator(Same).open(&path).is_err());
    assert_eq!((lines(&path), lines(&aside)), (vec!["notes".into()], vec!["earlier notes".into()]));
}

// R16: a valid file is opened and closed without a trace, in its bytes and its time.
#[test]
fn r16_opening_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, path) = started(dir.path());
    let torn = [&fs::read(&path).unwrap()[..], b"{\"torn"].concat();
    fs::write(&path, &torn).unwrap();
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let mut manager = options(dir.path()).open(&path).unwrap();
    manager.flush().unwrap();
    manager.ensure_on_disk().unwrap();
    manager.close().unwrap();
    drop(manager);
    assert_eq!(fs::read(&path).unwrap(), torn);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
}

// R31: a rewrite keeps the file's mode and follows a link.
#[test]
fn r31_mode_and_link() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = started(dir.path());
    drop(manager);
    let real = dir.path().join("elsewhere.jsonl");
    fs::rename(&path, &real).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&real).unwrap();
    let mut manager = options(dir.path()).open(&path).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(fs::metadata(&real).unwrap().ino(), before.ino());
    manager.set_session_name("name", TitleSource::User).unwrap();
    let after = fs::metadata(&real).unwrap();
    // Another file, so it was not written in place.
    assert_ne!(after.ino(), before.ino());
    assert_eq!(after.permissions().mode() & 0o7777, 0o640);
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    // Who opens the file under its own name has the same lock.
    let mut other = ManagerOptions::new().agent_dir(dir.path().join("agent")).open(&real).unwrap();
    other.append_message(USER).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(ids(&manager), ids(&SessionView::open(&real).unwrap()));
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 5);
    let locks = |dir: &Path| {
        let names = fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with("elsewhere.jsonl.lock")).count()
    };
    assert_eq!((locks(dir.path()), locks(path.parent().unwrap())), (1, 0));
}

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

// R16: what is no plain file is no session to write to. It is not waited for, set aside or replaced.
#[test]
fn r16_a_pipe_at_the_path_of_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    fs::create_dir(&sessions).unwrap();
    let pipe = sessions.join("pipe.jsonl");
    make_pipe(&pipe);
    assert_eq!(options(dir.path()).open(&pipe).unwrap_err().code(), ErrorCode::InvalidArgument);
    let there: Vec<PathBuf> = fs::read_dir(&sessions).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(there, [pipe]);
    // One that takes the place of an open session: nothing is lost when that is back.
    let (mut manager, path) = started(dir.path());
    let away = dir.path().join("away");
    fs::rename(&path, &away).unwrap();
    make_pipe(&path);
    assert_eq!(manager.append_message(USER).unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(manager.ensure_on_disk().unwrap_err().code(), ErrorCode::InvalidArgument);
    fs::remove_file(&path).unwrap();
    fs::rename(&away, &path).unwrap();
    manager.ensure_on_disk().unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
    assert_eq!(ids(&manager).len(), 3);
}

// R53a: the lock is a file beside the session. A link in its place does not make one elsewhere.
#[test]
#[cfg(target_os = "linux")]
fn r53a_a_link_in_the_place_of_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    manager.close().unwrap();
    let lock = path.with_file_name(format!(".{}.lock", path.file_name().unwrap().to_str().unwrap()));
    fs::remove_file(&lock).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(manager.append_message(USER).unwrap_err().code(), ErrorCode::Io);
    assert!(!elsewhere.exists());
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(&lock).unwrap();
    manager.ensure_on_disk().unwrap();
    assert_eq!(ids(&SessionView::open(&path).unwrap()).len(), 3);
}

// R53d: of a file that nobody here holds open the inode says nothing: another file may have it. A file
// written anew in place stands for that, with an inode that is the same for certain.
#[test]
fn r53d_another_file_of_the_same_inode() {
    let dir = tempfile::tempdir().unwrap();
    let (mut manager, path) = started(dir.path());
    manager.close().unwrap();
    manager.release();
    let longer = fs::read_to_string(&path).unwrap().replace("Hello", "Hello, and a good day to you");
    fs::write(&path, &longer).unwrap();
    manager.append_message(USER).unwrap();
    assert_eq!(manager.context(Leaf::Last).unwrap().to_json().matches("a good day").count(), 1);
    manager.rewrite_entries(&[]).unwrap();
    assert!(fs::read_to_string(&path).unwrap().starts_with(&longer));
    assert_eq!(ids(&SessionView::open(&path).unwrap()), ids(&manager));
    assert_eq!(ids(&manager).len(), 3);
}
