//! Entries by position, the plan of a context, and texts that take another's place: what callers that
//! keep objects of their own need.

#![allow(clippy::unwrap_used)]

use leaflog::{ContextItem, ErrorCode, Leaf, ManagerOptions, SessionManager, SessionView, ViewOptions};
use leaflog::{format_time, is_image_data_url, parse_session_entries};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada"}"#;

fn view(lines: &[&str]) -> SessionView {
    ViewOptions::new().read_bytes([&[HEADER], lines].concat().join("\n")).unwrap()
}

/// The line of a message as agents write it.
fn usual(id: &str, parent: &str, message: &str) -> String {
    let time = "2026-02-16T10:21:00.000Z";
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{time}","message":{message}}}"#)
}

// R29: before the session starts its entries stand in no file.
#[test]
fn where_an_entry_stands_before_and_after_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = ManagerOptions::new().agent_dir(dir.path()).create(dir.path()).unwrap();
    let question = session.append_message(r#"{"role":"user","content":"Hello"}"#).unwrap();
    let place =
        |session: &SessionManager| session.entry(&question).map(|entry| (entry.line(), entry.offset())).unwrap();
    assert_eq!(place(&session), (0, 0));
    session.append_message(r#"{"role":"assistant","content":[]}"#).unwrap();
    let text = std::fs::read_to_string(session.session_file().unwrap()).unwrap();
    let header = text.split_inclusive('\n').next().unwrap();
    assert_eq!(place(&session), (2, header.len() as u64));
}

#[test]
fn usual_messages_can_be_made_again_from_the_index() {
    let lines = [
        usual("a1b2c3d4", "null", r#"{"role":"user","content":"\"message\":{}"}"#),
        usual("name", r#""a1b2c3d4""#, r#"{"role":"user","message":1}"#),
        usual("0", r#""gone""#, "{}"),
    ];
    let session = view(&lines.each_ref().map(String::as_str));
    let mut reader = session.reader();
    for (entry, line) in session.entries().zip(&lines) {
        assert!(entry.is_usual_message(), "{line}");
        let message = reader.message(entry.position()).unwrap().unwrap().into_owned();
        let parent = entry.parent_id().map_or("null".to_owned(), |id| format!("\"{id}\""));
        let message = String::from_utf8(message).unwrap();
        assert_eq!(usual(&entry.id().unwrap(), &parent, &message), *line);
        assert_eq!(format_time(entry.time_ms().unwrap()), "2026-02-16T10:21:00.000Z");
    }
}

#[test]
fn entries_with_anything_else_are_not_usual() {
    let message = r#""message":{"role":"user"}"#;
    let time = r#""timestamp":"2026-02-16T10:21:00.000Z""#;
    let lines = [
        // Another order, another key, a key twice, a blank before the message.
        format!(r#"{{"id":"a","type":"message","parentId":null,{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":null,{time},{message},"x":1}}"#),
        format!(r#"{{"type":"message","id":"a","id":"b","parentId":null,{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":null,{time},"message": {{"role":"user"}}}}"#),
        // Escapes, and times, that the index does not keep.
        format!(r#"{{"type":"message","id":"\u0061","parentId":null,{time},{message}}}"#),
        format!(r#"{{"type":"mess\u0061ge","id":"a","parentId":null,{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:21:00Z",{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":null,"timestamp":1,{message}}}"#),
        // What is no id is not spelled as one.
        format!(r#"{{"type":"message","id":1,"parentId":null,{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":"",{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":0,{time},{message}}}"#),
        format!(r#"{{"type":"message","id":"a","parentId":null,{time},"message":null}}"#),
        format!(r#"{{"type":"custom","id":"a","parentId":null,{time},{message}}}"#),
    ];
    for line in &lines {
        let session = view(&[line]);
        let entry = session.entry_at(0).unwrap();
        assert!(!entry.is_usual_message(), "{line}");
        assert_eq!(&*session.reader().entry(0).unwrap(), line.as_bytes());
        let message = session.reader().message(0).unwrap().map(std::borrow::Cow::into_owned);
        let wanted = if line.contains("null}") { &b"null"[..] } else { br#"{"role":"user"}"# };
        assert_eq!(message.as_deref(), Some(wanted), "{line}");
    }
}

#[test]
fn positions_end() {
    let session = view(&[]);
    assert!(session.entry_at(0).is_none());
    assert_eq!(session.reader().entry(0).unwrap_err().code(), ErrorCode::InvalidArgument);
    assert_eq!(session.reader().message(7).unwrap_err().code(), ErrorCode::InvalidArgument);
    session.reader().prefetch(7, 100);
}

// R26, R27: the plan names what the context is made of.
#[test]
fn a_plan_is_the_context_without_its_messages() {
    let lines = [
        usual("a", "null", r#"{"role":"user","content":"1"}"#),
        usual("b", r#""a""#, r#"{"role":"assistant","provider":"p","model":"m"}"#),
        r#"{"type":"custom_message","id":"c","parentId":"b","customType":"x","content":"2","display":true}"#.to_owned(),
        r#"{"type":"compaction","id":"d","parentId":"c","summary":"s","firstKeptEntryId":"b"}"#.to_owned(),
        r#"{"type":"branch_summary","id":"e","parentId":"d","fromId":"a","summary":"t"}"#.to_owned(),
        r#"{"type":"branch_summary","id":"f","parentId":"e","fromId":"a","summary":""}"#.to_owned(),
        r#"{"type":"message","id":"g","parentId":"f","message":"no object"}"#.to_owned(),
    ];
    let session = view(&lines.each_ref().map(String::as_str));
    let plan = session.context_plan(Leaf::Last).unwrap();
    let items =
        [ContextItem::Compaction(3), ContextItem::Message(1), ContextItem::Custom(2), ContextItem::BranchSummary(4)];
    assert_eq!(plan.items, items);
    assert_eq!(plan.state.models, [("default".to_owned(), "p/m".to_owned())]);
    assert_eq!(plan.state.messages().len(), 0);
    assert_eq!(session.context(Leaf::Last).unwrap().messages().len(), 4);
    assert_eq!(session.context_plan(Leaf::Before).unwrap(), leaflog::ContextPlan::default());
    let remote = r#"{"type":"compaction","id":"h","parentId":"g","summary":"s","firstKeptEntryId":"b","preserveData":{"openaiRemoteCompaction":{"provider":"p","replacementHistory":[]}}}"#;
    let session = view(&[&lines.each_ref().map(String::as_str)[..], &[remote]].concat());
    assert_eq!(session.context_plan(Leaf::Last).unwrap().items, [ContextItem::RemoteCompaction(7)]);
}

#[test]
fn texts_take_anothers_place_with_the_next_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada").unwrap();
    session.append_message(r#"{"role":"user","content":"1"}"#).unwrap();
    session.append_message(r#"{"role":"assistant","content":[]}"#).unwrap();
    let path = session.session_file().unwrap().to_owned();
    let before = std::fs::read_to_string(&path).unwrap();
    let line = before.lines().nth(1).unwrap();
    let changed = line.replace("\"1\"", "\"changed\"");
    let revision = session.revision();

    for wrong in [(2, line), (0, r#"{"type":"message","id":"other","parentId":null}"#), (0, "[]")] {
        assert_eq!(session.replace_texts(&[(0, &changed), wrong]).unwrap_err().code(), ErrorCode::InvalidArgument);
    }
    assert_eq!(session.entry_at(0).unwrap().text().unwrap().json().text(), line);

    session.replace_texts(&[(0, &changed)]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert_eq!(session.entry_at(0).unwrap().text().unwrap().json().text(), changed);
    session.rewrite_entries(&[]).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before.replace("\"1\"", "\"changed\""));
    assert_eq!(session.revision(), revision);
}

// R53d: positions are those of one reading.
#[test]
fn a_file_that_was_replaced_is_another_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, format!("{HEADER}\n{}\n", usual("a", "null", "{}"))).unwrap();
    let mut session = SessionManager::open(&path).unwrap();
    let revision = session.revision();
    session.append_message(r#"{"role":"user"}"#).unwrap();
    assert_eq!(session.revision(), revision);
    let new = dir.path().join("new");
    std::fs::copy(&path, &new).unwrap();
    std::fs::rename(&new, &path).unwrap();
    session.append_message(r#"{"role":"user"}"#).unwrap();
    assert_ne!(session.revision(), revision);
    assert_eq!(session.entries().len(), 3);
}

#[test]
fn a_manager_that_was_released_opens_its_file_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, format!("{HEADER}\n{}\n", usual("a", "null", "{}"))).unwrap();
    let mut session = SessionManager::open(&path).unwrap();
    session.close().unwrap();
    session.release();
    assert_eq!(&*session.reader().message(0).unwrap().unwrap(), b"{}");
    // A copy reads the same file: it stays open for it.
    let copy = (*session).clone();
    session.release();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(&*copy.reader().message(0).unwrap().unwrap(), b"{}");
    drop(copy);
    session.release();
    assert_eq!(session.reader().message(0).unwrap_err().code(), ErrorCode::NotFound);
    std::fs::write(&path, "other").unwrap();
    assert_eq!(session.reader().message(0).unwrap_err().code(), ErrorCode::FileChanged);
}

#[test]
fn values_as_they_stand() {
    let old = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/"}"#;
    let entry = r#"{"type":"message","message":{"role":"hookMessage"}}"#;
    let text = format!("{entry}\nno\n42\n{old}\n{entry} tail\n{old}\n");
    let all = format!("[{entry},{old},{entry},{old}]");
    assert_eq!(String::from_utf8(parse_session_entries(text.as_bytes()).unwrap()).unwrap(), all);
    assert_eq!(parse_session_entries("").unwrap(), b"[]");
    // With the header that counts first.
    let raw = ViewOptions::new().read_bytes(text).unwrap().raw_entries().unwrap();
    assert_eq!(String::from_utf8(raw).unwrap(), format!("[{old},{entry},{entry},{old}]"));
}

// R32: what a storage of the caller's own says late is in force as if writing had failed here.
#[test]
fn a_failure_that_is_reported_stays_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = ManagerOptions::new().agent_dir(dir.path()).create("/home/ada").unwrap();
    session.append_message(r#"{"role":"assistant"}"#).unwrap();
    session.report_failure(leaflog::Error::new(ErrorCode::Io, "the network is gone"));
    assert_eq!(session.append_message(r#"{"role":"user"}"#).unwrap_err().message(), "the network is gone");
    assert_eq!(session.persist_status().unsaved, 1);
    session.ensure_on_disk().unwrap();
    assert!(session.persist_status().error.is_none());
}

#[test]
fn image_urls() {
    assert!(is_image_data_url("data:image/png;base64,AAAA"));
    assert!(!is_image_data_url("data:image/svg+xml,<svg/>"));
}

// U6: of lines of one id the last counts, also where an earlier one cost more, or has no usage; through memory, a file, and a file
// that grows.
#[test]
fn u06_usage_with_duplicate_ids() {
    let message = |id: &str, input: u32, output: u32, cost: &str| {
        let usage = format!(r#"{{"input":{input},"output":{output},"cost":{{"total":{cost}}}}}"#);
        usual(id, "null", &format!(r#"{{"role":"assistant","content":[],"usage":{usage}}}"#))
    };
    let lines = [
        message("0000000a", 100, 1, "0.5"),
        message("0000000b", 20, 2, "0.25"),
        message("0000000a", 3, 4, "0.125"),
        message("0000000c", 1000, 8, "4"),
        usual("0000000c", "null", r#"{"role":"user","content":"no usage"}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let sums = |view: &SessionView| (view.usage().input, view.usage().output, view.usage().cost);
    assert_eq!(sums(&view(&lines[..2])), (120.0, 3.0, 0.75));
    assert_eq!(sums(&view(&lines[..3])), (23.0, 6.0, 0.375));
    assert_eq!(sums(&view(&lines[..4])), (1023.0, 14.0, 4.375));
    assert_eq!(sums(&view(&lines)), (23.0, 6.0, 0.375));

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.jsonl");
    std::fs::write(&path, [&[HEADER], &lines[..2], &[""]].concat().join("\n")).unwrap();
    let mut manager = ManagerOptions::new().agent_dir(dir.path()).open(&path).unwrap();
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice([&lines[2..], &[""]].concat().join("\n").as_bytes());
    std::fs::write(&path, text).unwrap();
    manager.append_message(r#"{"role":"user","content":"takes in what was appended"}"#).unwrap();
    assert_eq!(sums(&manager), (23.0, 6.0, 0.375));
    assert_eq!(sums(&SessionView::open(&path).unwrap()), (23.0, 6.0, 0.375));
}
