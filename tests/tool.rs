//! The command-line tool, run as a program: what it prints, and how it ends.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)]

#[path = "tool/check.rs"]
mod check;
#[path = "tool/context.rs"]
mod context;
#[path = "tool/ends.rs"]
mod ends;
#[cfg(feature = "history")]
#[path = "tool/history.rs"]
mod history;
#[path = "tool/list.rs"]
mod list;
#[path = "tool/show.rs"]
mod show;
mod support;
#[path = "tool/terminal.rs"]
mod terminal;

use serde_json::Value;
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn fixture(name: &str) -> String {
    project("tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// The bundled session.
fn example() -> String {
    let dir = project("examples/agent/sessions/--home-ada-projects-tidewatch--");
    let file = fs::read_dir(dir).unwrap().next().unwrap().unwrap();
    file.path().to_str().unwrap().to_owned()
}

/// What a run of the tool gave.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {}", self.out))
    }

    fn last_line(&self) -> &str {
        self.out.lines().last().unwrap_or_default()
    }
}

/// The tool in an environment of its own: UTC, no agent's folders.
fn tool<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaflog"));
    command.args(args).env_clear().env("TZ", "UTC").env("HOME", "/nonexistent").stdin(Stdio::null());
    command
}

fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    finish(&mut tool(args))
}

fn with_stdin(args: &[&str], input: &[u8]) -> Ran {
    let mut child = tool(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A tool that does not read to the end is no failure of the writer.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"00aa000000000001","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/p"}"#;

/// A user message.
fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-02-16T10:01:00.000Z",
        "message": {"role": "user", "content": text}})
    .to_string()
}

fn session(dir: &Path, name: &str, lines: &[String]) -> String {
    let path = dir.join(name);
    fs::write(&path, format!("{HEADER}\n{}\n", lines.join("\n"))).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The names and hand-written facts of all golden files.
fn facts() -> Vec<(String, Value)> {
    let mut facts = Vec::new();
    for file in fs::read_dir(project("tests/fixtures")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(case) = name.strip_suffix(".facts.json") {
            let text = fs::read_to_string(project("tests/fixtures").join(&name)).unwrap();
            facts.push((case.to_owned(), serde_json::from_str(&text).unwrap()));
        }
    }
    assert!(facts.len() >= 51, "only {} cases found", facts.len());
    facts
}

/// The report of a file without faults.
fn no_report() -> Value {
    json!({"skippedLines": [], "trailingText": [], "duplicateIds": [], "entriesWithoutId": [], "missingParents": [],
        "cycles": [], "emptyCompactions": [], "missingBlobs": [], "newerVersion": null})
}
