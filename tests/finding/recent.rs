//! The latest sessions of a folder (R38, R39; part C, getRecentSessions).

use crate::common::{Home, changed_at};
use leaflog::{RecentSession, SessionFinder};
use serde_json::json;
use std::time::{Duration, SystemTime};

fn header(title: Option<&str>) -> String {
    match title {
        Some(title) => json!({"type": "session", "id": "00aa000000000001", "title": title}).to_string(),
        None => json!({"type": "session", "id": "00aa000000000001"}).to_string(),
    }
}

fn user(text: &str) -> String {
    json!({"type": "message", "id": "1", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})
        .to_string()
}

/// What a session with these lines is called.
fn called(lines: &[&str]) -> RecentSession {
    let home = Home::new();
    home.file("d/the file_1.jsonl", &(lines.join("\n") + "\n"));
    SessionFinder::new().recent(home.sessions().join("d"), 3).remove(0)
}

#[test]
fn r38_names() {
    let name = |lines: &[&str]| called(lines).full_name;
    assert_eq!(name(&[&header(Some("A title")), &user("question")]), "A title");
    assert_eq!(name(&[&header(None), &user("question")]), "question");
    assert_eq!(name(&[&header(Some("")), &user("question")]), "question");
    assert_eq!(name(&[&header(None), &user(""), &user("second")]), "second");
    assert_eq!(name(&[&header(None)]), "00aa000000000001");
    // The first line only, without control characters, trimmed.
    assert_eq!(name(&[&header(None), &user("  one\u{1b}[2J\t two\u{7f} \r\nthree")]), "one[2J two");
    assert_eq!(name(&[&header(None), &user("\nsecond line")]), "second line");
    // A title that says nothing is none (G15).
    assert_eq!(name(&[&header(Some("\u{1}\u{2}")), &user("question")]), "question");
    assert_eq!(name(&[r#"{"type":"session","id":""}"#]), "the file_1");
}

// Part C: over 40 units, 39 and `…`.
#[test]
fn r38_short_names() {
    let short = |title: &str| called(&[&header(Some(title))]).name();
    let forty = "x".repeat(40);
    assert_eq!(short(&forty), forty);
    assert_eq!(short(&"x".repeat(41)), format!("{}…", "x".repeat(39)));
    // 🙂 is two units: 38 and 2 make 40; one that would be cut in two goes.
    assert_eq!(short(&format!("{}🙂", "x".repeat(38))), format!("{}🙂", "x".repeat(38)));
    assert_eq!(short(&format!("{}🙂x", "x".repeat(38))), format!("{}…", "x".repeat(38)));
    assert_eq!(short(&format!("{}🙂xx", "x".repeat(37))), format!("{}🙂…", "x".repeat(37)));
    assert_eq!(short(&"会".repeat(50)), format!("{}…", "会".repeat(39)));
}

#[test]
fn r38_how_long_ago() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_771_237_230);
    let session = |ago: i64| {
        let modified = if ago < 0 {
            now + Duration::from_secs(ago.unsigned_abs())
        } else {
            now - Duration::from_secs(ago.unsigned_abs())
        };
        RecentSession {
            path: "/s.jsonl".into(),
            modified,
            used: modified,
            project_gone: false,
            full_name: String::new(),
        }
        .time_ago(now)
    };
    let (minute, hour, day) = (60, 3600, 86_400);
    for (ago, want) in [
        (-hour, "just now"),
        (0, "just now"),
        (minute - 1, "just now"),
        (minute, "1m ago"),
        (hour - 1, "59m ago"),
        (hour, "1h ago"),
        (day - 1, "23h ago"),
        (day, "1d ago"),
        (7 * day - 1, "6d ago"),
    ] {
        assert_eq!(session(ago), want, "{ago}");
    }
    // 2026-02-16T10:20:30Z less eight days; local time may be a day off.
    let date = session(8 * day);
    assert!(["2026-02-07", "2026-02-08", "2026-02-09"].contains(&&*date), "{date}");
}

// R38, G11: from the first 4,096 bytes, and more when the header is longer or nothing is said in them.
#[test]
fn r38_from_the_beginning_of_the_file() {
    let long = "t".repeat(60_000);
    assert_eq!(called(&[&header(Some(&long))]).full_name, long);
    // The header's line is whole in 4,096 bytes; the text comes after them.
    let filler = json!({"type": "custom", "data": "x".repeat(4000)}).to_string();
    assert_eq!(called(&[&header(None), &filler, &user("question")]).full_name, "question");
    // A header on another line.
    assert_eq!(called(&[&filler, &filler, &header(Some("late"))]).full_name, "late");
    let prefix = header(None) + "\n" + &user("question");
    let recent = RecentSession::of_prefix("/a/b_1.jsonl", SystemTime::UNIX_EPOCH, prefix.as_bytes()).unwrap();
    assert_eq!(recent.full_name, "question");
    assert_eq!(RecentSession::of_prefix("/a/b_1.jsonl", SystemTime::UNIX_EPOCH, b"{}"), None);
}

// R38, R39: the newest first, ties by name; what is no session does not count.
#[test]
fn r38_order() {
    let home = Home::new();
    let put = |name: &str, second| {
        let path = home.file(&format!("d/{name}.jsonl"), &format!("{}\n", header(Some(name))));
        changed_at(&path, second);
        path
    };
    put("old", 1);
    let b = put("b", 5);
    put("a", 5);
    put("c", 3);
    changed_at(&home.file("d/newest.jsonl", "hello\n"), 9);
    changed_at(&home.file("d/deep/er.jsonl", &header(Some("deeper"))), 10);
    let dir = home.sessions().join("d");
    let names = |limit| {
        SessionFinder::new().recent(&dir, limit).into_iter().map(|session| session.full_name).collect::<Vec<_>>()
    };
    assert_eq!(names(3), ["b", "a", "c"]);
    assert_eq!(names(99), ["b", "a", "c", "old"]);
    assert!(names(0).is_empty());
    assert_eq!(SessionFinder::new().most_recent(&dir), Some(b));
}
