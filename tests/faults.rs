//! Faults that users of session stores met in reading, each by its number and what is right here. Those of
//! writing are in `write_faults`, others with what they are about. The inputs are small and made up.
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{EntryRef, ErrorCode, Leaf, Role, SessionFinder, SessionView, SkipReason, ViewOptions};
use std::fmt::Write as _;
use std::io::{Seek as _, Write as _};
use std::path::Path;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"5e55105e55105e55","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/w"}"#;

fn message(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-16T10:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn read(text: impl Into<Vec<u8>>) -> SessionView {
    ViewOptions::new().read_bytes(text).unwrap()
}

fn ids<'a>(entries: impl IntoIterator<Item = EntryRef<'a>>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.id().unwrap().into_owned()).collect()
}

/// The texts of the messages of the context.
fn contents(view: &SessionView) -> Vec<String> {
    let context = view.context(Leaf::Last).unwrap();
    context.messages().map(|message| message.get_str("content").unwrap().into_owned()).collect()
}

// F4: opening a file that is not a session must not empty it (R16). A view writes nothing: neither
// bytes nor time of change, nor another file beside it.
#[test]
fn f4_opening_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
    let v1 = "{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
    for (name, text, is_session) in [
        ("notes.txt", "Dear diary", false),
        ("empty.jsonl", "", false),
        ("other.jsonl", "{\"a\":1}\n", false),
        ("torn.jsonl", "{\"type\":\"session\",\"id\":\"s", false),
        ("old.jsonl", v1, true),
        ("bom.jsonl", "\u{feff}\0{\"type\":\"session\",\"id\":\"s\"}\n\n{\"torn", true),
    ] {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        match SessionView::open(&path) {
            Ok(view) => {
                assert!(is_session, "{name}");
                view.report().unwrap();
                view.context(Leaf::Last).unwrap();
                view.entries().for_each(|entry| drop(entry.loaded_text().unwrap()));
            }
            Err(error) => {
                assert!(!is_session, "{name}");
                assert_eq!(error.code(), ErrorCode::NotASession);
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), text.as_bytes());
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), time);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 6);
}

// F8: NUL bytes in the middle after a crash: everything after them is read (R48).
#[test]
fn f8_nul_bytes_in_the_middle() {
    let nul = "\0".repeat(70_000);
    let (a, b, c) = (message("a", None, "one"), message("b", Some("a"), "two"), message("c", Some("b"), "three"));
    for text in [
        format!("{HEADER}\n{a}\n{nul}\n{b}\n{c}\n"),
        format!("{HEADER}\n{a}\n{nul}{b}\n{c}\n"),
        format!("{HEADER}\n{a}{nul}\n{b}{nul}{c}{nul}"),
        format!("{nul}{HEADER}\n{a}{nul}{b}\n{nul}\n{nul}\n{c}"),
    ] {
        let view = read(text);
        assert_eq!(contents(&view), ["one", "two", "three"]);
        assert!(view.report().unwrap().is_empty());
    }
    // Inside an entry nothing can be saved of it; what follows is.
    let torn = format!("{HEADER}\n{a}\n{}{nul}\n{c}\n", &b[..40]);
    let view = read(torn);
    assert_eq!(ids(view.entries()), ["a", "c"]);
    let report = view.report().unwrap();
    assert_eq!(
        report.skipped_lines.iter().map(|line| (line.line, line.reason)).collect::<Vec<_>>(),
        [(3, SkipReason::Invalid)]
    );
    assert_eq!(report.missing_parents.len(), 1);
}

// F9: labels and compactions name entries as ids are compared: two lone surrogates are not one (R45).
#[test]
fn f9_lone_surrogates_in_references() {
    let label = |id: &str, target: &str, label: &str| {
        format!(r#"{{"type":"label","id":"{id}","parentId":"\ud83e","targetId":"{target}","label":"{label}"}}"#)
    };
    let compaction = r#"{"type":"compaction","id":"c","parentId":"\ud83e","summary":"s","firstKeptEntryId":"\ud83d"}"#;
    let lines = [
        HEADER.to_owned(),
        message(r"\ud83d", None, "first"),
        message(r"\ud83e", Some(r"\ud83d"), "second"),
        label("l1", r"\ud83d", r"one\ud83d"),
        label("l2", r"\ud83e", "two"),
        compaction.to_owned(),
    ];
    let view = read(lines.join("\n"));
    let labels: Vec<_> = view.entries().map(|entry| entry.label().map(|label| label.into_owned())).collect();
    assert_eq!(labels[..3], [Some("one\u{fffd}".to_owned()), Some("two".to_owned()), None]);
    assert_eq!(view.labels_to_json(), r#"[{"id":"\ud83d","label":"one\ud83d"},{"id":"\ud83e","label":"two"}]"#);
    // The summary, and both messages.
    assert_eq!(view.context(Leaf::Id("c")).unwrap().messages().len(), 3);
    assert_eq!(view.report().unwrap().empty_compactions, []);
}

// F9: a lone surrogate escape is valid, and stays as it was written (R45).
#[test]
fn f9_lone_surrogate_escape() {
    let entry = message("a", None, r"cut \ud83d and \ude00\u0000");
    let view = read(format!("{HEADER}\n{entry}\n"));
    assert_eq!(view.entries().next().unwrap().text().unwrap().json().bytes(), entry.as_bytes());
    let context = view.context(Leaf::Last).unwrap();
    assert!(context.to_json().contains(r#""content":"cut \ud83d and \ude00\u0000""#));
    assert_eq!(contents(&view), ["cut \u{fffd} and \u{fffd}\0"]);
    assert!(view.report().unwrap().is_empty());
    // In a key, in a title and in a label.
    let text = format!(
        "{}\n{}\n{}\n",
        HEADER.replace("\"cwd\"", r#""\ud83d":1,"title":"t\ud83d","cwd""#),
        r#"{"type":"custom","id":"a","parentId":null,"\udc00":[{"\ud800":"\ud800"}]}"#,
        r#"{"type":"label","id":"b","parentId":"a","targetId":"a","label":"\ud83d!"}"#,
    );
    let view = read(text);
    assert_eq!((view.title(), view.label("a").as_deref()), (Some("t\u{fffd}"), Some("\u{fffd}!")));
    assert_eq!(view.entries().len(), 2);
}

// F9, R45: ids that JavaScript tells apart are two ids; how an id is spelled does not matter.
#[test]
fn f9_lone_surrogates_in_ids() {
    let entry = |id: &str, parent: &str| format!(r#"{{"type":"custom","id":"{id}","parentId":{parent}}}"#);
    let lines = [
        entry(r"\ud83d", "null"),
        entry(r"\ud83e", r#""\ud83d""#),
        entry(r"\u0061", r#""\uD83E""#),
        entry("b", r#""a""#),
    ];
    let view = read(format!("{HEADER}\n{}\n", lines.join("\n")));
    let parents: Vec<Option<u64>> = view.entries().map(|entry| entry.parent().map(EntryRef::line)).collect();
    assert_eq!(parents, [None, Some(2), Some(3), Some(4)]);
    assert!(view.report().unwrap().is_empty());
}

// R45: an id whose bytes are damaged is found by the id that is shown.
#[test]
fn ids_that_are_not_utf8() {
    let mut text = format!("{HEADER}\n").into_bytes();
    text.extend_from_slice(b"{\"type\":\"custom\",\"id\":\"x\xffy\",\"parentId\":null}\n");
    let view = read(text);
    let id = view.leaf().unwrap().id().unwrap().into_owned();
    assert_eq!(id, "x\u{fffd}y");
    assert_eq!(view.entry(&id), view.leaf());
}

// A control character in an id does not forge a line of the report.
#[test]
fn ids_cannot_forge_the_report() {
    let entry = r#"{"type":"custom","id":"x\nline 9: blob","parentId":"p\u001b[2Jq\u2028"}"#;
    let report = read(format!("{HEADER}\n{entry}\n")).report().unwrap();
    assert_eq!(report.missing_parents[0].id, "x\nline 9: blob");
    assert_eq!(
        report.to_string(),
        "line 2: the parent p\\u{1b}[2Jq\\u{2028} of x\\u{a}line 9: blob is not in the file, taken as a root\n"
    );
}

// F10: U+2028, U+2029, U+0085 and the like end no line (R14).
#[test]
fn f10_only_a_newline_ends_a_line() {
    for separator in ["\u{2028}", "\u{2029}", "\u{85}", "\u{feff}", "\u{a0}"] {
        let entry = message("a", None, &format!("one{separator}two"));
        let view = read(format!("{HEADER}\n{entry}\n"));
        assert_eq!(contents(&view), [format!("one{separator}two")]);
        assert_eq!(view.entries().next().unwrap().text().unwrap().json().bytes(), entry.as_bytes());
        // Between values it is no blank either: the entry behind it is found as one behind a fragment (G1).
        let view = read(format!("{HEADER}{separator}{entry}\n"));
        assert_eq!((view.entries().len(), view.report().unwrap().fragments.len()), (1, 1), "{separator:?}");
    }
}

// F11: a cycle of parents ends every walk, and the report names it (R49, R50).
#[test]
fn f11_parent_cycle() {
    let entries = [("a", "c"), ("b", "a"), ("c", "b"), ("t", "b"), ("s", "s")];
    let mut text = format!("{HEADER}\n");
    for (id, parent) in entries {
        writeln!(text, "{}", message(id, Some(parent), id)).unwrap();
    }
    writeln!(text, r#"{{"type":"compaction","id":"k","parentId":"t","summary":"S","firstKeptEntryId":"b"}}"#).unwrap();
    let view = read(text);
    assert_eq!(ids(view.roots()), ["a", "s"]);
    assert_eq!(ids(view.leaves()), ["c", "s", "k"]);
    assert_eq!(ids(view.branch("t").unwrap()), ["c", "a", "b", "t"]);
    assert_eq!(ids(view.branch("a").unwrap()), ["b", "c", "a"]);
    assert_eq!(ids(view.branch("s").unwrap()), ["s"]);
    for entry in view.entries() {
        let context = view.context(Leaf::Id(&entry.id().unwrap())).unwrap();
        assert!((1..=4).contains(&context.messages().len()));
        assert!(entry.children().count() + entry.children_by_time().len() <= 4);
    }
    let report = view.report().unwrap();
    assert_eq!(report.cycles, [vec!["a", "b", "c"], vec!["s"]]);
    assert!(report.empty_compactions.is_empty() && report.missing_parents.is_empty());
}

// F12: one node an id, the last line wins, the report lists all lines (R49, R50).
#[test]
fn f12_duplicate_ids() {
    let mut text = format!("{HEADER}\n{}\n", message("r", None, "root"));
    for copy in 0..108 {
        writeln!(text, "{}", message("d", Some("r"), &format!("copy {copy}"))).unwrap();
        writeln!(text, "{}", message(&format!("x{copy}"), Some("d"), "child")).unwrap();
    }
    let view = read(text);
    assert_eq!(view.entries().len(), 217);
    let node = view.entry("d").unwrap();
    assert_eq!((node.line(), node.children().count(), node.is_superseded()), (217, 108, false));
    assert_eq!(ids(view.entry("r").unwrap().children()), ["d"]);
    assert_eq!(view.entries().filter(|entry| entry.is_superseded()).count(), 107);
    assert_eq!(view.leaves().len(), 108);
    assert_eq!(ids(view.branch("x0").unwrap()), ["r", "d", "x0"]);
    assert_eq!(contents(&view), ["root", "copy 107", "child"]);
    let report = view.report().unwrap();
    assert_eq!(report.duplicate_ids.len(), 1);
    assert_eq!(report.duplicate_ids[0].id, "d");
    assert_eq!(report.duplicate_ids[0].lines, (0..108).map(|copy| 3 + 2 * copy).collect::<Vec<u64>>());
    assert!(report.missing_parents.is_empty());
    // What the last line cost counts, and no other.
    let paid = |input| {
        let usage = format!(r#"{{"input":{input},"cost":{{"total":{input}.5}}}}"#);
        format!(r#"{{"type":"message","id":"u","message":{{"role":"assistant","usage":{usage}}}}}"#)
    };
    let view = read(format!("{HEADER}\n{}\n{}\n{}\n", paid(1), paid(2), paid(4)));
    assert_eq!((view.usage().input, view.usage().cost), (4.0, 4.5));
}

/// Set in the child that measures itself: the file to open.
const LARGE: &str = "LEAFLOG_TEST_LARGE";

/// Peak memory of this process so far, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}

/// Runs the test `name` in a process of its own, over the file at `path`; gives what it says of its memory.
fn grown(name: &str, path: &Path) -> u64 {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(LARGE, path)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
    output.lines().find_map(|line| line.split("grown by ").nth(1)).unwrap().trim().parse().unwrap()
}

// F8, F15: what a crash of the file system leaves may be gigabytes of NUL bytes, before an entry and at
// the end: they are read past, and no more. The file has holes, so it takes no space.
#[test]
fn f8_holes_of_any_size_cost_no_memory() {
    let name = "f8_holes_of_any_size_cost_no_memory";
    let hole: u64 = if cfg!(debug_assertions) { 64 << 20 } else { 1 << 30 };
    if let Some(path) = std::env::var_os(LARGE) {
        let before = peak().unwrap();
        let view = SessionView::open(Path::new(&path)).unwrap();
        assert_eq!(ids(view.entries()), ["a", "b"]);
        let b = view.entry("b").unwrap();
        assert_eq!(b.line(), 3);
        assert_eq!(b.text().unwrap().into_bytes(), message("b", Some("a"), "two").as_bytes());
        assert!(view.len() > 2 * hole);
        let report = view.report().unwrap();
        assert!(report.is_empty(), "{report}");
        println!("grown by {}", peak().unwrap() - before);
        return;
    }
    if peak().is_none() {
        support::skip(format_args!("there is no VmHWM in /proc/self/status here"));
        return;
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let out = file.as_file_mut();
    writeln!(out, "{HEADER}\n{}", message("a", None, "one")).unwrap();
    out.seek_relative(hole as i64).unwrap();
    writeln!(out, "{}", message("b", Some("a"), "two")).unwrap();
    let end = out.stream_position().unwrap();
    out.set_len(end + hole).unwrap();
    let grown = grown(name, file.path());
    assert!(grown < 16 << 20, "memory grew by {grown} bytes");
}

// F15: a file is never read whole: opening, walking and reporting a large one costs its index.
#[test]
fn f15_no_whole_file_in_memory() {
    let name = "f15_no_whole_file_in_memory";
    if let Some(path) = std::env::var_os(LARGE) {
        let before = peak().unwrap();
        let view = SessionView::open(Path::new(&path)).unwrap();
        let leaf = view.leaf().unwrap();
        assert_eq!(view.branch(&leaf.id().unwrap()).unwrap().len(), view.entries().len());
        assert!(view.report().unwrap().is_empty());
        // The context keeps what follows the compaction only.
        assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), 2);
        let bytes: u64 = view.entries().map(|entry| entry.text().unwrap().into_bytes().len() as u64).sum();
        assert!(bytes > view.len() / 2);
        println!("grown by {}", peak().unwrap() - before);
        return;
    }
    if peak().is_none() {
        support::skip(format_args!("there is no VmHWM in /proc/self/status here"));
        return;
    }
    let size: u64 = if cfg!(debug_assertions) { 40 << 20 } else { 300 << 20 };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut out = std::io::BufWriter::new(file.as_file_mut());
    writeln!(out, "{HEADER}").unwrap();
    let text = "word ".repeat(4_000);
    let (mut written, mut at) = (0, 0u32);
    while written < size {
        let parent = at.checked_sub(1).map(|at| format!("{at:08x}"));
        let line = message(&format!("{at:08x}"), parent.as_deref(), &text);
        written += line.len() as u64 + 1;
        writeln!(out, "{line}").unwrap();
        at += 1;
    }
    let last = format!("{:08x}", at - 1);
    writeln!(out, r#"{{"type":"compaction","id":"c","parentId":"{last}","summary":"S","firstKeptEntryId":"c"}}"#)
        .unwrap();
    writeln!(out, "{}", message("end", Some("c"), "end")).unwrap();
    out.flush().unwrap();
    drop(out);
    let grown = grown(name, file.path());
    // Buffers and stacks of a few threads and an index of 15,000 entries, well below the file.
    assert!(grown < 16 << 20, "memory grew by {grown} bytes for a file of {written}");
}

// F20: the header need not be on the first line (R15, R48).
#[test]
fn f20_header_on_a_later_line() {
    let (a, b) = (message("a", None, "one"), message("b", Some("a"), "two"));
    let garbage = "\n<<<<<<< HEAD\n{\"type\":\"session\"}\n[1]\n{\"type\":\"session\",\"id\":4}\n";
    let text = format!("{garbage}{a}\n{HEADER}\n{b}\n{{\"type\":\"session\",\"id\":\"second\"}}\n");
    let view = read(text.clone());
    assert_eq!(view.header().id, "5e55105e55105e55");
    assert_eq!(contents(&view), ["one", "two"]);
    assert_eq!(ids(view.entries()), ["a", "b"]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("late.jsonl");
    std::fs::write(&path, text).unwrap();
    assert_eq!(SessionFinder::new().roots([dir.path()]).newest(), Some(path));
}

// F27: a missing blob, a damaged one and a store that is none leave the session usable (R51).
#[test]
fn f27_missing_blob() {
    // `printf x | sha256sum`, `printf y | sha256sum`
    let x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let y = "a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa";
    let image = |hash: &str| format!(r#"{{"type":"image","mimeType":"image/png","data":"blob:sha256:{hash}"}}"#);
    let entry = format!(
        r#"{{"type":"message","id":"a","parentId":null,"message":{{"role":"user","content":[{},{}]}}}}"#,
        image(x),
        image(y)
    );
    let text = format!("{HEADER}\n{entry}\n");
    let dir = tempfile::tempdir().unwrap();
    let blobs = dir.path().join("blobs");
    let open = || ViewOptions::new().blobs(&blobs).read_bytes(text.clone()).unwrap();
    let datas = |view: &SessionView| -> Vec<String> {
        let context = view.context(Leaf::Last).unwrap();
        let message = context.messages().next().unwrap();
        message.get("content").unwrap().items().map(|item| item.get_str("data").unwrap().into_owned()).collect()
    };
    let missing = |view: &SessionView| -> Vec<String> {
        view.report()
            .unwrap()
            .missing_blobs
            .iter()
            .map(|blob| format!("{} {}", blob.line, blob.hash.as_str()))
            .collect()
    };
    let (lost_x, lost_y) = (format!("blob:sha256:{x}"), format!("blob:sha256:{y}"));
    // No store, then a file in its place, then a store without the blobs.
    for step in 0..3 {
        match step {
            0 => {}
            1 => std::fs::write(&blobs, "").unwrap(),
            _ => {
                std::fs::remove_file(&blobs).unwrap();
                std::fs::create_dir(&blobs).unwrap();
            }
        }
        let view = open();
        assert_eq!(datas(&view), [lost_x.clone(), lost_y.clone()]);
        assert_eq!(missing(&view), [format!("2 {x}"), format!("2 {y}")]);
        assert_eq!(view.entries().next().unwrap().loaded_text().unwrap().json().bytes(), entry.as_bytes());
    }
    // One is there. `printf y | base64`
    std::fs::write(blobs.join(y), "y").unwrap();
    let view = open();
    assert_eq!(datas(&view), [lost_x.clone(), "eQ==".to_owned()]);
    assert_eq!(missing(&view), [format!("2 {x}")]);
    // The other is damaged: noticed when it is read.
    std::fs::write(blobs.join(x), "not x").unwrap();
    let view = open();
    assert!(missing(&view).is_empty());
    assert_eq!(datas(&view), [lost_x, "eQ==".to_owned()]);
    assert_eq!(missing(&view), [format!("2 {x}")]);
}

// F28: an assistant message without `usage`, and whatever else may be missing, stops nothing (R49).
#[test]
fn f28_assistant_message_without_usage() {
    let messages = [
        r#"{"role":"assistant","content":[]}"#,
        r#"{"role":"assistant","content":7,"usage":null}"#,
        r#"{"role":"assistant","usage":{}}"#,
        r#"{"role":"assistant","usage":{"input":null,"cost":null},"provider":3,"model":[]}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","arguments":null},null,[]]}"#,
        r#"{"role":"assistant","usage":{"input":5,"cost":{}},"provider":"p","model":"m"}"#,
        r#"{"role":7}"#,
        "{}",
    ];
    let mut text = format!("{HEADER}\n");
    for (at, message) in messages.iter().enumerate() {
        writeln!(text, r#"{{"type":"message","id":"m{at}","message":{message}}}"#).unwrap();
    }
    for (at, message) in ["null", "[]", "\"text\"", "0"].iter().enumerate() {
        writeln!(text, r#"{{"type":"message","id":"n{at}","message":{message}}}"#).unwrap();
    }
    writeln!(text, r#"{{"type":"message","id":"none"}}"#).unwrap();
    let view = read(text);
    assert_eq!(view.entries().len(), 13);
    assert_eq!((view.usage().input, view.usage().cost), (5.0, 0.0));
    assert_eq!(view.entries().filter(|entry| entry.role() == Some(Role::Assistant)).count(), 6);
    for entry in view.entries() {
        let id = entry.id().unwrap().into_owned();
        let sent = view.context(Leaf::Id(&id)).unwrap().messages().len();
        assert_eq!(sent, usize::from(id.starts_with('m')), "{id}");
    }
    assert!(view.report().unwrap().is_empty());
    // Along one path: messages that are objects are sent, the model of the one that has any counts.
    let chain: String = messages
        .iter()
        .enumerate()
        .map(|(at, message)| {
            let parent = at.checked_sub(1).map_or_else(|| "null".to_owned(), |at| format!("\"m{at}\""));
            format!("{{\"type\":\"message\",\"id\":\"m{at}\",\"parentId\":{parent},\"message\":{message}}}\n")
        })
        .collect();
    let context = read(format!("{HEADER}\n{chain}")).context(Leaf::Last).unwrap();
    assert_eq!(context.messages().map(|message| message.to_string()).collect::<Vec<_>>(), messages);
    assert_eq!(context.models, [("default".to_owned(), "p/m".to_owned())]);
}

/// The text of a torn record and a whole one behind it: `reports/r19` of the fault list.
fn torn(id: &str, parent: Option<&str>, text: &str) -> String {
    let whole = message(id, parent, text);
    whole[..whole.len() - 6].to_owned()
}

// G1: a torn entry fused with the next one, which hangs on the one before; on it; and when the torn one says nothing of
// itself. The entry keeps the parent it names.
#[test]
fn g01_a_fragment_does_not_cut_the_chain() {
    let (a, b) = (message("a", None, "one"), message("b", Some("a"), "two"));
    for (torn, parent, hangs_on) in [
        (torn("c", Some("b"), "three"), "b", None),
        (torn("c", Some("b"), "three"), "c", Some("b")),
        (torn("c", Some("a"), "three"), "c", Some("a")),
        (torn("c", Some("b"), "three")[..30].to_owned(), "c", Some("b")),
        // Two of them, one after another.
        (torn("c", Some("a"), "three") + &torn("d", Some("c"), "four"), "d", Some("a")),
        // The end of a line whose beginning is lost.
        ("hree\"}}".to_owned(), "c", Some("b")),
    ] {
        for newline in ["", "\n"] {
            let last = message("e", Some(parent), "five");
            let view = read(format!("{HEADER}\n{a}\n{b}\n{torn}{newline}{last}\n"));
            let e = view.entry("e").unwrap();
            assert_eq!(ids(view.entries()), ["a", "b", "e"], "{torn}");
            assert_eq!(e.parent_id().as_deref(), Some(parent));
            let above = hangs_on.unwrap_or(parent);
            assert_eq!(e.parent().and_then(|parent| parent.id()).as_deref(), Some(above), "{torn}");
            assert_eq!(contents(&view), if above == "a" { vec!["one", "five"] } else { vec!["one", "two", "five"] });
            assert_eq!(ids(view.entry(above).unwrap().children().filter(|child| *child == e)), ["e"]);
            let report = view.report().unwrap();
            let missing: Vec<_> = report
                .missing_parents
                .iter()
                .map(|missing| (&*missing.parent_id, missing.instead.as_deref()))
                .collect();
            assert_eq!(missing, if hangs_on.is_some() { vec![(parent, hangs_on)] } else { vec![] });
            assert_eq!(report.fragments.len(), usize::from(newline.is_empty()));
            assert_eq!(report.skipped_lines.len(), usize::from(!newline.is_empty()));
            assert_eq!(ids(view.leaf()), ["e"]);
        }
    }
}

// G1: a parent that damage does not explain stays missing: a whole line is in front of the entry, or what was torn is known
// and is another.
#[test]
fn g01_what_damage_does_not_explain() {
    let a = message("a", None, "one");
    for between in ["", "{\"x\":1}\n", &torn("c", Some("a"), "three")] {
        let view = read(format!("{HEADER}\n{a}\n{between}{}\n", message("e", Some("nowhere"), "five")));
        assert_eq!(contents(&view), ["five"], "{between}");
        assert_eq!(ids(view.roots()), ["a", "e"]);
    }
}

// G1: a parent that comes later is no lost one, and what was guessed closes no cycle.
#[test]
fn g01_no_cycle_is_guessed() {
    // `b` hangs on `c`, whose own parent is lost: the entry before it is `b`.
    let view =
        read(format!("{HEADER}\n{}\nxyz\n{}\n", message("b", Some("c"), "two"), message("c", Some("lost"), "three")));
    assert_eq!(ids(view.roots()), ["c"]);
    assert_eq!(contents(&view), ["three"]);
    assert!(view.report().unwrap().cycles.is_empty());
    // The torn one stands there whole, further down.
    let view = read(format!(
        "{HEADER}\n{}\n{}\n{}\n{}\n",
        message("a", None, "one"),
        torn("b", Some("a"), "two"),
        message("c", Some("b"), "three"),
        message("b", Some("a"), "two"),
    ));
    assert_eq!(ids(view.branch("c").unwrap()), ["a", "b", "c"]);
    assert!(view.report().unwrap().missing_parents.is_empty());
}

// G1, T15: a message that quotes an entry, torn, with the next one behind it.
#[test]
fn g01_a_quoted_entry_is_none() {
    let quoted = message("zz", None, "quoted").replace('"', r#"\""#);
    let torn = torn("b", Some("a"), &quoted);
    let view = read(format!("{HEADER}\n{}\n{torn}{}\n", message("a", None, "one"), message("c", Some("b"), "three")));
    assert_eq!(ids(view.entries()), ["a", "c"]);
    assert_eq!(contents(&view), ["one", "three"]);
    // A content block that a line was cut behind is no entry.
    let block = r#"{"type":"message","id":"b","parentId":"a","message":{"content":[{"type":"text","text":"x"}"#;
    let view = read(format!("{HEADER}\n{block}\n"));
    assert_eq!(view.entries().len(), 0);
    assert_eq!(view.report().unwrap().skipped_lines.len(), 1);
}

// G1: a header behind the start of one, or of anything; and without a whole header no session.
#[test]
fn g01_a_fused_header() {
    let a = message("a", None, "one");
    for before in [&HEADER[..20], &HEADER[..HEADER.len() - 1], "x", &torn("z", None, "lost"), &a] {
        let view = read(format!("{before}{HEADER}\n{a}\n"));
        assert_eq!(
            (view.header().id.as_str(), contents(&view)),
            ("5e55105e55105e55", vec!["one".to_owned()]),
            "{before}"
        );
    }
    let view = read(format!("{HEADER}{a}\n"));
    assert_eq!(contents(&view), ["one"]);
    let error = ViewOptions::new().read_bytes(format!("{}{a}\n", &HEADER[..30])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotASession);
}

// G1, U3: with several threads, and however the file is read in pieces.
#[test]
fn g01_u03_in_a_large_file() {
    let mut text = format!("{HEADER}\n");
    let filler = "x".repeat(3_000);
    let count = 3_000;
    for at in 0..count {
        let parent = (at > 0).then(|| format!("m{}", at - 1));
        let line = message(&format!("m{at}"), parent.as_deref(), &filler);
        match at % 10 {
            3 => text += &format!("{}{line}\n", torn(&format!("t{at}"), parent.as_deref(), "lost")),
            6 => text += &(line.replace(",\"", ",\n  \"") + "\n"),
            _ => text += &(line + "\n"),
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.jsonl");
    std::fs::write(&path, &text).unwrap();
    let whole = read(text);
    for threads in [1, 2, 3, 4] {
        let view = ViewOptions::new().threads(std::num::NonZero::new(threads).unwrap()).open(&path).unwrap();
        assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), count);
        let report = view.report().unwrap();
        assert_eq!((report.fragments.len(), report.spread_values.len()), (count / 10, count / 10));
        assert_eq!(report, whole.report().unwrap());
    }
}

// U3: one value over several lines, however it is set in; the next lines count on.
#[test]
fn u03_a_value_over_several_lines() {
    let (a, b) = (message("a", None, "one"), message("b", Some("a"), "two"));
    let spread = "{\r\n  \"type\": \"message\",\r\n  \"id\": \"c\",\n\"parentId\": \"b\", \"timestamp\": \"2026-02-16T10:00:01.000Z\",\n\"message\": {\n\"role\": \"user\",\n\"content\": \"three\"\n}\n}";
    let view = read(format!("{HEADER}\n{a}\n{b}\n{spread}\n{}\n", message("d", Some("c"), "four")));
    assert_eq!(contents(&view), ["one", "two", "three", "four"]);
    assert_eq!(view.entries().map(|entry| entry.line()).collect::<Vec<_>>(), [2, 3, 4, 13]);
    let report = view.report().unwrap();
    assert_eq!(report.spread_values.iter().map(|value| (value.line, value.lines)).collect::<Vec<_>>(), [(4, 9)]);
    assert_eq!(report.to_string(), "line 4: a value over 9 lines, read as if it were on one\n");
    assert_eq!(report.damaged_entries(), 0);
    assert!(!view.entry("c").unwrap().text().unwrap().json().bytes().contains(&b'\n'));
    // Not JSON as a whole: each line is what it is.
    let view = read(format!("{HEADER}\n{a}\n{}\n{b}\n", &spread[..spread.len() - 1]));
    assert_eq!(ids(view.entries()), ["a", "b"]);
}

// U1: a long cycle is told by its ends; long lists by their beginning.
#[test]
fn u01_reports_stay_short() {
    let count = 100_000;
    let mut text = format!("{HEADER}\n");
    for at in 0..count {
        let parent = if at == 0 { count - 1 } else { at - 1 };
        text += &(message(&format!("m{at}"), Some(&format!("m{parent}")), "x") + "\n");
    }
    let report = read(text).report().unwrap();
    assert_eq!(report.cycles[0].len(), count);
    let want = "cycle: m0 to m99999, 100000 entries, lead back to themselves; the first is taken as a root\n";
    assert_eq!(report.to_string(), want);
    let twenty = (message("a", None, "x") + "\n").repeat(20);
    let report = read(format!("{HEADER}\n{twenty}")).report().unwrap();
    assert_eq!(report.to_string(), "id a stands on lines 2, 3, 4, 5, 6, 7, 8, 9 and 12 more; the last one counts\n");
    let report = read(format!("{HEADER}\n{}", "xyz\n".repeat(70))).report().unwrap();
    assert_eq!(report.to_string().lines().count(), 51);
    assert!(report.to_string().ends_with("line 51: not JSON, skipped\nand 20 more\n"));
    assert_eq!(format!("{report:#}").lines().count(), 70);
}

// U2: a line is reported once, by the worst of it; the worst lines first.
#[test]
fn u02_one_finding_for_a_line() {
    let view = read(format!("{HEADER}\n{}\n7 \"x\": 1\nxyz\n", message("a", Some("lost"), "one")));
    let report = view.report().unwrap();
    assert_eq!(
        report.to_string(),
        "line 3: 3 bytes at the end are not JSON, skipped\n\
         line 4: not JSON, skipped\n\
         line 2: the parent lost of a is not in the file, taken as a root\n\
         and 2 more\n"
    );
    assert_eq!(format!("{report:#}").lines().count(), 5);
    // What is in front may be no entry; one byte is no bytes.
    let a = message("a", None, "one");
    let report = read(format!("{HEADER}\n{a}x\n7 y\n{{{a}\n")).report().unwrap().to_string();
    let want = ["2: 1 byte at the end is", "3: 1 byte at the end is", "4: 1 byte in front of the entry is"];
    for (line, want) in report.lines().zip(want) {
        assert_eq!(line, format!("line {want} not JSON, skipped"));
    }
}

// G14: a header that says its time in milliseconds.
#[test]
fn g14_a_header_with_a_number_for_its_time() {
    let view =
        read(r#"{"type":"session","version":3,"id":"12121212-0001","timestamp":1777629600000,"cwd":"/srv/shop"}"#);
    assert_eq!(view.header().timestamp.as_deref(), Some("2026-05-01T10:00:00.000Z"));
    for odd in ["1e300", "true", "null", "[1]"] {
        let view = read(format!(r#"{{"type":"session","id":"s","timestamp":{odd}}}"#));
        assert_eq!(view.header().timestamp, None, "{odd}");
    }
}

// G19: a file of another format is called by its name.
#[test]
fn g19_what_it_is_instead() {
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    for (bytes, want) in [
        ([b"\xff\xfe".to_vec(), utf16(HEADER, false)].concat(), "UTF-16"),
        ([b"\xfe\xff".to_vec(), utf16(HEADER, true)].concat(), "UTF-16"),
        (utf16(HEADER, false), "UTF-16"),
        (utf16(HEADER, true), "UTF-16"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03".to_vec(), "gzip"),
        (b"\x28\xb5\x2f\xfd\x24\x0a".to_vec(), "zstd"),
        (b"PK\x03\x04\x14\x00".to_vec(), "zip"),
        (b"SQLite format 3\0".to_vec(), "SQLite"),
        (b"Dear diary".to_vec(), "the line is not JSON"),
    ] {
        let error = ViewOptions::new().read_bytes(bytes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotASession);
        assert!(error.message().contains(want), "{error}, not {want}");
    }
}
