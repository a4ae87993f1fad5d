//! The standard output: buffered, with what is known of the terminal behind it.

use crate::style::{Palette, Style, When};
use crate::text;
use serde::Serialize;
use std::env;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

/// Texts of one line are cut to this many columns when no width is known, so that a file holds
/// enough to search and no line is a megabyte.
const COLUMNS_IN_A_FILE: usize = 200;

/// A text gets this many columns even when nothing is left of the line.
const FEWEST_COLUMNS: usize = 16;

pub struct Out {
    to: BufWriter<StdoutLock<'static>>,
    pub palette: Palette,
    pub is_terminal: bool,
    /// Columns of a line; `None` when nothing says so.
    width: Option<usize>,
}

impl Out {
    pub fn stdout(color: When) -> Self {
        let stdout = io::stdout().lock();
        let is_terminal = stdout.is_terminal();
        let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
        Self {
            palette: Palette(color.holds_for(&stdout)),
            is_terminal,
            width: columns.or_else(|| is_terminal.then(terminal_width)),
            to: BufWriter::with_capacity(64 << 10, stdout),
        }
    }

    /// How many columns a text may take on a line where `used` are taken.
    pub fn room(&self, used: usize) -> usize {
        self.width.map_or(COLUMNS_IN_A_FILE, |width| width.saturating_sub(used).max(FEWEST_COLUMNS))
    }

    /// Writes `text` in a style.
    pub fn paint(&mut self, style: Style, text: impl Display) -> io::Result<()> {
        let painted = self.palette.paint(style, text);
        write!(self.to, "{painted}")
    }

    /// Writes a line `key  value` with the value cut to the width.
    pub fn field(&mut self, key: &str, value: &str) -> io::Result<()> {
        let value = text::one_line(value, self.room(10));
        self.whole_field(key, &value)
    }

    /// The same with the whole value: a path is of no use without its end.
    pub fn whole_field(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.paint(Style::Faint, format_args!("{key:<10}"))?;
        writeln!(self.to, "{}", text::clean(value))
    }

    /// Writes a value as JSON on one line, without a line end.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_string(value)?;
        self.to.write_all(text::safe_json(&json).as_bytes())
    }

    /// Writes a JSON array, one item a line.
    pub fn json_array(&mut self, items: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
        let mut is_empty = true;
        write!(self.to, "[")?;
        for item in items {
            writeln!(self.to, "{}", if std::mem::take(&mut is_empty) { "" } else { "," })?;
            self.json(&item)?;
        }
        writeln!(self.to, "{}]", if is_empty { "" } else { "\n" })
    }
}

impl Write for Out {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.to.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The columns of the terminal. clap knows them for its help and does not tell, so a help text of
/// one-letter words is wrapped and measured: a line of them is as wide as the terminal, or one
/// less when the columns are even, which the second paragraph makes up for.
fn terminal_width() -> usize {
    let words = "x ".repeat(512);
    let text = format!("{words}\nxx {words}");
    let help = clap::Command::new("").about(text).help_template("{about}").render_help().to_string();
    help.lines().map(str::len).max().unwrap_or(100)
}
