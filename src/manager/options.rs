//! How a session manager is made.

use super::{Backend, SessionManager};
use crate::blob::BlobStore;
use crate::entry::{Generator, SystemGenerator};
use crate::error::Result;
use crate::paths;
use crate::persist::{SessionFile, StoredSession};
use crate::storage::{FileSessionStorage, MemorySessionStorage, SessionStorage};
use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// When bytes are made to survive a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// With [`SessionManager::flush`]. A killed process loses nothing in any case.
    #[default]
    Flush,
    /// Before every append returns.
    EveryAppend,
}

/// When a file of an older version is written anew (R12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MigrationRewrite {
    /// When it is opened.
    #[default]
    Immediate,
    /// With the next change that is written.
    Deferred,
}

/// Is handed errors of writing, once each, with the session's file in them.
pub type Logger = Arc<dyn Fn(&str) + Send + Sync>;

/// How a [`SessionManager`] is made: begin with [`ManagerOptions::new`], end with one of
/// [`create`](Self::create), [`open`](Self::open), [`fork_from`](Self::fork_from) and
/// [`in_memory`](Self::in_memory).
#[derive(Clone)]
pub struct ManagerOptions {
    pub(super) agent_dir: Option<PathBuf>,
    pub(super) session_dir: Option<PathBuf>,
    /// `None` for files.
    pub(super) storage: Option<Arc<dyn SessionStorage>>,
    /// Files were asked for: a session in memory reads from them too.
    asked_for_files: bool,
    pub(super) lock_timeout: Duration,
    pub(super) durability: Durability,
    pub(super) migration_rewrite: MigrationRewrite,
    pub(super) logger: Option<Logger>,
    pub(super) generator: fn() -> Box<dyn Generator>,
}

impl fmt::Debug for ManagerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerOptions")
            .field("agent_dir", &self.agent_dir)
            .field("session_dir", &self.session_dir)
            .field("storage", &self.storage.as_ref().map(|_| "…"))
            .field("lock_timeout", &self.lock_timeout)
            .field("durability", &self.durability)
            .field("migration_rewrite", &self.migration_rewrite)
            .finish_non_exhaustive()
    }
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            agent_dir: None,
            session_dir: None,
            storage: None,
            asked_for_files: false,
            lock_timeout: Duration::from_secs(10),
            durability: Durability::default(),
            migration_rewrite: MigrationRewrite::default(),
            logger: None,
            generator: || Box::new(SystemGenerator),
        }
    }
}

impl ManagerOptions {
    /// The default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent's folder, which holds `sessions` and `blobs`; by default the one of this machine.
    #[must_use]
    pub fn agent_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.agent_dir = Some(dir.into());
        self
    }

    /// The folder of the session files; by default the project's in the agent's folder, or that of
    /// the file that is opened.
    #[must_use]
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = Some(dir.into());
        self
    }

    /// Where sessions are kept; by default in files, which is what
    /// [`FileSessionStorage`] means too.
    #[must_use]
    pub fn storage(mut self, storage: impl SessionStorage + 'static) -> Self {
        // Files have locks, and one write for an append, that no storage has (R53, R54).
        self.asked_for_files = (&storage as &dyn Any).is::<FileSessionStorage>();
        self.storage = (!self.asked_for_files).then(|| Arc::new(storage) as Arc<dyn SessionStorage>);
        self
    }

    /// How long another process's lock is waited for; 10 seconds by default.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// When bytes are made to survive a power cut.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// When a file of an older version is written anew.
    #[must_use]
    pub fn migration_rewrite(mut self, when: MigrationRewrite) -> Self {
        self.migration_rewrite = when;
        self
    }

    /// Is handed errors of writing.
    #[must_use]
    pub fn logger(mut self, logger: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.logger = Some(Arc::new(logger));
        self
    }

    /// Where ids and times come from; for tests.
    #[must_use]
    pub fn generator(mut self, make: fn() -> Box<dyn Generator>) -> Self {
        self.generator = make;
        self
    }

    /// A new session of the project at `cwd`. Nothing is written before it starts (R29), but the
    /// folder is made.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(self, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        let cwd = paths::absolute(cwd.as_ref());
        let dir = self.dir_for(&cwd);
        SessionManager::make(self, cwd, dir, true)
    }

    /// The session at `path`, of the project that its header names. A missing or empty file
    /// becomes a new session at exactly that path; bytes that are no session are set aside first
    /// (R16).
    ///
    /// # Errors
    /// When the file cannot be read, or not be written where it must.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SessionManager> {
        let path = paths::absolute(path.as_ref());
        let dir = self.session_dir.clone().or_else(|| path.parent().map(Path::to_owned)).unwrap_or_default();
        let cwd = paths::current_dir();
        let mut manager = SessionManager::make(self, cwd, dir, true)?;
        manager.set_session_file(&path)?;
        if let Some(cwd) = &manager.header().cwd {
            manager.cwd = PathBuf::from(cwd);
        }
        Ok(manager)
    }

    /// A new session of the project at `cwd` with the history of the session at `source`.
    ///
    /// # Errors
    /// `NOT_FOUND` and `NOT_A_SESSION` for a source that is none; an error of writing.
    pub fn fork_from(self, source: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        let source = paths::absolute(source.as_ref());
        let mut manager = self.create(cwd)?;
        manager.copy_from(&source)?;
        Ok(manager)
    }

    /// A session that is kept nowhere.
    ///
    /// # Errors
    /// None that would be known.
    pub fn in_memory(mut self, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        if self.storage.is_none() && !self.asked_for_files {
            self.storage = Some(Arc::new(MemorySessionStorage::new()));
        }
        let cwd = paths::absolute(cwd.as_ref());
        let dir = self.session_dir.clone().unwrap_or_default();
        SessionManager::make(self, cwd, dir, false)
    }

    pub(super) fn dir_for(&self, cwd: &Path) -> PathBuf {
        self.session_dir
            .clone()
            .unwrap_or_else(|| paths::sessions_dir(self.agent_dir.as_deref()).join(paths::dir_name(cwd)))
    }

    pub(super) fn blobs(&self) -> BlobStore {
        BlobStore::new(paths::blobs_dir(self.agent_dir.as_deref()))
    }

    /// A way to keep the session at `path`.
    pub(super) fn backend(&self, path: &Path) -> Backend {
        match &self.storage {
            None => {
                let sync_appends = self.durability == Durability::EveryAppend;
                Backend::File(SessionFile::new(path, self.blobs(), self.lock_timeout, sync_appends))
            }
            Some(storage) => Backend::Storage(StoredSession::new(Arc::clone(storage), path, self.blobs())),
        }
    }
}
