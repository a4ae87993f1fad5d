//! Decoding and writing JSON strings.

use crate::hex::HEX;
use std::borrow::Cow;

/// The characters of a valid JSON string, given its bytes between the quotes. Bytes that are not
/// UTF-8 and lone surrogates become U+FFFD: the stored text keeps them (R45), a Rust string
/// cannot.
pub(crate) fn decode(raw: &[u8]) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw) else {
        return String::from_utf8_lossy(raw);
    };
    let replace = |out: &mut Vec<u8>, _surrogate| push_char(out, char::REPLACEMENT_CHARACTER);
    Cow::Owned(match String::from_utf8(unescape(raw, first, replace)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// The characters as WTF-8: as [`decode`], but lone surrogates stay apart from one another. For
/// what is compared, as ids are (R45).
pub(crate) fn decode_wtf8(raw: &[u8]) -> Cow<'_, [u8]> {
    let raw = match String::from_utf8_lossy(raw) {
        Cow::Borrowed(raw) => Cow::Borrowed(raw.as_bytes()),
        Cow::Owned(raw) => Cow::Owned(raw.into_bytes()),
    };
    match memchr::memchr(b'\\', &raw) {
        None => raw,
        Some(first) => Cow::Owned(unescape(&raw, first, |out, surrogate| {
            #[allow(clippy::cast_possible_truncation, reason = "six bits each")]
            out.extend_from_slice(&[0xed, 0x80 | (surrogate >> 6 & 0x3f) as u8, 0x80 | (surrogate & 0x3f) as u8]);
        })),
    }
}

/// WTF-8 as a Rust string: lone surrogates become U+FFFD.
pub(crate) fn wtf8_to_str(wtf8: &[u8]) -> Cow<'_, str> {
    let mut rest = match std::str::from_utf8(wtf8) {
        Ok(text) => return Cow::Borrowed(text),
        Err(_) => wtf8,
    };
    let mut out = String::with_capacity(wtf8.len());
    while let Some(invalid) = rest.utf8_chunks().next() {
        out.push_str(invalid.valid());
        rest = &rest[invalid.valid().len()..];
        if !rest.is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
            rest = &rest[if lone_surrogate(rest).is_some() { 3 } else { invalid.invalid().len() }..];
        }
    }
    Cow::Owned(out)
}

/// The surrogate that WTF-8 bytes begin with.
fn lone_surrogate(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, ..] => {
            Some(0xd000 | u32::from(high & 0x3f) << 6 | u32::from(low & 0x3f))
        }
        _ => None,
    }
}

/// Takes the escapes out of `raw`, the first of which is at `first`. What stands for a surrogate
/// without its other half is told by `lone`.
fn unescape(raw: &[u8], first: usize, lone: impl Fn(&mut Vec<u8>, u32)) -> Vec<u8> {
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
                let code = unicode_escape(&mut rest);
                match char::from_u32(code) {
                    Some(c) => push_char(&mut out, c),
                    None => lone(&mut out, code),
                }
                next = memchr::memchr(b'\\', rest);
                continue;
            }
            other => other,
        };
        out.push(plain);
        next = memchr::memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    out
}

fn push_char(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The code point of a `\u` escape whose hex digits begin `rest`, with its second half when it is
/// a pair; a surrogate when it is half of one.
fn unicode_escape(rest: &mut &[u8]) -> u32 {
    let Some(unit) = hex4(rest) else { return char::REPLACEMENT_CHARACTER.into() };
    *rest = &rest[4..];
    if !(0xd800..0xdc00).contains(&unit) {
        return unit;
    }
    let low = rest.strip_prefix(b"\\u").and_then(hex4).filter(|low| (0xdc00..0xe000).contains(low));
    let Some(low) = low else { return unit };
    *rest = &rest[6..];
    0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Appends `text` as a JSON string, spelled as `JSON.stringify` spells it.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    push_wtf8(out, text.as_bytes());
}

/// Appends WTF-8 as a JSON string, spelled as `JSON.stringify` spells it: lone surrogates as
/// escapes.
pub(crate) fn push_wtf8(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    // Without a way out of the loop, so that it takes many bytes at a time.
    let plain = |plain: bool, &byte: &u8| plain & (byte >= 0x20) & (byte != b'"') & (byte != b'\\') & (byte != 0xed);
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
            0..0x20 => {
                out.extend_from_slice(&bytes[done..at]);
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                done = at + 1;
                continue;
            }
            0xed => {
                if let Some(surrogate) = lone_surrogate(&bytes[at..]) {
                    out.extend_from_slice(&bytes[done..at]);
                    out.extend_from_slice(b"\\u");
                    out.extend([12, 8, 4, 0].map(|shift| HEX[(surrogate >> shift & 15) as usize]));
                    done = at + 3;
                }
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[done..at]);
        out.extend_from_slice(&[b'\\', short]);
        done = at + 1;
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

#[cfg(test)]
#[path = "string_tests.rs"]
mod tests;
