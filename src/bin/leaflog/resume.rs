//! `leaflog resume`: the file of the session that an argument means.

use crate::args::ResumeArgs;
use crate::fail::{Exit, Failure};
use crate::list::project;
use crate::open::{self, Input};
use crate::output::Out;
use crate::text::{clean, one_line};
use leaflog::{Candidates, Resumable, SessionView};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

pub fn run(args: &ResumeArgs, out: &mut Out) -> Result<Exit, Failure> {
    let arg = &args.arg;
    let Ok(project) = project(args.cwd.as_deref()) else {
        // The current directory was removed: then no project comes first.
        return match open::by_prefix(arg)? {
            Input::File(path) => print(&path, out),
            Input::Stdin => Ok(Exit::Fine),
        };
    };
    let Candidates { sessions, problems, not_searched } = open::everywhere().candidates(arg, project);
    match (&sessions[..], &problems[..]) {
        ([only], []) => print(&only.session.path, out),
        ([], [only]) => Err(Failure::of(only, arg)),
        ([], []) => Err(match &not_searched[..] {
            [] => Failure::not_found(format!("{arg}: no session of that id{}", open::searched())),
            [first, ..] => Failure::of(first, arg),
        }),
        _ => {
            let now = SystemTime::now();
            let readable = sessions.iter().map(|Resumable { session, .. }| {
                let name = one_line(session.title.as_deref().unwrap_or(&session.first_message), 40);
                let gone = if session.project_gone { "  (of another project, which is gone)" } else { "" };
                format!("{}  {}  {name}{gone}", session.path.display(), session.time_ago(now))
            });
            let problems = problems.iter().map(|problem| {
                let path = problem.path().map(|path| path.display().to_string()).unwrap_or_default();
                format!("{path}  {}", problem.message())
            });
            Err(open::ambiguous(arg, readable.chain(problems)))
        }
    }
}

fn print(path: &Path, out: &mut Out) -> Result<Exit, Failure> {
    if out.is_terminal {
        writeln!(out, "{}", clean(&path.display().to_string()))?;
    } else {
        // To a program it goes as it is, whatever its characters.
        out.write_all(path.as_os_str().as_encoded_bytes())?;
        writeln!(out)?;
    }
    out.flush()?;
    // What cannot be read now says so when it is opened.
    if let Ok(report) = SessionView::open(path).and_then(|view| view.report()) {
        let name = path.display().to_string();
        open::warn_of_damage(&report, &name, &open::quoted(&name));
    }
    Ok(Exit::Fine)
}
