//! Steps that append or change entries of the session that a manager has.

use super::item::{Body, FULL, Item, Message, RAW, plain, quoted};
use super::ops::{Append, Pick};
use super::place::{last_entries, now};
use super::state::{Held, Manager, Seen, State};
use super::world::{Now, World};
use leaflog::{AppendError, Compaction, CustomMessage, Error, ErrorCode, SessionInit, SessionManager, TitleSource};
use std::rc::Rc;

const TEXTS: &[&str] = &["plain", "q\"\\\n\u{2028}", "\u{7f}\u{1}\u{e9}\u{1f600}", "", "image_url", "x"];
pub const LABELS: &[&str] = &["keep", "b\"q", "", "\u{e9}\u{2028}"];
/// Names as given, and what they are cleaned to.
const NAMES: &[(&str, Option<&str>)] = &[
    ("Plan", Some("Plan")),
    ("  a\n\t b\u{0} ", Some("a b")),
    ("\u{85}\u{feff} ", None),
    ("q\"\\\u{2028}q", Some("q\"\\\u{2028}q")),
    ("", None),
    ("\u{1f600}", Some("\u{1f600}")),
];

pub fn text(at: u8) -> &'static str {
    TEXTS[usize::from(at) % TEXTS.len()]
}

pub fn raw(at: u8) -> &'static str {
    RAW[usize::from(at) % RAW.len()]
}

/// `,"key":value`, or nothing.
fn member(key: &str, value: Option<String>) -> String {
    value.map_or_else(String::new, |value| format!(",\"{key}\":{}", value.replace('\n', " ")))
}

pub fn string(key: &str, value: Option<&str>) -> String {
    value.map_or_else(String::new, |value| format!(",\"{key}\":{}", quoted(value)))
}

impl World {
    fn append(
        &mut self,
        manager: &mut Manager,
        kind: &str,
        body: Body,
        real: impl FnOnce(&mut SessionManager) -> Result<String, AppendError>,
    ) {
        let assistant = kind == "message" && body(FULL).1.starts_with(",\"message\":{\"role\":\"assistant\"");
        let result = real(&mut manager.real);
        let state = &mut manager.state;
        if self.persisted() && state.started {
            self.sync(state);
        }
        // An entry that could not be written is in memory all the same (R32), and the error has its id (B23).
        let id = match &result {
            Ok(id) => id.clone(),
            Err(error) => match error.entry_id() {
                Some(id) => id.to_owned(),
                // What it was to hang on went with a file that somebody replaced.
                None => {
                    assert_eq!(self.now, Now::Killed, "{error}");
                    self.acknowledged = false;
                    return;
                }
            },
        };
        assert_eq!(id, last_entries(1).remove(0));
        assert!(id.len() == 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{id}");
        let item = Item::new(kind, &id, state.leaf.as_deref(), &now(), body);
        assert!(result.is_err() || state.find(&id).is_none(), "{id} is used");
        let (own, whole, saved) = (true, true, !self.persisted());
        state.lines.push(Held::Entry(Seen { item, own, whole, saved, changed: false, recent: false }));
        state.leaf = Some(id);
        if self.persisted() && (state.started || assistant) {
            state.started = true;
            self.write_append(state);
        }
        self.settle(result.map_err(Error::from));
    }

    pub fn summary(&mut self, manager: &mut Manager, pick: Option<Pick>, at: u8) {
        let from = pick.and_then(|pick| manager.state.pick(pick));
        if self.persisted() && manager.state.started {
            self.sync(&mut manager.state);
        }
        if from.as_ref().is_some_and(|from| manager.state.find(from).is_none()) {
            // It went with a file that somebody replaced.
            let error = manager.real.branch_with_summary(from.as_deref(), text(at), None, None).unwrap_err();
            assert_eq!((error.code(), error.entry_id()), (ErrorCode::EntryNotFound, None));
            return;
        }
        manager.state.leaf.clone_from(&from);
        let after = string("fromId", from.as_deref().or(Some("root"))) + &string("summary", Some(text(at)));
        self.append(manager, "branch_summary", plain(after), |real| {
            real.branch_with_summary(from.as_deref(), text(at), None, None)
        });
    }

    pub fn append_what(&mut self, manager: &mut Manager, what: &Append) {
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

    pub fn rename(&mut self, manager: &mut Manager, name: u8, user: bool) {
        let (given, cleaned) = NAMES[usize::from(name) % NAMES.len()];
        let source = if user { TitleSource::User } else { TitleSource::Auto };
        let state = &mut manager.state;
        let expected = cleaned.filter(|_| user || state.title()[1].as_deref() != Some("user"));
        let result = manager.real.set_session_name(given, source);
        if let Some(name) = expected {
            state.set_header("title", name);
            state.set_header("titleSource", if user { "user" } else { "auto" });
            if self.exists(state) {
                state.started = true;
                self.rewrite(state);
            }
        }
        if let Some(taken) = self.settle(result) {
            assert_eq!(taken, expected.is_some());
        }
    }

    /// Where an entry stood that is read, something else stands.
    fn cannot_read(&self, state: &State, is_read: impl Fn(&str) -> bool) -> bool {
        let Some((_, now)) = self.start.get(&state.inode) else { return false };
        state.found(now).iter().any(|(seen, text)| text.is_none() && is_read(&seen.item.id))
    }

    pub fn rewrite_entries(&mut self, manager: &mut Manager, changes: &[(Pick, Message)]) {
        let state = &mut manager.state;
        let mut items: Vec<Item> = Vec::new();
        for (pick, message) in changes {
            let nodes = state.nodes();
            let can = |seen: &&&Seen| matches!(&*seen.item.kind, "message" | "label");
            let can: Vec<String> = nodes.iter().filter(can).map(|seen| seen.item.id.clone()).collect();
            let Some(id) = can.get(usize::from(*pick) % can.len().max(1)) else { continue };
            let before = items.iter().rev().find(|item| item.id == *id);
            let before = before.unwrap_or_else(|| &state.find(id).unwrap().item);
            let body = match &*before.kind {
                "label" => {
                    let label = LABELS[usize::from(message.text) % LABELS.len()];
                    plain(string("targetId", Some(id)) + &string("label", Some(label)))
                }
                _ => message.body(),
            };
            items.push(before.with_body(body));
        }
        let texts: Vec<String> = items.iter().map(|item| item.text(FULL)).collect();
        let texts: Vec<(&str, &str)> = items.iter().zip(&texts).map(|(item, text)| (&*item.id, &**text)).collect();
        let result = manager.real.rewrite_entries(&texts);
        if self.is_stale(state) && self.cannot_read(state, |id| items.iter().any(|item| item.id == id)) {
            // What a text is to take the place of is not there: the file is read again first.
            state.differs.set(true);
            if !self.sync(state) {
                self.verify(state);
            }
            if self.refused {
                self.settle(result);
                return;
            }
            if items.iter().any(|item| state.find(&item.id).is_none()) {
                assert_eq!(result.unwrap_err().code(), ErrorCode::EntryNotFound);
                return;
            }
        }
        for item in items {
            let seen = state.entries_mut().rev().find(|seen| seen.item.id == item.id).unwrap();
            (seen.item, seen.whole, seen.changed) = (item, true, true);
        }
        if self.persisted() {
            state.started = true;
            self.rewrite(state);
        }
        self.settle(result);
    }

    /// The file of an artifact, of which there are as many as in the folder.
    pub fn artifact(&mut self, manager: &mut Manager, content: u8) {
        let id = manager.real.save_artifact(&[content], "tool").unwrap();
        assert!(id.parse::<usize>().is_ok());
        let Some(dir) = manager.real.artifacts_dir() else {
            assert!(manager.state.path.is_none());
            return;
        };
        let path = self.moved_to(&manager.state).or(manager.state.path.clone()).unwrap();
        assert_eq!(dir, path.with_extension(""));
        let known = self.artifacts.entry(dir).or_default();
        assert_eq!(id, known.len().to_string());
        known.insert(format!("{id}.tool.log"), vec![content]);
    }
}
