use super::*;
use std::path::Path;

fn text(conn: &Connection, pragma: &str) -> String {
    conn.query_row(&format!("PRAGMA {pragma}"), (), |row| row.get(0)).unwrap()
}

fn database(path: &Path) -> Database {
    Database::new(path.to_owned(), Duration::from_millis(30), Access::Write)
}

/// A database in write-ahead mode with one prompt.
fn with_a_prompt(dir: &Path) -> PathBuf {
    let path = dir.join("history.db");
    let database = database(&path);
    let link = database.open_writing().unwrap();
    assert_eq!(text(&link.conn, "journal_mode"), "wal");
    assert_eq!(link.conn.query_row("PRAGMA synchronous", (), |row| row.get::<_, i64>(0)).unwrap(), 1, "NORMAL");
    link.conn.execute("INSERT INTO history (prompt) VALUES ('x')", ()).unwrap();
    path
}

fn prompts(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM history", (), |row| row.get(0)).unwrap()
}

// F32: SQLite's `unix-dotfile` has no shared memory, as a network folder.
#[cfg(unix)]
#[test]
fn f32_without_shared_memory_there_is_a_rollback_journal() {
    let dir = tempfile::tempdir().unwrap();
    let connect = |path: &Path| {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Connection::open_with_flags_and_vfs(path, flags, "unix-dotfile").unwrap()
    };
    // A database that was in write-ahead mode on another file system.
    let path = with_a_prompt(dir.path());
    let mut conn = connect(&path);
    assert!(conn.query_row("SELECT count(*) FROM history", (), |_| Ok(())).is_err(), "it has shared memory");
    database(&path).set_up(&mut conn).unwrap();
    assert_eq!(text(&conn, "journal_mode"), "delete");
    assert_eq!(conn.query_row("PRAGMA synchronous", (), |row| row.get::<_, i64>(0)).unwrap(), 2, "FULL");
    assert_eq!(prompts(&conn), 1);
    // Nobody else is locked out.
    let other = connect(&path);
    other.execute("INSERT INTO history (prompt) VALUES ('y')", ()).unwrap();
    assert_eq!(prompts(&conn), 2);

    let new = dir.path().join("new.db");
    let mut conn = connect(&new);
    database(&new).set_up(&mut conn).unwrap();
    conn.execute("INSERT INTO history (prompt) VALUES ('x')", ()).unwrap();
    assert_eq!((text(&conn, "journal_mode").as_str(), prompts(&conn)), ("delete", 1));
}

// F32: what happens in a folder known to be on the network.
#[test]
fn f32_the_write_ahead_log_is_left_unless_others_use_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_a_prompt(dir.path());
    let patience = Duration::from_millis(30);
    let conn = Connection::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    assert_eq!(prompts(&other), 1);
    leave_wal(&conn, patience).unwrap();
    assert_eq!((text(&conn, "journal_mode").as_str(), prompts(&conn)), ("wal", 1));
    drop(other);
    leave_wal(&conn, patience).unwrap();
    assert_eq!((text(&conn, "journal_mode").as_str(), prompts(&conn)), ("delete", 1));
    assert_eq!(text(&conn, "locking_mode"), "normal");
    let other = Connection::open(&path).unwrap();
    other.execute("INSERT INTO history (prompt) VALUES ('y')", ()).unwrap();
    assert_eq!(conn.query_row("PRAGMA busy_timeout", (), |row| row.get::<_, i64>(0)).unwrap(), 30);
}

#[cfg(target_os = "linux")]
#[test]
fn f32_file_systems_of_several_machines() {
    // From linux/magic.h, and the sources of CIFS, and as a negative number of 32 bits.
    for shared in [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0xffff_ffff_ff53_4d42] {
        assert!(is_shared(shared), "{shared:x}");
    }
    // ext4, tmpfs, btrfs, xfs, overlayfs, zfs.
    for own in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630, 0x2fc1_2fc1] {
        assert!(!is_shared(own), "{own:x}");
    }
}

#[test]
fn the_busy_timeout_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = with_a_prompt(dir.path());
    let link = database(&path).link(OPENING).unwrap();
    assert_eq!(link.conn.query_row("PRAGMA busy_timeout", (), |row| row.get::<_, i64>(0)).unwrap(), 30);
}

#[test]
fn names_of_files_for_sqlite() {
    assert_eq!(unlocked_uri(Path::new("/a b/ü?#%.db")), "file:/a%20b/%c3%bc%3f%23%25.db?immutable=1");
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("file:a?mode=memory&#%41 ü");
    fs::create_dir(&odd).unwrap();
    let path = with_a_prompt(&odd);
    let mut database = database(&path);
    database.access = Access::ReadUnlocked;
    let link = database.link(OPENING).unwrap();
    assert_eq!(prompts(&link.conn), 1);
    assert!(link.conn.execute("DELETE FROM history", ()).is_err());
}
