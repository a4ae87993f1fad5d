//! The session manager as a user of the library sees it: what each member does to memory and to
//! the bytes of the file. Expected bytes are written by hand.
#![allow(clippy::unwrap_used)]

#[path = "manager/artifacts.rs"]
mod artifacts;
#[path = "manager/bytes.rs"]
mod bytes;
#[path = "manager/common.rs"]
mod common;
#[path = "manager/copies.rs"]
mod copies;
#[path = "manager/files.rs"]
mod files;
#[path = "manager/life.rs"]
mod life;
#[path = "manager/locks.rs"]
mod locks;
#[path = "manager/migration.rs"]
mod migration;
#[path = "manager/moves.rs"]
mod moves;
#[path = "manager/names.rs"]
mod names;
#[path = "manager/opening.rs"]
mod opening;
#[path = "manager/rewrites.rs"]
mod rewrites;
#[path = "manager/states.rs"]
mod states;
mod support;
#[path = "manager/taken_in.rs"]
mod taken_in;
#[path = "manager/tree.rs"]
mod tree;
