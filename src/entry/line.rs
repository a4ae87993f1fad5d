//! Building the line of a new entry or header.

use crate::json::{push_string, push_wtf8};

/// One JSON object, member by member, in the order they are added.
pub(crate) struct LineBuilder {
    text: Vec<u8>,
}

impl LineBuilder {
    pub(crate) fn new(type_name: &str) -> Self {
        Self::within(Vec::with_capacity(256), type_name)
    }

    /// Builds in an empty buffer that was used before.
    pub(crate) fn within(mut text: Vec<u8>, type_name: &str) -> Self {
        text.extend_from_slice(b"{\"type\":");
        push_string(&mut text, type_name);
        Self { text }
    }

    fn key(&mut self, key: &str) {
        self.text.push(b',');
        push_string(&mut self.text, key);
        self.text.push(b':');
    }

    pub(crate) fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        push_string(&mut self.text, value);
        self
    }

    /// A value that is JSON already.
    pub(crate) fn json(mut self, key: &str, value: &[u8]) -> Self {
        self.key(key);
        self.text.extend_from_slice(value);
        self
    }

    /// A text in WTF-8, in which a lone surrogate stays what it is.
    pub(crate) fn wtf8(mut self, key: &str, value: &[u8]) -> Self {
        self.key(key);
        push_wtf8(&mut self.text, value);
        self
    }

    pub(crate) fn wtf8_or_null(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.wtf8(key, value),
            None => self.json(key, b"null"),
        }
    }

    pub(crate) fn text_or_null(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.json(key, b"null"),
        }
    }

    pub(crate) fn optional_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(crate) fn optional_json(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.json(key, value),
            None => self,
        }
    }

    pub(crate) fn texts(mut self, key: &str, values: &[impl AsRef<str>]) -> Self {
        self.key(key);
        self.text.push(b'[');
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.text.push(b',');
            }
            push_string(&mut self.text, value.as_ref());
        }
        self.text.push(b']');
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}
