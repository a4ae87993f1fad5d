//! The bytes written for every entry type and every form of header, against lines written by hand
//! (part C, "Key order written").

use super::common::{ASSISTANT, Dir, NOW, USER, file, lines, read, sequence_b, text};
use leaflog::{Compaction, CustomMessage, ErrorCode, SessionInit, TitleSource};

// R5-R9, part C.
#[test]
fn every_entry_type() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(r#"{"role":"user","content":"Hello","timestamp":1771237230000}"#).unwrap();
    m.append_message(ASSISTANT).unwrap();
    m.append_thinking_level_change(Some("high")).unwrap();
    m.append_service_tier_change(Some("priority")).unwrap();
    m.append_mode_change("plan", Some(r#"{"planFile":"/tmp/plan.md"}"#)).unwrap();
    m.append_model_change("openai/gpt-4o", Some("smol")).unwrap();
    m.append_session_init(&SessionInit {
        system_prompt: "Be brief.",
        task: "Look",
        tools: &["read", "edit"],
        output_schema: Some(r#"{"type":"object"}"#),
    })
    .unwrap();
    m.append_compaction(&Compaction {
        summary: "Long",
        short_summary: Some("short"),
        first_kept_entry_id: "00000002",
        tokens_before: 42_000,
        details: Some(r#"{"readFiles":["src/a.ts"]}"#),
        from_extension: Some(false),
        preserve_data: Some(r#"{"hookState":true}"#),
    })
    .unwrap();
    m.append_mcp_tool_selection(&["mcp_one", "mcp_two"]).unwrap();
    m.append_ttsr_injection(&["ruleA"]).unwrap();
    m.append_label_change("00000001", Some("checkpoint")).unwrap();
    m.branch_with_summary(Some("00000002"), "Abandoned", Some(r#"{"note":1}"#), Some(true)).unwrap();
    m.append_context_change("prod", "acme", "default").unwrap();
    m.append_custom_entry("my-extension", Some(r#"{"state":1}"#)).unwrap();
    m.append_custom_message(&CustomMessage {
        custom_type: "my-extension",
        content: r#"[{"type":"text","text":"Injected"}]"#,
        display: true,
        details: Some(r#"{"debug":false}"#),
        attribution: Some("user"),
    })
    .unwrap();
    let want = lines(&[
        r#"{"type":"session","version":3,"id":"a000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#,
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user","content":"Hello","timestamp":1771237230000}}"#,
        r#"{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}"#,
        r#"{"type":"thinking_level_change","id":"00000003","parentId":"00000002","timestamp":"2026-02-16T10:20:30.000Z","thinkingLevel":"high"}"#,
        r#"{"type":"service_tier_change","id":"00000004","parentId":"00000003","timestamp":"2026-02-16T10:20:30.000Z","serviceTier":"priority"}"#,
        r#"{"type":"mode_change","id":"00000005","parentId":"00000004","timestamp":"2026-02-16T10:20:30.000Z","mode":"plan","data":{"planFile":"/tmp/plan.md"}}"#,
        r#"{"type":"model_change","id":"00000006","parentId":"00000005","timestamp":"2026-02-16T10:20:30.000Z","model":"openai/gpt-4o","role":"smol"}"#,
        r#"{"type":"session_init","id":"00000007","parentId":"00000006","timestamp":"2026-02-16T10:20:30.000Z","systemPrompt":"Be brief.","task":"Look","tools":["read","edit"],"outputSchema":{"type":"object"}}"#,
        r#"{"type":"compaction","id":"00000008","parentId":"00000007","timestamp":"2026-02-16T10:20:30.000Z","summary":"Long","shortSummary":"short","firstKeptEntryId":"00000002","tokensBefore":42000,"details":{"readFiles":["src/a.ts"]},"fromExtension":false,"preserveData":{"hookState":true}}"#,
        r#"{"type":"mcp_tool_selection","id":"00000009","parentId":"00000008","timestamp":"2026-02-16T10:20:30.000Z","selectedToolNames":["mcp_one","mcp_two"]}"#,
        r#"{"type":"ttsr_injection","id":"0000000a","parentId":"00000009","timestamp":"2026-02-16T10:20:30.000Z","injectedRules":["ruleA"]}"#,
        r#"{"type":"label","id":"0000000b","parentId":"0000000a","timestamp":"2026-02-16T10:20:30.000Z","targetId":"00000001","label":"checkpoint"}"#,
        r#"{"type":"branch_summary","id":"0000000c","parentId":"00000002","timestamp":"2026-02-16T10:20:30.000Z","fromId":"00000002","summary":"Abandoned","details":{"note":1},"fromExtension":true}"#,
        r#"{"type":"context_change","id":"0000000d","parentId":"0000000c","timestamp":"2026-02-16T10:20:30.000Z","contextName":"prod","tenant":"acme","namespace":"default"}"#,
        r#"{"type":"custom","customType":"my-extension","data":{"state":1},"id":"0000000e","parentId":"0000000d","timestamp":"2026-02-16T10:20:30.000Z"}"#,
        r#"{"type":"custom_message","customType":"my-extension","content":[{"type":"text","text":"Injected"}],"display":true,"details":{"debug":false},"attribution":"user","id":"0000000f","parentId":"0000000e","timestamp":"2026-02-16T10:20:30.000Z"}"#,
    ]);
    assert_eq!(text(&m), want);
    // The first write and a rewrite write the same.
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(text(&m), want);
}

// Part C: absent fields vanish; null is kept in thinking_level_change and service_tier_change; R9
// a label without one, fromId of a branch from before the first entry.
#[test]
fn absent_fields() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.append_thinking_level_change(None).unwrap();
    m.append_service_tier_change(None).unwrap();
    m.append_mode_change("none", None).unwrap();
    m.append_model_change("a/b", None).unwrap();
    m.append_session_init(&SessionInit { system_prompt: "", task: "", tools: &[], output_schema: None }).unwrap();
    m.append_compaction(&Compaction {
        summary: "s",
        first_kept_entry_id: "00000001",
        tokens_before: 0,
        ..Compaction::default()
    })
    .unwrap();
    m.append_mcp_tool_selection(&[] as &[&str]).unwrap();
    m.append_ttsr_injection(&[] as &[&str]).unwrap();
    m.append_label_change("00000001", None).unwrap();
    m.append_label_change("00000001", Some("")).unwrap();
    m.branch_with_summary(None, "", None, None).unwrap();
    m.append_custom_entry("x", None).unwrap();
    m.append_custom_message(&CustomMessage { custom_type: "x", content: r#""c""#, ..CustomMessage::default() })
        .unwrap();
    m.append_mode_change("plan", Some("null")).unwrap();
    let written = text(&m);
    let want = [
        r#"{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2026-02-16T10:20:30.000Z","thinkingLevel":null}"#,
        r#"{"type":"service_tier_change","id":"00000003","parentId":"00000002","timestamp":"2026-02-16T10:20:30.000Z","serviceTier":null}"#,
        r#"{"type":"mode_change","id":"00000004","parentId":"00000003","timestamp":"2026-02-16T10:20:30.000Z","mode":"none"}"#,
        r#"{"type":"model_change","id":"00000005","parentId":"00000004","timestamp":"2026-02-16T10:20:30.000Z","model":"a/b"}"#,
        r#"{"type":"session_init","id":"00000006","parentId":"00000005","timestamp":"2026-02-16T10:20:30.000Z","systemPrompt":"","task":"","tools":[]}"#,
        r#"{"type":"compaction","id":"00000007","parentId":"00000006","timestamp":"2026-02-16T10:20:30.000Z","summary":"s","firstKeptEntryId":"00000001","tokensBefore":0}"#,
        r#"{"type":"mcp_tool_selection","id":"00000008","parentId":"00000007","timestamp":"2026-02-16T10:20:30.000Z","selectedToolNames":[]}"#,
        r#"{"type":"ttsr_injection","id":"00000009","parentId":"00000008","timestamp":"2026-02-16T10:20:30.000Z","injectedRules":[]}"#,
        r#"{"type":"label","id":"0000000a","parentId":"00000009","timestamp":"2026-02-16T10:20:30.000Z","targetId":"00000001"}"#,
        r#"{"type":"label","id":"0000000b","parentId":"0000000a","timestamp":"2026-02-16T10:20:30.000Z","targetId":"00000001","label":""}"#,
        r#"{"type":"branch_summary","id":"0000000c","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","fromId":"root","summary":""}"#,
        r#"{"type":"custom","customType":"x","id":"0000000d","parentId":"0000000c","timestamp":"2026-02-16T10:20:30.000Z"}"#,
        r#"{"type":"custom_message","customType":"x","content":"c","display":false,"attribution":"agent","id":"0000000e","parentId":"0000000d","timestamp":"2026-02-16T10:20:30.000Z"}"#,
        r#"{"type":"mode_change","id":"0000000f","parentId":"0000000e","timestamp":"2026-02-16T10:20:30.000Z","mode":"plan","data":null}"#,
    ];
    let written: Vec<&str> = written.lines().skip(2).collect();
    assert_eq!(written, want);
}

// R45: strings as JSON.stringify spells them; JSON that is handed in stays as it is spelled.
#[test]
fn strings_and_numbers() {
    let dir = Dir::new();
    let mut m = dir.options().create("/home/ada/a \"b\"\\c").unwrap();
    let odd = "\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}\u{85}\u{2028}\u{2029}é漢😀";
    // Checked with JSON.stringify in Node.
    let spelled = "\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\u{85}\u{2028}\u{2029}é漢😀";
    let message = r#"{ "role":"assistant", "n":[1e2,-0,1E400,123456789012345678901234567890],"s":"\ud83d \u0041\/","role":"assistant" }"#;
    m.append_message(message).unwrap();
    m.append_model_change(odd, Some(odd)).unwrap();
    m.append_ttsr_injection(&[odd, ""]).unwrap();
    m.append_label_change("00000001", Some(odd)).unwrap();
    let want = format!(
        "{}\n{}{message}}}\n{}{spelled}\",\"role\":\"{spelled}\"}}\n{}{spelled}\",\"\"]}}\n{}{spelled}\"}}\n",
        r#"{"type":"session","version":3,"id":"a000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/a \"b\"\\c"}"#,
        r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":"#,
        r#"{"type":"model_change","id":"00000002","parentId":"00000001","timestamp":"2026-02-16T10:20:30.000Z","model":""#,
        r#"{"type":"ttsr_injection","id":"00000003","parentId":"00000002","timestamp":"2026-02-16T10:20:30.000Z","injectedRules":[""#,
        r#"{"type":"label","id":"00000004","parentId":"00000003","timestamp":"2026-02-16T10:20:30.000Z","targetId":"00000001","label":""#,
    );
    assert_eq!(text(&m), want);
    assert_eq!(m.label("00000001").as_deref(), Some(odd));
}

// An entry of any type: id, parent and timestamp are this library's, after the type, or last (C).
#[test]
fn append_entry() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.append_entry(r#"{"z":1,"id":"mine","type":"odd","a":{"id":"inner"},"parentId":null,"timestamp":"x","z":2}"#)
        .unwrap();
    m.append_entry(r#"{"type":"message","message":{"role":"user"}}"#).unwrap();
    m.append_entry(r#"{"type":"custom","customType":"e\ud83d","id":1,"data":{"id":2}}"#).unwrap();
    m.append_entry(r#"{"type":"custom_message","customType":"e","content":"c"}"#).unwrap();
    m.append_entry(r#"{"label":"half \ud83d","targetId":"00000001","type":"label"}"#).unwrap();
    let written = text(&m);
    let written: Vec<&str> = written.lines().skip(2).collect();
    assert_eq!(
        written,
        [
            r#"{"type":"odd","id":"00000002","parentId":"00000001","timestamp":"2026-02-16T10:20:30.000Z","z":1,"a":{"id":"inner"},"z":2}"#,
            r#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"user"}}"#,
            r#"{"type":"custom","customType":"e\ud83d","data":{"id":2},"id":"00000004","parentId":"00000003","timestamp":"2026-02-16T10:20:30.000Z"}"#,
            r#"{"type":"custom_message","customType":"e","content":"c","id":"00000005","parentId":"00000004","timestamp":"2026-02-16T10:20:30.000Z"}"#,
            r#"{"type":"label","id":"00000006","parentId":"00000005","timestamp":"2026-02-16T10:20:30.000Z","label":"half \ud83d","targetId":"00000001"}"#,
        ]
    );
    assert_eq!(m.label("00000001").as_deref(), Some("half \u{fffd}"));
    for nobody in [r#"{"type":"label","targetId":"no","label":"x"}"#, r#"{"type":"label"}"#] {
        assert_eq!(m.append_entry(nobody).unwrap_err().code(), ErrorCode::EntryNotFound, "{nobody}");
    }
    for wrong in [r#"{"type":"session","id":"x"}"#, r#"{"type":1}"#, "{}", "[]", "1", "", r#"{"type":"a"} {}"#] {
        assert_eq!(m.append_entry(wrong).unwrap_err().code(), ErrorCode::InvalidArgument, "{wrong}");
    }
    assert_eq!(m.entries().count(), 6);
}

// What is not JSON, or not what must stand there, changes nothing: no entry, no leaf, no byte.
#[test]
fn invalid_json_is_refused() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    for wrong in ["", "{", "nul", "{}x", "{} {}", "{\"a\":\"\u{1}\"}", "{'a':1}", "[1,]", "01"] {
        let refused = [
            m.append_message(wrong),
            m.append_mode_change("m", Some(wrong)),
            m.append_session_init(&SessionInit { output_schema: Some(wrong), ..SessionInit::default() }),
            m.append_compaction(&Compaction { details: Some(wrong), ..Compaction::default() }),
            m.append_compaction(&Compaction { preserve_data: Some(wrong), ..Compaction::default() }),
            m.append_custom_entry("c", Some(wrong)),
            m.append_custom_message(&CustomMessage { content: wrong, ..CustomMessage::default() }),
            m.append_custom_message(&CustomMessage {
                content: "\"\"",
                details: Some(wrong),
                ..CustomMessage::default()
            }),
            m.branch_with_summary(None, "s", Some(wrong), None),
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().code(), ErrorCode::InvalidArgument, "{wrong}");
        }
    }
    // A message is an object.
    for wrong in ["1", "\"text\"", "[]", "null"] {
        assert_eq!(m.append_message(wrong).unwrap_err().code(), ErrorCode::InvalidArgument);
    }
    assert_eq!(m.entries().count(), 1);
    assert_eq!(m.leaf().unwrap().id().as_deref(), Some("00000001"));
    assert_eq!(text(&m), before);
}

// JSON that is handed in on several lines is one line of the file.
#[test]
fn newlines_between_tokens_are_blanks() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message("{\r\n  \"role\":\"assistant\",\n\t\"content\":\"a\\nb\"\n}").unwrap();
    let written = text(&m);
    assert_eq!(written.lines().count(), 2);
    assert!(written.ends_with("\"message\":{    \"role\":\"assistant\", \t\"content\":\"a\\nb\" }}\n"), "{written}");
}

const HEADER_A1: &str = r#"{"type":"session","version":3,"id":"a000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#;

// Part C: the headers of create and newSession, with all their fields.
#[test]
fn headers_of_create_and_new_session() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.ensure_on_disk().unwrap();
    assert_eq!(text(&m), lines(&[HEADER_A1]));
    assert_eq!(file(&m), dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000001.jsonl"));
    assert_eq!(m.header().json().text(), HEADER_A1);

    let path = m.new_session(Some("/old/\"parent\".jsonl")).unwrap().unwrap();
    assert_eq!(path, dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000002.jsonl"));
    assert_eq!(file(&m), path);
    assert!(m.set_session_name("Cart", TitleSource::Auto).unwrap());
    m.ensure_on_disk().unwrap();
    assert_eq!(
        text(&m),
        lines(&[
            r#"{"type":"session","version":3,"id":"a000000000000002","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop","parentSession":"/old/\"parent\".jsonl","title":"Cart","titleSource":"auto"}"#
        ])
    );
}

// Part C: the headers of forkFrom, fork and a branched session.
#[test]
fn headers_of_copies() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.set_session_name("Cart", TitleSource::User).unwrap();
    let source = file(&m);
    let entry = r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}"#;

    let from = dir.options().generator(sequence_b()).fork_from(&source, "/home/ada/other").unwrap();
    assert_eq!(
        text(&from),
        lines(&[
            r#"{"type":"session","version":3,"id":"b000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/other","parentSession":"a000000000000001","title":"Cart","titleSource":"user"}"#,
            entry,
        ])
    );
    assert_eq!(file(&from), dir.sessions().join("--home-ada-other--/2026-02-16T10-20-30-000Z_b000000000000001.jsonl"));

    let fork = m.fork().unwrap().unwrap();
    assert_eq!(fork.old_session_file, source);
    assert_eq!(fork.new_session_file, dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000002.jsonl"));
    assert_eq!(file(&m), fork.new_session_file);
    assert_eq!(
        text(&m),
        lines(&[
            r#"{"type":"session","version":3,"id":"a000000000000002","title":"Cart","titleSource":"user","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop","parentSession":"a000000000000001"}"#,
            entry,
        ])
    );

    let branched = m.create_branched_session("00000001").unwrap().unwrap();
    let parent = fork.new_session_file.to_str().unwrap();
    assert_eq!(
        read(&branched),
        lines(&[
            &format!(
                r#"{{"type":"session","version":3,"id":"a000000000000003","timestamp":"{NOW}","cwd":"/home/ada/shop","parentSession":"{parent}","title":"Cart","titleSource":"user"}}"#
            ),
            entry,
        ])
    );
}

// Part C: what a session has not, its copies have not.
#[test]
fn headers_of_copies_without_title() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(USER).unwrap();
    m.ensure_on_disk().unwrap();
    let from = dir.options().generator(sequence_b()).fork_from(file(&m), "/home/ada/other").unwrap();
    assert_eq!(
        text(&from).lines().next().unwrap(),
        r#"{"type":"session","version":3,"id":"b000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/other","parentSession":"a000000000000001"}"#
    );
    // An absent parent of a branched session: one that is kept nowhere.
    let mut memory = dir.options().in_memory("/home/ada/shop").unwrap();
    memory.append_message(USER).unwrap();
    memory.create_branched_session("00000001").unwrap();
    assert_eq!(
        memory.header().json().text(),
        r#"{"type":"session","version":3,"id":"a000000000000002","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop"}"#
    );
    m.fork().unwrap().unwrap();
    let header = text(&m).lines().next().unwrap().to_owned();
    assert_eq!(
        header,
        r#"{"type":"session","version":3,"id":"a000000000000002","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada/shop","parentSession":"a000000000000001"}"#
    );
}

// U18, R8: a message has a role; without one nothing is appended.
#[test]
fn u18_a_message_without_a_role() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    for message in ["{}", r#"{"content":"x"}"#, r#"{"role":null}"#, r#"{"role":7}"#, " { } "] {
        let error = m.append_message(message).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{message}");
    }
    assert_eq!((text(&m), m.entries().len()), (before, 1));
    m.append_message(r#"{"role":"something of an extension's own"}"#).unwrap();
}
