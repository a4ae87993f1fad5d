//! Several processes, and threads, with one session (R53).
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{ErrorCode, ManagerOptions, SessionManager, SessionView, TitleSource};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

/// In a child: what it does, and with which session.
const ROLE: &str = "LEAFLOG_PROCESSES_ROLE";
const SESSION: &str = "LEAFLOG_PROCESSES_SESSION";

fn options(session: &Path) -> ManagerOptions {
    let agent = session.ancestors().nth(3).unwrap();
    ManagerOptions::new().agent_dir(agent).lock_timeout(Duration::from_secs(120))
}

/// A session that has started, in a folder of its own.
fn session(dir: &Path) -> PathBuf {
    let mut manager = ManagerOptions::new().agent_dir(dir.join("agent")).create(dir).unwrap();
    manager.append_message(ASSISTANT).unwrap();
    manager.session_file().unwrap().to_owned()
}

/// Starts this program again for one test, which finds its role in the environment.
fn spawn(test: &str, role: &str, session: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ROLE, role)
        .env(SESSION, session)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The role of this process in a test, and the session; `None` in the parent.
fn role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, PathBuf::from(std::env::var_os(SESSION)?)))
}

/// Waits until a child says that it is where it should be.
fn wait_until_ready(child: &mut Child) {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "the child ended early");
}

fn message(writer: &str, number: usize) -> String {
    format!(r#"{{"role":"user","content":"{writer} {number}"}}"#)
}

/// What one of several does: appends, and now and then writes the file anew.
fn write_many(manager: &mut SessionManager, writer: &str, appends: usize) {
    for number in 0..appends {
        let id = manager.append_message(&message(writer, number)).unwrap();
        if number % 400 == 200 {
            manager.set_session_name(&format!("{writer} {number}"), TitleSource::User).unwrap();
        }
        if number % 500 == 300 {
            let text = manager.entry(&id).unwrap().text().unwrap();
            let text = String::from_utf8(text.into_bytes()).unwrap();
            let changed = text.replace(&format!("{writer} {number}"), &format!("{writer} {number} changed"));
            manager.rewrite_entries(&[(&id, &changed)]).unwrap();
        }
    }
}

/// Everything is there once, whole, and in the order of its writer.
fn check_all(path: &Path, writers: usize, appends: usize) {
    let view = SessionView::open(path).unwrap();
    let report = view.report().unwrap();
    assert!(report.is_empty(), "{report:?}");
    assert_eq!(view.entries().len(), 1 + writers * appends);
    let mut next = vec![0; writers];
    let mut ids = HashSet::new();
    for entry in view.entries().skip(1) {
        assert!(ids.insert(entry.id().unwrap()));
        let text = entry.text().unwrap();
        let message = text.json().get("message").unwrap();
        let content = message.get_str("content").unwrap().into_owned();
        let mut words = content.split(' ');
        let (writer, number) = (words.next().unwrap(), words.next().unwrap());
        let (writer, number): (usize, usize) = (writer.parse().unwrap(), number.parse().unwrap());
        assert_eq!(number, next[writer], "writer {writer}");
        next[writer] += 1;
        // R53e: a changed line stays changed, whoever writes the file anew.
        assert_eq!(words.next(), (number % 500 == 300).then_some("changed"), "{content}");
    }
    assert_eq!(next, vec![appends; writers]);
    let title = view.title().unwrap();
    let (writer, number) = title.split_once(' ').unwrap();
    assert!(writer.parse::<usize>().unwrap() < writers && number.parse::<usize>().unwrap() % 400 == 200, "{title}");
    // Each writer's own branch is its own entries: the leaf of one never moves to another's.
    for leaf in view.leaves() {
        let branch = view.branch(&leaf.id().unwrap()).unwrap();
        assert_eq!(branch.len(), 1 + appends);
    }
    assert_eq!(view.leaves().len(), writers);
}

/// How many appends each writer makes: 10,000 with `LEAFLOG_LONG=1`. With `LEAFLOG_LONG_SECONDS=N` they are made
/// again and again.
fn appends(short: usize) -> usize {
    if std::env::var_os("LEAFLOG_LONG").is_some() { 10_000 } else { short }
}

fn several_processes(test: &str, writers: usize, short: usize) {
    let appends = appends(short);
    if let Some((writer, path)) = role() {
        let mut manager = options(&path).open(&path).unwrap();
        println!("\nready");
        // All begin at once.
        std::io::stdin().read_exact(&mut [0]).unwrap();
        return write_many(&mut manager, &writer, appends);
    }
    // Which turns they take is another each time; there is nothing to seed.
    support::rounds(|_| one_round(test, writers, appends));
    println!("{writers} processes made {appends} appends each");
}

fn one_round(test: &str, writers: usize, appends: usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let mut children: Vec<Child> = (0..writers).map(|writer| spawn(test, &writer.to_string(), &path)).collect();
    children.iter_mut().for_each(wait_until_ready);
    for child in &mut children {
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check_all(&path, writers, appends);
}

// F14, R53.
#[test]
fn two_processes() {
    several_processes("two_processes", 2, 5_000);
}

#[test]
fn four_processes() {
    several_processes("four_processes", 4, 2_500);
}

// Two managers in one process, each with a thread of its own.
#[test]
fn two_threads() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    // Both have the session open before either writes: each goes on from the same entry.
    let managers = [0, 1].map(|_| options(&path).open(&path).unwrap());
    let managers: Vec<SessionManager> = std::thread::scope(|scope| {
        let threads: Vec<_> = managers
            .into_iter()
            .enumerate()
            .map(|(writer, mut manager)| {
                scope.spawn(move || {
                    write_many(&mut manager, &writer.to_string(), 1_000);
                    manager
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    check_all(&path, 2, 1_000);
    // What each knows is what the file holds.
    for mut manager in managers {
        manager.append_message(ASSISTANT).unwrap();
        let view = SessionView::open(&path).unwrap();
        let entries = |view: &SessionView| {
            let entries = view.entries().map(|entry| (entry.line(), entry.text().unwrap().into_bytes()));
            entries.collect::<Vec<_>>()
        };
        assert!(entries(&manager) == entries(&view));
        assert_eq!(manager.title(), view.title());
    }
}

/// In a child: takes the lock beside the session and keeps it until it is killed or told to end.
fn hold_the_lock(session: &Path) {
    let lock = File::options().read(true).write(true).open(lock_file(session)).unwrap();
    lock.lock().unwrap();
    println!("\nready");
    // Nothing is sent: this waits for the end of the parent's pipe.
    assert_eq!(std::io::stdin().read(&mut [0]).unwrap(), 0);
}

/// The lock file beside the session: it exists, and is no session (R53a).
fn lock_file(session: &Path) -> PathBuf {
    let files = std::fs::read_dir(session.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let locks: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(".lock")).collect();
    assert_eq!(locks.len(), 1);
    locks.into_iter().next().unwrap()
}

// R32, R53a: LOCKED is not kept in force, and the next append writes both.
#[test]
fn r53a_a_lock_that_is_held_too_long() {
    if let Some((_, path)) = role() {
        return hold_the_lock(&path);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let mut manager = options(&path).lock_timeout(Duration::from_millis(10)).open(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut child = spawn("r53a_a_lock_that_is_held_too_long", "holder", &path);
    wait_until_ready(&mut child);
    let error = manager.append_message(&message("0", 0)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Locked);
    // B23
    assert_eq!(error.entry_id(), manager.leaf().unwrap().id().as_deref());
    let status = manager.persist_status();
    assert_eq!((status.error.map(|error| error.code()), status.unsaved), (None, 1));
    assert_eq!(manager.set_session_name("name", TitleSource::User).unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(manager.flush().unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    manager.append_message(&message("0", 1)).unwrap();
    assert_eq!(manager.persist_status().unsaved, 0);
    let view = SessionView::open(&path).unwrap();
    let contents: Vec<String> = view
        .entries()
        .skip(1)
        .map(|entry| entry.text().unwrap().json().get("message").unwrap().get_str("content").unwrap().into_owned())
        .collect();
    assert_eq!(contents, ["0 0", "0 1"]);
    // The second is the child of the first.
    assert_eq!(view.leaf().unwrap().parent().unwrap().position(), 1);
}

// A lock cannot outlive its process.
#[test]
fn r53a_a_process_that_dies_with_the_lock() {
    if let Some((_, path)) = role() {
        return hold_the_lock(&path);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let mut manager = options(&path).lock_timeout(Duration::from_millis(10)).open(&path).unwrap();
    let mut child = spawn("r53a_a_process_that_dies_with_the_lock", "holder", &path);
    wait_until_ready(&mut child);
    assert_eq!(manager.append_message(ASSISTANT).unwrap_err().code(), ErrorCode::Locked);
    child.kill().unwrap();
    child.wait().unwrap();
    manager.append_message(ASSISTANT).unwrap();
    assert_eq!(SessionView::open(&path).unwrap().entries().len(), 3);
}

/// In how many rounds each mover moves the session: 10,000 with `LEAFLOG_LONG=1`.
fn rounds() -> usize {
    if std::env::var_os("LEAFLOG_LONG").is_some() { 10_000 } else { 100 }
}

/// How many entries are appended meanwhile.
const APPENDS: usize = 100;

/// The sessions below a directory: no hidden files.
fn sessions_below(dir: &Path) -> Vec<PathBuf> {
    let entries = |dir: &Path| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let is_session = |path: &PathBuf| {
        let hidden = path.file_name().unwrap().to_string_lossy().starts_with('.');
        path.extension().is_some_and(|ending| ending == "jsonl") && !hidden
    };
    entries(dir).iter().flat_map(|dir| entries(dir)).filter(is_session).collect()
}

/// What a child of the tests below does with the session that the parent made.
fn move_or_append(role: &str, path: &Path) {
    let mut manager = options(path).open(path).unwrap();
    println!("\nready");
    // All begin at once.
    std::io::stdin().read_exact(&mut [0]).unwrap();
    for round in 0..rounds() {
        if role == "appender" {
            // A session that stays small is moved often: in a long run most rounds write no entry.
            if round % (rounds() / APPENDS) == 0 {
                println!("\nacknowledged {}", manager.append_message(&message("0", round)).unwrap());
            } else {
                assert!(manager.set_session_name(&format!("{round}"), TitleSource::User).unwrap());
            }
        } else {
            manager.move_to(["/no-such/b", "/no-such/a"][round % 2]).unwrap();
        }
    }
    if role != "appender" {
        // Whoever moved last: this one knows where the session is after one more entry.
        println!("\nacknowledged {}", manager.append_message(&message(role, 0)).unwrap());
        assert!(manager.session_file().unwrap().exists());
    }
}

/// Two processes move one session to and fro, with or without a third that appends to it.
fn moved_by_two(test: &str, appends: bool) {
    if let Some((role, path)) = role() {
        return move_or_append(&role, &path);
    }
    let dir = tempfile::tempdir().unwrap();
    let options = ManagerOptions::new().agent_dir(dir.path().join("agent"));
    let mut manager = options.create("/no-such/a").unwrap();
    let first = manager.append_message(ASSISTANT).unwrap();
    manager.save_artifact(b"output", "bash").unwrap();
    let path = manager.session_file().unwrap().to_owned();
    drop(manager);
    let roles = ["1", "2", "appender"];
    let roles = &roles[..if appends { 3 } else { 2 }];
    let mut children: Vec<Child> = roles.iter().map(|role| spawn(test, role, &path)).collect();
    children.iter_mut().for_each(wait_until_ready);
    for child in &mut children {
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
    }
    let mut acknowledged = vec![first];
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let read = |child: Child| scope.spawn(move || child.wait_with_output().unwrap());
        let threads: Vec<_> = children.into_iter().map(read).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (output, role) in outputs.iter().zip(roles) {
        assert!(output.status.success(), "{role} failed");
        let text = String::from_utf8_lossy(&output.stdout);
        acknowledged.extend(text.lines().filter_map(|line| line.strip_prefix("acknowledged ")).map(str::to_owned));
    }
    assert_eq!(acknowledged.len(), 3 + if appends { APPENDS } else { 0 });
    let found = sessions_below(&dir.path().join("agent/sessions"));
    assert_eq!(found.len(), 1, "{found:?}");
    let view = SessionView::open(&found[0]).unwrap();
    assert!(view.report().unwrap().is_empty());
    let mut ids: Vec<String> = view.entries().map(|entry| entry.id().unwrap().into_owned()).collect();
    ids.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(ids, acknowledged);
    let artifacts = leaflog::ArtifactManager::new(&found[0]).unwrap();
    assert_eq!(std::fs::read(artifacts.path("0").unwrap()).unwrap(), b"output");
    let cwd = view.header().cwd.clone().unwrap();
    assert!(found[0].parent().unwrap().ends_with(format!("--{}--", cwd[1..].replace('/', "-"))), "{cwd}");
    println!("{} moves by each of two processes, {} entries", rounds(), ids.len());
}

#[test]
fn b05_two_processes_move_one_session() {
    moved_by_two("b05_two_processes_move_one_session", false);
}

#[test]
fn u08_moves_while_another_process_appends() {
    moved_by_two("u08_moves_while_another_process_appends", true);
}
