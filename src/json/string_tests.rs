use super::{decode, decode_wtf8, push_string, push_wtf8, wtf8_to_str};
use proptest::prelude::*;

fn decoded(raw: &str) -> String {
    decode(raw.as_bytes()).into_owned()
}

fn written(text: &str) -> String {
    let mut out = b"x".to_vec();
    push_string(&mut out, text);
    String::from_utf8(out).unwrap().split_off(1)
}

#[test]
fn decode_escapes() {
    assert_eq!(decoded(""), "");
    assert_eq!(decoded("plain é 🙂"), "plain é 🙂");
    assert_eq!(decoded(r#"\"\\\/\b\f\n\r\t"#), "\"\\/\u{8}\u{c}\n\r\t");
    assert_eq!(decoded(r"a\nb\tc"), "a\nb\tc");
    assert_eq!(decoded(r"\u0041\u00e9\u00E9\u20ac\u0000"), "Aéé€\0");
    assert_eq!(decoded(r"\\u0041"), r"\u0041");
    assert_eq!(decoded(r"\\\u0041\\"), r"\A\");
    assert_eq!(decoded(r"\ufffe\uffff"), "\u{fffe}\u{ffff}");
}

// R45, F9: a half of a pair alone is U+FFFD in a Rust string, and nothing around it is lost.
#[test]
fn decode_surrogates() {
    assert_eq!(decoded(r"\ud83d\ude00"), "😀");
    assert_eq!(decoded(r"\uD83D\uDE00x"), "😀x");
    assert_eq!(decoded(r"\udbff\udfff"), "\u{10ffff}");
    assert_eq!(decoded(r"\ud800\udc00"), "\u{10000}");
    assert_eq!(decoded(r"\ud83d"), "\u{fffd}");
    assert_eq!(decoded(r"\ude00"), "\u{fffd}");
    assert_eq!(decoded(r"a\ud83db"), "a\u{fffd}b");
    assert_eq!(decoded(r"\ud83d\n"), "\u{fffd}\n");
    assert_eq!(decoded(r"\ud83d\u0041"), "\u{fffd}A");
    assert_eq!(decoded(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
    assert_eq!(decoded(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
    assert_eq!(decoded(r"\ud83d\ude00\ude00"), "😀\u{fffd}");
    assert_eq!(decoded(r"\ud83d\\ude00"), "\u{fffd}\\ude00");
}

#[test]
fn decode_what_is_not_utf8() {
    assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
    assert_eq!(decode(b"a\xff\\n"), "a\u{fffd}\n");
    // WTF-8 of a lone surrogate.
    assert!(decode(b"\xed\xa0\xbd").chars().all(|c| c == '\u{fffd}'));
}

#[test]
fn a_string_without_escapes_is_borrowed() {
    assert!(matches!(decode(b"abc"), std::borrow::Cow::Borrowed("abc")));
}

// As JSON.stringify spells: checked with `node -p 'JSON.stringify(...)'`.
#[test]
fn encode() {
    assert_eq!(written(""), r#""""#);
    assert_eq!(written("a\"b\\c/d"), r#""a\"b\\c/d""#);
    assert_eq!(written("\u{8}\u{c}\n\r\t"), r#""\b\f\n\r\t""#);
    assert_eq!(written("\0\u{1}\u{b}\u{1f}"), r#""\u0000\u0001\u000b\u001f""#);
    assert_eq!(written("\u{7f}\u{80}\u{2028}\u{2029}\u{feff}é🙂"), "\"\u{7f}\u{80}\u{2028}\u{2029}\u{feff}é🙂\"");
}

// The bytes are those of `"\\ud83d".encode("utf-8", "surrogatepass")` in Python.
#[test]
fn lone_surrogates_stay_apart_in_wtf8() {
    assert_eq!(*decode_wtf8(br"a\ud83d"), *b"a\xed\xa0\xbd");
    assert_eq!(*decode_wtf8(br"\ude00b"), *b"\xed\xb8\x80b");
    assert_eq!(*decode_wtf8(br"\ud83d\ude00"), *"😀".as_bytes());
    // What is not UTF-8 is what a reader makes of it.
    assert_eq!(*decode_wtf8(b"x\xff\\n"), *"x\u{fffd}\n".as_bytes());
    assert_eq!(wtf8_to_str(b"a\xed\xa0\xbdb\xed\xb8\x80"), "a\u{fffd}b\u{fffd}");
    assert_eq!(wtf8_to_str(b"\xc3\xa9"), "é");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(text in any::<String>()) {
        let out = written(&text);
        prop_assert_eq!(decoded(&out[1..out.len() - 1]), text.clone());
        prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text.clone());
        prop_assert_eq!(&out, &serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn wtf8_is_written_as_it_was_read(units in prop::collection::vec(prop_oneof![0xd7f0u16..0xe010, any::<u16>()], 0..12)) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let mut out = Vec::new();
        push_wtf8(&mut out, &decode_wtf8(escaped.as_bytes()));
        prop_assert_eq!(&*decode_wtf8(&out[1..out.len() - 1]), &*decode_wtf8(escaped.as_bytes()));
        // No half of a pair is written as it is.
        prop_assert!(std::str::from_utf8(&out).is_ok());
    }

    #[test]
    fn units_decode_as_utf16_does(units in prop::collection::vec(prop_oneof![0xd7f0u16..0xe010, any::<u16>()], 0..12)) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        prop_assert_eq!(decoded(&escaped), String::from_utf16_lossy(&units));
    }
}
