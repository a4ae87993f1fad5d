//! Listing the sessions of a project and of all projects (R40, R41), and the latest ones (R38, R39).

use crate::common::{Home, changed_at, text};
use leaflog::{ErrorCode, Listing, MemorySessionStorage, SessionFinder, SessionInfo, SessionStorage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

fn finder(home: &Home) -> SessionFinder {
    home.options().finder()
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing.sessions.iter().map(|session| session.id.as_str()).collect()
}

/// Names of the problems' files, and their codes.
fn problems(listing: &Listing) -> Vec<(&str, ErrorCode)> {
    listing
        .problems
        .iter()
        .map(|error| (error.path().unwrap().file_name().unwrap().to_str().unwrap(), error.code()))
        .collect()
}

/// Everything below a folder that a listing could have changed.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, (u64, Option<SystemTime>)> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                dirs.push(path.clone());
            }
            all.insert(path, (metadata.len(), metadata.modified().ok()));
        }
    }
    all
}

/// A file of 300 MB with nothing after its beginning.
fn sparse(path: &Path, beginning: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, beginning).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_len(300 << 20).unwrap();
}

// R41, F16, F23, F33: a home with everything in it that there can be.
#[test]
fn r41_a_whole_home() {
    let home = Home::new();
    for project in 0..40 {
        let cwd = home.path.join(format!("p{project:02}"));
        for session in 0..25 {
            let id = format!("{:016x}", 0x100 + project * 25 + session);
            let path = home.session(&format!("--p{project:02}--"), &id, &cwd);
            changed_at(&path, project * 25 + session);
        }
    }
    let x = home.path.join("x");
    // What is a session all the same: a torn line, one of a sub-agent, one that is mostly a hole.
    let torn = text("torn", &x, "hello") + "{\"type\":\"message\",\"id\":\"2\",\"mess\n{\"type\":\"mes";
    let odd = [
        home.file("--x--/torn.jsonl", &torn),
        home.file("--x--/torn/0-task.jsonl", &text("task", &x, "do it")),
        home.sessions().join("--x--/hole.jsonl"),
    ];
    sparse(&odd[2], &text("hole", &x, "before the hole"));
    for (nth, path) in (2000..).zip(&odd) {
        changed_at(path, nth);
    }
    // What costs itself only.
    home.file("--x--/empty.jsonl", "");
    home.file("--x--/foreign.jsonl", "{\"type\":\"log\"}\nhello\n");
    home.file("--x--/no-id.jsonl", "{\"type\":\"session\",\"cwd\":\"/x\"}\n");
    home.file("--x--/binary.jsonl", "\0\u{1}\u{2}\u{fffd}");
    sparse(&home.sessions().join("--x--/nothing.jsonl"), "");
    // What is not looked at.
    home.file("--x--/notes.txt", "hello");
    home.file("--x--/.hidden.jsonl", &text("hidden", &x, "hello"));
    home.file(".hidden/a.jsonl", &text("hidden", &x, "hello"));
    fs::create_dir(home.sessions().join("--x--/folder.jsonl")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&odd[0], home.sessions().join("--x--/link.jsonl")).unwrap();
        symlink(home.sessions(), home.sessions().join("--x--/loop")).unwrap();
        symlink("nowhere", home.sessions().join("--x--/broken.jsonl")).unwrap();
        // Opening it would wait for a writer for ever.
        let pipe = home.sessions().join("--x--/pipe.jsonl");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let before = snapshot(&home.path);
    let listing = finder(&home).list_all();
    assert_eq!(snapshot(&home.path), before, "a listing writes nothing");

    assert!(!listing.cancelled);
    let mut want: Vec<String> = (0x100..0x100 + 1000).map(|id| format!("{id:016x}")).collect();
    want.extend(["torn", "task", "hole"].map(str::to_owned));
    want.reverse();
    assert_eq!(ids(&listing), want, "the newest first");
    assert!(listing.sessions.iter().all(|session| session.message_count == 1));
    let hole = &listing.sessions[0];
    assert_eq!((hole.first_message.as_str(), hole.size), ("before the hole", 300 << 20));
    let not_a_session = ["binary.jsonl", "empty.jsonl", "foreign.jsonl", "no-id.jsonl", "nothing.jsonl"];
    assert_eq!(problems(&listing), not_a_session.map(|name| (name, ErrorCode::NotASession)));

    // The sessions of one project, without those of its sub-agents.
    let of_x = finder(&home).session_dir(home.sessions().join("--x--")).list(&x);
    assert_eq!(ids(&of_x), ["hole", "torn"]);
    assert_eq!(problems(&of_x), problems(&listing));
    // The newest is one with a header.
    changed_at(&home.sessions().join("--x--/empty.jsonl"), 5000);
    assert_eq!(finder(&home).newest().as_deref(), Some(&*odd[2]));
    assert_eq!(finder(&home).most_recent(home.sessions().join("--x--")).as_deref(), Some(&*odd[2]));
}

// G16, U19: a linked directory in the place of a project's is looked into once, and from there no
// further; other links are not followed, and named.
#[cfg(unix)]
#[test]
fn g16_links() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let elsewhere = home.path.join("disk/sessions-of-app");
    fs::create_dir_all(&elsewhere).unwrap();
    let cwd = home.project("app");
    let put = |path: PathBuf, id: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text(id, &cwd, "hello")).unwrap();
    };
    put(elsewhere.join("x_app.jsonl"), "app");
    put(elsewhere.join("x_app/0-task.jsonl"), "task");
    put(home.path.join("disk/more/x_more.jsonl"), "more");
    put(home.sessions().join("--real--/x_real.jsonl"), "real");
    let link = |to: &Path, at: PathBuf| {
        symlink(to, &at).unwrap();
        at
    };
    let root = home.sessions();
    link(&elsewhere, root.join(home.absolute_name("app")));
    // Back into what is looked through anyway: nothing is listed twice, nor looked for without end.
    link(&root, root.join("loop"));
    link(&root.join("--real--"), root.join("--another-name--"));
    // Further down, a file, and what leads nowhere.
    let mut links = vec![
        link(&home.path.join("disk/more"), elsewhere.join("more")),
        link(&elsewhere.join("x_app.jsonl"), root.join("--real--/link.jsonl")),
        link(Path::new("/nonexistent/disk"), root.join("--unmounted--")),
        link(&root, root.join("--real--/up")),
    ];
    links.sort();
    link(Path::new("nowhere"), elsewhere.join("x_app/artifact.txt"));
    fs::write(elsewhere.join("x_app/0.log"), "").unwrap();
    link(Path::new("0.log"), elsewhere.join("x_app/1.log"));
    let sorted = |listing: &Listing| {
        let mut ids: Vec<String> = listing.sessions.iter().map(|session| session.id.clone()).collect();
        ids.sort_unstable();
        let mut links: Vec<PathBuf> = listing.links.clone();
        // By their real names: the linked directory is one of them.
        links.iter_mut().for_each(|link| {
            let dir = link.parent().unwrap().canonicalize().unwrap();
            *link = dir.join(link.file_name().unwrap());
        });
        links.sort();
        (ids, links)
    };
    let all = finder(&home).list_all();
    assert!(all.problems.is_empty(), "{:?}", all.problems);
    let want = ["app", "real", "task"].map(str::to_owned).to_vec();
    assert_eq!(sorted(&all), (want.clone(), links.clone()));
    // The real name of a directory is the one that counts.
    assert!(all.sessions.iter().any(|session| session.path == root.join("--real--/x_real.jsonl")));
    assert_eq!(sorted(&finder(&home).list(&cwd)), (vec!["app".to_owned()], vec![]));
    assert_eq!(finder(&home).by_prefix("task").unwrap().len(), 1);
    // A session that is a link, in the one directory of a project.
    symlink(elsewhere.join("x_app.jsonl"), elsewhere.join("linked.jsonl")).unwrap();
    let of_app = finder(&home).list(&cwd);
    assert_eq!(ids(&of_app), ["app"]);
    let linked = root.join(home.absolute_name("app")).join("linked.jsonl");
    assert_eq!(of_app.links, std::slice::from_ref(&linked));
    let not_listed: Vec<_> =
        of_app.not_listed().iter().map(|error| (error.code(), error.path() == Some(&linked))).collect();
    assert_eq!(not_listed, [(ErrorCode::InvalidArgument, true)]);
    // Two roots, one of them a link to the other.
    let other = link(&root, home.path.join("other-root"));
    let both = finder(&home).roots([&root, &other]).list_all();
    assert_eq!(sorted(&both).0, want);
}

// F23: a file or folder that may not be read costs itself only, and is named.
#[cfg(unix)]
#[test]
fn f23_what_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let cwd = home.path.join("x");
    home.session("--x--", "good", &cwd);
    let closed = home.session("--x--", "closed", &cwd);
    home.session("--y--", "behind", &cwd);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&closed, 0);
    mode(&home.sessions().join("--y--"), 0);
    if fs::read(&closed).is_ok() {
        println!("this user may read everything: files that may not be read are not tested");
    } else {
        let listing = finder(&home).list_all();
        assert_eq!(ids(&listing), ["good"]);
        let name = closed.file_name().unwrap().to_str().unwrap();
        assert_eq!(problems(&listing), [(name, ErrorCode::PermissionDenied), ("--y--", ErrorCode::PermissionDenied)]);
        let message = listing.problems[0].to_string();
        assert!(message.contains(closed.to_str().unwrap()), "{message}");
    }
    mode(&home.sessions().join("--y--"), 0o700);
}

// A folder that is not there is no problem; a file in its place is.
#[test]
fn folders_that_are_none() {
    let home = Home::new();
    let listing = finder(&home).list_all();
    assert!(listing.sessions.is_empty() && listing.problems.is_empty());
    let file = home.file("file", "");
    let listing = finder(&home).session_dir(&file).list("/x");
    assert!(listing.sessions.is_empty());
    assert_eq!(listing.problems.len(), 1);
    assert_eq!(listing.problems[0].path(), Some(&*file));
    assert!(finder(&home).recent(&file, 3).is_empty());
    assert_eq!(finder(&home).most_recent(&file), None);
}

fn message(role: &str, content: Value) -> String {
    json!({"type": "message", "id": "1", "parentId": null, "timestamp": "2026-02-16T10:01:00.000Z",
        "message": {"role": role, "content": content}})
    .to_string()
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/p","parentSession":"q"}"#;

// Part C, SessionInfo.
#[test]
fn what_is_said_of_a_session() {
    let home = Home::new();
    let lines = [
        HEADER.to_owned(),
        r#"{"type":"compaction","id":"c","summary":"s","shortSummary":"first summary"}"#.to_owned(),
        message("assistant", json!([{"type": "thinking", "thinking": "no"}, {"type": "text", "text": "An answer"}])),
        message("user", json!([{"type": "image", "data": "QUJD"}])),
        message("toolResult", json!([{"type": "text", "text": "a result"}])),
        message("user", json!([{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}])),
        message("user", json!("plain \u{1f642} \"text\"\n")),
        // Counted: JavaScript takes them for messages.
        r#"{"type":"message","id":"1","message":{}}"#.to_owned(),
        r#"{"type":"message","id":"1","message":"text"}"#.to_owned(),
        // Not counted.
        r#"{"type":"message","id":"1","message":null}"#.to_owned(),
        r#"{"type":"message","id":"1","message":""}"#.to_owned(),
        r#"{"type":"message","id":"1","message":0}"#.to_owned(),
        r#"{"type":"message","id":"1"}"#.to_owned(),
        r#"{"type":"message","id":"1","message":{"role":"user","content":"torn"#.to_owned(),
        r#"{"type":"custom_message","content":"not of the model"}"#.to_owned(),
        // Two values on one line are two.
        message("user", json!("three")) + &message("user", json!("four")),
        r#"{"type":"compaction","id":"d","summary":"s","shortSummary":"second summary"}"#.to_owned(),
        r#"{"type":"compaction","id":"e","summary":"s"}"#.to_owned(),
        // Keys in another order, spelled with an escape, and twice.
        r#"{"\u006dessage":{"content":"no","content":"five","role":"assistant"},"type":"label","type":"message"}"#
            .to_owned(),
    ];
    let path = home.file("--p--/s.jsonl", &(lines.join("\r\n") + "\n"));
    changed_at(&path, 7);
    let listing = finder(&home).list_all();
    let info = &listing.sessions[0];
    assert_eq!(
        info,
        &SessionInfo {
            path: path.clone(),
            id: "s".into(),
            cwd: "/p".into(),
            title: Some("second summary".into()),
            parent_session: Some("q".into()),
            // date -u -d 2026-02-16T10:20:30Z +%s
            created_ms: Some(1_771_237_230_000),
            modified: fs::metadata(&path).unwrap().modified().unwrap(),
            used: fs::metadata(&path).unwrap().modified().unwrap(),
            project_gone: false,
            size: fs::metadata(&path).unwrap().len(),
            message_count: 10,
            first_message: "one two".into(),
        }
    );
    let texts = finder(&home).all_messages_text(&path).unwrap();
    assert_eq!(texts, "An answer one two plain \u{1f642} \"text\"\n three four five");
    // The same from bytes.
    let bytes = fs::read(&path).unwrap();
    assert_eq!(SessionInfo::of_bytes(&path, info.modified, bytes).as_ref(), Some(info));
    assert_eq!(SessionInfo::of_bytes(&path, info.modified, b"hello".to_vec()), None);
}

/// What is said of a file with these lines.
fn info(home: &Home, lines: &[&str]) -> SessionInfo {
    home.file("--p--/s.jsonl", &lines.join("\n"));
    finder(home).list_all().sessions.remove(0)
}

// R6, R15, R48, part C: titles, and headers with little in them.
#[test]
fn r48_titles() {
    let home = Home::new();
    let titled = r#"{"type":"session","id":"s","title":"of the header"}"#;
    let summary = r#"{"type":"compaction","shortSummary":"of the compaction"}"#;
    let slot = |title: &str| {
        let bare = json!({"type": "title", "v": 1, "title": title, "updatedAt": "x", "pad": ""}).to_string();
        let pad = " ".repeat(255 - bare.len());
        json!({"type": "title", "v": 1, "title": title, "updatedAt": "x", "pad": pad}).to_string()
    };
    let title = |lines: &[&str]| info(&home, lines).title;
    assert_eq!(title(&[titled, summary]).as_deref(), Some("of the header"));
    assert_eq!(title(&[r#"{"type":"session","id":"s","title":""}"#, summary]).as_deref(), Some("of the compaction"));
    assert_eq!(title(&[r#"{"type":"session","id":"s","title":7}"#]), None);
    assert_eq!(title(&[&slot("of the slot"), titled]).as_deref(), Some("of the slot"));
    assert_eq!(title(&[&slot(""), titled]), None);
    assert_eq!(title(&[&slot(""), titled, summary]).as_deref(), Some("of the compaction"));
    // G7: of another width it is one too; what has an id is an entry.
    assert_eq!(title(&[&(slot("of the slot") + " "), titled, ""]).as_deref(), Some("of the slot"));
    assert_eq!(
        title(&[&slot("x").replace("\"v\":1", "\"v\":1,\"id\":\"a\""), titled]).as_deref(),
        Some("of the header")
    );
    let bare = info(&home, &[r#"{"type":"session","id":"s","timestamp":"yesterday"}"#]);
    assert_eq!((bare.cwd.as_str(), bare.created_ms, bare.message_count), ("", None, 0));
    assert_eq!((bare.title, bare.parent_session, bare.first_message.as_str()), (None, None, ""));
}

// R15: a header that is not on the first line, as far as 64 KiB.
#[test]
fn r15_late_headers() {
    let home = Home::new();
    let first = message("user", json!("before the header"));
    let late = info(&home, &[&first, "not JSON", HEADER, ""]);
    assert_eq!((late.message_count, late.first_message.as_str()), (1, "before the header"));
    let filler = |len: usize| "x".repeat(len);
    let limit = (64 << 10) - 1 - HEADER.len();
    assert_eq!(info(&home, &[&filler(limit), HEADER, &first]).message_count, 1);
    home.file("--p--/s.jsonl", &[&filler(limit + 1), HEADER, &first].map(|line| format!("{line}\n")).concat());
    assert_eq!(problems(&finder(&home).list_all()), [("s.jsonl", ErrorCode::NotASession)]);
}

// F16: a line that is longer than any buffer, and lines that lie across the buffer's end.
#[test]
fn f16_long_lines() {
    let home = Home::new();
    let long = message("assistant", json!("x".repeat(5 << 20)));
    let middle = message("user", json!("y".repeat(300 << 10)));
    let small = message("user", json!("z"));
    for many in [1, 3000] {
        let smalls = vec![small.as_str(); many];
        let lines = [&[HEADER, &long][..], &smalls, &[&middle, &long], &smalls].concat();
        let session = info(&home, &lines);
        assert_eq!(session.message_count, 3 + 2 * many as u64);
        assert_eq!(session.first_message, "z");
        // The texts are all there, with a space before each but the first.
        let texts = finder(&home).all_messages_text(&session.path).unwrap();
        assert_eq!(texts.len(), 2 * (5 << 20) + (300 << 10) + 2 * many + (2 + 2 * many));
    }
    // A first message that is too long to be kept is cut, between characters.
    let session = info(&home, &[HEADER, &message("user", json!("é".repeat(1 << 20)))]);
    assert_eq!(session.first_message, "é".repeat(32 << 10));
    // A line that is judged by its beginning, in which the text is whole and the rest is not.
    let begins = json!([{"type": "text", "text": "the question"}, {"type": "image", "data": "A".repeat(6 << 20)}]);
    let session = info(&home, &[HEADER, &message("user", begins), &small]);
    assert_eq!((session.message_count, session.first_message.as_str()), (2, "the question"));
    // The last line, cut off: long or short, it is none.
    for torn in [&small[..small.len() - 1], &middle[..middle.len() - 1]] {
        assert_eq!(info(&home, &[HEADER, &small, torn]).message_count, 1);
    }
}

/// What a session says, read with another JSON parser: messages, first text, all texts.
fn by_serde_json(bytes: &[u8]) -> (u64, String, String) {
    let (mut count, mut first, mut texts) = (0, String::new(), Vec::new());
    let (mut task, mut custom) = (String::new(), String::new());
    for line in bytes.split(|&byte| byte == b'\n') {
        for value in serde_json::Deserializer::from_slice(line).into_iter::<Value>() {
            let Ok(value) = value else { break };
            for (name, kind, key) in [(&mut task, "session_init", "task"), (&mut custom, "custom_message", "content")] {
                if value["type"] == kind && name.trim().is_empty() {
                    *name = value[key].as_str().unwrap_or_default().to_owned();
                }
            }
            let message = &value["message"];
            if value["type"] != "message" || message.is_null() || message == "" || message == 0 || message == false {
                continue;
            }
            count += 1;
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                Value::Array(blocks) => {
                    let texts = blocks.iter().filter(|block| block["type"] == "text");
                    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join(" ")
                }
                _ => continue,
            };
            if text.is_empty() || message["role"] != "user" && message["role"] != "assistant" {
                continue;
            }
            if first.trim().is_empty() && message["role"] == "user" {
                first.clone_from(&text);
            }
            texts.push(text);
        }
    }
    let first = [first, task, custom].into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    (count, first, texts.join(" "))
}

#[test]
fn golden_files_as_another_parser_reads_them() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let listing = SessionFinder::new().session_dir(&dir).list("/");
    let files = fs::read_dir(&dir).unwrap().filter(|file| {
        let name = file.as_ref().unwrap().file_name().into_string().unwrap();
        name.ends_with(".jsonl")
    });
    let mut compared = 0;
    for file in files {
        let path = file.unwrap().path();
        let Some(info) = listing.sessions.iter().find(|info| info.path == path) else { continue };
        let bytes = fs::read(&path).unwrap();
        // What serde_json refuses: numbers without bound, lone surrogates.
        let text = String::from_utf8_lossy(&bytes);
        if text.contains("\\ud8") || text.contains("1e400") || bytes.contains(&0) || bytes.starts_with(b"\xef\xbb\xbf")
        {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (count, first, texts) = match name {
            // G1, U3: what a parser that goes line by line leaves out.
            "fragment" => {
                (4, "first question".into(), "first question first answer third question third answer".into())
            }
            "fragment-parents" => (6, "one".into(), "one two another way four six eight".into()),
            "spread" => (3, "one".into(), "one between two".into()),
            _ => by_serde_json(&bytes),
        };
        let got =
            (info.message_count, info.first_message.clone(), SessionFinder::new().all_messages_text(&path).unwrap());
        assert_eq!(got, (count, first, texts), "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 40, "{compared} files");
}

#[test]
fn threads_and_storages_say_the_same() {
    let home = Home::new();
    let storage = MemorySessionStorage::new();
    let put = |name: &str, text: &str| {
        home.file(name, text);
        storage.write_text(&home.sessions().join(name), text).unwrap();
    };
    for nth in 0..60 {
        let id = format!("{nth:04}");
        put(&format!("--p{}--/x_{id}.jsonl", nth % 7), &text(&id, Path::new("/p"), &format!("message {nth}")));
    }
    put("--p0--/x_0000/0-task.jsonl", &text("task", Path::new("/p"), "a task"));
    put("--p0--/foreign.jsonl", "hello");
    put("--p0--/.hidden.jsonl", &text("hidden", Path::new("/p"), "hello"));
    // Without what a storage in memory has its own way.
    let plain = |listing: Listing| {
        let mut sessions = listing.sessions;
        for session in &mut sessions {
            session.modified = SystemTime::UNIX_EPOCH;
            session.size = 0;
        }
        sessions.sort_by(|a, b| a.path.cmp(&b.path));
        let problems: Vec<_> = listing.problems.iter().map(ToString::to_string).collect();
        (sessions, problems)
    };
    let want = plain(finder(&home).list_all());
    assert_eq!((want.0.len(), want.1.len()), (61, 1));
    for threads in [1, 2, 3, 8] {
        let threads = NonZero::new(threads).unwrap();
        assert_eq!(plain(finder(&home).threads(threads).list_all()), want);
        assert_eq!(plain(finder(&home).storage(storage.clone()).threads(threads).list_all()), want);
    }
    let dir = home.sessions().join("--p3--");
    let names = |finder: SessionFinder| {
        let mut names: Vec<String> = finder.recent(&dir, 100).into_iter().map(|session| session.full_name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(finder(&home)).len(), 9);
    assert_eq!(names(finder(&home)), names(finder(&home).storage(storage.clone())));
    let texts = finder(&home).storage(storage).all_messages_text(dir.join("x_0003.jsonl")).unwrap();
    assert_eq!(texts, "message 3");
}

#[test]
fn progress_and_stopping() {
    let home = Home::new();
    for nth in 0..50 {
        home.session("--p--", &format!("{nth:04}"), Path::new("/p"));
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let this = std::thread::current().id();
    let listing = finder(&home)
        .progress(move |done, total| {
            assert_eq!((std::thread::current().id(), total), (this, 50));
            told.lock().unwrap().push(done);
            ControlFlow::Continue(())
        })
        .list_all();
    assert_eq!((listing.sessions.len(), listing.cancelled), (50, false));
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted() && seen[0] == 0 && seen[seen.len() - 1] == 50, "{seen:?}");

    let calls = AtomicUsize::new(0);
    let one = NonZero::<usize>::MIN;
    let stopped = finder(&home)
        .threads(one)
        .progress(move |done, _| {
            calls.fetch_add(1, Ordering::Relaxed);
            if done == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .list_all();
    assert!(stopped.cancelled);
    assert_eq!(stopped.sessions.len(), 5);
    let at_once = finder(&home).progress(|_, _| ControlFlow::Break(())).list_all();
    assert!(at_once.cancelled && at_once.sessions.is_empty());
}

/// A storage whose files may not be read.
struct Refusing(MemorySessionStorage);

impl SessionStorage for Refusing {
    fn ensure_dir(&self, dir: &Path) -> leaflog::Result<()> {
        self.0.ensure_dir(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn read(&self, path: &Path) -> leaflog::Result<Vec<u8>> {
        if path.ends_with("bad.jsonl") {
            return Err(leaflog::Error::new(ErrorCode::PermissionDenied, "not yours"));
        }
        self.0.read(path)
    }
    fn read_prefix(&self, path: &Path, most: usize) -> leaflog::Result<Vec<u8>> {
        self.read(path)?;
        self.0.read_prefix(path, most)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> leaflog::Result<()> {
        self.0.write(path, bytes)
    }
    fn stat(&self, path: &Path) -> leaflog::Result<leaflog::StorageStat> {
        self.0.stat(path)
    }
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.0.list_files(dir, pattern)
    }
    fn rename(&self, from: &Path, to: &Path) -> leaflog::Result<()> {
        self.0.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> leaflog::Result<()> {
        self.0.unlink(path)
    }
    fn open_writer(
        &self,
        path: &Path,
        mode: leaflog::WriterMode,
    ) -> leaflog::Result<Box<dyn leaflog::SessionStorageWriter>> {
        self.0.open_writer(path, mode)
    }
}

// F23, R37: the same over a storage of one's own.
#[test]
fn f23_a_bad_file_in_a_storage() {
    let storage = Refusing(MemorySessionStorage::new());
    for name in ["a.jsonl", "bad.jsonl"] {
        storage.write_text(&Path::new("/dir").join(name), &text(name, Path::new("/p"), "hello")).unwrap();
    }
    let finder = SessionFinder::new().session_dir("/dir").storage(storage);
    let listing = finder.list("/p");
    assert_eq!(ids(&listing), ["a.jsonl"]);
    assert_eq!(problems(&listing), [("bad.jsonl", ErrorCode::PermissionDenied)]);
    assert_eq!(finder.recent("/dir", 9).len(), 1);
    assert_eq!(finder.most_recent("/dir"), Some("/dir/a.jsonl".into()));
}
