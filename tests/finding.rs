//! Finding sessions: folders, listing, resuming, breadcrumbs, deleting (R1-R3, R38-R41, R55-R58, and part C).
#![allow(clippy::unwrap_used)]

#[path = "finding/breadcrumbs.rs"]
mod breadcrumbs;
#[path = "finding/common.rs"]
mod common;
#[path = "finding/delete.rs"]
mod delete;
#[path = "finding/dirs.rs"]
mod dirs;
#[path = "finding/listing.rs"]
mod listing;
#[path = "finding/projects.rs"]
mod projects;
#[path = "finding/recent.rs"]
mod recent;
#[path = "finding/used.rs"]
mod used;
