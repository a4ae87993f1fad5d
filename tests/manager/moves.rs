//! `move_to` (part C): file, artifacts and header go to another project's folder.

use super::common::sequence_b;
use super::common::{ASSISTANT, Dir, USER, file, ids, leaf, lines, names_in, read, text};
use leaflog::{ErrorCode, Generator, SessionManager, SessionView, TitleSource};
use std::path::Path;
use std::sync::{Arc, Mutex};

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
    assert_eq!(names_in(new.parent().unwrap()), [".s.jsonl.lock", ".s.jsonl.use", "s", "s.jsonl"]);
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
    let mut other = dir.options().generator(sequence_b()).open(file(&m)).unwrap();
    let theirs = other.append_message(USER).unwrap();
    m.move_to("/home/ada/a").unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()), ["00000001", &theirs]);
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));
    // The other goes on where the session is (U8).
    let more = other.append_message(USER).unwrap();
    assert_eq!(file(&other), file(&m));
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

/// Does something in the middle of a move: when the time is asked for.
#[derive(Clone, Default)]
struct Meanwhile(Arc<Mutex<Option<Action>>>);

type Action = Box<dyn FnOnce() + Send>;

impl Meanwhile {
    fn set(&self, action: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::new(action));
    }
}

impl Generator for Meanwhile {
    fn now_ms(&self) -> i64 {
        let action = self.0.lock().unwrap().take();
        action.into_iter().for_each(|action| action());
        1_771_237_230_000
    }

    fn entry_id(&self) -> u32 {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0xc1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    fn session_id(&self) -> String {
        "c000000000000001".into()
    }
}

/// A started session that does something in the middle of its next move.
fn interrupted(dir: &Dir) -> (SessionManager, Meanwhile) {
    let meanwhile = Meanwhile::default();
    let mut m = dir.options().generator(meanwhile.clone()).create("/home/ada/shop").unwrap();
    m.append_message(ASSISTANT).unwrap();
    (m, meanwhile)
}

// A1: the new place was free when it was looked at, and is not when it is written to.
#[test]
fn a01_a_session_that_appears_at_the_new_place() {
    let dir = Dir::new();
    let (mut m, meanwhile) = interrupted(&dir);
    let (old, before) = (file(&m), text(&m));
    let new = dir.sessions().join("--home-ada-a--").join(old.file_name().unwrap());
    let theirs =
        before.replace("/home/ada/shop", "/home/ada/a") + "{\"type\":\"custom\",\"id\":\"theirs\",\"parentId\":null}\n";
    meanwhile.set({
        let (new, theirs) = (new.clone(), theirs.clone());
        move || std::fs::write(new, theirs).unwrap()
    });
    assert_eq!(m.move_to("/home/ada/a").unwrap_err().code(), ErrorCode::AlreadyExists);
    assert_eq!((read(&new), read(&old)), (theirs, before));
    assert_eq!((file(&m), m.cwd()), (old.clone(), Path::new("/home/ada/shop")));
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(&old).unwrap()).len(), 2);
}

// B5: what is removed between the look and the lock is not made again by the way.
#[test]
fn b05_a_session_that_is_removed_meanwhile() {
    let dir = Dir::new();
    let (mut m, meanwhile) = interrupted(&dir);
    let old = file(&m);
    m.append_message(USER).unwrap();
    meanwhile.set({
        let old = old.clone();
        // Another process writes to the session, so that there is something to take in under the lock.
        move || std::fs::remove_file(old).unwrap()
    });
    let moved = m.move_to("/home/ada/a");
    // It was there when the move began, or it was not: either way it is at one place, or at none.
    let new = dir.sessions().join("--home-ada-a--").join(old.file_name().unwrap());
    assert!(!old.exists());
    match moved {
        Ok(()) => assert_eq!(ids(&SessionView::open(&new).unwrap()).len(), 2),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::NotFound);
            assert!(!new.exists());
            assert_eq!(file(&m), old);
        }
    }
    m.append_message(USER).unwrap();
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()).len(), 3);
}

// U8: two that have one session open, and move it in turn.
#[test]
fn u08_each_goes_where_the_session_is() {
    let dir = Dir::new();
    let mut a = dir.create();
    a.append_message(ASSISTANT).unwrap();
    a.save_artifact(b"one", "bash").unwrap();
    let mut b = dir.options().generator(sequence_b()).open(file(&a)).unwrap();
    let mut c = dir.options().open(file(&a)).unwrap();
    a.move_to("/home/ada/a").unwrap();
    // To where it is already.
    b.move_to("/home/ada/a").unwrap();
    assert_eq!((file(&b), b.cwd(), b.session_dir()), (file(&a), a.cwd(), a.session_dir()));
    b.move_to("/home/ada/b").unwrap();
    b.append_message(USER).unwrap();
    b.move_to("/home/ada/d").unwrap();
    // From two places on, a name, and then an append.
    assert!(a.set_session_name("Name", TitleSource::User).unwrap());
    assert_eq!((file(&a), a.cwd()), (file(&b), Path::new("/home/ada/d")));
    // An artifact before anything is written.
    assert_eq!(c.save_artifact(b"two", "bash").unwrap(), "1");
    assert_eq!(c.append_message(USER).unwrap().len(), 8);
    assert_eq!(file(&c), file(&b));
    assert_eq!(ids(&SessionView::open(file(&b)).unwrap()).len(), 3);
    assert_eq!(SessionView::open(file(&b)).unwrap().title(), Some("Name"));
    for gone in ["shop", "a", "b"] {
        assert_eq!(names_in(&dir.sessions().join(format!("--home-ada-{gone}--"))), [""; 0], "{gone}");
    }
    assert_eq!(names_in(b.session_dir()).len(), 4);
    drop((a, b, c));
    assert_eq!(names_in(&dir.sessions().join("--home-ada-d--")).len(), 3);
}

// U8: what was said of one session is not believed of another.
#[test]
fn u08_another_session_at_the_place_that_was_said() {
    let dir = Dir::new();
    let mut a = dir.create();
    a.append_message(ASSISTANT).unwrap();
    let mut b = dir.options().generator(sequence_b()).open(file(&a)).unwrap();
    let old = file(&a);
    a.move_to("/home/ada/a").unwrap();
    let other = text(&a).replace("a000000000000001", "f000000000000001");
    std::fs::write(file(&a), &other).unwrap();
    b.append_message(USER).unwrap();
    assert_eq!((file(&b), text(&a)), (old.clone(), other));
    assert_eq!(ids(&SessionView::open(old).unwrap()).len(), 2);
}

// A11: the session that a link leads to is moved, with its artifacts; the link leads nowhere, and goes.
#[cfg(unix)]
#[test]
fn a11_through_a_link() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.save_artifact(b"one", "bash").unwrap();
    let real = file(&m);
    drop(m);
    let link = dir.sessions().join("links/x.jsonl");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut m = dir.options().generator(sequence_b()).open(&link).unwrap();
    m.append_message(USER).unwrap();
    let mut other = dir.options().open(&real).unwrap();
    m.move_to("/home/ada/a").unwrap();
    assert_eq!(file(&m), dir.sessions().join("--home-ada-a--/x.jsonl"));
    assert!(!real.exists() && !link.is_symlink());
    assert_eq!(read(&m.artifact_path("0").unwrap()), "one");
    other.append_message(USER).unwrap();
    assert_eq!(file(&other), file(&m));
    assert_eq!(ids(&SessionView::open(file(&m)).unwrap()).len(), 3);
    // One to nowhere, and a move that fails: the link stays.
    std::os::unix::fs::symlink(file(&m), &link).unwrap();
    let mut m = dir.options().open(&link).unwrap();
    let blocker = dir.sessions().join("--home-ada-b--/x.jsonl");
    std::fs::create_dir_all(&blocker).unwrap();
    assert_eq!(m.move_to("/home/ada/b").unwrap_err().code(), ErrorCode::AlreadyExists);
    assert!(link.exists());
}
