//! The prompt history: what a person wrote, in any session, in one SQLite database.
//!
//! Other programs share the database, so the names in it are fixed (R42). Sessions never need it:
//! a history that cannot be opened or written costs nobody a session.

mod damage;
mod database;
mod links;
mod rows;
mod schema;
mod search;
mod writer;

use crate::error::{Error, ErrorCode, Result};
use crate::paths;
use database::{Access, Database};
use links::Slot;
use rows::Made;
use search::{Place, Query};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use writer::Writer;

/// How long another program's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// At most this many rows come back from one call.
const MOST: usize = 1000;

/// A prompt of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// Counts up; never given twice.
    pub id: i64,
    /// What was written, without blanks at either end.
    pub prompt: String,
    /// When it was stored, in seconds since 1970-01-01T00:00Z.
    pub created_at: i64,
    /// The folder it was written in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Which prompts of a history are asked for: by default the last 1,000.
///
/// ```
/// let query = leaflog::HistoryQuery::new().words("tide gauge").cwd("/home/ada/tidewatch").limit(20);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct HistoryQuery {
    words: Option<String>,
    cwd: Option<PathBuf>,
    limit: usize,
}

impl Default for HistoryQuery {
    fn default() -> Self {
        Self { words: None, cwd: None, limit: MOST }
    }
}

impl HistoryQuery {
    /// All prompts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only prompts that have, for every word of `query`, a word or a part of a word that begins with it:
    /// `youer` finds `initYouerTable` and `youer_table`. In scripts without blanks between words, such as
    /// Chinese, any piece of a run of letters is a word. Case and accents do not matter, and nothing in a query is an
    /// operator. When no prompt has words that begin so, those that have them inside of words are found.
    ///
    /// A query without words finds nothing. Of more than 64 different words the first 64 count. What FTS5 cannot find
    /// is looked for in the last 200,000 prompts, and in 256 MiB of them.
    pub fn words(mut self, query: impl Into<String>) -> Self {
        self.words = Some(query.into());
        self
    }

    /// Only prompts that were written in this directory.
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    /// At most so many, and never more than 1,000.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// How a directory may be spelled in a history: as it was given, and with its links followed.
fn spellings(dir: &Path) -> Vec<String> {
    let mut spellings = Vec::new();
    for dir in [paths::absolute(dir), paths::resolved(dir)] {
        let dir = dir.to_string_lossy();
        spellings.extend([format!("{dir}/"), dir.into_owned()]);
    }
    spellings
}

/// The prompt history, a SQLite database that any number of processes may have open. It comes with
/// the feature `history`, which is on by default.
///
/// ```
/// # fn main() -> leaflog::Result<()> {
/// # let dir = tempfile::tempdir().expect("a folder");
/// # let path = dir.path().join("history.db");
/// let history = leaflog::HistoryStorage::open(&path)?;
/// history.add("mend the tide gauge", Some("/home/ada/tidewatch"))?;
/// history.close()?;
///
/// let history = leaflog::HistoryStorage::open_read_only(&path)?;
/// assert_eq!(history.search("gau men", 10)?[0].prompt, "mend the tide gauge");
/// # Ok(())
/// # }
/// ```
///
/// # Writing
/// [`add`](Self::add) puts the prompt into a queue and returns in microseconds. A thread of the
/// storage's own writes the queue, one transaction a batch: at once after a pause, and then about
/// every 100 ms. [`flush`](Self::flush) waits until all is written. A prompt that is written is safe
/// from the end of the process; a power cut may cost the last ones.
///
/// **Call [`close`](Self::close), or at least `flush`, before the process ends.** Dropping the
/// storage closes it too, but `std::process::exit`, a signal, or the end of a JavaScript runtime
/// drops nothing: then prompts of the last 100 ms may be lost. The library sets up nothing that
/// runs at exit: it could not wait for another program's lock there, nor say that it failed.
///
/// # Threads and processes
/// It is `Send` and `Sync`: share one with an [`Arc`]. Readers do not wait for the thread that
/// writes. In one process two storages of the same file are allowed, but each has its own idea of
/// the previous prompt; one a process is enough. A forked child must not use its parent's.
///
/// A process must not open the database with **two copies of SQLite**, such as this library's and
/// that of the JavaScript runtime: when one closes the file, the system takes away the locks of the
/// other, and the database may be damaged.
///
/// # When something is wrong
/// * *Locked* by another program: it is waited for 5 seconds, then the call returns `LOCKED`. Prompts that could not be
///   stored for that reason are kept, at most 10,000 and 64 MiB of them, and tried again: after a second, with the next
///   `flush`, and a last time when the storage is closed.
/// * *Read-only* folder or file: reading works where SQLite can; `add` or the next `flush` gives
///   `PERMISSION_DENIED`. There is one case that cannot be read: when a program was killed before
///   its write-ahead log went into the file.
/// * *Damaged*: the database is copied to `<file>.invalid-<timestamp>`, with its `-wal`, and begun anew; see
///   [`set_aside`](Self::set_aside). That may be noticed only when it is read: then a prompt that was stored just before
///   is in the copy, and may be added again. When only the search index or the index of times is damaged, or missing,
///   it is made anew and nothing is lost. Who may only read does without it: a search then goes as far back
///   as is said of [`HistoryQuery::words`].
/// * *No database*, and never one: a file that begins neither as one nor with NUL bytes is an error,
///   `INVALID_ARGUMENT`, and stays as it is.
/// * On a *network folder*, or a file system without shared memory, the database gets a rollback
///   journal in place of the write-ahead log. Network folders are recognised on Linux and Windows.
/// * *Removed or replaced* while it is open: the next batch goes to the file at the path. Every link of this process to
///   the old file is closed before one to the new file is opened. What was stored around that moment may be lost.
/// * *Constraints* of another program's table: where a prompt may be there only once, its time becomes that of the last
///   use. A prompt that any other constraint refuses costs itself only; `flush` returns the error.
#[derive(Debug)]
pub struct HistoryStorage {
    database: Arc<Database>,
    /// `None` when prompts can only be read.
    writer: Option<Writer>,
    reader: Slot,
}

impl HistoryStorage {
    /// Opens the history at `path`, made with its folder when it is missing: folders for their owner
    /// only (0700), the file too (0600). A table of an older kind is brought up to date. What may not
    /// be written is opened for reading. The agent's own is `history.db` in its folder.
    ///
    /// # Errors
    /// `LOCKED` when another program holds the lock for 5 seconds; `PERMISSION_DENIED` when the file
    /// cannot be read, or be made; `IS_A_DIRECTORY`; `INVALID_ARGUMENT` for what is no plain file, or
    /// never was a database; `IO` for any other failure. The error has the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path.as_ref(), PATIENCE)
    }

    fn open_with(path: &Path, patience: Duration) -> Result<Self> {
        let (database, slot) = Database::open(paths::absolute(path), patience)?;
        let database = Arc::new(database);
        if database.access != Access::Write {
            return Ok(Self { database, writer: None, reader: slot });
        }
        let reader = database.links.slot();
        let writer = Some(Writer::start(Arc::clone(&database), slot)?);
        Ok(Self { database, writer, reader })
    }

    /// Opens a history that is there, and changes nothing in it. While it is open there may be a
    /// `-wal` and a `-shm` file beside it: SQLite's locks are in them.
    ///
    /// # Errors
    /// As [`open`](Self::open); `NOT_FOUND` when there is none.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        let (database, reader) = Database::open_existing(paths::absolute(path.as_ref()), PATIENCE)?;
        Ok(Self { database: Arc::new(database), writer: None, reader })
    }

    /// The database.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.database.path
    }

    /// Where a damaged database was copied to before it was begun anew, if this storage did that.
    #[must_use]
    pub fn set_aside(&self) -> Option<PathBuf> {
        self.database.set_aside.lock().clone()
    }

    /// Adds a prompt written in the folder `cwd`, for the thread to store. Blanks at its ends go, as
    /// JavaScript trims; an empty prompt, and one equal to the previous, is not stored. A NUL within
    /// it stays.
    ///
    /// # Errors
    /// Only what is known at once: `CLOSED`; `PERMISSION_DENIED` when the history is read-only;
    /// `INVALID_ARGUMENT` for a gigabyte. Failures of storing come from [`flush`](Self::flush).
    pub fn add(&self, prompt: &str, cwd: Option<&str>) -> Result<()> {
        match &self.writer {
            Some(writer) => writer.add(prompt, cwd),
            None if self.reader.is_closed() => Err(closed(self.path())),
            None => Err(self.database.read_only()),
        }
    }

    /// The same for UTF-16, as JavaScript has it: U+FFFD takes the place of a lone surrogate.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_utf16(&self, prompt: &[u16], cwd: Option<&[u16]>) -> Result<()> {
        self.add(&String::from_utf16_lossy(prompt), cwd.map(String::from_utf16_lossy).as_deref())
    }

    /// Stores at once what was added before, and waits for that.
    ///
    /// # Errors
    /// `LOCKED` when another program holds the lock for 5 seconds; the prompts are kept, and tried again. For any other
    /// failure, its prompts are given up, and may be added again. A failure of earlier batches is reported once, to the
    /// first caller.
    pub fn flush(&self) -> Result<()> {
        self.writer.as_ref().map_or(Ok(()), Writer::flush)
    }

    /// The last `limit` prompts that are stored, at most 1,000, the newest first.
    ///
    /// # Errors
    /// `CLOSED`, `LOCKED`, or another failure of reading.
    pub fn recent(&self, limit: usize) -> Result<Vec<HistoryEntry>> {
        self.find(&HistoryQuery::new().limit(limit))
    }

    /// The last `limit` stored prompts, at most 1,000, that have every word of the query; the newest first. The same
    /// as [`find`](Self::find) with [`HistoryQuery::words`].
    ///
    /// # Errors
    /// As [`recent`](Self::recent).
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<HistoryEntry>> {
        self.find(&HistoryQuery::new().words(query).limit(limit))
    }

    /// The stored prompts that a query asks for, the newest first.
    ///
    /// # Errors
    /// As [`recent`](Self::recent).
    pub fn find(&self, query: &HistoryQuery) -> Result<Vec<HistoryEntry>> {
        let place = Place(query.cwd.as_deref().map(spellings));
        match query.words.as_deref().map(Query::new) {
            None => self.read(query.limit, |conn, limit, made| {
                let mut entries = Vec::new();
                rows::newest(conn, &place, limit, made, |entry| {
                    entries.push(entry);
                    true
                })?;
                Ok(entries)
            }),
            Some(Some(words)) => self.read(query.limit, |conn, limit, made| words.find(conn, &place, limit, made)),
            Some(None) => self.read(0, |_, _, _| Ok(Vec::new())),
        }
    }

    fn read(
        &self,
        limit: usize,
        read: impl Fn(&rusqlite::Connection, u32, Made) -> rusqlite::Result<Vec<HistoryEntry>>,
    ) -> Result<Vec<HistoryEntry>> {
        const READING: &str = "cannot read the history";
        if self.reader.is_closed() {
            return Err(closed(self.path()));
        }
        let limit = u32::try_from(limit.min(MOST)).unwrap_or_default();
        if limit == 0 {
            return Ok(Vec::new());
        }
        let read = |made| {
            self.reader.with(&self.database, || self.database.link(READING), |link| read(&link.conn, limit, made))
        };
        let result = match read(Made::Used)? {
            // Who may not make it anew does without it.
            Err(error) if damage::is_damage(&error) && self.database.access != Access::Write => read(Made::LeftOut)?,
            Err(error) if damage::is_damage(&error) => {
                if self.database.mend(&error, READING)? {
                    self.writer.iter().for_each(Writer::forget_stored);
                }
                read(Made::Used)?
            }
            result => result,
        };
        result.map_err(|error| self.database.failed(&error, READING))
    }

    /// Stores what was added, ends the thread and lets go of the files; takes 5 seconds when another
    /// program holds the lock. Everything but `flush` and `close` gives `CLOSED` from then on.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). The storage is closed all the same.
    pub fn close(&self) -> Result<()> {
        self.reader.close();
        self.writer.as_ref().map_or(Ok(()), Writer::close)
    }
}

impl Drop for HistoryStorage {
    /// Closes it; nobody is told of a failure.
    fn drop(&mut self) {
        let _: Result<()> = self.close();
    }
}

fn closed(path: &Path) -> Error {
    Error::new(ErrorCode::Closed, "the history is closed").at(path)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
