//! The sessions of coding agents: append-only JSONL trees with a movable leaf.
//!
//! A session file holds one JSON object a line: a header, then entries that name their parents.
//! Moving to another branch moves a pointer, the *leaf*; what the model is sent is rebuilt from
//! the path between the leaf and the root. `leaflog` reads every file that such agents have
//! written, whatever happened to it, migrates older versions, and rebuilds that context.
//!
//! One idea carries the library: **an entry is its JSON text, plus an index**. Opening a session
//! is one strict, streaming scan that keeps 32 bytes an entry and an id map; text stays on disk
//! until somebody asks, and what nobody changes keeps every byte.
//!
//! ```
//! use leaflog::{Leaf, SessionView, ViewOptions};
//!
//! # fn main() -> leaflog::Result<()> {
//! let file = r#"{"type":"session","version":3,"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada"}
//! {"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"Hello"}}
//! "#;
//! let session = ViewOptions::new().read_bytes(file)?;
//! assert_eq!(session.leaf().and_then(|leaf| leaf.id()).as_deref(), Some("a1b2c3d4"));
//!
//! let context = session.context(Leaf::Last)?;
//! let message = context.messages().next().expect("one message");
//! assert_eq!(message.get_str("content").as_deref(), Some("Hello"));
//! assert!(session.report()?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! A [`SessionManager`] works on a session. An append is one `write` under the session's lock, which
//! nothing that happens to the process takes back; `flush` makes it survive a power cut. An append that cannot be
//! written leaves its entry in memory: [`AppendError`] says so, and has its id.
//!
//! ```
//! use leaflog::{ManagerOptions, TitleSource};
//!
//! # fn main() -> leaflog::Result<()> {
//! # let temp = tempfile::tempdir().expect("a temporary directory");
//! # let dir = temp.path();
//! let mut session = ManagerOptions::new().agent_dir(&dir).create("/home/ada/shop")?;
//! let question = session.append_message(r#"{"role":"user","content":"Hello"}"#)?;
//! session.append_message(r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#)?;
//! session.set_session_name("Greetings", TitleSource::User)?;
//!
//! // Another answer to the same question: a branch.
//! session.branch(&question)?;
//! session.append_message(r#"{"role":"assistant","content":[{"type":"text","text":"Hello!"}]}"#)?;
//! assert_eq!(session.leaves().len(), 2);
//! session.close()?;
//! # Ok(())
//! # }
//! ```

mod blob;
mod breadcrumb;
mod context;
mod discovery;
mod entry;
mod error;
mod hex;
#[cfg(feature = "history")]
mod history;
mod json;
mod load;
mod manager;
mod migrate;
mod paths;
mod persist;
mod random;
mod report;
mod storage;
mod text;
mod tree;
mod view;
#[cfg(feature = "history")]
mod words;

#[doc(hidden)]
pub mod internals;

pub use blob::{Blob, BlobHash, BlobStore};
pub use context::{ContextItem, ContextPlan, SessionContext};
pub use discovery::{Candidates, Listing, RecentSession, Resumable, Scope, SessionFinder, SessionInfo};
pub use entry::time::format as format_time;
pub use entry::{
    Body, CURRENT_SESSION_VERSION, EntryKind, EntryText, Generator, Header, Role, SequenceGenerator, Usage,
    images::is_image_data_url,
};
pub use error::{AppendError, Error, ErrorCode, Result};
#[cfg(feature = "history")]
pub use history::{HistoryEntry, HistoryQuery, HistoryStorage};
pub use json::{Json, JsonKind};
pub use manager::{
    ArtifactManager, Compaction, CustomMessage, Durability, FlushWait, Fork, LockWait, Logger, ManagerOptions,
    MigrationRewrite, PersistStatus, SessionInit, SessionManager, SessionState, TitleSource,
};
pub use paths::{AgentDirs, DirNaming, Environment, session_roots};
pub use report::{
    DuplicateId, EmptyCompaction, Fragment, LoadReport, MissingBlob, MissingParent, SkipReason, SkippedLine,
    SpreadValue, TrailingText,
};
pub use storage::conformance;
pub use storage::{
    FileSessionStorage, MemorySessionStorage, SessionStorage, SessionStorageWriter, StorageStat, WriterMode,
};
pub use view::{EntryReader, EntryRef, Leaf, SessionView, ViewOptions, parse_session_entries};

#[cfg(test)]
extern crate self as leaflog;
#[cfg(test)]
#[path = "../tests/model/mod.rs"]
mod model;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

/// The samples of the README are compiled and run too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
