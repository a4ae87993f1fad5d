//! Artifacts: what tools gave that is too long for the session, in files beside it.

use super::SessionManager;
use crate::error::{Error, ErrorCode, Result};
use crate::storage::disk::{self, TryLock};
use crate::storage::{artifacts_dir, lock};
use std::collections::HashMap;
use std::fs::File;
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
    /// folder locked for as long as a session's lock is waited for; when the file cannot be made.
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
        let mut id = self.ids().filter_map(|(id, _)| id.checked_add(1)).max().unwrap_or(0);
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
        self.ids().find(|(id, _)| *id == wanted).map(|(_, path)| path)
    }

    fn ids(&self) -> impl Iterator<Item = (u64, PathBuf)> {
        std::fs::read_dir(&self.dir).into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (id, _) = name.strip_suffix(".log")?.split_once('.')?;
            let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
            Some((id.parse().ok().filter(|_| is_number)?, entry.path()))
        })
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
        artifacts_dir(self.session_file()?)
    }

    fn artifact_files(&self) -> Option<ArtifactManager> {
        let files = ArtifactManager::new(self.session_file()?)?;
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
