//! The handle of a session.

use crate::error::Failure;
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{SessionManager, SessionView};
use std::sync::{Arc, Mutex, TryLockError};

/// A session that is worked on, or one that is only read. The caller frees it with
/// `leaflog_session_free()`.
///
/// One that is worked on is for one thread at a time and may be handed to another; a call while
/// another call is using it is LEAFLOG_STATUS_BUSY and does nothing. One that was opened for reading
/// only may be used by any number of threads at once; functions that change a session give
/// LEAFLOG_STATUS_READ_ONLY for it.
///
/// Iterators keep the session they were made of; what they lend is theirs. Every text it gives is the
/// caller's own.
pub struct leaflog_session {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_session {
    type Object = Session;
    const NAME: &'static str = "session";
}

pub(crate) enum Session {
    View(Box<SessionView>),
    Manager(Box<Mutex<SessionManager>>),
}

impl From<SessionManager> for Session {
    fn from(manager: SessionManager) -> Self {
        Self::Manager(Box::new(Mutex::new(manager)))
    }
}

impl From<SessionView> for Session {
    fn from(view: SessionView) -> Self {
        Self::View(Box::new(view))
    }
}

impl Session {
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::View(_))
    }

    /// Reads the session.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&SessionView) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Self::View(view) => read(view),
            Self::Manager(_) => self.work(|manager| read(manager)),
        }
    }

    /// Works on the session.
    pub(crate) fn work<T>(&self, work: impl FnOnce(&mut SessionManager) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Self::View(_) => Err(Failure::new(leaflog_status::ReadOnly, "the session was opened for reading only")),
            Self::Manager(manager) => work(&mut *lock(manager, "session")?),
        }
    }
}

/// The content of a lock that nobody waits for: who finds it taken is told so.
pub(crate) fn lock<'a, T>(mutex: &'a Mutex<T>, what: &str) -> Result<std::sync::MutexGuard<'a, T>, Failure> {
    mutex.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Failure::busy(what),
        TryLockError::Poisoned(_) => Failure::broken(what),
    })
}

pub(crate) fn get(session: *const leaflog_session) -> Result<Arc<Session>, Failure> {
    table::get(session)
}

/// Reads the session of a handle.
pub(crate) fn read<T>(
    session: *const leaflog_session,
    read: impl FnOnce(&SessionView) -> Result<T, Failure>,
) -> Result<T, Failure> {
    get(session)?.read(read)
}

/// Works on the session of a handle.
pub(crate) fn work<T>(
    session: *const leaflog_session,
    work: impl FnOnce(&mut SessionManager) -> Result<T, Failure>,
) -> Result<T, Failure> {
    get(session)?.work(work)
}
