//! The handle of a session.

use crate::error::convert;
use crate::prints::Prints;
use leaflog::{Error, ErrorCode, SessionManager, SessionView};
use napi::bindgen_prelude::External;
use parking_lot::{Mutex, MutexGuard};
use std::ops::Deref;
use std::sync::Arc;

/// What a handle stands for. The mutex is held by one call at a time; a flush on another thread lets go of
/// it while the disk is waited for.
#[allow(clippy::large_enum_variant, reason = "there is one, behind an Arc, and most are managers")]
pub enum Session {
    /// A manager and what it had to log.
    Manager { manager: Mutex<SessionManager>, log: Log, prints: Prints },
    /// What a manager held at a moment.
    View(SessionView, Prints),
}

/// Handle of a session.
pub(crate) type Handle = External<Arc<Session>>;

/// Lines for the logger, which belongs to the engine's thread and fetches them.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// A session that is read.
pub(crate) enum Reading<'a> {
    Manager(MutexGuard<'a, SessionManager>),
    View(&'a SessionView),
}

impl Deref for Reading<'_> {
    type Target = SessionView;

    fn deref(&self) -> &SessionView {
        match self {
            Self::Manager(manager) => manager,
            Self::View(view) => view,
        }
    }
}

impl Session {
    pub(crate) fn of(manager: SessionManager, log: Log) -> Self {
        Self::Manager { manager: Mutex::new(manager), log, prints: Prints::default() }
    }

    pub(crate) fn view(view: SessionView) -> Self {
        Self::View(view, Prints::default())
    }

    pub(crate) fn prints(&self) -> &Prints {
        let (Self::Manager { prints, .. } | Self::View(_, prints)) = self;
        prints
    }

    pub(crate) fn read(&self) -> Reading<'_> {
        match self {
            Self::Manager { manager, .. } => Reading::Manager(manager.lock()),
            Self::View(view, _) => Reading::View(view),
        }
    }

    pub(crate) fn manager(&self) -> leaflog::Result<MutexGuard<'_, SessionManager>> {
        match self {
            Self::Manager { manager, .. } => Ok(manager.lock()),
            Self::View(..) => Err(Error::new(ErrorCode::InvalidArgument, "this session is only read")),
        }
    }

    /// The same for a function that the engine calls.
    pub(crate) fn opened(&self) -> napi::Result<MutexGuard<'_, SessionManager>> {
        self.manager().map_err(convert)
    }

    /// Runs what changes the manager.
    pub(crate) fn run<T>(&self, run: impl FnOnce(&mut SessionManager) -> leaflog::Result<T>) -> napi::Result<T> {
        run(&mut *self.opened()?).map_err(convert)
    }
}

/// Gives the engine a session, and tells it how much it holds.
pub(crate) fn handle(session: Session) -> Handle {
    /// The index takes 32 bytes an entry and its id map about as much.
    const PER_ENTRY: usize = 64;
    /// A manager's buffers; and its file stays open until the engine drops it, which it should not
    /// put off for hundreds of others.
    const EACH: usize = 64 << 10;
    let size = EACH + session.read().entries().len() * PER_ENTRY;
    External::new_with_size_hint(Arc::new(session), size)
}
