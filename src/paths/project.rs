//! Names of the folders that the sessions of a project are kept in.

use super::{Environment, absolute, resolved};
use crate::blob::BlobHash;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How the session folder of a project is named when one is made. Both names are read (R57).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirNaming {
    /// By the whole path: `--home-ada-work--`.
    #[default]
    Absolute,
    /// By the path below home or the folder for temporary files: `-work`, `-tmp-work`; by the whole
    /// path elsewhere. What the project has under the other name is moved, file by file.
    HomeRelative,
}

/// No file system takes a longer name.
const LONGEST: usize = 255;

/// The name of the session folder of a project at `path`, which is absolute: without the leading
/// slash, with `/`, `\` and `:` replaced by `-`, between `--` (R1).
pub(super) fn absolute_name(path: &Path) -> String {
    let text = path.to_string_lossy();
    dir_name("--", text.strip_prefix(['/', '\\']).unwrap_or(&text), "--")
}

/// The same by the path below home or the folder for temporary files (R57).
pub(super) fn home_relative_name(path: &Path, env: &Environment) -> String {
    let below = |dir: PathBuf| path.strip_prefix(resolved(&dir)).ok().map(Path::to_string_lossy);
    if let Some(rest) = below(env.home()) {
        return dir_name("-", &rest, "");
    }
    match below(env.temp()) {
        Some(rest) if rest.is_empty() => "-tmp".to_owned(),
        Some(rest) => dir_name("-tmp-", &rest, ""),
        None => absolute_name(path),
    }
}

/// One that would be too long is cut and ends with a hash of the path (R57).
fn dir_name(start: &str, path: &str, end: &str) -> String {
    let inner = path.replace(['/', '\\', ':'], "-");
    let name = format!("{start}{inner}{end}");
    if name.len() <= LONGEST {
        return name;
    }
    let hash = BlobHash::of(path.as_bytes());
    let hash = &hash.as_str()[..16];
    let kept = inner.floor_char_boundary(LONGEST - start.len() - hash.len() - end.len() - 1);
    format!("{start}{}-{hash}{end}", &inner[..kept])
}

/// All names a project's session folder may have; the first is the one to write.
pub(super) fn names(cwd: &Path, naming: DirNaming, env: &Environment) -> Vec<String> {
    let mut names = Vec::new();
    // A project that is gone may have been reached through a link that is still there.
    for path in [resolved(cwd), absolute(cwd), as_far_as_it_exists(cwd)] {
        let mut both = [absolute_name(&path), home_relative_name(&path, env)];
        if naming == DirNaming::HomeRelative {
            both.reverse();
        }
        for name in both {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The path with the links followed of what exists of it.
pub(crate) fn as_far_as_it_exists(path: &Path) -> PathBuf {
    let path = absolute(path);
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(&path);
    match path.strip_prefix(existing) {
        Ok(rest) => resolved(existing).components().chain(rest.components()).collect(),
        Err(_) => path,
    }
}

/// The name of a folder, as far as it can be one of [`names`].
pub(super) fn name_of(dir: &Path) -> Option<&str> {
    dir.file_name().and_then(OsStr::to_str)
}
