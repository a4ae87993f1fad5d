//! Making the load report of a view.

use super::SessionView;
use crate::blob::references;
use crate::context::Texts as _;
use crate::entry::EntryKind;
use crate::error::Result;
use crate::json::{Json, wtf8_to_str};
use crate::load::OtherKind;
use crate::report::{
    DuplicateId, EmptyCompaction, Fragment, LoadReport, MissingBlob, MissingParent, SkipReason, SkippedLine,
    SpreadValue, TrailingText,
};
use crate::tree::{Ancestry, Parent};
use std::collections::BTreeSet;

impl SessionView {
    /// What was noticed while reading the session (R50). Compactions and blob references are
    /// looked at now: their lines are read, and the blob store is asked which blobs it has.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn report(&self) -> Result<LoadReport> {
        let mut report = LoadReport { newer_version: self.newer_version(), ..LoadReport::default() };
        for other in &self.others {
            let reason = match other.kind {
                OtherKind::Value => SkipReason::NotAnEntry,
                OtherKind::Invalid => SkipReason::Invalid,
                OtherKind::Torn => SkipReason::Torn,
                OtherKind::Trailing => {
                    report.trailing_text.push(TrailingText { line: other.line, bytes: other.len });
                    continue;
                }
                OtherKind::Fragment { .. } => {
                    report.fragments.push(Fragment { line: other.line, bytes: other.len });
                    continue;
                }
                OtherKind::Session { .. } | OtherKind::TitleSlot => continue,
            };
            report.skipped_lines.push(SkippedLine { line: other.line, reason });
        }
        let spread = self.damage.spread.iter();
        report.spread_values.extend(spread.map(|value| SpreadValue { line: value.line, lines: value.lines }));
        for index in 0..self.tree.count() {
            let slot = self.tree.slot(index);
            let Some(id) = slot.id() else {
                report.entries_without_id.push(self.lines.of(index));
                continue;
            };
            if let (true, Parent::Id(parent)) = (slot.is_node(), slot.parent()) {
                report.missing_parents.push(MissingParent {
                    id: self.tree.id_text(id).into_owned(),
                    line: self.lines.of(index),
                    parent_id: self.tree.id_text(parent).into_owned(),
                    instead: self.tree.bridge(index).map(|parent| self.id_of(parent)),
                });
            }
        }
        self.duplicates(&mut report);
        for cycle in self.tree.cycles() {
            report.cycles.push(cycle.into_iter().map(|index| self.id_of(index)).collect());
        }
        self.compactions(&mut report)?;
        self.blobs_of(&mut report)?;
        Ok(report)
    }

    fn id_of(&self, index: u32) -> String {
        self.tree.id(index).map(|id| id.into_owned()).unwrap_or_default()
    }

    fn duplicates(&self, report: &mut LoadReport) {
        if !self.tree.has_duplicates() {
            return;
        }
        // The lines of each id that stands on several, by its last line.
        let mut lines: hashbrown::HashMap<u32, Vec<u64>> = hashbrown::HashMap::new();
        for index in 0..self.tree.count() {
            let slot = self.tree.slot(index);
            // Of most entries there is one line, and nothing to look up.
            let last = if slot.is_superseded() { slot.id().and_then(|id| self.tree.lookup(id)) } else { Some(index) };
            if let Some(last) = last.filter(|&last| self.tree.first_line(last) != last) {
                lines.entry(last).or_default().push(self.lines.of(index));
            }
        }
        let mut duplicates: Vec<_> = lines.into_iter().collect();
        duplicates.sort_unstable_by_key(|&(last, _)| self.tree.first_line(last));
        report
            .duplicate_ids
            .extend(duplicates.into_iter().map(|(last, lines)| DuplicateId { id: self.id_of(last), lines }));
    }

    fn compactions(&self, report: &mut LoadReport) -> Result<()> {
        let mut texts = self.texts();
        let mut ancestry = Ancestry::new(&self.tree);
        for index in 0..self.tree.count() {
            let slot = self.tree.slot(index);
            if slot.kind != EntryKind::Compaction || !slot.is_node() {
                continue;
            }
            let text = texts.stored(index)?;
            let first = Json::new(&text).get_wtf8("firstKeptEntryId");
            let kept = first.as_ref().and_then(|id| self.tree.find(id));
            // A compaction that names itself says that it keeps nothing (R27).
            if kept.is_some_and(|kept| kept == index || ancestry.is_ancestor(kept, index)) {
                continue;
            }
            report.empty_compactions.push(EmptyCompaction {
                id: self.id_of(index),
                line: self.lines.of(index),
                first_kept_entry_id: first.map(|id| wtf8_to_str(&id).into_owned()),
            });
        }
        Ok(())
    }

    fn blobs_of(&self, report: &mut LoadReport) -> Result<()> {
        let Some(blobs) = &self.blobs else { return Ok(()) };
        let mut texts = self.texts();
        let mut missing: BTreeSet<_> = self.damaged_blobs.lock().clone();
        for index in 0..self.tree.count() {
            if !self.tree.slot(index).has_blob_reference() {
                continue;
            }
            let text = texts.stored(index)?;
            let line = self.lines.of(index);
            missing.extend(
                references(&text).into_iter().filter(|found| !blobs.has(&found.hash)).map(|found| (line, found.hash)),
            );
        }
        report.missing_blobs.extend(missing.into_iter().map(|(line, hash)| MissingBlob { hash, line }));
        Ok(())
    }
}
