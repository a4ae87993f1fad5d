//! Older versions on disk (R10-R12).

use super::common::{ASSISTANT, Dir, file, ids, read};
use leaflog::{Leaf, ManagerOptions, MigrationRewrite, SessionView, TitleSource};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The names of all cases with a migrated file.
fn cases() -> Vec<String> {
    let mut cases: Vec<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|file| {
            file.unwrap().file_name().into_string().unwrap().strip_suffix(".migrated.jsonl").map(str::to_owned)
        })
        .collect();
    cases.sort();
    assert!(cases.len() >= 7, "only {cases:?} found");
    cases
}

/// A copy of a case in a folder of its own, the file as it is and as it will be.
fn case(dir: &Dir, name: &str) -> (PathBuf, Vec<u8>, Vec<u8>) {
    let old = std::fs::read(fixtures().join(format!("{name}.jsonl"))).unwrap();
    let new = std::fs::read(fixtures().join(format!("{name}.migrated.jsonl"))).unwrap();
    assert_ne!(old, new);
    // The picture of a blob is not written into the file.
    std::fs::create_dir_all(dir.agent()).unwrap();
    if !dir.blobs().exists() {
        std::fs::create_dir(dir.blobs()).unwrap();
        for blob in std::fs::read_dir(fixtures().join("blobs")).unwrap() {
            let blob = blob.unwrap();
            std::fs::copy(blob.path(), dir.blobs().join(blob.file_name())).unwrap();
        }
    }
    (dir.put(&format!("{name}.jsonl"), &old), old, new)
}

#[track_caller]
fn assert_bytes(path: &Path, want: &[u8], what: &str) {
    let got = std::fs::read(path).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(want), "{what}");
    assert_eq!(got, want, "{what}");
}

// R12: opening writes the file anew at once.
#[test]
fn r12_immediate() {
    for name in cases() {
        let dir = Dir::new();
        let (path, _, new) = case(&dir, &name);
        let m = dir.options().open(&path).unwrap();
        assert_bytes(&path, &new, &name);
        assert!(!m.is_migrated(), "{name}");
        assert_eq!(m.header().version, 3, "{name}");
        assert_eq!(m.persist_status().unsaved, 0);
        let view = leaflog::ViewOptions::new().blobs(dir.blobs()).open(&path).unwrap();
        assert_eq!(view.context(Leaf::Last).unwrap(), m.context(Leaf::Last).unwrap(), "{name}");
        // And not a second time.
        drop(m);
        let inode =
            |path: &Path| std::fs::metadata(path).map(|metadata| (metadata.len(), metadata.modified().unwrap()));
        let before = inode(&path).unwrap();
        dir.options().open(&path).unwrap();
        assert_eq!(inode(&path).unwrap(), before, "{name}");
    }
}

// R12: deferred, the file stays as it is until the next change that is written.
#[test]
fn r12_deferred() {
    type Change = fn(&mut leaflog::SessionManager);
    let changes: [(&str, Change); 4] = [
        ("append", |m| drop(m.append_message(ASSISTANT).unwrap())),
        ("name", |m| assert!(m.set_session_name("N", TitleSource::User).unwrap())),
        ("rewrite", |m| m.rewrite_entries(&[]).unwrap()),
        ("ensure", |m| m.ensure_on_disk().unwrap()),
    ];
    for name in cases() {
        for (what, change) in changes {
            let dir = Dir::new();
            let (path, old, new) = case(&dir, &name);
            let what = format!("{name}, {what}");
            let mut m = dir.options().migration_rewrite(MigrationRewrite::Deferred).open(&path).unwrap();
            m.flush().unwrap();
            m.branch(&ids(&m)[0]).unwrap();
            m.close().unwrap();
            assert_bytes(&path, &old, &what);
            assert!(m.is_migrated());
            change(&mut m);
            assert!(!m.is_migrated(), "{what}");
            let written = read(&path);
            let (header, entries) = written.split_once('\n').unwrap();
            let new = String::from_utf8(new).unwrap();
            let (new_header, new_entries) = new.split_once('\n').unwrap();
            if what.ends_with("name") {
                let (start, _) =
                    new_header.split_once(",\"title\"").unwrap_or((&new_header[..new_header.len() - 1], ""));
                assert_eq!(header, format!("{start},\"title\":\"N\",\"titleSource\":\"user\"}}"), "{what}");
            } else {
                assert_eq!(header, new_header, "{what}");
            }
            assert!(entries.starts_with(new_entries), "{what}");
            assert_eq!(
                entries.lines().count(),
                new_entries.lines().count() + usize::from(what.ends_with("append")),
                "{what}"
            );
        }
    }
}

// R12: the same through a storage.
#[test]
fn r12_in_a_storage() {
    use leaflog::{MemorySessionStorage, SessionStorage as _};
    for name in cases().into_iter().filter(|name| name != "blobs-v1") {
        let dir = Dir::new();
        let (_, old, new) = case(&dir, &name);
        let (old, new) = (String::from_utf8(old).unwrap(), String::from_utf8(new).unwrap());
        let storage = MemorySessionStorage::new();
        let path = Path::new("/sessions/x.jsonl");
        storage.write_text(path, &old).unwrap();
        let deferred = MigrationRewrite::Deferred;
        let mut m = dir.options().storage(storage.clone()).migration_rewrite(deferred).open(path).unwrap();
        assert_eq!(storage.read_text(path).unwrap(), old, "{name}");
        m.append_message(ASSISTANT).unwrap();
        assert!(storage.read_text(path).unwrap().starts_with(&new), "{name}");
        storage.write_text(path, &old).unwrap();
        dir.options().storage(storage.clone()).open(path).unwrap();
        assert_eq!(storage.read_text(path).unwrap(), new, "{name}");
    }
}

// R10, R12: copies of an older session are of the current version, and the source stays.
#[test]
fn copies_of_older_versions() {
    for name in cases() {
        let dir = Dir::new();
        let (path, old, new) = case(&dir, &name);
        let m = dir.options().fork_from(&path, "/home/ada/shop").unwrap();
        assert_bytes(&path, &old, &name);
        assert!(!m.is_migrated() && m.header().version == 3, "{name}");
        let source = SessionView::open(&path).unwrap();
        let entries: Vec<String> = source.entries().map(|e| e.text().unwrap().json().text().into_owned()).collect();
        let written = read(&file(&m));
        assert_eq!(written.lines().skip(1).collect::<Vec<_>>(), entries, "{name}");
        let new = String::from_utf8(new).unwrap();
        assert!(entries.iter().all(|entry| new.contains(entry.as_str())), "{name}");
    }
}

// R12: a read-only view never writes.
#[test]
fn a_view_writes_nothing() {
    for name in cases() {
        let dir = Dir::new();
        let (path, old, _) = case(&dir, &name);
        let view = SessionView::open(&path).unwrap();
        assert!(view.is_migrated());
        view.context(Leaf::Last).unwrap();
        assert_bytes(&path, &old, &name);
    }
    let _: ManagerOptions = ManagerOptions::new();
}

// R10, R12, R53f: many open an old file at once, and each appends: all derive the same ids, and
// nothing is lost.
#[test]
fn r53f_many_migrate_at_once() {
    for when in [MigrationRewrite::Immediate, MigrationRewrite::Deferred] {
        let dir = Dir::new();
        let mut old = String::from(
            "{\"type\":\"session\",\"id\":\"1f9d2a6b9c0d1234\",\"timestamp\":\"2026-02-16T10:20:30.000Z\",\"cwd\":\"/home/ada/shop\"}\n",
        );
        for number in 0..500 {
            old.push_str(&format!(
                "{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{number}\"}}}}\n"
            ));
        }
        let path = dir.put("old.jsonl", &old);
        let open = || ManagerOptions::new().agent_dir(dir.agent()).migration_rewrite(when).open(&path).unwrap();
        let before: Vec<String> = ids(&SessionView::open(&path).unwrap());
        let start = std::sync::Barrier::new(6);
        let appended: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let mut m = open();
                        assert_eq!(ids(&m)[..500], before);
                        (0..20).map(|_| m.append_message(ASSISTANT).unwrap()).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let view = SessionView::open(&path).unwrap();
        assert_eq!((view.header().version, view.entries().count()), (3, 620));
        assert_eq!(ids(&view)[..500], before);
        let there: std::collections::HashSet<String> = ids(&view).into_iter().collect();
        assert!(appended.iter().all(|id| there.contains(id)));
        assert!(view.report().unwrap().is_empty());
    }
}
