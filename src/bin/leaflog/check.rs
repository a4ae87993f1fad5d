//! `leaflog check`: the load reports of files.

use crate::args::CheckArgs;
use crate::fail::{Exit, Failure, complain, exit_of};
use crate::open::{self, Input};
use crate::output::Out;
use crate::style::Style;
use crate::text::{clean, count};
use leaflog::{Error, LoadReport};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What is printed for a file.
#[derive(Serialize)]
struct Checked<'a> {
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a LoadReport>,
    /// Entries of types that are not known here, by their type.
    #[serde(rename = "unknownTypes", skip_serializing_if = "BTreeMap::is_empty")]
    unknown_types: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
}

#[derive(Serialize)]
struct Fault {
    code: &'static str,
    message: String,
    path: Option<String>,
    line: Option<u64>,
}

/// Why a file has no report.
enum NotChecked {
    /// It was not found by what names it.
    Unfound(Failure),
    /// It was not read.
    Unread(Error),
}

pub fn run(args: &CheckArgs, out: &mut Out) -> Result<Exit, Failure> {
    let mut worst = Exit::Fine;
    let (mut fine, mut reported, mut failed) = (0, 0, 0);
    if args.json {
        write!(out, "[")?;
    }
    for (at, arg) in args.files.iter().enumerate() {
        let (name, checked, blobs, unknown_types) = check(arg, args.blobs.as_deref());
        let exit = match &checked {
            Ok(report) if report.is_empty() => Exit::Fine,
            Ok(_) => Exit::Report,
            Err(NotChecked::Unfound(failure)) => failure.exit(),
            Err(NotChecked::Unread(error)) => exit_of(error.code()),
        };
        *match exit {
            Exit::Fine => &mut fine,
            Exit::Report => &mut reported,
            _ => &mut failed,
        } += 1;
        worst = worst.max(exit);
        if args.json {
            writeln!(out, "{}", if at == 0 { "" } else { "," })?;
            out.json(&Checked {
                file: &name,
                report: checked.as_ref().ok(),
                unknown_types,
                error: checked.as_ref().err().map(|error| fault(error, &name)),
            })?;
        } else if let Ok(report) = &checked {
            text(&name, report, args.all, blobs.as_deref(), out)?;
            for line in open::not_understood(&unknown_types) {
                writeln!(out, "{}: {}", clean(&name), clean(&line))?;
            }
        }
        if let Err(error) = checked {
            // In order with what the other stream says.
            out.flush()?;
            match error {
                NotChecked::Unfound(failure) => failure.tell(),
                NotChecked::Unread(error) => Failure::of(&error, &name).tell(),
            }
        }
    }
    if args.json {
        writeln!(out, "\n]")?;
    }
    out.flush()?;
    if args.files.len() > 1 {
        complain(format_args!(
            "{}: {fine} fine, {reported} with something to report, {failed} not read",
            count(args.files.len() as u64, "file", "files")
        ));
    }
    Ok(worst)
}

/// The name to print, the report after every blob was read, the directory of the blobs, and types that are not known.
type Outcome = (String, Result<LoadReport, NotChecked>, Option<PathBuf>, BTreeMap<String, u64>);

fn check(arg: &OsStr, blobs: Option<&Path>) -> Outcome {
    let input = match Input::find(arg) {
        Ok(input) => input,
        Err(failure) => {
            return (arg.to_string_lossy().into_owned(), Err(NotChecked::Unfound(failure)), None, BTreeMap::new());
        }
    };
    let mut dir = None;
    let mut unknown = BTreeMap::new();
    let mut report = || {
        let view = input.open(blobs)?;
        dir = view.blobs().map(|blobs| blobs.dir().to_owned());
        for entry in view.entries() {
            entry.loaded_text()?;
        }
        unknown = open::unknown_types(&view)?;
        view.report()
    };
    let report = report().map_err(NotChecked::Unread);
    (input.name(), report, dir, unknown)
}

fn text(name: &str, report: &LoadReport, all: bool, blobs: Option<&Path>, out: &mut Out) -> Result<(), Failure> {
    let name = clean(name);
    if report.is_empty() {
        write!(out, "{name}: ")?;
        out.paint(Style::Assistant, "fine")?;
        writeln!(out)?;
    }
    let report_text = if all { format!("{report:#}") } else { report.to_string() };
    for line in report_text.lines() {
        // `line 5: what`, in the shape of other messages: `file:5: what`.
        let what = match line.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
            Some((number, what)) => {
                write!(out, "{name}:{number}: ")?;
                what
            }
            None => {
                write!(out, "{name}: ")?;
                line
            }
        };
        out.paint(Style::Error, clean(what))?;
        // The last line of a report that is cut.
        writeln!(out, "{}", if what.starts_with("and ") { ": --all reports them" } else { "" })?;
    }
    if let Some(dir) = blobs.filter(|_| !report.missing_blobs.is_empty()) {
        writeln!(
            out,
            "{name}: blobs were looked for in {}; --blobs names another folder",
            clean(&dir.display().to_string())
        )?;
    }
    Ok(())
}

fn fault(error: &NotChecked, name: &str) -> Fault {
    match error {
        NotChecked::Unfound(Failure::Told { code, message }) => {
            let message = message.strip_prefix(&format!("{name}: ")).unwrap_or(message).to_owned();
            Fault { code: code.as_str(), message, path: None, line: None }
        }
        NotChecked::Unfound(Failure::Output(error)) => {
            Fault { code: "IO", message: error.to_string(), path: None, line: None }
        }
        NotChecked::Unread(error) => Fault {
            code: error.code().as_str(),
            message: error.message(),
            path: error.path().map(|path| path.display().to_string()),
            line: error.line(),
        },
    }
}
