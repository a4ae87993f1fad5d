//! The golden files of `tests/fixtures`: every case against the facts and contexts written by
//! hand from the statements of the specification. A case names the statements it shows.
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{EntryRef, Leaf, SessionView, ViewOptions};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use support::tokens;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The names of all cases.
fn cases() -> Vec<String> {
    let mut cases: Vec<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|file| {
            file.unwrap().file_name().into_string().unwrap().strip_suffix(".facts.json").map(str::to_owned)
        })
        .collect();
    cases.sort();
    assert!(cases.len() >= 51, "only {} cases found", cases.len());
    cases
}

fn open(case: &str) -> SessionView {
    let options = ViewOptions::new().blobs(fixtures().join("blobs"));
    options.open(fixtures().join(format!("{case}.jsonl"))).unwrap()
}

/// Runs a check on every case and names all that fail.
fn for_each_case(check: impl Fn(&str) -> Result<(), String>) {
    let mut failures = String::new();
    for case in cases() {
        if let Err(failure) = check(&case) {
            writeln!(failures, "{case}: {failure}").unwrap();
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}\n   got  {got:?}\n   want {want:?}")) }
}

/// The leaf and expected context of each context file of a case.
fn contexts(case: &str) -> Vec<(Option<String>, String)> {
    let mut contexts = vec![(None, format!("{case}.context.json"))];
    for file in std::fs::read_dir(fixtures()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let leaf = name.strip_prefix(&format!("{case}.context@")).and_then(|rest| rest.strip_suffix(".json"));
        if let Some(leaf) = leaf {
            contexts.push((Some(leaf.to_owned()), name.clone()));
        }
    }
    contexts
        .into_iter()
        .map(|(leaf, file)| {
            (leaf, std::fs::read_to_string(fixtures().join(&file)).unwrap_or_else(|e| panic!("{file}: {e}")))
        })
        .collect()
}

// R9, R23-R27, part C: what the model is sent.
#[test]
fn contexts_are_as_written_by_hand() {
    for_each_case(|case| {
        let view = open(case);
        for (leaf, want) in contexts(case) {
            let got = view.context(leaf.as_deref().map_or(Leaf::Last, Leaf::Id)).map_err(|error| error.to_string())?;
            same(&format!("context of {leaf:?}"), tokens(&got.to_json()), tokens(&want))?;
        }
        Ok(())
    });
}

fn ids<'a>(entries: impl IntoIterator<Item = EntryRef<'a>>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.id().unwrap().into_owned()).collect()
}

fn numbers_equal(got: &Value, want: &Value) -> bool {
    got.as_f64().unwrap() == want.as_f64().unwrap()
}

// R6, R7, R14, R15, R17, R22, R47-R50: entries, tree, labels, usage, title and the load report.
#[test]
fn facts_are_as_written_by_hand() {
    for_each_case(|case| {
        let facts: Value =
            serde_json::from_str(&std::fs::read_to_string(fixtures().join(format!("{case}.facts.json"))).unwrap())
                .unwrap();
        let view = open(case);
        for (leaf, _) in contexts(case) {
            view.context(leaf.as_deref().map_or(Leaf::Last, Leaf::Id)).map_err(|error| error.to_string())?;
        }
        same("version", json!(view.header().version), facts["version"].clone())?;
        same("sessionId", json!(view.header().id), facts["sessionId"].clone())?;
        same("cwd", json!(view.header().cwd), facts["cwd"].clone())?;
        same("title", json!(view.title()), facts["title"].clone())?;
        same("titleSource", json!(view.title_source()), facts["titleSource"].clone())?;
        same("entries", json!(view.entries().count()), facts["entries"].clone())?;
        same("leaf", json!(view.leaf().and_then(|leaf| leaf.id())), facts["leaf"].clone())?;
        same("leaves", json!(ids(view.leaves())), facts["leaves"].clone())?;
        same("roots", json!(ids(view.roots())), facts["roots"].clone())?;
        let mut children = serde_json::Map::new();
        for entry in view.entries().filter(|entry| entry.id().is_some() && !entry.is_superseded()) {
            let below = entry.children_by_time();
            same(
                "children in two orders",
                below.iter().map(|child| child.line()).collect::<BTreeSet<_>>(),
                entry.children().map(|child| child.line()).collect(),
            )?;
            if !below.is_empty() {
                children.insert(entry.id().unwrap().into_owned(), json!(ids(below)));
            }
        }
        same("children", sorted(&Value::Object(children)), sorted(&facts["children"]))?;
        let labels: serde_json::Map<_, _> =
            view.labels().map(|(target, label)| (target.into_owned(), json!(label))).collect();
        same("labels", sorted(&Value::Object(labels)), sorted(&facts["labels"]))?;
        let usage = serde_json::to_value(view.usage()).unwrap();
        for (key, want) in facts["usage"].as_object().unwrap() {
            if !numbers_equal(&usage[key], want) {
                return Err(format!("usage.{key}: got {}, want {want}", usage[key]));
            }
        }
        let report = view.report().map_err(|error| error.to_string())?;
        let got = serde_json::to_value(&report).unwrap();
        for (key, want) in facts["report"].as_object().unwrap() {
            same(&format!("report.{key}"), got[key].clone(), want.clone())?;
        }
        let lines = report.to_string();
        same("report text is empty", lines.is_empty(), report.is_empty())?;
        Ok(())
    });
}

/// Members by name: facts do not say an order for these.
fn sorted(object: &Value) -> Vec<(String, Value)> {
    let mut members: Vec<_> =
        object.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members
}

// R10, R11, R45: entries of older versions read as the migrated file holds them, byte for byte.
#[test]
fn migrated_entries_are_as_written_by_hand() {
    let mut migrated = 0;
    for_each_case(|case| {
        let path = fixtures().join(format!("{case}.migrated.jsonl"));
        if !path.exists() {
            return Ok(());
        }
        let (old, new) = (open(case), SessionView::open(&path).unwrap());
        same("is migrated", (old.is_migrated(), new.is_migrated()), (true, false))?;
        same("entries", old.entries().count(), new.entries().count())?;
        for (old, new) in old.entries().zip(new.entries()) {
            let line = old.line();
            same(&format!("line {line}"), old.text().unwrap().json().text(), new.text().unwrap().json().text())?;
            same(&format!("id on line {line}"), old.id(), new.id())?;
            same(
                &format!("parent on line {line}"),
                old.parent().and_then(|p| p.id()),
                new.parent().and_then(|p| p.id()),
            )?;
            same(&format!("role on line {line}"), old.role(), new.role())?;
        }
        Ok(())
    });
    for case in cases() {
        migrated += usize::from(fixtures().join(format!("{case}.migrated.jsonl")).exists());
    }
    assert!(migrated >= 7, "only {migrated} migrated files found");
}

// R45: a line that needs no change is handed out byte for byte.
#[test]
fn current_entries_are_their_lines() {
    for_each_case(|case| {
        let view = open(case);
        if view.is_migrated() {
            return Ok(());
        }
        let bytes = std::fs::read(fixtures().join(format!("{case}.jsonl"))).unwrap();
        for entry in view.entries() {
            let (from, len) = (entry.offset() as usize, entry.len() as usize);
            // U3: one over several lines is handed out in one.
            let line: Vec<u8> =
                bytes[from..from + len].iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
            same("text", entry.text().unwrap().json().bytes(), &line)?;
        }
        Ok(())
    });
}

// From a file, from bytes and from a reader, with one thread and several: the same session.
#[test]
fn every_source_gives_the_same() {
    for_each_case(|case| {
        let path = fixtures().join(format!("{case}.jsonl"));
        let bytes = std::fs::read(&path).unwrap();
        let blobs = fixtures().join("blobs");
        let from_file = open(case);
        let options = || ViewOptions::new().blobs(&blobs);
        for other in [options().read_bytes(bytes.clone()).unwrap(), options().read_from(&bytes[..]).unwrap()] {
            same("context", other.context(Leaf::Last).unwrap(), from_file.context(Leaf::Last).unwrap())?;
            same("report", other.report().unwrap(), from_file.report().unwrap())?;
            same("usage", other.usage(), from_file.usage())?;
        }
        Ok(())
    });
}
