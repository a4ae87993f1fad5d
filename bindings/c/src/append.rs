//! Appending, and moving the leaf.
//!
//! Each append makes one entry, a child of the leaf, which becomes the leaf.

use crate::abi::{self, Out, leaflog_id, leaflog_str, read_sized, texts};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, leaflog_session};
use crate::status::leaflog_status;
use leaflog_core::{Compaction, CustomMessage, SessionInit, SessionManager};

/// Appends and gives the id, also of an entry that is in memory although it could not be written.
fn append(
    session: *mut leaflog_session,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
    append: impl FnOnce(&mut SessionManager) -> Result<String, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::optional(id, "id")?;
        let result = session::work(session, append);
        let id = result.as_ref().map_or_else(Failure::entry_id, |id| Some(id));
        if let Some(id) = id {
            out.put(leaflog_id::new(id));
        }
        result.map(drop)
    })
}

/// A choice that is left open: the field is not written.
pub const LEAFLOG_UNSAID: i32 = 0;
/// The field is written as false.
pub const LEAFLOG_NO: i32 = 1;
/// The field is written as true.
pub const LEAFLOG_YES: i32 = 2;

fn choice(value: i32, what: &str) -> Result<Option<bool>, Failure> {
    match value {
        LEAFLOG_UNSAID => Ok(None),
        LEAFLOG_NO => Ok(Some(false)),
        LEAFLOG_YES => Ok(Some(true)),
        other => Err(Failure::argument(format!("{what}: there is no {other}"))),
    }
}

/// Appends a message: a JSON object with a string `role`. An assistant's starts the session.
///
/// For this and every append: `id`, which may be NULL, receives the entry's id. When the entry cannot be
/// written, the call fails, but the entry is in memory and is the leaf: `id` receives its id, and
/// `leaflog_error_entry_id()` returns it. Do not append it again. After LOCKED, the next append or flush that
/// succeeds writes it, after GONE the next append or `leaflog_session_ensure_on_disk()`; any other error of writing
/// is sticky, and `leaflog_session_ensure_on_disk()` tries again. All other failures, INVALID_ARGUMENT,
/// INVALID_UTF8 and ENTRY_NOT_FOUND among them, append nothing and leave `id` as it is.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_message(
    session: *mut leaflog_session,
    message_json: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_message(message_json.text("message_json")?)?))
}

/// Appends an entry of any type: a JSON object with a string `type`, to which id, parent and timestamp
/// are added; members of those names are not taken from it. A label needs an entry that it labels.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_entry(
    session: *mut leaflog_session,
    entry_json: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_entry(entry_json.text("entry_json")?)?))
}

/// Appends a change of the thinking level; absent for the default.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_thinking_level_change(
    session: *mut leaflog_session,
    level: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_thinking_level_change(level.optional_text("level")?)?))
}

/// Appends a change of the service tier; absent for none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_service_tier_change(
    session: *mut leaflog_session,
    tier: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_service_tier_change(tier.optional_text("tier")?)?))
}

/// Appends a change of the mode; `data_json` may be absent.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_mode_change(
    session: *mut leaflog_session,
    mode: leaflog_str,
    data_json: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        Ok(manager.append_mode_change(mode.text("mode")?, data_json.optional_text("data_json")?)?)
    })
}

/// Appends a change of the cloud context.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_context_change(
    session: *mut leaflog_session,
    context_name: leaflog_str,
    tenant: leaflog_str,
    name_space: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        let name_space = name_space.text("name_space")?;
        Ok(manager.append_context_change(context_name.text("context_name")?, tenant.text("tenant")?, name_space)?)
    })
}

/// Appends a change of the model, `provider/id`; an absent `role` is the role `default`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_model_change(
    session: *mut leaflog_session,
    model: leaflog_str,
    role: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        Ok(manager.append_model_change(model.text("model")?, role.optional_text("role")?)?)
    })
}

/// What a sub-agent is started with.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_session_init {
    /// `sizeof(leaflog_session_init)`.
    pub struct_size: usize,
    /// Its system prompt.
    pub system_prompt: leaflog_str,
    /// Its task.
    pub task: leaflog_str,
    /// The names of the tools it has.
    pub tools: *const leaflog_str,
    /// How many tools there are.
    pub tool_count: usize,
    /// The JSON Schema of its answer, as JSON; may be absent.
    pub output_schema_json: leaflog_str,
}

/// What a compaction says.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_compaction {
    /// `sizeof(leaflog_compaction)`.
    pub struct_size: usize,
    /// What was compacted, for the model.
    pub summary: leaflog_str,
    /// The same in a few words, for a person; may be absent.
    pub short_summary: leaflog_str,
    /// The id of the first entry on the path that stays; the compaction keeps nothing when there is none.
    pub first_kept_entry_id: leaflog_str,
    /// Tokens in the context before.
    pub tokens_before: u64,
    /// Data of the extension that made it, as JSON; may be absent.
    pub details_json: leaflog_str,
    /// Data handed on across compactions, as JSON; may be absent.
    pub preserve_data_json: leaflog_str,
    /// Whether an extension made it: LEAFLOG_UNSAID, LEAFLOG_NO or LEAFLOG_YES.
    pub from_extension: i32,
}

/// What an extension's message says.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_custom_message {
    /// `sizeof(leaflog_custom_message)`.
    pub struct_size: usize,
    /// The extension's own type.
    pub custom_type: leaflog_str,
    /// A string or an array of content blocks, as JSON.
    pub content_json: leaflog_str,
    /// Data the model is not sent, as JSON; may be absent.
    pub details_json: leaflog_str,
    /// Who caused it; absent: `agent`.
    pub attribution: leaflog_str,
    /// Whether a person sees it: not 0.
    pub display: i32,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers and pointers after it.
unsafe impl abi::Plain for leaflog_session_init {
    const FIELDS: &'static [usize] =
        abi::fields!(leaflog_session_init { system_prompt, task, tools, tool_count, output_schema_json });
}
// SAFETY: as above.
unsafe impl abi::Plain for leaflog_compaction {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_compaction {
        summary,
        short_summary,
        first_kept_entry_id,
        tokens_before,
        details_json,
        preserve_data_json,
        from_extension
    });
}
// SAFETY: as above.
unsafe impl abi::Plain for leaflog_custom_message {
    const FIELDS: &'static [usize] =
        abi::fields!(leaflog_custom_message { custom_type, content_json, details_json, attribution, display });
}

/// Appends what a sub-agent is started with.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_session_init(
    session: *mut leaflog_session,
    init: *const leaflog_session_init,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        let init = read_sized(init, "init")?;
        let tools = texts(init.tools, init.tool_count, "init.tools")?;
        Ok(manager.append_session_init(&SessionInit {
            system_prompt: init.system_prompt.text("init.system_prompt")?,
            task: init.task.text("init.task")?,
            tools: &tools,
            output_schema: init.output_schema_json.optional_text("init.output_schema_json")?,
        })?)
    })
}

/// Appends a compaction.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_compaction(
    session: *mut leaflog_session,
    compaction: *const leaflog_compaction,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        let given = read_sized(compaction, "compaction")?;
        Ok(manager.append_compaction(&Compaction {
            summary: given.summary.text("compaction.summary")?,
            short_summary: given.short_summary.optional_text("compaction.short_summary")?,
            first_kept_entry_id: given.first_kept_entry_id.text("compaction.first_kept_entry_id")?,
            tokens_before: given.tokens_before,
            details: given.details_json.optional_text("compaction.details_json")?,
            from_extension: choice(given.from_extension, "compaction.from_extension")?,
            preserve_data: given.preserve_data_json.optional_text("compaction.preserve_data_json")?,
        })?)
    })
}

/// Appends state of an extension, which is never sent to the model; `data_json` may be absent.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_custom_entry(
    session: *mut leaflog_session,
    custom_type: leaflog_str,
    data_json: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        Ok(manager.append_custom_entry(custom_type.text("custom_type")?, data_json.optional_text("data_json")?)?)
    })
}

/// Appends an extension's message.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_custom_message(
    session: *mut leaflog_session,
    message: *const leaflog_custom_message,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        let given = read_sized(message, "message")?;
        Ok(manager.append_custom_message(&CustomMessage {
            custom_type: given.custom_type.text("message.custom_type")?,
            content: given.content_json.text("message.content_json")?,
            display: given.display != 0,
            details: given.details_json.optional_text("message.details_json")?,
            attribution: given.attribution.optional_text("message.attribution")?,
        })?)
    })
}

/// Appends a selection of `count` MCP tools.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_mcp_tool_selection(
    session: *mut leaflog_session,
    names: *const leaflog_str,
    count: usize,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_mcp_tool_selection(&texts(names, count, "names")?)?))
}

/// Appends the names of `count` rules that were injected.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_ttsr_injection(
    session: *mut leaflog_session,
    names: *const leaflog_str,
    count: usize,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| Ok(manager.append_ttsr_injection(&texts(names, count, "names")?)?))
}

/// Appends a label for an entry; an absent or empty one clears it. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_append_label_change(
    session: *mut leaflog_session,
    target_id: leaflog_str,
    label: leaflog_str,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        Ok(manager.append_label_change(target_id.text("target_id")?, label.optional_text("label")?)?)
    })
}

/// Moves the leaf to an entry: the next append becomes its child. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_branch(
    session: *mut leaflog_session,
    entry_id: leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || session::work(session, |manager| Ok(manager.branch(entry_id.text("entry_id")?)?)))
}

/// Moves the leaf to before the first entry: the next append is a root.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_reset_leaf(
    session: *mut leaflog_session,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        session::work(session, |manager| {
            manager.reset_leaf();
            Ok(())
        })
    })
}

/// Moves the leaf to an entry, or with an absent `from_id` to before the first one, and appends there what
/// the branch that was left held. `details_json` may be absent; `from_extension` is LEAFLOG_UNSAID,
/// LEAFLOG_NO or LEAFLOG_YES. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_branch_with_summary(
    session: *mut leaflog_session,
    from_id: leaflog_str,
    summary: leaflog_str,
    details_json: leaflog_str,
    from_extension: i32,
    id: *mut leaflog_id,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    append(session, id, error, |manager| {
        Ok(manager.branch_with_summary(
            from_id.optional_text("from_id")?,
            summary.text("summary")?,
            details_json.optional_text("details_json")?,
            choice(from_extension, "from_extension")?,
        )?)
    })
}
