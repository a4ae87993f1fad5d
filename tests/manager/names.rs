//! The session's name, in the header and in a title slot (R48, part C).

use super::common::{ASSISTANT, Dir, NOW, USER, file, json, lines, text};
use leaflog::{SessionManager, SessionView, TitleSource};

// Part C: U+0000-001F and U+007F-009F become spaces, runs of spaces one, trimmed as JavaScript
// trims. Expected values from Node:
// s.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ").replace(/ +/g, " ").trim()
#[test]
fn names_are_cleaned() {
    let mut m = SessionManager::in_memory("/home/ada").unwrap();
    for (name, want) in [
        ("Cart", "Cart"),
        ("  a\t\n b\u{0}c\u{7f}\u{80}d\u{9f} e  ", "a b c d e"),
        ("\u{1b}[31mred\u{1b}[0m", "[31mred [0m"),
        // Blanks that are not U+0020 are trimmed, and kept inside, runs of them too.
        ("\u{a0}\u{feff}\u{3000}x\u{a0}\u{a0}y\u{2028}\u{2029}\u{202f}", "x\u{a0}\u{a0}y"),
        // These are no blanks for JavaScript.
        ("\u{200b}x\u{180e}", "\u{200b}x\u{180e}"),
        ("\u{feff} \u{feff}x", "x"),
        ("e\u{301}\u{1f600}\u{fffd}", "e\u{301}\u{1f600}\u{fffd}"),
        // U+0085 is a control character, not a blank.
        ("\u{85}x\u{85}y", "x y"),
    ] {
        assert!(m.set_session_name(name, TitleSource::User).unwrap(), "{name:?}");
        assert_eq!(m.title(), Some(want), "{name:?}");
    }
    for empty in ["", " ", "\n\t\u{0}", "\u{feff}\u{a0}", "\u{85}"] {
        assert!(!m.set_session_name(empty, TitleSource::User).unwrap(), "{empty:?}");
        assert_eq!(m.title(), Some("x y"));
    }
}

// Part C: an auto name never replaces a user name.
#[test]
fn sources() {
    let mut m = SessionManager::in_memory("/home/ada").unwrap();
    assert_eq!((m.title(), m.title_source()), (None, None));
    assert!(m.set_session_name("one", TitleSource::Auto).unwrap());
    assert_eq!((m.title(), m.title_source()), (Some("one"), Some("auto")));
    assert!(m.set_session_name("two", TitleSource::default()).unwrap());
    assert!(m.set_session_name("three", TitleSource::User).unwrap());
    assert_eq!((m.title(), m.title_source()), (Some("three"), Some("user")));
    assert!(!m.set_session_name("four", TitleSource::Auto).unwrap());
    assert_eq!(m.title(), Some("three"));
    assert!(m.set_session_name("five", TitleSource::User).unwrap());
    assert_eq!(m.title(), Some("five"));
}

// R31: the file is written anew when it exists, header fields in their place.
#[test]
fn header_fields_keep_their_place() {
    let dir = Dir::new();
    let entry = r#"{"type":"odd","id":"e","parentId":null}"#;
    let path = dir.put(
        "x.jsonl",
        lines(&[r#"{ "title" : "Old" ,"type":"session","version":3,"more":[1e2], "id":"s","titl\u0065":"Older","cwd":"/home/ada/shop" }"#, entry]),
    );
    let mut m = dir.options().open(&path).unwrap();
    assert_eq!(m.title(), Some("Older"));
    m.set_session_name("New \"name\"", TitleSource::User).unwrap();
    // JavaScript reads the last of duplicate keys.
    assert_eq!(
        text(&m),
        lines(&[
            r#"{ "title" : "Old" ,"type":"session","version":3,"more":[1e2], "id":"s","titl\u0065":"New \"name\"","cwd":"/home/ada/shop","titleSource":"user" }"#,
            entry
        ])
    );
    assert_eq!(SessionView::open(&path).unwrap().title(), Some("New \"name\""));
}

/// A title slot with its newline: 256 bytes.
pub fn slot(title: &str, source: &str) -> String {
    let bare = format!(r#"{{"type":"title","v":1,"title":{title},{source}"updatedAt":"{NOW}","pad":""}}"#);
    bare.replace(r#""pad":""#, &format!(r#""pad":"{}"#, " ".repeat(255 - bare.len()))) + "\n"
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","cwd":"/home/ada/shop","title":"Old","titleSource":"auto"}"#;

fn with_slot(dir: &Dir) -> SessionManager {
    let bytes =
        slot("\"Slot\"", "\"source\":\"auto\",") + &lines(&[HEADER, r#"{"type":"odd","id":"e","parentId":null}"#]);
    dir.options().open(dir.put("x.jsonl", bytes)).unwrap()
}

// R48: setSessionName writes the slot too, in 256 bytes.
#[test]
fn r48_title_slot() {
    let dir = Dir::new();
    let mut m = with_slot(&dir);
    assert_eq!((m.title(), m.title_source()), (Some("Slot"), Some("auto")));
    assert!(m.set_session_name("Warenkorb \"ä\"", TitleSource::User).unwrap());
    assert_eq!((m.title(), m.title_source()), (Some("Warenkorb \"ä\""), Some("user")));
    let want = slot(r#""Warenkorb \"ä\"""#, "\"source\":\"user\",");
    assert_eq!(want.len(), 256);
    assert_eq!(
        text(&m),
        want + &lines(&[
            r#"{"type":"session","version":3,"id":"s","cwd":"/home/ada/shop","title":"Warenkorb \"ä\"","titleSource":"user"}"#,
            r#"{"type":"odd","id":"e","parentId":null}"#
        ])
    );
    // Appending and rewriting leave it alone.
    m.append_message(ASSISTANT).unwrap();
    let before = text(&m);
    m.rewrite_entries(&[]).unwrap();
    assert_eq!(text(&m), before);
    // A move changes the header only.
    m.move_to("/home/ada/other").unwrap();
    assert_eq!(text(&m)[..256], before[..256]);
}

// R48: a title that is too long is cut by code points in the slot; the header has all of it.
#[test]
fn r48_long_titles() {
    // {"type":"title","v":1,"title":"","source":"user","updatedAt":"2026-02-16T10:20:30.000Z","pad":""}
    // has 97 characters: of the 255 before the newline 158 are left for the title.
    for (character, fit) in [("x", 158), ("é", 79), ("漢", 52), ("😀", 39), ("\"", 79)] {
        for count in [fit - 1, fit, fit + 1, 3 * fit] {
            let dir = Dir::new();
            let mut m = with_slot(&dir);
            let name = character.repeat(count);
            assert!(m.set_session_name(&name, TitleSource::User).unwrap());
            // A11: what memory says is what is read again.
            assert_eq!(m.title(), Some(&*character.repeat(count.min(fit))));
            let bytes = std::fs::read(file(&m)).unwrap();
            assert_eq!(bytes[255], b'\n');
            let written = json(std::str::from_utf8(&bytes[..255]).unwrap());
            assert_eq!(written["title"], character.repeat(count.min(fit)), "{character} {count}");
            let header = json(text(&m).lines().nth(1).unwrap());
            assert_eq!(header["title"], name);
            // Whoever opens it next sees the slot's title.
            assert_eq!(SessionView::open(file(&m)).unwrap().title(), Some(&*character.repeat(count.min(fit))));
        }
    }
}

// A very long name does not take long.
#[test]
fn r48_very_long_titles() {
    let dir = Dir::new();
    let mut m = with_slot(&dir);
    let name = "漢".repeat(300_000);
    assert!(m.set_session_name(&name, TitleSource::User).unwrap());
    assert_eq!(SessionView::open(file(&m)).unwrap().title(), Some(&*"漢".repeat(52)));
}

// R48: a name for a session whose slot is empty.
#[test]
fn r48_empty_slot() {
    let dir = Dir::new();
    let bytes = slot("\"\"", "") + &lines(&[HEADER]);
    let mut m = dir.options().open(dir.put("x.jsonl", bytes)).unwrap();
    assert_eq!((m.title(), m.title_source()), (None, None));
    assert!(m.set_session_name("Name", TitleSource::Auto).unwrap());
    assert_eq!((m.title(), m.title_source()), (Some("Name"), Some("auto")));
    assert!(text(&m).starts_with(&slot("\"Name\"", "\"source\":\"auto\",")));
    m.append_message(USER).unwrap();
    assert_eq!(SessionView::open(file(&m)).unwrap().title(), Some("Name"));
}

// G7, A11: a slot of any length, whatever stands around it, keeps its title over a rename and over a rewrite, and has 256
// bytes then.
#[test]
fn g07_slots_of_any_length() {
    let right = slot("\"Slot\"", "\"source\":\"user\",");
    let value = right.trim_end();
    let trimmed = value.replace("  ", "");
    for before in [
        format!("{value}\r\n"),
        format!("\u{feff}{value}\n"),
        format!("\0\0{value}\n"),
        format!("{value}\0\n"),
        format!("{trimmed}\n"),
        format!("\n  {value} \n"),
        value.to_owned(),
        format!("{value}  "),
        format!("\u{feff}{trimmed}\r\n"),
    ] {
        let dir = Dir::new();
        let entry = r#"{"type":"odd","id":"e","parentId":null}"#;
        let path = dir.put("x.jsonl", before.clone() + &lines(&[HEADER, entry]));
        let mut m = dir.options().open(&path).unwrap();
        assert_eq!((m.title(), m.title_source(), m.entries().len()), (Some("Slot"), Some("user"), 1), "{before:?}");
        assert!(m.load_report().unwrap().is_empty());
        m.rewrite_entries(&[]).unwrap();
        assert_eq!(text(&m), right.clone() + &lines(&[HEADER, entry]), "{before:?}");
        std::fs::write(&path, before.clone() + &lines(&[HEADER, entry])).unwrap();
        let mut m = dir.options().open(&path).unwrap();
        assert!(m.set_session_name("New", TitleSource::User).unwrap());
        assert!(text(&m).starts_with(&slot("\"New\"", "\"source\":\"user\",")), "{before:?}");
        let view = SessionView::open(&path).unwrap();
        assert_eq!((m.title(), view.title(), view.entries().len()), (Some("New"), Some("New"), 1), "{before:?}");
    }
    // What a slot of 256 bytes has no room for stays until somebody gives another name.
    let dir = Dir::new();
    let long = trimmed.replace("Slot", &"x".repeat(300));
    let odd = trimmed.replace("\"pad\"", "\"other\":1,\"pad\"");
    for before in [long, odd] {
        let mut m = dir.options().open(dir.put("y.jsonl", lines(&[&before, HEADER]))).unwrap();
        m.rewrite_entries(&[]).unwrap();
        assert_eq!(text(&m), lines(&[&before, HEADER]));
    }
}

// A11: what memory says of a long name is what is read again, and a source that is new takes room too.
#[test]
fn a11_a_long_name_is_cut_in_memory_too() {
    let dir = Dir::new();
    let bytes = slot("\"Slot\"", "") + &lines(&[HEADER]);
    let mut m = dir.options().open(dir.put("x.jsonl", bytes)).unwrap();
    assert!(m.set_session_name(&"x".repeat(300), TitleSource::User).unwrap());
    assert_eq!(m.title(), Some(&*"x".repeat(158)));
    assert_eq!(SessionView::open(file(&m)).unwrap().title(), m.title());
}
