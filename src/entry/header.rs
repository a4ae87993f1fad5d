//! The session header (R6) and the title slot (R48).

use super::line::LineBuilder;
use crate::json::Json;
use std::fmt;

/// The version this library writes (R10).
pub const CURRENT_SESSION_VERSION: u32 = 3;

/// The header line of a session, as stored.
#[derive(Clone, PartialEq)]
pub struct Header {
    text: Vec<u8>,
    /// The session's id.
    pub id: String,
    /// The version of the file; 1 when the header has none (R6), at most `u32::MAX`.
    pub version: u32,
    /// When the session began, ISO 8601.
    pub timestamp: Option<String>,
    /// The folder the agent worked in.
    pub cwd: Option<String>,
    /// The session's title. A title slot overrides it: see [`SessionView::title`](crate::SessionView::title).
    pub title: Option<String>,
    /// Who gave the title, `auto` or `user`.
    pub title_source: Option<String>,
    /// What the session was derived from: an id or a path, not to be resolved.
    pub parent_session: Option<String>,
}

impl Header {
    /// Reads a header from its text; `None` without a string `id` (R15).
    pub(crate) fn read(text: Vec<u8>) -> Option<Self> {
        let json = Json::new(&text);
        let string = |key| json.get_str(key).map(|text| text.into_owned());
        let id = string("id")?;
        let version = match json.get("version") {
            None => 1,
            Some(value) if value.is_null() => 1,
            Some(value) => match value.as_f64() {
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a float cast saturates, which is what is wanted"
                )]
                Some(number) => number as u32,
                // A version of another type is not older than what can be read.
                None => CURRENT_SESSION_VERSION,
            },
        };
        Some(Self {
            id,
            version,
            timestamp: string("timestamp"),
            cwd: string("cwd"),
            title: string("title"),
            title_source: string("titleSource"),
            parent_session: string("parentSession"),
            text,
        })
    }

    /// The header as stored, unknown keys included.
    #[must_use]
    pub fn json(&self) -> Json<'_> {
        Json::new(&self.text)
    }
}

/// The text says everything.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({})", String::from_utf8_lossy(&self.text))
    }
}

/// The line of fixed width that newer relatives of the agent write first, so that a title can be
/// changed in place (R48).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TitleSlot {
    pub(crate) title: String,
    pub(crate) source: Option<String>,
}

impl TitleSlot {
    /// The slot's text: with a newline exactly [`TitleSlot::LEN`] bytes. A title that is too long
    /// is cut between characters.
    pub(crate) fn to_text(&self, updated_at: &str) -> Vec<u8> {
        let text = |title: &str, pad: &str| {
            LineBuilder::new("title")
                .json("v", b"1")
                .text("title", title)
                .optional_text("source", self.source.as_deref())
                .text("updatedAt", updated_at)
                .text("pad", pad)
                .finish()
        };
        // No more than that can fit.
        let mut title = &self.title[..self.title.floor_char_boundary(Self::LEN)];
        loop {
            let bare = text(title, "").len();
            if bare < Self::LEN || title.is_empty() {
                return text(title, &" ".repeat((Self::LEN - 1).saturating_sub(bare)));
            }
            let last = title.char_indices().next_back().map_or(0, |(at, _)| at);
            title = &title[..last];
        }
    }

    /// The title that counts: that of the slot when there is one, else the header's. An empty one is none
    /// (R48).
    pub(crate) fn title_of<'a>(slot: Option<&'a Self>, header: Option<&'a Header>) -> Option<&'a str> {
        let title = match slot {
            Some(slot) => Some(slot.title.as_str()),
            None => header.and_then(|header| header.title.as_deref()),
        };
        title.filter(|title| !title.is_empty())
    }

    /// Bytes of the line, its newline included.
    pub(crate) const LEN: usize = 256;

    /// Reads the slot from the value of a line of `line_len` bytes with its newline.
    pub(crate) fn of_line(line_len: usize, value: Json<'_>) -> Option<Self> {
        (line_len == Self::LEN).then(|| Self::read(value)).flatten()
    }

    /// What has to stand between an entry and its newline. One whose text would be a slot's (R48) has
    /// a line of another length where it comes from, as with a carriage return: a blank keeps it an entry.
    pub(crate) fn blank_after(entry: &[u8]) -> &'static [u8] {
        if Self::of_line(entry.len() + 1, Json::new(entry)).is_some() { b" " } else { b"" }
    }

    /// Reads the slot from a line's value; `None` when it is none.
    pub(crate) fn read(json: Json<'_>) -> Option<Self> {
        let is_slot = json.get_str("type")? == "title" && json.get("v")?.as_f64()? == 1.0;
        if !is_slot || json.get_str("updatedAt").is_none() || json.get_str("pad").is_none() {
            return None;
        }
        let source = match json.get_str("source") {
            None => None,
            Some(source) if source == "auto" || source == "user" => Some(source.into_owned()),
            Some(_) => return None,
        };
        Some(Self { title: json.get_str("title")?.into_owned(), source })
    }
}
