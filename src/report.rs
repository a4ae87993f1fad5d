//! The load report: what a file holds that a session should not (R50).

use crate::blob::BlobHash;
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

/// What was noticed while reading a session. Nothing of it keeps the rest from being read.
///
/// Printed, it is one line for each thing, none when there is nothing to report. Lines are
/// physical lines of the file, counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadReport {
    /// Lines that give no entry.
    pub skipped_lines: Vec<SkippedLine>,
    /// Text after the last value of a line.
    pub trailing_text: Vec<TrailingText>,
    /// Ids on more than one line; the last one counts.
    pub duplicate_ids: Vec<DuplicateId>,
    /// Lines of entries without a string id: they are listed and hang nowhere.
    pub entries_without_id: Vec<u64>,
    /// Entries whose parent is not in the file: they are roots.
    pub missing_parents: Vec<MissingParent>,
    /// Entries that are their own ancestors; the first of each cycle is a root.
    pub cycles: Vec<Vec<String>>,
    /// Compactions whose first kept entry is not among their ancestors: nothing earlier is kept.
    pub empty_compactions: Vec<EmptyCompaction>,
    /// References to blobs that are not in the store, or whose bytes were found damaged when they
    /// were read.
    pub missing_blobs: Vec<MissingBlob>,
    /// The version of the file, when it is newer than this library knows.
    pub newer_version: Option<u32>,
    /// Where a file that was no session was copied before a session took its place.
    pub set_aside_file: Option<PathBuf>,
}

/// Why a line gives no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// It does not begin with a JSON value.
    Invalid,
    /// The file ends in the middle of it.
    Torn,
    /// A value that is no object with a string `type`.
    NotAnEntry,
}

/// A line that gives no entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct SkippedLine {
    pub line: u64,
    pub reason: SkipReason,
}

/// Text after the last value of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct TrailingText {
    pub line: u64,
    pub bytes: u64,
}

/// An id on more than one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct DuplicateId {
    pub id: String,
    pub lines: Vec<u64>,
}

/// An entry whose parent is not in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the type says it")]
pub struct MissingParent {
    pub id: String,
    pub line: u64,
    pub parent_id: String,
}

/// A compaction that keeps nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the type says it")]
pub struct EmptyCompaction {
    pub id: String,
    pub line: u64,
    pub first_kept_entry_id: Option<String>,
}

/// A reference to a blob that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct MissingBlob {
    #[serde(serialize_with = "hash_text")]
    pub hash: BlobHash,
    pub line: u64,
}

fn hash_text<S: serde::Serializer>(hash: &BlobHash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(hash.as_str())
}

impl LoadReport {
    /// There is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.newer_version {
            let known = crate::CURRENT_SESSION_VERSION;
            writeln!(f, "version {version} is newer than version {known}, the newest known here")?;
        }
        if let Some(path) = &self.set_aside_file {
            writeln!(f, "the file was no session; it was kept as {}", path.display())?;
        }
        for SkippedLine { line, reason } in &self.skipped_lines {
            let what = match reason {
                SkipReason::Invalid => "not JSON, skipped",
                SkipReason::Torn => "cut off in the middle by the end of the file, skipped",
                SkipReason::NotAnEntry => "not an entry (no object with a type), skipped",
            };
            writeln!(f, "line {line}: {what}")?;
        }
        for TrailingText { line, bytes } in &self.trailing_text {
            writeln!(f, "line {line}: {bytes} bytes after the entry are not JSON, skipped")?;
        }
        for line in &self.entries_without_id {
            writeln!(f, "line {line}: entry without an id, not in the tree")?;
        }
        for DuplicateId { id, lines } in &self.duplicate_ids {
            let lines: Vec<String> = lines.iter().map(u64::to_string).collect();
            writeln!(f, "id {} stands on lines {}; the last one counts", Shown(id), lines.join(", "))?;
        }
        for MissingParent { id, line, parent_id } in &self.missing_parents {
            let (id, parent_id) = (Shown(id), Shown(parent_id));
            writeln!(f, "line {line}: the parent {parent_id} of {id} is not in the file, taken as a root")?;
        }
        for cycle in &self.cycles {
            let ids: Vec<String> = cycle.iter().map(|id| Shown(id).to_string()).collect();
            match &ids[..] {
                [id] => writeln!(f, "cycle: {id} is its own parent; it is taken as a root")?,
                ids => writeln!(f, "cycle: {} lead back to themselves; the first is taken as a root", ids.join(", "))?,
            }
        }
        for EmptyCompaction { id, line, first_kept_entry_id } in &self.empty_compactions {
            let first = first_kept_entry_id.as_deref().unwrap_or("(none given)");
            let (id, first) = (Shown(id), Shown(first));
            writeln!(f, "line {line}: compaction {id} keeps nothing: {first} is not before it on its path")?;
        }
        for MissingBlob { hash, line } in &self.missing_blobs {
            writeln!(f, "line {line}: blob {} is missing or damaged", hash.as_str())?;
        }
        Ok(())
    }
}

/// An id in a line of the report: a control character in it cannot make it look like two.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\u{2028}' | '\u{2029}' => write!(f, "{}", c.escape_unicode()),
            c if c.is_control() => write!(f, "{}", c.escape_unicode()),
            c => f.write_char(c),
        })
    }
}
