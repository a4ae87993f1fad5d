//! How the tool ends: exit codes, and errors on the standard error stream.

use crate::text;
use clap::error::ErrorKind;
use leaflog::{Error, ErrorCode};
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// The exit codes, the worse the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    Fine = 0,
    /// Something to report.
    Report = 1,
    /// A use that cannot be meant; clap gives it too.
    Use = 2,
    /// Not found, or more than one thing fits.
    NotFound = 3,
    /// It cannot be read, or is not a session.
    Io = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// The output cannot be written.
    Output(io::Error),
    /// Anything else; the lines are for the person.
    Told { code: ErrorCode, message: String },
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::Told { code: ErrorCode::NotFound, message: message.into() }
    }

    /// It cannot be meant.
    pub fn wrong_use(message: impl Into<String>) -> Self {
        Self::Told { code: ErrorCode::InvalidArgument, message: message.into() }
    }

    /// More than one thing fits.
    pub fn ambiguous(message: impl Into<String>) -> Self {
        Self::Told { code: ErrorCode::Ambiguous, message: message.into() }
    }

    /// An error of the library about the input called `name`.
    pub fn of(error: &Error, name: &str) -> Self {
        Self::Told { code: error.code(), message: located(error, name) }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Output(_) => Exit::Io,
            Self::Told { code, .. } => exit_of(*code),
        }
    }

    /// Says on the standard error stream what happened.
    pub fn tell(&self) {
        match self {
            Self::Output(error) => complain(format_args!("cannot write the output: {error}")),
            Self::Told { message, .. } => complain(message),
        }
    }
}

/// The exit code for an error of the library.
pub fn exit_of(code: ErrorCode) -> Exit {
    match code {
        ErrorCode::NotFound | ErrorCode::EntryNotFound | ErrorCode::Ambiguous => Exit::NotFound,
        ErrorCode::InvalidArgument => Exit::Use,
        _ => Exit::Io,
    }
}

/// `path:line: message: cause`; `name` stands for the path of what has none.
fn located(error: &Error, name: &str) -> String {
    match (error.path(), error.line()) {
        (Some(_), _) => error.to_string(),
        (None, Some(line)) => format!("{name}:{line}: {error}"),
        (None, None) => format!("{name}: {error}"),
    }
}

/// Says what is wrong with the command line in the shape of every other message, or prints the
/// help or the version that was asked for.
pub fn of_command_line(error: &clap::Error) -> Exit {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if error.use_stderr() && !is_help {
        let message = error.to_string();
        complain(message.strip_prefix("error: ").unwrap_or(&message));
        return Exit::Use;
    }
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let failure = Failure::Output(error);
            failure.tell();
            failure.exit()
        }
        _ if is_help => Exit::Use,
        _ => Exit::Fine,
    }
}

/// Writes `leaflog: message` to the standard error stream; further lines are set in, so that a
/// name with a line end in it does not look like a message. That nobody reads it is no failure.
pub fn complain(message: impl Display) {
    let message = message.to_string();
    let mut err = io::stderr().lock();
    for (at, line) in message.trim_end().lines().enumerate() {
        let start = match at {
            0 => "leaflog: ",
            _ if line.is_empty() || line.starts_with("  ") => "",
            _ => "  ",
        };
        let _ = writeln!(err, "{start}{}", text::clean(line));
    }
}
