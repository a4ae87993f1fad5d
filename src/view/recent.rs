//! Texts this process wrote lately.

use std::collections::VecDeque;
use std::ops::Range;

/// The last texts that were written; an empty one for an entry that is whole in memory still.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    /// The very last, each with its entry, in the buffers they were built in.
    last: Vec<(u32, Vec<u8>)>,
    /// How many of these are not among the others; the buffers of the rest are used again.
    fresh: usize,
    /// The others, one after another, and the entry and length of each.
    bytes: VecDeque<u8>,
    texts: VecDeque<(u32, usize)>,
    /// How many of all, the last ones, no sync has covered.
    unsynced: usize,
}

/// Where a text is.
#[derive(Debug)]
pub(super) enum Kept {
    Last(usize),
    Together(Range<usize>),
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
        self.unsynced += 1;
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
        self.unsynced = self.unsynced.min(self.texts.len());
    }

    /// Each entry and where its text is, the first that was written first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Kept)> {
        let together = self.texts.iter().scan(0, |end, &(index, len)| {
            let start = std::mem::replace(end, *end + len);
            Some((index, Kept::Together(start..*end)))
        });
        together.chain(self.last[..self.fresh].iter().enumerate().map(|(at, &(index, _))| (index, Kept::Last(at))))
    }

    pub(super) fn text(&self, kept: &Kept) -> Vec<u8> {
        match kept {
            Kept::Last(at) => self.last[*at].1.clone(),
            Kept::Together(range) => self.bytes.range(range.clone()).copied().collect(),
        }
    }

    /// The position in [`Recent::iter`] of the first text that no sync has covered.
    pub(super) fn first_unsynced(&self) -> usize {
        self.texts.len() + self.fresh - self.unsynced
    }

    /// Says how many, the last ones, no sync has covered.
    pub(super) fn set_unsynced(&mut self, unsynced: usize) {
        self.unsynced = unsynced.min(self.texts.len() + self.fresh);
    }

    /// Says that a sync covered all but the last ones.
    pub(super) fn set_synced_but(&mut self, last: usize) {
        self.unsynced = self.unsynced.min(last);
    }

    /// Takes out what no sync has covered.
    pub(super) fn take_unsynced(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.put_together();
        let first = self.first_unsynced();
        let taken: Vec<_> = self.iter().skip(first).map(|(index, kept)| (index, self.text(&kept))).collect();
        self.texts.truncate(first);
        self.bytes.truncate(self.bytes.len() - taken.iter().map(|(_, text)| text.len()).sum::<usize>());
        self.unsynced = 0;
        taken
    }
}

#[cfg(test)]
#[path = "recent_tests.rs"]
mod tests;
