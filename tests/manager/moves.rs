//! `move_to` (part C): file, artifacts and header go to another project's folder.

use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, lines, names_in, read, text};
use leaflog::{ErrorCode, SessionView, TitleSource};
use std::path::Path;

// The header's cwd is rewritten in its place, every other byte stays; artifacts go along.
#[test]
fn everything_goes() {
    let dir = Dir::new();
    let header = r#"{"cwd":"/home/ada/shop","type":"session","version":3,"x":[1e2,-0],"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z"}"#;
    let rest = "{\"type\":\"message\",\"id\":\"u1\",\"parentId\":null,\"n\":1E400,\"message\":{\"role\":\"user\",\"content\":\"\\ud83d\"}}\nno json\n17\n";
    let old = dir.put("s.jsonl", format!("{header}\n{rest}"));
    let mut m = dir.options().open(&old).unwrap();
    m.save_artifact(b"one", "bash").unwrap();
    let deep = m.artifacts_dir().unwrap().join("sub/deep");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("f.jsonl"), "deep").unwrap();
    m.move_to("/home/ada/new").unwrap();
    let new = dir.sessions().join("--home-ada-new--/s.jsonl");
    assert_eq!((file(&m), m.session_dir(), m.cwd()), (new.clone(), new.parent().unwrap(), Path::new("/home/ada/new")));
    assert_eq!(read(&new), format!("{}\n{rest}", header.replace("/home/ada/shop", "/home/ada/new")));
    assert_eq!(m.artifact_path("0"), Some(dir.sessions().join("--home-ada-new--/s/0.bash.log")));
    assert_eq!(read(&dir.sessions().join("--home-ada-new--/s/sub/deep/f.jsonl")), "deep");
    // Nothing is left in the old folder, which stays.
    assert_eq!(names_in(&dir.shop()), [""; 0]);
    assert_eq!(names_in(new.parent().unwrap()), [".s.jsonl.lock", "s", "s.jsonl"]);
    // A new session begins in the new folder.
    m.new_session(None).unwrap();
    assert_eq!(file(&m).parent(), new.parent());
    assert_eq!(m.header().cwd.as_deref(), Some("/home/ada/new"));
}

// Part C: in the same root when the folder is a default one of the old cwd, else the default root.
#[test]
fn roots() {
    let dir = Dir::new();
    let root = dir.path().join("elsewhere");
    let mut m = dir.options().session_dir(root.join("--home-ada-shop--")).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.move_to("/home/ada/a").unwrap();
    assert_eq!(file(&m).parent(), Some(&*root.join("--home-ada-a--")));
    m.move_to("/home/ada/b").unwrap();
    assert_eq!(file(&m).parent(), Some(&*root.join("--home-ada-b--")));
    // A folder of another name, and the default folder of another project.
    for name in ["sessions-of-mine", "--home-ada-other--"] {
        let mut m = dir.options().session_dir(root.join(name)).create("/home/ada/shop").unwrap();
        m.append_message(ASSISTANT).unwrap();
        let old = file(&m);
        m.move_to("/home/ada/c").unwrap();
        assert_eq!(file(&m).parent(), Some(&*dir.sessions().join("--home-ada-c--")));
        assert!(!old.exists());
        std::fs::remove_file(file(&m)).unwrap();
    }
}

// What was never written, and what was deleted, moves too.
#[test]
fn without_a_file() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.set_session_name("Name", TitleSource::User).unwrap();
    m.move_to("/home/ada/a").unwrap();
    assert!(!file(&m).exists());
    assert_eq!(m.header().cwd.as_deref(), Some("/home/ada/a"));
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    assert!(before.starts_with(&lines(&[
        r#"{"type":"session","version":3,"id":"a000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/a","title":"Name","titleSource":"user"}"#
    ])));
    std::fs::remove_file(file(&m)).unwrap();
    m.move_to("/home/ada/b").unwrap();
    assert_eq!(text(&m), before.replace("/home/ada/a", "/home/ada/b"));
    // The whole folder is gone.
    std::fs::remove_dir_all(file(&m).parent().unwrap()).unwrap();
    m.move_to("/home/ada/c").unwrap();
    assert_eq!(text(&m), before.replace("/home/ada/a", "/home/ada/c"));
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", "00000002", "00000003"]);
}

// To where it is: nothing is done.
#[test]
fn to_its_own_place() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    m.move_to("/home/ada/shop").unwrap();
    m.move_to("/home/ada/shop/").unwrap();
    assert_eq!(text(&m), before);
    // Two projects that share a folder (F18): only the header changes.
    let path = file(&m);
    m.save_artifact(b"x", "bash").unwrap();
    let mut other = dir.options().open(&path).unwrap();
    other.move_to("/home/ada-shop").unwrap();
    assert_eq!((file(&other), text(&other)), (path, before.replace("/home/ada/shop", "/home/ada-shop")));
    assert!(other.artifact_path("0").is_some());
}

// What another process appended goes along, and the leaf stays.
#[test]
fn lines_of_others_go_along() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let mut other = dir.options().generator(super::common::sequence_b()).open(file(&m)).unwrap();
    let theirs = other.append_message(USER).unwrap();
    m.move_to("/home/ada/a").unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", &theirs]);
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));
    // The other has lost its file, and writes it again at its place (R53b).
    let more = other.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&other)).unwrap()), ["00000001", &theirs, &more]);
}

// Nothing that exists is replaced, be it a file, a folder, or artifacts; then all is as before.
#[test]
fn nothing_is_replaced() {
    for blocker in ["file", "empty file", "folder", "artifacts"] {
        let dir = Dir::new();
        let mut m = dir.create();
        m.append_message(ASSISTANT).unwrap();
        m.save_artifact(b"x", "bash").unwrap();
        let (old, before) = (file(&m), text(&m));
        let new = dir.sessions().join("--home-ada-a--").join(old.file_name().unwrap());
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        match blocker {
            "file" => std::fs::write(&new, "mine").unwrap(),
            "empty file" => std::fs::write(&new, "").unwrap(),
            "folder" => std::fs::create_dir(&new).unwrap(),
            _ => std::fs::create_dir(new.with_extension("")).unwrap(),
        }
        assert_eq!(m.move_to("/home/ada/a").unwrap_err().code(), ErrorCode::AlreadyExists, "{blocker}");
        assert_eq!((file(&m), text(&m), m.cwd()), (old.clone(), before, Path::new("/home/ada/shop")));
        assert_eq!(m.header().cwd.as_deref(), Some("/home/ada/shop"));
        assert_eq!(read(&m.artifact_path("0").unwrap()), "x");
        if blocker == "file" {
            assert_eq!(read(&new), "mine");
        }
        assert_eq!(names_in(new.parent().unwrap()).len(), 1, "{blocker}");
        m.append_message(USER).unwrap();
        assert_eq!(ids(&SessionView::open(&old).unwrap()).len(), 2);
    }
}
