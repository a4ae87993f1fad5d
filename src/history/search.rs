//! What a query means, and which prompts it finds.
//!
//! FTS5 knows only whole runs of letters: it finds neither a piece of a Chinese sentence nor a part of
//! a name in camel case. So the prompts themselves are looked through as well, by the rule of
//! [`words`], the newest first until there are enough. What FTS5 finds counts
//! too: it reaches as far back as there are prompts.

use super::HistoryEntry;
use super::damage;
use super::rows::{self, Made};
use crate::text::is_space;
use crate::words::{Words, is_spaceless, runs, words};
use memchr::memmem::Finder;
use rusqlite::Connection;
use std::collections::HashSet;

/// So many different words of a query count; each costs a look at the index.
const MOST_WORDS: usize = 64;

/// So many prompts, the newest, and so many of their bytes are looked through.
const MOST_ROWS: u32 = 200_000;
const MOST_BYTES: usize = 256 << 20;

#[derive(Debug)]
pub(super) struct Query {
    /// The words as an expression of FTS5.
    expression: String,
    terms: Vec<Term>,
}

/// A word of the query.
#[derive(Debug)]
struct Term {
    /// Its parts in a row, the last of them as the beginning of one.
    parts: Finder<'static>,
    /// The same as the beginning of a word as a whole.
    whole: Finder<'static>,
    /// Both, anywhere within a word.
    inside: [Finder<'static>; 2],
}

impl Query {
    /// `None` without words.
    pub(super) fn new(query: &str) -> Option<Self> {
        let expression = expression(query);
        let terms = terms(query);
        (!expression.is_empty()).then_some(Self { expression, terms })
    }

    /// The newest prompts that have every word, in the directory when one is given.
    pub(super) fn find(
        &self,
        conn: &Connection,
        place: &Place,
        limit: u32,
        made: Made,
    ) -> rusqlite::Result<Vec<HistoryEntry>> {
        let mut found = match made {
            Made::LeftOut => Vec::new(),
            Made::Used => match rows::matching(conn, &self.expression, place, limit) {
                Err(error) if damage::may_be_of_words(&error) => return Err(damage::of_words(&error)),
                found => found?,
            },
        };
        let limit = limit as usize;
        let mut inside = Vec::new();
        if !self.terms.is_empty() {
            let known: HashSet<i64> = found.iter().map(|entry| entry.id).collect();
            let (mut count, mut bytes) = (0, 0);
            rows::newest(conn, place, MOST_ROWS, made, |entry| {
                bytes += entry.prompt.len();
                let words = words(&entry.prompt);
                let has = |finder: &Finder<'_>, text: &str| finder.find(text.as_bytes()).is_some();
                let begins = |term: &Term| has(&term.parts, &words.parts) || has(&term.whole, &words.wholes);
                let holds = |term: &Term| {
                    let [parts, whole] = &term.inside;
                    has(parts, &words.parts) || has(whole, &words.parts) || has(whole, &words.wholes)
                };
                if self.terms.iter().all(begins) {
                    count += 1;
                    if !known.contains(&entry.id) {
                        found.push(entry);
                    }
                } else if inside.len() < limit && self.terms.iter().all(holds) {
                    inside.push(entry);
                }
                count < limit && bytes < MOST_BYTES
            })?;
            // Only when no word begins so: who looks for `art` does not mean `start`.
            if found.is_empty() {
                return Ok(inside);
            }
        }
        found.sort_by_key(|entry| std::cmp::Reverse((entry.created_at, entry.id)));
        found.truncate(limit);
        Ok(found)
    }
}

/// Where prompts were written: in any directory, or one that is spelled in one of these ways.
#[derive(Debug, Default)]
pub(super) struct Place(pub(super) Option<Vec<String>>);

/// The words of a query as an expression of FTS5: quoted, so that operators mean nothing, each the
/// start of a word, and all must match. A word of only punctuation counts for nothing in FTS5.
fn expression(query: &str) -> String {
    let mut expression = String::new();
    let mut known = HashSet::new();
    // FTS5 takes its expressions to end at a NUL.
    for word in query.split(|c| is_space(c) || c == '\0').filter(|word| !word.is_empty()) {
        if known.len() == MOST_WORDS {
            break;
        }
        if !known.insert(word.to_lowercase()) {
            continue;
        }
        if !expression.is_empty() {
            expression.push(' ');
        }
        expression.push('"');
        expression += &word.replace('"', "\"\"");
        expression += "\"*";
    }
    expression
}

fn terms(query: &str) -> Vec<Term> {
    let mut known = HashSet::new();
    let mut terms = Vec::new();
    for run in runs(query) {
        let mut word = Words::default();
        word.add(run);
        let Words { parts, wholes } = word;
        if terms.len() == MOST_WORDS {
            break;
        }
        if parts.is_empty() || !known.insert(parts.clone()) {
            continue;
        }
        let finder = |text: &str| Finder::new(text.as_bytes()).into_owned();
        // A piece of a run without blanks may stand anywhere in it.
        let begins = if run.starts_with(is_spaceless) { parts.trim_start() } else { &parts };
        let whole = if wholes.is_empty() { &parts } else { &wholes };
        terms.push(Term {
            parts: finder(begins),
            whole: finder(whole),
            inside: [finder(parts.trim_start()), finder(whole.trim_start())],
        });
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::{expression, terms};

    #[test]
    fn expressions() {
        assert_eq!(expression("a \"b\" c-d\0e"), r#""a"* """b"""* "c-d"* "e"*"#);
        assert_eq!(expression(" \0\u{feff}\n"), "");
    }

    // A11: a word counts once, and no more than 64 of them.
    #[test]
    fn a11_repeated_words_and_many_words() {
        assert_eq!(expression("fix Fix FIX fix"), r#""fix"*"#);
        assert_eq!(terms("fix Fix, FIX-fix fix").len(), 2);
        let many: String = (0..5000).map(|at| format!("w{at} ")).collect();
        assert_eq!(expression(&many).split(' ').count(), 64);
        assert_eq!(terms(&many).len(), 64);
    }
}
