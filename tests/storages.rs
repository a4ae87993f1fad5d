//! The two storages, and a storage of a user's own (R37): one body over all, then where they
//! differ; sessions over each.
#![allow(clippy::unwrap_used)]

mod support;

#[path = "storages/queued.rs"]
mod queued;
#[path = "storages/sessions.rs"]
mod sessions;

use leaflog::{ErrorCode, FileSessionStorage, MemorySessionStorage, SessionStorage, WriterMode, conformance};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Runs a body over both, each with a folder of its own.
fn over_both(body: impl Fn(&dyn SessionStorage, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    body(&FileSessionStorage, dir.path());
    body(&MemorySessionStorage::new(), Path::new("/memory"));
}

/// The names of files that are listed.
fn names(storage: &dyn SessionStorage, dir: &Path, pattern: &str) -> Vec<String> {
    let mut names: Vec<String> = storage
        .list_files(dir, pattern)
        .iter()
        .map(|path| {
            assert_eq!(path.parent(), Some(dir));
            path.file_name().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    names.sort();
    names
}

// R37: texts.
#[test]
fn texts() {
    over_both(|storage, dir| {
        // The folders above a file are made.
        let path = dir.join("a/b/x.jsonl");
        assert!(!storage.exists(&path));
        storage.write_text(&path, "one\ntwo\n").unwrap();
        assert!(storage.exists(&path));
        assert_eq!(storage.read_text(&path).unwrap(), "one\ntwo\n");
        // A shorter text takes the place of all of it.
        storage.write_text(&path, "é\u{0}😀").unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "é\u{0}😀");
        storage.write_text(&path, "").unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "");
        assert_eq!(storage.stat(&path).unwrap().size, 0);
        assert!(storage.exists(&path));
    });
}

// R37: the beginning of a text.
#[test]
fn prefixes() {
    over_both(|storage, dir| {
        let path = dir.join("x.jsonl");
        storage.write_text(&path, "header\nrest").unwrap();
        for (most, want) in [(0, ""), (1, "h"), (7, "header\n"), (11, "header\nrest"), (4096, "header\nrest")] {
            assert_eq!(storage.read_prefix(&path, most).unwrap(), want.as_bytes());
        }
    });
}

// R37: what is not there. A missing file is no session and no text, but one code.
#[test]
fn missing_files() {
    over_both(|storage, dir| {
        let path = dir.join("none/x.jsonl");
        assert!(!storage.exists(&path));
        for error in [
            storage.read(&path).map(drop).unwrap_err(),
            storage.read_prefix(&path, 10).map(drop).unwrap_err(),
            storage.stat(&path).unwrap_err(),
        ] {
            assert_eq!((error.code(), error.path()), (ErrorCode::NotFound, Some(&*path)));
        }
        assert_eq!(storage.list_files(&dir.join("none"), "*"), Vec::<PathBuf>::new());
    });
}

// R37: folders.
#[test]
fn folders() {
    over_both(|storage, dir| {
        let inner = dir.join("a/b/c");
        storage.ensure_dir(&inner).unwrap();
        storage.ensure_dir(&inner).unwrap();
        storage.write_text(&inner.join("x"), "x").unwrap();
        storage.ensure_dir(&inner).unwrap();
        assert_eq!(storage.read_text(&inner.join("x")).unwrap(), "x");
    });
}

// R37: the patterns are `*`, `*.ext` and a name; files of folders below are not listed.
#[test]
fn listing() {
    over_both(|storage, dir| {
        for name in ["b.jsonl", "a.jsonl", "c.json", "d", "e.jsonl.bak", "*", "ü.jsonl", "jsonl"] {
            storage.write_text(&dir.join(name), name).unwrap();
        }
        storage.write_text(&dir.join("below/f.jsonl"), "").unwrap();
        let all = ["*", "a.jsonl", "b.jsonl", "c.json", "d", "e.jsonl.bak", "jsonl", "ü.jsonl"];
        assert_eq!(names(storage, dir, "*"), all);
        assert_eq!(names(storage, dir, "*.jsonl"), ["a.jsonl", "b.jsonl", "ü.jsonl"]);
        assert_eq!(names(storage, dir, "*.jsonl.bak"), ["e.jsonl.bak"]);
        assert_eq!(names(storage, dir, "c.json"), ["c.json"]);
        for none in ["", "b", "*.json2", "?.jsonl", "[ab].jsonl", "*b.jsonl", "a.*", "**", "below", "below/f.jsonl"] {
            assert_eq!(names(storage, dir, none), [""; 0], "{none}");
        }
        assert_eq!(names(storage, &dir.join("below"), "*"), ["f.jsonl"]);
    });
}

// R37: a rename puts a file in another's place.
#[test]
fn renames() {
    over_both(|storage, dir| {
        let [a, b] = [dir.join("a"), dir.join("b")];
        storage.write_text(&a, "text of a").unwrap();
        storage.rename(&a, &b).unwrap();
        assert_eq!((storage.exists(&a), storage.read_text(&b).unwrap()), (false, "text of a".into()));
        storage.write_text(&a, "new").unwrap();
        storage.rename(&a, &b).unwrap();
        assert_eq!((storage.exists(&a), storage.read_text(&b).unwrap()), (false, "new".into()));
        // To its own name: nothing is lost.
        storage.rename(&b, &b).unwrap();
        assert_eq!(storage.read_text(&b).unwrap(), "new");
        storage.unlink(&b).unwrap();
        assert!(!storage.exists(&b));
    });
}

// R37: writers.
#[test]
fn writers() {
    over_both(|storage, dir| {
        let path = dir.join("new/x.jsonl");
        let mut writer = storage.open_writer(&path, WriterMode::Append).unwrap();
        writer.write_line(b"one\n").unwrap();
        writer.flush().unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "one\n");
        // A line brings its newline, and nothing is added.
        writer.write_line("é😀".as_bytes()).unwrap();
        writer.write_line(b"\nthree\n").unwrap();
        writer.fsync().unwrap();
        assert_eq!(writer.error().map(|error| error.message()), None);
        assert_eq!(storage.read_text(&path).unwrap(), "one\né😀\nthree\n");
        writer.close().unwrap();
        writer.close().unwrap();
        let error = writer.write_line(b"four\n").unwrap_err();
        assert_eq!((error.code(), &*error.message()), (ErrorCode::Closed, "Writer closed"));
        // That it was closed is not the writer's error.
        assert_eq!(writer.error().map(|error| error.message()), None);
        writer.close().unwrap();

        // Another goes on behind what is there, or begins anew.
        let mut writer = storage.open_writer(&path, WriterMode::Append).unwrap();
        writer.write_line(b"four\n").unwrap();
        writer.close().unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "one\né😀\nthree\nfour\n");
        let mut writer = storage.open_writer(&path, WriterMode::Truncate).unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "");
        writer.write_line(b"1\n").unwrap();
        // What somebody else wrote meanwhile stays, with either mode.
        let mut other = storage.open_writer(&path, WriterMode::Append).unwrap();
        other.write_line(b"2\n").unwrap();
        writer.write_line(b"3\n").unwrap();
        assert_eq!(storage.read_text(&path).unwrap(), "1\n2\n3\n");
        drop(writer);
        drop(other);
        assert_eq!(storage.read_text(&path).unwrap(), "1\n2\n3\n");
    });
}

// R37: sizes are bytes in files and units in memory, also of a beginning.
#[test]
fn sizes() {
    let text = "é漢😀x";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    FileSessionStorage.write_text(&path, text).unwrap();
    assert_eq!(FileSessionStorage.stat(&path).unwrap().size, 2 + 3 + 4 + 1);
    assert_eq!(FileSessionStorage.read_prefix(&path, 5).unwrap(), "é漢".as_bytes());
    // Also in the middle of a character.
    assert_eq!(FileSessionStorage.read_prefix(&path, 4).unwrap(), b"\xc3\xa9\xe6\xbc");

    let storage = MemorySessionStorage::new();
    storage.write_text(&path, text).unwrap();
    assert_eq!(storage.stat(&path).unwrap().size, 1 + 1 + 2 + 1);
    for (most, want) in [(1, "é"), (2, "é漢"), (4, "é漢😀"), (5, text), (9, text)] {
        assert_eq!(storage.read_prefix(&path, most).unwrap(), want.as_bytes());
    }
    // Half a pair is no text.
    assert_eq!(storage.read_prefix(&path, 3).unwrap(), "é漢".as_bytes());
    // B25: a damaged byte is one unit, and stays what it is.
    storage.write(&path, b"\xff\xc3\xa9x").unwrap();
    assert_eq!(storage.stat(&path).unwrap().size, 3);
    assert_eq!(storage.read_prefix(&path, 2).unwrap(), b"\xff\xc3\xa9");
}

// R37: when a file last changed.
#[test]
fn modification_times() {
    over_both(|storage, dir| {
        let path = dir.join("x");
        storage.write_text(&path, "").unwrap();
        let written = storage.stat(&path).unwrap().modified;
        assert!(written > SystemTime::UNIX_EPOCH);
        storage.read_text(&path).unwrap();
        storage.rename(&path, &dir.join("y")).unwrap();
        // Neither reading nor a new name changes a file.
        assert_eq!(storage.stat(&dir.join("y")).unwrap().modified, written);
    });
}

// B11: a rename and a removal of what is gone change nothing and are no errors, in every storage.
#[test]
fn b11_renames_and_removals_of_missing_files() {
    over_both(|storage, dir| {
        let [a, b] = [dir.join("a"), dir.join("b")];
        storage.rename(&a, &b).unwrap();
        assert!(!storage.exists(&b));
        storage.write(&b, b"b").unwrap();
        storage.rename(&a, &b).unwrap();
        assert_eq!(storage.read(&b).unwrap(), b"b");
        storage.unlink(&a).unwrap();
        storage.unlink(&b).unwrap();
        storage.unlink(&b).unwrap();
        assert!(!storage.exists(&b));
    });
}

// R37, files: a directory that is missing is the target's, not the source's: that is an error.
#[test]
fn missing_directories() {
    let dir = tempfile::tempdir().unwrap();
    let b = dir.path().join("b");
    std::fs::write(&b, "b").unwrap();
    let error = FileSessionStorage.rename(&b, &dir.path().join("none/c")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(std::fs::read(&b).unwrap(), b"b");
}

// R37, memory: a missing file in the words that callers know.
#[test]
fn missing_files_in_memory() {
    let storage = MemorySessionStorage::new();
    let path = Path::new("/sessions/none.jsonl");
    for error in [
        storage.read(path).map(drop).unwrap_err(),
        storage.read_prefix(path, 1).map(drop).unwrap_err(),
        storage.stat(path).map(drop).unwrap_err(),
    ] {
        assert_eq!((error.code(), &*error.message()), (ErrorCode::NotFound, "File not found: /sessions/none.jsonl"));
    }
}

// B11: one suite over all storages, and over what points to one.
#[test]
fn b11_conformance() {
    let dir = tempfile::tempdir().unwrap();
    let new = |name: &str| dir.path().join(name);
    conformance::storage(&FileSessionStorage, &new("files")).unwrap();
    conformance::storage(&Arc::new(FileSessionStorage), &new("shared files")).unwrap();
    conformance::storage(&Box::new(&FileSessionStorage), &new("borrowed files")).unwrap();
    conformance::storage(&MemorySessionStorage::new(), Path::new("/memory")).unwrap();
    let any: Arc<dyn SessionStorage> = Arc::new(MemorySessionStorage::new());
    conformance::storage(&any, Path::new("/memory")).unwrap();
    conformance::storage(&queued::Queued::default(), Path::new("/queued")).unwrap();
}

/// Hands everything on, with one fault.
struct Faulty(MemorySessionStorage, &'static str);

impl SessionStorage for Faulty {
    fn ensure_dir(&self, dir: &Path) -> leaflog::Result<()> {
        self.0.ensure_dir(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn read(&self, path: &Path) -> leaflog::Result<Vec<u8>> {
        match self.1 {
            "text" => self.0.read_text(path).map(String::into_bytes),
            "no error" => self.0.read(path).or(Ok(Vec::new())),
            _ => self.0.read(path),
        }
    }
    fn read_prefix(&self, path: &Path, limit: usize) -> leaflog::Result<Vec<u8>> {
        self.0.read_prefix(path, if self.1 == "whole" { usize::MAX } else { limit })
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> leaflog::Result<()> {
        self.0.write(path, bytes)
    }
    fn stat(&self, path: &Path) -> leaflog::Result<leaflog::StorageStat> {
        self.0.stat(path)
    }
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.0.list_files(dir, if self.1 == "all" { "*" } else { pattern })
    }
    fn rename(&self, from: &Path, to: &Path) -> leaflog::Result<()> {
        match self.1 {
            "strict" => self.0.read(from).and_then(|_| self.0.rename(from, to)),
            "copies" => self.0.read(from).and_then(|bytes| self.0.write(to, &bytes)).or(Ok(())),
            _ => self.0.rename(from, to),
        }
    }
    fn unlink(&self, path: &Path) -> leaflog::Result<()> {
        self.0.unlink(path)
    }
    fn open_writer(&self, path: &Path, mode: WriterMode) -> leaflog::Result<Box<dyn leaflog::SessionStorageWriter>> {
        self.0.open_writer(path, if self.1 == "no truncation" { WriterMode::Append } else { mode })
    }
}

// B11: the suite sees a storage that does not keep the contract, and says what it is.
#[test]
fn b11_conformance_sees_faults() {
    for (fault, want) in [
        ("text", "the file has these bytes"),
        ("no error", "reading a missing file is NOT_FOUND"),
        ("whole", "read_prefix gives the first 0"),
        ("all", "list_files of \"*.jsonl\""),
        ("strict", "rename of a missing file fails"),
        ("copies", "after rename nothing is at the old path"),
        ("no truncation", "a writer that begins with an empty file"),
    ] {
        let why = conformance::storage(&Faulty(MemorySessionStorage::new(), fault), Path::new("/x")).unwrap_err();
        assert!(why.contains(want), "{fault}: {why}");
    }
    conformance::storage(&Faulty(MemorySessionStorage::new(), ""), Path::new("/x")).unwrap();
}

// B9: a write that fails or is cut short leaves the old content; a link is followed, and what is not a
// plain file is not replaced.
#[cfg(unix)]
#[test]
fn b09_writes_take_the_place_of_the_file() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = tempfile::tempdir().unwrap();
    let [path, link] = [dir.path().join("x.jsonl"), dir.path().join("link.jsonl")];
    FileSessionStorage.write(&path, b"old").unwrap();
    let inode = || std::fs::metadata(&path).unwrap().ino();
    // Held open, so that its inode is not given again.
    let (old, held) = (inode(), std::fs::File::open(&path).unwrap());
    std::os::unix::fs::symlink(&path, &link).unwrap();
    FileSessionStorage.write(&link, b"new").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((std::fs::read(&path).unwrap(), inode() != old), (b"new".to_vec(), true));
    assert_eq!(std::io::read_to_string(held).unwrap(), "old");
    let sub = dir.path().join("dir");
    std::fs::create_dir(&sub).unwrap();
    assert_eq!(FileSessionStorage.write(&sub, b"x").unwrap_err().code(), ErrorCode::IsADirectory);
    let error = FileSessionStorage.write(Path::new("/dev/null"), b"x").unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::InvalidArgument, Some(Path::new("/dev/null"))));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
}

// R37, files: plain files only, no dot names, no links, and nothing when a folder cannot be read.
#[test]
fn listing_in_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("plain.jsonl"), "").unwrap();
    std::fs::write(at(".hidden.jsonl"), "").unwrap();
    std::fs::create_dir(at("folder.jsonl")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        std::os::unix::fs::symlink(at("plain.jsonl"), at("link.jsonl")).unwrap();
        std::os::unix::fs::symlink(at("none"), at("dangling.jsonl")).unwrap();
        // A name that is no text is none that a pattern names.
        std::fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"\xff.jsonl")), "").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket.jsonl")).unwrap();
    }
    for pattern in ["*", "*.jsonl", "plain.jsonl"] {
        assert_eq!(names(&FileSessionStorage, dir.path(), pattern), ["plain.jsonl"]);
    }
    for pattern in [".hidden.jsonl", "folder.jsonl", "link.jsonl", "dangling.jsonl", "socket.jsonl"] {
        assert_eq!(names(&FileSessionStorage, dir.path(), pattern), [""; 0], "{pattern}");
    }
    assert_eq!(FileSessionStorage.list_files(&at("plain.jsonl"), "*"), Vec::<PathBuf>::new());
}

// R37, memory: copies share their files.
#[test]
fn copies_in_memory() {
    let storage = MemorySessionStorage::new();
    let copy = storage.clone();
    copy.write_text(Path::new("/a"), "a").unwrap();
    assert_eq!(storage.read_text(Path::new("/a")).unwrap(), "a");
    assert!(!MemorySessionStorage::new().exists(Path::new("/a")));
    // A writer writes to a file that was removed meanwhile: it is there again.
    let mut writer = storage.open_writer(Path::new("/a"), WriterMode::Append).unwrap();
    copy.unlink(Path::new("/a")).unwrap();
    writer.write_line(b"b\n").unwrap();
    assert_eq!(copy.read_text(Path::new("/a")).unwrap(), "b\n");
    writer.close().unwrap();
    // Closed or not, nothing waits to be synced.
    writer.fsync().unwrap();
    writer.flush().unwrap();
}

// R37, files: after closing nothing can be synced.
#[test]
fn writers_of_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = FileSessionStorage.open_writer(&dir.path().join("x"), WriterMode::Append).unwrap();
    writer.close().unwrap();
    let error = writer.fsync().unwrap_err();
    assert_eq!((error.code(), &*error.message()), (ErrorCode::Closed, "Writer closed"));
    writer.flush().unwrap();
}

// B17: the first error of a writer stays, with its code and its cause.
#[test]
fn b17_the_first_error_of_a_writer() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        support::skip(format_args!("errors of a writer (no /dev/full)"));
        return;
    }
    let mut writer = FileSessionStorage.open_writer(full, WriterMode::Append).unwrap();
    let first = writer.write_line(b"x\n").unwrap_err();
    assert_eq!((first.code(), first.path()), (ErrorCode::Io, Some(full)));
    assert_eq!(writer.error().map(|error| error.message()), Some(first.message()));
    for error in [writer.write_line(b"y\n"), writer.flush(), writer.fsync()].map(Result::unwrap_err) {
        // ENOSPC is 28.
        assert_eq!((error.code(), error.message(), error.os_errno()), (ErrorCode::Io, first.message(), Some(28)));
    }
    writer.close().unwrap();
    assert_eq!(writer.error().map(|error| error.message()), Some(first.message()));
}

// R55: what the storage makes is for its owner only; what is there keeps its mode.
#[cfg(unix)]
#[test]
fn modes_of_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let text = dir.path().join("a/b/text");
    FileSessionStorage.write_text(&text, "x").unwrap();
    let lines = dir.path().join("c/lines");
    FileSessionStorage.open_writer(&lines, WriterMode::Truncate).unwrap();
    FileSessionStorage.ensure_dir(&dir.path().join("d")).unwrap();
    assert_eq!([mode(&text), mode(&lines)], [0o600; 2]);
    assert_eq!(["a", "a/b", "c", "d"].map(|name| mode(&dir.path().join(name))), [0o700; 4]);
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o644)).unwrap();
    FileSessionStorage.write_text(&text, "y").unwrap();
    assert_eq!(mode(&text), 0o644);
}
