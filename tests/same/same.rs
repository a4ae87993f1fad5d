//! Does what a script says through the Rust interface; the same as `same.c` and `same.mjs` do through theirs.
//!
//! `same run SCRIPT LOG` works in the current folder. `same random SEED` and `same files immediate|deferred` print a
//! script.
//!
//! A script has one operation a line, its fields separated by tabs:
//!
//! - `~` is an absent field, `{{N:TEXT}}` in any field is TEXT, N times.
//! - TEXT: `%XX` is a byte of UTF-8. LIST: such texts, separated by commas.
//! - JSON: as it stands. It has to be what `JSON.stringify(JSON.parse(JSON))` gives: JavaScript hands over objects,
//!   which keep neither the spelling of numbers nor the place of keys that are numbers.
//! - @K: the id of the entry at position K of the session, counted from 0 and beginning anew after the last.
//! - PATH: a TEXT, or `=K`: the Kth of the session files there have been, in the same way.
//!
//! `continue` is for the project of this terminal's last session only: which of two files was written last is a matter of
//! the machine's clock. `change` makes the entry at @K have another message and writes the file anew, when `message` made
//! that entry.
//!
//! The log has a line for each operation: its number, what it gave or the code of its error, and the leaf. So ids and
//! errors are compared too.
#![allow(clippy::unwrap_used, reason = "a script that is wrong ends the program")]

mod scripts;

use leaflog::{
    Compaction, CustomMessage, DirNaming, Durability, ManagerOptions, MigrationRewrite, Result, SequenceGenerator,
    SessionInit, SessionManager, SessionState, TitleSource,
};
use std::env::{args, current_dir};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

fn main() {
    let args: Vec<String> = args().skip(1).collect();
    match &*args.iter().map(String::as_str).collect::<Vec<_>>() {
        ["run", script, log] => run(&fs::read_to_string(script).unwrap(), log),
        ["random", seed] => print!("{}", scripts::random(seed.parse().unwrap())),
        ["files", migration] => print!("{}", scripts::files(migration)),
        _ => panic!("same run SCRIPT LOG | same random SEED | same files MIGRATION"),
    }
}

fn run(script: &str, log: &str) {
    let mut runner = Runner::new();
    let mut lines = String::new();
    for (number, line) in (1..).zip(script.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = expand(line);
        let fields = Fields(line.split('\t').collect());
        let result = runner.step(&fields).unwrap_or_else(|error| error.code().to_string());
        let manager = runner.managers[runner.used].as_ref();
        let leaf = manager.and_then(|manager| manager.leaf()).and_then(|leaf| leaf.id());
        writeln!(lines, "{number}\t{}\t{result}\t{}", fields.0[0], leaf.as_deref().unwrap_or("-")).unwrap();
        let file = manager.and_then(|manager| manager.session_file()).map(|file| file.to_str().unwrap().to_owned());
        runner.files.extend(file.filter(|file| !runner.files.contains(file)));
    }
    fs::write(log, lines).unwrap();
    for mut manager in runner.managers.into_iter().flatten() {
        // As far as it can be written.
        let _: Result<()> = manager.close();
    }
}

/// `{{N:TEXT}}` written out.
fn expand(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        let (count, after) = after.split_once(':').unwrap();
        let (text, after) = after.split_once("}}").unwrap();
        out.push_str(before);
        out.push_str(&text.repeat(count.parse().unwrap()));
        rest = after;
    }
    out + rest
}

fn text(field: &str) -> String {
    let mut parts = field.split('%');
    let mut out = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        out.push(u8::from_str_radix(&part[..2], 16).unwrap());
        out.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(out).unwrap()
}

struct Fields<'a>(Vec<&'a str>);

impl<'a> Fields<'a> {
    fn text(&self, at: usize) -> String {
        text(self.0[at])
    }

    fn optional(&self, at: usize) -> Option<String> {
        self.json(at).map(text)
    }

    fn list(&self, at: usize) -> Vec<String> {
        self.0[at].split(',').filter(|item| !item.is_empty()).map(text).collect()
    }

    /// As it stands; `None` when it is absent.
    fn json(&self, at: usize) -> Option<&'a str> {
        Some(self.0[at]).filter(|field| *field != "~")
    }

    fn choice(&self, at: usize) -> Option<bool> {
        self.json(at).map(|field| field == "yes")
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.0[at] == word
    }
}

#[derive(Default)]
struct Runner {
    managers: [Option<SessionManager>; 3],
    states: [Option<SessionState>; 3],
    used: usize,
    options: ManagerOptions,
    files: Vec<String>,
    /// The ids of entries that `message` made.
    messages: Vec<String>,
}

impl Runner {
    fn new() -> Self {
        // 2026-02-16T10:00:00.000Z, a second for each id.
        let generator = SequenceGenerator::new(1_771_236_000_000, 1000);
        let options = ManagerOptions::new().agent_dir(current_dir().unwrap().join("agent"));
        Self { options: options.generator(Arc::new(generator)), ..Self::default() }
    }

    fn path(&self, fields: &Fields, at: usize) -> PathBuf {
        match fields.0[at].strip_prefix('=') {
            None => fields.text(at).into(),
            Some(_) if self.files.is_empty() => "in/none.jsonl".into(),
            Some(k) => self.files[k.parse::<usize>().unwrap() % self.files.len()].clone().into(),
        }
    }

    /// Puts a manager where one was, which is closed.
    fn put(&mut self, make: impl FnOnce(ManagerOptions) -> Result<SessionManager>) -> Result<String> {
        if let Some(mut before) = self.managers[self.used].take() {
            before.close()?;
        }
        self.states[self.used] = None;
        self.managers[self.used] = Some(make(self.options.clone())?);
        done(())
    }

    fn step(&mut self, fields: &Fields) -> Result<String> {
        let options = self.options.clone();
        match fields.0[0] {
            "use" => self.used = fields.0[1].parse().unwrap(),
            "options" => {
                let deferred = fields.is(1, "deferred");
                let relative = fields.is(2, "home-relative");
                let every = fields.is(3, "every-append");
                self.options = options
                    .migration_rewrite(if deferred { MigrationRewrite::Deferred } else { MigrationRewrite::Immediate })
                    .dir_naming(if relative { DirNaming::HomeRelative } else { DirNaming::Absolute })
                    .durability(if every { Durability::EveryAppend } else { Durability::Flush });
            }
            "create" => return self.put(|options| options.create(fields.text(1))),
            "memory" => return self.put(|options| options.in_memory(fields.text(1))),
            "continue" => return self.put(|options| options.continue_recent(fields.text(1))),
            "open" => {
                let path = self.path(fields, 1);
                return self.put(|options| options.open(path));
            }
            "fork-from" => {
                let path = self.path(fields, 1);
                return self.put(|options| options.fork_from(path, fields.text(2)));
            }
            // What another program does to a file.
            "tail" => {
                let Ok(mut file) = OpenOptions::new().append(true).open(self.path(fields, 1)) else {
                    return Ok("no file".into());
                };
                file.write_all(fields.text(2).as_bytes()).unwrap();
            }
            "remove" => return Ok(if fs::remove_file(self.path(fields, 1)).is_ok() { "ok" } else { "no file" }.into()),
            _ => return self.work(fields),
        }
        done(())
    }

    fn work(&mut self, fields: &Fields) -> Result<String> {
        let path = if matches!(fields.0[0], "set-file") { self.path(fields, 1) } else { PathBuf::new() };
        let Some(manager) = &mut self.managers[self.used] else { return Ok("no session".into()) };
        let id_at = |manager: &SessionManager, at: usize| {
            let k: usize = fields.0[at][1..].parse().unwrap();
            let entries = manager.entries();
            let position = k.checked_rem(entries.len());
            let entry = position.and_then(|position| manager.entries().nth(position));
            entry.and_then(|entry| entry.id()).map(|id| id.into_owned()).unwrap_or_default()
        };
        match fields.0[0] {
            "set-file" => done(manager.set_session_file(path)?),
            "new" => done(manager.new_session(fields.optional(1).as_deref())?),
            "fork" => done(manager.fork()?),
            "branched" => done(manager.create_branched_session(&id_at(manager, 1))?),
            "move" => done(manager.move_to(fields.text(1))?),
            "flush" => done(manager.flush()?),
            "close" => done(manager.close()?),
            "ensure" => done(manager.ensure_on_disk()?),
            "rewrite" => done(manager.rewrite_entries(&[])?),
            // What it gives is about objects in JavaScript; the file is the same.
            "sanitize" => done(manager.sanitize_loaded_openai_responses_replay_metadata()?),
            "capture" => {
                self.states[self.used] = Some(manager.capture_state());
                done(())
            }
            "restore" => {
                if let Some(state) = &self.states[self.used] {
                    manager.restore_state(state.clone());
                }
                done(())
            }
            "name" => {
                let source = if fields.is(1, "user") { TitleSource::User } else { TitleSource::Auto };
                Ok(manager.set_session_name(&fields.text(2), source)?.to_string())
            }
            "message" => {
                let result = manager.append_message(fields.0[1]);
                self.messages.extend(result.iter().cloned());
                Ok(result?)
            }
            "change" => {
                let id = id_at(manager, 1);
                if !self.messages.contains(&id) {
                    return Ok("not a message of this script".into());
                }
                let Some(entry) = manager.entry(&id) else { return done(()) };
                let before = String::from_utf8(entry.text()?.into_bytes()).unwrap();
                let (base, _) = before.split_once(r#","message":"#).unwrap();
                let text = format!(r#"{base},"message":{}}}"#, fields.0[2]);
                done(manager.rewrite_entries(&[(&id, &text)])?)
            }
            "thinking" => Ok(manager.append_thinking_level_change(fields.optional(1).as_deref())?),
            "tier" => Ok(manager.append_service_tier_change(fields.optional(1).as_deref())?),
            "mode" => Ok(manager.append_mode_change(&fields.text(1), fields.json(2))?),
            "context" => Ok(manager.append_context_change(&fields.text(1), &fields.text(2), &fields.text(3))?),
            "model" => Ok(manager.append_model_change(&fields.text(1), fields.optional(2).as_deref())?),
            "init" => {
                let tools = fields.list(3);
                Ok(manager.append_session_init(&SessionInit {
                    system_prompt: &fields.text(1),
                    task: &fields.text(2),
                    tools: &tools.iter().map(String::as_str).collect::<Vec<_>>(),
                    output_schema: fields.json(4),
                })?)
            }
            "compaction" => {
                let first_kept_entry_id = id_at(manager, 3);
                Ok(manager.append_compaction(&Compaction {
                    summary: &fields.text(1),
                    short_summary: fields.optional(2).as_deref(),
                    first_kept_entry_id: &first_kept_entry_id,
                    tokens_before: fields.0[4].parse().unwrap(),
                    from_extension: fields.choice(5),
                    details: fields.json(6),
                    preserve_data: fields.json(7),
                })?)
            }
            "custom" => Ok(manager.append_custom_entry(&fields.text(1), fields.json(2))?),
            "custom-message" => Ok(manager.append_custom_message(&CustomMessage {
                custom_type: &fields.text(1),
                display: fields.is(2, "yes"),
                attribution: fields.optional(3).as_deref(),
                details: fields.json(4),
                content: fields.0[5],
            })?),
            "mcp" => Ok(manager.append_mcp_tool_selection(&fields.list(1))?),
            "ttsr" => Ok(manager.append_ttsr_injection(&fields.list(1))?),
            "label" => {
                let id = id_at(manager, 1);
                Ok(manager.append_label_change(&id, fields.optional(2).as_deref())?)
            }
            "branch" => {
                let id = id_at(manager, 1);
                done(manager.branch(&id)?)
            }
            "reset" => {
                manager.reset_leaf();
                done(())
            }
            "branch-summary" => {
                let id = fields.json(1).map(|_| id_at(manager, 1));
                Ok(manager.branch_with_summary(id.as_deref(), &fields.text(2), fields.json(4), fields.choice(3))?)
            }
            "artifact" => manager.save_artifact(fields.text(2).as_bytes(), &fields.text(1)),
            "allocate" => {
                let made = manager.allocate_artifact_path(&fields.text(1))?;
                Ok(made.map_or_else(|| "none".into(), |(id, _)| id))
            }
            "blob" => Ok(manager.blobs().put(fields.text(1).as_bytes())?.reference()),
            other => panic!("there is no operation {other}"),
        }
    }
}

#[allow(clippy::unnecessary_wraps, reason = "it ends what can fail")]
fn done<T>(_: T) -> Result<String> {
    Ok("ok".into())
}
