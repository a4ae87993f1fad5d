//! The order in which the kernel is asked for things, seen by `strace` (R31, R51): this test runs
//! itself under it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{ManagerOptions, TitleSource};
use std::path::Path;
use std::process::Command;

const CHILD: &str = "LEAFLOG_ORDER_DIR";

/// What is watched: two messages, a rename, an image, a flush.
fn child(dir: &Path) {
    let mut m = ManagerOptions::new().agent_dir(dir.join("agent")).create("/home/ada").unwrap();
    m.append_message(r#"{"role":"assistant","content":"Hi"}"#).unwrap();
    m.set_session_name("RENAMED", TitleSource::User).unwrap();
    let data = "AAAA".repeat(400);
    let image = format!(r#"{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#);
    m.append_message(&image).unwrap();
    m.flush().unwrap();
}

/// Calls of the trace: name, and the whole line.
fn calls(trace: &str) -> Vec<(&str, &str)> {
    trace
        .lines()
        .filter_map(|line| {
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            Some((call.split_once('(')?.0, call))
        })
        .collect()
}

/// Finds calls one after another, each behind the one before, and gives their places.
fn in_order(calls: &[(&str, &str)], from: usize, wanted: &[(&[&str], &str)]) -> Vec<usize> {
    let mut at = from;
    let mut found = Vec::new();
    for (names, part) in wanted {
        let next = calls[at..].iter().position(|(name, call)| names.contains(name) && call.contains(part));
        let next = next.unwrap_or_else(|| panic!("no {names:?} with {part} behind call {at} of {calls:#?}"));
        assert!(!calls[at + next].1.contains("= -1"), "{}", calls[at + next].1);
        found.push(at + next);
        at += next + 1;
    }
    found
}

const WRITE: &[&str] = &["write", "pwrite64", "writev"];
const SYNC: &[&str] = &["fsync", "fdatasync"];
const RENAME: &[&str] = &["rename", "renameat", "renameat2"];

#[test]
fn r31_r51_order() {
    if let Some(dir) = std::env::var_os(CHILD) {
        return child(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let status = Command::new("strace")
        .args(["-f", "-y", "-qq", "-s", "300", "-o"])
        .arg(&trace)
        .args(["-e", "trace=write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,ftruncate"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "r31_r51_order", "--test-threads=1"])
        .env(CHILD, dir.path())
        .output();
    let traced = std::fs::read_to_string(&trace).unwrap_or_default();
    match status {
        Ok(output) if output.status.success() => {}
        Ok(output) if !traced.is_empty() => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        // Not installed, or not allowed to trace.
        other => {
            support::skip(format_args!(
                "order of system calls (strace does not run: {:?})",
                other.map(|output| output.status)
            ));
            return;
        }
    }
    let agent = dir.path().join("agent").into_os_string().into_string().unwrap();
    let calls: Vec<_> = calls(&traced).into_iter().filter(|(_, call)| call.contains(&agent)).collect();
    let folder = format!("{agent}/sessions/--home-ada-->");
    let blobs = format!("{agent}/blobs>");

    // The rename: the temporary file is written and synced, then it gets the name, then the folder
    // is synced.
    let renamed =
        in_order(&calls, 0, &[(WRITE, "RENAMED"), (SYNC, ".jsonl.tmp>"), (RENAME, ".jsonl\""), (SYNC, &folder)]);
    assert!(calls[renamed[0]].1.contains(".jsonl.tmp>"), "{}", calls[renamed[0]].1);
    // Nothing else between: no other write to what was synced.
    assert!(renamed.windows(2).all(|pair| pair[1] == pair[0] + 1), "{calls:#?}");

    // The image: the blob is written and named before the one write of the line that names it.
    let image = in_order(&calls, renamed[3], &[(WRITE, "/blobs/."), (RENAME, "/blobs/"), (WRITE, "blob:sha256:")]);
    assert!(calls[image[2]].1.contains(".jsonl>"), "{}", calls[image[2]].1);
    // The flush: blob, its folder, and the session.
    in_order(&calls, image[2], &[(SYNC, "/blobs/"), (SYNC, &blobs), (SYNC, ".jsonl>")]);
    // A session is never cut, and nothing is removed but the file that said that it was open.
    let is_removal = |name: &str, call: &str| name.starts_with("unlink") && !call.contains(".jsonl.use\"");
    assert!(!calls.iter().any(|(name, call)| is_removal(name, call) || *name == "ftruncate"), "{calls:#?}");
}
