//! Moving sessions from one folder to another without touching what anybody else has there.

use super::disk::{self, is_there, rename_new};
use super::in_use::Alone;
use super::lock::{Held, SessionLock};
use super::{artifacts_dir, temp};
use crate::error::Result;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Moves those sessions of `from` that are `mine` to `to`, each with its folder of artifacts, and
/// gives how many. What another process has open or locked, what has a namesake in `to`, and what is not a
/// session stays; `from` goes when nothing is left in it (R57).
///
/// # Errors
/// The first that stopped a session from being moved; the others were moved all the same.
pub(crate) fn move_sessions(from: &Path, to: &Path, mine: impl Fn(&Path) -> bool) -> Result<usize> {
    let mut moved = 0;
    let mut failed = Ok(());
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_session = entry.file_type().is_ok_and(|kind| kind.is_file())
            && !entry.file_name().as_encoded_bytes().starts_with(b".")
            && path.extension() == Some(OsStr::new("jsonl"));
        if !is_session || !mine(&path) {
            continue;
        }
        match move_session(&path, &to.join(entry.file_name())) {
            Ok(true) => moved += 1,
            Ok(false) => {}
            Err(error) if failed.is_ok() => failed = Err(crate::Error::io(error, "cannot move the session", &path)),
            Err(_) => {}
        }
    }
    if moved > 0 {
        // Names that a power cut takes back are where they were.
        let _: io::Result<()> = disk::sync_dir(to).and_then(|()| disk::sync_dir(from));
    }
    temp::sweep(from);
    // Fails when anything is left.
    let _: io::Result<()> = disk::remove_empty_dir(from);
    failed.map(|()| moved)
}

/// Moves one session; says whether it did.
fn move_session(old: &Path, new: &Path) -> io::Result<bool> {
    let Some((old_artifacts, new_artifacts)) = artifacts_dir(old).zip(artifacts_dir(new)) else { return Ok(false) };
    if is_there(new) || is_there(&old_artifacts) && is_there(&new_artifacts) {
        return Ok(false);
    }
    // Whoever is writing the session stays with it; so does the one who cannot be asked.
    let mut lock = SessionLock::new(old, Duration::ZERO);
    let held = lock.acquire(true);
    if !held.as_ref().is_ok_and(Held::is_locked) {
        return Ok(false);
    }
    if !is_there(old) {
        // Another process moved it meanwhile; the lock file was made anew just now.
        lock.remove();
        return Ok(false);
    }
    // Nor is it moved away from a process that has it open and is not writing just now.
    let Some(_alone) = Alone::with(old) else { return Ok(false) };
    if let Some(dir) = new.parent() {
        disk::create_dir(dir)?;
    }
    // The artifacts first: what is cut off between the two goes on with the file the next time.
    let has_artifacts = is_there(&old_artifacts);
    let artifacts_moved = has_artifacts && rename_new(&old_artifacts, &new_artifacts)?;
    let moved = if has_artifacts && !artifacts_moved { Ok(false) } else { rename_new(old, new) };
    if matches!(moved, Ok(true)) {
        temp::remove_leftover(old);
        lock.remove();
    } else if artifacts_moved {
        let put_back = rename_new(&new_artifacts, &old_artifacts);
        // Why the session stayed comes first.
        return moved.and_then(|moved| put_back.map(|_| moved));
    }
    moved
}

#[cfg(test)]
#[path = "relocate_tests.rs"]
mod tests;
