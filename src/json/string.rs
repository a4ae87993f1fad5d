//! Decoding and writing JSON strings.

use std::borrow::Cow;

/// The characters of a valid JSON string, given its bytes between the quotes. Bytes that are not
/// UTF-8 and lone surrogates become U+FFFD: the stored text keeps them (R45), a Rust string
/// cannot.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw) else {
        return String::from_utf8_lossy(raw);
    };
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    let mut next = Some(first);
    while let Some(at) = next {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&escape, after)) = rest.split_first() else { break };
        rest = after;
        let plain = match escape {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let decoded = unicode_escape(&mut rest);
                out.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
                next = memchr::memchr(b'\\', rest);
                continue;
            }
            other => other,
        };
        out.push(plain);
        next = memchr::memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// The character of a `\u` escape whose hex digits begin `rest`, with its second half when it is
/// a pair.
fn unicode_escape(rest: &mut &[u8]) -> char {
    let Some(unit) = hex4(rest) else { return char::REPLACEMENT_CHARACTER };
    *rest = &rest[4..];
    if !(0xd800..0xdc00).contains(&unit) {
        return char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    let low = rest.strip_prefix(b"\\u").and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
    let Some(low) = low else { return char::REPLACEMENT_CHARACTER };
    *rest = &rest[6..];
    char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Appends `text` as a JSON string, spelled as `JSON.stringify` spells it.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    // Without a way out of the loop, so that it takes many bytes at a time.
    let plain = |plain: bool, &byte: &u8| plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\');
    if bytes.iter().fold(true, plain) {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut done = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[done..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(&[b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        done = at + 1;
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

#[cfg(test)]
#[path = "string_tests.rs"]
mod tests;
