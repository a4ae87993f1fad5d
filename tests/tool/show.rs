//! `leaflog show`.

use crate::{example, facts, finish, fixture, no_report, run, session, tool, user};
use serde_json::Value;
use serde_json::json;
use std::path::Path;
use tempfile::TempDir;

// The tree of the file: bb000003 and bb000006 were branches off bb000002, the leaf came from the
// third. R9, R17
#[test]
fn show_draws_branches_beside_the_path_to_the_leaf() {
    let ran = run(["show", &fixture("branches.jsonl")]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let tree: Vec<String> = ran
        .out
        .lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .map(|line| line.split(" 10:").next().unwrap().to_owned())
        .collect();
    let want = [
        "• bb000001",
        "• bb000002",
        "├─• bb000003",
        "│ • bb000004",
        "│ ○ bb000005",
        "├─• bb000006",
        "│ • bb000007",
        "│ ○ bb000008",
        "• bb000009",
        "• bb000010",
        "• bb000011",
        "• bb000012",
        "• bb000013",
        "* bb000014",
    ];
    assert_eq!(tree, want);
    let line = |id: &str| ran.out.lines().find(|line| line.contains(&format!("• {id}"))).unwrap();
    assert_eq!(line("bb000003"), "├─• bb000003 10:03:00 user        198 [index, slower] Try an index.");
    assert_eq!(ran.last_line(), "* bb000014 10:14:00 label       131 leaf bb000001 is [start]");
}

#[test]
fn show_begins_with_the_session() {
    let ran = run(["show", &example()]);
    let lines: Vec<&str> = ran.out.lines().take(7).collect();
    assert_eq!(lines[0], "Fix the tide curve across midnight");
    assert_eq!(lines[1], "session   1470bba2d62a6f1b, version 3");
    assert_eq!(lines[2], format!("file      {}", example()));
    assert_eq!(lines[3], "cwd       /home/ada/projects/tidewatch");
    assert_eq!(lines[4], "started   2026-02-16 09:12:44");
    assert_eq!(lines[5], "entries   78 (64 on the path to the leaf), 3 branches, 54.5 kB");
    assert_eq!(lines[6], "");
    assert_eq!(ran.out.lines().count(), 7 + 78);
}

// One line an entry of every type. R8, C
#[test]
fn show_says_what_an_entry_says() {
    let ran = run(["show", &fixture("v3-every-type.jsonl")]);
    let said: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| line.starts_with(['•', '*']))
        .map(|line| line.char_indices().nth(20).map_or("", |(at, _)| &line[at..]))
        .collect();
    let want = [
        "init        217 Review src/a.ts (tools: read, edit)",
        "user        197 Review a.ts.",
        "assistant   606 [checkpoint] Reading. → read src/a.ts",
        "toolResult  260 read ok: const a = 1;",
        "thinking    134 medium",
        "model       141 openai/gpt-4o",
        "tier        128 flex",
        "mode        148 plan",
        "context     164 staging tenant acme namespace default",
        "mcp tools   155 github_search, jira_get",
        "rules       136 ruleA, ruleB",
        "compaction  293 Review (42,000 tokens before)",
        "branch      210 from e3000003: Tried a rename, gave up.",
        "state       141 my-extension {\"state\":1}",
        "custom      221 my-extension: Injected context",
        "label       136 e3000003 is [checkpoint]",
    ];
    assert_eq!(said[..16], want);
    assert!(said[16].contains("x_future_…") && said[16].contains(" leaf payload={"), "{}", said[16]);
}

// R49: cycles, lost parents, ids on several lines, second roots: every node is drawn once.
#[test]
fn show_draws_every_node_of_damaged_trees_once() {
    for (case, facts) in facts() {
        let ran = run(["show", &fixture(&format!("{case}.jsonl"))]);
        assert_eq!(ran.code, 0, "{case}: {}", ran.err);
        let mut drawn: Vec<&str> = ran
            .out
            .lines()
            .skip_while(|line| !line.is_empty())
            .filter(|line| line.contains(['•', '○', '*']))
            .map(|line| line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).split(' ').next().unwrap())
            .collect();
        let mut want: Vec<&str> = facts["children"]
            .as_object()
            .unwrap()
            .values()
            .chain([&facts["roots"]])
            .flat_map(|ids| ids.as_array().unwrap())
            .map(|id| id.as_str().unwrap())
            .collect();
        drawn.sort_unstable();
        want.sort_unstable();
        assert_eq!(drawn, want, "{case}");
        let hint = ran.out.lines().any(|line| line.contains("to report: leaflog check"));
        let mut report = facts["report"].clone();
        // Nothing was read that would show that a blob is damaged.
        if case == "blobs-damaged" {
            report["missingBlobs"] = json!([]);
        }
        assert_eq!(hint, report != no_report(), "{case}");
    }
}

#[test]
fn show_from_another_leaf() {
    let file = fixture("branches.jsonl");
    let ran = run(["show", &file, "--leaf", "bb000003"]);
    let tree: Vec<&str> = ran.out.lines().skip(7).map(|line| line.split(" 10:").next().unwrap()).collect();
    let want = [
        "• bb000001",
        "• bb000002",
        "├─• bb000006",
        "│ • bb000007",
        "│ ○ bb000008",
        "├─• bb000009",
        "│ • bb000010",
        "│ • bb000011",
        "│ • bb000012",
        "│ • bb000013",
        "│ ○ bb000014",
        "* bb000003",
        "└─• bb000004",
        "  ○ bb000005",
    ];
    assert_eq!(tree, want);
    // The start of an id is enough when it is that of one.
    let ids = |args: &[&str]| -> Vec<String> {
        let ran = run(args);
        ran.out.lines().skip(7).map(|line| line.split(" 10:").next().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["show", &file, "--leaf", "bb000003", "--branch"]), ["• bb000001", "• bb000002", "* bb000003"]);
    assert_eq!(
        ids(&["show", &file, "--limit", "1", "--leaf", "bb000004"]),
        ["⋮ 12 earlier entries", "* bb000004", "└─○ bb000005"]
    );
    assert_eq!(ids(&["show", &file, "--limit", "2", "--branch"]), ["⋮ 6 earlier entries", "• bb000013", "* bb000014"]);
    let several = run(["show", &file, "--leaf", "bb00001"]);
    assert_eq!(several.code, 3);
    assert!(several.err.contains("bb000010\n") && several.err.contains("bb000014\n"), "{}", several.err);
    // R19
    let none = run(["show", &file, "--leaf", "cc"]);
    assert_eq!((none.code, none.err), (3, format!("leaflog: {file}: Entry cc not found\n")));
}

// Ids too long for their column can be copied from the screen.
#[test]
fn show_shortens_long_ids() {
    let dir = TempDir::new().unwrap();
    let long = "0198c0de-7000-7abc-8def-0123456789ab";
    let file = session(dir.path(), "s.jsonl", &[user(long, None, "one"), user("b", Some(long), "two")]);
    let ran = run(["show", &file, "--leaf", "0198…9ab"]);
    assert!(ran.out.contains("\n* 0198…9ab 10:01:00 user"), "{}", ran.out);
    assert!(ran.out.contains("\n└─○ b        10:01:00 user"), "{}", ran.out);
}

// A line a day: 2026-02-16 is in the header.
#[test]
fn show_tells_the_date_when_it_changes() {
    let dir = TempDir::new().unwrap();
    let file = session(
        dir.path(),
        "s.jsonl",
        &[user("a", None, "one"), user("b", Some("a"), "two").replace("2026-02-16T10", "2026-02-17T23")],
    );
    let ran = run(["show", &file]);
    let tree: Vec<&str> = ran.out.lines().skip(7).collect();
    assert_eq!(tree.len(), 3);
    assert_eq!(tree[1], "  2026-02-17 Tuesday");
    assert!(tree[2].starts_with("* b        23:01:00 "), "{}", tree[2]);
    // In the east it is the next day already.
    if !Path::new("/usr/share/zoneinfo/Asia/Tokyo").exists() {
        println!("no time zones here, the local time is not tested");
        return;
    }
    let ran = finish(tool(["show", &file]).env("TZ", "Asia/Tokyo"));
    assert!(ran.out.contains("\nstarted   2026-02-16 19:00:00\n"), "{}", ran.out);
    assert!(ran.out.contains("\n  2026-02-18 Wednesday\n* b        08:01:00 "), "{}", ran.out);
}

// However branches hang off branches, a line stays readable: 1,000 levels, each with a branch.
#[test]
fn show_nests_no_deeper_than_can_be_read() {
    let dir = TempDir::new().unwrap();
    let mut lines = vec![user("r", None, "root")];
    let mut spine = "r".to_owned();
    for level in 0..1000 {
        lines.push(user(&format!("s{level}"), Some(&spine), "spine"));
        lines.push(user(&format!("x{level}"), Some(&spine), "off"));
        spine = format!("s{level}");
    }
    lines.push(user("leaf", Some("r"), "leaf"));
    let file = session(dir.path(), "s.jsonl", &lines);
    let ran = run(["show", &file]);
    assert_eq!(ran.out.lines().skip(7).count(), 2002);
    let widest = ran.out.lines().skip(7).map(|line| line.find(['•', '○', '*']).unwrap()).max().unwrap();
    // Two levels: "│ ├─".
    assert_eq!(widest, "│ ├─".len());
    // A binary tree of 13 levels is the worst for its size.
    let parent = |at: u32| (at > 1).then(|| format!("{:04x}", at / 2));
    let lines: Vec<String> = (1..1 << 13).map(|at| user(&format!("{at:04x}"), parent(at).as_deref(), "node")).collect();
    let file = session(dir.path(), "t.jsonl", &lines);
    let ran = run(["show", &file]);
    assert_eq!(ran.out.lines().skip(7).count(), 8191);
    let columns = |line: &str| line.chars().take_while(|c| !['•', '○', '*'].contains(c)).count();
    assert_eq!(ran.out.lines().skip(7).map(columns).max().unwrap(), 10 * 2 + "+2 ".len());
}

// Lines are cut to COLUMNS, by what they take on a screen; the fixed part of a line is 37 columns.
#[test]
fn show_cuts_lines() {
    let dir = TempDir::new().unwrap();
    let text = "満潮".repeat(200);
    let file = session(dir.path(), "s.jsonl", &[user("a", None, &text)]);
    let last = |columns: Option<&str>| {
        let mut command = tool(["show", &file]);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        finish(&mut command).last_line().to_owned()
    };
    let start = "* a        10:01:00 user";
    let wide = |line: &str| line.chars().map(|c| if c == '満' || c == '潮' { 2 } else { 1 }).sum::<usize>();
    let line = last(Some("80"));
    assert!(line.starts_with(start) && line.ends_with('…'), "{line}");
    assert!((79..=80).contains(&wide(&line)), "{} columns: {line}", wide(&line));
    // Without a screen a line has room for 200 columns of text, and is cut all the same.
    let line = last(None);
    assert!((235..=245).contains(&wide(&line)), "{} columns: {line}", wide(&line));
}

/// What is said on the standard error stream of a fixture, by the report that its facts have (G1).
fn damage_said(case: &str, report: &Value) -> String {
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let lost = list("skippedLines").iter().filter(|line| line["reason"] != "not-an-entry").count();
    let alone = ["fragments", "trailingText", "missingParents", "entriesWithoutId"].map(|name| list(name).len());
    let in_cycles: usize = list("cycles").iter().map(|cycle| cycle.as_array().unwrap().len()).sum();
    let file = fixture(&format!("{case}.jsonl"));
    let said = |entries: &str| {
        format!("leaflog: {file}: warning: the file is damaged, which touches {entries}: leaflog check {file}\n")
    };
    match lost + alone.iter().sum::<usize>() + in_cycles {
        0 => String::new(),
        1 => said("1 entry"),
        touched => said(&format!("{touched} entries")),
    }
}

// R22, R24: entries in the order of the file, with the tree as the facts have it.
#[test]
fn show_json_holds_the_tree() {
    for (case, facts) in facts() {
        let ran = run(["show", &fixture(&format!("{case}.jsonl")), "--json"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, &*damage_said(&case, &facts["report"])), "{case}");
        let got = ran.json();
        let entries = got["entries"].as_array().unwrap();
        assert_eq!(got["session"]["id"], facts["sessionId"], "{case}");
        assert_eq!(got["session"]["title"], facts["title"], "{case}");
        assert_eq!(got["session"]["leaf"], facts["leaf"], "{case}");
        assert_eq!(got["session"]["entries"], facts["entries"], "{case}");
        assert_eq!(json!(entries.len()), facts["entries"], "{case}");
        let lines: Vec<u64> = entries.iter().map(|entry| entry["line"].as_u64().unwrap()).collect();
        assert!(lines.is_sorted(), "{case}: {lines:?}");
        for entry in entries.iter().filter(|entry| entry["superseded"] == false && !entry["id"].is_null()) {
            let id = entry["id"].as_str().unwrap();
            let children = facts["children"].get(id).cloned().unwrap_or(json!([]));
            assert_eq!(entry["children"], children, "{case}: children of {id}");
            assert_eq!(entry["label"], facts["labels"].get(id).cloned().unwrap_or(Value::Null), "{case}: {id}");
        }
    }
}

#[test]
fn show_json_rows_are_as_written_by_hand() {
    let ran = run(["show", &fixture("branches.jsonl"), "--json"]);
    assert_eq!(
        ran.json()["entries"][2],
        json!({"id": "bb000003", "parentId": "bb000002", "type": "message", "role": "user",
            "time": "2026-02-16T10:03:00.000Z", "size": 198, "line": 4, "label": "index, slower",
            "text": "Try an index.", "children": ["bb000004"], "onPath": false, "superseded": false})
    );
    let ids = |args: &[&str]| -> Vec<String> {
        let got = run([&["show", &fixture("branches.jsonl"), "--json"], args].concat()).json();
        got["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["--branch", "--leaf", "bb000004"]), ["bb000001", "bb000002", "bb000003", "bb000004"]);
    assert_eq!(ids(&["--limit", "2"]), ["bb000013", "bb000014"]);
    assert_eq!(ids(&["--leaf", "bb000004", "--limit", "2"]), ["bb000003", "bb000004", "bb000005"]);
    // R49: the last line of an id counts, and a label is its.
    let got = run(["show", &fixture("duplicates.jsonl"), "--json"]).json();
    let of = |id: &str| -> Vec<(Value, Value)> {
        let rows = got["entries"].as_array().unwrap().iter().filter(|entry| entry["id"] == id);
        rows.map(|entry| (entry["line"].clone(), entry["superseded"].clone())).collect()
    };
    assert_eq!(of("d-a1"), [(json!(3), json!(true)), (json!(5), json!(false))]);
    let dir = TempDir::new().unwrap();
    let label = json!({"type": "label", "id": "l", "parentId": "a", "targetId": "a", "label": "mine"}).to_string();
    let lines = [user("a", None, "first"), user("a", None, "again"), label];
    let got = run(["show", &session(dir.path(), "d.jsonl", &lines), "--json"]).json();
    assert_eq!((&got["entries"][0]["label"], &got["entries"][1]["label"]), (&Value::Null, &json!("mine")));
    // A type and a role this version does not know keep their names. R8
    let line = user("a", None, "hi").replace("\"user\"", "\"oracle\"");
    let got = run(["show", &session(dir.path(), "s.jsonl", &[line]), "--json"]).json();
    assert_eq!(got["entries"][0]["role"], "oracle");
    let got = run(["show", &fixture("v3-every-type.jsonl"), "--json"]).json();
    assert_eq!(got["entries"][16]["type"], "x_future_kind");
}

// R49: a long chain is drawn without deep recursion, at one margin.
#[test]
fn a_chain_of_100_000_entries() {
    let dir = TempDir::new().unwrap();
    let id = |at: u32| format!("{at:08x}");
    let lines: Vec<String> =
        (0..100_000).map(|at| user(&id(at), at.checked_sub(1).map(id).as_deref(), "go on")).collect();
    let file = session(dir.path(), "s.jsonl", &lines);
    let ran = run(["show", &file]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("• ")).count(), 99_999);
    // 99,999 is 1869f in hexadecimal.
    assert!(ran.last_line().starts_with("* 0001869f "), "{}", ran.last_line());
    let got = run(["stats", &file, "--json"]).json();
    assert_eq!((&got["depth"], &got["deepest"], &got["branches"]), (&json!(100_000), &json!(100_000), &json!(1)));
}
