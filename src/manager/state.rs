//! Going back to how a manager was.

use super::{Backend, SessionManager};
use crate::error::Error;
use crate::persist::{Known, Pending};
use crate::view::SessionView;
use std::path::PathBuf;

/// What a manager held at a moment: session, leaf, file.
#[derive(Clone, Debug)]
pub struct SessionState {
    view: SessionView,
    cwd: PathBuf,
    session_dir: PathBuf,
    path: Option<PathBuf>,
    started: bool,
    pending: Pending,
    known: Option<Known>,
}

impl SessionState {
    /// The id of the session.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.view.header().id
    }

    /// The session as it was, to be read.
    #[must_use]
    pub fn view(&self) -> &SessionView {
        &self.view
    }
}

impl SessionManager {
    /// What the manager holds now.
    #[must_use]
    pub fn capture_state(&self) -> SessionState {
        SessionState {
            view: self.view.clone(),
            cwd: self.cwd.clone(),
            session_dir: self.session_dir.clone(),
            path: self.path.clone(),
            started: self.started,
            pending: self.pending.clone(),
            known: self.known(),
        }
    }

    /// Puts another view in the place of the manager's; gives what it held.
    pub(super) fn replace_view(&mut self, view: SessionView) -> SessionState {
        SessionState {
            view: std::mem::replace(&mut self.view, view),
            cwd: self.cwd.clone(),
            session_dir: self.session_dir.clone(),
            path: self.path.clone(),
            started: self.started,
            pending: std::mem::take(&mut self.pending),
            known: self.known(),
        }
    }

    fn known(&self) -> Option<Known> {
        match &self.backend {
            Backend::File(file) => file.known(),
            _ => None,
        }
    }

    /// Goes back to the state before something that failed, with the failure that was in force then.
    pub(super) fn put_back(&mut self, state: SessionState, latched: Option<Error>) {
        self.reinstate(state);
        self.latched = latched;
    }

    /// Goes back to a state of this manager, without the failure in force. What was appended since
    /// is not in memory; when it is in the file, it is there still. The view has another
    /// [`revision`](SessionView::revision) then than both before the call and in the state.
    pub fn restore_state(&mut self, state: SessionState) {
        self.reinstate(state);
        self.view.renew_revision();
    }

    fn reinstate(&mut self, state: SessionState) {
        // What could not be written is not of the state that comes.
        let _: crate::Result<()> = self.backend.flush().and(self.backend.close(false));
        match state.path {
            // The file is the same, and keeps what it knows of syncs that failed.
            Some(path) if self.path.as_ref() == Some(&path) && matches!(self.backend, Backend::File(_)) => {
                self.latched = None;
            }
            Some(path) => self.put_at(path),
            None => {}
        }
        match (&mut self.backend, state.known) {
            (Backend::File(file), known) => file.set_known(known),
            // It may have been written since, also when it had not started then.
            (Backend::Storage(stored), _) => stored.look_again(),
            _ => {}
        }
        self.view = state.view;
        self.cwd = state.cwd;
        self.session_dir = state.session_dir;
        self.started = state.started;
        self.pending = state.pending;
        self.leave_breadcrumb();
    }
}
