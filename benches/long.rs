//! A long life of one session: does anything grow with the number of entries that must not? `docs/performance.md` says
//! what it prints.
//!
//! `cargo bench --bench long` makes a session of 1,000,000 entries and 1 GB, and one of 300,000 with branches, labels and
//! compactions; `-- --test` takes 50,000 of each. What is not a time is asserted, times are printed.

#[path = "support/append.rs"]
mod append;
#[path = "support/memory.rs"]
mod memory;

use append::{append_only, manager, message};
use leaflog::{Compaction, ManagerOptions, SessionManager, SessionView};
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Entries whose times are reported together.
const SLICE: usize = 50_000;
/// Appends and bare writes take turns in steps of so many.
const TURN: usize = 100;
/// A compaction comes after so many entries.
const COMPACTED: usize = 20_000;
/// Messages of a question, an answer and what a tool gave back: 1,060 bytes a line on average.
const LINES: [(&str, usize); 3] = [("user", 640), ("assistant", 1_500), ("toolResult", 1_040)];

/// Bytes that a process may have besides the index: its code, buffers, texts written lately.
const BESIDE: f64 = (12 << 20) as f64;
/// Bytes of an entry in the index: its record of 32, and 4 for its place in the map with 1 to find it by, in a table that
/// is at least 7/16 full. Without the old table beside the new one while it grows, which is small.
const INDEX: f64 = 32.0 + 5.0 * 16.0 / 7.0;
/// While a file is opened: half of the records are there twice when the parts of two threads are joined.
const OPENING: f64 = INDEX + 16.0;
/// What the tool holds of an entry while it looks at the shape of the tree.
const SHAPE: f64 = OPENING + 64.0;
/// Of a byte of the context: it is there as messages and as the text that is printed, which grows.
const CONTEXT: f64 = 2.5;

/// The argument that makes this program the second process on a session.
const CHILD: &str = "--go-on-with";
/// Those with which it makes one of the sessions: what a process needs at most is told of its whole life.
const PLAIN: &str = "--plain";
const MIXED: &str = "--mixed";

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [part, given] = &args[..] {
        let count = || given.parse().map_err(io::Error::other);
        match &**part {
            CHILD => return go_on(Path::new(given)),
            PLAIN => return plain(count()?),
            MIXED => return mixed(count()?),
            _ => {}
        }
    }
    let given = |name: &str| args.iter().any(|arg| arg == name);
    // Without `--bench` it is `cargo test` that asks.
    let (plain, mixed) = if given("--bench") && !given("--test") { (1_000_000, 300_000) } else { (50_000, 50_000) };
    for (part, count) in [(PLAIN, plain), (MIXED, mixed)] {
        let status = Command::new(std::env::current_exe()?).args([part, &count.to_string()]).status()?;
        assert!(status.success(), "{part}: {status}");
    }
    Ok(())
}

/// Messages and nothing else.
fn plain(count: usize) -> io::Result<()> {
    println!("{count} messages, one after another");
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut session = messages(dir.path(), count)?;
    resume(&mut session, count)?;
    tool(dir.path(), &session, count, None)
}

/// Whatever an agent appends.
fn mixed(count: usize) -> io::Result<()> {
    println!("{count} entries with branches, labels and compactions");
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let (mut session, in_context) = agent(dir.path(), count)?;
    resume(&mut session, count)?;
    // The leaf did not move to what the other process appended, but then by a message.
    tool(dir.path(), &session, count, Some(in_context + 1))
}

/// A new session whose agent has its folder in `dir`.
fn create(dir: &Path) -> io::Result<SessionManager> {
    fs::create_dir_all(dir)?;
    ManagerOptions::new().agent_dir(dir).create(dir).map_err(io::Error::other)
}

/// Appends `count` messages, each beside a bare `write` of as many bytes, and checks memory, descriptors and the file.
fn messages(dir: &Path, count: usize) -> io::Result<SessionManager> {
    let messages = LINES.map(|(role, line)| message(role, line));
    let bytes = LINES.map(|(_, line)| vec![b'x'; line]);
    let mut session = create(dir)?;
    session.append_message(&messages[1]).map_err(io::Error::other)?;
    let path = session.session_file().expect("a file").to_owned();
    // Its parent is `null`, in place of an id in quotes.
    let mut expected = session.header_text().len() + 1 + LINES[1].1 - 6;
    assert_eq!(fs::metadata(&path)?.len(), expected as u64, "the header and a line");
    let mut bare = append_only(&dir.join("bare"))?;
    let (mut appends, mut writes) = (Times::default(), Times::default());
    let (open, before) = (descriptors()?, memory::peak());
    println!("  {:<21} {:>23} {:>23} {:>17}", "entries, times in us", "append / write, median", "99 of 100", "worst");
    for from in (0..count).step_by(SLICE) {
        let to = (from + SLICE).min(count);
        for turn in (from..to).step_by(TURN) {
            // The first is there.
            let turn = turn.max(1)..(turn + TURN).min(to);
            appends.turn(turn.clone(), |nth| {
                session.append_message(&messages[nth % 3]).expect("an append");
            });
            writes.turn(turn.clone(), |nth| bare.write_all(&bytes[nth % 3]).expect("a write"));
            expected += turn.map(|nth| LINES[nth % 3].1).sum::<usize>();
        }
        report(&format!("{from} to {to}"), &mut appends, &mut writes);
        assert_eq!(open, descriptors()?, "descriptors after {to} entries");
        bare.set_len(0)?;
    }
    drop(bare);
    fs::remove_file(dir.join("bare"))?;
    assert_eq!(session.entries().len(), count, "entries in memory");
    assert_eq!(fs::metadata(&path)?.len(), expected as u64, "bytes in the file");
    assert_eq!(lines_of(&path)?, count + 1, "a line for the header and each entry");
    within(before, "appending", count as f64 * INDEX);
    Ok(session)
}

/// The times of a slice.
#[derive(Default)]
struct Times {
    /// Of one call.
    calls: Vec<Duration>,
    /// Of a call, on average over a turn: most writes find room in the page of the one before, some wait for a new one.
    turns: Vec<Duration>,
}

impl Times {
    fn turn(&mut self, turn: std::ops::Range<usize>, mut call: impl FnMut(usize)) {
        let (before, count) = (self.calls.len(), turn.len());
        for nth in turn {
            let start = Instant::now();
            call(nth);
            self.calls.push(start.elapsed());
        }
        self.turns.push(self.calls[before..].iter().sum::<Duration>() / count as u32);
    }

    /// The median turn, the call that 99 of 100 are not slower than, the slowest, in microseconds.
    fn take(&mut self) -> [f64; 3] {
        let at = |times: &mut Vec<Duration>, of_100: usize| {
            times.sort_unstable();
            times[(times.len() - 1) * of_100 / 100].as_secs_f64() * 1e6
        };
        let figures = [at(&mut self.turns, 50), at(&mut self.calls, 99), at(&mut self.calls, 100)];
        *self = Self::default();
        figures
    }
}

/// Prints the times of a slice.
fn report(what: &str, appends: &mut Times, writes: &mut Times) {
    let ([median, late, worst], [write, late_write, worst_write]) = (appends.take(), writes.take());
    let (ratio, late_ratio) = (median / write, late / late_write);
    println!(
        "  {what:<21} {median:>7.2} / {write:>5.2} = {ratio:>5.2} {late:>7.1} / {late_write:>5.1} = {late_ratio:>5.2} {worst:>8.0} / {worst_write:>6.0}"
    );
}

/// The peak of memory grew by no more than so many bytes, and [`BESIDE`].
fn within(before: Option<u64>, what: &str, bytes: f64) {
    let (Some(before), Some(now)) = (before, memory::peak()) else {
        return println!("  {what}: memory is not told here");
    };
    bounded(what, now - before, bytes);
}

fn bounded(what: &str, kilobytes: u64, bytes: f64) {
    let (took, most) = (kilobytes as f64 / 1024.0, (BESIDE + bytes) / f64::from(1 << 20));
    println!("  {what}: {took:.1} MB of memory, at most {most:.1}");
    assert!(took <= most, "{what} takes {took:.1} MB of memory, at most {most:.1} are right");
}

fn lines_of(path: &Path) -> io::Result<usize> {
    let (mut file, mut buf, mut lines) = (fs::File::open(path)?, vec![0; 1 << 18], 0);
    loop {
        match file.read(&mut buf)? {
            0 => return Ok(lines),
            read => lines += memchr::memchr_iter(b'\n', &buf[..read]).count(),
        }
    }
}

/// Open descriptors of this process; 0 where the system does not tell.
fn descriptors() -> io::Result<usize> {
    fs::read_dir("/proc/self/fd").map_or(Ok(0), |dir| Ok(dir.count()))
}

/// A session as an agent makes it in a long time: every so often a label, a branch, a way back to the branch that was
/// left, a summary of one, a compaction. Beside it a plain model of the tree. Gives the messages of the last context.
fn agent(dir: &Path, count: usize) -> io::Result<(SessionManager, usize)> {
    let messages = LINES.map(|(role, line)| message(role, line));
    let mut session = create(dir)?;
    let (mut parents, mut ids): (Vec<Option<usize>>, Vec<String>) = Default::default();
    // Whether it gives a message of the context.
    let mut says: Vec<bool> = Vec::new();
    let (mut leaf, mut left, mut kept, mut labels): (Option<usize>, _, _, _) = (None, None, 0, 0);
    let mut times = Vec::with_capacity(count);
    let mut fds = None;
    let before = memory::peak();
    // The entry some steps up from the leaf.
    let up = |parents: &[Option<usize>], leaf: usize, steps| {
        std::iter::successors(Some(leaf), |&at| parents[at]).nth(steps).unwrap_or(0)
    };
    while parents.len() < count {
        let nth = parents.len();
        let branches = nth > 1_000 && nth < count - 1_000;
        match nth % 1_000 {
            // Away from here, and later back.
            500 if branches => {
                left = leaf;
                leaf = leaf.map(|leaf| up(&parents, leaf, 20));
                session.branch(&ids[leaf.expect("an entry")]).expect("an entry");
            }
            750 if branches => {
                std::mem::swap(&mut leaf, &mut left);
                session.branch(&ids[leaf.expect("an entry")]).expect("an entry");
            }
            _ => {}
        }
        let start = Instant::now();
        let id = if nth % COMPACTED == COMPACTED - 1 {
            kept = up(&parents, leaf.expect("an entry"), 50);
            let first_kept = &ids[kept];
            session.append_compaction(&Compaction {
                summary: "what went before",
                first_kept_entry_id: first_kept,
                tokens_before: 100_000,
                ..Compaction::default()
            })
        } else if nth % 100 == 99 {
            labels += 1;
            session.append_label_change(&ids[leaf.expect("an entry")], Some(&format!("label {labels}")))
        } else if nth % 5_000 == 4_000 && branches {
            leaf = leaf.map(|leaf| up(&parents, leaf, 5));
            session.branch_with_summary(leaf.map(|leaf| &*ids[leaf]), "it led nowhere", None, None)
        } else {
            session.append_message(&messages[(nth + 1) % 3])
        };
        times.push(start.elapsed());
        says.push(nth % COMPACTED != COMPACTED - 1 && nth % 100 != 99);
        ids.push(id.map_err(io::Error::other)?);
        parents.push(leaf);
        leaf = Some(nth);
        if nth % 1_000 == 10 {
            let now = descriptors()?;
            assert_eq!(*fds.get_or_insert(now), now, "descriptors after {nth} entries");
        }
    }
    let depth = std::iter::successors(leaf, |&at| parents[at]).count();
    let mut is_parent = vec![false; count];
    parents.iter().flatten().for_each(|&parent| is_parent[parent] = true);
    let leaves = is_parent.iter().filter(|is_parent| !**is_parent).count();
    assert_eq!(session.entries().len(), count);
    assert_eq!(session.leaves().len(), leaves, "ends of branches");
    assert_eq!(session.leaf().map(|leaf| leaf.path().len()), Some(depth), "the path");
    assert_eq!(session.labels().count(), labels, "labels");
    let path = session.session_file().expect("a file");
    assert_eq!(lines_of(path)?, count + 1, "a line for the header and each entry");
    // The model takes memory too: an id of 24 bytes and its text, a parent, a time, two flags, in lists that double.
    within(before, "appending and a model of it", count as f64 * (INDEX + 2.0 * (24.0 + 32.0 + 16.0 + 16.0 + 2.0)));
    for (slice, from) in times.chunks_mut(SLICE).zip((0..).step_by(SLICE)) {
        slice.sort_unstable();
        let us = |of_100: usize| slice[(slice.len() - 1) * of_100 / 100].as_secs_f64() * 1e6;
        let to = from + slice.len();
        println!("  {from} to {to}: median {:.2} us, 99 of 100 {:.1}, worst {:.0}", us(50), us(99), us(100));
    }
    // The summary comes first, then what says something from the first that was kept on.
    let path = std::iter::successors(leaf, |&at| parents[at]).take_while(|&at| at >= kept);
    Ok((session, 1 + path.filter(|&at| says[at]).count()))
}

/// Appends of the second process.
const AGAIN: usize = 1_000;

/// Another process opens the session and goes on; then this one does.
fn resume(session: &mut SessionManager, entries: usize) -> io::Result<()> {
    let path = session.session_file().expect("a file").to_owned();
    let output = Command::new(std::env::current_exe()?).arg(CHILD).arg(&path).stderr(Stdio::inherit()).output()?;
    assert!(output.status.success(), "the second process failed");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let [what, id, took, peak] = output.lines().collect::<Vec<_>>()[..] else { panic!("{output}") };
    assert_eq!(what, totals(session), "what the other process found, and what this one has");
    println!("  another process opened it in {took} s");
    if let Ok(peak) = peak.parse() {
        bounded("opening it and going on", peak, entries as f64 * OPENING);
    }
    session.append_message(&message("user", 640)).map_err(io::Error::other)?;
    assert_eq!(session.entries().len(), entries + AGAIN + 1, "this one has what the other appended");
    let others_last = session.entry_at(entries + AGAIN - 1).and_then(leaflog::EntryRef::id);
    assert_eq!(others_last.as_deref(), Some(id), "in its place");
    Ok(())
}

/// The second process.
fn go_on(path: &Path) -> io::Result<()> {
    let before = memory::peak();
    let start = Instant::now();
    let mut session = manager(path)?;
    let took = start.elapsed().as_secs_f64();
    println!("{}", totals(&session));
    let message = message("user", 640);
    let mut last = String::new();
    for _ in 0..AGAIN {
        last = session.append_message(&message).map_err(io::Error::other)?;
    }
    println!("{last}\n{took:.2}");
    match (before, memory::peak()) {
        (Some(before), Some(now)) => println!("{}", now - before),
        _ => println!("not told"),
    }
    Ok(())
}

/// What two processes have to agree on.
fn totals(view: &SessionView) -> String {
    let leaf = view.leaf().and_then(leaflog::EntryRef::id).unwrap_or_default();
    let (entries, branches, labels) = (view.entries().len(), view.leaves().len(), view.labels().count());
    format!("{entries} entries, {branches} branches, {labels} labels, leaf {leaf}, {:?}", view.usage())
}

/// Everything the tool does with the session, in bounded memory. `in_context`: messages that the model would be sent;
/// `None` when that is the whole file, which then is in memory.
fn tool(dir: &Path, session: &SessionManager, entries: usize, in_context: Option<usize>) -> io::Result<()> {
    let path = session.session_file().expect("a file");
    let file = path.to_string_lossy();
    let entries = entries + AGAIN + 1;
    let shape = entries as f64 * SHAPE;
    let stats = json(&leaflog(dir, shape, &["stats", "--json", &file])?);
    assert_eq!(stats["entries"], entries);
    assert_eq!(stats["size"], fs::metadata(path)?.len());
    assert_eq!(stats["branches"], session.leaves().len());
    let checked = leaflog(dir, shape, &["check", &file])?;
    assert!(String::from_utf8_lossy(&checked.tail).ends_with(": fine\n"), "nothing is wrong with it");
    let shown = leaflog(dir, shape, &["show", "--json", &file])?;
    assert!(shown.lines > entries, "an entry a line");
    leaflog(dir, shape, &["show", "--limit", "20", &file])?;
    if let Some(messages) = in_context {
        let most = shape + (messages * LINES.iter().map(|(_, line)| line).sum::<usize>() / 3) as f64 * CONTEXT;
        let context = json(&leaflog(dir, most, &["context", "--json", &file])?);
        assert_eq!(context["messages"].as_array().map(Vec::len), Some(messages), "messages of the context");
        leaflog(dir, most, &["context", &file])?;
    }
    // These read files, and keep nothing of them but what they print.
    let cwd = session.cwd().to_string_lossy().into_owned();
    let listed = json(&leaflog(dir, 0.0, &["list", "--json", "--cwd", &cwd])?);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "one session");
    let resumed = leaflog(dir, 0.0, &["resume", "--cwd", &cwd, session.session_id()])?;
    assert_eq!(PathBuf::from(String::from_utf8_lossy(&resumed.tail).trim_end()), path);
    Ok(())
}

/// What a program printed: the end of it, and how many lines there were.
struct Printed {
    tail: Vec<u8>,
    lines: usize,
}

fn json(printed: &Printed) -> serde_json::Value {
    serde_json::from_slice(&printed.tail).expect("JSON")
}

/// Runs the tool, and asks for its peak of memory until it ends: the last moment may be missed, not the work before.
fn leaflog(dir: &Path, most: f64, args: &[&str]) -> io::Result<Printed> {
    const KEPT: usize = 64 << 20;
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_leaflog"))
        .args(args)
        .env("PI_CODING_AGENT_DIR", dir)
        .stdout(Stdio::piped())
        .spawn()?;
    let (id, mut stdout) = (child.id(), child.stdout.take().expect("a pipe"));
    let reader = std::thread::spawn(move || -> io::Result<Printed> {
        let (mut printed, mut buf) = (Printed { tail: Vec::new(), lines: 0 }, vec![0; 1 << 16]);
        loop {
            let read = stdout.read(&mut buf)?;
            if read == 0 {
                return Ok(printed);
            }
            printed.lines += memchr::memchr_iter(b'\n', &buf[..read]).count();
            if printed.tail.len() > KEPT {
                printed.tail.clear();
            }
            printed.tail.extend_from_slice(&buf[..read]);
        }
    });
    let mut peak = None;
    let status = loop {
        peak = peak.max(memory::peak_of(&id.to_string()));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let printed = reader.join().expect("no panic")?;
    assert!(status.success(), "leaflog {args:?}: {status}");
    let what = format!("leaflog {}, {:.2} s", args[..args.len() - 1].join(" "), start.elapsed().as_secs_f64());
    if let Some(peak) = peak {
        bounded(&what, peak, most);
    }
    Ok(printed)
}
