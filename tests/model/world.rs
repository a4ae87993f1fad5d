//! The model: what each manager must hold and each file must have in it.

use super::item::{Body, Item, Message, RAW, plain, quoted};
use super::ops::{Append, Op, Outside, Target};
use super::place::{Place, Where, last_session, next_step, now};
use leaflog::{Compaction, CustomMessage, ErrorCode, Result, SessionInit, SessionManager, SessionState, TitleSource};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Folders that do not exist: what they are called does not depend on the machine.
pub const PROJECTS: &[&str] = &["/no-such/a", "/no-such/b", "/no-such/c"];

/// A line of a file.
#[derive(Clone, Debug)]
pub enum Line {
    Entry(Item),
    Junk(String),
}

#[derive(Clone)]
pub struct File {
    pub header: Map<String, Value>,
    pub lines: Vec<Line>,
    /// Another number for each file that is put at the path.
    pub inode: u64,
    /// Another number after each change.
    pub version: u64,
    /// The entry of which a program has written a piece, at the end of the file.
    half: Option<Item>,
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
    /// It could be written again when the file is cut in place.
    recent: bool,
}

impl Seen {
    /// As one sees it who reads the file.
    pub fn of_file(item: &Item) -> Self {
        Self { item: item.clone(), own: false, whole: false, saved: true, recent: false }
    }
}

#[derive(Clone, Debug)]
pub enum Held {
    Entry(Seen),
    Junk(String),
}

#[derive(Clone)]
pub struct State {
    pub path: Option<PathBuf>,
    pub dir: PathBuf,
    pub cwd: PathBuf,
    pub header: Map<String, Value>,
    pub pending_header: Map<String, Value>,
    pub lines: Vec<Held>,
    pub leaf: Option<String>,
    pub started: bool,
    /// Something was appended since the last flush.
    dirty: bool,
    inode: u64,
    version: u64,
}

pub struct Manager {
    pub real: SessionManager,
    pub state: State,
    captured: Option<(SessionState, State)>,
}

pub struct World {
    pub place: Place,
    pub files: BTreeMap<PathBuf, File>,
    pub managers: [Option<Manager>; 2],
    pub steps: u32,
    serial: u64,
}

fn header(fields: &[(&str, Option<String>)]) -> Map<String, Value> {
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
fn new_header(cwd: &Path, parent: Option<String>, title: [Option<String>; 2]) -> Map<String, Value> {
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

impl State {
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Seen> {
        self.lines.iter().filter_map(|line| match line {
            Held::Entry(seen) => Some(seen),
            Held::Junk(_) => None,
        })
    }

    fn entries_mut(&mut self) -> impl Iterator<Item = &mut Seen> {
        self.lines.iter_mut().filter_map(|line| match line {
            Held::Entry(seen) => Some(seen),
            Held::Junk(_) => None,
        })
    }

    pub fn find(&self, id: &str) -> Option<&Seen> {
        self.entries().find(|seen| seen.item.id == id)
    }

    /// Root first (R24).
    pub fn path_to(&self, id: &str) -> Vec<&Seen> {
        let mut path = Vec::new();
        let mut visited = HashSet::new();
        let mut at = self.find(id);
        while let Some(seen) = at.filter(|seen| visited.insert(&seen.item.id)) {
            path.push(seen);
            at = seen.item.parent.as_deref().and_then(|id| self.find(id));
        }
        path.reverse();
        path
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.header.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    /// What a label entry says of which entry.
    pub fn labels(&self) -> Vec<(String, String)> {
        let mut labels: Vec<(String, String)> = Vec::new();
        for seen in self.entries().filter(|seen| seen.item.kind == "label") {
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

    fn pick(&self, pick: u8) -> Option<String> {
        let ids: Vec<&String> = self.entries().map(|seen| &seen.item.id).collect();
        (!ids.is_empty()).then(|| ids[usize::from(pick) % ids.len()].clone())
    }

    fn set_header(&mut self, key: &str, value: &str) {
        self.header.insert(key.to_owned(), value.into());
        self.pending_header.insert(key.to_owned(), value.into());
    }

    pub fn is_up_to_date(&self, file: &File) -> bool {
        (self.inode, self.version) == (file.inode, file.version) && !self.has_unsaved()
    }

    fn has_unsaved(&self) -> bool {
        self.entries().any(|seen| !seen.saved)
    }
}

const TEXTS: &[&str] = &["plain", "q\"\\\n\u{2028}", "\u{7f}\u{1}\u{e9}\u{1f600}", "", "image_url", "x"];
const LABELS: &[&str] = &["keep", "b\"q", "", "\u{e9}\u{2028}"];
/// Names as given, and what they are cleaned to.
const NAMES: &[(&str, Option<&str>)] = &[
    ("Plan", Some("Plan")),
    ("  a\n\t b\u{0} ", Some("a b")),
    ("\u{85}\u{feff} ", None),
    ("q\"\\\u{2028}q", Some("q\"\\\u{2028}q")),
    ("", None),
    ("\u{1f600}", Some("\u{1f600}")),
];

fn text(at: u8) -> &'static str {
    TEXTS[usize::from(at) % TEXTS.len()]
}

fn raw(at: u8) -> &'static str {
    RAW[usize::from(at) % RAW.len()]
}

/// `,"key":value`, or nothing.
fn member(key: &str, value: Option<String>) -> String {
    value.map_or_else(String::new, |value| format!(",\"{key}\":{}", value.replace('\n', " ")))
}

fn string(key: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(",\"{key}\":{}", quoted(value)))
}

impl World {
    pub fn new(place: Where) -> Self {
        let place = Place::new(place);
        let mut world = Self { place, files: BTreeMap::new(), managers: [None, None], steps: 0, serial: 0 };
        world.managers[0] = Some(world.fresh(Path::new(PROJECTS[0])));
        world
    }

    fn persisted(&self) -> bool {
        self.place.place != Where::Nowhere
    }

    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    fn new_path(&self, dir: &Path) -> Option<PathBuf> {
        let name = format!("{}_{}.jsonl", now().replace([':', '.'], "-"), last_session());
        self.persisted().then(|| dir.join(name))
    }

    /// A new session.
    fn fresh(&mut self, cwd: &Path) -> Manager {
        let options = self.place.options();
        let real = if self.persisted() { options.create(cwd) } else { options.in_memory(cwd) }.unwrap();
        let dir = if self.persisted() { self.place.project(cwd) } else { PathBuf::new() };
        let state = State {
            path: self.new_path(&dir),
            dir,
            cwd: cwd.to_owned(),
            header: new_header(cwd, None, [None, None]),
            pending_header: Map::new(),
            lines: Vec::new(),
            leaf: None,
            started: false,
            dirty: false,
            inode: 0,
            version: 0,
        };
        Manager { real, state, captured: None }
    }

    fn open(&mut self, path: &Path) -> Manager {
        let real = self.place.options().open(path).unwrap();
        let cwd = PathBuf::from(self.files[path].header["cwd"].as_str().unwrap());
        let dir = path.parent().unwrap().to_owned();
        let mut manager = Manager { real, state: self.blank(dir, cwd), captured: None };
        self.load(&mut manager.state, path);
        manager
    }

    pub fn blank(&self, dir: PathBuf, cwd: PathBuf) -> State {
        State {
            path: None,
            dir,
            cwd,
            header: Map::new(),
            pending_header: Map::new(),
            lines: Vec::new(),
            leaf: None,
            started: false,
            dirty: false,
            inode: 0,
            version: 0,
        }
    }

    /// The state of who has just read the file.
    pub fn load(&self, state: &mut State, path: &Path) {
        let file = &self.files[path];
        let held = |line: &Line| match line {
            Line::Entry(item) => Held::Entry(Seen::of_file(item)),
            Line::Junk(text) => Held::Junk(text.clone()),
        };
        state.path = Some(path.to_owned());
        state.header = file.header.clone();
        state.pending_header.clear();
        state.lines = file.lines.iter().map(held).collect();
        let last = state.entries().next_back().map(|seen| seen.item.id.clone());
        state.leaf = last;
        (state.started, state.dirty) = (true, false);
        (state.inode, state.version) = (file.inode, file.version);
    }

    /// What a manager learns of the file before it writes (R53). Says whether there is a file.
    fn sync(&mut self, state: &mut State, changed: &BTreeSet<String>) -> bool {
        let Some(file) = state.path.as_ref().and_then(|path| self.files.get_mut(path)) else { return false };
        let is_same = file.inode == state.inode && file.version == state.version;
        if is_same {
            return true;
        }
        let grown = file.inode == state.inode && !state.has_unsaved();
        let old: Vec<Seen> = state.entries().cloned().collect();
        let held = |line: &Line| match line {
            Line::Junk(text) => Held::Junk(text.clone()),
            Line::Entry(item) => match old.iter().find(|seen| seen.item.id == item.id) {
                Some(seen) if changed.contains(&item.id) => Held::Entry(Seen { saved: true, ..seen.clone() }),
                Some(seen) => {
                    let whole = seen.whole && seen.item.line() == item.line();
                    Held::Entry(Seen {
                        item: item.clone(),
                        own: seen.own,
                        whole,
                        saved: true,
                        recent: seen.recent && grown,
                    })
                }
                None => Held::Entry(Seen::of_file(item)),
            },
        };
        state.lines = file.lines.iter().map(held).collect();
        let last = state.entries().next_back().map(|seen| seen.item.id.clone());
        for seen in old {
            if (seen.own || changed.contains(&seen.item.id)) && state.find(&seen.item.id).is_none() {
                state.lines.push(Held::Entry(Seen { saved: false, own: true, ..seen }));
            }
        }
        if state.leaf.as_ref().is_some_and(|leaf| state.find(leaf).is_none()) {
            state.leaf = last;
        }
        state.header = file.header.clone();
        for (key, value) in &state.pending_header {
            state.header.insert(key.clone(), value.clone());
        }
        (state.inode, state.version) = (file.inode, file.version);
        true
    }

    /// Everything is written.
    fn write_all(&mut self, state: &mut State) {
        let number = self.next();
        let lines = state.lines.iter().map(|line| match line {
            Held::Entry(seen) => Line::Entry(seen.item.clone()),
            Held::Junk(text) => Line::Junk(text.clone()),
        });
        let file =
            File { header: state.header.clone(), lines: lines.collect(), inode: number, version: number, half: None };
        self.files.insert(state.path.clone().unwrap(), file);
        state.entries_mut().filter(|seen| !seen.saved).for_each(|seen| (seen.saved, seen.recent) = (true, true));
        state.pending_header.clear();
        (state.inode, state.version, state.dirty) = (number, number, false);
    }

    /// What is unsaved is appended; everything is written when there is no file.
    fn write_append(&mut self, state: &mut State) {
        let none = BTreeSet::new();
        if !self.sync(state, &none) {
            return self.write_all(state);
        }
        if !state.has_unsaved() {
            return;
        }
        let number = self.next();
        let file = self.files.get_mut(state.path.as_ref().unwrap()).unwrap();
        for seen in state.entries_mut().filter(|seen| !seen.saved) {
            file.lines.push(Line::Entry(seen.item.clone()));
            (seen.saved, seen.recent) = (true, true);
        }
        (file.version, file.half) = (number, None);
        (state.version, state.dirty) = (number, true);
    }

    fn rewrite(&mut self, state: &mut State, changed: &BTreeSet<String>) {
        self.sync(state, changed);
        self.write_all(state);
    }

    fn exists(&self, state: &State) -> bool {
        state.path.as_ref().is_some_and(|path| self.files.contains_key(path))
    }

    fn flushed(&mut self, state: &mut State) {
        if !state.started {
            return;
        }
        let inode = state.path.as_ref().and_then(|path| self.files.get(path)).map(|file| file.inode);
        let lost = state.dirty && inode != Some(state.inode);
        if lost || state.has_unsaved() {
            self.write_append(state);
        }
        state.dirty = false;
    }

    fn append(
        &mut self,
        manager: &mut Manager,
        kind: &str,
        body: Body,
        real: impl FnOnce(&mut SessionManager) -> Result<String>,
    ) {
        let assistant = kind == "message" && body(FULL).1.starts_with(",\"message\":{\"role\":\"assistant\"");
        let id = real(&mut manager.real).unwrap();
        let state = &mut manager.state;
        assert!(id.len() == 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        assert!(state.find(&id).is_none(), "{id} is used");
        if self.persisted() && state.started && !self.sync(state, &BTreeSet::new()) {
            // Everything is written again, with the new entry last.
        }
        let item = Item::new(kind, &id, state.leaf.as_deref(), &now(), body);
        state.lines.push(Held::Entry(Seen { item, own: true, whole: true, saved: !self.persisted(), recent: false }));
        state.leaf = Some(id);
        if self.persisted() && (state.started || assistant) {
            state.started = true;
            self.write_append(state);
        }
    }

    pub fn step(&mut self, op: &Op) {
        next_step();
        self.steps += 1;
        let who = match op {
            Op::Append(who, _)
            | Op::Branch(who, _)
            | Op::ResetLeaf(who)
            | Op::Summary(who, ..)
            | Op::Rename(who, ..)
            | Op::Rewrite(who, _)
            | Op::EnsureOnDisk(who)
            | Op::Flush(who)
            | Op::Close(who)
            | Op::Fork(who)
            | Op::BranchFile(who, _)
            | Op::Move(who, _)
            | Op::New(who, _)
            | Op::SetFile(who, _)
            | Op::Capture(who)
            | Op::Restore(who)
            | Op::Reopen { who, .. } => usize::from(*who),
            Op::Second | Op::DropSecond | Op::Outside(_) => 0,
        };
        let who = if self.managers[who].is_some() { who } else { 0 };
        let mut manager = self.managers[who].take().unwrap();
        match op {
            Op::Append(_, what) => self.append_what(&mut manager, what),
            Op::Branch(_, pick) => match manager.state.pick(*pick) {
                Some(id) => {
                    manager.real.branch(&id).unwrap();
                    manager.state.leaf = Some(id);
                }
                None => assert_eq!(manager.real.branch("none").unwrap_err().code(), ErrorCode::EntryNotFound),
            },
            Op::ResetLeaf(_) => {
                manager.real.reset_leaf();
                manager.state.leaf = None;
            }
            Op::Summary(_, pick, at) => {
                let from = pick.and_then(|pick| manager.state.pick(pick));
                manager.state.leaf.clone_from(&from);
                let after = string("fromId", from.as_deref().or(Some("root"))) + &string("summary", Some(text(*at)));
                self.append(&mut manager, "branch_summary", plain(after), |real| {
                    real.branch_with_summary(from.as_deref(), text(*at), None, None)
                });
            }
            Op::Rename(_, name, user) => self.rename(&mut manager, *name, *user),
            Op::Rewrite(_, changes) => self.rewrite_entries(&mut manager, changes),
            Op::EnsureOnDisk(_) => {
                manager.real.ensure_on_disk().unwrap();
                let state = &mut manager.state;
                let is_there =
                    state.started && !state.has_unsaved() && state.pending_header.is_empty() && self.exists(state);
                if self.persisted() && !is_there {
                    state.started = true;
                    self.rewrite(state, &BTreeSet::new());
                }
            }
            Op::Flush(_) => {
                manager.real.flush().unwrap();
                self.flushed(&mut manager.state);
            }
            Op::Close(_) => {
                manager.real.close().unwrap();
                self.flushed(&mut manager.state);
            }
            Op::Fork(_) => self.fork(&mut manager),
            Op::BranchFile(_, pick) => self.branch_file(&mut manager, *pick),
            Op::Move(_, to) => self.move_to(&mut manager, Path::new(PROJECTS[usize::from(*to)])),
            Op::New(_, parent) => {
                let parent = parent.then_some("an opaque parent");
                let path = manager.real.new_session(parent).unwrap();
                self.flushed(&mut manager.state);
                self.begin(&mut manager.state, parent);
                assert_eq!(path, manager.state.path);
            }
            Op::SetFile(_, target) => self.set_file(&mut manager, target),
            Op::Capture(_) => manager.captured = Some((manager.real.capture_state(), manager.state.clone())),
            Op::Restore(_) => {
                if let Some((real, state)) = manager.captured.clone() {
                    assert_eq!(real.session_id(), state.text("id").unwrap());
                    manager.real.restore_state(real);
                    manager.state = State { dirty: false, ..state };
                }
            }
            Op::Reopen { close, .. } if self.persisted() => manager = self.reopen(manager, *close),
            Op::Second if self.place.place == Where::Files && self.managers[1].is_none() => {
                if let Some(path) = manager.state.path.clone().filter(|path| self.files.contains_key(path)) {
                    self.managers[1] = Some(self.open(&path));
                }
            }
            Op::DropSecond => self.managers[1] = None,
            Op::Outside(outside) if self.exists(&manager.state) => manager = self.outside(manager, outside),
            Op::Reopen { .. } | Op::Second | Op::Outside(_) => {}
        }
        self.managers[who] = Some(manager);
    }

    fn append_what(&mut self, manager: &mut Manager, what: &Append) {
        let json = |at: &Option<u8>| at.map(|at| raw(at).to_owned());
        match what {
            Append::Message(message) => {
                let argument = format!(" {}\n", message.argument());
                self.append(manager, "message", message.body(), |real| real.append_message(&argument));
            }
            Append::Thinking(level) => {
                let level = level.map(text);
                let after = member("thinkingLevel", Some(level.map_or("null".into(), quoted)));
                self.append(manager, "thinking_level_change", plain(after), |real| {
                    real.append_thinking_level_change(level)
                });
            }
            Append::Tier(tier) => {
                let tier = tier.map(text);
                let after = member("serviceTier", Some(tier.map_or("null".into(), quoted)));
                self.append(manager, "service_tier_change", plain(after), |real| real.append_service_tier_change(tier));
            }
            Append::Mode(mode, data) => {
                let after = string("mode", Some(text(*mode))) + &member("data", json(data));
                self.append(manager, "mode_change", plain(after), |real| {
                    real.append_mode_change(text(*mode), json(data).as_deref())
                });
            }
            Append::Context(at) => {
                let (name, tenant, space) = (text(*at), text(at + 1), text(at + 2));
                let after = string("contextName", Some(name))
                    + &string("tenant", Some(tenant))
                    + &string("namespace", Some(space));
                self.append(manager, "context_change", plain(after), |real| {
                    real.append_context_change(name, tenant, space)
                });
            }
            Append::Model(model, role) => {
                let (model, role) =
                    (format!("p/{}", text(*model)), role.map(|role| ["default", "smol", ""][role as usize]));
                let after = string("model", Some(&model)) + &string("role", role);
                self.append(manager, "model_change", plain(after), |real| real.append_model_change(&model, role));
            }
            Append::Init(schema) => {
                let init = SessionInit {
                    system_prompt: text(1),
                    task: text(2),
                    tools: &["a", "b\""],
                    output_schema: schema.map(raw),
                };
                let after = string("systemPrompt", Some(text(1)))
                    + &string("task", Some(text(2)))
                    + ",\"tools\":[\"a\",\"b\\\"\"]"
                    + &member("outputSchema", json(schema));
                self.append(manager, "session_init", plain(after), |real| real.append_session_init(&init));
            }
            Append::Custom(data) => {
                let before = string("customType", Some("c/t")) + &member("data", json(data));
                let body: Body = Rc::new(move |_| (before.clone(), String::new()));
                self.append(manager, "custom", body, |real| real.append_custom_entry("c/t", json(data).as_deref()));
            }
            Append::CustomMessage(content, details) => {
                let message = CustomMessage {
                    custom_type: "note",
                    content: raw(*content),
                    display: content % 2 == 0,
                    details: details.map(raw),
                    attribution: details.map(|_| "user"),
                };
                let before = string("customType", Some("note"))
                    + &member("content", Some(raw(*content).into()))
                    + &member("display", Some((content % 2 == 0).to_string()))
                    + &member("details", json(details))
                    + &string("attribution", details.map(|_| "user").or(Some("agent")));
                let body: Body = Rc::new(move |_| (before.clone(), String::new()));
                self.append(manager, "custom_message", body, |real| real.append_custom_message(&message));
            }
            Append::Tools(names) | Append::Rules(names) => {
                let names: Vec<&str> = names.iter().map(|at| text(*at)).collect();
                let list = Some(serde_json::to_string(&names).unwrap());
                if matches!(what, Append::Tools(_)) {
                    let after = member("selectedToolNames", list);
                    self.append(manager, "mcp_tool_selection", plain(after), |real| {
                        real.append_mcp_tool_selection(&names)
                    });
                } else {
                    let after = member("injectedRules", list);
                    self.append(manager, "ttsr_injection", plain(after), |real| real.append_ttsr_injection(&names));
                }
            }
            Append::Label(target, label) => {
                let label = label.map(|label| LABELS[usize::from(label) % LABELS.len()]);
                let Some(target) = manager.state.pick(*target) else {
                    assert_eq!(
                        manager.real.append_label_change("none", label).unwrap_err().code(),
                        ErrorCode::EntryNotFound
                    );
                    return;
                };
                let after = string("targetId", Some(&target)) + &string("label", label);
                self.append(manager, "label", plain(after), |real| real.append_label_change(&target, label));
            }
            Append::Compaction { kept, own_details, remote, short } => {
                let kept = manager.state.pick(*kept).unwrap_or_else(|| "none".into());
                let preserve = remote.then_some(
                    r#"{"openaiRemoteCompaction":{"provider":"openai","replacementHistory":[{"a":1}]},"more":1e400}"#,
                );
                let compaction = Compaction {
                    summary: text(1),
                    short_summary: short.then_some("short"),
                    first_kept_entry_id: &kept,
                    tokens_before: 12345,
                    details: own_details.map(raw),
                    from_extension: short.then_some(false),
                    preserve_data: preserve,
                };
                let after = string("summary", Some(text(1)))
                    + &string("shortSummary", short.then_some("short"))
                    + &string("firstKeptEntryId", Some(&kept))
                    + ",\"tokensBefore\":12345"
                    + &member("details", json(own_details))
                    + &member("fromExtension", short.then(|| "false".into()))
                    + &member("preserveData", preserve.map(str::to_owned));
                self.append(manager, "compaction", plain(after), |real| real.append_compaction(&compaction));
            }
            Append::Other(at) => {
                let fields = format!("{{\"id\":\"no\",\"type\":\"later\",\"value\":{},\"parentId\":7}}", raw(*at));
                let after = member("value", Some(raw(*at).into()));
                self.append(manager, "later", plain(after), |real| real.append_entry(&fields));
            }
        }
    }

    fn rename(&mut self, manager: &mut Manager, name: u8, user: bool) {
        let (given, cleaned) = NAMES[usize::from(name) % NAMES.len()];
        let source = if user { TitleSource::User } else { TitleSource::Auto };
        let taken = manager.real.set_session_name(given, source).unwrap();
        let state = &mut manager.state;
        let expected = cleaned.filter(|_| user || state.text("titleSource").as_deref() != Some("user"));
        assert_eq!(taken, expected.is_some());
        let Some(name) = expected else { return };
        state.set_header("title", name);
        state.set_header("titleSource", if user { "user" } else { "auto" });
        if self.exists(state) {
            state.started = true;
            self.rewrite(state, &BTreeSet::new());
        }
    }

    fn rewrite_entries(&mut self, manager: &mut Manager, changes: &[(u8, Message)]) {
        let state = &mut manager.state;
        let mut changed = BTreeSet::new();
        let mut texts = Vec::new();
        for (pick, message) in changes {
            let messages: Vec<String> =
                state.entries().filter(|seen| seen.item.kind == "message").map(|seen| seen.item.id.clone()).collect();
            let Some(id) = messages.get(usize::from(*pick) % messages.len().max(1)) else { continue };
            let seen = state.entries_mut().find(|seen| seen.item.id == *id).unwrap();
            seen.item = seen.item.with_body(message.body());
            seen.whole = true;
            texts.push((id.clone(), seen.item.text(FULL)));
            changed.insert(id.clone());
        }
        let texts: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (&**id, &**text)).collect();
        manager.real.rewrite_entries(&texts).unwrap();
        if self.persisted() {
            state.started = true;
            self.rewrite(state, &changed);
        }
    }

    /// The fields of a title that a copy takes over.
    fn title(state: &State) -> [Option<String>; 2] {
        // An empty title is none (R48).
        [state.text("title").filter(|title| !title.is_empty()), state.text("titleSource")]
    }

    /// A copy takes the place of the session.
    fn became(&mut self, state: &mut State, lines: Vec<Seen>, header: Map<String, Value>, path: Option<PathBuf>) {
        let lines = lines.into_iter().map(|seen| Held::Entry(Seen { saved: true, recent: false, ..seen }));
        state.lines = lines.collect();
        (state.header, state.path) = (header, path);
        state.pending_header.clear();
        if state.path.is_some() {
            state.started = true;
            self.write_all(state);
        }
    }

    fn fork(&mut self, manager: &mut Manager) {
        let fork = manager.real.fork().unwrap();
        let state = &mut manager.state;
        if !self.persisted() {
            assert_eq!(fork, None);
            return;
        }
        self.flushed(state);
        let old = state.path.clone().unwrap();
        let new = self.new_path(&state.dir).unwrap();
        let fork = fork.unwrap();
        assert_eq!((&fork.old_session_file, &fork.new_session_file), (&old, &new));
        let [title, source] = Self::title(state);
        let header = header(&[
            ("type", Some("session".into())),
            ("version", Some("3".into())),
            ("id", Some(last_session())),
            ("title", title),
            ("titleSource", source),
            ("timestamp", Some(now())),
            ("cwd", Some(state.cwd.to_str().unwrap().into())),
            ("parentSession", state.text("id")),
        ]);
        let lines = state.entries().cloned().collect();
        self.became(state, lines, header, Some(new));
    }

    fn branch_file(&mut self, manager: &mut Manager, pick: u8) {
        let Some(leaf) = manager.state.pick(pick) else {
            assert_eq!(manager.real.create_branched_session("none").unwrap_err().code(), ErrorCode::EntryNotFound);
            return;
        };
        let path = manager.real.create_branched_session(&leaf);
        self.flushed(&mut manager.state);
        let state = &mut manager.state;
        if state.find(&leaf).is_none() {
            // It went with a file that somebody replaced.
            assert_eq!(path.unwrap_err().code(), ErrorCode::EntryNotFound);
            return;
        }
        let path = path.unwrap();
        assert_eq!(path, self.new_path(&state.dir));
        let mut lines: Vec<Seen> = Vec::new();
        for seen in state.path_to(&leaf).into_iter().filter(|seen| seen.item.kind != "label") {
            let mut seen = seen.clone();
            // The child of a label that is left out hangs on what the label hung on.
            let parent_is_label = seen
                .item
                .parent
                .as_ref()
                .and_then(|id| state.find(id))
                .is_some_and(|parent| parent.item.kind == "label");
            if parent_is_label {
                seen.item = seen.item.with_parent(lines.last().map(|seen| seen.item.id.clone()));
            }
            lines.push(seen);
        }
        let labels = state.labels();
        let kept: Vec<_> =
            labels.into_iter().filter(|(target, _)| lines.iter().any(|seen| seen.item.id == *target)).collect();
        let new: Vec<String> =
            manager.real.entries().skip(lines.len()).map(|entry| entry.id().unwrap().into_owned()).collect();
        assert_eq!(new.len(), kept.len());
        for (id, (target, label)) in new.iter().zip(kept) {
            assert!(state.find(id).is_none() && lines.iter().all(|seen| seen.item.id != *id), "{id} is used");
            let after = string("targetId", Some(&target)) + &string("label", Some(&label));
            let parent = lines.last().map(|seen| seen.item.id.clone());
            let item = Item::new("label", id, parent.as_deref(), &now(), plain(after));
            lines.push(Seen { item, own: true, whole: true, saved: true, recent: false });
        }
        let parent = state.path.as_ref().map(|path| path.to_str().unwrap().to_owned());
        let header = new_header(&state.cwd, parent, Self::title(state));
        state.leaf = lines.last().map(|seen| seen.item.id.clone());
        self.became(state, lines, header, path);
    }

    fn move_to(&mut self, manager: &mut Manager, cwd: &Path) {
        let moved = manager.real.move_to(cwd);
        let state = &mut manager.state;
        if cwd == state.cwd {
            return moved.unwrap();
        }
        let dir = self.place.project(cwd);
        let to_there = |state: &mut State| {
            state.set_header("cwd", cwd.to_str().unwrap());
            (state.cwd, state.dir) = (cwd.to_owned(), dir.clone());
        };
        let Some(old) = state.path.clone() else {
            moved.unwrap();
            state.set_header("cwd", cwd.to_str().unwrap());
            state.cwd = cwd.to_owned();
            // Where a session that is kept nowhere would be.
            state.dir = manager.real.session_dir().to_owned();
            return;
        };
        let new = dir.join(old.file_name().unwrap());
        if new == old {
            moved.unwrap();
            to_there(state);
            if state.started {
                self.rewrite(state, &BTreeSet::new());
            }
            return;
        }
        self.flushed(state);
        if self.files.contains_key(&new) {
            assert_eq!(moved.unwrap_err().code(), ErrorCode::AlreadyExists);
            return;
        }
        moved.unwrap();
        let had_file = self.sync(state, &BTreeSet::new());
        state.started |= had_file;
        state.path = Some(new);
        to_there(state);
        if state.started {
            self.write_all(state);
        }
        self.files.remove(&old);
    }

    /// A new session in a manager's place.
    fn begin(&mut self, state: &mut State, parent: Option<&str>) {
        let blank = self.blank(state.dir.clone(), state.cwd.clone());
        *state = blank;
        state.header = new_header(&state.cwd, parent.map(str::to_owned), [None, None]);
        state.path = self.new_path(&state.dir);
    }

    fn set_file(&mut self, manager: &mut Manager, target: &Target) {
        let missing = self.place.project(Path::new(PROJECTS[1])).join(format!("given-{}.jsonl", self.steps));
        let known: Vec<PathBuf> = self.files.keys().cloned().collect();
        let path = match target {
            Target::Known(pick) if !known.is_empty() => known[usize::from(*pick) % known.len()].clone(),
            Target::Empty if self.persisted() => {
                self.place.replace(&missing, b"");
                missing
            }
            Target::Junk if self.persisted() => {
                self.place.replace(&missing, b"no session\n{\"type\":\"message\",\"id\":\"a\"}\n");
                missing
            }
            _ => missing,
        };
        manager.real.set_session_file(&path).unwrap();
        let state = &mut manager.state;
        self.flushed(state);
        if self.files.contains_key(&path) {
            return self.load(state, &path);
        }
        self.begin(state, None);
        if self.persisted() {
            (state.path, state.started) = (Some(path), true);
            self.write_all(state);
        }
    }

    /// Drops a manager and opens what it left, or begins anew where it left nothing.
    fn reopen(&mut self, mut manager: Manager, close: bool) -> Manager {
        if close {
            manager.real.close().unwrap();
            self.flushed(&mut manager.state);
        }
        let Manager { real, state, .. } = manager;
        drop(real);
        match state.path.filter(|path| self.files.contains_key(path)) {
            Some(path) => self.open(&path),
            None => self.fresh(&state.cwd),
        }
    }

    /// Another program does something to the file.
    fn outside(&mut self, manager: Manager, outside: &Outside) -> Manager {
        let path = manager.state.path.clone().unwrap();
        if self.place.place == Where::Files {
            return self.outside_at(manager, &path, outside);
        }
        // A storage is used by one manager at a time.
        let Manager { mut real, mut state, .. } = manager;
        real.close().unwrap();
        self.flushed(&mut state);
        drop(real);
        if !matches!(outside, Outside::Cut { .. }) {
            self.change(&path, outside);
        }
        match self.files.contains_key(&path) {
            true => self.open(&path),
            false => self.fresh(&state.cwd),
        }
    }

    fn outside_at(&mut self, mut manager: Manager, path: &Path, outside: &Outside) -> Manager {
        match outside {
            Outside::Cut { lines, half } => {
                if self.managers[1].is_none() && manager.state.started {
                    manager.captured = None;
                    self.cut(&mut manager, path, *lines, *half);
                }
            }
            _ => self.change(path, outside),
        }
        manager
    }

    fn change(&mut self, path: &Path, outside: &Outside) {
        let number = self.next();
        let bytes = self.place.read(path).unwrap();
        let newline = if bytes.ends_with(b"\n") { "" } else { "\n" };
        let file = self.files.get_mut(path).unwrap();
        let ids: Vec<String> = file
            .lines
            .iter()
            .filter_map(|line| match line {
                Line::Entry(item) => Some(item.id.clone()),
                Line::Junk(_) => None,
            })
            .collect();
        let pick = |pick: u8| ids.get(usize::from(pick) % ids.len().max(1)).map(|id| &**id);
        let message =
            |at: u8| Message { role: at % 5, extra: at, usage: Some(at), payload: at % 4 == 1, ..Message::default() };
        let time = |at: u8| format!("2026-01-01T00:00:{:02}.000Z", at % 20);
        let half = file.half.take();
        match outside {
            Outside::Entries(entries) => {
                let mut text = newline.to_owned();
                for (at, (parent, raw)) in entries.iter().enumerate() {
                    let id = if raw % 2 == 0 { format!("e{number:06x}{at}") } else { format!("ext \"{number}\" {at}") };
                    let (kind, body) = match (raw % 5, pick(*parent)) {
                        (4, Some(target)) => {
                            let label = string("label", Some(LABELS[usize::from(raw % 4)]).filter(|_| raw % 3 > 0));
                            ("label", plain(string("targetId", Some(target)) + &label))
                        }
                        (3, _) => ("unheard_of", plain(",\"message\":null".into())),
                        _ => ("message", message(*raw).body()),
                    };
                    let item = Item::new(kind, &id, pick(*parent), &time(*raw), body);
                    text += &(item.line() + if raw % 3 == 0 { "\r\n" } else { "\n" });
                    file.lines.push(Line::Entry(item));
                }
                self.place.append(path, text.as_bytes());
            }
            Outside::Orphan => {
                let parent = format!("gone-{number}");
                let item = Item::new("message", &format!("o{number}"), Some(&parent), &time(0), message(2).body());
                self.place.append(path, format!("{newline}{}\n", item.line()).as_bytes());
                file.lines.push(Line::Entry(item));
            }
            Outside::Cycle => {
                let (a, b) = (format!("ca{number}"), format!("cb{number}"));
                let a_item = Item::new("message", &a, Some(&b), &time(0), message(0).body());
                let b_item = Item::new("message", &b, Some(&a), &time(1), message(1).body());
                self.place.append(path, format!("{newline}{}\n{}\n", a_item.line(), b_item.line()).as_bytes());
                file.lines.extend([Line::Entry(a_item), Line::Entry(b_item)]);
            }
            Outside::Junk(at) => {
                const JUNK: &[&str] = &[
                    "",
                    "   ",
                    "not json",
                    "42",
                    "{\"a\":1}",
                    "{\"type\":\"session\",\"id\":\"later\"}",
                    "\0\0\0",
                    "\"{\\\"type\\\":1}\"",
                ];
                let text = JUNK[usize::from(*at) % JUNK.len()];
                self.place.append(path, format!("{newline}{text}\n").as_bytes());
                if !text.trim_matches([' ', '\0']).is_empty() {
                    file.lines.push(Line::Junk(text.to_owned()));
                }
            }
            Outside::Half => match half {
                Some(item) => {
                    let line = item.line();
                    self.place.append(path, format!("{}\n", &line[half_of(&line)..]).as_bytes());
                    *file.lines.last_mut().unwrap() = Line::Entry(item);
                }
                None => {
                    let item = Item::new("message", &format!("h{number}"), pick(7), &time(3), message(1).body());
                    let line = item.line();
                    let piece = &line[..half_of(&line)];
                    self.place.append(path, format!("{newline}{piece}").as_bytes());
                    file.lines.push(Line::Junk(piece.to_owned()));
                    file.half = Some(item);
                }
            },
            Outside::Replace { without, title } => {
                let without: Vec<String> = without.iter().filter_map(|at| pick(*at)).map(str::to_owned).collect();
                file.lines.retain(|line| !matches!(line, Line::Entry(item) if without.contains(&item.id)));
                if let Some(title) = title {
                    file.header.insert("title".into(), text(*title).into());
                }
                let mut text = serde_json::to_string(&file.header).unwrap() + "\n";
                for line in &file.lines {
                    text += &match line {
                        Line::Entry(item) => item.line(),
                        Line::Junk(text) => text.clone(),
                    };
                    text.push('\n');
                }
                file.inode = number;
                self.place.replace(path, text.as_bytes());
            }
            Outside::Delete => {
                self.place.remove(path);
                self.files.remove(path);
                return;
            }
            Outside::Cut { .. } => unreachable!(),
        }
        self.files.get_mut(path).unwrap().version = number;
    }

    /// Cuts the file in place and appends an answer.
    fn cut(&mut self, manager: &mut Manager, path: &Path, lines: u8, half: bool) {
        let bytes = self.place.read(path).unwrap();
        let ends: Vec<usize> = std::iter::once(0)
            .chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        let at = usize::from(lines) % ends.len();
        let next = ends.get(at + 1).copied().unwrap_or(bytes.len());
        let piece = if half { (next - ends[at]) / 2 } else { 0 };
        let len = ends[at] + piece;
        let trimmed = |line: &&[u8]| !line.iter().all(|byte| matches!(byte, b' ' | b'\0' | b'\r'));
        let whole = bytes[..ends[at]].split(|byte| *byte == b'\n').filter(trimmed).count();
        let piece = String::from_utf8_lossy(&bytes[ends[at]..len]).trim_matches(['\0', ' ', '\r']).to_owned();
        let file = &self.files[path];
        let mut rest = file.lines.clone();
        rest.truncate(whole.saturating_sub(1));
        let is_there =
            |id: &str| whole > 0 && rest.iter().any(|line| matches!(line, Line::Entry(item) if item.id == id));
        // What this manager had long ago is lost with the file.
        let lost =
            manager.state.entries().any(|seen| seen.own && seen.saved && !seen.recent && !is_there(&seen.item.id));
        if lost || len == bytes.len() {
            return;
        }
        if !piece.is_empty() {
            rest.push(Line::Junk(piece));
        }
        self.place.cut(path, len);
        let number = self.next();
        let state = &mut manager.state;
        if whole > 0 {
            let file = self.files.get_mut(path).unwrap();
            (file.lines, file.version, file.half) = (rest, number, None);
            if file.inode == state.inode {
                // It is read anew.
                state.entries_mut().for_each(|seen| seen.recent = false);
            }
        } else {
            let file = self.files.remove(path).unwrap();
            if file.inode == state.inode {
                state.lines.retain(|line| matches!(line, Held::Entry(seen) if seen.own));
                state.entries_mut().for_each(|seen| seen.saved = false);
                if state.leaf.as_ref().is_some_and(|leaf| state.find(leaf).is_none()) {
                    state.leaf = None;
                }
            }
        }
        let answer = Message { role: 1, ..Message::default() };
        self.append_what(manager, &Append::Message(answer));
    }
}

const FULL: super::item::Form = super::item::Form { whole: true, references: false, payload: true };

/// Where an entry's line is torn.
fn half_of(line: &str) -> usize {
    line.floor_char_boundary(line.len() / 2)
}
