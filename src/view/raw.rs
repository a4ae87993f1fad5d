//! Headers and entries as they stand, for callers that parse them themselves.

use super::SessionView;
use crate::error::Result;
use crate::load::{self, Other, OtherKind, Reader};
use crate::storage::Source;

/// The headers and entries of a session's text, in their order, as one JSON array: neither
/// migrated nor resolved, and without a header too.
///
/// # Errors
/// When there are more entries than can be counted.
pub fn parse_session_entries(text: impl Into<Vec<u8>>) -> Result<Vec<u8>> {
    let source = Source::Bytes(text.into());
    let scan = load::scan(&source, None)?;
    let spans = scan.slots.iter().map(|slot| (slot.offset, u64::from(slot.len)));
    array(&source, spans.chain(headers(&scan.others, None)).collect(), None)
}

impl SessionView {
    /// The session as one JSON array: the header, then further headers and the entries in the
    /// order of the file, neither migrated nor resolved.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn raw_entries(&self) -> Result<Vec<u8>> {
        let spans = (0..self.tree.count()).filter_map(|index| self.span(index));
        let spans = spans.map(|(offset, len)| (offset, u64::from(len)));
        let others = headers(&self.others, self.header_place());
        array(&self.source, spans.chain(others).collect(), Some(self.header_text()))
    }
}

/// Where headers stand, without the one that counts.
fn headers(others: &[Other], counts: Option<usize>) -> impl Iterator<Item = (u64, u64)> {
    let others = others.iter().enumerate();
    others
        .filter(move |(at, other)| matches!(other.kind, OtherKind::Session { .. }) && Some(*at) != counts)
        .map(|(_, other)| (other.offset, other.len))
}

fn array(source: &Source, mut spans: Vec<(u64, u64)>, first: Option<Vec<u8>>) -> Result<Vec<u8>> {
    spans.sort_unstable();
    let mut out = vec![b'['];
    out.extend(first.unwrap_or_default());
    let mut reader = Reader::new();
    for (offset, len) in spans {
        if out.len() > 1 {
            out.push(b',');
        }
        let text = source.read(offset, len as usize)?;
        if reader.object(&text).is_none() {
            return Err(source.found_changed());
        }
        out.extend_from_slice(&text);
    }
    out.push(b']');
    Ok(out)
}
