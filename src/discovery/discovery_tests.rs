use super::{SessionFinder, header_of};
use crate::{MemorySessionStorage, SessionStorage as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A folder of sessions.
struct Sessions(tempfile::TempDir);

impl Sessions {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Writes a file that was changed at `second`.
    fn file(&self, name: &str, text: &str, second: u64) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    }

    fn session(&self, name: &str, id: &str, second: u64) -> PathBuf {
        self.file(name, &format!("{{\"type\":\"session\",\"id\":\"{id}\"}}\n"), second)
    }

    fn finder(&self) -> SessionFinder {
        SessionFinder::new().roots([self.0.path()])
    }

    fn names(&self, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(self.0.path()).unwrap().display().to_string()).collect()
    }
}

// R39: the newest that is a session.
#[test]
fn newest() {
    let dir = Sessions::new();
    assert_eq!(dir.finder().newest(), None);
    assert_eq!(SessionFinder::new().roots([dir.0.path().join("none")]).newest(), None);
    assert_eq!(SessionFinder::new().roots(Vec::<PathBuf>::new()).newest(), None);
    dir.session("a/old.jsonl", "1", 1);
    let new = dir.session("b/new.jsonl", "2", 2);
    dir.file("a/empty.jsonl", "", 3);
    dir.file("a/text.jsonl", "hello\n", 4);
    dir.file("a/no-id.jsonl", "{\"type\":\"session\"}\n", 5);
    dir.session("a/other.json", "6", 6);
    assert_eq!(dir.finder().newest(), Some(new));
    // Of the same age: by name.
    let last = dir.session("b/z.jsonl", "7", 9);
    dir.session("b/y.jsonl", "8", 9);
    assert_eq!(dir.finder().newest(), Some(last));
}

// R41: any depth; no dot names, no symbolic links; only files.
#[test]
fn files() {
    let dir = Sessions::new();
    dir.session("p/a.jsonl", "1", 1);
    dir.session("p/a/0-task.jsonl", "2", 3);
    dir.session("top.jsonl", "3", 2);
    dir.session(".hidden/b.jsonl", "4", 4);
    dir.session("p/.b.jsonl", "5", 5);
    std::fs::create_dir_all(dir.0.path().join("folder.jsonl")).unwrap();
    dir.session("folder.jsonl/in.jsonl", "6", 0);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(dir.0.path().join("top.jsonl"), dir.0.path().join("link.jsonl")).unwrap();
        std::os::unix::fs::symlink(dir.0.path(), dir.0.path().join("loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.0.path().join("broken.jsonl")).unwrap();
    }
    let want = ["p/a/0-task.jsonl", "top.jsonl", "p/a.jsonl", "folder.jsonl/in.jsonl"];
    assert_eq!(
        dir.names(&dir.finder().list_all().sessions.into_iter().map(|session| session.path).collect::<Vec<_>>()),
        want
    );
}

// Part C, resolveResumableSession: a prefix of the id, of the file name, or of what follows its
// last `_`; case does not count; the newest first.
#[test]
fn prefixes() {
    let dir = Sessions::new();
    let name = "2026-02-16T10-20-30-000Z_x_1F9D2a6b.jsonl";
    let session = dir.session(name, "AbCdEf", 1);
    for prefix in ["a", "ABCDEF", "abcdef", "2026-02", "2026-02-16t10-20-30-000z_x_1f9d2A6b", "1f9", "1F9D2A6B"] {
        assert_eq!(dir.finder().by_prefix(prefix).unwrap(), [&*session], "{prefix}");
    }
    for prefix in ["bcd", "abcdefg", "x_1f", "02-16", "f9d", "2026-03"] {
        assert!(dir.finder().by_prefix(prefix).unwrap().is_empty(), "{prefix}");
    }
    dir.session("other_1f00.jsonl", "zz", 3);
    dir.session("third.jsonl", "1f", 2);
    dir.file("no_1f.jsonl", "not a session", 9);
    assert_eq!(dir.names(&dir.finder().by_prefix("1").unwrap()), ["other_1f00.jsonl", "third.jsonl", name]);
    assert_eq!(dir.finder().by_prefix("").unwrap().len(), 3);
    // A whole id is not the start of others, and neither is a whole name; two of them are told.
    assert_eq!(dir.names(&dir.finder().by_prefix("1F").unwrap()), ["third.jsonl"]);
    assert_eq!(dir.names(&dir.finder().by_prefix("Other_1F00").unwrap()), ["other_1f00.jsonl"]);
    dir.session("fourth_1f00.jsonl", "yy", 1);
    assert_eq!(dir.names(&dir.finder().by_prefix("1f00").unwrap()), ["other_1f00.jsonl", "fourth_1f00.jsonl"]);
    // Of the file name: with its ending too.
    assert_eq!(dir.names(&dir.finder().by_prefix("third.jsonl").unwrap()), ["third.jsonl"]);
}

// A session that two roots lead to is one session.
#[test]
fn roots_that_overlap() {
    let dir = Sessions::new();
    let session = dir.session("in/a_1.jsonl", "x1", 1);
    let roots = [dir.0.path().to_owned(), dir.0.path().join("in")];
    assert_eq!(SessionFinder::new().roots(roots).by_prefix("x1").unwrap(), [session]);
}

// R15: the header is looked for in the first 64 KiB.
#[test]
fn headers() {
    let dir = Sessions::new();
    let read = |path: &Path| header_of(None, path).unwrap().map(|header| header.id);
    let header = "{\"type\":\"session\",\"id\":\"s\"}";
    let at = |before: usize| format!("{}\n{header}\n{{\"type\":\"x\"}}", "x".repeat(before - 1));
    let limit = 64 << 10;
    assert_eq!(read(&dir.file("a", &at(limit - header.len()), 0)).as_deref(), Some("s"));
    assert_eq!(read(&dir.file("b", &at(limit - header.len() + 1), 0)), None);
    assert_eq!(read(&dir.file("c", "", 0)), None);
    assert_eq!(read(&dir.file("d", header, 0)).as_deref(), Some("s"));
    let long = format!("{{\"type\":\"session\",\"id\":\"long\",\"title\":\"{}\"}}\n", "t".repeat(50_000));
    assert_eq!(read(&dir.file("e", &long, 0)).as_deref(), Some("long"));
    let error = header_of(None, &dir.0.path().join("none")).unwrap_err();
    assert_eq!(error.path(), Some(&*dir.0.path().join("none")));
}

// R38, R15: the prefix of a storage may end one unit early, where a pair of surrogates would be
// split: that is not the end of the file.
#[test]
fn a_prefix_that_would_split_a_character() {
    let storage = MemorySessionStorage::new();
    let path = Path::new("/s/a.jsonl");
    let start = r#"{"type":"session","id":"s","title":""#;
    for at in 4093..=4096 {
        // The pair of the emoji are the units at `at` and the next.
        let text = format!("{start}{}😀\"}}\n", "t".repeat(at - start.len()));
        storage.write_text(path, &text).unwrap();
        let header = header_of(Some(&storage), path).unwrap();
        assert_eq!(header.map(|header| header.id).as_deref(), Some("s"), "{at}");
    }
}
