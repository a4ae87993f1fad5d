//! What reaches a terminal.

use crate::{finish, fixture, run, session, tool, user};
use leaflog::Leaf;
use leaflog::SessionView;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::process::Stdio;
use tempfile::TempDir;

pub fn is_unsafe(c: char) -> bool {
    c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c))
}

/// Without the tool's own colours, `ESC [ digits m`.
fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("\x1b[");
    out += parts.next().unwrap();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap();
        assert!(part[end..].starts_with('m'), "another sequence: {part:?}");
        out += &part[end + 1..];
    }
    out
}

#[test]
fn control_characters_stay_inside() {
    let dir = TempDir::new().unwrap();
    let mut bad = "x".to_owned();
    bad.extend((0..0x20u8).filter(|byte| *byte != b'\n').map(char::from));
    bad.extend(('\u{7f}'..='\u{9f}').chain('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}'));
    bad += "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[8mhidden";
    // `spelled` is a JSON string: C0 characters as escapes, the others as they are.
    let spelled = json!(bad).to_string();
    let at = r#""timestamp":"2026-02-16T10:01:00.000Z""#;
    let mut text = format!(
        r#"{{"type":"session","version":1000000000,"id":{spelled},"timestamp":{spelled},"cwd":{spelled},"title":{spelled},"parentSession":{spelled}}}"#
    );
    let message = |role: &str, rest: &str| format!(r#""message":{{"role":{role},{rest}}}"#);
    let content = format!(
        r#""content":[{{"type":"text","text":{spelled}}},{{"type":"thinking","thinking":{spelled}}},{{"type":"toolCall","name":{spelled},"arguments":{{{spelled}:{spelled},"path":{spelled}}}}},{{"type":"image","mimeType":{spelled},"data":"QUJD"}},{{"type":{spelled}}}]"#
    );
    let bodies = [
        ("\"message\"", message("\"user\"", &content)),
        (
            "\"message\"",
            message(
                "\"assistant\"",
                &format!(
                    r#"{content},"provider":{spelled},"model":{spelled},"stopReason":"error","errorMessage":{spelled}"#
                ),
            ),
        ),
        ("\"message\"", message("\"toolResult\"", &format!(r#"{content},"toolName":{spelled},"isError":true"#))),
        (
            "\"message\"",
            message("\"bashExecution\"", &format!(r#""command":{spelled},"output":{spelled},"exitCode":1"#)),
        ),
        ("\"message\"", message("\"fileMention\"", &format!(r#""files":[{{"path":{spelled},"content":{spelled}}}]"#))),
        ("\"message\"", message("\"custom\"", &format!(r#""customType":{spelled},"content":{spelled}"#))),
        ("\"message\"", message(&spelled, &format!(r#""content":{spelled}"#))),
        ("\"model_change\"", format!(r#""model":{spelled},"role":{spelled}"#)),
        ("\"thinking_level_change\"", format!(r#""thinkingLevel":{spelled}"#)),
        ("\"service_tier_change\"", format!(r#""serviceTier":{spelled}"#)),
        ("\"mode_change\"", format!(r#""mode":{spelled}"#)),
        ("\"context_change\"", format!(r#""contextName":{spelled},"tenant":{spelled},"namespace":{spelled}"#)),
        ("\"mcp_tool_selection\"", format!(r#""selectedToolNames":[{spelled}]"#)),
        ("\"ttsr_injection\"", format!(r#""injectedRules":[{spelled}]"#)),
        ("\"session_init\"", format!(r#""task":{spelled},"tools":[{spelled}]"#)),
        ("\"custom\"", format!(r#""customType":{spelled},"data":{spelled}"#)),
        ("\"custom_message\"", format!(r#""customType":{spelled},"content":{spelled}"#)),
        ("\"branch_summary\"", format!(r#""fromId":{spelled},"summary":{spelled}"#)),
        ("\"label\"", format!(r#""targetId":{spelled},"label":{spelled}"#)),
        (&*spelled, format!(r#"{spelled}:{spelled}"#)),
        ("\"compaction\"", format!(r#""summary":{spelled},"shortSummary":{spelled},"firstKeptEntryId":{spelled}"#)),
        ("\"message\"", message("\"user\"", &content)),
    ];
    let mut parent = spelled.clone();
    for (nth, (kind, body)) in bodies.iter().enumerate() {
        let id = match nth {
            0 => spelled.clone(),
            // An argument holds no NUL.
            19 => json!("before").to_string(),
            _ => json!(format!("{bad}{nth}")).to_string(),
        };
        write!(text, "\n{{\"type\":{kind},\"id\":{id},\"parentId\":{parent},{at},{body}}}").unwrap();
        parent = id;
    }
    // The name of the file is somebody's text as well.
    let file = dir.path().join("s\u{1b}[2J\u{202e}.jsonl").to_str().unwrap().to_owned();
    fs::write(&file, text).unwrap();
    // A leaf before the compaction, so that everything is in the context.
    let before = "before";
    let wrong = format!("{file}{}", "\u{1b}]0;x\u{7}");
    for color in ["--color=never", "--color=always"] {
        for args in [
            &["show", &file][..],
            &["show", &file, "--branch"],
            &["show", &file, "--json"],
            &["context", &file],
            &["context", &file, "--full", "--leaf", before],
            &["context", &file, "--leaf", before],
            &["stats", &file],
            &["stats", &file, "--json"],
            &["check", &file, &file],
            &["check", &file, "--json"],
            &["show", &wrong],
            &["show", &file, "--leaf", "\u{1b}[2Jnone"],
            &["check", &wrong, "--json"],
        ] {
            let ran = run([args, &[color]].concat());
            assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
            for text in [if color == "--color=always" { without_colours(&ran.out) } else { ran.out }, ran.err] {
                let found = text.chars().find(|&c| is_unsafe(c));
                assert_eq!(found, None, "{args:?} {color}: {text}");
            }
        }
    }
    // What was there can be seen: escape is ␛, a turn of the direction �.
    let shown = run(["show", &file]).out;
    assert!(shown.contains("\u{241b}[2J") && shown.contains('\u{fffd}') && shown.contains("hidden"), "{shown}");
    // JSON for programs means the same as the file.
    let got = run(["show", &file, "--json"]).json();
    assert_eq!(got["session"]["title"], json!(bad));
    // To a program the context goes as it is.
    let want = SessionView::open(&file).unwrap().context(Leaf::Id(before)).unwrap().to_json();
    assert_eq!(run(["context", &file, "--json", "--leaf", before]).out, want + "\n");
}

#[test]
fn colours_only_when_asked_for() {
    let file = fixture("branches.jsonl");
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let ran = finish(tool([&["show", &file], args].concat()).envs(env.iter().copied()));
        assert_eq!(ran.code, 0);
        (ran.out.contains('\x1b'), without_colours(&ran.out))
    };
    let (plain, text) = coloured(&[], &[]);
    assert!(!plain, "this is no terminal");
    for (args, env, want) in [
        (&["--color", "always"][..], &[][..], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "0")], false),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")], true),
    ] {
        // The words are the same with colours and without.
        assert_eq!(coloured(args, env), (want, text.clone()), "{args:?} {env:?}");
    }
    assert_eq!(run(["show", &file, "--color", "sometimes"]).code, 2);
}

/// Runs a shell command on a terminal of 60 columns; `None` when there is no program for that.
#[cfg(target_os = "linux")]
fn on_terminal(command: &str) -> Option<String> {
    let script = format!("stty rows 24 cols 60 -opost; {command}");
    let output = Command::new("script").args(["-qec", &script, "/dev/null"]).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal() {
    let dir = TempDir::new().unwrap();
    let file = session(dir.path(), "s.jsonl", &[user("a", None, &"\u{9b}2Jlong_text".repeat(20))]);
    let tool =
        format!("env -u COLUMNS -u NO_COLOR TZ=UTC HOME=/nonexistent TERM=xterm {}", env!("CARGO_BIN_EXE_leaflog"));
    let Some(shown) = on_terminal(&format!("{tool} show {file}")) else {
        println!("no program `script`, the tool on a terminal is not tested");
        return;
    };
    assert!(shown.contains("\x1b[1;32m*\x1b[0m"), "{shown:?}");
    let text = without_colours(&shown);
    let line = text.lines().find(|line| line.starts_with("* a")).unwrap();
    assert_eq!(line.chars().count(), 60, "{line}");
    let plain =
        on_terminal(&format!("NO_COLOR=1; export NO_COLOR; {} show {file}", tool.replace("-u NO_COLOR ", ""))).unwrap();
    assert!(!plain.contains('\x1b') && plain.contains("\n* a "), "{plain:?}");
    // A terminal takes U+009B for the start of a sequence; the JSON means the same without it.
    let json = on_terminal(&format!("{tool} context {file} --json")).unwrap();
    assert!(json.contains("\\u009b2J") && !json.contains('\u{9b}'), "{json:?}");
    assert!(run(["context", &file, "--json"]).out.contains('\u{9b}'));
}
