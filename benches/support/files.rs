//! The files the benchmarks read, made once and kept under cargo's target folder.
#![allow(dead_code, reason = "several targets include this file, and each uses only a part of it")]

use crate::sessions::{self, GENERATION, Shape};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How large the files are.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Bytes of the session.
    session: u64,
    /// Bytes of the session whose texts are full of escapes.
    escapes: u64,
    /// Entries of the session of small lines.
    small_lines: u64,
    /// Entries of the chains that are walked.
    chains: &'static [u64],
}

impl Sizes {
    /// For measuring.
    pub const FULL: Self = Self {
        session: 200 << 20,
        escapes: 64 << 20,
        small_lines: 400_000,
        chains: &[1_000, 10_000, 100_000, 1_000_000],
    };
    /// For seeing that everything runs.
    pub const SMALL: Self = Self { session: 5 << 20, escapes: 1 << 20, small_lines: 2_000, chains: &[1_000, 10_000] };

    /// Entries of the longest chain.
    pub fn long_chain(self) -> u64 {
        self.chains.iter().copied().max().unwrap_or_default()
    }
}

/// The three shapes of lines that are scanned.
pub const SHAPES: [&str; 3] = ["session", "escapes", "small lines"];

pub struct Files {
    sizes: Sizes,
    dir: PathBuf,
}

impl Files {
    pub fn new(sizes: Sizes) -> Self {
        Self { sizes, dir: Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-data") }
    }

    /// The folder of the files, which exists.
    pub fn dir(&self) -> io::Result<&Path> {
        fs::create_dir_all(&self.dir)?;
        Ok(&self.dir)
    }

    /// The session that is opened: messages and tool results of usual sizes, a compaction every 2 MB.
    pub fn session(&self) -> io::Result<PathBuf> {
        let shape = Shape { target_bytes: self.sizes.session, seed: 4, compact_every: 2 << 20, ..Shape::default() };
        sessions::cached_file(&self.dir, "session.jsonl", &shape)
    }

    /// One of [`SHAPES`], in memory.
    pub fn bytes(&self, shape: &str) -> io::Result<Vec<u8>> {
        let path = match shape {
            "session" => self.session()?,
            "escapes" => {
                let bytes = self.sizes.escapes;
                let name = format!("escapes-{bytes}-{GENERATION}.jsonl");
                sessions::cached(&self.dir, &name, |file| sessions::write_escapes(file, bytes))?
            }
            _ => self.chain(self.sizes.small_lines)?,
        };
        fs::read(path)
    }

    /// Lengths of the chains, in entries.
    pub fn chain_lengths(&self) -> &'static [u64] {
        self.sizes.chains
    }

    /// One chain of `entries` small entries.
    pub fn chain(&self, entries: u64) -> io::Result<PathBuf> {
        let name = format!("chain-{entries}-{GENERATION}.jsonl");
        sessions::cached(&self.dir, &name, |file| sessions::write_chain(file, entries))
    }
}
