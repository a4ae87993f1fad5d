//! A database whose bytes are damaged.

use super::*;

/// A database with 2,000 prompts that is used by nobody.
fn large(place: &Place) {
    drop(place.open());
    let conn = place.raw();
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO history (prompt) SELECT 'prompt ' || i || ' ' || hex(randomblob(40)) FROM n";
    conn.execute(many, ()).unwrap();
}

fn overwrite(path: &Path, from: usize, bytes: &[u8]) {
    let mut whole = fs::read(path).unwrap();
    whole[from..from + bytes.len()].copy_from_slice(bytes);
    fs::write(path, whole).unwrap();
}

#[test]
fn a_damaged_database_is_set_aside() {
    type Damage<'d> = &'d dyn Fn(&Path);
    let cases: [(&str, Damage<'_>); 7] = [
        ("two bytes", &|path| fs::write(path, b"SQ").unwrap()),
        ("the magic alone", &|path| fs::write(path, b"SQLite format 3\0").unwrap()),
        ("only NUL bytes", &|path| fs::write(path, [0; 5000]).unwrap()),
        ("NUL bytes first", &|path| overwrite(path, 0, &[0; 512])),
        ("header", &|path| overwrite(path, 16, &[0x55; 84])),
        ("schema", &|path| overwrite(path, 100, &[0x55; 3996])),
        ("rows", &|path| {
            let len = fs::metadata(path).unwrap().len() as usize;
            overwrite(path, 4096, &vec![0x55; len - 4096]);
        }),
    ];
    for (name, damage) in cases {
        let place = Place::new();
        large(&place);
        damage(&place.path);
        let damaged = fs::read(&place.path).unwrap();

        let history = place.open();
        let copy = history.set_aside().unwrap_or_else(|| panic!("{name}: nothing was set aside"));
        assert_eq!(place.copies(), [&*copy], "{name}");
        assert_eq!(fs::read(&copy).unwrap(), damaged, "{name}");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&copy).unwrap()) & 0o777, 0o600, "{name}");
        assert_eq!(recent(&history), [""; 0], "{name}");
        add(&history, &["again"]);
        assert_eq!(found(&history, "again"), ["again"], "{name}");
        let conn = place.raw();
        assert_eq!(schema(&conn), r42(), "{name}");
        assert_eq!(pragma(&conn, "integrity_check"), "ok", "{name}");
        // Once is enough.
        drop(history);
        assert_eq!(recent(&place.open()), ["again"], "{name}");
        assert_eq!(place.copies().len(), 1, "{name}");
    }
}

#[test]
fn a_file_that_was_never_a_database_is_left_alone() {
    let utf16 = "\u{feff}text".encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let cases: [&[u8]; 6] = [
        b"these are no rows",
        b"x",
        b"SQLite format 2\0 of an older kind",
        b"\0text after one NUL byte",
        &utf16,
        &[0x55; 9000],
    ];
    for bytes in cases {
        let place = Place::new();
        fs::write(&place.path, bytes).unwrap();
        let error = HistoryStorage::open(&place.path).unwrap_err();
        assert_eq!((error.code(), error.path()), (ErrorCode::InvalidArgument, Some(&*place.path)), "{bytes:?}");
        let said =
            "the history is not a SQLite database, so it is left as it is: name another file, or move this one away";
        assert_eq!(error.message(), said);
        assert_eq!(fs::read(&place.path).unwrap(), bytes);
        // Nor is anything beside it.
        assert_eq!(fs::read_dir(place.path.parent().unwrap()).unwrap().count(), 1, "{bytes:?}");
    }
}

#[test]
fn who_only_reads_leaves_a_damaged_database_alone() {
    let place = Place::new();
    fs::write(&place.path, "these are no rows").unwrap();
    let error = HistoryStorage::open_read_only(&place.path).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*place.path)));
    assert!(error.message().contains("not a database"), "{error}");
    assert_eq!(fs::read(&place.path).unwrap(), b"these are no rows");
    assert_eq!(place.copies(), [""; 0].map(PathBuf::from));
}

#[test]
fn damage_while_it_is_open_is_mended_for_everybody() {
    for reads_first in [true, false] {
        let place = Place::new();
        large(&place);
        let (first, second) = (place.open(), place.open());
        add(&first, &["kept in the copy"]);
        // A second process would see the same: each of the two has its own connections.
        assert_eq!(second.recent(1).unwrap()[0].prompt, "kept in the copy");
        let conn = place.raw();
        conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let pages: i64 = pragma(&conn, "page_count").parse().unwrap();
        drop(conn);
        scribble(&place.path, 1, pages);

        if reads_first {
            assert_eq!(recent(&first), [""; 0]);
        }
        add(&first, &["one"]);
        add(&second, &["two"]);
        assert_eq!(recent(&first), ["two", "one"], "{reads_first}");
        assert_eq!(found(&second, "one"), ["one"]);
        // One copy, with the write-ahead log that belongs to it.
        let mut copies = place.copies();
        copies.sort();
        assert_eq!(copies, [copies[0].clone(), database::beside(&copies[0], "-wal")]);
        assert_eq!(first.set_aside().xor(second.set_aside()), Some(copies.swap_remove(0)));
        assert_eq!(pragma(&place.raw(), "integrity_check"), "ok");
    }
}

/// Overwrites pages, and keeps the file open: closing it would take this process's locks away.
fn scribble(path: &Path, from: i64, to: i64) {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(u64::try_from(from * 4096).unwrap())).unwrap();
    file.write_all(&vec![0x55; usize::try_from((to - from) * 4096).unwrap()]).unwrap();
    std::mem::forget(file);
}

#[test]
fn damaged_words_are_made_anew_and_cost_no_prompt() {
    let place = Place::new();
    let history = place.open();
    add(&history, &["first prompt", "second prompt"]);
    place.raw().execute("UPDATE history_fts_data SET block = x'00010203040506'", ()).unwrap();
    // A connection keeps in memory what it knows of the words.
    drop(history);
    let history = place.open();
    assert_eq!(found(&history, "prompt"), ["second prompt", "first prompt"]);
    add(&history, &["third prompt"]);
    assert_eq!(found(&history, "prompt").len(), 3);
    assert_eq!(place.copies(), [""; 0].map(PathBuf::from));
    words_are_sound(&place.raw());
}

/// Whether SQLite's quick look finds nothing, and a look through the index of times finds damage.
fn hides_damage(conn: &rusqlite::Connection) -> bool {
    let read = "SELECT group_concat(prompt) FROM history INDEXED BY idx_history_created_at WHERE created_at > 0";
    let read = conn.query_row(read, (), |_| Ok(()));
    pragma(conn, "quick_check") == "ok" && read.is_err_and(|error| damage::is_damage(&error))
}

// A2: an index that names a row which is not there passes SQLite's quick check.
#[test]
fn a02_an_index_that_names_a_row_that_is_gone_is_made_anew() {
    for reads_first in [true, false] {
        let place = Place::new();
        add(&place.open(), &["first prompt", "second prompt", "third prompt"]);
        let writable = "PRAGMA writable_schema = ON";
        let conn = place.raw();
        conn.execute_batch(&format!(
            "UPDATE history SET created_at = 1000 + id;
            CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'idx_history_created_at';
            {writable}; DELETE FROM sqlite_schema WHERE name = 'idx_history_created_at';"
        ))
        .unwrap();
        drop(conn);
        place.raw().execute("UPDATE history SET id = 9 WHERE id = 2", ()).unwrap();
        let back = "INSERT INTO sqlite_schema SELECT * FROM kept; DROP TABLE kept";
        place.raw().execute_batch(&format!("{writable}; {back}")).unwrap();
        assert!(hides_damage(&place.raw()));

        let history = place.open();
        if !reads_first {
            add(&history, &["fourth prompt"]);
        }
        let newest: &[&str] = if reads_first { &[] } else { &["fourth prompt"] };
        let expected = [newest, &["third prompt", "second prompt", "first prompt"]].concat();
        assert_eq!(recent(&history), expected);
        assert_eq!(found(&history, "prompt"), expected);
        assert_eq!((history.set_aside(), place.copies()), (None, Vec::new()));
        assert_eq!(pragma(&place.raw(), "integrity_check"), "ok");
        words_are_sound(&place.raw());
    }
}

/// Overwrites the first page of a table or an index. Nobody may have the database open.
fn overwrite_root(place: &Place, name: &str) {
    let conn = place.raw();
    let root: i64 =
        conn.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0)).unwrap();
    assert_eq!(pragma(&conn, "page_size"), "4096");
    drop(conn);
    overwrite(&place.path, usize::try_from(root - 1).unwrap() * 4096, &[0x55; 4096]);
}

// A2: what is made from the prompts can be made from them again, whichever of its pages is damaged.
#[test]
fn a02_damaged_pages_of_what_is_made_from_the_prompts_cost_no_prompt() {
    for name in
        ["idx_history_created_at", "history_fts_data", "history_fts_idx", "history_fts_docsize", "history_fts_config"]
    {
        let place = Place::new();
        large(&place);
        place.raw().execute("INSERT INTO history (prompt, created_at) VALUES ('the newest', 4000000000)", ()).unwrap();
        overwrite_root(&place, name);

        let history = place.open();
        add(&history, &["one more"]);
        assert_eq!(recent(&history)[0], "the newest", "{name}");
        assert_eq!(found(&history, "one more"), ["one more"], "{name}");
        let conn = place.raw();
        assert_eq!(pragma(&conn, "integrity_check"), "ok", "{name}");
        words_are_sound(&conn);
        assert_eq!(
            conn.query_row("SELECT count(*) FROM history", (), |row| row.get::<_, i64>(0)).unwrap(),
            2002,
            "{name}"
        );
        assert_eq!(schema(&conn), r42(), "{name}");
        assert_eq!((history.set_aside(), place.copies()), (None, Vec::new()), "{name}");
    }
}

// A2: words that are damaged refuse a prompt in the same way as a constraint does.
#[test]
fn a02_words_that_refuse_a_prompt_are_made_anew() {
    let cases = [
        // A piece of the next part of the index is there already.
        "INSERT OR REPLACE INTO history_fts_idx SELECT value, '', 2 FROM generate_series(1, 2000)",
        "DROP TABLE history_fts_data",
        "DROP TABLE history_fts_idx",
        "DROP TABLE history_fts_docsize",
        "DROP TABLE history_fts_config",
        "DELETE FROM history_fts_config",
        "DELETE FROM history_fts_data",
    ];
    for damage in cases {
        for words_first in [false, true] {
            let place = Place::new();
            add(&place.open(), &["first prompt", "second prompt"]);
            let series = "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2000) SELECT * FROM n)";
            place.raw().execute_batch(&damage.replace("generate_series(1, 2000)", series)).unwrap();

            let history = place.open();
            if words_first {
                assert_eq!(found(&history, "prompt"), ["second prompt", "first prompt"], "{damage}");
            }
            history.add("third prompt", None).unwrap();
            history.flush().unwrap_or_else(|error| panic!("{damage}: {error}"));
            assert_eq!(found(&history, "prompt"), ["third prompt", "second prompt", "first prompt"], "{damage}");
            add(&history, &["fourth prompt"]);
            assert_eq!(found(&history, "fourth"), ["fourth prompt"]);
            assert_eq!(schema(&place.raw()), r42(), "{damage}");
            words_are_sound(&place.raw());
            assert_eq!(pragma(&place.raw(), "integrity_check"), "ok", "{damage}");
            assert_eq!((history.set_aside(), place.copies()), (None, Vec::new()), "{damage}");
        }
    }
}

// A2: a history without a table of words, or with one that cannot be used, is searched all the same.
#[test]
fn a02_a_history_without_words_is_searched() {
    let cases = [
        "DROP TRIGGER history_ai; DROP TABLE history_fts",
        "DROP TABLE history_fts",
        "DROP TABLE history_fts_data",
        "DROP TABLE history_fts_config",
        "UPDATE history_fts_data SET block = x'00010203040506'",
    ];
    for damage in cases {
        let place = Place::new();
        add(&place.open(), &["first prompt", "second prompt"]);
        place.raw().execute_batch(damage).unwrap();
        let before = fs::read(&place.path).unwrap();
        let reader = HistoryStorage::open_read_only(&place.path).unwrap();
        assert_eq!(found(&reader, "prom"), ["second prompt", "first prompt"], "{damage}");
        assert_eq!(found(&reader, "first"), ["first prompt"]);
        assert_eq!(found(&reader, "none"), [""; 0]);
        drop(reader);
        assert_eq!(fs::read(&place.path).unwrap(), before, "{damage}");
        // Who may write makes them, and they are filled.
        let history = place.open();
        assert_eq!(found(&history, "prompt"), ["second prompt", "first prompt"], "{damage}");
        add(&history, &["third prompt"]);
        words_are_sound(&place.raw());
        // Also when they go while it is open.
        place.raw().execute_batch("DROP TABLE history_fts").unwrap();
        assert_eq!(found(&history, "prompt").len(), 3, "{damage}");
        place.raw().execute_batch("DROP TABLE history_fts").unwrap();
        add(&history, &["fourth prompt"]);
        assert_eq!(found(&history, "prompt").len(), 4, "{damage}");
        words_are_sound(&place.raw());
        assert_eq!(schema(&place.raw()), r42(), "{damage}");
    }
}

// A2: a prompt that was stored before the database was begun anew is no previous prompt any more.
#[test]
fn a02_a_prompt_that_went_with_a_damaged_database_can_be_added_again() {
    let place = Place::new();
    large(&place);
    let history = place.open();
    add(&history, &["the same"]);
    let conn = place.raw();
    conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let pages: i64 = pragma(&conn, "page_count").parse().unwrap();
    drop(conn);
    scribble(&place.path, 1, pages);
    assert_eq!(recent(&history), [""; 0]);
    assert!(history.set_aside().is_some());
    add(&history, &["the same"]);
    assert_eq!(recent(&history), ["the same"]);
    add(&history, &["the same"]);
    assert_eq!(recent(&history), ["the same"]);
}

// A2: who may not make the indexes and the words anew does without them.
#[test]
fn a02_who_only_reads_needs_nothing_but_the_prompts() {
    for name in ["idx_history_created_at", "history_fts_data", "history_fts_config"] {
        let place = Place::new();
        large(&place);
        place
            .raw()
            .execute("INSERT INTO history (prompt, created_at, cwd) VALUES ('the newest', 4000000000, '/p')", ())
            .unwrap();
        overwrite_root(&place, name);
        let before = fs::read(&place.path).unwrap();

        let reader = HistoryStorage::open_read_only(&place.path).unwrap();
        let newest = prompts(reader.recent(2).unwrap());
        assert_eq!(newest[0], "the newest", "{name}");
        assert!(newest[1].starts_with("prompt 2000 "), "{name}: {}", newest[1]);
        assert_eq!(found(&reader, "new"), ["the newest"], "{name}");
        let there = HistoryQuery::new().cwd("/p");
        assert_eq!(prompts(reader.find(&there).unwrap()), ["the newest"], "{name}");
        drop(reader);
        assert_eq!(fs::read(&place.path).unwrap(), before, "{name}");
        assert_eq!(place.copies(), [""; 0].map(PathBuf::from), "{name}");
    }
}

// A2: the words refuse a prompt, and the prompts' own index is damaged too.
#[test]
fn a02_damaged_words_do_not_hide_a_damaged_index() {
    let place = Place::new();
    large(&place);
    place.raw().execute("DELETE FROM history_fts_config", ()).unwrap();
    overwrite_root(&place, "idx_history_created_at");
    let history = place.open();
    add(&history, &["one more"]);
    assert_eq!(found(&history, "one more"), ["one more"]);
    assert_eq!(recent(&history).len(), 1000);
    assert_eq!(pragma(&place.raw(), "integrity_check"), "ok");
    assert_eq!((history.set_aside(), place.copies()), (None, Vec::new()));
}
