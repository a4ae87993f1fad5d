//! The text of a view's entries.

use super::SessionView;
use crate::blob::{Blob, BlobStore, references};
use crate::context::Texts;
use crate::entry::{EntryKind, Role, Usage};
use crate::error::{Error, ErrorCode, Result};
use crate::json::cursor::{Cursor, Valid};
use crate::json::{Edit, Json, Object, apply, in_one_line};
use crate::load::{LabelEvent, Reader};
use crate::storage::{Source, Window};
use crate::tree::{Id, Slot, hex_id};
use std::borrow::Cow;

/// Reads entries one after another through one window.
pub(super) struct ViewTexts<'v> {
    view: &'v SessionView,
    window: Window<'v>,
    reader: Reader,
}

impl SessionView {
    pub(super) fn texts(&self) -> ViewTexts<'_> {
        ViewTexts { view: self, window: Window::new(&self.source), reader: Reader::new() }
    }

    pub(crate) fn stored_text(&self, index: u32) -> Result<Cow<'_, [u8]>> {
        let slot = self.tree.slot(index);
        if let Some(text) = self.in_memory(index) {
            return Ok(Cow::Borrowed(text));
        }
        let text = self.source.read(slot.offset, slot.len as usize)?;
        self.check_text(index, &text, &mut Reader::new())?;
        Ok(self.migrated(index, text))
    }

    /// Makes sure that a text read from the file is still the entry's: a program may have written over the
    /// file in place, and then the span holds anything.
    ///
    /// # Errors
    /// `FILE_CHANGED` when it is not.
    fn check_text(&self, index: u32, text: &[u8], reader: &mut Reader) -> Result<()> {
        if matches!(self.source, Source::Bytes(_)) {
            return Ok(());
        }
        let is_same = reader.object(text).is_some_and(|facts| match self.tree.slot(index).id() {
            // The lines of an older version may be without ids.
            Some(_) if self.migration.is_some() => true,
            None => true,
            Some(Id::Hex(id)) => facts.id.read(text, hex_id) == Some(id),
            Some(Id::Name(_)) => facts.id.text(text) == self.tree.id_bytes(index),
        });
        if is_same { Ok(()) } else { Err(self.source.found_changed()) }
    }

    /// The text of an entry from what stands in the file: in one line, and in the form of the current version.
    pub(super) fn migrated<'t>(&self, index: u32, text: Cow<'t, [u8]>) -> Cow<'t, [u8]> {
        let text = if self.damage.is_spread(index) { in_one_line(text) } else { text };
        match &self.migration {
            Some(migration) => migration.entry(&self.tree, index, text),
            None => text,
        }
    }

    /// The usage of the lines that count when some ids stand on several (R49).
    pub(super) fn usage_of_nodes(&self) -> Result<Usage> {
        let mut sum = Usage::default();
        let mut texts = self.texts();
        let mut reader = Reader::new();
        for index in 0..self.tree.count() {
            let slot = self.tree.slot(index);
            if slot.is_superseded() || !matches!(slot.role, Role::Assistant | Role::ToolResult) {
                continue;
            }
            let text = texts.unchecked(index)?;
            let Some(facts) = reader.object(&text) else { return Err(self.source.found_changed()) };
            if let Some(usage) = facts.message.usage(&text) {
                sum += usage;
            }
        }
        Ok(sum)
    }

    /// What the label entries say that count, in file order.
    pub(super) fn labels_of_nodes(&self) -> Result<Vec<LabelEvent>> {
        let mut events = Vec::new();
        let mut texts = self.texts();
        for entry in 0..self.tree.count() {
            let slot = self.tree.slot(entry);
            if slot.is_superseded() || slot.kind != EntryKind::Label {
                continue;
            }
            let text = texts.stored(entry)?;
            let string = |key| Json::new(&text).get_wtf8(key);
            events.extend(LabelEvent::of(entry, string("targetId"), string("label")));
        }
        Ok(events)
    }
}

/// Reads entries of a view one after another, with few system calls when they lie near each other.
pub struct EntryReader<'v>(ViewTexts<'v>);

impl std::fmt::Debug for EntryReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntryReader")
    }
}

impl SessionView {
    /// A reader of the view's entries.
    #[must_use]
    pub fn reader(&self) -> EntryReader<'_> {
        EntryReader(self.texts())
    }
}

impl EntryReader<'_> {
    /// The text of the entry at a position, as [`EntryRef::loaded_text`](crate::EntryRef::loaded_text).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when there is no such position; when the file or a blob cannot be read.
    pub fn entry(&mut self, position: usize) -> Result<Cow<'_, [u8]>> {
        let index = self.index(position)?;
        self.0.loaded(index)
    }

    /// Reads about `bytes` from the entry at a position on at once, for the entries after it that are
    /// asked for next. Says nothing of a failure: the entry that meets it does.
    pub fn prefetch(&mut self, position: usize, bytes: usize) {
        if let Some((offset, _)) = self.index(position).ok().and_then(|index| self.0.view.span(index)) {
            let _: Result<()> = self.0.window.prefetch(offset, bytes);
        }
    }

    /// The text of the message of the entry at a position; `None` when the entry has no `message`.
    ///
    /// # Errors
    /// As [`EntryReader::entry`].
    pub fn message(&mut self, position: usize) -> Result<Option<Cow<'_, [u8]>>> {
        let index = self.index(position)?;
        let usual = self.0.view.tree.slot(index).is_usual();
        let text = self.0.loaded(index)?;
        let span = if usual {
            // The first such key is the entry's own: in front of it stand plain strings.
            const KEY: &[u8] = b"\"message\":";
            memchr::memmem::find(&text, KEY).map(|at| at + KEY.len()..text.len() - 1)
        } else {
            Object::read(&text, 0).get("message")
        };
        Ok(span.map(|span| match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[span]),
            Cow::Owned(text) => Cow::Owned(text[span].to_vec()),
        }))
    }

    /// The entry at a position is an assistant's message with a payload, which is not shown when it is
    /// a provider's own history: for a binding that shows what was taken out as absent values.
    #[doc(hidden)]
    #[must_use]
    pub fn may_drop_payload(&self, position: usize) -> bool {
        self.index(position).is_ok_and(|index| may_drop_payload(self.0.view.tree.slot(index)))
    }

    fn index(&self, position: usize) -> Result<u32> {
        u32::try_from(position)
            .ok()
            .filter(|&index| index < self.0.view.tree.count())
            .ok_or_else(|| Error::new(ErrorCode::InvalidArgument, format!("no entry stands at position {position}")))
    }
}

impl ViewTexts<'_> {
    /// As [`Texts::stored`], for a caller that reads all of the text and so sees whether it is one.
    fn unchecked(&mut self, index: u32) -> Result<Cow<'_, [u8]>> {
        if let Some(text) = self.view.in_memory(index) {
            return Ok(Cow::Borrowed(text));
        }
        let slot = self.view.tree.slot(index);
        let text = self.window.get(slot.offset, slot.len as usize)?;
        Ok(self.view.migrated(index, Cow::Borrowed(text)))
    }
}

impl Texts for ViewTexts<'_> {
    fn stored(&mut self, index: u32) -> Result<Cow<'_, [u8]>> {
        if let Some(text) = self.view.in_memory(index) {
            return Ok(Cow::Borrowed(text));
        }
        let slot = self.view.tree.slot(index);
        let text = self.window.get(slot.offset, slot.len as usize)?;
        self.view.check_text(index, text, &mut self.reader)?;
        Ok(self.view.migrated(index, Cow::Borrowed(text)))
    }

    fn loaded(&mut self, index: u32) -> Result<Cow<'_, [u8]>> {
        let view = self.view;
        let slot = view.tree.slot(index);
        let text = self.stored(index)?;
        let mut edits = Vec::new();
        if may_drop_payload(slot) {
            drop_provider_payload(&text, &mut edits);
        }
        if let Some(blobs) = view.blobs.as_ref().filter(|_| slot.has_blob_reference()) {
            view.resolve(blobs, index, &text, &mut edits)?;
        }
        Ok(if edits.is_empty() { text } else { Cow::Owned(apply(&text, edits)) })
    }
}

impl SessionView {
    /// Puts blobs in place of references. Those that are missing or damaged stay (R51).
    fn resolve(&self, blobs: &BlobStore, index: u32, text: &[u8], edits: &mut Vec<Edit>) -> Result<()> {
        let mut dropped: Vec<_> = edits.iter().map(|edit| edit.range.clone()).collect();
        dropped.sort_unstable_by_key(|range| range.start);
        for reference in references(text) {
            let before = dropped.partition_point(|range| range.start <= reference.span.start);
            if before > 0 && dropped[before - 1].contains(&reference.span.start) {
                continue;
            }
            match blobs.get(&reference.hash)? {
                Blob::Found(bytes) => edits.push(reference.resolve(&bytes)),
                Blob::Missing => {}
                Blob::Damaged => {
                    self.damaged_blobs.lock().insert((self.lines.of(index), reference.hash));
                }
            }
        }
        Ok(())
    }
}

/// A message that is shown without its payload when that is a provider's own history.
fn may_drop_payload(slot: &Slot) -> bool {
    slot.kind == EntryKind::Message
        && slot.role == Role::Assistant
        && slot.has_provider_payload()
        && slot.is_as_loaded()
}

/// An assistant message whose payload is a provider's own history loses it, and the signatures of
/// its thinking blocks: both belong to a connection that is gone.
pub(super) fn drop_provider_payload(text: &[u8], edits: &mut Vec<Edit>) {
    let Some(message) = Object::read(text, 0).get("message") else { return };
    let mut object = Object::read(text, message.start);
    let at = |span: std::ops::Range<usize>| Json::new(&text[span]);
    let is_history = object
        .get("providerPayload")
        .and_then(|span| at(span).get_str("type"))
        .is_some_and(|name| name == "openaiResponsesHistory");
    if !is_history {
        return;
    }
    object.remove("providerPayload");
    if let Some(content) = object.get("content") {
        let mut cursor = Cursor::new(text, Valid);
        cursor.array(content.start, |cursor, at| {
            let end = cursor.value(at)?;
            if Json::new(&text[at..end]).get_str("type").is_some_and(|name| name == "thinking") {
                let mut block = Object::read(text, at);
                block.remove("thinkingSignature");
                block.into_edits(edits);
            }
            Some(end)
        });
    }
    object.into_edits(edits);
}
