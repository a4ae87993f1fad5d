//! Texts as they may be meant, and as they cannot.

use super::call::Call;
use super::world::{FILES, Memory, World};
use crate::abi::leaflog_str;
use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

impl Call<'_> {
    pub(super) fn text(&mut self, name: &str) -> leaflog_str {
        let world = self.world;
        let bytes = match world.next(16) {
            11 => {
                self.odd();
                self.note(name, || "absent".to_owned());
                return leaflog_str::ABSENT;
            }
            12 => {
                let len = world.one(&[0, 1, 5, isize::MAX.unsigned_abs(), usize::MAX]);
                if len == 0 {
                    self.odd();
                } else {
                    self.malformed();
                }
                self.note(name, || format!("NULL, {len}"));
                return leaflog_str { data: ptr::null(), len };
            }
            13 if world.next(2) == 0 => {
                self.malformed();
                let data: *mut c_char = self.keep(Memory::of(b"text"));
                let len = world.one(&[isize::MAX.unsigned_abs() + 1, usize::MAX, usize::MAX - 7]);
                self.note(name, || format!("a text of {len} bytes"));
                return leaflog_str { data, len };
            }
            13 | 14 => {
                self.odd();
                let odd: [&[u8]; 10] = [
                    b"",
                    b"a\0b",
                    b"\xff\xfe",
                    b"\xed\xa0\xbd",
                    b"{\"type\":\"custom\",\"x\":\"\xed\xb2\x80\"}",
                    "\u{feff}{}".as_bytes(),
                    b"{\"role\":\"user\",\"content\":",
                    b"\r\n\t ",
                    b"{\"role\":\"user\",\"role\":\"assistant\",\"content\":{\"a\":1e999}}",
                    "\u{2028}\u{10ffff}".as_bytes(),
                ];
                match world.next(odd.len() + 2) {
                    10 => "[".repeat(3000).into_bytes(),
                    11 => format!("{{\"role\":\"user\",\"content\":\"{}\"}}", "x".repeat(70_000)).into_bytes(),
                    at => odd[at].to_vec(),
                }
            }
            15 => {
                self.odd();
                let mut raw = world.raw();
                if is_path(name) {
                    // It must stay in the folder.
                    raw.iter_mut().filter(|byte| matches!(byte, b'/' | b'.')).for_each(|byte| *byte = b'_');
                }
                raw
            }
            _ => self.good(name),
        };
        let bytes = if is_path(name) && !bytes.is_empty() { world.in_home(&bytes) } else { bytes };
        self.note(name, || String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned());
        let data = self.keep(Memory::of(&bytes));
        leaflog_str { data, len: bytes.len() }
    }

    /// A text as it may be meant.
    fn good(&mut self, name: &str) -> Vec<u8> {
        let world = self.world;
        if is_path(name) {
            return path(world).into_bytes();
        }
        match name {
            "message_json" => world.one(&MESSAGES).to_owned(),
            "entry_json" | "json" => world.one(&ENTRIES).to_owned(),
            _ if name.ends_with("_json") => json(world, 2),
            "entry_id" | "from_id" | "target_id" | "leaf_id" | "first_kept_entry_id" | "hash" | "id" | "arg" => {
                let ids = world.ids.borrow();
                ids[world.next(ids.len())].clone()
            }
            "bytes" | "prefix" | "content" | "piece" => world.one(&FILES).to_owned(),
            "text" => world.one(&["text", FILES[0], "blob:sha256:x", "\n"]).to_owned(),
            "pattern" => world.one(&["*", "*.jsonl", "a.jsonl"]).to_owned(),
            "line" => {
                let mut line = world.one(&ENTRIES).to_owned();
                line.push('\n');
                line
            }
            "query" => world.one(&["what", "now*", "\"", "a OR b"]).to_owned(),
            "variable" => world.one(&["HOME", "PI_CONFIG_DIR", "TMUX_PANE", "A=B"]).to_owned(),
            _ => world.one(&["default", "plan", "a/b", "high", "Tides", "auto", "é漢🙂"]).to_owned(),
        }
        .into_bytes()
    }
}

const MESSAGES: [&str; 5] = [
    r#"{"role":"user","content":"Hello"}"#,
    r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}],"usage":{"input":1,"cost":{"total":2.5}}}"#,
    r#"{"role":"toolResult","content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}]}"#,
    r#"{"role":"user","content":[],"timestamp":1771237230000}"#,
    r#"{"role":"custom","x":{"y":[1,2,{"z":null}]}}"#,
];

const ENTRIES: [&str; 5] = [
    r#"{"type":"message","id":"a0000001","parentId":null,"message":{"role":"user","content":"Hello"}}"#,
    r#"{"type":"custom","customType":"a","data":{"x":1}}"#,
    r#"{"type":"label","targetId":"bb000001","label":"L"}"#,
    r#"{"type":"session","version":3,"id":"s"}"#,
    r#"{"type":"compaction","summary":"s","firstKeptEntryId":"bb000001","tokensBefore":1}"#,
];

/// JSON of some depth.
fn json(world: &World, depth: usize) -> String {
    match world.next(if depth == 0 { 6 } else { 8 }) {
        0 => "{}".to_owned(),
        1 => "[1,-2.5e3,null,true]".to_owned(),
        2 => "\"a\\u0000\\ud83d\\n\"".to_owned(),
        3 => world.one(&["1", "[]", "1e400", "nul", "{\"a\":}", " {} ", "\"x"]).to_owned(),
        4 => r#"[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}]"#.to_owned(),
        5 => "[".repeat(600) + &"]".repeat(600),
        6 => format!("[{},{}]", json(world, depth - 1), json(world, depth - 1)),
        _ => format!("{{\"a\":{},\"\":{}}}", json(world, depth - 1), json(world, depth - 1)),
    }
}

fn is_path(name: &str) -> bool {
    let paths = ["path", "dir", "cwd", "source", "parent_session", "from", "to", "session_file", "value"];
    paths.contains(&name) || name.ends_with("_dir") || name.ends_with("_cwd") || name == "config_dir_name"
}

/// A path from the folder of the test, with a session file at it now and then.
fn path(world: &World) -> String {
    let name = world.one(&[
        "a.jsonl",
        "dir/b.jsonl",
        "work",
        ".xcsh/agent/sessions/--work-tides--/2026-02-16T09-12-44-120Z_1470bba2d62a6f1b.jsonl",
        ".",
        "dir",
        "history.db",
        "a.jsonl/x",
        "blobs",
        ".xcsh",
    ]);
    let path = Path::new(OsStr::from_bytes(&world.in_home(name.as_bytes()))).to_owned();
    if name.ends_with(".jsonl") && world.next(2) == 1 && !path.exists() {
        if let Some(dir) = path.parent() {
            let _: std::io::Result<()> = std::fs::create_dir_all(dir);
        }
        let _: std::io::Result<()> = std::fs::write(&path, world.one(&FILES));
    }
    world.one(&["", "", "x/../", ".//"]).to_owned() + name
}
