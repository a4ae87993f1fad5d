//! The blob store.

use crate::error::convert;
use leaflog::{Blob, BlobHash, BlobStore};
use napi::Env;
use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;

/// Puts bytes and gives their hash.
#[napi(catch_unwind)]
pub fn blob_put(dir: String, bytes: &[u8]) -> napi::Result<String> {
    BlobStore::new(dir).put(bytes).map(|hash| hash.as_str().to_owned()).map_err(convert)
}

/// The bytes of a blob. None when there is no such blob, or it is damaged.
#[napi(catch_unwind)]
pub fn blob_get<'env>(env: &'env Env, dir: String, hash: String) -> napi::Result<Option<BufferSlice<'env>>> {
    let Some(hash) = BlobHash::from_reference(&format!("blob:sha256:{hash}")) else { return Ok(None) };
    match BlobStore::new(dir).get(&hash).map_err(convert)? {
        Blob::Found(bytes) => BufferSlice::copy_from(env, bytes).map(Some),
        Blob::Missing | Blob::Damaged => Ok(None),
    }
}

#[napi(catch_unwind)]
pub fn blob_has(dir: String, hash: String) -> bool {
    BlobHash::from_reference(&format!("blob:sha256:{hash}")).is_some_and(|hash| BlobStore::new(dir).has(&hash))
}

/// The hash in a reference; none for any other text.
#[napi(catch_unwind)]
pub fn blob_hash(reference: String) -> Option<String> {
    BlobHash::from_reference(&reference).map(|hash| hash.as_str().to_owned())
}

#[napi(catch_unwind)]
pub fn is_image_data_url(text: String) -> bool {
    leaflog::is_image_data_url(&text)
}
