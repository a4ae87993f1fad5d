//! Which data of an entry is an image's, so that it is kept as a blob and read back, and which strings
//! are whole or nothing: one rule for writing and for reading (R33, R36, R51, R52).

use crate::json::decode;
use std::borrow::Cow;

/// How the data of an image stands in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As base64: `data` of an image.
    Base64,
    /// As text: an image URL.
    Text,
}

/// What the members of an open object say of images. The last of duplicate keys counts.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// The object is the value of `image_url`.
    in_image_url: bool,
    image_type: bool,
    image_mime: bool,
}

impl Members {
    /// Those of an object or array under `key`; empty when it has none.
    pub(crate) fn of(key: &str, object: bool) -> Self {
        Self { in_image_url: object && key == "image_url", ..Self::default() }
    }

    /// Takes a member in; `string` is its text as spelled when it is a string.
    pub(crate) fn member(&mut self, name: &str, string: Option<&[u8]>) {
        match name {
            "type" => self.image_type = string.is_some_and(|raw| decode_short(raw) == "image"),
            "mimeType" => self.image_mime = string.is_some_and(|raw| decode_short(raw).starts_with("image/")),
            _ => {}
        }
    }

    /// The object is an image by its `type`.
    pub(crate) fn has_image_type(&self) -> bool {
        self.image_type
    }

    /// How the data of an image stands under a name; `None` where none does. Of `data` that is known at
    /// the end of the object only.
    pub(crate) fn form(&self, name: &str) -> Option<Form> {
        match name {
            "data" if self.image_type || self.image_mime => Some(Form::Base64),
            "image_url" => Some(Form::Text),
            "url" if self.in_image_url => Some(Form::Text),
            _ => None,
        }
    }
}

/// Decodes what could be a type or a MIME type; a longer string is neither.
fn decode_short(raw: &[u8]) -> Cow<'_, str> {
    if raw.len() > 1024 { Cow::Borrowed("") } else { decode(raw) }
}

/// The text is a `data:` URL of an image in base64: what is never cut (R52).
#[must_use]
pub fn is_image_data_url(text: &str) -> bool {
    text.starts_with("data:image/") && text.contains(";base64,")
}

/// The name of a signature: one that is too long to be written is written as none.
pub(crate) fn is_signature(name: &str) -> bool {
    matches!(name, "thinkingSignature" | "thoughtSignature" | "textSignature")
}

/// Half of the string would be worth nothing to whoever it is for, so that it is never cut: data in a
/// `data:` URL, what is named as encrypted, and base64 wherever no text for reading stands.
pub(crate) fn is_opaque(name: &str, raw: &[u8]) -> bool {
    let text = decode(raw);
    if name.starts_with("encrypted") || is_image_data_url(&text) {
        return true;
    }
    match text.strip_prefix("data:").and_then(|url| url.split_once(";base64,")) {
        Some((_, data)) => is_base64(data),
        None => !matches!(name, "content" | "text" | "thinking" | "summary") && is_base64(&text),
    }
}

/// Base64 of either alphabet, padded or not, on one line or on lines of one width.
fn is_base64(text: &str) -> bool {
    let data = text.strip_suffix('\n').unwrap_or(text);
    let data = data.strip_suffix('\r').unwrap_or(data).trim_end_matches('=');
    let mut lines = data.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let width = data.find(['\r', '\n']).unwrap_or(data.len());
    let (mut units, mut last) = (0, width);
    let fits = lines.all(|line| {
        let follows_a_whole_one = last == width;
        last = line.len();
        units += last;
        follows_a_whole_one
            && last <= width
            && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_'))
    });
    // A last group of one character holds no byte.
    fits && width > 0 && units % 4 != 1
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
