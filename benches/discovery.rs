//! Benchmarks of finding sessions, each beside its baseline in the same run. `docs/performance.md` says what each one
//! means.
//!
//! `cargo bench --bench discovery` measures, `-- --test` runs everything once on few files.

#[path = "support/interleave.rs"]
mod interleave;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/sessions.rs"]
mod sessions;

use interleave::{Timed, heading, interleave, row};
use leaflog::SessionFinder;
use leaflog::internals::Input;
use sessions::Shape;
use std::hint::black_box;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, io};

const TWO: NonZero<usize> = NonZero::<usize>::MIN.saturating_add(1);

/// The argument that makes the benchmark binary a child whose memory is measured.
const CHILD: &str = "--measure-memory-of-listing";

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [child, dir] = &args[..]
        && child == CHILD
    {
        return listing_child(Path::new(dir));
    }
    let given = |name: &str| args.iter().any(|arg| arg == name);
    // Without `--bench` it is `cargo test` that asks.
    let (count, rounds) = if given("--bench") && !given("--test") { (1000, 21) } else { (20, 1) };
    let dir = folder(count)?;
    let paths = paths(&dir)?;
    println!("\nRatios: median of {rounds} interleaved rounds, with the least and the greatest");
    heading();
    listing(&dir, &paths, rounds)?;
    recents(&dir, &paths, rounds);
    memory(&dir)
}

/// A folder with `count` sessions of the shape of real ones: 20 to 400 KB, two in three with a title.
fn folder(count: u64) -> io::Result<PathBuf> {
    const SIZES: [u64; 4] = [20_000, 60_000, 150_000, 400_000];
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-data");
    let dir = base.join(format!("many-{count}-{}", sessions::GENERATION));
    if !dir.exists() {
        let unfinished = dir.with_extension("unfinished");
        fs::create_dir_all(&unfinished)?;
        for nth in 0..count {
            let title = (nth % 3 != 0).then(|| format!("title {nth}"));
            // A multiplication spreads the sizes.
            let size = SIZES[(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize];
            let shape = Shape { target_bytes: size, seed: 1000 + nth, title, ..Shape::default() };
            let name = format!("2026-02-16T10-20-30-{nth:03}Z_{nth:016x}.jsonl");
            fs::write(unfinished.join(name), sessions::session_bytes(&shape))?;
        }
        fs::rename(unfinished, &dir)?;
    }
    Ok(dir)
}

fn paths(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

fn list(dir: &Path) -> leaflog::Listing {
    SessionFinder::new().session_dir(dir).threads(TWO).list("/home/user/proj")
}

/// A full listing with counts of messages and first messages, beside the strict scan that opening does.
fn listing(dir: &Path, paths: &[PathBuf], rounds: usize) -> io::Result<()> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend(fs::read(path)?);
    }
    let length = bytes.len();
    let in_memory = Input::bytes(bytes);
    let mut jobs = [
        Timed::new(|| assert_eq!(black_box(list(dir)).sessions.len(), paths.len())),
        Timed::new(|| _ = black_box(in_memory.scan(TWO))),
        Timed::new(|| {
            on_two_threads(paths, |path| _ = black_box(Input::file(path).expect("a file").scan(NonZero::<usize>::MIN)))
        }),
        Timed::new(|| on_two_threads(paths, |path| drop(black_box(fs::read(path).expect("a file"))))),
    ];
    interleave(rounds, &mut jobs);
    let [listing, memory, files, reading] = &jobs;
    row("listing", "scan of the bytes in memory, 2 threads", &listing.against(memory), Some(1.3));
    row("listing", "scan of each file, 2 threads", &listing.against(files), None);
    row("listing", "reading each file, 2 threads", &listing.against(reading), None);
    for (what, job) in
        ["listing", "scan of the bytes in memory", "scan of each file", "reading each file"].iter().zip(&jobs)
    {
        let rate = length as f64 / job.median().as_secs_f64() / 1e9;
        println!("  {what:<40} {:>8.2} ms {rate:>7.2} GB/s", ms(job.median()));
    }
    println!("  {} files, {:.1} MB", paths.len(), length as f64 / 1e6);
    Ok(())
}

/// The three latest sessions, beside asking for the metadata of the same files.
fn recents(dir: &Path, paths: &[PathBuf], rounds: usize) {
    let finder = SessionFinder::new();
    let mut jobs = [
        Timed::new(|| assert_eq!(black_box(finder.recent(dir, 3)).len(), 3)),
        Timed::new(|| {
            for path in paths {
                black_box(fs::metadata(path).expect("metadata"));
            }
        }),
    ];
    interleave(rounds, &mut jobs);
    let [recent, stat] = &jobs;
    row("recents", "stat of the same files", &recent.against(stat), Some(4.0));
    println!("  {:<40} {:>8.3} ms", "recents", ms(recent.median()));
    println!("  {:<40} {:>8.3} ms", "stat of the same files", ms(stat.median()));
}

/// By how much a listing makes the largest size of the process grow.
fn memory(dir: &Path) -> io::Result<()> {
    let child = Command::new(env::current_exe()?).arg(CHILD).arg(dir).output()?;
    match String::from_utf8_lossy(&child.stdout).trim().parse::<u64>() {
        Ok(kb) => println!("memory growth of a listing: {:.1} MB, target 32 MB", kb as f64 / 1024.0),
        Err(_) => println!("memory growth of a listing: not measured, this system has no /proc/self/status"),
    }
    Ok(())
}

fn listing_child(dir: &Path) -> io::Result<()> {
    let before = memory::peak();
    let listing = list(dir);
    let after = memory::peak();
    black_box(&listing);
    if let (Some(before), Some(after)) = (before, after) {
        println!("{}", after - before);
    }
    Ok(())
}

fn on_two_threads(paths: &[PathBuf], work: impl Fn(&Path) + Sync) {
    let next = AtomicUsize::new(0);
    let run = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(path);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(run);
        run();
    });
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
