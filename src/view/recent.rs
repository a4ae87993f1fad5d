//! Texts this process wrote lately.

use std::collections::VecDeque;

/// The last texts that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// The very last, each with its entry, in the buffers they were built in.
    last: Vec<(u32, Vec<u8>)>,
    /// How many of these are not among the others; the buffers of the rest are used again.
    fresh: usize,
    /// The others, one after another, and the entry and length of each.
    bytes: VecDeque<u8>,
    texts: VecDeque<(u32, usize)>,
}

/// How much of what was written lately is kept: a few large entries must fit, for it is the only copy
/// of them when the file is cut in place.
const RECENT_BYTES: usize = 4 << 20;
/// So many texts are copied to the others at once. One at a time, each into memory that no cache has,
/// they take three times as long.
const TOGETHER: usize = 64;
/// A larger buffer is given back.
const LARGEST_BUFFER: usize = 64 << 10;

impl Recent {
    /// Takes the text of an entry; gives an empty buffer.
    pub(super) fn push(&mut self, index: u32, text: Vec<u8>) -> Vec<u8> {
        let is_large = text.capacity() > LARGEST_BUFFER;
        let mut buffer = Vec::new();
        match self.last.get_mut(self.fresh) {
            Some(place) => buffer = std::mem::replace(place, (index, text)).1,
            None => self.last.push((index, text)),
        }
        self.fresh += 1;
        if is_large || self.fresh == TOGETHER {
            self.put_together();
        }
        buffer.clear();
        buffer
    }

    fn put_together(&mut self) {
        for (index, text) in &mut self.last[..std::mem::take(&mut self.fresh)] {
            while self.bytes.len() + text.len() > RECENT_BYTES
                && let Some((_, len)) = self.texts.pop_front()
            {
                self.bytes.drain(..len);
            }
            if text.len() <= RECENT_BYTES {
                self.bytes.extend(&*text);
                self.texts.push_back((*index, text.len()));
            }
            if text.capacity() > LARGEST_BUFFER {
                *text = Vec::new();
            }
        }
    }

    /// The last text of an entry.
    pub(super) fn get(&self, index: u32) -> Option<Vec<u8>> {
        if let Some((_, text)) = self.last[..self.fresh].iter().rev().find(|(known, _)| *known == index) {
            return Some(text.clone());
        }
        let mut end = self.bytes.len();
        for &(known, len) in self.texts.iter().rev() {
            if known == index {
                return Some(self.bytes.range(end - len..end).copied().collect());
            }
            end -= len;
        }
        None
    }
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
