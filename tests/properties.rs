//! Properties over random input: the scan agrees with `serde_json`, nothing panics, nothing is
//! lost. `serde_json` is asked for spans only; it refuses some of what a session may hold.
#![allow(clippy::unwrap_used)]

#[path = "fuzz/bodies.rs"]
mod bodies;

use bodies::{Choices, HEADER, any_bytes, ask_everything, members, string};
use leaflog::{EntryKind, Leaf, Role, SessionView, ViewOptions};
use proptest::prelude::*;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn read(bytes: impl Into<Vec<u8>>) -> SessionView {
    ViewOptions::new().read_bytes(bytes).unwrap()
}

fn choices(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
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
        bodies::line(&line, whole);
    }
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
                        let mut want = text[at..at + entry.len() as usize].to_owned();
                        if want.contains(&b'\n') {
                            // U3: one over several lines is handed out in one.
                            want.iter_mut().filter(|byte| b"\r\n".contains(byte)).for_each(|byte| *byte = b' ');
                        }
                        prop_assert!(entry.text().unwrap().into_bytes() == want);
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(2500))]

    #[test]
    fn bytes_of_any_kind(bytes in choices(400)) {
        any_bytes(&bytes);
    }

    // R10, R45: the span rewriter against members that were taken apart.
    #[test]
    fn edits_agree_with_a_model(bytes in choices(200)) {
        bodies::edits(&bytes);
    }

    // R33-R36: what a line may hold on disk, against a plain value.
    #[test]
    fn prepared_lines_agree_with_a_model(bytes in choices(200)) {
        bodies::prepared(&bytes);
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
            let text = entry.text().unwrap().json().bytes().to_owned();
            new.extend_from_slice(&[&text[..], b"\n"].concat());
        }
        let new = read(new);
        prop_assert!(!new.is_migrated());
        prop_assert_eq!(new.entries().len(), old.entries().len());
        // What an entry hangs on because of damage (G1) is not known without the damage.
        let instead = old.report().unwrap().missing_parents.into_iter().any(|missing| missing.instead.is_some());
        for (old, new) in old.entries().zip(new.entries()) {
            prop_assert_eq!(old.text().unwrap(), new.text().unwrap());
            prop_assert_eq!((old.id(), old.kind(), old.role(), old.time_ms()), (new.id(), new.kind(), new.role(), new.time_ms()));
            prop_assert_eq!(old.parent_id(), new.parent_id());
            if !instead {
                prop_assert_eq!(old.parent().map(|entry| entry.position()), new.parent().map(|entry| entry.position()));
            }
            prop_assert_eq!(old.is_superseded(), new.is_superseded());
        }
        if !instead {
            prop_assert_eq!(old.context(Leaf::Last).unwrap(), new.context(Leaf::Last).unwrap());
        }
        prop_assert_eq!(old.usage(), new.usage());
        prop_assert_eq!(old.labels().collect::<Vec<_>>(), new.labels().collect::<Vec<_>>());
        let (old, new) = (old.report().unwrap(), new.report().unwrap());
        prop_assert_eq!(old.cycles, new.cycles);
        if !instead {
            prop_assert_eq!(old.empty_compactions.len(), new.empty_compactions.len());
        }
        prop_assert!(new.skipped_lines.is_empty() && new.trailing_text.is_empty());
        if version == 1 {
            prop_assert!(new.missing_parents.is_empty() && new.duplicate_ids.is_empty() && new.entries_without_id.is_empty());
        }
    }
}

/// The session files that are committed.
fn committed() -> Vec<PathBuf> {
    let mut open: Vec<PathBuf> = ["tests/fixtures", "examples"].iter().map(PathBuf::from).collect();
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension().and_then(|end| end.to_str()) {
                _ if path.is_dir() => open.push(path),
                Some("jsonl") => found.push(path),
                _ => {}
            }
        }
    }
    found
}

// R14, R47-R49: the golden files and the examples, and each of their lines alone.
#[test]
fn committed_files_agree() {
    let files = committed();
    assert!(files.len() >= 60, "{files:?}");
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        any_bytes(&bytes);
        for line in bytes.split(|byte| *byte == b'\n') {
            bodies::line(line, true);
            bodies::line(line, false);
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
    let mut instead = 0;
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..600).map(|_| random()).collect();
        let lines = Choices(&bytes).lines();
        let report = read(format!("{HEADER}{lines}")).report().unwrap();
        instead += report.missing_parents.iter().filter(|missing| missing.instead.is_some()).count();
        text.push_str(&lines);
        text.push('\n');
    }
    let view = read(format!("{HEADER}{text}"));
    let count = |kind| view.entries().filter(|entry| entry.kind() == kind).count();
    for kind in
        [EntryKind::Message, EntryKind::Compaction, EntryKind::Label, EntryKind::BranchSummary, EntryKind::Other]
    {
        assert!(count(kind) > 50, "{kind:?}");
    }
    let slots = text.lines().filter(|line| line.len() == 255 && line.starts_with("{\"type\":\"title\",\"v\":1,"));
    assert!(slots.count() > 50);
    // The first slot counts, also when its title is empty.
    assert!(view.title() != view.header().title.as_deref() || view.title().is_none());
    let report = view.report().unwrap();
    assert!(report.duplicate_ids.len() >= 8 && report.entries_without_id.len() > 50);
    assert!(report.trailing_text.len() > 50 && report.skipped_lines.len() > 50);
    assert!(report.fragments.len() > 50 && report.spread_values.len() > 5);
    assert!(instead > 5, "{instead}");
    assert!(text.contains("\\u006d") && text.contains("blob:sha256:") && text.contains("\\ud83d\""));
}
