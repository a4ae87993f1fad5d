//! Waiting for other processes without the manager, for programs that must not block the thread it is on.

use super::{Backend, SessionManager};
use crate::error::Result;
use crate::persist::SyncApart;
use crate::storage::lock::SessionLock;
use std::time::Duration;

impl SessionManager {
    /// How long another process's lock is waited for.
    #[must_use]
    pub fn lock_timeout(&self) -> Duration {
        self.options.lock_timeout
    }

    /// Changes how long another process's lock is waited for: from now on, and in sessions that the
    /// manager goes on to. At first it is [`ManagerOptions::lock_timeout`].
    ///
    /// [`ManagerOptions::lock_timeout`]: crate::ManagerOptions::lock_timeout
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.options.lock_timeout = timeout;
        if let Backend::File(file) = &mut self.backend {
            file.set_lock_timeout(timeout);
        }
    }

    /// A way to wait on another thread until no process holds the session's lock; `None` for a session
    /// that is not kept in a file.
    #[must_use]
    pub fn lock_wait(&self, timeout: Duration) -> Option<LockWait> {
        match &self.backend {
            Backend::File(file) => Some(LockWait(file.lock_apart(timeout))),
            Backend::Nowhere | Backend::Storage(_) => None,
        }
    }
}

impl SessionManager {
    /// Begins [`SessionManager::flush`]: writes what is unsaved, and gives what is left to wait for, without
    /// the manager. `None` when nothing is. What is appended meanwhile is not waited for.
    ///
    /// ```
    /// # fn main() -> leaflog::Result<()> {
    /// # let dir = std::env::temp_dir().join(format!("leaflog-flush-{}", std::process::id()));
    /// # let options = leaflog::ManagerOptions::new().agent_dir(&dir);
    /// # let mut session = options.create("/home/ada")?;
    /// session.append_message(r#"{"role":"assistant","content":[]}"#)?;
    /// while let Some(mut flush) = session.begin_flush()? {
    ///     // On another thread, for instance; the session can be appended to meanwhile.
    ///     flush.wait();
    ///     if session.end_flush(flush)? {
    ///         break;
    ///     }
    /// }
    /// # drop(session);
    /// # std::fs::remove_dir_all(dir).unwrap();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`SessionManager::flush`].
    pub fn begin_flush(&mut self) -> Result<Option<FlushWait>> {
        if !self.settle()? {
            return Ok(None);
        }
        let begun = self.flushed(|backend| match backend {
            Backend::File(file) => file.begin_sync(),
            backend => backend.flush().map(|()| None),
        });
        let begun = self.latch(begun)?;
        if begun.is_none() {
            self.view.synced();
        }
        Ok(begun.map(FlushWait))
    }

    /// Ends a flush that was waited for. `false` when another file has taken the place of the session's
    /// since it began, and another flush is needed.
    ///
    /// # Errors
    /// As [`SessionManager::flush`].
    pub fn end_flush(&mut self, flush: FlushWait) -> Result<bool> {
        let ended = match &mut self.backend {
            Backend::File(file) => file.end_sync(flush.0),
            _ => Ok(None),
        };
        let ended = self.latch(ended)?;
        self.check_latch()?;
        if let Some(since) = ended {
            self.view.synced_but(since);
        }
        Ok(ended.is_some())
    }
}

/// The rest of a flush: [`SessionManager::begin_flush`].
#[derive(Debug)]
pub struct FlushWait(SyncApart);

impl FlushWait {
    /// Waits until the disk has what was appended before the flush began. What came of it,
    /// [`SessionManager::end_flush`] says; without that call the next flush does.
    pub fn wait(&mut self) {
        self.0.wait();
    }
}

/// Waits for the lock of a session, and takes nothing: [`SessionManager::lock_wait`].
#[derive(Debug)]
pub struct LockWait(SessionLock);

impl LockWait {
    /// Waits until no process holds the lock. Another process may take it before it is used.
    ///
    /// # Errors
    /// `LOCKED` when the time is over.
    pub fn wait(&mut self) -> Result<()> {
        self.0.acquire(false).map(drop)
    }
}

#[cfg(test)]
#[path = "wait_tests.rs"]
mod tests;
