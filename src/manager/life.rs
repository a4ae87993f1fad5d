//! Other sessions in a manager's place: opened, new, forked, moved.

use super::{Backend, HeaderExtras, MigrationRewrite, SessionManager, new_header, view_of};
use crate::entry::time;
use crate::error::{Error, ErrorCode, Result};
use crate::paths;
use crate::storage::{artifacts_dir, disk};
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

    /// Closes the session, when it has something to close.
    pub(super) fn leave(&mut self) -> Result<()> {
        if self.latched.is_some() { Ok(()) } else { self.close() }
    }

    /// Moves the session to another project: file and artifacts go to the default folder of
    /// `new_cwd`, in the same root when the session is in a default folder, and the header names
    /// the new folder. Nothing that exists is replaced; when a step fails everything is put back.
    ///
    /// # Errors
    /// `ALREADY_EXISTS` when there is a file or folder of that name; an error of the file system.
    pub fn move_to(&mut self, new_cwd: impl AsRef<Path>) -> Result<()> {
        let new_cwd = paths::absolute(new_cwd.as_ref());
        if new_cwd == self.cwd {
            return Ok(());
        }
        let new_dir = self.dir_after_move(&new_cwd);
        if self.is_persisted() {
            self.options.ensure_dir(&new_dir)?;
        }
        let Some((old, name)) = self.path.clone().and_then(|path| Some((path.clone(), path.file_name()?.to_owned())))
        else {
            self.moved(new_cwd, new_dir);
            return Ok(());
        };
        let new = new_dir.join(name);
        if new == old {
            return self.move_in_place(new_cwd, new_dir);
        }
        self.leave()?;
        let artifacts = Artifacts::begin(&old, &new, self.options.storage.is_none())?;
        if let Err(cause) = self.move_file(&old, &new, &new_cwd, new_dir) {
            return Err(match artifacts.put_back() {
                Ok(()) => cause,
                Err(error) => cause.besides(&error),
            });
        }
        self.leave_breadcrumb();
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

    /// Writes the session at its new place, with its new header, then removes the old file. So it
    /// does not matter whether both are on one file system.
    fn move_file(&mut self, old: &Path, new: &Path, new_cwd: &Path, new_dir: PathBuf) -> Result<()> {
        if self.storage_exists(new) {
            return Err(Error::new(ErrorCode::AlreadyExists, "cannot move the session: the file exists").at(new));
        }
        let (before, latched) = (self.capture_state(), self.latched.clone());
        let had_file = self.storage_exists(old);
        let mut old_backend = std::mem::replace(&mut self.backend, Backend::Nowhere);
        let moved = match &mut old_backend {
            // The old file's lock is held until it is gone: what another process appends is either
            // taken along or finds no file.
            Backend::File(file) if had_file => file.locked(|file| {
                let now = self.options.generator.now_ms();
                file.catch_up(&mut self.view, &mut self.pending, now)?;
                self.write_moved(new, new_cwd, new_dir, true)?;
                self.remove_session_file(old)
            }),
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
            None => path.exists(),
        }
    }

    pub(super) fn remove_session_file(&self, path: &Path) -> Result<()> {
        match &self.options.storage {
            Some(storage) => storage.unlink(path),
            None => {
                disk::unlink(path).map_err(|error| Error::io(error, "cannot remove the session", path))?;
                let _: io::Result<()> = std::fs::remove_file(crate::storage::lock::path_for(path));
                Ok(())
            }
        }
    }
}

/// The artifact folder on its way.
struct Artifacts {
    /// Old and new place, when there is such a folder.
    moved: Option<(PathBuf, PathBuf)>,
}

impl Artifacts {
    fn begin(old: &Path, new: &Path, in_files: bool) -> Result<Self> {
        let dirs = artifacts_dir(old).zip(artifacts_dir(new)).filter(|(old, _)| in_files && old.is_dir());
        let Some((old, new)) = dirs else { return Ok(Self { moved: None }) };
        if new.exists() {
            return Err(Error::new(ErrorCode::AlreadyExists, "cannot move the artifacts: the folder exists").at(&new));
        }
        move_dir(&old, &new).map_err(|error| Error::io(error, "cannot move the artifacts", &old))?;
        Ok(Self { moved: Some((old, new)) })
    }

    fn put_back(self) -> Result<()> {
        let Some((old, new)) = self.moved else { return Ok(()) };
        move_dir(&new, &old).map_err(|error| Error::io(error, "cannot put the artifacts back", &new))
    }
}

/// Moves a folder, across file systems too.
fn move_dir(from: &Path, to: &Path) -> io::Result<()> {
    match disk::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        result => return result,
    }
    copy_dir(from, to).inspect_err(|_| {
        // What was copied so far is not the folder.
        let _: io::Result<()> = disk::remove_dir_all(to);
    })?;
    disk::remove_dir_all(from)
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
