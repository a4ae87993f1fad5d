//! A session kept in a file: appended to with one `write` under a lock (R53, R54), written anew
//! through a temporary file (R31).

use super::Pending;
use super::apart::{SyncApart, Syncs};
use super::blobs::Blobs;
use super::copy::{CopyLine, copy};
use super::prepare::LineForm;
use super::rewrite::{Sink, check_edges, rewrite};
use crate::blob::{BlobHash, BlobStore};
use crate::discovery::header_of;
use crate::entry::EntryKind;
use crate::error::{Error, ErrorCode, Result};
use crate::storage::disk::{self, Identity};
use crate::storage::in_use::{Fate, InUse};
use crate::storage::lock::{Held, SessionLock};
use crate::storage::{Source, TempFile, temp};
use crate::view::{SessionView, ViewOptions};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The file of one session, as this process knows it.
#[derive(Debug)]
pub(crate) struct SessionFile {
    lock: SessionLock,
    in_use: InUse,
    /// The session was found at another path than the caller knows.
    followed: bool,
    /// That the session was deleted has been said.
    gone_said: bool,
    inner: Inner,
}

#[derive(Debug)]
struct Inner {
    /// Links followed.
    path: PathBuf,
    blobs: Blobs,
    /// Open for appending; closed between `close` and the next write.
    file: Option<Arc<File>>,
    syncs: Syncs,
    /// How many entries were appended.
    appended: u64,
    /// What the view holds of the file; `None` before it is there, and when it has to be read again.
    known: Option<Known>,
    /// Something was acknowledged as written.
    wrote: bool,
    /// Nothing was written since the file was closed.
    closed: bool,
    sync_appends: bool,
    /// The view of a file that was replaced is kept.
    keep_replaced: bool,
    /// Something was written since the last sync.
    dirty: bool,
    /// A sync failed, and the system does not say so again: what was written before it is written
    /// anew, from memory, before anything is said to be safe (R30).
    sync_failed: bool,
    /// A file that was no session, and where it was copied.
    set_aside: Option<(Identity, PathBuf)>,
    /// Used again by each append.
    batch: Batch,
}

/// The lines of one append, and where in them each entry stands.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    placed: Vec<(u32, u64, u32, LineForm)>,
}

/// So often the file is looked at again when another took its place before it was opened.
const LOOKS: usize = 100;
/// A larger buffer is not kept for the next append.
const LARGEST_BATCH: usize = 64 << 10;

/// What a view holds of its file: all of it, up to the length it has here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    identity: Identity,
    tail: Tail,
    /// When the file had been changed last when it was read or written anew, and the time then or after
    /// this process's last append.
    changed: i64,
    clock: i64,
    /// This process appended since; others did.
    appended: bool,
    grown: bool,
}

/// The last bytes of the file: of one that is longer now, they tell whether lines were appended to it or it
/// was written over in place. So many that they hold the id and the time of a short line.
#[derive(Clone, Copy, Debug)]
struct Tail {
    bytes: [u8; Self::LEN],
    len: usize,
}

impl Tail {
    const LEN: usize = 256;

    fn of(bytes: &[u8]) -> Self {
        let mut tail = Self { bytes: [0; Self::LEN], len: 0 };
        tail.push(bytes);
        tail
    }

    /// The file ends with these bytes now.
    fn push(&mut self, more: &[u8]) {
        let more = &more[more.len().saturating_sub(Self::LEN)..];
        let kept = self.len.min(Self::LEN - more.len());
        self.bytes.copy_within(self.len - kept..self.len, 0);
        self.bytes[kept..kept + more.len()].copy_from_slice(more);
        self.len = kept + more.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn ends_line(&self) -> bool {
        self.bytes().last().is_none_or(|&byte| byte == b'\n')
    }
}

/// Whether a file is as this process left it, by the times of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgment {
    Same,
    /// It was changed too shortly before or after this process looked or wrote.
    Unclear,
    Changed,
}

/// The clock that files get their times from ticks this seldom, at most.
const TICK: i64 = 20_000_000;
/// A file up to this size is scanned again where its times leave something open. It takes a few milliseconds,
/// a fraction of what writing it takes.
const CHEAP_TO_SCAN: u64 = 16 << 20;

impl Known {
    /// What the view of a source holds, that was read from `clock` on.
    fn of(source: &Source, clock: i64) -> Result<Option<Self>> {
        let Some((identity, changed)) = source.identity() else { return Ok(None) };
        let len = identity.len.min(Tail::LEN as u64);
        let tail = Tail::of(&source.read(identity.len - len, len as usize)?);
        Ok(Some(Self { identity, tail, changed, clock, appended: false, grown: false }))
    }

    /// The file still has the bytes that this tells of before its end.
    fn is_start_of(&self, source: &Source) -> bool {
        let tail = self.tail.bytes();
        let there = source.read(self.identity.len - tail.len() as u64, tail.len());
        there.is_ok_and(|there| *there == *tail)
    }

    fn judge(&self, changed: i64) -> Judgment {
        let (changed_since, clear) = if self.appended {
            (changed > self.clock + TICK, false)
        } else {
            (changed != self.changed, self.clock > self.changed + TICK)
        };
        match (self.grown, changed_since, clear) {
            (false, true, _) => Judgment::Changed,
            (false, false, true) => Judgment::Same,
            _ => Judgment::Unclear,
        }
    }
}

/// An append that has begun: the lock is held, and the view has what others wrote.
pub(crate) struct Begun {
    _held: Held,
    found: Found,
}

/// What stands at the path, seen under the lock.
enum Found {
    /// What the view holds, now that others' lines are taken in.
    Known,
    /// Nothing, or nothing that is worth keeping.
    Nothing,
}

impl SessionFile {
    /// The file at `path`, which need not exist.
    pub(crate) fn new(path: &Path, blobs: BlobStore, lock_timeout: Duration, sync_appends: bool) -> Self {
        let path = disk::followed(path);
        let inner = Inner {
            blobs: Blobs::new(blobs),
            file: None,
            syncs: Syncs::default(),
            appended: 0,
            known: None,
            wrote: false,
            closed: false,
            sync_appends,
            keep_replaced: false,
            dirty: false,
            sync_failed: false,
            set_aside: None,
            batch: Batch::default(),
            path,
        };
        let (lock, in_use) = (SessionLock::new(&inner.path, lock_timeout), InUse::new(&inner.path));
        Self { lock, in_use, followed: false, gone_said: false, inner }
    }

    /// Changes how long the lock is waited for.
    pub(crate) fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock.set_timeout(timeout);
    }

    /// The same lock, to wait for it without the session.
    pub(crate) fn lock_apart(&self, timeout: Duration) -> SessionLock {
        SessionLock::new(&self.inner.path, timeout)
    }

    /// The view of a file that was replaced is kept for [`SessionView::take_replaced`].
    pub(crate) fn keep_replaced(mut self, keep: bool) -> Self {
        self.inner.keep_replaced = keep;
        self
    }

    /// Where a file that was no session was copied.
    pub(crate) fn set_aside(&self) -> Option<&Path> {
        self.inner.set_aside.as_ref().map(|(_, path)| path.as_path())
    }

    /// Opens the session that is there, removing what a process that died left beside it. With
    /// `rewrite_older`, a file of an older version is written anew at once (R12). `None` when
    /// there is no session; what is there instead, if anything, the first write sets aside (R16).
    pub(crate) fn open(&mut self, rewrite_older: bool, now_ms: i64) -> Result<Option<SessionView>> {
        if !self
            .inner
            .path
            .try_exists()
            .map_err(|error| Error::io(error, "cannot open the session", &self.inner.path))?
        {
            return Ok(None);
        }
        temp::remove_leftover(&self.inner.path);
        // Before it is read: from here on it is moved only in a way that this process learns of.
        self.in_use.hold();
        let read = match self.inner.read() {
            Ok(read) => read,
            Err(error) if error.code() == ErrorCode::NotASession => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut view = self.inner.take_up(read);
        if rewrite_older && view.is_migrated() {
            let _held = self.lock.acquire(true)?;
            // Another process may have done it meanwhile.
            let read = self.inner.read()?;
            view = self.inner.take_up(read);
            if view.is_migrated() {
                self.inner.write_anew(&mut view, &mut Pending::default(), now_ms)?;
            }
        }
        Ok(Some(view))
    }

    /// Takes the lock to write: from then on the session is in use, also when it was closed before.
    fn lock_to_write(&mut self, verify: bool, view: &SessionView) -> Result<(Held, Option<Identity>)> {
        let locked = self.lock(verify, view)?;
        if locked.1.is_some() && self.inner.file.is_none() {
            self.in_use.hold();
        }
        Ok(locked)
    }

    /// Takes the lock and looks at the path. An append to the file that is known needs no more; with
    /// `verify`, another file may take the place of this one. A session that another process moved is
    /// gone on with where it is.
    fn lock(&mut self, verify: bool, view: &SessionView) -> Result<(Held, Option<Identity>)> {
        if !verify {
            let held = self.lock.acquire(false)?;
            let now = self.inner.look()?;
            if now.is_some() && now == self.inner.known.map(|known| known.identity) {
                return Ok((held, now));
            }
        }
        loop {
            let held = self.lock.acquire(true)?;
            let now = self.inner.look()?;
            if now.is_none() && self.follow(view, true)? {
                continue;
            }
            if now.is_some() {
                if !self.inner.closed {
                    self.in_use.hold();
                }
                self.gone_said = false;
            }
            return Ok((held, now));
        }
    }

    /// Nothing stands at the path: goes to where another process moved the session, and says whether it
    /// did. `locked`: the lock of the path is held.
    ///
    /// # Errors
    /// `GONE`, once, when another process deleted it.
    fn follow(&mut self, view: &SessionView, locked: bool) -> Result<bool> {
        match self.in_use.said() {
            Some(Fate::Deleted) if !self.gone_said => {
                self.gone_said = true;
                Err(gone(&self.inner.path))
            }
            Some(Fate::Moved(_)) => {
                let Some(path) = self.moved_to(view) else { return Ok(false) };
                if locked {
                    // Made just now, where there is no session.
                    self.lock.remove();
                }
                self.lock = self.lock.moved_to(&path);
                self.in_use.follow_to(&path);
                self.inner.path = path;
                self.inner.known = None;
                self.inner.file = None;
                self.followed = true;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Where another process moved the session, when it is there.
    fn moved_to(&self, view: &SessionView) -> Option<PathBuf> {
        let mut last = None;
        loop {
            let Some(Fate::Moved(path)) = self.in_use.said() else { return None };
            if path == self.inner.path {
                return None;
            }
            if header_of(None, &path).ok().flatten().is_some_and(|header| header.id == view.header().id) {
                return Some(path);
            }
            // It may have been moved on meanwhile.
            if last.replace(path.clone()) == Some(path) {
                return None;
            }
        }
    }

    /// Where the session is, when another process moved it and nothing was written since.
    pub(crate) fn moved_meanwhile(&self, view: &SessionView) -> Option<PathBuf> {
        if self.followed {
            return Some(self.inner.path.clone());
        }
        let is_gone = self.inner.known.is_some() && !disk::is_there(&self.inner.path);
        is_gone.then(|| self.moved_to(view)).flatten()
    }

    /// The session's path, when it was moved by another process since the last call, and was read there.
    pub(crate) fn take_followed(&mut self) -> Option<PathBuf> {
        let is_news = self.followed && self.inner.known.is_some();
        self.followed &= !is_news;
        is_news.then(|| self.inner.path.clone())
    }

    /// There is a file to write again, here or where another process moved it.
    pub(crate) fn exists(&self, view: &SessionView) -> bool {
        self.inner.path.exists() || self.moved_meanwhile(view).is_some()
    }

    /// The path, links followed.
    pub(crate) fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The next write makes a session again that another process deleted.
    pub(crate) fn revive(&mut self) {
        self.gone_said = self.in_use.said() == Some(Fate::Deleted);
    }

    /// Appends what is unsaved; writes everything when nothing is there (R53b). The first write
    /// too: a session that stands at the path already keeps its header, and this one's entries go
    /// after its own (R53g).
    pub(crate) fn append(
        &mut self,
        begun: Option<Begun>,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
    ) -> Result<()> {
        let Begun { _held, mut found } = match begun {
            Some(begun) => begun,
            None => self.begin_append(view, pending, now_ms)?,
        };
        for _ in 0..LOOKS {
            match found {
                // A file of an older version is written anew with the first change (R12). So is one that may
                // have lost what this process wrote, and one that was to be written anew when it was locked.
                Found::Known if view.is_migrated() || self.inner.sync_failed || pending.rewrite => {
                    self.inner.verify(view, pending, true)?;
                    return self.inner.write_anew(view, pending, now_ms);
                }
                Found::Known => {
                    if self.inner.append(view, pending)? {
                        return Ok(());
                    }
                }
                Found::Nothing => {
                    self.inner.verify_missing(view, pending)?;
                    return self.write_first(view, pending, now_ms);
                }
            }
            // Another file took the place of the one that was looked at.
            let now = self.inner.look()?;
            found = self.inner.catch_up(now, view, pending, now_ms)?;
        }
        Err(Error::new(ErrorCode::FileChanged, "the file is replaced again and again").at(&self.inner.path))
    }

    /// Takes the lock and takes in what others wrote, which comes before the entry that is to be
    /// appended (R53c).
    pub(crate) fn begin_append(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<Begun> {
        let (held, now) = self.lock_to_write(view.is_migrated() || self.inner.sync_failed || pending.rewrite, view)?;
        let found = self.inner.catch_up(now, view, pending, now_ms)?;
        Ok(Begun { _held: held, found })
    }

    /// Writes everything: for the first time, or anew (R29, R31).
    pub(crate) fn rewrite(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        let (_held, now) = self.lock_to_write(true, view)?;
        match self.inner.catch_up(now, view, pending, now_ms)? {
            Found::Known => {
                self.inner.verify(view, pending, true)?;
                self.inner.write_anew(view, pending, now_ms)
            }
            Found::Nothing => {
                self.inner.verify_missing(view, pending)?;
                self.write_first(view, pending, now_ms)
            }
        }
    }

    /// Writes everything where nothing is.
    fn write_first(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        self.inner.write_anew(view, pending, now_ms)?;
        // What was said of the session that was before is not said of this one.
        if std::mem::take(&mut self.gone_said) {
            self.in_use.forget();
        }
        self.in_use.hold();
        temp::sweep(self.inner.dir());
        Ok(())
    }

    /// Makes sure that everything is in the file and would survive a power cut. What is unsaved is appended where
    /// the file is whole: that takes the least room.
    pub(crate) fn ensure(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        let has_changes = !pending.changed.is_empty() || !pending.header.is_empty();
        pending.rewrite |= has_changes;
        self.append(None, view, pending, now_ms)?;
        self.flush()
    }

    /// Takes in what others did to the file.
    pub(crate) fn catch_up(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        let (_held, now) = self.lock(true, view)?;
        match self.inner.catch_up(now, view, pending, now_ms)? {
            Found::Known => Ok(()),
            // What was removed may have been written over before.
            Found::Nothing => self.inner.verify_missing(view, pending),
        }
    }

    /// Reads the file again, when somebody wrote over it in place, before its lines are copied.
    pub(crate) fn verify(&mut self, view: &mut SessionView, pending: &mut Pending) -> Result<()> {
        self.inner.verify(view, pending, false)
    }

    /// Writes a copy of a session; nothing may be at the path.
    pub(crate) fn write_copy(&mut self, source: &SessionView, header: &[u8], lines: &[CopyLine]) -> Result<()> {
        let _held = self.lock.acquire(true)?;
        let written = self.write_copy_locked(source, header, lines);
        if written.is_err() && !disk::is_there(&self.inner.path) {
            // Made for a session that is not there.
            self.lock.remove();
        }
        written
    }

    fn write_copy_locked(&mut self, source: &SessionView, header: &[u8], lines: &[CopyLine]) -> Result<()> {
        if disk::is_there(&self.inner.path) {
            let message = "cannot write the session: the file exists";
            return Err(Error::new(ErrorCode::AlreadyExists, message).at(&self.inner.path));
        }
        let (temp, ()) =
            self.inner.write_file(source.source().len(), None, |sink| copy(source, header, lines, sink))?;
        temp.put_in_free_place(&self.inner.path).map_err(|error| self.inner.failed(error))?;
        self.inner.sync_dir().inspect_err(|_| {
            // A copy that nobody goes on in is not wanted.
            let _: std::io::Result<()> = disk::unlink(&self.inner.path);
        })?;
        temp::sweep(self.inner.dir());
        self.inner.wrote = true;
        Ok(())
    }

    /// Moves the session to where `to` is, whose file is made. The caller changes what the view says of
    /// the place with `change`, and moves what belongs to the session with `along`, between writing the new
    /// file and removing the old one.
    ///
    /// `None` when another process moved it meanwhile: the caller looks where it is.
    ///
    /// # Errors
    /// `ALREADY_EXISTS` when there is something at the new path, `NOT_FOUND` when the session was removed
    /// meanwhile, `GONE` when it was deleted; an error of writing. The old file is as it was then, and no
    /// new one is left.
    pub(crate) fn move_to(
        &mut self,
        to: &mut Self,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
        change: impl FnOnce(&mut SessionView, &mut Pending),
        along: impl FnOnce() -> Result<()>,
    ) -> Result<Option<()>> {
        let had_file = self.inner.look()?.is_some();
        // Before there is a lock file beside what is in the way. But another process may be moving this
        // session there, or have moved it: the lock of the old path says.
        if had_file && disk::is_there(&to.inner.path) {
            let _held = self.lock.acquire(true)?;
            if self.inner.look()?.is_none() {
                return self.missing(view);
            }
            if disk::is_there(&to.inner.path) {
                return Err(occupied(&to.inner.path));
            }
        }
        if !had_file {
            let was_moved = matches!(self.in_use.said(), Some(Fate::Moved(_)));
            let _held = if was_moved { Some(self.lock.acquire(true)?) } else { None };
            if self.inner.look()?.is_some() || self.follow(view, was_moved)? {
                return Ok(None);
            }
            if was_moved {
                self.lock.remove();
            }
            if disk::is_there(&to.inner.path) {
                return Err(occupied(&to.inner.path));
            }
        }
        let _held = if had_file {
            let (old, new) = self.lock.acquire_both(&mut to.lock)?;
            (Some(old), new)
        } else {
            (None, to.lock.acquire(true)?)
        };
        let result = self.move_locked(to, had_file, view, pending, now_ms, change, along);
        if !matches!(result, Ok(Some(()))) {
            to.take_back();
        }
        result
    }

    #[allow(clippy::too_many_arguments, reason = "those of the call above")]
    fn move_locked(
        &mut self,
        to: &mut Self,
        had_file: bool,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
        change: impl FnOnce(&mut SessionView, &mut Pending),
        along: impl FnOnce() -> Result<()>,
    ) -> Result<Option<()>> {
        let now = self.inner.look()?;
        if had_file && now.is_none() {
            return self.missing(view);
        }
        if now.is_some() != had_file {
            return Ok(None);
        }
        if disk::is_there(&to.inner.path) {
            return Err(occupied(&to.inner.path));
        }
        if now.is_some() {
            self.inner.catch_up(now, view, pending, now_ms)?;
        }
        self.inner.verify(view, pending, now.is_some())?;
        change(view, pending);
        to.inner.write_placed(view, pending, now_ms, Some(&self.inner.path), TempFile::put_in_free_place)?;
        along()?;
        self.in_use.say(Some(&Fate::Moved(to.inner.path.clone())));
        if had_file {
            match disk::unlink(&self.inner.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    self.in_use.say(None);
                    return Err(Error::io(error, "cannot remove the session", &self.inner.path));
                }
                _ => {}
            }
            temp::remove_leftover(&self.inner.path);
            self.lock.remove();
        }
        // Every process that has the session open keeps the file it has.
        self.in_use.move_to(&to.inner.path);
        std::mem::swap(&mut self.in_use, &mut to.in_use);
        to.in_use.hold();
        Ok(Some(()))
    }

    /// The session is gone from the path that is moved, whose lock is held: `None` when it is elsewhere.
    fn missing(&mut self, view: &SessionView) -> Result<Option<()>> {
        if self.follow(view, true)? {
            return Ok(None);
        }
        Err(Error::new(ErrorCode::NotFound, "the session was removed").at(&self.inner.path))
    }

    /// Removes the file that this process made for a session that stays where it was, and the lock file
    /// beside it. The lock is held.
    fn take_back(&mut self) {
        if self.inner.file.as_ref().is_some_and(|file| disk::is_at(file, &self.inner.path)) {
            // Best effort: the old file is whole.
            let _: std::io::Result<()> = disk::unlink(&self.inner.path);
        }
        if !disk::is_there(&self.inner.path) {
            self.lock.remove();
        }
    }

    /// What is known of the file.
    pub(crate) fn known(&self) -> Option<Known> {
        self.inner.known
    }

    /// Goes back to what was known when a state was captured.
    pub(crate) fn set_known(&mut self, known: Option<Known>) {
        self.inner.known = known;
    }

    /// What this process wrote is at the path no more: the file was replaced, written over, cut or removed. Or
    /// the disk did not take it.
    pub(crate) fn has_lost_writes(&self, view: &SessionView) -> Result<bool> {
        if self.gone_said && self.inner.look()?.is_none() {
            // It is made again on purpose only.
            return Err(gone(&self.inner.path));
        }
        if self.inner.sync_failed {
            return Ok(true);
        }
        if !self.inner.wrote {
            return Ok(false);
        }
        let (now, known) = match (self.inner.look()?, self.inner.known) {
            (None, _) if self.in_use.said() == Some(Fate::Deleted) => return Err(gone(&self.inner.path)),
            (Some(now), Some(known)) => (now, known),
            _ => return Ok(true),
        };
        let is_same = now.is_same_file(&known.identity) && !view.source().is_changed();
        Ok(!is_same
            || now.len < known.identity.len
            || now.len > known.identity.len && !known.is_start_of(view.source()))
    }

    /// A sync failed: what the file gives may not be what was written.
    pub(crate) fn has_failed_sync(&self) -> bool {
        self.inner.sync_failed
    }

    /// Waits until everything written would survive a power cut (R30).
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.inner.sync_blobs()?;
        if !self.inner.dirty {
            return Ok(());
        }
        self.inner.sync("cannot sync the session")
    }

    /// Begins the same without the session; `None` when there is nothing to wait for.
    pub(crate) fn begin_sync(&mut self) -> Result<Option<SyncApart>> {
        self.inner.sync_blobs()?;
        if !self.inner.dirty {
            return Ok(None);
        }
        self.inner.any_file()?;
        let Inner { file, syncs, path, appended, .. } = &self.inner;
        Ok(file.as_ref().map(|file| SyncApart::new(file, syncs, path, *appended)))
    }

    /// Takes in what a sync apart came to. Gives how many of the entries that were appended since it does not
    /// cover; `None` when it was of another file than the session has now, and has to be done again.
    pub(crate) fn end_sync(&mut self, sync: SyncApart) -> Result<Option<u64>> {
        let inner = &mut self.inner;
        let is_same = inner.file.as_ref().is_some_and(|file| Arc::ptr_eq(file, &sync.file));
        match sync.result {
            Some(Err(error)) => {
                *inner.syncs.lock() = false;
                // What is closed may be the same file still.
                if is_same || inner.dirty && inner.file.is_none() {
                    inner.sync_failed = true;
                    return Err(error);
                }
                // Another file has the session.
                Ok((!inner.dirty).then_some(0))
            }
            Some(Ok(())) if is_same => {
                let since = inner.appended - sync.appended;
                inner.dirty &= since > 0;
                Ok(Some(since))
            }
            _ => Ok((!inner.dirty).then_some(0)),
        }
    }

    /// Closes the file, after a flush that succeeded or not; the next write opens it again.
    pub(crate) fn close(&mut self, flushed: bool) {
        self.inner.file = None;
        self.inner.closed = flushed;
        self.lock.close();
    }

    /// Until the next write the session is not in use: its owner closed it.
    pub(crate) fn put_away(&mut self) {
        self.in_use.release();
    }

    /// It was flushed and closed, and nothing was written since.
    pub(crate) fn is_closed(&self) -> bool {
        self.inner.closed
    }
}

impl Inner {
    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(error, "cannot write the session", &self.path)
    }

    /// Reads the session at the path.
    fn read(&self) -> Result<(SessionView, Option<Known>)> {
        let clock = disk::clock();
        self.read_source(Source::open_plain(&self.path)?, clock)
    }

    fn read_source(&self, source: Source, clock: i64) -> Result<(SessionView, Option<Known>)> {
        let view = ViewOptions::new().blobs(self.blobs.dir()).read(source, Some(&self.path))?;
        let known = Known::of(view.source(), clock)?;
        Ok((view, known))
    }

    /// The view that was read is the one that is gone on with.
    fn take_up(&mut self, (view, known): (SessionView, Option<Known>)) -> SessionView {
        self.known = known;
        self.file = None;
        view
    }

    /// The file that was looked at, open for appending; `None` when another has taken its place since.
    fn file(&mut self, known: &Identity) -> Result<Option<&File>> {
        if self.file.is_none() {
            let file = match disk::open_append(&self.path, false) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                result => result.map_err(|error| self.failed(error))?,
            };
            if !disk::identity_of(&file).map_err(|error| self.failed(error))?.is_same_file(known) {
                return Ok(None);
            }
            self.file = Some(Arc::new(file));
        }
        Ok(self.file.as_deref())
    }

    /// The file, open for appending, whichever one is at the path.
    fn any_file(&mut self) -> Result<&File> {
        if self.file.is_none() {
            let file = disk::open_append(&self.path, false).map_err(|error| self.failed(error))?;
            self.file = Some(Arc::new(file));
        }
        self.file.as_deref().ok_or_else(|| Error::new(ErrorCode::Closed, "the session's file is closed").at(&self.path))
    }

    /// The disk that did not take a blob may not have taken a line.
    fn sync_blobs(&mut self) -> Result<()> {
        let synced = self.blobs.sync();
        self.sync_failed |= synced.is_err();
        synced
    }

    /// Waits until what was written to the file would survive a power cut.
    fn sync(&mut self, failed: &str) -> Result<()> {
        let syncs = self.syncs.clone();
        let mut apart_failed = syncs.lock();
        let synced = disk::sync(self.any_file()?).map_err(|error| Error::io(error, failed, &self.path));
        if std::mem::take(&mut *apart_failed) || synced.is_err() {
            self.sync_failed = true;
            // What another sync met is not told again.
            return Err(synced.err().unwrap_or_else(|| Error::new(ErrorCode::Io, failed).at(&self.path)));
        }
        self.dirty = false;
        Ok(())
    }

    /// What stands at the path.
    fn look(&self) -> Result<Option<Identity>> {
        disk::identity(&self.path).map_err(|error| self.failed(error))
    }

    /// What is known of the file that `now` is of, if that can be relied on.
    fn known_of(&self, now: &Identity, view: &SessionView) -> Option<Known> {
        let known = self.known.filter(|known| known.identity.is_same_file(now) && !view.source().is_changed())?;
        // When nothing holds a file open another one may get its inode, which its time of birth tells.
        let is_held = now.born.is_some() || self.file.is_some() || view.source().is_open();
        is_held.then_some(known)
    }

    /// Looks at what stands at the path, under the lock, and takes in what others did to it (R53).
    fn catch_up(
        &mut self,
        now: Option<Identity>,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
    ) -> Result<Found> {
        let Some(now) = now else {
            self.file = None;
            return Ok(Found::Nothing);
        };
        let Some(known) = self.known_of(&now, view) else { return self.replaced(view, pending, now, now_ms) };
        if now == known.identity {
            return Ok(Found::Known);
        }
        // With entries that are not written, which come after the others' (and some of which may
        // be there, when a failed write could not be cut back), the file is read anew. So is one of
        // an older version, whose lines have to be migrated together (R10).
        let can_take_in = now.len > known.identity.len && pending.unsaved.is_empty() && !view.is_migrated();
        if !can_take_in || !known.is_start_of(view.source()) {
            return self.replaced(view, pending, now, now_ms);
        }
        let taken = view.take_in(known.identity.len, now.len, known.tail.ends_line(), pending);
        // A view with half of it is of no file.
        let grown = taken.and_then(|()| Known::of(view.source(), known.clock)).inspect_err(|_| {
            view.source().mark_changed();
        })?;
        self.known = grown.map(|grown| Known { grown: true, ..grown });
        Ok(Found::Known)
    }

    /// Another file stands at the path (R53d), or the file was written over in place: it wins, and what this
    /// process has that it has not is appended to it.
    fn replaced(&mut self, view: &mut SessionView, pending: &mut Pending, now: Identity, now_ms: i64) -> Result<Found> {
        match self.read() {
            Ok(read) => self.give_way(view, pending, read).map(|()| Found::Known),
            Err(error) if error.code() == ErrorCode::NotASession => {
                self.put_aside(now_ms)?;
                if view.source().identity().is_some_and(|(known, _)| known.is_same_file(&now)) {
                    // It was cut in place: what the view points to is gone.
                    self.start_over(view, pending)?;
                }
                Ok(Found::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// The view gives way to what was read.
    fn give_way(
        &mut self,
        view: &mut SessionView,
        pending: &mut Pending,
        (mut found, known): (SessionView, Option<Known>),
    ) -> Result<()> {
        // Memory changes first (R12).
        found.migrate_header();
        let lost = view.give_way(found, pending, self.keep_replaced)?;
        self.known = known;
        self.file = None;
        // Said once: what is left goes on.
        lost.map_or(Ok(()), Err)
    }

    /// The view goes on with its header and what this process wrote.
    fn start_over(&mut self, view: &mut SessionView, pending: &mut Pending) -> Result<()> {
        let header = [view.header().json().bytes(), b"\n"].concat();
        let rest = ViewOptions::new().blobs(self.blobs.dir()).read_bytes(header)?;
        self.give_way(view, pending, (rest, None))
    }

    /// Before lines are copied from the file that the view was read from: makes sure that they stand where they
    /// stood, and takes in the file again when somebody wrote over it in place. That file need not be at the
    /// path any more: `is_there` says whether it is known to be.
    fn verify(&mut self, view: &mut SessionView, pending: &mut Pending, is_there: bool) -> Result<()> {
        if self.known.is_none() && !view.source().is_changed() {
            // A new session, or one that came from another file, whose keeper has verified it.
            return Ok(());
        }
        let (now, changed) = match view.source().state() {
            Ok(Some(state)) => state,
            Ok(None) => return Ok(()),
            // It was closed for reading too, and another one is at the path.
            Err(error) if error.code() == ErrorCode::FileChanged => {
                let read = self.read()?;
                return self.give_way(view, pending, read);
            }
            Err(error) => return Err(error),
        };
        let known = self.known_of(&now, view).filter(|known| known.identity.len <= now.len);
        let judgment = known.map_or(Judgment::Changed, |known| known.judge(changed));
        let is_trusted = match judgment {
            Judgment::Same => true,
            Judgment::Unclear => now.len > CHEAP_TO_SCAN && known.is_some_and(|known| !known.grown),
            Judgment::Changed => false,
        };
        if is_trusted || view.has_lost_pages(pending) {
            return Ok(());
        }
        let clock = disk::clock();
        // Losing its name is a change, too, and so are lines that others appended.
        if let Some(known) = known.filter(|_| judgment == Judgment::Unclear || !is_there) {
            let mut source = view.source().opened_again()?;
            source.grown(known.identity.len);
            if let Ok((mut found, read)) = self.read_source(source, clock)
                && view.has_lines_of(&mut found, pending).is_ok_and(|same| same)
            {
                self.known = read.map(|read| Known { grown: now.len > known.identity.len, ..read });
                return Ok(());
            }
        }
        match self.read_source(view.source().opened_again()?, clock) {
            Ok(read) => self.give_way(view, pending, read),
            Err(error) if error.code() == ErrorCode::NotASession => self.start_over(view, pending),
            Err(error) => Err(error),
        }
    }

    /// The same before everything is written where nothing is. A file that nothing held open when it was removed
    /// is nowhere: what this process has goes on.
    fn verify_missing(&mut self, view: &mut SessionView, pending: &mut Pending) -> Result<()> {
        match self.verify(view, pending, false) {
            Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::NotASession) => {
                self.start_over(view, pending)
            }
            result => result,
        }
    }

    /// Copies a file that is no session to a name of its own, before a session takes its place.
    /// An empty file is not worth it.
    fn put_aside(&mut self, now_ms: i64) -> Result<()> {
        let failed = |error| Error::io(error, "cannot set aside the file that is no session", &self.path);
        let mut from = disk::open_plain(&self.path).map_err(failed)?;
        let identity = disk::identity_of(&from).map_err(failed)?;
        if identity.len == 0 || self.set_aside.as_ref().is_some_and(|(known, _)| *known == identity) {
            return Ok(());
        }
        let to = super::aside(&self.path, now_ms);
        let mut copy = disk::create_new(&to).map_err(failed)?;
        let copied = std::io::copy(&mut from, &mut copy)
            .and_then(|_| disk::sync(&copy))
            .and_then(|()| disk::sync_dir(self.dir()));
        if let Err(error) = copied {
            // Half a copy is none; the file itself is still there.
            let _: std::io::Result<()> = disk::unlink(&to);
            return Err(failed(error));
        }
        self.set_aside = Some((identity, to));
        Ok(())
    }

    /// One `write` of all unsaved lines. `false`: nothing was written, for another file has taken the place of
    /// the one that was looked at.
    fn append(&mut self, view: &mut SessionView, pending: &mut Pending) -> Result<bool> {
        let Some(mut known) = self.known.filter(|_| !pending.unsaved.is_empty()) else { return Ok(true) };
        let Batch { mut bytes, mut placed } = std::mem::take(&mut self.batch);
        bytes.clear();
        placed.clear();
        if !known.tail.ends_line() {
            // R46: what was torn stays a line of its own.
            bytes.push(b'\n');
        }
        for &index in &pending.unsaved {
            let text = view.in_memory(index).unwrap_or_default();
            let offset = bytes.len();
            let form = match view.prepared(index) {
                None => {
                    bytes.extend_from_slice(text);
                    LineForm::Same
                }
                Some(prepared) => {
                    let (line, form) = prepared.put_blobs(|hash, blob| self.blobs.put(hash, blob))?;
                    bytes.extend_from_slice(&line);
                    form
                }
            };
            placed.push((index, offset as u64, (bytes.len() - offset) as u32, form));
            bytes.push(b'\n');
        }
        let len = known.identity.len;
        let Some(file) = self.file(&known.identity)? else { return Ok(false) };
        if let Err((error, written)) = disk::write_once(file, &bytes) {
            // Cut back, unless somebody else wrote behind it meanwhile (R54). What stays then is
            // a torn line, which the next append does not touch.
            let grown = disk::identity_of(file).is_ok_and(|now| now.len == len + written as u64);
            if written > 0 && grown {
                let _: std::io::Result<()> = disk::truncate(file, len);
            }
            (known.appended, known.clock) = (true, disk::clock());
            self.known = Some(known);
            return Err(self.failed(error));
        }
        let expected = len + bytes.len() as u64;
        let end = disk::end_of_write(file).unwrap_or(expected);
        (self.dirty, self.wrote, self.closed) = (true, true, false);
        known.identity.len = end;
        known.tail.push(&bytes);
        (known.appended, known.clock) = (true, disk::clock());
        // A program that knows no lock may have written since the look: then the file is read anew
        // with the next write.
        self.known = (end == expected).then_some(known);
        if end != expected {
            view.source().mark_changed();
        }
        view.grown(end);
        let start = end - bytes.len() as u64;
        for &(index, offset, len, form) in &placed {
            view.written(index, start + offset, len, form);
            view.appended_line(index);
        }
        self.appended += placed.len() as u64;
        pending.written(placed.len());
        if bytes.capacity() <= LARGEST_BATCH {
            self.batch = Batch { bytes, placed };
        }
        if self.sync_appends {
            self.sync_blobs()?;
            self.sync("cannot write the session")?;
            view.synced();
        }
        Ok(true)
    }

    /// Puts a new file in the place of the old, or where there is none (R31).
    fn write_anew(&mut self, view: &mut SessionView, pending: &mut Pending, now_ms: i64) -> Result<()> {
        self.write_placed(view, pending, now_ms, None, TempFile::put_in_place)
    }

    fn write_placed(
        &mut self,
        view: &mut SessionView,
        pending: &mut Pending,
        now_ms: i64,
        from: Option<&Path>,
        put: fn(TempFile, &Path) -> std::io::Result<()>,
    ) -> Result<()> {
        // The old file goes without anybody asking whether the disk took what was written to it.
        view.recall(pending);
        // Listings go by when a session was used: a migration or a new name is not a use of it.
        let is_used = pending.unsaved.iter().any(|&index| view.tree().slot(index).kind == EntryKind::Message);
        let about = view.source().len();
        let like = from.unwrap_or(&self.path).to_owned();
        let kept = Like { file: &like, keep_time: !is_used };
        let (temp, layout) = self.write_file(about, Some(kept), |sink| rewrite(view, pending, now_ms, sink))?;
        // Ready before it is in place: from then on nothing can fail that loses track of it.
        let file = temp.file().try_clone().map_err(|error| self.failed(error))?;
        let source = file.try_clone().map_err(|error| self.failed(error))?;
        let source = Source::of_file(source, &self.path)?;
        let mut known = Known::of(&source, disk::clock())?;
        put(temp, &self.path).map_err(|error| self.failed(error))?;
        if let (Some(known), Ok(Some((_, changed)))) = (&mut known, source.state()) {
            // A new name is a change, too.
            known.changed = changed;
        }
        let old = view.rewritten(source, layout);
        view.set_path(&self.path);
        pending.clear();
        let old_len = old.len();
        disk::let_go((old, self.file.replace(Arc::new(file))), old_len);
        view.synced();
        self.known = known;
        (self.dirty, self.wrote, self.closed) = (false, true, false);
        let placed = self.sync_dir();
        self.sync_failed = placed.is_err();
        placed
    }

    /// Writes a temporary file beside the session's and waits until it would survive a power cut.
    fn write_file<T>(
        &mut self,
        about: u64,
        like: Option<Like<'_>>,
        write: impl FnOnce(&mut FileSink<'_>) -> Result<T>,
    ) -> Result<(TempFile, T)> {
        disk::create_dir(self.dir()).map_err(|error| self.failed(error))?;
        let temp = TempFile::of_session(&self.path).map_err(|error| self.failed(error))?;
        if let Some(Like { file, .. }) = like {
            temp.take_mode_of(file);
        }
        disk::reserve(temp.file(), about).map_err(|error| self.failed(error))?;
        let mut sink = FileSink {
            file: temp.file(),
            buf: Vec::with_capacity(FileSink::STEP),
            written: 0,
            started: 0,
            inner: self,
        };
        let written = write(&mut sink)?;
        sink.write_out()?;
        let len = sink.written;
        if len < about {
            // Gives back what was reserved and is not needed, which the file would keep.
            disk::truncate(temp.file(), len).map_err(|error| self.failed(error))?;
        }
        if let Some(Like { file, keep_time: true }) = like {
            temp.take_time_of(file);
        }
        self.blobs.sync()?;
        disk::sync(temp.file()).map_err(|error| self.failed(error))?;
        Ok((temp, written))
    }

    fn dir(&self) -> &Path {
        disk::dir_of(&self.path)
    }

    fn sync_dir(&self) -> Result<()> {
        disk::sync_dir(self.dir()).map_err(|error| self.failed(error))
    }
}

/// The file whose mode and owner a new one takes, and with `keep_time` when it was last changed.
#[derive(Clone, Copy)]
struct Like<'a> {
    file: &'a Path,
    keep_time: bool,
}

fn occupied(path: &Path) -> Error {
    Error::new(ErrorCode::AlreadyExists, "cannot move the session: the file exists").at(path)
}

fn gone(path: &Path) -> Error {
    Error::new(ErrorCode::Gone, "another process deleted the session").at(path)
}

/// Writes in large steps.
struct FileSink<'a> {
    file: &'a File,
    buf: Vec<u8>,
    /// Bytes written, and how many of them are on their way to the disk.
    written: u64,
    started: u64,
    inner: &'a mut Inner,
}

impl FileSink<'_> {
    const STEP: usize = 256 << 10;
    /// The disk begins while the next bytes are copied.
    const WRITE_BACK: u64 = 8 << 20;

    fn write_out(&mut self) -> Result<()> {
        disk::write_all(self.file, &self.buf).map_err(|error| self.inner.failed(error))?;
        self.written += self.buf.len() as u64;
        self.buf.clear();
        if self.written - self.started >= Self::WRITE_BACK {
            disk::start_write_back(self.file, self.started..self.written);
            self.started = self.written;
        }
        Ok(())
    }
}

impl Sink for FileSink<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.buf.extend_from_slice(bytes);
        if self.buf.len() >= Self::STEP { self.write_out() } else { Ok(()) }
    }

    fn copy(&mut self, source: &Source, mut span: Range<u64>, edges: &[Range<u64>]) -> Result<()> {
        while !span.is_empty() {
            let have = self.buf.len();
            let step = ((Self::STEP - have) as u64).min(span.end - span.start);
            self.buf.resize(have + step as usize, 0);
            source.read_exact_at(&mut self.buf[have..], span.start)?;
            check_edges(source, &self.buf[have..], span.start, edges)?;
            span.start += step;
            if self.buf.len() >= Self::STEP {
                self.write_out()?;
            }
        }
        Ok(())
    }

    fn blob(&mut self, hash: BlobHash, bytes: &[u8]) -> Result<()> {
        self.inner.blobs.put(hash, bytes)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
