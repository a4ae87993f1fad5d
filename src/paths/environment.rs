//! Variables of the environment.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// The environment that folders and the terminal are found by: that of the process, read when it
/// is asked for, or variables that were handed over.
///
/// The second is for programs whose own idea of the environment does not reach this library, as a
/// change of `process.env` in some JavaScript engines, and for tests.
///
/// These are asked for: `HOME` (`USERPROFILE` on Windows), `TMPDIR`, `TMP`, `TEMP`,
/// `PI_CODING_AGENT_DIR`, `PI_CONFIG_DIR`, `XDG_DATA_HOME`, `XDG_STATE_HOME`, `KITTY_WINDOW_ID`,
/// `TMUX_PANE`, `TERM_SESSION_ID`, `WT_SESSION`. An empty variable counts as none.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `None` for those of the process.
    vars: Option<Arc<BTreeMap<OsString, OsString>>>,
}

impl Environment {
    /// The environment of the process.
    #[must_use]
    pub fn process() -> Self {
        Self::default()
    }

    /// These variables, and no others. Without a `HOME` the home is the one the system knows.
    #[must_use]
    pub fn from_vars<K: Into<OsString>, V: Into<OsString>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars: Some(Arc::new(vars)) }
    }

    pub(crate) fn var(&self, name: &str) -> Option<OsString> {
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
