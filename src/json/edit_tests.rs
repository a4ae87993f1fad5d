use super::{Edit, Object, apply};

/// The text after changes to the object at its first brace.
fn changed(text: &str, change: impl FnOnce(&mut Object<'_>)) -> String {
    let mut object = Object::read(text.as_bytes(), text.find('{').unwrap());
    change(&mut object);
    let mut edits = Vec::new();
    object.into_edits(&mut edits);
    let out = String::from_utf8(apply(text.as_bytes(), edits)).unwrap();
    assert!(serde_json::from_str::<serde::de::IgnoredAny>(&out).is_ok(), "{out}");
    out
}

fn set(text: &str, key: &'static str, value: &str) -> String {
    changed(text, |object| object.set(key, value.as_bytes().to_vec()))
}

fn remove(text: &str, keys: &[&str]) -> String {
    changed(text, |object| keys.iter().for_each(|key| object.remove(key)))
}

// R45: without a change, the bytes.
#[test]
fn nothing() {
    for text in ["{}", "{ }", r#" { "a" : 1e2 , "a":-0 } "#] {
        assert_eq!(changed(text, |_| {}), text);
        assert_eq!(remove(text, &["b"]), text);
    }
}

// R10: keys present keep their place.
#[test]
fn set_in_place() {
    assert_eq!(set(r#"{"a":1,"b":2,"c":3}"#, "a", "9"), r#"{"a":9,"b":2,"c":3}"#);
    assert_eq!(set(r#"{"a":1,"b":2,"c":3}"#, "b", "[9]"), r#"{"a":1,"b":[9],"c":3}"#);
    assert_eq!(set(r#"{"a":1,"b":2,"c":3}"#, "c", "\"\""), r#"{"a":1,"b":2,"c":""}"#);
    assert_eq!(set(r#"{ "a" : {"a":2} , "b" : 2 }"#, "a", "9"), r#"{ "a" : 9 , "b" : 2 }"#);
    assert_eq!(set(r#"{"\u0061":1}"#, "a", "9"), r#"{"\u0061":9}"#);
    // The last of duplicates is the one that is read.
    assert_eq!(set(r#"{"a":1,"b":2,"a":3}"#, "a", "9"), r#"{"a":1,"b":2,"a":9}"#);
}

// R10: new keys go last.
#[test]
fn set_new() {
    assert_eq!(set("{}", "a", "1"), r#"{"a":1}"#);
    assert_eq!(set("{ }", "a", "1"), r#"{"a":1 }"#);
    assert_eq!(set(r#"{"b":{"a":2}}"#, "a", "1"), r#"{"b":{"a":2},"a":1}"#);
    assert_eq!(set(r#"{"b": 2 }"#, "a", "1"), r#"{"b": 2,"a":1 }"#);
    let two = changed(r#"{"x":0}"#, |object| {
        object.set("id", b"\"i\"".to_vec());
        object.set("parentId", b"null".to_vec());
    });
    assert_eq!(two, r#"{"x":0,"id":"i","parentId":null}"#);
    assert_eq!(set("{}", "q\"\n", "1"), r#"{"q\"\n":1}"#);
}

#[test]
fn remove_in_every_place() {
    let text = r#"{"a":1,"b":2,"c":3}"#;
    assert_eq!(remove(text, &["a"]), r#"{"b":2,"c":3}"#);
    assert_eq!(remove(text, &["b"]), r#"{"a":1,"c":3}"#);
    assert_eq!(remove(text, &["c"]), r#"{"a":1,"b":2}"#);
    assert_eq!(remove(text, &["a", "b"]), r#"{"c":3}"#);
    assert_eq!(remove(text, &["a", "c"]), r#"{"b":2}"#);
    assert_eq!(remove(text, &["b", "c"]), r#"{"a":1}"#);
    assert_eq!(remove(text, &["a", "b", "c"]), "{}");
    assert_eq!(remove(r#"{"a":1}"#, &["a"]), "{}");
    assert_eq!(remove(r#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, &["b"]), r#"{ "a" : 1 , "c" : 3 }"#);
    assert_eq!(remove(r#"{ "a" : 1 , "b" : 2 }"#, &["a"]), r#"{ "b" : 2 }"#);
    assert_eq!(remove(r#"{ "a" : 1 , "b" : 2 }"#, &["b"]), r#"{ "a" : 1 }"#);
    // All of one name, in any spelling.
    assert_eq!(remove(r#"{"a":1,"b":2,"\u0061":3,"a":4}"#, &["a"]), r#"{"b":2}"#);
    assert_eq!(remove(r#"{"b":{"a":1},"a":[{"a":2}]}"#, &["a"]), r#"{"b":{"a":1}}"#);
}

#[test]
fn all_at_once() {
    let both = changed(r#"{"old":1,"b":2,"c":3}"#, |object| {
        object.set("b", b"9".to_vec());
        object.set("new", b"0".to_vec());
        object.remove("old");
        object.remove("c");
    });
    assert_eq!(both, r#"{"b":9,"new":0}"#);
    let emptied = changed(r#"{"old":1}"#, |object| {
        object.set("new", b"0".to_vec());
        object.remove("old");
    });
    assert_eq!(emptied, r#"{"new":0}"#);
    let emptied = changed(r#"{ "old" : 1 , "older" : 2 }"#, |object| {
        object.remove("older");
        object.set("new", b"0".to_vec());
        object.remove("old");
    });
    assert_eq!(emptied, r#"{ "new":0 }"#);
}

// Every choice of what happens to four members: the result holds what a plain model says.
#[test]
fn every_combination() {
    const KEYS: [&str; 4] = ["a", "b", "c", "d"];
    for text in [r#"{"a":0,"b":0,"c":0,"d":0}"#, r#"{ "a" : 0 , "b" : 0 , "c" : 0 , "d" : 0 }"#] {
        for choice in 0..3usize.pow(4) * 2 {
            let fate = |at: usize| choice / 2 / 3usize.pow(u32::try_from(at).unwrap()) % 3;
            let out = changed(text, |object| {
                for (at, key) in KEYS.into_iter().enumerate() {
                    match fate(at) {
                        0 => {}
                        1 => object.set(key, b"1".to_vec()),
                        _ => object.remove(key),
                    }
                }
                if choice % 2 == 1 {
                    object.set("e", b"2".to_vec());
                }
            });
            let mut want: Vec<String> =
                (0..4).filter(|&at| fate(at) < 2).map(|at| format!("\"{}\":{}", KEYS[at], fate(at))).collect();
            want.extend((choice % 2 == 1).then(|| "\"e\":2".to_owned()));
            assert_eq!(out.replace(' ', ""), format!("{{{}}}", want.join(",")));
        }
    }
}

#[test]
fn spans_of_values() {
    let text = br#"{"a": [1] ,"b":"x","a":null}"#;
    let object = Object::read(text, 0);
    assert_eq!(&text[object.get("a").unwrap()], b"null");
    assert_eq!(&text[object.get("b").unwrap()], b"\"x\"");
    assert_eq!(object.get("c"), None);
    // An object inside another text.
    let text = br#"[7,{"a":1}]"#;
    let mut inner = Object::read(text, 3);
    inner.remove("a");
    let mut edits = Vec::new();
    inner.into_edits(&mut edits);
    assert_eq!(apply(text, edits), b"[7,{}]");
    // Not an object: nothing to change.
    assert_eq!(Object::read(b"[1]", 0).get("a"), None);
}

#[test]
fn edits_in_any_order() {
    let edit = |range, with: &str| Edit { range, with: with.as_bytes().to_vec() };
    assert_eq!(apply(b"abcdef", vec![]), b"abcdef");
    assert_eq!(apply(b"abcdef", vec![edit(4..5, "E"), edit(0..1, ""), edit(2..3, "CC")]), b"bCCdEf");
    assert_eq!(apply(b"abc", vec![edit(3..3, "x"), edit(3..3, "y"), edit(0..0, "z")]), b"zabcxy");
    assert_eq!(apply(b"abc", vec![edit(0..3, "")]), b"");
}
