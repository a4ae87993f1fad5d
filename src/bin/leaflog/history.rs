//! `leaflog history`: what a person wrote, the newest first.

use crate::args::HistoryArgs;
use crate::fail::{Exit, Failure, complain};
use crate::output::Out;
use crate::style::Style;
use crate::text::{first_line, one_line, width};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use leaflog::{AgentDirs, HistoryEntry, HistoryQuery, HistoryStorage, session_roots};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The project takes at most so many columns.
const PROJECT_COLUMNS: usize = 20;

/// `2026-02-16 09:12`
const TIME_COLUMNS: usize = 16;

pub fn run(args: &HistoryArgs, out: &mut Out) -> Result<Exit, Failure> {
    let mut query = HistoryQuery::new().limit(args.limit);
    if !args.query.is_empty() {
        query = query.words(args.query.join(" "));
    }
    if let Some(cwd) = &args.cwd {
        query = query.cwd(cwd);
    }
    let paths = find()?;
    let (mut entries, mut failures) = (Vec::new(), Vec::new());
    for path in &paths {
        match HistoryStorage::open_read_only(path).and_then(|history| history.find(&query)) {
            Ok(found) => entries.extend(found),
            Err(error) => failures.push(Failure::of(&error, &path.display().to_string())),
        }
    }
    if failures.len() == paths.len() {
        let last = failures.pop();
        failures.iter().for_each(Failure::tell);
        return last.map_or(Ok(Exit::Fine), Err);
    }
    // Each database has its own ids; within one the order stays.
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.created_at));
    entries.truncate(args.limit);
    if args.json {
        out.json_array(entries.iter())?;
    } else {
        text(&entries, out)?;
    }
    if !failures.is_empty() {
        out.flush()?;
        failures.iter().for_each(Failure::tell);
    }
    Ok(failures.iter().map(Failure::exit).max().unwrap_or(Exit::Fine))
}

/// The histories of the agents on this machine.
fn find() -> Result<Vec<PathBuf>, Failure> {
    let beside = |root: &PathBuf| Some(root.parent()?.join("history.db"));
    let mut candidates = vec![AgentDirs::new().history_db()];
    for path in session_roots().iter().filter_map(beside) {
        if !candidates.contains(&path) {
            candidates.push(path);
        }
    }
    let (found, missing): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|path| path.exists());
    if found.is_empty() {
        let searched: Vec<String> = missing.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::not_found(format!("no prompt history at {}", searched.join(", "))));
    }
    Ok(found)
}

fn text(entries: &[HistoryEntry], out: &mut Out) -> Result<(), Failure> {
    let projects: Vec<String> = entries.iter().map(|entry| project(entry.cwd.as_deref())).collect();
    let columns = projects.iter().map(|project| width(project)).max().unwrap_or(0);
    let zone = TimeZone::system();
    for (entry, project) in entries.iter().zip(&projects) {
        out.paint(Style::Faint, format_args!("{:<TIME_COLUMNS$}", time(entry.created_at, &zone)))?;
        write!(out, "  ")?;
        out.paint(Style::Tool, project)?;
        write!(out, "{:pad$}  ", "", pad = columns - width(project))?;
        writeln!(out, "{}", prompt(&entry.prompt, out.room(TIME_COLUMNS + 2 + columns + 2)))?;
    }
    if entries.is_empty() {
        out.flush()?;
        complain("no prompt to show");
    }
    Ok(())
}

/// The first line that says something; `…` when there are more.
fn prompt(prompt: &str, room: usize) -> String {
    let first = first_line(prompt);
    let is_all = prompt.trim() == first.trim();
    let shown = one_line(first, if is_all { room } else { room.saturating_sub(2) });
    if is_all || shown.ends_with('…') { shown } else { shown + " …" }
}

/// The last part of the folder.
fn project(cwd: Option<&str>) -> String {
    let cwd = cwd.filter(|cwd| !cwd.is_empty()).unwrap_or("-");
    let name = Path::new(cwd).file_name().map_or_else(|| cwd.into(), |name| name.to_string_lossy());
    one_line(&name, PROJECT_COLUMNS)
}

fn time(seconds: i64, zone: &TimeZone) -> String {
    let Ok(time) = Timestamp::from_second(seconds) else { return "-".to_owned() };
    let at = zone.to_datetime(time);
    format!("{} {:02}:{:02}", at.date(), at.hour(), at.minute())
}
