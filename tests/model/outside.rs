//! What other programs do to a file: they append, replace, cut, remove, and know no lock.

use super::append::{LABELS, raw, string, text};
use super::item::{Item, Message, plain};
use super::ops::{Append, Edit, Folder, Old, Outside, Pick, Torn};
use super::state::{File, Held, Line, Manager, slot_line};
use super::world::World;
use leaflog::{ErrorCode, FileSessionStorage};
use serde_json::Map;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

impl World {
    /// Another program does something to the file.
    pub fn outside(&mut self, manager: Manager, outside: &Outside) -> Manager {
        let path = manager.state.path.clone().unwrap();
        if self.place.is_files() {
            return self.outside_at(manager, &path, outside);
        }
        if matches!(outside, Outside::Restored | Outside::Deleted | Outside::LockFile(_) | Outside::Folder(_)) {
            return manager;
        }
        // A storage is used by one manager at a time.
        let Manager { mut real, mut state, .. } = manager;
        real.close().unwrap();
        self.left(&mut state);
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
                let is_old = manager.state.old || self.files[path].format < 3;
                if self.managers[1].is_none() && manager.state.started && !is_old {
                    self.cut(&mut manager, path, *lines, *half);
                }
            }
            Outside::Restored => {
                // What a second one was told is of the files that were before.
                if self.managers[1].is_none() {
                    self.restore_dir(path.parent().unwrap());
                }
            }
            Outside::InPlace { look, .. } => {
                self.change(path, outside);
                if *look {
                    self.look(&manager);
                    self.managers[1].as_ref().inspect(|other| self.look(other));
                }
            }
            Outside::Deleted => self.delete(path),
            Outside::LockFile(how) => self.place.change_lock_file(path, *how),
            Outside::Folder(how) => self.change_folder(path.parent().unwrap(), *how),
            _ => self.change(path, outside),
        }
        manager
    }

    /// Puts a copy of a directory in its place (A4): no file in it is the one that it was.
    fn restore_dir(&mut self, dir: &Path) {
        let aside = dir.with_extension(format!("before-{}", self.steps));
        std::fs::rename(dir, &aside).unwrap();
        copy_all(&aside, dir);
        let paths: Vec<PathBuf> = self.files.keys().filter(|path| path.parent() == Some(dir)).cloned().collect();
        for path in paths {
            let number = self.next();
            let file = self.files.get_mut(&path).unwrap();
            (file.inode, file.version) = (number, number);
        }
        self.uses.retain(|_, path| path.parent() != Some(dir));
    }

    /// Reads the texts of a manager whose file was written over: each is what stands where it stood, or fails.
    fn look(&self, manager: &Manager) {
        let (real, state) = (&manager.real, &manager.state);
        let Some((path, _)) = self.files.iter().find(|(_, file)| file.inode == state.inode) else { return };
        if !self.is_stale(state) {
            return;
        }
        let now = self.place.read(path).unwrap();
        let found = state.found(&now);
        let nodes = state.nodes();
        for (seen, text) in found {
            if !nodes.iter().any(|node| std::ptr::eq(*node, seen)) {
                continue;
            }
            match (real.entry(&seen.item.id).unwrap().text(), text) {
                (Ok(_), Some(_)) if state.old => {}
                (Ok(real), Some(text)) => assert_eq!(real.json().bytes(), text, "{}", seen.item.id),
                (Err(error), None) => {
                    assert_eq!(error.code(), ErrorCode::FileChanged);
                    state.differs.set(true);
                }
                (real, text) => panic!("{real:?} was read, where {text:?} stands"),
            }
        }
    }

    /// Deletes the session on purpose (R56).
    fn delete(&mut self, path: &Path) {
        FileSessionStorage.delete_session_with_artifacts(path).unwrap();
        self.files.remove(path);
        self.artifacts.remove(&path.with_extension(""));
        let told: Vec<u64> = self.uses.iter().filter(|(_, at)| *at == path).map(|(id, _)| *id).collect();
        for id in told {
            self.uses.remove(&id);
            self.deleted.insert(id);
        }
    }

    fn change_folder(&mut self, dir: &Path, how: Folder) {
        let other = dir.with_extension(format!("away-{}", self.steps));
        match how {
            Folder::AwayAndBack => {
                std::fs::rename(dir, &other).unwrap();
                std::fs::rename(&other, dir).unwrap();
                return;
            }
            Folder::Away => std::fs::rename(dir, &other).unwrap(),
            Folder::Removed => std::fs::remove_dir_all(dir).unwrap(),
        }
        self.files.retain(|path, _| path.parent() != Some(dir));
        self.artifacts.retain(|path, _| path.parent() != Some(dir));
        self.uses.retain(|_, path| path.parent() != Some(dir));
    }

    fn change(&mut self, path: &Path, outside: &Outside) {
        let number = self.next();
        let bytes = self.place.read(path).unwrap();
        let newline = if bytes.ends_with(b"\n") { "" } else { "\n" };
        if self.files[path].format < 2 && self.change_first_version(path, outside, &bytes, number) {
            return;
        }
        let file = self.files.get_mut(path).unwrap();
        let ids: Vec<String> = file.items().map(|item| item.id.clone()).collect();
        let pick = |pick: u8| ids.get(usize::from(pick) % ids.len().max(1)).map(|id| &**id);
        let message =
            |at: u8| Message { role: at % 5, extra: at, usage: Some(at), payload: at % 4 == 1, ..Message::default() };
        let time = |at: u8| format!("2026-01-01T00:00:{:02}.000Z", at % 20);
        let half = file.half.take();
        let entry = |at: usize, parent: u8, raw: u8| {
            let id =
                if raw.is_multiple_of(2) { format!("e{number:06x}{at}") } else { format!("ext \"{number}\" {at}") };
            let (kind, body) = match (raw % 5, pick(parent)) {
                (4, Some(target)) => {
                    let label = string("label", Some(LABELS[usize::from(raw % 4)]).filter(|_| !raw.is_multiple_of(3)));
                    ("label", plain(string("targetId", Some(target)) + &label))
                }
                (3, _) => ("unheard_of", plain(",\"message\":null".into())),
                _ => ("message", message(raw).body()),
            };
            Item::new(kind, &id, pick(parent), &time(raw), body)
        };
        match outside {
            Outside::Entries(entries) => {
                let mut text = newline.to_owned();
                for (at, (parent, raw)) in entries.iter().enumerate() {
                    let item = entry(at, *parent, *raw);
                    let nuls = if raw % 7 == 1 { "\0\0" } else { "" };
                    text += &format!("{nuls}{}{nuls}{}\n", item.line(), if raw % 3 == 0 { "\r" } else { "" });
                    file.lines.push(Line::Entry(item));
                }
                self.place.append(path, text.as_bytes());
            }
            Outside::OneLine { entries, torn, trailing } => {
                let blank = [" ", ""][usize::from(trailing % 2)];
                let mut pieces = Vec::new();
                let mut text = newline.to_owned();
                for (at, (parent, raw)) in entries.iter().enumerate() {
                    if at > 0 {
                        pieces.push(Line::Joint(blank));
                        text += blank;
                    }
                    let mut item = entry(at, *parent, *raw);
                    if let Some(Torn { parent, len, is_parent, .. }) =
                        torn.as_ref().filter(|torn| usize::from(torn.at) % entries.len() == at)
                    {
                        let id = match &half {
                            // It has no newline yet.
                            Some(half) if at == 0 => {
                                text.clear();
                                half.id.clone()
                            }
                            _ => {
                                let id = format!("t{number}");
                                let item = Item::new("message", &id, pick(*parent), &time(4), message(*len).body());
                                let line = item.line();
                                let len = line.floor_char_boundary(1 + usize::from(*len) * (line.len() - 2) / 255);
                                let len = whole_keys(line.as_bytes(), len);
                                text += &line[..len];
                                pieces.push(Line::Junk(line[..len].to_owned()));
                                id
                            }
                        };
                        pieces.push(Line::Joint(""));
                        if *is_parent {
                            item = item.with_parent(Some(id));
                        }
                    }
                    text += &item.line();
                    pieces.push(Line::Entry(item));
                }
                const TRAILING: &[&str] =
                    &["trailing", "}", "{\"type\":\"message\",\"id\":\"lost\",\"parentId\":null,\"time"];
                if let Some(trailing) = TRAILING.get(usize::from(*trailing)).filter(|_| torn.is_none()) {
                    pieces.extend([Line::Joint(blank), Line::Junk((*trailing).to_owned())]);
                    text = text + blank + trailing;
                }
                self.place.append(path, (text + "\n").as_bytes());
                file.lines.append(&mut pieces);
            }
            Outside::Joined(picks) => {
                for pick in picks {
                    let at = usize::from(*pick) % file.lines.len().max(1);
                    let is_behind_value = at == 0 || matches!(file.lines[at - 1], Line::Entry(_));
                    if is_behind_value && matches!(file.lines.get(at), Some(Line::Entry(_))) {
                        file.lines.insert(at, Line::Joint([" ", ""][usize::from(pick % 2)]));
                    }
                }
                file.inode = number;
                self.place.replace(path, file.text().as_bytes());
            }
            Outside::Spread(parent, raw) => {
                let item =
                    Item::new("message", &format!("s{number}"), pick(*parent), &time(*raw), message(*raw).body());
                let line = item.spaced().line().replacen("\"message\": ", "\"message\":\n", 1);
                self.place.append(path, format!("{newline}{line}\n").as_bytes());
                file.lines.push(Line::Spread(item.spaced()));
            }
            Outside::Duplicate(id, parent, raw) => {
                let Some(id) = pick(*id) else { return };
                let (kind, body) = match (raw % 4, pick(raw / 4)) {
                    (3, Some(target)) => {
                        ("label", plain(string("targetId", Some(target)) + &string("label", Some("d"))))
                    }
                    _ => ("message", message(*raw).body()),
                };
                let item = Item::new(kind, id, pick(*parent), &time(*raw), body);
                self.place.append(path, format!("{newline}{}\n", item.line()).as_bytes());
                file.lines.push(Line::Entry(item));
            }
            Outside::Slot { title, source, first, len } => {
                let source = [None, Some("user"), Some("auto")][usize::from(*source)];
                let mut slot = slot_line(text(*title), source, &time(7));
                // A hand has been there, or another version of the program.
                slot = match len {
                    0 | 1 => slot,
                    2 => slot.replacen("\"pad\":\" ", "\"pad\":\"", 1),
                    _ => slot.replacen("\"pad\":\"", "\"pad\":\"   ", 1),
                };
                if *first {
                    file.before = vec![slot];
                    file.inode = number;
                    self.place.replace(path, file.text().as_bytes());
                } else {
                    self.place.append(path, format!("{newline}{slot}\n").as_bytes());
                    file.lines.push(Line::Junk(slot));
                }
            }
            Outside::Old(old) => {
                let id = file.header["id"].as_str().unwrap().to_owned();
                let cwd = file.header["cwd"].as_str().unwrap().to_owned();
                let mut file = self.old_file(old, &id, &cwd);
                file.inode = number;
                self.place.replace(path, file.text().as_bytes());
                self.files.insert(path.to_owned(), file);
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
                    "[1,2]",
                    "null",
                    "{\"type\":\"session\"}",
                    "{\"type\":\"message\",\"id\":\"lost\",\"parentId\":null,\"time",
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
            Outside::Replace { without, changed, title } => {
                edit(file, changed);
                let without: Vec<String> = without.iter().filter_map(|at| pick(*at)).map(str::to_owned).collect();
                file.without(&without);
                if let Some(title) = title {
                    file.header.insert("title".into(), text(*title).into());
                }
                file.inode = number;
                // An editor of another system: with a byte order mark, and its own ends of lines.
                let is_spread = file.damage()[1] > 0;
                let text = match title.filter(|_| file.format == 3 && !is_spread) {
                    Some(title) if title % 3 == 1 => format!("\u{feff}{}", file.text()),
                    Some(title) if title % 3 == 2 => file.text().replace('\n', "\r\n"),
                    _ => file.text(),
                };
                self.place.replace(path, text.as_bytes());
            }
            Outside::InPlace { without, changed, title, .. } => {
                let has_duplicates = ids.iter().any(|id| ids.iter().filter(|other| *other == id).count() > 1);
                if has_duplicates {
                    // Whether a change that no index has is seen does not matter then.
                    let second = (number % 60) as u8;
                    edit(file, &changed.iter().map(|(pick, _)| (*pick, Edit::Time(second))).collect::<Vec<_>>());
                } else {
                    edit(file, changed);
                }
                let without: Vec<String> = without.iter().filter_map(|at| pick(*at)).map(str::to_owned).collect();
                file.without(&without);
                if let Some(title) = title {
                    file.header.insert("title".into(), text(*title).into());
                }
                let text = file.text();
                if text.as_bytes() == bytes {
                    file.half = half;
                    return;
                }
                self.place.write_over(path, text.as_bytes());
                file.over = number;
            }
            Outside::Delete => {
                self.place.remove(path);
                self.files.remove(path);
                return;
            }
            Outside::Cut { .. } | Outside::Restored | Outside::Deleted | Outside::LockFile(_) | Outside::Folder(_) => {
                unreachable!()
            }
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
        let piece = if half { whole_keys(&bytes[ends[at]..], (next - ends[at]) / 2) } else { 0 };
        let len = ends[at] + piece;
        let trimmed = |line: &&[u8]| !line.iter().all(|byte| matches!(byte, b' ' | b'\0' | b'\r'));
        let whole = bytes[..ends[at]].split(|byte| *byte == b'\n').filter(trimmed).count();
        let piece = String::from_utf8_lossy(&bytes[ends[at]..len]).trim_matches(['\0', ' ', '\r']).to_owned();
        let rest = self.files[path].cut_to(whole, &piece);
        self.place.cut(path, len);
        let number = self.next();
        let state = &mut manager.state;
        if len == bytes.len() {
            // It ended there.
        } else if let Some(rest) = rest {
            let file = self.files.get_mut(path).unwrap();
            (file.lines, file.version, file.half) = (rest, number, None);
            file.over = number;
            self.start.insert(file.inode, (file.clone(), bytes[..len].to_vec()));
        } else {
            let file = self.files.remove(path).unwrap();
            self.start.insert(file.inode, (File { over: number, ..file.clone() }, bytes[..len].to_vec()));
            manager.captured = None;
            if file.inode == state.inode {
                state.before.clear();
                // What this manager had long ago is lost with the file, which is said once.
                let readable = state.found(&bytes[..len]);
                let lost: Vec<String> = readable
                    .iter()
                    .filter(|(seen, text)| seen.own && !seen.recent && text.is_none())
                    .map(|(seen, _)| seen.item.id.clone())
                    .collect();
                if !lost.is_empty() {
                    self.refuse(ErrorCode::FileChanged);
                }
                state.lines.retain(|line| {
                    matches!(line, Held::Entry(seen) if (seen.own || seen.changed) && !lost.contains(&seen.item.id))
                });
                state.over = number;
                state.entries_mut().for_each(|seen| seen.saved = false);
                if state.leaf.as_ref().is_some_and(|leaf| state.find(leaf).is_none()) {
                    state.leaf = None;
                }
            }
        }
        let answer = Message { role: 1, ..Message::default() };
        self.append_what(manager, &Append::Message(answer));
        if self.refused && !self.files.contains_key(path) {
            // No session is there until the retry.
            manager.real.ensure_on_disk().unwrap();
            (self.refused, self.code, manager.state.started) = (false, None, true);
            self.ensure(&mut manager.state);
        }
    }

    /// What is done to a file of version 1, where ids follow from the numbers of lines. `false`: it is
    /// done as to any other.
    fn change_first_version(&mut self, path: &Path, outside: &Outside, bytes: &[u8], number: u64) -> bool {
        let newline = if bytes.ends_with(b"\n") { "" } else { "\n" };
        let file = self.files.get_mut(path).unwrap();
        match outside {
            Outside::Junk(_) | Outside::Old(_) | Outside::Delete | Outside::Slot { first: false, .. } => return false,
            // It would change the numbers.
            Outside::Slot { .. } | Outside::InPlace { .. } => return true,
            Outside::Replace { .. } => {
                self.place.replace(path, bytes);
                file.inode = number;
            }
            _ => {
                let line = bytes.iter().filter(|byte| **byte == b'\n').count() + newline.len() + 1;
                let id = file.header["id"].as_str().unwrap();
                let parent = file.items().last().map(|item| item.id.clone());
                // A message, not a compaction.
                let item = first_version((number % 50) as u8 * 5, id, line, parent, &[]);
                self.place.append(path, format!("{newline}{}\n", item.old_line()).as_bytes());
                file.lines.push(Line::Entry(item));
            }
        }
        self.files.get_mut(path).unwrap().version = number;
        true
    }

    /// A file of version 1 or 2.
    pub fn old_file(&mut self, old: &Old, id: &str, cwd: &str) -> File {
        let number = self.next();
        let mut header = Map::new();
        header.insert("type".into(), "session".into());
        if old.version == 2 {
            header.insert("version".into(), 2.into());
        }
        for (key, value) in [("id", id), ("timestamp", "2026-01-01T00:00:00.000Z"), ("cwd", cwd)] {
            header.insert(key.into(), value.into());
        }
        let mut file = File {
            before: Vec::new(),
            header,
            lines: Vec::new(),
            format: old.version,
            inode: number,
            version: number,
            over: number,
            half: None,
        };
        for raw in &old.entries {
            if raw % 7 == 6 {
                file.lines.push(Line::Junk("not json".into()));
                continue;
            }
            let known: Vec<String> = file.items().map(|item| item.id.clone()).collect();
            let parent = known.last().cloned();
            let item = match old.version {
                1 => first_version(*raw, id, file.lines.len() + 2, parent, &known),
                _ => second_version(*raw, &format!("v{number}-{}", known.len()), parent.as_deref()),
            };
            file.lines.push(Line::Entry(item));
        }
        file
    }
}

/// Changes entries of a file, but for one of an older version.
fn edit(file: &mut File, changes: &[(Pick, Edit)]) {
    if file.format < 3 {
        return;
    }
    let mut items: Vec<&mut Item> = file.lines.iter_mut().filter_map(Line::item_mut).collect();
    let count = items.len();
    for (pick, edit) in changes.iter().filter(|_| count > 0) {
        let item = &mut *items[usize::from(*pick) % count];
        *item = match edit {
            Edit::Whole(message) if item.kind == "message" => item.with_body(message.body()),
            Edit::Key if item.kind == "message" => item.with_other_key(),
            Edit::Time(second) => item.with_time(&format!("2026-01-01T00:01:{:02}.000Z", second % 60)),
            Edit::Key | Edit::Whole(_) => item.with_time("2026-01-01T00:02:00.000Z"),
        };
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy_all(&entry, &target);
        } else {
            std::fs::copy(&entry, target).unwrap();
        }
    }
}

fn old_message(at: u8) -> (String, String) {
    let role = ["user", "hookMessage", "assistant"][usize::from(at % 3)];
    let message =
        |role: &str| format!(",\"message\":{{\"role\":\"{role}\",\"content\":{}}}", raw(at).replace('\n', " "));
    (message(role), message(if role == "hookMessage" { "custom" } else { role }))
}

/// An entry of version 1: no id, no parent. `line` is its number in the file (R10), `known` are the
/// entries before it.
fn first_version(at: u8, session: &str, line: usize, parent: Option<String>, known: &[String]) -> Item {
    let digest = Sha256::digest(format!("{session}:{line}").as_bytes());
    let id: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let time = format!("2026-01-01T00:00:{:02}.000Z", at % 20);
    let item = |kind: &str| Item::new(kind, &id, parent.as_deref(), &time, plain(String::new()));
    let parent = parent.as_ref().map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let added = format!(",\"id\":\"{id}\",\"parentId\":{parent}");
    let (kind, before, after) = if at % 5 == 4 {
        // The header is value 0, the first entry value 1.
        let number = usize::from(at / 5) % (known.len() + 2);
        let kept = number.checked_sub(1).and_then(|at| known.get(at)).map(String::as_str);
        let kept = if number == known.len() + 1 { Some(&*id) } else { kept };
        let kept = string("firstKeptEntryId", kept);
        let (start, end) = (",\"summary\":\"s\"", ",\"tokensBefore\":7");
        ("compaction", format!("{start},\"firstKeptEntryIndex\":{number}{end}"), format!("{start}{end}{added}{kept}"))
    } else {
        let (old, new) = old_message(at);
        ("message", old, new + &added)
    };
    let line = |fields: &str| format!("{{\"type\":\"{kind}\",\"timestamp\":\"{time}\"{fields}}}");
    item(kind).migrated(line(&before), line(&after))
}

fn second_version(at: u8, id: &str, parent: Option<&str>) -> Item {
    let time = format!("2026-01-01T00:00:{:02}.000Z", at % 20);
    let item = Item::new("message", id, parent, &time, plain(String::new()));
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let (old, new) = old_message(at);
    let line = |fields: &str| {
        format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"{fields}}}")
    };
    item.migrated(line(&old), line(&new))
}

/// Where an entry's line is torn.
fn half_of(line: &str) -> usize {
    whole_keys(line.as_bytes(), line.floor_char_boundary(line.len() / 2))
}

/// A place before `at` where the line can be torn, and not in the first key of an object inside: whether that is the start of
/// another entry nobody can say.
fn whole_keys(line: &[u8], at: usize) -> usize {
    let begun = line[..at].windows(2).rposition(|pair| pair == b"{\"").filter(|&begun| begun > 0);
    begun.filter(|&begun| !line[begun + 2..at].contains(&b'"')).unwrap_or(at)
}
