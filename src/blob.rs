//! The blob store, and where entries refer to it (R2, R51, R52).

use crate::entry::BLOB_PREFIX;
use crate::entry::images::{Form, Members};
use crate::error::{Error, ErrorCode, Result};
use crate::hex::hex;
use crate::json::{Edit, Key, Visitor, decode, push_string, walk};
use crate::storage::{TempFile, disk};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Large data that entries refer to by the SHA-256 of its bytes: one file a blob, named by its
/// hash (R2).
#[derive(Clone, Debug)]
pub struct BlobStore {
    dir: PathBuf,
}

/// What reading a blob gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blob {
    /// Its bytes; they have the hash.
    Found(Vec<u8>),
    /// There is no such blob.
    Missing,
    /// The file's bytes do not have the hash of its name.
    Damaged,
}

impl BlobStore {
    /// The store in a folder, which need not exist.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads a blob and checks its hash (R51).
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn get(&self, hash: &BlobHash) -> Result<Blob> {
        let path = self.path(hash);
        let bytes = match disk::read_plain(&path) {
            Ok(bytes) => bytes,
            // A folder, a pipe or a device of that name, or a file where the store should be: there is no
            // such blob.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory | InvalidInput) => {
                return Ok(Blob::Missing);
            }
            Err(error) => return Err(Error::io(error, "cannot read the blob", &path)),
        };
        let is_whole = hash.as_str() == hex(&Sha256::digest(&bytes));
        Ok(if is_whole { Blob::Found(bytes) } else { Blob::Damaged })
    }

    /// Puts bytes into the store, and waits until they would survive a power cut. What is there
    /// already is not written again.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobHash> {
        let hash = BlobHash::of(bytes);
        // A sync that fails cannot be repaired by another: a file of its own is.
        if !self.holds(&hash, bytes) || self.sync(&hash).is_err() {
            self.write(&hash, bytes, true)?;
        }
        Ok(hash)
    }

    /// Puts bytes whose hash is known; [`BlobStore::sync`] is left to the caller.
    pub(crate) fn put_as(&self, hash: &BlobHash, bytes: &[u8]) -> Result<()> {
        if self.holds(hash, bytes) { Ok(()) } else { self.write(hash, bytes, false) }
    }

    /// Writes a blob anew, from what the store has of it, and waits until it would survive a power cut.
    pub(crate) fn renew(&self, hash: &BlobHash) -> Result<()> {
        match self.get(hash)? {
            Blob::Found(bytes) => self.write(hash, &bytes, true),
            Blob::Missing | Blob::Damaged => {
                Err(Error::new(ErrorCode::NotFound, "the blob is lost").at(&self.path(hash)))
            }
        }
    }

    /// These bytes are there. A file of that name can have others, as a power cut leaves it.
    fn holds(&self, hash: &BlobHash, bytes: &[u8]) -> bool {
        let path = self.path(hash);
        let len = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        len == Some(bytes.len() as u64) && disk::read_plain(&path).is_ok_and(|there| there == bytes)
    }

    /// Writes a blob to a file nobody sees, syncs that when it has to last, and gives it its name (R51).
    fn write(&self, hash: &BlobHash, bytes: &[u8], lasting: bool) -> Result<()> {
        let path = self.path(hash);
        let failed = |error| Error::io(error, "cannot write the blob", &path);
        let no_store = |error| Error::io(error, "cannot make the blob store", &self.dir);
        disk::create_dir(&self.dir).map_err(no_store)?;
        let temp = TempFile::random(&path).map_err(failed)?;
        disk::write_all(temp.file(), bytes).map_err(failed)?;
        if lasting {
            disk::sync(temp.file()).map_err(failed)?;
        }
        temp.put_in_place(&path).map_err(failed)?;
        if lasting { disk::sync_dir(&self.dir).map_err(failed) } else { Ok(()) }
    }

    /// Where a blob is.
    #[must_use]
    pub fn path(&self, hash: &BlobHash) -> PathBuf {
        self.dir.join(hash.as_str())
    }

    /// Waits until a blob would survive a power cut.
    pub(crate) fn sync(&self, hash: &BlobHash) -> Result<()> {
        let path = self.path(hash);
        let failed = |error| Error::io(error, "cannot sync the blob", &path);
        disk::sync(&disk::open_plain(&path).map_err(failed)?).map_err(failed)?;
        disk::sync_dir(&self.dir).map_err(failed)
    }

    /// Whether the store has a file of that name. The bytes are not looked at.
    #[must_use]
    pub fn has(&self, hash: &BlobHash) -> bool {
        self.path(hash).is_file()
    }
}

/// The SHA-256 of a blob: 64 lowercase hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash(String);

impl BlobHash {
    /// The hash in a reference, `blob:sha256:` and 64 lowercase hex digits; `None` for any other
    /// text, so that no path can be smuggled in (R51).
    #[must_use]
    pub fn from_reference(text: &str) -> Option<Self> {
        let hash = text.as_bytes().strip_prefix(BLOB_PREFIX)?;
        let is_hash = hash.len() == 64 && hash.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then(|| Self(text[BLOB_PREFIX.len()..].to_owned()))
    }

    /// The hash of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex(&Sha256::digest(bytes)))
    }

    /// The reference that stands for the blob in an entry.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("blob:sha256:{}", self.0)
    }

    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A reference in an entry's text.
#[derive(Debug)]
pub(crate) struct Reference {
    /// The string, with its quotes.
    pub(crate) span: Range<usize>,
    pub(crate) hash: BlobHash,
    form: Form,
}

impl Reference {
    /// The edit that puts the blob in place of the reference.
    pub(crate) fn resolve(self, blob: &[u8]) -> Edit {
        let mut with = Vec::with_capacity(blob.len() / 3 * 4 + 6);
        match self.form {
            Form::Base64 => {
                with.push(b'"');
                with.extend_from_slice(STANDARD.encode(blob).as_bytes());
                with.push(b'"');
            }
            Form::Text => push_string(&mut with, &String::from_utf8_lossy(blob)),
        }
        Edit { range: self.span, with }
    }
}

/// The references of an entry: in `data` of an object that is an image by its `type` or
/// `mimeType`, in `image_url`, and in `url` directly inside `image_url` (R52). Anywhere else the
/// same text is plain text.
pub(crate) fn references(text: &[u8]) -> Vec<Reference> {
    let mut finder = Finder { open: Vec::new(), found: Vec::new() };
    walk(text, &mut finder);
    finder.found.sort_unstable_by_key(|reference| reference.span.start);
    finder.found
}

struct Finder {
    open: Vec<Frame>,
    found: Vec<Reference>,
}

/// An open object or array. The last of duplicate keys counts.
#[derive(Default)]
struct Frame {
    images: Members,
    data: Option<Reference>,
    url: Option<Reference>,
    image_url: Option<Reference>,
}

impl Visitor for Finder {
    fn open(&mut self, text: &[u8], key: Option<Key>, object: bool, _at: usize) {
        let images = Members::of(&key.map(|key| name(text, key)).unwrap_or_default(), object);
        if let (Some(key), Some(frame)) = (key, self.open.last_mut()) {
            frame.member(text, key, None);
        }
        self.open.push(Frame { images, ..Frame::default() });
    }

    fn close(&mut self, _text: &[u8], _end: usize) {
        let Some(frame) = self.open.pop() else { return };
        for (name, reference) in [("data", frame.data), ("url", frame.url), ("image_url", frame.image_url)] {
            self.found.extend(reference.filter(|found| frame.images.form(name) == Some(found.form)));
        }
    }

    fn scalar(&mut self, text: &[u8], key: Option<Key>, span: Range<usize>) {
        if let (Some(key), Some(frame)) = (key, self.open.last_mut()) {
            frame.member(text, key, Some(span));
        }
    }
}

impl Frame {
    /// Takes in a member; `value` when it is a scalar.
    fn member(&mut self, text: &[u8], key: Key, value: Option<Range<usize>>) {
        let name = name(text, key);
        let string = value.filter(|span| text[span.start] == b'"');
        let raw = string.clone().map(|span| &text[span.start + 1..span.end - 1]);
        self.images.member(&name, raw);
        let reference = |form| {
            let hash = BlobHash::from_reference(&decode_short(raw?))?;
            Some(Reference { span: string?, hash, form })
        };
        match &*name {
            "data" => self.data = reference(Form::Base64),
            "url" => self.url = reference(Form::Text),
            "image_url" => self.image_url = reference(Form::Text),
            _ => {}
        }
    }
}

fn name(text: &[u8], key: Key) -> Cow<'_, str> {
    decode(&text[key.start..key.end])
}

/// Decodes what could be a reference; a longer string is none.
fn decode_short(raw: &[u8]) -> Cow<'_, str> {
    // Each of the 76 characters of a reference takes at most six bytes.
    if raw.len() > 76 * 6 { Cow::Borrowed("") } else { decode(raw) }
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
