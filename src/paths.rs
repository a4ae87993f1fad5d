//! Folders of agents.

use crate::blob::BlobHash;
use std::env;
use std::ffi::{OsStr, OsString};
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

/// The folder the process is in; `/` when that is gone.
pub(crate) fn current_dir() -> PathBuf {
    env::current_dir().unwrap_or_else(|_| PathBuf::from("/"))
}

/// The name of a project's session folder: its path without the leading slash, with `/`, `\\` and
/// `:` replaced by `-`, between `--` (R1). A name that is too long for a file system is cut and
/// ends with a hash (R57).
pub(crate) fn dir_name(cwd: &Path) -> String {
    const LONGEST: usize = 255;
    let cwd = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    let text = cwd.to_string_lossy();
    let inner = text.strip_prefix(['/', '\\']).unwrap_or(&text).replace(['/', '\\', ':'], "-");
    let name = format!("--{inner}--");
    if name.len() <= LONGEST {
        return name;
    }
    let hash = BlobHash::of(text.as_bytes());
    let hash = &hash.as_str()[..16];
    let kept = inner.floor_char_boundary(LONGEST - hash.len() - "----".len() - 1);
    format!("--{}-{hash}--", &inner[..kept])
}

/// The agent's folder: the one given, else that of `PI_CODING_AGENT_DIR`, else `agent` in the
/// config folder under home.
fn agent_dir(given: Option<&Path>) -> PathBuf {
    if let Some(dir) = given {
        return dir.to_owned();
    }
    match env_path("PI_CODING_AGENT_DIR") {
        Some(dir) => dir,
        None => {
            let config = env_path("PI_CONFIG_DIR").unwrap_or_else(|| PathBuf::from(CONFIG_DIRS[0]));
            env::home_dir().unwrap_or_default().join(config).join("agent")
        }
    }
}

/// A folder of the agent's data. With the default agent folder an existing `$XDG_DATA_HOME/xcsh`
/// holds it.
fn data_dir(given: Option<&Path>, name: &str) -> PathBuf {
    let is_default = given.is_none() && env_path("PI_CODING_AGENT_DIR").is_none();
    if is_default
        && cfg!(unix)
        && let Some(data) = env_path("XDG_DATA_HOME").map(|data| data.join("xcsh")).filter(|dir| dir.is_dir())
    {
        return data.join(name);
    }
    agent_dir(given).join(name)
}

/// The folder of all projects' session folders.
pub(crate) fn sessions_dir(agent_dir: Option<&Path>) -> PathBuf {
    data_dir(agent_dir, "sessions")
}

/// The folder of the blob store (R2).
pub(crate) fn blobs_dir(agent_dir: Option<&Path>) -> PathBuf {
    data_dir(agent_dir, "blobs")
}

fn env_path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
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
