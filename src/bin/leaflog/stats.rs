//! `leaflog stats`: counts, bytes, usage and shape.

use crate::args::StatsArgs;
use crate::fail::{Exit, Failure};
use crate::forest::Forest;
use crate::open;
use crate::output::Out;
use crate::style::Style;
use crate::summary::{self, number};
use crate::text::{long_size, one_line, thousands, width};
use leaflog::{EntryRef, SessionView, Usage};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write as _;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    path: Option<String>,
    id: String,
    version: u32,
    size: u64,
    entries: u64,
    /// Entries without an id, or with an id that a later line has.
    not_in_tree: u64,
    #[serde(serialize_with = "as_object")]
    types: Vec<(String, Count)>,
    #[serde(serialize_with = "as_object")]
    roles: Vec<(String, Count)>,
    labels: u64,
    roots: u64,
    branches: u64,
    /// Entries on the path to the leaf.
    depth: u64,
    /// Entries on the longest path.
    deepest: u64,
    usage: Sums,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Count {
    count: u64,
    bytes: u64,
}

/// The usage, with whole numbers written as such.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sums {
    input: serde_json::Number,
    output: serde_json::Number,
    cache_read: serde_json::Number,
    cache_write: serde_json::Number,
    premium_requests: serde_json::Number,
    cost: serde_json::Number,
}

pub fn run(args: &StatsArgs, out: &mut Out) -> Result<Exit, Failure> {
    let (input, view) = open::session(&args.file, None)?;
    let stats = count(&view, &input.name())?;
    if args.json {
        out.json(&stats)?;
        writeln!(out)?;
    } else {
        table(&stats, view.title(), view.usage(), &input.name(), out)?;
    }
    Ok(Exit::Fine)
}

fn count(view: &SessionView, name: &str) -> Result<Stats, Failure> {
    let (mut types, mut roles) = (HashMap::new(), HashMap::new());
    for entry in view.entries() {
        let (kind, role) = names(entry).map_err(|error| Failure::of(&error, name))?;
        add(&mut types, kind, entry.len());
        if let Some(role) = role {
            add(&mut roles, role, entry.len());
        }
    }
    let forest = Forest::new(view);
    let usage = view.usage();
    Ok(Stats {
        path: view.path().map(|_| name.to_owned()),
        id: view.header().id.clone(),
        version: view.header().version,
        size: view.len(),
        entries: view.entries().len() as u64,
        not_in_tree: forest.outside() as u64,
        types: sorted(types),
        roles: sorted(roles),
        labels: view.labels().count() as u64,
        roots: forest.roots().len() as u64,
        branches: view.leaves().len() as u64,
        depth: view.leaf().map_or(0, |leaf| forest.path(leaf).len()) as u64,
        deepest: forest.depth() as u64,
        usage: Sums {
            input: json_number(usage.input),
            output: json_number(usage.output),
            cache_read: json_number(usage.cache_read),
            cache_write: json_number(usage.cache_write),
            premium_requests: json_number(usage.premium_requests),
            cost: json_number(usage.cost),
        },
    })
}

/// The type of an entry and the role of a message. The text is read only when the index does not
/// know the name.
fn names(entry: EntryRef<'_>) -> leaflog::Result<(String, Option<String>)> {
    let kind = entry.kind().name().map(str::to_owned);
    let role = entry.role().map(|role| role.name().map(str::to_owned));
    if let (Some(kind), None | Some(Some(_))) = (&kind, &role) {
        return Ok((kind.clone(), role.flatten()));
    }
    let text = entry.text()?;
    let (kind, role) = summary::names(&text);
    let role = entry.role().map(|_| role.map_or_else(|| "(none)".to_owned(), Cow::into_owned));
    Ok((kind.into_owned(), role))
}

fn add(counts: &mut HashMap<String, Count>, name: String, bytes: u64) {
    let count = counts.entry(name).or_default();
    count.count += 1;
    count.bytes += bytes;
}

/// The most frequent first, equals by name.
fn sorted(counts: HashMap<String, Count>) -> Vec<(String, Count)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
    counts
}

fn as_object<S: Serializer>(counts: &[(String, Count)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(name, count)| (name, count)))
}

/// JSON has no infinity; a sum that is none counts as the largest number.
fn json_number(number: f64) -> serde_json::Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "in range")]
        return (number as i64).into();
    }
    serde_json::Number::from_f64(number)
        .or_else(|| serde_json::Number::from_f64(f64::MAX.copysign(number)))
        .unwrap_or_else(|| 0.into())
}

/// Columns of a name in the table.
const NAME: usize = 40;

fn table(stats: &Stats, title: Option<&str>, usage: Usage, name: &str, out: &mut Out) -> Result<(), Failure> {
    let title = one_line(title.unwrap_or("(no title)"), out.room(0));
    out.paint(Style::Heading, title)?;
    writeln!(out)?;
    out.field("session", &format!("{}, version {}", stats.id, stats.version))?;
    out.whole_field("file", name)?;
    out.field("size", &format!("{} ({} bytes)", long_size(stats.size), thousands(stats.size)))?;
    writeln!(out)?;

    let row = |indent: &str, name: &str, count: &Count| {
        [format!("{indent}{}", one_line(name, NAME)), thousands(count.count), thousands(count.bytes)]
    };
    let mut rows = Vec::new();
    for (kind, count) in &stats.types {
        rows.push(row("", kind, count));
        if kind == "message" {
            rows.extend(stats.roles.iter().map(|(role, count)| row("  ", role, count)));
        }
    }
    let bytes = stats.types.iter().map(|(_, count)| count.bytes).sum();
    rows.push(row("", "all entries", &Count { count: stats.entries, bytes }));
    rows.insert(0, ["".to_owned(), "count".to_owned(), "bytes".to_owned()]);
    aligned(&rows, out)?;

    writeln!(out)?;
    let mut rows = vec![
        ["depth of the leaf".to_owned(), thousands(stats.depth), String::new()],
        ["deepest path".to_owned(), thousands(stats.deepest), String::new()],
        ["branches".to_owned(), thousands(stats.branches), String::new()],
        ["roots".to_owned(), thousands(stats.roots), String::new()],
        ["labels".to_owned(), thousands(stats.labels), String::new()],
    ];
    if stats.not_in_tree > 0 {
        rows.push(["not in the tree".to_owned(), thousands(stats.not_in_tree), String::new()]);
    }
    let tokens = [
        ("input tokens", usage.input),
        ("output tokens", usage.output),
        ("cache read", usage.cache_read),
        ("cache write", usage.cache_write),
        ("premium requests", usage.premium_requests),
    ];
    rows.extend(tokens.map(|(name, sum)| [name.to_owned(), number(sum), String::new()]));
    rows.push(["cost".to_owned(), format!("{:.4}", usage.cost), String::new()]);
    aligned(&rows, out)
}

/// Rows of a name and two numbers, the numbers flush right.
fn aligned(rows: &[[String; 3]], out: &mut Out) -> Result<(), Failure> {
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let widths = [widest(0).max(21), widest(1).max(12), widest(2)];
    for [name, first, second] in rows {
        let style = if name.is_empty() { Style::Faint } else { Style::Plain };
        write!(out, "{name}{:pad$}", "", pad = widths[0] - width(name))?;
        out.paint(style, format_args!("  {first:>first_width$}", first_width = widths[1]))?;
        if !second.is_empty() {
            out.paint(style, format_args!("  {second:>second_width$}", second_width = widths[2]))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
