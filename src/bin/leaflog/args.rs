//! The command line.

use crate::style::When;
use clap::builder::{NonEmptyStringValueParser, OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  fine
  1  something to report (check, list --problems), not done (delete)
  2  wrong use
  3  not found, or more than one session or entry fits
  5  cannot be read: no permission, a folder, not a session, any other failure";

const EXAMPLES: &[(&str, &str)] = &[
    ("leaflog show @last", "the tree of the newest session"),
    ("leaflog list --all", "the sessions of all projects"),
    ("leaflog context 1470bb --json", "what the model would be sent, by the start of a session id"),
    ("leaflog check sessions/*/*.jsonl", "what is wrong with these files"),
    ("zcat old.jsonl.gz | leaflog stats -", "counts and costs of what comes from a pipe"),
];

/// Looks into the sessions of coding agents.
///
/// A session is an append-only JSONL tree with a movable leaf. leaflog reads the files of every
/// version, whatever happened to them. But for `delete` it takes no lock and writes nothing.
#[derive(Debug, Parser)]
#[command(name = "leaflog", version, after_help = after_help(EXAMPLES), after_long_help = after_help(EXAMPLES) + "\n\n" + ENVIRONMENT)]
pub struct Args {
    /// Use colours: auto means on a terminal.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = When::Auto, hide_possible_values = true, help = "Use colours: auto (on a terminal), always, never")]
    pub color: When,
    #[command(subcommand)]
    pub command: Command,
}

const ENVIRONMENT: &str = "\
Environment:
  NO_COLOR, CLICOLOR_FORCE, CLICOLOR   no colours; colours without a terminal too; 0: no colours
  COLUMNS                              the width to cut lines to, also without a terminal
  TZ                                   the time zone of the times shown
  PI_CODING_AGENT_DIR, PI_CONFIG_DIR, XDG_DATA_HOME
                                       where agents keep sessions";

fn after_help(examples: &[(&str, &str)]) -> String {
    let width = examples.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    let mut text = "Examples:\n".to_owned();
    for (command, what) in examples {
        text += &format!("  {command:width$}  {what}\n");
    }
    text + "\n" + EXIT_CODES
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the tree: branches, leaf and labels, one line an entry.
    ///
    /// The path to the leaf runs down the left margin, the oldest entry first. Where an entry has
    /// several children, the branches that do not lead to the leaf come first, one column further
    /// to the right. `•` is an entry, `○` the end of a branch, `*` the leaf. Each line has the
    /// entry's id, time, role or type, size in bytes, label, and the first line of what it says.
    #[command(after_help = after_help(&[
        ("leaflog show @last", "the newest session"),
        ("leaflog show session.jsonl --limit 20", "the last 20 entries on the way to the leaf"),
        ("leaflog show 1470bb --branch --leaf 9a5810f9", "only the path to that entry"),
        ("leaflog show - --json < session.jsonl", "for programs, one entry a line"),
    ]))]
    Show(ShowArgs),
    /// Show what the model would be sent: the state, then the messages.
    ///
    /// Long texts and tool results are shortened for reading. With --json the context is printed
    /// whole, as the agent builds it.
    #[command(after_help = after_help(&[
        ("leaflog context @last", "the state and the messages, shortened"),
        ("leaflog context session.jsonl --leaf 9a5810f9", "the same for another leaf"),
        ("leaflog context 1470bb --json | jq .models", "for programs"),
    ]))]
    Context(ContextArgs),
    /// Report what is wrong with session files.
    ///
    /// Lines that are not entries, ids on several lines, parents that are not there, cycles,
    /// compactions that keep nothing, blobs that are missing or damaged, a version that is too new.
    /// After a file that cannot be read the others are checked all the same; the exit code is the
    /// worst of all.
    #[command(after_help = after_help(&[
        ("leaflog check session.jsonl", "prints `session.jsonl: fine`, or a line for each thing"),
        ("leaflog check sessions/*/*.jsonl --json", "for programs"),
        ("leaflog check @last --blobs ~/blobs", "with the blobs of that folder"),
    ]))]
    Check(CheckArgs),
    /// Count entries by type and role, bytes, usage, depth and branches.
    #[command(after_help = after_help(&[
        ("leaflog stats @last", "a table"),
        ("leaflog stats session.jsonl --json | jq .usage.cost", "for programs"),
    ]))]
    Stats(StatsArgs),
    /// Show the prompt history, or search it.
    ///
    /// The newest prompts of all projects come first: when, in which folder, and the first line.
    /// Every word of the query must be the start of a word of the prompt, or of a part of one, as in
    /// camelCase; in Chinese and the like any piece counts. The histories of all agents on this
    /// machine are read, and only read, under SQLite's locks.
    #[cfg(feature = "history")]
    #[command(after_help = after_help(&[
        ("leaflog history", "the last 20 prompts"),
        ("leaflog history tide gau", "words that begin so"),
        ("leaflog history --cwd .", "what was written in this directory"),
        ("leaflog history --limit 1000 --json | jq .[].prompt", "for programs, the whole prompts"),
    ]))]
    History(HistoryArgs),
    /// List the sessions of a project, or of all, the newest first.
    ///
    /// Every file is read once: when the session was used last, its title or first message, messages, size,
    /// project, session id. Files that are not sessions or cannot be read do not stop the listing;
    /// --problems names them.
    #[command(after_help = after_help(&[
        ("leaflog list", "the sessions of the project in this folder"),
        ("leaflog list --all --limit 20", "the newest of all projects, sub-agents too"),
        ("leaflog list --all --ndjson | jq -r .path", "for programs"),
        ("leaflog list --all --problems", "the files that are not sessions or cannot be read"),
    ]))]
    List(ListArgs),
    /// Show the latest sessions of a project from the beginnings and ends of their files.
    #[command(after_help = after_help(&[
        ("leaflog recent", "the last three of the project in this folder"),
        ("leaflog recent --cwd ~/work --limit 10", "of another project"),
    ]))]
    Recent(RecentArgs),
    /// Print the file of the session that an argument means.
    ///
    /// The argument begins the session's id, the name of its file, or what follows the last `_` of
    /// that. The sessions of the project come first; when it has none, those of all projects.
    #[command(after_help = after_help(&[
        ("leaflog resume 1470bb", "the path of the session, or the ones it could be"),
    ]))]
    Resume(ResumeArgs),
    /// Delete a session and its folder of artifacts.
    ///
    /// A file that was set aside when the session took its place (`NAME.invalid-TIME`) goes too. A program that has the
    /// session open is told with its next write.
    #[command(after_help = after_help(&[
        ("leaflog delete session.jsonl", "says what would go, and asks"),
        ("leaflog delete 1470bb --yes", "without asking"),
    ]))]
    Delete(DeleteArgs),
}

/// A number of things to show.
fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|&number| number > 0).ok_or("it is a whole number from 1 on")
}

#[cfg(feature = "history")]
fn up_to_a_thousand(text: &str) -> Result<usize, &'static str> {
    at_least_one(text).ok().filter(|&number| number <= 1000).ok_or("it is a whole number of 1 to 1000")
}

/// A file's name, which may be of any bytes.
fn named() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|name| if name.is_empty() { Err("a name is not empty") } else { Ok(name) })
}

const FILE_HELP: &str = "\
A session file; - for standard input; @last for the newest session of the agents on this machine; or the start of \
a session id. A file of that name comes first";

/// The same for what is deleted.
const DELETED_HELP: &str = "\
A session file; @last for the newest session of the agents on this machine; or the start of a session id. A file of \
that name comes first";

const BLOBS_HELP: &str = "\
The folder of the blobs [default: `blobs` beside the folder `sessions` that the file lies in; without such a folder \
`blobs` beside the file, else that of the agent]";

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    #[arg(value_name = "FILE", value_parser = named(), help = FILE_HELP)]
    pub file: OsString,
    /// Take this entry for the leaf: its id, or the start of it
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub leaf: Option<String>,
    /// Show only the path to the leaf, no other branches
    #[arg(long)]
    pub branch: bool,
    /// Show only the last N entries on the path to the leaf, and what branches off them
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub limit: Option<usize>,
    /// Print JSON: the session, then the entries in the order of the file, one a line
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_name = "DIR", help = BLOBS_HELP)]
    pub blobs: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct ContextArgs {
    #[arg(value_name = "FILE", value_parser = named(), help = FILE_HELP)]
    pub file: OsString,
    /// Take this entry for the leaf: its id, or the start of it
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub leaf: Option<String>,
    /// Shorten nothing
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the context as JSON, as the agent builds it
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_name = "DIR", help = BLOBS_HELP)]
    pub blobs: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    #[arg(value_name = "FILE", value_parser = named(), required = true, help = FILE_HELP)]
    pub files: Vec<OsString>,
    /// Report everything: without it each line of a file once, by the worst of it, and at most 50 things
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Print a JSON array with the report, or the error, of each file
    #[arg(long)]
    pub json: bool,
    #[arg(long, value_name = "DIR", help = BLOBS_HELP)]
    pub blobs: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct StatsArgs {
    #[arg(value_name = "FILE", value_parser = named(), help = FILE_HELP)]
    pub file: OsString,
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

#[cfg(feature = "history")]
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// Words, in any order
    #[arg(value_name = "QUERY")]
    pub query: Vec<String>,
    /// Show at most N prompts, of 1 to 1000
    #[arg(long, value_name = "N", default_value = "20", value_parser = up_to_a_thousand)]
    pub limit: usize,
    /// Show only prompts that were written in this directory [default: in any]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Print a JSON array, one prompt a line: id, prompt, created_at (seconds), and cwd if there is one
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// List the sessions of the project in this folder [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub cwd: Option<PathBuf>,
    /// List those of all projects
    #[arg(long)]
    pub all: bool,
    /// List at most N
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub limit: Option<usize>,
    /// Name the files that are not sessions or cannot be read, instead of the sessions
    #[arg(long)]
    pub problems: bool,
    /// Print a JSON array
    #[arg(long, conflicts_with = "ndjson")]
    pub json: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub ndjson: bool,
}

#[derive(Debug, clap::Args)]
pub struct RecentArgs {
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Show at most N
    #[arg(long, value_name = "N", default_value = "3", value_parser = at_least_one)]
    pub limit: usize,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// The start of the session's id, or of its file's name
    #[arg(value_name = "ARG", value_parser = NonEmptyStringValueParser::new())]
    pub arg: String,
    /// The folder of the project [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct DeleteArgs {
    #[arg(value_name = "FILE", value_parser = named(), help = DELETED_HELP)]
    pub file: OsString,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
