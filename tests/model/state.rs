//! What a file has in it and what a manager holds, as plain lists.

use super::item::Item;
use super::place::{last_session, now};
use leaflog::{SessionManager, SessionState};
use serde::Deserialize as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What [`Item::spaced`] has a blank in.
const SPACED: &str = ",\"message\": {";

/// What stands on a line of a file, or on a part of one.
#[derive(Clone, Debug)]
pub enum Line {
    Entry(Item),
    /// The same over two lines, as a formatter writes it.
    Spread(Item),
    Junk(String),
    /// Not a newline but this stands between what is before it, which may be the header, and what is after it.
    Joint(&'static str),
}

impl Line {
    pub fn item_mut(&mut self) -> Option<&mut Item> {
        match self {
            Self::Entry(item) | Self::Spread(item) => Some(item),
            Self::Junk(_) | Self::Joint(_) => None,
        }
    }
}

#[derive(Clone)]
pub struct File {
    /// Lines before the header.
    pub before: Vec<String>,
    pub header: Map<String, Value>,
    pub lines: Vec<Line>,
    /// 3, or an older version that its lines are spelled in.
    pub format: u8,
    /// Another number for each file that is put at the path.
    pub inode: u64,
    /// Another number after each change.
    pub version: u64,
    /// The last change that was no append.
    pub over: u64,
    /// The entry of which a program has written a piece, at the end of the file.
    pub half: Option<Item>,
}

impl File {
    /// Its lines without the blank ones.
    pub fn texts(&self) -> Vec<String> {
        let mut text = self.before.iter().fold(String::new(), |text, line| text + line + "\n");
        text += &serde_json::to_string(&self.header).unwrap();
        let mut between = "\n";
        for line in &self.lines {
            match line {
                Line::Joint(blank) => between = blank,
                line => text = text + std::mem::replace(&mut between, "\n") + &self.spelled(line),
            }
        }
        text.split('\n').map(|line| line.trim_matches([' ', '\0']).to_owned()).collect()
    }

    fn spelled(&self, line: &Line) -> String {
        match line {
            Line::Entry(item) if self.format < 3 => item.old_line(),
            Line::Entry(item) => item.line(),
            Line::Spread(item) => item.line().replacen(SPACED, &SPACED.replace(' ', "\n"), 1),
            Line::Junk(text) => text.clone(),
            Line::Joint(_) => unreachable!(),
        }
    }

    /// For all that comes after the header, the number of the line it begins on; the first has number 0.
    fn rows(&self) -> Vec<(usize, &Line)> {
        let (mut row, mut is_joined) = (self.before.len(), false);
        let mut rows = Vec::new();
        for line in &self.lines {
            let is_joint = matches!(line, Line::Joint(_));
            if !is_joint {
                row += usize::from(!is_joined);
            }
            rows.push((row, line));
            if !is_joint {
                row += self.spelled(line).matches('\n').count();
            }
            is_joined = is_joint;
        }
        rows
    }

    /// What comes after the header in the first `whole` lines and a piece of the next one; `None` when there
    /// is no header in them.
    pub fn cut_to(&self, whole: usize, piece: &str) -> Option<Vec<Line>> {
        let head = self.before.len();
        let mut rest = piece;
        if whole <= head {
            let header = serde_json::to_string(&self.header).unwrap();
            rest = piece.strip_prefix(&*header).filter(|_| whole == head)?;
        }
        let mut lines = Vec::new();
        for (row, line) in self.rows() {
            rest = rest.trim_start_matches([' ', '\0']);
            if matches!(line, Line::Joint(_)) {
                if row < whole || row == whole && !rest.is_empty() {
                    lines.push(line.clone());
                }
                continue;
            }
            let text = self.spelled(line);
            let end = row + text.matches('\n').count();
            if end < whole {
                lines.push(line.clone());
            } else if row < whole {
                // Its first line only.
                lines.push(Line::Junk(text.split('\n').next().unwrap().to_owned()));
            } else if row == whole
                && let Some(after) = rest.strip_prefix(&*text)
            {
                rest = after;
                lines.push(line.clone());
            } else {
                break;
            }
        }
        if !rest.is_empty() {
            lines.push(Line::Junk(rest.to_owned()));
        }
        Some(lines)
    }

    /// How many fragments stand in front of an entry, values over several lines, and lines with text behind
    /// their last value a reader finds.
    pub fn damage(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for (at, (_, line)) in self.rows().iter().enumerate() {
            let behind = |by: usize| at.checked_sub(by).map(|at| &self.lines[at]);
            let is_joined = matches!(behind(1), Some(Line::Joint(_)));
            let is_last = !matches!(self.lines.get(at + 1), Some(Line::Joint(_)));
            match line {
                Line::Spread(_) => counts[1] += usize::from(self.spelled(line).contains('\n')),
                Line::Entry(_) => counts[0] += usize::from(is_joined && matches!(behind(2), Some(Line::Junk(_)))),
                Line::Junk(_) if is_last => counts[2] += usize::from(is_joined && self.has_value_before(at)),
                _ => {}
            }
        }
        counts
    }

    /// On the line of what is there.
    fn has_value_before(&self, at: usize) -> bool {
        match self.lines[..at] {
            [.., Line::Entry(_), Line::Joint(_)] => true,
            [.., Line::Junk(_), Line::Joint(_)] => self.has_value_before(at - 2),
            _ => false,
        }
    }

    /// Takes entries away, and the joints beside them.
    pub fn without(&mut self, ids: &[String]) {
        let is_gone = |line: &Line| match line {
            Line::Entry(item) | Line::Spread(item) => ids.contains(&item.id),
            Line::Junk(_) | Line::Joint(_) => false,
        };
        let lines = std::mem::take(&mut self.lines);
        for (at, line) in lines.iter().enumerate() {
            let is_beside = at > 0 && is_gone(&lines[at - 1]) || lines.get(at + 1).is_some_and(is_gone);
            let goes = if let Line::Joint(_) = line { is_beside } else { is_gone(line) };
            if !goes {
                self.lines.push(line.clone());
            }
        }
    }

    /// The whole file, when no line is blank.
    pub fn text(&self) -> String {
        self.texts().iter().fold(String::new(), |text, line| text + line + "\n")
    }

    pub fn items(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.lines.iter().filter_map(|line| match line {
            Line::Entry(item) | Line::Spread(item) => Some(item),
            Line::Junk(_) | Line::Joint(_) => None,
        })
    }
}

/// An entry in a manager.
#[derive(Clone, Debug)]
pub struct Seen {
    pub item: Item,
    /// This manager appended it.
    pub own: bool,
    /// It is shown with what the line has not.
    pub whole: bool,
    pub saved: bool,
    /// It was given another text, which its line has not.
    pub changed: bool,
    /// It could be written again when the file is cut in place.
    pub recent: bool,
}

impl Seen {
    /// As one sees it who reads the file.
    pub fn of_file(item: &Item) -> Self {
        Self { item: item.clone(), own: false, whole: false, saved: true, changed: false, recent: false }
    }
}

#[derive(Clone, Debug)]
pub enum Held {
    Entry(Seen),
    Junk(String),
    Joint(&'static str),
}

impl Held {
    /// As one has it who reads the file; an entry is what `seen` makes of it.
    pub fn of_file(line: &Line, seen: impl FnOnce(&Item) -> Seen) -> Self {
        match line {
            Line::Entry(item) | Line::Spread(item) => Self::Entry(seen(item)),
            Line::Junk(text) => Self::Junk(text.clone()),
            Line::Joint(blank) => Self::Joint(blank),
        }
    }
}

#[derive(Clone, Default)]
pub struct State {
    pub path: Option<PathBuf>,
    pub dir: PathBuf,
    pub cwd: PathBuf,
    pub before: Vec<String>,
    pub header: Map<String, Value>,
    pub pending_header: Map<String, Value>,
    pub lines: Vec<Held>,
    pub leaf: Option<String>,
    pub started: bool,
    /// The file it was read from is of an older version.
    pub old: bool,
    /// This manager wrote to the file, so a flush looks at it.
    pub wrote: bool,
    /// It closed the file and wrote nothing since.
    pub closed: bool,
    /// A rewrite found the file locked: the next write makes up for it.
    pub rewrite: bool,
    pub inode: u64,
    pub version: u64,
    /// The last change of what stands in the file that it knows of.
    pub over: u64,
    /// The file's bytes, as far as it knows them.
    pub bytes: Rc<Vec<u8>>,
    /// A text that was read was not what it was: the file is read anew with the next write.
    pub differs: Rc<Cell<bool>>,
    /// The file that says that the session is in use, and by which others are told where it goes.
    pub in_use: Option<u64>,
    /// It was told that the session was deleted, and said so.
    pub gone_said: bool,
}

pub struct Manager {
    pub real: SessionManager,
    pub state: State,
    pub captured: Option<(SessionState, State)>,
}

pub fn header(fields: &[(&str, Option<String>)]) -> Map<String, Value> {
    let mut header = Map::new();
    for (key, value) in fields {
        if let Some(value) = value {
            let value = if *key == "version" { 3.into() } else { Value::from(value.clone()) };
            header.insert((*key).to_owned(), value);
        }
    }
    header
}

/// In the order of create, newSession, forkFrom and createBranchedSession.
pub fn new_header(cwd: &Path, parent: Option<String>, title: [Option<String>; 2]) -> Map<String, Value> {
    let [title, source] = title;
    header(&[
        ("type", Some("session".into())),
        ("version", Some("3".into())),
        ("id", Some(last_session())),
        ("timestamp", Some(now())),
        ("cwd", Some(cwd.to_str().unwrap().into())),
        ("parentSession", parent),
        ("title", title),
        ("titleSource", source),
    ])
}

/// The header as the current version writes it (R10).
pub fn migrated(mut header: Map<String, Value>) -> Map<String, Value> {
    header.insert("version".into(), 3.into());
    header
}

/// A title slot: 256 bytes with its newline (R48).
pub fn slot_line(title: &str, source: Option<&str>, time: &str) -> String {
    let source = source.map_or_else(String::new, |source| format!(",\"source\":\"{source}\""));
    let title = serde_json::to_string(title).unwrap();
    let bare =
        format!("{{\"type\":\"title\",\"v\":1,\"title\":{title}{source},\"updatedAt\":\"{time}\",\"pad\":\"\"}}");
    format!("{}{}\"}}", &bare[..bare.len() - 2], " ".repeat(255 - bare.len()))
}

fn is_slot(text: &str) -> bool {
    text.starts_with("{\"type\":\"title\",\"v\":1,") && serde_json::from_str::<Value>(text).is_ok()
}

/// A line that does not begin with a value.
fn is_damaged(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    !matches!(values.next(), None | Some(Ok(_)))
}

/// The id and the parent's id in the start of an entry.
fn begun(text: &str) -> Option<(String, Option<String>)> {
    let ends = text.match_indices(',').map(|(at, _)| at).chain([text.len()]);
    let members =
        ends.rev().find_map(|end| serde_json::from_str::<Map<String, Value>>(&format!("{}}}", &text[..end])).ok())?;
    let string = |key: &str| members.get(key).and_then(Value::as_str).map(str::to_owned);
    if string("type")? == "session" {
        return None;
    }
    let id = string("id")?;
    Some((id, if members.get("parentId")?.is_null() { None } else { Some(string("parentId")?) }))
}

impl State {
    /// Nothing yet.
    pub fn blank(dir: PathBuf, cwd: PathBuf) -> Self {
        Self { dir, cwd, ..Self::default() }
    }

    /// All lines that are entries.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Seen> {
        self.lines.iter().filter_map(|line| match line {
            Held::Entry(seen) => Some(seen),
            Held::Junk(_) | Held::Joint(_) => None,
        })
    }

    pub fn entries_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Seen> {
        self.lines.iter_mut().filter_map(|line| match line {
            Held::Entry(seen) => Some(seen),
            Held::Junk(_) | Held::Joint(_) => None,
        })
    }

    /// One for each id: its last line, at the place of its first (R49).
    pub fn nodes(&self) -> Vec<&Seen> {
        let mut known = HashSet::new();
        let ids = self.entries().map(|seen| &seen.item.id).filter(|id| known.insert(*id));
        ids.map(|id| self.find(id).unwrap()).collect()
    }

    /// The last line of the id counts (R49).
    pub fn find(&self, id: &str) -> Option<&Seen> {
        self.entries().rev().find(|seen| seen.item.id == id)
    }

    /// Root first (R24).
    pub fn path_to(&self, id: &str) -> Vec<&Seen> {
        let mut path = Vec::new();
        let mut visited = HashSet::new();
        let mut at = self.find(id);
        while let Some(seen) = at.filter(|seen| visited.insert(&seen.item.id)) {
            path.push(seen);
            at = self.above(seen);
        }
        path.reverse();
        path
    }

    /// What an entry hangs on: its parent; when that is missing, what damage explains (G1).
    pub fn above(&self, seen: &Seen) -> Option<&Seen> {
        let parent = seen.item.parent.as_deref().and_then(|id| self.find(id));
        parent.or_else(|| self.instead(seen))
    }

    /// What an entry hangs on in place of a parent that is missing.
    pub fn instead(&self, seen: &Seen) -> Option<&Seen> {
        let found = self.guess(seen)?;
        // A guess closes no cycle.
        let mut visited = HashSet::new();
        let mut at = Some(found);
        while let Some(other) = at.filter(|other| visited.insert(&other.item.id)) {
            if other.item.id == seen.item.id {
                return None;
            }
            let parent = other.item.parent.as_deref().and_then(|id| self.find(id));
            at = parent.or_else(|| self.guess(other));
        }
        Some(found)
    }

    fn guess(&self, seen: &Seen) -> Option<&Seen> {
        if self.find(&seen.item.id).is_none_or(|last| !std::ptr::eq(last, seen)) {
            return None;
        }
        let mut missing = seen.item.parent.clone()?;
        if self.find(&missing).is_some() {
            return None;
        }
        let mut before = self.entries().position(|other| std::ptr::eq(other, seen))?;
        // Each damaged line: entries before it, and what can be read of the entry it was to be.
        let mut entries = 0;
        let mut damaged = Vec::new();
        for line in &self.lines {
            match line {
                Held::Entry(_) => entries += 1,
                Held::Junk(text) if is_damaged(text) => damaged.push((entries, begun(text))),
                Held::Junk(_) | Held::Joint(_) => {}
            }
        }
        while let Some((at, (_, parent))) =
            damaged.iter().rev().find_map(|(at, begun)| Some((*at, begun.as_ref().filter(|begun| begun.0 == missing)?)))
        {
            let parent = parent.as_ref()?;
            if let Some(found) = self.find(parent) {
                return Some(found);
            }
            (before, missing) = (at, parent.clone());
        }
        let is_gap = damaged.iter().any(|(at, begun)| *at == before && begun.is_none());
        let nodes = |other: &&Seen| self.find(&other.item.id).is_some_and(|last| std::ptr::eq(last, *other));
        self.entries().take(before).filter(|_| is_gap).collect::<Vec<_>>().into_iter().rev().take(64).find(nodes)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.header.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    /// What a label entry says of which entry; lines that another of their id follows say nothing.
    pub fn labels(&self) -> Vec<(String, String)> {
        let mut labels: Vec<(String, String)> = Vec::new();
        let counts = |seen: &&Seen| std::ptr::eq(self.find(&seen.item.id).unwrap(), *seen);
        for seen in self.entries().filter(|seen| seen.item.kind == "label").filter(counts) {
            let value: Value = serde_json::from_str(&seen.item.line()).unwrap();
            let target = value["targetId"].as_str().unwrap();
            let place = labels.iter().position(|(known, _)| known == target);
            match (value.get("label").and_then(Value::as_str).filter(|label| !label.is_empty()), place) {
                (Some(label), Some(at)) => labels[at].1 = label.to_owned(),
                (Some(label), None) => labels.push((target.to_owned(), label.to_owned())),
                (None, Some(at)) => drop(labels.remove(at)),
                (None, None) => {}
            }
        }
        labels
    }

    pub fn pick(&self, pick: u8) -> Option<String> {
        let nodes = self.nodes();
        (!nodes.is_empty()).then(|| nodes[usize::from(pick) % nodes.len()].item.id.clone())
    }

    pub fn set_header(&mut self, key: &str, value: &str) {
        self.header.insert(key.to_owned(), value.into());
        self.pending_header.insert(key.to_owned(), value.into());
    }

    /// The text of the first title slot there is.
    fn slot(&self) -> Option<&String> {
        let junk = self.lines.iter().filter_map(|line| match line {
            Held::Junk(text) => Some(text),
            Held::Entry(_) | Held::Joint(_) => None,
        });
        self.before.iter().chain(junk).find(|text| is_slot(text))
    }

    /// Title and source: of the slot when there is one, else of the header (R48).
    pub fn title(&self) -> [Option<String>; 2] {
        let new = |key| self.pending_header.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(slot) = self.slot() else {
            // An empty title is none (R48).
            return [self.text("title").filter(|title| !title.is_empty()), self.text("titleSource")];
        };
        if new("title").is_some() {
            return [new("title"), new("titleSource")];
        }
        let slot: Value = serde_json::from_str(slot).unwrap();
        let text = |key: &str| slot.get(key).and_then(Value::as_str).map(str::to_owned);
        match text("title").filter(|title| !title.is_empty()) {
            Some(title) => [Some(title), text("source")],
            None => [None, None],
        }
    }

    /// What a rewrite does with what is held. A fragment gets a line of its own (G1). A title that was given here
    /// goes into the slot too (R48), and the slot has its length again (G7).
    pub fn lay_out(&mut self) {
        for line in std::mem::take(&mut self.lines) {
            if let ([.., Held::Junk(_), Held::Joint(_)], Held::Entry(_)) = (&*self.lines, &line) {
                self.lines.pop();
            }
            self.lines.push(line);
        }
        let Some(slot) = self.slot() else { return };
        let slot: Value = serde_json::from_str(slot).unwrap();
        let text = |key: &str| slot.get(key).and_then(Value::as_str).map(str::to_owned);
        let (title, source, time) = match self.title() {
            [Some(title), source] if self.pending_header.contains_key("title") => (title, source, now()),
            _ => (text("title").unwrap(), text("source"), text("updatedAt").unwrap()),
        };
        let junk = self.lines.iter_mut().filter_map(|line| match line {
            Held::Junk(text) => Some(text),
            Held::Entry(_) | Held::Joint(_) => None,
        });
        if let Some(slot) = self.before.iter_mut().chain(junk).find(|text| is_slot(text)) {
            *slot = slot_line(&title, source.as_deref(), &time);
        }
    }

    pub fn is_up_to_date(&self, file: &File) -> bool {
        (self.inode, self.version, self.over) == (file.inode, file.version, file.over) && !self.has_unsaved()
    }

    /// Its text is in memory.
    fn is_in_memory(seen: &Seen) -> bool {
        !seen.saved || seen.changed || seen.whole && seen.item.is_reduced()
    }

    /// What stands in these bytes, which somebody wrote over the file, where each entry stood that is not in
    /// memory: `None` when it is not an object of its id.
    pub fn found<'b>(&self, now: &'b [u8]) -> Vec<(&Seen, Option<&'b [u8]>)> {
        let mut from = 0;
        let mut all = Vec::new();
        for seen in self.entries() {
            let line = if self.old { seen.item.old_line() } else { seen.item.line() };
            let is_in_memory = Self::is_in_memory(seen);
            let rest = String::from_utf8_lossy(&self.bytes[from..]);
            let at = if seen.saved && !seen.changed { rest.find(&line).map(|at| at + from) } else { None };
            // One that came in this step has not been looked at.
            let Some(at) = at else { continue };
            from = at + line.len();
            if is_in_memory {
                continue;
            }
            let text = now.get(at..from).filter(|text| {
                // Numbers and texts may be such as no value holds.
                let mut parser = serde_json::Deserializer::from_slice(text);
                parser.disable_recursion_limit();
                let object = HashMap::<String, Box<RawValue>>::deserialize(&mut parser);
                let is_same = |id: &RawValue| serde_json::from_str(id.get()).is_ok_and(|id: String| id == seen.item.id);
                object.is_ok_and(|object| self.old || object.get("id").is_some_and(|id| is_same(id)))
                    && parser.end().is_ok()
                    && text.ends_with(b"}")
            });
            all.push((seen, text));
        }
        all
    }

    pub fn has_unsaved(&self) -> bool {
        self.entries().any(|seen| !seen.saved)
    }
}
