//! `leaflog check` and `leaflog stats`.

use crate::{example, facts, fixture, no_report, run, session};
use serde_json::Value;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

// R50: the reports of the golden files.
#[test]
fn check_reports_what_the_facts_say() {
    for (case, facts) in facts() {
        let (file, blobs) = (fixture(&format!("{case}.jsonl")), fixture("blobs"));
        let ran = run(["check", &file, "--json", "--blobs", &blobs]);
        let got = ran.json();
        for (key, want) in facts["report"].as_object().unwrap() {
            assert_eq!(got[0]["report"][key], *want, "{case}: {key}");
        }
        let is_fine = facts["report"] == no_report();
        assert_eq!(ran.code, i32::from(!is_fine), "{case}");
        let text = run(["check", &file, "--blobs", &blobs]);
        assert_eq!((text.code, text.err.as_str()), (ran.code, ""), "{case}");
        assert_eq!(text.out.starts_with(&format!("{file}: fine\n")), is_fine, "{case}: {}", text.out);
        // G8: what is not understood is named, and is no fault.
        let unknown = got[0].get("unknownTypes").is_some_and(Value::is_object);
        assert_eq!(text.out.contains(" not understood here\n"), unknown, "{case}: {}", text.out);
        // `file: what`, or `file:line: what`, as errors are told.
        let is_placed = |line: &str| {
            let rest = line.strip_prefix(&format!("{file}:")).unwrap_or_default();
            rest.starts_with(' ') || rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(": ")
        };
        assert!(text.out.lines().all(is_placed), "{case}: {}", text.out);
        assert!(!text.out.contains(": line "), "{case}: {}", text.out);
    }
}

// R51: who is told that a blob is missing learns where it was looked for.
#[test]
fn missing_blobs_have_a_place() {
    let dir = TempDir::new().unwrap();
    let blobs = dir.path().to_str().unwrap();
    let hash = "0".repeat(64);
    let image = json!({"type": "image", "mimeType": "image/png", "data": format!("blob:sha256:{hash}")});
    let entry =
        json!({"type": "message", "id": "a1", "parentId": null, "message": {"role": "user", "content": [image]}});
    let file = session(dir.path(), "s.jsonl", &[entry.to_string()]);
    let checked = run(["check", &file, "--blobs", blobs]);
    let want = format!(
        "{file}:2: blob {hash} is missing or damaged\n\
         {file}: blobs were looked for in {blobs}; --blobs names another folder\n"
    );
    assert_eq!((checked.code, checked.out), (1, want));
    let context = run(["context", &file, "--blobs", blobs]);
    let want = format!("leaflog: {file}:2: warning: blob {hash} is missing or damaged in {blobs}\n");
    assert_eq!((context.code, context.err), (0, want));
}

#[test]
fn check_goes_on_after_an_error() {
    let dir = TempDir::new().unwrap();
    let none = dir.path().join("none.jsonl");
    let (none, torn, fine) = (none.to_str().unwrap(), fixture("torn-tail.jsonl"), fixture("branches.jsonl"));
    let folder = dir.path().to_str().unwrap();
    let ran = run(["check", &fine, none, &torn]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with(&format!("{fine}: fine\n{torn}:4: ")), "{}", ran.out);
    assert!(ran.err.starts_with(&format!("leaflog: {none}: ")), "{}", ran.err);
    assert!(ran.err.ends_with("3 files: 1 fine, 1 with something to report, 1 not read\n"), "{}", ran.err);
    assert_eq!(run(["check", &fine, &torn]).code, 1);
    assert_eq!(run(["check", &fine, &fine]).code, 0);
    let ran = run(["check", "--json", folder, &torn, none]);
    assert_eq!(ran.code, 5);
    let got = ran.json();
    assert_eq!(
        got[0],
        json!({"file": folder, "error": {"code": "IS_A_DIRECTORY", "message": "this is a folder, not a session file",
            "path": folder, "line": null}})
    );
    assert_eq!(got[1]["report"]["skippedLines"].as_array().unwrap().len(), 2);
    assert_eq!(got[2]["error"]["code"], "NOT_FOUND");
    assert_eq!(ran.err.lines().count(), 3, "{}", ran.err);
}

// R49, C: entries, leaves and usage as the facts have them.
#[test]
fn stats_count_what_the_facts_say() {
    for (case, facts) in facts() {
        let ran = run(["stats", &fixture(&format!("{case}.jsonl")), "--json"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{case}");
        let got = ran.json();
        assert_eq!(got["entries"], facts["entries"], "{case}");
        assert_eq!(got["branches"], json!(facts["leaves"].as_array().unwrap().len()), "{case}");
        assert_eq!(got["roots"], json!(facts["roots"].as_array().unwrap().len()), "{case}");
        assert_eq!(got["labels"], json!(facts["labels"].as_object().unwrap().len()), "{case}");
        for (key, want) in facts["usage"].as_object().unwrap() {
            assert_eq!(got["usage"][key].as_f64(), want.as_f64(), "{case}: {key}");
        }
        let counted: u64 =
            got["types"].as_object().unwrap().values().map(|count| count["count"].as_u64().unwrap()).sum();
        assert_eq!(json!(counted), facts["entries"], "{case}");
    }
}

// The counts of the bundled session, by a plain parse of its lines.
#[test]
fn stats_of_the_bundled_session() {
    let got = run(["stats", &example(), "--json"]).json();
    let mut types = std::collections::BTreeMap::new();
    let mut bytes = 0;
    for line in fs::read_to_string(example()).unwrap().lines().skip(1) {
        let entry: Value = serde_json::from_str(line).unwrap();
        *types.entry(entry["type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        if let Some(role) = entry["message"]["role"].as_str() {
            *types.entry(format!("/{role}")).or_insert(0) += 1;
            bytes += line.len();
        }
    }
    for (name, count) in &types {
        let counted = match name.strip_prefix('/') {
            Some(role) => &got["roles"][role]["count"],
            None => &got["types"][name]["count"],
        };
        assert_eq!(*counted, json!(count), "{name}");
    }
    assert_eq!(got["types"]["message"]["bytes"], json!(bytes));
    assert_eq!((&got["depth"], &got["deepest"], &got["branches"]), (&json!(64), &json!(64), &json!(3)));
    let ran = run(["stats", &example()]);
    let row = |name: &str| {
        let line = ran.out.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {}", ran.out)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("message"), format!("message 57 {}", "48,790"));
    assert_eq!(row("user"), "user 9 3,379");
    assert_eq!(row("cache read"), "cache read 452,013");
    assert_eq!(row("cost"), "cost 0.3841");
}

// G1: who reads a damaged session is told so in one line, with the number of entries; where more is to be learned too.
#[test]
fn g01_damage_is_said() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("sessions/--p--/x_19191919-0002.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::copy(fixture("fragment-parents.jsonl"), &file).unwrap();
    let file = file.to_str().unwrap();
    let want =
        format!("leaflog: {file}: warning: the file is damaged, which touches 4 entries: leaflog check {file}\n");
    for command in ["context", "show"] {
        for args in [vec![command, file], vec![command, "--json", file]] {
            let ran = run(&args);
            assert_eq!((ran.code, ran.err), (0, want.clone()), "{args:?}");
        }
    }
    let ran = crate::finish(crate::tool(["resume", "19191919-0002"]).env("PI_CODING_AGENT_DIR", dir.path()));
    assert_eq!((ran.code, ran.out, ran.err), (0, format!("{file}\n"), want));
    // What is only spelled in another way is no damage.
    for fine in ["spread", "title-slot-crlf", "fused"] {
        let ran = run(["show", &fixture(&format!("{fine}.jsonl"))]);
        assert_eq!(ran.err.contains("damaged"), fine == "fused", "{fine}: {}", ran.err);
    }
    let ran = run(["check", file]);
    let want = [
        format!("{file}:5: 119 bytes in front of the entry are not JSON, skipped"),
        format!("{file}:7: 30 bytes in front of the entry are not JSON, skipped"),
        format!("{file}: and 2 more: --all reports them"),
    ];
    assert_eq!((ran.code, ran.out.lines().map(str::to_owned).collect::<Vec<_>>()), (1, want.to_vec()));
    let ran = run(["check", file, "--all"]);
    let want = [
        &want[0],
        &want[1],
        &format!("{file}:5: the parent b0000003 of b0000004 was lost, it hangs on b0000002 instead"),
        &format!("{file}:7: the parent b0000007 of b0000008 was lost, it hangs on b0000006 instead"),
    ];
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), want);
}

// G8: types that are not known are named once, and are no fault.
#[test]
fn g08_types_that_are_not_understood() {
    let dir = TempDir::new().unwrap();
    let entry = |id: &str, kind: &str| json!({"type": kind, "id": id, "parentId": null}).to_string();
    let entries =
        [entry("a", "reset_boundary"), entry("b", "custom"), entry("c", "reset_boundary"), entry("d", "usage")];
    let file = session(dir.path(), "s.jsonl", &entries);
    let want =
        ["2 entries of type reset_boundary are not understood here", "1 entry of type usage is not understood here"];
    let ran = run(["check", &file]);
    let lines = [format!("{file}: fine"), format!("{file}: {}", want[0]), format!("{file}: {}", want[1])];
    assert_eq!((ran.code, ran.out.lines().map(str::to_owned).collect::<Vec<_>>()), (0, lines.to_vec()));
    assert_eq!(run(["check", "--json", &file]).json()[0]["unknownTypes"], json!({"reset_boundary": 2, "usage": 1}));
    let ran = run(["context", &file]);
    assert_eq!(ran.err, format!("leaflog: {file}: note: {}\nleaflog: {file}: note: {}\n", want[0], want[1]));
}

// U17: a pipe without end that is no session is left after its beginning.
#[cfg(unix)]
#[test]
fn u17_a_pipe_without_end() {
    use std::process::{Command, Stdio};
    for command in ["show", "check"] {
        let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
        let ran = crate::tool([command, "-"]).stdin(yes.stdout.take().unwrap()).output().unwrap();
        let _ = yes.kill();
        yes.wait().unwrap();
        assert_eq!(ran.status.code(), Some(5), "{command}");
        let error = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(error, "leaflog: <stdin>:1: not a session: the line is not JSON\n", "{command}");
    }
}
