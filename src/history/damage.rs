//! Damaged databases: set aside, and begun anew.

use super::database::{Database, OPENING, beside};
use super::schema;
use crate::entry::{Generator as _, SystemGenerator, time};
use crate::error::{Error, Result};
use crate::storage::disk;
use crate::storage::lock::SessionLock;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// The file is no database, or not a sound one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Makes a damaged database usable. When only the words are damaged, they are made anew from the
/// prompts. Else everything is copied to another file, which is told, and the database is emptied.
///
/// It is emptied in place, by SQLite, under its locks: a database that is renamed or replaced takes
/// prompts from processes that have it open with it, and they would mistake its `-wal` for theirs.
pub(super) fn mend(database: &Database) -> Result<Option<PathBuf>> {
    // Two processes that find the damage must not both empty the database.
    let mut lock = SessionLock::new(&database.path, database.patience);
    let mending = |error: Error| {
        Error::new(error.code(), format!("cannot mend the damaged history: {}", error.message())).at(&database.path)
    };
    let _held = lock.acquire(true).map_err(mending)?;

    let mut link = database.link(OPENING)?;
    let rebuilt = schema::rebuild_words(&mut link.conn);
    match is_sound(&link.conn) {
        Ok(true) => return rebuilt.map(|()| None).map_err(|error| database.failed(&error, OPENING)),
        Ok(false) => {}
        Err(error) if is_damage(&error) => {}
        Err(error) => return Err(database.failed(&error, OPENING)),
    }
    drop(link);

    let copy = copy_aside(&database.path)
        .map_err(|error| Error::io(error, "cannot set aside the damaged history", &database.path))?;
    let mut link = database.link(OPENING)?;
    let emptied = empty(&link.conn).and_then(|()| database.set_up(&mut link.conn));
    emptied.map_err(|error| database.failed(&error, OPENING))?;
    Ok(Some(copy))
}

fn is_sound(conn: &Connection) -> rusqlite::Result<bool> {
    conn.query_row("PRAGMA quick_check(1)", (), |row| Ok(row.get_ref(0)?.as_str().is_ok_and(|said| said == "ok")))
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
        // Closing it would take away the locks that SQLite has on the file in this process, so it
        // stays open. That is a descriptor or two for each damage.
        let from = match File::open(beside(path, suffix)) {
            Ok(from) => ManuallyDrop::new(from),
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
