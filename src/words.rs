//! The one rule of what a word is, for texts and for queries.

/// The words of a text, in a form in which a search for bytes finds them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Every part of a word with a blank before it: of `fix initYouerTable`, ` fix init youer table`.
    pub(crate) parts: String,
    /// The words of several parts as wholes: ` inityouertable`.
    pub(crate) wholes: String,
}

/// Cuts a text into words.
///
/// 1. A word is a longest run of letters and digits of any script, `_` and `-`. Combining marks from
///    U+0300 to U+036F are dropped; everything else ends a word.
/// 2. Letters become lowercase, and those from U+00C0 to U+00FF their ASCII base letter: `Über` is
///    `uber`.
/// 3. A word is cut into parts: at `_` and `-`, before an uppercase letter after a lowercase letter
///    or a digit, and before the last of several uppercase letters when a lowercase letter follows.
/// 4. A word of several parts is kept as a whole too, without its `_` and `-`.
/// 5. In scripts without blanks between words, a run of letters is a word, and any piece of it is
///    one: see [`is_spaceless`].
///
/// What an index leaves out, such as words that are too long, is that index's own rule.
pub(crate) fn words(text: &str) -> Words {
    let mut words = Words::default();
    runs(text).for_each(|run| words.add(run));
    words
}

/// The words of a text as they stand there.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(|c| is_spaceless(c) || is_spaced(c))?..];
        let is_of_run = if rest.starts_with(is_spaceless) { is_spaceless } else { |c| is_spaced(c) || is_mark(c) };
        let (run, after) = rest.split_at(rest.find(|c| !is_of_run(c)).unwrap_or(rest.len()));
        rest = after;
        Some(run)
    })
}

impl Words {
    /// Adds one of [`runs`].
    pub(crate) fn add(&mut self, run: &str) {
        let letters: Vec<char> = run.chars().filter(|&c| !is_mark(c)).collect();
        let (from, mut parts) = (self.parts.len(), 0);
        let mut starts = true;
        for (at, &c) in letters.iter().enumerate() {
            if is_joint(c) {
                starts = true;
                continue;
            }
            starts |= at > 0 && c.is_uppercase() && {
                let (before, after) = (letters[at - 1], letters.get(at + 1));
                before.is_lowercase()
                    || before.is_numeric()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            };
            if std::mem::take(&mut starts) {
                self.parts.push(' ');
                parts += 1;
            }
            fold(c, &mut self.parts);
        }
        if parts > 1 {
            self.wholes.push(' ');
            self.wholes.extend(self.parts[from..].chars().filter(|&c| c != ' '));
        }
    }
}

/// A letter of a script that puts no blanks between words: Han, Hiragana, Katakana, Hangul, Thai,
/// Lao, Khmer, Myanmar, and their halfwidth forms.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(u32::from(c),
        0x0e01..=0x0e3a | 0x0e40..=0x0e4e // Thai
        | 0x0e81..=0x0ecd | 0x0edc..=0x0edf // Lao
        | 0x1000..=0x103f | 0x1050..=0x108f | 0x109a..=0x109d // Myanmar
        | 0x1100..=0x11ff | 0x3131..=0x318e | 0xa960..=0xa97c | 0xac00..=0xd7a3 | 0xd7b0..=0xd7fb // Hangul
        | 0x1780..=0x17d3 | 0x17d7 | 0x17dc | 0x17dd // Khmer
        | 0x3005..=0x3007 | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x323af // Han
        | 0x3041..=0x3096 | 0x3099 | 0x309a | 0x309d..=0x309f // Hiragana
        | 0x30a1..=0x30fa | 0x30fc..=0x30ff | 0x31f0..=0x31ff // Katakana
        | 0xff66..=0xffdc) // halfwidth
}

/// A character of a word in any other script.
fn is_spaced(c: char) -> bool {
    is_joint(c) || c.is_alphanumeric() && !is_spaceless(c)
}

fn is_joint(c: char) -> bool {
    matches!(c, '_' | '-')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn fold(c: char, to: &mut String) {
    // From U+00E0 to U+00FF.
    const BASES: &[u8; 32] = b"aaaaaaaceeeeiiiidnooooo/ouuuuyty";
    for c in c.to_lowercase().filter(|&c| !is_mark(c)) {
        to.push(match u32::from(c) {
            0xdf => 's',
            // The division sign is not a letter.
            at @ 0xe0..=0xff if at != 0xf7 => char::from(BASES[at as usize - 0xe0]),
            _ => c,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    fn cut(text: &str) -> (String, String) {
        let words = words(text);
        (words.parts, words.wholes)
    }

    #[test]
    fn g17_words() {
        let cases = [
            ("", "", ""),
            ("Fix the parser.", " fix the parser", ""),
            ("+++ () ... !?", "", ""),
            ("parse_input2, kebab-case", " parse input2 kebab case", " parseinput2 kebabcase"),
            ("initYouerTable", " init youer table", " inityouertable"),
            ("HTTPServer2Go v2X", " http server2 go v2 x", " httpserver2go v2x"),
            ("-_- --flag", " flag", ""),
            ("a\0b", " a b", ""),
            ("naïve Café ÆØÅ ß þ ÿ × ÷", " naive cafe aoa s t y", ""),
            ("cafe\u{301} I\u{307}x", " cafe ix", ""),
            ("ΣΊΣΥΦΟΣ Ünï", " σίσυφοσ uni", ""),
            ("查看历史记录", " 查看历史记录", ""),
            ("看youer项目 2024年", " 看 youer 项目 2024 年", ""),
            ("カタカナとひらがな、漢字", " カタカナとひらがな 漢字", ""),
            ("สวัสดีครับ 한국어", " สวัสดีครับ 한국어", ""),
        ];
        for (text, parts, wholes) in cases {
            assert_eq!(cut(text), (parts.to_owned(), wholes.to_owned()), "{text:?}");
        }
    }
}
