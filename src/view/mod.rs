//! A session that is only read.

mod entry;
mod raw;
mod recent;
mod report;
mod texts;
mod write;

pub use entry::EntryRef;
pub use raw::parse_session_entries;
pub use texts::EntryReader;
use write::Memory;
pub(crate) use write::NewEntry;

use crate::blob::{BlobHash, BlobStore};
use crate::context::{self, ContextPlan, SessionContext};
use crate::entry::{CURRENT_SESSION_VERSION, Header, TitleSlot, Usage};
use crate::error::{Error, ErrorCode, Result};
use crate::json::{Json, Object, in_one_line, push_wtf8, quoted, wtf8_to_str};
use crate::load::{self, Damage, LineNumbers, Other, OtherKind};
use crate::migrate::Migration;
use crate::paths;
use crate::storage::Source;
use crate::tree::Tree;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A session read from a file, from bytes or from a reader: no lock is taken, nothing is written,
/// an older version is migrated in memory only.
///
/// Opening scans the file once and keeps an index of it; the text of an entry is read when it is
/// asked for. A file may grow meanwhile, or be replaced by a rename: the view stays what it was.
/// When it is cut short, reading what is gone is an error of code
/// [`FileChanged`](ErrorCode::FileChanged).
///
/// A view can be shared between threads.
#[derive(Clone, Debug)]
pub struct SessionView {
    source: Source,
    path: Option<PathBuf>,
    header: Header,
    title_slot: Option<TitleSlot>,
    tree: Tree,
    migration: Option<Migration>,
    others: Vec<Other>,
    lines: LineNumbers,
    damage: Damage,
    blobs: Option<BlobStore>,
    damaged_blobs: Arc<Mutex<BTreeSet<(u64, BlobHash)>>>,
    /// Physical lines of the file.
    line_count: u64,
    /// Texts that are not in the file, or stand there in another form.
    memory: Memory,
    /// For entries that are appended.
    reader: load::Reader,
    revision: u64,
    /// The view that this one took the place of when the file was replaced, until somebody takes it.
    replaced: Option<Arc<SessionView>>,
}

/// A revision that no view of this process has had.
fn new_revision() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// How a [`SessionView`] is opened.
#[derive(Clone, Debug, Default)]
pub struct ViewOptions {
    blobs: Option<PathBuf>,
    fallback_blobs: Option<PathBuf>,
    threads: Option<NonZero<usize>>,
}

/// From where a context is built (R23).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaf<'a> {
    /// From the leaf: [`SessionView::leaf`].
    #[default]
    Last,
    /// From the entry of this id.
    Id(&'a str),
    /// From before the first entry: an empty context.
    Before,
}

impl ViewOptions {
    /// The default options: blobs from the folder `blobs` beside the folder `sessions` that the
    /// file lies in, as many threads as fit the file and the machine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The folder blobs are read from.
    #[must_use]
    pub fn blobs(mut self, dir: impl Into<PathBuf>) -> Self {
        self.blobs = Some(dir.into());
        self
    }

    /// The folder blobs are read from when none is given and the session lies in no folder
    /// `sessions`.
    #[must_use]
    pub fn fallback_blobs(mut self, dir: impl Into<PathBuf>) -> Self {
        self.fallback_blobs = Some(dir.into());
        self
    }

    /// How many threads may scan. A file below a few megabytes is scanned by one in any case.
    #[must_use]
    pub fn threads(mut self, most: NonZero<usize>) -> Self {
        self.threads = Some(most);
        self
    }

    /// Opens the session at `path`.
    ///
    /// # Errors
    /// `NOT_FOUND`, `IS_A_DIRECTORY`, `PERMISSION_DENIED` or `IO` when it cannot be read,
    /// `NOT_A_SESSION` when no line of it is a session header (R15).
    pub fn open(self, path: impl AsRef<Path>) -> Result<SessionView> {
        let path = path.as_ref();
        let source = Source::open_if(path, |head| begins_session(head).map_err(|error| error.at(path)))?;
        self.read(source, Some(path))
    }

    /// Takes the session's bytes.
    ///
    /// # Errors
    /// `NOT_A_SESSION` when no line is a session header.
    pub fn read_bytes(self, bytes: impl Into<Vec<u8>>) -> Result<SessionView> {
        self.read(Source::Bytes(bytes.into()), None)
    }

    /// Reads the session's bytes to their end. Up to 16 MB are kept in memory, more in a temporary file without a name.
    ///
    /// # Errors
    /// `IO` when reading fails, `NOT_A_SESSION` when no session header ends in the first 64 KiB: no more is read
    /// then.
    pub fn read_from(self, reader: impl Read) -> Result<SessionView> {
        let source = Source::of_stream(reader, Path::new("<reader>"), begins_session)?;
        self.read(source, None)
    }

    pub(crate) fn read(self, source: Source, path: Option<&Path>) -> Result<SessionView> {
        let named = |error: Error| match path {
            Some(path) if error.path().is_none() => error.at(path),
            _ => error,
        };
        let mut scan = load::scan(&source, self.threads).map_err(named)?;
        let is_header = |other: &&Other| other.kind == OtherKind::Session { has_id: true };
        let Some(header_at) = scan.others.iter().find(is_header).copied() else {
            return Err(named(not_a_session(&source, &scan.others)));
        };
        let text = in_one_line(source.read(header_at.offset, header_at.len as usize)?).into_owned();
        let Some(header) = Header::read(text) else {
            return Err(named(not_a_session(&source, &scan.others)));
        };
        let title_slot = match scan.others.iter().find(|other| other.kind == OtherKind::TitleSlot) {
            Some(slot) => TitleSlot::read(Json::new(&source.read(slot.offset, slot.len as usize)?)),
            None => None,
        };
        let migration = Migration::prepare(&mut scan, &header_at, &header.id, header.version);
        let tree = Tree::build(&mut scan);
        let blobs =
            self.blobs.or_else(|| path.and_then(paths::blobs_beside)).or(self.fallback_blobs).map(BlobStore::new);
        let mut view = SessionView {
            source,
            path: path.map(Path::to_owned),
            header,
            title_slot,
            tree,
            migration,
            others: scan.others,
            lines: scan.lines,
            damage: scan.damage,
            blobs,
            damaged_blobs: Arc::default(),
            line_count: scan.line_count,
            memory: Memory::default(),
            reader: load::Reader::new(),
            revision: new_revision(),
            replaced: None,
        };
        if view.tree.has_duplicates() {
            let usage = view.usage_of_nodes()?;
            view.tree.set_usage(usage);
        }
        Ok(view)
    }
}

/// Whether a stream is a session, by its beginning.
fn begins_session(head: &[u8]) -> Result<()> {
    let source = Source::Bytes(head.to_owned());
    let scan = load::scan(&source, NonZero::new(1))?;
    if scan.others.iter().any(|other| other.kind == OtherKind::Session { has_id: true }) {
        return Ok(());
    }
    Err(not_a_session(&source, &scan.others))
}

/// What a file is that begins with these bytes and is not UTF-8 text.
fn other_format(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{', 0, b'"', 0, ..] | [0, b'{', 0, b'"', ..] => {
            "the text is UTF-16, a session is UTF-8"
        }
        [0x1f, 0x8b, ..] => "the file is compressed by gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "the file is compressed by zstd",
        [b'P', b'K', 3, 4, ..] => "the file is a zip archive",
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', ..] => "the file is an SQLite database",
        _ => return None,
    })
}

fn not_a_session(source: &Source, others: &[Other]) -> Error {
    let head = source.read(0, source.len().min(16) as usize).unwrap_or_default();
    if let Some(what) = other_format(&head) {
        return Error::new(ErrorCode::NotASession, format!("not a session: {what}"));
    }
    let message = match others.first() {
        _ if source.len() == 0 => "not a session: the file is empty",
        Some(Other { line: 1, kind: OtherKind::Session { has_id: false }, .. }) => {
            "not a session: the header has no string id"
        }
        Some(Other { line: 1, kind: OtherKind::Invalid | OtherKind::Torn, .. }) => {
            "not a session: the line is not JSON"
        }
        _ => "not a session: no line is a session header",
    };
    let error = Error::new(ErrorCode::NotASession, message);
    if source.len() == 0 { error } else { error.at_line(1) }
}

impl SessionView {
    /// Opens the session at `path` with the default [`ViewOptions`].
    ///
    /// # Errors
    /// As [`ViewOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        ViewOptions::new().open(path)
    }

    /// The store that blobs are read from; `None` when nothing names its folder.
    #[must_use]
    pub fn blobs(&self) -> Option<&BlobStore> {
        self.blobs.as_ref()
    }

    /// Where the session was opened; `None` for bytes and readers.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Closes the file until an entry is read from it again: for a view that is done with, but cannot be
    /// dropped yet. An entry of a file that was removed or replaced meanwhile is then an error of code
    /// [`FileChanged`](ErrorCode::FileChanged) or `NOT_FOUND`.
    pub fn release(&self) {
        self.source.release();
    }

    /// The header line as stored.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The title: that of the title slot when there is one, else the header's. An empty one is
    /// none (R48).
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        TitleSlot::title_of(self.title_slot.as_ref(), Some(&self.header))
    }

    /// Who gave the title, `auto` or `user`; from where the title is from.
    #[must_use]
    pub fn title_source(&self) -> Option<&str> {
        match &self.title_slot {
            Some(slot) => slot.source.as_deref().filter(|_| !slot.title.is_empty()),
            None => self.header.title_source.as_deref(),
        }
    }

    /// The file is of an older version and was migrated in memory (R10).
    #[must_use]
    pub fn is_migrated(&self) -> bool {
        self.migration.is_some()
    }

    /// The header as JSON, with the title that counts (R48).
    #[must_use]
    pub fn header_text(&self) -> Vec<u8> {
        let text = self.header.json().bytes();
        if self.title_slot.is_none() {
            return text.to_owned();
        }
        let mut header = Object::read(text, 0);
        for (key, value) in [("title", self.title()), ("titleSource", self.title_source())] {
            match value {
                Some(value) => header.set(key, quoted(value)),
                None => header.remove(key),
            }
        }
        header.finish()
    }

    /// The bytes of the session.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a session is never empty")]
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// All entries, in the order of the file (R22).
    pub fn entries(&self) -> impl ExactSizeIterator<Item = EntryRef<'_>> + DoubleEndedIterator {
        self.refs(0..self.tree.count())
    }

    /// The entry at a place in [`SessionView::entries`].
    #[must_use]
    pub fn entry_at(&self, position: usize) -> Option<EntryRef<'_>> {
        let index = u32::try_from(position).ok().filter(|&index| index < self.tree.count())?;
        Some(self.entry_ref(index))
    }

    /// The tree, each entry with its depth and before its children: roots in the order of the file,
    /// children the oldest first. Every entry that is in the tree comes once.
    pub fn tree_entries(&self) -> impl Iterator<Item = (usize, EntryRef<'_>)> {
        let mut next: Vec<(usize, u32)> = self.tree.roots().iter().rev().map(|&root| (0, root)).collect();
        std::iter::from_fn(move || {
            let (depth, index) = next.pop()?;
            next.extend(self.tree.children_by_time(index).into_iter().rev().map(|child| (depth + 1, child)));
            Some((depth, self.entry_ref(index)))
        })
    }

    /// A number of this process that changes whenever a file was read again or a manager went back to an
    /// earlier state: as long as it stays, entries keep their places.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The entry of an id: its last line (R49).
    #[must_use]
    pub fn entry(&self, id: &str) -> Option<EntryRef<'_>> {
        self.tree.find_shown(id).map(|index| self.entry_ref(index))
    }

    /// The leaf: the last entry with an id, where an agent would go on (R17). Of a manager, the entry that the next
    /// append becomes a child of; `None` when that is a root.
    #[must_use]
    pub fn leaf(&self) -> Option<EntryRef<'_>> {
        self.tree.leaf().map(|index| self.entry_ref(index))
    }

    /// The entries without children: the end of every branch, in the order of the file.
    #[must_use]
    pub fn leaves(&self) -> Vec<EntryRef<'_>> {
        self.refs(self.tree.leaves()).collect()
    }

    /// The entries that hang on none, in the order of the file.
    #[must_use]
    pub fn roots(&self) -> Vec<EntryRef<'_>> {
        self.refs(self.tree.roots().iter().copied()).collect()
    }

    /// The path from the root to an entry (R24).
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND` when no entry has the id.
    pub fn branch(&self, id: &str) -> Result<Vec<EntryRef<'_>>> {
        Ok(self.refs(self.tree.path(self.index_of(id)?)).collect())
    }

    /// The label of an entry; also of an id that no entry has.
    #[must_use]
    pub fn label(&self, id: &str) -> Option<Cow<'_, str>> {
        match self.entry(id) {
            Some(entry) => entry.label(),
            None => self.tree.labels().get(id.as_bytes()).map(wtf8_to_str),
        }
    }

    /// All labels in force: the id of the entry, the label.
    pub fn labels(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        self.tree.labels().iter().map(|(target, label)| (wtf8_to_str(target), wtf8_to_str(label)))
    }

    /// The same as a JSON array of objects `{"id", "label"}`, in which a lone surrogate is told as it is.
    #[must_use]
    pub fn labels_to_json(&self) -> String {
        let mut out = vec![b'['];
        for (target, label) in self.tree.labels().iter() {
            out.extend_from_slice(if out.len() > 1 { b",{\"id\":" } else { b"{\"id\":" });
            push_wtf8(&mut out, target);
            out.extend_from_slice(b",\"label\":");
            push_wtf8(&mut out, label);
            out.push(b'}');
        }
        out.push(b']');
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The sums over the messages of all branches.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.tree.usage()
    }

    /// What the model would be sent (R23-R27).
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND` when no entry has the id; an error of reading.
    pub fn context(&self, leaf: Leaf<'_>) -> Result<SessionContext> {
        match self.leaf_index(leaf)? {
            Some(index) => context::build(&self.tree, index, &mut self.texts()),
            None => Ok(SessionContext::default()),
        }
    }

    /// What the context is made of, for callers that have the entries themselves.
    ///
    /// # Errors
    /// As [`SessionView::context`].
    pub fn context_plan(&self, leaf: Leaf<'_>) -> Result<ContextPlan> {
        match self.leaf_index(leaf)? {
            Some(index) => context::plan(&self.tree, index, &mut self.texts()),
            None => Ok(ContextPlan::default()),
        }
    }

    fn leaf_index(&self, leaf: Leaf<'_>) -> Result<Option<u32>> {
        Ok(match leaf {
            Leaf::Before => None,
            Leaf::Last => self.tree.leaf(),
            Leaf::Id(id) => Some(self.index_of(id)?),
        })
    }

    pub(crate) fn index_of(&self, id: &str) -> Result<u32> {
        self.tree.find_shown(id).ok_or_else(|| {
            let error = Error::entry_not_found(id);
            match &self.path {
                Some(path) => error.at(path),
                None => error,
            }
        })
    }

    fn entry_ref(&self, index: u32) -> EntryRef<'_> {
        EntryRef { view: self, index }
    }

    fn refs<'v, I: IntoIterator<Item = u32>>(
        &'v self,
        indices: I,
    ) -> std::iter::Map<I::IntoIter, impl FnMut(u32) -> EntryRef<'v>> {
        indices.into_iter().map(|index| self.entry_ref(index))
    }

    /// The version of the file, when it is newer than this library knows.
    fn newer_version(&self) -> Option<u32> {
        (self.header.version > CURRENT_SESSION_VERSION).then_some(self.header.version)
    }
}
