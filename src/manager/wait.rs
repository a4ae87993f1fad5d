//! Waiting for other processes without the manager, for programs that must not block the thread it is on.

use super::{Backend, SessionManager};
use crate::error::Result;
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

/// Waits for the lock of a session, and takes nothing: [`SessionManager::lock_wait`].
#[derive(Debug)]
pub struct LockWait(SessionLock);

impl LockWait {
    /// Waits until nobody holds the lock. Another process may take it before it is used.
    ///
    /// # Errors
    /// `LOCKED` when the time is over.
    pub fn wait(&mut self) -> Result<()> {
        self.0.acquire(false).map(drop)
    }
}
