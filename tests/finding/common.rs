//! A made-up home with an agent's sessions.

use leaflog::{
    DirNaming, Environment, Error, ManagerOptions, MemorySessionStorage, Result, SessionStorage, SessionStorageWriter,
    StorageStat, WriterMode,
};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// A home of its own; the folders of a project are made in it.
pub struct Home {
    _dir: tempfile::TempDir,
    /// Links followed.
    pub path: PathBuf,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        Self { _dir: dir, path }
    }

    pub fn environment(&self) -> Environment {
        let home = ("HOME", self.path.clone().into_os_string());
        Environment::from_vars::<_, OsString>([home, ("TMPDIR", "/nowhere/tmp".into())])
    }

    pub fn options(&self) -> ManagerOptions {
        ManagerOptions::new().environment(self.environment())
    }

    pub fn home_relative(&self) -> ManagerOptions {
        self.options().dir_naming(DirNaming::HomeRelative)
    }

    pub fn sessions(&self) -> PathBuf {
        self.path.join(".xcsh/agent/sessions")
    }

    /// The folder of a project below home, made.
    pub fn project(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// The name that the session folder of a project below home has by its whole path.
    pub fn absolute_name(&self, name: &str) -> String {
        let path = self.path.join(name);
        format!("--{}--", path.to_str().unwrap()[1..].replace(['/', '\\', ':'], "-"))
    }

    /// Writes a session with one message into a folder of [`Home::sessions`].
    pub fn session(&self, dir: &str, id: &str, cwd: &Path) -> PathBuf {
        self.file(&format!("{dir}/2026-02-16T10-00-00-000Z_{id}.jsonl"), &text(id, cwd, "hello"))
    }

    /// Writes a file below [`Home::sessions`].
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.sessions().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// A session with one message of the user.
pub fn text(id: &str, cwd: &Path, message: &str) -> String {
    let cwd = serde_json::to_string(cwd.to_str().unwrap()).unwrap();
    let message = serde_json::to_string(message).unwrap();
    format!(
        concat!(
            r#"{{"type":"session","version":3,"id":"{}","timestamp":"2026-02-16T10:00:00.000Z","cwd":{}}}"#,
            "\n",
            r#"{{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:01:00.000Z","#,
            r#""message":{{"role":"user","content":{}}}}}"#,
            "\n"
        ),
        id, cwd, message
    )
}

/// Sets when a file was changed: `second` seconds after a moment in 2023.
pub fn changed_at(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// A storage that counts what is read, with a file that may not be read.
pub struct Watched {
    storage: MemorySessionStorage,
    locked: Option<&'static str>,
    /// How often a beginning was asked for, and a whole text.
    pub asked: Arc<[AtomicUsize; 2]>,
}

impl Watched {
    pub fn new(storage: MemorySessionStorage) -> Self {
        Self { storage, locked: None, asked: Arc::default() }
    }

    /// The files with `locked` in their path may not be read.
    pub fn locked(storage: MemorySessionStorage, locked: &'static str) -> Self {
        Self { locked: Some(locked), ..Self::new(storage) }
    }

    fn check(&self, path: &Path) -> Result<()> {
        match self.locked {
            Some(locked) if path.to_str().unwrap().contains(locked) => {
                Err(Error::io(io::ErrorKind::PermissionDenied.into(), "cannot open the session", path))
            }
            _ => Ok(()),
        }
    }
}

impl SessionStorage for Watched {
    fn ensure_dir(&self, dir: &Path) -> Result<()> {
        self.storage.ensure_dir(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        self.storage.exists(path)
    }
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        self.asked[1].fetch_add(1, Ordering::Relaxed);
        self.check(path)?;
        self.storage.read(path)
    }
    fn read_prefix(&self, path: &Path, most: usize) -> Result<Vec<u8>> {
        self.asked[0].fetch_add(1, Ordering::Relaxed);
        self.check(path)?;
        self.storage.read_prefix(path, most)
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.storage.write(path, bytes)
    }
    fn stat(&self, path: &Path) -> Result<StorageStat> {
        self.storage.stat(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.storage.rename(from, to)
    }
    fn unlink(&self, path: &Path) -> Result<()> {
        self.storage.unlink(path)
    }
    fn list_files(&self, dir: &Path, pattern: &str) -> Vec<PathBuf> {
        self.storage.list_files(dir, pattern)
    }
    fn list_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        self.storage.list_dirs(dir)
    }
    fn open_writer(&self, path: &Path, mode: WriterMode) -> Result<Box<dyn SessionStorageWriter>> {
        self.storage.open_writer(path, mode)
    }
}
