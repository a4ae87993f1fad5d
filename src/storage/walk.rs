//! Which session files there are, and opening one for a listing: nothing is written, no link to a
//! file is followed, and nothing is opened that is not a plain file (R41).

use super::Source;
use crate::error::{Error, ErrorCode, Result};
use hashbrown::HashSet;
use std::ffi::OsStr;
use std::fs::{DirEntry, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that may be a session.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// When it last changed.
    pub(crate) modified: SystemTime,
    pub(crate) size: u64,
}

/// What a walk through directories found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) files: Vec<Found>,
    /// What cannot be looked at.
    pub(crate) problems: Vec<Error>,
    /// Links that were not followed and may lead to sessions.
    pub(crate) links: Vec<PathBuf>,
}

/// The plain files `*.jsonl` in `dirs`, with `deep` in the directories below them too. Names that
/// begin with a dot are left out. A directory that is not there has none.
///
/// Links are not followed, but for `dirs` themselves and, with `deep`, for directories that are
/// linked directly in them: that is where the session directory of a project stands, and what a
/// walk of that one directory finds, a walk of all of them finds too.
pub(crate) fn session_files(dirs: &[PathBuf], deep: bool) -> Walk {
    let mut walk = Walk::default();
    let mut waiting: Vec<(PathBuf, bool)> = dirs.iter().map(|dir| (dir.clone(), deep)).collect();
    // Read last: a directory that is there under its own name too goes by that.
    let mut linked = Vec::new();
    let mut read = Vec::new();
    // Directories that overlap: one may lie in another, or be a link to it.
    let mut seen = HashSet::new();
    let mut looks_twice = dirs.len() > 1;
    loop {
        let (dir, is_root) = match waiting.pop() {
            Some(next) => next,
            None if linked.is_empty() => return walk,
            None => {
                if !std::mem::replace(&mut looks_twice, true) {
                    seen.extend(read.drain(..).filter_map(|dir: PathBuf| dir.canonicalize().ok()));
                }
                waiting.extend(linked.pop().map(|dir| (dir, false)));
                continue;
            }
        };
        // What is wrong with it is said when it is read.
        if looks_twice && dir.canonicalize().is_ok_and(|path| !seen.insert(path)) {
            continue;
        }
        let problems = read_dir(&dir, |name, entry| {
            let kind = entry.file_type()?;
            let is_session = Path::new(name).extension() == Some(OsStr::new("jsonl"));
            if kind.is_dir() {
                if deep {
                    waiting.push((dir.join(name), false));
                }
            } else if kind.is_file() && is_session {
                let metadata = entry.metadata()?;
                walk.files.push(Found { path: dir.join(name), modified: metadata.modified()?, size: metadata.len() });
            } else if kind.is_symlink() && (deep || is_session) {
                let path = dir.join(name);
                let target = std::fs::metadata(&path);
                match (target.as_ref().is_ok_and(std::fs::Metadata::is_dir), is_root) {
                    (true, true) => linked.push(path),
                    // A project on a disk that is not mounted.
                    (false, true) if target.is_err() => walk.links.push(path),
                    (is_dir, _) if is_session || is_dir && deep => walk.links.push(path),
                    _ => {}
                }
            }
            Ok(())
        });
        for (error, path) in problems {
            // What is gone by now was removed.
            if error.kind() != io::ErrorKind::NotFound {
                walk.problems.push(Error::io(error, "cannot look for sessions", &path));
            }
        }
        if !looks_twice {
            read.push(dir);
        }
    }
}

/// Hands out what is in a folder, but for names that begin with a dot. Gives what went wrong.
fn read_dir(dir: &Path, mut entry: impl FnMut(&OsStr, &DirEntry) -> io::Result<()>) -> Vec<(io::Error, PathBuf)> {
    let mut problems = Vec::new();
    match std::fs::read_dir(dir) {
        Err(error) => problems.push((error, dir.to_owned())),
        Ok(entries) => {
            for found in entries {
                match found {
                    Ok(found) => {
                        let name = found.file_name();
                        if !name.as_encoded_bytes().starts_with(b".")
                            && let Err(error) = entry(&name, &found)
                        {
                            problems.push((error, dir.join(name)));
                        }
                    }
                    Err(error) => {
                        problems.push((error, dir.to_owned()));
                        break;
                    }
                }
            }
        }
    }
    problems
}

/// Opens a plain file for reading. One that became something else meanwhile is not opened, or not
/// waited for.
pub(crate) fn open_plain(path: &Path) -> Result<Source> {
    let failed = |error| Error::io(error, "cannot open the session", path);
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits() as i32);
    }
    #[cfg(not(unix))]
    if !std::fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(not_plain(path));
    }
    let file: File = options.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(not_plain(path));
    }
    Source::of_file(file, path)
}

fn not_plain(path: &Path) -> Error {
    Error::new(ErrorCode::InvalidArgument, "this is no plain file").at(path)
}
