//! Folders of agents.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The blob folder that belongs to a session file: `blobs` beside the folder `sessions` that the
/// file lies in (R2), however deep.
pub(crate) fn blobs_beside(session: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(session).ok()?;
    let sessions = path.ancestors().skip(1).find(|dir| dir.file_name() == Some(OsStr::new("sessions")))?;
    Some(sessions.parent()?.join("blobs"))
}

/// Names of the config folders under home: the agent's own, then those of its relatives.
const CONFIG_DIRS: [&str; 3] = [".xcsh", ".omp", ".pi"];

/// The folders of this machine that agents keep sessions in, the agent's own first; only those
/// that exist.
///
/// `PI_CODING_AGENT_DIR` names the agent's folder, `PI_CONFIG_DIR` the config folder under home
/// when that is unset (`.xcsh` by default); with neither, an existing `$XDG_DATA_HOME/xcsh` counts
/// too. The folders of the agent's relatives, `~/.omp` and `~/.pi`, come last.
#[must_use]
pub fn session_roots() -> Vec<PathBuf> {
    roots(|name| env::var_os(name).filter(|value| !value.is_empty()), env::home_dir())
}

fn roots(var: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let mut agents = Vec::new();
    if let Some(dir) = var("PI_CODING_AGENT_DIR") {
        agents.push(PathBuf::from(dir));
    }
    let config = var("PI_CONFIG_DIR");
    if agents.is_empty()
        && config.is_none()
        && cfg!(unix)
        && let Some(data) = var("XDG_DATA_HOME")
    {
        agents.push(Path::new(&data).join("xcsh"));
    }
    if let Some(home) = home {
        let own = config.unwrap_or_else(|| CONFIG_DIRS[0].into());
        let names = std::iter::once(own.as_os_str()).chain(CONFIG_DIRS[1..].iter().map(OsStr::new));
        agents.extend(names.map(|name| home.join(name).join("agent")));
    }
    let mut roots = Vec::new();
    for root in agents.into_iter().map(|agent| agent.join("sessions")) {
        if root.is_dir() && !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
