//! Damaged databases: set aside, and begun anew.

use super::database::{Database, OPENING, beside};
use super::schema;
use crate::entry::{Generator as _, SystemGenerator, time};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::disk;
use crate::storage::lock::SessionLock;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode as Sqlite, ffi};
use std::fs::File;
use std::io::{self, Read as _};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// The file is no database, or not a sound one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase))
}

/// The table of words may be why something failed. It has no error of its own: a piece of its index that is there twice
/// is a constraint that is not met, and a table that it lacks an error of SQL.
pub(super) fn may_be_of_words(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(code, _) => {
            matches!(code.code, Sqlite::ConstraintViolation | Sqlite::Unknown)
                && code.extended_code != ffi::SQLITE_CONSTRAINT_FOREIGNKEY
        }
        rusqlite::Error::SqlInputError { .. } => true,
        _ => false,
    }
}

/// The failure of damaged words, as one of damage.
pub(super) fn of_words(error: &rusqlite::Error) -> rusqlite::Error {
    let said = format!("the table of words is damaged: {error}");
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT_VTAB), Some(said))
}

/// Makes a damaged database usable. When only what is made from the prompts is damaged, the words and
/// the indexes, it is made anew from them. Else everything is copied to another file, which is told, and the database is emptied.
///
/// It is emptied in place, by SQLite, under its locks: a database that is renamed or replaced takes
/// prompts from processes that have it open with it, and they would mistake its `-wal` for theirs.
///
/// # Errors
/// `INVALID_ARGUMENT` for a file that was never a database; it stays as it is.
pub(super) fn mend(database: &Database) -> Result<Option<PathBuf>> {
    refuse_others(&database.path)?;
    // Two processes that find the damage must not both empty the database.
    let mut lock = SessionLock::new(&database.path, database.patience);
    let mending = |error: Error| {
        Error::new(error.code(), format!("cannot mend the damaged history: {}", error.message())).at(&database.path)
    };
    let _held = lock.acquire(true).map_err(mending)?;

    let mut link = database.link(OPENING)?;
    if rebuild(&mut link.conn).map_err(|error| database.failed(&error, OPENING))? {
        return Ok(None);
    }
    drop(link);

    let copy = copy_aside(&database.path)
        .map_err(|error| Error::io(error, "cannot set aside the damaged history", &database.path))?;
    let mut link = database.link(OPENING)?;
    let emptied = empty(&link.conn).and_then(|()| database.set_up(&mut link.conn));
    emptied.map_err(|error| database.failed(&error, OPENING))?;
    Ok(Some(copy))
}

/// Refuses a file that was never a database. One that was begins as they do, or with NUL bytes, which is
/// what the crash of a file system leaves, as far as it goes.
pub(super) fn refuse_others(path: &Path) -> Result<()> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut head = Vec::new();
    open_for_good(path)
        .and_then(|file| (&*file).take(MAGIC.len() as u64).read_to_end(&mut head))
        .map_err(|error| Error::io(error, OPENING, path))?;
    if MAGIC.starts_with(&head) || head.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    let message =
        "the history is not a SQLite database, so it is left as it is: name another file, or move this one away";
    Err(Error::new(ErrorCode::InvalidArgument, message).at(path))
}

/// Opens a file of the database for reading. Closing it would take away the locks that SQLite has on
/// it in this process, so it stays open. That is a descriptor or two for each damage.
fn open_for_good(path: &Path) -> io::Result<ManuallyDrop<File>> {
    File::open(path).map(ManuallyDrop::new)
}

/// Makes anew what is made from the prompts. `false` when the database is damaged all the same.
fn rebuild(conn: &mut Connection) -> rusqlite::Result<bool> {
    if schema::rebuild(conn).is_ok() && is_sound(conn, "1")? {
        return Ok(true);
    }
    // Damaged pages of the words or the index can be left behind, when the prompts are sound.
    let forced = match schema::rebuild_by_force(conn) {
        Ok(()) if is_sound(conn, "history")? => conn.execute_batch("VACUUM"),
        Ok(()) => return Ok(false),
        Err(error) => Err(error),
    };
    match forced {
        Err(error) if is_sound(conn, "1")? && !is_damage(&error) && !is_constraint(&error) => Err(error),
        Err(_) => Ok(false),
        Ok(()) => is_sound(conn, "1"),
    }
}

/// Rows and an index that may have a value only once say different things.
fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(Sqlite::ConstraintViolation)
}

/// Whether SQLite's quick check finds nothing in a table, or, when it is told to find one fault, in the database.
fn is_sound(conn: &Connection, what: &str) -> rusqlite::Result<bool> {
    let check = format!("PRAGMA quick_check({what})");
    match conn.query_row(&check, (), |row| Ok(row.get_ref(0)?.as_str().is_ok_and(|said| said == "ok"))) {
        Err(error) if is_damage(&error) => Ok(false),
        result => result,
    }
}

fn empty(conn: &Connection) -> rusqlite::Result<()> {
    // A connection that knows the tables, as far as they can be read, keeps the journal's kind,
    // which could not be changed while others use the database.
    let _: rusqlite::Result<()> = conn.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()));
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = conn.execute_batch("VACUUM");
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

/// Copies the database and its journals, so that the copy opens as the database did.
fn copy_aside(path: &Path) -> io::Result<PathBuf> {
    let now = time::in_file_name(&time::format(SystemGenerator.now_ms()));
    let to = beside(path, &format!(".invalid-{now}"));
    for suffix in ["", "-wal", "-journal"] {
        let from = match open_for_good(&beside(path, suffix)) {
            Ok(from) => from,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !suffix.is_empty() => continue,
            Err(error) => return Err(error),
        };
        let to = beside(&to, suffix);
        let copy = disk::create_new(&to)?;
        if let Err(error) = io::copy(&mut &*from, &mut &copy).and_then(|_| disk::sync(&copy)) {
            disk::unlink(&to)?;
            return Err(error);
        }
    }
    if let Some(dir) = path.parent() {
        disk::sync_dir(dir)?;
    }
    Ok(to)
}
