//! A session kept in a [`SessionStorage`]: lines go through a writer, and the view keeps a copy of
//! what is there.

use super::Pending;
use super::blobs::Blobs;
use super::copy::{CopyLine, copy};
use super::prepare::LineForm;
use super::rewrite::{Sink, rewrite};
use crate::blob::{BlobHash, BlobStore};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::{SessionStorage, SessionStorageWriter, Source, WriterMode, temp};
use crate::view::{SessionView, ViewOptions};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session at a path of a storage.
pub(crate) struct StoredSession {
    storage: Arc<dyn SessionStorage>,
    path: PathBuf,
    blobs: Blobs,
    writer: Option<Box<dyn SessionStorageWriter>>,
    /// What is there ends with a newline.
    ends_line: bool,
    is_new: bool,
    /// The view is of an earlier time than what is there.
    stale: bool,
    keep_replaced: bool,
}

impl fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredSession").field("path", &self.path).finish_non_exhaustive()
    }
}

impl StoredSession {
    pub(crate) fn new(storage: Arc<dyn SessionStorage>, path: &Path, blobs: BlobStore) -> Self {
        let (path, blobs) = (path.to_owned(), Blobs::new(blobs));
        Self { storage, path, blobs, writer: None, ends_line: true, is_new: true, stale: false, keep_replaced: false }
    }

    /// The view of what was replaced is kept for [`SessionView::take_replaced`].
    pub(crate) fn keep_replaced(mut self, keep: bool) -> Self {
        self.keep_replaced = keep;
        self
    }

    /// Opens the session that is there; `None` when there is none. A text that is no session is
    /// copied to a path of its own first (R16).
    pub(crate) fn open(&mut self, now_ms: i64) -> Result<Option<SessionView>> {
        let leftover = temp::path_for(&self.path);
        if self.storage.exists(&leftover) {
            let _: Result<()> = self.storage.unlink(&leftover);
        }
        let bytes = match self.storage.read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        let source = Source::Bytes(bytes.clone());
        match ViewOptions::new().blobs(self.blobs.dir()).read(source, Some(&self.path)) {
            Ok(view) => {
                self.ends_line = bytes.ends_with(b"\n");
                self.is_new = false;
                Ok(Some(view))
            }
            Err(error) if error.code() == ErrorCode::NotASession => {
                let to = super::aside(&self.path, now_ms);
                if self.storage.exists(&to) {
                    return Err(Error::new(ErrorCode::AlreadyExists, "cannot set aside what is no session").at(&to));
                }
                self.storage.write(&to, &bytes)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The session is gone on with as it was at an earlier time: what is there by now is taken in
    /// with the next write.
    pub(crate) fn look_again(&mut self) {
        self.stale = true;
    }

    /// Takes in what is there and the view has not, as for a file that was replaced (R53d).
    pub(crate) fn catch_up(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        if !self.stale {
            return Ok(());
        }
        let found = self.open(now_ms)?;
        self.stale = false;
        // When nothing is there everything is written again.
        let Some(mut found) = found else { return Ok(()) };
        found.migrate_header();
        let lost = view.give_way(found, pending, self.keep_replaced)?;
        lost.map_or(Ok(()), Err)
    }

    /// Appends what is unsaved; writes everything when nothing is there, or an older version.
    pub(crate) fn append(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        self.catch_up(view, pending, now_ms)?;
        if self.is_new || view.is_migrated() || pending.rewrite {
            return self.write_anew(view, pending, now_ms);
        }
        self.append_lines(view, pending)
    }

    /// Writes everything anew.
    pub(crate) fn rewrite(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        self.catch_up(view, pending, now_ms)?;
        self.write_anew(view, pending, now_ms)
    }

    /// Writes the unsaved lines, one after another. Those that were written are saved even when a
    /// later one fails.
    fn append_lines(&mut self, view: &mut SessionView, pending: &mut Pending) -> Result<()> {
        let mut count = 0;
        let written = pending.unsaved.iter().try_for_each(|&index| {
            self.append_line(view, index)?;
            count += 1;
            Ok(())
        });
        pending.written(count);
        written
    }

    fn append_line(&mut self, view: &mut SessionView, index: u32) -> Result<()> {
        let text = view.in_memory(index).unwrap_or_default();
        let (mut line, form) = match view.prepared(index) {
            None => (text.to_owned(), LineForm::Same),
            Some(prepared) => prepared.put_blobs(|hash, blob| self.blobs.put(hash, blob))?,
        };
        let len = line.len();
        line.push(b'\n');
        let start = usize::from(!self.ends_line);
        if start == 1 {
            line.insert(0, b'\n');
        }
        self.writer()?.write_line(&line)?;
        self.ends_line = true;
        let offset = view.source().len() + start as u64;
        view.append_bytes(&line);
        view.written(index, offset, len as u32, form);
        view.appended_line(index);
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut (dyn SessionStorageWriter + 'static)> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.storage.open_writer(&self.path, WriterMode::Append)?,
        };
        Ok(&mut **self.writer.insert(writer))
    }

    /// Writes everything to another path and gives it this one's name (R31).
    fn write_anew(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        // Everything is written again: what the writer failed to write too.
        let _: Result<()> = self.close();
        let temp = temp::path_for(&self.path);
        let written = self.write_to(&temp, view, pending, now_ms).and_then(|written| {
            self.storage.rename(&temp, &self.path)?;
            Ok(written)
        });
        match written {
            Ok((bytes, layout)) => {
                view.rewritten(Source::Bytes(bytes), layout);
                view.set_path(&self.path);
                pending.clear();
                self.ends_line = true;
                self.is_new = false;
                Ok(())
            }
            Err(error) => {
                // What cannot be removed is hidden and is no session.
                let _: Result<()> = self.storage.unlink(&temp);
                Err(error)
            }
        }
    }

    fn write_to(
        &mut self,
        temp: &Path,
        view: &SessionView,
        pending: &Pending,
        now_ms: i64,
    ) -> Result<(Vec<u8>, super::Layout)> {
        let mut sink = TextSink { blobs: &mut self.blobs, bytes: Vec::new() };
        let layout = rewrite(view, pending, now_ms, &mut sink)?;
        let bytes = sink.bytes;
        self.write_lines(temp, &bytes)?;
        Ok((bytes, layout))
    }

    fn write_lines(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut writer = self.storage.open_writer(path, WriterMode::Truncate)?;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            writer.write_line(line)?;
        }
        writer.flush()?;
        self.blobs.sync()?;
        writer.fsync()?;
        writer.close()
    }

    /// Writes a copy of a session, and gives it; nothing may be at the path.
    pub(crate) fn write_copy(
        &mut self,
        source: &SessionView,
        header: &[u8],
        lines: &[CopyLine],
    ) -> Result<SessionView> {
        if self.exists() {
            let message = "cannot write the session: the file exists";
            return Err(Error::new(ErrorCode::AlreadyExists, message).at(&self.path));
        }
        let mut sink = TextSink { blobs: &mut self.blobs, bytes: Vec::new() };
        copy(source, header, lines, &mut sink)?;
        let bytes = sink.bytes;
        let temp = temp::path_for(&self.path);
        self.write_lines(&temp, &bytes).and_then(|()| self.storage.rename(&temp, &self.path)).inspect_err(|_| {
            let _: Result<()> = self.storage.unlink(&temp);
        })?;
        // What was written is known: a storage need not give it back at once.
        let view = ViewOptions::new().blobs(self.blobs.dir()).read(Source::Bytes(bytes), Some(&self.path))?;
        (self.ends_line, self.is_new) = (true, false);
        Ok(view)
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.blobs.sync()?;
        if let Some(writer) = &mut self.writer {
            writer.flush().and_then(|()| writer.fsync())?;
        }
        self.storage.flush()
    }

    /// Closes the writer; the first error counts.
    pub(crate) fn close(&mut self) -> Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        let flushed = writer.flush();
        let closed = writer.close();
        flushed.and(closed)
    }

    /// Whether something stands at the path.
    pub(crate) fn exists(&self) -> bool {
        self.storage.exists(&self.path)
    }
}

/// The text of a copy of a session that is kept nowhere: with whole entries.
pub(crate) fn copy_text(source: &SessionView, header: &[u8], lines: &[CopyLine]) -> Result<Vec<u8>> {
    let mut text = [header, b"\n"].concat();
    for line in lines {
        let line = line.text(source)?;
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    Ok(text)
}

/// Collects the file.
struct TextSink<'a> {
    blobs: &'a mut Blobs,
    bytes: Vec<u8>,
}

impl Sink for TextSink<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn copy(&mut self, source: &Source, span: Range<u64>, _edges: &[Range<u64>]) -> Result<()> {
        let bytes = source.read(span.start, (span.end - span.start) as usize)?;
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn blob(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<()> {
        self.blobs.put(hash, bytes)
    }
}

#[cfg(test)]
#[path = "storage_tests.rs"]
mod tests;
