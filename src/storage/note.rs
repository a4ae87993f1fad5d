//! Small files that are a convenience: nobody waits until they survive a power cut, and that one
//! cannot be written is no error. So they are none of the operations of [`disk`](super::disk).

use super::temp;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Makes `text` the content of the file at `path`, in one step: who reads it meanwhile has the old
/// text or the new. File and folders are for their owner only (R55).
pub(crate) fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut dirs = DirBuilder::new();
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut dirs, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    if let Some(dir) = path.parent() {
        dirs.recursive(true).create(dir)?;
    }
    let temp = temp::random_path(path);
    let mut file = options.write(true).create_new(true).open(&temp)?;
    let written = file.write_all(text).and_then(|()| std::fs::rename(&temp, path));
    if written.is_err() {
        let _: io::Result<()> = std::fs::remove_file(&temp);
    }
    written
}
