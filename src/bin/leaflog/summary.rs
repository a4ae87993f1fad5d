//! What an entry says, on one line.

use crate::style::Style;
use crate::text::{first_line, long_size, one_line, short_id, thousands, width};
use leaflog::{Body, EntryText, Json, JsonKind, Role};
use std::borrow::Cow;

/// Pieces of one line, each in its style; nothing in them can reach a terminal and do harm.
#[derive(Debug, Default)]
pub struct Line {
    pub pieces: Vec<(Style, String)>,
    /// Columns left.
    room: usize,
}

impl Line {
    fn new(room: usize) -> Self {
        Self { pieces: Vec::new(), room }
    }

    fn push(&mut self, style: Style, text: &str) {
        self.push_within(style, text, self.room);
    }

    /// Adds what fits of `text` into `most` columns. A blank goes between pieces.
    fn push_within(&mut self, style: Style, text: &str, most: usize) {
        let blank = usize::from(!self.pieces.is_empty());
        let most = most.min(self.room);
        if most <= blank {
            return;
        }
        let text = one_line(text, most - blank);
        if !text.is_empty() {
            self.room -= width(&text) + blank;
            self.pieces.push((style, text));
        }
    }

    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.pieces.iter().map(|(_, text)| text.as_str()).collect();
        texts.join(" ")
    }
}

/// The first line of what an entry says, within `room` columns.
pub fn line(entry: &EntryText<'_>, room: usize) -> Line {
    let mut line = Line::new(room);
    let or = |text: Option<Cow<'_, str>>, other: &str| text.map_or_else(|| other.to_owned(), Cow::into_owned);
    match entry.body() {
        Body::Message(Some(message)) => self::message(&mut line, message),
        Body::Message(None) => line.push(Style::Faint, "(no message)"),
        Body::ThinkingLevelChange { level } => line.push(Style::Plain, &or(level, "off")),
        Body::ModelChange { model, role } => {
            line.push(Style::Plain, &or(model, "(no model)"));
            if let Some(role) = role.filter(|role| role != "default") {
                line.push(Style::Faint, &format!("for {role}"));
            }
        }
        Body::ServiceTierChange { tier } => line.push(Style::Plain, &or(tier, "(default)")),
        Body::Compaction { summary, short_summary, tokens_before, .. } => {
            let tokens = tokens_before.map(|tokens| format!("({} tokens before)", number(tokens)));
            let short = short_summary.filter(|text| !text.trim().is_empty());
            let said = short.or(summary).unwrap_or_default();
            let reserved = tokens.as_ref().map_or(0, |tokens| tokens.len() + 1);
            line.push_within(Style::Plain, first_line(&said), line.room.saturating_sub(reserved));
            line.push(Style::Faint, &tokens.unwrap_or_default());
        }
        Body::BranchSummary { from_id, summary, .. } => {
            line.push(Style::Faint, &format!("from {}:", from_id.map_or_else(|| "?".to_owned(), |id| short_id(&id))));
            line.push(Style::Plain, first_line(&summary.unwrap_or_default()));
        }
        Body::Custom { custom_type, data } => {
            line.push(Style::Plain, &or(custom_type, "(no type)"));
            line.push(Style::Faint, &data.map(short_json).unwrap_or_default());
        }
        Body::CustomMessage { custom_type, content, display, .. } => {
            custom(&mut line, custom_type, content, display);
        }
        Body::Label { target_id, label } => {
            let target = target_id.map_or_else(|| "?".to_owned(), |id| short_id(&id));
            match label.filter(|label| !label.is_empty()) {
                Some(label) => line.push(Style::Plain, &format!("{target} is [{label}]")),
                None => line.push(Style::Plain, &format!("{target} has no label any more")),
            }
        }
        Body::TtsrInjection { rules } => line.push(Style::Plain, &rules.join(", ")),
        Body::McpToolSelection { tools } if tools.is_empty() => line.push(Style::Plain, "(none)"),
        Body::McpToolSelection { tools } => line.push(Style::Plain, &tools.join(", ")),
        Body::SessionInit { task, tools, .. } => {
            line.push(Style::Plain, first_line(&task.unwrap_or_default()));
            line.push(Style::Faint, &format!("(tools: {})", tools.join(", ")));
        }
        Body::ModeChange { mode, .. } => line.push(Style::Plain, &or(mode, "(no mode)")),
        Body::ContextChange { context_name, tenant, namespace } => {
            line.push(Style::Plain, &or(context_name, "(no name)"));
            for (what, value) in [("tenant", tenant), ("namespace", namespace)] {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    line.push(Style::Faint, &format!("{what} {value}"));
                }
            }
        }
        _ => {
            const COMMON: [&str; 4] = ["type", "id", "parentId", "timestamp"];
            for (key, value) in entry.json().members().filter(|(key, _)| !COMMON.contains(&&**key)) {
                line.push(Style::Faint, &format!("{key}={}", short_json(value)));
            }
        }
    }
    line
}

fn message(line: &mut Line, message: Json<'_>) {
    let role = message.get_str("role");
    let content = Content::read(message.get("content"));
    match role.as_deref().map(Role::from_name) {
        Some(Role::Assistant) => assistant(line, message, &content),
        Some(Role::ToolResult) => {
            let failed = message.get("isError").and_then(Json::as_bool) == Some(true);
            line.push_within(Style::Plain, &tool_name(message.get_str("toolName")), line.room / 2);
            line.push(if failed { Style::Error } else { Style::Faint }, if failed { "error:" } else { "ok:" });
            content.push(line, 0);
        }
        Some(Role::BashExecution) => command(line, "$", message.get_str("command"), message),
        Some(Role::PythonExecution) => command(line, ">>>", message.get_str("code"), message),
        Some(Role::FileMention) => {
            let files = message.get("files");
            let paths = files.iter().flat_map(|files| files.items()).filter_map(|file| file.get_str("path"));
            line.push(Style::Plain, &paths.collect::<Vec<_>>().join(", "));
        }
        Some(Role::Custom | Role::HookMessage) => {
            custom(
                line,
                message.get_str("customType"),
                message.get("content"),
                message.get("display").and_then(Json::as_bool),
            );
        }
        Some(Role::BranchSummary | Role::CompactionSummary) => {
            line.push(Style::Plain, first_line(&message.get_str("summary").unwrap_or_default()));
        }
        _ => content.push(line, 0),
    }
    if line.pieces.is_empty() {
        line.push(Style::Faint, "(empty)");
    }
}

fn assistant(line: &mut Line, message: Json<'_>, content: &Content<'_>) {
    // What it said gets two thirds of the room when it also called tools.
    let reserved = if content.calls.is_empty() { 0 } else { line.room / 3 };
    content.push(line, reserved);
    if line.pieces.is_empty()
        && content.calls.is_empty()
        && let Some(thinking) = &content.thinking
    {
        line.push(Style::Faint, &format!("(thinking) {}", first_line(thinking)));
    }
    for call in &content.calls {
        line.push(Style::Tool, &format!("→ {call}"));
    }
    let reason = message.get_str("stopReason");
    if let Some(reason) = reason.filter(|reason| matches!(&**reason, "error" | "aborted")) {
        let why = message.get_str("errorMessage").unwrap_or_default();
        line.push(Style::Error, &format!("{reason}: {}", first_line(&why)));
    }
}

fn command(line: &mut Line, prompt: &str, command: Option<Cow<'_, str>>, message: Json<'_>) {
    let end = if message.get("cancelled").and_then(Json::as_bool) == Some(true) {
        Some("cancelled".to_owned())
    } else {
        message.get("exitCode").and_then(Json::as_f64).filter(|&code| code != 0.0).map(|code| format!("exit {code}"))
    };
    let reserved = end.as_ref().map_or(0, |end| end.len() + 1);
    let command = command.unwrap_or_default();
    line.push_within(Style::Plain, &format!("{prompt} {}", first_line(&command)), line.room.saturating_sub(reserved));
    line.push(Style::Error, &end.unwrap_or_default());
}

fn custom(line: &mut Line, custom_type: Option<Cow<'_, str>>, content: Option<Json<'_>>, display: Option<bool>) {
    line.push(Style::Faint, &format!("{}:", custom_type.as_deref().unwrap_or("(no type)")));
    if display == Some(false) {
        line.push(Style::Faint, "(hidden)");
    }
    Content::read(content).push(line, 0);
}

/// A message's content, sorted.
#[derive(Default)]
struct Content<'a> {
    /// The first text that is not blank.
    text: Option<Cow<'a, str>>,
    thinking: Option<Cow<'a, str>>,
    calls: Vec<String>,
    images: Vec<String>,
}

impl<'a> Content<'a> {
    fn read(content: Option<Json<'a>>) -> Self {
        let mut read = Self::default();
        let Some(content) = content else { return read };
        if let Some(text) = content.as_str() {
            read.text = Some(text).filter(|text| !text.trim().is_empty());
        }
        for block in content.items() {
            match block.get_str("type").as_deref() {
                Some("text") if read.text.is_none() => {
                    read.text = block.get_str("text").filter(|text| !text.trim().is_empty());
                }
                Some("thinking") if read.thinking.is_none() => {
                    read.thinking = block.get_str("thinking").filter(|text| !text.trim().is_empty());
                }
                Some("toolCall") => read.calls.push(call(block)),
                Some("image") => read.images.push(image(block, "")),
                _ => {}
            }
        }
        read
    }

    /// Adds text and images, leaving `reserved` columns.
    fn push(&self, line: &mut Line, reserved: usize) {
        let images: usize = self.images.iter().map(|image| width(image) + 1).sum();
        let reserved = reserved.max(images.min(line.room / 2));
        if let Some(text) = &self.text {
            line.push_within(Style::Plain, first_line(text), line.room.saturating_sub(reserved));
        }
        for image in &self.images {
            line.push(Style::Faint, image);
        }
    }
}

/// A tool call: the tool and its main argument.
fn call(block: Json<'_>) -> String {
    let name = tool_name(block.get_str("name"));
    match block.get("arguments").and_then(main_argument) {
        Some(argument) => format!("{name} {}", first_line(&argument)),
        None => name,
    }
}

pub fn tool_name(name: Option<Cow<'_, str>>) -> String {
    name.filter(|name| !name.is_empty()).map_or_else(|| "(no name)".to_owned(), Cow::into_owned)
}

/// The argument that says most about a call.
pub fn main_argument(arguments: Json<'_>) -> Option<Cow<'_, str>> {
    const TELLING: [&str; 12] = [
        "command",
        "cmd",
        "code",
        "pattern",
        "query",
        "url",
        "path",
        "file_path",
        "file",
        "task",
        "prompt",
        "description",
    ];
    if let Some(text) = arguments.as_str() {
        return Some(text);
    }
    let telling = TELLING.iter().find_map(|key| arguments.get_str(key));
    telling.or_else(|| arguments.members().find_map(|(_, value)| value.as_str())).filter(|text| !text.trim().is_empty())
}

/// `[image image/png 12.1 kB]`; `of_blob` stands in place of the size when there
/// is only a reference.
pub fn image(block: Json<'_>, of_blob: &str) -> String {
    let mime = block.get_str("mimeType").unwrap_or(Cow::Borrowed("of unknown type"));
    let size = match block.get("data") {
        Some(data) if data.kind() == JsonKind::String => {
            let inner = &data.bytes()[1..data.bytes().len() - 1];
            if inner.starts_with(b"blob:sha256:") {
                of_blob.to_owned()
            } else {
                let padding = inner.iter().rev().take_while(|&&byte| byte == b'=').count();
                format!(" {}", long_size((inner.len() * 3 / 4).saturating_sub(padding) as u64))
            }
        }
        _ => " without data".to_owned(),
    };
    format!("[image {}{size}]", one_line(&mime, 40))
}

/// A JSON value's text, cut.
pub fn short_json(value: Json<'_>) -> String {
    const MOST: usize = 400;
    let bytes = value.bytes();
    if bytes.len() <= MOST {
        return value.text().into_owned();
    }
    format!("{}…", String::from_utf8_lossy(&bytes[..MOST]).trim_end_matches('\u{fffd}'))
}

/// A number as people write it: whole ones with commas.
pub fn number(number: f64) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && (0.0..EXACT).contains(&number) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        return thousands(number as u64);
    }
    number.to_string()
}

/// The name of a role, or of a type, as stored; from the text when it is one this version does
/// not know.
pub fn names<'a>(text: &'a EntryText<'_>) -> (Cow<'a, str>, Option<Cow<'a, str>>) {
    let role = text.json().get("message").and_then(|message| message.get_str("role"));
    let kind = text.type_name();
    let role = role.filter(|_| kind == "message");
    (kind, role)
}

/// The columns of a short name.
pub const NAME_COLUMNS: usize = 10;

/// The cleaned name of a role or type in at most ten columns: the common ones in one short word.
pub fn short_name(kind: &str, role: Option<&str>) -> String {
    let name = match (kind, role) {
        ("message", Some("hookMessage")) => "hook",
        ("message", Some("bashExecution")) => "bash",
        ("message", Some("pythonExecution")) => "python",
        ("message", Some("branchSummary")) => "branch",
        ("message", Some("compactionSummary")) => "compaction",
        ("message", Some("fileMention")) => "files",
        ("message", Some(role)) => role,
        ("thinking_level_change", _) => "thinking",
        ("model_change", _) => "model",
        ("service_tier_change", _) => "tier",
        ("branch_summary", _) => "branch",
        ("custom", _) => "state",
        ("custom_message", _) => "custom",
        ("ttsr_injection", _) => "rules",
        ("mcp_tool_selection", _) => "mcp tools",
        ("session_init", _) => "init",
        ("mode_change", _) => "mode",
        ("context_change", _) => "context",
        (kind, _) => kind,
    };
    one_line(name, NAME_COLUMNS)
}

/// The style of a role or type.
pub fn style(kind: &str, role: Option<&str>) -> Style {
    match (kind, role) {
        ("message", Some("user" | "bashExecution" | "pythonExecution" | "fileMention")) => Style::User,
        ("message", Some("assistant")) => Style::Assistant,
        ("message", Some("toolResult")) => Style::Tool,
        ("compaction" | "branch_summary", _) => Style::Summary,
        ("message" | "custom_message", _) => Style::Plain,
        _ => Style::State,
    }
}
