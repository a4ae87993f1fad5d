//! Breadcrumbs: which session a terminal had last (R3).
//!
//! One small file a terminal, `<cwd>\n<file>\n`. They are a convenience: that one cannot be
//! written or read is no error.

use crate::paths::{AgentDirs, absolute, resolved};
use crate::storage::{disk, note};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Notes that this terminal has the session `file` of the project at `cwd`.
pub(crate) fn write(dirs: &AgentDirs, cwd: &Path, file: &Path) {
    let Some(crumb) = place(dirs) else { return };
    let (cwd, file) = (cwd.as_os_str().as_encoded_bytes(), file.as_os_str().as_encoded_bytes());
    // Its lines are all it has.
    if cwd.contains(&b'\n') || file.contains(&b'\n') {
        return;
    }
    let _: io::Result<()> = note::write(&crumb, &[cwd, b"\n", file, b"\n"].concat());
}

/// The session file that this terminal had last, when that was in the project at `cwd`. It need not
/// exist.
pub(crate) fn read(dirs: &AgentDirs, cwd: &Path) -> Option<PathBuf> {
    let text = disk::read_plain(&place(dirs)?).ok()?;
    let mut lines = text.split(|&byte| byte == b'\n');
    let (there, file) = (path(lines.next()?)?, path(lines.next()?)?);
    let same = absolute(&there) == absolute(cwd) || resolved(&there) == resolved(cwd);
    same.then_some(file)
}

fn place(dirs: &AgentDirs) -> Option<PathBuf> {
    Some(dirs.terminal_sessions().join(dirs.env().terminal_id()?))
}

fn path(line: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    let path: OsString = std::os::unix::ffi::OsStringExt::from_vec(line.to_vec());
    #[cfg(not(unix))]
    let path: OsString = std::str::from_utf8(line).ok()?.into();
    (!path.is_empty()).then(|| PathBuf::from(path))
}
