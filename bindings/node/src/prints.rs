//! What objects said when the engine was given them. The text they were made of may be gone since:
//! another program edits a file in place. Then this tells whether an object was changed here.

use leaflog::{EntryRef, SessionView};
use parking_lot::Mutex;

/// By position a print of the text of an entry, or of its message when that alone was given; 0 for one
/// that was not given. A print that is out of date is one of another text: it says nothing.
#[derive(Default)]
pub(crate) struct Prints(Mutex<Vec<u64>>);

impl Prints {
    /// The entry at a position was given as this text.
    pub(crate) fn record(&self, position: usize, text: &[u8]) {
        let mut prints = self.0.lock();
        if prints.len() <= position {
            prints.resize(position + 1, 0);
        }
        prints[position] = print(text);
    }

    /// Whether an object still says what it did when it was given; this is its text. `None` when it is not known
    /// what that was.
    pub(crate) fn is_as_given(&self, view: &SessionView, position: usize, text: &[u8]) -> Option<bool> {
        const KEY: &[u8] = b"\"message\":";
        let given = self.0.lock().get(position).copied().filter(|&given| given != 0)?;
        if given == print(text) {
            return Some(true);
        }
        // The first such key is the entry's own when what is before it is as the index has it.
        let at = text.windows(KEY.len()).position(|window| window == KEY);
        let message = at.and_then(|at| text[at + KEY.len()..].strip_suffix(b"}"));
        let is_same = message.is_some_and(|message| given == print(message));
        let before = view.entry_at(position).map(before_message);
        Some(is_same && before.as_deref() == at.map(|at| &text[..at]))
    }

    /// The prints for a view that has the same entries at other positions.
    pub(crate) fn moved(&self, from: &SessionView, to: &SessionView) -> Self {
        let mut moved = Vec::new();
        for (position, &given) in self.0.lock().iter().enumerate().filter(|&(_, &given)| given != 0) {
            let id = from.entry_at(position).and_then(EntryRef::id);
            let Some(there) = id.and_then(|id| to.entry(&id)) else { continue };
            if moved.len() <= there.position() {
                moved.resize(there.position() + 1, 0);
            }
            moved[there.position()] = given;
        }
        Self(Mutex::new(moved))
    }

    /// Puts others in their place, and gives those that were there.
    pub(crate) fn replace(&self, others: Self) -> Self {
        Self(Mutex::new(std::mem::replace(&mut *self.0.lock(), others.0.into_inner())))
    }
}

/// The text of a message as agents write it, up to the message.
fn before_message(entry: EntryRef<'_>) -> Vec<u8> {
    let (Some(id), Some(ms)) = (entry.id(), entry.time_ms()) else { return Vec::new() };
    let parent = entry.parent_id().map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let timestamp = leaflog::format_time(ms);
    format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{timestamp}\",").into_bytes()
}

/// Eight bytes at a time: several times as fast as the text is looked through for what it holds.
fn print(text: &[u8]) -> u64 {
    let (chunks, rest) = text.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let step = |print: u64, chunk: &[u8; 8]| {
        (print.rotate_left(5) ^ u64::from_le_bytes(*chunk)).wrapping_mul(0x517c_c1b7_2722_0a95)
    };
    let print = step(chunks.iter().fold(text.len() as u64, step), &last);
    print.max(1)
}
