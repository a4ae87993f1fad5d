//! The model: what each manager must hold and each file must have in it, and how they become one.

use super::item::Item;
use super::ops::{Op, Target};
use super::place::{Artifacts, Place, Where, last_session, next_step, now};
use super::state::{File, Held, Line, Manager, Seen, State, migrated, new_header};
use leaflog::{ErrorCode, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Folders that do not exist: what they are called does not depend on the machine.
pub const PROJECTS: &[&str] = &["/no-such/a", "/no-such/b", "/no-such/c"];

/// What is in the way of the step that is done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    Fine,
    Locked,
    Full,
    Killed,
}

pub struct World {
    pub place: Place,
    pub files: BTreeMap<PathBuf, File>,
    pub artifacts: Artifacts,
    pub managers: [Option<Manager>; 2],
    pub steps: u32,
    serial: u64,
    pub now: Now,
    /// A write of this step must fail.
    pub refused: bool,
    /// With this code, when it matters.
    pub code: Option<ErrorCode>,
    /// The step said that it succeeded.
    pub acknowledged: bool,
    /// Each file as it was before the step, also when it is at no path any more.
    pub start: BTreeMap<u64, (File, Vec<u8>)>,
    /// Where each session is that is in use, by the file that says so.
    pub uses: BTreeMap<u64, PathBuf>,
    /// The files that say that the session was deleted.
    pub deleted: BTreeSet<u64>,
    /// What the killed process may have written, in order.
    pub written: Vec<(PathBuf, File)>,
}

impl World {
    pub fn new(place: Where, deferred: bool) -> Self {
        let mut world = Self {
            place: Place::new(place, deferred),
            files: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            managers: [None, None],
            steps: 0,
            serial: 0,
            now: Now::Fine,
            refused: false,
            code: None,
            acknowledged: true,
            start: BTreeMap::new(),
            uses: BTreeMap::new(),
            deleted: BTreeSet::new(),
            written: Vec::new(),
        };
        world.managers[0] = Some(world.fresh(Path::new(PROJECTS[0])));
        world
    }

    pub fn persisted(&self) -> bool {
        self.place.place != Where::Nowhere
    }

    pub fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub fn new_path(&self, dir: &Path) -> Option<PathBuf> {
        let name = format!("{}_{}.jsonl", now().replace([':', '.'], "-"), last_session());
        self.persisted().then(|| dir.join(name))
    }

    /// A new session.
    pub fn fresh(&mut self, cwd: &Path) -> Manager {
        let options = self.place.options();
        let real = if self.persisted() { options.create(cwd) } else { options.in_memory(cwd) }.unwrap();
        let dir = if self.persisted() { self.place.project(cwd) } else { PathBuf::new() };
        let path = self.new_path(&dir);
        let header = new_header(cwd, None, [None, None]);
        let state = State { path, header, ..State::blank(dir, cwd.to_owned()) };
        Manager { real, state, captured: None }
    }

    pub fn open(&mut self, path: &Path) -> Manager {
        let real = self.place.options().open(path).unwrap();
        let cwd = PathBuf::from(self.files[path].header["cwd"].as_str().unwrap());
        let dir = path.parent().unwrap().to_owned();
        let mut state = State::blank(dir, cwd);
        self.load_and_migrate(&mut state, path);
        self.hold(&mut state);
        Manager { real, state, captured: None }
    }

    /// A manager says that it has the session open.
    pub fn hold(&mut self, state: &mut State) {
        let Some(path) = state.path.clone().filter(|_| self.place.is_files()) else { return };
        let is_here = |id: &u64| self.uses.get(id) == Some(&path);
        if state.in_use.as_ref().is_some_and(is_here) {
            return;
        }
        let others = self.managers.iter().flatten().filter_map(|manager| manager.state.in_use);
        let id = others.into_iter().find(is_here).unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        self.uses.insert(id, path);
        state.in_use = Some(id);
    }

    /// Where another manager moved the session.
    pub fn moved_to(&self, state: &State) -> Option<PathBuf> {
        let path = self.uses.get(&state.in_use?)?;
        let id = self.files.get(path)?.header["id"].as_str();
        let is_gone = state.path.as_ref().is_some_and(|path| !self.files.contains_key(path));
        (is_gone && id == state.text("id").as_deref()).then(|| path.clone())
    }

    /// Goes where another manager moved the session, before anything else is done.
    pub fn follow(&mut self, state: &mut State) {
        if state.started && self.moved_to(state).is_some() {
            self.sync(state);
        }
    }

    /// The state of who has just read the file.
    pub fn load(&self, state: &mut State, path: &Path) {
        let file = &self.files[path];
        state.path = Some(path.to_owned());
        (state.before, state.header) = (file.before.clone(), file.header.clone());
        state.pending_header.clear();
        state.lines = file.lines.iter().map(|line| Held::of_file(line, Seen::of_file)).collect();
        let last = state.entries().next_back().map(|seen| seen.item.id.clone());
        state.leaf = last;
        (state.started, state.wrote, state.rewrite, state.old) = (true, false, false, file.format < 3);
        (state.closed, state.gone_said) = (false, false);
        (state.inode, state.version) = (file.inode, file.version);
        (state.over, state.differs) = (file.over, Rc::default());
    }

    /// The same of a manager (R12).
    pub fn load_and_migrate(&mut self, state: &mut State, path: &Path) {
        self.load(state, path);
        if state.old {
            state.header = migrated(state.header.clone());
            if !self.place.deferred {
                self.write_all(state);
            }
        }
    }

    /// Says whether a write fails for want of space.
    pub fn is_full(&mut self) -> bool {
        self.refused |= self.now == Now::Full;
        self.now == Now::Full
    }

    /// What a call gave; `None` when it failed as it had to.
    pub fn settle<T>(&mut self, result: Result<T>) -> Option<T> {
        match result {
            result if self.now == Now::Killed => {
                self.acknowledged &= result.is_ok();
                result.ok()
            }
            Err(error) if self.refused => {
                match self.code {
                    Some(code) => assert_eq!(error.code(), code, "{error}"),
                    None => assert_eq!(error.code() == ErrorCode::Locked, self.now == Now::Locked, "{error}"),
                }
                None
            }
            result => {
                assert!(!self.refused, "it could not write and did not say so");
                Some(result.unwrap())
            }
        }
    }

    /// The step fails.
    pub fn refuse(&mut self, code: ErrorCode) {
        if !self.refused {
            (self.refused, self.code) = (true, Some(code));
        }
    }

    /// The session was deleted on purpose, and the manager was told.
    pub fn is_deleted(&self, state: &State) -> bool {
        !self.exists(state) && state.in_use.is_some_and(|id| self.deleted.contains(&id))
    }

    /// The file of an inode, as it is now.
    fn file_of(&self, inode: u64) -> Option<&File> {
        let there = self.files.values().find(|file| file.inode == inode);
        there.or_else(|| self.start.get(&inode).map(|(file, _)| file))
    }

    /// Somebody wrote over the file that the manager has, and it has not read that.
    pub fn is_stale(&self, state: &State) -> bool {
        self.place.is_files() && self.file_of(state.inode).is_some_and(|file| file.over != state.over)
    }

    /// By the length of the file, or the bytes before where it ended, it is seen that somebody wrote over it.
    fn is_seen(&self, state: &State) -> bool {
        let Some((_, now)) = self.start.get(&state.inode) else { return false };
        let known = &state.bytes;
        let tail = known.len().saturating_sub(256);
        let is_tail = || now[tail..known.len()] == known[tail..];
        state.differs.get() || now.len() < known.len() || now.len() > known.len() && !is_tail()
    }

    /// Before lines of the file are copied that the manager has, it is read again when somebody wrote over it.
    pub fn verify(&mut self, state: &mut State) {
        // What was written over may be only what came after what the manager knows.
        let is_known = self.start.get(&state.inode).is_some_and(|(_, now)| now.starts_with(&state.bytes));
        if !self.refused && self.is_stale(state) && !is_known {
            let file = self.file_of(state.inode).unwrap().clone();
            self.take_over(state, &file, false);
        }
    }

    /// The same before the file is written anew.
    fn verify_and_write(&mut self, state: &mut State) {
        self.verify(state);
        if !self.refused {
            self.write_all(state);
        }
    }

    /// What a manager learns of the file before it writes (R53). Says whether there is a file.
    pub fn sync(&mut self, state: &mut State) -> bool {
        if self.now == Now::Locked {
            self.refused = true;
            return true;
        }
        let moved = self.moved_to(state);
        if let Some(path) = &moved {
            state.dir = path.parent().unwrap().to_owned();
            state.cwd = PathBuf::from(self.files[path].header["cwd"].as_str().unwrap());
            state.path = moved;
        }
        if self.is_deleted(state) && !state.gone_said {
            // It is made again on purpose.
            state.gone_said = true;
            self.refuse(ErrorCode::Gone);
        }
        let Some(file) = state.path.as_ref().and_then(|path| self.files.get(path)) else { return false };
        state.gone_said = false;
        let is_same = file.inode == state.inode;
        let is_longer = self.start.get(&file.inode).is_some_and(|(_, now)| now.len() > state.bytes.len());
        let has_news = is_longer && file.version != state.version && (state.has_unsaved() || state.old);
        let is_noticed = is_same && file.over != state.over && (self.is_seen(state) || has_news);
        if is_same && !is_noticed {
            if file.version == state.version {
                return true;
            }
            if file.over != state.over && !is_longer {
                // The length is what it was.
                state.version = file.version;
                return true;
            }
        }
        let grown = is_same && !is_noticed && !state.has_unsaved() && !state.old;
        let file = file.clone();
        self.take_over(state, &file, grown);
        self.hold(state);
        true
    }

    /// What a manager has gives way to a file, or with `grown` to what was added to it.
    fn take_over(&mut self, state: &mut State, file: &File, grown: bool) {
        // What of it can be read still.
        let old_file = self.start.get(&state.inode).filter(|(file, _)| file.over != state.over);
        let readable: Option<Vec<String>> = old_file.map(|(_, now)| {
            state.found(now).iter().filter(|(_, text)| text.is_some()).map(|(seen, _)| seen.item.id.clone()).collect()
        });
        let is_kept = |seen: &Seen| {
            let in_memory = !seen.saved || seen.changed || seen.recent || seen.whole && seen.item.is_reduced();
            in_memory || readable.as_ref().is_none_or(|ids| ids.contains(&seen.item.id))
        };
        let mut is_lost = false;
        let old: Vec<Seen> = state.entries().cloned().collect();
        let path = state.leaf.as_ref().map(|leaf| state.path_to(leaf)).unwrap_or_default();
        let path: Vec<String> = path.into_iter().map(|seen| seen.item.id.clone()).collect();
        let of = |id: &str| old.iter().filter(|seen| seen.item.id == id).collect::<Vec<_>>();
        // One that is not written counts as there only when the line is its own (A3).
        let is_line_of = |seen: &Seen, item: &Item| seen.saved || seen.changed || seen.item.line() == item.line();
        let is_there =
            |seen: &Seen| file.items().rfind(|item| item.id == seen.item.id).is_some_and(|item| is_line_of(seen, item));
        let ids: Vec<&str> = file.items().map(|item| &*item.id).collect();
        let mut at = 0;
        let held = |line: &Line| {
            Held::of_file(line, |item| {
                let mut known = of(&item.id);
                known.retain(|seen| grown || is_line_of(seen, item));
                let before = ids[..at].iter().filter(|id| **id == item.id).count();
                let is_last = !ids[at + 1..].contains(&&*item.id);
                at += 1;
                // A file that grew has the lines that were known; of another one the last line of an
                // id takes the place of all that were.
                let found = match grown {
                    true => known.get(before).map(|seen| (*seen).clone()),
                    false if is_last && !known.is_empty() => {
                        let own = known.iter().any(|seen| seen.own);
                        let recent =
                            known.iter().any(|seen| seen.recent && (seen.changed || seen.item.line() == item.line()));
                        let is_same = |seen: &&&Seen| seen.changed || seen.whole && seen.item.line() == item.line();
                        let text = known.iter().rev().find(is_same);
                        let changed = text.is_some_and(|seen| seen.changed);
                        let item = text.map_or(item, |seen| &seen.item).clone();
                        Some(Seen { item, own, whole: text.is_some(), saved: true, changed, recent })
                    }
                    false => None,
                };
                found.unwrap_or_else(|| Seen::of_file(item))
            })
        };
        state.lines = file.lines.iter().map(held).collect();
        let last = state.entries().next_back().map(|seen| seen.item.id.clone());
        for seen in old.into_iter().filter(|seen| seen.own || seen.changed) {
            let is_gone = state.find(&seen.item.id).is_none() || !seen.saved && !seen.changed && !is_there(&seen);
            if is_gone && !is_kept(&seen) {
                is_lost = true;
            } else if is_gone {
                state.lines.push(Held::Entry(Seen { saved: false, own: true, ..seen }));
            } else if seen.changed
                && let Some(there) = state.entries_mut().rev().find(|other| other.item.id == seen.item.id)
                && !there.saved
            {
                there.item = seen.item;
            }
        }
        if state.leaf.is_some() {
            // The branch goes on where it is gone.
            state.leaf = path.into_iter().rev().find(|id| state.find(id).is_some()).or(last);
        }
        if !grown || file.over == state.over {
            state.before.clone_from(&file.before);
            state.header = if file.format < 3 { migrated(file.header.clone()) } else { file.header.clone() };
        }
        for (key, value) in &state.pending_header {
            state.header.insert(key.clone(), value.clone());
        }
        state.old = file.format < 3;
        (state.inode, state.version) = (file.inode, file.version);
        if !grown {
            (state.over, state.differs) = (file.over, Rc::default());
        }
        if is_lost {
            // It was written long ago, and is nowhere: this is said once.
            self.refuse(ErrorCode::FileChanged);
        }
    }

    fn put(&mut self, state: &State, file: File) {
        let path = state.path.clone().unwrap();
        if self.now == Now::Killed {
            self.written.push((path.clone(), file.clone()));
        }
        self.files.insert(path, file);
    }

    /// Everything is written.
    pub fn write_all(&mut self, state: &mut State) {
        if self.is_full() {
            return;
        }
        let number = self.next();
        state.lay_out();
        let lines = state.lines.iter().map(|line| match line {
            Held::Entry(seen) => Line::Entry(seen.item.clone()),
            Held::Junk(text) => Line::Junk(text.clone()),
            Held::Joint(blank) => Line::Joint(blank),
        });
        let file = File {
            before: state.before.clone(),
            header: state.header.clone(),
            lines: lines.collect(),
            format: 3,
            inode: number,
            version: number,
            over: number,
            half: None,
        };
        self.put(state, file);
        state.entries_mut().filter(|seen| !seen.saved).for_each(|seen| (seen.saved, seen.recent) = (true, true));
        state.entries_mut().for_each(|seen| (seen.recent, seen.changed) = (seen.recent || seen.changed, false));
        (state.over, state.differs) = (number, Rc::default());
        state.pending_header.clear();
        (state.inode, state.version, state.wrote, state.old) = (number, number, true, false);
        (state.closed, state.gone_said) = (false, false);
        state.rewrite = false;
        self.hold(state);
    }

    /// What is unsaved is appended; everything is written when there is no file, or an older one.
    pub fn write_append(&mut self, state: &mut State) {
        let is_there = self.sync(state);
        if self.refused {
            return;
        }
        if is_there {
            self.hold(state);
        }
        if !is_there || state.old || state.rewrite {
            return self.verify_and_write(state);
        }
        if !state.has_unsaved() || self.is_full() {
            return;
        }
        let number = self.next();
        let mut file = self.files[state.path.as_ref().unwrap()].clone();
        for seen in state.entries_mut().filter(|seen| !seen.saved) {
            file.lines.push(Line::Entry(seen.item.clone()));
            (seen.saved, seen.recent, seen.changed) = (true, true, false);
        }
        (file.version, file.half) = (number, None);
        self.put(state, file);
        (state.version, state.wrote, state.closed) = (number, true, false);
    }

    pub fn rewrite(&mut self, state: &mut State) {
        state.rewrite = true;
        let is_there = self.sync(state);
        if !self.refused {
            if is_there {
                self.hold(state);
            }
            self.verify_and_write(state);
        }
    }

    pub fn exists(&self, state: &State) -> bool {
        state.path.as_ref().is_some_and(|path| self.files.contains_key(path)) || self.moved_to(state).is_some()
    }

    pub fn flushed(&mut self, state: &mut State) {
        if !state.started {
            return;
        }
        if self.is_deleted(state) && (state.gone_said || state.wrote) {
            self.refuse(ErrorCode::Gone);
        } else if self.has_lost(state) || state.has_unsaved() || state.rewrite {
            self.write_append(state);
        }
    }

    /// The same, and the file is closed: twice is as once.
    pub fn left(&mut self, state: &mut State) {
        let waits = state.has_unsaved() || state.rewrite || !state.pending_header.is_empty();
        if state.closed && !waits && !state.entries().any(|seen| seen.changed) {
            return;
        }
        self.flushed(state);
        state.closed = !self.refused && self.place.is_files();
    }

    /// What the manager wrote is at the path no more.
    fn has_lost(&self, state: &State) -> bool {
        let inode = state.path.as_ref().and_then(|path| self.files.get(path)).map(|file| file.inode);
        let is_lost = || inode != Some(state.inode) || self.is_stale(state) && self.is_seen(state);
        self.place.is_files() && state.wrote && is_lost()
    }

    /// Everything is there after it: what is unsaved is appended, where that is enough.
    pub fn ensure(&mut self, state: &mut State) {
        let has_changes = state.entries().any(|seen| seen.changed) || !state.pending_header.is_empty();
        state.rewrite |= has_changes || !self.place.is_files();
        self.write_append(state);
    }

    /// The manager that does the step.
    pub fn who(&self, op: &Op) -> usize {
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
            | Op::ForkFrom(who, ..)
            | Op::Artifact(who, _)
            | Op::BranchFile(who, _)
            | Op::Move(who, _)
            | Op::New(who, _)
            | Op::SetFile(who, _)
            | Op::Capture(who)
            | Op::Restore(who)
            | Op::Reopen { who, .. } => usize::from(*who),
            Op::Under(_, op) => self.who(op),
            Op::Second | Op::DropSecond | Op::Outside(_) => 0,
        };
        if self.managers[who].is_some() { who } else { 0 }
    }

    pub fn step(&mut self, op: &Op) {
        next_step();
        self.steps += 1;
        (self.refused, self.code) = (false, None);
        if self.place.is_files() {
            for (path, file) in &self.files {
                self.start.insert(file.inode, (file.clone(), self.place.read(path).unwrap()));
            }
        }
        match op {
            Op::Under(trouble, op) if self.place.is_files() => self.under(trouble, op),
            Op::Under(_, op) => self.do_step(op),
            op => self.do_step(op),
        }
        if self.code == Some(ErrorCode::FileChanged) {
            self.recover(self.who(op));
        }
        self.remember();
    }

    /// With an error in force, what is in memory is written in full by the retry (R32, F2).
    pub fn recover(&mut self, who: usize) {
        self.check_files();
        (self.now, self.refused, self.code) = (Now::Fine, false, None);
        let mut manager = self.managers[who].take().unwrap();
        if manager.real.persist_status().error.is_some() {
            manager.real.ensure_on_disk().unwrap();
            manager.state.started = true;
            self.ensure(&mut manager.state);
            assert!(!self.refused);
        }
        self.managers[who] = Some(manager);
    }

    /// What each manager knows of its file now.
    fn remember(&mut self) {
        if !self.place.is_files() {
            return;
        }
        for state in self.managers.iter_mut().flatten().map(|manager| &mut manager.state) {
            let Some((path, file)) = state.path.as_ref().and_then(|path| self.files.get_key_value(path)) else {
                continue;
            };
            if (file.inode, file.version) != (state.inode, state.version) {
                continue;
            }
            let now = self.place.read(path).unwrap();
            if file.over == state.over {
                state.bytes = Rc::new(now);
            } else if now.len() > state.bytes.len() {
                let more = &now[state.bytes.len()..];
                state.bytes = Rc::new([&state.bytes, more].concat());
            }
        }
    }

    pub fn do_step(&mut self, op: &Op) {
        let who = self.who(op);
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
            Op::Summary(_, pick, at) => self.summary(&mut manager, *pick, *at),
            Op::Rename(_, name, user) => self.rename(&mut manager, *name, *user),
            Op::Rewrite(_, changes) => self.rewrite_entries(&mut manager, changes),
            Op::EnsureOnDisk(_) => self.ensure_on_disk(&mut manager),
            Op::Flush(_) => {
                let result = manager.real.flush();
                self.flushed(&mut manager.state);
                self.settle(result);
            }
            Op::Close(_) => {
                let result = manager.real.close();
                self.left(&mut manager.state);
                if manager.state.closed {
                    manager.state.in_use = None;
                }
                self.settle(result);
            }
            Op::Fork(_) => self.fork(&mut manager),
            Op::ForkFrom(_, pick, to) if self.persisted() => manager = self.fork_from(manager, *pick, *to),
            Op::Artifact(_, content) => self.artifact(&mut manager, *content),
            Op::BranchFile(_, pick) => self.branch_file(&mut manager, *pick),
            Op::Move(_, to) => self.move_to(&mut manager, Path::new(PROJECTS[usize::from(*to)])),
            Op::New(_, parent) => {
                let parent = parent.then_some("an opaque parent");
                let result = manager.real.new_session(parent);
                self.left(&mut manager.state);
                // It has begun also when what was before could not be closed.
                self.begin(&mut manager.state, parent);
                if let Some(path) = self.settle(result) {
                    assert_eq!(path, manager.state.path);
                }
            }
            Op::SetFile(_, target) => self.set_file(&mut manager, target),
            Op::Capture(_) => manager.captured = Some((manager.real.capture_state(), manager.state.clone())),
            Op::Restore(_) => {
                if let Some((real, state)) = manager.captured.clone() {
                    assert_eq!(real.session_id(), state.text("id").unwrap());
                    manager.real.restore_state(real);
                    let in_use = manager.state.in_use.filter(|_| manager.state.path == state.path);
                    let is_same = manager.state.path == state.path;
                    let (wrote, gone_said) = (is_same && manager.state.wrote, is_same && manager.state.gone_said);
                    manager.state = State { wrote, closed: false, in_use, gone_said, ..state };
                }
            }
            Op::Reopen { close, .. } if self.persisted() => manager = self.reopen(manager, *close),
            Op::Second if self.place.is_files() && self.managers[1].is_none() => {
                if let Some(path) = manager.state.path.clone().filter(|path| self.files.contains_key(path)) {
                    let mut second = self.open(&path);
                    if let Some(id) = manager.state.in_use.filter(|id| self.uses.get(id) == Some(&path)) {
                        second.state.in_use = Some(id);
                    }
                    self.managers[1] = Some(second);
                }
            }
            Op::DropSecond => self.managers[1] = None,
            Op::Outside(outside) if self.files.contains_key(manager.state.path.as_deref().unwrap_or(Path::new(""))) => {
                manager = self.outside(manager, outside)
            }
            Op::Reopen { .. } | Op::Second | Op::Outside(_) | Op::ForkFrom(..) => {}
            Op::Under(..) => unreachable!(),
        }
        self.managers[who] = Some(manager);
    }

    pub fn ensure_on_disk(&mut self, manager: &mut Manager) {
        let result = manager.real.ensure_on_disk();
        let state = &mut manager.state;
        let waits = state.has_unsaved() || state.entries().any(|seen| seen.changed) || state.old || state.rewrite;
        let is_there = state.started && !waits && state.pending_header.is_empty() && self.exists(state);
        if self.persisted() && (!is_there || self.has_lost(state)) {
            state.started = true;
            state.gone_said = self.is_deleted(state);
            self.ensure(state);
        }
        self.settle(result);
    }

    /// A new session in a manager's place.
    fn begin(&mut self, state: &mut State, parent: Option<&str>) {
        *state = State::blank(state.dir.clone(), state.cwd.clone());
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
            Target::Old(old) if self.persisted() => {
                let id = format!("old-{}", self.steps);
                let file = self.old_file(old, &id, PROJECTS[2]);
                self.place.replace(&missing, file.text().as_bytes());
                self.files.insert(missing.clone(), file);
                missing
            }
            _ => missing,
        };
        let result = manager.real.set_session_file(&path);
        let state = &mut manager.state;
        self.left(state);
        let before = state.clone();
        if let (false, Some(file)) = (self.refused, self.files.get(&path)) {
            // To write it anew its lock is wanted.
            self.refused |= file.format < 3
                && !self.place.deferred
                && self.now == Now::Locked
                && state.path.as_ref() == Some(&path);
            if !self.refused {
                self.load_and_migrate(state, &path);
                self.hold(state);
            }
        } else if !self.refused {
            self.begin(state, None);
            if self.persisted() {
                (state.path, state.started) = (Some(path.clone()), true);
                self.write_all(state);
            }
        }
        if self.refused {
            *state = before;
            if !self.files.contains_key(&path) {
                // What it was to become a session of.
                self.place.remove_if_there(&path);
            }
        }
        self.settle(result);
    }

    /// Drops a manager and opens what it left, or begins anew where it left nothing.
    fn reopen(&mut self, mut manager: Manager, close: bool) -> Manager {
        if close {
            let result = manager.real.close();
            self.left(&mut manager.state);
            self.settle(result);
        }
        let Manager { real, state, .. } = manager;
        drop(real);
        match state.path.filter(|path| self.files.contains_key(path)) {
            Some(path) => self.open(&path),
            None => self.fresh(&state.cwd),
        }
    }
}
