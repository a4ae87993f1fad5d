//! The fields of an entry, read from its text when somebody asks.

use super::kind::{EntryKind, Role};
use super::time;
use crate::json::{Json, JsonKind};
use std::borrow::Cow;

/// The text of one entry: valid JSON, an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryText<'a>(Cow<'a, [u8]>);

/// The fields of an entry by its type. What is missing or of another type is `None` (or empty):
/// files written by other programs are read as far as they go (R49).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Body<'a> {
    /// A message; the object as stored, `None` when there is none.
    Message(Option<Json<'a>>),
    /// A level, `None` for the default.
    ThinkingLevelChange {
        /// The level's name.
        level: Option<Cow<'a, str>>,
    },
    /// A model for a role.
    ModelChange {
        /// `provider/id`.
        model: Option<Cow<'a, str>>,
        /// The role, `default` when there is none.
        role: Option<Cow<'a, str>>,
    },
    /// A service tier, `None` for the default.
    ServiceTierChange {
        /// The tier's name.
        tier: Option<Cow<'a, str>>,
    },
    /// A compaction.
    Compaction {
        /// What was compacted, for the model.
        summary: Option<Cow<'a, str>>,
        /// The same in a few words, for a person.
        short_summary: Option<Cow<'a, str>>,
        /// The first entry on the path that stays.
        first_kept_entry_id: Option<Cow<'a, str>>,
        /// Tokens in the context before.
        tokens_before: Option<f64>,
        /// Data of the extension that made it.
        details: Option<Json<'a>>,
        /// Data handed on across compactions.
        preserve_data: Option<Json<'a>>,
        /// An extension made it.
        from_extension: Option<bool>,
    },
    /// The summary of a branch left behind.
    BranchSummary {
        /// The entry the new branch starts from, or `root` (R9).
        from_id: Option<Cow<'a, str>>,
        /// What the branch held.
        summary: Option<Cow<'a, str>>,
        /// Data of the extension that made it.
        details: Option<Json<'a>>,
        /// An extension made it.
        from_extension: Option<bool>,
    },
    /// State of an extension.
    Custom {
        /// The extension's own type.
        custom_type: Option<Cow<'a, str>>,
        /// Its state.
        data: Option<Json<'a>>,
    },
    /// A message of an extension.
    CustomMessage {
        /// The extension's own type.
        custom_type: Option<Cow<'a, str>>,
        /// A string or content blocks.
        content: Option<Json<'a>>,
        /// Whether a person sees it.
        display: Option<bool>,
        /// Data the model is not sent.
        details: Option<Json<'a>>,
        /// Who caused it, `agent` or `user`.
        attribution: Option<Cow<'a, str>>,
    },
    /// A label, `None` (or empty) to clear it (R9).
    Label {
        /// The entry that is labelled.
        target_id: Option<Cow<'a, str>>,
        /// Its label.
        label: Option<Cow<'a, str>>,
    },
    /// Rules injected.
    TtsrInjection {
        /// Their names.
        rules: Vec<Cow<'a, str>>,
    },
    /// MCP tools selected.
    McpToolSelection {
        /// Their names.
        tools: Vec<Cow<'a, str>>,
    },
    /// The start of a sub-agent.
    SessionInit {
        /// Its system prompt.
        system_prompt: Option<Cow<'a, str>>,
        /// Its task.
        task: Option<Cow<'a, str>>,
        /// The tools it has.
        tools: Vec<Cow<'a, str>>,
        /// The JSON Schema of its answer.
        output_schema: Option<Json<'a>>,
    },
    /// A mode.
    ModeChange {
        /// Its name; `none` when none is active.
        mode: Option<Cow<'a, str>>,
        /// Data of the mode.
        data: Option<Json<'a>>,
    },
    /// A cloud context.
    ContextChange {
        /// Its name.
        context_name: Option<Cow<'a, str>>,
        /// Its tenant.
        tenant: Option<Cow<'a, str>>,
        /// Its namespace.
        namespace: Option<Cow<'a, str>>,
    },
    /// A type this version does not know (R8); the text has everything.
    Other,
}

impl<'a> EntryText<'a> {
    pub(crate) const fn new(text: Cow<'a, [u8]>) -> Self {
        Self(text)
    }

    /// The object.
    #[must_use]
    pub fn json(&self) -> Json<'_> {
        Json::new(&self.0)
    }

    /// The bytes, out of the borrow.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_owned()
    }

    /// The `type` as stored.
    #[must_use]
    pub fn type_name(&self) -> Cow<'_, str> {
        self.json().get_str("type").unwrap_or_default()
    }

    /// The `id`; `None` when the entry has no string there (R7).
    #[must_use]
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.json().get_str("id")
    }

    /// The `parentId`; `None` for a root.
    #[must_use]
    pub fn parent_id(&self) -> Option<Cow<'_, str>> {
        self.json().get_str("parentId")
    }

    /// The `timestamp` as stored.
    #[must_use]
    pub fn timestamp(&self) -> Option<Cow<'_, str>> {
        self.json().get_str("timestamp")
    }

    /// The role of the message, when the entry is one.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        Some(Role::from_name(&self.json().get("message")?.get_str("role")?))
    }

    /// The fields by type.
    #[must_use]
    pub fn body(&self) -> Body<'_> {
        let json = self.json();
        let text = |key| json.get_str(key);
        let flag = |key| json.get(key).and_then(Json::as_bool);
        match EntryKind::from_name(&self.type_name()) {
            EntryKind::Message => Body::Message(json.get("message").filter(|message| message.is_object())),
            EntryKind::ThinkingLevelChange => Body::ThinkingLevelChange { level: text("thinkingLevel") },
            EntryKind::ModelChange => Body::ModelChange { model: text("model"), role: text("role") },
            EntryKind::ServiceTierChange => Body::ServiceTierChange { tier: text("serviceTier") },
            EntryKind::Compaction => Body::Compaction {
                summary: text("summary"),
                short_summary: text("shortSummary"),
                first_kept_entry_id: text("firstKeptEntryId"),
                tokens_before: json.get("tokensBefore").and_then(Json::as_f64),
                details: json.get("details"),
                preserve_data: json.get("preserveData"),
                from_extension: flag("fromExtension"),
            },
            EntryKind::BranchSummary => Body::BranchSummary {
                from_id: text("fromId"),
                summary: text("summary"),
                details: json.get("details"),
                from_extension: flag("fromExtension"),
            },
            EntryKind::Custom => Body::Custom { custom_type: text("customType"), data: json.get("data") },
            EntryKind::CustomMessage => Body::CustomMessage {
                custom_type: text("customType"),
                content: json.get("content"),
                display: flag("display"),
                details: json.get("details"),
                attribution: text("attribution"),
            },
            EntryKind::Label => Body::Label { target_id: text("targetId"), label: text("label") },
            EntryKind::TtsrInjection => Body::TtsrInjection { rules: strings(json.get("injectedRules")) },
            EntryKind::McpToolSelection => Body::McpToolSelection { tools: strings(json.get("selectedToolNames")) },
            EntryKind::SessionInit => Body::SessionInit {
                system_prompt: text("systemPrompt"),
                task: text("task"),
                tools: strings(json.get("tools")),
                output_schema: json.get("outputSchema"),
            },
            EntryKind::ModeChange => Body::ModeChange { mode: text("mode"), data: json.get("data") },
            EntryKind::ContextChange => Body::ContextChange {
                context_name: text("contextName"),
                tenant: text("tenant"),
                namespace: text("namespace"),
            },
            EntryKind::Other => Body::Other,
        }
    }

    /// Milliseconds since 1970 of the timestamp; `None` when it is no date. A number counts as
    /// milliseconds, as it does for JavaScript's `Date`.
    #[must_use]
    pub fn time_ms(&self) -> Option<i64> {
        time_ms(self.json().get("timestamp")?)
    }
}

/// The moment a `timestamp` value names.
pub(crate) fn time_ms(value: Json<'_>) -> Option<i64> {
    match value.kind() {
        JsonKind::String => time::parse(value.as_str()?.as_bytes()),
        #[allow(clippy::cast_possible_truncation, reason = "a float cast saturates; dates are far below")]
        JsonKind::Number => value.as_f64().filter(|ms| ms.abs() <= 8.64e15).map(|ms| ms as i64),
        _ => None,
    }
}

/// The strings of an array, other items left out.
pub(crate) fn strings(value: Option<Json<'_>>) -> Vec<Cow<'_, str>> {
    value.map_or_else(Vec::new, |array| array.items().filter_map(Json::as_str).collect())
}
