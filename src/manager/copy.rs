//! Sessions made from others: forks and branches as files of their own.

use super::artifacts::{Bring, Brought};
use super::{Backend, HeaderExtras, SessionManager, new_header, view_of};
use crate::entry::{CURRENT_SESSION_VERSION, EntryKind, LineBuilder, time};
use crate::error::{Error, ErrorCode, Result};
use crate::json::Json;
use crate::persist::{CopyLine, Moved, copy_text};
use crate::tree::Tree;
use crate::view::SessionView;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The files of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Of the session that was forked.
    pub old_session_file: PathBuf,
    /// Of the fork, which the manager has now.
    pub new_session_file: PathBuf,
}

impl SessionManager {
    /// Goes on in a copy of the session with an id of its own: title and leaf stay, and
    /// `parentSession` is the old id. Its artifacts are copied. `None` when the session is kept
    /// nowhere.
    /// The leaf is in memory only, as everywhere: when it is not the last entry and the fork is opened again before
    /// anything was appended to it, its leaf is the last entry.
    ///
    /// # Errors
    /// An error of writing; the manager has the old session then.
    pub fn fork(&mut self) -> Result<Option<Fork>> {
        if self.path.is_none() {
            return Ok(None);
        }
        self.leave_to_copy()?;
        let Some(old) = self.path.clone() else { return Ok(None) };
        let id = self.options.generator.session_id();
        let timestamp = time::format(self.options.generator.now_ms());
        let header = LineBuilder::new("session")
            .json("version", copy_version(&self.view).to_string().as_bytes())
            .text("id", &id)
            .optional_text("title", self.title())
            .optional_text("titleSource", self.title_source())
            .text("timestamp", &timestamp)
            .text("cwd", &self.cwd.to_string_lossy())
            .text("parentSession", self.session_id())
            .finish();
        let lines = all_lines(self.view.tree());
        let leaf = self.view.tree().leaf();
        let new = self.path_of(&timestamp, &id);
        self.become_copy(&header, &lines, Some(&new), Some((&old, Bring::Copy)))?;
        // Every entry has its place in the copy.
        self.view.set_leaf(leaf);
        Ok(Some(Fork { old_session_file: old, new_session_file: new }))
    }

    /// Goes on in a session of its own that has only the path from the root to `leaf_id`, and the
    /// labels of what is on it. Its artifacts come along. Gives its file; `None` when the session is kept
    /// nowhere.
    ///
    /// # Errors
    /// `ENTRY_NOT_FOUND`; an error of writing, and the manager has the old session then.
    pub fn create_branched_session(&mut self, leaf_id: &str) -> Result<Option<PathBuf>> {
        self.index_of(leaf_id)?;
        self.leave_to_copy()?;
        let lines = self.branch_lines(self.index_of(leaf_id)?)?;
        let id = self.options.generator.session_id();
        let timestamp = time::format(self.options.generator.now_ms());
        let extras = HeaderExtras {
            version: Some(copy_version(&self.view)),
            parent_session: self.path.as_deref().map(|path| path.to_string_lossy().into_owned()),
            title: self.title().map(str::to_owned),
            title_source: self.title_source().map(str::to_owned),
        };
        let header = new_header(&id, &timestamp, &self.cwd, &extras);
        let new = self.is_persisted().then(|| self.path_of(&timestamp, &id));
        let old = self.path.clone();
        self.become_copy(&header, &lines, new.as_deref(), old.as_deref().map(|old| (old, Bring::Link)))?;
        Ok(new)
    }

    /// Leaves the session, of which a copy is to be made. What is copied is chosen afterwards: this may take in
    /// what others wrote, and find that they moved it.
    fn leave_to_copy(&mut self) -> Result<()> {
        self.follow_move()?;
        self.leave()?;
        if self.latched.is_some() {
            return Ok(());
        }
        self.write(Backend::verify)
    }

    /// The path to `leaf` without its label entries, whose children hang on what is before them, and in
    /// whose place a compaction that keeps from one of them on names the next entry; then the labels of
    /// what is kept, one after another.
    fn branch_lines(&mut self, leaf: u32) -> Result<Vec<CopyLine>> {
        let tree = self.view.tree();
        let mut lines = Vec::new();
        let mut kept = HashSet::new();
        let mut parent: Option<Vec<u8>> = None;
        let is_label = |index| tree.slot(index).kind == EntryKind::Label;
        let path = tree.path(leaf);
        // What a cycle was cut at may hang on a label of it.
        let mut skipped = path.first().and_then(|&first| tree.parent(first)).is_some_and(is_label);
        // Label entries so far, each with the first entry behind it that stays.
        let mut left_out: HashMap<u32, Option<u32>> = HashMap::new();
        for index in path {
            if is_label(index) {
                skipped = true;
                left_out.insert(index, None);
                continue;
            }
            // What a copy leaves out cannot say what an entry hangs on.
            skipped |= tree.bridge(index).is_some();
            let mut moved = Moved { parent: skipped.then_some(parent), first_kept: None };
            if skipped {
                left_out.values_mut().for_each(|next| *next = next.or(Some(index)));
            }
            if !left_out.is_empty() && tree.slot(index).kind == EntryKind::Compaction {
                let text = self.view.stored_text(index)?;
                let kept = Json::new(&text).get_wtf8("firstKeptEntryId").and_then(|id| tree.find(&id));
                let next = kept.and_then(|kept| left_out.get(&kept).copied().flatten());
                moved.first_kept = next.and_then(|next| tree.id_bytes(next)).map(Cow::into_owned);
            }
            let is_moved = moved.parent.is_some() || moved.first_kept.is_some();
            lines.push(if is_moved { CopyLine::Moved(index, moved) } else { CopyLine::Entry(index) });
            skipped = false;
            parent = tree.id_bytes(index).map(Cow::into_owned);
            kept.extend(parent.clone());
        }
        let labels: Vec<(Vec<u8>, Vec<u8>)> = tree
            .labels()
            .iter()
            .filter(|(target, _)| kept.contains(*target))
            .map(|(target, label)| (target.to_owned(), label.to_owned()))
            .collect();
        let mut new_ids = HashSet::new();
        for (target, label) in labels {
            let id = loop {
                let id = self.new_entry_id();
                if new_ids.insert(id.clone()) {
                    break id;
                }
            };
            let line = LineBuilder::new("label")
                .text("id", &id)
                .wtf8_or_null("parentId", parent.as_deref())
                .text("timestamp", &time::format(self.options.generator.now_ms()))
                .wtf8("targetId", &target)
                .wtf8("label", &label);
            lines.push(CopyLine::New(line.finish()));
            parent = Some(id.into_bytes());
        }
        Ok(lines)
    }

    /// Takes the history and the artifacts of another session, the one at `from`, into this new one.
    pub(super) fn copy_from(&mut self, source: SessionView, from: &Path) -> Result<()> {
        let extras = HeaderExtras {
            version: Some(copy_version(&source)),
            parent_session: Some(source.header().id.clone()),
            title: source.title().map(str::to_owned),
            title_source: source.title_source().map(str::to_owned),
        };
        let timestamp = self.header().timestamp.clone().unwrap_or_default();
        let header = new_header(self.session_id(), &timestamp, &self.cwd, &extras);
        let lines = all_lines(source.tree());
        let path = self.path.clone();
        self.view = source;
        self.become_copy(&header, &lines, path.as_deref(), Some((from, Bring::Link)))
    }

    /// A copy that was read again has the lines that were to be in it.
    fn check_copy(&self, copy: Option<SessionView>, lines: &[CopyLine], path: &Path) -> Result<SessionView> {
        let copy = copy.ok_or_else(|| Error::new(ErrorCode::NotFound, "the copy is gone").at(path))?;
        let (tree, of) = (copy.tree(), self.view.tree());
        let same = tree.count() as usize == lines.len()
            && (0..)
                .zip(lines)
                .all(|(index, line)| line.entry().is_none_or(|entry| tree.id_bytes(index) == of.id_bytes(entry)));
        let differs = || Error::new(ErrorCode::FileChanged, "the copy does not have what was written to it").at(path);
        if same { Ok(copy) } else { Err(differs()) }
    }

    /// Writes a copy and goes on in it; the leaf is its last line. The session that was before has
    /// been left: a failure of that is told before anything is made.
    fn become_copy(
        &mut self,
        header: &[u8],
        lines: &[CopyLine],
        path: Option<&Path>,
        artifacts: Option<(&Path, Bring)>,
    ) -> Result<()> {
        // Before the session: one without its artifacts would give their ids again.
        let brought = match path.zip(artifacts) {
            Some((path, (from, how))) => Brought::along(from, path, how)?,
            None => Brought::default(),
        };
        let (backend, mut view) = match path {
            None => (Backend::Nowhere, view_of(copy_text(&self.view, header, lines)?, &self.options)?),
            Some(path) => {
                let mut backend = self.options.backend(path);
                let view = match &mut backend {
                    Backend::Nowhere => Ok(None),
                    Backend::File(file) => {
                        file.write_copy(&self.view, header, lines)?;
                        file.open(false, 0)
                    }
                    Backend::Storage(stored) => Ok(Some(stored.write_copy(&self.view, header, lines)?)),
                };
                let view = view.and_then(|view| self.check_copy(view, lines, path)).inspect_err(|_| {
                    // A copy that nobody goes on in is not wanted.
                    let _: Result<()> = self.remove_session_file(path);
                })?;
                (backend, view)
            }
        };
        // What a line on disk holds only in part is whole in memory still.
        for (index, line) in (0..).zip(lines) {
            let Some(entry) = line.entry() else {
                view.mark_own(index);
                continue;
            };
            view.take_owner(index, self.view.tree().slot(entry));
            if self.view.in_memory(entry).is_some() {
                view.keep_text(index, line.text(&self.view)?.into_owned())?;
            }
        }
        brought.keep();
        if let Some(path) = path {
            self.put_at(path.to_owned());
        }
        self.backend = backend;
        self.view = view;
        self.started = path.is_some();
        self.leave_breadcrumb();
        Ok(())
    }
}

/// Every entry. One whose parent was lost names what it hangs on instead: the damage that says so is not copied.
fn all_lines(tree: &Tree) -> Vec<CopyLine> {
    let line = |index| match tree.bridge(index) {
        Some(parent) => {
            let parent = Some(tree.id_bytes(parent).map(Cow::into_owned));
            CopyLine::Moved(index, Moved { parent, first_kept: None })
        }
        None => CopyLine::Entry(index),
    };
    (0..tree.count()).map(line).collect()
}

/// A copy is of its source's version, when that is newer than this library's (R13).
fn copy_version(source: &SessionView) -> u32 {
    source.header().version.max(CURRENT_SESSION_VERSION)
}
