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

    /// A member whose value `write` appends. The keys of this library need no escapes.
    pub(crate) fn value(mut self, key: &'static str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.text.extend_from_slice(b",\"");
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
        write(&mut self.text);
        self
    }

    /// A text in which nothing needs an escape, which `write` appends.
    pub(crate) fn plain(self, key: &'static str, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.value(key, |text| {
            text.push(b'"');
            write(text);
            text.push(b'"');
        })
    }

    pub(crate) fn text(self, key: &'static str, value: &str) -> Self {
        self.value(key, |text| push_string(text, value))
    }

    /// A value that is JSON already.
    pub(crate) fn json(self, key: &'static str, value: &[u8]) -> Self {
        self.value(key, |text| text.extend_from_slice(value))
    }

    /// The same under any key.
    pub(crate) fn member(mut self, key: &str, value: &[u8]) -> Self {
        self.text.push(b',');
        push_string(&mut self.text, key);
        self.text.push(b':');
        self.text.extend_from_slice(value);
        self
    }

    /// A text in WTF-8, in which a lone surrogate stays what it is.
    pub(crate) fn wtf8(self, key: &'static str, value: &[u8]) -> Self {
        self.value(key, |text| push_wtf8(text, value))
    }

    pub(crate) fn wtf8_or_null(self, key: &'static str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.wtf8(key, value),
            None => self.json(key, b"null"),
        }
    }

    pub(crate) fn text_or_null(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.json(key, b"null"),
        }
    }

    pub(crate) fn optional_text(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(crate) fn optional_json(self, key: &'static str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.json(key, value),
            None => self,
        }
    }

    pub(crate) fn texts(self, key: &'static str, values: &[impl AsRef<str>]) -> Self {
        self.value(key, |text| {
            text.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    text.push(b',');
                }
                push_string(text, value.as_ref());
            }
            text.push(b']');
        })
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.text.push(b'}');
        self.text
    }
}
