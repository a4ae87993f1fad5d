//! Where the sessions are kept, and where ids and times come from.

use super::ops::LockFile;
use leaflog::{FileSessionStorage, Generator, ManagerOptions, MemorySessionStorage, MigrationRewrite, SessionStorage};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Files,
    Memory,
    FileStorage,
    SharedFiles,
    Nowhere,
}

pub struct Place {
    pub place: Where,
    /// Older files are migrated with the first change, not when they are opened (R12).
    pub deferred: bool,
    dir: tempfile::TempDir,
    memory: MemorySessionStorage,
}

thread_local! {
    /// The step that is being done; each is a second.
    static STEP: Cell<i64> = const { Cell::new(0) };
    static ENTRIES: Cell<u32> = const { Cell::new(0) };
    static SESSIONS: Cell<u64> = const { Cell::new(0) };
}

/// Ids that count up over all managers of a test.
struct Sequence;

impl Generator for Sequence {
    fn now_ms(&self) -> i64 {
        now_ms()
    }

    fn entry_id(&self) -> u32 {
        ENTRIES.set(ENTRIES.get() + 1);
        ENTRIES.get()
    }

    fn session_id(&self) -> String {
        SESSIONS.set(SESSIONS.get() + 1);
        last_session()
    }
}

pub fn now_ms() -> i64 {
    // date -u -d 2026-02-16T10:00:00Z +%s000
    1_771_236_000_000 + STEP.get() * 1000
}

/// The time of the step, as entries have it.
pub fn now() -> String {
    let step = STEP.get();
    format!("2026-02-16T{:02}:{:02}:{:02}.000Z", 10 + step / 3600, step / 60 % 60, step % 60)
}

pub fn next_step() {
    STEP.set(STEP.get() + 1);
}

/// The id of the session that was made last.
pub fn last_session() -> String {
    format!("{:016x}", SESSIONS.get())
}

/// The ids of the entries that were made last.
pub fn last_entries(count: usize) -> Vec<String> {
    let last = ENTRIES.get();
    (0..count as u32).rev().map(|back| format!("{:08x}", last - back)).collect()
}

/// The artifacts in each folder.
pub type Artifacts = BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>>;

impl Place {
    pub fn new(place: Where, deferred: bool) -> Self {
        STEP.set(0);
        ENTRIES.set(0);
        SESSIONS.set(0);
        // Syncing to a disk takes long.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Self { place, deferred, dir, memory: MemorySessionStorage::new() }
    }

    /// Whether sessions are files: a storage of files means the same (B10).
    pub fn is_files(&self) -> bool {
        matches!(self.place, Where::Files | Where::FileStorage | Where::SharedFiles)
    }

    pub fn options(&self) -> ManagerOptions {
        let when = if self.deferred { MigrationRewrite::Deferred } else { MigrationRewrite::Immediate };
        let options = ManagerOptions::new()
            .agent_dir(self.dir.path().join("agent"))
            .generator(Sequence)
            .migration_rewrite(when)
            .lock_timeout(Duration::ZERO);
        match self.place {
            Where::Files | Where::Nowhere => options,
            Where::Memory => options.storage(self.memory.clone()),
            Where::FileStorage => options.storage(FileSessionStorage),
            Where::SharedFiles => options.storage(Arc::new(FileSessionStorage)),
        }
    }

    /// The folder of the sessions of a project.
    pub fn project(&self, cwd: &Path) -> PathBuf {
        let name = cwd.to_str().unwrap().trim_start_matches('/').replace('/', "-");
        self.dir.path().join(format!("agent/sessions/--{name}--"))
    }

    pub fn blobs(&self) -> PathBuf {
        self.dir.path().join("agent/blobs")
    }

    pub fn read(&self, path: &Path) -> Option<Vec<u8>> {
        match self.place {
            Where::Memory => self.memory.read(path).ok(),
            _ => fs::read(path).ok(),
        }
    }

    /// The lines of a file that are not blank, without what a rewrite drops around them (R47).
    pub fn lines(&self, path: &Path) -> Vec<String> {
        // A program may have cut a line inside a character.
        let bytes = self.read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines = text.split('\n').map(|line| line.trim_matches([' ', '\r', '\0']));
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Puts another file at the path.
    pub fn replace(&self, path: &Path, bytes: &[u8]) {
        match self.place {
            Where::Memory => self.memory.write(path, bytes).unwrap(),
            _ => {
                let temp = path.with_extension("new");
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&temp, bytes).unwrap();
                fs::rename(&temp, path).unwrap();
            }
        }
    }

    /// Appends as a program that knows no lock.
    pub fn append(&self, path: &Path, bytes: &[u8]) {
        match self.place {
            Where::Memory => self.replace(path, &[&self.read(path).unwrap(), bytes].concat()),
            _ => {
                std::io::Write::write_all(&mut fs::OpenOptions::new().append(true).open(path).unwrap(), bytes).unwrap()
            }
        }
    }

    /// Writes over the file that is at the path.
    pub fn write_over(&self, path: &Path, bytes: &[u8]) {
        match self.place {
            Where::Memory => self.replace(path, bytes),
            _ => fs::write(path, bytes).unwrap(),
        }
    }

    pub fn cut(&self, path: &Path, len: usize) {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len as u64).unwrap();
    }

    pub fn remove(&self, path: &Path) {
        match self.place {
            Where::Memory => self.memory.unlink(path).unwrap(),
            _ => fs::remove_file(path).unwrap(),
        }
    }

    pub fn remove_if_there(&self, path: &Path) {
        if self.read(path).is_some() {
            self.remove(path);
        }
    }

    /// What is in the folders of sessions: no hidden files, nothing that was set aside.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = super::world::PROJECTS.iter().map(|cwd| self.project(Path::new(cwd))).collect();
        let mut files: Vec<PathBuf> = match self.place {
            Where::Memory => folders.iter().flat_map(|dir| self.memory.list_files(dir, "*")).collect(),
            _ => folders.iter().flat_map(|dir| FileSessionStorage.list_files(dir, "*")).collect(),
        };
        files.retain(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !name.starts_with('.') && !name.contains(".invalid-")
        });
        files.sort();
        files
    }

    /// The artifacts that are in files.
    pub fn artifacts(&self) -> Artifacts {
        let mut found = Artifacts::new();
        let entries = |dir: &Path| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
        for project in super::world::PROJECTS.iter().map(|cwd| self.project(Path::new(cwd))) {
            for dir in entries(&project).filter(|path| path.is_dir()) {
                let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
                let files = entries(&dir).map(|path| (name(&path), fs::read(&path).unwrap())).collect();
                found.insert(dir, files);
            }
        }
        found
    }

    /// The lock file of a session, and the files that were it before.
    fn lock_files(&self, session: &Path) -> (PathBuf, Vec<PathBuf>) {
        let name = format!(".{}.lock", session.file_name().unwrap().to_str().unwrap());
        let before = format!("{name}-before-");
        let entries = fs::read_dir(session.parent().unwrap()).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        let is_before = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&before);
        (session.with_file_name(&name), paths.filter(is_before).collect())
    }

    /// Does something to the lock file of a session. It has another name in any case.
    pub fn change_lock_file(&self, session: &Path, how: LockFile) {
        let (lock, before) = self.lock_files(session);
        if !lock.exists() {
            return;
        }
        let name = lock.file_name().unwrap().to_str().unwrap();
        let other = lock.with_file_name(format!("{name}-before-{}", before.len()));
        fs::hard_link(&lock, &other).unwrap();
        match how {
            LockFile::Removed => fs::remove_file(lock).unwrap(),
            LockFile::Linked => {}
            LockFile::Replaced => {
                let new = lock.with_file_name("new-lock");
                fs::write(&new, "").unwrap();
                fs::rename(new, lock).unwrap();
            }
        }
    }

    /// Holds a session's lock as another process would, until it is dropped. An append to a file that is as
    /// it was known takes the lock it had before: so that is held too.
    pub fn hold_lock(&self, session: &Path) -> Vec<fs::File> {
        fs::create_dir_all(session.parent().unwrap()).unwrap();
        let (lock, before) = self.lock_files(session);
        let mut held: Vec<fs::File> = vec![fs::File::create(lock).unwrap()];
        held.extend(before.iter().map(|path| fs::File::open(path).unwrap()));
        for file in &held {
            // Several names may be of one file.
            let _: Result<(), fs::TryLockError> = file.try_lock();
        }
        held
    }
}
