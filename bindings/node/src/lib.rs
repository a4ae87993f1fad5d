//! leaflog for Node and Bun: the native half of the npm package.
//!
//! Plain functions over opaque handles. Nothing is decided here: arguments are converted, the core
//! is called, results go back as JSON text. What only JavaScript can do, keeping the identity of
//! objects, is done by the package's TypeScript half.
//!
//! - A handle belongs to the engine, which drops it when nobody has it any more; that is the last
//!   resort, `close` comes before.
//! - Text goes to the engine as JSON in strings of one byte a character: those are the cheapest to
//!   make and to parse. What is not Latin-1 is escaped.
//! - A panic is caught in every function and becomes an exception.

#![cfg_attr(test, allow(dead_code, reason = "nothing is registered with an engine in a test"))]

mod append;
mod artifact;
mod blob;
mod discovery;
mod error;
mod free;
mod history;
mod life;
mod make;
mod prints;
mod queue;
mod read;
mod session;
mod storage;
mod text;
