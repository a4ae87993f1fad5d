//! Sizes and shapes far beyond what agents write: they take time and memory in proportion, no
//! stack, and no walk is quadratic. Nothing is timed: a quadratic walk over these sizes would take
//! minutes.
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{Body, EntryKind, Leaf, SessionView, SkipReason, ViewOptions};
use std::fmt::Write as _;
use std::io::Write as _;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
const MANY: u32 = 100_000;

fn read(text: String) -> SessionView {
    ViewOptions::new().read_bytes(text).unwrap()
}

/// A session of entries `i`, made by `line`.
fn session(count: u32, mut line: impl FnMut(&mut String, u32)) -> SessionView {
    let mut text = HEADER.to_owned();
    for at in 0..count {
        line(&mut text, at);
    }
    read(text)
}

/// Everything that walks: a walk that is too slow shows here.
fn walk(view: &SessionView) {
    let leaf = view.leaf().unwrap();
    let path = view.branch(&leaf.id().unwrap()).unwrap();
    assert_eq!(path.last(), Some(&leaf));
    view.context(Leaf::Last).unwrap();
    view.report().unwrap();
    let children: usize = view.entries().map(|entry| entry.children().count()).sum();
    let sorted: usize = view.entries().map(|entry| entry.children_by_time().len()).sum();
    let nodes = view.entries().filter(|entry| entry.id().is_some() && !entry.is_superseded()).count();
    assert_eq!((children, sorted), (nodes - view.roots().len(), children));
    assert!(!view.leaves().is_empty());
    assert!(view.labels().count() <= view.entries().len());
}

/// Values nested 100,000 deep: arrays, objects, both.
fn deep() -> [String; 3] {
    let depth = MANY as usize;
    [
        "[".repeat(depth) + &"]".repeat(depth),
        "{\"k\":".repeat(depth) + "0" + &"}".repeat(depth),
        "[{\"k\":[1,".repeat(depth / 2) + "null" + &"]},\"\"]".repeat(depth / 2),
    ]
}

// R49: 100,000 levels, wherever they stand.
#[test]
fn deep_nesting() {
    for deep in deep() {
        let entries = [
            format!(
                r#"{{"x":"blob:sha256:","type":"message","id":"a","parentId":null,"message":{{"role":"assistant","content":{deep},"usage":{deep},"providerPayload":1}}}}"#
            ),
            format!(r#"{{"unknown":{deep},"type":"custom_message","id":"b","parentId":"a","details":{deep}}}"#),
            format!(r#"{{"type":"made_up","id":"c","parentId":"b","x":[{deep}]}}"#),
            format!(r#"{{"type":"mode_change","id":"d","parentId":"c","mode":"m","data":{deep}}}"#),
            format!(r#"{{"type":"model_change","id":"e","parentId":{deep},"model":"p/m"}}"#),
            r#"{"type":"branch_summary","id":"f","parentId":"d","summary":"x"}"#.to_owned(),
        ];
        let text = format!("{HEADER}{}\n", entries.join("\n"));
        let view = ViewOptions::new().blobs("no/such/folder").read_bytes(text).unwrap();
        assert_eq!(view.entries().len(), 6);
        assert!(view.report().unwrap().is_empty());
        let context = view.context(Leaf::Last).unwrap();
        assert_eq!(context.messages().len(), 3);
        assert_eq!(context.messages().next().unwrap().get("content").unwrap().bytes(), deep.as_bytes());
        assert_eq!(context.mode_data().unwrap().bytes(), deep.as_bytes());
        assert!(context.to_json().len() > deep.len() * 4);
        for entry in view.entries() {
            let text = entry.loaded_text().unwrap();
            match text.body() {
                Body::Message(message) => assert!(message.unwrap().get("usage").is_some()),
                Body::CustomMessage { details, .. } => assert_eq!(details.unwrap().bytes(), deep.as_bytes()),
                Body::ModelChange { model, .. } => assert_eq!(model.unwrap(), "p/m"),
                Body::ModeChange { .. } | Body::BranchSummary { .. } | Body::Other => {}
                other => panic!("{other:?}"),
            }
        }
        // An older version is rewritten around it; with one bracket less it is no value.
        let cut = &entries[2][..entries[2].len() - 1];
        let view = read(format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{}\n{cut}", entries[1]));
        assert_eq!(view.entries().len(), 1);
        // `printf s:2 | sha256sum`
        assert_eq!(view.entries().next().unwrap().text().unwrap().id().unwrap(), "5be39311");
        assert_eq!(view.report().unwrap().skipped_lines[0].reason, SkipReason::Torn);
    }
}

// A line of 50 MB, longer than any buffer, between others.
#[test]
fn a_long_line() {
    let size = if cfg!(debug_assertions) { 10 << 20 } else { 50 << 20 };
    if cfg!(debug_assertions) {
        println!("10 MB in a debug build");
    }
    let piece = "text \\u00e9\\n\\\"é漢 ";
    let long = format!(
        r#"{{"type":"message","id":"long","parentId":"a","message":{{"role":"user","content":"{}"}}}}"#,
        piece.repeat(size / piece.len())
    );
    let text = format!(
        "{HEADER}{{\"type\":\"x\",\"id\":\"a\"}}\n{long}\n{{\"type\":\"x\",\"id\":\"b\",\"parentId\":\"long\"}}\n{}",
        &long[..long.len() / 2]
    );
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let from_file = SessionView::open(file.path()).unwrap();
    for view in [from_file, read(text)] {
        assert_eq!(view.entries().map(|entry| entry.line()).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(view.entry("long").unwrap().len(), long.len() as u64);
        assert!(view.entry("long").unwrap().text().unwrap().into_bytes() == long.as_bytes());
        let context = view.context(Leaf::Last).unwrap();
        let content = context.messages().next().unwrap().get_str("content").unwrap().into_owned();
        assert_eq!(content.len(), size / piece.len() * "text é\n\"é漢 ".len());
        let report = view.report().unwrap();
        assert_eq!(report.skipped_lines.len(), 1);
        assert_eq!((report.skipped_lines[0].line, report.skipped_lines[0].reason), (5, SkipReason::Torn));
    }
}

// One chain of 1,000,000 entries.
#[test]
fn a_long_chain() {
    let count = 1_000_000;
    let mut text = String::with_capacity(90 * count as usize);
    text.push_str(HEADER);
    for at in 0..count {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"{:08x}\"", at - 1) };
        writeln!(text, r#"{{"type":"message","id":"{at:08x}","parentId":{parent},"message":{{"role":"user"}}}}"#)
            .unwrap();
    }
    let view = read(text);
    assert_eq!(view.entries().len(), count as usize);
    let leaf = view.leaf().unwrap();
    assert_eq!(leaf.id().unwrap(), format!("{:08x}", count - 1));
    let path = view.branch(&leaf.id().unwrap()).unwrap();
    assert!(path.iter().enumerate().all(|(at, entry)| entry.position() == at));
    assert_eq!(path.len(), count as usize);
    assert_eq!(view.leaves(), [leaf]);
    assert_eq!(view.roots().len(), 1);
    assert!(view.report().unwrap().is_empty());
    assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), count as usize);
    assert_eq!(view.entries().filter(|entry| entry.children().count() == 1).count(), count as usize - 1);
}

#[test]
fn many_roots() {
    let view = session(MANY, |text, at| writeln!(text, r#"{{"type":"x","id":"{at:08x}","parentId":null}}"#).unwrap());
    assert_eq!((view.roots().len(), view.leaves().len()), (MANY as usize, MANY as usize));
    walk(&view);
    // The same with parents that are not there, by name.
    let view =
        session(MANY, |text, at| writeln!(text, r#"{{"type":"x","id":"n{at}","parentId":"gone {at}"}}"#).unwrap());
    assert_eq!(view.roots().len(), MANY as usize);
    assert_eq!(view.report().unwrap().missing_parents.len(), MANY as usize);
    walk(&view);
}

#[test]
fn many_children() {
    let view = session(MANY + 1, |text, at| {
        let parent = if at == 0 { "null" } else { "\"00000000\"" };
        // The youngest comes first.
        let time = 1_700_000_000_000u64 - u64::from(at);
        writeln!(text, r#"{{"type":"x","id":"{at:08x}","parentId":{parent},"timestamp":{time}}}"#).unwrap();
    });
    let parent = view.entry("00000000").unwrap();
    assert_eq!(parent.children().count(), MANY as usize);
    assert_eq!(parent.children_by_time()[0].id().unwrap(), format!("{MANY:08x}"));
    assert_eq!(view.leaves().len(), MANY as usize);
    walk(&view);
}

#[test]
fn many_lines_of_one_id() {
    let view = session(MANY, |text, at| {
        writeln!(text, r#"{{"type":"message","id":"same","parentId":"same","message":{{"role":"assistant","usage":{{"input":{at}}}}}}}"#).unwrap();
    });
    assert_eq!(view.entries().len(), MANY as usize);
    assert_eq!(view.entry("same").unwrap().line(), u64::from(MANY) + 1);
    // The last line counts alone.
    assert_eq!(view.usage().input, f64::from(MANY - 1));
    let report = view.report().unwrap();
    assert_eq!((report.duplicate_ids.len(), report.duplicate_ids[0].lines.len()), (1, MANY as usize));
    assert_eq!(report.cycles, [["same"]]);
    walk(&view);
    // Each id twice.
    let view = session(MANY, |text, at| {
        writeln!(text, r#"{{"type":"x","id":"{}","parentId":null}}"#, at % (MANY / 2)).unwrap()
    });
    assert_eq!(view.report().unwrap().duplicate_ids.len(), MANY as usize / 2);
    walk(&view);
}

// R49: a cycle of 100,000 entries, and as many compactions that hang off it and keep one of it.
#[test]
fn a_long_cycle() {
    let view = session(MANY, |text, at| {
        writeln!(text, r#"{{"type":"x","id":"{at:08x}","parentId":"{:08x}"}}"#, (at + 1) % MANY).unwrap();
    });
    assert_eq!(view.report().unwrap().cycles[0].len(), MANY as usize);
    assert_eq!(view.branch("00000005").unwrap().len(), MANY as usize);
    assert_eq!(view.roots().len(), 1);
    walk(&view);
    let half = MANY / 2;
    let view = session(MANY, |text, at| {
        // The first half is a cycle, the second a chain that leads into it.
        let parent = if at < half { (at + half - 1) % half } else { at - 1 };
        let kept = if at % 2 == 0 { 7 } else { at + 1 };
        writeln!(text, r#"{{"type":"compaction","id":"{at:08x}","parentId":"{parent:08x}","summary":"","firstKeptEntryId":"{kept:08x}"}}"#).unwrap();
    });
    let report = view.report().unwrap();
    assert_eq!(report.cycles[0].len(), half as usize);
    // Of the chain every other one keeps what comes after it, so nothing. In the cycle each comes
    // before each; the last of it names the first of the chain.
    assert_eq!(report.empty_compactions.len(), half as usize / 2 + 1);
    walk(&view);
}

// 100,000 compactions in one chain that keep nothing, or the root, or one on another branch.
#[test]
fn many_compactions() {
    for (kept, empty) in [("gone", MANY as usize), ("root", 0), ("aside", MANY as usize)] {
        let view = session(MANY + 2, |text, at| match at {
            0 => writeln!(text, r#"{{"type":"x","id":"root","parentId":null}}"#).unwrap(),
            1 => writeln!(text, r#"{{"type":"x","id":"aside","parentId":"root"}}"#).unwrap(),
            _ => {
                let parent = if at == 2 { "root".to_owned() } else { format!("{:08x}", at - 1) };
                writeln!(text, r#"{{"type":"compaction","id":"{at:08x}","parentId":"{parent}","summary":"s","firstKeptEntryId":"{kept}"}}"#).unwrap();
            }
        });
        assert_eq!(view.report().unwrap().empty_compactions.len(), empty, "{kept}");
        assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), 1);
        walk(&view);
    }
}

#[test]
fn many_labels() {
    let view = session(MANY, |text, at| {
        let label = if at % 4 == 3 { String::new() } else { format!(",\"label\":\"l{at}\"") };
        writeln!(text, r#"{{"type":"label","id":"{at:08x}","parentId":null,"targetId":"{:08x}"{label}}}"#, at / 2)
            .unwrap();
    });
    // Of each two the second counts; every other one clears.
    assert_eq!(view.labels().count(), MANY as usize / 4);
    assert_eq!(view.label("00000000").as_deref(), Some("l1"));
    assert_eq!(view.label("00000001"), None);
    walk(&view);
}

// States that pile up along a path: rules, roles, tools.
#[test]
fn many_states() {
    let view = session(MANY, |text, at| {
        let parent = at.checked_sub(1).map_or_else(|| "null".to_owned(), |at| format!("\"{at:08x}\""));
        let kind = if at % 2 == 0 {
            format!("\"type\":\"ttsr_injection\",\"injectedRules\":[\"rule {at}\",\"every\"]")
        } else {
            format!("\"type\":\"model_change\",\"model\":\"p/m\",\"role\":\"role {at}\"")
        };
        writeln!(text, r#"{{{kind},"id":"{at:08x}","parentId":{parent}}}"#).unwrap();
    });
    let context = view.context(Leaf::Last).unwrap();
    assert_eq!(context.injected_ttsr_rules.len(), MANY as usize / 2 + 1);
    assert_eq!(context.injected_ttsr_rules[..3], ["rule 0", "every", "rule 2"]);
    assert_eq!(context.models.len(), MANY as usize / 2);
}

// R10: an old file with as many compactions by index as values that are no entries.
#[test]
fn many_indices_to_migrate() {
    let count = MANY;
    let mut text = "{\"type\":\"session\",\"id\":\"s\"}\n".to_owned();
    for at in 0..count {
        // Values are numbered header 0, then two a line; the last entry before this one is kept.
        writeln!(text, "[{at}]{{\"type\":\"compaction\",\"firstKeptEntryIndex\":{}}}", 2 * at).unwrap();
    }
    let view = read(text);
    let mut before: Option<String> = None;
    for entry in view.entries() {
        let text = entry.text().unwrap();
        assert_eq!(text.json().get_str("firstKeptEntryId").map(|id| id.into_owned()), before);
        before = entry.id().map(|id| id.into_owned());
    }
    assert!(view.report().unwrap().empty_compactions.len() == 1);
}

// Thinking blocks and references in one message: what is dropped and what is resolved.
#[test]
fn many_parts_of_one_message() {
    let block = r#"{"type":"thinking","thinkingSignature":"s"},{"type":"image","data":"blob:sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},"#;
    let count = MANY as usize;
    let text = format!(
        "{HEADER}{{\"type\":\"message\",\"id\":\"a\",\"message\":{{\"role\":\"assistant\",\"content\":[{}0],\"providerPayload\":{{\"type\":\"openaiResponsesHistory\"}}}}}}\n",
        block.repeat(count)
    );
    let view = ViewOptions::new().blobs("no/such/folder").read_bytes(text).unwrap();
    let loaded = view.entries().next().unwrap().loaded_text().unwrap();
    let message = loaded.json().get("message").unwrap();
    assert!(message.get("providerPayload").is_none());
    let items: Vec<_> = message.get("content").unwrap().items().collect();
    assert_eq!((items.len(), items[0].bytes()), (2 * count + 1, &br#"{"type":"thinking"}"#[..]));
    assert_eq!(view.report().unwrap().missing_blobs.len(), 1);
}

// Many values on one line, many keys in one object, a line of NUL bytes, many blank lines.
#[test]
fn odd_lines() {
    let mut values = String::new();
    let mut keys = String::new();
    for at in 0..MANY {
        write!(values, r#"{{"type":"x","id":"{at:08x}","parentId":null}}"#).unwrap();
        write!(keys, r#""id":"i{at}","parentId":"k","k{at}":{at},"#).unwrap();
    }
    let blank = "\n \r\n".repeat(MANY as usize);
    let nul = "\0".repeat(10 << 20);
    let long_id = "i".repeat(10 << 20);
    let text =
        format!("{values}\n{nul}\n{blank}{{{keys}\"type\":\"custom\"}}\n{{\"type\":\"x\",\"id\":\"{long_id}\"}}\n");
    let view = read(format!("{HEADER}{text}"));
    assert_eq!(view.entries().len(), MANY as usize + 2);
    assert_eq!(view.entry("0001869f").unwrap().line(), 2);
    let keyed = view.entry("i99999").unwrap();
    assert_eq!((keyed.line(), keyed.kind()), (4 + 2 * u64::from(MANY), EntryKind::Custom));
    assert_eq!(keyed.text().unwrap().json().members().count(), 3 * MANY as usize + 1);
    assert_eq!(view.leaf().unwrap().id().unwrap().len(), long_id.len());
    assert!(view.entry(&long_id).is_some());
    walk(&view);
    // In an old file the keys are replaced.
    let view = read(format!("{{\"type\":\"session\",\"id\":\"s\"}}\n{text}"));
    assert_eq!(view.entries().len(), MANY as usize + 2);
    let keyed = view.entries().nth(MANY as usize).unwrap();
    assert_eq!(keyed.text().unwrap().id(), keyed.id());
    walk(&view);
}

/// Set in the child that may start no thread: the file to open.
const ALONE: &str = "LEAFLOG_TEST_ALONE";

// A system that gives no more threads: a large file is read all the same.
#[cfg(target_os = "linux")]
#[test]
fn no_more_threads() {
    use std::os::unix::fs::PermissionsExt;
    let name = "no_more_threads";
    if let Some(path) = std::env::var_os(ALONE) {
        if std::thread::Builder::new().spawn(|| ()).is_ok() {
            println!("threads are still given");
            return;
        }
        let view = SessionView::open(std::path::Path::new(&path)).unwrap();
        assert_eq!(view.entries().len(), MANY as usize);
        println!("read alone");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (program, path) = (dir.path().join("program"), dir.path().join("s.jsonl"));
    let mut text = HEADER.to_owned();
    for at in 0..MANY {
        writeln!(text, r#"{{"type":"x","id":"{at:08x}","parentId":null,"data":"{}"}}"#, "d".repeat(20)).unwrap();
    }
    assert!(text.len() > 5 << 20, "too small for two threads");
    std::fs::write(&path, text).unwrap();
    // The child runs as nobody, whom no limit spares, and who may not go where this program lies.
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for (path, mode) in [(dir.path(), 0o755), (&program, 0o755), (&path, 0o644)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let child = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", "--nproc=1"])
        .arg(&program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, &path)
        .current_dir("/")
        .output();
    match child {
        Ok(output) => {
            let (told, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            if ["setpriv:", "prlimit:"].iter().any(|tool| complaint.contains(tool)) || told.contains("still given") {
                support::skip(format_args!("the number of threads cannot be limited here: {complaint}"));
                return;
            }
            assert!(output.status.success() && told.contains("read alone"), "{told}{complaint}");
        }
        Err(error) => support::skip(format_args!("there is no setpriv: {error}")),
    }
}
