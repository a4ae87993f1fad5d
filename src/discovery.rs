//! Finding session files.

use crate::entry::Header;
use crate::error::{Error, Result};
use crate::view::ViewOptions;
use hashbrown::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A header is looked for in this much of a file (R15).
const HEADER_WITHIN: u64 = 64 << 10;

/// The newest session in `roots` by the time of its last change, at any depth; `None` when there
/// is none. Files without a session header do not count, nor what cannot be read (R39).
#[must_use]
pub fn newest_session(roots: &[PathBuf]) -> Option<PathBuf> {
    session_files(roots).into_iter().find(|path| header_of(path).is_ok_and(|header| header.is_some()))
}

/// The sessions in `roots` that `prefix` means, the newest first: it begins the session's id, the
/// file's name, or what follows the last `_` of that name. Case does not count.
#[must_use]
pub fn sessions_by_prefix(roots: &[PathBuf], prefix: &str) -> Vec<PathBuf> {
    let prefix = prefix.to_lowercase();
    let begins = |text: &str| text.to_lowercase().starts_with(&prefix);
    let mut found = session_files(roots);
    found.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let Ok(Some(header)) = header_of(path) else { return false };
        begins(&header.id) || begins(name) || name.rsplit_once('_').is_some_and(|(_, id)| begins(id))
    });
    found
}

/// The header of the session at `path`, looked for in its first 64 KiB; `None` when there is none.
pub(crate) fn header_of(path: &Path) -> Result<Option<Header>> {
    let failed = |error| Error::io(error, "cannot read the session", path);
    let mut prefix = Vec::new();
    File::open(path).map_err(failed)?.take(HEADER_WITHIN).read_to_end(&mut prefix).map_err(failed)?;
    Ok(ViewOptions::new().read_bytes(prefix).ok().map(|view| view.header().clone()))
}

/// Every `.jsonl` file below `roots`, the newest first. Names that begin with a dot and symbolic
/// links are left out (R41).
fn session_files(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut dirs: Vec<PathBuf> = roots.iter().rev().cloned().collect();
    // A root may lie in another, or be a link to it.
    let mut seen = HashSet::new();
    while let Some(dir) = dirs.pop() {
        if !dir.canonicalize().is_ok_and(|dir| seen.insert(dir)) {
            continue;
        }
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() {
                dirs.push(path);
            } else if kind.is_file()
                && path.extension() == Some(OsStr::new("jsonl"))
                && let Ok(time) = entry.metadata().and_then(|metadata| metadata.modified())
            {
                files.push((time, path));
            }
        }
    }
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
