//! Steps with something in their way: a lock that another process holds, a disk that is full, the
//! end of the process.

use super::ops::{LockFile, Op, Trouble};
use super::state::{File, Manager};
use super::world::{Now, World};
use leaflog::ErrorCode;
use leaflog::internals::faults;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl World {
    pub fn under(&mut self, trouble: &Trouble, op: &Op) {
        let who = self.who(op);
        match trouble {
            Trouble::Locked => {
                let path = self.managers[who].as_ref().unwrap().state.path.clone().unwrap();
                let held = self.place.hold_lock(&path);
                self.now = Now::Locked;
                self.do_step(op);
                drop(held);
            }
            Trouble::LockedBefore => {
                let path = self.managers[who].as_ref().unwrap().state.path.clone().unwrap();
                let held = self.place.hold_lock(&path);
                self.place.change_lock_file(&path, LockFile::Removed);
                self.do_step(op);
                drop(held);
            }
            Trouble::Full { room } => {
                self.now = Now::Full;
                faults::full_disk(usize::from(*room));
                self.do_step(op);
                faults::end();
            }
            Trouble::Killed { at, room } => return self.kill(who, op, usize::from(*at), usize::from(*room)),
        }
        let manager = self.managers[who].as_ref().unwrap();
        let failed = manager.real.persist_status().error.is_some();
        let may_fail = self.now == Now::Full || self.code == Some(ErrorCode::FileChanged);
        assert!(!failed || self.refused && may_fail, "only a failed write stays in force");
        self.recover(who);
    }

    /// Kills the process at an operation of the step: that one and all later ones do nothing. What was
    /// acknowledged is there, and nothing half (R31, R54).
    fn kill(&mut self, who: usize, op: &Op, at: usize, room: usize) {
        let before = (self.files.clone(), self.artifacts.clone());
        let old_path = self.managers[who].as_ref().unwrap().state.path.clone().unwrap();
        (self.now, self.acknowledged) = (Now::Killed, true);
        self.written.clear();
        faults::kill(at, room);
        self.do_step(op);
        let Manager { real, state, .. } = self.managers[who].take().unwrap();
        drop(real);
        faults::end();
        (self.now, self.refused, self.code) = (Now::Fine, false, None);
        let after = std::mem::take(&mut self.files);
        for path in self.place.sessions() {
            let file = self.survivor(&path, &before.0, &after);
            self.files.insert(path, file);
        }
        for path in before.0.keys().filter(|path| !self.files.contains_key(*path)) {
            // Moved: the new file is there before the old one goes.
            let is_there =
                |path: &PathBuf| self.files.get(path).is_some_and(|file| file.texts() == after[path].texts());
            assert!(!after.contains_key(path) && after.keys().all(is_there), "{path:?} is lost");
        }
        if self.acknowledged {
            let paths = |files: &BTreeMap<PathBuf, File>| files.keys().cloned().collect::<Vec<_>>();
            assert_eq!(paths(&self.files), paths(&after));
            for (path, file) in &self.files {
                assert_eq!(file.texts(), after[path].texts(), "{path:?} lost what was acknowledged");
            }
        }
        // A directory of artifacts is moved as one, between the new file and the end of the old (B7).
        let found = self.place.artifacts();
        assert!(found == before.1 || found == self.artifacts, "artifacts are {found:?}");
        self.artifacts = found;
        let path = state.path.filter(|path| self.files.contains_key(path)).unwrap_or(old_path);
        let manager = match self.files.contains_key(&path) {
            true => self.open(&path),
            false => self.fresh(&state.cwd),
        };
        self.managers[who] = Some(manager);
        if matches!(op, Op::Move(..))
            && let Some(other) = self.managers[1 - who].take()
        {
            // What it was told depends on the operation that was the last one.
            let path = other.state.path.clone().filter(|path| self.files.contains_key(path));
            drop(other.real);
            self.managers[1 - who] = match path {
                Some(path) => Some(self.open(&path)),
                None if who == 1 => Some(self.fresh(&other.state.cwd)),
                None => None,
            };
        }
    }

    /// The file of the model that is at the path: as before, or as some write of the step left it, or
    /// torn while it was appended to.
    fn survivor(&mut self, path: &Path, before: &BTreeMap<PathBuf, File>, after: &BTreeMap<PathBuf, File>) -> File {
        let written = self.written.iter().filter(|(known, _)| known == path).map(|(_, file)| file);
        let states: Vec<&File> = before.get(path).into_iter().chain(written).chain(after.get(path)).collect();
        let found = self.place.lines(path);
        if let Some(file) = states.iter().rev().find(|file| file.texts() == found) {
            return (*file).clone();
        }
        for pair in states.windows(2) {
            let (old, new) = (pair[0].texts(), pair[1].texts());
            let whole = found.len() - 1;
            let is_torn = old.len() <= whole && old == found[..old.len()] && new.len() > whole;
            if is_torn && new[..whole] == found[..whole] && new[whole].starts_with(&found[whole]) {
                let mut file = pair[0].clone();
                file.lines = pair[1].cut_to(whole, &found[whole]).unwrap();
                (file.version, file.half) = (self.next(), None);
                return file;
            }
        }
        panic!(
            "{path:?} is neither as before nor as after: {found:.3000?}\n{states:?}",
            states = states.iter().map(|file| file.texts()).collect::<Vec<_>>()
        );
    }
}
