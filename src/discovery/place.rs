//! Where sessions are looked for: in files, or in another storage. Everything after that is one.

use super::SessionFinder;
use super::summary::{Summary, Verdict, Worker};
use crate::error::{Error, ErrorCode, Result};
use crate::json::Scanner;
use crate::load::End;
use crate::storage::walk::{self, Found, Walk};
use crate::storage::{SessionStorage, Source};
use hashbrown::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// This much of a file is read for a header at first.
const PREFIX: usize = 4096;

/// This much of a file is read for what a session is called.
const READ_ON: u64 = 16 << 20;

/// Folders of a storage are looked into so far below the one that is asked for: one that always
/// names another has no end. Sessions lie two deep.
const DEEPEST: usize = 16;

#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Files,
    Storage(&'a dyn SessionStorage),
}

impl Place<'_> {
    /// The files that may be sessions in `dirs`, with `deep` in the directories below them too.
    pub(super) fn find(self, dirs: &[PathBuf], deep: bool) -> Walk {
        let Self::Storage(storage) = self else { return walk::session_files(dirs, deep) };
        let mut walk = Walk::default();
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
                        Ok(stat) => walk.files.push(Found { path, modified: stat.modified, size: stat.size }),
                        Err(error) if error.code() == ErrorCode::NotFound => {}
                        Err(error) => walk.problems.push(named(error, &path)),
                    }
                }
                if deep {
                    waiting.extend(storage.list_dirs(&dir));
                }
            }
        }
        if let Some(dir) = waiting.iter().find(|dir| !seen.contains(*dir)) {
            let message = format!("cannot look for sessions: the storage has folders more than {DEEPEST} deep");
            walk.problems.push(Error::new(ErrorCode::InvalidArgument, message).at(dir));
        }
        walk
    }

    /// Opens a file for reading all of it.
    pub(super) fn open(self, path: &Path) -> Result<Source> {
        match self {
            Self::Files => walk::open_plain(path),
            Self::Storage(storage) => storage.read(path).map(Source::Bytes).map_err(|error| named(error, path)),
        }
    }

    /// What the beginning of a file says: of its first 4,096 bytes, and when the header is not
    /// wholly in them, of its first 64 KiB (R15, R38).
    pub(super) fn beginning(self, path: &Path, scanner: &mut Scanner) -> Result<Beginning> {
        match self {
            Self::Files => {
                let source = walk::open_plain(path)?;
                let (summary, whole) = beginning(scanner, |most| {
                    let have = source.len().min(most as u64);
                    Ok((source.read(0, have as usize)?.into_owned(), have == source.len()))
                })?;
                Ok(Beginning { summary, whole, source: Some(source) })
            }
            Self::Storage(storage) => {
                let (summary, whole) = beginning(scanner, |most| {
                    let bytes = storage.read_prefix(path, most).map_err(|error| named(error, path))?;
                    // A character that would be split is left out: up to three bytes, or one unit.
                    let whole = bytes.len() + 3 < most;
                    Ok((bytes, whole))
                })?;
                Ok(Beginning { summary, whole, source: None })
            }
        }
    }

    /// When the session was used last. Of a file that was not read whole its end is read: its last
    /// 64 KiB, and more, up to [`summary::USED_WITHIN`](super::summary::USED_WITHIN), when no message
    /// begins in them. A storage has no end of a text: it is asked for all of it.
    pub(super) fn used(self, found: &Found, beginning: &Beginning, scanner: &mut Scanner) -> Result<SystemTime> {
        let of_end = match &beginning.source {
            _ if beginning.whole => return Ok(beginning.summary.used(found.modified)),
            Some(source) => Summary::of_end(scanner, source)?,
            None => Summary::of_end(scanner, &self.open(&found.path)?)?,
        };
        Ok(of_end.with_header_of(&beginning.summary).used(found.modified))
    }

    /// Reads on until the first text of a user is known, for at most [`READ_ON`] bytes, unless the
    /// title or the beginning says what to call the session.
    pub(super) fn read_on(self, path: &Path, beginning: Beginning, worker: &mut Worker) -> Result<Summary> {
        let Beginning { summary, whole, source } = beginning;
        if whole || summary.title().is_some() || summary.has_text_of_user() {
            return Ok(summary);
        }
        let source = source.map_or_else(|| self.open(path), Ok)?;
        let read = Summary::read(&source, worker, false, &mut |summary, offset| {
            if summary.has_text_of_user() || offset >= READ_ON { Verdict::Enough } else { Verdict::GoOn }
        });
        Ok(read?.unwrap_or(summary))
    }
}

/// What the beginning of a file says.
pub(super) struct Beginning {
    pub(super) summary: Summary,
    /// The file has no more.
    whole: bool,
    /// The file; a storage is asked again.
    source: Option<Source>,
}

impl Beginning {
    /// Not to keep a file open that will hardly be read on.
    pub(super) fn closed(self) -> Self {
        Self { source: None, ..self }
    }
}

/// `read` gives so many bytes, or fewer, and whether those are all. So does this.
fn beginning(scanner: &mut Scanner, read: impl Fn(usize) -> Result<(Vec<u8>, bool)>) -> Result<(Summary, bool)> {
    // One more shows that the header's line ends.
    for most in [PREFIX, SessionFinder::PREFIX] {
        let (bytes, whole) = read(most)?;
        let summary = Summary::of_prefix(scanner, &bytes, if whole { End::Last } else { End::Open });
        if whole || summary.header.is_some() {
            return Ok((summary, whole));
        }
    }
    Ok((Summary::default(), false))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Says what an error is about.
pub(super) fn named(error: Error, path: &Path) -> Error {
    if error.path().is_none() { error.at(path) } else { error }
}
