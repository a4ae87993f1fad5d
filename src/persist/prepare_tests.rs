//! What becomes of an entry's text on its way to the file. Bounds are those of the statements;
//! hashes are from `sha256sum`.

use super::{LineForm, NOTICE, Prepared, prepare};
use crate::json::Json;

/// `head -c 768 /dev/zero | sha256sum`; its base64 is 1,024 times `A`.
const ZEROS_768: &str = "ef115a0e0c15cdc41958ca46b5b14b456115f4baec5e3ca68599d2a8f435e3b8";
/// `head -c 375003 /dev/zero | sha256sum`; its base64 is 500,004 times `A`.
const ZEROS_375003: &str = "22cf015bf228fc7c0b78df23dae83308ebadfc38981be202e688bebbf7d525a9";
/// `printf 'data:image/png;base64,AAAA' | sha256sum`
const PNG_URL: &str = "bde6da8e9d3902a86a1452ec62648cd07cb1cfbae0ec8dd5142ad881c7aa2ba0";

fn written(text: impl AsRef<[u8]>) -> Prepared {
    prepare(text.as_ref()).expect("the line changes")
}

/// The line, which is text.
fn line(text: impl AsRef<[u8]>) -> String {
    String::from_utf8(written(text).line).unwrap()
}

#[track_caller]
fn same(text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    if let Some(prepared) = prepare(text) {
        let shown = String::from_utf8_lossy(&prepared.line[..prepared.line.len().min(300)]).into_owned();
        panic!("changed: {shown}");
    }
}

fn x(count: usize) -> String {
    "x".repeat(count)
}

/// Canonical base64 of `units` units; a multiple of four.
fn base64(units: usize) -> String {
    assert_eq!(units % 4, 0);
    "A".repeat(units)
}

/// An image block in a `content` array.
fn image(data: &str) -> String {
    format!(
        r#"{{"type":"message","message":{{"content":[{{"type":"image","data":"{data}","mimeType":"image/png"}}]}}}}"#
    )
}

fn reference(hash: &str) -> String {
    format!("blob:sha256:{hash}")
}

// R33: the notice, as text.
#[test]
fn r33_the_notice() {
    assert_eq!(NOTICE, "\n\n[Session persistence truncated large content]");
    // 499,953 units and the notice are 500,000.
    assert_eq!(499_953 + NOTICE.encode_utf16().count(), 500_000);
}

// R33: 500,000 units stay, 500,001 are cut to 499,953 and the notice; wherever the string stands.
#[test]
fn r33_bounds() {
    let cut = format!(r#"{}\n\n[Session persistence truncated large content]"#, x(499_953));
    let cases: [fn(&str) -> String; 6] = [
        |text| format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#),
        |text| format!(r#"{{"a":[[{{"b":["y","{text}"]}}]],"n":1e2}}"#),
        |text| format!(r#"["{text}"]"#),
        |text| format!(r#"{{ "type" : "x" , "data" : "{text}" , "z":-0 }}"#),
        |text| format!(r#"{{"type":"audio","mimeType":"audio/wav","data":"{text}"}}"#),
        |text| format!(r#"{{"url":"{text}","image_url":{{"deeper":{{"url":"{text}"}}}}}}"#),
    ];
    for case in cases {
        same(case(&x(500_000)));
        let prepared = written(case(&x(500_001)));
        assert_eq!(prepared.form(), LineForm::Reduced);
        assert!(prepared.blobs.is_empty());
        assert!(prepared.line == case(&cut).into_bytes(), "{}", case("…"));
    }
}

// R33: units of UTF-16, not bytes and not characters.
#[test]
fn r33_counts_units() {
    let object = |text: &str| format!(r#"{{"s":"{text}"}}"#);
    // One unit each: of one, two, three bytes; escapes of two and six.
    for unit in ["z", "é", "漢", r"\n", r"\\", r#"\""#, r"\/", r"\u00e9", r"\u6f22", r"\udc00"] {
        same(object(&unit.repeat(500_000)));
        let cut = format!("{}{}", unit.repeat(499_953), NOTICE.replace('\n', "\\n"));
        assert!(line(object(&unit.repeat(500_001))) == object(&cut), "{unit}");
    }
    // Two units each.
    for pair in ["😀", r"\ud83d\ude00", r"\uD83D\uDE00"] {
        same(object(&pair.repeat(250_000)));
        let cut = format!("{}{}", pair.repeat(249_976), NOTICE.replace('\n', "\\n"));
        // Unit 499,953 is the first half of pair 249,977.
        assert!(line(object(&pair.repeat(250_001))) == object(&cut), "{pair}");
        // With one unit before them, pair 249,976 ends at unit 499,953.
        let cut = format!("x{}{}", pair.repeat(249_976), NOTICE.replace('\n', "\\n"));
        assert!(line(object(&format!("x{}", pair.repeat(250_000)))) == object(&cut), "{pair}");
    }
}

// R33: what is cut off at a surrogate that stands alone, too.
#[test]
fn r33_lone_surrogates() {
    let object = |text: &str| format!(r#"{{"s":"{text}"}}"#);
    let notice = NOTICE.replace('\n', "\\n");
    // A first half as the last unit goes, though nothing follows that it would pair with.
    for half in [r"\ud800", r"\uDBFF", r"\udabc"] {
        let text = format!("{}{half}{}", x(499_952), x(100));
        assert!(line(object(&text)) == object(&format!("{}{notice}", x(499_952))), "{half}");
        // Before that it stays as it is spelled.
        let text = format!("{}{half}{}", x(499_951), x(100));
        assert!(line(object(&text)) == object(&format!("{}{half}x{notice}", x(499_951))), "{half}");
    }
    // A second half stays, and so do the neighbours of the surrogates.
    for unit in [r"\udc00", r"\uDFFF", r"\ud7ff", r"\ue000"] {
        let text = format!("{}{unit}{}", x(499_952), x(100));
        assert!(line(object(&text)) == object(&format!("{}{unit}{notice}", x(499_952))), "{unit}");
    }
    // What is not cut keeps them without being looked at.
    same(object(r"\ud83d\ud83d\ude00\ude00"));
}

// Bytes that are not UTF-8 are kept, and no cut makes more of them.
#[test]
fn invalid_utf8() {
    for odd in [&b"\xff"[..], b"\xc3", b"\xe6\xbc", b"\xf0\x9f\x98", b"\xed\xa0\xbd", b"\x80\x80"] {
        let object = |before: usize, after: usize| {
            [br#"{"s":""#, &*x(before).into_bytes(), odd, &*x(after).into_bytes(), br#"","partialJson":1}"#].concat()
        };
        let short = written(object(10, 10));
        assert_eq!(short.line, [br#"{"s":""#, &*x(10).into_bytes(), odd, &*x(10).into_bytes(), br#""}"#].concat());
        for before in 499_948..499_956 {
            let cut = written(object(before, 1000)).line;
            assert!(Json::new(&cut).get_str("s").unwrap().ends_with(NOTICE));
            let kept = cut.len() - br#"{"s":""}"#.len() - NOTICE.len() - 2;
            assert!((499_950..=499_953 + odd.len()).contains(&kept), "{kept}");
            assert!(object(before, 1000).starts_with(&cut[..6 + kept]));
        }
    }
}

// R34: both keys, at every depth and whatever their value is.
#[test]
fn r34_dropped_keys() {
    let cases = [
        (r#"{"partialJson":"{\"a","type":"x"}"#, r#"{"type":"x"}"#),
        (r#"{"type":"x","jsonlEvents":[{"a":[1]},2]}"#, r#"{"type":"x"}"#),
        (r#"{"a":{"b":[{"partialJson":null}]}}"#, r#"{"a":{"b":[{}]}}"#),
        (r#"{"a":1,"partialJson":{"partialJson":{"jsonlEvents":[]}},"b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"{"partialJson":1,"jsonlEvents":2}"#, "{}"),
        (r#"{"partialJson":1,"a":1,"jsonlEvents":2}"#, r#"{"a":1}"#),
        (r#"{"a":1,"partialJson":1,"jsonlEvents":2,"b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"[{"a":{"partialJson":1},"jsonlEvents":{"a":{}}},{"jsonlEvents":0}]"#, r#"[{"a":{}},{}]"#),
        // Duplicates go together.
        (r#"{"partialJson":1,"a":1,"partialJson":2,"a":2,"partialJson":3}"#, r#"{"a":1,"a":2}"#),
        // However it is spelled.
        (r#"{"\u0070artialJson":1,"a":"\u0041"}"#, r#"{"a":"\u0041"}"#),
        (r#"{"a":1,"jsonl\u0045vents":1}"#, r#"{"a":1}"#),
        (r#"{"\u0070\u0061\u0072\u0074\u0069\u0061\u006c\u004a\u0073\u006f\u006e":1}"#, "{}"),
        // Everything else keeps every byte.
        (
            r#"{ "n" : [1e2,-0,1E400] , "s":"\ud83d\/" , "partialJson" : 0 , "z" : { } }"#,
            r#"{ "n" : [1e2,-0,1E400] , "s":"\ud83d\/" , "z" : { } }"#,
        ),
    ];
    for (text, want) in cases {
        let prepared = written(text);
        assert_eq!(String::from_utf8(prepared.line.clone()).unwrap(), want, "{text}");
        assert_eq!(prepared.form(), LineForm::Reduced);
        // Once is enough.
        same(&prepared.line);
    }
}

// R34: only those keys, and only keys.
#[test]
fn r34_other_keys_stay() {
    for text in [
        r#"{"partialjson":1,"PartialJson":1,"partialJson2":1," partialJson":1,"jsonlEvent":1}"#,
        r#"{"a":"partialJson","b":["jsonlEvents"]}"#,
        r#"{"partial\\u004ason":1}"#,
        r#"{"partialJson\u0000":1}"#,
    ] {
        same(text);
    }
}

// R34 goes before R33 and R36: nothing is made of what is dropped.
#[test]
fn r34_nothing_of_it_is_kept() {
    let inner = image(&base64(2048));
    let text = format!(r#"{{"a":1,"partialJson":{inner},"jsonlEvents":[{inner},"{}"]}}"#, x(600_000));
    let prepared = written(text);
    assert_eq!(prepared.line, br#"{"a":1}"#);
    assert!(prepared.blobs.is_empty());
}

// 100,000 objects in one another, each with a dropped key.
#[test]
fn r34_deep() {
    let depth = 100_000;
    let text = format!("{}1{}", r#"{"partialJson":0,"a":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(line(text), format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)));
}

// R35: lines of the content that is written, where the object changed.
#[test]
fn r35_line_count() {
    let many = |lines: usize| format!("{}{}", r"y\n".repeat(lines), x(600_000));
    // 10 and 2 newlines make 13 lines.
    let cut =
        |lines: usize| format!("{}{}{}", r"y\n".repeat(lines), x(499_953 - 2 * lines), NOTICE.replace('\n', "\\n"));
    for (text, want) in [
        (
            format!(r#"{{"content":"{}","lineCount":99}}"#, many(10)),
            format!(r#"{{"content":"{}","lineCount":13}}"#, cut(10)),
        ),
        // In either order, and as it is spelled.
        (
            format!(r#"{{ "lineCount" : 1e3 , "content" : "{}" }}"#, many(0)),
            format!(r#"{{ "lineCount" : 3 , "content" : "{}" }}"#, cut(0)),
        ),
        (
            format!(r#"{{"line\u0043ount":-1,"\u0063ontent":"{}"}}"#, many(1)),
            format!(r#"{{"line\u0043ount":4,"\u0063ontent":"{}"}}"#, cut(1)),
        ),
        // The last of duplicates counts.
        (
            format!(r#"{{"content":"a\nb","lineCount":7,"content":"{}","lineCount":8}}"#, many(0)),
            format!(r#"{{"content":"a\nb","lineCount":7,"content":"{}","lineCount":3}}"#, cut(0)),
        ),
    ] {
        assert!(line(&text) == want, "{}", &text[..40]);
    }
    // The object changed, if not its content; a change further in counts.
    for (text, want) in [
        (r#"{"partialJson":1,"content":"a\nb","lineCount":9}"#, r#"{"content":"a\nb","lineCount":2}"#),
        (
            r#"{"content":"a\u000ab\u000Ac\\n","lineCount":9,"jsonlEvents":1}"#,
            r#"{"content":"a\u000ab\u000Ac\\n","lineCount":3}"#,
        ),
        (r#"{"content":"","lineCount":0,"d":[{"partialJson":1}]}"#, r#"{"content":"","lineCount":1,"d":[{}]}"#),
        (r#"{"content":"\r\u2028","lineCount":5,"partialJson":1}"#, r#"{"content":"\r\u2028","lineCount":1}"#),
    ] {
        assert_eq!(line(text), want);
    }
}

// R35: not without a string content, a number lineCount and a change.
#[test]
fn r35_nothing_else() {
    same(r#"{"content":"a\nb","lineCount":9,"d":"image"}"#);
    for members in [
        r#""content":["a\nb"],"lineCount":9"#,
        r#""content":"a\nb","lineCount":"9""#,
        r#""content":"a\nb","lineCount":null"#,
        r#""content":"a\nb","lineCount":true"#,
        r#""content":"a\nb","lineCount":[9]"#,
        r#""content":"a\nb","linecount":9"#,
        r#""contents":"a\nb","lineCount":9"#,
        // The last of duplicates is no string, or no number.
        r#""content":"a\nb","content":null,"lineCount":9"#,
        r#""content":"a\nb","lineCount":9,"lineCount":{}"#,
        // In another object.
        r#""content":"a\nb","d":{"lineCount":9}"#,
        r#""lineCount":9,"d":{"content":"a\nb"}"#,
    ] {
        assert_eq!(line(format!(r#"{{{members},"partialJson":1}}"#)), format!("{{{members}}}"));
    }
    // An object beside the one that changed did not change.
    assert_eq!(
        line(r#"[{"content":"a\nb","lineCount":9},{"partialJson":1}]"#),
        r#"[{"content":"a\nb","lineCount":9},{}]"#
    );
    // A count that is right is written as it was spelled.
    assert_eq!(line(r#"{"content":"a\nb","lineCount":2,"partialJson":1}"#), r#"{"content":"a\nb","lineCount":2}"#);
}

// R36, R52a: an image block from 1,024 units, and what is stored.
#[test]
fn r52a_image_blocks() {
    same(image(&base64(1020)));
    // 1,023 units are no base64 of anything, with or without the padding that is left.
    same(image(&x(1023)));
    same(image(&format!("{}=", base64(1020))));
    let prepared = written(image(&base64(1024)));
    assert_eq!(String::from_utf8(prepared.line.clone()).unwrap(), image(&reference(ZEROS_768)));
    assert_eq!(prepared.form(), LineForm::References);
    let [(hash, bytes)] = &prepared.blobs[..] else { panic!("one blob") };
    assert_eq!((hash.as_str(), &bytes[..]), (ZEROS_768, &[0; 768][..]));
    // A reference is not put away once more.
    same(&prepared.line);
    // However large it is.
    let [(_, bytes)] = &written(image(&base64(4_000_000))).blobs[..] else { panic!("one blob") };
    assert!(*bytes == vec![0; 3_000_000]);
}

// R52a: where such a block stands.
#[test]
fn r52a_places() {
    let block = format!(r#"{{"type":"image","data":"{}"}}"#, base64(1024));
    let stored = format!(r#"{{"type":"image","data":"{}"}}"#, reference(ZEROS_768));
    for place in [
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"t"},BLOCK]}}"#,
        r#"{"type":"custom_message","content":[BLOCK,1,BLOCK]}"#,
        r#"{"type":"anything","deep":[{"er":{"content":[BLOCK]}}]}"#,
        // In arrays of the array.
        r#"{"content":[[[BLOCK]],[]]}"#,
        r#"{"\u0063ontent":[BLOCK]}"#,
        // In a block of a block: the inner one stands in a content array too.
        r#"{"content":[{"type":"tool_result","content":[BLOCK]}]}"#,
        r#"[ { "content" : [ BLOCK ] } ]"#,
    ] {
        assert_eq!(line(place.replace("BLOCK", &block)), place.replace("BLOCK", &stored), "{place}");
    }
    for place in [
        r#"{"content":BLOCK}"#,
        r#"{"content":{"a":[BLOCK]}}"#,
        r#"{"content":[{"a":BLOCK}]}"#,
        r#"{"content":[{"a":[BLOCK]}]}"#,
        r#"{"contents":[BLOCK]}"#,
        r#"{"type":"message","images":[BLOCK]}"#,
        r#"[BLOCK]"#,
    ] {
        same(place.replace("BLOCK", &block));
    }
}

// R52a: what such a block is. The last of duplicate keys counts.
#[test]
fn r52a_blocks() {
    let data = base64(1024);
    let stored = reference(ZEROS_768);
    for block in [
        r#"{"data":"DATA","type":"image"}"#,
        r#"{"type":"\u0069mage","\u0064ata":"DATA"}"#,
        r#"{"type":"text","data":"short","type":"image","data":"DATA"}"#,
        r#"{"type":1,"data":[],"type":"image","data":"DATA","mimeType":"text/plain"}"#,
    ] {
        let entry = format!(r#"{{"content":[{block}]}}"#);
        assert_eq!(line(entry.replace("DATA", &data)), entry.replace("DATA", &stored), "{block}");
    }
    for block in [
        r#"{"type":"text","data":"DATA"}"#,
        r#"{"type":"Image","data":"DATA"}"#,
        r#"{"type":"image","data":["DATA"]}"#,
        r#"{"type":"image","source":"DATA"}"#,
        r#"{"type":"image","Data":"DATA"}"#,
        r#"{"type":["image"],"data":"DATA"}"#,
        r#"{"mimeType":"image/png","data":"DATA"}"#,
        r#"{"type":"image","type":"text","data":"DATA"}"#,
        r#"{"type":"image","type":null,"data":"DATA"}"#,
        r#"{"type":"image","data":"DATA","data":"short"}"#,
        r#"{"type":"image","data":"DATA","data":{}}"#,
    ] {
        same(format!(r#"{{"content":[{block}]}}"#).replace("DATA", &data));
    }
}

// R52: decoding and encoding again must give the same text.
#[test]
fn r52_canonical_base64_only() {
    let large = base64(500_004);
    for text in [
        // 1,024 units and more, but: a length that is none, padding that is not needed or missing,
        // bits that nothing stands for, the alphabet of URLs, blanks, lone surrogates.
        format!("{}A", base64(1024)),
        format!("{}=", base64(1024)),
        format!("{}AA", base64(1024)),
        format!("{}AAA", base64(1024)),
        format!("{}AB==", base64(1024)),
        format!("{}AAB=", base64(1024)),
        format!("{}A===", base64(1024)),
        format!("{}====", base64(1024)),
        format!("{}-_AA", base64(1024)),
        format!("{} AAA", base64(1024)),
        format!(r"{}\nAAA", base64(1024)),
        format!(r"{}\ud800AAA", base64(1024)),
        format!("{}éA", base64(1024)),
        format!("data:image/png;base64,{}", base64(1024)),
        // The same above the limit: not cut either.
        format!("{large}A"),
        format!("{large}AB=="),
        format!("{large}-_AA"),
        format!("data:image/png;base64,{large}"),
    ] {
        same(image(&text));
    }
    // The padding that belongs there: 766 and 767 zero bytes end in == and =.
    for (data, bytes) in [(format!("{}AA==", base64(1020)), 766), (format!("{}AAA=", base64(1020)), 767)] {
        let prepared = written(image(&data));
        assert_eq!(prepared.blobs[0].1, vec![0; bytes]);
    }
    // An escape is no reason not to: the text it stands for counts, also for the length.
    let escaped = format!(r"\u0041{}", base64(1020));
    same(image(&escaped));
    assert_eq!(line(image(&format!("{escaped}AAA"))), image(&reference(ZEROS_768)));
    assert_eq!(written(image(&r"\/".repeat(1024))).blobs[0].1, vec![0xff; 768]);
}

// R52b: data of an image by its type or mimeType, above 500,000 units, wherever it stands.
#[test]
fn r52b_large_data() {
    for object in [
        r#"{"type":"image","data":"DATA"}"#,
        r#"{"mimeType":"image/png","data":"DATA"}"#,
        r#"{"data":"DATA","mimeType":"image/"}"#,
        r#"{"type":"x","a":{"b":[{"mime\u0054ype":"im\u0061ge/svg+xml","data":"DATA"}]}}"#,
        r#"{"content":[{"type":"document","mimeType":"image/png","data":"DATA"}]}"#,
        r#"{"mimeType":"text/plain","mimeType":"image/png","data":"x","data":"DATA"}"#,
    ] {
        // 500,000 is a multiple of four, 500,001 is the length of no base64.
        same(object.replace("DATA", &base64(500_000)));
        same(object.replace("DATA", &x(500_001)));
        let prepared = written(object.replace("DATA", &base64(500_004)));
        assert_eq!(String::from_utf8(prepared.line.clone()).unwrap(), object.replace("DATA", &reference(ZEROS_375003)));
        assert_eq!(prepared.form(), LineForm::References);
        assert!(prepared.blobs[0].1 == vec![0; 375_003]);
    }
    // Of anything else base64 is whole (G6), and a text is cut.
    for object in [
        r#"{"mimeType":"application/pdf","data":"DATA"}"#,
        r#"{"mimeType":"Image/png","data":"DATA"}"#,
        r#"{"mimeType":"xximage/png","data":"DATA"}"#,
        r#"{"mimeType":["image/png"],"data":"DATA"}"#,
        r#"{"mimeType":"image/png","mimeType":0,"data":"DATA"}"#,
        r#"{"mimetype":"image/png","data":"DATA"}"#,
        r#"{"data":"DATA"}"#,
        r#"{"mimeType":"image/png","Data":"DATA"}"#,
        r#"{"mimeType":"image/png","inner":{"data":"DATA"}}"#,
        r#"{"inner":{"mimeType":"image/png"},"data":"DATA"}"#,
    ] {
        same(object.replace("DATA", &base64(500_004)));
        let cut = format!("{}{}", "A".repeat(499_953), NOTICE.replace('\n', "\\n"));
        let prepared = written(object.replace("DATA", &"A".repeat(500_005)));
        assert!(prepared.line == object.replace("DATA", &cut).into_bytes(), "{object}");
        assert!(prepared.blobs.is_empty());
    }
}

// R52c: image URLs of any length, as the text they are.
#[test]
fn r52c_image_urls() {
    let url = "data:image/png;base64,AAAA";
    let stored = reference(PNG_URL);
    for place in [
        r#"{"image_url":"URL"}"#,
        r#"{"image_url":{"url":"URL"}}"#,
        r#"{"image_url":{"detail":"high","\u0075rl":"URL","z":[]}}"#,
        r#"{"image\u005furl":"URL"}"#,
        r#"{"type":"message","message":{"content":[{"type":"input_image","image_url":"URL"}]}}"#,
        r#"{"a":[[{"image_url":{"url":"URL","url":"x"}}]],"image_url":"URL"}"#,
    ] {
        let prepared = written(place.replace("URL", url));
        assert_eq!(String::from_utf8(prepared.line.clone()).unwrap(), place.replace("URL", &stored), "{place}");
        assert_eq!(prepared.form(), LineForm::References);
        assert!(prepared.blobs.iter().all(|(hash, bytes)| hash.as_str() == PNG_URL && bytes == url.as_bytes()));
        same(&prepared.line);
    }
    for place in [
        r#"{"url":"URL"}"#,
        r#"{"imageUrl":"URL"}"#,
        r#"{"image_url":["URL"]}"#,
        r#"{"image_url":[{"url":"URL"}]}"#,
        r#"{"image_url":{"a":{"url":"URL"}}}"#,
        r#"{"image_url":{"uri":"URL"}}"#,
        r#"{"content":"URL","text":"URL"}"#,
        r#"{"content":[{"type":"image","data":"URL"}]}"#,
    ] {
        same(place.replace("URL", url));
    }
    // The text that escapes spell is what is stored.
    let prepared = written(r#"{"image_url":"\u0064ata:image\/png;base64,AAAA"}"#);
    assert_eq!(prepared.blobs[0].1, url.as_bytes());
    // Longer than the limit, and in base64 that is none: still whole, and not cut.
    let long = format!("data:image/svg+xml;charset=utf-8;base64,{}é", x(600_000));
    let prepared = written(format!(r#"{{"image_url":{{"url":"{long}"}}}}"#));
    assert!(prepared.blobs[0].1 == long.as_bytes());
}

// R52c: what an image URL is.
#[test]
fn r52c_other_urls() {
    for url in [
        "https://example.com/a.png",
        "data:image/png,AAAA",
        "data:image/png;base64",
        "data:text/plain;base64,AAAA",
        "DATA:image/png;base64,AAAA",
        " data:image/png;base64,AAAA",
        "data:imagepng;base64,AAAA",
        "blob:sha256:ef11",
        "",
    ] {
        same(format!(r#"{{"image_url":"{url}","b":{{"image_url":{{"url":"{url}"}}}}}}"#));
    }
    // What is no image URL is text.
    let text = format!("https://example.com/{}", x(600_000));
    let cut = format!("https://example.com/{}{}", x(499_933), NOTICE.replace('\n', "\\n"));
    assert!(line(format!(r#"{{"image_url":"{text}"}}"#)) == format!(r#"{{"image_url":"{cut}"}}"#));
}

// R52: image URLs are never cut, wherever they stand; what only looks like one is.
#[test]
fn r52_image_urls_are_never_cut() {
    for (start, stays) in [
        ("data:image/png;base64,", true),
        (r"\u0064ata:image\/png;base64,", true),
        // Parameters may be long.
        (&*format!("data:image/png;name={};base64,", x(10_000)), true),
        (&*format!("data:image/png;name={};base64,", "é".repeat(3000)), true),
        // G6: half a file is none either.
        ("data:text/plain;base64,", true),
        ("data:image/png,", false),
        ("data:text/plain,", false),
        ("data:text/plain;base64,two words", false),
        (" data:image/png;base64,", false),
        ("see data:image/png;base64,", false),
    ] {
        for place in [r#"{"url":"TEXT"}"#, r#"{"content":"TEXT"}"#, r#"["TEXT"]"#, r#"{"data":"TEXT"}"#] {
            let text = place.replace("TEXT", &format!("{start}{}", x(600_000)));
            match stays {
                true => same(text),
                false => assert_eq!(written(text).form(), LineForm::Reduced, "{start}"),
            }
        }
    }
}

// R52c: from the store comes text, so what is none is not put there. It is not cut either.
#[test]
fn r52c_urls_that_are_no_text() {
    same(r#"{"image_url":"data:image/png;base64,\ud800"}"#);
    same(b"{\"image_url\":\"data:image/png;base64,\xff\"}");
    same(format!(r#"{{"image_url":"data:image/png;base64,\udfff{}"}}"#, x(600_000)));
}

// G6: data whose half is worth nothing is written whole, without a blob reference where no agent would
// read one back.
#[test]
fn g06_opaque_data_is_whole() {
    // `printf ABC | base64` is QUJD.
    let data = "QUJD".repeat(150_000);
    for place in [
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"redactedThinking","data":"DATA"}]}}"#,
        r#"{"content":[{"type":"redacted_thinking","data":"DATA"}]}"#,
        r#"{"items":[{"type":"reasoning","summary":[],"encrypted_content":"DATA"}]}"#,
        r#"{"encrypted_content":"gAAAAABo.DATA"}"#,
        r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":"DATA"}]}"#,
        r#"{"type":"input_audio","input_audio":{"data":"DATA","format":"wav"}}"#,
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"DATA=="}}"#,
        r#"{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"DATA"}}]}"#,
        r#"{"type":"input_file","file_data":"data:application/pdf;base64,DATA"}"#,
        r#"{"inlineData":{"mime_type":"application/pdf","data":"DATA"}}"#,
        r#"{"type":"image_generation_call","result":"DATA"}"#,
        r#"{"type":"thinking","signature":"DATA"}"#,
    ] {
        same(place.replace("DATA", &data));
    }
    // In lines, as some encoders write it.
    same(format!(r#"{{"data":"{}QQ==\n"}}"#, format!("{}\n", "QUJD".repeat(19)).repeat(8000)));
    // A text of the same characters is a text.
    for place in [r#"{"content":"DATA"}"#, r#"{"type":"text","text":"DATA"}"#, r#"{"data":"two DATA"}"#] {
        assert_eq!(written(place.replace("DATA", &data)).form(), LineForm::Reduced, "{place}");
    }
}

// R33: a signature that is too long is none; it is never cut.
#[test]
fn signatures() {
    for key in ["thinkingSignature", "thoughtSignature", "textSignature", r"text\u0053ignature"] {
        let object = |text: &str| format!(r#"{{"content":[{{"type":"thinking","{key}":"{text}","z":1}}]}}"#);
        same(object(&x(500_000)));
        assert_eq!(line(object(&x(500_001))), object(""), "{key}");
        assert_eq!(line(object(&"😀".repeat(250_001))), object(""), "{key}");
    }
    let other = line(format!(r#"{{"signature":"{}"}}"#, x(500_001)));
    assert_eq!(other.len(), r#"{"signature":""}"#.len() + 500_002);
}

// Several changes in one line, each in its place.
#[test]
fn all_at_once() {
    let text = format!(
        r#"{{"partialJson":0,"a":"{}","content":[{{"type":"image","data":"{}"}},[{{"image_url":"data:image/png;base64,AAAA"}}]],"b":{{"jsonlEvents":1,"content":"{}","lineCount":1}},"textSignature":"{}"}}"#,
        x(500_001),
        base64(1024),
        x(500_001),
        x(500_001)
    );
    let notice = r"\n\n[Session persistence truncated large content]";
    let want = format!(
        r#"{{"a":"{0}{notice}","content":[{{"type":"image","data":"{1}"}},[{{"image_url":"{2}"}}]],"b":{{"content":"{0}{notice}","lineCount":3}},"textSignature":""}}"#,
        x(499_953),
        reference(ZEROS_768),
        reference(PNG_URL)
    );
    let prepared = written(text);
    assert!(prepared.line == want.into_bytes());
    assert_eq!(prepared.form(), LineForm::Reduced);
    let hashes: Vec<&str> = prepared.blobs.iter().map(|(hash, _)| hash.as_str()).collect();
    assert_eq!(hashes, [ZEROS_768, PNG_URL]);
}

// R45: what needs no change is not touched, whatever it holds.
#[test]
fn untouched_lines() {
    for text in [
        "{}",
        "[]",
        "1",
        r#"{"type":"message","message":{"role":"user","content":"Hello"}}"#,
        r#"{ "image" : "\u0041\ud83d\/" , "n":[1e2,-0,1E400] , "n":null }"#,
        r#"{"content":[{"type":"image","data":null},{"type":"image"},{"type":"image","data":""}]}"#,
        r#"{"image_url":null,"x":{"image_url":{"url":7}}}"#,
        r#"{"":"image","\u0000":1}"#,
    ] {
        same(text);
    }
    // A long line of short strings.
    same(format!(r#"["{}"]"#, vec![x(1000); 2000].join("\",\"")));
    // 100,000 levels.
    same(format!("{}{}", r#"{"image":["#.repeat(100_000), "]}".repeat(100_000)));
}
