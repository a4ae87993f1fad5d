//! `leaflog context`: what the model would be sent.

use crate::args::ContextArgs;
use crate::fail::{Exit, Failure, complain};
use crate::open::Input;
use crate::output::Out;
use crate::style::Style;
use crate::summary::{image, main_argument, number, short_json, tool_name};
use crate::text::{count, lines, one_line, safe_json, width};
use crate::{open, show};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use leaflog::{EntryRef, Json, Leaf, Role, SessionContext, SessionView};
use std::collections::HashSet;
use std::io::Write as _;

/// Lines shown of a text, and of what tools returned or the model thought.
const TEXT_LINES: usize = 100;
const RESULT_LINES: usize = 8;
const THINKING_LINES: usize = 3;
const SUMMARY_LINES: usize = 40;

pub fn run(args: &ContextArgs, out: &mut Out) -> Result<Exit, Failure> {
    let (input, view) = open::session(&args.file, args.blobs.as_deref())?;
    let name = input.name();
    let leaf = match &args.leaf {
        Some(id) => Some(open::entry(&view, id, &name)?),
        None => view.leaf(),
    };
    let id = leaf.and_then(EntryRef::id);
    let context =
        view.context(id.as_deref().map_or(Leaf::Last, Leaf::Id)).map_err(|error| Failure::of(&error, &name))?;
    if args.json {
        let json = context.to_json();
        // For a program the exact text; a terminal would obey control characters in it.
        let json = if out.is_terminal { safe_json(&json) } else { json.as_str().into() };
        out.write_all(json.as_bytes())?;
        writeln!(out)?;
    } else {
        Show { full: args.full, zone: TimeZone::system() }.context(&context, leaf, out)?;
    }
    out.flush()?;
    warn(&view, leaf, &input)?;
    Ok(Exit::Fine)
}

/// Tells of damage, of what is not understood, and which blobs the context lacks (R51).
fn warn(view: &SessionView, leaf: Option<EntryRef<'_>>, input: &Input) -> Result<(), Failure> {
    let name = &*input.name();
    let report = view.report().map_err(|error| Failure::of(&error, name))?;
    open::warn_of_damage(&report, name, &input.argument());
    let unknown = open::unknown_types(view).map_err(|error| Failure::of(&error, name))?;
    for line in open::not_understood(&unknown) {
        complain(format_args!("{name}: note: {line}"));
    }
    let Some(leaf) = leaf.filter(|_| !report.missing_blobs.is_empty()) else { return Ok(()) };
    let path: HashSet<u64> = show::context_path(view, leaf, name)?.into_iter().map(EntryRef::line).collect();
    let dir = view.blobs().map(|blobs| format!(" in {}", blobs.dir().display())).unwrap_or_default();
    for blob in report.missing_blobs.iter().filter(|blob| path.contains(&blob.line)) {
        complain(format_args!("{name}:{}: warning: blob {} is missing or damaged{dir}", blob.line, blob.hash.as_str()));
    }
    Ok(())
}

/// A command that the person ran and did not want the model to see: the agent leaves it out of what it sends.
fn is_kept_back(message: Json<'_>) -> bool {
    let is_command = message.get_str("role").is_some_and(|role| matches!(&*role, "bashExecution" | "pythonExecution"));
    is_command && message.get("excludeFromContext").and_then(Json::as_bool) == Some(true)
}

struct Show {
    full: bool,
    zone: TimeZone,
}

impl Show {
    fn context(&self, context: &SessionContext, leaf: Option<EntryRef<'_>>, out: &mut Out) -> Result<(), Failure> {
        let mut field = |key: &str, value: &str| if value.is_empty() { Ok(()) } else { out.field(key, value) };
        field("leaf", &leaf.and_then(EntryRef::id).unwrap_or_else(|| "(none)".into()))?;
        if context.models.is_empty() {
            field("model", "(none)")?;
        }
        for (role, model) in &context.models {
            field("model", &if role == "default" { model.clone() } else { format!("{model} for {role}") })?;
        }
        field("thinking", &context.thinking_level)?;
        field("mode", &context.mode)?;
        field("tier", context.service_tier.as_deref().unwrap_or_default())?;
        if let Some(name) = &context.active_context_name {
            let tenant = context.active_context_tenant.as_ref().map(|tenant| format!(", tenant {tenant}"));
            field("context", &format!("{name}{}", tenant.unwrap_or_default()))?;
        }
        field("rules", &context.injected_ttsr_rules.join(", "))?;
        if context.has_persisted_mcp_tool_selection {
            let names = context.selected_mcp_tool_names.join(", ");
            field("mcp tools", if names.is_empty() { "(none)" } else { &names })?;
        }
        let kept_back = context.messages().filter(|message| is_kept_back(*message)).count();
        field("messages", &crate::text::thousands((context.messages().len() - kept_back) as u64))?;
        if kept_back > 0 {
            field("not sent", &count(kept_back as u64, "command kept from the model", "commands kept from the model"))?;
        }
        for message in context.messages().filter(|message| !is_kept_back(*message)) {
            writeln!(out)?;
            self.message(message, out)?;
        }
        Ok(())
    }

    fn message(&self, message: Json<'_>, out: &mut Out) -> Result<(), Failure> {
        let name = message.get_str("role").unwrap_or_default();
        let role = Role::from_name(&name);
        let style = crate::summary::style("message", Some(&name));
        let shown = if name.is_empty() { "(no role)".to_owned() } else { one_line(&name, 40) };
        out.paint(if style == Style::Plain { Style::Heading } else { style }, &shown)?;
        let mut about = Vec::new();
        if role == Role::ToolResult {
            about.push(tool_name(message.get_str("toolName")));
            let failed = message.get("isError").and_then(Json::as_bool) == Some(true);
            about.push(if failed { "error" } else { "ok" }.to_owned());
        }
        about.extend(message.get_str("customType").map(|name| name.into_owned()));
        if let Some(time) = message.get("timestamp").and_then(Json::as_f64) {
            #[allow(clippy::cast_possible_truncation, reason = "a float cast saturates, and then it is no date")]
            let time = Timestamp::from_millisecond(time as i64).ok();
            about.extend(time.map(|time| format!("{:.0}", self.zone.to_datetime(time)).replace('T', " ")));
        }
        for about in about {
            let about = one_line(&about, 60);
            write!(out, "  ")?;
            out.paint(if about == "error" { Style::Error } else { Style::Faint }, about)?;
        }
        writeln!(out)?;
        match role {
            Role::BashExecution | Role::PythonExecution => {
                let (prompt, key) = if role == Role::BashExecution { ("$", "command") } else { (">>>", "code") };
                self.text(
                    &format!("{prompt} {}", message.get_str(key).unwrap_or_default()),
                    TEXT_LINES,
                    Style::Plain,
                    out,
                )?;
                self.text(&message.get_str("output").unwrap_or_default(), RESULT_LINES, Style::Faint, out)?;
                if let Some(code) = message.get("exitCode").and_then(Json::as_f64).filter(|&code| code != 0.0) {
                    self.text(&format!("exit code {}", number(code)), 1, Style::Error, out)?;
                }
            }
            Role::BranchSummary | Role::CompactionSummary => {
                if let Some(tokens) = message.get("tokensBefore").and_then(Json::as_f64) {
                    self.text(&format!("in place of {} tokens", number(tokens)), 1, Style::Faint, out)?;
                }
                self.text(&message.get_str("summary").unwrap_or_default(), SUMMARY_LINES, Style::Plain, out)?;
                let items = message.get("providerPayload").and_then(|payload| payload.get("items"));
                if let Some(items) = items {
                    let items = count(items.items().count() as u64, "item", "items");
                    self.text(&format!("the provider's own history, {items}"), 1, Style::Faint, out)?;
                }
            }
            Role::FileMention => {
                for file in message.get("files").iter().flat_map(|files| files.items()) {
                    self.text(&file.get_str("path").unwrap_or_default(), 1, Style::Plain, out)?;
                    self.text(&file.get_str("content").unwrap_or_default(), RESULT_LINES, Style::Faint, out)?;
                }
            }
            _ => self.content(message.get("content"), role, out)?,
        }
        let reason = message.get_str("stopReason").filter(|reason| matches!(&**reason, "error" | "aborted"));
        if let Some(reason) = reason {
            let why = message.get_str("errorMessage").unwrap_or_default();
            self.text(&format!("{reason}: {why}"), RESULT_LINES, Style::Error, out)?;
        }
        Ok(())
    }

    fn content(&self, content: Option<Json<'_>>, role: Role, out: &mut Out) -> Result<(), Failure> {
        let most = if role == Role::ToolResult { RESULT_LINES } else { TEXT_LINES };
        let Some(content) = content else { return Ok(()) };
        if let Some(text) = content.as_str() {
            return self.text(&text, most, Style::Plain, out);
        }
        for block in content.items() {
            match block.get_str("type").as_deref() {
                Some("text") => self.text(&block.get_str("text").unwrap_or_default(), most, Style::Plain, out)?,
                Some("thinking") => {
                    let thinking = block.get_str("thinking").unwrap_or_default();
                    self.text(&format!("(thinking) {thinking}"), THINKING_LINES, Style::Faint, out)?;
                }
                Some("toolCall") => self.call(block, out)?,
                Some("image") => self.text(&image(block, " without its blob"), 1, Style::Faint, out)?,
                Some(name) => self.text(&format!("[{name}] {}", short_json(block)), 1, Style::Faint, out)?,
                None => self.text(&short_json(block), 1, Style::Faint, out)?,
            }
        }
        Ok(())
    }

    /// A call: the tool, its main argument, then the others.
    fn call(&self, block: Json<'_>, out: &mut Out) -> Result<(), Failure> {
        let name = tool_name(block.get_str("name"));
        let arguments = block.get("arguments");
        if self.full {
            let arguments = arguments.map(|arguments| arguments.text().into_owned()).unwrap_or_default();
            return self.text(&format!("→ {name} {arguments}"), 1, Style::Tool, out);
        }
        let main = arguments.and_then(main_argument).unwrap_or_default();
        let head = one_line(&format!("→ {name} {main}"), out.room(2));
        let mut room = out.room(2).saturating_sub(width(&head));
        write!(out, "  ")?;
        out.paint(Style::Tool, &head)?;
        for (key, value) in arguments.iter().flat_map(|arguments| arguments.members()) {
            if value.as_str().is_some_and(|value| value == main) {
                continue;
            }
            let argument = one_line(&format!("{key}: {}", short_json(value)), room.saturating_sub(2).min(60));
            if room < 16 {
                break;
            }
            room -= width(&argument) + 2;
            write!(out, "  ")?;
            out.paint(Style::Faint, argument)?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// The first lines of a text, each indented, and how many follow.
    fn text(&self, text: &str, most: usize, style: Style, out: &mut Out) -> Result<(), Failure> {
        /// Columns of a line that is shown without `--full`.
        const LINE: usize = 2000;
        let text = text.trim_matches(['\n', '\r']);
        let most = if self.full { usize::MAX } else { most };
        let mut left_out = 0u64;
        for (at, line) in lines(text).enumerate() {
            if at >= most {
                left_out += 1;
                continue;
            }
            let is_long = !self.full && width(&line) > LINE;
            let line = if is_long { one_line(&line, LINE) } else { line };
            if line.is_empty() {
                writeln!(out)?;
            } else {
                write!(out, "  ")?;
                out.paint(style, line)?;
                writeln!(out)?;
            }
        }
        if left_out > 0 {
            write!(out, "  ")?;
            out.paint(Style::Faint, format_args!("⋮ {}", count(left_out, "more line", "more lines")))?;
            writeln!(out)?;
        }
        Ok(())
    }
}
