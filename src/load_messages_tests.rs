//! A message that is read alone, before the line around it is made.

use super::scanned;
use crate::json::cursor::Nothing;
use crate::load::Reader;

// A message read alone gives what the scan of its line gives, and is refused when that would not be
// a line of one entry that holds it whole.
#[test]
fn messages_alone() {
    let usage = r#""usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.5}}"#;
    let reference = format!("blob:sha256:{}", "a".repeat(64));
    let whole = [
        "{}".to_owned(),
        r#"{"role":"user","content":"x"}"#.to_owned(),
        format!(r#"{{"role":"assistant","content":[],{usage}}}"#),
        format!(r#"{{"role":"user",{usage}}}"#),
        format!(r#"{{"role":"toolResult","toolName":"task","details":{{{usage}}}}}"#),
        format!(r#"{{"role":"toolResult","toolName":"bash","details":{{{usage}}}}}"#),
        format!(r#"{{"role":"user","role":"assistant",{usage},"usage":null}}"#),
        r#"{"role":"assis\u0074ant","providerPayload":{"type":"x"}}"#.to_owned(),
        format!(r#"{{"role":"user","content":[{{"type":"image","data":"{reference}"}}]}}"#),
        r#"{"content":"\u0062lob:sha256:"}"#.to_owned(),
        "{\t\"role\" :\t\"user\"}".to_owned(),
        format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
    ];
    for text in &whole {
        let message = Reader::new().message::<Nothing>(text.as_bytes()).unwrap_or_else(|| panic!("{text:.80}"));
        let line = scanned(format!(r#"{{"type":"message","message":{text}}}"#));
        let slot = message.slot(line.slots[0].len);
        assert_eq!(format!("{slot:?}"), format!("{:?}", line.slots[0]), "{text:.80}");
        assert_eq!(message.usage().unwrap_or_default(), line.usage, "{text:.80}");
    }
    let refused = [
        "",
        " ",
        "1",
        "[]",
        "null",
        "\"{}\"",
        "{",
        "{}}",
        "{},\"id\":\"x\"",
        "{} {}",
        " {}",
        "{} ",
        "{}\0",
        "\u{feff}{}",
        "{\n}",
        "{\r}",
        "{\"a\":1",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":01}",
    ];
    // One after another with the same reader, as a manager does.
    let mut reader = Reader::new();
    for text in refused {
        assert_eq!(reader.message::<Nothing>(text.as_bytes()), None, "{text:?}");
        assert!(reader.message::<Nothing>(br#"{"role":"assistant","content":"some text"}"#).is_some());
    }
}

// R33-R36: what is looked for in a message while it is read is in every one whose line has another
// form on disk.
#[test]
fn messages_that_are_written_as_they_are() {
    use crate::persist::{MayChange, is_plain, prepare};
    let base64 = "QUJD".repeat(400);
    let long = "x".repeat(500_001);
    for (text, changes) in [
        (r#"{"role":"user","content":"plain"}"#.to_owned(), false),
        (r#"{"role":"user","content":"a \u001b[1m of a terminal"}"#.to_owned(), false),
        (format!(r#"{{"content":[{{"type":"image","data":"{base64}"}}]}}"#), true),
        (format!(r#"{{"content":[{{"data":"{base64}","type":"\u0069mage"}}]}}"#), true),
        (format!(r#"{{"a":[[{{"image_url":"data:image/png;base64,{base64}"}}]]}}"#), true),
        (format!(r#"{{"image_url":{{"url":"data:image\/png;base64,{base64}"}}}}"#), true),
        (format!(r#"{{"mimeType":"image\/png","data":"{}"}}"#, "QUJD".repeat(125_001)), true),
        (r#"{"content":[{"partialJson":"x"}]}"#.to_owned(), true),
        (r#"{"a":[{"b":1},{"b":{"jsonlEvents":[]}}]}"#.to_owned(), true),
        (r#"{"partial\u004ason":1}"#.to_owned(), true),
        (format!(r#"{{"content":"{long}"}}"#), true),
        // May change and does not.
        (r#"{"content":[{"type":"image","data":"QUJD"}]}"#.to_owned(), false),
        (r#"{"content":"partialJson, jsonlEvents, an image"}"#.to_owned(), false),
    ] {
        let message = Reader::new().message::<MayChange>(text.as_bytes()).unwrap();
        let is_plain = is_plain(text.as_bytes(), message.found, message.unicode_escapes);
        assert_eq!(prepare(text.as_bytes()).is_some(), changes, "{text:.80}");
        assert!(!(is_plain && changes), "{text:.80}");
    }
    let message = Reader::new().message::<MayChange>(br#"{"content":"image\u001b","type":"imag"}"#).unwrap();
    assert!(message.found, "a value that begins with image");
    let text = br#"{"content":"an image \u001b","type":"imag"}"#;
    let message = Reader::new().message::<MayChange>(text).unwrap();
    assert!(is_plain(text, message.found, message.unicode_escapes));
}
