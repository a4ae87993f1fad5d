//! Files that take another's place.

use super::disk::{self, TryLock};
use crate::hex::hex;
use crate::random;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A new file beside its target, hidden. Unless it is put in place it is removed when it is
/// dropped.
///
/// The one of a session is locked while it is written: a temporary file that can be locked was left by
/// a process that died. It is read, written and put in place through the descriptor it was made with,
/// so that it is never another process's.
#[derive(Debug)]
pub(crate) struct TempFile {
    path: PathBuf,
    file: File,
    done: bool,
}

impl TempFile {
    /// A temporary file of a session. It has the session's one name for it, unless another process is
    /// writing the file of that name.
    pub(crate) fn of_session(target: &Path) -> io::Result<Self> {
        let mut path = path_for(target);
        loop {
            match disk::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !remove_if_dead(&path) {
                        path = random_path(target);
                    }
                    continue;
                }
                Err(error) => return Err(error),
                Ok(file) => {
                    let temp = Self { file, path: path.clone(), done: false };
                    // Another process may have taken it for one that was left: then it is gone.
                    match disk::try_lock(&temp.file)? {
                        TryLock::Taken | TryLock::NoLocks if disk::is_at(&temp.file, &path) => return Ok(temp),
                        _ => path = random_path(target),
                    }
                    temp.forget();
                }
            }
        }
    }

    /// A temporary file that others may make at the same time.
    pub(crate) fn random(target: &Path) -> io::Result<Self> {
        let path = random_path(target);
        Ok(Self { file: disk::create_new(&path)?, path, done: false })
    }

    /// Whatever stands at its path is not this file.
    fn forget(mut self) {
        self.done = true;
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
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

    /// Gives the file the time of the last change of the one it will replace, if there is one. The
    /// last thing before it is synced: each write sets it again.
    pub(crate) fn take_time_of(&self, target: &Path) {
        // A file system that cannot set times is no reason to fail.
        if let Ok(modified) = std::fs::metadata(target).and_then(|metadata| metadata.modified()) {
            let _: io::Result<()> = self.file.set_modified(modified);
        }
    }

    /// Gives the file its name. What was there is replaced.
    pub(crate) fn put_in_place(self, target: &Path) -> io::Result<()> {
        self.place(|path| disk::rename(path, target))
    }

    /// The same, unless there is something of that name: then it is an error of the kind
    /// `AlreadyExists`.
    pub(crate) fn put_in_free_place(self, target: &Path) -> io::Result<()> {
        self.place(|path| match disk::rename_new(path, target)? {
            true => Ok(()),
            false => Err(io::ErrorKind::AlreadyExists.into()),
        })
    }

    fn place(mut self, rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        if !disk::is_at(&self.file, &self.path) {
            self.done = true;
            return Err(io::Error::new(io::ErrorKind::NotFound, "the temporary file is gone"));
        }
        rename(&self.path)?;
        self.done = true;
        // Others have the descriptor too. Closing it unlocks as well.
        let _: io::Result<()> = self.file.unlock();
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

/// Removes the temporary file that a process left that died while it wrote `target` again. One that is
/// being written stays.
pub(crate) fn remove_leftover(target: &Path) {
    remove_if_dead(&path_for(target));
}

/// How long ago a temporary file was written to that [`sweep`] removes. No process of ours writes one that
/// it has not locked; another program's of the same name may be.
const OLD: Duration = Duration::from_secs(60);

/// Removes the hidden files of ours in a directory whose processes died: temporary ones, those that say
/// that a session is in use, and locks of sessions that are not there.
pub(crate) fn sweep(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_left = match hidden(entry.file_name().as_encoded_bytes()) {
            Some(Hidden::Temporary) => entry.metadata().is_ok_and(|metadata| {
                let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
                metadata.is_file() && age.is_some_and(|age| age >= OLD)
            }),
            Some(Hidden::Use) => true,
            Some(Hidden::Lock(session)) => !disk::is_there(&path.with_file_name(session)),
            None => false,
        };
        if is_left {
            remove_if_dead(&path);
        }
    }
}

/// What a hidden file of ours is for.
enum Hidden {
    Temporary,
    Use,
    /// The lock of the session of that name.
    Lock(OsString),
}

/// `.NAME.jsonl.tmp`, `.NAME.jsonl.<16 hex digits>.tmp`, `.NAME.jsonl.use`, `.NAME.jsonl.lock`; of the
/// first three also with a hash in the place of the session's name.
fn hidden(name: &[u8]) -> Option<Hidden> {
    let is_hex = |text: &[u8], len| text.len() == len && text.iter().all(u8::is_ascii_hexdigit);
    let is_session = |name: &[u8]| name.ends_with(b".jsonl") || is_hex(name, 64);
    let name = name.strip_prefix(b".")?;
    if let Some(session) = name.strip_suffix(b".lock") {
        let session = std::str::from_utf8(session).ok().filter(|name| name.ends_with(".jsonl"))?;
        return Some(Hidden::Lock(session.into()));
    }
    if let Some(session) = name.strip_suffix(b".use") {
        return is_session(session).then_some(Hidden::Use);
    }
    let name = name.strip_suffix(b".tmp")?;
    let random = name.iter().rposition(|&byte| byte == b'.');
    let is_random = random.is_some_and(|dot| is_hex(&name[dot + 1..], 16) && is_session(&name[..dot]));
    (is_session(name) || is_random).then_some(Hidden::Temporary)
}

/// Removes a hidden file of ours that no process has locked; says whether it did. Where there are no locks,
/// one process writes at a time, and it is not writing this one.
fn remove_if_dead(path: &Path) -> bool {
    let Ok(file) = disk::open_hidden(path, false) else {
        // A link or directory of that name stays: it is not ours.
        return false;
    };
    let is_dead = matches!(disk::try_lock_hidden(&file), Ok(TryLock::Taken | TryLock::NoLocks));
    is_dead && disk::is_at(&file, path) && disk::unlink_hidden(path).is_ok()
}
