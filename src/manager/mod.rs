//! The session manager: what an agent does with a session.

mod append;
mod artifacts;
mod copy;
mod life;
mod name;
mod options;
mod state;
mod wait;

pub use append::{Compaction, CustomMessage, SessionInit};
pub use artifacts::ArtifactManager;
pub use copy::Fork;
pub use name::TitleSource;
pub use options::{Durability, Logger, ManagerOptions, MigrationRewrite};
pub use state::SessionState;
pub use wait::{FlushWait, LockWait};

use crate::blob::BlobStore;
use crate::breadcrumb;
use crate::entry::{CURRENT_SESSION_VERSION, EntryKind, LineBuilder, Role, time};
use crate::error::{Error, ErrorCode, Result};
use crate::json::Json;
use crate::persist::{Begun, Pending, SessionFile, StoredSession};
use crate::report::LoadReport;
use crate::view::{SessionView, ViewOptions};
use std::borrow::Cow;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// One session that is worked on: read, appended to, branched, renamed, forked, moved.
///
/// Everything that can be read of a session is on [`SessionView`], to which a manager
/// dereferences. An append changes memory at once, and the file before it returns, from the moment
/// the session *starts*: with the first assistant message, or when something asks for the file
/// (R29). Several processes may work on one file (R53).
///
/// A manager belongs to one thread at a time and can be sent to another. What it holds is on disk
/// or was reported as an error: dropping it loses nothing that was acknowledged.
#[derive(Debug)]
pub struct SessionManager {
    view: SessionView,
    options: ManagerOptions,
    cwd: PathBuf,
    session_dir: PathBuf,
    /// `None` when the session is kept nowhere.
    path: Option<PathBuf>,
    backend: Backend,
    started: bool,
    pending: Pending,
    /// The failure that stays in force (R32).
    latched: Option<Error>,
    artifacts: artifacts::Artifacts,
}

/// Where a session is kept.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a manager has one, and almost every one has a file")]
pub(crate) enum Backend {
    Nowhere,
    File(SessionFile),
    Storage(StoredSession),
}

/// How far a session is on disk.
#[derive(Clone, Debug)]
pub struct PersistStatus {
    /// The failure that stays in force until [`SessionManager::ensure_on_disk`].
    pub error: Option<Error>,
    /// Entries in memory that are not on disk.
    pub unsaved: usize,
    /// The id of the last entry of this process that is on disk.
    pub last_saved: Option<String>,
}

impl Deref for SessionManager {
    type Target = SessionView;

    fn deref(&self) -> &SessionView {
        &self.view
    }
}

impl SessionManager {
    /// A new session with the default [`ManagerOptions`].
    ///
    /// # Errors
    /// As [`ManagerOptions::create`].
    pub fn create(cwd: impl AsRef<Path>) -> Result<Self> {
        ManagerOptions::new().create(cwd)
    }

    /// The session at `path` with the default [`ManagerOptions`].
    ///
    /// # Errors
    /// As [`ManagerOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        ManagerOptions::new().open(path)
    }

    /// The default session folder of the project at `cwd`, with the default [`ManagerOptions`].
    ///
    /// # Errors
    /// As [`ManagerOptions::default_session_dir`].
    pub fn default_session_dir(cwd: impl AsRef<Path>) -> Result<PathBuf> {
        ManagerOptions::new().default_session_dir(cwd)
    }

    /// The session that was worked on last in the project at `cwd`, with the default
    /// [`ManagerOptions`].
    ///
    /// # Errors
    /// As [`ManagerOptions::continue_recent`].
    pub fn continue_recent(cwd: impl AsRef<Path>) -> Result<Self> {
        ManagerOptions::new().continue_recent(cwd)
    }

    /// A session that is kept nowhere.
    ///
    /// # Errors
    /// As [`ManagerOptions::in_memory`].
    pub fn in_memory(cwd: impl AsRef<Path>) -> Result<Self> {
        ManagerOptions::new().in_memory(cwd)
    }

    fn make(options: ManagerOptions, cwd: PathBuf, session_dir: PathBuf, persist: bool) -> Result<Self> {
        if persist {
            options.ensure_dir(&session_dir)?;
        }
        let now = options.generator.now_ms();
        let id = options.generator.session_id();
        let header = new_header(&id, &time::format(now), &cwd, &HeaderExtras::default());
        let mut manager = Self {
            view: view_of(header, &options)?,
            path: None,
            backend: Backend::Nowhere,
            started: false,
            pending: Pending::default(),
            latched: None,
            artifacts: artifacts::Artifacts::default(),
            options,
            cwd,
            session_dir,
        };
        if persist {
            manager.put_at(manager.new_path());
        }
        Ok(manager)
    }

    /// The project's folder.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The folder of the session's file.
    #[must_use]
    pub fn session_dir(&self) -> &Path {
        &self.session_dir
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.header().id
    }

    /// The session's file, which need not exist yet; `None` when it is kept nowhere.
    #[must_use]
    pub fn session_file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The store of the session's blobs.
    #[must_use]
    pub fn blobs(&self) -> BlobStore {
        self.options.blobs()
    }

    /// The session has started: its file is written at once from now on (R29).
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.started
    }

    /// The session is kept somewhere (R28).
    #[must_use]
    pub fn is_persisted(&self) -> bool {
        !matches!(self.backend, Backend::Nowhere)
    }

    /// How far the session is on disk.
    #[must_use]
    pub fn persist_status(&self) -> PersistStatus {
        PersistStatus {
            error: self.latched.clone(),
            unsaved: self.pending.unsaved.len(),
            last_saved: self.view.last_written().map(Cow::into_owned),
        }
    }

    /// What was noticed while reading the session (R50).
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn load_report(&self) -> Result<LoadReport> {
        let mut report = self.view.report()?;
        if let Backend::File(file) = &self.backend {
            report.set_aside_file = file.set_aside().map(Path::to_owned);
        }
        Ok(report)
    }

    /// The role of the last model change on the leaf's path, `default` when it names none; `None`
    /// when there is no model change.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn last_model_change_role(&self) -> Result<Option<String>> {
        let tree = self.view.tree();
        for index in tree.leaf().into_iter().flat_map(|leaf| tree.towards_root(leaf)) {
            if tree.slot(index).kind != EntryKind::ModelChange {
                continue;
            }
            let text = self.view.stored_text(index)?;
            let change = Json::new(&text);
            // One that names no model changes nothing (R8).
            if change.get_str("model").is_some_and(|model| !model.is_empty()) {
                return Ok(Some(change.get_str("role").map_or_else(|| "default".to_owned(), Cow::into_owned)));
            }
        }
        Ok(None)
    }

    /// Takes out of what is shown of this process's assistant messages what belongs to a live
    /// connection to a provider: `providerPayload` of the type `openaiResponsesHistory`, and the
    /// `thinkingSignature` of thinking blocks beside it. Messages that were loaded never show it.
    /// Says whether there was any. The file keeps it, and so does [`EntryRef::text`].
    ///
    /// # Errors
    /// When the file cannot be read any more.
    ///
    /// [`EntryRef::text`]: crate::EntryRef::text
    pub fn sanitize_loaded_openai_responses_replay_metadata(&mut self) -> Result<bool> {
        self.view.show_as_loaded()
    }

    /// Moves the leaf to an entry: the next append becomes its child (R19).
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND`.
    pub fn branch(&mut self, id: &str) -> Result<()> {
        let index = self.index_of(id)?;
        self.view.set_leaf(Some(index));
        Ok(())
    }

    /// Moves the leaf to before the first entry: the next append is a root (R20).
    pub fn reset_leaf(&mut self) {
        self.view.set_leaf(None);
    }

    /// Waits until everything appended would survive a power cut (R30). Before the session starts
    /// there is nothing to wait for.
    ///
    /// # Errors
    /// The failure in force; an error of writing.
    pub fn flush(&mut self) -> Result<()> {
        if !self.settle()? {
            return Ok(());
        }
        let result = self.flushed(Backend::flush);
        self.latch(result)?;
        self.view.synced();
        Ok(())
    }

    /// What is to be flushed may have been moved by another process since it was looked at: then it is looked for.
    pub(crate) fn flushed<T>(&mut self, flush: impl Fn(&mut Backend) -> Result<T>) -> Result<T> {
        match flush(&mut self.backend) {
            Err(error) if error.code() == ErrorCode::NotFound && !self.backend.may_give_other_bytes() => {
                self.settle()?;
                flush(&mut self.backend)
            }
            result => result,
        }
    }

    /// Writes what a flush waits for; says whether there may be something to wait for.
    fn settle(&mut self) -> Result<bool> {
        self.check_latch()?;
        if !self.started {
            return Ok(false);
        }
        let lost = self.backend.has_lost_writes(&self.view);
        let lost = self.latch(lost)?;
        if lost || !self.pending.unsaved.is_empty() || self.pending.rewrite {
            self.write(|backend, view, pending, now| backend.append(None, view, pending, now))?;
        }
        Ok(true)
    }

    /// Flushes and closes the file. The next append opens it again (R30). It stays open for reading:
    /// somebody may remove or replace it, and its entries are in it. For other processes the session is not in use
    /// any more: this manager is not told where they move it.
    ///
    /// # Errors
    /// The first error there was; the file is closed in any case.
    pub fn close(&mut self) -> Result<()> {
        self.close_file()?;
        if let Backend::File(file) = &mut self.backend {
            file.put_away();
        }
        Ok(())
    }

    /// The same, but the session stays in use.
    fn close_file(&mut self) -> Result<()> {
        if self.backend.is_closed() && self.latched.is_none() && self.pending.is_empty() {
            // What becomes of the file since does not concern this manager.
            return Ok(());
        }
        let flushed = self.flush();
        let closed = self.backend.close(flushed.is_ok());
        flushed.and(self.latch(closed))
    }

    /// Closes the file for reading too, until an entry is read from it again: for a manager that is
    /// done with, but cannot be dropped yet. An entry of a file that was removed or replaced
    /// meanwhile is then an error of code [`FileChanged`](ErrorCode::FileChanged) or `NOT_FOUND`.
    pub fn release(&mut self) {
        self.view.source().release();
    }

    /// Writes the session even though it has not started, and makes sure that everything appended is in
    /// the file. After a failure, the way to try again: it puts the failure out of force and appends
    /// what is unsaved, or writes everything where that is not enough (R32).
    ///
    /// # Errors
    /// An error of writing.
    pub fn ensure_on_disk(&mut self) -> Result<()> {
        let latched = self.latched.take();
        let is_there = self.started && self.pending.is_empty() && !self.view.is_migrated() && self.backend_exists();
        if latched.is_none() && is_there {
            match self.backend.has_lost_writes(&self.view) {
                Ok(false) => return Ok(()),
                // What was deleted is made again.
                Err(error) if error.code() != ErrorCode::Gone => return Err(error),
                _ => {}
            }
        }
        self.started = self.is_persisted();
        if let Backend::File(file) = &mut self.backend {
            file.revive();
        }
        let result = self.write(Backend::ensure);
        if result.is_err() && self.latched.is_none() {
            // The file was locked: nothing was tried.
            self.latched = latched;
        }
        if result.is_ok() {
            self.view.synced();
        }
        result
    }

    /// Writes the file anew, with other texts for some entries: each an id and the whole entry as
    /// JSON. Entries keep their id and parent; others' lines are copied (R45, R53e). When the session
    /// is locked the texts are in memory, and go out with the next write.
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND`, or `INVALID_ARGUMENT` for a text that is not that entry, and nothing is
    /// changed then; the failure in force; an error of writing.
    pub fn rewrite_entries(&mut self, changes: &[(&str, &str)]) -> Result<()> {
        self.check_latch()?;
        if let Err(error) = self.replace_texts_of(changes) {
            if !matches!(error.code(), ErrorCode::FileChanged | ErrorCode::NotFound) {
                return Err(error);
            }
            // What was read before is read again, where it is now.
            self.write(Backend::catch_up)?;
            self.replace_texts_of(changes)?;
        }
        self.started = self.is_persisted();
        self.write(Backend::rewrite)
    }

    fn replace_texts_of(&mut self, changes: &[(&str, &str)]) -> Result<()> {
        let changes = changes.iter().map(|(id, text)| Ok((self.index_of(id)? as usize, *text)));
        let changes = changes.collect::<Result<Vec<_>>>()?;
        self.replace_texts(&changes)
    }

    /// Gives entries other texts, each a position and the whole entry as JSON. The next time the
    /// file is written anew, whatever for, they are in it; nothing is written now.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a position or a text that is not that entry's, and nothing is changed
    /// then.
    pub fn replace_texts(&mut self, changes: &[(usize, &str)]) -> Result<()> {
        let mut texts = Vec::with_capacity(changes.len());
        for (position, text) in changes {
            let index = u32::try_from(*position).ok().filter(|&index| index < self.view.tree().count());
            let index = index.ok_or_else(|| Error::new(ErrorCode::InvalidArgument, "no entry stands there"))?;
            let text = append::object(text)?.into_owned();
            self.view.check_replacement(index, &text)?;
            texts.push((index, text));
        }
        let mut recount = false;
        for (index, text) in texts {
            recount |= self.view.replace(index, text)?;
            // One without a line may have one all the same, written after the state that was gone back to.
            self.pending.changed.insert(index);
        }
        if recount {
            self.view.recount()?;
        }
        Ok(())
    }

    /// What was held before another process replaced the file (R53d): of several replacements the view
    /// before the first. Who keeps entries in a form of its own learns from it which of them it changed
    /// since they were read. `None` when nothing was replaced since the last call, or without
    /// [`ManagerOptions::keep_replaced`].
    pub fn take_replaced(&mut self) -> Option<SessionView> {
        self.view.take_replaced()
    }

    /// Keeps a failure in force that a storage of the caller's own reported late, as if writing had
    /// failed here (R32).
    pub fn report_failure(&mut self, error: Error) {
        let _: Result<()> = self.latch(Err(error));
    }

    /// Writes through the backend and keeps a failure in force.
    fn write(
        &mut self,
        how: impl FnOnce(&mut Backend, &mut SessionView, &mut Pending, i64) -> Result<()>,
    ) -> Result<()> {
        let now = self.options.generator.now_ms();
        self.write_at(now, how)
    }

    /// The same at a moment that is known.
    fn write_at(
        &mut self,
        now: i64,
        how: impl FnOnce(&mut Backend, &mut SessionView, &mut Pending, i64) -> Result<()>,
    ) -> Result<()> {
        self.check_latch()?;
        if !self.is_persisted() {
            self.pending.clear();
            return Ok(());
        }
        let result = how(&mut self.backend, &mut self.view, &mut self.pending, now);
        self.followed();
        self.latch(result)
    }

    fn check_latch(&self) -> Result<()> {
        self.latched.clone().map_or(Ok(()), Err)
    }

    /// Keeps a failure in force, and logs it once. That another process held the lock passes.
    fn latch<T>(&mut self, result: Result<T>) -> Result<T> {
        let Err(error) = &result else { return result };
        let passes = matches!(error.code(), ErrorCode::Locked | ErrorCode::Gone);
        if !passes && self.latched.is_none() {
            self.latched = Some(error.clone());
            if self.backend.may_give_other_bytes() {
                self.view.recall(&mut self.pending);
            }
            if let Some(log) = &self.options.logger {
                let file = self.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
                log(&format!("session persistence error: {file}: {error}"));
            }
        }
        result
    }

    /// Takes in what others wrote before the entry that is to be appended (R53c).
    fn begin_append(&mut self, now_ms: i64) -> Result<Option<Begun>> {
        match &mut self.backend {
            Backend::File(file) if self.started && self.latched.is_none() => {
                let begun = file.begin_append(&mut self.view, &mut self.pending, now_ms);
                self.followed();
                begun.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// When the session was found where another process moved it, this manager is there too.
    fn followed(&mut self) {
        if let Backend::File(file) = &mut self.backend
            && let Some(path) = file.take_followed()
        {
            if let Some(cwd) = &self.view.header().cwd {
                self.cwd = PathBuf::from(cwd);
            }
            self.session_dir = path.parent().map(Path::to_owned).unwrap_or_default();
            self.path = Some(path);
            self.leave_breadcrumb();
        }
    }

    /// Decides what an append means for the file, and does it (R29).
    fn appended(&mut self, index: u32, begun: Result<Option<Begun>>, now_ms: i64) -> Result<()> {
        if !self.is_persisted() {
            return Ok(());
        }
        self.pending.unsaved.push(index);
        let is_assistant = self.view.tree().slot(index).role == Role::Assistant;
        if !self.started && !is_assistant {
            return Ok(());
        }
        self.started = true;
        self.write_at(now_ms, |backend, view, pending, now| backend.append(begun?, view, pending, now))
    }

    /// The session is at `path` from now on; nothing is written.
    fn put_at(&mut self, path: PathBuf) {
        self.backend = self.options.backend(&path);
        self.path = Some(path);
        self.started = false;
        self.latched = None;
        self.pending.clear();
    }

    /// Notes, as well as it can, that this terminal has this session (R3).
    fn leave_breadcrumb(&self) {
        if let (true, Some(path)) = (self.is_persisted(), &self.path) {
            breadcrumb::write(&self.options.dirs, &self.cwd, path);
        }
    }

    /// Where a session of this header is kept by default (R1).
    fn new_path(&self) -> PathBuf {
        let header = self.header();
        self.path_of(header.timestamp.as_deref().unwrap_or_default(), &header.id)
    }

    fn path_of(&self, timestamp: &str, id: &str) -> PathBuf {
        self.session_dir.join(format!("{}_{id}.jsonl", time::in_file_name(timestamp)))
    }
}

impl Backend {
    fn append(
        &mut self,
        begun: Option<Begun>,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
    ) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => file.append(begun, view, pending, now_ms),
            Self::Storage(stored) => stored.append(view, pending, now_ms),
        }
    }

    fn rewrite(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => {
                pending.rewrite = true;
                file.rewrite(view, pending, now_ms)
            }
            Self::Storage(stored) => {
                pending.rewrite = true;
                stored.rewrite(view, pending, now_ms)
            }
        }
    }

    /// Writes what is not there.
    fn ensure(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        match self {
            Self::File(file) => file.ensure(view, pending, now_ms),
            _ => self.rewrite(view, pending, now_ms),
        }
    }

    /// Takes in what others did.
    fn catch_up(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        match self {
            Self::File(file) => file.catch_up(view, pending, now_ms),
            Self::Nowhere | Self::Storage(_) => Ok(()),
        }
    }

    /// Reads again what was changed in place.
    fn verify(&mut self, view: &mut SessionView, pending: &mut Pending, _now_ms: i64) -> Result<()> {
        match self {
            Self::File(file) => file.verify(view, pending),
            Self::Nowhere | Self::Storage(_) => Ok(()),
        }
    }

    /// What is read may not be what was written.
    fn may_give_other_bytes(&self) -> bool {
        match self {
            Self::Nowhere => false,
            Self::File(file) => file.has_failed_sync(),
            Self::Storage(_) => true,
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => file.flush(),
            Self::Storage(stored) => stored.flush(),
        }
    }

    fn has_lost_writes(&self, view: &SessionView) -> Result<bool> {
        match self {
            Self::File(file) => file.has_lost_writes(view),
            Self::Nowhere | Self::Storage(_) => Ok(false),
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self, Self::File(file) if file.is_closed())
    }

    fn close(&mut self, flushed: bool) -> Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => {
                file.close(flushed);
                Ok(())
            }
            Self::Storage(stored) => stored.close(),
        }
    }
}

/// The optional fields of a new header.
#[derive(Clone, Debug, Default)]
struct HeaderExtras {
    version: Option<u32>,
    parent_session: Option<String>,
    title: Option<String>,
    title_source: Option<String>,
}

/// A header in the order of create, newSession, forkFrom and createBranchedSession.
fn new_header(id: &str, timestamp: &str, cwd: &Path, extras: &HeaderExtras) -> Vec<u8> {
    let version = extras.version.unwrap_or(CURRENT_SESSION_VERSION).to_string();
    LineBuilder::new("session")
        .json("version", version.as_bytes())
        .text("id", id)
        .text("timestamp", timestamp)
        .text("cwd", &cwd.to_string_lossy())
        .optional_text("parentSession", extras.parent_session.as_deref())
        .optional_text("title", extras.title.as_deref())
        .optional_text("titleSource", extras.title_source.as_deref())
        .finish()
}

/// The view of a session that is in memory.
fn view_of(text: Vec<u8>, options: &ManagerOptions) -> Result<SessionView> {
    ViewOptions::new().blobs(options.blobs().dir()).read_bytes(text)
}
