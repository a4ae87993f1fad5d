//! Benchmarks of the core: scanning, opening, rebuilding the context, walking. `docs/performance.md` says what each
//! one means.
//!
//! `cargo bench --bench core` runs all and ends with the table of ratios, `-- --ratios` prints only the table,
//! `-- NAME` runs the benchmarks of that name, `-- --test` runs everything once on small files.

#[path = "support/baseline.rs"]
mod baseline;
#[path = "support/files.rs"]
mod files;
#[path = "support/interleave.rs"]
mod interleave;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/ratios.rs"]
mod ratios;
#[path = "support/sessions.rs"]
mod sessions;

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput, measurement::WallTime};
use files::{Files, SHAPES, Sizes};
use leaflog::internals::{self, Input};
use leaflog::{Leaf, SessionView};
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;
use std::{env, io};

const ROUNDS: usize = 11;

fn main() -> io::Result<()> {
    memory::run_if_child();
    let args: Vec<String> = env::args().skip(1).collect();
    let given = |name: &str| args.iter().any(|arg| arg == name);
    // Without `--bench` it is `cargo test` that asks, as Criterion sees it too.
    let measures = given("--bench") && !given("--test");
    let files = Files::new(if measures { Sizes::FULL } else { Sizes::SMALL });
    if !given("--ratios") {
        let mut criterion = Criterion::default()
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(1))
            .configure_from_args();
        scan(&mut criterion, &files)?;
        open(&mut criterion, &files)?;
        walks(&mut criterion, &files)?;
        criterion.final_summary();
    }
    // A filter or another option asks for something else.
    if args.iter().all(|arg| matches!(arg.as_str(), "--bench" | "--test" | "--ratios")) {
        ratios::print(&files, if measures { ROUNDS } else { 1 })?;
    }
    Ok(())
}

fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// Scanning bytes in memory on one thread, beside the baseline.
fn scan(criterion: &mut Criterion, files: &Files) -> io::Result<()> {
    let mut group = group(criterion, "scan");
    for shape in SHAPES {
        let bytes = files.bytes(shape)?;
        let input = Input::bytes(bytes.clone());
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::new("strict scan", shape), |b| b.iter(|| input.scan(NonZero::<usize>::MIN)));
        group.bench_function(BenchmarkId::new("serde_json visitor", shape), |b| {
            b.iter(|| baseline::shallow_scan(&bytes));
        });
        for name in internals::classifiers() {
            group.bench_function(BenchmarkId::new(format!("classifier {name}"), shape), |b| {
                b.iter(|| internals::classify(name, &bytes));
            });
        }
    }
    group.finish();
    Ok(())
}

/// Opening a session from the page cache, and what is done with it then.
fn open(criterion: &mut Criterion, files: &Files) -> io::Result<()> {
    let two = NonZero::<usize>::MIN.saturating_add(1);
    let path = files.session()?;
    let in_memory = Input::bytes(files.bytes("session")?);
    let file = Input::file(&path).map_err(io::Error::other)?;
    let view = session(&path);
    let mut group = group(criterion, "open");
    group.bench_function("load report", |b| b.iter(|| view.report().expect("a report")));
    group.throughput(Throughput::Bytes(view.len()));
    group.bench_function("open", |b| b.iter(|| session(&path)));
    group.bench_function("scan of the file, 2 threads", |b| b.iter(|| file.scan(two)));
    group.bench_function("scan of bytes in memory, 2 threads", |b| b.iter(|| in_memory.scan(two)));
    group.bench_function("bare reading, 2 threads", |b| b.iter(|| baseline::read_only(&path, 2).expect("a file")));
    group.bench_function("open + context", |b| b.iter(|| session(&path).context(Leaf::Last).expect("a context")));
    group.bench_function("every text, one by one", |b| b.iter(|| ratios::read_texts(&view)));
    group.finish();
    Ok(())
}

/// The path from the leaf to the root.
fn walks(criterion: &mut Criterion, files: &Files) -> io::Result<()> {
    let mut group = group(criterion, "walk");
    for &entries in files.chain_lengths() {
        let view = session(&files.chain(entries)?);
        let leaf = view.leaf().and_then(|leaf| leaf.id()).expect("a leaf");
        group.throughput(Throughput::Elements(entries));
        group.bench_function(BenchmarkId::from_parameter(entries), |b| {
            b.iter(|| view.branch(&leaf).expect("a path").len());
        });
    }
    group.finish();
    Ok(())
}

fn session(path: &Path) -> SessionView {
    SessionView::open(path).expect("a session")
}
