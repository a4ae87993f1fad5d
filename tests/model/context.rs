//! R23-R27 once more, over texts.

use serde::Deserialize as _;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// The members of an object as spelled; of those of one name the last.
fn members(text: &str) -> HashMap<String, Box<RawValue>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    parser.disable_recursion_limit();
    HashMap::deserialize(&mut parser).unwrap()
}

pub struct Entry {
    pub id: String,
    pub kind: String,
    pub time_ms: i64,
    pub text: String,
}

#[derive(Debug, Default, PartialEq)]
pub struct Context {
    pub messages: Vec<String>,
    pub thinking: String,
    pub tier: Option<String>,
    pub models: Vec<(String, String)>,
    pub name: Option<String>,
    pub tenant: Option<String>,
    pub rules: Vec<String>,
    pub tools: Vec<String>,
    pub has_tools: bool,
    pub mode: String,
    pub mode_data: Option<String>,
}

#[allow(clippy::borrowed_box, reason = "what a map of raw values gives")]
fn raw(value: Option<&Box<RawValue>>) -> Option<&RawValue> {
    value.map(|value| &**value)
}

fn string(value: Option<&RawValue>) -> Option<String> {
    value.and_then(|value| serde_json::from_str(value.get()).ok())
}

fn list(value: Option<&RawValue>) -> Vec<String> {
    value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
}

/// `path`: the entries from the root to the leaf.
pub fn context(path: &[Entry]) -> Context {
    let mut context = Context { thinking: "off".into(), mode: "none".into(), ..Context::default() };
    for entry in path {
        let fields = members(&entry.text);
        let text = |key: &str| string(raw(fields.get(key)));
        match &*entry.kind {
            "thinking_level_change" => context.thinking = text("thinkingLevel").unwrap_or_else(|| "off".into()),
            "service_tier_change" => context.tier = text("serviceTier"),
            "model_change" => {
                let model = text("model").unwrap();
                set(&mut context.models, text("role").unwrap_or_else(|| "default".into()), model);
            }
            "message" => {
                let Some(message) = fields.get("message").filter(|message| message.get().starts_with('{')) else {
                    continue;
                };
                let message = members(message.get());
                let part = |key: &str| string(raw(message.get(key))).filter(|part| !part.is_empty());
                if part("role").as_deref() == Some("assistant")
                    && let (Some(provider), Some(model)) = (part("provider"), part("model"))
                {
                    set(&mut context.models, "default".into(), format!("{provider}/{model}"));
                }
            }
            "ttsr_injection" => {
                for rule in list(raw(fields.get("injectedRules"))) {
                    if !context.rules.contains(&rule) {
                        context.rules.push(rule);
                    }
                }
            }
            "mcp_tool_selection" => {
                (context.tools, context.has_tools) = (list(raw(fields.get("selectedToolNames"))), true);
            }
            "mode_change" => {
                context.mode = text("mode").unwrap();
                context.mode_data = fields.get("data").map(|data| data.get().to_owned());
            }
            "context_change" => {
                (context.name, context.tenant) = (text("contextName"), text("tenant"));
            }
            _ => {}
        }
    }
    match path.iter().rposition(|entry| entry.kind == "compaction") {
        None => path.iter().for_each(|entry| context.messages.extend(message(entry))),
        Some(at) => {
            let fields = members(&path[at].text);
            let mut summary = "{\"role\":\"compactionSummary\"".to_owned();
            copy(&mut summary, &fields, &["summary", "shortSummary", "tokensBefore"]);
            let remote = fields
                .get("preserveData")
                .map(|data| members(data.get()))
                .and_then(|data| data.get("openaiRemoteCompaction").map(|remote| members(remote.get())));
            if let Some(remote) = &remote {
                summary += ",\"providerPayload\":{\"type\":\"openaiResponsesHistory\",\"provider\":";
                summary += remote["provider"].get();
                summary += ",\"items\":";
                summary += remote["replacementHistory"].get();
                summary += "}";
            }
            context.messages.push(format!("{summary},\"timestamp\":{}}}", path[at].time_ms));
            let first = string(raw(fields.get("firstKeptEntryId")));
            let kept = path[..at].iter().position(|entry| Some(&entry.id) == first.as_ref()).unwrap_or(at);
            let kept = if remote.is_some() { at } else { kept };
            path[kept..at].iter().for_each(|entry| context.messages.extend(message(entry)));
            path[at + 1..].iter().for_each(|entry| context.messages.extend(message(entry)));
        }
    }
    context
}

fn set(models: &mut Vec<(String, String)>, role: String, model: String) {
    match models.iter_mut().find(|(known, _)| *known == role) {
        Some(known) => known.1 = model,
        None => models.push((role, model)),
    }
}

fn copy(out: &mut String, fields: &HashMap<String, Box<RawValue>>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = fields.get(*key) {
            *out += &format!(",\"{key}\":{}", value.get());
        }
    }
}

/// R26.
fn message(entry: &Entry) -> Option<String> {
    let fields = members(&entry.text);
    match &*entry.kind {
        "message" => fields.get("message").map(|message| message.get().to_owned()).filter(|text| text.starts_with('{')),
        "custom_message" => {
            let mut out = "{\"role\":\"custom\"".to_owned();
            copy(&mut out, &fields, &["customType", "content", "display", "details", "attribution"]);
            Some(format!("{out},\"timestamp\":{}}}", entry.time_ms))
        }
        "branch_summary" if string(raw(fields.get("summary"))).is_some_and(|summary| !summary.is_empty()) => {
            let mut out = "{\"role\":\"branchSummary\"".to_owned();
            copy(&mut out, &fields, &["summary", "fromId"]);
            Some(format!("{out},\"timestamp\":{}}}", entry.time_ms))
        }
        _ => None,
    }
}

/// Input, output and cost of an entry (R8).
pub fn usage(entry: &Entry) -> [f64; 3] {
    let none = [0.0; 3];
    let fields = members(&entry.text);
    let Some(message) = fields.get("message").filter(|message| message.get().starts_with('{')) else { return none };
    let message = members(message.get());
    let usage = match string(raw(message.get("role"))).as_deref() {
        _ if entry.kind != "message" => None,
        Some("assistant") => message.get("usage").cloned(),
        Some("toolResult") if string(raw(message.get("toolName"))).as_deref() == Some("task") => {
            message.get("details").and_then(|details| members(details.get()).remove("usage"))
        }
        _ => None,
    };
    let Some(usage) = usage else { return none };
    let usage: serde_json::Value = serde_json::from_str(usage.get()).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
    [number(&usage["input"]), number(&usage["output"]), number(&usage["cost"]["total"])]
}
