//! When a session was used (G4): by its last message, not by the last change of its file. And what
//! it is called in lists (G11, G15).

use crate::common::{Home, Watched, changed_at};
use leaflog::{
    MemorySessionStorage, MigrationRewrite, SessionFinder, SessionInfo, SessionManager, TitleSource, format_time,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// The second 0 of [`changed_at`].
const START_MS: i64 = 1_700_000_000_000;

fn iso(second: u64) -> String {
    format_time(START_MS + second as i64 * 1000)
}

fn at(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(START_MS as u64 + second * 1000)
}

fn header(id: &str, version: u32, cwd: &Path, second: u64) -> String {
    let version = if version == 1 { Value::Null } else { version.into() };
    json!({"type": "session", "version": version, "id": id, "timestamp": iso(second), "cwd": cwd}).to_string()
}

fn message(id: &str, second: u64, text: &str) -> String {
    json!({"type": "message", "id": id, "parentId": null, "timestamp": iso(second),
        "message": {"role": "user", "content": text}})
    .to_string()
}

/// A session of the project `work` that began at the second 0, was used at `used` and whose file
/// changed then.
fn put(home: &Home, id: &str, version: u32, used: u64) -> PathBuf {
    let cwd = home.project("work");
    let lines = [header(id, version, &cwd, 0), message("00000001", 1, "hello"), message("00000002", used, "more")];
    let name = format!("{}/2023-11-14T22-13-20-000Z_{id}.jsonl", home.absolute_name("work"));
    let path = home.file(&name, &(lines.join("\n") + "\n"));
    changed_at(&path, used);
    path
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// The ids of every list there is, newest first, and the one to go on with.
fn orders(home: &Home) -> [Vec<String>; 4] {
    let cwd = home.project("work");
    let finder = home.options().finder();
    let ids = |sessions: Vec<SessionInfo>| sessions.into_iter().map(|session| session.id).collect::<Vec<_>>();
    let recent = finder.recent_of(&cwd, 99).into_iter().map(|session| {
        let name = session.path.file_stem().unwrap().to_str().unwrap().to_owned();
        name.rsplit_once('_').unwrap().1.to_owned()
    });
    let all = [ids(finder.list(&cwd).sessions), ids(finder.list_all().sessions), recent.collect()];
    let candidates = finder.candidates("2023-", &cwd).sessions.into_iter().map(|found| found.session.id).collect();
    let [list, list_all, recent] = all;
    let newest = finder.most_recent_of(&cwd).unwrap();
    assert!(newest.to_str().unwrap().ends_with(&format!("_{}.jsonl", list[0])), "{newest:?}, {list:?}");
    assert_eq!(finder.newest(), Some(newest.clone()));
    assert_eq!(finder.most_recent(newest.parent().unwrap()), Some(newest));
    [list, list_all, recent, candidates]
}

// G4: a migration rewrites the file, a new name too; neither is a use of the session.
#[test]
fn g04_bookkeeping_is_no_use() {
    let home = Home::new();
    let paths = [put(&home, "aa", 1, 10), put(&home, "bb", 3, 20), put(&home, "cc", 2, 30)];
    let want = ["cc", "bb", "aa"].map(str::to_owned).to_vec();
    let check = |what: &str| orders(&home).iter().for_each(|order| assert_eq!(order, &want, "{what}"));
    check("as they were");
    drop(home.options().open(&paths[0]).unwrap());
    assert!(fs::read_to_string(&paths[0]).unwrap().contains("\"version\":3"));
    assert_eq!(modified(&paths[0]), at(10), "a migration keeps the time");
    check("migrated");
    for path in &paths[..2] {
        let before = modified(path);
        let mut session = home.options().open(path).unwrap();
        assert!(session.set_session_name("A name", TitleSource::User).unwrap());
        assert_eq!(modified(path), before, "so does a new name");
    }
    check("renamed");
    let mut session = home.options().open(&paths[0]).unwrap();
    session.rewrite_entries(&[]).unwrap();
    assert_eq!(modified(&paths[0]), at(10), "and rewriting what is there");
    // These do change the file, and are no use of the session all the same.
    let first = session.entries().next().unwrap().id().unwrap().into_owned();
    session.append_label_change(&first, Some("a label")).unwrap();
    session.append_model_change("p/m", None).unwrap();
    assert!(modified(&paths[0]) > at(1000));
    drop(session);
    check("labeled");
    assert_eq!(home.options().continue_recent(home.project("work")).unwrap().session_id(), "cc");
    // A message is.
    let mut session = home.options().open(&paths[0]).unwrap();
    session.append_message(r#"{"role":"user","content":"new"}"#).unwrap();
    drop(session);
    assert_eq!(orders(&home)[0], ["aa", "cc", "bb"]);
    let info = home.options().finder().list_all().sessions.remove(0);
    assert_eq!(info.modified, modified(&paths[0]));
    assert!(info.used <= info.modified && info.used > at(1000));
    // A rewrite that brings a message changes the file now.
    let options = home.options().migration_rewrite(MigrationRewrite::Deferred);
    let mut session = options.open(&paths[2]).unwrap();
    session.append_message(r#"{"role":"user","content":"new"}"#).unwrap();
    assert!(modified(&paths[2]) > at(1000));
}

// G4: what a copy holds is as old as what was copied; the copy was made now, and is what is gone on with.
#[test]
fn g04_a_copy_is_new() {
    let home = Home::new();
    put(&home, "aa", 3, 10);
    let bb = put(&home, "bb", 3, 20);
    let mut session = home.options().open(&bb).unwrap();
    session.fork().unwrap().unwrap();
    let fork = session.session_id().to_owned();
    drop(session);
    let cwd = home.project("work");
    assert_eq!(home.options().continue_recent(&cwd).unwrap().session_id(), fork);
    let ids: Vec<String> = home.options().finder().list(&cwd).sessions.into_iter().map(|info| info.id).collect();
    assert_eq!(ids, [&fork, "bb", "aa"]);
}

/// The one session of a file with these lines, as a listing and as the latest tell it, and from a storage.
fn told(lines: &[String], changed: u64) -> SessionInfo {
    let home = Home::new();
    let text = lines.join("\n") + "\n";
    let path = home.file("d/x_1.jsonl", &text);
    changed_at(&path, changed);
    let dir = home.sessions().join("d");
    let listed = home.options().finder().list_all().sessions.remove(0);
    let recent = home.options().finder().recent(&dir, 3).remove(0);
    assert_eq!(recent.used, listed.used);
    let storage = MemorySessionStorage::new();
    storage.put(&path, text, at(changed));
    assert_eq!(SessionFinder::new().storage(storage).recent(&dir, 3), std::slice::from_ref(&recent));
    // The same value in both (G11), but that a name is one line.
    let name = listed.title.as_ref().unwrap_or(&listed.first_message);
    let line = name.lines().find(|line| !line.trim().is_empty()).unwrap_or("1").trim();
    assert_eq!(recent.full_name, if name.is_empty() { listed.id.as_str() } else { line });
    listed
}

// G4: by the end of the file, which is read without the rest.
#[test]
fn g04_when_a_session_was_used() {
    let used = |lines: &[String], changed| told(lines, changed).used;
    let head = header("1", 3, Path::new("/p"), 5);
    let label = || json!({"type": "label", "id": "l", "timestamp": iso(90), "targetId": "1", "label": "x"}).to_string();
    let filler =
        |len: usize| json!({"type": "custom", "id": "c", "timestamp": iso(91), "data": "x".repeat(len)}).to_string();
    assert_eq!(used(std::slice::from_ref(&head), 99), at(5), "without a message: when it began");
    assert_eq!(used(&[head.clone(), message("1", 30, "x"), label()], 99), at(30));
    assert_eq!(used(&[head.clone(), message("1", 30, "x"), message("2", 20, "x")], 99), at(20), "the last in the file");
    assert_eq!(used(&[head.clone(), message("1", 300, "x")], 99), at(99), "not after the file changed");
    assert_eq!(used(&[head.clone(), message("1", 2, "x")], 99), at(5), "nor before it began");
    let undated = r#"{"type":"message","id":"2","timestamp":"now","message":{"role":"user"}}"#.to_owned();
    assert_eq!(used(&[head.clone(), message("1", 30, "x"), undated.clone()], 99), at(30));
    let number = json!({"type": "message", "id": "2", "timestamp": START_MS + 40_000, "message": {"role": "user"}});
    assert_eq!(used(&[head.clone(), number.to_string()], 99), at(40), "a number of milliseconds");
    assert_eq!(used(&[json!({"type": "session", "id": "1"}).to_string(), undated], 99), at(99), "nothing tells");
    // Far from the end, as far as that is read: 64 KiB, 512 KiB, 4 MiB.
    for len in [1, 5_000, 65_300, 70_000, 600_000, 4_194_304 - 20_000] {
        for torn in ["", "{\"type\":\"message\",\"timest"] {
            let lines = [head.clone(), message("1", 30, &"y".repeat(10_000)), filler(len), torn.to_owned()];
            assert_eq!(used(&lines, 99), at(30), "{len}");
        }
    }
    // Too far: then the file's own time, for all lists.
    assert_eq!(used(&[head.clone(), message("1", 30, "x"), filler(4_194_304)], 99), at(99));
    // To the byte: a line of its own that begins there, and one that begins a byte before.
    let line = message("1", 30, "x");
    let tail = |extra: usize| {
        let rest = 4_194_304 - (line.len() + 1) + extra;
        let empty = filler(0).len() + 1;
        [head.clone(), filler(100), line.clone(), filler(rest - empty)]
    };
    assert_eq!(used(&tail(0), 99), at(30));
    assert_eq!(used(&tail(1), 99), at(99));
}

// G4: as no session was used after its file changed, few files are read to find the newest.
#[test]
fn g04_few_files_are_read() {
    let storage = MemorySessionStorage::new();
    let dir = Path::new("/s/p");
    // Larger than what is read of a beginning: the end is asked for too.
    let filler = json!({"type": "custom", "id": "c", "data": "x".repeat(70_000)}).to_string();
    let put = |id: u64, used: u64, changed: u64| {
        let lines = [header(&id.to_string(), 3, Path::new("/p"), 0), filler.clone(), message("1", used, "x")];
        storage.put(dir.join(format!("x_{id:03}.jsonl")), lines.join("\n") + "\n", at(changed));
    };
    for id in 0..100 {
        put(id, 1000 + id, 1000 + id);
    }
    let most_recent = || {
        let watched = Watched::new(storage.clone());
        let asked = Arc::clone(&watched.asked);
        let newest = SessionFinder::new().storage(watched).most_recent(dir).unwrap();
        let name = newest.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, asked[0].load(Ordering::Relaxed), asked[1].load(Ordering::Relaxed))
    };
    // Its beginning, and its whole text for the end.
    assert_eq!(most_recent(), ("x_099".into(), 1, 1));
    // Three that were renamed by another program since: they and the one that was used last.
    for id in [10, 20, 30] {
        put(id, 1000 + id, 5000 + id);
    }
    assert_eq!(most_recent(), ("x_099".into(), 4, 4));
    // Of sessions that were used in the same moment, the one whose file changed later; then by name.
    put(1, 1099, 4000);
    assert_eq!(most_recent().0, "x_001");
    put(2, 1099, 4000);
    assert_eq!(most_recent().0, "x_002");
}

fn user(content: Value) -> String {
    json!({"type": "message", "id": "m", "timestamp": iso(1), "message": {"role": "user", "content": content}})
        .to_string()
}

// G15: the first thing that says something, of the title, the user, the task, a custom message.
#[test]
fn g15_blank_texts_are_passed_over() {
    let head = |title: Value| {
        json!({"type": "session", "id": "1", "timestamp": iso(0), "cwd": "/p", "title": title}).to_string()
    };
    let init =
        |task: &str| json!({"type": "session_init", "id": "i", "systemPrompt": "You are", "task": task}).to_string();
    let custom = |content: Value| {
        json!({"type": "custom_message", "id": "c", "customType": "t", "content": content}).to_string()
    };
    let assistant =
        json!({"type": "message", "id": "a", "message": {"role": "assistant", "content": "an answer"}}).to_string();
    let said = |lines: &[String]| {
        let info = told(lines, 9);
        info.title.unwrap_or(info.first_message)
    };
    let none = || head(Value::Null);
    for blank in ["", " ", "\n\t", "\u{feff}\u{3000}", "\u{1}\u{7f}"] {
        assert_eq!(said(&[head(json!(blank)), user(json!("question"))]), "question", "{blank:?}");
        assert_eq!(said(&[none(), user(json!(blank)), user(json!("second"))]), "second", "{blank:?}");
        assert_eq!(said(&[none(), init(blank), custom(json!(blank)), custom(json!("later"))]), "later", "{blank:?}");
        let compaction = json!({"type": "compaction", "id": "k", "shortSummary": blank}).to_string();
        assert_eq!(told(&[none(), compaction], 9).title, None, "{blank:?}");
    }
    assert_eq!(said(&[none(), init("fix the till"), assistant.clone()]), "fix the till");
    assert_eq!(said(&[none(), init("fix the till"), user(json!("question"))]), "question");
    assert_eq!(said(&[none(), custom(json!("of an extension")), init("a task")]), "a task");
    assert_eq!(said(&[none(), custom(json!([{"type": "image"}, {"type": "text", "text": "of one"}]))]), "of one");
    assert_eq!(said(&[none(), custom(json!("of an extension")), user(json!("question"))]), "question");
    assert_eq!(said(&[none(), assistant]), "");
}

// G11: the first text of a user, where the beginning of the file has none.
#[test]
fn g11_the_first_text_is_read_on_to() {
    let head = header("1", 3, Path::new("/p"), 0);
    let image = |len: usize| json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(len)});
    let said = |lines: &[String]| told(lines, 9).first_message;
    // Over 4 KB, and over the 64 KiB that a header is looked for in.
    for len in [5_000, 60_000] {
        assert_eq!(said(&[head.clone(), user(json!("é".repeat(len)))]), "é".repeat(len.min(32 << 10)));
    }
    for len in [5_000, 70_000, 2_000_000] {
        let with_text = user(json!([image(len), {"type": "text", "text": "what is this?"}]));
        assert_eq!(said(&[head.clone(), with_text]), "what is this?", "{len}");
        let alone = user(json!([image(len)]));
        assert_eq!(said(&[head.clone(), alone, user(json!("and now?"))]), "and now?", "{len}");
        let init = json!({"type": "session_init", "id": "i", "systemPrompt": "x".repeat(len), "task": "a task"});
        assert_eq!(said(&[head.clone(), init.to_string(), user(json!("fix the till"))]), "fix the till", "{len}");
        assert_eq!(said(&[head.clone(), init.to_string()]), "a task", "{len}");
    }
}

// G1: what a damaged line still holds counts in lists as it does when the session is opened: the header,
// the first message, the last one.
#[test]
fn g01_lines_that_ran_together() {
    let head = header("1", 3, Path::new("/p"), 0);
    let first = message("00000001", 10, "the question");
    let last = message("00000002", 30, "the last");
    let torn = |line: &str, by: usize| line[..line.len() - by].to_owned();
    let filler = json!({"type": "custom", "id": "c", "data": "x".repeat(70_000)}).to_string();
    for by in [2, 25, 60] {
        for filler in [None, Some(&filler)] {
            let mut lines = vec![torn(&head, by) + &head, torn(&first, by) + &first];
            lines.extend(filler.cloned());
            lines.push(torn(&last, by) + &last);
            let info = told(&lines, 99);
            assert_eq!((info.id.as_str(), info.cwd.as_str(), info.message_count), ("1", "/p", 2), "{by}");
            assert_eq!((info.first_message.as_str(), info.used), ("the question", at(30)), "{by}");
        }
    }
    // And the one to go on with is found by its id.
    let home = Home::new();
    let cwd = home.project("work");
    let head = header("abc1", 3, &cwd, 0);
    let path = home
        .file(&format!("{}/x_zz.jsonl", home.absolute_name("work")), &(torn(&head, 20) + &head + "\n" + &first + "\n"));
    assert_eq!(home.options().finder().by_prefix("abc1").unwrap(), [path]);
    assert_eq!(home.options().continue_recent(&cwd).unwrap().session_id(), "abc1");
}

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

// G4: the order of every list, and the session to go on with, do not change by bookkeeping.
#[test]
fn g04_orders_stay_over_random_bookkeeping() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let home = Home::new();
        let count = 2 + random.below(4);
        let mut used: Vec<u64> = (0..count).map(|nth| 10 + nth * 7).collect();
        for nth in (1..used.len()).rev() {
            used.swap(nth, random.below(nth as u64 + 1) as usize);
        }
        let mut sessions: Vec<(u64, String, PathBuf)> = Vec::new();
        for (nth, &used) in used.iter().enumerate() {
            let id = format!("{nth}{}", ["a", "b", "c"][random.below(3) as usize]);
            let version = 1 + random.below(3) as u32;
            sessions.push((used, id.clone(), put(&home, &id, version, used)));
        }
        sessions.sort_unstable();
        let want: Vec<String> = sessions.iter().rev().map(|(_, id, _)| id.clone()).collect();
        for step in 0..8 {
            let (_, id, path) = &sessions[random.below(count) as usize];
            let mut session: SessionManager = home.options().open(path).unwrap();
            let first = session.entries().next().unwrap().id().unwrap().into_owned();
            let what = random.below(6);
            match what {
                0 => {}
                1 => assert!(session.set_session_name(&format!("name {step}"), TitleSource::User).unwrap()),
                2 => drop(session.append_label_change(&first, Some("label")).unwrap()),
                3 => drop(session.append_label_change(&first, None).unwrap()),
                4 => drop(session.append_thinking_level_change(Some("high")).unwrap()),
                _ => session.rewrite_entries(&[]).unwrap(),
            }
            drop(session);
            for order in orders(&home) {
                assert_eq!(order, want, "seed {seed}, step {step}, {what} of {id}");
            }
        }
        assert_eq!(home.options().continue_recent(home.project("work")).unwrap().session_id(), want[0]);
    }
}
