//! Artifacts (part C): where they are, how they are numbered, and what is no artifact.

use super::common::{ASSISTANT, Dir, file, names_in, sequence_b};
use leaflog::{ArtifactManager, ErrorCode, SessionManager};
use std::collections::BTreeSet;

// The folder is the session's file without its ending, and is made with the first artifact.
#[test]
fn the_folder() {
    let dir = Dir::new();
    let mut m = dir.create();
    let artifacts = m.artifacts_dir().unwrap();
    assert_eq!(artifacts, dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000001"));
    assert_eq!(m.artifact_path("0"), None);
    assert!(!artifacts.exists());
    // Also before the session is on disk.
    assert_eq!(m.save_artifact(b"output\0\xff", "bash").unwrap(), "0");
    assert_eq!(m.artifact_path("0"), Some(artifacts.join("0.bash.log")));
    assert_eq!(std::fs::read(artifacts.join("0.bash.log")).unwrap(), b"output\0\xff");
    assert!(!file(&m).exists());
    // A name that ends otherwise has none; neither have names of this folder and the one above.
    for name in ["x.json", "x", ".jsonl", "..jsonl", "...jsonl"] {
        assert!(ArtifactManager::new(dir.shop().join(name)).is_none(), "{name}");
    }
    m.set_session_file(dir.shop().join("odd.txt")).unwrap();
    assert_eq!((m.artifacts_dir(), m.artifact_path("0")), (None, None));
    assert!(m.allocate_artifact_path("bash").unwrap().is_none());
    // Kept in memory then.
    assert_eq!(m.save_artifact(b"x", "bash").unwrap(), "0");
    // Another session has its own.
    m.new_session(None).unwrap();
    assert_eq!(m.save_artifact(b"x", "read").unwrap(), "0");
    assert_eq!(names_in(&m.artifacts_dir().unwrap()), ["0.read.log"]);
}

// Ids count up from the largest that is there.
#[test]
fn ids_count_up() {
    let dir = Dir::new();
    let mut m = dir.create();
    let artifacts = m.artifacts_dir().unwrap();
    let (id, path) = m.allocate_artifact_path("bash").unwrap().unwrap();
    assert_eq!((&*id, &path), ("0", &artifacts.join("0.bash.log")));
    assert_eq!(std::fs::read(&path).unwrap(), b"");
    assert_eq!(m.save_artifact(b"", "read").unwrap(), "1");
    std::fs::write(artifacts.join("41.some.tool.log"), "").unwrap();
    assert_eq!(m.save_artifact(b"", "bash").unwrap(), "42");
    // What goes leaves a gap, unless it was the last.
    std::fs::remove_file(artifacts.join("1.read.log")).unwrap();
    std::fs::remove_file(artifacts.join("42.bash.log")).unwrap();
    assert_eq!(m.save_artifact(b"", "bash").unwrap(), "42");
    assert_eq!(m.artifact_path("41"), Some(artifacts.join("41.some.tool.log")));
    assert_eq!(m.artifact_path("1"), None);
    // What is no artifact does not count.
    for name in ["99.log", "99.bash.txt", "x.bash.log", "-99.bash.log", "+99.bash.log", "99bash.log", ".99.bash.log"] {
        std::fs::write(artifacts.join(name), "").unwrap();
    }
    std::fs::create_dir(artifacts.join("subagent")).unwrap();
    assert_eq!(m.save_artifact(b"", "bash").unwrap(), "43");
    for id in ["99", "-99", "+99", "", "x", "043", " 43", "43.bash", "../43"] {
        assert_eq!(m.artifact_path(id), None, "{id}");
    }
    // The largest number there is has no next one.
    std::fs::write(artifacts.join("18446744073709551615.x.log"), "").unwrap();
    std::fs::write(artifacts.join("99999999999999999999999.x.log"), "").unwrap();
    assert_eq!(m.save_artifact(b"", "bash").unwrap(), "44");
}

// F25: a tool type is a plain name. What is refused makes nothing.
#[test]
fn tool_types() {
    let dir = Dir::new();
    let mut m = dir.create();
    for wrong in ["", "/", "a/b", "../x", "a\\b", "a\0b"] {
        assert_eq!(m.allocate_artifact_path(wrong).unwrap_err().code(), ErrorCode::InvalidArgument, "{wrong:?}");
        assert_eq!(m.save_artifact(b"x", wrong).unwrap_err().code(), ErrorCode::InvalidArgument, "{wrong:?}");
    }
    assert!(!m.artifacts_dir().unwrap().exists());
    for (id, plain) in ["mcp__x:y", ".", "..", "a b", "é漢", "a.log"].into_iter().enumerate() {
        assert_eq!(m.save_artifact(b"x", plain).unwrap(), id.to_string(), "{plain}");
        let path = m.artifact_path(&id.to_string()).unwrap();
        assert_eq!(path.file_name().unwrap().to_str(), Some(&*format!("{id}.{plain}.log")));
    }
    // A name the file system does not take is an error with the path.
    let error = m.save_artifact(b"x", &"t".repeat(300)).unwrap_err();
    assert_eq!((error.code(), error.path().is_some()), (ErrorCode::Io, true));
    assert_eq!(m.save_artifact(b"x", "bash").unwrap(), "6");
}

// A session that is kept nowhere keeps its artifacts in memory, until the next session.
#[test]
fn in_memory() {
    let dir = Dir::new();
    let mut m = dir.options().in_memory("/home/ada/shop").unwrap();
    assert_eq!(m.artifacts_dir(), None);
    assert!(m.allocate_artifact_path("bash").unwrap().is_none());
    assert_eq!(m.save_artifact(b"a", "bash").unwrap(), "0");
    assert_eq!(m.save_artifact(b"b", "bash").unwrap(), "1");
    assert_eq!(m.artifact_path("0"), None);
    m.new_session(None).unwrap();
    assert_eq!(m.save_artifact(b"c", "bash").unwrap(), "0");
    assert_eq!(names_in(dir.path()), [""; 0]);
}

// Two that allocate at once, for the same and for different tools, never get one id.
#[test]
fn at_once() {
    let dir = Dir::new();
    let m = dir.create();
    let session = file(&m);
    let allocate = &|tool: String| {
        let artifacts = ArtifactManager::new(&session).unwrap();
        (0..200).map(|_| artifacts.allocate(&tool).unwrap().0).collect::<Vec<String>>()
    };
    let ids: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|number| scope.spawn(move || allocate(format!("tool{}", number / 2)))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let different: BTreeSet<u64> = ids.iter().map(|id| id.parse().unwrap()).collect();
    assert_eq!((ids.len(), different.len(), different.last()), (800, 800, Some(&799)));
}

/// A session with text that names its artifacts 0 and 3, and its last entry.
fn with_artifacts(dir: &Dir) -> (SessionManager, String) {
    let mut m = dir.create();
    assert_eq!(m.save_artifact(b"zero", "bash").unwrap(), "0");
    std::fs::write(m.artifacts_dir().unwrap().join("3.read.log"), "three").unwrap();
    let leaf = m.append_message(r#"{"role":"assistant","content":"see artifact://0 and artifact://3"}"#).unwrap();
    (m, leaf)
}

/// Both are there, and the next is 4.
fn has_artifacts(m: &mut SessionManager) {
    let artifacts = m.artifacts_dir().unwrap();
    assert_eq!(m.artifact_path("0"), Some(artifacts.join("0.bash.log")));
    assert_eq!(std::fs::read(artifacts.join("0.bash.log")).unwrap(), b"zero");
    assert_eq!(std::fs::read(m.artifact_path("3").unwrap()).unwrap(), b"three");
    assert_eq!(m.save_artifact(b"four", "bash").unwrap(), "4");
    assert_eq!(names_in(&artifacts), ["0.bash.log", "3.read.log", "4.bash.log"]);
}

// G5: what the text of a copy names is there, and ids go on after it. The source keeps its own.
#[test]
fn g05_artifacts_come_along() {
    for how in ["fork", "branch", "fork from"] {
        let dir = Dir::new();
        let (mut m, leaf) = with_artifacts(&dir);
        let old = file(&m);
        match how {
            "fork" => drop(m.fork().unwrap().unwrap()),
            "branch" => drop(m.create_branched_session(&leaf).unwrap().unwrap()),
            _ => m = dir.options().generator(sequence_b()).fork_from(&old, "/home/ada/other").unwrap(),
        }
        assert_ne!(file(&m), old);
        has_artifacts(&mut m);
        m.set_session_file(&old).unwrap();
        assert_eq!(names_in(&m.artifacts_dir().unwrap()), ["0.bash.log", "3.read.log"], "{how}");
        has_artifacts(&mut m);
        // One without artifacts brings no directory along.
        let mut m = dir.options().create("/home/ada/third").unwrap();
        let leaf = m.append_message(ASSISTANT).unwrap();
        m.create_branched_session(&leaf).unwrap();
        m.fork().unwrap();
        assert!(!m.artifacts_dir().unwrap().exists());
    }
}

// G5: they take no room where that can be. A fork's are files of their own: the agent copies the
// artifacts of a fork itself, and over a second name of the same file that would fail or empty it.
#[cfg(unix)]
#[test]
fn g05_artifacts_are_linked() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = Dir::new();
    let (mut m, leaf) = with_artifacts(&dir);
    let inode = |m: &SessionManager| std::fs::metadata(m.artifact_path("3").unwrap()).unwrap().ino();
    let first = inode(&m);
    m.create_branched_session(&leaf).unwrap();
    assert_eq!(inode(&m), first);
    m.fork().unwrap();
    assert_ne!(inode(&m), first);
    has_artifacts(&mut m);
}

// G5: only artifacts. A second name of a sub-agent's session would be a second session; a link is
// brought along as what it leads to.
#[cfg(unix)]
#[test]
fn g05_what_stays_behind() {
    let dir = Dir::new();
    let (mut m, leaf) = with_artifacts(&dir);
    let artifacts = m.artifacts_dir().unwrap();
    std::fs::write(artifacts.join("Task.jsonl"), "{}").unwrap();
    std::fs::write(artifacts.join(".Task.jsonl.lock"), "").unwrap();
    std::fs::write(artifacts.join("Task.md"), "done").unwrap();
    std::fs::create_dir(artifacts.join("Task")).unwrap();
    std::os::unix::fs::symlink("0.bash.log", artifacts.join("1.link.log")).unwrap();
    std::os::unix::fs::symlink("nowhere", artifacts.join("2.link.log")).unwrap();
    m.create_branched_session(&leaf).unwrap();
    let artifacts = m.artifacts_dir().unwrap();
    assert_eq!(names_in(&artifacts), ["0.bash.log", "1.link.log", "3.read.log", "Task.md"]);
    assert!(std::fs::symlink_metadata(artifacts.join("1.link.log")).unwrap().is_file());
    assert_eq!(std::fs::read(artifacts.join("1.link.log")).unwrap(), b"zero");
}

// G5: a directory that is in the way is not mixed with the copy's.
#[test]
fn g05_a_directory_in_the_way() {
    let dir = Dir::new();
    let (mut m, leaf) = with_artifacts(&dir);
    let there = dir.shop().join("2026-02-16T10-20-30-000Z_a000000000000002");
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("0.bash.log"), "another's").unwrap();
    let old = file(&m);
    let error = m.create_branched_session(&leaf).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::AlreadyExists, Some(&*there)));
    assert_eq!((file(&m), names_in(&there)), (old, vec!["0.bash.log".to_owned()]));
    assert_eq!(std::fs::read(there.join("0.bash.log")).unwrap(), b"another's");
    // The next id is free.
    m.create_branched_session(&leaf).unwrap();
    has_artifacts(&mut m);
}

// R53a: a lock of another process is waited for as long as the options say, the artifacts' too.
#[test]
fn a_folder_that_is_locked() {
    let dir = Dir::new();
    let mut m = dir.options().lock_timeout(std::time::Duration::from_millis(20)).create(dir.path()).unwrap();
    assert_eq!(m.save_artifact(b"x", "bash").unwrap(), "0");
    let other = std::fs::File::open(m.artifacts_dir().unwrap()).unwrap();
    other.lock().unwrap();
    assert_eq!(m.save_artifact(b"y", "bash").unwrap_err().code(), ErrorCode::Locked);
    assert_eq!(m.artifact_path("1"), None);
    other.unlock().unwrap();
    assert_eq!(m.save_artifact(b"y", "bash").unwrap(), "1");
}
