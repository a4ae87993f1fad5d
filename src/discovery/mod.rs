//! Finding sessions: listing them, the latest ones, the one that is meant (R38-R41, R58).
//!
//! Nothing here writes or takes a lock. A listing reads each file once, in steps, on a few threads
//! that have one buffer each; a file that cannot be read, or is no session, costs itself only.

mod info;
mod place;
mod project;
mod summary;
mod work;

pub use info::{RecentSession, Resumable, Scope, SessionInfo};

use crate::entry::Header;
use crate::error::{Error, Result};
use crate::json::Scanner;
use crate::paths::{AgentDirs, absolute};
use crate::storage::walk::Found;
use crate::storage::{SessionStorage, Source};
use info::{Meant, newest_first};
use place::{Place, named};
use project::Project;
use std::fmt;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use summary::{Summary, Verdict, Worker};

/// Is told how many files of how many are done, and may stop the listing.
type Progress = dyn Fn(usize, usize) -> ControlFlow<()> + Send + Sync;

/// Finds sessions.
///
/// It never writes, takes no lock, follows no symbolic link, and opens nothing that is no plain
/// file; so it works on a read-only disk, and a pipe among the sessions does not stop it.
///
/// A finder holds no files and can be shared between threads.
#[derive(Clone, Default)]
pub struct SessionFinder {
    dirs: AgentDirs,
    session_dir: Option<PathBuf>,
    roots: Option<Vec<PathBuf>>,
    storage: Option<Arc<dyn SessionStorage>>,
    threads: Option<NonZero<usize>>,
    progress: Option<Arc<Progress>>,
}

/// What a listing found.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The sessions, the newest first; of the same age, the later path.
    pub sessions: Vec<SessionInfo>,
    /// What could not be read or is no session, each with its path.
    pub problems: Vec<Error>,
    /// It was stopped: sessions and problems are those found until then.
    pub cancelled: bool,
}

impl fmt::Debug for SessionFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionFinder")
            .field("dirs", &self.dirs)
            .field("session_dir", &self.session_dir)
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl SessionFinder {
    /// Finds the sessions of this machine's agent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent's folders.
    #[must_use]
    pub fn dirs(mut self, dirs: AgentDirs) -> Self {
        self.dirs = dirs;
        self
    }

    /// The folder that a project's sessions are looked for in, instead of its default ones.
    #[must_use]
    pub fn session_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.session_dir = Some(dir.into());
        self
    }

    /// The folders that hold the session folders of projects, instead of the one of the agent: to
    /// look for the sessions of several agents.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.roots = Some(roots.into_iter().map(Into::into).collect());
        self
    }

    /// Looks into another storage than files. Its methods are called from several threads at once,
    /// unless [`SessionFinder::threads`] says one: then from the calling thread only.
    #[must_use]
    pub fn storage(mut self, storage: impl SessionStorage + 'static) -> Self {
        self.storage = Some(Arc::new(storage));
        self
    }

    pub(crate) fn shared_storage(mut self, storage: Option<Arc<dyn SessionStorage>>) -> Self {
        self.storage = storage;
        self
    }

    /// How many threads may read at once; by default as many as the machine has, at most four.
    #[must_use]
    pub fn threads(mut self, most: NonZero<usize>) -> Self {
        self.threads = Some(most);
        self
    }

    /// Is called while a listing is under way with the number of files that are done and the number
    /// of all, several times for a large file; may stop the listing. It is called on the thread that
    /// asked for the listing.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(usize, usize) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// The sessions of the project at `cwd` (R40): those in its default folders, or in the folder of
    /// [`SessionFinder::session_dir`]. Of a default folder, even when it was given, those that are
    /// the project's or nobody's (R58); of another, all.
    ///
    /// A folder that is not there holds none. That a folder cannot be read is a problem of the
    /// listing.
    #[must_use]
    pub fn list(&self, cwd: impl AsRef<Path>) -> Listing {
        let (dirs, project) = self.project(cwd.as_ref());
        let mut problems = Vec::new();
        let files = self.place().find(&dirs, false, &mut problems);
        self.summarize(files, problems, project.as_ref())
    }

    /// The sessions of all projects, those of sub-agents too, at any depth (R41).
    ///
    /// Of a storage, those that its `list_dirs` leads to.
    #[must_use]
    pub fn list_all(&self) -> Listing {
        let mut problems = Vec::new();
        let files = self.place().find(&self.all_roots(), true, &mut problems);
        self.summarize(files, problems, None)
    }

    /// The latest sessions in a folder, at most `limit`, the newest first; of the same age, the
    /// later name. Only the beginnings of as many files are read (R38).
    #[must_use]
    pub fn recent(&self, dir: impl AsRef<Path>, limit: usize) -> Vec<RecentSession> {
        let files = self.place().find(&[absolute(dir.as_ref())], false, &mut Vec::new());
        let sessions = self.beginnings(sorted(files), None);
        sessions.filter_map(|(found, summary)| RecentSession::new(&found, &summary)).take(limit).collect()
    }

    /// The newest session in a folder (R39).
    #[must_use]
    pub fn most_recent(&self, dir: impl AsRef<Path>) -> Option<PathBuf> {
        self.recent(dir, 1).pop().map(|session| session.path)
    }

    /// The latest sessions of the project at `cwd`, as [`SessionFinder::recent`] tells them of a
    /// folder; R57 and R58 hold as for [`SessionFinder::list`].
    #[must_use]
    pub fn recent_of(&self, cwd: impl AsRef<Path>, limit: usize) -> Vec<RecentSession> {
        let (dirs, project) = self.project(cwd.as_ref());
        let files = self.place().find(&dirs, false, &mut Vec::new());
        let sessions = self.beginnings(sorted(files), project.as_ref());
        sessions.filter_map(|(found, summary)| RecentSession::new(&found, &summary)).take(limit).collect()
    }

    /// The newest session of the project at `cwd`.
    #[must_use]
    pub fn most_recent_of(&self, cwd: impl AsRef<Path>) -> Option<PathBuf> {
        self.recent_of(cwd, 1).pop().map(|session| session.path)
    }

    /// The newest session of all projects, those of sub-agents too.
    #[must_use]
    pub fn newest(&self) -> Option<PathBuf> {
        let files = self.place().find(&self.all_roots(), true, &mut Vec::new());
        self.beginnings(sorted(files), None).next().map(|(found, _)| found.path)
    }

    /// The session that `arg` means, by the beginning of its id, of its file's name, or of what
    /// follows the last `_` of that; case does not count. The newest of the project at `cwd`, else
    /// the newest of all projects; with [`SessionFinder::session_dir`] only of that folder.
    #[must_use]
    pub fn resolve(&self, arg: &str, cwd: impl AsRef<Path>) -> Option<Resumable> {
        self.resumable(arg, cwd.as_ref(), 1).into_iter().next()
    }

    /// All sessions that [`SessionFinder::resolve`] could mean, the newest first: those of the
    /// project, and those of all projects when it has none. When `arg` is the whole id, or the whole name,
    /// of just one of them, that one alone.
    #[must_use]
    pub fn candidates(&self, arg: &str, cwd: impl AsRef<Path>) -> Vec<Resumable> {
        self.resumable(arg, cwd.as_ref(), usize::MAX)
    }

    /// The files of the sessions of all projects that `prefix` means, as in
    /// [`SessionFinder::candidates`], the newest first.
    #[must_use]
    pub fn by_prefix(&self, prefix: &str) -> Vec<PathBuf> {
        let files = self.place().find(&self.all_roots(), true, &mut Vec::new());
        self.meant(files, prefix, None, usize::MAX).into_iter().map(|found| found.path).collect()
    }

    /// The texts of a session's users and assistants, of every branch, joined by spaces: what a
    /// person searches in. Read when it is asked for; as large as the texts are.
    ///
    /// # Errors
    /// As for a file of a listing.
    pub fn all_messages_text(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        let source = self.place().open(path)?;
        let summary = Summary::read(&source, &mut Worker::new(), true, &mut |_| Verdict::GoOn);
        let summary = summary.map_err(|error| named(error, path))?;
        Ok(summary.and_then(|summary| summary.texts).unwrap_or_default())
    }

    /// The most that [`SessionFinder::recent`] asks of a file's beginning, in what its storage counts.
    pub const PREFIX: usize = summary::HEADER_WITHIN + 1;

    /// The folders that are looked through: for the sessions of the project at `cwd` as
    /// [`SessionFinder::list`] does, or for those of all projects, there with the folders in them.
    #[must_use]
    pub fn folders(&self, cwd: Option<&Path>) -> Vec<PathBuf> {
        cwd.map_or_else(|| self.all_roots(), |cwd| self.project(cwd).0)
    }

    /// Whether a session whose header names the folder `header_cwd` is shown for the project at
    /// `cwd` (R58): it is the project's, links followed; or it names no folder, or one that no
    /// longer exists.
    #[must_use]
    pub fn shows(cwd: impl AsRef<Path>, header_cwd: Option<&str>) -> bool {
        Project::new(cwd.as_ref()).shows(header_cwd)
    }

    fn place(&self) -> Place<'_> {
        self.storage.as_deref().map_or(Place::Files, Place::Storage)
    }

    fn all_roots(&self) -> Vec<PathBuf> {
        self.roots.clone().unwrap_or_else(|| vec![self.dirs.sessions()])
    }

    /// The folders of a project's sessions, and whose are shown of them.
    fn project(&self, cwd: &Path) -> (Vec<PathBuf>, Option<Project>) {
        let names = self.dirs.session_dir_names(cwd);
        let in_root = |root: &Path| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let dirs = match self.session_dir.as_deref().map(absolute) {
            None => self.all_roots().iter().flat_map(|root| in_root(root)).collect(),
            // By its other names the folder is beside it.
            Some(dir) if self.dirs.is_session_dir_of(&dir, cwd) => in_root(dir.parent().unwrap_or(&dir)),
            Some(dir) => return (vec![dir], None),
        };
        (dirs, Some(Project::new(cwd)))
    }

    /// Reads whole sessions, on several threads.
    fn summarize(&self, files: Vec<Found>, problems: Vec<Error>, project: Option<&Project>) -> Listing {
        let place = self.place();
        let shows = |header: &Header| project.is_none_or(|project| project.shows(header.cwd.as_deref()));
        work::run(&files, problems, self.threads, self.progress.as_deref(), |worker, found, goes_on| {
            let source = place.open(&found.path)?;
            let mut judge = |header: &Header| if shows(header) && goes_on() { Verdict::GoOn } else { Verdict::Stop };
            let summary = Summary::read(&source, worker, false, &mut judge).map_err(|e| named(e, &found.path))?;
            Ok(summary.and_then(|summary| SessionInfo::new(found, summary)))
        })
    }

    /// Those files that are sessions, of the project when one is given, with what their beginnings
    /// say; read one after another, as they are asked for.
    fn beginnings<'f>(
        &'f self,
        files: Vec<Found>,
        project: Option<&'f Project>,
    ) -> impl Iterator<Item = (Found, Summary)> + 'f {
        let mut scanner = Scanner::new();
        files.into_iter().filter_map(move |found| {
            let summary = self.place().beginning(&found.path, &mut scanner).ok()?;
            let cwd = summary.header.as_ref()?.cwd.as_deref();
            project.is_none_or(|project| project.shows(cwd)).then_some((found, summary))
        })
    }

    /// The newest of the files that `arg` means, at most `most`.
    fn meant(&self, files: Vec<Found>, arg: &str, project: Option<&Project>, most: usize) -> Vec<Found> {
        let arg = arg.to_lowercase();
        let mut found: Vec<(Found, Meant)> = self
            .beginnings(sorted(files), project)
            .filter_map(|(found, summary)| {
                let meant = Meant::by(&arg, &summary.header.as_ref()?.id, &found.path)?;
                Some((found, meant))
            })
            .take(most)
            .collect();
        // A whole id is not the start of others.
        if found.iter().filter(|(_, meant)| *meant == Meant::Whole).count() == 1 {
            found.retain(|(_, meant)| *meant == Meant::Whole);
        }
        found.into_iter().map(|(found, _)| found).collect()
    }

    fn resumable(&self, arg: &str, cwd: &Path, most: usize) -> Vec<Resumable> {
        let (dirs, project) = self.project(cwd);
        let local = self.place().find(&dirs, false, &mut Vec::new());
        let mut meant = self.meant(local, arg, project.as_ref(), most);
        let mut scope = Scope::Local;
        if meant.is_empty() && self.session_dir.is_none() {
            scope = Scope::Global;
            let all = self.place().find(&self.all_roots(), true, &mut Vec::new());
            meant = self.meant(all, arg, None, most);
        }
        let sessions = self.summarize(meant, Vec::new(), None).sessions;
        sessions.into_iter().map(|session| Resumable { session, scope }).collect()
    }
}

impl SessionInfo {
    /// What a listing would say of a session that is in memory: for programs that keep sessions
    /// where this library cannot look. `None` without a header (R15).
    #[must_use]
    pub fn of_bytes(path: impl Into<PathBuf>, modified: SystemTime, bytes: Vec<u8>) -> Option<Self> {
        let found = Found { path: path.into(), modified, size: bytes.len() as u64 };
        let summary = Summary::read(&Source::Bytes(bytes), &mut Worker::new(), false, &mut |_| Verdict::GoOn);
        Self::new(&found, summary.ok()??)
    }
}

impl RecentSession {
    /// What [`SessionFinder::recent`] would say of a session with these first bytes. `None` without
    /// a header in them.
    #[must_use]
    pub fn of_prefix(path: impl Into<PathBuf>, modified: SystemTime, prefix: &[u8]) -> Option<Self> {
        let found = Found { path: path.into(), modified, size: prefix.len() as u64 };
        Self::new(&found, &Summary::of_prefix(&mut Scanner::new(), prefix, crate::load::End::Last))
    }
}

/// The newest first.
fn sorted(mut files: Vec<Found>) -> Vec<Found> {
    files.sort_unstable_by(|a, b| newest_first((a.modified, &a.path), (b.modified, &b.path)));
    files
}

/// The header of the session at `path`, looked for in its first 64 KiB; `None` when there is none.
///
/// # Errors
/// When it cannot be read, or is no plain file.
pub(crate) fn header_of(storage: Option<&dyn SessionStorage>, path: &Path) -> Result<Option<Header>> {
    let place = storage.map_or(Place::Files, Place::Storage);
    place.beginning(path, &mut Scanner::new()).map(|summary| summary.header)
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
