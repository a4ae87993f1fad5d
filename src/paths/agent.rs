//! The folders of an agent.

use super::{DirNaming, Environment, absolute, project};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Where an agent keeps its sessions and what belongs to them.
///
/// The agent's folder is the one given, else that of `PI_CODING_AGENT_DIR`, else `agent` in the
/// config folder under home, whose name is the one given, else that of `PI_CONFIG_DIR`, else
/// `.xcsh`. With that last, default folder an existing `$XDG_DATA_HOME/xcsh` holds sessions, blobs
/// and the prompt history, and an existing `$XDG_STATE_HOME/xcsh` the breadcrumbs, on Linux and
/// macOS.
///
/// Nothing is remembered: each method asks the environment and the disk anew.
#[derive(Clone, Debug, Default)]
pub struct AgentDirs {
    agent_dir: Option<PathBuf>,
    config_dir_name: Option<OsString>,
    env: Environment,
    naming: DirNaming,
}

/// Names of the config folders under home: the agent's own, then those of its relatives.
const CONFIG_DIRS: [&str; 3] = [".xcsh", ".omp", ".pi"];
/// The agent's folder in those of XDG.
const XDG_DIR: &str = "xcsh";

impl AgentDirs {
    /// Those that the environment of the process names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent's folder, whatever the environment says.
    #[must_use]
    pub fn agent_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.agent_dir = Some(dir.into());
        self
    }

    /// The name of the config folder under home, whatever the environment says.
    #[must_use]
    pub fn config_dir_name(mut self, name: impl Into<OsString>) -> Self {
        self.config_dir_name = Some(name.into());
        self
    }

    /// The environment that is asked.
    #[must_use]
    pub fn environment(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// How folders of projects are named.
    #[must_use]
    pub fn dir_naming(mut self, naming: DirNaming) -> Self {
        self.naming = naming;
        self
    }

    /// The agent's folder.
    #[must_use]
    pub fn agent(&self) -> PathBuf {
        match self.agent_dir.clone().or_else(|| self.env.path("PI_CODING_AGENT_DIR")) {
            Some(dir) => absolute(&dir),
            None => self.default_agent(),
        }
    }

    /// The folder of all projects' session folders.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.kept_in("XDG_DATA_HOME").join("sessions")
    }

    /// The folder of the blob store (R2).
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.kept_in("XDG_DATA_HOME").join("blobs")
    }

    /// The database of the prompt history (R42).
    #[must_use]
    pub fn history_db(&self) -> PathBuf {
        self.kept_in("XDG_DATA_HOME").join("history.db")
    }

    /// The folder of the terminals' breadcrumbs (R3).
    #[must_use]
    pub fn terminal_sessions(&self) -> PathBuf {
        self.kept_in("XDG_STATE_HOME").join("terminal-sessions")
    }

    /// The folder that new sessions of the project at `cwd` go to (R1, R57). It need not exist.
    #[must_use]
    pub fn session_dir(&self, cwd: impl AsRef<Path>) -> PathBuf {
        self.sessions().join(self.session_dir_name(cwd.as_ref()))
    }

    /// Every folder that sessions of the project at `cwd` are read from, that of
    /// [`AgentDirs::session_dir`] first; names are lossy, so other projects' sessions may lie
    /// there too (R58).
    #[must_use]
    pub fn session_dirs(&self, cwd: impl AsRef<Path>) -> Vec<PathBuf> {
        let sessions = self.sessions();
        self.session_dir_names(cwd.as_ref()).into_iter().map(|name| sessions.join(name)).collect()
    }

    pub(crate) fn env(&self) -> &Environment {
        &self.env
    }

    pub(crate) fn naming(&self) -> DirNaming {
        self.naming
    }

    /// The name of the folder that new sessions of a project go to.
    pub(crate) fn session_dir_name(&self, cwd: &Path) -> String {
        self.session_dir_names(cwd).swap_remove(0)
    }

    /// The names that a project's session folder may have; the one to write first.
    pub(crate) fn session_dir_names(&self, cwd: &Path) -> Vec<String> {
        project::names(cwd, self.naming, &self.env)
    }

    /// `dir` has a name that the project's session folder has by default, wherever it lies.
    pub(crate) fn is_session_dir_of(&self, dir: &Path, cwd: &Path) -> bool {
        project::name_of(dir).is_some_and(|name| self.session_dir_names(cwd).iter().any(|other| other == name))
    }

    fn default_agent(&self) -> PathBuf {
        let name = self.config_dir_name.clone().or_else(|| self.env.var("PI_CONFIG_DIR"));
        self.agent_of(&name.unwrap_or_else(|| CONFIG_DIRS[0].into()))
    }

    /// The folder of the agent whose config folder has this name. It is a name under home, even
    /// when it begins with a slash.
    fn agent_of(&self, config: &OsStr) -> PathBuf {
        let parts = Path::new(config).components().filter(|part| !matches!(part, Component::RootDir));
        absolute(&parts.fold(self.env.home(), |dir, part| dir.join(part)).join("agent"))
    }

    /// The folder of XDG that `variable` names, when it holds the data of the agent; else the
    /// agent's folder.
    fn kept_in(&self, variable: &str) -> PathBuf {
        let agent = self.agent();
        if cfg!(any(target_os = "linux", target_os = "macos")) && agent == self.default_agent() {
            let xdg = self.env.path(variable).map(|dir| absolute(&dir.join(XDG_DIR)));
            if let Some(dir) = xdg.filter(|dir| dir.is_dir()) {
                return dir;
            }
        }
        agent
    }

    /// The folders with sessions: the agent's own, then those of its relatives; only those that
    /// exist, each once.
    #[must_use]
    pub fn session_roots(&self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        let own = [self.sessions(), self.agent().join("sessions"), self.default_agent().join("sessions")];
        let relatives = CONFIG_DIRS[1..].iter().map(|name| self.agent_of(OsStr::new(name)).join("sessions"));
        for root in own.into_iter().chain(relatives) {
            if root.is_dir() && !roots.contains(&root) {
                roots.push(root);
            }
        }
        roots
    }
}

/// The folders of this machine that agents keep sessions in, the agent's own first; only those
/// that exist.
///
/// They are the folder of [`AgentDirs::sessions`], the same without XDG, and the folders of the
/// agent's relatives, `~/.omp` and `~/.pi`.
#[must_use]
pub fn session_roots() -> Vec<PathBuf> {
    AgentDirs::new().session_roots()
}
