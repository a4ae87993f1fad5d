//! Which session files there are, and opening one for a listing: nothing is written, no link is
//! followed, and nothing is opened that is no plain file (R41).

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

/// The plain files `*.jsonl` in `dirs`, with `deep` in the folders below them too. Names that begin
/// with a dot and symbolic links are left out. A folder that is not there has none; what cannot be
/// looked at is a problem.
pub(crate) fn session_files(dirs: &[PathBuf], deep: bool, problems: &mut Vec<Error>) -> Vec<Found> {
    let mut files = Vec::new();
    let mut waiting: Vec<PathBuf> = dirs.to_vec();
    // Folders that overlap: one may lie in another, or be a link to it.
    let mut seen = HashSet::new();
    while let Some(dir) = waiting.pop() {
        // What is wrong with it is said when it is read.
        if dirs.len() > 1 && dir.canonicalize().is_ok_and(|path| !seen.insert(path)) {
            continue;
        }
        let read = read_dir(&dir, |name, entry| {
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if deep {
                    waiting.push(dir.join(name));
                }
            } else if kind.is_file() && Path::new(name).extension() == Some(OsStr::new("jsonl")) {
                let metadata = entry.metadata()?;
                files.push(Found { path: dir.join(name), modified: metadata.modified()?, size: metadata.len() });
            }
            Ok(())
        });
        for (error, path) in read {
            // What is gone by now was removed.
            if error.kind() != io::ErrorKind::NotFound {
                problems.push(Error::io(error, "cannot look for sessions", &path));
            }
        }
    }
    files
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
