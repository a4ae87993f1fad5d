//! Blobs: large data that entries refer to by its hash.

use crate::abi::{Out, leaflog_str, leaflog_string};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, leaflog_session};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{Blob, BlobHash, BlobStore};
use std::sync::Arc;

/// The store of blobs in a folder. It holds no file open, and any number of threads and processes may
/// use one at once. The caller frees it with `leaflog_blobs_free()`.
pub struct leaflog_blobs {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_blobs {
    type Object = BlobStore;
    const NAME: &'static str = "blob store";
}

/// A blob is there, and its bytes have the hash.
pub const LEAFLOG_BLOB_FOUND: i32 = 0;
/// There is no such blob.
pub const LEAFLOG_BLOB_MISSING: i32 = 1;
/// The file's bytes do not have the hash of its name.
pub const LEAFLOG_BLOB_DAMAGED: i32 = 2;

/// A hash, given as 64 lowercase hex digits or as a reference.
fn hash(text: leaflog_str) -> Result<BlobHash, Failure> {
    let text = text.text("hash")?;
    let reference = if text.starts_with("blob:") { text.to_owned() } else { format!("blob:sha256:{text}") };
    BlobHash::from_reference(&reference)
        .ok_or_else(|| Failure::argument("hash: neither 64 lowercase hex digits nor a reference to a blob"))
}

/// The store in the folder at the path `dir`, which need not exist.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_open(
    dir: leaflog_str,
    blobs: *mut *mut leaflog_blobs,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(blobs, "blobs")?;
        let dir = dir.path("dir")?;
        table::hand_out(out, BlobStore::new(dir));
        Ok(())
    })
}

/// The store that a session puts its blobs into. READ_ONLY for a session that is only read.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_blobs(
    session: *const leaflog_session,
    blobs: *mut *mut leaflog_blobs,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(blobs, "blobs")?;
        let blobs = session::work(session, |manager| Ok(manager.blobs()))?;
        table::hand_out(out, blobs);
        Ok(())
    })
}

/// The folder of the store.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_dir(
    blobs: *const leaflog_blobs,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let blobs: Arc<BlobStore> = table::get(blobs)?;
        out.put_with(|| leaflog_string::path(blobs.dir()));
        Ok(())
    })
}

/// Puts bytes into the store and waits until they would survive a power cut; what is there already is not
/// written again. `reference`, which may be NULL, gets `blob:sha256:` and the hash.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_put(
    blobs: *const leaflog_blobs,
    bytes: leaflog_str,
    reference: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::optional(reference, "reference")?;
        let blobs: Arc<BlobStore> = table::get(blobs)?;
        let hash = blobs.put(bytes.bytes("bytes")?)?;
        out.put_with(|| leaflog_string::new(hash.reference()));
        Ok(())
    })
}

/// Reads a blob, named by its hash or a reference, and checks it. `found` gets LEAFLOG_BLOB_FOUND,
/// LEAFLOG_BLOB_MISSING or LEAFLOG_BLOB_DAMAGED; `bytes` is absent unless it was found. Both are needed.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_get(
    blobs: *const leaflog_blobs,
    hash: leaflog_str,
    found: *mut i32,
    bytes: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let (found, out) = (Out::new(found, "found")?, Out::new(bytes, "bytes")?);
        let blobs: Arc<BlobStore> = table::get(blobs)?;
        let (how, bytes) = match blobs.get(&self::hash(hash)?)? {
            Blob::Found(bytes) => (LEAFLOG_BLOB_FOUND, leaflog_string::new(bytes)),
            Blob::Missing => (LEAFLOG_BLOB_MISSING, leaflog_string::ABSENT),
            Blob::Damaged => (LEAFLOG_BLOB_DAMAGED, leaflog_string::ABSENT),
        };
        found.put(how);
        out.put(bytes);
        Ok(())
    })
}

/// Whether the store has a file for a hash or a reference. The bytes are not looked at.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_has(
    blobs: *const leaflog_blobs,
    hash: leaflog_str,
    has: *mut bool,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(has, "has")?;
        let blobs: Arc<BlobStore> = table::get(blobs)?;
        out.put(blobs.has(&self::hash(hash)?));
        Ok(())
    })
}

/// The path of the file of a hash or a reference, which need not exist.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_path(
    blobs: *const leaflog_blobs,
    hash: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let blobs: Arc<BlobStore> = table::get(blobs)?;
        out.put(leaflog_string::path(&blobs.path(&self::hash(hash)?)));
        Ok(())
    })
}

/// The reference that stands for bytes in an entry, without storing them.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blob_reference(
    bytes: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        out.put(leaflog_string::new(BlobHash::of(bytes.bytes("bytes")?).reference()));
        Ok(())
    })
}

/// Whether a text is a reference to a blob: `blob:sha256:` and exactly 64 lowercase hex digits. Bytes that are
/// no text are none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_is_blob_reference(text: leaflog_str) -> bool {
    let mut is_reference = false;
    // Whatever is wrong with the text, it is no reference.
    let _ = guard(std::ptr::null_mut(), || {
        is_reference = BlobHash::from_reference(text.text("text")?).is_some();
        Ok(())
    });
    is_reference
}

/// Frees the handle; no file is touched. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_blobs_free(blobs: *mut leaflog_blobs) -> leaflog_status {
    table::free(blobs.cast_const())
}
