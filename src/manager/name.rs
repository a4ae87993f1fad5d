//! The session's name.

use super::{Backend, SessionManager};
use crate::error::Result;
use crate::text::trim;

/// Who gives a session its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TitleSource {
    /// The agent. Never replaces a name that a person gave.
    #[default]
    Auto,
    /// A person.
    User,
}

impl TitleSource {
    /// As stored.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::User => "user",
        }
    }
}

impl SessionManager {
    /// Gives the session a name. Control characters become spaces, runs of spaces one. Says
    /// whether the name was taken: an empty one is not, and one of the agent's not over a
    /// person's. The file, when there is one, is rewritten. When it is locked the name is in
    /// memory, and goes out with the next write.
    ///
    /// # Errors
    /// The failure in force; an error of writing.
    pub fn set_session_name(&mut self, name: &str, source: TitleSource) -> Result<bool> {
        if self.title_source() == Some("user") && source == TitleSource::Auto {
            return Ok(false);
        }
        let name = clean(name);
        if name.is_empty() {
            return Ok(false);
        }
        self.check_latch()?;
        for (key, value) in [("title", name.as_str()), ("titleSource", source.as_str())] {
            self.set_header(key, value);
        }
        if self.backend_exists() {
            self.started = true;
            self.write(Backend::rewrite)?;
        }
        Ok(true)
    }

    /// Sets a header field in memory; the next rewrite writes it.
    pub(super) fn set_header(&mut self, key: &'static str, value: &str) {
        self.view.set_header(key, value);
        self.pending.set_header(key, value.to_owned());
    }

    /// There is a file to be written anew.
    pub(super) fn backend_exists(&self) -> bool {
        match &self.backend {
            Backend::Nowhere => false,
            Backend::File(file) => file.exists(&self.view),
            Backend::Storage(stored) => stored.exists(),
        }
    }
}

fn clean(name: &str) -> String {
    let mut clean = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if c.is_control() { ' ' } else { c };
        if c != ' ' || !clean.ends_with(' ') {
            clean.push(c);
        }
    }
    trim(&clean).to_owned()
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn names_are_cleaned() {
        assert_eq!(clean("  a\u{0}b\u{9f}\u{85}c  d \n"), "a b c d");
        assert_eq!(clean("\u{feff}\u{3000}x\u{a0}"), "x");
        assert_eq!(clean("\u{1b}[31mred"), "[31mred");
        assert_eq!(clean("\t\n "), "");
    }
}
