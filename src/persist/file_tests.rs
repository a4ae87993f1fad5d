//! A session file that a program writes to which knows no lock (R53h).

use super::SessionFile;
use crate::blob::BlobStore;
use crate::persist::Pending;
use crate::view::SessionView;
use std::io::Write as _;
use std::time::Duration;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}"#;

fn entry(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"custom","id":"{id}","parentId":{parent}}}"#)
}

// Between the look at the file and the write another program appends a line: ours is found where it
// is, the other's is taken in with the next write, and a rewrite loses neither.
#[test]
fn a_line_between_look_and_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let first = entry("00000001", "null");
    std::fs::write(&path, format!("{HEADER}\n{first}\n")).unwrap();
    let mut file = SessionFile::new(&path, BlobStore::new(dir.path().join("blobs")), Duration::ZERO, false);
    let mut view = file.open(true, 0).unwrap().unwrap();
    let mut pending = Pending::default();

    let begun = file.begin_append(&mut view, &mut pending, 0).unwrap();
    let theirs = entry("00000002", r#""00000001""#);
    writeln!(std::fs::OpenOptions::new().append(true).open(&path).unwrap(), "{theirs}").unwrap();
    let ours = entry("00000003", r#""00000001""#);
    let index = view.push(ours.clone().into_bytes()).unwrap();
    pending.unsaved.push(index);
    file.append(Some(begun), &mut view, &mut pending, 0).unwrap();
    assert_eq!(&*view.stored_text(index).unwrap(), ours.as_bytes());

    let last = entry("00000004", r#""00000003""#);
    let begun = file.begin_append(&mut view, &mut pending, 0).unwrap();
    pending.unsaved.push(view.push(last.clone().into_bytes()).unwrap());
    file.append(Some(begun), &mut view, &mut pending, 0).unwrap();
    let texts = |view: &SessionView| -> Vec<String> {
        view.entries().map(|entry| entry.text().unwrap().json().text().into_owned()).collect()
    };
    let all = [first, theirs, ours, last];
    assert_eq!(texts(&view), all);
    file.rewrite(&mut view, &mut pending, 0).unwrap();
    assert_eq!(texts(&view), all);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n{}\n", all.join("\n")));
}
