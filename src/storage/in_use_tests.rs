//! What one process tells the others that have a session open.

use super::{Alone, Fate, InUse};
use std::fs;
use std::path::{Path, PathBuf};

fn held(session: &Path) -> InUse {
    let mut in_use = InUse::new(session);
    in_use.hold();
    in_use
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_last_one_removes_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("s.jsonl");
    let (one, another) = (held(&session), held(&session));
    assert_eq!(names(dir.path()), [".s.jsonl.use"]);
    assert!(Alone::with(&session).is_none());
    drop(one);
    assert_eq!(names(dir.path()), [".s.jsonl.use"]);
    assert!(Alone::with(&session).is_none());
    drop(another);
    assert_eq!(names(dir.path()), [""; 0]);
    assert!(Alone::with(&session).is_some());
    assert_eq!(names(dir.path()), [""; 0]);
}

// However often it is moved, and by whom: each that had it open before learns where it is.
#[test]
fn u08_the_file_goes_with_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        fs::create_dir_all(dir.path().join(name)).unwrap();
        dir.path().join(name).join("s.jsonl")
    };
    let (mut one, mut another, third) = (held(&at("a")), held(&at("a")), held(&at("a")));
    assert_eq!(third.said(), None);
    one.say(Some(&Fate::Moved(at("b"))));
    one.move_to(&at("b"));
    assert_eq!(third.said(), Some(Fate::Moved(at("b"))));
    another.follow_to(&at("b"));
    another.say(Some(&Fate::Moved(at("c"))));
    another.move_to(&at("c"));
    assert_eq!(third.said(), Some(Fate::Moved(at("c"))));
    assert_eq!(names(&dir.path().join("a")), [""; 0]);
    assert_eq!(names(&dir.path().join("b")), [""; 0]);
    let fourth = held(&at("c"));
    assert_eq!(fourth.said(), Some(Fate::Moved(at("c"))));
    another.say(None);
    assert_eq!(third.said(), None);
}

// What is left of a process that died is nothing that was said to this one.
#[test]
fn what_was_said_to_others_is_not_said_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("s.jsonl");
    fs::write(dir.path().join(".s.jsonl.use"), "deleted\0\0").unwrap();
    assert_eq!(held(&session).said(), None);
    let mut one = held(&session);
    one.say(Some(&Fate::Deleted));
    // Said while this one has it open.
    let another = held(&session);
    assert_eq!((one.said(), another.said()), (Some(Fate::Deleted), Some(Fate::Deleted)));
    one.remove();
    assert_eq!(another.said(), Some(Fate::Deleted));
    assert_eq!(held(&session).said(), None);
}

// A link would make a file elsewhere, and a directory that is not there is not made.
#[test]
fn where_no_file_can_be_made_nothing_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let session = dir.path().join("s.jsonl");
    assert_eq!(held(&dir.path().join("none/s.jsonl")).said(), None);
    assert!(!dir.path().join("none").exists());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join(".s.jsonl.use")).unwrap();
        let mut in_use = held(&session);
        in_use.say(Some(&Fate::Deleted));
        assert_eq!(in_use.said(), None);
        assert!(!dir.path().join("elsewhere").exists());
    }
    assert!(!session.exists());
}

// What is being said does not hide what was said before.
#[test]
fn half_a_word_says_nothing() {
    let before = Fate::Moved(PathBuf::from("/before"));
    for fate in [None, Some(Fate::Deleted), Some(Fate::Moved(PathBuf::from("/a b/\n/s.jsonl")))] {
        let start = Fate::to_bytes(Some(&before));
        let said = [&*start, &Fate::to_bytes(fate.as_ref())].concat();
        assert_eq!(Fate::from_bytes(&said), fate);
        for cut in start.len()..said.len() {
            assert_eq!(Fate::from_bytes(&said[..cut]).as_ref(), Some(&before), "{cut}");
        }
        // Reading may begin in the middle of what was said before.
        assert_eq!(Fate::from_bytes(&said[3..]), fate);
        assert_eq!(Fate::from_bytes(&said[8..]), fate);
    }
    assert_eq!(Fate::from_bytes(b""), None);
    assert_eq!(Fate::from_bytes(b"else\0"), None);
}
