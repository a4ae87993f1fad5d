use super::{Visitor, walk};
use crate::json::Key;
use std::ops::Range;

/// Writes down what it is told.
#[derive(Default)]
struct Told(Vec<String>);

fn key_text(text: &[u8], key: Option<Key>) -> String {
    key.map_or_else(|| "-".to_owned(), |key| String::from_utf8_lossy(&text[key.start..key.end]).into_owned())
}

impl Visitor for Told {
    fn open(&mut self, text: &[u8], key: Option<Key>, object: bool, at: usize) {
        assert_eq!(text[at], if object { b'{' } else { b'[' });
        self.0.push(format!("{}{}", key_text(text, key), char::from(text[at])));
    }

    fn close(&mut self, text: &[u8], end: usize) {
        self.0.push(char::from(text[end - 1]).to_string());
    }

    fn scalar(&mut self, text: &[u8], key: Option<Key>, span: Range<usize>) {
        self.0.push(format!("{}={}", key_text(text, key), String::from_utf8_lossy(&text[span])));
    }
}

fn told(text: &str) -> String {
    let mut told = Told::default();
    walk(text.as_bytes(), &mut told);
    told.0.join(" ")
}

#[test]
fn every_value_once_and_in_order() {
    assert_eq!(told("1"), "-=1");
    assert_eq!(told("\"a\""), "-=\"a\"");
    assert_eq!(told("[]"), "-[ ]");
    assert_eq!(told("{ }"), "-{ }");
    assert_eq!(told("[1,[2,[]],{}]"), "-[ -=1 -[ -=2 -[ ] ] -{ } ]");
    assert_eq!(
        told(r#" { "a" : 1 , "b" : [ true , { "c" : "}" } ] , "d" : { } , "a" : null } "#),
        r#"-{ a=1 b[ -=true -{ c="}" } ] d{ } a=null }"#
    );
}

#[test]
fn stops_where_the_text_does() {
    assert_eq!(told(""), "");
    assert_eq!(told("[1,"), "-[ -=1");
    assert_eq!(told("{\"a\":"), "-{");
}

#[test]
fn deep() {
    let mut counts = Told::default();
    let text = "{\"a\":[".repeat(50_000) + "0" + &"]}".repeat(50_000);
    walk(text.as_bytes(), &mut counts);
    assert_eq!(counts.0.len(), 200_001);
    assert_eq!(counts.0[100_000], "-=0");
}
