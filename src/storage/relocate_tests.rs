use super::move_sessions;
use crate::storage::disk::{
    self,
    faults::{self, Fault},
};
use crate::storage::in_use::InUse;
use crate::storage::lock::{SessionLock, path_for};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

struct Dirs {
    base: tempfile::TempDir,
    old: PathBuf,
    new: PathBuf,
}

impl Dirs {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let (old, new) = (base.path().join("old"), base.path().join("new"));
        fs::create_dir(&old).unwrap();
        Self { base, old, new }
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.base.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self) -> crate::Result<usize> {
        move_sessions(&self.old, &self.new, |_| true)
    }

    /// Every file below, but for locks of both kinds, with its text.
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut dirs = vec![self.base.path().to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension() != Some("lock".as_ref()) && path.extension() != Some("use".as_ref()) {
                    let name = path.strip_prefix(self.base.path()).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read_to_string(path).unwrap());
                }
            }
        }
        files
    }
}

fn names<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

#[test]
fn f6_everything_moves() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "A");
    dirs.put("old/a/0.bash.log", "log of A");
    dirs.put("old/a/0-task.jsonl", "task of A");
    dirs.put("old/b.jsonl", "B");
    // What a process that died left beside it.
    dirs.put("old/.b.jsonl.tmp", "half of B");
    dirs.put("old/.b.jsonl.lock", "");
    let before = fs::metadata(dirs.old.join("a.jsonl")).unwrap().modified().unwrap();
    assert_eq!(dirs.run().unwrap(), 2);
    let moved = names([
        ("new/a.jsonl", "A"),
        ("new/a/0.bash.log", "log of A"),
        ("new/a/0-task.jsonl", "task of A"),
        ("new/b.jsonl", "B"),
    ]);
    assert_eq!(dirs.files(), moved);
    assert!(!dirs.old.exists());
    assert_eq!(fs::metadata(dirs.new.join("a.jsonl")).unwrap().modified().unwrap(), before);
    // Nothing to do the second time.
    assert_eq!(dirs.run().unwrap(), 0);
    assert_eq!(dirs.files(), moved);
}

// F6: a file of the same name was skipped, and then removed with the folder.
#[test]
fn f6_nothing_goes_over_what_is_there() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "old A");
    dirs.put("new/a.jsonl", "new A");
    dirs.put("old/b.jsonl", "old B");
    dirs.put("old/b/0.log", "old log");
    dirs.put("new/b/0.log", "new log");
    dirs.put("old/c.jsonl", "C");
    assert_eq!(dirs.run().unwrap(), 1);
    let want = names([
        ("new/a.jsonl", "new A"),
        ("new/b/0.log", "new log"),
        ("new/c.jsonl", "C"),
        ("old/a.jsonl", "old A"),
        ("old/b.jsonl", "old B"),
        ("old/b/0.log", "old log"),
    ]);
    assert_eq!(dirs.files(), want);
}

#[test]
fn f6_what_is_locked_stays() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "A");
    dirs.put("old/b.jsonl", "B");
    let mut lock = SessionLock::new(&dirs.old.join("a.jsonl"), Duration::ZERO);
    let held = lock.acquire(true).unwrap();
    assert_eq!(dirs.run().unwrap(), 1);
    assert_eq!(dirs.files(), names([("new/b.jsonl", "B"), ("old/a.jsonl", "A")]));
    drop(held);
    assert_eq!(dirs.run().unwrap(), 1);
    assert_eq!(dirs.files(), names([("new/a.jsonl", "A"), ("new/b.jsonl", "B")]));
    assert!(!dirs.old.exists() && !path_for(&dirs.new.join("a.jsonl")).exists());
}

// A10: a session that another process has open stays, also while nothing is written to it.
#[test]
fn a10_what_is_open_stays() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "A");
    dirs.put("old/b.jsonl", "B");
    // What a process left that died.
    dirs.put("old/.b.jsonl.use", "moved\0/elsewhere\0");
    let mut one = InUse::new(&dirs.old.join("a.jsonl"));
    let mut another = InUse::new(&dirs.old.join("a.jsonl"));
    one.hold();
    another.hold();
    assert_eq!(dirs.run().unwrap(), 1);
    assert_eq!(dirs.files(), names([("new/b.jsonl", "B"), ("old/a.jsonl", "A")]));
    drop(one);
    assert_eq!(dirs.run().unwrap(), 0);
    drop(another);
    assert_eq!(dirs.run().unwrap(), 1);
    assert_eq!(dirs.files(), names([("new/a.jsonl", "A"), ("new/b.jsonl", "B")]));
    assert!(!dirs.old.exists());
    assert_eq!(fs::read_dir(&dirs.new).unwrap().count(), 2);
}

#[test]
fn f6_what_is_no_session_of_this_project_stays() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "A");
    dirs.put("old/theirs.jsonl", "T");
    dirs.put("old/.hidden.jsonl", "H");
    dirs.put("old/notes.txt", "N");
    dirs.put("old/dir.jsonl/x", "X");
    dirs.put("old/orphan/0.log", "O");
    dirs.put("elsewhere.jsonl", "E");
    #[cfg(unix)]
    std::os::unix::fs::symlink(dirs.base.path().join("elsewhere.jsonl"), dirs.old.join("link.jsonl")).unwrap();
    let before = dirs.files();
    let mine = |path: &Path| !path.ends_with("theirs.jsonl");
    assert_eq!(move_sessions(&dirs.old, &dirs.new, mine).unwrap(), 1);
    let mut want = before;
    want.remove("old/a.jsonl");
    want.insert("new/a.jsonl".into(), "A".into());
    assert_eq!(dirs.files(), want);
    #[cfg(unix)]
    assert!(dirs.old.join("link.jsonl").is_symlink());
    // A folder that is not there has no sessions.
    assert_eq!(move_sessions(&dirs.base.path().join("none"), &dirs.new, |_| true).unwrap(), 0);
}

// Cut at every step, everything is in one of the two places, and the next time does the rest.
#[test]
fn f6_no_step_loses_anything() {
    let script = |at: Option<usize>| {
        let dirs = Dirs::new();
        dirs.put("old/a.jsonl", "A");
        dirs.put("old/a/0.log", "log");
        faults::plan(at.map(|at| (at, Fault::Fails)), true);
        let result = dirs.run();
        (dirs, result, faults::end().len())
    };
    let (_, whole, steps) = script(None);
    assert_eq!(whole.unwrap(), 1);
    assert!(steps >= 4, "{steps} steps");
    for at in 0..steps {
        let (dirs, _, _) = script(Some(at));
        let mut texts: Vec<String> = dirs.files().into_values().collect();
        texts.sort_unstable();
        assert_eq!(texts, ["A", "log"], "step {at}");
        dirs.run().unwrap();
        assert_eq!(dirs.files(), names([("new/a.jsonl", "A"), ("new/a/0.log", "log")]), "step {at}");
        assert!(!dirs.old.exists(), "step {at}");
    }
}

// F6: several processes at it at once; each session moves once, and nothing of the old folder stays.
#[test]
fn f6_several_at_once() {
    let dirs = Dirs::new();
    let sessions = 200;
    for nth in 0..sessions {
        dirs.put(&format!("old/{nth}.jsonl"), &nth.to_string());
        dirs.put(&format!("old/{nth}/0.log"), &nth.to_string());
    }
    let start = std::sync::Barrier::new(4);
    let moved: usize = std::thread::scope(|scope| {
        let run = || {
            start.wait();
            let mut moved = 0;
            // What another holds is left to it.
            while dirs.old.exists() {
                moved += dirs.run().unwrap();
            }
            moved
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(moved, sessions);
    let files = dirs.files();
    assert_eq!(files.len(), 2 * sessions);
    for nth in 0..sessions {
        assert_eq!(files[&format!("new/{nth}.jsonl")], nth.to_string());
        assert_eq!(files[&format!("new/{nth}/0.log")], nth.to_string());
    }
    assert!(!dirs.old.exists());
}

// R57: where nobody can lock a session, nobody can say that it is not in use.
#[cfg(target_os = "linux")]
#[test]
fn f6_nothing_moves_without_locks() {
    let dirs = Dirs::new();
    dirs.put("old/a.jsonl", "A");
    let before = dirs.files();
    // ENOLCK
    faults::plan_every(disk::Op::Lock, Fault::Errno(37));
    assert_eq!(dirs.run().unwrap(), 0);
    faults::end();
    assert_eq!(dirs.files(), before);
    assert_eq!(dirs.run().unwrap(), 1);
}
