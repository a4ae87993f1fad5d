//! What JavaScript does to a text.

/// White space there: a byte order mark is, U+0085 is not.
pub(crate) fn is_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// `text` without the white space at its ends, as `String.prototype.trim` gives it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::trim;

    // Every character, by Node 20: `for (let i = 0; i < 0x110000; i++) if (String.fromCodePoint(i).trim() === "")`.
    #[test]
    fn white_space_of_javascript() {
        let blank = [
            0x9..=0xd,
            0x20..=0x20,
            0xa0..=0xa0,
            0x1680..=0x1680,
            0x2000..=0x200a,
            0x2028..=0x2029,
            0x202f..=0x202f,
            0x205f..=0x205f,
            0x3000..=0x3000,
            0xfeff..=0xfeff,
        ];
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let is_blank = blank.iter().any(|range| range.contains(&u32::from(c)));
            assert_eq!(trim(&format!("{c}x{c}")), if is_blank { "x".to_owned() } else { format!("{c}x{c}") });
        }
    }
}
