//! A made-up home with an agent's sessions.

use leaflog::{DirNaming, Environment, ManagerOptions};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
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
