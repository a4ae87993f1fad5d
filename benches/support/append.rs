//! What is appended in benchmarks, and to what.

use leaflog::{ManagerOptions, SessionManager};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A message that makes a line of `line` bytes, with its newline: prose with line ends, quotes and some characters that
/// are not ASCII. `line` is at least 512.
pub fn message(role: &str, line: usize) -> String {
    let head = format!(r#"{{"role":"{role}","content":[{{"type":"text","text":""#);
    let tail = concat!(
        r#""}],"api":"messages","provider":"anthropic","model":"claude-opus-4-5","usage":{"input":812,"output":345,"#,
        r#""cacheRead":10240,"cacheWrite":512,"totalTokens":11909,"cost":{"input":0.004,"output":0.008,"total":0.021}},"#,
        r#""stopReason":"stop","timestamp":1771237230000}"#
    );
    // What stands before the message in a line, and the end of the line.
    let around =
        r#"{"type":"message","id":"00000000","parentId":"00000000","timestamp":"2026-02-16T10:20:30.000Z","message":"#
            .len()
            + 2;
    let prose = r#"The reader keeps its place — when the file grew, \"only\" the new lines are read.\n- the index follows\n- the leaf stays\n\n"#;
    let room = line - around - head.len() - tail.len();
    let mut text = prose.repeat(room / prose.len());
    text.push_str(&"x".repeat(room - text.len()));
    [&head, &text, tail].concat()
}

/// The session at `path`. Blobs and whatever else belongs to an agent stay beside the file.
pub fn manager(path: &Path) -> io::Result<SessionManager> {
    let dir = path.parent().unwrap_or(Path::new("."));
    ManagerOptions::new().agent_dir(dir).open(path).map_err(io::Error::other)
}

/// A file that is only appended to.
pub fn append_only(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}
