//! How much memory opening a session takes, measured in a process of its own.
#![allow(dead_code, reason = "several targets include this file, and each uses only a part of it")]

use leaflog::SessionView;
use std::hint::black_box;
use std::path::Path;
use std::{env, fs, io, process};

/// The argument that makes the benchmark binary a measured child.
const CHILD: &str = "--measure-memory-of-opening";

/// In the child, opens the session, prints by how many kilobytes the peak of resident memory grew, and ends.
pub fn run_if_child() {
    let mut args = env::args_os().skip(1);
    if args.next().is_none_or(|arg| arg != CHILD) {
        return;
    }
    let path = args.next().expect("a path");
    let before = peak();
    let view = SessionView::open(path).expect("a session");
    let after = peak();
    black_box(&view);
    if let (Some(before), Some(after)) = (before, after) {
        println!("{}", after - before);
    }
    process::exit(0);
}

/// The growth of the peak of resident memory while a fresh process opens the session, in kilobytes; `None` where the
/// system does not tell.
pub fn growth_of_opening(path: &Path) -> io::Result<Option<u64>> {
    let child = process::Command::new(env::current_exe()?).arg(CHILD).arg(path).output()?;
    Ok(String::from_utf8_lossy(&child.stdout).trim().parse().ok())
}

/// `VmHWM` of this process, in kilobytes.
pub fn peak() -> Option<u64> {
    peak_of("self")
}

/// The same of the process `id`, as long as it runs.
pub fn peak_of(id: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
