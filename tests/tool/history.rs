//! `leaflog history`.

use crate::{Ran, finish, tool};
use leaflog::HistoryStorage;
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// An agent with a history of five prompts.
fn agent() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("agent/sessions")).unwrap();
    let history = HistoryStorage::open(dir.path().join("agent/history.db")).unwrap();
    for (prompt, cwd) in [
        ("mend the tide gauge", Some("/home/ada/tidewatch")),
        ("first line\n  second line", Some("/home/ada/満潮")),
        ("nowhere", None),
        ("steer \u{1b}[2J the\u{7} terminal\0", Some("/")),
        ("\tplot the tides\n", Some("/home/ada/tidewatch/")),
    ] {
        history.add(prompt, cwd).unwrap();
    }
    history.close().unwrap();
    dir
}

fn history(dir: &Path, args: &[&str]) -> Ran {
    let args = ["history"].iter().chain(args);
    finish(tool(args).env("PI_CODING_AGENT_DIR", dir.join("agent")))
}

/// The lines without their times, which are those of the test.
fn lines(ran: &Ran) -> Vec<&str> {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
        .lines()
        .map(|line| {
            let (time, rest) = line.split_at(16);
            let time: Vec<usize> = time.split(['-', ' ', ':']).map(str::len).collect();
            assert_eq!(time, [4, 2, 2, 2, 2], "{line}");
            rest
        })
        .collect()
}

#[test]
fn a_line_a_prompt_the_newest_first() {
    let dir = agent();
    assert_eq!(
        lines(&history(dir.path(), &[])),
        [
            "  tidewatch  plot the tides",
            "  /          steer \u{241b}[2J the\u{2407} terminal\u{2400}",
            "  -          nowhere",
            "  満潮       first line …",
            "  tidewatch  mend the tide gauge",
        ]
    );
    let two = history(dir.path(), &["--limit", "2"]);
    assert_eq!(lines(&two).len(), 2);
    assert_eq!(
        lines(&history(dir.path(), &["ti", "the"])),
        ["  tidewatch  plot the tides", "  tidewatch  mend the tide gauge"]
    );
    assert_eq!(lines(&history(dir.path(), &["gauge tide"])), ["  tidewatch  mend the tide gauge"]);

    let args = ["history"];
    let mut narrow = tool(args);
    let narrow = finish(narrow.env("PI_CODING_AGENT_DIR", dir.path().join("agent")).env("COLUMNS", "47"));
    // 47 columns less 16 for the time, 9 for the project and 4 between leave 18.
    assert_eq!(lines(&narrow)[4], "  tidewatch  mend the tide gau…");
}

#[test]
fn json() {
    let dir = agent();
    let ran = history(dir.path(), &["--json"]);
    let rows = ran.json();
    let times: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["created_at"].as_i64().unwrap()).collect();
    assert!(times.iter().all(|&time| time > 1_700_000_000), "{times:?}");
    assert_eq!(
        rows,
        json!([
            {"id": 5, "prompt": "plot the tides", "created_at": times[0], "cwd": "/home/ada/tidewatch/"},
            {"id": 4, "prompt": "steer \u{1b}[2J the\u{7} terminal\0", "created_at": times[1], "cwd": "/"},
            {"id": 3, "prompt": "nowhere", "created_at": times[2]},
            {"id": 2, "prompt": "first line\n  second line", "created_at": times[3], "cwd": "/home/ada/満潮"},
            {"id": 1, "prompt": "mend the tide gauge", "created_at": times[4], "cwd": "/home/ada/tidewatch"},
        ])
    );
    assert_eq!(ran.out.lines().count(), 7);
    assert_eq!(history(dir.path(), &["--json", "nothing", "fits"]).out, "[]\n");
}

#[test]
fn nothing_to_show() {
    let dir = agent();
    for query in ["absent", "---"] {
        let ran = history(dir.path(), &["--", query]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", "leaflog: no prompt to show\n"));
    }
    for limit in ["0", "1001", "-1", "x"] {
        assert_eq!(history(dir.path(), &["--limit", limit]).code, 2);
    }
    let path = dir.path().join("agent/history.db");
    fs::write(&path, "no database").unwrap();
    let ran = history(dir.path(), &[]);
    let message = format!("leaflog: {}: cannot open the history: file is not a database\n", path.display());
    assert_eq!((ran.code, ran.err), (5, message));
    assert_eq!(fs::read(&path).unwrap(), b"no database");

    fs::remove_file(&path).unwrap();
    let ran = history(dir.path(), &[]);
    assert_eq!((ran.code, ran.err), (3, format!("leaflog: no prompt history at {}\n", path.display())));
    assert!(!path.exists());
    // A history needs no sessions beside it.
    let other = dir.path().join("other");
    let message = format!("leaflog: no prompt history at {}\n", other.join("agent/history.db").display());
    let ran = history(&other, &[]);
    assert_eq!((ran.code, ran.err), (3, message));
    fs::create_dir_all(other.join("agent")).unwrap();
    HistoryStorage::open(other.join("agent/history.db")).unwrap().close().unwrap();
    assert_eq!(history(&other, &[]).code, 0);
}

#[test]
fn reading_changes_nothing() {
    let dir = agent();
    let list = || {
        let mut files: Vec<_> =
            fs::read_dir(dir.path().join("agent")).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (fs::read(&path).ok(), path)).collect::<Vec<_>>()
    };
    let before = list();
    assert_eq!(lines(&history(dir.path(), &["tide"])).len(), 2);
    assert_eq!(list(), before);
}

// G17: the prompts of all agents on the machine, and of one directory.
#[test]
fn g17_histories_of_relatives() {
    let dir = TempDir::new().unwrap();
    let (home, agent) = (dir.path().join("home"), dir.path().join("agent"));
    let databases = [agent.clone(), home.join(".omp/agent"), home.join(".pi/agent")];
    for (number, agent) in databases.iter().enumerate() {
        fs::create_dir_all(agent.join("sessions")).unwrap();
        HistoryStorage::open(agent.join("history.db")).unwrap().close().unwrap();
        let connection = rusqlite::Connection::open(agent.join("history.db")).unwrap();
        for (time, cwd) in [(100 + number, "/w/a"), (200 - number, "/w/b/")] {
            let insert = "INSERT INTO history (prompt, created_at, cwd) VALUES (?1, ?2, ?3)";
            connection.execute(insert, (format!("tide of {number} at {time}"), time as i64, cwd)).unwrap();
        }
    }
    let prompts = |args: &[&str]| {
        let ran = finish(
            tool(["history", "--json"].iter().chain(args)).env("PI_CODING_AGENT_DIR", &agent).env("HOME", &home),
        );
        let rows = ran.json();
        let prompts = rows.as_array().unwrap().iter().map(|row| row["prompt"].as_str().unwrap().to_owned());
        (ran.code, prompts.collect::<Vec<_>>(), ran.err)
    };
    let all = [
        "tide of 0 at 200",
        "tide of 1 at 199",
        "tide of 2 at 198",
        "tide of 2 at 102",
        "tide of 1 at 101",
        "tide of 0 at 100",
    ];
    let none = String::new();
    assert_eq!(prompts(&[]), (0, all.map(str::to_owned).to_vec(), none.clone()));
    assert_eq!(prompts(&["tid", "--limit", "2"]).1, all[..2]);
    assert_eq!(prompts(&["--cwd", "/w/b"]).1, all[..3]);
    assert_eq!(
        prompts(&["--cwd", "/w/a", "tide", "1"]).1,
        ["tide of 2 at 102", "tide of 1 at 101", "tide of 0 at 100"]
    );
    assert_eq!(prompts(&["--cwd", "/w"]), (0, vec![], none));

    // One that cannot be read costs itself only, and is named.
    let broken = home.join(".omp/agent/history.db");
    fs::write(&broken, "no database").unwrap();
    let (code, rest, said) = prompts(&["--cwd", "/w/b"]);
    assert_eq!((code, rest), (5, vec![all[0].to_owned(), all[2].to_owned()]));
    assert_eq!(said, format!("leaflog: {}: cannot open the history: file is not a database\n", broken.display()));
}
