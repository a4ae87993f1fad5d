//! `leaflog list`: the sessions of a project, or of all.

use crate::args::ListArgs;
use crate::fail::{Exit, Failure, complain};
use crate::open;
use crate::output::Out;
use crate::progress::Bar;
use crate::style::Style;
use crate::text::{clean, count, one_line, short_size, thousands, width};
use jiff::Timestamp;
use leaflog::{Error, Listing, SessionInfo};
use serde::Serialize;
use std::borrow::Cow;
use std::env;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Columns of a project's path, of which the end is shown.
const PROJECT_COLUMNS: usize = 28;
/// Columns of an id; a UUID fits.
const ID_COLUMNS: usize = 36;
const TITLE_COLUMNS: usize = 80;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session<'a> {
    path: Cow<'a, str>,
    id: &'a str,
    cwd: &'a str,
    title: Option<&'a str>,
    parent_session_path: Option<&'a str>,
    created: Option<String>,
    modified: Option<String>,
    used: Option<String>,
    project_gone: bool,
    size: u64,
    message_count: u64,
    first_message: &'a str,
}

#[derive(Serialize)]
struct Problem<'a> {
    path: Option<Cow<'a, str>>,
    code: &'static str,
    message: String,
}

pub fn run(args: &ListArgs, out: &mut Out) -> Result<Exit, Failure> {
    let project = if args.all { None } else { Some(project(args.cwd.as_deref())?) };
    let listing = listing(project.as_deref());
    let most = args.limit.unwrap_or(usize::MAX);
    if args.problems {
        let mut problems = listing.not_listed();
        problems.truncate(most);
        if args.json || args.ndjson {
            objects(problems.iter().map(problem), args.ndjson, out)?;
        } else {
            for problem in &problems {
                out.paint(Style::Error, clean(&problem.to_string()))?;
                writeln!(out)?;
            }
        }
        return Ok(if problems.is_empty() { Exit::Fine } else { Exit::Report });
    }
    let sessions = &listing.sessions[..listing.sessions.len().min(most)];
    if args.json || args.ndjson {
        objects(sessions.iter().map(session), args.ndjson, out)?;
    } else {
        table(sessions, out)?;
    }
    out.flush()?;
    if listing.sessions.is_empty() && !(args.json || args.ndjson) {
        open::no_sessions(project.as_deref());
    }
    if !listing.problems.is_empty() {
        let files = count(listing.problems.len() as u64, "file is not a session", "files are not sessions");
        complain(format_args!("{files} or cannot be read; --problems says why"));
    }
    if !listing.links.is_empty() {
        let links = count(listing.links.len() as u64, "link is not followed", "links are not followed");
        complain(format_args!("{links}; --problems names what is not listed"));
    }
    Ok(Exit::Fine)
}

/// The sessions of a project, or of all.
fn listing(project: Option<&Path>) -> Listing {
    let bar = Arc::new(Bar::new());
    let told = Arc::clone(&bar);
    let finder = open::everywhere().progress(move |done, total| {
        told.tell(done, total);
        ControlFlow::Continue(())
    });
    match project {
        Some(project) => finder.list(project),
        None => finder.list_all(),
    }
}

/// The directory of the project that is meant.
pub fn project(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    match cwd {
        Some(cwd) if cwd != Path::new(".") => Ok(cwd.to_owned()),
        _ => current_dir().map_err(|error| Failure::not_found(format!("the current directory: {error}"))),
    }
}

/// The current directory, by the name that the shell has for it when that leads here: sessions of a
/// project that was moved, with a link left in its place, are kept under that name.
pub fn current_dir() -> io::Result<PathBuf> {
    let here = env::current_dir()?;
    let of_shell = env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let leads_here =
        |path: &PathBuf| path.canonicalize().ok().is_some_and(|path| Some(path) == here.canonicalize().ok());
    Ok(of_shell.filter(leads_here).unwrap_or(here))
}

/// Writes a JSON array, or one object a line.
fn objects<T: Serialize>(items: impl Iterator<Item = T>, lines: bool, out: &mut Out) -> Result<(), Failure> {
    if !lines {
        return Ok(out.json_array(items)?);
    }
    for item in items {
        out.json(&item)?;
        writeln!(out)?;
    }
    Ok(())
}

fn session(info: &SessionInfo) -> Session<'_> {
    let iso = |moment: Timestamp| format!("{moment:.3}");
    Session {
        path: info.path.to_string_lossy(),
        id: &info.id,
        cwd: &info.cwd,
        title: info.title.as_deref(),
        parent_session_path: info.parent_session.as_deref(),
        created: info.created_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()).map(iso),
        modified: Timestamp::try_from(info.modified).ok().map(iso),
        used: Timestamp::try_from(info.used).ok().map(iso),
        project_gone: info.project_gone,
        size: info.size,
        message_count: info.message_count,
        first_message: &info.first_message,
    }
}

fn problem(error: &Error) -> Problem<'_> {
    Problem { path: error.path().map(Path::to_string_lossy), code: error.code().as_str(), message: error.message() }
}

/// One line a session, below a line of headings.
fn table(sessions: &[SessionInfo], out: &mut Out) -> Result<(), Failure> {
    if sessions.is_empty() {
        return Ok(());
    }
    let now = SystemTime::now();
    let home = env::home_dir();
    let row = |info: &SessionInfo| {
        let gone = if info.project_gone { " (gone)" } else { "" };
        [
            info.time_ago(now),
            one_line(info.title.as_deref().unwrap_or(&info.first_message), TITLE_COLUMNS),
            thousands(info.message_count),
            short_size(info.size),
            short_path(&info.cwd, home.as_deref()) + gone,
            one_line(&info.id, ID_COLUMNS),
        ]
    };
    let mut rows = vec![["when", "title", "messages", "size", "project", "id"].map(str::to_owned)];
    rows.extend(sessions.iter().map(row));
    let mut widths = [0; 6];
    for row in &rows {
        for (width_, cell) in widths.iter_mut().zip(row) {
            *width_ = width(cell).max(*width_);
        }
    }
    // The title takes what the others leave.
    let others: usize = widths.iter().sum::<usize>() - widths[1];
    widths[1] = widths[1].min(out.room(others + 2 * (widths.len() - 1)));
    for (nth, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let cell = if column == 1 { one_line(cell, widths[1]) } else { cell.clone() };
            let pad = " ".repeat(widths[column] - width(&cell));
            let is_number = matches!(column, 2 | 3);
            let style = match (nth, column) {
                (0, _) | (_, 0 | 3 | 4) => Style::Faint,
                (_, 5) => Style::Id,
                _ => Style::Plain,
            };
            if is_number {
                write!(out, "{pad}")?;
            }
            out.paint(style, cell)?;
            match column {
                5 => writeln!(out)?,
                _ if is_number => write!(out, "  ")?,
                _ => write!(out, "{pad}  ")?,
            }
        }
    }
    Ok(())
}

/// A folder with `~` for home; of a long one the end.
pub fn short_path(path: &str, home: Option<&Path>) -> String {
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok()).map(Path::to_string_lossy);
    let path = match below {
        Some(rest) if rest.is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{rest}"),
        None => path.to_owned(),
    };
    let path = clean(&path);
    if width(&path) <= PROJECT_COLUMNS {
        return path.into_owned();
    }
    let mut from = path.len();
    for (at, _) in path.char_indices().rev() {
        if width(&path[at..]) >= PROJECT_COLUMNS {
            break;
        }
        from = at;
    }
    format!("…{}", &path[from..])
}
