//! Variables of the environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The environment that folders and the terminal are found by: that of the process, read when it is
/// asked for, or variables that were handed over.
///
/// The second is for programs whose own idea of the environment does not reach this library, as a
/// change of `process.env` in some JavaScript engines, and for tests.
///
/// [`Environment::VARIABLES`] are asked for. An empty variable counts as none.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `None` for those of the process.
    vars: Option<Arc<BTreeMap<OsString, OsString>>>,
    /// Set when the program says which terminal it is on, or that it is on none.
    terminal: Option<Option<String>>,
}

impl Environment {
    /// The names of the variables that are asked for: what a program that hands variables over has to
    /// hand over. `USERPROFILE` takes the place of `HOME` on Windows.
    pub const VARIABLES: &[&str] = &[
        "HOME",
        "USERPROFILE",
        "TMPDIR",
        "TMP",
        "TEMP",
        "PI_CODING_AGENT_DIR",
        "PI_CONFIG_DIR",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "KITTY_WINDOW_ID",
        "TMUX_PANE",
        "TERM_SESSION_ID",
        "WT_SESSION",
    ];

    /// The environment of the process.
    #[must_use]
    pub fn process() -> Self {
        Self::default()
    }

    /// These variables, and no others. Without a `HOME` the home is the one the system knows.
    #[must_use]
    pub fn from_vars<K: Into<OsString>, V: Into<OsString>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars: Some(Arc::new(vars)), terminal: None }
    }

    /// Says which terminal the program is on, or that it is on none, instead of having it found out.
    #[must_use]
    pub fn terminal(mut self, id: Option<&str>) -> Self {
        self.terminal = Some(id.map(str::to_owned));
        self
    }

    /// The id of the terminal the program is on, a plain name: the device of the standard input
    /// (`pts-3` for `/dev/pts/3`), else that of kitty, tmux, Terminal.app or Windows Terminal;
    /// `None` when there is none.
    #[must_use]
    pub fn terminal_id(&self) -> Option<String> {
        let id = match &self.terminal {
            Some(given) => given.clone(),
            None => tty().or_else(|| {
                let variables = [
                    ("kitty", "KITTY_WINDOW_ID"),
                    ("tmux", "TMUX_PANE"),
                    ("apple", "TERM_SESSION_ID"),
                    ("wt", "WT_SESSION"),
                ];
                variables.into_iter().find_map(|(name, variable)| {
                    self.var(variable).map(|value| format!("{name}-{}", value.to_string_lossy()))
                })
            }),
        };
        // It becomes the name of a file.
        id.map(|id| id.replace(['/', '\\'], "-")).filter(|id| !matches!(id.as_str(), "" | "." | ".."))
    }

    pub(crate) fn var(&self, name: &str) -> Option<OsString> {
        debug_assert!(Self::VARIABLES.contains(&name), "{name} is not handed over");
        let value = match &self.vars {
            None => env::var_os(name),
            Some(vars) => vars.get(OsStr::new(name)).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from)
    }

    /// The user's folder.
    pub(crate) fn home(&self) -> PathBuf {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.path(name).or_else(env::home_dir).unwrap_or_default()
    }

    /// The folder for temporary files.
    pub(crate) fn temp(&self) -> PathBuf {
        ["TMPDIR", "TMP", "TEMP"]
            .into_iter()
            .find_map(|name| self.path(name))
            .unwrap_or_else(|| if cfg!(windows) { env::temp_dir() } else { PathBuf::from("/tmp") })
    }
}

/// The device of the standard input without `/dev/`, when it is a terminal.
fn tty() -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    let device = tty_device()?;
    Some(device.strip_prefix("/dev/").ok()?.to_string_lossy().into_owned())
}

#[cfg(target_os = "linux")]
fn tty_device() -> Option<PathBuf> {
    std::fs::read_link("/proc/self/fd/0").ok()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn tty_device() -> Option<PathBuf> {
    let name = rustix::termios::ttyname(std::io::stdin(), Vec::new()).ok()?;
    let name: OsString = std::os::unix::ffi::OsStringExt::from_vec(name.into_bytes());
    Some(PathBuf::from(name))
}

#[cfg(not(unix))]
fn tty_device() -> Option<PathBuf> {
    None
}
