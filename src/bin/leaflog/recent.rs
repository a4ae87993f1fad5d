//! `leaflog recent`: the latest sessions of a project.

use crate::args::RecentArgs;
use crate::fail::{Exit, Failure};
use crate::list::project;
use crate::open;
use crate::output::Out;
use crate::style::Style;
use crate::text::{clean, one_line, width};
use jiff::Timestamp;
use leaflog::RecentSession;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write as _;
use std::time::SystemTime;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recent<'a> {
    path: Cow<'a, str>,
    modified: Option<String>,
    used: Option<String>,
    project_gone: bool,
    name: String,
    full_name: &'a str,
}

pub fn run(args: &RecentArgs, out: &mut Out) -> Result<Exit, Failure> {
    let project = project(args.cwd.as_deref())?;
    let sessions = open::everywhere().recent_of(&project, args.limit);
    if args.json {
        let rows: Vec<Recent<'_>> = sessions.iter().map(recent).collect();
        out.json(&rows)?;
        writeln!(out)?;
        return Ok(Exit::Fine);
    }
    if sessions.is_empty() {
        open::no_sessions(Some(&project));
    }
    let now = SystemTime::now();
    for session in &sessions {
        let when = session.time_ago(now);
        out.paint(Style::Faint, format_args!("{when:<10}  "))?;
        let name = one_line(&session.name(), 40);
        let pad = " ".repeat(40 - width(&name));
        out.paint(Style::Plain, name)?;
        write!(out, "{pad}  ")?;
        out.paint(Style::Faint, clean(&session.path.display().to_string()))?;
        if session.project_gone {
            out.paint(Style::Faint, "  (of another project, which is gone)")?;
        }
        writeln!(out)?;
    }
    Ok(Exit::Fine)
}

fn recent(session: &RecentSession) -> Recent<'_> {
    let iso = |time| Timestamp::try_from(time).ok().map(|moment| format!("{moment:.3}"));
    Recent {
        path: session.path.to_string_lossy(),
        modified: iso(session.modified),
        used: iso(session.used),
        project_gone: session.project_gone,
        name: session.name(),
        full_name: &session.full_name,
    }
}
