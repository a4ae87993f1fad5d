//! How a session manager is made.

use super::{Backend, SessionManager};
use crate::blob::BlobStore;
use crate::breadcrumb;
use crate::discovery::{SessionFinder, header_of};
use crate::entry::{Generator, Header, SystemGenerator};
use crate::error::Result;
use crate::paths::{self, AgentDirs, DirNaming, Environment};
use crate::persist::{SessionFile, StoredSession};
use crate::storage::{FileSessionStorage, MemorySessionStorage, SessionStorage, lock, other_than_files, relocate};
use crate::view::{SessionView, ViewOptions};
use std::ffi::OsString;
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
/// [`create`](Self::create), [`open`](Self::open), [`continue_recent`](Self::continue_recent),
/// [`fork_from`](Self::fork_from) and [`in_memory`](Self::in_memory).
#[derive(Clone)]
pub struct ManagerOptions {
    pub(super) dirs: AgentDirs,
    pub(super) session_dir: Option<PathBuf>,
    /// `None` for files.
    pub(super) storage: Option<Arc<dyn SessionStorage>>,
    /// Files were asked for: a session in memory reads from them too.
    asked_for_files: bool,
    pub(super) lock_timeout: Duration,
    pub(super) durability: Durability,
    pub(super) migration_rewrite: MigrationRewrite,
    pub(super) logger: Option<Logger>,
    keep_replaced: bool,
    pub(super) generator: Arc<dyn Generator>,
}

impl fmt::Debug for ManagerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerOptions")
            .field("dirs", &self.dirs)
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
            dirs: AgentDirs::new(),
            session_dir: None,
            storage: None,
            asked_for_files: false,
            lock_timeout: lock::TIMEOUT,
            durability: Durability::default(),
            migration_rewrite: MigrationRewrite::default(),
            logger: None,
            keep_replaced: false,
            generator: Arc::new(SystemGenerator),
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
        self.dirs = self.dirs.agent_dir(dir);
        self
    }

    /// The name of the config folder under home, `.xcsh` by default.
    #[must_use]
    pub fn config_dir_name(mut self, name: impl Into<OsString>) -> Self {
        self.dirs = self.dirs.config_dir_name(name);
        self
    }

    /// The environment that folders and the terminal are found by; by default that of the process.
    #[must_use]
    pub fn environment(mut self, env: Environment) -> Self {
        self.dirs = self.dirs.environment(env);
        self
    }

    /// How the session folders of projects are named.
    #[must_use]
    pub fn dir_naming(mut self, naming: DirNaming) -> Self {
        self.dirs = self.dirs.dir_naming(naming);
        self
    }

    /// The agent's folders, as these options and the environment name them.
    #[must_use]
    pub fn dirs(&self) -> &AgentDirs {
        &self.dirs
    }

    /// The folder of the session files; by default the project's in the agent's folder, or that of
    /// the file that is opened.
    #[must_use]
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = Some(dir.into());
        self
    }

    /// Where sessions are kept; by default in files, which is what
    /// [`FileSessionStorage`] means too, also in an `Arc`, a `Box` or as a reference.
    #[must_use]
    pub fn storage(mut self, storage: impl SessionStorage + 'static) -> Self {
        // Files have locks, and one write for an append, that no storage has (R53, R54).
        self.storage = other_than_files(storage);
        self.asked_for_files = self.storage.is_none();
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

    /// Whether what a manager held of a file that another process replaced is kept until
    /// [`SessionManager::take_replaced`](crate::SessionManager::take_replaced), with the old file open. By
    /// default it is not.
    #[must_use]
    pub fn keep_replaced(mut self, keep: bool) -> Self {
        self.keep_replaced = keep;
        self
    }

    /// Where ids and times come from; for tests, such as a [`SequenceGenerator`](crate::SequenceGenerator). By
    /// default the clock of the machine and random numbers.
    #[must_use]
    pub fn generator(mut self, generator: impl Generator + 'static) -> Self {
        self.generator = Arc::new(generator);
        self
    }

    /// A new session of the project at `cwd`. Nothing is written before it starts (R29), but the
    /// folder is made.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn create(self, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        let manager = self.begin(cwd.as_ref())?;
        manager.leave_breadcrumb();
        Ok(manager)
    }

    fn begin(self, cwd: &Path) -> Result<SessionManager> {
        let cwd = paths::absolute(cwd);
        let dir = self.dir_for(&cwd);
        SessionManager::make(self, cwd, dir, true)
    }

    /// Goes on with the session that was used last in the project at `cwd`: the one that this
    /// terminal had, when that was in this project and is still a session; else the newest of the
    /// project (R3, R39, R58), as [`SessionFinder::most_recent_of`] finds it. Without one, a new session.
    /// A session of a project that is gone is not gone on with while the project has one of its own.
    ///
    /// With a folder of [`ManagerOptions::session_dir`] only what lies in it counts, for the
    /// terminal too.
    ///
    /// # Errors
    /// As [`ManagerOptions::create`] and [`SessionManager::set_session_file`].
    pub fn continue_recent(self, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        let cwd = paths::absolute(cwd.as_ref());
        let dir = self.dir_for(&cwd);
        let Some(path) = self.finder().most_recent_on_terminal(&cwd, self.of_terminal(&cwd, &dir)) else {
            return self.create(cwd);
        };
        let mut manager = SessionManager::make(self, cwd, dir, true)?;
        manager.set_session_file(path)?;
        Ok(manager)
    }

    /// The session that this terminal had last in the project.
    fn of_terminal(&self, cwd: &Path, dir: &Path) -> Option<(PathBuf, Header)> {
        let file = breadcrumb::read(&self.dirs, cwd)?;
        // It may have been moved with the project's folder.
        let moved = dir.join(file.file_name()?);
        [file, moved].into_iter().find_map(|file| {
            let real = paths::resolved(&file);
            let inside = self.session_dir.as_ref().is_none_or(|dir| real.starts_with(paths::resolved(dir)));
            let header = if inside { header_of(self.storage.as_deref(), &real).ok()? } else { None };
            Some((file, header?))
        })
    }

    /// Finds sessions where these options keep them.
    #[must_use]
    pub fn finder(&self) -> SessionFinder {
        let finder = SessionFinder::new().dirs(self.dirs.clone()).shared_storage(self.storage.clone());
        match &self.session_dir {
            Some(dir) => finder.session_dir(dir),
            None => finder,
        }
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
        manager.take_session_file(&path)?;
        if let Some(cwd) = &manager.header().cwd {
            manager.cwd = PathBuf::from(cwd);
        }
        manager.leave_breadcrumb();
        Ok(manager)
    }

    /// A new session of the project at `cwd` with the history and the artifacts of the session at `source`.
    ///
    /// # Errors
    /// `NOT_FOUND` and `NOT_A_SESSION` for a source that is none; an error of writing.
    pub fn fork_from(self, source: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<SessionManager> {
        // Read first: making the project's folder may move what lies in an older one.
        let from = paths::absolute(source.as_ref());
        let source = self.read_session(&from)?;
        let mut manager = self.begin(cwd.as_ref())?;
        let is_moved = manager.options.storage.is_none() && !from.exists();
        let moved = from.file_name().filter(|_| is_moved).map(|name| manager.session_dir().join(name));
        manager.copy_from(source, &moved.unwrap_or(from))?;
        Ok(manager)
    }

    /// Deletes the session at `path` as [`FileSessionStorage::delete_session_with_artifacts`] does, waiting for
    /// its lock as long as these options say.
    ///
    /// # Errors
    /// As there.
    pub fn delete_session(&self, path: impl AsRef<Path>) -> Result<()> {
        FileSessionStorage::delete(&paths::absolute(path.as_ref()), self.lock_timeout)
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

    /// The folder that new sessions of the project at `cwd` go to by default. It is made, and with
    /// [`DirNaming::HomeRelative`] what the project has under the other name is moved to it, as far
    /// as nobody is using it (R57).
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn default_session_dir(&self, cwd: impl AsRef<Path>) -> Result<PathBuf> {
        let cwd = paths::absolute(cwd.as_ref());
        let dir = self.project_dir(&cwd);
        self.ensure_dir(&dir)?;
        Ok(dir)
    }

    pub(super) fn ensure_dir(&self, dir: &Path) -> Result<()> {
        match &self.storage {
            Some(storage) => storage.ensure_dir(dir),
            None => FileSessionStorage.ensure_dir(dir),
        }
    }

    fn dir_for(&self, cwd: &Path) -> PathBuf {
        self.session_dir.clone().unwrap_or_else(|| self.project_dir(cwd))
    }

    /// The project's default folder, after what it has under another name was moved there.
    fn project_dir(&self, cwd: &Path) -> PathBuf {
        let mut dirs = self.dirs.session_dirs(cwd).into_iter();
        let dir = dirs.next().unwrap_or_default();
        if self.dirs.naming() == DirNaming::HomeRelative && self.storage.is_none() {
            // A folder is shared by projects whose names are spelled alike: only what goes to this
            // folder by its own header is moved.
            let mine = |path: &Path| {
                let header = header_of(None, path).ok().flatten();
                header
                    .and_then(|header| header.cwd)
                    .is_some_and(|cwd| !cwd.is_empty() && dir.ends_with(self.dirs.session_dir_name(Path::new(&cwd))))
            };
            for old in dirs.filter(|old| old.is_dir()) {
                if let (Err(error), Some(log)) = (relocate::move_sessions(&old, &dir, mine), &self.logger) {
                    log(&format!("sessions of an older folder stay where they are: {error}"));
                }
            }
        }
        dir
    }

    /// The session at `path`, for reading (R16: a missing or invalid one is an error).
    pub(super) fn read_session(&self, path: &Path) -> Result<SessionView> {
        let options = ViewOptions::new().blobs(self.blobs().dir());
        match &self.storage {
            None => options.open(path),
            Some(storage) => options.read_bytes(storage.read(path)?).map_err(|error| error.at(path)),
        }
    }

    pub(super) fn blobs(&self) -> BlobStore {
        BlobStore::new(self.dirs.blobs())
    }

    /// The session's file at `path`.
    pub(super) fn session_file(&self, path: &Path) -> SessionFile {
        let sync_appends = self.durability == Durability::EveryAppend;
        let file = SessionFile::new(path, self.blobs(), self.lock_timeout, sync_appends);
        file.keep_replaced(self.keep_replaced)
    }

    /// A way to keep the session at `path`.
    pub(super) fn backend(&self, path: &Path) -> Backend {
        match &self.storage {
            None => Backend::File(self.session_file(path)),
            Some(storage) => {
                let stored = StoredSession::new(Arc::clone(storage), path, self.blobs());
                Backend::Storage(stored.keep_replaced(self.keep_replaced))
            }
        }
    }
}
