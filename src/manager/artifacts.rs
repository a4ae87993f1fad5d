//! Artifacts: what tools gave that is too long for the session, in files beside it.

use super::{Backend, SessionManager};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::disk::{self, TryLock};
use crate::storage::{artifacts_dir, lock};
use std::collections::HashMap;
use std::fs::{DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The artifacts of one session: files `<id>.<toolType>.log` in the folder of the session's name
/// without `.jsonl`. Ids count up from the largest that is there.
#[derive(Clone, Debug)]
pub struct ArtifactManager {
    dir: PathBuf,
    lock_timeout: Duration,
}

impl ArtifactManager {
    /// The artifacts of a session file; `None` when its name does not end in `.jsonl`.
    #[must_use]
    pub fn new(session_file: impl AsRef<Path>) -> Option<Self> {
        artifacts_dir(session_file.as_ref()).map(|dir| Self { dir, lock_timeout: lock::TIMEOUT })
    }

    /// The folder, which need not exist.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes the next id and makes its empty file, so that no other process takes it too.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a tool type that is no plain name; `LOCKED` when another process keeps the
    /// folder locked for as long as a session's lock is waited for; when the directory cannot be listed,
    /// since ids that are taken are unknown then; when the file cannot be made.
    pub fn allocate(&self, tool_type: &str) -> Result<(String, PathBuf)> {
        if tool_type.is_empty() || tool_type.contains(['/', '\\', '\0']) {
            return Err(Error::new(ErrorCode::InvalidArgument, "a tool type is a plain name"));
        }
        let failed = |error, path: &Path| Error::io(error, "cannot make the artifact", path);
        disk::create_dir(&self.dir).map_err(|error| failed(error, &self.dir))?;
        // Only the same name is refused by the file system; two tools of two processes would get the
        // same id. A folder that cannot be locked is no reason to refuse.
        let dir = File::open(&self.dir);
        if let Ok(dir) = &dir
            && let Ok(TryLock::Busy) = lock::wait(dir, self.lock_timeout)
        {
            return Err(lock::busy("lock of the artifacts", self.lock_timeout, &self.dir));
        }
        let taken = disk::read_dir(&self.dir);
        let taken = taken.map_err(|error| Error::io(error, "cannot list the artifacts", &self.dir))?;
        let mut id = taken.iter().filter_map(|entry| id_of(entry)?.checked_add(1)).max().unwrap_or(0);
        loop {
            let path = self.dir.join(format!("{id}.{tool_type}.log"));
            match disk::create_new(&path) {
                Ok(_) => return Ok((id.to_string(), path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => id += 1,
                Err(error) => return Err(failed(error, &path)),
            }
        }
    }

    /// Saves an artifact and gives its id.
    ///
    /// # Errors
    /// As [`ArtifactManager::allocate`]; when it cannot be written.
    pub fn save(&self, content: &[u8], tool_type: &str) -> Result<String> {
        let (id, path) = self.allocate(tool_type)?;
        let failed = |error| Error::io(error, "cannot write the artifact", &path);
        let file = disk::open_append(&path, true).map_err(failed)?;
        disk::write_all(&file, content).map_err(failed)?;
        Ok(id)
    }

    /// The file of an artifact; `None` when there is none.
    #[must_use]
    pub fn path(&self, id: &str) -> Option<PathBuf> {
        let wanted = id.parse::<u64>().ok().filter(|number| number.to_string() == id)?;
        let entries = disk::read_dir(&self.dir).unwrap_or_default();
        entries.iter().find(|entry| id_of(entry) == Some(wanted)).map(DirEntry::path)
    }
}

/// The id of an artifact's file; `None` for any other file.
fn id_of(entry: &DirEntry) -> Option<u64> {
    let name = entry.file_name().into_string().ok()?;
    let (id, _) = name.strip_suffix(".log")?.split_once('.')?;
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().ok())?
}

/// How artifacts come into the directory of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bring {
    /// By a second name where the file system can, so that they take no room.
    Link,
    /// As files of their own: the agent copies them again over these after a fork, and a file that is
    /// copied onto itself may be lost.
    Copy,
}

/// The artifacts that were brought along for a copy of a session. Unless they are kept they are removed
/// with this.
#[derive(Debug, Default)]
pub(super) struct Brought {
    dir: Option<PathBuf>,
}

impl Brought {
    /// Brings the files beside `from` along to beside `to`. Sessions of sub-agents, and what is in
    /// directories of theirs, stay where they are: a second name of a session would be a second session.
    pub(super) fn along(from: &Path, to: &Path, how: Bring) -> Result<Self> {
        let Some((from, to)) = artifacts_dir(from).zip(artifacts_dir(to)) else { return Ok(Self::default()) };
        let entries = match disk::read_dir(&from) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            result => result.map_err(|error| Error::io(error, "cannot list the artifacts", &from))?,
        };
        let mut brought = Self::default();
        for entry in entries {
            let (source, name) = (entry.path(), entry.file_name());
            let bytes = name.as_encoded_bytes();
            // A link to a file is one, too.
            if bytes.starts_with(b".") || bytes.ends_with(b".jsonl") || !source.is_file() {
                continue;
            }
            let target = to.join(&name);
            let failed = |error| Error::io(error, "cannot bring the artifact along", &target);
            if brought.dir.is_none() {
                if std::fs::symlink_metadata(&to).is_ok() {
                    let message = "cannot bring the artifacts along: the directory exists";
                    return Err(Error::new(ErrorCode::AlreadyExists, message).at(&to));
                }
                brought.dir = Some(to.clone());
                disk::create_dir(&to).map_err(failed)?;
            }
            let result = match how {
                Bring::Link => disk::link_or_copy(&source, &target),
                Bring::Copy => disk::copy_plain(&source, &target),
            };
            match result {
                // It was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !source.exists() => {}
                result => result.map_err(failed)?,
            }
        }
        Ok(brought)
    }

    /// The copy is there.
    pub(super) fn keep(mut self) {
        self.dir = None;
    }
}

impl Drop for Brought {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            // Best effort: what stays is no session.
            let _: io::Result<()> = std::fs::remove_dir_all(dir);
        }
    }
}

/// Artifacts of a session that is kept nowhere.
#[derive(Debug, Default)]
pub(super) struct Artifacts {
    in_memory: HashMap<String, Vec<u8>>,
}

impl SessionManager {
    /// The folder of the session's artifacts; `None` when it has no file, or one whose name does
    /// not end in `.jsonl`.
    #[must_use]
    pub fn artifacts_dir(&self) -> Option<PathBuf> {
        self.artifact_files().map(|files| files.dir)
    }

    fn artifact_files(&self) -> Option<ArtifactManager> {
        let moved = match &self.backend {
            Backend::File(file) => file.moved_meanwhile(&self.view),
            _ => None,
        };
        let files = ArtifactManager::new(moved.as_deref().or(self.session_file())?)?;
        Some(ArtifactManager { lock_timeout: self.options.lock_timeout, ..files })
    }

    /// Takes the next artifact's id and file; `None` when the session has no file.
    ///
    /// # Errors
    /// As [`ArtifactManager::allocate`].
    pub fn allocate_artifact_path(&self, tool_type: &str) -> Result<Option<(String, PathBuf)>> {
        self.artifact_files().map(|files| files.allocate(tool_type)).transpose()
    }

    /// Saves an artifact and gives its id. Without a file it is kept in memory until the next
    /// [`SessionManager::new_session`].
    ///
    /// # Errors
    /// As [`ArtifactManager::save`].
    pub fn save_artifact(&mut self, content: &[u8], tool_type: &str) -> Result<String> {
        if let Some(files) = self.artifact_files() {
            return files.save(content, tool_type);
        }
        let id = self.artifacts.in_memory.len().to_string();
        self.artifacts.in_memory.insert(id.clone(), content.to_owned());
        Ok(id)
    }

    /// The file of an artifact; `None` when there is none.
    #[must_use]
    pub fn artifact_path(&self, id: &str) -> Option<PathBuf> {
        self.artifact_files()?.path(id)
    }
}

#[cfg(test)]
#[path = "artifacts_tests.rs"]
mod tests;
