//! Finding sessions, and how the tool ends.

use crate::{HEADER, example, finish, fixture, run, session, tool, user, with_stdin};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

#[test]
fn standard_input() {
    let bytes = fs::read(fixture("branches.jsonl")).unwrap();
    let from_file = run(["context", &fixture("branches.jsonl"), "--json"]).out;
    assert_eq!(with_stdin(&["context", "-", "--json"], &bytes).out, from_file);
    let shown = with_stdin(&["show", "-"], &bytes);
    assert!(shown.out.contains("\nfile      <stdin>\n") && shown.out.contains("\n* bb000014 "), "{}", shown.out);
    assert_eq!(with_stdin(&["stats", "-", "--json"], &bytes).json()["path"], Value::Null);
    assert_eq!(with_stdin(&["check", "-"], &bytes).out, "<stdin>: fine\n");
    let bad = with_stdin(&["show", "-"], b"hello\n");
    assert_eq!((bad.code, bad.err.as_str()), (5, "leaflog: <stdin>:1: not a session: the line is not JSON\n"));
}

/// An agent's folder with sessions; the last one is the newest.
fn agent(dir: &Path) {
    let folder = dir.join("agent/sessions/--p--");
    fs::create_dir_all(&folder).unwrap();
    for (age, id) in
        [(50, "00cc"), (40, "00cc01"), (30, "00aa000000000001"), (20, "00aa0000000000ff"), (10, "00bb000000000003")]
    {
        let path = folder.join(format!("2026-02-16T10-00-00-000Z_{id}.jsonl"));
        let text = format!("{}\n{}\n", HEADER.replace("00aa000000000001", id), user("a1", None, "hi"));
        fs::write(&path, text).unwrap();
        let changed = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        fs::File::options().append(true).open(&path).unwrap().set_modified(changed).unwrap();
    }
}

// R39, C
#[test]
fn sessions_by_id_and_the_last() {
    let dir = TempDir::new().unwrap();
    agent(dir.path());
    let id = |arg: &str| {
        let mut command = tool(["stats", arg, "--json"]);
        let ran = finish(command.env("PI_CODING_AGENT_DIR", dir.path().join("agent")).env("HOME", dir.path()));
        (ran.code, if ran.code == 0 { ran.json()["id"].as_str().unwrap().to_owned() } else { ran.err })
    };
    let found = |id: &str| (0, id.to_owned());
    assert_eq!(id("@last"), found("00bb000000000003"));
    assert_eq!(id("00bb"), found("00bb000000000003"));
    assert_eq!(id("00BB"), found("00bb000000000003"));
    assert_eq!(id("00aa0000000000f"), found("00aa0000000000ff"));
    // A whole id means its session, though others begin with it.
    assert_eq!(id("00cc"), found("00cc"));
    assert_eq!(id("00c").0, 3);
    let (code, message) = id("00aa");
    assert_eq!(code, 3);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "leaflog: 00aa: 2 sessions fit, the newest first:");
    assert!(lines[1].ends_with("_00aa0000000000ff.jsonl") && lines[2].ends_with("_00aa000000000001.jsonl"));
    let (code, message) = id("ffff");
    assert_eq!(code, 3);
    assert!(message.starts_with("leaflog: ffff: no such file, and no session of that id in "), "{message}");
    // Under home, when nothing names the folder.
    fs::rename(dir.path().join("agent"), dir.path().join("moved")).unwrap();
    fs::create_dir(dir.path().join(".xcsh")).unwrap();
    fs::rename(dir.path().join("moved"), dir.path().join(".xcsh/agent")).unwrap();
    let ran = finish(tool(["stats", "@last", "--json"]).env("HOME", dir.path()));
    assert_eq!(ran.json()["id"], "00bb000000000003");
    // A file of that name comes first.
    fs::copy(fixture("branches.jsonl"), dir.path().join("00bb")).unwrap();
    let ran = finish(tool(["stats", "00bb", "--json"]).env("HOME", dir.path()).current_dir(dir.path()));
    assert_eq!(ran.json()["id"], "b100000000000001");
    let none = run(["show", "@last"]);
    assert_eq!(none.code, 3);
    assert!(none.err.starts_with("leaflog: @last: no session found"), "{}", none.err);
}

#[test]
fn exit_codes() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let text = path("text.jsonl");
    fs::write(&text, "{\"type\":\"message\"}\n").unwrap();
    let empty = path("empty.jsonl");
    fs::write(&empty, "").unwrap();
    for command in ["show", "context", "stats", "check"] {
        let ends = |file: &str| {
            let ran = run([command, file]);
            assert!(ran.err.starts_with("leaflog: ") && ran.err.contains(file), "{command} {file}: {}", ran.err);
            assert!(!ran.err.contains("panicked"), "{}", ran.err);
            ran.code
        };
        assert_eq!(ends(&path("none.jsonl")), 3, "{command}: missing");
        assert_eq!(ends(&path("")), 5, "{command}: a folder");
        assert_eq!(ends(&text), 5, "{command}: not a session");
        assert_eq!(ends(&empty), 5, "{command}: empty");
        assert_eq!(ends(&format!("{text}/below")), 5, "{command}: below a file");
        assert_eq!(run([command]).code, 2, "{command}: no file");
        assert_eq!(run([command, &text, "--nonsense"]).code, 2, "{command}: unknown option");
        // R13: a newer version opens.
        let newer = run([command, &fixture("v4-newer.jsonl")]);
        assert_eq!(newer.code, i32::from(command == "check"), "{command}: {}", newer.err);
    }
    assert_eq!(run(Vec::<String>::new()).code, 2);
}

// What is wrong with the command line is told as everything else is.
#[test]
fn wrong_use() {
    let file = fixture("branches.jsonl");
    for (args, want) in [
        (&["show"][..], "leaflog: the following required arguments were not provided:\n  <FILE>\n"),
        (&["show", &file, "--nonsense"], "leaflog: unexpected argument '--nonsense' found\n"),
        (
            &["show", &file, "--limit", "0"],
            "leaflog: invalid value '0' for '--limit <N>': it is a whole number from 1 on\n",
        ),
        (&["recent", "--limit", "x"], "leaflog: invalid value 'x' for '--limit <N>': it is a whole number from 1 on\n"),
        (&["show", ""], "leaflog: invalid value '' for '<FILE>': a name is not empty\n"),
        (&["show", &file, "--leaf", ""], "leaflog: a value is required for '--leaf <ID>' but none was supplied\n"),
        (&["resume", ""], "leaflog: a value is required for '<ARG>' but none was supplied\n"),
        (&["delete", "-"], "leaflog: the standard input cannot be deleted\n"),
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.starts_with(want), "{args:?}: {}", ran.err);
    }
}

// A name with a line end in it cannot look like another message.
#[test]
fn further_lines_are_set_in() {
    let ran = run(["show", "no\nleaflog: all is well"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.starts_with("leaflog: no\n  leaflog: all is well: no such file"), "{}", ran.err);
}

// The command that a hint names can be pasted.
#[test]
fn the_hint_can_be_pasted() {
    let dir = TempDir::new().unwrap();
    let text = format!("{HEADER}\n{}\nhello\n", user("a1", None, "hi"));
    for (name, want) in [("s.jsonl", "s.jsonl"), ("ada's s.jsonl", r"'ada'\''s s.jsonl'"), ("-s.jsonl", "'./-s.jsonl'")]
    {
        fs::write(dir.path().join(name), &text).unwrap();
        let ran = finish(tool(["show", "--", name]).current_dir(dir.path()));
        assert_eq!(ran.last_line(), format!("1 thing to report: leaflog check {want}"), "{}", ran.err);
    }
    let ran = with_stdin(&["show", "-"], text.as_bytes());
    assert_eq!(ran.last_line(), "1 thing to report: leaflog check -");
}

#[cfg(unix)]
#[test]
fn a_file_without_permission() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TempDir::new().unwrap();
    let file = session(dir.path(), "s.jsonl", &[]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&file).is_ok() {
        println!("this user may read everything, a file without permission is not tested");
        return;
    }
    let ran = run(["show", &file]);
    assert_eq!(ran.code, 5);
    assert!(ran.err.starts_with(&format!("leaflog: {file}: cannot open the session: ")), "{}", ran.err);
}

#[test]
fn help_and_version() {
    let ran = run(["--version"]);
    assert_eq!((ran.code, ran.out), (0, format!("leaflog {}\n", env!("CARGO_PKG_VERSION"))));
    let commands = ["show", "context", "check", "stats", "list", "recent", "resume", "delete"];
    for args in [vec!["--help"], vec!["-h"]].into_iter().chain(commands.map(|command| vec![command, "--help"])) {
        let ran = run(&args);
        assert_eq!(ran.code, 0, "{args:?}");
        for part in ["Usage: leaflog", "Examples:", "Exit codes:", "--color"] {
            assert!(ran.out.contains(part), "{args:?}: no {part}");
        }
    }
}

// Whoever closes the pipe has seen enough: no message, no failure.
#[test]
fn a_broken_pipe_is_silent() {
    let dir = TempDir::new().unwrap();
    let mut lines = vec![user("e0", None, "start")];
    lines.extend((1..5000).map(|at| user(&format!("e{at}"), Some(&format!("e{}", at - 1)), &"go on ".repeat(20))));
    let file = session(dir.path(), "s.jsonl", &lines);
    for args in [&["show", &file][..], &["show", &file, "--json"], &["context", &file], &["context", &file, "--json"]] {
        let mut child = tool(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 16];
        child.stdout.as_mut().unwrap().read_exact(&mut start).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

// A full disk is told.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    for args in [&["show", &example()][..], &["--help"], &["show", "--help"], &["--version"]] {
        let output = tool(args).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{args:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("leaflog: cannot write the output: "), "{args:?}: {err}");
    }
}
