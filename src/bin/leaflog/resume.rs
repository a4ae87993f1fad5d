//! `leaflog resume`: the file of the session that an argument means.

use crate::args::ResumeArgs;
use crate::fail::{Exit, Failure};
use crate::list::project;
use crate::open;
use crate::output::Out;
use crate::text::{clean, one_line};
use leaflog::Resumable;
use std::io::Write as _;
use std::time::SystemTime;

pub fn run(args: &ResumeArgs, out: &mut Out) -> Result<Exit, Failure> {
    let arg = &args.arg;
    let found = open::everywhere().candidates(arg, project(args.cwd.as_deref())?);
    match &found[..] {
        [only] => {
            let path = &only.session.path;
            if out.is_terminal {
                writeln!(out, "{}", clean(&path.display().to_string()))?;
            } else {
                // To a program it goes as it is, whatever its characters.
                out.write_all(path.as_os_str().as_encoded_bytes())?;
                writeln!(out)?;
            }
            Ok(Exit::Fine)
        }
        [] => Err(Failure::not_found(format!("{arg}: no session of that id{}", open::searched()))),
        several => {
            let now = SystemTime::now();
            let mut message = format!("{arg}: {} sessions fit, the newest first:", several.len());
            for Resumable { session, .. } in several.iter().take(open::LISTED) {
                let name = one_line(session.title.as_deref().unwrap_or(&session.first_message), 40);
                message += &format!("\n{}  {}  {name}", session.path.display(), session.time_ago(now));
            }
            if several.len() > open::LISTED {
                message += &format!("\nand {} more", several.len() - open::LISTED);
            }
            Err(Failure::ambiguous(message))
        }
    }
}
