//! What stands in the session's folder: modes, links, leftovers (R31, R55), and files that change
//! while they are open.

use super::common::{ASSISTANT, Dir, USER, file, ids, lines, names_in, read, sequence_b, text};
use leaflog::{ErrorCode, SessionView, TitleSource};

// What a killed process left of a rewrite is removed when its session is opened, and is never
// taken for a session.
#[test]
fn leftovers() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let path = file(&m);
    let before = text(&m);
    drop(m);
    let name = path.file_name().unwrap().to_str().unwrap();
    let leftover = dir.shop().join(format!(".{name}.tmp"));
    // A whole session, newer than the one it was to replace, and half of one.
    for left in [before.replace("shop", "torn"), before[..before.len() - 9].to_owned(), String::new()] {
        std::fs::write(&leftover, left).unwrap();
        assert_eq!(leaflog::SessionFinder::new().roots([dir.sessions()]).newest(), Some(path.clone()));
        let m = dir.options().open(&path).unwrap();
        assert!(!leftover.exists());
        assert_eq!(text(&m), before);
    }
    // Another session's is not touched.
    let other = dir.shop().join(".other.jsonl.tmp");
    std::fs::write(&other, "x").unwrap();
    dir.options().open(&path).unwrap().set_session_name("Name", TitleSource::User).unwrap();
    assert!(other.exists());
}

// R31: a link is followed, and stays one; lock and temporary file are beside what it leads to.
#[cfg(unix)]
#[test]
fn a_linked_session() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let target = file(&m);
    let link = dir.path().join("linked.jsonl");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let mut linked = dir.options().generator(sequence_b()).open(&link).unwrap();
    assert_eq!(file(&linked), link);
    let theirs = linked.append_message(USER).unwrap();
    assert!(linked.set_session_name("Name", TitleSource::User).unwrap());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    // One lock: both see what the other wrote.
    let own = m.append_message(USER).unwrap();
    assert_eq!(m.title(), Some("Name"));
    assert_eq!(ids(&SessionView::open(&target).unwrap()), ["00000001", &theirs, &own]);
    assert_eq!(names_in(dir.path()), ["agent", "linked.jsonl"]);
    // A link to nowhere: the session is made where it leads.
    let there = dir.path().join("there.jsonl");
    let dangling = dir.path().join("dangling.jsonl");
    std::os::unix::fs::symlink(&there, &dangling).unwrap();
    let mut m = dir.options().open(&dangling).unwrap();
    m.append_message(ASSISTANT).unwrap();
    assert!(std::fs::symlink_metadata(&dangling).unwrap().is_symlink());
    assert_eq!(SessionView::open(&there).unwrap().entries().count(), 1);
}

// R31: a rewrite keeps the mode, whatever it is.
#[cfg(unix)]
#[test]
fn modes() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let path = file(&m);
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o600);
    for kept in [0o640, 0o666, 0o600] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(kept)).unwrap();
        m.rewrite_entries(&[]).unwrap();
        m.append_message(USER).unwrap();
        m.set_session_name(&format!("{kept}"), TitleSource::User).unwrap();
        assert_eq!(mode(), kept);
    }
}

// A name that the file system does not take: an error that says so, and nothing is made.
#[test]
fn a_name_that_is_too_long() {
    let dir = Dir::new();
    for length in [256, 300] {
        let path = dir.shop().join(format!("{}.jsonl", "n".repeat(length - 6)));
        let error = dir.options().open(&path).unwrap_err();
        assert_eq!((error.code(), error.path().is_some()), (ErrorCode::Io, true), "{error}");
        assert_eq!(names_in(&dir.shop()), [""; 0]);
    }
    // A name that leaves no room for those of lock and temporary file.
    let path = dir.shop().join(format!("{}.jsonl", "n".repeat(249)));
    let mut m = dir.options().open(&path).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.set_session_name("Name", TitleSource::User).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().count(), 1);
}

// R53d: the header is replaced meanwhile by a session of another id.
#[test]
fn another_session_at_the_path() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let header =
        r#"{"type":"session","version":3,"id":"other","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#;
    let entry = r#"{"type":"message","id":"theirs","parentId":null,"message":{"role":"user","content":"x"}}"#;
    let copy = dir.put("copy", lines(&[header, entry]));
    std::fs::rename(copy, file(&m)).unwrap();
    m.append_message(USER).unwrap();
    let view = SessionView::open(file(&m)).unwrap();
    assert_eq!((view.header().id.as_str(), m.session_id()), ("other", "other"));
    assert_eq!(ids(&view), ["theirs", "00000001", "00000002"]);
}

// Ids as files may carry them: none leads anywhere, all can be branched from. (An empty parentId
// is none, as in the agent.)
#[test]
fn odd_ids() {
    let dir = Dir::new();
    let odd =
        [" ", "a\\\"b", "../../x", "é漢😀", "\\u0000", "DEADBEEF", "deadbeef", "00000001", "__proto__", "\\ud800"];
    let mut all = vec![
        r#"{"type":"session","version":3,"id":"../x","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#
            .to_owned(),
    ];
    for id in odd {
        all.push(format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"message":{{"role":"user","content":"x"}}}}"#
        ));
    }
    let before: String = all.iter().map(|line| format!("{line}\n")).collect();
    let path = dir.put("odd.jsonl", &before);
    let mut m = dir.options().open(&path).unwrap();
    let known: Vec<String> = m.entries().map(|entry| entry.id().unwrap().into_owned()).collect();
    assert_eq!(known.len(), odd.len());
    for id in &known {
        m.branch(id).unwrap();
        let child = m.append_message(USER).unwrap();
        assert_ne!(child, "00000001");
        assert!(m.entry(&child).unwrap().parent().is_some(), "{id:?}");
        assert_eq!(m.entry(&child).unwrap().parent().unwrap().id().as_deref(), Some(&**id));
    }
    assert!(read(&path).starts_with(&before));
    let again = SessionView::open(&path).unwrap();
    assert_eq!(again.entries().count(), 2 * odd.len());
    assert!(again.report().unwrap().missing_parents.is_empty(), "{:?}", again.report().unwrap().missing_parents);
}

// A folder that cannot be written: reading works, writing is an error with the path, and nothing
// is lost once it can be written again.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let path = file(&m);
    drop(m);
    for name in names_in(&dir.shop()) {
        if name.ends_with(".lock") {
            std::fs::remove_file(dir.shop().join(name)).unwrap();
        }
    }
    let mode = |mode| std::fs::set_permissions(dir.shop(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    if std::fs::write(dir.shop().join("probe"), "").is_ok() {
        // This user may write everywhere.
        mode(0o700);
        return crate::support::again_without_rights("files::a_folder_that_cannot_be_written");
    }
    let mut m = dir.options().open(&path).unwrap();
    assert_eq!(ids(&m), ["00000001"]);
    let error = m.append_message(USER).unwrap_err();
    assert_eq!((error.code(), error.path().is_some()), (ErrorCode::PermissionDenied, true), "{error}");
    mode(0o700);
    m.ensure_on_disk().unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().count(), 2);
}
