//! An entry of a view.

use super::SessionView;
use crate::context::Texts as _;
use crate::entry::{EntryKind, EntryText, Role};
use crate::error::Result;
use crate::json::wtf8_to_str;
use crate::tree::{Parent, Slot};
use std::borrow::Cow;
use std::fmt;

/// An entry of a [`SessionView`]: what the index knows of it at once, its text on demand.
#[derive(Clone, Copy)]
pub struct EntryRef<'v> {
    pub(super) view: &'v SessionView,
    pub(super) index: u32,
}

impl<'v> EntryRef<'v> {
    fn slot(self) -> &'v Slot {
        self.view.tree.slot(self.index)
    }

    /// Its place in [`SessionView::entries`].
    #[must_use]
    pub fn position(self) -> usize {
        self.index as usize
    }

    /// The id; `None` when the line has no string there (R7).
    #[must_use]
    pub fn id(self) -> Option<Cow<'v, str>> {
        self.view.tree.id(self.index)
    }

    /// The id of the parent as the entry names it; `None` for a root.
    #[must_use]
    pub fn parent_id(self) -> Option<Cow<'v, str>> {
        match self.slot().parent() {
            Parent::Root => None,
            Parent::Entry(parent) => self.view.tree.id(parent),
            Parent::Id(id) => Some(self.view.tree.id_text(id)),
        }
    }

    /// A message whose text is `{"type":"message","id":…,"parentId":…,"timestamp":…,"message":{…}}`
    /// with a timestamp as this library writes it: all but the message can be made from
    /// [`EntryRef::id`], [`EntryRef::parent_id`] and [`EntryRef::time_ms`] again.
    #[must_use]
    pub fn is_usual_message(self) -> bool {
        self.slot().is_usual()
    }

    /// The type.
    #[must_use]
    pub fn kind(self) -> EntryKind {
        self.slot().kind
    }

    /// The role of the message; `None` for other types.
    #[must_use]
    pub fn role(self) -> Option<Role> {
        (self.kind() == EntryKind::Message).then_some(self.slot().role)
    }

    /// Milliseconds since 1970 of the timestamp; `None` when it is no date.
    #[must_use]
    pub fn time_ms(self) -> Option<i64> {
        Some(self.slot().time).filter(|&time| time != Slot::NO_TIME)
    }

    /// Bytes of the text: in the file, or in memory while it is not there, or there only in part.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "an entry is never empty")]
    pub fn len(self) -> u64 {
        u64::from(self.slot().len)
    }

    /// Where the text starts in the file; 0 for an entry that has no line there.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.view.span(self.index).map_or(0, |(offset, _)| offset)
    }

    /// The line of the file, counted from 1; 0 for an entry that has none yet.
    #[must_use]
    pub fn line(self) -> u64 {
        self.view.span(self.index).map_or(0, |_| self.view.lines.of(self.index))
    }

    /// A later line has the same id: the entry is listed and is not in the tree (R49).
    #[must_use]
    pub fn is_superseded(self) -> bool {
        self.slot().is_superseded()
    }

    /// The parent; `None` for a root and when no entry has the parent's id.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        self.view.tree.parent(self.index).map(|index| self.view.entry_ref(index))
    }

    /// The path from the root to this entry, both included (R24).
    #[must_use]
    pub fn path(self) -> Vec<EntryRef<'v>> {
        self.view.refs(self.view.tree.path(self.index)).collect()
    }

    /// The children, in the order of the file.
    pub fn children(self) -> impl Iterator<Item = EntryRef<'v>> {
        self.view.tree.children(self.index).map(|index| self.view.entry_ref(index))
    }

    /// The children, the oldest first; those without a date last.
    #[must_use]
    pub fn children_by_time(self) -> Vec<EntryRef<'v>> {
        self.view.refs(self.view.tree.children_by_time(self.index)).collect()
    }

    /// The label in force.
    #[must_use]
    pub fn label(self) -> Option<Cow<'v, str>> {
        Some(wtf8_to_str(self.view.tree.labels().get(&self.view.tree.id_bytes(self.index)?)?))
    }

    /// The text, in the form of the current version (R10); blob references stay.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn text(self) -> Result<EntryText<'v>> {
        Ok(EntryText::new(self.view.stored_text(self.index)?))
    }

    /// The text as an agent sees it after loading: as [`EntryRef::text`], with blobs in place of
    /// references, and without a provider's payload that belonged to another process.
    ///
    /// # Errors
    /// When the file or a blob cannot be read. A blob that is missing or damaged is no error: the
    /// reference stays and the load report has it (R51).
    pub fn loaded_text(self) -> Result<EntryText<'static>> {
        let text = self.view.texts().loaded(self.index)?.into_owned();
        Ok(EntryText::new(Cow::Owned(text)))
    }
}

impl PartialEq for EntryRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.view, other.view) && self.index == other.index
    }
}

impl Eq for EntryRef<'_> {}

impl fmt::Debug for EntryRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryRef")
            .field("id", &self.id())
            .field("kind", &self.kind())
            .field("line", &self.line())
            .finish()
    }
}
