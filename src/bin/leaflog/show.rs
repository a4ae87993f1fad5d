//! `leaflog show`: the tree as a person wants to see it.

use crate::args::ShowArgs;
use crate::fail::{Exit, Failure};
use crate::forest::Forest;
use crate::open::Input;
use crate::output::Out;
use crate::style::Style;
use crate::summary::{self, NAME_COLUMNS};
use crate::text::{clean, count, long_size, one_line, short_id, short_size, thousands, width};
use crate::{open, rows};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use leaflog::{EntryRef, SessionView};
use std::io::Write as _;

/// Levels of branches that are drawn; deeper ones say how deep they are.
const DRAWN_LEVELS: u32 = 10;
/// A label is cut to this many columns.
const LABEL_COLUMNS: usize = 40;

pub fn run(args: &ShowArgs, out: &mut Out) -> Result<Exit, Failure> {
    let (input, view) = open::session(&args.file, args.blobs.as_deref())?;
    let name = input.name();
    let leaf = match &args.leaf {
        Some(id) => Some(open::entry(&view, id, &name)?),
        None => view.leaf(),
    };
    if args.json {
        rows::write(&view, &name, leaf, args, out)?;
        out.flush()?;
        let report = view.report().map_err(|error| Failure::of(&error, &name))?;
        open::warn_of_damage(&report, &name, &input.argument());
        return Ok(Exit::Fine);
    }
    let forest = Forest::new(&view);
    let path = match leaf {
        Some(leaf) if args.branch => context_path(&view, leaf, &name)?,
        Some(leaf) => forest.path(leaf),
        None => Vec::new(),
    };
    let mut show = Show { forest: &forest, input: &input, name: &name, leaf, zone: TimeZone::system(), date: None };
    show.header(&view, path.len(), out)?;
    let skipped = args.limit.map_or(0, |limit| path.len().saturating_sub(limit));
    if args.branch {
        show.earlier(skipped, out)?;
        for &entry in &path[skipped..] {
            show.entry(entry, Gutter::MAIN, "•", out)?;
        }
    } else {
        show.tree(&path, skipped, out)?;
    }
    show.end(&view, out)?;
    Ok(Exit::Fine)
}

/// The path as the context follows it.
pub fn context_path<'v>(view: &'v SessionView, leaf: EntryRef<'v>, name: &str) -> Result<Vec<EntryRef<'v>>, Failure> {
    let id = leaf.id().unwrap_or_default();
    view.branch(&id).map_err(|error| Failure::of(&error, name))
}

/// The lines to the left of an entry.
#[derive(Clone, Copy)]
struct Gutter {
    /// How many branches the entry is inside of; 0 on the path to the leaf.
    depth: u32,
    /// For each level from the left, a bit: its line goes on below.
    open: u64,
    /// How the entry hangs on that line.
    joint: Option<Joint>,
}

#[derive(Clone, Copy, PartialEq)]
enum Joint {
    /// `┌─`, another root: nothing is above.
    First,
    /// `├─`
    Side,
    /// `└─`, nothing is below.
    Last,
}

impl Gutter {
    const MAIN: Self = Self { depth: 0, open: 0, joint: None };

    /// A branch off an entry with this gutter.
    fn branch(self, joint: Joint) -> Self {
        let open = if joint == Joint::Last { self.open } else { self.open | 1u64.unbounded_shl(self.depth) };
        Self { depth: self.depth + 1, open, joint: Some(joint) }
    }

    /// The next entry in the same line.
    fn next(self) -> Self {
        Self { joint: None, ..self }
    }

    fn text(self) -> String {
        let mut text = String::new();
        let drawn = self.depth.min(DRAWN_LEVELS);
        for level in 0..drawn {
            let is_open = self.open.unbounded_shr(level) & 1 == 1;
            text += match self.joint.filter(|_| level + 1 == drawn) {
                Some(Joint::First) => "┌─",
                Some(Joint::Side) => "├─",
                Some(Joint::Last) => "└─",
                None if is_open => "│ ",
                None => "  ",
            };
        }
        if self.depth > drawn {
            text += &format!("+{} ", self.depth - drawn);
        }
        text
    }
}

struct Show<'v, 'a> {
    forest: &'a Forest<'v>,
    input: &'a Input,
    name: &'a str,
    leaf: Option<EntryRef<'v>>,
    zone: TimeZone,
    /// The date last shown.
    date: Option<Date>,
}

impl<'v> Show<'v, '_> {
    fn header(&mut self, view: &SessionView, on_path: usize, out: &mut Out) -> Result<(), Failure> {
        let header = view.header();
        let title = one_line(view.title().unwrap_or("(no title)"), out.room(0));
        out.paint(Style::Heading, title)?;
        writeln!(out)?;
        out.field("session", &format!("{}, version {}", header.id, header.version))?;
        out.whole_field("file", self.name)?;
        out.whole_field("cwd", header.cwd.as_deref().unwrap_or("(none)"))?;
        if let Some(parent) = &header.parent_session {
            out.field("parent", parent)?;
        }
        let stamp = header.timestamp.as_deref();
        let started = stamp.and_then(|text| text.parse::<Timestamp>().ok()).map(|at| self.zone.to_datetime(at));
        match started {
            Some(at) => {
                self.date = Some(at.date());
                out.field("started", &format!("{at:.0}").replace('T', " "))?;
            }
            None => out.field("started", stamp.unwrap_or("(unknown)"))?,
        }
        let entries = thousands(view.entries().len() as u64);
        let branches = count(view.leaves().len() as u64, "branch", "branches");
        let on_path = thousands(on_path as u64);
        let size = long_size(view.len());
        out.field("entries", &format!("{entries} ({on_path} on the path to the leaf), {branches}, {size}"))?;
        writeln!(out)?;
        Ok(())
    }

    /// Draws the trees from the entry `skipped` of the path on.
    fn tree(&mut self, path: &[EntryRef<'v>], skipped: usize, out: &mut Out) -> Result<(), Failure> {
        let Some(&start) = path.get(skipped) else { return Ok(()) };
        // Entries still to be drawn, the next one last.
        let mut open = vec![(start, Gutter::MAIN)];
        if skipped > 0 {
            self.earlier(self.forest.len() - self.forest.size(start), out)?;
        } else {
            let others = self.forest.roots().iter().filter(|root| **root != start);
            let mut joint = Joint::First;
            let mut roots: Vec<_> =
                others.map(|&root| (root, Gutter::MAIN.branch(std::mem::replace(&mut joint, Joint::Side)))).collect();
            roots.reverse();
            open.extend(roots);
        }
        let mut on_path = path[skipped..].iter().copied().peekable();
        while let Some((entry, gutter)) = open.pop() {
            let mut children = self.forest.children(entry);
            let is_main = on_path.next_if_eq(&entry).is_some();
            let next = match on_path.peek() {
                Some(next) if is_main => children.iter().position(|child| child == next),
                // The path ends here; what hangs on the leaf branches off it.
                None if is_main => None,
                _ => self.forest.largest(&children),
            };
            let next = next.map(|at| children.remove(at));
            let is_end = next.is_none() && children.is_empty();
            self.entry(entry, gutter, if is_end { "○" } else { "•" }, out)?;
            open.extend(next.map(|next| (next, gutter.next())));
            for (at, &child) in children.iter().enumerate().rev() {
                let is_last = next.is_none() && at + 1 == children.len();
                let joint = if is_last { Joint::Last } else { Joint::Side };
                open.push((child, gutter.next().branch(joint)));
            }
        }
        Ok(())
    }

    /// Says how many entries are left out above.
    fn earlier(&self, entries: usize, out: &mut Out) -> Result<(), Failure> {
        if entries > 0 {
            out.paint(Style::Faint, format_args!("⋮ {}", count(entries as u64, "earlier entry", "earlier entries")))?;
            writeln!(out)?;
        }
        Ok(())
    }

    /// One entry: gutter, marker, id, time, role or type, size, label, and what it says.
    fn entry(&mut self, entry: EntryRef<'v>, gutter: Gutter, marker: &str, out: &mut Out) -> Result<(), Failure> {
        let text = entry.text().map_err(|error| Failure::of(&error, self.name))?;
        let time = entry.time_ms().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let time = time.map(|time| self.zone.to_datetime(time));
        let lines = gutter.text();
        self.new_date(time, gutter, out)?;
        out.paint(Style::Faint, &lines)?;
        let is_leaf = Some(entry) == self.leaf;
        match is_leaf {
            true => out.paint(Style::Leaf, "*")?,
            false => out.paint(Style::Faint, marker)?,
        }
        let id = entry.id().map_or_else(|| "-".to_owned(), |id| short_id(&id));
        write!(out, " ")?;
        out.paint(Style::Id, &id)?;
        write!(out, "{:pad$} ", "", pad = 8usize.saturating_sub(width(&id)))?;
        match time {
            Some(at) => {
                out.paint(Style::Faint, format_args!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second()))?;
            }
            None => out.paint(Style::Faint, "--:--:--")?,
        }
        let (kind, role) = summary::names(&text);
        let what = summary::short_name(&kind, role.as_deref());
        write!(out, " ")?;
        out.paint(summary::style(&kind, role.as_deref()), &what)?;
        let size = short_size(entry.len());
        write!(out, "{:pad$} ", "", pad = NAME_COLUMNS.saturating_sub(width(&what)))?;
        out.paint(Style::Faint, format_args!("{size:>4}"))?;
        let mut used = width(&lines) + 2 + 8 + 1 + 8 + 1 + NAME_COLUMNS + 1 + 4;
        if is_leaf {
            write!(out, " ")?;
            out.paint(Style::Leaf, "leaf")?;
            used += 5;
        }
        if let Some(label) = entry.label() {
            let label = one_line(&label, LABEL_COLUMNS);
            used += width(&label) + 3;
            write!(out, " ")?;
            out.paint(Style::Label, format_args!("[{label}]"))?;
        }
        for (style, piece) in summary::line(&text, out.room(used + 1)).pieces {
            write!(out, " ")?;
            out.paint(style, piece)?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// A line with the date, where it is another than before.
    fn new_date(&mut self, time: Option<DateTime>, gutter: Gutter, out: &mut Out) -> Result<(), Failure> {
        let Some(date) = time.map(DateTime::date).filter(|&date| Some(date) != self.date) else { return Ok(()) };
        self.date = Some(date);
        let level = 1u64.unbounded_shl(gutter.depth.wrapping_sub(1));
        let open = match gutter.joint {
            // The line of other roots begins below.
            Some(Joint::First) => gutter.open & !level,
            Some(Joint::Side | Joint::Last) => gutter.open | level,
            None => gutter.open,
        };
        let lines = Gutter { open, joint: None, ..gutter }.text();
        out.paint(Style::Faint, format_args!("{lines}  {date} {:?}", date.weekday()))?;
        writeln!(out)?;
        Ok(())
    }

    /// What there is besides the trees.
    fn end(&self, view: &SessionView, out: &mut Out) -> Result<(), Failure> {
        let outside = self.forest.outside() as u64;
        let report = view.report().map_err(|error| Failure::of(&error, self.name))?;
        let things = format!("{report:#}").lines().count() as u64;
        if view.entries().len() == 0 {
            writeln!(out, "no entries")?;
        }
        if outside > 0 || things > 0 {
            writeln!(out)?;
        }
        if outside > 0 {
            let entries = count(outside, "entry is", "entries are");
            writeln!(out, "{entries} not in the tree: without an id, or a later line has the same id")?;
        }
        if things > 0 {
            let things = count(things, "thing", "things");
            writeln!(out, "{things} to report: leaflog check {}", clean(&self.input.argument()))?;
        }
        out.flush()?;
        open::warn_of_damage(&report, self.name, &self.input.argument());
        Ok(())
    }
}
