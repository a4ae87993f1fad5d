//! A walk over every value of a valid text, however deep, without recursion.

use super::cursor::{Cursor, Key, Valid};
use std::ops::Range;

/// Told of each value in the order of the text. `key` is that of a member, `None` for an item of
/// an array and for the outermost value.
pub(crate) trait Visitor {
    /// An object or array opens at `at`.
    fn open(&mut self, text: &[u8], key: Option<Key>, object: bool, at: usize);
    /// The innermost open object or array ends before `end`.
    fn close(&mut self, text: &[u8], end: usize);
    /// A string, number or literal.
    fn scalar(&mut self, text: &[u8], key: Option<Key>, span: Range<usize>);
}

/// Walks the value that `text` is; stops early when it is not valid.
pub(crate) fn walk(text: &[u8], visitor: &mut impl Visitor) {
    let _: Option<()> = try_walk(text, visitor);
}

fn try_walk(text: &[u8], visitor: &mut impl Visitor) -> Option<()> {
    let mut cursor = Cursor::new(text, Valid);
    let mut open: Vec<bool> = Vec::new();
    let mut key = None;
    let mut at = cursor.white(0);
    // Each turn stands at a value.
    loop {
        match *text.get(at)? {
            bracket @ (b'{' | b'[') => {
                let object = bracket == b'{';
                visitor.open(text, key.take(), object, at);
                at = cursor.white(at + 1);
                if matches!(text.get(at)?, b'}' | b']') {
                    at += 1;
                    visitor.close(text, at);
                } else {
                    open.push(object);
                    if object {
                        let (name, value) = cursor.key(at)?;
                        (key, at) = (Some(name), value);
                    }
                    continue;
                }
            }
            _ => {
                let end = cursor.value(at)?;
                visitor.scalar(text, key.take(), at..end);
                at = end;
            }
        }
        loop {
            let object = *open.last()?;
            at = cursor.white(at);
            if *text.get(at)? == b',' {
                at = cursor.white(at + 1);
                if object {
                    let (name, value) = cursor.key(at)?;
                    (key, at) = (Some(name), value);
                }
                break;
            }
            at += 1;
            open.pop();
            visitor.close(text, at);
        }
    }
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
