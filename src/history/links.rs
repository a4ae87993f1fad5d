//! The links of this process to the databases at one path.
//!
//! SQLite takes its locks for the whole process, and the files `-wal` and `-shm` go by the path. When
//! another program puts a copy in the place of the database, a link to the old file and one to the
//! new use one `-shm` without knowing of each other: closing either gives up the locks of both,
//! another process then believes that no process uses the `-shm`, truncates it, and whoever has it
//! mapped is killed (SIGBUS). So a link is opened only when no link of this process leads to another
//! file than the one that is at the path.

use super::database::{Database, Link};
use crate::error::Result;
use parking_lot::{Mutex, ReentrantMutex, ReentrantMutexGuard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// What the storages of one path share.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Held while a link is opened. Whoever waits for it holds no link.
    opening: ReentrantMutex<()>,
    slots: Mutex<Vec<Weak<Mutex<Place>>>>,
}

/// Where one user of a database keeps its link.
#[derive(Debug)]
pub(super) struct Slot(Arc<Mutex<Place>>);

#[derive(Debug, Default)]
struct Place {
    link: Option<Link>,
    closed: bool,
}

/// The links that are in use.
static KNOWN: Mutex<BTreeMap<PathBuf, Weak<Links>>> = Mutex::new(BTreeMap::new());

impl Drop for Links {
    fn drop(&mut self) {
        let mut known = KNOWN.lock();
        known.retain(|_, links| links.strong_count() > 0);
        if known.is_empty() {
            // An empty map keeps memory.
            *known = BTreeMap::new();
        }
    }
}

impl Links {
    pub(super) fn of(path: &Path) -> Arc<Self> {
        let key = real(path);
        let mut known = KNOWN.lock();
        if let Some(links) = known.get(&key).and_then(Weak::upgrade) {
            return links;
        }
        let links = Arc::new(Self::default());
        known.insert(key, Arc::downgrade(&links));
        links
    }

    /// No other thread opens a link until the guard is dropped.
    pub(super) fn opening(&self) -> ReentrantMutexGuard<'_, ()> {
        self.opening.lock()
    }

    /// Closes the links that do not lead to the file that has this inode, once they are not in use.
    pub(super) fn close_others(&self, inode: Option<u64>) {
        let slots: Vec<_> = self.slots.lock().iter().filter_map(Weak::upgrade).collect();
        for slot in slots {
            let mut place = slot.lock();
            if place.link.as_ref().is_some_and(|link| link.inode() != inode) {
                place.link = None;
            }
        }
    }

    pub(super) fn slot(&self) -> Slot {
        let slot = Arc::<Mutex<Place>>::default();
        let mut slots = self.slots.lock();
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        Slot(slot)
    }
}

impl Slot {
    pub(super) fn put(&self, link: Link) {
        let mut place = self.0.lock();
        if !place.closed {
            place.link = Some(link);
        }
    }

    /// Does something with a link to the file that is at the path of the database now; `open` makes
    /// one where there is none, with nothing of this process open on another file. The outer error
    /// is one of opening.
    pub(super) fn with<T>(
        &self,
        database: &Database,
        open: impl Fn() -> Result<Link>,
        act: impl Fn(&mut Link) -> rusqlite::Result<T>,
    ) -> Result<rusqlite::Result<T>> {
        loop {
            let mut place = self.0.lock();
            if place.closed {
                return Err(super::closed(&database.path));
            }
            if let Some(link) = place.link.as_mut().filter(|link| database.is_current(link)) {
                let done = act(link);
                if !database.keeps_links() {
                    place.link = None;
                }
                return Ok(done);
            }
            place.link = None;
            drop(place);
            let _opening = database.links.opening();
            self.put(open()?);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().closed
    }

    /// Closes the link; there will not be another one.
    pub(super) fn close(&self) {
        *self.0.lock() = Place { link: None, closed: true };
    }
}

/// One spelling of a path.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path)
        .or_else(|_| {
            Ok::<_, std::io::Error>(
                std::fs::canonicalize(path.parent().unwrap_or(path))?.join(path.file_name().unwrap_or_default()),
            )
        })
        .unwrap_or_else(|_| path.to_owned())
}
