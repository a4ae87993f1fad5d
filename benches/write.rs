//! Benchmarks of writing, each beside its baseline in the same run. `docs/performance.md` says what each one means.
//!
//! `cargo bench --bench write` measures, `-- --appends` only appends, `-- --test` runs everything once on small files.

#[path = "support/append.rs"]
mod append;
#[path = "support/files.rs"]
mod files;
#[path = "support/interleave.rs"]
mod interleave;
#[path = "support/sessions.rs"]
mod sessions;

use append::{append_only, manager, message};
use files::{Files, Sizes};
use interleave::{Timed, heading, interleave, row};
use leaflog::{ManagerOptions, TitleSource};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Bytes of an appended line, with its newline.
const LINE: usize = 1600;

/// How much is measured.
#[derive(Clone, Copy)]
struct Plan {
    sizes: Sizes,
    append_rounds: usize,
    appends: usize,
    rewrite_rounds: usize,
    pause: Duration,
    bursts: [usize; 2],
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let given = |name: &str| args.iter().any(|arg| arg == name);
    // Without `--bench` it is `cargo test` that asks.
    let plan = if given("--bench") && !given("--test") {
        Plan {
            sizes: Sizes::FULL,
            append_rounds: 401,
            appends: 100,
            rewrite_rounds: 11,
            pause: Duration::from_millis(300),
            bursts: [5_000, 50_000],
        }
    } else {
        Plan {
            sizes: Sizes::SMALL,
            append_rounds: 1,
            appends: 20,
            rewrite_rounds: 1,
            pause: Duration::ZERO,
            bursts: [50, 500],
        }
    };
    let files = Files::new(plan.sizes);
    let dir = tempfile::tempdir_in(files.dir()?)?;
    heading();
    appends(&files, dir.path(), plan)?;
    if given("--appends") {
        return Ok(());
    }
    renames(&files, dir.path(), plan)?;
    bursts(dir.path(), plan)
}

/// Appending a message to a session in a file, beside a bare `write` of as many bytes and beside the system calls
/// that an append is made of.
fn appends(files: &Files, dir: &Path, plan: Plan) -> io::Result<()> {
    let line = vec![b'x'; LINE];
    let message = message("assistant", LINE);
    for (name, entries) in [("10 entries", 10), ("a million entries", plan.sizes.long_chain())] {
        let path = dir.join(format!("append-{entries}.jsonl"));
        fs::copy(files.chain(entries)?, &path)?;
        let mut session = manager(&path)?;
        session.append_message(&message).map_err(io::Error::other)?;
        let before = fs::metadata(&path)?.len();
        session.append_message(&message).map_err(io::Error::other)?;
        assert_eq!(fs::metadata(&path)?.len() - before, LINE as u64, "the line has the bytes of the bare write");
        let (mut bare, calls) = (append_only(&dir.join("bare"))?, append_only(&dir.join("calls"))?);
        let lock = append_only(&dir.join("calls.lock"))?;
        let calls_path = dir.join("calls");
        let mut jobs = [
            Timed::new(|| {
                for _ in 0..plan.appends {
                    session.append_message(&message).expect("an append");
                }
            }),
            Timed::new(|| {
                for _ in 0..plan.appends {
                    bare.write_all(&line).expect("a write");
                }
            }),
            Timed::new(|| {
                for _ in 0..plan.appends {
                    system_calls(&lock, &calls_path, &calls, &line).expect("a write");
                }
            }),
        ];
        interleave(plan.append_rounds, &mut jobs);
        let [append, bare, calls] = &jobs;
        row(&format!("append at {name}"), "bare write", &append.against(bare), Some(2.5));
        row(&format!("append at {name}"), "its system calls", &append.against(calls), None);
        row("its system calls", "bare write", &calls.against(bare), None);
        for (name, job) in [("append", append), ("bare write", bare), ("its system calls", calls)] {
            let us = |time: Duration| time.as_secs_f64() * 1e6 / plan.appends as f64;
            println!("  {name:<40} {:>8.2} us, at least {:.2}", us(job.median()), us(job.least()));
        }
    }
    Ok(())
}

/// Lock, look, write, unlock: nothing else.
fn system_calls(lock: &File, path: &Path, mut file: &File, line: &[u8]) -> io::Result<()> {
    lock.lock()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        statx(CWD, path, AtFlags::empty(), StatxFlags::SIZE | StatxFlags::INO)?;
    }
    #[cfg(not(target_os = "linux"))]
    fs::metadata(path)?;
    file.write_all(line)?;
    lock.unlock()
}

/// Naming a large session, which writes it anew, beside copying and syncing it.
fn renames(files: &Files, dir: &Path, plan: Plan) -> io::Result<()> {
    let (path, copy) = (dir.join("rename.jsonl"), dir.join("copy"));
    fs::copy(files.session()?, &path)?;
    sync(&path);
    let mut session = manager(&path)?;
    let mut number = 0;
    let pause = plan.pause;
    let mut jobs = [
        Timed::new(|| {
            number += 1;
            assert!(session.set_session_name(&format!("name {number}"), TitleSource::User).expect("a rename"));
        })
        // The old file is freed on another thread, which must not run on while the others are timed.
        .after(|| std::thread::sleep(pause)),
        Timed::new(|| cp_and_sync(&path, &copy)).after(|| fs::remove_file(&copy).expect("a copy")),
        Timed::new(|| {
            fs::copy(&path, &copy).expect("a copy");
            File::open(&copy).and_then(|file| file.sync_all()).expect("a sync");
        })
        .after(|| fs::remove_file(&copy).expect("a copy")),
    ];
    interleave(plan.rewrite_rounds, &mut jobs);
    let [rename, cp, copy] = &jobs;
    row("rename", "cp and sync", &rename.against(cp), Some(1.0));
    row("rename", "copying in this process and sync", &rename.against(copy), None);
    for (name, job) in [("rename", rename), ("cp and sync", cp), ("copying in this process and sync", copy)] {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("  {name:<40} {:>8.1} ms, at least {:.1}", ms(job.median()), ms(job.least()));
    }
    Ok(())
}

fn cp_and_sync(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cp failed");
    sync(to);
}

fn sync(path: &Path) {
    let status = Command::new("sync").arg(path).status().expect("sync");
    assert!(status.success(), "sync failed");
}

/// A burst of messages before the session starts, and the start, beside writing the same bytes at once, and a burst
/// ten times as long.
fn bursts(dir: &Path, plan: Plan) -> io::Result<()> {
    let message = message("assistant", LINE);
    let user = message.replace(r#""role":"assistant""#, r#""role":"user""#);
    let burst = |name: &str, count: usize| -> PathBuf {
        let dir = dir.join(name);
        let mut session = ManagerOptions::new().session_dir(&dir).agent_dir(&dir).create(&dir).expect("a session");
        for _ in 1..count {
            session.append_message(&user).expect("an append");
        }
        let path = session.session_file().expect("a file").to_owned();
        assert!(!path.exists(), "nothing is written before the session starts");
        session.append_message(&message).expect("an append");
        path
    };
    let bare = |count: usize| {
        let (temp, path) = (dir.join("bare-burst.tmp"), dir.join("bare-burst"));
        let mut file = File::create(&temp).expect("a file");
        file.write_all(&vec![b'x'; count * LINE]).expect("a write");
        file.sync_all().expect("a sync");
        fs::rename(&temp, &path).expect("a rename");
        File::open(dir).and_then(|dir| dir.sync_all()).expect("a sync");
    };
    let [few, many] = plan.bursts;
    let clean = || _ = fs::remove_dir_all(dir.join("burst"));
    let mut jobs = [
        Timed::new(|| _ = burst("burst", few)).after(clean),
        Timed::new(|| bare(few)),
        Timed::new(|| _ = burst("burst", many)).after(clean),
        Timed::new(|| bare(many)),
    ];
    interleave(plan.rewrite_rounds, &mut jobs);
    let [few_job, bare_few, many_job, bare_many] = &jobs;
    row(&format!("burst of {few}"), "writing its bytes at once", &few_job.against(bare_few), None);
    row(&format!("burst of {many}"), "writing its bytes at once", &many_job.against(bare_many), None);
    for (count, job) in [(few, few_job), (many, many_job)] {
        let time: Duration = job.median();
        let name = format!("burst of {count}, an entry");
        println!("  {name:<40} {:>8.2} us", time.as_secs_f64() * 1e6 / count as f64);
    }
    Ok(())
}
