use super::{Json, JsonKind};

fn json(text: &str) -> Json<'_> {
    Json::new(text.as_bytes())
}

#[test]
fn kinds() {
    for (text, kind) in [
        ("null", JsonKind::Null),
        ("true", JsonKind::Bool),
        ("false", JsonKind::Bool),
        ("-1", JsonKind::Number),
        ("0", JsonKind::Number),
        ("\"\"", JsonKind::String),
        ("[]", JsonKind::Array),
        ("{}", JsonKind::Object),
    ] {
        let value = json(text);
        assert_eq!(value.kind(), kind);
        assert_eq!(value.is_null(), kind == JsonKind::Null);
        assert_eq!(value.is_array(), kind == JsonKind::Array);
        assert_eq!(value.is_object(), kind == JsonKind::Object);
        assert_eq!(value.as_str().is_some(), kind == JsonKind::String);
        assert_eq!(value.as_f64().is_some(), kind == JsonKind::Number);
        assert_eq!(value.as_bool().is_some(), kind == JsonKind::Bool);
        assert_eq!(value.items().count() + value.members().count(), 0);
        assert_eq!((value.to_string(), format!("{value:?}")), (text.to_owned(), text.to_owned()));
        assert!(value.get("a").is_none());
    }
    assert_eq!((json("true").as_bool(), json("false").as_bool()), (Some(true), Some(false)));
}

// R45: numbers of any spelling.
#[test]
fn numbers() {
    assert_eq!(json("1e2").as_f64(), Some(100.0));
    assert_eq!(json("1e400").as_f64(), Some(f64::INFINITY));
    assert_eq!(json("-1e400").as_f64(), Some(f64::NEG_INFINITY));
    assert!(json("-0").as_f64().unwrap().is_sign_negative());
    assert_eq!(json("123456789012345678901234567890").as_f64(), Some(123_456_789_012_345_678_901_234_567_890.0));
    assert_eq!(json("0.1").as_f64(), Some(0.1));
}

// R45: the last of duplicate keys, in whichever spelling.
#[test]
fn members_by_name() {
    let value = json(r#"{"a":1,"b":{"a":2},"\u0061":[3],"c\n":4,"é":5,"":6}"#);
    assert_eq!(value.get("a").unwrap().bytes(), b"[3]");
    assert_eq!(value.get("c\n").unwrap().bytes(), b"4");
    assert_eq!(value.get("é").unwrap().bytes(), b"5");
    assert_eq!(value.get("").unwrap().bytes(), b"6");
    assert!(value.get(r"\u0061").is_none());
    assert!(value.get("d").is_none());
    assert_eq!(json(r#"{"\ud83d":1}"#).get("\u{fffd}").unwrap().bytes(), b"1");
    assert_eq!(json(r#"{"a":"x","a":7}"#).get_str("a"), None);
    assert_eq!(json(r#"{"a":7,"a":"x"}"#).get_str("a").as_deref(), Some("x"));
    let names: Vec<_> = value.members().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(names, ["a=1", r#"b={"a":2}"#, "a=[3]", "c\n=4", "é=5", "=6"]);
}

#[test]
fn parts_with_blanks() {
    let parts = |text| json(text).items().map(|item| item.to_string()).collect::<Vec<_>>();
    assert!(parts("[]").is_empty());
    assert!(parts("[ ]").is_empty());
    assert!(parts("[\t\r\n ]").is_empty());
    assert_eq!(parts("[1]"), ["1"]);
    assert_eq!(parts("[ 1 , [2 , 3] ,\t{\"a\" : 4}, \"]\" ]"), ["1", "[2 , 3]", "{\"a\" : 4}", "\"]\""]);
    assert_eq!(parts(r#"["\"","\\",""]"#), [r#""\"""#, r#""\\""#, r#""""#]);
    let members = |text| json(text).members().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert!(members("{ }").is_empty());
    assert_eq!(members("{ \"a\" : 1 ,\"b\": {} }"), ["a=1", "b={}"]);
    assert!(members("[1]").is_empty() && parts("{\"a\":1}").is_empty());
}

// R45, R49: what cannot be a Rust string is replaced in the answer, never in the bytes.
#[test]
fn what_is_not_unicode() {
    let value = Json::new(b"\"a\xff\"");
    assert_eq!(value.as_str().unwrap(), "a\u{fffd}");
    assert_eq!(value.bytes(), b"\"a\xff\"");
    assert_eq!(value.text(), "\"a\u{fffd}\"");
    assert_eq!(json(r#""\ud83dx""#).as_str().unwrap(), "\u{fffd}x");
}

#[test]
fn deep_values() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(json(&deep).items().next().unwrap().bytes().len(), deep.len() - 2);
    let object = format!("{{\"a\":{deep},\"b\":1}}");
    assert_eq!(json(&object).get("b").unwrap().bytes(), b"1");
}
