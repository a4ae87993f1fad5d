//! `leaflog show --json`: the session and its entries for programs.

use crate::args::ShowArgs;
use crate::fail::{Exit, Failure};
use crate::forest::Forest;
use crate::output::Out;
use crate::{show, summary};
use jiff::Timestamp;
use leaflog::{EntryRef, EntryText, SessionView};
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write as _;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session<'a> {
    path: Option<&'a str>,
    id: &'a str,
    version: u32,
    title: Option<&'a str>,
    title_source: Option<&'a str>,
    cwd: Option<&'a str>,
    timestamp: Option<&'a str>,
    parent_session: Option<&'a str>,
    size: u64,
    entries: usize,
    branches: usize,
    leaf: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: Option<Cow<'a, str>>,
    parent_id: Option<Cow<'a, str>>,
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    role: Option<Cow<'a, str>>,
    time: Option<String>,
    size: u64,
    line: u64,
    label: Option<Cow<'a, str>>,
    text: String,
    children: Vec<Cow<'a, str>>,
    on_path: bool,
    superseded: bool,
}

/// Texts of rows are cut to this many columns.
const TEXT_COLUMNS: usize = 200;

/// Writes one object: `session`, and `entries` one a line, as they are read.
pub fn write(
    view: &SessionView,
    name: &str,
    leaf: Option<EntryRef<'_>>,
    args: &ShowArgs,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let header = view.header();
    write!(out, "{{\"session\":")?;
    out.json(&Session {
        path: view.path().map(|_| name),
        id: &header.id,
        version: header.version,
        title: view.title(),
        title_source: view.title_source(),
        cwd: header.cwd.as_deref(),
        timestamp: header.timestamp.as_deref(),
        parent_session: header.parent_session.as_deref(),
        size: view.len(),
        entries: view.entries().len(),
        branches: view.leaves().len(),
        leaf: leaf.and_then(EntryRef::id),
    })?;
    write!(out, ",\"entries\":[")?;
    let path = leaf.map_or_else(|| Ok(Vec::new()), |leaf| show::context_path(view, leaf, name))?;
    let mut on_path = vec![false; view.entries().len()];
    for entry in &path {
        on_path[entry.position()] = true;
    }
    let most = args.limit.unwrap_or(usize::MAX);
    let mut shown = Shown { view_name: name, on_path: &on_path, first: true };
    if args.branch {
        for entry in &path[path.len().saturating_sub(most)..] {
            shown.row(*entry, out)?;
        }
    } else {
        let within = subtree(view, leaf, most);
        for entry in view.entries().filter(|entry| within.as_ref().is_none_or(|within| within[entry.position()])) {
            shown.row(entry, out)?;
        }
    }
    writeln!(out, "\n]}}")?;
    Ok(Exit::Fine)
}

/// Which entries belong to the last `most` on the path to the leaf and what branches off them;
/// `None` for all.
fn subtree(view: &SessionView, leaf: Option<EntryRef<'_>>, most: usize) -> Option<Vec<bool>> {
    let leaf = leaf.filter(|_| most < usize::MAX)?;
    let forest = Forest::new(view);
    let path = forest.path(leaf);
    let from = path.len().checked_sub(most).filter(|&from| from > 0)?;
    Some(forest.subtree(path[from]))
}

struct Shown<'a> {
    view_name: &'a str,
    on_path: &'a [bool],
    first: bool,
}

impl Shown<'_> {
    fn row(&mut self, entry: EntryRef<'_>, out: &mut Out) -> Result<(), Failure> {
        let text: EntryText<'_> = entry.text().map_err(|error| Failure::of(&error, self.view_name))?;
        let (kind, role) = summary::names(&text);
        let time = entry.time_ms().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let row = Row {
            id: entry.id(),
            parent_id: text.parent_id(),
            kind,
            role,
            time: time.map(|time| format!("{time:.3}")),
            size: entry.len(),
            line: entry.line(),
            label: entry.label().filter(|_| !entry.is_superseded()),
            text: summary::line(&text, TEXT_COLUMNS).text(),
            children: entry.children_by_time().into_iter().filter_map(EntryRef::id).collect(),
            on_path: self.on_path[entry.position()],
            superseded: entry.is_superseded(),
        };
        writeln!(out, "{}", if std::mem::take(&mut self.first) { "" } else { "," })?;
        out.json(&row)?;
        Ok(())
    }
}
