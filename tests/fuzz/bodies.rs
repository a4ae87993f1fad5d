//! What the property tests and the fuzz targets have in common.
#![allow(dead_code, reason = "each user takes what it needs")]

use leaflog::internals::{self, Change};
use leaflog::{Leaf, SessionView, SkipReason, ViewOptions};
use serde::Deserialize as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

pub const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

/// Choices drawn from random bytes: the same bytes make the same choices, and fewer make less.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn next(&mut self, below: usize) -> usize {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                usize::from(byte) % below
            }
            None => 0,
        }
    }

    pub fn of<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.next(choices.len())]
    }

    pub fn blank(&mut self) -> &'static str {
        self.of(&["", "", "", "", " ", "\t", "  \r"])
    }

    /// `text` as a JSON string, some of its characters escaped.
    pub fn string(&mut self, text: &str) -> String {
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

    pub fn value(&mut self, depth: usize) -> String {
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

    pub fn object(&mut self, depth: usize, keys: &[&str]) -> String {
        let members: Vec<String> = (0..self.next(6))
            .map(|_| {
                let key = self.of(keys);
                let (key, value) = (self.string(key), self.value(depth));
                format!("{}{key}{}:{}{value}{}", self.blank(), self.blank(), self.blank(), self.blank())
            })
            .collect();
        format!("{{{}{}}}", self.blank(), members.join(","))
    }

    /// A title slot, or something very near to one (R48).
    fn slot(&mut self) -> String {
        let title = self.of(&["", "a", "é漢🙂\u{2028}", "x\"y\\z\n", "later"]);
        let title = self.string(title);
        let v = self.of(&["1", "1", "1", "1", "1", "1.0", "2", "\"1\""]);
        let source = ["", "", ",\"source\":\"user\"", ",\"source\":\"auto\"", ",\"source\":\"x\"", ",\"source\":7"];
        let source = self.of(&source);
        let time = self.of(&["\"2026-02-16T10:20:30.000Z\"", "\"2026-02-16T10:20:30.000Z\"", "\"\"", "7"]);
        let start = format!("{{\"type\":\"title\",\"v\":{v},\"title\":{title}{source},\"updatedAt\":{time},\"pad\":\"");
        let len: usize = [255, 255, 255, 255, 254, 256][self.next(6)];
        format!("{start}{}\"}}", " ".repeat(len - 2 - start.len()))
    }

    /// A line like those of a session.
    pub fn line(&mut self) -> String {
        if self.next(24) == 1 {
            return self.slot();
        }
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

    /// A line that was cut, with another behind it (G1), or an entry over several lines (U3).
    pub fn damaged(&mut self) -> String {
        let whole = self.line();
        if self.next(3) == 0 {
            return whole.replacen(',', "\n  ,", 1 + self.next(4)) + self.of(&["\n", "\r\n", " x\n"]);
        }
        let cut = whole.floor_char_boundary(self.next(whole.len().min(256)));
        format!("{}{}{}", &whole[..cut], self.line(), self.of(&["\n", "\n", "{\"type\":\"\n", "}\n"]))
    }

    /// Some lines; now and then two values on one, a blank one, or one that is no entry.
    pub fn lines(&mut self) -> String {
        let mut text = String::new();
        while !self.0.is_empty() {
            match self.next(12) {
                0 => {
                    text.push_str(self.of(&["\n", "\r\n", " \n", "\0\0\n", "[1]\n", "oops\n", "{\"a\":1}\n", "7 8\n"]))
                }
                1 => text.push_str(&self.line()),
                2 => text.push_str(&(self.line() + " tail\n")),
                3 => text.push_str(&self.damaged()),
                _ => text.push_str(&(self.line() + self.of(&["\n", "\n", "\r\n"]))),
            }
        }
        text
    }
}

/// The members of an object, the last of each name.
pub fn members(text: &str) -> Option<BTreeMap<String, Box<RawValue>>> {
    serde_json::from_str(text).ok()
}

pub fn string(members: &BTreeMap<String, Box<RawValue>>, key: &str) -> Option<String> {
    serde_json::from_str(members.get(key)?.get()).ok()
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

/// The members of a value, when it is an object.
fn members_of(value: &[u8]) -> Option<BTreeMap<String, Box<RawValue>>> {
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
    BTreeMap::deserialize(&mut parser).ok()
}

/// R48, G7: what the members of a title slot say; what has an id is an entry.
fn is_title_slot(members: &BTreeMap<String, Box<RawValue>>) -> bool {
    let is_string = |key| members.get(key).is_some_and(|value| value.get().starts_with('"'));
    let is_first = members.get("v").and_then(|v| serde_json::from_str::<f64>(v.get()).ok()) == Some(1.0);
    is_first && is_string("title") && !is_string("id")
}

/// G1: an object says of itself that it is an entry or a header.
fn is_record(members: &BTreeMap<String, Box<RawValue>>) -> bool {
    let is_string = |key| members.get(key).is_some_and(|value| value.get().starts_with('"'));
    is_string("type") && is_string("id") && members.contains_key("timestamp")
}

/// G1: the whole records in `line[from..]`, each with the start of the fragment in front of it, and where what is left
/// begins: tried at every place, the first that fits counts.
fn records(line: &[u8], from: usize) -> (Vec<(usize, usize, usize)>, usize) {
    let mut found = Vec::new();
    let mut fragment = from;
    let mut at = from;
    while at < line.len() {
        if line[at..].starts_with(b"{\"") {
            let mut parser = serde_json::Deserializer::from_slice(&line[at..]);
            parser.disable_recursion_limit();
            let mut values = parser.into_iter::<IgnoredAny>();
            let end = values.next().and_then(Result::ok).map(|_| at + values.byte_offset());
            if let Some(end) = end {
                let next = end + line[end..].iter().take_while(|byte| b" \t\r\0".contains(byte)).count();
                let follows = next == line.len() || line[next] == b'{';
                if follows && is_record(&members_of(&line[at..end]).unwrap_or_default()) {
                    found.push((fragment, at, end));
                    (fragment, at) = (next, next);
                    continue;
                }
            }
        }
        at += 1;
    }
    (found, fragment)
}

/// R14, R47, G1: which values of a line count, and what is reported of the rest.
pub fn line(line: &[u8], whole: bool) {
    let (mut spans, stop) = leading_values(line);
    let leading = spans.len();
    let (records, stop) = if stop < line.len() { records(line, stop) } else { (Vec::new(), stop) };
    spans.extend(records.iter().map(|&(_, start, end)| (start, end)));
    let text = [HEADER.as_bytes(), line, if whole { b"\n" } else { b"" }].concat();
    let view = ViewOptions::new().read_bytes(text).unwrap();
    let at = |offset: usize| (HEADER.len() + offset) as u64;
    let mut entries = Vec::new();
    let mut skipped = Vec::new();
    for (nth, &(start, end)) in spans.iter().enumerate() {
        let members = members_of(&line[start..end]).unwrap_or_default();
        match string(&members, "type").as_deref() {
            Some("session") => {}
            Some("title") if is_title_slot(&members) => {}
            Some(_) => entries.push((at(start), (end - start) as u64)),
            None => {
                assert!(nth < leading);
                skipped.push(SkipReason::NotAnEntry);
            }
        }
    }
    let fragments: Vec<u64> =
        records.iter().filter(|record| record.1 > record.0).map(|record| (record.1 - record.0) as u64).collect();
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
    let shown = String::from_utf8_lossy(line);
    let found: Vec<_> = view.entries().map(|entry| (entry.offset(), entry.len())).collect();
    assert_eq!(found, entries, "{shown}");
    let report = view.report().unwrap();
    let reasons: Vec<_> = report.skipped_lines.iter().map(|line| line.reason).collect();
    assert_eq!(reasons, skipped, "{shown}");
    let lengths: Vec<_> = report.trailing_text.iter().map(|text| text.bytes).collect();
    assert_eq!(lengths, trailing, "{shown}");
    let lengths: Vec<_> = report.fragments.iter().map(|text| text.bytes).collect();
    assert_eq!(lengths, fragments, "{shown}");
}

/// Asks a view everything there is, and checks what must hold of any.
pub fn ask_everything(view: &SessionView) {
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

/// R49: no bytes make anything panic.
pub fn any_bytes(bytes: &[u8]) {
    for head in
        ["", HEADER, "{\"type\":\"session\",\"id\":\"s\"}\n", "{\"type\":\"session\",\"id\":\"s\",\"version\":2}\n"]
    {
        if let Ok(view) = ViewOptions::new().read_bytes([head.as_bytes(), bytes].concat()) {
            ask_everything(&view);
        }
    }
}

/// The members of an object as spelled, all of them, in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// R10, R45: some members get other values, some go, some are new; the rest keeps its spelling.
pub fn edits(bytes: &[u8]) {
    const KEYS: [&str; 4] = ["a", "id", "q\"", "new"];
    let mut choices = Choices(bytes);
    let changes: Vec<Change> = KEYS
        .iter()
        .filter_map(|key| match choices.next(3) {
            0 => None,
            1 => Some(Change::Remove(key)),
            _ => Some(Change::Set(key, choices.value(1).into_bytes())),
        })
        .collect();
    let text = choices.object(2, &["a", "id", "q\"", "a", "b", ""]);
    let Members(mut members) = serde_json::from_str(&text).unwrap();
    for change in &changes {
        match change {
            Change::Remove(key) => members.retain(|(known, _)| known != key),
            Change::Set(key, value) => {
                let value: Box<RawValue> = serde_json::from_slice(value).unwrap();
                match members.iter().rposition(|(known, _)| known == key) {
                    Some(at) => members[at].1 = value,
                    None => members.push(((*key).to_owned(), value)),
                }
            }
        }
    }
    let edited = String::from_utf8(internals::edit(text.as_bytes(), &changes)).unwrap();
    let Members(found) =
        serde_json::from_str(&edited).unwrap_or_else(|error| panic!("{error}: {text} became {edited}"));
    let plain = |members: Vec<(String, Box<RawValue>)>| -> Vec<(String, String)> {
        members.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
    };
    assert_eq!(plain(found), plain(members), "{text} became {edited}");
    if changes.is_empty() {
        assert_eq!(edited, text);
    }
}

/// A value for a line: images, keys that are never written, nested lists; no key twice.
fn image_value(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.next(if depth == 0 { 5 } else { 9 }) {
        0 => choices.of(&["", "image", "text", "a\nb\n", "data:image/png;base64,AAAA", "blob:sha256:00"]).into(),
        1 => Value::from(choices.next(3)),
        2 => choices.of(&["AAAA", "AAA=", "AAA"]).repeat(256 + choices.next(2)).into(),
        3 => Value::Null,
        4 => "image/png".into(),
        5 | 6 => Value::Array((0..choices.next(4)).map(|_| image_value(choices, depth - 1)).collect()),
        _ => {
            const KEYS: &[&str] =
                &["content", "data", "type", "image_url", "url", "partialJson", "jsonlEvents", "lineCount", "mimeType"];
            let members = (0..choices.next(6)).map(|_| {
                let key = choices.of(KEYS);
                let value = match (key, choices.next(3)) {
                    ("type", 0 | 1) => "image".into(),
                    ("data", 0) => "AAAA".repeat(300).into(),
                    _ => image_value(choices, depth - 1),
                };
                (key.to_owned(), value)
            });
            let members: BTreeMap<String, Value> = members.collect();
            Value::Object(members.into_iter().collect())
        }
    }
}

/// Where a value stands.
#[derive(Clone, Copy, Default)]
struct At {
    /// In an array under `content`.
    content: bool,
    /// In the object under `image_url`.
    image_url: bool,
}

/// R34-R36 over a plain value: what is written, and whether it is another.
fn on_disk(value: &Value, key: &str, at: At, blobs: &mut BTreeSet<Vec<u8>>) -> (Value, bool) {
    let is_data_url = |text: &str| text.starts_with("data:image/") && text.contains(";base64,");
    match value {
        Value::String(text) if (key == "image_url" || key == "url" && at.image_url) && is_data_url(text) => {
            blobs.insert(text.clone().into_bytes());
            (internals::blob_reference(text.as_bytes()).into(), true)
        }
        Value::Array(items) => {
            let inside = At { content: at.content || key == "content", image_url: false };
            let items: Vec<_> = items.iter().map(|item| on_disk(item, "", inside, blobs)).collect();
            let changed = items.iter().any(|item| item.1);
            (Value::Array(items.into_iter().map(|item| item.0).collect()), changed)
        }
        Value::Object(members) => {
            let inside = At { content: false, image_url: key == "image_url" };
            let mut changed = false;
            let mut out = serde_json::Map::new();
            for (key, value) in members {
                if matches!(&**key, "partialJson" | "jsonlEvents") {
                    changed = true;
                    continue;
                }
                let (value, differs) = on_disk(value, key, inside, blobs);
                changed |= differs;
                out.insert(key.clone(), value);
            }
            let is_image = members.get("type").is_some_and(|kind| kind == "image");
            if at.content
                && is_image
                && let Some(Value::String(data)) = members.get("data")
                && data.len() >= 1024
                && let Some(bytes) = base64_of(data)
            {
                out.insert("data".into(), internals::blob_reference(&bytes).into());
                blobs.insert(bytes);
                changed = true;
            }
            if changed
                && let (Some(Value::String(content)), true) =
                    (out.get("content"), out.get("lineCount").is_some_and(Value::is_number))
            {
                let lines = content.split('\n').count();
                out.insert("lineCount".into(), lines.into());
            }
            (Value::Object(out), changed)
        }
        other => (other.clone(), false),
    }
}

fn base64_of(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::STANDARD;
    engine.decode(text).ok().filter(|bytes| engine.encode(bytes) == text)
}

/// R33-R36: what a line holds against what is worked out over a plain value; twice is once.
pub fn prepared(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let value = image_value(&mut choices, 5);
    let Value::Object(_) = &value else { return };
    let text = serde_json::to_string(&value).unwrap();
    let mut blobs = BTreeSet::new();
    let (expected, changed) = on_disk(&value, "", At::default(), &mut blobs);
    match internals::prepare(text.as_bytes()) {
        None => assert!(!changed || expected == value, "{text:.3000} should become {expected}"),
        Some((line, found)) => {
            let line = String::from_utf8(line).unwrap();
            assert_eq!(line, serde_json::to_string(&expected).unwrap(), "{text:.3000}");
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), blobs);
            assert!(internals::prepare(line.as_bytes()).is_none(), "{line:.3000}");
        }
    }
}
