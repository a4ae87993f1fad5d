//! Changing what a view holds: what a session manager does to its view. Nothing is written to a
//! file here.

use super::SessionView;
use super::recent::{Kept, Recent};
use super::texts::drop_provider_payload;
use crate::blob::references;
use crate::entry::{CURRENT_SESSION_VERSION, EntryKind, Header, Role, TitleSlot, time};
use crate::error::{Error, ErrorCode, Result};
use crate::json::{Json, Object, quoted};
use crate::load::{Damage, LineNumbers, Message, Other, OtherKind, Reader};
use crate::persist::{Layout, LineForm, MayChange, Pending, Prepared, is_plain, prepare};
use crate::storage::Source;
use crate::tree::{Id, Parent, Slot, Tree, hex_id};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Texts of entries that are not in the file: not yet written, or written in another form.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    texts: Vec<Vec<u8>>,
    free: Vec<usize>,
    /// For an entry that has a line in the file too: its span there.
    lines: HashMap<u32, (u64, u32)>,
    /// Texts this process wrote lately: when the file is cut short in place, or the system fails to
    /// write it to the disk, they are nowhere else.
    recent: Recent,
    /// Empty; the next text is built in it.
    buffer: Vec<u8>,
}

/// What is known of an entry before its text is made.
#[derive(Debug)]
pub(crate) struct NewEntry {
    pub(crate) id: String,
    /// The entry it hangs on.
    pub(crate) leaf: Option<u32>,
    pub(crate) now_ms: i64,
}

impl Memory {
    fn put(&mut self, text: Vec<u8>) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.texts[place] = text;
                place
            }
            None => {
                self.texts.push(text);
                self.texts.len() - 1
            }
        }
    }

    fn take(&mut self, place: usize) -> Vec<u8> {
        self.free.push(place);
        std::mem::take(&mut self.texts[place])
    }

    /// Keeps a text that is in the file now, for a while.
    fn remember(&mut self, index: u32, text: Vec<u8>) {
        self.buffer = self.recent.push(index, text);
    }
}

impl SessionView {
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn set_leaf(&mut self, leaf: Option<u32>) {
        self.tree.set_leaf(leaf);
    }

    /// Entries may be at other places from now on than a reader of this manager knows.
    pub(crate) fn renew_revision(&mut self) {
        self.revision = super::new_revision();
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn set_path(&mut self, path: &Path) {
        self.path = Some(path.to_owned());
    }

    /// The file has `len` bytes now.
    pub(crate) fn grown(&mut self, len: u64) {
        self.source.grown(len);
    }

    /// Adds bytes that were written to where the view's bytes came from.
    pub(crate) fn append_bytes(&mut self, bytes: &[u8]) {
        self.source.append(bytes);
    }

    /// The file was replaced, and `found` is what is there: it takes this view's place, and takes over
    /// from it. With `keep`, this view is kept in it for [`SessionView::take_replaced`].
    ///
    /// Fails, and gives an error, as [`SessionView::carry_over`] does.
    pub(crate) fn give_way(&mut self, mut found: Self, pending: &mut Pending, keep: bool) -> Result<Option<Error>> {
        let lost = found.carry_over(self, pending)?;
        let mut old = std::mem::replace(self, found);
        if keep {
            // Who has not asked yet knows the oldest.
            self.replaced = old.replaced.take().or_else(|| Some(Arc::new(old)));
        }
        Ok(lost)
    }

    /// The view that somebody who has not asked since still knows.
    pub(crate) fn take_replaced(&mut self) -> Option<Self> {
        self.replaced.take().map(Arc::unwrap_or_clone)
    }

    /// Takes over from the view of a file that this one's replaced (R53d): what that process wrote
    /// and is gone, what it had not written, and its leaf.
    ///
    /// Gives the error of reading an entry that cannot be had back: the file was changed in place, and
    /// the entry was written too long ago to be kept. It is not in the new view.
    fn carry_over(&mut self, old: &Self, pending: &mut Pending) -> Result<Option<Error>> {
        let mut lost = None;
        let mut unsaved = Vec::new();
        let (mut again, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let mut recount = false;
        let recent: HashMap<u32, Kept> = old.memory.recent.iter().collect();
        let was_unsaved: BTreeSet<u32> = pending.unsaved.iter().copied().collect();
        for index in 0..old.tree.count() {
            let is_changed = pending.changed.contains(&index);
            let slot = old.tree.slot(index);
            let is_ours = slot.is_own() || is_changed;
            let had_line = !was_unsaved.contains(&index) || pending.again.contains(&index);
            // Of others' entries, one may have been given a text here that its line has only in part.
            if !is_ours && old.in_memory(index).is_none() {
                continue;
            }
            let there = old.tree.id_bytes(index).and_then(|id| self.tree.find(&id));
            // Another process may have given one of its entries the id of one that is not written yet.
            let there = match (there, old.in_memory(index)) {
                (Some(there), Some(text)) if !had_line && !is_changed && !self.has_line_of(there, text)? => None,
                (there, _) => there,
            };
            match there {
                None if !is_ours => {}
                None => match old.kept_text(index, &recent) {
                    Ok(text) => {
                        let index = self.push(text)?;
                        self.tree.slot_mut(index).take_owner(slot);
                        unsaved.push(index);
                        if had_line {
                            again.insert(index);
                        }
                        if is_changed {
                            changed.insert(index);
                        }
                    }
                    Err(error) => lost = Some(error),
                },
                Some(there) => {
                    self.tree.slot_mut(there).take_owner(slot);
                    match old.in_memory(index) {
                        Some(text) if is_changed => {
                            recount |= self.replace(there, text.to_owned())?;
                            changed.insert(there);
                        }
                        // What the line has only in part is whole in memory still.
                        Some(text) if prepare(text).is_some() && self.has_line_of(there, text)? => {
                            recount |= self.replace(there, text.to_owned())?;
                        }
                        _ => {}
                    }
                }
            }
        }
        if recount || !unsaved.is_empty() && self.tree.has_duplicates() {
            self.recount()?;
        }
        self.keep_recent(old)?;
        self.set_header_fields(pending);
        if let Some(leaf) = old.tree.leaf() {
            // Where it is gone, the branch it was on goes on.
            let there = |index| self.tree.find(&old.tree.id_bytes(index)?);
            if let Some(leaf) = old.tree.towards_root(leaf).find_map(there) {
                self.tree.set_leaf(Some(leaf));
            }
        } else {
            self.tree.set_leaf(None);
        }
        (pending.unsaved, pending.again, pending.changed) = (unsaved, again, changed);
        Ok(lost)
    }

    /// The line of an entry in the file is the one that is written of a text.
    fn has_line_of(&self, index: u32, text: &[u8]) -> Result<bool> {
        let line = self.stored_text(index)?;
        Ok(match prepare(text) {
            Some(prepared) => prepared.line == *line,
            None => *line == *text,
        })
    }

    /// `found`, which was read from the same file just now, has the lines of this view where this view has them,
    /// and no others.
    pub(crate) fn has_lines_of(&self, found: &mut Self, pending: &Pending) -> Result<bool> {
        if self.is_migrated() != found.is_migrated() {
            return Ok(false);
        }
        found.migrate_header();
        found.set_header_fields(pending);
        let (tree, there) = (&self.tree, &found.tree);
        let recent: HashMap<u32, Kept> = self.memory.recent.iter().collect();
        let mut count = 0;
        for index in (0..tree.count()).filter(|&index| self.span(index).is_some()) {
            if count == there.count() {
                return Ok(false);
            }
            let (slot, other) = (tree.slot(index), there.slot(count));
            let same = self.span(index) == Some((other.offset, other.len))
                && tree.id_bytes(index) == there.id_bytes(count)
                && match (self.in_memory(index), recent.get(&index)) {
                    (Some(text), _) => pending.changed.contains(&index) || found.has_line_of(count, text)?,
                    (None, Some(kept)) => found.has_line_of(count, &self.memory.recent.text(kept))?,
                    // A scan marks more texts than those that have references, by what stands beside them.
                    (None, None) if other.has_blob_reference() && !slot.has_blob_reference() => {
                        slot.says_the_same(other) && references(&found.stored_text(count)?).is_empty()
                    }
                    (None, None) => slot.says_the_same(other),
                };
            if !same {
                return Ok(false);
            }
            count += 1;
        }
        let is_written = pending.unsaved.is_empty() && pending.changed.is_empty();
        Ok(count == there.count()
            && self.others == found.others
            && tree.has_fragments_of(there)
            && (!is_written || tree.labels().iter().eq(there.labels().iter()) && tree.usage() == there.usage())
            && self.header.json().bytes() == found.header.json().bytes()
            && self.title_slot.as_ref().map(TitleSlot::says) == found.title_slot.as_ref().map(TitleSlot::says))
    }

    /// The system gave up pages of the file that it could not write: where no sync has covered a line of this
    /// process, NUL bytes stand, which no program writes into a line.
    pub(crate) fn has_lost_pages(&self, pending: &Pending) -> bool {
        let recent = &self.memory.recent;
        let unsynced = recent.iter().skip(recent.first_unsynced()).map(|(index, _)| index);
        unsynced.chain(pending.changed.iter().copied()).filter_map(|index| self.span(index)).any(|(offset, len)| {
            // Of a file that was cut nothing is there.
            let line = self.source.read(offset, len as usize);
            line.is_ok_and(|line| memchr::memchr(0, &line).is_some())
        })
    }

    /// The text of an entry of this process, also when the file it was written to was cut.
    fn kept_text(&self, index: u32, recent: &HashMap<u32, Kept>) -> Result<Vec<u8>> {
        match (self.in_memory(index), recent.get(&index)) {
            (None, Some(kept)) => Ok(self.memory.recent.text(kept)),
            _ => self.stored_text(index).map(Cow::into_owned),
        }
    }

    /// Goes on keeping what that process wrote lately, as far as it stands in this file too.
    fn keep_recent(&mut self, old: &Self) -> Result<()> {
        let recent = &old.memory.recent;
        let first_unsynced = recent.first_unsynced();
        let mut unsynced = 0;
        for (at, (index, kept)) in recent.iter().enumerate() {
            let there = old.tree.id_bytes(index).and_then(|id| self.tree.find(&id));
            let Some(there) = there else { continue };
            let mut text = Vec::new();
            if self.in_memory(there).is_none() {
                text = recent.text(&kept);
                if !self.has_line_of(there, &text)? {
                    continue;
                }
            }
            drop(self.memory.recent.push(there, text));
            unsynced += usize::from(at >= first_unsynced);
        }
        self.memory.recent.set_unsynced(unsynced);
        Ok(())
    }

    /// Everything that was written would survive a power cut.
    pub(crate) fn synced(&mut self) {
        self.memory.recent.set_unsynced(0);
    }

    /// The same of what was written before the last `since` texts.
    pub(crate) fn synced_but(&mut self, since: u64) {
        self.memory.recent.set_synced_but(usize::try_from(since).unwrap_or(usize::MAX));
    }

    /// Takes the texts that no sync has covered back into memory, as ones that are to be written: when
    /// the system failed to bring them to the disk, reading the file may give something else.
    pub(crate) fn recall(&mut self, pending: &mut Pending) {
        // The last text of an entry is the one that counts.
        for (index, text) in self.memory.recent.take_unsynced().into_iter().rev() {
            pending.changed.insert(index);
            let slot = self.tree.slot_mut(index);
            if slot.memory().is_some() {
                continue;
            }
            self.memory.lines.insert(index, (slot.offset, slot.len));
            slot.len = u32::try_from(text.len()).unwrap_or(slot.len);
            slot.set_memory(self.memory.put(text));
        }
    }

    pub(crate) fn others(&self) -> &[Other] {
        &self.others
    }

    /// The text of an entry that is not, or not in this form, in the file.
    pub(crate) fn in_memory(&self, index: u32) -> Option<&[u8]> {
        self.tree.slot(index).memory().map(|place| &*self.memory.texts[place])
    }

    /// What is written of an entry whose text is in memory; `None` when that is the text.
    pub(crate) fn prepared(&self, index: u32) -> Option<Prepared> {
        if self.tree.slot(index).is_plain() { None } else { prepare(self.in_memory(index)?) }
    }

    /// The place of the header among the others.
    pub(crate) fn header_place(&self) -> Option<usize> {
        self.others.iter().position(|other| other.kind == OtherKind::Session { has_id: true })
    }

    /// The place of the title slot among the others.
    pub(crate) fn title_slot_place(&self) -> Option<usize> {
        self.others.iter().position(|other| other.kind == OtherKind::TitleSlot)
    }

    pub(crate) fn line_of(&self, index: u32) -> u64 {
        self.lines.of(index)
    }

    /// What is written in place of the line of an entry in an older file, or of one that goes over several; `None` when
    /// it stays as it is.
    pub(crate) fn migrated_line(&self, index: u32) -> Result<Option<Vec<u8>>> {
        if self.migration.is_none() && !self.damage.is_spread(index) {
            return Ok(None);
        }
        let Some((offset, len)) = self.span(index) else { return Ok(None) };
        // The source hands out owned bytes of a file: whether they changed is asked of a copy.
        let text = self.source.read(offset, len as usize)?.into_owned();
        let migrated = self.migrated(index, Cow::Borrowed(&text));
        Ok(match migrated {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        })
    }

    /// Makes the header in memory one of the current version.
    pub(crate) fn migrate_header(&mut self) {
        if self.header.version < CURRENT_SESSION_VERSION
            && let Some(header) = Header::read(crate::migrate::header(self.header.json().bytes()))
        {
            self.header = header;
        }
    }

    /// The file was written anew, and everything stands where `layout` says. Gives what it stood in
    /// before.
    pub(crate) fn rewritten(&mut self, source: Source, layout: Layout) -> Source {
        let old = std::mem::replace(&mut self.source, source);
        self.migration = None;
        self.migrate_header();
        let mut lines: Vec<(u32, u64)> = Vec::with_capacity(layout.entries.len());
        for placed in layout.entries {
            self.written(placed.index, placed.offset, placed.len, placed.form);
            lines.push((placed.index, placed.line));
        }
        lines.sort_unstable();
        self.lines = LineNumbers::default();
        for (index, line) in lines {
            self.lines.push(index, line);
        }
        for (other, (offset, len, line)) in self.others.iter_mut().zip(layout.others) {
            (other.offset, other.len, other.line) = (offset, len, line);
            // These have a newline now.
            match other.kind {
                OtherKind::Fragment { after_value: true } => other.kind = OtherKind::Trailing,
                OtherKind::Fragment { .. } | OtherKind::Torn => other.kind = OtherKind::Invalid,
                _ => {}
            }
        }
        self.damage.spread.clear();
        self.line_count = layout.lines;
        old
    }

    /// The id of the last entry of this process that is in the file.
    pub(crate) fn last_written(&self) -> Option<Cow<'_, str>> {
        let last =
            (0..self.tree.count()).rev().find(|&index| self.tree.slot(index).is_own() && self.span(index).is_some());
        self.tree.id(last?)
    }

    /// The span of an entry's line in the file; `None` when it has none.
    pub(crate) fn span(&self, index: u32) -> Option<(u64, u32)> {
        let slot = self.tree.slot(index);
        match slot.memory() {
            None => Some((slot.offset, slot.len)),
            Some(_) => self.memory.lines.get(&index).copied(),
        }
    }

    /// Adds an entry whose text is in memory; the leaf stays.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the text is not one entry.
    pub(crate) fn push(&mut self, text: Vec<u8>) -> Result<u32> {
        let mut scan = self.reader.entry(&text)?;
        let place = self.memory.put(text);
        for slot in &mut scan.slots {
            slot.set_memory(place);
            slot.mark_own();
        }
        Ok(self.tree.extend(scan))
    }

    /// What the index wants of a text that is to be a message; `None` when it is none.
    pub(crate) fn read_message(&mut self, text: &[u8]) -> Option<Message> {
        self.reader.message::<MayChange>(text)
    }

    /// An empty buffer for the text of an entry.
    pub(crate) fn line_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.memory.buffer)
    }

    /// Adds an entry whose text was built around a message that was read; the leaf stays.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it is too long.
    pub(crate) fn push_message(&mut self, text: Vec<u8>, new: &NewEntry, message: &Message) -> Result<u32> {
        let (Some(id), Ok(len), true) =
            (hex_id(new.id.as_bytes()), u32::try_from(text.len()), time::USUAL.contains(&new.now_ms))
        else {
            return self.push(text);
        };
        let mut slot = message.slot(len);
        slot.set_id(Id::Hex(id));
        slot.time = new.now_ms;
        // An empty id is no parent when it is read, either.
        if let Some(leaf) = new.leaf.filter(|&leaf| !self.tree.has_empty_id(leaf)) {
            slot.set_parent(Parent::Entry(leaf));
        }
        if is_plain(&text, message.found, message.unicode_escapes) {
            slot.mark_plain();
        }
        slot.set_memory(self.memory.put(text));
        slot.mark_own();
        Ok(self.tree.push(slot, message.usage()))
    }

    /// Gives an entry another text, which [`SessionView::check_replacement`] allows. Says whether
    /// [`SessionView::recount`] is needed: few texts cost what the ones before did not, or are labels.
    pub(crate) fn replace(&mut self, index: u32, text: Vec<u8>) -> Result<bool> {
        let before = Reader::new().entry(&self.stored_text(index)?)?.usages;
        let scan = self.reader.entry(&text)?;
        let span = self.span(index);
        if let Some(place) = self.tree.slot(index).memory() {
            self.memory.take(place);
        }
        let place = self.memory.put(text);
        let slot = self.tree.slot_mut(index);
        let mut is_label = slot.kind == EntryKind::Label;
        let mut parent = None;
        if let Some(new) = scan.slots.first() {
            slot.take_text(new);
            is_label |= slot.kind == EntryKind::Label;
            parent = Some(new.parent());
        }
        slot.set_memory(place);
        // Of one entry, two processes may have said different things.
        match parent {
            Some(Parent::Root) => self.tree.hang(index, None, &scan.names),
            Some(Parent::Id(id)) => self.tree.hang(index, Some(id), &scan.names),
            _ => {}
        }
        if let Some(span) = span {
            self.memory.lines.insert(index, span);
        }
        Ok(is_label || scan.usages != before)
    }

    /// Sums the usage and applies the labels anew, after texts were replaced or ids came again.
    pub(crate) fn recount(&mut self) -> Result<()> {
        let usage = self.usage_of_nodes()?;
        self.tree.set_usage(usage);
        let labels = self.labels_of_nodes()?;
        self.tree.set_labels(labels);
        Ok(())
    }

    /// Says whether a text may take the place of an entry's.
    pub(crate) fn check_replacement(&self, index: u32, text: &[u8]) -> Result<()> {
        Reader::new().entry(text)?;
        let before = self.stored_text(index)?;
        let same = |key| Json::new(&before).get_wtf8(key) == Json::new(text).get_wtf8(key);
        if same("id") && same("parentId") {
            return Ok(());
        }
        let message = "an entry keeps its id and its parent when its text is replaced";
        Err(Error::new(ErrorCode::InvalidArgument, message))
    }

    /// Shows this process's assistant messages without a provider's own history, as those that were
    /// loaded are shown. Says whether there was any such history.
    pub(crate) fn show_as_loaded(&mut self) -> Result<bool> {
        let mut any = false;
        for index in 0..self.tree.count() {
            let slot = self.tree.slot(index);
            if slot.is_as_loaded() || slot.role != Role::Assistant || !slot.has_provider_payload() {
                continue;
            }
            let mut edits = Vec::new();
            drop_provider_payload(&self.stored_text(index)?, &mut edits);
            any |= !edits.is_empty();
            self.tree.slot_mut(index).mark_as_loaded();
        }
        Ok(any)
    }

    /// Counts an entry among those of this process.
    pub(crate) fn mark_own(&mut self, index: u32) {
        self.tree.slot_mut(index).mark_own();
    }

    /// Counts an entry to whom the one belongs that it is a copy of.
    pub(crate) fn take_owner(&mut self, index: u32, of: &Slot) {
        self.tree.slot_mut(index).take_owner(of);
    }

    /// Keeps an entry's text in memory beside the line it has in the file.
    pub(crate) fn keep_text(&mut self, index: u32, text: Vec<u8>) -> Result<()> {
        if *self.stored_text(index)? != *text {
            self.replace(index, text)?;
        }
        Ok(())
    }

    /// The entry's line is in the file now. What the line has only in part stays in memory.
    pub(crate) fn written(&mut self, index: u32, offset: u64, len: u32, form: LineForm) {
        let slot = self.tree.slot_mut(index);
        match slot.memory() {
            Some(_) if form == LineForm::Reduced => {
                self.memory.lines.insert(index, (offset, len));
                drop(self.memory.recent.push(index, Vec::new()));
            }
            place => {
                (slot.offset, slot.len) = (offset, len);
                if form == LineForm::References {
                    slot.mark_blob_reference();
                }
                if !self.memory.lines.is_empty() {
                    self.memory.lines.remove(&index);
                }
                if let Some(place) = place {
                    let text = self.memory.take(place);
                    self.memory.remember(index, text);
                }
            }
        }
    }

    /// The file grew by whole lines of this process.
    pub(crate) fn appended_line(&mut self, index: u32) {
        if let Some(torn) = self.others.last_mut().filter(|other| other.kind == OtherKind::Torn) {
            // Its line was ended first.
            torn.kind = OtherKind::Invalid;
        }
        self.line_count += 1;
        self.lines.push(index, self.line_count);
    }

    /// The file has `len` bytes now: takes in the lines that were appended from `from` on (R53c).
    /// The leaf stays.
    ///
    /// # Errors
    /// When the file cannot be read; the view may have a part of what is new then.
    pub(crate) fn take_in(&mut self, from: u64, len: u64, ends_line: bool, pending: &Pending) -> Result<()> {
        // A tail that was torn when it was read may be whole by now.
        let torn = self.others.last().copied().filter(|other| other.kind == OtherKind::Torn);
        let mut from = torn.map_or(from, |other| other.offset);
        let mut line = self.line_count;
        if torn.is_some() {
            line -= 1;
        } else if !ends_line && *self.source.read(from, 1)? == *b"\n" {
            // The newline that ends a last line which had none.
            from += 1;
        }
        let mut scan = Reader::new().grown(&self.source, from..len, line)?;
        self.source.grown(len);
        if let Some(torn) = torn {
            self.others.pop();
            self.tree.forget_damage(torn.offset);
        }
        self.line_count = scan.line_count;
        let first = self.tree.count();
        for (entry, _) in (0..).zip(&scan.slots) {
            self.lines.push(first + entry, scan.lines.of(entry));
        }
        self.others.extend(scan.others.iter().map(|other| Other { at: first + other.at, ..*other }));
        let spread = std::mem::take(&mut scan.damage.spread);
        self.damage.append(Damage { spread, ..Damage::default() }, first, 0);
        self.tree.extend(scan);
        if self.tree.has_duplicates() {
            self.recount()?;
        }
        if let (None, Some(place)) = (&self.title_slot, self.title_slot_place()) {
            let Other { offset, len, .. } = self.others[place];
            self.title_slot = TitleSlot::read(Json::new(&self.source.read(offset, len as usize)?));
            self.set_header_fields(pending);
        }
        Ok(())
    }

    /// Fields set here that are not written yet stay in force over what the file has.
    fn set_header_fields(&mut self, pending: &Pending) {
        for (key, value) in &pending.header {
            self.set_header(key, value);
        }
    }

    /// Sets a field of the header, in its place or last.
    pub(crate) fn set_header(&mut self, key: &'static str, value: &str) {
        let mut header = Object::read(self.header.json().bytes(), 0);
        header.set(key, quoted(value));
        if let Some(header) = Header::read(header.finish()) {
            self.header = header;
        }
        if let Some(slot) = &mut self.title_slot {
            match key {
                "title" => value.clone_into(&mut slot.title),
                "titleSource" => slot.source = Some(value.to_owned()),
                _ => return,
            }
            // Who reads the file again finds what fits the slot.
            slot.fit();
        }
    }

    pub(crate) fn title_slot(&self) -> Option<&TitleSlot> {
        self.title_slot.as_ref()
    }
}
