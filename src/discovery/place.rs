//! Where sessions are looked for: in files, or in another storage. Everything after that is one.

use super::SessionFinder;
use super::summary::Summary;
use crate::error::{Error, ErrorCode, Result};
use crate::json::Scanner;
use crate::load::End;
use crate::storage::walk::{self, Found};
use crate::storage::{SessionStorage, Source};
use hashbrown::HashSet;
use std::path::{Path, PathBuf};

/// This much of a file is read for a header at first.
const PREFIX: usize = 4096;

/// Folders of a storage are looked into so far below the one that is asked for: one that always
/// names another has no end. Sessions lie two deep.
const DEEPEST: usize = 16;

#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Files,
    Storage(&'a dyn SessionStorage),
}

impl Place<'_> {
    /// The files that may be sessions in `dirs`, with `deep` in the folders below them too.
    pub(super) fn find(self, dirs: &[PathBuf], deep: bool, problems: &mut Vec<Error>) -> Vec<Found> {
        let Self::Storage(storage) = self else { return walk::session_files(dirs, deep, problems) };
        let mut files: Vec<Found> = Vec::new();
        let mut waiting: Vec<PathBuf> = dirs.to_vec();
        let mut seen = HashSet::new();
        // Level by level, so that a folder that is named twice counts where it is highest.
        for _ in 0..=DEEPEST {
            for dir in std::mem::take(&mut waiting) {
                if !seen.insert(dir.clone()) {
                    continue;
                }
                for path in storage.list_files(&dir, "*.jsonl").into_iter().filter(|path| !is_hidden(path)) {
                    match storage.stat(&path) {
                        Ok(stat) => files.push(Found { path, modified: stat.modified, size: stat.size }),
                        Err(error) if error.code() == ErrorCode::NotFound => {}
                        Err(error) => problems.push(named(error, &path)),
                    }
                }
                if deep {
                    waiting.extend(storage.list_dirs(&dir));
                }
            }
        }
        if let Some(dir) = waiting.iter().find(|dir| !seen.contains(*dir)) {
            let message = format!("cannot look for sessions: the storage has folders more than {DEEPEST} deep");
            problems.push(Error::new(ErrorCode::InvalidArgument, message).at(dir));
        }
        files
    }

    /// Opens a file for reading all of it.
    pub(super) fn open(self, path: &Path) -> Result<Source> {
        match self {
            Self::Files => walk::open_plain(path),
            Self::Storage(storage) => {
                storage.read_text(path).map(|text| Source::Bytes(text.into_bytes())).map_err(|error| named(error, path))
            }
        }
    }

    /// What the beginning of a file says: of its first 4,096 bytes, and when the header is not
    /// wholly in them, of its first 64 KiB (R15, R38).
    pub(super) fn beginning(self, path: &Path, scanner: &mut Scanner) -> Result<Summary> {
        match self {
            Self::Files => {
                let source = walk::open_plain(path)?;
                beginning(scanner, |most| {
                    let have = source.len().min(most as u64);
                    Ok((source.read(0, have as usize)?.into_owned(), have == source.len()))
                })
            }
            Self::Storage(storage) => beginning(scanner, |most| {
                let text = storage.read_text_prefix(path, most).map_err(|error| named(error, path))?;
                // A character that would be split is left out: up to three bytes, or one unit.
                let whole = text.len() + 3 < most;
                Ok((text.into_bytes(), whole))
            }),
        }
    }
}

/// `read` gives so many bytes, or fewer, and whether those are all.
fn beginning(scanner: &mut Scanner, read: impl Fn(usize) -> Result<(Vec<u8>, bool)>) -> Result<Summary> {
    // One more shows that the header's line ends.
    for most in [PREFIX, SessionFinder::PREFIX] {
        let (bytes, whole) = read(most)?;
        let summary = Summary::of_prefix(scanner, &bytes, if whole { End::Last } else { End::Open });
        if whole || summary.header.is_some() {
            return Ok(summary);
        }
    }
    Ok(Summary::default())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Says what an error is about.
pub(super) fn named(error: Error, path: &Path) -> Error {
    if error.path().is_none() { error.at(path) } else { error }
}
