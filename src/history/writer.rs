//! Storing prompts: a thread that writes what was added, one transaction a batch.

use super::damage;
use super::database::{Database, Link};
use crate::error::{Error, ErrorCode, Result};
use crate::text::trim;
use parking_lot::{Condvar, Mutex};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The least time from the end of a batch to the next.
const BATCH: Duration = Duration::from_millis(100);

/// SQLite stores rows of 1,000,000,000 bytes at most; this leaves room for their frame.
const LONGEST: usize = 999_000_000;

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

/// The last batch that failed.
#[derive(Debug)]
struct Failure {
    error: Error,
    /// `settled` with its rows.
    upto: u64,
    told: bool,
}

impl Writer {
    pub(super) fn start(database: Arc<Database>, link: Link) -> Result<Self> {
        let last = last_prompt(&link.conn).map_err(|error| database.failed(&error, super::database::OPENING))?;
        let queue = Queue { last, ..Queue::default() };
        let (work, settled) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { database, queue: Mutex::new(queue), work, settled });
        let its = Arc::clone(&shared);
        let thread = thread::Builder::new().name("leaflog-history".to_owned()).spawn(move || run(&its, link));
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

    pub(super) fn flush(&self) -> Result<()> {
        let mut queue = self.shared.queue.lock();
        let (from, upto) = (queue.settled, queue.added);
        let untold = queue.failure.as_ref().is_some_and(|failure| !failure.told);
        if !queue.rows.is_empty() {
            queue.urgent = true;
            self.shared.work.notify_one();
        }
        while queue.settled < upto && !queue.ended {
            self.shared.settled.wait(&mut queue);
        }
        if queue.settled < upto {
            return Err(super::closed(&self.shared.database.path));
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

fn run(shared: &Shared, mut link: Link) {
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
        drop(queue);

        let stored = store(&shared.database, &mut link, &rows);
        next = Instant::now() + BATCH;

        let mut queue = shared.queue.lock();
        queue.settled += rows.len() as u64;
        if let Err(error) = stored {
            queue.failure = Some(Failure { error, upto: queue.settled, told: false });
            // What was added since is still to be stored, and the last of it to be remembered.
            if queue.rows.is_empty() {
                queue.last = None;
            }
        }
        drop(queue);
        shared.settled.notify_all();
    }
}

fn store(database: &Database, link: &mut Link, rows: &[Row]) -> Result<()> {
    if !database.is_current(link) {
        // Somebody removed or replaced the file: what goes to the old one is lost.
        *link = database.open_writing()?;
    }
    match insert(&mut link.conn, rows) {
        Err(error) if damage::is_damage(&error) => {
            database.mend(&error, STORING)?;
            *link = database.open_writing()?;
            insert(&mut link.conn, rows).map_err(|error| database.failed(&error, STORING))
        }
        result => result.map_err(|error| database.failed(&error, STORING)),
    }
}

fn insert(conn: &mut Connection, rows: &[Row]) -> rusqlite::Result<()> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    let mut insert = tx.prepare("INSERT INTO history (prompt, cwd) VALUES (?1, ?2)")?;
    for row in rows {
        insert.execute((&*row.prompt, row.cwd.as_deref()))?;
    }
    drop(insert);
    tx.commit()
}

fn last_prompt(conn: &Connection) -> rusqlite::Result<Option<Arc<str>>> {
    let mut last = conn.prepare("SELECT prompt FROM history ORDER BY id DESC LIMIT 1")?;
    let mut rows = last.query(())?;
    Ok(rows.next()?.map(|row| super::rows::text(row, 0)).transpose()?.flatten().map(Arc::from))
}
