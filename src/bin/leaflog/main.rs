//! The command-line tool `leaflog`: looks into the sessions of coding agents. Only `delete` changes
//! anything.

mod args;
mod check;
mod context;
mod delete;
mod fail;
mod forest;
#[cfg(feature = "history")]
mod history;
mod list;
mod open;
mod output;
mod progress;
mod recent;
mod resume;
mod rows;
mod show;
mod stats;
mod style;
mod summary;
mod text;

use args::{Args, Command};
use clap::Parser as _;
use fail::Failure;
use std::io::{self, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return fail::of_command_line(&error).into(),
    };
    let mut out = output::Out::stdout(args.color);
    let done = match &args.command {
        Command::Show(args) => show::run(args, &mut out),
        Command::Context(args) => context::run(args, &mut out),
        Command::Check(args) => check::run(args, &mut out),
        Command::Stats(args) => stats::run(args, &mut out),
        #[cfg(feature = "history")]
        Command::History(args) => history::run(args, &mut out),
        Command::List(args) => list::run(args, &mut out),
        Command::Recent(args) => recent::run(args, &mut out),
        Command::Resume(args) => resume::run(args, &mut out),
        Command::Delete(args) => delete::run(args, &mut out),
    };
    let done = done.and_then(|exit| {
        out.flush()?;
        Ok(exit)
    });
    match done {
        Ok(exit) => exit.into(),
        // Whoever reads the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit().into()
        }
    }
}
