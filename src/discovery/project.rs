//! Which sessions in a folder are a project's (R58).

use crate::paths::{absolute, as_far_as_it_exists};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Whose a session is, the nearest first: of several sessions that a project could go on with, the
/// newest of the nearest is the one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Project,
    /// The header names no directory, or none that can be told.
    Nobody,
    /// Another project, whose directory does not exist any longer: nothing else lists its sessions.
    Gone,
    /// Another project that exists: its sessions are not shown.
    Other,
}

/// Names of folders are lossy, `/a/b` and `/a-b` share one: this tells whose a session is.
pub(super) struct Project {
    cwd: PathBuf,
    resolved: PathBuf,
    /// What was found out about the folders in headers.
    known: Mutex<HashMap<String, Owner>>,
}

impl Project {
    pub(super) fn new(cwd: &Path) -> Self {
        Self { cwd: absolute(cwd), resolved: as_far_as_it_exists(cwd), known: Mutex::default() }
    }

    /// Whose a session is whose header names this directory.
    pub(super) fn owner(&self, header_cwd: Option<&str>) -> Owner {
        let Some(text) = header_cwd.filter(|text| !text.is_empty()) else { return Owner::Nobody };
        if let Some(&known) = self.known.lock().get(text) {
            return known;
        }
        let path = Path::new(text);
        let owner = if !path.is_absolute() {
            Owner::Nobody
        } else if absolute(path) == self.cwd || as_far_as_it_exists(path) == self.resolved {
            Owner::Project
        } else if matches!(std::fs::symlink_metadata(path),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
        {
            Owner::Gone
        } else {
            Owner::Other
        };
        self.known.lock().insert(text.to_owned(), owner);
        owner
    }
}
