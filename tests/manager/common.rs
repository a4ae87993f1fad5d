//! A folder to work in, and ids and times that are known beforehand.

use leaflog::{Generator, ManagerOptions, SessionManager};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub const NOW: &str = "2026-02-16T10:20:30.000Z";
pub const USER: &str = r#"{"role":"user","content":"Hello"}"#;
pub const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

/// Entry ids 00000001, 00000002…; session ids with a letter of their own; one moment.
struct Sequence {
    letter: char,
    entries: AtomicU32,
    sessions: AtomicU32,
}

impl Generator for Sequence {
    fn now_ms(&self) -> i64 {
        // date -u -d 2026-02-16T10:20:30Z +%s000
        1_771_237_230_000
    }

    fn entry_id(&self) -> u32 {
        self.entries.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn session_id(&self) -> String {
        format!("{}{:015x}", self.letter, self.sessions.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Session ids a000000000000001, a000000000000002…
pub fn sequence_a() -> impl Generator + 'static {
    Sequence { letter: 'a', entries: AtomicU32::new(0), sessions: AtomicU32::new(0) }
}

/// Session ids b000000000000001, b000000000000002…; entry ids from 000000b1.
pub fn sequence_b() -> impl Generator + 'static {
    Sequence { letter: 'b', entries: AtomicU32::new(0xb0), sessions: AtomicU32::new(0) }
}

pub struct Dir(tempfile::TempDir);

impl Dir {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn agent(&self) -> PathBuf {
        self.path().join("agent")
    }

    pub fn blobs(&self) -> PathBuf {
        self.agent().join("blobs")
    }

    /// The folder of all session folders.
    pub fn sessions(&self) -> PathBuf {
        self.agent().join("sessions")
    }

    /// The folder of the project `/home/ada/shop`.
    pub fn shop(&self) -> PathBuf {
        self.sessions().join("--home-ada-shop--")
    }

    pub fn options(&self) -> ManagerOptions {
        ManagerOptions::new().agent_dir(self.agent()).generator(sequence_a())
    }

    /// A new session of the project `/home/ada/shop`.
    pub fn create(&self) -> SessionManager {
        self.options().create("/home/ada/shop").unwrap()
    }

    /// Puts a session file into the project's folder.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::create_dir_all(self.shop()).unwrap();
        let path = self.shop().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// The manager's session file.
pub fn file(manager: &SessionManager) -> PathBuf {
    manager.session_file().unwrap().to_owned()
}

/// The bytes of the manager's session file, as text.
pub fn text(manager: &SessionManager) -> String {
    read(&file(manager))
}

pub fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

/// Lines, each with its newline.
pub fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The ids of all entries.
pub fn ids(view: &leaflog::SessionView) -> Vec<String> {
    view.entries().map(|entry| entry.id().unwrap().into_owned()).collect()
}

pub fn leaf(view: &leaflog::SessionView) -> Option<String> {
    view.leaf().and_then(|leaf| leaf.id()).map(|id| id.into_owned())
}

/// The names in a folder, hidden ones too, in order.
pub fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What a text parses to.
pub fn json(text: impl AsRef<str>) -> serde_json::Value {
    serde_json::from_str(text.as_ref()).unwrap()
}
