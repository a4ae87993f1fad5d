//! Entries by place, the tree from top to bottom, single messages of a context.

use leaflog::{Leaf, SessionManager, ViewOptions};

const FILE: &str = concat!(
    r#"{"type":"session","version":3,"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/home/ada"}"#,
    "\n",
    r#"{"type":"message","id":"r","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"Q"}}"#,
    "\n",
    r#"{"type":"message","id":"late","parentId":"r","timestamp":"2026-02-16T10:25:00.000Z","message":{"role":"user","content":"L"}}"#,
    "\n",
    r#"{"type":"message","id":"early","parentId":"r","timestamp":"2026-02-16T10:22:00.000Z","message":{"role":"user","content":"E"}}"#,
    "\n",
    r#"{"type":"message","id":"c1","parentId":"c2","timestamp":"2026-02-16T10:26:00.000Z","message":{"role":"user","content":1}}"#,
    "\n",
    r#"{"type":"message","id":"c2","parentId":"c1","timestamp":"2026-02-16T10:27:00.000Z","message":{"role":"user","content":2}}"#,
    "\n",
    r#"{"type":"message","message":{"role":"user"}}"#,
    "\n",
);

// R49: roots in file order, children the oldest first, the first of a cycle is a root, each entry once.
#[test]
fn r49_the_tree_from_top_to_bottom() {
    let view = ViewOptions::new().read_bytes(FILE).unwrap();
    let tree: Vec<_> = view.tree_entries().map(|(depth, entry)| (depth, entry.id().unwrap().into_owned())).collect();
    let expected = [(0, "r"), (1, "early"), (1, "late"), (0, "c1"), (1, "c2")];
    assert_eq!(tree, expected.map(|(depth, id)| (depth, id.to_owned())));
}

#[test]
fn entries_by_place() {
    let view = ViewOptions::new().read_bytes(FILE).unwrap();
    assert_eq!(view.entry_at(2).unwrap().id().as_deref(), Some("early"));
    assert!(view.entry_at(5).unwrap().id().is_none());
    assert!(view.entry_at(6).is_none() && view.entry_at(usize::MAX).is_none());
}

#[test]
fn a_context_by_message_and_without_messages() {
    let view = ViewOptions::new().read_bytes(FILE).unwrap();
    let context = view.context(Leaf::Id("late")).unwrap();
    assert_eq!(context.message(0).unwrap().text(), r#"{"role":"user","content":"Q"}"#);
    assert_eq!(context.message(1).unwrap().text(), r#"{"role":"user","content":"L"}"#);
    assert!(context.message(2).is_none());
    assert_eq!(
        context.to_json().replace(r#"[{"role":"user","content":"Q"},{"role":"user","content":"L"}]"#, "[]"),
        context.state_to_json()
    );
}

#[test]
fn the_revision_is_another_when_entries_change_place() {
    let mut manager = SessionManager::in_memory("/home/ada").unwrap();
    let first = manager.revision();
    manager.append_message(r#"{"role":"user","content":1}"#).unwrap();
    assert_eq!(manager.revision(), first);
    manager.new_session(None).unwrap();
    assert_ne!(manager.revision(), first);
}

// B20: what was read after the state was captured may be at other places, also when as many entries follow.
#[test]
fn b20_the_revision_is_another_after_going_back() {
    let mut manager = SessionManager::in_memory("/home/ada").unwrap();
    let state = manager.capture_state();
    let before = manager.revision();
    manager.append_message(r#"{"role":"user","content":1}"#).unwrap();
    assert_eq!(manager.revision(), before);
    manager.restore_state(state.clone());
    let once = manager.revision();
    assert_ne!(once, before);
    manager.append_message(r#"{"role":"user","content":2}"#).unwrap();
    assert_eq!(manager.revision(), once);
    manager.restore_state(state);
    assert!(![before, once].contains(&manager.revision()));
}

// U17: a stream is refused by its beginning; a long one is read from a file that has no name.
#[test]
fn u17_streams() {
    use std::io::Read as _;
    const HEADER: &[u8] = b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    struct Counted<R>(R, u64);
    impl<R: std::io::Read> std::io::Read for Counted<R> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(buf)?;
            self.1 += read as u64;
            Ok(read)
        }
    }
    let mut endless = Counted(std::io::repeat(b'y'), 0);
    let error = ViewOptions::new().read_from(&mut endless).unwrap_err();
    assert_eq!((error.code(), endless.1), (leaflog::ErrorCode::NotASession, 64 << 10));
    let line = format!("{{\"type\":\"custom\",\"data\":\"{}\"}}\n", "x".repeat(1 << 20));
    for count in [1, 15, 16, 40] {
        let text = HEADER.chain(std::io::Cursor::new(line.repeat(count)));
        let view = ViewOptions::new().read_from(text).unwrap();
        assert_eq!(view.entries().len(), count);
        let last = view.entries().last().unwrap();
        assert_eq!(last.text().unwrap().json().bytes(), line.trim_end().as_bytes());
        assert_eq!(view.len(), (HEADER.len() + count * line.len()) as u64);
    }
}
