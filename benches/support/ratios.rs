//! The table of ratios: what the library promises is relative to a baseline on the same machine in the same minute.

use crate::baseline;
use crate::files::{Files, SHAPES};
use crate::interleave::{Timed, heading, interleave, row};
use crate::memory;
use leaflog::internals::{self, Input};
use leaflog::{Leaf, SessionView};
use std::hint::black_box;
use std::io;
use std::num::NonZero;
use std::time::{Duration, Instant};

const ONE: NonZero<usize> = NonZero::<usize>::MIN;
const TWO: NonZero<usize> = ONE.saturating_add(1);

/// Measures and prints all ratios.
pub fn print(files: &Files, rounds: usize) -> io::Result<()> {
    println!("\nRatios: median of {rounds} interleaved rounds, with the least and the greatest");
    heading();
    scans(files, rounds)?;
    opening(files, rounds)?;
    memory(files)?;
    entries(files)?;
    walks(files, rounds)
}

fn absolute(what: &str, time: Duration, bytes: usize) {
    let rate = bytes as f64 / time.as_secs_f64() / 1e9;
    println!("  {what:<40} {:>8.2} ms {rate:>7.2} GB/s", time.as_secs_f64() * 1e3);
}

fn scans(files: &Files, rounds: usize) -> io::Result<()> {
    for shape in SHAPES {
        let bytes = files.bytes(shape)?;
        let input = Input::bytes(bytes.clone());
        let names = internals::classifiers();
        let mut jobs = vec![
            Timed::new(|| _ = black_box(input.scan(ONE))),
            Timed::new(|| _ = black_box(baseline::shallow_scan(&bytes))),
        ];
        for name in &names {
            let bytes = &bytes;
            jobs.push(Timed::new(move || _ = black_box(internals::classify(name, bytes))));
        }
        interleave(rounds, &mut jobs);
        row(&format!("scan, {shape}"), "shallow serde_json visitor", &jobs[0].against(&jobs[1]), Some(0.5));
        absolute("strict scan", jobs[0].median(), bytes.len());
        absolute("shallow serde_json visitor", jobs[1].median(), bytes.len());
        for (name, job) in names.iter().zip(&jobs[2..]) {
            absolute(&format!("classifier {name} alone"), job.median(), bytes.len());
        }
    }
    Ok(())
}

fn opening(files: &Files, rounds: usize) -> io::Result<()> {
    let path = files.session()?;
    let bytes = files.bytes("session")?;
    let length = bytes.len();
    let (in_memory, file) = (Input::bytes(bytes), Input::file(&path).map_err(io::Error::other)?);
    let open = || SessionView::open(&path).expect("a session");
    let mut jobs = [
        Timed::new(|| drop(black_box(open()))),
        Timed::new(|| _ = black_box(in_memory.scan(TWO))),
        Timed::new(|| _ = black_box(file.scan(TWO))),
        Timed::new(|| baseline::read_only(&path, 2).expect("a file")),
        Timed::new(|| {
            let view = open();
            drop(black_box(view.context(Leaf::Last).expect("a context")));
        }),
    ];
    interleave(rounds, &mut jobs);
    let [open, in_memory, file, read, context] = &jobs;
    row("open", "scan of the file, 2 threads", &open.against(file), Some(1.3));
    row("open", "scan of bytes in memory, 2 threads", &open.against(in_memory), Some(1.3));
    row("open", "bare reading, 2 threads", &open.against(read), None);
    row("open + context", "open", &context.against(open), Some(1.2));
    absolute("open", open.median(), length);
    absolute("scan of the file, 2 threads", file.median(), length);
    absolute("scan of bytes in memory, 2 threads", in_memory.median(), length);
    absolute("bare reading, 2 threads", read.median(), length);
    absolute("open + context", context.median(), length);
    Ok(())
}

fn memory(files: &Files) -> io::Result<()> {
    match memory::growth_of_opening(&files.session()?)? {
        Some(kb) => println!("memory growth of opening: {:.1} MB, target 16 MB", kb as f64 / 1024.0),
        None => println!("memory growth of opening: not measured, this system has no /proc/self/status"),
    }
    Ok(())
}

fn entries(files: &Files) -> io::Result<()> {
    let view = SessionView::open(files.session()?).map_err(io::Error::other)?;
    let timed = |job: &dyn Fn()| {
        job();
        let start = Instant::now();
        job();
        start.elapsed()
    };
    let texts = timed(&|| read_texts(&view));
    let report = timed(&|| drop(black_box(view.report().expect("a report"))));
    println!("entries: {}", view.entries().len());
    absolute("every text, one by one", texts, view.len() as usize);
    println!("  {:<40} {:>8.2} ms", "load report", report.as_secs_f64() * 1e3);
    Ok(())
}

/// Reads the text of every entry.
pub fn read_texts(view: &SessionView) {
    for entry in view.entries() {
        black_box(entry.text().expect("a text"));
    }
}

fn walks(files: &Files, rounds: usize) -> io::Result<()> {
    println!("walks from the leaf to the root:");
    let lengths = files.chain_lengths();
    let mut views = Vec::new();
    for &entries in lengths {
        let view = SessionView::open(files.chain(entries)?).map_err(io::Error::other)?;
        let leaf = view.leaf().and_then(|leaf| leaf.id()).expect("a leaf").into_owned();
        views.push((view, leaf));
    }
    let most = lengths[lengths.len() - 1];
    let mut jobs: Vec<_> = views
        .iter()
        .zip(lengths)
        .map(|((view, leaf), entries)| {
            // As many walks as make the same number of entries.
            Timed::new(move || (0..most / entries).for_each(|_| drop(black_box(view.branch(leaf).expect("a path")))))
        })
        .collect();
    interleave(rounds, &mut jobs);
    for (entries, job) in lengths.iter().zip(&jobs) {
        println!("  {entries:>9} entries {:>6.2} ns an entry", job.median().as_secs_f64() * 1e9 / most as f64);
    }
    Ok(())
}
