//! The tree, and what is read of a session after appends.

use super::common::{ASSISTANT, Dir, USER, file, ids, json, leaf, sequence_b, text};
use leaflog::{
    Compaction, CustomMessage, EntryKind, ErrorCode, Leaf, ManagerOptions, Role, SessionManager, SessionView,
};
use std::sync::atomic::{AtomicU64, Ordering};

fn parent(manager: &SessionManager, id: &str) -> Option<String> {
    let text = manager.entry(id).unwrap().text().unwrap();
    text.json().get_str("parentId").map(|id| id.into_owned())
}

// R18: one entry, child of the leaf, which becomes the leaf.
#[test]
fn r18_appends_are_children_of_the_leaf() {
    let mut m = SessionManager::in_memory("/home/ada").unwrap();
    assert_eq!(leaf(&m), None);
    let a = m.append_message(USER).unwrap();
    assert_eq!((leaf(&m), parent(&m, &a)), (Some(a.clone()), None));
    let b = m.append_thinking_level_change(None).unwrap();
    assert_eq!((leaf(&m), parent(&m, &b)), (Some(b.clone()), Some(a.clone())));
    let c = m.append_label_change(&a, Some("x")).unwrap();
    assert_eq!((leaf(&m), parent(&m, &c)), (Some(c.clone()), Some(b.clone())));
    assert_eq!(ids(&m), [a, b, c]);
}

/// An assistant's message with what belongs to a live connection.
const LIVE: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"s"},{"type":"text","text":"Hi","thinkingSignature":"kept"}],"providerPayload":{"type":"openaiResponsesHistory","items":[1]},"model":"m"}"#;
const AFTERWARDS: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"Hi","thinkingSignature":"kept"}],"model":"m"}"#;

fn shown(manager: &SessionManager) -> String {
    manager.context(Leaf::Last).unwrap().messages().map(|message| message.text().into_owned()).collect()
}

// Part C, load-time view: this process sees the payload it appended until it is asked to drop it;
// the file keeps it, and a load never shows it.
#[test]
fn replay_metadata_is_dropped_from_what_is_shown() {
    let dir = Dir::new();
    let mut m = dir.create();
    let user = r#"{"role":"user","content":"x","providerPayload":{"type":"openaiResponsesHistory","items":[2]}}"#;
    let other = r#"{"role":"assistant","content":[],"providerPayload":{"type":"another","items":[3]}}"#;
    assert!(!m.sanitize_loaded_openai_responses_replay_metadata().unwrap());
    m.append_message(user).unwrap();
    m.append_message(other).unwrap();
    assert!(!m.sanitize_loaded_openai_responses_replay_metadata().unwrap());
    m.append_message(LIVE).unwrap();
    assert_eq!(shown(&m), [user, other, LIVE].concat());
    let file_text = text(&m);
    assert!(m.sanitize_loaded_openai_responses_replay_metadata().unwrap());
    assert!(!m.sanitize_loaded_openai_responses_replay_metadata().unwrap());
    assert_eq!(shown(&m), [user, other, AFTERWARDS].concat());
    // No rewrite for that, and none that loses it.
    m.ensure_on_disk().unwrap();
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(text(&m), file_text);
    let mut loaded = dir.options().open(file(&m)).unwrap();
    assert_eq!(shown(&loaded), [user, other, AFTERWARDS].concat());
    assert!(!loaded.sanitize_loaded_openai_responses_replay_metadata().unwrap());
    // A copy shows what its source showed.
    m.append_message(LIVE).unwrap();
    m.fork().unwrap();
    assert_eq!(shown(&m), [user, other, AFTERWARDS, LIVE].concat());
}

// R4: eight lowercase hex digits.
#[test]
fn r4_ids_of_entries() {
    let mut m = SessionManager::in_memory("/home/ada").unwrap();
    for _ in 0..100 {
        let id = m.append_message(USER).unwrap();
        assert!(id.len() == 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{id}");
    }
    let mut all = ids(&m);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 100);
    assert_eq!(m.session_id().len(), 16);
}

/// The same entry id again and again.
struct Stuck(AtomicU64);

impl leaflog::Generator for Stuck {
    fn now_ms(&self) -> i64 {
        0
    }

    fn entry_id(&self) -> u32 {
        0xdead_beef
    }

    fn session_id(&self) -> String {
        format!("{:016x}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

// R4: ids in use are not used again; after 100 collisions a session id is.
#[test]
fn r4_collisions() {
    let mut m = ManagerOptions::new().generator(Stuck(AtomicU64::new(0))).in_memory("/home/ada").unwrap();
    assert_eq!(m.session_id(), "0000000000000001");
    assert_eq!(m.append_message(USER).unwrap(), "deadbeef");
    assert_eq!(m.append_message(USER).unwrap(), "0000000000000002");
    assert_eq!(m.append_message(USER).unwrap(), "0000000000000003");
    let parents: Vec<_> = m.entries().map(|entry| entry.parent().and_then(|parent| parent.id())).collect();
    assert_eq!(parents, [None, Some("deadbeef".into()), Some("0000000000000002".into())]);
}

// R19: branch only moves the leaf.
#[test]
fn r19_branch() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    m.branch("00000001").unwrap();
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));
    assert_eq!((text(&m), m.entries().count()), (before, 2));

    let error = m.branch("nope").unwrap_err();
    assert_eq!(error.code(), ErrorCode::EntryNotFound);
    assert!(error.to_string().ends_with("Entry nope not found"), "{error}");
    assert_eq!(leaf(&m).as_deref(), Some("00000001"));

    let c = m.append_message(USER).unwrap();
    assert_eq!(parent(&m, &c).as_deref(), Some("00000001"));
    let children: Vec<_> = m.entry("00000001").unwrap().children().map(|child| child.id().unwrap()).collect();
    assert_eq!(children, ["00000002", "00000003"]);
    // R22: the order of insertion.
    assert_eq!(ids(&m), ["00000001", "00000002", "00000003"]);
}

// R20: the next append is a root.
#[test]
fn r20_reset_leaf() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.reset_leaf();
    assert_eq!(leaf(&m), None);
    assert_eq!(m.context(Leaf::Last).unwrap().messages().len(), 0);
    let b = m.append_message(USER).unwrap();
    assert_eq!(parent(&m, &b), None);
    assert_eq!(m.roots().len(), 2);
    assert_eq!(m.context(Leaf::Last).unwrap().messages().len(), 1);
    assert!(text(&m).contains(r#""id":"00000002","parentId":null"#));
}

// R21, R9.
#[test]
fn r21_branch_with_summary() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let error = m.branch_with_summary(Some("nope"), "s", None, None).unwrap_err();
    assert!(error.to_string().ends_with("Entry nope not found"), "{error}");
    assert_eq!((leaf(&m).as_deref(), m.entries().count()), (Some("00000002"), 2));
    let c = m.branch_with_summary(Some("00000001"), "What was tried", None, None).unwrap();
    assert_eq!((leaf(&m), parent(&m, &c).as_deref()), (Some(c.clone()), Some("00000001")));
    assert_eq!(m.entry(&c).unwrap().kind(), EntryKind::BranchSummary);
    let root = m.branch_with_summary(None, "All of it", None, None).unwrap();
    assert_eq!(parent(&m, &root), None);
    assert_eq!(m.context(Leaf::Last).unwrap().messages().len(), 1);
}

// Part C, R9: labels; an unknown target is an error.
#[test]
fn labels() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    let error = m.append_label_change("nope", Some("x")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::EntryNotFound);
    assert!(error.to_string().ends_with("Entry nope not found"), "{error}");
    assert_eq!(m.entries().count(), 2);
    m.append_label_change("00000001", Some("first")).unwrap();
    m.append_label_change("00000002", Some("second")).unwrap();
    m.append_label_change("00000001", Some("changed")).unwrap();
    assert_eq!(m.labels_to_json(), r#"[{"id":"00000001","label":"changed"},{"id":"00000002","label":"second"}]"#);
    // A label entry can have a label too.
    m.append_label_change("00000003", Some("third")).unwrap();
    m.append_label_change("00000002", None).unwrap();
    m.append_label_change("00000003", Some("")).unwrap();
    let left = r#"[{"id":"00000001","label":"changed"}]"#;
    assert_eq!(m.labels_to_json(), left);
    assert_eq!(m.entry("00000001").unwrap().label().as_deref(), Some("changed"));
    let reopened = SessionView::open(file(&m)).unwrap();
    assert_eq!(reopened.labels_to_json(), left);
}

const PRICED: &str = r#"{"role":"assistant","content":[],"usage":{"input":100,"output":20,"cacheRead":3,"cacheWrite":4,"premiumRequests":1,"cost":{"input":1,"total":0.25}}}"#;
const TASK: &str = r#"{"role":"toolResult","toolName":"task","content":[],"details":{"usage":{"input":1000,"output":200,"cost":{"total":0.5}}}}"#;

// The sum is that of the file in its order, to the last bit, also of lines that others wrote: a sum of
// floats depends on its order.
#[test]
fn usage_is_summed_in_the_order_of_the_file() {
    let dir = Dir::new();
    let of =
        |number: &str| format!(r#"{{"role":"assistant","usage":{{"input":{number},"cost":{{"total":{number}}}}}}}"#);
    let mut m = dir.create();
    m.append_message(&of("1e16")).unwrap();
    let mut other = dir.options().generator(sequence_b()).open(file(&m)).unwrap();
    other.append_message(&of("1")).unwrap();
    other.append_message(&of("1")).unwrap();
    m.append_message(USER).unwrap();
    // Each 1 is lost in rounding; together they would not be.
    for usage in [m.usage(), SessionView::open(file(&m)).unwrap().usage()] {
        assert_eq!((usage.input, usage.cost), (1e16, 1e16));
    }
}

// Part C: sums over all branches; missing numbers count 0; other tools do not count.
#[test]
fn usage() {
    let dir = Dir::new();
    let mut m = dir.create();
    assert_eq!(m.usage(), leaflog::Usage::default());
    m.append_message(PRICED).unwrap();
    m.append_message(TASK).unwrap();
    m.branch("00000001").unwrap();
    m.append_message(PRICED).unwrap();
    m.append_message(&TASK.replace("\"task\"", "\"bash\"")).unwrap();
    m.append_message(r#"{"role":"assistant","usage":null}"#).unwrap();
    m.append_message(r#"{"role":"user","usage":{"input":9}}"#).unwrap();
    let want = leaflog::Usage {
        input: 1200.0,
        output: 240.0,
        cache_read: 6.0,
        cache_write: 8.0,
        premium_requests: 2.0,
        cost: 1.0,
    };
    assert_eq!(m.usage(), want);
    assert_eq!(SessionView::open(file(&m)).unwrap().usage(), want);
    m.new_session(None).unwrap();
    assert_eq!(m.usage(), leaflog::Usage::default());
}

const REPLAY: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"}],"providerPayload":{"type":"openaiResponsesHistory","items":[1]}}"#;
const REPLAYED: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}"#;

fn only_message(manager: &SessionManager) -> String {
    manager.context(Leaf::Last).unwrap().messages().next().unwrap().text().into_owned()
}

// Part C, load-time view: what this process appended keeps its payload, what was loaded loses it,
// and nothing is written for that.
#[test]
fn provider_payloads() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(REPLAY).unwrap();
    assert_eq!(only_message(&m), REPLAY);
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(only_message(&m), REPLAY);
    let before = text(&m);
    assert!(before.contains(REPLAY));

    let loaded = dir.options().open(file(&m)).unwrap();
    assert_eq!(only_message(&loaded), REPLAYED);
    assert_eq!(text(&m), before);

    // A copy of the session has this process's entries still.
    m.fork().unwrap();
    assert_eq!(only_message(&m), REPLAY);
    m.create_branched_session("00000001").unwrap();
    assert_eq!(only_message(&m), REPLAY);
    let from = dir.options().generator(sequence_b()).fork_from(file(&m), "/home/ada/b").unwrap();
    assert_eq!(only_message(&from), REPLAYED);

    // Another role keeps its own.
    let user = REPLAY.replace("assistant", "user");
    m.append_message(&user).unwrap();
    let loaded = dir.options().open(file(&m)).unwrap();
    let messages: Vec<String> =
        loaded.context(Leaf::Last).unwrap().messages().map(|message| message.text().into_owned()).collect();
    assert_eq!(messages, [REPLAYED, &user]);
}

// R25-R27: every append shows in the context at once.
#[test]
fn context_after_appends() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.append_thinking_level_change(Some("high")).unwrap();
    m.append_service_tier_change(Some("flex")).unwrap();
    m.append_model_change("openai/gpt", None).unwrap();
    m.append_model_change("openai/mini", Some("smol")).unwrap();
    m.append_mode_change("plan", Some("{\"a\":1}")).unwrap();
    m.append_context_change("prod", "acme", "ns").unwrap();
    m.append_mcp_tool_selection(&["one"]).unwrap();
    m.append_ttsr_injection(&["r1", "r2"]).unwrap();
    m.append_ttsr_injection(&["r2", "r3"]).unwrap();
    m.append_custom_entry("state", Some("1")).unwrap();
    m.append_custom_message(&CustomMessage {
        custom_type: "note",
        content: "\"N\"",
        display: true,
        ..CustomMessage::default()
    })
    .unwrap();
    let context = m.context(Leaf::Last).unwrap();
    assert_eq!(context.thinking_level, "high");
    assert_eq!(context.service_tier.as_deref(), Some("flex"));
    assert_eq!(
        context.models,
        [("default".to_owned(), "openai/gpt".to_owned()), ("smol".to_owned(), "openai/mini".to_owned())]
    );
    assert_eq!(context.mode, "plan");
    assert_eq!(context.active_context_name.as_deref(), Some("prod"));
    assert_eq!(context.active_context_tenant.as_deref(), Some("acme"));
    assert_eq!(context.selected_mcp_tool_names, ["one"]);
    assert!(context.has_persisted_mcp_tool_selection);
    assert_eq!(context.injected_ttsr_rules, ["r1", "r2", "r3"]);
    let messages: Vec<_> = context.messages().map(|message| json(message.text())).collect();
    assert_eq!(
        messages,
        [
            json(USER),
            json(ASSISTANT),
            json(
                r#"{"role":"custom","customType":"note","content":"N","display":true,"attribution":"agent","timestamp":1771237230000}"#
            )
        ]
    );

    m.append_compaction(&Compaction {
        summary: "S",
        first_kept_entry_id: "00000002",
        tokens_before: 7,
        ..Compaction::default()
    })
    .unwrap();
    m.branch("0000000e").unwrap();
    let messages: Vec<_> =
        m.context(Leaf::Last).unwrap().messages().map(|message| json(message.text())["role"].clone()).collect();
    assert_eq!(messages, ["compactionSummary", "assistant", "custom"]);
    // The same from the file.
    let loaded = SessionView::open(file(&m)).unwrap();
    assert_eq!(loaded.context(Leaf::Last).unwrap(), m.context(Leaf::Last).unwrap());
}

// What is read of an entry does not depend on whether it is on disk.
#[test]
fn entries_in_memory_and_on_disk() {
    let dir = Dir::new();
    let mut m = dir.create();
    let a = m.append_message(USER).unwrap();
    assert!(!file(&m).exists());
    let before = m.entry(&a).unwrap();
    assert_eq!((before.kind(), before.role()), (EntryKind::Message, Some(Role::User)));
    assert_eq!(before.time_ms(), Some(1_771_237_230_000));
    let text_before = before.text().unwrap().json().text().into_owned();
    m.append_message(ASSISTANT).unwrap();
    let after = m.entry(&a).unwrap();
    assert_eq!((after.kind(), after.role(), after.line()), (EntryKind::Message, Some(Role::User), 2));
    assert_eq!(after.text().unwrap().json().text(), text_before);
    assert_eq!(m.entry("00000002").unwrap().line(), 3);
    m.append_message(USER).unwrap();
    assert_eq!(m.entry("00000003").unwrap().line(), 4);
    assert_eq!(m.entry("00000003").unwrap().position(), 2);
    assert!(m.entry("nope").is_none());
}

// Part C: the role of the last model change on the path; `default` when it says none.
#[test]
fn last_model_change_role() {
    let mut m = SessionManager::in_memory("/home/ada").unwrap();
    assert_eq!(m.last_model_change_role().unwrap(), None);
    let a = m.append_message(USER).unwrap();
    m.append_model_change("a/b", Some("smol")).unwrap();
    m.append_message(ASSISTANT).unwrap();
    assert_eq!(m.last_model_change_role().unwrap().as_deref(), Some("smol"));
    m.append_model_change("a/b", None).unwrap();
    assert_eq!(m.last_model_change_role().unwrap().as_deref(), Some("default"));
    // R8: one without a model changes nothing.
    m.append_entry(r#"{"type":"model_change","role":"slow"}"#).unwrap();
    m.append_entry(r#"{"type":"model_change","model":"","role":"slow"}"#).unwrap();
    assert_eq!(m.last_model_change_role().unwrap().as_deref(), Some("default"));
    m.branch(&a).unwrap();
    assert_eq!(m.last_model_change_role().unwrap(), None);
}
