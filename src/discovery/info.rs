//! What is told of a session that was found.

use super::project::Owner;
use super::summary::{Summary, began_ms};
use crate::error::Error;
use crate::storage::walk::Found;
use crate::text::{is_space, trim};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What a listing says of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: String,
    /// The folder of its project; empty when the header has none.
    pub cwd: String,
    /// Its title, else the short summary of its last compaction; one that is blank counts as none.
    pub title: Option<String>,
    /// What it was derived from, as the header has it: an id or a path, not to be resolved.
    pub parent_session: Option<String>,
    /// When it began, in milliseconds since 1970; `None` when the header does not say.
    pub created_ms: Option<i64>,
    /// When the file last changed.
    pub modified: SystemTime,
    /// When the session was used last, by which it is older or newer than others: when its last
    /// message was written or it began, whichever is later, and not after `modified`. A new name, a
    /// label or a migration changes the file and is not a use of it.
    pub used: SystemTime,
    /// The session is another project's, whose directory does not exist any longer; it is listed since
    /// the two projects share a session directory (R58). Only a listing of a project says so.
    pub project_gone: bool,
    /// The bytes of the file; of another storage, its units.
    pub size: u64,
    /// Its messages, of every branch.
    pub message_count: u64,
    /// The first text of a user that is not blank, else the task of the session, else the first text of a
    /// custom message; at most 64 KiB of it. Empty when there is none.
    pub first_message: String,
}

/// What is told of a session that was worked on lately, from the beginning of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentSession {
    /// Its file.
    pub path: PathBuf,
    /// When the file last changed.
    pub modified: SystemTime,
    /// When the session was used last, as [`SessionInfo::used`].
    pub used: SystemTime,
    /// The session is another project's, as [`SessionInfo::project_gone`].
    pub project_gone: bool,
    /// What to call it: its title, else its first text as [`SessionInfo::first_message`], else its id,
    /// else the name of its file. The first line of it that says something, without control
    /// characters.
    pub full_name: String,
}

/// Where a session that was asked for was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In the project, or the folder, that was given.
    Local,
    /// Elsewhere among the agent's sessions.
    Global,
}

impl Scope {
    /// `local` or `global`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Global => "global",
        }
    }
}

/// A session that an argument means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumable {
    /// The session.
    pub session: SessionInfo,
    /// Where it was found.
    pub scope: Scope,
}

/// The sessions that an argument could mean.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Those that can be read, the nearest first: see [`SessionFinder::candidates`](crate::SessionFinder::candidates).
    pub sessions: Vec<Resumable>,
    /// Those that cannot be read, each with its path.
    pub problems: Vec<Error>,
    /// When nothing is meant, the directories that cannot be read and may hold what is.
    pub not_searched: Vec<Error>,
}

impl SessionInfo {
    pub(super) fn new(found: &Found, summary: Summary, owner: Owner) -> Option<Self> {
        let title = summary.title_or_summary().map(str::to_owned);
        let first_message = summary.first_text().unwrap_or_default().to_owned();
        let used = summary.used(found.modified);
        let header = summary.header?;
        Some(Self {
            path: found.path.clone(),
            created_ms: began_ms(&header),
            cwd: header.cwd.unwrap_or_default(),
            title,
            parent_session: header.parent_session,
            modified: found.modified,
            used,
            project_gone: owner == Owner::Gone,
            size: found.size,
            message_count: summary.message_count,
            first_message,
            id: header.id,
        })
    }

    /// How long before `now` it was used last, in the words of [`RecentSession::time_ago`].
    #[must_use]
    pub fn time_ago(&self, now: SystemTime) -> String {
        time_ago(self.used, now)
    }

    /// Whether `prefix` means this session: it begins the id, the name of the file, or what follows
    /// the last `_` of that name. Case does not count.
    #[must_use]
    pub fn is_meant_by(&self, prefix: &str) -> bool {
        Meant::by(&prefix.to_lowercase(), &self.id, &self.path).is_some()
    }
}

/// How a text means a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// It begins the id, the name of the file, or what follows the last `_` of that name.
    Begun,
    /// It is one of these, the name with its ending or without.
    Whole,
}

impl Meant {
    /// How `text`, which is in lower case, means the session of this id and file.
    pub(super) fn by(text: &str, id: &str, path: &Path) -> Option<Self> {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let last = name.rsplit_once('_').map_or(name, |(_, last)| last);
        let [id, name, last] = [id, name, last].map(str::to_lowercase);
        let is_whole = |name: &str| text == name || name.strip_suffix(".jsonl") == Some(text);
        if text == id || is_whole(&name) || is_whole(&last) {
            return Some(Self::Whole);
        }
        let is_begun = id.starts_with(text) || name.starts_with(text) || last.starts_with(text);
        is_begun.then_some(Self::Begun)
    }
}

/// What makes a session newer than another: the time it was used, then that of its file's last
/// change, then the later name.
pub(super) type Age<'a> = (SystemTime, SystemTime, &'a Path);

impl SessionInfo {
    pub(super) fn age(&self) -> Age<'_> {
        (self.used, self.modified, &self.path)
    }
}

impl RecentSession {
    /// Columns, in UTF-16 units, of [`RecentSession::name`].
    const LONGEST_NAME: usize = 40;

    pub(super) fn new(found: &Found, summary: &Summary, used: SystemTime, owner: Owner) -> Option<Self> {
        let header = summary.header.as_ref()?;
        let text = summary.title().or(summary.first_text());
        let full_name = text.and_then(clean).or_else(|| clean(&header.id)).unwrap_or_else(|| {
            found.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        });
        let (path, modified) = (found.path.clone(), found.modified);
        Some(Self { path, modified, used, project_gone: owner == Owner::Gone, full_name })
    }

    /// The name cut to 40 UTF-16 units, the last of them `…` when it was.
    #[must_use]
    pub fn name(&self) -> String {
        let mut units = 0;
        let mut cut = 0;
        for (at, c) in self.full_name.char_indices() {
            if units < Self::LONGEST_NAME {
                cut = at;
            }
            units += c.len_utf16();
            if units > Self::LONGEST_NAME {
                return format!("{}…", &self.full_name[..cut]);
            }
        }
        self.full_name.clone()
    }

    /// How long before `now` it was used last, in words: `just now`, `5m ago`, `3h ago`, `2d ago`;
    /// from a week on the day, as `2026-02-16` in local time.
    #[must_use]
    pub fn time_ago(&self, now: SystemTime) -> String {
        time_ago(self.used, now)
    }
}

fn time_ago(then: SystemTime, now: SystemTime) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    let ago = now.duration_since(then).unwrap_or(Duration::ZERO).as_secs();
    match ago {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{}m ago", ago / MINUTE),
        HOUR..DAY => format!("{}h ago", ago / HOUR),
        _ if ago < 7 * DAY => format!("{}d ago", ago / DAY),
        _ => match Timestamp::try_from(then) {
            Ok(moment) => TimeZone::system().to_datetime(moment).date().to_string(),
            Err(_) => "long ago".to_owned(),
        },
    }
}

/// Whether something is left of a text without its blanks and control characters.
pub(super) fn says_something(text: &str) -> bool {
    text.chars().any(|c| !is_space(c) && !is_control(c))
}

fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f')
}

/// The first line of a text that says something, without control characters and outer blanks.
fn clean(text: &str) -> Option<String> {
    let line = text.split('\n').find(|line| says_something(line))?;
    let line: String = line.chars().filter(|&c| !is_control(c)).collect();
    Some(trim(&line).to_owned())
}
