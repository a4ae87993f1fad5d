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
