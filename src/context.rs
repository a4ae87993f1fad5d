//! What the model would be sent: `buildSessionContext` (R23-R27).

use crate::entry::{EntryKind, Role, strings, time_ms};
use crate::error::Result;
use crate::json::{Json, push_string};
use crate::tree::Tree;
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

/// Where the context builder gets the text of entries from.
pub(crate) trait Texts {
    /// The entry as stored, in the current version's form.
    fn stored(&mut self, index: u32) -> Result<Cow<'_, [u8]>>;
    /// The entry as an agent sees it after loading: blobs in place of references, no payload that
    /// belongs to a provider connection of another process.
    fn loaded(&mut self, index: u32) -> Result<Cow<'_, [u8]>>;
}

/// The state and the messages along one path of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionContext {
    /// The messages, one JSON object after another.
    text: Vec<u8>,
    /// Where each message ends in `text`.
    ends: Vec<usize>,
    /// The last thinking level; `off` when none was set.
    pub thinking_level: String,
    /// The last service tier that was set and not cleared.
    pub service_tier: Option<String>,
    /// The model of each role, as `provider/id`, in the order the roles were first set.
    pub models: Vec<(String, String)>,
    /// The name of the last cloud context.
    pub active_context_name: Option<String>,
    /// The tenant of the last cloud context.
    pub active_context_tenant: Option<String>,
    /// All rules injected, without duplicates, in the order first seen.
    pub injected_ttsr_rules: Vec<String>,
    /// The last selection of MCP tools.
    pub selected_mcp_tool_names: Vec<String>,
    /// Whether there was a selection of MCP tools.
    pub has_persisted_mcp_tool_selection: bool,
    /// The last mode; `none` when none was set.
    pub mode: String,
    /// The data of the last mode.
    mode_data: Option<Vec<u8>>,
}

impl Default for SessionContext {
    /// The context of a session without entries, and of the place before the first entry (R23).
    fn default() -> Self {
        Self {
            text: Vec::new(),
            ends: Vec::new(),
            thinking_level: "off".to_owned(),
            service_tier: None,
            models: Vec::new(),
            active_context_name: None,
            active_context_tenant: None,
            injected_ttsr_rules: Vec::new(),
            selected_mcp_tool_names: Vec::new(),
            has_persisted_mcp_tool_selection: false,
            mode: "none".to_owned(),
            mode_data: None,
        }
    }
}

impl SessionContext {
    /// The messages, in the order they are sent.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Json<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let message = Json::new(&self.text[start..end]);
            start = end;
            message
        })
    }

    /// One of the messages, counted from 0.
    #[must_use]
    pub fn message(&self, at: usize) -> Option<Json<'_>> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(Json::new(&self.text[start..end]))
    }

    /// The data of the last mode, when it had any.
    #[must_use]
    pub fn mode_data(&self) -> Option<Json<'_>> {
        self.mode_data.as_deref().map(Json::new)
    }

    /// The context as one JSON object with the agent's names. Messages keep their stored
    /// spelling; bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.write_json(Vec::with_capacity(self.text.len() + self.ends.len() + 512), self.messages())
    }

    /// As [`SessionContext::to_json`], with an empty list of messages: for those who read them one
    /// by one.
    #[must_use]
    pub fn state_to_json(&self) -> String {
        self.write_json(Vec::with_capacity(512), std::iter::empty())
    }

    fn write_json<'a>(&self, mut out: Vec<u8>, messages: impl Iterator<Item = Json<'a>>) -> String {
        out.extend_from_slice(b"{\"messages\":[");
        push_list(&mut out, messages, |out, message| out.extend_from_slice(message.bytes()));
        out.push(b']');
        let text = |out: &mut Vec<u8>, key: &str, value: Option<&str>| {
            if let Some(value) = value {
                push_key(out, key);
                push_string(out, value);
            }
        };
        let list = |out: &mut Vec<u8>, key: &str, values: &[String]| {
            push_key(out, key);
            out.push(b'[');
            push_list(out, values.iter(), |out, value| push_string(out, value));
            out.push(b']');
        };
        text(&mut out, "thinkingLevel", Some(&self.thinking_level));
        text(&mut out, "serviceTier", self.service_tier.as_deref());
        push_key(&mut out, "models");
        out.push(b'{');
        push_list(&mut out, self.models.iter(), |out, (role, model)| {
            push_string(out, role);
            out.push(b':');
            push_string(out, model);
        });
        out.push(b'}');
        text(&mut out, "activeContextName", self.active_context_name.as_deref());
        text(&mut out, "activeContextTenant", self.active_context_tenant.as_deref());
        list(&mut out, "injectedTtsrRules", &self.injected_ttsr_rules);
        list(&mut out, "selectedMCPToolNames", &self.selected_mcp_tool_names);
        push_key(&mut out, "hasPersistedMCPToolSelection");
        out.extend_from_slice(self.has_persisted_mcp_tool_selection.to_string().as_bytes());
        text(&mut out, "mode", Some(&self.mode));
        if let Some(data) = &self.mode_data {
            push_key(&mut out, "modeData");
            out.extend_from_slice(data);
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn add_message(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.text);
        self.ends.push(self.text.len());
    }
}

fn push_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, mut push: impl FnMut(&mut Vec<u8>, T)) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, item);
    }
}

fn push_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

/// The state along one path of a session, and which entries give the messages: for callers that
/// have the entries themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContextPlan {
    /// The state; its messages are left out.
    pub state: SessionContext,
    /// What gives the messages, in the order they are sent.
    pub items: Vec<ContextItem>,
}

/// What gives one message of a context: an entry, by its position in the session (R26, R27).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextItem {
    /// The message of a `message` entry, as it is.
    Message(usize),
    /// A `custom_message` entry.
    Custom(usize),
    /// A `branch_summary` entry.
    BranchSummary(usize),
    /// A `compaction` entry.
    Compaction(usize),
    /// A `compaction` entry with a history that a provider compacted itself.
    RemoteCompaction(usize),
}

/// Builds the context of the path from the root to `leaf`.
pub(crate) fn build(tree: &Tree, leaf: u32, texts: &mut impl Texts) -> Result<SessionContext> {
    let ContextPlan { state: mut context, items } = plan(tree, leaf, texts)?;
    for item in items {
        message(item, texts, &mut context)?;
    }
    Ok(context)
}

/// What the context of the path from the root to `leaf` is made of.
pub(crate) fn plan(tree: &Tree, leaf: u32, texts: &mut impl Texts) -> Result<ContextPlan> {
    let path = tree.path(leaf);
    let mut plan = ContextPlan::default();
    state(tree, &path, texts, &mut plan.state)?;
    match path.iter().rposition(|&index| tree.slot(index).kind == EntryKind::Compaction) {
        None => messages(tree, &path, texts, &mut plan.items)?,
        Some(at) => {
            let kept = compaction(tree, &path[..at], texts, path[at], &mut plan.items)?;
            messages(tree, &path[kept..at], texts, &mut plan.items)?;
            messages(tree, &path[at + 1..], texts, &mut plan.items)?;
        }
    }
    Ok(plan)
}

/// The state along the path (R25). Assistant messages are many and only name the default model:
/// of them the first and the last that do are read.
fn state(tree: &Tree, path: &[u32], texts: &mut impl Texts, context: &mut SessionContext) -> Result<()> {
    // Place on the path, role and model of each setting.
    let mut models: Vec<(usize, String, String)> = Vec::new();
    let mut rules: HashSet<String> = HashSet::new();
    for (at, &index) in path.iter().enumerate() {
        let kind = tree.slot(index).kind;
        if !matches!(
            kind,
            EntryKind::ThinkingLevelChange
                | EntryKind::ModelChange
                | EntryKind::ServiceTierChange
                | EntryKind::TtsrInjection
                | EntryKind::McpToolSelection
                | EntryKind::ModeChange
                | EntryKind::ContextChange
        ) {
            continue;
        }
        let text = texts.stored(index)?;
        let entry = Json::new(&text);
        let string = |key| entry.get_str(key).map(Cow::into_owned);
        let absent = |key| entry.get(key).is_none_or(Json::is_null);
        match kind {
            EntryKind::ThinkingLevelChange if absent("thinkingLevel") => context.thinking_level = "off".to_owned(),
            EntryKind::ThinkingLevelChange => {
                context.thinking_level = string("thinkingLevel").unwrap_or_else(|| context.thinking_level.clone());
            }
            EntryKind::ModelChange => {
                if let Some(model) = string("model").filter(|model| !model.is_empty()) {
                    models.push((at, string("role").unwrap_or_else(|| "default".to_owned()), model));
                }
            }
            EntryKind::ServiceTierChange if absent("serviceTier") => context.service_tier = None,
            EntryKind::ServiceTierChange => {
                context.service_tier = string("serviceTier").or_else(|| context.service_tier.take());
            }
            EntryKind::TtsrInjection => {
                for rule in strings(entry.get("injectedRules")) {
                    if !rules.contains(&*rule) {
                        rules.insert(rule.clone().into_owned());
                        context.injected_ttsr_rules.push(rule.into_owned());
                    }
                }
            }
            EntryKind::McpToolSelection => {
                if let Some(names) = entry.get("selectedToolNames").filter(|names| names.is_array()) {
                    context.selected_mcp_tool_names = strings(Some(names)).into_iter().map(Cow::into_owned).collect();
                    context.has_persisted_mcp_tool_selection = true;
                }
            }
            EntryKind::ModeChange => {
                if let Some(mode) = string("mode") {
                    context.mode = mode;
                    context.mode_data = entry.get("data").map(|data| data.bytes().to_owned());
                }
            }
            _ => {
                if let Some(name) = string("contextName") {
                    context.active_context_name = Some(name);
                    context.active_context_tenant = string("tenant");
                }
            }
        }
    }
    let is_default = |(_, role, _): &&(usize, String, String)| role == "default";
    let first = models.iter().find(is_default).map_or(path.len(), |model| model.0);
    let last = models.iter().rev().find(is_default).map_or(0, |model| model.0);
    let mut named =
        |at: usize| assistant_model(tree, path[at], texts).map(|model| Some((at, "default".to_owned(), model?)));
    for at in 0..first {
        if let Some(model) = named(at)? {
            models.push(model);
            break;
        }
    }
    for at in (last..path.len()).rev() {
        if let Some(model) = named(at)? {
            models.push(model);
            break;
        }
    }
    models.sort_by_key(|model| model.0);
    let mut places: HashMap<String, usize> = HashMap::new();
    for (_, role, model) in models {
        match places.get(&role) {
            Some(&at) => context.models[at].1 = model,
            None => {
                places.insert(role.clone(), context.models.len());
                context.models.push((role, model));
            }
        }
    }
    Ok(())
}

/// The model of an assistant message, when it names provider and model.
fn assistant_model(tree: &Tree, index: u32, texts: &mut impl Texts) -> Result<Option<String>> {
    let slot = tree.slot(index);
    if slot.kind != EntryKind::Message || slot.role != Role::Assistant {
        return Ok(None);
    }
    let text = texts.stored(index)?;
    let message = Json::new(&text).get("message");
    let part = |key| message?.get_str(key).filter(|part| !part.is_empty());
    Ok(part("provider").zip(part("model")).map(|(provider, model)| format!("{provider}/{model}")))
}

/// What was compacted (R27). Gives the place in `before`, the path up to the compaction, of the
/// first entry that is kept; its length when none is.
fn compaction(
    tree: &Tree,
    before: &[u32],
    texts: &mut impl Texts,
    index: u32,
    items: &mut Vec<ContextItem>,
) -> Result<usize> {
    let text = texts.loaded(index)?;
    let entry = Json::new(&text);
    if remote_history(entry).is_some() {
        items.push(ContextItem::RemoteCompaction(index as usize));
        return Ok(before.len());
    }
    items.push(ContextItem::Compaction(index as usize));
    let kept = entry.get_wtf8("firstKeptEntryId").and_then(|id| tree.find(&id));
    Ok(before.iter().position(|&index| Some(index) == kept).unwrap_or(before.len()))
}

/// The history that a provider compacted itself: its name and its items.
fn remote_history(compaction: Json<'_>) -> Option<(Json<'_>, Json<'_>)> {
    let remote = compaction.get("preserveData")?.get("openaiRemoteCompaction")?;
    let provider = remote.get("provider").filter(|name| name.as_str().is_some_and(|name| !name.is_empty()))?;
    let items = remote.get("replacementHistory").filter(|items| items.is_array())?;
    Some((provider, items))
}

/// The entries on the path that give messages (R26).
fn messages(tree: &Tree, path: &[u32], texts: &mut impl Texts, items: &mut Vec<ContextItem>) -> Result<()> {
    for &index in path {
        let slot = tree.slot(index);
        let position = index as usize;
        let item = match slot.kind {
            EntryKind::Message if slot.is_usual() => Some(ContextItem::Message(position)),
            EntryKind::Message => {
                let text = texts.stored(index)?;
                let is_object = Json::new(&text).get("message").is_some_and(Json::is_object);
                is_object.then_some(ContextItem::Message(position))
            }
            EntryKind::CustomMessage => Some(ContextItem::Custom(position)),
            EntryKind::BranchSummary => {
                // An empty summary says nothing, and neither does one of another type.
                let text = texts.stored(index)?;
                let says = Json::new(&text).get_str("summary").is_some_and(|summary| !summary.is_empty());
                says.then_some(ContextItem::BranchSummary(position))
            }
            _ => None,
        };
        items.extend(item);
    }
    Ok(())
}

/// Writes one message.
#[allow(clippy::cast_possible_truncation, reason = "positions are those of a tree")]
fn message(item: ContextItem, texts: &mut impl Texts, context: &mut SessionContext) -> Result<()> {
    use ContextItem::{BranchSummary, Compaction, Custom, Message, RemoteCompaction};
    let (Message(at) | Custom(at) | BranchSummary(at) | Compaction(at) | RemoteCompaction(at)) = item;
    let text = texts.loaded(at as u32)?;
    let entry = Json::new(&text);
    let (role, keys): (&str, &[&str]) = match item {
        Message(_) => {
            if let Some(message) = entry.get("message") {
                context.add_message(|out| out.extend_from_slice(message.bytes()));
            }
            return Ok(());
        }
        Custom(_) => ("custom", &["customType", "content", "display", "details", "attribution"]),
        BranchSummary(_) => ("branchSummary", &["summary", "fromId"]),
        Compaction(_) | RemoteCompaction(_) => ("compactionSummary", &["summary", "shortSummary", "tokensBefore"]),
    };
    context.add_message(|out| {
        out.extend_from_slice(b"{\"role\":");
        push_string(out, role);
        copy(out, entry, keys);
        if let (RemoteCompaction(_), Some((provider, items))) = (item, remote_history(entry)) {
            push_key(out, "providerPayload");
            out.extend_from_slice(b"{\"type\":\"openaiResponsesHistory\",\"provider\":");
            out.extend_from_slice(provider.bytes());
            out.extend_from_slice(b",\"items\":");
            out.extend_from_slice(items.bytes());
            out.push(b'}');
        }
        timestamp(out, entry);
    });
    Ok(())
}

/// Copies members of an entry that are there.
fn copy(out: &mut Vec<u8>, entry: Json<'_>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = entry.get(key) {
            push_key(out, key);
            out.extend_from_slice(value.bytes());
        }
    }
}

/// Ends a message with the entry's timestamp in milliseconds; `null` when it is no date, as JSON
/// spells JavaScript's `NaN`.
fn timestamp(out: &mut Vec<u8>, entry: Json<'_>) {
    push_key(out, "timestamp");
    match entry.get("timestamp").and_then(time_ms) {
        Some(ms) => out.extend_from_slice(ms.to_string().as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
