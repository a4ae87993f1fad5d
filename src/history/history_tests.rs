use super::*;
use rusqlite::params;
use std::fs;
use tempfile::TempDir;

const SHORT: Duration = Duration::from_millis(30);

struct Place {
    _dir: TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.db");
        Self { _dir: dir, path }
    }

    fn open(&self) -> HistoryStorage {
        HistoryStorage::open(&self.path).unwrap()
    }

    /// A connection of another program.
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }

    /// The files beside the database that begin with its name and `.invalid-`.
    fn copies(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("history.db.invalid-")).collect()
    }
}

fn add(history: &HistoryStorage, prompts: &[&str]) {
    for prompt in prompts {
        history.add(prompt, None).unwrap();
    }
    history.flush().unwrap();
}

fn prompts(entries: Vec<HistoryEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.prompt).collect()
}

fn recent(history: &HistoryStorage) -> Vec<String> {
    prompts(history.recent(1000).unwrap())
}

fn found(history: &HistoryStorage, query: &str) -> Vec<String> {
    prompts(history.search(query, 1000).unwrap())
}

fn schema(conn: &rusqlite::Connection) -> Vec<(String, String, String)> {
    let names = "SELECT type, name, sql FROM sqlite_schema
        WHERE name NOT LIKE 'history_fts_%' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut names = conn.prepare(names).unwrap();
    let rows = names.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))).unwrap();
    rows.map(|row| row.unwrap()).map(|(kind, name, sql)| (kind, name, squeezed(&sql))).collect()
}

/// With one space in place of each run of blanks.
fn squeezed(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What R42 says.
fn r42() -> Vec<(String, String, String)> {
    [
        (
            "table",
            "history",
            "CREATE TABLE history ( id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL, \
             created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT )",
        ),
        (
            "trigger",
            "history_ai",
            "CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN \
             INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END",
        ),
        (
            "table",
            "history_fts",
            "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id')",
        ),
        ("index", "idx_history_created_at", "CREATE INDEX idx_history_created_at ON history(created_at DESC)"),
    ]
    .map(|(kind, name, sql)| (kind.to_owned(), name.to_owned(), sql.to_owned()))
    .into()
}

fn pragma(conn: &rusqlite::Connection, name: &str) -> String {
    conn.query_row(&format!("PRAGMA {name}"), (), |row| rows::text(row, 0)).unwrap().unwrap()
}

fn words_are_sound(conn: &rusqlite::Connection) {
    conn.execute("INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1)", ()).unwrap();
}

// R42
#[test]
fn the_schema_has_the_names_other_programs_know() {
    let place = Place::new();
    add(&place.open(), &["one"]);
    let conn = place.raw();
    assert_eq!(schema(&conn), r42());
    assert_eq!(pragma(&conn, "journal_mode"), "wal");
}

#[test]
fn one_storage_for_all_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let place = Place::new();
    let history = place.open();
    shared(&history);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let history = &history;
            scope.spawn(move || {
                for number in 0..100 {
                    history.add(&format!("{thread} {number}"), None).unwrap();
                    if number % 30 == 7 {
                        history.flush().unwrap();
                        assert!(!history.recent(1).unwrap().is_empty());
                    }
                }
            });
        }
    });
    history.close().unwrap();
    let conn = place.raw();
    let of = |thread: usize| {
        let mut rows = conn.prepare("SELECT prompt FROM history WHERE prompt LIKE ?1 ORDER BY id").unwrap();
        let rows = rows.query_map([format!("{thread} %")], |row| row.get(0)).unwrap();
        rows.map(|row| row.unwrap()).collect::<Vec<String>>()
    };
    for thread in 0..4 {
        assert_eq!(of(thread), (0..100).map(|number| format!("{thread} {number}")).collect::<Vec<_>>());
    }
    words_are_sound(&conn);
}

// R43
#[test]
fn a_repeated_prompt_is_stored_once() {
    let place = Place::new();
    let history = place.open();
    add(&history, &["a", "a", " a\n", "b", "a", "a"]);
    assert_eq!(recent(&history), ["a", "b", "a"]);
    // A new process knows the last one from the database.
    drop(history);
    let history = place.open();
    add(&history, &["a", "c"]);
    assert_eq!(recent(&history), ["c", "a", "b", "a"]);
}

#[test]
fn prompts_are_trimmed_as_javascript_trims() {
    let place = Place::new();
    let history = place.open();
    add(
        &history,
        &["", " \t\r\n\u{b}\u{c}", "\u{feff}\u{2028}\u{2029}\u{3000}\u{a0}", "\u{feff} x y \u{2003}\n", "\u{85}"],
    );
    assert_eq!(recent(&history), ["\u{85}", "x y"]);
}

#[test]
fn newest_first_and_at_most_so_many() {
    let place = Place::new();
    drop(place.open());
    let conn = place.raw();
    for (id, time) in [(1, 50), (2, 70), (3, 50), (4, 60), (5, 70)] {
        let insert = "INSERT INTO history (id, prompt, created_at, cwd) VALUES (?1, 'word ' || ?1, ?2, ?3)";
        conn.execute(insert, params![id, time, (id == 4).then_some("/p")]).unwrap();
    }
    let history = place.open();
    let ids = |entries: Vec<HistoryEntry>| entries.iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(ids(history.recent(usize::MAX).unwrap()), [5, 2, 4, 3, 1]);
    assert_eq!(ids(history.recent(3).unwrap()), [5, 2, 4]);
    assert_eq!(ids(history.search("word", 4).unwrap()), [5, 2, 4, 3]);
    assert!(history.recent(0).unwrap().is_empty() && history.search("word", 0).unwrap().is_empty());
    let entries = history.search("4", 1).unwrap();
    let four = HistoryEntry { id: 4, prompt: "word 4".to_owned(), created_at: 60, cwd: Some("/p".to_owned()) };
    assert_eq!(entries, [four]);
    assert_eq!(
        serde_json::to_string(&history.recent(3).unwrap()[1..]).unwrap(),
        r#"[{"id":2,"prompt":"word 2","created_at":70},{"id":4,"prompt":"word 4","created_at":60,"cwd":"/p"}]"#
    );

    let more = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO history (prompt) SELECT 'many ' || i FROM n";
    conn.execute(more, ()).unwrap();
    assert_eq!(history.recent(1001).unwrap().len(), 1000);
    assert_eq!(history.search("many", usize::MAX).unwrap().len(), 1000);
}

#[test]
fn every_word_of_a_query_is_the_start_of_a_word() {
    let place = Place::new();
    let history = place.open();
    add(
        &history,
        &["Fix the parser", "fixture for tests", "the AND of \"both\"", "NEAR(prompt: x)", "naïve café", "a\0nul b"],
    );
    assert_eq!(found(&history, "fix"), ["fixture for tests", "Fix the parser"]);
    assert_eq!(found(&history, " PARS \u{feff} fix\n"), ["Fix the parser"]);
    assert_eq!(found(&history, "fix nothing"), [""; 0]);
    // G17: inside of a word, when no word begins so.
    assert_eq!(found(&history, "ixture"), ["fixture for tests"]);
    assert_eq!(found(&history, "ixture the"), [""; 0]);
    assert_eq!(found(&history, "AND"), ["the AND of \"both\""]);
    // No operator: all three words must be there.
    assert_eq!(found(&history, "fix OR both"), [""; 0]);
    assert_eq!(found(&history, "\"both\""), ["the AND of \"both\""]);
    assert_eq!(found(&history, "\"bo"), ["the AND of \"both\""]);
    assert_eq!(found(&history, "prompt:"), ["NEAR(prompt: x)"]);
    assert_eq!(found(&history, "NEAR("), ["NEAR(prompt: x)"]);
    assert_eq!(found(&history, "near(pro"), ["NEAR(prompt: x)"]);
    assert_eq!(found(&history, "fix*"), ["fixture for tests", "Fix the parser"]);
    assert_eq!(found(&history, "cafe nai"), ["naïve café"]);
    // NUL parts words on both sides.
    assert_eq!(found(&history, "nul\0b"), ["a\0nul b"]);
    // Punctuation counts for nothing beside words, and finds nothing alone.
    assert_eq!(found(&history, "fix - parser ..."), ["Fix the parser"]);
    for nothing in ["", " \n", "-", "\"", "\"\" ( ) * ^ + : { } '", "\0", "...  !?", "--;'"] {
        assert_eq!(found(&history, nothing), [""; 0], "{nothing:?}");
    }
    assert_eq!(found(&history, &"fix ".repeat(5000)), ["fixture for tests", "Fix the parser"]);
    assert_eq!(found(&history, &"x".repeat(200_000)), [""; 0]);
}

// G17: the words of the catalog, which FTS5 does not know.
#[test]
fn g17_words_within_words() {
    let place = Place::new();
    let history = place.open();
    add(
        &history,
        &[
            "查看历史记录",
            "历史",
            "看youer项目",
            "initYouerTable()",
            "parse-input",
            "myyouer",
            "Über café",
            "カタカナ語",
        ],
    );
    assert_eq!(found(&history, "历史"), ["历史", "查看历史记录"]);
    assert_eq!(found(&history, "史"), ["历史", "查看历史记录"]);
    assert_eq!(found(&history, "历史记录 查看"), ["查看历史记录"]);
    assert_eq!(found(&history, "youer"), ["initYouerTable()", "看youer项目"]);
    assert_eq!(found(&history, "youer 项目"), ["看youer项目"]);
    assert_eq!(found(&history, "youerTab"), ["initYouerTable()"]);
    assert_eq!(found(&history, "inityouert"), ["initYouerTable()"]);
    assert_eq!(found(&history, "parseInp"), ["parse-input"]);
    assert_eq!(found(&history, "parseinp"), ["parse-input"]);
    assert_eq!(found(&history, "yyou"), ["myyouer"]);
    assert_eq!(found(&history, "uber CAFÉ"), ["Über café"]);
    assert_eq!(found(&history, "カナ語"), ["カタカナ語"]);
    assert_eq!(found(&history, "史历"), [""; 0]);
    assert_eq!(prompts(history.search("youer", 1).unwrap()), ["initYouerTable()"]);
}

// G17: what only FTS5 finds and what only the words find stand in one order.
#[test]
fn g17_the_newest_of_both() {
    let place = Place::new();
    drop(place.open());
    let conn = place.raw();
    for (id, time, prompt) in
        [(1, 50, "myTideGauge"), (2, 70, "tide"), (3, 50, "\u{2160}tide tide"), (4, 60, "x tide"), (5, 70, "lowTide")]
    {
        let insert = "INSERT INTO history (id, created_at, prompt) VALUES (?1, ?2, ?3)";
        conn.execute(insert, params![id, time, prompt]).unwrap();
    }
    let history = place.open();
    let ids = |limit| history.search("tide", limit).unwrap().iter().map(|entry| entry.id).collect::<Vec<_>>();
    assert_eq!(ids(9), [5, 2, 4, 3, 1]);
    assert_eq!(ids(3), [5, 2, 4]);
    assert_eq!(ids(1), [5]);
}

#[test]
fn g17_prompts_of_a_directory() {
    let place = Place::new();
    let history = place.open();
    for (prompt, cwd) in
        [("tide one", Some("/w/a")), ("two", Some("/w/a/")), ("tide three", Some("/w/a/b")), ("tide four", None)]
    {
        history.add(prompt, cwd).unwrap();
    }
    history.flush().unwrap();
    let of = |query: HistoryQuery| prompts(history.find(&query).unwrap());
    assert_eq!(of(HistoryQuery::new().cwd("/w/a")), ["two", "tide one"]);
    assert_eq!(of(HistoryQuery::new().cwd("/w/./x/../a/").limit(1)), ["two"]);
    assert_eq!(of(HistoryQuery::new().cwd("/w/a").words("tide")), ["tide one"]);
    assert_eq!(of(HistoryQuery::new().cwd("/w/a").words("wo")), ["two"]);
    assert_eq!(of(HistoryQuery::new().cwd("/w")), [""; 0]);
    // A link to the directory means the directory.
    let (dir, link) = (place.path.with_file_name("dir"), place.path.with_file_name("link"));
    fs::create_dir(&dir).unwrap();
    let real = fs::canonicalize(&dir).unwrap();
    history.add("five", real.to_str()).unwrap();
    history.flush().unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    #[cfg(unix)]
    assert_eq!(of(HistoryQuery::new().cwd(&link)), ["five"]);
}

// A11: it took 12 seconds.
#[test]
fn a11_a_word_repeated_4000_times() {
    let place = Place::new();
    drop(place.open());
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO history (prompt) SELECT 'fix the parser ' || i FROM n";
    place.raw().execute(many, ()).unwrap();
    let history = place.open();
    let expected = history.search("fix 2999", 9).unwrap();
    assert_eq!(expected.len(), 1);
    let start = std::time::Instant::now();
    assert_eq!(history.search(&("fix ".repeat(4000) + "2999"), 9).unwrap(), expected);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn f29_the_write_ahead_log_of_this_sqlite_is_sound() {
    // 3.51.3 mended the reset of the log.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn f30_a_lock_is_waited_for_and_then_told() {
    let place = Place::new();
    drop(place.open());
    let other = place.raw();
    other.pragma_update(None, "journal_mode", "DELETE").unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for error in [
        HistoryStorage::open_with(&place.path, SHORT).unwrap_err(),
        Database::open_existing(place.path.clone(), SHORT).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::Locked);
        assert_eq!(error.path(), Some(&*place.path));
        let message = "cannot open the history: another program holds the lock of the database; waited 30 ms";
        assert_eq!(error.message(), message);
    }
    // It was waited for, so what another does for a moment is no error.
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| HistoryStorage::open_with(&place.path, Duration::from_secs(60)).map(drop));
        other.execute_batch("COMMIT").unwrap();
        opened.join().unwrap().unwrap();
    });
}

// F30, R43: another program writes and does not stop.
#[test]
fn f30_a_writer_is_in_nobodys_way() {
    let place = Place::new();
    let history = HistoryStorage::open_with(&place.path, SHORT).unwrap();
    add(&history, &["before"]);
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO history (prompt) VALUES ('theirs')").unwrap();

    // Who opens or reads meanwhile sees what was.
    let second = HistoryStorage::open_with(&place.path, SHORT).unwrap();
    assert_eq!(recent(&second), ["before"]);
    assert_eq!(found(&history, "be"), ["before"]);

    history.add("mine", None).unwrap();
    let error = history.flush().unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::Locked, Some(&*place.path)));
    // B22: the prompt waits, and each flush tries again.
    assert_eq!(history.flush().unwrap_err().code(), ErrorCode::Locked);

    other.execute_batch("COMMIT").unwrap();
    // It is still the previous prompt, so the same one is a repetition.
    add(&history, &["mine", "mine"]);
    assert_eq!(recent(&history), ["mine", "theirs", "before"]);
    history.add("theirs", None).unwrap();
    history.close().unwrap();
}

// B22: prompts that met another program's lock are stored later, in order, with what came since.
#[test]
fn b22_prompts_wait_for_a_lock() {
    let place = Place::new();
    let history = HistoryStorage::open_with(&place.path, SHORT).unwrap();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    history.add("first", Some("/p")).unwrap();
    assert_eq!(history.flush().unwrap_err().code(), ErrorCode::Locked);
    history.add("second", None).unwrap();
    assert_eq!(history.flush().unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(recent(&history), [""; 0]);
    other.execute_batch("COMMIT").unwrap();
    history.flush().unwrap();
    assert_eq!(recent(&history), ["second", "first"]);
    history.close().unwrap();
    // What still waits at the end is told.
    let history = HistoryStorage::open_with(&place.path, SHORT).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    history.add("third", None).unwrap();
    assert_eq!(history.flush().unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(history.close().unwrap_err().code(), ErrorCode::Locked);
}

// G3: newer relatives keep each prompt once, and have columns of their own.
#[test]
fn g03_a_repeated_prompt_where_each_may_be_there_once() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch(
        "CREATE TABLE history (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            prompt TEXT NOT NULL UNIQUE,
            created_at INTEGER NOT NULL DEFAULT (unixepoch()),
            cwd TEXT,
            session_id TEXT,
            use_count INTEGER NOT NULL DEFAULT 1
        );
        INSERT INTO history (prompt, created_at, cwd, session_id) VALUES ('old', 100, '/a', 's'), ('older', 50, '/a', NULL);",
    )
    .unwrap();
    let table = schema(&conn)[0].2.clone();
    let history = place.open();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for (prompt, cwd) in [("new", None), ("old", None), ("older", Some("/b")), ("newer", None)] {
        history.add(prompt, cwd).unwrap();
    }
    other.execute_batch("COMMIT").unwrap();
    history.close().unwrap();
    let mut rows = conn
        .prepare("SELECT prompt, cwd, session_id, use_count, created_at > 1700000000 FROM history ORDER BY prompt")
        .unwrap();
    let rows = rows.query_map((), |row| {
        let texts = (row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?, row.get::<_, Option<String>>(2)?);
        Ok((texts, row.get::<_, i64>(3)?, row.get::<_, bool>(4)?))
    });
    let rows: Vec<_> = rows.unwrap().map(|row| row.unwrap()).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows,
        [
            (("new".to_owned(), None, None), 1, true),
            (("newer".to_owned(), None, None), 1, true),
            (("old".to_owned(), text("/a"), text("s")), 1, true),
            (("older".to_owned(), text("/b"), None), 1, true),
        ]
    );
    // Their table is as it was.
    assert!(schema(&conn).contains(&("table".to_owned(), "history".to_owned(), table)));
    words_are_sound(&conn);
}

// G3: a row that a constraint refuses costs itself, and is told.
#[test]
fn g03_a_row_that_is_refused_costs_no_other() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch(
        "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL CHECK (prompt <> 'bad'),
            created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT UNIQUE);",
    )
    .unwrap();
    let history = place.open();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    for (prompt, cwd) in
        [("a", None), ("bad", None), ("b", Some("/p")), ("another at the same place", Some("/p")), ("c", None)]
    {
        history.add(prompt, cwd).unwrap();
    }
    conn.execute_batch("COMMIT").unwrap();
    let error = history.flush().unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*place.path)));
    assert!(error.message().starts_with("cannot store 2 of "), "{error}");
    assert!(error.message().contains("CHECK constraint failed"), "{error}");
    assert_eq!(recent(&history), ["c", "b", "a"]);
    history.flush().unwrap();
    // What was refused is no previous prompt.
    add(&history, &["d"]);
    history.add("bad", None).unwrap();
    assert!(history.flush().unwrap_err().message().starts_with("cannot store 1 of 1 prompts"));
    history.add("bad", None).unwrap();
    assert!(history.close().is_err());
}

// B21: a type can be any text.
#[test]
fn b21_types_of_columns_that_others_added() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch(
        "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
            created_at INTEGER NOT NULL DEFAULT (unixepoch()), cwd TEXT,
            a \"TEXT UNIQUE\", b \"x); DROP TABLE history_legacy; --\", c \"say \"\"it\"\"\", d VARCHAR(10), e);
        INSERT INTO history VALUES (3, 'kept', 1700000000, '/p', 1, 2, 3, 4, 5);",
    )
    .unwrap();
    let columns = || {
        let mut columns = conn.prepare("SELECT name, type FROM pragma_table_info('history')").unwrap();
        let columns = columns.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        columns.map(|column| column.unwrap()).collect::<Vec<_>>()
    };
    let before = columns();
    assert_eq!(before[5], ("b".to_owned(), "x); DROP TABLE history_legacy; --".to_owned()));
    assert_eq!(recent(&place.open()), ["kept"]);
    assert_eq!(columns(), before);
    let sum = "SELECT a + b + c + d + e FROM history";
    assert_eq!(conn.query_row(sum, (), |row| row.get::<_, i64>(0)).unwrap(), 15);
    assert!(!schema(&conn)[0].2.contains("unixepoch"));
}

// A2: the links of all storages in a process go before one to the new file is opened.
#[cfg(target_os = "linux")]
#[test]
fn a02_a_database_replaced_under_two_storages() {
    let place = Place::new();
    let copy = place.path.with_file_name("copy");
    let storages = [place.open(), place.open()];
    for round in 0..6 {
        for history in &storages {
            add(history, &[&format!("before {round}")]);
            recent(history);
        }
        fs::copy(&place.path, &copy).unwrap();
        fs::rename(&copy, &place.path).unwrap();
        let (first, second) = (&storages[round % 2], &storages[(round + 1) % 2]);
        add(first, &[&format!("after {round}")]);
        assert_eq!(second.recent(1).unwrap()[0].prompt, format!("after {round}"));
        let open: Vec<_> = open_files(&place.path);
        assert!(open.iter().all(|inode| *inode == fs_inode(&place.path)), "links to other files are open: {open:?}");
        assert!(!open.is_empty());
    }
    drop(storages);
    let conn = place.raw();
    words_are_sound(&conn);
    assert_eq!(pragma(&conn, "integrity_check"), "ok");
}

/// The inodes of the files of this process that are, or were, at the path.
#[cfg(target_os = "linux")]
fn open_files(path: &Path) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt;
    let gone = format!("{} (deleted)", path.display());
    let mut inodes = Vec::new();
    for file in fs::read_dir("/proc/self/fd").unwrap() {
        let file = file.unwrap().path();
        if fs::read_link(&file).is_ok_and(|to| to == path || to.as_os_str() == gone.as_str()) {
            inodes.extend(fs::metadata(&file).map(|found| found.ino()));
        }
    }
    inodes
}

#[cfg(target_os = "linux")]
fn fs_inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[test]
fn a_failure_nobody_waited_for_is_told_by_close() {
    let place = Place::new();
    let history = HistoryStorage::open_with(&place.path, Duration::ZERO).unwrap();
    let other = place.raw();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    history.add("lost", None).unwrap();
    assert_eq!(history.close().unwrap_err().code(), ErrorCode::Locked);
    history.close().unwrap();
    for error in
        [history.add("x", None).unwrap_err(), history.recent(1).unwrap_err(), history.search("x", 1).unwrap_err()]
    {
        assert_eq!((error.code(), error.path()), (ErrorCode::Closed, Some(&*place.path)));
    }
    history.flush().unwrap();
}

#[test]
fn f31_any_string_can_be_stored() {
    let place = Place::new();
    let history = place.open();
    // A lone high surrogate, a lone low one, a pair, a pair the wrong way round.
    let units = [0x61, 0xd83d, 0x62, 0xde00, 0x63, 0xd83d, 0xde00, 0xde00, 0xd83d];
    history.add_utf16(&units, Some(&[0x2f, 0xdfff])).unwrap();
    let nul = "before\0after\0\u{10ffff}\r\n\u{1b}[31m";
    history.add(nul, Some("/with\0nul")).unwrap();
    let long = "長い ".repeat(1 << 20);
    history.add(&long, Some("")).unwrap();
    history.flush().unwrap();
    let entries = history.recent(3).unwrap();
    assert_eq!(entries[2].prompt, "a\u{fffd}b\u{fffd}c\u{1f600}\u{fffd}\u{fffd}");
    assert_eq!(entries[2].cwd.as_deref(), Some("/\u{fffd}"));
    assert_eq!((entries[1].prompt.as_str(), entries[1].cwd.as_deref()), (nul, Some("/with\0nul")));
    assert_eq!((entries[0].prompt.as_str(), entries[0].cwd.as_deref()), (long.trim_end(), Some("")));
    assert_eq!(found(&history, "after"), [nul]);
    words_are_sound(&place.raw());
    // What is cut off at a NUL would look like a repetition of this.
    add(&history, &["before", "before\0"]);
    assert_eq!(prompts(history.recent(2).unwrap()), ["before\0", "before"]);
}

#[test]
fn what_other_programs_stored_is_read() {
    let place = Place::new();
    drop(place.open());
    let conn = place.raw();
    let insert = "INSERT INTO history (prompt, created_at, cwd) VALUES (?1, ?2, ?3)";
    conn.execute(insert, params![b"bytes \xff".as_slice(), "7", b"/\xfe".as_slice()]).unwrap();
    conn.execute("INSERT INTO history (prompt, created_at) VALUES (CAST(x'74ff' AS TEXT), 8.9)", ()).unwrap();
    let history = place.open();
    let entries = history.recent(2).unwrap();
    let known: Vec<_> = entries.iter().map(|e| (e.prompt.as_str(), e.created_at, e.cwd.as_deref())).collect();
    assert_eq!(known, [("t\u{fffd}", 8, None), ("bytes \u{fffd}", 7, Some("/\u{fffd}"))]);
}

// R42: a table of the older kind is rebuilt.
#[test]
fn an_old_table_is_rebuilt() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch(
        "CREATE TABLE history (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            prompt TEXT NOT NULL,
            created_at INTEGER NOT NULL DEFAULT (unixepoch()),
            cwd TEXT,
            \"of \"\"x\" TEXT
        );
        CREATE INDEX idx_history_created_at ON history(created_at DESC);
        CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
        CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
            INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
        END;
        INSERT INTO history VALUES (3, 'third', 1700000000, '/p', 'kept'), (8, 'eighth', 1700000001, NULL, NULL),
            (20, 'deleted', 1, NULL, NULL);
        DELETE FROM history WHERE id = 20;",
    )
    .unwrap();
    let history = place.open();
    let third = HistoryEntry { id: 3, prompt: "third".into(), created_at: 1_700_000_000, cwd: Some("/p".into()) };
    let eighth = HistoryEntry { id: 8, prompt: "eighth".into(), created_at: 1_700_000_001, cwd: None };
    assert_eq!(history.recent(10).unwrap(), [eighth, third.clone()]);
    assert_eq!(history.search("thi", 10).unwrap(), [third]);
    add(&history, &["eighth", "new"]);
    // 20 was given before.
    assert_eq!(history.recent(1).unwrap()[0].id, 21);
    let mut expected = r42();
    expected[0].2 = expected[0].2.replace("cwd TEXT )", "cwd TEXT , \"of \"\"x\" \"TEXT\")");
    assert_eq!(schema(&conn), expected);
    let kept: Vec<Option<String>> = {
        let mut kept = conn.prepare("SELECT \"of \"\"x\" FROM history ORDER BY id").unwrap();
        kept.query_map((), |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect()
    };
    assert_eq!(kept, [Some("kept".to_owned()), None, None]);
    words_are_sound(&conn);
    assert_eq!(pragma(&conn, "integrity_check"), "ok");
    assert_eq!(place.copies(), [""; 0].map(PathBuf::from));
}

// Before the search there were only prompts.
#[test]
fn a_table_without_words_gets_them() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch(
        "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
            created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)), cwd TEXT);
        INSERT INTO history (prompt) VALUES ('from before');",
    )
    .unwrap();
    let history = place.open();
    assert_eq!(found(&history, "before"), ["from before"]);
    add(&history, &["and after"]);
    assert_eq!(found(&history, "af"), ["and after"]);
    words_are_sound(&conn);
}

#[test]
fn a_table_that_means_something_else_is_left_alone() {
    let place = Place::new();
    let conn = place.raw();
    conn.execute_batch("CREATE TABLE history (year INTEGER, event TEXT); INSERT INTO history VALUES (1492, 'x')")
        .unwrap();
    let error = HistoryStorage::open(&place.path).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*place.path)));
    assert_eq!(conn.query_row("SELECT year FROM history", (), |row| row.get::<_, i64>(0)).unwrap(), 1492);
    assert_eq!(place.copies(), [""; 0].map(PathBuf::from));
}

#[cfg(unix)]
#[test]
fn a_file_that_was_removed_is_made_anew() {
    let place = Place::new();
    let history = place.open();
    add(&history, &["lost with the file"]);
    for suffix in ["", "-wal", "-shm"] {
        fs::remove_file(database::beside(&place.path, suffix)).unwrap();
    }
    assert_eq!(history.recent(1).unwrap_err().code(), ErrorCode::NotFound);
    add(&history, &["new"]);
    assert_eq!(recent(&history), ["new"]);
    history.close().unwrap();
    assert_eq!(recent(&place.open()), ["new"]);
}

#[test]
fn what_is_no_file() {
    let place = Place::new();
    fs::create_dir(&place.path).unwrap();
    for error in
        [HistoryStorage::open(&place.path).unwrap_err(), HistoryStorage::open_read_only(&place.path).unwrap_err()]
    {
        assert_eq!((error.code(), error.path()), (ErrorCode::IsADirectory, Some(&*place.path)));
    }
    let missing = place.path.with_file_name("missing.db");
    let error = HistoryStorage::open_read_only(&missing).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::NotFound, Some(&*missing)));
    assert!(!missing.exists());
    let beneath_a_file = place.path.with_file_name("file");
    fs::write(&beneath_a_file, "").unwrap();
    let error = HistoryStorage::open(beneath_a_file.join("history.db")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Io);
}

// R55
#[cfg(unix)]
#[test]
fn new_files_are_for_their_owner_only() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new();
    let agent = place.path.with_file_name("new").join("agent");
    let path = agent.join("history.db");
    let history = HistoryStorage::open(&path).unwrap();
    add(&history, &["x"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(agent.parent().unwrap()), mode(&agent)), (0o700, 0o700));
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&database::beside(&path, suffix)), 0o600, "{suffix}");
    }
    // A mode that somebody chose stays.
    history.close().unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    add(&HistoryStorage::open(&path).unwrap(), &["y"]);
    assert_eq!(mode(&path), 0o640);
    // A link that leads to no file yet.
    let target = place.path.with_file_name("target.db");
    std::os::unix::fs::symlink(&target, &place.path).unwrap();
    add(&place.open(), &["z"]);
    assert_eq!(mode(&target), 0o600);
}

#[test]
fn reading_leaves_nothing_behind() {
    let place = Place::new();
    add(&place.open(), &["x"]);
    let before = fs::read(&place.path).unwrap();
    let history = HistoryStorage::open_read_only(&place.path).unwrap();
    assert_eq!(recent(&history), ["x"]);
    let error = history.add("y", None).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::PermissionDenied, Some(&*place.path)));
    history.flush().unwrap();
    history.close().unwrap();
    assert_eq!(history.add("y", None).unwrap_err().code(), ErrorCode::Closed);
    assert_eq!(fs::read(&place.path).unwrap(), before);
    let files = fs::read_dir(place.path.parent().unwrap()).unwrap().count();
    assert_eq!(files, 1);
}

#[path = "damaged_tests.rs"]
mod damaged;
#[path = "processes_tests.rs"]
mod processes;
