//! Which sessions in a folder are a project's (R58).

use crate::paths::{absolute, resolved};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Names of folders are lossy, `/a/b` and `/a-b` share one: this tells whose a session is.
pub(super) struct Project {
    cwd: PathBuf,
    resolved: PathBuf,
    /// What was found out about the folders in headers.
    known: Mutex<HashMap<String, bool>>,
}

impl Project {
    pub(super) fn new(cwd: &Path) -> Self {
        Self { cwd: absolute(cwd), resolved: resolved(cwd), known: Mutex::default() }
    }

    /// Whether a session whose header names this folder is shown for the project: it is the
    /// project's, or nobody's: it names none, or one that no longer exists.
    pub(super) fn shows(&self, header_cwd: Option<&str>) -> bool {
        let Some(text) = header_cwd.filter(|text| !text.is_empty()) else { return true };
        if let Some(&known) = self.known.lock().get(text) {
            return known;
        }
        let path = Path::new(text);
        // A relative one is from a folder nobody knows.
        let shown = !path.is_absolute()
            || absolute(path) == self.cwd
            || resolved(path) == self.resolved
            || matches!(std::fs::symlink_metadata(path),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory));
        self.known.lock().insert(text.to_owned(), shown);
        shown
    }
}
