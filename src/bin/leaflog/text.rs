//! Text of sessions made safe and short enough to show.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Characters that steer a terminal or hide what a line says: controls (C0, DEL, C1), line
/// separators, and those that turn the direction of other text.
pub const fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands for an unsafe character: a control's picture where there is one.
fn stand_in(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// `text` with a visible stand-in for each unsafe character.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_unsafe(c) { stand_in(c) } else { c }).collect())
}

/// The length of the colour sequence (`ESC [ … m`) that begins `text`. Programs write them into
/// the output that tools return; what they say is not lost without them.
fn colour_sequence(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\x1b[")?;
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    rest[end..].starts_with('m').then_some(text.len() - rest.len() + end + 1)
}

/// The columns `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` on one line of at most `most` columns: runs of white space are one space, unsafe
/// characters have stand-ins. What is cut ends with `…`.
pub fn one_line(text: &str, most: usize) -> String {
    let mut out = String::new();
    let mut columns = 0;
    // Marks without a width could go on for ever.
    let mut left = most.saturating_mul(8);
    let mut space = false;
    // Where `out` can be cut so that the sign of the cut fits.
    let mut cut_at = 0;
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        if c == '\x1b'
            && let Some(len) = colour_sequence(rest)
        {
            rest = &rest[len..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let shown = if is_unsafe(c) { stand_in(c) } else { c };
        if shown.is_whitespace() {
            space = !out.is_empty();
            continue;
        }
        let wide = shown.width().unwrap_or(0) + usize::from(space);
        if columns + wide > most || left == 0 {
            out.truncate(cut_at);
            out.push('…');
            return out;
        }
        if std::mem::take(&mut space) {
            out.push(' ');
        }
        out.push(shown);
        columns += wide;
        left -= 1;
        if columns < most {
            cut_at = out.len();
        }
    }
    out
}

/// The first line that is not blank.
pub fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// The lines of `text`, safe to show: tabs become spaces, a carriage return ends a line.
pub fn lines(text: &str) -> impl Iterator<Item = String> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).map(line)
}

fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(len) = colour_sequence(rest) {
            rest = &rest[len..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\t' => out.push_str("    "),
            c if is_unsafe(c) => out.push(stand_in(c)),
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The JSON `text` with unsafe characters as escapes, which mean the same. In JSON such
/// characters stand only in strings.
pub fn safe_json(text: &str) -> Cow<'_, str> {
    // Line ends between tokens are none of a string's characters.
    let is_unsafe = |c: char| c >= '\x7f' && is_unsafe(c);
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) {
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A number of bytes in four columns at most: `812`, `1.2k`, `34k`, `5.6M`.
pub fn short_size(bytes: u64) -> String {
    let (mut whole, mut tenths) = (bytes, 0);
    let mut units = ["", "k", "M", "G", "T", "P", "E"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while whole >= 1000 {
        let Some(next) = units.next() else { break };
        (tenths, whole, unit) = (whole % 1000 / 100, whole / 1000, next);
    }
    if whole < 10 && !unit.is_empty() { format!("{whole}.{tenths}{unit}") } else { format!("{whole}{unit}") }
}

/// A number of bytes in words: `812 bytes`, `1.2 kB`, `34.5 kB`.
pub fn long_size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} {}", if bytes == 1 { "byte" } else { "bytes" });
    }
    let mut tenths = bytes / 100;
    let mut units = ["kB", "MB", "GB", "TB", "PB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while tenths >= 10_000 {
        let Some(next) = units.next() else { break };
        (tenths, unit) = (tenths / 1000, next);
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A whole number with a comma between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 thing`, `2 things`, `1,234 things`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// An id in eight columns: a long one loses its middle.
pub fn short_id(id: &str) -> String {
    let id = clean(id);
    let chars = id.chars().count();
    if chars <= 8 && width(&id) <= 8 {
        return id.into_owned();
    }
    let start: String = id.chars().take(4).collect();
    let end: String = id.chars().skip(chars.saturating_sub(3).max(4)).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_by_columns() {
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("  a \n\t b  ", 6), "a b");
        assert_eq!(one_line("満潮と干潮", 10), "満潮と干潮");
        // Two columns each: four and a half would fit in nine.
        assert_eq!(one_line("満潮と干潮", 9), "満潮と干…");
        assert_eq!(one_line("満潮と干潮", 8), "満潮と…");
        assert_eq!(one_line("ab cd", 3), "ab…");
        assert_eq!(one_line("", 3), "");
        // e with an acute accent of its own is one column.
        assert_eq!(one_line("e\u{301}e\u{301}", 2), "e\u{301}e\u{301}");
        assert_eq!(one_line(&"\u{301}".repeat(1000), 2).chars().count(), 17);
    }

    #[test]
    fn nothing_unsafe_is_left() {
        let all: String = (0..=0x9f).chain(0x2028..=0x202e).chain(0x2066..=0x2069).filter_map(char::from_u32).collect();
        assert!(!clean(&all).contains(is_unsafe));
        assert!(!one_line(&all, 1000).contains(is_unsafe));
        assert!(!lines(&all).any(|line| line.contains(is_unsafe)));
        assert!(!safe_json(&all[0x7f..]).contains(is_unsafe));
        assert_eq!(clean("a\x1b]0;b\x07"), "a\u{241b}]0;b\u{2407}");
        assert_eq!(safe_json("\"\u{9b}\u{202e}\""), "\"\\u009b\\u202e\"");
        // Colours go without a trace, other sequences do not.
        assert_eq!(one_line("\x1b[1m\x1b[38;5;9mred\x1b[0m\x1b[2J", 80), "red\u{241b}[2J");
        assert_eq!(one_line("\x1b[1", 80), "\u{241b}[1");
    }

    #[test]
    fn numbers() {
        assert_eq!(
            [0, 999, 1000, 1999, 9999, 10_000, 999_999, 1_200_000].map(short_size),
            ["0", "999", "1.0k", "1.9k", "9.9k", "10k", "999k", "1.2M"]
        );
        assert_eq!(
            [1, 812, 12_099, 999_999, 1_000_000].map(long_size),
            ["1 byte", "812 bytes", "12.0 kB", "999.9 kB", "1.0 MB"]
        );
        assert_eq!([0, 12, 123, 1234, 1_234_567].map(thousands), ["0", "12", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn ids() {
        assert_eq!(short_id("a1b2c3d4"), "a1b2c3d4");
        assert_eq!(short_id("0198c0de-7000-7abc-8def-0123456789ab"), "0198…9ab");
        assert_eq!(short_id("c-1"), "c-1");
    }
}
