//! What is never cut.

use super::{is_base64, is_opaque};

// G6: base64 as programs write it: either alphabet, with and without padding, in lines.
#[test]
fn g06_base64() {
    for text in ["QUJD", "QUI=", "QQ==", "QUI", "QQ", "+/8=", "-_8", "QUJD\nQUJD\nQQ==\n", "QUJD\r\nQUJD\r\nQQ==\r\n"] {
        assert!(is_base64(text), "{text:?}");
    }
    for text in [
        "",
        "\n",
        "\n\n\n",
        "=",
        "Q",
        "QUJDQ",
        "QU JD",
        "QUJD.",
        "QUJé",
        "QUJD\nQU\nQUJD",
        "QUJD\nQUJDQUJD",
        "a b",
        "{}",
        "QU=JD",
    ] {
        assert!(!is_base64(text), "{text:?}");
    }
}

// G6: by the name, by the form, and not where texts stand.
#[test]
fn g06_opaque() {
    for (name, text) in [
        ("data", "QUJD"),
        ("encrypted_content", "gAAAA.B"),
        ("encryptedContent", "a b"),
        ("", "QUJD"),
        ("signature", "QUJD"),
        ("file_data", "data:application/pdf;base64,QUJD"),
        ("content", "data:audio/wav;base64,QUJD"),
        ("data", r"\u0051UJD\/w=="),
    ] {
        assert!(is_opaque(name, text.as_bytes()), "{name} {text}");
    }
    for (name, text) in [
        ("content", "QUJD"),
        ("text", "QUJD"),
        ("thinking", "QUJD"),
        ("summary", "QUJD"),
        ("data", "two words"),
        ("file_data", "data:application/pdf;base64,QUJD and more"),
        ("file_data", "data:application/pdf,QUJD"),
    ] {
        assert!(!is_opaque(name, text.as_bytes()), "{name} {text}");
    }
    assert!(!is_opaque("data", b"QUJD\xff"));
}
