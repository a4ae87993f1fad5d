//! The prompt history together with other programs: the `sqlite3` shell, and processes without
//! rights.
#![cfg(feature = "history")]
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{ErrorCode, HistoryEntry, HistoryStorage};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// What the shell says to `sql`, or `None`, with a word about it, when there is no shell.
fn shell(path: &Path, sql: &str) -> Option<String> {
    match Command::new("sqlite3").arg(path).arg(sql).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && errors.is_empty(), "{errors}");
            Some(String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
        }
        Err(error) => {
            support::skip(format_args!("there is no sqlite3: {error}"));
            None
        }
    }
}

fn prompts(entries: Vec<HistoryEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.prompt).collect()
}

// R42
#[test]
fn what_is_written_here_opens_in_the_shell() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let history = HistoryStorage::open(&path).unwrap();
    history.add("two words", Some("/p")).unwrap();
    history.add("ünï\0nul", None).unwrap();
    history.flush().unwrap();
    let Some(rows) = shell(&path, "SELECT id, prompt, typeof(created_at), cwd FROM history WHERE id = 1") else {
        return;
    };
    assert_eq!(rows, "1|two words|integer|/p");
    let all = "SELECT hex(CAST(prompt AS BLOB)), typeof(prompt), cwd IS NULL FROM history WHERE id = 2";
    assert_eq!(shell(&path, all).unwrap(), "C3BC6EC3AF006E756C|text|1");
    let age = "SELECT abs(created_at - CAST(strftime('%s', 'now') AS INTEGER)) < 3600 FROM history";
    assert_eq!(shell(&path, age).unwrap(), "1\n1");
    let found =
        "SELECT h.prompt FROM history_fts f JOIN history h ON h.id = f.rowid WHERE history_fts MATCH '\"wor\"*'";
    assert_eq!(shell(&path, found).unwrap(), "two words");
    let sound = "INSERT INTO history_fts(history_fts, rank) VALUES('integrity-check', 1); PRAGMA integrity_check";
    assert_eq!(shell(&path, sound).unwrap(), "ok");
    let times = "SELECT dflt_value FROM pragma_table_info('history') WHERE name = 'created_at'";
    assert_eq!(shell(&path, times).unwrap(), "CAST(strftime('%s','now') AS INTEGER)");

    // And both go on writing.
    shell(&path, "INSERT INTO history (prompt, cwd) VALUES ('from the shell', '/s')").unwrap();
    assert_eq!(prompts(history.search("shell", 9).unwrap()), ["from the shell"]);
    history.add("from here", None).unwrap();
    history.close().unwrap();
    assert_eq!(
        shell(&path, "SELECT prompt FROM history WHERE id > 2 ORDER BY id").unwrap(),
        "from the shell\nfrom here"
    );
    assert_eq!(shell(&path, sound).unwrap(), "ok");
}

// R42: both kinds of tables, and none of the others' names is missing.
#[test]
fn what_the_shell_wrote_opens_here() {
    for default in ["unixepoch()", "CAST(strftime('%s','now') AS INTEGER)"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.db");
        let made = format!(
            "PRAGMA journal_mode = WAL;
            CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
                created_at INTEGER NOT NULL DEFAULT ({default}), cwd TEXT);
            CREATE INDEX idx_history_created_at ON history(created_at DESC);
            CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
            CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
                INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
            END;
            INSERT INTO history VALUES (7, 'one', 1700000000, '/p'), (9, 'two', 1700000000, NULL);"
        );
        if shell(&path, &made).is_none() {
            return;
        }
        let history = HistoryStorage::open(&path).unwrap();
        let one = HistoryEntry { id: 7, prompt: "one".into(), created_at: 1_700_000_000, cwd: Some("/p".into()) };
        let two = HistoryEntry { id: 9, prompt: "two".into(), created_at: 1_700_000_000, cwd: None };
        assert_eq!(history.recent(9).unwrap(), [two.clone(), one]);
        assert_eq!(history.search("tw", 9).unwrap(), [two]);
        history.add("two", None).unwrap();
        history.add("three", None).unwrap();
        history.close().unwrap();
        assert_eq!(shell(&path, "SELECT id, prompt FROM history ORDER BY id").unwrap(), "7|one\n9|two\n10|three");
        assert_eq!(shell(&path, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%unixepoch%'").unwrap(), "0");
        assert_eq!(shell(&path, "PRAGMA integrity_check").unwrap(), "ok");
    }
}

/// A shell that holds a lock until it is told to go on.
struct Locking {
    child: Child,
    input: ChildStdin,
}

impl Locking {
    fn start(path: &Path) -> Option<Self> {
        let shell = Command::new("sqlite3").arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = match shell {
            Ok(child) => child,
            Err(error) => {
                support::skip(format_args!("there is no sqlite3: {error}"));
                return None;
            }
        };
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"BEGIN IMMEDIATE;\nSELECT 'locked';\n").unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "locked\n");
        Some(Self { child, input })
    }

    fn end(mut self) {
        self.input.write_all(b"COMMIT;\n.quit\n").unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn f30_another_programs_lock_delays_only_what_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let history = HistoryStorage::open(&path).unwrap();
    history.add("before", None).unwrap();
    history.flush().unwrap();
    let Some(lock) = Locking::start(&path) else { return };
    // Opening, adding and reading go on.
    let second = HistoryStorage::open(&path).unwrap();
    second.add("second", None).unwrap();
    assert_eq!(prompts(second.search("bef", 9).unwrap()), ["before"]);
    lock.end();
    if let Err(error) = second.flush() {
        // On a slow machine it was locked for too long; then the prompt waits for the next try.
        assert_eq!(error.code(), ErrorCode::Locked);
    }
    second.close().unwrap();
    assert_eq!(prompts(history.recent(9).unwrap()), ["second", "before"]);
}

/// Set in the child that has no rights: the folder it may only read.
#[cfg(unix)]
const READ_ONLY: &str = "LEAFLOG_TEST_READ_ONLY";

// F33: as root everything can be written, so as root a child without rights does the test.
#[cfg(unix)]
#[test]
fn f33_read_only_folders_and_files() {
    use std::os::unix::fs::PermissionsExt;
    if let Some(dir) = std::env::var_os(READ_ONLY) {
        without_rights(Path::new(&dir));
        println!("checked without rights");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let make = |name: &str| {
        let folder = dir.path().join(name);
        let path = folder.join("history.db");
        let history = HistoryStorage::open(&path).unwrap();
        history.add("a prompt", Some("/p")).unwrap();
        history.flush().unwrap();
        (folder, path, history)
    };
    // A folder where nobody has the database open.
    let (folder, path, history) = make("closed");
    drop(history);
    mode(&path, 0o444);
    mode(&folder, 0o555);
    // One where somebody has.
    let (folder, path, open) = make("open");
    for suffix in ["", "-wal", "-shm"] {
        mode(&path.with_file_name(format!("history.db{suffix}")), 0o444);
    }
    mode(&folder, 0o555);
    // A file that cannot be written in a folder that can.
    let (folder, path, history) = make("file");
    drop(history);
    mode(&path, 0o444);
    mode(&folder, 0o777);
    // A file that can be written in a folder that cannot.
    let (folder, path, history) = make("folder");
    drop(history);
    mode(&path, 0o666);
    mode(&folder, 0o555);
    // A log that somebody who was killed left, and no right to work it in.
    let (folder, path, killed) = make("killed");
    let copy = dir.path().join("log");
    fs::create_dir(&copy).unwrap();
    for suffix in ["", "-wal"] {
        let name = format!("history.db{suffix}");
        fs::copy(path.with_file_name(&name), copy.join(&name)).unwrap();
        mode(&copy.join(&name), 0o444);
    }
    mode(&copy, 0o555);
    drop((killed, folder));
    // No database, and no right to make one.
    fs::create_dir(dir.path().join("empty")).unwrap();
    mode(&dir.path().join("empty"), 0o555);
    mode(dir.path(), 0o755);

    let name = "f33_read_only_folders_and_files";
    let probe = dir.path().join("empty/probe");
    let mut child = if fs::write(&probe, "").is_ok() {
        fs::remove_file(&probe).unwrap();
        // The test program may lie where nobody else may go.
        let program = dir.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        mode(&program, 0o755);
        let mut child = Command::new("setpriv");
        child.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).current_dir("/");
        child
    } else {
        Command::new(std::env::current_exe().unwrap())
    };
    let ran = child.args(["--exact", name, "--nocapture"]).env(READ_ONLY, dir.path()).output();
    for folder in ["closed", "open", "folder", "log", "empty"] {
        mode(&dir.path().join(folder), 0o755);
    }
    match ran {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let complaint = String::from_utf8_lossy(&output.stderr);
            if complaint.contains("setpriv:") {
                support::skip(format_args!("running as root, and setpriv cannot give up rights: {complaint}"));
                return;
            }
            assert!(output.status.success() && text.contains("checked without rights"), "{text}{complaint}");
        }
        Err(error) => support::skip(format_args!("running as root, and there is no setpriv: {error}")),
    }
    open.close().unwrap();
}

#[cfg(unix)]
fn without_rights(dir: &Path) {
    for name in ["closed", "open", "file", "folder"] {
        let path = dir.join(name).join("history.db");
        for history in [HistoryStorage::open(&path).unwrap(), HistoryStorage::open_read_only(&path).unwrap()] {
            // More than once: not every connection is kept.
            for _ in 0..2 {
                assert_eq!(prompts(history.recent(9).unwrap()), ["a prompt"], "{name}");
                assert_eq!(prompts(history.search("pro", 9).unwrap()), ["a prompt"], "{name}");
            }
            let error = history.add("new", None).and_then(|()| history.flush()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::PermissionDenied, "{name}: {error}");
            let at = error.path().unwrap();
            assert!(at == path || Some(at) == path.parent(), "{name}: {error}");
            history.close().unwrap();
        }
    }
    let path = dir.join("log/history.db");
    for error in [HistoryStorage::open(&path).unwrap_err(), HistoryStorage::open_read_only(&path).unwrap_err()] {
        assert_eq!((error.code(), error.path()), (ErrorCode::PermissionDenied, path.parent()), "{error}");
    }
    let path = dir.join("empty/history.db");
    let error = HistoryStorage::open(&path).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::PermissionDenied, Some(&*path)));
    assert_eq!(HistoryStorage::open_read_only(&path).unwrap_err().code(), ErrorCode::NotFound);
}
