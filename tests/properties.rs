//! Properties over random input: the scan agrees with `serde_json`, nothing panics, nothing is
//! lost. `serde_json` is asked for spans only; it refuses some of what a session may hold.
#![allow(clippy::unwrap_used)]

use leaflog::{EntryKind, Leaf, Role, SessionView, SkipReason, ViewOptions};
use proptest::prelude::*;
use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn read(bytes: impl Into<Vec<u8>>) -> SessionView {
    ViewOptions::new().read_bytes(bytes).unwrap()
}

/// Choices drawn from random bytes: the same bytes make the same choices, and fewer make less.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next(&mut self, below: usize) -> usize {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                usize::from(byte) % below
            }
            None => 0,
        }
    }

    fn of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.next(choices.len())]
    }

    fn blank(&mut self) -> &'static str {
        self.of(&["", "", "", "", " ", "\t", "  \r"])
    }

    /// `text` as a JSON string, some of its characters escaped.
    fn string(&mut self, text: &str) -> String {
        let mut out = "\"".to_owned();
        for c in text.chars() {
            match (self.next(6), c) {
                (0, _) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write!(out, "\\u{unit:04x}").unwrap()),
                (1, '/') => out.push_str("\\/"),
                (_, '"' | '\\') => out.extend(['\\', c]),
                (_, '\n') => out.push_str("\\n"),
                _ => out.push(c),
            }
        }
        out + "\""
    }

    fn value(&mut self, depth: usize) -> String {
        match self.next(if depth == 0 { 6 } else { 9 }) {
            0 => self.of(&["null", "true", "false"]).to_owned(),
            1 => self.of(&["0", "-0", "7", "1e2", "-1.5E-3", "1e400", "123456789012345678901234567890"]).to_owned(),
            2 | 3 => {
                let text = self.of(&[
                    "",
                    "a",
                    "user",
                    "assistant",
                    "message",
                    "x\"y\\z\n",
                    "é漢🙂\u{2028}",
                    "2026-02-16T10:20:30.000Z",
                ]);
                self.string(text)
            }
            4 => self.of(&["\"\\ud83d\"", "\"\\udc00\\ud83dx\"", "\"\\b\\f\\r\\t\""]).to_owned(),
            5 => self.of(&["[]", "{}", "[ ]", "{ }"]).to_owned(),
            6 => {
                let items: Vec<String> = (0..self.next(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}{}{}]", self.blank(), items.join(","), self.blank())
            }
            _ => {
                let keys = ["role", "id", "type", "a", "usage", "content", "role", "r\"", "parentId"];
                self.object(depth - 1, &keys)
            }
        }
    }

    fn object(&mut self, depth: usize, keys: &[&str]) -> String {
        let members: Vec<String> = (0..self.next(6))
            .map(|_| {
                let key = self.of(keys);
                let (key, value) = (self.string(key), self.value(depth));
                format!("{}{key}{}:{}{value}{}", self.blank(), self.blank(), self.blank(), self.blank())
            })
            .collect();
        format!("{{{}{}}}", self.blank(), members.join(","))
    }

    /// A line like those of a session.
    fn line(&mut self) -> String {
        const ID: [&str; 9] = ["00000001", "00000002", "00000003", "0000000a", "x", "y", "", "é\"", "later"];
        let id = |choices: &mut Self| {
            let id = choices.of(&ID);
            choices.string(id)
        };
        let mut line = "{".to_owned();
        let kind = self.of(&[
            "message",
            "message",
            "message",
            "compaction",
            "label",
            "branch_summary",
            "custom_message",
            "model_change",
            "thinking_level_change",
            "service_tier_change",
            "custom",
            "ttsr_injection",
            "mcp_tool_selection",
            "session_init",
            "mode_change",
            "context_change",
            "made_up",
            "session",
            "title",
        ]);
        let kind = self.string(kind);
        write!(line, "\"type\":{kind}").unwrap();
        if self.next(8) > 0 {
            write!(line, ",\"id\":{}", id(self)).unwrap();
        }
        if self.next(8) > 0 {
            write!(line, ",\"parentId\":{}", if self.next(5) == 0 { "null".to_owned() } else { id(self) }).unwrap();
        }
        if self.next(4) > 0 {
            let time = self.of(&["\"2026-02-16T10:20:30.000Z\"", "\"2026-02-16\"", "1e3", "\"soon\"", "null"]);
            write!(line, ",\"timestamp\":{time}").unwrap();
        }
        for _ in 0..self.next(5) {
            let member = match self.next(16) {
                0 => format!("\"firstKeptEntryId\":{}", id(self)),
                1 => format!("\"firstKeptEntryIndex\":{}", self.of(&["0", "1", "2", "5", "-1", "1.5", "1e9", "\"1\""])),
                2 => format!("\"targetId\":{},\"label\":{}", id(self), self.of(&["\"l\"", "\"\"", "null", "7"])),
                3 => format!("\"summary\":{}", self.of(&["\"sum\"", "\"\"", "null"])),
                4 => format!("\"model\":{},\"role\":{}", self.value(0), self.value(0)),
                5 => format!("\"injectedRules\":{},\"selectedToolNames\":[\"t\"],\"tools\":[1,\"t\"]", self.value(1)),
                6 => format!(
                    "\"mode\":\"m\",\"data\":{},\"contextName\":\"c\",\"tenant\":{}",
                    self.value(1),
                    self.value(0)
                ),
                7 => format!("\"content\":{},\"fromId\":\"root\",\"customType\":\"c\"", self.value(2)),
                8 => "\"preserveData\":{\"openaiRemoteCompaction\":{\"provider\":\"p\",\"replacementHistory\":[1]}}"
                    .to_owned(),
                9 => format!("\"thinkingLevel\":{},\"serviceTier\":{}", self.value(0), self.value(0)),
                _ => {
                    let role = self.of(&["user", "assistant", "assistant", "toolResult", "hookMessage", "custom"]);
                    let role = self.string(role);
                    let payload = self.of(&[
                        "",
                        ",\"providerPayload\":{\"type\":\"openaiResponsesHistory\"}",
                        ",\"providerPayload\":1",
                    ]);
                    let content = match self.next(4) {
                        0 => self.value(2),
                        1 => format!("[{{\"type\":\"image\",\"data\":\"blob:sha256:{}\"}}]", "0".repeat(64)),
                        2 => "[{\"type\":\"thinking\",\"thinkingSignature\":\"s\"},{\"thinkingSignature\":1,\"type\":\"thinking\"}]".to_owned(),
                        _ => "\"text\"".to_owned(),
                    };
                    let usage = self.of(&["null", "{}", "{\"input\":1,\"cost\":{\"total\":0.1}}", "7"]);
                    format!(
                        "\"message\":{{\"role\":{role},\"content\":{content},\"usage\":{usage}{payload},\"provider\":\"p\",\"model\":{}}}",
                        self.value(0)
                    )
                }
            };
            write!(line, ",{member}").unwrap();
        }
        line + "}"
    }

    /// Some lines; now and then two values on one, a blank one, or one that is no entry.
    fn lines(&mut self) -> String {
        let mut text = String::new();
        while !self.0.is_empty() {
            match self.next(12) {
                0 => {
                    text.push_str(self.of(&["\n", "\r\n", " \n", "\0\0\n", "[1]\n", "oops\n", "{\"a\":1}\n", "7 8\n"]))
                }
                1 => text.push_str(&self.line()),
                2 => text.push_str(&(self.line() + " tail\n")),
                _ => text.push_str(&(self.line() + self.of(&["\n", "\n", "\r\n"]))),
            }
        }
        text
    }
}

fn choices(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

/// The members of an object, the last of each name.
fn members(text: &str) -> Option<BTreeMap<String, Box<RawValue>>> {
    serde_json::from_str(text).ok()
}

fn string(members: &BTreeMap<String, Box<RawValue>>, key: &str) -> Option<String> {
    serde_json::from_str(members.get(key)?.get()).ok()
}

proptest! {
    #![proptest_config(config(8000))]

    // R45: the index reads what a plain parser reads: the last of duplicate keys, in any spelling.
    #[test]
    fn keys_agree_with_serde_json(bytes in choices(120)) {
        let keys = ["type", "id", "parentId", "timestamp", "message", "type", "id", "a", "idx", "typ"];
        let line = Choices(&bytes).object(3, &keys);
        let all = members(&line).unwrap();
        let view = read(format!("{HEADER}{line}\n"));
        let Some(kind) = string(&all, "type").or_else(|| lone(&all, "type")) else {
            prop_assert_eq!(view.entries().len(), 0, "{}", line);
            prop_assert_eq!(view.report().unwrap().skipped_lines.len(), 1);
            return Ok(());
        };
        let entry = view.entries().next().unwrap();
        let (id, parent) = (string(&all, "id").or_else(|| lone(&all, "id")), string(&all, "parentId").or_else(|| lone(&all, "parentId")));
        prop_assert_eq!(entry.kind(), EntryKind::from_name(&kind));
        prop_assert_eq!(entry.id().map(String::from), id.clone());
        let message = all.get("message").and_then(|message| members(message.get()));
        let role = message.as_ref().and_then(|message| string(message, "role"));
        if entry.kind() == EntryKind::Message {
            prop_assert_eq!(entry.role(), Some(role.as_deref().map_or(Role::Other, Role::from_name)));
        }
        let text = entry.text().unwrap();
        prop_assert_eq!(text.json().bytes(), line.as_bytes());
        prop_assert_eq!(text.type_name(), kind);
        prop_assert_eq!(text.id(), entry.id());
        prop_assert_eq!(text.parent_id().map(String::from), parent.clone());
        prop_assert_eq!(text.time_ms(), entry.time_ms());
        if let Some(time) = string(&all, "timestamp") {
            prop_assert_eq!(text.timestamp().unwrap(), time.as_str());
            let is_date = (time == "2026-02-16T10:20:30.000Z").then_some(1_771_237_230_000);
            prop_assert_eq!(entry.time_ms(), is_date);
        }
        // The parent that the index holds.
        if let (Some(id), Some(parent)) = (id, parent.filter(|parent| !parent.is_empty())) {
            let report = view.report().unwrap();
            if id == parent {
                prop_assert_eq!(report.cycles, [[id]]);
            } else {
                prop_assert_eq!(&report.missing_parents[0].parent_id, &parent);
            }
        }
    }
}

/// A string with lone surrogates, which `serde_json` gives as bytes only: each becomes U+FFFD.
fn lone(members: &BTreeMap<String, Box<RawValue>>, key: &str) -> Option<String> {
    let text = members.get(key)?.get();
    text.starts_with('"').then(|| match text {
        "\"\\ud83d\"" => "\u{fffd}".to_owned(),
        "\"\\udc00\\ud83dx\"" => "\u{fffd}\u{fffd}x".to_owned(),
        other => panic!("{other}"),
    })
}

/// What a line should give: the spans of its leading values and where they end.
///
/// By `serde_json`, with what differs by design: NUL bytes and a byte order mark are blanks
/// between values (R48); a bare number or word must run to a blank, a bracket or a quote; bytes
/// that are not UTF-8 may stand in strings (R45), which `IgnoredAny` does not look at.
fn leading_values(line: &[u8]) -> (Vec<(usize, usize)>, usize) {
    let mut spans = Vec::new();
    let mut at = if line.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    loop {
        while line.get(at).is_some_and(|byte| b" \t\r\0".contains(byte)) {
            at += 1;
        }
        let Some(first) = line.get(at) else { return (spans, line.len()) };
        let rest = &line[at..];
        let end = if b"{[\"".contains(first) {
            let mut parser = serde_json::Deserializer::from_slice(rest);
            parser.disable_recursion_limit();
            let mut values = parser.into_iter::<IgnoredAny>();
            values.next().and_then(Result::ok).map(|_| values.byte_offset())
        } else {
            let end = rest.iter().position(|byte| b" \t\r\0{[\"".contains(byte)).unwrap_or(rest.len());
            serde_json::from_slice::<IgnoredAny>(&rest[..end]).ok().map(|_| end)
        };
        let Some(end) = end else { return (spans, at) };
        spans.push((at, at + end));
        at += end;
    }
}

/// The `type` of a value, when it is an object with a string there.
fn type_of(value: &[u8]) -> Option<String> {
    // Escaped surrogates, which a Rust string cannot hold, are no part of a name that counts.
    let mut text = String::from_utf8_lossy(value).into_owned().into_bytes();
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\\' {
            if text[at + 1] == b'u'
                && text[at + 2].eq_ignore_ascii_case(&b'd')
                && !(b'0'..=b'7').contains(&text[at + 3])
            {
                text[at + 2..at + 6].copy_from_slice(b"fffd");
            }
            at += 1;
        }
        at += 1;
    }
    let text = String::from_utf8(text).unwrap();
    let mut parser = serde_json::Deserializer::from_str(&text);
    parser.disable_recursion_limit();
    let members = BTreeMap::<String, Box<RawValue>>::deserialize(&mut parser).ok()?;
    string(&members, "type")
}

/// Changes some bytes: other ones in their place, more of them, fewer.
fn mutate(line: &mut Vec<u8>, changes: &[(u16, u8, u8)]) {
    const SPECIAL: &[u8] = b"\"\\{}[]:,u0-.eE+tfn \t\r\0\x01\x1f\x7f\xff\xc3\xef/'a9d";
    for &(place, kind, byte) in changes {
        let at = usize::from(place) % (line.len() + 1);
        let byte = if kind & 8 == 0 { SPECIAL[usize::from(byte) % SPECIAL.len()] } else { byte };
        let byte = if byte == b'\n' { b' ' } else { byte };
        match kind % 4 {
            0 => line.insert(at, byte),
            1 if at < line.len() => line[at] = byte,
            2 if at < line.len() => drop(line.remove(at)),
            3 if kind & 16 == 0 => line.truncate(at.max(line.len().saturating_sub(4))),
            _ => {}
        }
    }
}

fn changes() -> impl Strategy<Value = Vec<(u16, u8, u8)>> {
    prop::collection::vec(any::<(u16, u8, u8)>(), 0..6)
}

proptest! {
    #![proptest_config(config(16000))]

    // R14, R47: which values of a damaged line count, and what is reported of the rest.
    #[test]
    fn damaged_lines_agree_with_serde_json(bytes in choices(90), changes in changes(), whole in any::<bool>()) {
        let mut choices = Choices(&bytes);
        let mut line = match choices.next(4) {
            0 => choices.value(3).into_bytes(),
            1 => (choices.line() + choices.blank() + &choices.value(1) + choices.blank() + &choices.line()).into_bytes(),
            _ => choices.line().into_bytes(),
        };
        mutate(&mut line, &changes);
        let (spans, stop) = leading_values(&line);
        let text = [HEADER.as_bytes(), &line, if whole { b"\n" } else { b"" }].concat();
        let view = read(text);
        let at = |offset: usize| (HEADER.len() + offset) as u64;
        let mut entries = Vec::new();
        let mut skipped = Vec::new();
        for &(start, end) in &spans {
            match type_of(&line[start..end]).as_deref() {
                Some("session") => {}
                Some(_) => entries.push((at(start), (end - start) as u64)),
                None => skipped.push(SkipReason::NotAnEntry),
            }
        }
        let rest = &line[stop..];
        let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        let mut trailing = Vec::new();
        if stop < line.len() {
            match (spans.is_empty(), whole) {
                (true, true) => skipped.push(SkipReason::Invalid),
                (true, false) => skipped.push(SkipReason::Torn),
                _ => trailing.push(rest.len() as u64),
            }
        }
        let shown = String::from_utf8_lossy(&line);
        prop_assert_eq!(view.entries().map(|entry| (entry.offset(), entry.len())).collect::<Vec<_>>(), entries, "{}", &shown);
        let report = view.report().unwrap();
        prop_assert_eq!(report.skipped_lines.iter().map(|line| line.reason).collect::<Vec<_>>(), skipped, "{}", &shown);
        prop_assert_eq!(report.trailing_text.iter().map(|text| text.bytes).collect::<Vec<_>>(), trailing, "{}", &shown);
    }
}

/// Asks a view everything there is, and checks what must hold of any.
fn ask_everything(view: &SessionView) {
    let is_json = |bytes: &[u8]| {
        let mut parser = serde_json::Deserializer::from_slice(bytes);
        parser.disable_recursion_limit();
        IgnoredAny::deserialize(&mut parser).and_then(|_| parser.end()).is_ok()
    };
    let nodes: Vec<_> = view.entries().filter(|entry| entry.id().is_some() && !entry.is_superseded()).collect();
    let mut offset = 0;
    for entry in view.entries() {
        assert!(entry.offset() >= offset);
        offset = entry.offset() + entry.len();
        for text in [entry.text().unwrap(), entry.loaded_text().unwrap()] {
            assert!(is_json(text.json().bytes()), "{text:?}");
            let _ = (text.body(), text.role(), text.time_ms(), text.timestamp());
            assert_eq!(text.id(), entry.id());
        }
        assert!(entry.children().all(|child| child.parent() == Some(entry)));
        assert_eq!(entry.children().count(), entry.children_by_time().len());
        let _ = (entry.label(), entry.time_ms(), entry.role(), entry.kind(), format!("{entry:?}"));
    }
    assert!(offset <= view.len());
    for node in &nodes {
        let id = node.id().unwrap();
        // An id with bytes that are not UTF-8 is not found by its replacement characters.
        if id.contains('\u{fffd}') {
            continue;
        }
        assert_eq!(view.entry(&id), Some(*node));
        let path = view.branch(&id).unwrap();
        assert_eq!(path.last(), Some(node));
        assert!(path.windows(2).all(|pair| pair[1].parent() == Some(pair[0])));
        let context = view.context(Leaf::Id(&id)).unwrap();
        assert!(context.messages().all(|message| message.is_object() && is_json(message.bytes())));
        assert!(is_json(context.to_json().as_bytes()), "{}", context.to_json());
    }
    // Every node once: below a root, and each leaf at an end.
    let mut seen = 0;
    let mut open = view.roots();
    while let Some(entry) = open.pop() {
        seen += 1;
        open.extend(entry.children());
    }
    assert_eq!(seen, nodes.len());
    assert_eq!(view.leaves().len(), nodes.iter().filter(|node| node.children().count() == 0).count());
    assert_eq!(view.leaf().map(|leaf| leaf.position()), nodes.iter().map(|node| node.position()).max());
    view.context(Leaf::Last).unwrap();
    let report = view.report().unwrap();
    assert_eq!(report.is_empty(), report.to_string().is_empty());
    assert_eq!(report.entries_without_id.len(), view.entries().filter(|entry| entry.id().is_none()).count());
    let _ = (view.title(), view.title_source(), view.usage(), view.labels().count(), view.header().json().to_string());
}

proptest! {
    #![proptest_config(config(4000))]

    // R49: no session makes anything panic, whatever it holds.
    #[test]
    fn any_session(bytes in choices(600), changes in changes(), version in 0usize..5) {
        let header = ["{\"type\":\"session\",\"id\":\"s\"}\n", "{\"type\":\"session\",\"id\":\"s\",\"version\":2}\n", HEADER, "", "[0]\n{\"type\":\"x\",\"id\":\"00000001\"}\n{\"type\":\"session\",\"id\":\"s\"}\n"][version];
        let mut text = (header.to_owned() + &Choices(&bytes).lines()).into_bytes();
        mutate(&mut text, &changes);
        for options in [ViewOptions::new(), ViewOptions::new().blobs("no/such/folder")] {
            if let Ok(view) = options.read_bytes(text.clone()) {
                ask_everything(&view);
                // R45: where nothing was migrated, the text of an entry is its bytes.
                if !view.is_migrated() {
                    for entry in view.entries() {
                        let at = entry.offset() as usize;
                        prop_assert!(entry.text().unwrap().into_bytes() == text[at..at + entry.len() as usize]);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(8000))]

    #[test]
    fn any_bytes(mut bytes in choices(400), with_header in any::<bool>()) {
        if with_header {
            bytes.splice(0..0, HEADER.bytes());
        }
        if let Ok(view) = ViewOptions::new().read_bytes(bytes) {
            ask_everything(&view);
        }
    }
}

proptest! {
    #![proptest_config(config(2000))]

    // R10, R11: a migrated session, written down and read again, is the same and needs no migration.
    #[test]
    fn migration_is_final(bytes in choices(500), version in 1u32..3) {
        let text = Choices(&bytes).lines();
        // A later header is no entry; the first one decides.
        let old = read(format!("{{\"type\":\"session\",\"id\":\"s\",\"version\":{version}}}\n{text}"));
        prop_assert!(old.is_migrated());
        let mut new = HEADER.as_bytes().to_owned();
        for entry in old.entries() {
            new.extend_from_slice(entry.text().unwrap().json().bytes());
            new.push(b'\n');
        }
        let new = read(new);
        prop_assert!(!new.is_migrated());
        prop_assert_eq!(new.entries().len(), old.entries().len());
        for (old, new) in old.entries().zip(new.entries()) {
            prop_assert_eq!(old.text().unwrap(), new.text().unwrap());
            prop_assert_eq!((old.id(), old.kind(), old.role(), old.time_ms()), (new.id(), new.kind(), new.role(), new.time_ms()));
            prop_assert_eq!(old.parent().map(|entry| entry.position()), new.parent().map(|entry| entry.position()));
            prop_assert_eq!(old.is_superseded(), new.is_superseded());
        }
        prop_assert_eq!(old.context(Leaf::Last).unwrap(), new.context(Leaf::Last).unwrap());
        prop_assert_eq!(old.usage(), new.usage());
        prop_assert_eq!(old.labels().collect::<Vec<_>>(), new.labels().collect::<Vec<_>>());
        let (old, new) = (old.report().unwrap(), new.report().unwrap());
        prop_assert_eq!(old.cycles, new.cycles);
        prop_assert_eq!(old.empty_compactions.len(), new.empty_compactions.len());
        prop_assert!(new.skipped_lines.is_empty() && new.trailing_text.is_empty());
        if version == 1 {
            prop_assert!(new.missing_parents.is_empty() && new.duplicate_ids.is_empty() && new.entries_without_id.is_empty());
        }
    }
}

// The generator makes what the properties are about: otherwise they would hold of nothing.
#[test]
fn the_generator_reaches_everything() {
    let mut state = 1u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut text = String::new();
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..600).map(|_| random()).collect();
        text.push_str(&Choices(&bytes).lines());
        text.push('\n');
    }
    let view = read(format!("{HEADER}{text}"));
    let count = |kind| view.entries().filter(|entry| entry.kind() == kind).count();
    for kind in
        [EntryKind::Message, EntryKind::Compaction, EntryKind::Label, EntryKind::BranchSummary, EntryKind::Other]
    {
        assert!(count(kind) > 50, "{kind:?}");
    }
    let report = view.report().unwrap();
    assert!(report.duplicate_ids.len() >= 8 && report.entries_without_id.len() > 50);
    assert!(report.trailing_text.len() > 50 && report.skipped_lines.len() > 50);
    assert!(text.contains("\\u006d") && text.contains("blob:sha256:") && text.contains("\\ud83d\""));
}
