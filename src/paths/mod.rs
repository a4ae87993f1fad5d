//! Folders of agents and of their projects.

mod agent;
mod environment;
mod project;

pub use agent::{AgentDirs, session_roots};
pub use environment::Environment;
pub use project::DirNaming;
pub(crate) use project::as_far_as_it_exists;

use std::env;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The blob folder that belongs to a session file: `blobs` beside the folder `sessions` that the
/// file lies in (R2), however deep.
pub(crate) fn blobs_beside(session: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(session).ok()?;
    let sessions = path.ancestors().skip(1).find(|dir| dir.file_name() == Some(OsStr::new("sessions")))?;
    Some(sessions.parent()?.join("blobs"))
}

/// The path from the root, without following links.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let Ok(path) = std::path::absolute(path) else { return path.to_owned() };
    // `..` goes to the folder above by name, as agents resolve paths.
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            other => resolved.push(other),
        }
    }
    resolved
}

/// The path from the root, links followed when it exists.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    match std::fs::canonicalize(path) {
        Ok(path) => plain(path),
        Err(_) => absolute(path),
    }
}

/// Without the prefix that Windows puts before a path whose links were followed, `\\?\C:\…`.
fn plain(path: PathBuf) -> PathBuf {
    if cfg!(windows)
        && let Some(rest) = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"))
        && !rest.starts_with("UNC")
    {
        return PathBuf::from(rest);
    }
    path
}

/// The folder the process is in; `/` when that is gone.
pub(crate) fn current_dir() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
