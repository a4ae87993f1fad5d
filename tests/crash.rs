//! Processes that are killed while they write: what they had been told is written is in the file.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{ManagerOptions, SessionManager, SessionView, TitleSource};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

const USER: &str = r#"{"role":"user","content":"Hello"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

/// In the child: where it works.
const CHILD: &str = "LEAFLOG_CRASH_CHILD";
/// In the child: the session it goes on with.
const SESSION: &str = "LEAFLOG_CRASH_SESSION";
/// In the child: what it draws its random numbers from.
const SEED: &str = "LEAFLOG_CRASH_SEED";
const KILLS: usize = 200;

fn options(dir: &Path) -> ManagerOptions {
    ManagerOptions::new().agent_dir(dir.join("agent"))
}

/// Works on the session until it is killed, and says after each call what is written.
fn child(dir: &Path) {
    fastrand::seed(std::env::var(SEED).unwrap().parse().unwrap());
    let mut manager = match std::env::var_os(SESSION) {
        Some(path) => options(dir).open(path).unwrap(),
        None => options(dir).create(dir).unwrap(),
    };
    let image = format!(r#"{{"role":"user","content":[{{"type":"image","data":"{}"}}]}}"#, "AAAA".repeat(400));
    let mut out = std::io::stdout();
    let mut say = |what: &str, manager: &SessionManager, id: &str| {
        let line = format!("{what} {id} {}\n", manager.session_file().unwrap().display());
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
    };
    let first = manager.append_message(ASSISTANT).unwrap();
    say("ack", &manager, &first);
    loop {
        match fastrand::u32(..40) {
            0 => {
                // Later names are larger, also those of a later process.
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let name = format!("name-{}", now.as_nanos());
                manager.set_session_name(&name, TitleSource::User).unwrap();
                say("name", &manager, &name);
            }
            1 => manager.rewrite_entries(&[]).unwrap(),
            2 => {
                manager.fork().unwrap();
            }
            3 => {
                let leaf = manager.leaf().unwrap().id().unwrap().into_owned();
                manager.create_branched_session(&leaf).unwrap();
            }
            4 => manager.flush().unwrap(),
            5 => manager.close().unwrap(),
            6 => {
                let entries: Vec<_> = manager.entries().filter_map(|entry| entry.id()).collect();
                let id = entries[fastrand::usize(..entries.len())].clone().into_owned();
                manager.branch(&id).unwrap();
            }
            7 => {
                let id = manager.append_message(&image).unwrap();
                say("ack", &manager, &id);
            }
            _ => {
                let id = manager.append_message(USER).unwrap();
                say("ack", &manager, &id);
            }
        }
    }
}

/// Every entry that was said to be written is in the file that was named, and the file is whole up
/// to a torn tail.
fn check(path: &Path, said: &[String], names: &[String], run: usize) {
    let view = SessionView::open(path).unwrap();
    let ids: Vec<String> = view.entries().filter_map(|entry| entry.id()).map(|id| id.into_owned()).collect();
    let mut rest = ids.iter();
    for id in said {
        assert!(rest.any(|found| found == id), "run {run}: {id} is lost or out of order in {ids:?}");
    }
    let report = view.report().unwrap();
    assert!(report.trailing_text.is_empty() && report.duplicate_ids.is_empty(), "run {run}: {report:?}");
    assert!(report.missing_blobs.is_empty(), "run {run}: a blob is missing");
    // A killed process can leave one torn line each time.
    assert!(report.skipped_lines.len() <= run, "run {run}: {report:?}");
    if let Some(last) = names.last() {
        let number = |name: &str| name.strip_prefix("name-").and_then(|number| number.parse::<u128>().ok());
        // One that came after may not have been said yet.
        assert!(view.title().and_then(number) >= number(last), "run {run}: {last} is lost");
    }
}

/// The children's files as they were named, with what was said of each.
#[derive(Default)]
struct Said {
    ids: HashMap<PathBuf, Vec<String>>,
    names: HashMap<PathBuf, Vec<String>>,
}

// R54: 200 processes are killed at a random moment.
#[test]
fn r54_killed_processes_lose_nothing() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return child(Path::new(&dir));
    }
    support::rounds(|seed| {
        fastrand::seed(seed);
        kill_processes();
    });
}

fn kill_processes() {
    let (mut acknowledged, mut torn, mut leftovers) = (0, 0, 0);
    let mut kill = 0;
    while kill < KILLS {
        let dir = tempfile::tempdir().unwrap();
        let mut said = Said::default();
        let mut session: Option<PathBuf> = None;
        // Up to ten processes, one after another, go on with the same session.
        for run in 1..=10 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "r54_killed_processes_lose_nothing", "--nocapture"]).env(CHILD, dir.path());
            command.env(SEED, fastrand::u64(..).to_string());
            if let Some(session) = &session {
                command.env(SESSION, session);
            }
            let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(process.stdout.take().unwrap()).lines();
            let most = fastrand::usize(1..60);
            let mut read = 0;
            // What was said before the kill reached the process counts too: read to the end.
            for line in lines {
                let line = line.unwrap();
                let mut words = line.split(' ');
                let words = (words.next(), words.next(), words.next());
                let (known, word, path) = match words {
                    (Some("ack"), Some(id), Some(path)) => (&mut said.ids, id, PathBuf::from(path)),
                    (Some("name"), Some(name), Some(path)) => (&mut said.names, name, PathBuf::from(path)),
                    // The test runner's own lines.
                    _ => continue,
                };
                known.entry(path.clone()).or_default().push(word.to_owned());
                session = Some(path);
                read += 1;
                if read == most {
                    process.kill().unwrap();
                }
            }
            let status = process.wait().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "the child failed: {status}");
            kill += 1;
            for (path, ids) in &said.ids {
                check(path, ids, said.names.get(path).map_or(&[], Vec::as_slice), run);
                acknowledged += ids.len();
            }
            let path = session.clone().unwrap();
            torn += usize::from(!std::fs::read(&path).unwrap().ends_with(b"\n"));
            leftovers += named(&path, ".tmp").len();
        }
        // Whoever opens the session next removes what was left beside it.
        for path in said.ids.keys() {
            let mut manager = options(dir.path()).open(path).unwrap();
            let id = manager.append_message(ASSISTANT).unwrap();
            assert_eq!(SessionView::open(path).unwrap().leaf().unwrap().id().unwrap(), id);
            let name = format!(".{}.tmp", path.file_name().unwrap().to_string_lossy());
            assert!(!path.with_file_name(name).exists());
        }
    }
    println!("{kill} processes killed; checked {acknowledged} entries; {torn} torn tails, {leftovers} leftovers seen");
}

fn named(session: &Path, end: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(session.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.to_string_lossy().ends_with(end)).collect()
}
