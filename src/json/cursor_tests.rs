//! Parts of the cursor that whole lines do not show.

use super::{Bitmap, Checked, Cursor, Key, Nesting, Strings, Valid};

fn checked(text: &str) -> Cursor<'_, Checked> {
    Cursor::new(text.as_bytes(), Checked)
}

#[test]
fn runs_of_digits_of_every_length() {
    for before in 0..9 {
        for len in 0..20 {
            for after in ["", ".", "x", "/", ":", "\u{3}", "é", "/99999999", "00"] {
                let text = format!("{}{}{after}", " ".repeat(before), "90817263545362718091".get(..len).unwrap());
                let digits = len + after.bytes().take_while(u8::is_ascii_digit).count();
                let want = (digits > 0).then_some(before + digits);
                assert_eq!(checked(&text).digits(before), want, "{text:?}");
            }
        }
    }
    // Every other byte ends a run, wherever it stands among eight.
    for byte in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
        for at in 0..10 {
            let mut bytes = *b"12345678901234567890";
            bytes[at] = byte;
            let got = Cursor::new(&bytes, Checked).digits(0);
            assert_eq!(got, (at > 0).then_some(at), "{byte:#x} at {at}");
        }
    }
}

#[test]
fn the_three_string_readers_agree_on_valid_strings() {
    for inner in ["", "a", r#"\""#, r"\\", r#"\\\""#, r"\u00e9\n", &"x".repeat(200), &r#"\""#.repeat(100)] {
        let text = format!("\"{inner}\"tail\"");
        let close = inner.len() + 1;
        assert_eq!(Checked.close(text.as_bytes(), 1), Some(close), "{text}");
        assert_eq!(Valid.close(text.as_bytes(), 1), Some(close), "{text}");
        let mut quotes = Vec::new();
        super::super::block::Classifier::best().classify(text.as_bytes(), 0, &mut quotes);
        assert_eq!(Bitmap { quotes: &quotes, base: 0 }.close(text.as_bytes(), 1), Some(close), "{text}");
    }
    assert_eq!(Checked.close(b"abc", 0), None);
    assert_eq!(Checked.close(b"abc\\", 0), None);
    assert_eq!(Checked.close(b"abc\\\"", 0), None);
    assert_eq!(Valid.close(b"abc\\\"", 0), None);
    assert_eq!(Checked.close(b"\\u12\"", 0), None);
}

#[test]
fn brackets_are_remembered_in_order() {
    // More than one word of bits, pushed and popped across the border several times.
    let mut nesting = Nesting::default();
    let mut model = Vec::new();
    let mut state = 7u32;
    for step in 0..5000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let deepen = if step % 600 < 300 { state >> 16 & 3 != 0 } else { state >> 16 & 3 == 0 };
        if deepen || model.is_empty() {
            let object = state >> 20 & 1 == 1;
            nesting.push(object);
            model.push(object);
        } else {
            nesting.pop();
            model.pop();
        }
        assert_eq!(nesting.top(), model.last().copied());
    }
    while model.pop().is_some() {
        nesting.pop();
        assert_eq!(nesting.top(), model.last().copied());
    }
}

#[test]
fn members_and_items() {
    let text = r#" { "a" : 1 ,"b":[2 , 3],"\u0061":{"c":4}} "#;
    let mut keys = Vec::new();
    let end = checked(text).object(1, |cursor, key, at| {
        let end = cursor.value(at)?;
        keys.push((text[key.start..key.end].to_owned(), text[at..end].to_owned()));
        Some(end)
    });
    assert_eq!(end, Some(text.len() - 1));
    let keys: Vec<_> = keys.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(keys, [("a", "1"), ("b", "[2 , 3]"), (r"\u0061", r#"{"c":4}"#)]);
    let mut items = Vec::new();
    let end = checked(r#"[ 1, "x" ,[]]"#).array(0, |cursor, at| {
        items.push(at);
        cursor.value(at)
    });
    assert_eq!((end, items), (Some(13), vec![2, 5, 10]));
    // An end that the callback refuses ends the reading.
    assert_eq!(checked("[1,2]").array(0, |_, _| None), None);
    assert_eq!(checked("{}").array(0, Cursor::value), None);
    assert_eq!(checked("[]").object(0, |cursor, _, at| cursor.value(at)), None);
    assert_eq!(checked("").object(0, |cursor, _, at| cursor.value(at)), None);
    assert_eq!(checked("[").value(0), None);
    assert_eq!(checked("").value(0), None);
}

#[test]
fn names_of_keys() {
    let text = r#""\u0069d""#;
    let key = Key { start: 1, end: text.len() - 1 };
    assert_eq!(&*checked(text).with_escapes(true).name(key), b"id");
    assert_eq!(&*checked(text).name(key), br"\u0069d");
    assert_eq!(&*checked(r#""id""#).with_escapes(true).name(Key { start: 1, end: 3 }), b"id");
}

// R51: what may be a reference is noticed in every string value and in no key.
#[test]
fn watched_strings() {
    let marked = |text: &str, escapes: bool| {
        let mut cursor = checked(text).with_escapes(escapes);
        cursor.watch(b"blob:");
        assert_eq!(cursor.value(0), Some(text.len()), "{text}");
        cursor.marked
    };
    assert!(marked(r#""blob:x""#, false));
    assert!(marked(r#"{"a":[{"b":"blob:"}]}"#, false));
    assert!(marked(r#"["x","blob:1","y"]"#, false));
    assert!(!marked(r#""blob""#, false));
    assert!(!marked(r#""xblob:""#, false));
    assert!(!marked(r#"{"blob:":"a"}"#, false));
    assert!(!marked(r#"["b","bl","", "\n"]"#, false));
    assert!(marked(r#""\u0062lob:x""#, true));
    assert!(marked(r#""blo\u0062:x""#, true));
    assert!(!marked(r#""plain""#, true));
    // A new watch forgets.
    let mut cursor = checked(r#"["blob:"]1"#);
    cursor.watch(b"blob:");
    assert!(cursor.value(0).is_some() && cursor.marked);
    cursor.watch(b"blob:");
    assert!(!cursor.marked);
}

#[test]
fn white_space_is_that_of_json() {
    for byte in 0..=255u8 {
        let bytes = [byte, b'1'];
        let skipped = Cursor::new(&bytes, Checked).white(0) == 1;
        assert_eq!(skipped, matches!(byte, b' ' | b'\t' | b'\r' | b'\n'), "{byte:#x}");
    }
    assert_eq!(checked("  ").white(0), 2);
    assert_eq!(checked("").white(0), 0);
    assert_eq!(checked("a").white(5), 5);
}
