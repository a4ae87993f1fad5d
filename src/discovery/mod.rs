//! Finding sessions: listing them, the latest ones, the one that is meant (R38-R41, R58).
//!
//! Nothing here writes or takes a lock. A listing reads each file once, in steps, on a few threads
//! that have one buffer each; a file that cannot be read, or is no session, costs itself only.

mod info;
mod place;
mod project;
mod summary;
mod work;

pub use info::{Candidates, RecentSession, Resumable, Scope, SessionInfo};

use crate::entry::Header;
use crate::error::{Error, ErrorCode, Result};
use crate::json::Scanner;
use crate::paths::{AgentDirs, absolute};
use crate::storage::walk::{Found, Walk};
use crate::storage::{SessionStorage, Source, other_than_files};
use info::Meant;
use place::{Beginning, Place, named};
use project::{Owner, Project};
use std::collections::{BTreeMap, HashMap};
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
/// It never writes, takes no lock, and opens nothing that is not a plain file; so it works on a
/// read-only disk, and a pipe among the sessions does not stop it. It follows no symbolic link, but
/// for a directory that is linked directly under the directory of all sessions, in the place of a
/// project's, and for the directories that it is given.
///
/// A session is newer than another when it was used later: see [`SessionInfo::used`].
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
    /// The sessions, the newest first; of the same age, the one whose file changed later, then the
    /// later path.
    pub sessions: Vec<SessionInfo>,
    /// What could not be read or is no session, each with its path.
    pub problems: Vec<Error>,
    /// Symbolic links that were not followed and may lead to sessions.
    pub links: Vec<PathBuf>,
    /// It was stopped: sessions and problems are those found until then.
    pub cancelled: bool,
}

impl Listing {
    /// What is there and is not among the sessions, each with its path: the problems, then the links, as
    /// errors `INVALID_ARGUMENT`.
    #[must_use]
    pub fn not_listed(&self) -> Vec<Error> {
        let links = self.links.iter().map(|link| {
            let message = "a symbolic link is not followed here";
            Error::new(ErrorCode::InvalidArgument, message).at(link)
        });
        self.problems.iter().cloned().chain(links).collect()
    }
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
        self.storage = other_than_files(storage);
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
        self.summarize(self.place().find(&dirs, false), project.as_ref())
    }

    /// The sessions of all projects, those of sub-agents too, at any depth (R41).
    ///
    /// Of a storage, those that its `list_dirs` leads to.
    #[must_use]
    pub fn list_all(&self) -> Listing {
        self.summarize(self.place().find(&self.all_roots(), true), None)
    }

    /// The latest sessions in a directory, at most `limit`, the newest first. Only the beginnings and
    /// ends of as many files are read as it takes (R38).
    #[must_use]
    pub fn recent(&self, dir: impl AsRef<Path>, limit: usize) -> Vec<RecentSession> {
        let files = self.place().find(&[absolute(dir.as_ref())], false).files;
        self.called(self.by_use(files, None, is_session).take(limit))
    }

    /// The newest session in a directory (R39).
    #[must_use]
    pub fn most_recent(&self, dir: impl AsRef<Path>) -> Option<PathBuf> {
        let files = self.place().find(&[absolute(dir.as_ref())], false).files;
        self.by_use(files, None, is_session).next().map(|begun| begun.found.path)
    }

    /// The latest sessions of the project at `cwd`, as [`SessionFinder::recent`] tells them of a
    /// directory; R57 and R58 hold as for [`SessionFinder::list`]. Those whose header names the project
    /// come first, whatever their age; then those that name no directory; then those of a project that
    /// is gone.
    #[must_use]
    pub fn recent_of(&self, cwd: impl AsRef<Path>, limit: usize) -> Vec<RecentSession> {
        self.called(self.nearest_of(cwd.as_ref(), limit).into_iter())
    }

    /// The session of the project at `cwd` to go on with: the first of [`SessionFinder::recent_of`].
    #[must_use]
    pub fn most_recent_of(&self, cwd: impl AsRef<Path>) -> Option<PathBuf> {
        self.nearest_of(cwd.as_ref(), 1).pop().map(|begun| begun.found.path)
    }

    /// The same for a terminal that had the session `had`, with this header, in the project. It goes
    /// on with that, but not with one of a project that is gone when the project has one of its own.
    pub(crate) fn most_recent_on_terminal(&self, cwd: &Path, had: Option<(PathBuf, Header)>) -> Option<PathBuf> {
        let Some((path, header)) = had else { return self.most_recent_of(cwd) };
        let is_gone = |project: &Project| project.owner(header.cwd.as_deref()) == Owner::Gone;
        if self.project(cwd).1.as_ref().is_some_and(is_gone) {
            let own = self.nearest_of(cwd, 1).pop().filter(|begun| begun.owner == Owner::Project);
            return Some(own.map_or(path, |begun| begun.found.path));
        }
        Some(path)
    }

    /// The newest session of all projects, those of sub-agents too.
    #[must_use]
    pub fn newest(&self) -> Option<PathBuf> {
        let files = self.place().find(&self.all_roots(), true).files;
        self.by_use(files, None, is_session).next().map(|begun| begun.found.path)
    }

    /// The session that `arg` means, by the beginning of its id, of its file's name, or of what
    /// follows the last `_` of that; case does not count. The first of the project at `cwd`, in the
    /// order of [`SessionFinder::recent_of`], else the newest of all projects; with
    /// [`SessionFinder::session_dir`] only of that directory.
    ///
    /// # Errors
    /// When the session that is meant, by the name of its file, cannot be read; or when none was found,
    /// and a directory that may hold it cannot be read.
    pub fn resolve(&self, arg: &str, cwd: impl AsRef<Path>) -> Result<Option<Resumable>> {
        let Candidates { sessions, problems, not_searched } = self.resumable(arg, cwd.as_ref(), 1);
        match problems.into_iter().chain(not_searched).next() {
            Some(problem) => Err(problem),
            None => Ok(sessions.into_iter().next()),
        }
    }

    /// All sessions that [`SessionFinder::resolve`] could mean, in that order: those of the project,
    /// and those of all projects when it has none. When `arg` is the whole id, or the whole name, of
    /// just one of them, that one alone. A file that cannot be read is one of them by its name, and
    /// among the problems.
    #[must_use]
    pub fn candidates(&self, arg: &str, cwd: impl AsRef<Path>) -> Candidates {
        self.resumable(arg, cwd.as_ref(), usize::MAX)
    }

    /// The files of the sessions of all projects that `prefix` means, as in
    /// [`SessionFinder::candidates`], the newest first; those that cannot be read too.
    ///
    /// # Errors
    /// When there are none, and a directory that may hold one cannot be read.
    pub fn by_prefix(&self, prefix: &str) -> Result<Vec<PathBuf>> {
        let Walk { files, problems, .. } = self.place().find(&self.all_roots(), true);
        let meant = self.meant(files, prefix, None, usize::MAX);
        match problems.into_iter().next() {
            Some(problem) if meant.is_empty() => Err(problem),
            _ => Ok(meant.into_iter().map(|begun| begun.found.path).collect()),
        }
    }

    /// The texts of a session's users and assistants, of every branch, joined by spaces: what a
    /// person searches in. Read when it is asked for; as large as the texts are.
    ///
    /// # Errors
    /// As for a file of a listing.
    pub fn all_messages_text(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        let source = self.place().open(path)?;
        let summary = Summary::read(&source, &mut Worker::new(), true, &mut |_, _| Verdict::GoOn);
        let summary = summary.map_err(|error| named(error, path))?;
        Ok(summary.and_then(|summary| summary.texts).unwrap_or_default())
    }

    /// The most that is asked of a file's beginning for its header, in what its storage counts.
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
        Project::new(cwd.as_ref()).owner(header_cwd) != Owner::Other
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
    fn summarize(&self, walk: Walk, project: Option<&Project>) -> Listing {
        let place = self.place();
        let owner = |header: Option<&Header>| owner(project, header);
        let listing = work::run(&walk.files, self.threads, self.progress.as_deref(), |worker, found, goes_on| {
            let source = place.open(&found.path)?;
            let mut judge = |summary: &Summary, _| {
                if owner(summary.header.as_ref()) != Owner::Other && goes_on() { Verdict::GoOn } else { Verdict::Stop }
            };
            let summary = Summary::read(&source, worker, false, &mut judge).map_err(|e| named(e, &found.path))?;
            Ok(summary.and_then(|summary| {
                let owner = owner(summary.header.as_ref());
                SessionInfo::new(found, summary, owner)
            }))
        });
        let mut problems = [walk.problems, listing.problems].concat();
        problems.sort_by(|a, b| a.path().cmp(&b.path()));
        Listing { problems, links: walk.links, ..listing }
    }

    /// Those files that `keep` takes by path and header, of the project when one is given, the newest
    /// first; read one after another, as they are asked for. A file that cannot be read has no header.
    fn by_use<'f>(
        &'f self,
        mut files: Vec<Found>,
        project: Option<&'f Project>,
        keep: impl Fn(&Path, Option<&Header>) -> bool + 'f,
    ) -> impl Iterator<Item = Begun> + 'f {
        files.sort_unstable_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        let mut scanner = Scanner::new();
        let mut read: BTreeMap<(SystemTime, SystemTime, PathBuf), Begun> = BTreeMap::new();
        std::iter::from_fn(move || {
            // No file was used after it changed last: the rest is older than what was used later than that.
            while let Some(next) = files.last()
                && read.last_key_value().is_none_or(|((used, ..), _)| *used <= next.modified)
            {
                let found = files.pop()?;
                if let Some(begun) = self.begin(found, project, &keep, &mut scanner) {
                    read.insert((begun.used, begun.found.modified, begun.found.path.clone()), begun);
                }
            }
            read.pop_last().map(|(_, begun)| begun)
        })
    }

    fn begin(
        &self,
        found: Found,
        project: Option<&Project>,
        keep: impl Fn(&Path, Option<&Header>) -> bool,
        scanner: &mut Scanner,
    ) -> Option<Begun> {
        match self.place().beginning(&found.path, scanner) {
            Ok(beginning) => {
                let header = Some(beginning.summary.header.as_ref()?);
                let owner = owner(project, header);
                if owner == Owner::Other || !keep(&found.path, header) {
                    return None;
                }
                let used = self.place().used(&found, &beginning, scanner).unwrap_or(found.modified);
                Some(Begun { used, owner, beginning: Some(beginning.closed()), found })
            }
            // Removed meanwhile.
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(_) => keep(&found.path, None).then(|| Begun {
                used: found.modified,
                owner: Owner::Project,
                beginning: None,
                found,
            }),
        }
    }

    /// The sessions of a project, at most `limit`, the nearest first; the newest of those.
    fn nearest_of(&self, cwd: &Path, limit: usize) -> Vec<Begun> {
        let (dirs, project) = self.project(cwd);
        let files = self.place().find(&dirs, false).files;
        nearest(self.by_use(files, project.as_ref(), is_session), limit)
    }

    /// What they are called.
    fn called(&self, sessions: impl Iterator<Item = Begun>) -> Vec<RecentSession> {
        let mut worker = Worker::new();
        let called = sessions.filter_map(|Begun { found, used, owner, beginning }| {
            let summary = self.place().read_on(&found.path, beginning?, &mut worker).ok()?;
            RecentSession::new(&found, &summary, used, owner)
        });
        called.collect()
    }

    /// The files that `arg` means, at most `most`, the nearest first; the newest of those.
    fn meant(&self, files: Vec<Found>, arg: &str, project: Option<&Project>, most: usize) -> Vec<Begun> {
        let arg = arg.to_lowercase();
        let meant = |path: &Path, header: Option<&Header>| match header {
            Some(header) => Meant::by(&arg, &header.id, path),
            // Every name begins with nothing, and none is meant by it.
            None if arg.is_empty() => None,
            None => Meant::by(&arg, "", path),
        };
        let mut found = nearest(self.by_use(files, project, |path, header| meant(path, header).is_some()), most);
        // A whole id is not the start of others.
        let is_whole = |begun: &Begun| {
            let header = begun.beginning.as_ref().and_then(|beginning| beginning.summary.header.as_ref());
            meant(&begun.found.path, header) == Some(Meant::Whole)
        };
        if found.iter().filter(|begun| is_whole(begun)).count() == 1 {
            found.retain(is_whole);
        }
        found
    }

    fn resumable(&self, arg: &str, cwd: &Path, most: usize) -> Candidates {
        let (dirs, project) = self.project(cwd);
        let mut walk = self.place().find(&dirs, false);
        let mut meant = self.meant(std::mem::take(&mut walk.files), arg, project.as_ref(), most);
        let mut shown_for = project.as_ref();
        let mut scope = Scope::Local;
        if meant.is_empty() && self.session_dir.is_none() {
            scope = Scope::Global;
            shown_for = None;
            walk = self.place().find(&self.all_roots(), true);
            meant = self.meant(std::mem::take(&mut walk.files), arg, None, most);
        }
        let mut not_searched = std::mem::take(&mut walk.problems);
        if !meant.is_empty() {
            not_searched.clear();
        }
        let order: HashMap<PathBuf, usize> = meant.iter().map(|begun| begun.found.path.clone()).zip(0..).collect();
        walk.files = meant.into_iter().map(|begun| begun.found).collect();
        let Listing { mut sessions, problems, .. } = self.summarize(walk, shown_for);
        sessions.sort_by_key(|session| order.get(&session.path));
        let sessions = sessions.into_iter().map(|session| Resumable { session, scope }).collect();
        Candidates { sessions, problems, not_searched }
    }
}

/// A file whose beginning was read.
struct Begun {
    found: Found,
    used: SystemTime,
    owner: Owner,
    /// `None` when it cannot be read.
    beginning: Option<Beginning>,
}

/// Whose a session is; without a project everything is shown.
fn owner(project: Option<&Project>, header: Option<&Header>) -> Owner {
    project.map_or(Owner::Project, |project| project.owner(header.and_then(|header| header.cwd.as_deref())))
}

/// A file that cannot be read is passed over.
fn is_session(_path: &Path, header: Option<&Header>) -> bool {
    header.is_some()
}

/// Of sessions that come newest first the nearest, at most `most`; no more are read than it takes.
fn nearest(mut sessions: impl Iterator<Item = Begun>, most: usize) -> Vec<Begun> {
    let mut found = Vec::new();
    let mut own = 0;
    while own < most
        && let Some(session) = sessions.next()
    {
        own += usize::from(session.owner == Owner::Project);
        found.push(session);
    }
    found.sort_by_key(|session| session.owner);
    found.truncate(most);
    found
}

impl SessionInfo {
    /// What a listing would say of a session that is in memory: for programs that keep sessions
    /// where this library cannot look. `None` without a header (R15).
    #[must_use]
    pub fn of_bytes(path: impl Into<PathBuf>, modified: SystemTime, bytes: Vec<u8>) -> Option<Self> {
        let found = Found { path: path.into(), modified, size: bytes.len() as u64 };
        let summary = Summary::read(&Source::Bytes(bytes), &mut Worker::new(), false, &mut |_, _| Verdict::GoOn);
        Self::new(&found, summary.ok()??, Owner::Project)
    }
}

impl RecentSession {
    /// What [`SessionFinder::recent`] would say of a session with these first bytes, but that it was
    /// used when its file changed last. `None` without a header in them.
    #[must_use]
    pub fn of_prefix(path: impl Into<PathBuf>, modified: SystemTime, prefix: &[u8]) -> Option<Self> {
        let found = Found { path: path.into(), modified, size: prefix.len() as u64 };
        let summary = Summary::of_prefix(&mut Scanner::new(), prefix, crate::load::End::Last);
        Self::new(&found, &summary, modified, Owner::Project)
    }
}

/// The header of the session at `path`, looked for in its first 64 KiB; `None` when there is none.
///
/// # Errors
/// When it cannot be read, or is no plain file.
pub(crate) fn header_of(storage: Option<&dyn SessionStorage>, path: &Path) -> Result<Option<Header>> {
    let place = storage.map_or(Place::Files, Place::Storage);
    place.beginning(path, &mut Scanner::new()).map(|beginning| beginning.summary.header)
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
