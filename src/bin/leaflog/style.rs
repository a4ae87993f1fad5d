//! Colours. They only repeat what the words say.

use std::env;
use std::fmt::{self, Display};
use std::io::IsTerminal;

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

impl When {
    /// Whether to use colours on `stream`. The option wins over the environment, and there
    /// `NO_COLOR` over the others.
    pub fn holds_for(self, stream: &impl IsTerminal) -> bool {
        let var = |name| env::var_os(name).filter(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if var("NO_COLOR").is_some() => false,
            Self::Auto if var("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
            Self::Auto if var("CLICOLOR").is_some_and(|value| value == "0") => false,
            Self::Auto => stream.is_terminal() && var("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Heading,
    /// Less important.
    Faint,
    /// The id of an entry.
    Id,
    /// Something a person wrote.
    User,
    /// Something the model wrote.
    Assistant,
    Tool,
    /// A change of the state.
    State,
    Summary,
    Label,
    Leaf,
    Error,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Heading => "1",
            Self::Faint => "2",
            Self::Id => "33",
            Self::User => "1;36",
            Self::Assistant => "32",
            Self::Tool => "34",
            Self::State => "2",
            Self::Summary => "35",
            Self::Label => "1;35",
            Self::Leaf => "1;32",
            Self::Error => "1;31",
        }
    }
}

/// Whether colours are on.
#[derive(Clone, Copy, Debug)]
pub struct Palette(pub bool);

impl Palette {
    /// `text`, coloured. The escape sequences are this tool's own: `text` was cleaned before.
    pub fn paint<T: Display>(self, style: Style, text: T) -> Painted<T> {
        Painted { code: if self.0 { style.code() } else { "" }, text }
    }
}

pub struct Painted<T> {
    code: &'static str,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            return self.text.fmt(f);
        }
        write!(f, "\x1b[{}m", self.code)?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}
