//! The load report: what a file holds that a session should not (R50).

use crate::blob::BlobHash;
use hashbrown::HashSet;
use serde::Serialize;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

/// What was noticed while reading a session. Nothing of it keeps the rest from being read.
///
/// Printed, it is one line for each thing, none when there is nothing to report: the worst first, each line of the file
/// once, at most fifty and how many more there are. `{:#}` prints all. Lines are physical lines of the file, counted
/// from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LoadReport {
    /// Lines that give no entry.
    pub skipped_lines: Vec<SkippedLine>,
    /// Text after the last value of a line.
    pub trailing_text: Vec<TrailingText>,
    /// Text in front of an entry or a header on the same line: the start of an entry that was not written to its end.
    pub fragments: Vec<Fragment>,
    /// Values that go over several lines, as an editor or a formatter writes them.
    pub spread_values: Vec<SpreadValue>,
    /// Ids on more than one line; the last one counts.
    pub duplicate_ids: Vec<DuplicateId>,
    /// Lines of entries without a string id: they are listed and hang nowhere.
    pub entries_without_id: Vec<u64>,
    /// Entries whose parent is not in the file: they are roots, or hang on an entry before it when damage to the file
    /// explains what is missing.
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

/// Text in front of an entry or a header on the same line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct Fragment {
    pub line: u64,
    pub bytes: u64,
}

/// A value that goes over several lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the type says it")]
pub struct SpreadValue {
    /// The line it begins on.
    pub line: u64,
    pub lines: u64,
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
    /// What it hangs on in its place: what the parent hung on, when that can still be read, else the entry before the
    /// damaged line. `None` for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
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

/// Findings that are printed of a report, when not all are asked for.
const SHOWN: usize = 50;
/// Lines of one id that are printed.
const SHOWN_LINES: usize = 8;

/// How bad a finding is, the worst first. The order is that of a printed report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    File,
    /// Text is lost.
    Lost,
    /// Something that is referred to is not there, or not where it should be.
    Reference,
    /// A line is not what a line of a session is.
    Line,
    /// Nothing but the form is wrong.
    Form,
}

struct Finding {
    weight: Weight,
    line: Option<u64>,
    text: String,
}

/// Bytes of a line that are left out.
fn not_json(bytes: u64, place: &str) -> String {
    let (noun, verb) = if bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
    format!("{bytes} {noun} {place} {verb} not JSON, skipped")
}

impl LoadReport {
    /// How many entries the damage of the file touches: those that are lost, as far as that can be told, those whose
    /// parent is missing, those without an id, and those in a cycle.
    #[must_use]
    pub fn damaged_entries(&self) -> usize {
        let lost = self.skipped_lines.iter().filter(|skipped| skipped.reason != SkipReason::NotAnEntry).count();
        lost + self.fragments.len()
            + self.trailing_text.len()
            + self.missing_parents.len()
            + self.entries_without_id.len()
            + self.cycles.iter().map(Vec::len).sum::<usize>()
    }

    /// What there is to report, the worst first.
    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |weight, line, text: String| findings.push(Finding { weight, line, text });
        if let Some(version) = self.newer_version {
            let known = crate::CURRENT_SESSION_VERSION;
            add(Weight::File, None, format!("version {version} is newer than version {known}, the newest known here"));
        }
        if let Some(path) = &self.set_aside_file {
            add(Weight::File, None, format!("the file was not a session; it was kept as {}", path.display()));
        }
        for &SkippedLine { line, reason } in &self.skipped_lines {
            let (weight, what) = match reason {
                SkipReason::Invalid => (Weight::Lost, "not JSON, skipped"),
                SkipReason::Torn => (Weight::Lost, "cut off in the middle by the end of the file, skipped"),
                SkipReason::NotAnEntry => (Weight::Line, "not an entry (no object with a type), skipped"),
            };
            add(weight, Some(line), what.to_owned());
        }
        for &Fragment { line, bytes } in &self.fragments {
            add(Weight::Lost, Some(line), not_json(bytes, "in front of the entry"));
        }
        for &TrailingText { line, bytes } in &self.trailing_text {
            add(Weight::Lost, Some(line), not_json(bytes, "at the end"));
        }
        for MissingParent { id, line, parent_id, instead } in &self.missing_parents {
            let (id, parent_id) = (Shown(id), Shown(parent_id));
            let text = match instead {
                None => format!("the parent {parent_id} of {id} is not in the file, taken as a root"),
                Some(instead) => {
                    let instead = Shown(instead);
                    format!("the parent {parent_id} of {id} was lost, it hangs on {instead} instead")
                }
            };
            add(Weight::Reference, Some(*line), text);
        }
        for cycle in &self.cycles {
            let text = match &cycle[..] {
                [id] => format!("cycle: {} is its own parent; it is taken as a root", Shown(id)),
                [first, last] => {
                    let (first, last) = (Shown(first), Shown(last));
                    format!("cycle: {first} and {last} lead back to themselves; the first is taken as a root")
                }
                [first, .., last] => {
                    let (first, last, count) = (Shown(first), Shown(last), cycle.len());
                    format!(
                        "cycle: {first} to {last}, {count} entries, lead back to themselves; the first is taken as a root"
                    )
                }
                [] => continue,
            };
            add(Weight::Reference, None, text);
        }
        for EmptyCompaction { id, line, first_kept_entry_id } in &self.empty_compactions {
            let first = first_kept_entry_id.as_deref().unwrap_or("(none given)");
            let (id, first) = (Shown(id), Shown(first));
            let text = format!("compaction {id} keeps nothing: {first} is not before it on its path");
            add(Weight::Reference, Some(*line), text);
        }
        for MissingBlob { hash, line } in &self.missing_blobs {
            add(Weight::Reference, Some(*line), format!("blob {} is missing or damaged", hash.as_str()));
        }
        for &line in &self.entries_without_id {
            add(Weight::Line, Some(line), "entry without an id, not in the tree".to_owned());
        }
        for DuplicateId { id, lines } in &self.duplicate_ids {
            let more = lines.len().saturating_sub(SHOWN_LINES);
            let shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(u64::to_string).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!("id {} stands on lines {}{more}; the last one counts", Shown(id), shown.join(", "));
            add(Weight::Line, None, text);
        }
        for &SpreadValue { line, lines } in &self.spread_values {
            add(Weight::Form, Some(line), format!("a value over {lines} lines, read as if it were on one"));
        }
        // Within a weight what concerns no one line comes first, and of one line what was added first.
        findings.sort_by_key(|finding| (finding.weight, finding.line));
        findings
    }
}

/// One finding for each line, the worst first, and no more than fifty of them. With `{:#}`, everything.
impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut findings = self.findings();
        let count = findings.len();
        if !f.alternate() {
            let mut lines = HashSet::new();
            findings.retain(|finding| finding.line.is_none_or(|line| lines.insert(line)));
            findings.truncate(SHOWN);
        }
        for Finding { line, text, .. } in &findings {
            match line {
                Some(line) => writeln!(f, "line {line}: {text}")?,
                None => writeln!(f, "{text}")?,
            }
        }
        match count - findings.len() {
            0 => Ok(()),
            more => writeln!(f, "and {more} more"),
        }
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
