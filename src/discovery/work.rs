//! Reads many files on a few threads.

use super::Listing;
use super::info::SessionInfo;
use super::summary::Worker;
use crate::error::{Error, ErrorCode, Result};
use crate::storage::walk::Found;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// More do not read faster, and each has a buffer.
const MOST_THREADS: usize = 4;

/// What the threads share.
struct Shared<'a> {
    files: &'a [Found],
    /// Indices into `files`, the largest file first: what is left last is short.
    order: Vec<usize>,
    next: AtomicUsize,
    done: AtomicUsize,
    stop: AtomicBool,
}

/// Runs `read` on every file and gathers what it gives. It is handed a way to ask whether to go on
/// with a file, to be called now and then.
pub(super) fn run<F>(
    files: &[Found],
    threads: Option<NonZero<usize>>,
    progress: Option<&super::Progress>,
    read: F,
) -> Listing
where
    F: Fn(&mut Worker, &Found, &dyn Fn() -> bool) -> Result<Option<SessionInfo>> + Sync,
{
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(files[at].size));
    let shared =
        Shared { files, order, next: AtomicUsize::new(0), done: AtomicUsize::new(0), stop: AtomicBool::new(false) };
    let tell = || {
        if let Some(progress) = progress
            && progress(shared.done.load(Ordering::Relaxed), files.len()).is_break()
        {
            shared.stop.store(true, Ordering::Relaxed);
        }
    };
    let most = threads.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let most = if threads.is_some() { most } else { most.min(MOST_THREADS) };
    let (shared, read) = (&shared, &read);
    let mut listing = Listing::default();
    tell();
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, move || shared.work(read, &|| ()));
        // Those the system does not give are done without.
        let others: Vec<_> = (1..most.min(files.len())).map_while(|nth| start(nth).ok()).collect();
        let mut parts = vec![shared.work(read, &tell)];
        for other in others {
            match other.join() {
                Ok(part) => parts.push(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        for (sessions, problems) in parts {
            listing.sessions.extend(sessions);
            listing.problems.extend(problems);
        }
    });
    tell();
    listing.cancelled = shared.stop.load(Ordering::Relaxed);
    listing.sessions.sort_unstable_by(|a, b| b.age().cmp(&a.age()));
    listing
}

impl Shared<'_> {
    fn work<F>(&self, read: &F, tell: &dyn Fn()) -> (Vec<SessionInfo>, Vec<Error>)
    where
        F: Fn(&mut Worker, &Found, &dyn Fn() -> bool) -> Result<Option<SessionInfo>> + Sync,
    {
        let mut worker = Worker::new();
        let (mut sessions, mut problems) = (Vec::new(), Vec::new());
        let goes_on = || {
            tell();
            !self.stop.load(Ordering::Relaxed)
        };
        while !self.stop.load(Ordering::Relaxed)
            && let Some(&at) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed))
        {
            match read(&mut worker, &self.files[at], &goes_on) {
                Ok(session) => sessions.extend(session),
                // Removed meanwhile.
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => problems.push(error),
            }
            self.done.fetch_add(1, Ordering::Relaxed);
            tell();
        }
        (sessions, problems)
    }
}
