//! Artifacts (part C): where they are, how they are numbered, and what is no artifact.

use super::common::{ASSISTANT, Dir, file, names_in};
use leaflog::{ArtifactManager, ErrorCode};
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

// A fork has none of its source's; artifacts are in the session's folder after a switch back.
#[test]
fn forks_have_their_own() {
    let dir = Dir::new();
    let mut m = dir.create();
    m.append_message(ASSISTANT).unwrap();
    m.save_artifact(b"x", "bash").unwrap();
    let old = file(&m);
    m.fork().unwrap();
    assert_eq!(m.artifact_path("0"), None);
    m.set_session_file(&old).unwrap();
    assert!(m.artifact_path("0").is_some());
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
