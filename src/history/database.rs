//! Where the database lies, connections to it, and which journal it has.

use super::links::{Links, Slot};
use super::{damage, schema};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::disk;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode as Sqlite, MAIN_DB, OpenFlags};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What can be done with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
    /// Only past SQLite's locks: it is in write-ahead mode, in a folder that cannot be written.
    ReadUnlocked,
}

/// The database of one [`HistoryStorage`](super::HistoryStorage).
#[derive(Debug)]
pub(super) struct Database {
    pub(super) path: PathBuf,
    /// How long another's lock is waited for.
    pub(super) patience: Duration,
    pub(super) access: Access,
    /// Why it cannot be written, when that is known.
    forbidden: Option<Error>,
    /// Where the last damaged database was copied to.
    pub(super) set_aside: Mutex<Option<PathBuf>>,
    pub(super) links: Arc<Links>,
}

/// A connection, and the file it was opened for.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) conn: Connection,
    inode: Option<u64>,
}

impl Link {
    pub(super) fn inode(&self) -> Option<u64> {
        self.inode
    }
}

impl Database {
    /// Opens the database for writing, or, when that is forbidden, for reading. A missing one is
    /// made, a damaged one is mended.
    pub(super) fn open(path: PathBuf, patience: Duration) -> Result<(Self, Slot)> {
        let mut database = Self::new(path, patience, Access::Write);
        let links = Arc::clone(&database.links);
        let _opening = links.opening();
        match database.open_writing() {
            Ok(link) if link.conn.is_readonly(MAIN_DB).is_ok_and(|is| !is) => return Ok(database.keep(link)),
            Ok(_) => {}
            Err(error) if is_about_access(&error) => database.forbidden = Some(error),
            Err(error) => return Err(error),
        }
        match database.open_reading() {
            Ok(link) => Ok(database.keep(link)),
            Err(error) => Err(database.forbidden.unwrap_or(error)),
        }
    }

    /// Opens a database that is there, for reading.
    pub(super) fn open_existing(path: PathBuf, patience: Duration) -> Result<(Self, Slot)> {
        let mut database = Self::new(path, patience, Access::Read);
        if !database.exists()? {
            return Err(Error::io(io::ErrorKind::NotFound.into(), OPENING, &database.path));
        }
        let links = Arc::clone(&database.links);
        let _opening = links.opening();
        let link = database.open_reading()?;
        Ok(database.keep(link))
    }

    fn new(path: PathBuf, patience: Duration, access: Access) -> Self {
        let links = Links::of(&path);
        Self { path, patience, access, forbidden: None, set_aside: Mutex::default(), links }
    }

    fn keep(self, link: Link) -> (Self, Slot) {
        let slot = self.links.slot();
        slot.put(link);
        (self, slot)
    }

    /// The error for whoever wants to write all the same.
    pub(super) fn read_only(&self) -> Error {
        let read_only = || Error::new(ErrorCode::PermissionDenied, "the history is read-only").at(&self.path);
        self.forbidden.clone().unwrap_or_else(read_only)
    }

    fn open_reading(&mut self) -> Result<Link> {
        self.access = Access::Read;
        let result = self.link(OPENING).and_then(|link| {
            schema::probe(&link.conn).map_err(|error| self.failed(&error, OPENING))?;
            Ok(link)
        });
        let Err(error) = result else { return result };
        // Without the right to make a `-shm` file SQLite reads such a database only when told that
        // nobody changes it. What is not yet in the main file would be missed.
        if !is_about_access(&error) || !self.is_settled() {
            return Err(error);
        }
        self.access = Access::ReadUnlocked;
        let link = self.link(OPENING)?;
        match schema::probe(&link.conn) {
            Ok(()) => Ok(link),
            Err(_) => Err(error),
        }
    }

    /// A connection to a database with all tables, made where they are missing.
    pub(super) fn open_writing(&self) -> Result<Link> {
        self.create_missing()?;
        // SQLite takes a file of one byte for an empty one.
        if fs::metadata(&self.path).is_ok_and(|found| found.len() == 1) {
            damage::refuse_others(&self.path)?;
        }
        let mut link = self.link(OPENING)?;
        match self.set_up(&mut link.conn) {
            Err(error) if damage::is_damage(&error) => {
                drop(link);
                self.mend(&error, OPENING)?;
                link = self.link(OPENING)?;
                self.set_up(&mut link.conn).map_err(|error| self.failed(&error, OPENING))?;
            }
            result => result.map_err(|error| self.failed(&error, OPENING))?,
        }
        Ok(link)
    }

    pub(super) fn set_up(&self, conn: &mut Connection) -> rusqlite::Result<()> {
        if conn.is_readonly(MAIN_DB)? {
            return Ok(());
        }
        if self.is_on_network() {
            leave_wal(conn, self.patience)?;
        } else {
            enter_wal(conn)?;
        }
        match schema::ensure(conn) {
            // So it looks where there is no shared memory for the write-ahead log.
            Err(error) if matches!(error.sqlite_error_code(), Some(Sqlite::CannotOpen | Sqlite::SystemIoFailure)) => {
                leave_wal(conn, self.patience)?;
                schema::ensure(conn)
            }
            result => result,
        }
    }

    /// A new connection, for `what`, to the file that is at the path now; the caller sees to it that
    /// no other thread opens one until it is in its slot, or dropped.
    pub(super) fn link(&self, what: &str) -> Result<Link> {
        loop {
            let inode = self.inode();
            self.links.close_others(inode);
            let conn = self.connect().map_err(|error| self.failed(&error, what))?;
            // Nothing but the database itself is open yet.
            if self.inode() == inode {
                return Ok(Link { conn, inode });
            }
        }
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let conn = match self.access {
            Access::ReadUnlocked => {
                let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(unlocked_uri(&self.path), flags)?
            }
            // For reading too: a connection that could not write would leave `-wal` and `-shm` behind.
            Access::Write | Access::Read => {
                Connection::open_with_flags(&self.path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)?
            }
        };
        // Before anything else: all that follows may meet another's lock.
        conn.busy_timeout(self.patience)?;
        if self.access != Access::Write {
            conn.pragma_update(None, "query_only", true)?;
        }
        Ok(conn)
    }

    /// Whether the link leads to the file that is at the path now.
    pub(super) fn is_current(&self, link: &Link) -> bool {
        link.inode.is_some() && self.inode() == link.inode
    }

    /// Whether a link can be used again. Without locks it would not notice a change.
    pub(super) fn keeps_links(&self) -> bool {
        self.access != Access::ReadUnlocked
    }

    fn inode(&self) -> Option<u64> {
        disk::identity(&self.path).ok().flatten().map(|identity| identity.inode)
    }

    /// Whether there is a file at the path.
    fn exists(&self) -> Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) if found.is_file() => Ok(true),
            Ok(found) if found.is_dir() => Err(Error::io(io::ErrorKind::IsADirectory.into(), OPENING, &self.path)),
            Ok(_) => Err(Error::new(ErrorCode::InvalidArgument, "the history is not a plain file").at(&self.path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(error, OPENING, &self.path)),
        }
    }

    /// Makes an empty file where there is none, for its owner only (R55): SQLite gives it to
    /// everybody, and `-wal` and `-shm` have the mode of the database.
    fn create_missing(&self) -> Result<()> {
        // Closing a file takes away the locks that SQLite has on it in this process, so nobody may
        // use the new file before it is closed.
        static CREATING: Mutex<()> = Mutex::new(());
        let _creating = CREATING.lock();
        if self.exists()? {
            return Ok(());
        }
        if let Some(dir) = self.path.parent() {
            disk::create_dir(dir).map_err(|error| Error::io(error, "cannot make the folder of the history", dir))?;
        }
        let file = disk::open_append(&self.path, true);
        file.map(drop).map_err(|error| Error::io(error, "cannot make the history", &self.path))
    }

    /// Nothing waits in the write-ahead log.
    fn is_settled(&self) -> bool {
        match fs::metadata(beside(&self.path, "-wal")) {
            Ok(wal) => wal.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Mends a damaged database after the failure `error` of doing `what`; whether it was begun anew.
    pub(super) fn mend(&self, error: &rusqlite::Error, what: &str) -> Result<bool> {
        if self.access != Access::Write {
            return Err(self.failed(error, what));
        }
        let _opening = self.links.opening();
        let copy = damage::mend(self)?;
        let anew = copy.is_some();
        if anew {
            *self.set_aside.lock() = copy;
        }
        Ok(anew)
    }

    /// The error for a failure of SQLite's.
    pub(super) fn failed(&self, error: &rusqlite::Error, what: &str) -> Error {
        let code = match error.sqlite_error_code() {
            Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => {
                let waited = self.patience.as_millis();
                let message = format!("{what}: another program holds the lock of the database; waited {waited} ms");
                return Error::new(ErrorCode::Locked, message).at(&self.path);
            }
            Some(Sqlite::ReadOnly | Sqlite::PermissionDenied) => ErrorCode::PermissionDenied,
            Some(Sqlite::TooBig) => ErrorCode::InvalidArgument,
            Some(Sqlite::CannotOpen) => {
                if let Some(error) = self.forbidden(what) {
                    return error;
                }
                ErrorCode::Io
            }
            _ => ErrorCode::Io,
        };
        Error::new(code, format!("{what}: {}", reason(error))).at(&self.path)
    }

    /// Why SQLite cannot open a file; it does not say.
    fn forbidden(&self, what: &str) -> Option<Error> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Access, access};
            if let Err(error) = access(&self.path, Access::READ_OK) {
                return Some(Error::io(error.into(), what, &self.path));
            }
            let dir = self.path.parent()?;
            if let Err(error) = access(dir, Access::WRITE_OK) {
                return Some(Error::io(error.into(), &format!("{what}: cannot write in its folder"), dir));
            }
        }
        let _ = what;
        None
    }

    /// Whether machines share the file: the write-ahead log needs memory that all who write share.
    fn is_on_network(&self) -> bool {
        #[cfg(target_os = "linux")]
        return rustix::fs::statfs(&self.path).is_ok_and(|fs| is_shared(fs.f_type as u64));
        #[cfg(windows)]
        return matches!(self.path.components().next(), Some(std::path::Component::Prefix(prefix))
            if matches!(prefix.kind(), std::path::Prefix::UNC(..) | std::path::Prefix::VerbatimUNC(..)));
        #[cfg(not(any(target_os = "linux", windows)))]
        false
    }
}

fn is_about_access(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::PermissionDenied | ErrorCode::Io)
}

pub(super) const OPENING: &str = "cannot open the history";

/// What SQLite says of a failure.
fn reason(error: &rusqlite::Error) -> String {
    match error {
        // The message would have the path once more.
        rusqlite::Error::SqliteFailure(code, _) if code.code == Sqlite::CannotOpen => {
            "unable to open database file".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The database with a suffix to its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Asks for a write-ahead log: who reads is never in the way of who writes. A file system without
/// shared memory keeps its rollback journal, and so does a database that somebody is using.
fn enter_wal(conn: &Connection) -> rusqlite::Result<()> {
    match conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
        Ok(mode) if mode == "wal" => conn.pragma_update(None, "synchronous", "NORMAL"),
        Err(error) if damage::is_damage(&error) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Gives the database a rollback journal. While others use its write-ahead log it keeps that.
fn leave_wal(conn: &Connection, patience: Duration) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::ZERO)?;
    // Whoever locks others out needs no shared memory.
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let left = conn.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()));
    conn.pragma_update(None, "locking_mode", "NORMAL")?;
    // The lock goes with the next reading.
    let read = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()));
    conn.busy_timeout(patience)?;
    match left.and(read) {
        Err(error) if damage::is_damage(&error) => Err(error),
        _ => Ok(()),
    }
}

/// A name for SQLite that says: nobody changes the file, take no lock.
fn unlocked_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02x}"),
        }
    }
    uri + "?immutable=1"
}

/// File systems that other machines can write to, by their numbers in `statfs`. What runs in user
/// space (FUSE) may be one.
#[cfg(target_os = "linux")]
const fn is_shared(kind: u64) -> bool {
    matches!(
        kind as u32,
        0x6969 // NFS
        | 0x517b | 0xff53_4d42 | 0xfe53_4d42 // SMB
        | 0x0102_1997 // 9P
        | 0x6573_5546 // FUSE
        | 0x5346_414f | 0x6b41_4653 // AFS
        | 0x00c3_6400 // Ceph
        | 0x0bd0_0bd0 // Lustre
        | 0x4750_4653 // GPFS
        | 0x0116_1970 // GFS2
        | 0x7461_636f // OCFS2
        | 0x7375_7245 // Coda
        | 0x786f_4256 // VirtualBox
        | 0xbacb_acbc // VMware
    )
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
