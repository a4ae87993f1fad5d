//! Appending: each method makes exactly one entry, a child of the leaf, which becomes the leaf
//! (R18), and returns its id.
//!
//! When writing fails the entry is in memory all the same, which the type of the error says, and the
//! next write that succeeds puts it on disk (R32).

use super::SessionManager;
use crate::entry::{LineBuilder, time};
use crate::error::{AppendError, Error, ErrorCode, Result};
use crate::json::{Json, one_value};
use crate::load::Message;
use crate::tree::{Id, hex_text};
use crate::view::{NewEntry, SessionView};
use std::borrow::Cow;

/// What a compaction says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compaction<'a> {
    /// What was compacted, for the model.
    pub summary: &'a str,
    /// The same in a few words, for a person.
    pub short_summary: Option<&'a str>,
    /// The first entry on the path that stays; the compaction keeps nothing when there is none.
    pub first_kept_entry_id: &'a str,
    /// Tokens in the context before.
    pub tokens_before: u64,
    /// Data of the extension that made it, as JSON.
    pub details: Option<&'a str>,
    /// An extension made it.
    pub from_extension: Option<bool>,
    /// Data handed on across compactions, as JSON.
    pub preserve_data: Option<&'a str>,
}

/// What an extension's message says.
#[derive(Clone, Copy, Debug, Default)]
pub struct CustomMessage<'a> {
    /// The extension's own type.
    pub custom_type: &'a str,
    /// A string or an array of content blocks, as JSON.
    pub content: &'a str,
    /// Whether a person sees it.
    pub display: bool,
    /// Data the model is not sent, as JSON.
    pub details: Option<&'a str>,
    /// Who caused it; `agent` when it is not said.
    pub attribution: Option<&'a str>,
}

/// What a sub-agent is started with.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionInit<'a> {
    /// Its system prompt.
    pub system_prompt: &'a str,
    /// Its task.
    pub task: &'a str,
    /// The tools it has.
    pub tools: &'a [&'a str],
    /// The JSON Schema of its answer, as JSON.
    pub output_schema: Option<&'a str>,
}

/// Id, parent and timestamp of an entry to be.
struct Base<'a> {
    new: &'a NewEntry,
    view: &'a SessionView,
}

impl Base<'_> {
    fn put(&self, line: LineBuilder) -> LineBuilder {
        line.plain("id", |text| text.extend_from_slice(self.new.id.as_bytes()))
            .value("parentId", |text| match self.new.leaf {
                Some(leaf) => self.view.tree().push_id(text, leaf),
                None => text.extend_from_slice(b"null"),
            })
            .plain("timestamp", |text| time::push(text, self.new.now_ms))
    }

    /// The usual order: type, id, parentId, timestamp, then the fields.
    fn line(&self, type_name: &str) -> LineBuilder {
        self.put(LineBuilder::new(type_name))
    }
}

/// # Appending
///
/// Every append makes one entry, a child of the leaf, which becomes the leaf, and returns its id. It
/// changes memory first and the file second. When it is the writing that fails, the entry is in memory
/// all the same and goes out with the next successful write: [`AppendError::Unsaved`] has its id, and
/// appending it again would make a second entry. After [`AppendError::Rejected`] there is none.
impl SessionManager {
    /// Appends a message: a JSON object with a `role`. An assistant's starts the session (R29).
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when it is not one JSON object with a string `role`.
    pub fn append_message(&mut self, message: &str) -> Result<String, AppendError> {
        let (text, message) = self.read_message(message)?;
        if !message.has_known_role() {
            require_role(Json::new(&text))?;
        }
        self.append_with(|view, new| {
            let line = LineBuilder::within(view.line_buffer(), "message");
            let line = Base { new, view }.put(line).json("message", &text).finish();
            view.push_message(line, new, &message)
        })
    }

    /// The text of a message as it can stand in a line, and what the index wants of it.
    fn read_message<'a>(&mut self, text: &'a str) -> Result<(Cow<'a, [u8]>, Message)> {
        if let Some(message) = self.view.read_message(text.as_bytes()) {
            return Ok((Cow::Borrowed(text.as_bytes()), message));
        }
        // With blanks around it or line ends in it, or no message.
        let text = object(text)?;
        let message = self.view.read_message(&text).ok_or_else(not_an_object)?;
        Ok((text, message))
    }

    /// Appends a change of the thinking level; `None` for the default.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_thinking_level_change(&mut self, level: Option<&str>) -> Result<String, AppendError> {
        self.append(|base| base.line("thinking_level_change").text_or_null("thinkingLevel", level))
    }

    /// Appends a change of the service tier; `None` for none.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_service_tier_change(&mut self, tier: Option<&str>) -> Result<String, AppendError> {
        self.append(|base| base.line("service_tier_change").text_or_null("serviceTier", tier))
    }

    /// Appends a change of the mode, with data as JSON.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when the data is not one JSON value.
    pub fn append_mode_change(&mut self, mode: &str, data: Option<&str>) -> Result<String, AppendError> {
        let data = optional(data)?;
        self.append(|base| base.line("mode_change").text("mode", mode).optional_json("data", data.as_deref()))
    }

    /// Appends a change of the cloud context.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_context_change(
        &mut self,
        context_name: &str,
        tenant: &str,
        namespace: &str,
    ) -> Result<String, AppendError> {
        self.append(|base| {
            base.line("context_change")
                .text("contextName", context_name)
                .text("tenant", tenant)
                .text("namespace", namespace)
        })
    }

    /// Appends a change of the model, `provider/id`, of a role; `None` for the role `default`.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_model_change(&mut self, model: &str, role: Option<&str>) -> Result<String, AppendError> {
        self.append(|base| base.line("model_change").text("model", model).optional_text("role", role))
    }

    /// Appends what a sub-agent is started with.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when the schema is not one JSON value.
    pub fn append_session_init(&mut self, init: &SessionInit<'_>) -> Result<String, AppendError> {
        let schema = optional(init.output_schema)?;
        self.append(|base| {
            base.line("session_init")
                .text("systemPrompt", init.system_prompt)
                .text("task", init.task)
                .texts("tools", init.tools)
                .optional_json("outputSchema", schema.as_deref())
        })
    }

    /// Appends a compaction.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when a field is not one JSON value.
    pub fn append_compaction(&mut self, compaction: &Compaction<'_>) -> Result<String, AppendError> {
        let details = optional(compaction.details)?;
        let preserve = optional(compaction.preserve_data)?;
        let from_extension = compaction.from_extension.map(|from| from.to_string());
        let tokens = compaction.tokens_before.to_string();
        let first_kept = match self.view.tree().find_shown(compaction.first_kept_entry_id) {
            Some(index) => self.stored_id(index),
            None => compaction.first_kept_entry_id.as_bytes().to_vec(),
        };
        self.append(|base| {
            base.line("compaction")
                .text("summary", compaction.summary)
                .optional_text("shortSummary", compaction.short_summary)
                .wtf8("firstKeptEntryId", &first_kept)
                .json("tokensBefore", tokens.as_bytes())
                .optional_json("details", details.as_deref())
                .optional_json("fromExtension", from_extension.as_deref().map(str::as_bytes))
                .optional_json("preserveData", preserve.as_deref())
        })
    }

    /// Appends state of an extension, as JSON.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when the data is not one JSON value.
    pub fn append_custom_entry(&mut self, custom_type: &str, data: Option<&str>) -> Result<String, AppendError> {
        let data = optional(data)?;
        self.append(|base| {
            base.put(LineBuilder::new("custom").text("customType", custom_type).optional_json("data", data.as_deref()))
        })
    }

    /// Appends an extension's message.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when a field is not one JSON value.
    pub fn append_custom_message(&mut self, message: &CustomMessage<'_>) -> Result<String, AppendError> {
        let content = value(message.content)?;
        let details = optional(message.details)?;
        self.append(|base| {
            base.put(
                LineBuilder::new("custom_message")
                    .text("customType", message.custom_type)
                    .json("content", &content)
                    .json("display", message.display.to_string().as_bytes())
                    .optional_json("details", details.as_deref())
                    .text("attribution", message.attribution.unwrap_or("agent")),
            )
        })
    }

    /// Appends a selection of MCP tools.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_mcp_tool_selection(&mut self, names: &[impl AsRef<str>]) -> Result<String, AppendError> {
        self.append(|base| base.line("mcp_tool_selection").texts("selectedToolNames", names))
    }

    /// Appends the names of rules that were injected.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    pub fn append_ttsr_injection(&mut self, names: &[impl AsRef<str>]) -> Result<String, AppendError> {
        self.append(|base| base.line("ttsr_injection").texts("injectedRules", names))
    }

    /// Appends a label for an entry; `None` or an empty one clears it (R9).
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `ENTRY_NOT_FOUND` when there is no such entry.
    pub fn append_label_change(&mut self, target_id: &str, label: Option<&str>) -> Result<String, AppendError> {
        let target = self.stored_id(self.index_of(target_id)?);
        self.append(|base| base.line("label").wtf8("targetId", &target).optional_text("label", label))
    }

    /// Moves the leaf to an entry, or with `None` to before the first one, and appends there what
    /// the branch that was left held (R9, R21).
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `ENTRY_NOT_FOUND`, or with `INVALID_ARGUMENT` when the details are
    ///   not one JSON value. The leaf has not moved.
    pub fn branch_with_summary(
        &mut self,
        from_id: Option<&str>,
        summary: &str,
        details: Option<&str>,
        from_extension: Option<bool>,
    ) -> Result<String, AppendError> {
        let details = optional(details)?;
        let from_extension = from_extension.map(|from| from.to_string());
        self.append_below(
            |manager| from_id.map(|id| manager.index_of(id)).transpose(),
            |view, new| {
                let from = new.leaf.and_then(|leaf| view.tree().id_bytes(leaf));
                let line = Base { new, view }
                    .line("branch_summary")
                    .wtf8("fromId", from.as_deref().unwrap_or(b"root"))
                    .text("summary", summary)
                    .optional_json("details", details.as_deref())
                    .optional_json("fromExtension", from_extension.as_deref().map(str::as_bytes))
                    .finish();
                view.push(line)
            },
        )
    }

    /// Appends an entry of any type: `fields` is a JSON object with a string `type`, to which id,
    /// parent and timestamp are added where entries of its type have them; members of those names
    /// are not taken from it.
    ///
    /// # Errors
    /// - [`AppendError::Unsaved`]: the entry is in memory, but could not be written.
    /// - [`AppendError::Rejected`] with `INVALID_ARGUMENT` when it is not such an object, is a `session`, or is
    ///   a `message` without a role, and with `ENTRY_NOT_FOUND` for a label of no entry.
    pub fn append_entry(&mut self, fields: &str) -> Result<String, AppendError> {
        let fields = object(fields)?;
        let json = Json::new(&fields);
        let type_name = json.get_str("type").filter(|name| name != "session").ok_or_else(|| {
            Error::new(ErrorCode::InvalidArgument, "an entry needs a string type, other than session")
        })?;
        match &*type_name {
            "label" => drop(self.index_of(&json.get_str("targetId").unwrap_or_default())?),
            "message" => require_role(json.get("message").unwrap_or(Json::new(b"null")))?,
            _ => {}
        }
        let put_fields = |line: LineBuilder| {
            json.members()
                .filter(|(key, _)| !matches!(&**key, "type" | "id" | "parentId" | "timestamp"))
                .fold(line, |line, (key, value)| line.member(&key, value.bytes()))
        };
        self.append(|base| match &*type_name {
            "custom" | "custom_message" => base.put(put_fields(LineBuilder::new(&type_name))),
            _ => put_fields(base.line(&type_name)),
        })
    }

    fn append(&mut self, build: impl FnOnce(&Base<'_>) -> LineBuilder) -> Result<String, AppendError> {
        self.append_with(|view, new| {
            let line = build(&Base { new, view }).finish();
            view.push(line)
        })
    }

    fn append_with(
        &mut self,
        push: impl FnOnce(&mut SessionView, &NewEntry) -> Result<u32>,
    ) -> Result<String, AppendError> {
        self.append_below(|manager| Ok(manager.view.tree().leaf()), push)
    }

    /// Appends a child of the entry that `parent` finds once what others wrote was read.
    fn append_below(
        &mut self,
        parent: impl FnOnce(&Self) -> Result<Option<u32>>,
        push: impl FnOnce(&mut SessionView, &NewEntry) -> Result<u32>,
    ) -> Result<String, AppendError> {
        let now = self.options.generator.now_ms();
        let begun = self.begin_append(now);
        let leaf = parent(self)?;
        let new = NewEntry { id: self.new_entry_id(), leaf, now_ms: now };
        let index = push(&mut self.view, &new)?;
        self.view.set_leaf(Some(index));
        match self.appended(index, begun, now) {
            Ok(()) => Ok(new.id),
            Err(error) => Err(AppendError::Unsaved { id: new.id, error }),
        }
    }

    /// The id of an entry as it is stored, in WTF-8: what a caller has of it is a Rust string.
    fn stored_id(&self, index: u32) -> Vec<u8> {
        self.view.tree().id_bytes(index).unwrap_or_default().into_owned()
    }

    /// Eight hex digits that no entry has; after a hundred tries a session id (R4).
    pub(super) fn new_entry_id(&mut self) -> String {
        for _ in 0..100 {
            let id = self.options.generator.entry_id();
            if self.view.tree().lookup(Id::Hex(id)).is_none() {
                return hex_text(id);
            }
        }
        self.options.generator.session_id()
    }
}

/// A JSON value that can stand in a line.
fn value(text: &str) -> Result<Cow<'_, [u8]>> {
    one_value(text.as_bytes())
        .ok_or_else(|| Error::new(ErrorCode::InvalidArgument, "the text is not one valid JSON value"))
}

fn optional(text: Option<&str>) -> Result<Option<Cow<'_, [u8]>>> {
    text.map(value).transpose()
}

/// A JSON object that can stand in a line.
pub(super) fn object(text: &str) -> Result<Cow<'_, [u8]>> {
    let value = value(text)?;
    if !Json::new(&value).is_object() {
        return Err(not_an_object());
    }
    Ok(value)
}

fn not_an_object() -> Error {
    Error::new(ErrorCode::InvalidArgument, "the text is not a JSON object")
}

/// Without a role no reader knows whose a message is.
fn require_role(message: Json<'_>) -> Result<()> {
    match message.get_str("role") {
        Some(role) if !role.is_empty() => Ok(()),
        _ => Err(Error::new(ErrorCode::InvalidArgument, "a message needs a string role")),
    }
}
