//! The C interface of leaflog: what `include/leaflog.h` declares.
//!
//! Nothing here knows a rule of sessions; every function converts its arguments, calls the core
//! and converts what comes back. The contract with callers is docs/c-api.md.
//!
//! - [`abi`] reads what C hands in and writes what it asks for: with the calls of a caller's own
//!   functions, all the unsafe code there is.
//! - [`table`] knows every handle and text that was handed out. A handle is a number, not an
//!   address, so a wrong one is looked up in vain and never followed.
//! - [`error`] has the guard that every function runs in: no panic leaves it.
#![allow(
    unsafe_code,
    non_camel_case_types,
    reason = "functions are exported without mangling, under the names C programs write"
)]

mod abi;
mod append;
mod artifacts;
mod blobs;
mod callbacks;
#[cfg(any(test, fuzzing))]
pub mod calls;
mod context;
mod entries;
mod error;
mod finding;
mod folders;
mod generator;
mod history;
mod life;
mod options;
mod read;
mod session;
mod status;
mod storage;
mod table;
mod version;
