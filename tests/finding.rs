//! Finding sessions: folders, listing, resuming, breadcrumbs, deleting (R1-R3, R38-R41, R55-R58, and part C).
#![allow(clippy::unwrap_used)]

#[path = "finding/common.rs"]
mod common;
#[path = "finding/dirs.rs"]
mod dirs;
