//! Other sessions in a manager's place: opened, new, forked, moved.

use super::{Backend, HeaderExtras, MigrationRewrite, SessionManager, new_header, view_of};
use crate::entry::time;
use crate::error::{Error, ErrorCode, Result};
use crate::paths;
use crate::persist::Pending;
use crate::storage::{artifacts_dir, disk};
use crate::view::SessionView;
use std::io;
use std::path::{Path, PathBuf};

impl SessionManager {
    /// Goes on with the session at `path`; project and folder stay. A missing or empty file
    /// becomes a new session at exactly that path, whose header is written at once; bytes that are
    /// no session are set aside first (R16).
    ///
    /// # Errors
    /// When the session that was before cannot be closed, or the file not be read, or not be written
    /// where it must; the manager has the old session then.
    pub fn set_session_file(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.take_session_file(path.as_ref())?;
        self.leave_breadcrumb();
        Ok(())
    }

    pub(super) fn take_session_file(&mut self, path: &Path) -> Result<()> {
        let path = paths::absolute(path);
        if !self.is_persisted() {
            return self.read_into_memory(&path);
        }
        self.leave()?;
        let now = self.options.generator.now_ms();
        let mut backend = self.options.backend(&path);
        let found = match &mut backend {
            Backend::Nowhere => None,
            Backend::File(file) => file.open(self.options.migration_rewrite == MigrationRewrite::Immediate, now)?,
            Backend::Storage(stored) => stored.open(now)?,
        };
        let is_new = found.is_none();
        let view = match found {
            // Memory changes first (R12).
            Some(mut view) => {
                view.migrate_header();
                view
            }
            None => {
                let id = self.options.generator.session_id();
                let header = new_header(&id, &time::format(now), &self.cwd, &HeaderExtras::default());
                view_of(header, &self.options)?
            }
        };
        let latched = self.latched.clone();
        let before = self.replace_view(view);
        self.put_at(path);
        self.backend = backend;
        self.started = true;
        let written = match (is_new, &mut self.backend) {
            (true, _) => self.write(Backend::rewrite),
            (false, Backend::Storage(stored)) if self.view.is_migrated() => {
                if self.options.migration_rewrite == MigrationRewrite::Immediate {
                    stored.rewrite(&mut self.view, &mut self.pending, now)
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        };
        if let Err(error) = written {
            self.put_back(before, latched);
            return Err(error);
        }
        Ok(())
    }

    /// What a session that is kept nowhere does with a file: it reads it.
    fn read_into_memory(&mut self, path: &Path) -> Result<()> {
        let view = match self.options.read_session(path) {
            Ok(mut view) => {
                view.migrate_header();
                view
            }
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::NotASession) => {
                let id = self.options.generator.session_id();
                let now = time::format(self.options.generator.now_ms());
                view_of(new_header(&id, &now, &self.cwd, &HeaderExtras::default()), &self.options)?
            }
            Err(error) => return Err(error),
        };
        self.replace_view(view);
        Ok(())
    }

    /// Begins a new session of the project, and gives its file. Nothing is written before it
    /// starts.
    ///
    /// # Errors
    /// The first error of closing the session that was before; the new one has begun all the same.
    pub fn new_session(&mut self, parent_session: Option<&str>) -> Result<Option<PathBuf>> {
        let closed = self.leave();
        let extras = HeaderExtras { parent_session: parent_session.map(str::to_owned), ..HeaderExtras::default() };
        let now = time::format(self.options.generator.now_ms());
        let header = new_header(&self.options.generator.session_id(), &now, &self.cwd, &extras);
        self.view = view_of(header, &self.options)?;
        self.artifacts = super::artifacts::Artifacts::default();
        if self.is_persisted() {
            self.put_at(self.new_path());
            self.leave_breadcrumb();
        } else {
            self.pending.clear();
        }
        closed.map(|()| self.path.clone())
    }

    /// Closes the session's file, when it has something to close. The session stays in use until another one is in its
    /// place: what comes next may fail, or another process may move it meanwhile.
    pub(super) fn leave(&mut self) -> Result<()> {
        if self.latched.is_some() { Ok(()) } else { self.close_file() }
    }

    /// Moves the session to another project: file and artifacts go to the default folder of
    /// `new_cwd`, in the same root when the session is in a default folder, and the header names
    /// the new folder. Nothing that exists is replaced; when a step fails everything is put back.
    ///
    /// Another process that has the session open goes on at the new place with its next write. When another
    /// process moved it before, it is moved from where that is.
    ///
    /// # Errors
    /// `ALREADY_EXISTS` when there is a file or directory of that name; `NOT_FOUND` when the session is removed
    /// meanwhile, `GONE` when another process deleted it; an error of the file system.
    pub fn move_to(&mut self, new_cwd: impl AsRef<Path>) -> Result<()> {
        let new_cwd = paths::absolute(new_cwd.as_ref());
        // Every time that another process moves it meanwhile, it is looked for again.
        while !self.try_move(&new_cwd)? {}
        Ok(())
    }

    /// Moves the session from where it is now; `false` when another process moved it meanwhile.
    fn try_move(&mut self, new_cwd: &Path) -> Result<bool> {
        self.follow_move()?;
        if new_cwd == self.cwd {
            return Ok(true);
        }
        let new_dir = self.dir_after_move(new_cwd);
        if self.is_persisted() {
            self.options.ensure_dir(&new_dir)?;
        }
        let Some((old, name)) = self.path.clone().and_then(|path| Some((path.clone(), path.file_name()?.to_owned())))
        else {
            self.moved(new_cwd.to_owned(), new_dir);
            return Ok(true);
        };
        let new = new_dir.join(name);
        if new == old {
            return self.move_in_place(new_cwd.to_owned(), new_dir).map(|()| true);
        }
        self.leave()?;
        if self.path.as_ref() != Some(&old) {
            return Ok(false);
        }
        let moved = match &self.backend {
            Backend::File(_) => self.move_files(&old, &new, new_cwd, new_dir)?,
            _ => self.move_stored(&old, &new, new_cwd, new_dir).map(|()| true)?,
        };
        if moved {
            self.leave_breadcrumb();
        }
        Ok(moved)
    }

    /// When another process moved the session, goes on where it is.
    pub(super) fn follow_move(&mut self) -> Result<()> {
        if let Backend::File(file) = &mut self.backend
            && self.started
            && self.latched.is_none()
            && file.moved_meanwhile(&self.view).is_some()
        {
            let now = self.options.generator.now_ms();
            let caught = self.begin_append(now).map(drop);
            self.latch(caught)?;
        }
        Ok(())
    }

    /// The folder that [`SessionManager::move_to`] would move the session to.
    #[must_use]
    pub fn dir_after_move(&self, new_cwd: impl AsRef<Path>) -> PathBuf {
        let dirs = &self.options.dirs;
        let in_default_dir = dirs.is_session_dir_of(&self.session_dir, &self.cwd);
        let root = self.session_dir.parent().filter(|_| in_default_dir).map_or_else(|| dirs.sessions(), Path::to_owned);
        root.join(dirs.session_dir_name(&paths::absolute(new_cwd.as_ref())))
    }

    /// The new project has the same folder: only the header changes.
    fn move_in_place(&mut self, new_cwd: PathBuf, new_dir: PathBuf) -> Result<()> {
        let (before, latched) = (self.capture_state(), self.latched.take());
        self.moved(new_cwd, new_dir);
        let written = if self.started { self.write(Backend::rewrite) } else { Ok(()) };
        written.inspect_err(|_| self.put_back(before, latched))?;
        self.leave_breadcrumb();
        Ok(())
    }

    /// Moves file and artifacts; `false` when another process moved the session meanwhile. The new file is
    /// written before the old one is removed: so it does not matter whether both are on one file system.
    fn move_files(&mut self, old: &Path, new: &Path, new_cwd: &Path, new_dir: PathBuf) -> Result<bool> {
        let Backend::File(file) = &self.backend else { return Ok(true) };
        let mut artifacts = Artifacts::default();
        let is_written = self.started || file.exists(&self.view);
        let (before, latched) = (self.capture_state(), self.latched.clone());
        let now = self.options.generator.now_ms();
        let Backend::File(mut from) = std::mem::replace(&mut self.backend, Backend::Nowhere) else { return Ok(true) };
        let mut to = self.options.session_file(new);
        let real = from.path().to_owned();
        let cwd = new_cwd.to_string_lossy();
        let change = |view: &mut SessionView, pending: &mut Pending| {
            view.set_header("cwd", &cwd);
            pending.set_header("cwd", cwd.to_string());
        };
        let moved = if is_written {
            from.move_to(&mut to, &mut self.view, &mut self.pending, now, change, || artifacts.go([&real, old], new))
        } else {
            change(&mut self.view, &mut self.pending);
            artifacts.go([&real, old], new).map(Some)
        };
        match moved {
            Ok(Some(())) => {
                self.backend = Backend::File(to);
                self.path = Some(new.to_owned());
                (self.cwd, self.session_dir) = (new_cwd.to_owned(), new_dir);
                (self.started, self.latched) = (is_written, None);
                let is_link = std::fs::symlink_metadata(old).is_ok_and(|metadata| metadata.is_symlink());
                if old != real && is_link {
                    // The name the session was opened by leads nowhere now.
                    let _: io::Result<()> = disk::unlink_hidden(old);
                }
                if let (Err(error), Some(log)) = (artifacts.finish(), &self.options.logger) {
                    log(&format!("artifacts that were copied are at their old place too: {error}"));
                }
                Ok(true)
            }
            Ok(None) => {
                self.backend = Backend::File(from);
                Ok(false)
            }
            Err(error) => {
                let put_back = artifacts.put_back();
                self.backend = Backend::File(from);
                self.put_back(before, latched);
                Err(put_back.err().map_or(error.clone(), |besides| error.besides(&besides)))
            }
        }
    }

    /// The same in a storage of the caller's own.
    fn move_stored(&mut self, old: &Path, new: &Path, new_cwd: &Path, new_dir: PathBuf) -> Result<()> {
        if self.storage_exists(new) {
            return Err(exists("cannot move the session: the file exists", new));
        }
        let (before, latched) = (self.capture_state(), self.latched.clone());
        let had_file = self.storage_exists(old);
        let mut old_backend = std::mem::replace(&mut self.backend, Backend::Nowhere);
        let moved = match &mut old_backend {
            Backend::Storage(stored) if had_file => {
                let now = self.options.generator.now_ms();
                stored
                    .catch_up(&mut self.view, &mut self.pending, now)
                    .and_then(|()| self.write_moved(new, new_cwd, new_dir, true))
                    .and_then(|()| self.remove_session_file(old))
            }
            _ => self.write_moved(new, new_cwd, new_dir, false),
        };
        if let Err(error) = moved {
            if self.path.as_deref() == Some(new) {
                // Best effort: the old file is whole.
                let _: Result<()> = self.remove_session_file(new);
            }
            self.put_back(before, latched);
            return Err(error);
        }
        Ok(())
    }

    fn write_moved(&mut self, new: &Path, new_cwd: &Path, new_dir: PathBuf, had_file: bool) -> Result<()> {
        let (started, pending) = (self.started, std::mem::take(&mut self.pending));
        self.put_at(new.to_owned());
        (self.started, self.pending) = (started || had_file, pending);
        self.moved(new_cwd.to_owned(), new_dir);
        if self.started { self.write(Backend::rewrite) } else { Ok(()) }
    }

    fn moved(&mut self, cwd: PathBuf, dir: PathBuf) {
        self.set_header("cwd", &cwd.to_string_lossy());
        self.cwd = cwd;
        self.session_dir = dir;
    }

    fn storage_exists(&self, path: &Path) -> bool {
        match &self.options.storage {
            Some(storage) => storage.exists(path),
            None => disk::is_there(path),
        }
    }

    pub(super) fn remove_session_file(&self, path: &Path) -> Result<()> {
        match &self.options.storage {
            Some(storage) => storage.unlink(path),
            None => {
                disk::unlink(path).map_err(|error| Error::io(error, "cannot remove the session", path))?;
                let _: io::Result<()> = disk::unlink_hidden(&crate::storage::lock::path_for(path));
                Ok(())
            }
        }
    }
}

fn exists(what: &str, path: &Path) -> Error {
    Error::new(ErrorCode::AlreadyExists, what).at(path)
}

/// Moves a session's directory of artifacts, and can undo it until the old file is gone.
#[derive(Default)]
struct Artifacts {
    /// Old and new place, when there is such a directory.
    dirs: Option<(PathBuf, PathBuf)>,
    state: Moved,
}

#[derive(Default, PartialEq, Eq)]
enum Moved {
    #[default]
    Not,
    Renamed,
    /// They are at both places.
    Copied,
}

impl Artifacts {
    /// Renames the directory that is beside the first of the names of the session that has one, or copies
    /// it to another file system.
    fn go(&mut self, names: [&Path; 2], session: &Path) -> Result<()> {
        let old = names.into_iter().filter_map(artifacts_dir).find(|dir| dir.is_dir());
        let Some((old, new)) = old.zip(artifacts_dir(session)) else { return Ok(()) };
        let occupied = || exists("cannot move the artifacts: the directory exists", &new);
        let failed = |error| Error::io(error, "cannot move the artifacts", &old);
        self.dirs = Some((old.clone(), new.clone()));
        match disk::rename_new(&old, &new) {
            Ok(true) => self.state = Moved::Renamed,
            Ok(false) => return Err(occupied()),
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                if disk::is_there(&new) {
                    return Err(occupied());
                }
                self.state = Moved::Copied;
                copy_dir(&old, &new).map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        // The old file is removed next.
        disk::sync_dir(disk::dir_of(&new)).map_err(failed)
    }

    /// The old file is gone: so goes what was copied. It is at its new place in any case.
    fn finish(self) -> io::Result<()> {
        match self.dirs {
            Some((old, _)) if self.state == Moved::Copied => disk::remove_dir_all(&old),
            _ => Ok(()),
        }
    }

    fn put_back(self) -> Result<()> {
        let Some((old, new)) = self.dirs else { return Ok(()) };
        let put_back = match self.state {
            Moved::Not => Ok(()),
            Moved::Renamed => disk::rename(&new, &old),
            Moved::Copied => disk::remove_dir_all(&new),
        };
        put_back.map_err(|error| Error::io(error, "cannot put the artifacts back", &new))
    }
}

fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    disk::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            disk::copy_file(&entry.path(), &target)?;
        }
    }
    disk::sync_dir(to)
}

#[cfg(test)]
#[path = "life_tests.rs"]
mod tests;
