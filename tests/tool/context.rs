//! `leaflog context`.

use crate::support::tokens;
use crate::{example, fixture, project, run, session};
use leaflog::Leaf;
use leaflog::SessionView;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

// R23-R27: byte for byte what the library gives, token for token what the golden files say.
#[test]
fn context_json_is_the_context() {
    let blobs = fixture("blobs");
    let mut leaves = 0;
    for file in fs::read_dir(project("tests/fixtures")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some((case, leaf)) = name.strip_suffix(".json").and_then(|stem| stem.split_once(".context")) else {
            continue;
        };
        let session = fixture(&format!("{case}.jsonl"));
        let mut args = vec!["context", &session, "--json", "--blobs", &blobs];
        if let Some(leaf) = leaf.strip_prefix('@') {
            args.extend(["--leaf", leaf]);
            leaves += 1;
        }
        let ran = run(&args);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        let want = fs::read_to_string(fixture(&name)).unwrap();
        assert_eq!(tokens(&ran.out), tokens(&want), "{name}");
        assert!(ran.out.ends_with("}\n") && ran.out.lines().count() == 1, "{name}");
    }
    assert!(leaves > 20, "only {leaves} other leaves found");
    let want = SessionView::open(example()).unwrap().context(Leaf::Last).unwrap().to_json();
    assert_eq!(run(["context", &example(), "--json"]).out, want + "\n");
}

#[test]
fn context_for_a_person() {
    let ran = run(["context", &fixture("compaction-kept.jsonl"), "--leaf", "ca000007"]);
    assert_eq!(ran.code, 0);
    let first_block = ran.out.split("\n\n").next().unwrap();
    assert!(first_block.starts_with("leaf      ca000007\n"), "{first_block}");
    let messages = ran.out.split("\n\n").skip(1).filter(|block| !block.starts_with(' ')).count();
    let json = run(["context", &fixture("compaction-kept.jsonl"), "--leaf", "ca000007", "--json"]).json();
    assert_eq!(messages, json["messages"].as_array().unwrap().len());

    let dir = TempDir::new().unwrap();
    let output: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let lines = [
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:01:00.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":"On it."},{"type":"toolCall","id":"t","name":"bash","arguments":{"timeout":5,"command":"make test"}}],"timestamp":1771236060000}}"#.to_owned(),
        json!({"type":"message","id":"b","parentId":"a","timestamp":"2026-02-16T10:02:00.000Z","message":{"role":"toolResult",
            "toolName":"bash","isError":true,"content":[{"type":"text","text":output},
            {"type":"image","mimeType":"image/png","data":"QUJDRA=="}],"timestamp":1771236120000_u64}}).to_string(),
    ];
    let file = session(dir.path(), "s.jsonl", &lines);
    let ran = run(["context", &file]);
    // 1771236060 is 2026-02-16 10:01 UTC, by GNU date. "QUJDRA==" is "ABCD", four bytes.
    let want = "leaf      b\nmodel     p/m\nthinking  off\nmode      none\nmessages  2\n\n\
        assistant  2026-02-16 10:01:00\n  On it.\n  → bash make test  timeout: 5\n\n\
        toolResult  bash  error  2026-02-16 10:02:00\n  line 1\n  line 2\n  line 3\n  line 4\n  line 5\n  line 6\n  \
        line 7\n  line 8\n  ⋮ 22 more lines\n  [image image/png 4 bytes]\n";
    assert_eq!(ran.out, want);
    let full = run(["context", &file, "--full"]);
    assert!(full.out.contains("  line 30\n") && !full.out.contains('⋮'), "{}", full.out);
}

// R51: the context is there, and the blobs it lacks are named.
#[test]
fn context_without_a_blob() {
    let ran = run(["context", &fixture("blobs-missing.jsonl")]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("[image image/png without its blob]"), "{}", ran.out);
    let hash = "9951d20c987aac93c538973ddc3978c0b88c6b1b47b6f80fe4b8dda6200a6a43";
    assert!(ran.err.contains(&format!("blobs-missing.jsonl:2: warning: blob {hash}")), "{}", ran.err);
    let bundled = run(["context", &example(), "--leaf", "5597dd28"]);
    assert!(bundled.out.contains("[image image/png ") && bundled.err.is_empty(), "{}{}", bundled.out, bundled.err);
    let elsewhere = run(["context", &example(), "--leaf", "5597dd28", "--blobs", "/nonexistent"]);
    assert!(elsewhere.err.contains(":5: warning: blob 5e157631"), "{}", elsewhere.err);
}

// G18: a command that is kept from the model is not shown as sent.
#[test]
fn g18_what_is_kept_from_the_model() {
    let dir = TempDir::new().unwrap();
    let entry = |id: &str, parent: Option<&str>, message: serde_json::Value| {
        json!({"type": "message", "id": id, "parentId": parent, "message": message}).to_string()
    };
    let run_of = |command: &str, role: &str, kept_back: serde_json::Value| json!({"role": role, "command": command, "code": command, "output": "out", "excludeFromContext": kept_back});
    let entries = [
        entry("a", None, json!({"role": "user", "content": "hello"})),
        entry("b", Some("a"), run_of("secret-one", "bashExecution", json!(true))),
        entry("c", Some("b"), run_of("secret-two", "pythonExecution", json!(true))),
        entry("d", Some("c"), run_of("open-one", "bashExecution", json!(false))),
    ];
    let file = session(dir.path(), "s.jsonl", &entries);
    let ran = run(["context", &file]);
    assert!(!ran.out.contains("secret") && ran.out.contains("open-one"), "{}", ran.out);
    let field = |name: &str| {
        let line = ran.out.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim().to_owned()
    };
    assert_eq!((field("messages"), field("not sent")), ("2".to_owned(), "2 commands kept from the model".to_owned()));
    // What the agent builds has them: it leaves them out when it sends.
    let json = run(["context", &file, "--json"]).json();
    assert_eq!(json["messages"].as_array().unwrap().len(), 4);
}
