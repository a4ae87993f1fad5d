//! `leaflog delete`: removes a session and its artifacts.

use crate::args::DeleteArgs;
use crate::fail::{Exit, Failure, complain};
use crate::open::Input;
use crate::output::Out;
use crate::text::{clean, count, long_size, one_line};
use leaflog::{ArtifactManager, FileSessionStorage, SessionView};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

pub fn run(args: &DeleteArgs, out: &mut Out) -> Result<Exit, Failure> {
    let Input::File(path) = Input::find(&args.file)? else {
        return Err(Failure::wrong_use("the standard input cannot be deleted"));
    };
    if !args.yes && !asked(&path)? {
        complain("nothing was deleted");
        return Ok(Exit::Report);
    }
    let name = path.display().to_string();
    FileSessionStorage.delete_session_with_artifacts(&path).map_err(|error| Failure::of(&error, &name))?;
    writeln!(out, "deleted {}", clean(&name))?;
    Ok(Exit::Fine)
}

/// Says what would go and asks for a yes. The end of the input is a no.
fn asked(path: &Path) -> Result<bool, Failure> {
    let name = path.display().to_string();
    let metadata = fs::symlink_metadata(path)
        .map_err(|error| Failure::of(&leaflog::Error::io(error, "cannot delete the session", path), &name))?;
    let mut err = io::stderr().lock();
    // A file that is not a session can be deleted too.
    let title = SessionView::open(path).ok().and_then(|view| view.title().map(|title| one_line(title, 60)));
    let title = title.map(|title| format!(" \u{201c}{title}\u{201d}")).unwrap_or_default();
    writeln!(err, "{}{title}, {}", clean(&name), long_size(metadata.len()))?;
    if let Some(artifacts) = ArtifactManager::new(path) {
        let files = fs::read_dir(artifacts.dir()).into_iter().flatten().count() as u64;
        if files > 0 {
            let dir = artifacts.dir().display().to_string();
            writeln!(err, "{}, {}", clean(&dir), count(files, "artifact", "artifacts"))?;
        }
    }
    write!(err, "Delete? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
