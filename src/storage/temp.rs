//! Files that take another's place.

use super::disk;
use crate::hex::hex;
use crate::random;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A new file beside its target, hidden. Unless it is put in place it is removed when it is
/// dropped.
#[derive(Debug)]
pub(crate) struct TempFile {
    path: PathBuf,
    file: File,
    done: bool,
}

impl TempFile {
    /// The one temporary file of `target`, for the holder of its lock: what stands there was left
    /// by a process that died.
    pub(crate) fn under_lock(target: &Path) -> io::Result<Self> {
        let path = path_for(target);
        match disk::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                disk::unlink(&path)?;
                Self::at(path)
            }
            result => Ok(Self { file: result?, path, done: false }),
        }
    }

    /// A temporary file that others may make at the same time.
    pub(crate) fn random(target: &Path) -> io::Result<Self> {
        Self::at(random_path(target))
    }

    fn at(path: PathBuf) -> io::Result<Self> {
        Ok(Self { file: disk::create_new(&path)?, path, done: false })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file the mode and owner of the one it will replace, if there is one (R31).
    pub(crate) fn take_mode_of(&self, target: &Path) {
        let Ok(metadata) = std::fs::metadata(target) else { return };
        // A file system without modes, or another's file: then it stays with its own.
        let _: io::Result<()> = self.file.set_permissions(metadata.permissions());
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let mine = self.file.metadata().map(|mine| (mine.uid(), mine.gid()));
            if mine.is_ok_and(|mine| mine != (metadata.uid(), metadata.gid())) {
                let _: io::Result<()> = fchown(&self.file, Some(metadata.uid()), Some(metadata.gid()));
            }
        }
    }

    /// Gives the file its name. What was there is replaced.
    pub(crate) fn put_in_place(mut self, target: &Path) -> io::Result<()> {
        disk::rename(&self.path, target)?;
        self.done = true;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.done {
            // What cannot be removed now is removed when the session is opened next.
            let _: io::Result<()> = disk::unlink(&self.path);
        }
    }
}

/// A hidden file beside `target`, of its name and an ending. A name that would be too long for the
/// file system is that of a hash.
pub(crate) fn beside(target: &Path, ending: &str) -> PathBuf {
    let of = target.file_name().unwrap_or_default();
    let mut name = OsString::from(".");
    if of.len() + ending.len() + 1 > 255 {
        name.push(hex(&Sha256::digest(of.as_encoded_bytes())));
    } else {
        name.push(of);
    }
    name.push(ending);
    target.with_file_name(name)
}

/// The temporary file of a session that is written anew. It is hidden, and its name does not end
/// in `.jsonl`: it is never taken for a session.
pub(crate) fn path_for(target: &Path) -> PathBuf {
    beside(target, ".tmp")
}

/// The same of a file that others may write at the same time.
pub(crate) fn random_path(target: &Path) -> PathBuf {
    beside(target, &format!(".{:016x}.tmp", random::number()))
}

/// Whether a process that died while it wrote `target` anew left something.
pub(crate) fn has_leftover(target: &Path) -> bool {
    std::fs::symlink_metadata(path_for(target)).is_ok()
}

/// Removes that, for the holder of the lock of `target`: nobody is writing it now.
pub(crate) fn remove_leftover(target: &Path) {
    let _: io::Result<()> = disk::unlink(&path_for(target));
}
