//! Everything that reads or writes a session: by position, the operations a write is made of, the
//! lock, files that take another's place, which files there are, and the storages.

pub mod conformance;
pub(crate) mod disk;
mod file;
pub(crate) mod in_use;
pub(crate) mod lock;
mod memory;
pub(crate) mod note;
pub(crate) mod relocate;
mod session_storage;
mod source;
pub(crate) mod temp;
pub(crate) mod walk;

pub use file::FileSessionStorage;
pub(crate) use file::artifacts_dir;
pub use memory::MemorySessionStorage;
pub(crate) use session_storage::other_than_files;
pub use session_storage::{SessionStorage, SessionStorageWriter, StorageStat, WriterMode};
pub(crate) use source::{Source, Window};
pub(crate) use temp::TempFile;
