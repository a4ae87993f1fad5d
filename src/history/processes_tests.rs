//! Several processes with one database.

use super::{Place, recent, words_are_sound};
use crate::history::HistoryStorage;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// In a child: what it does, and with which database.
const ROLE: &str = "LEAFLOG_HISTORY_ROLE";
const DATABASE: &str = "LEAFLOG_HISTORY_DATABASE";

/// Starts this program again for one test, which finds its role in the environment.
fn spawn(test: &str, role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("history::tests::processes::{test}"), "--nocapture"])
        .env(ROLE, role)
        .env(DATABASE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The role of this process in a test, and the database; `None` in the parent.
fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, PathBuf::from(std::env::var_os(DATABASE)?)))
}

/// Says that this process is where it should be, and waits to be told to go on.
fn ready() {
    println!("\nready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the child ended early");
}

fn go_on(child: &mut Child) {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
}

// R42, R44, F30
#[test]
fn ten_thousand_prompts_of_four_processes() {
    const EACH: i64 = 2_500;
    if let Some((role, path)) = role() {
        ready();
        // All four find nothing at the path.
        let history = HistoryStorage::open(path).unwrap();
        for number in 0..EACH {
            history.add(&format!("{role} prompt {number} of many words"), Some("/p")).unwrap();
            if number % 100 == 0 {
                history.flush().unwrap();
            }
        }
        history.close().unwrap();
        return;
    }
    let place = Place::new();
    let name = "ten_thousand_prompts_of_four_processes";
    let mut children: Vec<Child> = (0..4).map(|child| spawn(name, &format!("writer{child}"), &place.path)).collect();
    children.iter_mut().for_each(wait_until_ready);
    children.iter_mut().for_each(go_on);
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }

    let conn = place.raw();
    words_are_sound(&conn);
    assert_eq!(super::pragma(&conn, "integrity_check"), "ok");
    assert_eq!(super::schema(&conn), super::r42());
    let count = |sql: &str| conn.query_row(sql, (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM history"), 4 * EACH);
    assert_eq!(count("SELECT count(*) FROM history_fts WHERE history_fts MATCH '\"writer2\" \"man\"*'"), EACH);
    for writer in 0..4 {
        let mut rows = conn.prepare("SELECT prompt FROM history WHERE prompt LIKE ?1 ORDER BY id").unwrap();
        let rows = rows.query_map([format!("writer{writer} %")], |row| row.get::<_, String>(0)).unwrap();
        for (number, row) in rows.enumerate() {
            assert_eq!(row.unwrap(), format!("writer{writer} prompt {number} of many words"));
        }
    }
}

// A2: the database is copied and renamed over itself while two processes use it, as sync tools do. What they store
// meanwhile goes to files that are replaced, so it may be lost; but nobody is killed, and the history goes on.
#[cfg(unix)]
#[test]
fn a02_a_database_replaced_under_two_processes() {
    const ROUNDS: usize = 40;
    if let Some((role, path)) = role() {
        let history = HistoryStorage::open(path).unwrap();
        for step in 0..ROUNDS * 20 {
            // One is told to go on in each round, the other once.
            if step == 0 || role == "paced" && step % 20 == 0 {
                ready();
            }
            let _ = history.add(&format!("{role} {step}"), None);
            let _ = history.flush();
            let _ = history.recent(10);
        }
        let _ = history.close();
        return;
    }
    let place = Place::new();
    let name = "a02_a_database_replaced_under_two_processes";
    let [mut paced, mut free] = ["paced", "free"].map(|child| spawn(name, child, &place.path));
    wait_until_ready(&mut free);
    go_on(&mut free);
    let mut said = BufReader::new(paced.stdout.take().unwrap()).lines();
    let mut input = paced.stdin.take().unwrap();
    let copy = place.path.with_file_name("copy");
    for _ in 0..ROUNDS {
        if !said.any(|line| line.unwrap() == "ready") {
            break;
        }
        input.write_all(b"\n").unwrap();
        // While both go on.
        std::fs::copy(&place.path, &copy).unwrap();
        std::fs::rename(&copy, &place.path).unwrap();
    }
    for mut child in [paced, free] {
        let ended = child.wait().unwrap();
        assert!(ended.success(), "{ended}");
    }
    let history = place.open();
    let afterwards = "afterwards".to_owned();
    super::add(&history, &[&afterwards]);
    let before = history.set_aside();
    if !recent(&history).contains(&afterwards) {
        // A file that was copied while it was written to may have damage that only reading meets. That is told, and what
        // was stored may be added again.
        let copy = history.set_aside();
        assert!(copy.is_some() && copy != before, "a stored prompt is gone, and no damage is told: {before:?}");
        super::add(&history, &[&afterwards]);
        assert!(recent(&history).contains(&afterwards));
    }
}

#[test]
fn what_was_flushed_outlives_the_process() {
    if let Some((_, path)) = role() {
        let history = HistoryStorage::open(path).unwrap();
        for prompt in ["one", "two", "three"] {
            history.add(prompt, None).unwrap();
        }
        history.flush().unwrap();
        ready();
        unreachable!("it is killed");
    }
    let place = Place::new();
    let mut child = spawn("what_was_flushed_outlives_the_process", "", &place.path);
    wait_until_ready(&mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(recent(&place.open()), ["three", "two", "one"]);
    assert!(place.copies().is_empty());
}

#[test]
fn dropping_stores_what_waits() {
    if let Some((_, path)) = role() {
        let history = HistoryStorage::open(path).unwrap();
        for number in 0..50 {
            history.add(&number.to_string(), None).unwrap();
        }
        drop(history);
        std::process::exit(0);
    }
    let place = Place::new();
    assert!(spawn("dropping_stores_what_waits", "", &place.path).wait().unwrap().success());
    assert_eq!(recent(&place.open()).len(), 50);
}
