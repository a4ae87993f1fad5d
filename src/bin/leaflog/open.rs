//! Finding what the command line names: sessions and entries.

use crate::fail::{Failure, complain};
use crate::summary;
use crate::text::{count, one_line};
use leaflog::{
    AgentDirs, EntryKind, EntryRef, Error, LoadReport, SessionFinder, SessionView, ViewOptions, session_roots,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// A session that was asked for.
#[derive(Debug)]
pub enum Input {
    Stdin,
    File(PathBuf),
}

/// At most this many candidates are listed.
pub const LISTED: usize = 10;

impl Input {
    /// What `arg` means: `-`, a path that exists, `@last`, or the start of a session id.
    pub fn find(arg: &OsStr) -> Result<Self, Failure> {
        if arg == "-" {
            return Ok(Self::Stdin);
        }
        let path = Path::new(arg);
        if std::fs::symlink_metadata(path).is_ok() {
            return Ok(Self::File(path.to_owned()));
        }
        match arg.to_str() {
            Some("@last") => match everywhere().newest() {
                Some(path) => Ok(Self::File(path)),
                None => Err(Failure::not_found(format!("@last: no session found{}", searched()))),
            },
            Some(prefix) if is_prefix(prefix) => by_prefix(prefix),
            // Opening says what is wrong with the path.
            _ => Ok(Self::File(path.to_owned())),
        }
    }

    /// The name messages have for it.
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => "<stdin>".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The argument that means it, as a shell takes it.
    pub fn argument(&self) -> String {
        match self {
            Self::Stdin => "-".to_owned(),
            Self::File(path) => quoted(&path.display().to_string()),
        }
    }

    /// The blob folder of a session that does not lie in a folder `sessions`: `blobs` beside it,
    /// else that of the agent. There is always one, so that blobs that cannot be found are told.
    fn fallback_blobs(&self) -> PathBuf {
        let dir = match self {
            Self::Stdin => Path::new("."),
            Self::File(path) => path.parent().unwrap_or(Path::new(".")),
        };
        let beside = dir.join("blobs");
        if beside.is_dir() {
            return beside;
        }
        let of_agent = session_roots().first().and_then(|root| Some(root.parent()?.join("blobs")));
        of_agent.unwrap_or(beside)
    }

    pub fn open(&self, blobs: Option<&Path>) -> Result<SessionView, Error> {
        let mut options = ViewOptions::new().fallback_blobs(self.fallback_blobs());
        if let Some(dir) = blobs {
            options = options.blobs(dir);
        }
        match self {
            Self::Stdin => options.read_from(io::stdin().lock()),
            Self::File(path) => options.open(path),
        }
    }
}

/// Finds and opens a session.
pub fn session(arg: &OsStr, blobs: Option<&Path>) -> Result<(Input, SessionView), Failure> {
    let input = Input::find(arg)?;
    let view = input.open(blobs).map_err(|error| Failure::of(&error, &input.name()))?;
    Ok((input, view))
}

/// How many entries there are of each type that is not known here.
pub fn unknown_types(view: &SessionView) -> Result<BTreeMap<String, u64>, Error> {
    let mut types = BTreeMap::new();
    for entry in view.entries().filter(|entry| entry.kind() == EntryKind::Other) {
        *types.entry(summary::names(&entry.text()?).0.into_owned()).or_default() += 1;
    }
    Ok(types)
}

/// A line for each type that is not known here.
pub fn not_understood(types: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    types.iter().map(|(name, &entries)| {
        let verb = if entries == 1 { "is" } else { "are" };
        format!("{} of type {} {verb} not understood here", count(entries, "entry", "entries"), one_line(name, 60))
    })
}

/// Says on the standard error stream that a file is damaged, and where more is to be learned of it.
pub fn warn_of_damage(report: &LoadReport, name: &str, argument: &str) {
    match report.damaged_entries() {
        0 => {}
        touched => {
            let entries = count(touched as u64, "entry", "entries");
            complain(format_args!(
                "{name}: warning: the file is damaged, which touches {entries}: leaflog check {argument}"
            ));
        }
    }
}

/// A word for a POSIX shell: in quotes when it needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if word.chars().all(is_plain) && !word.starts_with('-') {
        return word.to_owned();
    }
    let start = if word.starts_with('-') { "./" } else { "" };
    format!("'{start}{}'", word.replace('\'', r"'\''"))
}

/// It could begin a session id, and is not meant as a path.
fn is_prefix(arg: &str) -> bool {
    !arg.is_empty() && !arg.contains(['/', '\\']) && !arg.starts_with('.')
}

/// Finds the sessions of all agents of this machine.
pub fn everywhere() -> SessionFinder {
    SessionFinder::new().roots(session_roots())
}

/// The session of any project that `prefix` means.
pub fn by_prefix(prefix: &str) -> Result<Input, Failure> {
    let found = everywhere().by_prefix(prefix).map_err(|error| Failure::of(&error, prefix))?;
    match &found[..] {
        [path] => Ok(Input::File(path.clone())),
        [] => Err(Failure::not_found(format!("{prefix}: no such file, and no session of that id{}", searched()))),
        _ => Err(ambiguous(prefix, found.iter().map(|path| path.display().to_string()))),
    }
}

/// Says which sessions `arg` could mean.
pub fn ambiguous(arg: &str, sessions: impl Iterator<Item = String>) -> Failure {
    let sessions: Vec<String> = sessions.collect();
    let mut message = format!("{arg}: {} sessions fit, the newest first:", sessions.len());
    for session in sessions.iter().take(LISTED) {
        message += &format!("\n{session}");
    }
    if sessions.len() > LISTED {
        message += &format!("\nand {} more", sessions.len() - LISTED);
    }
    Failure::ambiguous(message)
}

/// Where sessions were looked for.
pub fn searched() -> String {
    let roots: Vec<String> = session_roots().iter().map(|root| root.display().to_string()).collect();
    if roots.is_empty() {
        // That of the relatives is not there either.
        format!(": there is no folder {}", AgentDirs::new().sessions().display())
    } else {
        format!(" in {}", roots.join(", "))
    }
}

/// Says that a project, or all of them, have no sessions, and where they were looked for.
pub fn no_sessions(project: Option<&Path>) {
    let searched = searched();
    complain(match project {
        Some(project) => {
            format!("no sessions of {}{searched}; `leaflog list --all` lists all projects", project.display())
        }
        None => format!("no sessions{searched}"),
    });
}

/// The entry that `arg` means: its whole id, the id as `show` abbreviates it, or the start of
/// just one id.
pub fn entry<'v>(view: &'v SessionView, arg: &str, name: &str) -> Result<EntryRef<'v>, Failure> {
    if let Some(entry) = view.entry(arg) {
        return Ok(entry);
    }
    let (start, end) = arg.split_once('…').unwrap_or((arg, ""));
    let fits = |entry: &EntryRef<'_>| {
        let id = entry.id().filter(|_| !entry.is_superseded());
        id.is_some_and(|id| id.len() >= start.len() + end.len() && id.starts_with(start) && id.ends_with(end))
    };
    let mut found: Vec<EntryRef<'_>> = Vec::new();
    if !start.is_empty() {
        found = view.entries().filter(fits).take(LISTED + 1).collect();
    }
    match found[..] {
        [entry] => Ok(entry),
        [] => Err(Failure::not_found(format!("{name}: {}", Error::entry_not_found(arg)))),
        _ => {
            let mut message = format!("{name}: more than one entry begins with {arg}:");
            for id in found.iter().take(LISTED).filter_map(|entry| entry.id()) {
                message += &format!("\n{id}");
            }
            if found.len() > LISTED {
                message += "\nand more";
            }
            Err(Failure::ambiguous(message))
        }
    }
}
