//! Storing prompts: a thread that writes what was added, one transaction a batch.

use super::damage;
use super::database::Database;
use super::links::Slot;
use super::schema;
use crate::error::{Error, ErrorCode, Result};
use crate::text::trim;
use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The least time from the end of a batch to the next.
const BATCH: Duration = Duration::from_millis(100);

/// SQLite stores rows of 1,000,000,000 bytes at most; this leaves room for their frame.
const LONGEST: usize = 999_000_000;

/// How long another program's lock is left alone after it was waited for in vain.
const AGAIN: Duration = Duration::from_secs(1);

/// So many prompts wait for another program's lock at most, and so many bytes.
const MOST_WAITING: usize = 10_000;
const MOST_BYTES_WAITING: usize = 64 << 20;

const STORING: &str = "cannot store prompts";

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    database: Arc<Database>,
    queue: Mutex<Queue>,
    /// The thread waits for this.
    work: Condvar,
    /// Who waits for the thread waits for this.
    settled: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    rows: Vec<Row>,
    /// The last prompt that was added and did not fail (R43).
    last: Option<Arc<str>>,
    /// How many rows were ever added, and how many of them were written or given up.
    added: u64,
    settled: u64,
    /// How many times storing was begun, and how many of these ended.
    begun: u64,
    done: u64,
    /// Why the first rows, which were to be stored before, are still here.
    delay: Option<Error>,
    /// Somebody waits: the next batch begins at once.
    urgent: bool,
    closed: bool,
    /// The thread is gone.
    ended: bool,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Row {
    prompt: Arc<str>,
    cwd: Option<Box<str>>,
}

/// The last batch of which something was given up.
#[derive(Debug)]
struct Failure {
    error: Error,
    /// `settled` with its rows.
    upto: u64,
    told: bool,
}

impl Writer {
    pub(super) fn start(database: Arc<Database>, slot: Slot) -> Result<Self> {
        let last = slot.with(&database, || database.open_writing(), |link| last_prompt(&link.conn))?;
        let last = last.map_err(|error| database.failed(&error, super::database::OPENING))?;
        let queue = Queue { last, ..Queue::default() };
        let (work, settled) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { database, queue: Mutex::new(queue), work, settled });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("leaflog-history".to_owned()).spawn(move || run(&its, &slot));
        let thread = thread.map_err(|error| Error::io(error, "cannot start a thread", &shared.database.path))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn add(&self, prompt: &str, cwd: Option<&str>) -> Result<()> {
        let prompt = trim(prompt);
        if prompt.len() + cwd.map_or(0, str::len) > LONGEST {
            let message = format!("a prompt of {} bytes is too long for the history", prompt.len());
            return Err(Error::new(ErrorCode::InvalidArgument, message).at(&self.shared.database.path));
        }
        let mut queue = self.shared.queue.lock();
        if queue.closed || queue.ended {
            return Err(super::closed(&self.shared.database.path));
        }
        if prompt.is_empty() || queue.last.as_deref() == Some(prompt) {
            return Ok(());
        }
        let prompt = Arc::<str>::from(prompt);
        queue.last = Some(Arc::clone(&prompt));
        queue.rows.push(Row { prompt, cwd: cwd.map(Box::from) });
        queue.added += 1;
        let first = queue.rows.len() == 1;
        drop(queue);
        if first {
            self.shared.work.notify_one();
        }
        Ok(())
    }

    /// The stored prompts are gone, the previous one with them: it may be added again.
    pub(super) fn forget_stored(&self) {
        let mut queue = self.shared.queue.lock();
        // What waits is still to be stored, and the last of it to be remembered.
        if queue.rows.is_empty() {
            queue.last = None;
        }
    }

    pub(super) fn flush(&self) -> Result<()> {
        let mut queue = self.shared.queue.lock();
        let (from, upto) = (queue.settled, queue.added);
        let untold = queue.failure.as_ref().is_some_and(|failure| !failure.told);
        if !queue.rows.is_empty() {
            queue.urgent = true;
            self.shared.work.notify_one();
        }
        // One try with all that was added before: the one under way has what is not in the queue.
        let tries = queue.begun + u64::from(!queue.rows.is_empty());
        while queue.settled < upto && queue.done < tries && !queue.ended {
            self.shared.settled.wait(&mut queue);
        }
        if queue.settled < upto {
            return Err(queue.delay.clone().unwrap_or_else(|| super::closed(&self.shared.database.path)));
        }
        match &mut queue.failure {
            // Everybody who waited for the batch is told, or the first who asks.
            Some(failure) if untold || failure.upto > from => {
                failure.told = true;
                Err(failure.error.clone())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn close(&self) -> Result<()> {
        self.shared.queue.lock().closed = true;
        self.shared.work.notify_one();
        let mut thread = self.thread.lock();
        if let Some(thread) = thread.take() {
            // It panicked, if at all, after it marked itself as ended.
            let _: thread::Result<()> = thread.join();
        }
        self.flush()
    }
}

/// Tells those who wait when the thread ends in any way.
struct Ending<'s>(&'s Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.queue.lock().ended = true;
        self.0.settled.notify_all();
    }
}

fn run(shared: &Shared, slot: &Slot) {
    let _ending = Ending(shared);
    // The first prompt after a pause is written at once, and those that follow it together.
    let mut next = Instant::now();
    loop {
        let mut queue = shared.queue.lock();
        while queue.rows.is_empty() {
            if queue.closed {
                return;
            }
            shared.work.wait(&mut queue);
        }
        while !queue.urgent && !queue.closed && Instant::now() < next {
            shared.work.wait_until(&mut queue, next);
        }
        let rows = std::mem::take(&mut queue.rows);
        queue.urgent = false;
        queue.begun += 1;
        drop(queue);

        let stored = store(&shared.database, slot, &rows);

        let mut queue = shared.queue.lock();
        next = Instant::now() + if queue.ended_with(rows, stored) { BATCH } else { AGAIN };
        drop(queue);
        shared.settled.notify_all();
    }
}

impl Queue {
    /// Notes how the storing of `rows` ended. `false` when they wait for another try.
    fn ended_with(&mut self, mut rows: Vec<Row>, stored: Result<Option<Error>>) -> bool {
        self.done += 1;
        let count = rows.len() as u64;
        let failure = match stored {
            Err(error) if error.code() == ErrorCode::Locked && !self.closed => {
                rows.append(&mut self.rows);
                self.rows = rows;
                self.give_up_the_oldest(&error);
                self.delay = Some(error);
                return false;
            }
            Ok(rejected) => rejected,
            Err(error) => Some(error),
        };
        self.settled += count;
        self.delay = None;
        if let Some(error) = failure {
            self.failure = Some(Failure { error, upto: self.settled, told: false });
            // What was added since is still to be stored, and the last of it to be remembered.
            if self.rows.is_empty() {
                self.last = None;
            }
        }
        true
    }

    /// A program that never lets go of its lock must not cost this one its memory.
    fn give_up_the_oldest(&mut self, error: &Error) {
        let mut bytes = 0;
        let fits = |row: &&Row| {
            bytes += row.prompt.len() + row.cwd.as_ref().map_or(0, |cwd| cwd.len());
            bytes <= MOST_BYTES_WAITING
        };
        // At least the last one is kept.
        let kept = self.rows.iter().rev().take(MOST_WAITING).take_while(fits).count().max(1);
        let given_up = self.rows.len() - kept;
        if given_up > 0 {
            self.rows.drain(..given_up);
            self.settled += given_up as u64;
            let message = format!("{}; the oldest {given_up} of the prompts that wait are given up", error.message());
            let error = match error.path() {
                Some(path) => Error::new(error.code(), message).at(path),
                None => Error::new(error.code(), message),
            };
            self.failure = Some(Failure { error, upto: self.settled, told: false });
        }
    }
}

/// Stores the rows; the error of those that the database does not take, if there are any.
fn store(database: &Database, slot: &Slot, rows: &[Row]) -> Result<Option<Error>> {
    // A file that was removed or replaced is opened again: what goes to the old one is lost.
    let insert = || slot.with(database, || database.open_writing(), |link| insert(&mut link.conn, rows));
    let result = match insert()? {
        Err(error) if damage::is_damage(&error) => {
            database.mend(&error, STORING)?;
            insert()?
        }
        result => result,
    };
    let rejected = result.map_err(|error| database.failed(&error, STORING))?;
    Ok(rejected.map(|Rejected { count, first }| {
        let what = format!("cannot store {count} of {} prompts, the others are stored", rows.len());
        database.failed(&first, &what)
    }))
}

/// Rows that the database does not take.
struct Rejected {
    count: usize,
    first: rusqlite::Error,
}

/// Stores the rows. When it is the table of words that refuses them, and not their own, the error is one of damage.
fn insert(conn: &mut Connection, rows: &[Row]) -> rusqlite::Result<Option<Rejected>> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let refused = match insert_each(&tx, rows) {
        // The words are written at the latest now.
        Ok(None) => match tx.commit() {
            Ok(()) => return Ok(None),
            Err(error) => Rejected { count: rows.len(), first: error },
        },
        Ok(Some(rejected)) => {
            tx.rollback()?;
            rejected
        }
        Err(error) => {
            drop(tx);
            Rejected { count: rows.len(), first: error }
        }
    };
    if !damage::may_be_of_words(&refused.first) {
        // A value of a type or length that the table does not take is about a row.
        return if is_about_the_row(&refused.first) { insert_without(conn, rows) } else { Err(refused.first) };
    }
    // Nothing of this trial stays.
    let trial = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let refused_without_words = match schema::leave_words_out(&trial).and_then(|()| insert_each(&trial, rows)) {
        Ok(rejected) => rejected.map_or(0, |rejected| rejected.count),
        // Then it is not the words alone.
        Err(error) if damage::is_damage(&error) => return Err(error),
        Err(_) => return Err(refused.first),
    };
    trial.rollback()?;
    if refused_without_words < refused.count {
        return Err(damage::of_words(&refused.first));
    }
    insert_without(conn, rows)
}

/// Stores the rows but for those that the table refuses.
fn insert_without(conn: &mut Connection, rows: &[Row]) -> rusqlite::Result<Option<Rejected>> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let rejected = insert_each(&tx, rows)?;
    tx.commit()?;
    Ok(rejected)
}

/// Each row for itself: other programs' tables have constraints that this one does not know, and a
/// row that meets one must not cost the others. Where a prompt may be there only once, its time moves.
fn insert_each(tx: &Transaction<'_>, rows: &[Row]) -> rusqlite::Result<Option<Rejected>> {
    const INSERT: &str = "INSERT INTO history (prompt, cwd) VALUES (?1, ?2)
        ON CONFLICT DO UPDATE SET created_at = excluded.created_at, cwd = coalesce(excluded.cwd, cwd)
        WHERE prompt = excluded.prompt";
    let mut rejected: Option<Rejected> = None;
    let mut insert = tx.prepare(INSERT)?;
    for row in rows {
        let error = match insert.execute((&*row.prompt, row.cwd.as_deref())) {
            // The row of another prompt is in the way.
            Ok(0) => rusqlite::Error::SqliteFailure(
                ffi::Error::new(ffi::SQLITE_CONSTRAINT_UNIQUE),
                Some("another prompt has what may be there only once".to_owned()),
            ),
            Ok(_) => continue,
            Err(error) if is_about_the_row(&error) && !tx.is_autocommit() => error,
            Err(error) => return Err(error),
        };
        match &mut rejected {
            Some(rejected) => rejected.count += 1,
            None => rejected = Some(Rejected { count: 1, first: error }),
        }
    }
    Ok(rejected)
}

/// As far as the code of the failure tells.
fn is_about_the_row(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Sqlite;
    matches!(error.sqlite_error_code(), Some(Sqlite::ConstraintViolation | Sqlite::TypeMismatch | Sqlite::TooBig))
}

fn last_prompt(conn: &Connection) -> rusqlite::Result<Option<Arc<str>>> {
    let mut last = conn.prepare("SELECT prompt FROM history ORDER BY id DESC LIMIT 1")?;
    let mut rows = last.query(())?;
    Ok(rows.next()?.map(|row| super::rows::text(row, 0)).transpose()?.flatten().map(Arc::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(prompts: impl Iterator<Item = String>) -> Vec<Row> {
        prompts.map(|prompt| Row { prompt: Arc::from(prompt), cwd: None }).collect()
    }

    fn locked() -> Error {
        Error::new(ErrorCode::Locked, "locked")
    }

    // B22: what waits is bounded, and what is given up is told.
    #[test]
    fn b22_the_oldest_are_given_up() {
        let mut queue = Queue { rows: rows(["new".to_owned()].into_iter()), added: 10_003, ..Queue::default() };
        let old = rows((0..10_002).map(|at| format!("old {at}")));
        assert!(!queue.ended_with(old, Err(locked())));
        assert_eq!((queue.rows.len(), queue.settled), (10_000, 3));
        assert_eq!((&*queue.rows[0].prompt, &*queue.rows[9_999].prompt), ("old 3", "new"));
        let failure = queue.failure.take().unwrap();
        assert_eq!((failure.error.code(), failure.upto), (ErrorCode::Locked, 3));
        assert_eq!(failure.error.message(), "locked; the oldest 3 of the prompts that wait are given up");

        // By size: two of 40 MB are too much, and one is kept however long it is.
        for (long, kept) in [(40 << 20, 1), (70 << 20, 1), (30 << 20, 2)] {
            let mut queue = Queue { added: 2, ..Queue::default() };
            let old = rows(["a", "b"].into_iter().map(|letter| letter.repeat(long)));
            assert!(!queue.ended_with(old, Err(locked())));
            assert_eq!((queue.rows.len(), queue.settled), (kept, 2 - kept as u64));
            assert!(queue.rows.last().unwrap().prompt.starts_with('b'));
        }
    }

    #[test]
    fn b22_only_a_lock_is_waited_for() {
        let mut queue = Queue { last: Some("x".into()), added: 1, ..Queue::default() };
        assert!(queue.ended_with(rows(["x".to_owned()].into_iter()), Err(Error::new(ErrorCode::Io, "full"))));
        assert_eq!((queue.rows.len(), queue.settled, queue.last), (0, 1, None));
        assert_eq!(queue.failure.unwrap().error.message(), "full");
        // Nor is one when the storage is closed.
        let mut queue = Queue { closed: true, added: 1, ..Queue::default() };
        assert!(queue.ended_with(rows(["x".to_owned()].into_iter()), Err(locked())));
        assert_eq!((queue.rows.len(), queue.settled), (0, 1));
    }
}
