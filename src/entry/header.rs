//! The session header (R6) and the title slot (R48).

use super::line::LineBuilder;
use super::{time, time_ms};
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
            timestamp: string("timestamp").or_else(|| moment(json.get("timestamp")?)),
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

/// The text of a moment that a header gives in milliseconds since 1970.
fn moment(value: Json<'_>) -> Option<String> {
    value.as_f64()?;
    Some(time::format(time_ms(value)?))
}

/// The text says everything.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({})", String::from_utf8_lossy(&self.text))
    }
}

/// The line that newer relatives of the agent write first, 256 bytes with its newline, so that a title can be changed in
/// place (R48). It is known by what it says: one that an editor or a program in between gave another length has a title too.
#[derive(Clone, Debug)]
pub(crate) struct TitleSlot {
    pub(crate) title: String,
    pub(crate) source: Option<String>,
    pub(crate) updated_at: Option<String>,
    /// The slot has no other members than these and `pad`.
    is_known: bool,
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

    /// What counts of it. When it was written is not known where this process renamed the session.
    pub(crate) fn says(&self) -> (&str, Option<&str>) {
        (&self.title, self.source.as_deref())
    }

    /// Cuts the title to what a slot has room for: what is read again is what is known here.
    pub(crate) fn fit(&mut self) {
        // Every moment's text is as long as this one's.
        let text = self.to_text(&time::format(0));
        if let Some(title) = Json::new(&text).get_str("title") {
            self.title = title.into_owned();
        }
    }

    /// What the slot is to be written as although it was not changed: `None` when it has something that a slot
    /// of the right length has no room for.
    pub(crate) fn in_right_length(&self) -> Option<Vec<u8>> {
        let text = self.to_text(self.updated_at.as_deref()?);
        let is_whole = Self::read(Json::new(&text)).is_some_and(|slot| slot.title == self.title);
        (self.is_known && is_whole && text.len() + 1 == Self::LEN).then_some(text)
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

    /// Bytes of the line, its newline included, as it is written.
    pub(crate) const LEN: usize = 256;

    /// Reads the slot from a line's value; `None` when it is none. What has an id is an entry.
    pub(crate) fn read(json: Json<'_>) -> Option<Self> {
        let is_slot = json.get_str("type")? == "title" && json.get("v")?.as_f64()? == 1.0;
        if !is_slot || json.get_str("id").is_some() {
            return None;
        }
        let title = json.get_str("title")?.into_owned();
        let source = json.get_str("source").filter(|source| matches!(&**source, "auto" | "user"));
        let is_known = json.members().all(|(key, value)| match &*key {
            "type" | "v" | "title" | "updatedAt" => true,
            "source" => source.is_some(),
            "pad" => value.as_str().is_some_and(|pad| pad.trim().is_empty()),
            _ => false,
        });
        let updated_at = json.get_str("updatedAt").map(|text| text.into_owned());
        Some(Self { title, source: source.map(|text| text.into_owned()), updated_at, is_known })
    }
}
