//! The scripts.

use super::{ASSISTANT, Call, Run, USER, image, in_a_storage, in_files};
use crate::Durability;
use crate::manager::{Compaction, MigrationRewrite, SessionManager};
use crate::view::ViewOptions;
use std::path::PathBuf;

/// Appends of every kind, branches, a name; closed and opened again.
fn life(run: &mut Run<'_>) {
    let cwd = run.place.dir().to_owned();
    run.make(&[], |options| options.create(cwd));
    run.append(|manager| manager.append_message(USER));
    run.append(|manager| manager.append_thinking_level_change(Some("high")));
    run.start();
    run.append(|manager| manager.append_message(USER));
    run.branch(1);
    run.append(|manager| manager.append_model_change("anthropic/claude", None));
    run.append(|manager| {
        let target = manager.entries().next().unwrap().id().unwrap().into_owned();
        manager.append_label_change(&target, Some("here"))
    });
    run.append(|manager| {
        manager.append_compaction(&Compaction { summary: "short", tokens_before: 3, ..Compaction::default() })
    });
    run.append(|manager| manager.append_message(&image()));
    run.write(Call::Write, SessionManager::flush);
    run.rename("A name");
    run.append(|manager| manager.append_custom_entry("state", Some("{}")));
    run.append(|manager| manager.branch_with_summary(None, "what was", None, None));
    run.write(Call::Write, SessionManager::close);
    run.append(|manager| manager.append_message(USER));
    run.write(Call::Write, SessionManager::close);
}

// R29-R32, R54.
#[test]
fn life_in_files() {
    in_files(life);
}

#[test]
fn life_in_a_storage() {
    in_a_storage(life);
}

/// Every append is made to survive a power cut.
#[test]
fn durable_appends() {
    in_files(|run| {
        let cwd = run.place.dir().to_owned();
        run.make(&[], |options| options.durability(Durability::EveryAppend).create(cwd));
        run.start();
        run.append(|manager| manager.append_message(USER));
        run.append(|manager| manager.append_message(&image()));
    });
}

const DAMAGED: &str = concat!(
    r#"{"type":"session","version":3,"id":"0000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada"}"#,
    "\n",
    r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"one"}}"#,
    "\n{\"type\":\"mess\n",
    r#"{"type":"odd","n":1e400,"id":"00000002","parentId":"00000001","timestamp":"2026-02-16T10:21:00.000Z"}"#,
    "\n{\"torn",
);

/// Rewrites of a file with lines that are no entries.
fn rewrites(run: &mut Run<'_>) {
    let path = run.place.sessions().join("damaged.jsonl");
    run.give(&path, DAMAGED);
    run.make(&["{\"type\":\"mess", "{\"torn"], |options| options.open(path));
    run.append(|manager| manager.append_message(USER));
    run.rewrite(0, "changed");
    run.append(|manager| manager.append_message(USER));
    run.rename("First");
    run.rewrite(2, "changed too");
    run.rename("Second");
    run.append(|manager| manager.append_message(ASSISTANT));
}

// R45-R47.
#[test]
fn rewrites_in_files() {
    in_files(rewrites);
}

#[test]
fn rewrites_in_a_storage() {
    in_a_storage(rewrites);
}

/// Sessions made from sessions, and back.
fn copies(run: &mut Run<'_>) {
    let cwd = run.place.dir().to_owned();
    run.make(&[], |options| options.create(cwd));
    run.append(|manager| manager.append_message(&image()));
    run.start();
    let first = run.manager.as_ref().map(|manager| manager.session_file().unwrap().to_owned());
    run.leave(SessionManager::fork);
    run.append(|manager| manager.append_message(USER));
    run.leave(|manager| {
        let leaf = manager.leaf().unwrap().id().unwrap().into_owned();
        manager.create_branched_session(&leaf)
    });
    run.append(|manager| manager.append_message(USER));
    run.write(Call::Write, SessionManager::close);
    run.append(|manager| manager.append_message(USER));
    if let Some(first) = first.filter(|first| run.place.read(first).is_some()) {
        run.leave(|manager| manager.set_session_file(first));
        run.append(|manager| manager.append_message(USER));
    }
}

#[test]
fn copies_in_files() {
    in_files(copies);
}

#[test]
fn copies_in_a_storage() {
    in_a_storage(copies);
}

fn moves(run: &mut Run<'_>) {
    let cwd = run.place.dir().to_owned();
    run.make(&[], |options| options.create(cwd.join("a")));
    run.append(|manager| manager.append_message(USER));
    run.start();
    run.append(|manager| manager.append_message(USER));
    run.move_to(&cwd.join("b"));
    run.append(|manager| manager.append_message(USER));
    run.move_to(&cwd.join("c"));
    run.append(|manager| manager.append_message(&image()));
}

#[test]
fn moves_in_files() {
    in_files(moves);
}

#[test]
fn moves_in_a_storage() {
    in_a_storage(moves);
}

/// A session at a given path: an empty file, and one that is no session.
fn given_paths(run: &mut Run<'_>) {
    let (empty, other) = (run.place.sessions().join("empty.jsonl"), run.place.sessions().join("other.jsonl"));
    run.give(&empty, "");
    run.give(&other, "some notes\n");
    run.make(&[], |options| options.open(&empty));
    run.append(|manager| manager.append_message(USER));
    run.leave(|manager| manager.set_session_file(&other));
    run.append(|manager| manager.append_message(USER));
    // R16: whatever fails, the notes are somewhere.
    let is_notes = |path: &PathBuf| run.place.read(path).is_some_and(|bytes| bytes == b"some notes\n");
    assert!(is_notes(&other) || run.place.visible().iter().any(is_notes));
}

#[test]
fn given_paths_in_files() {
    in_files(given_paths);
}

#[test]
fn given_paths_in_a_storage() {
    in_a_storage(given_paths);
}

const VERSION_1: &str = concat!(
    r#"{"type":"session","id":"0000000000000001","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"one"}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2026-02-16T10:21:01.000Z","message":{"role":"hookMessage","content":"two"}}"#,
    "\n",
);

fn migration(run: &mut Run<'_>, when: MigrationRewrite) {
    let path = run.place.sessions().join("old.jsonl");
    run.give(&path, VERSION_1);
    run.make(&[], |options| options.migration_rewrite(when).open(&path));
    let bytes = run.place.read(&path).unwrap();
    let is_old = bytes == VERSION_1.as_bytes();
    // R12: at once, or with the next change; what failed left the file as it was or wrote it whole.
    let view = ViewOptions::new().read_bytes(bytes).unwrap();
    let is_whole = view.header().version == 3 && view.entries().len() == 2;
    match &run.manager {
        Some(_) => assert_eq!(is_old, when == MigrationRewrite::Deferred),
        None => assert!(is_old || is_whole),
    }
    run.append(|manager| manager.append_message(USER));
    run.append(|manager| manager.append_message(USER));
    run.rename("Old");
}

#[test]
fn migration_at_once_in_files() {
    in_files(|run| migration(run, MigrationRewrite::Immediate));
}

#[test]
fn migration_at_once_in_a_storage() {
    in_a_storage(|run| migration(run, MigrationRewrite::Immediate));
}

#[test]
fn migration_with_the_next_change_in_files() {
    in_files(|run| migration(run, MigrationRewrite::Deferred));
}

#[test]
fn migration_with_the_next_change_in_a_storage() {
    in_a_storage(|run| migration(run, MigrationRewrite::Deferred));
}
