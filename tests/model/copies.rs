//! Steps that go on in another file: forks, branches, moves.

use super::append::string;
use super::item::{Item, plain};
use super::ops::Pick;
use super::place::{Where, last_entries, last_session, now};
use super::state::{Held, Manager, Seen, State, header, new_header};
use super::world::{Now, PROJECTS, World};
use leaflog::ErrorCode;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

impl World {
    /// A copy takes the place of the session, which is at `from`.
    fn became(
        &mut self,
        state: &mut State,
        lines: Vec<Seen>,
        header: Map<String, Value>,
        path: Option<PathBuf>,
        from: Option<&Path>,
    ) {
        let before = state.clone();
        let seen = |seen: Seen| {
            // A text that was in memory stays there, when the line in the copy is another.
            let recent = (!seen.saved || seen.changed) && seen.item.shown(true, true) != seen.item.line();
            Held::Entry(Seen { saved: true, changed: false, recent, ..seen })
        };
        state.lines = lines.into_iter().map(seen).collect();
        (state.header, state.path) = (header, path);
        state.before.clear();
        state.pending_header.clear();
        if state.path.is_some() {
            state.started = true;
            self.write_all(state);
        }
        if self.refused {
            *state = before;
            return;
        }
        // Artifacts come along.
        let artifacts = from.and_then(|from| self.artifacts.get(&from.with_extension("")));
        if let (Some(path), Some(artifacts)) = (&state.path, artifacts.cloned()) {
            self.artifacts.insert(path.with_extension(""), artifacts);
        }
    }

    pub fn fork(&mut self, manager: &mut Manager) {
        let result = manager.real.fork();
        let state = &mut manager.state;
        if !self.persisted() {
            assert_eq!(self.settle(result).unwrap(), None);
            return;
        }
        self.follow(state);
        if !self.refused {
            self.left(state);
        }
        self.verify(state);
        if self.refused {
            self.settle(result);
            return;
        }
        let old = state.path.clone().unwrap();
        let new = self.new_path(&state.dir).unwrap();
        let [title, source] = state.title();
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
        let lines = copied(state);
        self.became(state, lines, header, Some(new.clone()), Some(&old));
        if let Some(fork) = self.settle(result) {
            let fork = fork.unwrap();
            assert_eq!((fork.old_session_file, fork.new_session_file), (old, new));
        }
    }

    pub fn fork_from(&mut self, manager: Manager, pick: Pick, to: u8) -> Manager {
        let known: Vec<PathBuf> = self.files.keys().cloned().collect();
        let cwd = Path::new(PROJECTS[usize::from(to)]);
        let options = self.place.options();
        let Some(source) = known.get(usize::from(pick) % known.len().max(1)) else {
            let nothing = self.place.project(cwd).join("nothing.jsonl");
            assert_eq!(options.fork_from(nothing, cwd).unwrap_err().code(), ErrorCode::NotFound);
            return manager;
        };
        drop(manager);
        let real = options.fork_from(source, cwd).unwrap();
        let mut state = State::blank(self.place.project(cwd), cwd.to_owned());
        self.load(&mut state, source);
        let header = new_header(cwd, state.text("id"), state.title());
        let lines = copied(&state);
        let path = self.new_path(&state.dir);
        self.became(&mut state, lines, header, path, Some(source));
        Manager { real, state, captured: None }
    }

    pub fn branch_file(&mut self, manager: &mut Manager, pick: Pick) {
        let Some(leaf) = manager.state.pick(pick) else {
            assert_eq!(manager.real.create_branched_session("none").unwrap_err().code(), ErrorCode::EntryNotFound);
            return;
        };
        let result = manager.real.create_branched_session(&leaf);
        self.follow(&mut manager.state);
        if !self.refused {
            self.left(&mut manager.state);
        }
        self.verify(&mut manager.state);
        let state = &mut manager.state;
        if self.refused {
            self.settle(result);
            return;
        }
        if state.find(&leaf).is_none() {
            // It went with a file that somebody replaced.
            assert!(self.now == Now::Killed || result.unwrap_err().code() == ErrorCode::EntryNotFound);
            self.acknowledged &= self.now != Now::Killed;
            return;
        }
        let mut lines: Vec<Seen> = Vec::new();
        // Labels so far, and what comes next of what stays.
        let mut left_out: Vec<(String, Option<String>)> = Vec::new();
        for seen in state.path_to(&leaf) {
            if seen.item.kind == "label" {
                left_out.push((seen.item.id.clone(), None));
                continue;
            }
            let mut seen = seen.clone();
            for (label, next) in &mut left_out {
                let next = next.get_or_insert_with(|| seen.item.id.clone());
                if seen.item.kind == "compaction" {
                    seen.item = seen.item.with_first_kept(label, next);
                }
            }
            // The child of a label that is left out hangs on what the label hung on.
            let parent_is_label = seen
                .item
                .parent
                .as_ref()
                .and_then(|id| state.find(id))
                .is_some_and(|parent| parent.item.kind == "label");
            // What damage explains is written down: the damage is not copied (G1).
            if parent_is_label || state.find(&seen.item.id).is_some_and(|seen| state.instead(seen).is_some()) {
                seen.item = seen.item.with_parent(lines.last().map(|seen| seen.item.id.clone()));
            }
            lines.push(seen);
        }
        let kept: Vec<_> =
            state.labels().into_iter().filter(|(target, _)| lines.iter().any(|seen| seen.item.id == *target)).collect();
        for (id, (target, label)) in last_entries(kept.len()).iter().zip(kept) {
            let is_new = state.find(id).is_none() && lines.iter().all(|seen| seen.item.id != *id);
            assert!(is_new || result.is_err(), "{id} is used");
            let after = string("targetId", Some(&target)) + &string("label", Some(&label));
            let parent = lines.last().map(|seen| seen.item.id.clone());
            let mut seen = Seen::of_file(&Item::new("label", id, parent.as_deref(), &now(), plain(after)));
            (seen.own, seen.whole) = (true, true);
            lines.push(seen);
        }
        let old = state.path.clone();
        let parent = old.as_ref().map(|path| path.to_str().unwrap().to_owned());
        let header = new_header(&state.cwd, parent, state.title());
        let path = self.new_path(&state.dir);
        let leaf = lines.last().map(|seen| seen.item.id.clone());
        self.became(state, lines, header, path.clone(), old.as_deref());
        if !self.refused {
            state.leaf = leaf;
        }
        if let Some(made) = self.settle(result) {
            assert_eq!(made, path);
        }
    }

    pub fn move_to(&mut self, manager: &mut Manager, cwd: &Path) {
        let result = manager.real.move_to(cwd);
        let state = &mut manager.state;
        self.follow(state);
        if self.refused || cwd == state.cwd {
            self.settle(result);
            return;
        }
        let dir = self.place.project(cwd);
        let to_there = |state: &mut State| {
            state.set_header("cwd", cwd.to_str().unwrap());
            (state.cwd, state.dir) = (cwd.to_owned(), dir.clone());
        };
        let Some(old) = state.path.clone() else {
            self.settle(result);
            to_there(state);
            state.pending_header.clear();
            // Where a session that is kept nowhere would be.
            state.dir = manager.real.session_dir().to_owned();
            return;
        };
        let new = dir.join(old.file_name().unwrap());
        if new == old {
            let before = state.clone();
            to_there(state);
            if state.started {
                self.rewrite(state);
            }
            if self.refused {
                let gone_said = state.gone_said;
                *state = State { gone_said, ..before };
            }
            self.settle(result);
            return;
        }
        self.left(state);
        if !self.refused && state.started && self.is_deleted(state) && !state.gone_said {
            state.gone_said = true;
            self.refuse(ErrorCode::Gone);
        }
        if self.refused {
            // What failed is put back, and is open again.
            state.closed = false;
            self.settle(result);
            return;
        }
        let artifacts = (old.with_extension(""), new.with_extension(""));
        let has_artifacts = self.place.place != Where::Memory && self.artifacts.contains_key(&artifacts.0);
        if self.files.contains_key(&new) || has_artifacts && self.artifacts.contains_key(&artifacts.1) {
            state.closed = false;
            let error = result.unwrap_err();
            self.acknowledged &= self.now != Now::Killed;
            assert!(self.now != Now::Fine || error.code() == ErrorCode::AlreadyExists);
            return;
        }
        let (before, uses) = (state.clone(), self.uses.clone());
        if !self.refused {
            let had_file = self.exists(state) && self.sync(state);
            self.verify(state);
            state.started |= had_file;
            if self.refused || !state.started {
                state.in_use = None;
            } else {
                // The others are told.
                self.hold(state);
                self.uses.retain(|_, path| *path != new);
                self.uses.insert(state.in_use.unwrap_or_default(), new.clone());
            }
            state.path = Some(new);
            to_there(state);
            if state.started && !self.refused {
                self.write_all(state);
            }
        }
        if self.refused {
            (*state, self.uses) = (State { closed: false, ..before }, uses);
        } else {
            self.files.remove(&old);
            if has_artifacts && let Some(files) = self.artifacts.remove(&artifacts.0) {
                self.artifacts.insert(artifacts.1, files);
            }
        }
        self.settle(result);
    }
}

/// All entries. Those that hang on something because of damage name it: the damage is not copied (G1).
fn copied(state: &State) -> Vec<Seen> {
    let with_parent = |seen: &Seen| match state.instead(seen) {
        Some(above) => Seen { item: seen.item.with_parent(Some(above.item.id.clone())), ..seen.clone() },
        None => seen.clone(),
    };
    state.entries().map(with_parent).collect()
}
