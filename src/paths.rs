//! Folders.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The blob folder that belongs to a session file: `blobs` beside the folder `sessions` that the
/// file lies in (R2), however deep.
pub(crate) fn blobs_beside(session: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(session).ok()?;
    let sessions = path.ancestors().skip(1).find(|dir| dir.file_name() == Some(OsStr::new("sessions")))?;
    Some(sessions.parent()?.join("blobs"))
}
