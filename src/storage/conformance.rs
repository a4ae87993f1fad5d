//! What every [`SessionStorage`] promises, as a check for who writes one.
//!
//! ```
//! use leaflog::{MemorySessionStorage, conformance};
//!
//! conformance::storage(&MemorySessionStorage::new(), "/new".as_ref()).unwrap();
//! ```

use super::session_storage::{SessionStorage, WriterMode};
use crate::error::{Error, ErrorCode};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Checks what the documentation of [`SessionStorage`] promises, in the directory `dir` of a storage, in
/// which there is nothing and in which it leaves files. What the storage puts off it is asked to carry
/// out with [`SessionStorage::flush`].
///
/// Sizes are only compared of texts in ASCII, for which bytes and UTF-16 units are the same.
///
/// # Errors
/// In words the first promise that is not kept.
pub fn storage(storage: &dyn SessionStorage, dir: &Path) -> Result<(), String> {
    let check = Check { storage, dir };
    check.missing_files()?;
    check.contents()?;
    check.listing()?;
    check.renames()?;
    check.writers()
}

/// Bytes that a damaged session may have: not UTF-8, NUL, half a surrogate pair.
const DAMAGED: &[u8] = b"{\"a\":\"\xff\xfe\0\xed\xa0\xbd\"}\r\n\n{\"torn";

struct Check<'a> {
    storage: &'a dyn SessionStorage,
    dir: &'a Path,
}

type Checked = Result<(), String>;

/// Fails with a promise that is not kept.
fn promise(kept: bool, promise: &str) -> Checked {
    if kept { Ok(()) } else { Err(format!("not kept: {promise}")) }
}

/// What an operation that has to succeed gives.
fn done<T>(what: &str, result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| format!("{what} fails: {error:?}"))
}

fn is<T>(result: Result<T, Error>, code: ErrorCode) -> bool {
    result.is_err_and(|error| error.code() == code)
}

impl Check<'_> {
    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn has(&self, name: &str, bytes: &[u8], after: &str) -> Checked {
        let path = self.at(name);
        done("flush", self.storage.flush())?;
        promise(self.storage.exists(&path), &format!("after {after} the file exists"))?;
        let found = done("read", self.storage.read(&path))?;
        promise(found == bytes, &format!("after {after} the file has these bytes, and not {found:?}"))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Checked {
        done("write", self.storage.write(&self.at(name), bytes))
    }

    fn missing_files(&self) -> Checked {
        let (storage, path) = (self.storage, self.at("none/x.jsonl"));
        promise(!storage.exists(&path), "a missing file does not exist")?;
        promise(is(storage.read(&path), ErrorCode::NotFound), "reading a missing file is NOT_FOUND")?;
        promise(is(storage.read_prefix(&path, 10), ErrorCode::NotFound), "so is reading the beginning of one")?;
        promise(is(storage.stat(&path), ErrorCode::NotFound), "and looking at one")?;
        promise(storage.list_files(&self.at("none"), "*").is_empty(), "a missing directory lists no files")?;
        self.put("there", b"there")?;
        done("rename of a missing file", storage.rename(&path, &self.at("there")))?;
        self.has("there", b"there", "the rename of a missing file")?;
        done("unlink of a missing file", storage.unlink(&path))?;
        promise(!storage.exists(&path), "a missing file that is removed does not exist")
    }

    fn contents(&self) -> Checked {
        let storage = self.storage;
        // The directories above a file are made.
        self.put("a/b/x.jsonl", b"one\ntwo\n")?;
        self.has("a/b/x.jsonl", b"one\ntwo\n", "write")?;
        // A shorter one takes the place of all of it.
        self.put("a/b/x.jsonl", DAMAGED)?;
        self.has("a/b/x.jsonl", DAMAGED, "write of bytes that are not UTF-8")?;
        self.put("a/b/x.jsonl", b"")?;
        self.has("a/b/x.jsonl", b"", "write of nothing")?;
        for _ in 0..2 {
            done("ensure_dir", storage.ensure_dir(&self.at("a/b/c")))?;
        }
        self.has("a/b/x.jsonl", b"", "ensure_dir")?;
        self.put("header", b"header\nrest")?;
        done("flush", storage.flush())?;
        for (limit, want) in [(0, &b""[..]), (1, b"h"), (7, b"header\n"), (11, b"header\nrest"), (99, b"header\nrest")]
        {
            let found = done("read_prefix", storage.read_prefix(&self.at("header"), limit))?;
            promise(found == want, &format!("read_prefix gives the first {limit}, and not {found:?}"))?;
        }
        let stat = done("stat", storage.stat(&self.at("header")))?;
        promise(stat.size == 11, "stat knows the size")?;
        promise(stat.modified > SystemTime::UNIX_EPOCH, "stat knows when a file was changed")
    }

    fn listing(&self) -> Checked {
        for name in ["list/b.jsonl", "list/a.jsonl", "list/c.json", "list/d", "list/below/e.jsonl"] {
            self.put(name, b"x")?;
        }
        done("flush", self.storage.flush())?;
        let below = &["list/a.jsonl", "list/b.jsonl", "list/c.json", "list/d"][..];
        let patterns = [
            ("*", below),
            ("*.jsonl", &below[..2]),
            ("c.json", &below[2..3]),
            ("", &[]),
            ("*b.jsonl", &[]),
            ("?.jsonl", &[]),
            ("below/e.jsonl", &[]),
        ];
        for (pattern, want) in patterns {
            let mut found = self.storage.list_files(&self.at("list"), pattern);
            found.sort();
            let want: Vec<PathBuf> = want.iter().map(|name| self.at(name)).collect();
            promise(found == want, &format!("list_files of {pattern:?} gives {want:?}, and not {found:?}"))?;
        }
        Ok(())
    }

    fn renames(&self) -> Checked {
        let (storage, from, to) = (self.storage, self.at("from"), self.at("to"));
        for content in [&b"first"[..], DAMAGED] {
            self.put("from", content)?;
            done("rename", storage.rename(&from, &to))?;
            self.has("to", content, "rename")?;
            promise(!storage.exists(&from), "after rename nothing is at the old path")?;
        }
        done("rename to the same path", storage.rename(&to, &to))?;
        self.has("to", DAMAGED, "rename to the same path")?;
        done("unlink", storage.unlink(&to))?;
        done("flush", storage.flush())?;
        promise(!storage.exists(&to), "after unlink the file does not exist")
    }

    fn writers(&self) -> Checked {
        let (storage, path) = (self.storage, self.at("new/lines.jsonl"));
        let open = |mode| done("open_writer", storage.open_writer(&path, mode));
        let mut writer = open(WriterMode::Append)?;
        done("write_line", writer.write_line(b"one\n"))?;
        done("the writer's flush", writer.flush())?;
        self.has("new/lines.jsonl", b"one\n", "write_line and flush")?;
        // A line brings its newline: nothing is added, and nothing is replaced.
        done("write_line", writer.write_line(DAMAGED))?;
        done("fsync", writer.fsync())?;
        promise(writer.error().is_none(), "a writer that did not fail has no error")?;
        for _ in 0..2 {
            done("close", writer.close())?;
        }
        let written = [b"one\n", DAMAGED].concat();
        self.has("new/lines.jsonl", &written, "write_line and close")?;
        promise(is(writer.write_line(b"x\n"), ErrorCode::Closed), "write_line after close is CLOSED")?;
        promise(writer.error().is_none(), "that a writer was closed is not its error")?;
        drop(writer);

        let mut writer = open(WriterMode::Append)?;
        done("write_line", writer.write_line(b"\ntwo\n"))?;
        done("close", writer.close())?;
        self.has("new/lines.jsonl", &[&written[..], b"\ntwo\n"].concat(), "another writer that appends")?;
        let mut writer = open(WriterMode::Truncate)?;
        done("write_line", writer.write_line(b"1\n"))?;
        done("the writer's flush", writer.flush())?;
        // Dropped, and not closed: what was written stays.
        drop(writer);
        self.has("new/lines.jsonl", b"1\n", "a writer that begins with an empty file")
    }
}
