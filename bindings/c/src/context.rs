//! What the model would be sent.

use crate::abi::{Out, leaflog_str, leaflog_string};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, leaflog_session};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::{Leaf, SessionContext, SessionView};
use std::sync::Arc;

/// The context of the leaf.
pub const LEAFLOG_FROM_LEAF: i32 = 0;
/// The context of the entry that is named.
pub const LEAFLOG_FROM_ENTRY: i32 = 1;
/// The context of the place before the first entry, which is empty.
pub const LEAFLOG_FROM_NOTHING: i32 = 2;

/// What the model would be sent, as it was when the context was built. It does not change, needs its
/// session no more, and any number of threads may read it at once. The caller frees it with
/// `leaflog_context_free()`.
pub struct leaflog_context {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_context {
    type Object = SessionContext;
    const NAME: &'static str = "context";
}

fn build(view: &SessionView, from: i32, entry_id: leaflog_str) -> Result<SessionContext, Failure> {
    let id = entry_id.text("entry_id")?;
    Ok(view.context(match from {
        LEAFLOG_FROM_LEAF => Leaf::Last,
        LEAFLOG_FROM_ENTRY => Leaf::Id(id),
        LEAFLOG_FROM_NOTHING => Leaf::Before,
        other => return Err(Failure::argument(format!("from: there is no {other}"))),
    })?)
}

/// Builds the context of a place in the tree: `from` is LEAFLOG_FROM_LEAF, LEAFLOG_FROM_ENTRY (of the id
/// `entry_id`, which is not looked at otherwise) or LEAFLOG_FROM_NOTHING. ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_context(
    session: *const leaflog_session,
    from: i32,
    entry_id: leaflog_str,
    context: *mut *mut leaflog_context,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(context, "context")?;
        let context = session::read(session, |view| build(view, from, entry_id))?;
        table::hand_out(out, context);
        Ok(())
    })
}

/// The context of a place in the tree as one JSON object with the agent's names: messages, thinking level,
/// models, mode and so on. Messages keep their stored spelling; U+FFFD stands for bytes that are not
/// UTF-8. As `leaflog_session_context()`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_context_json(
    session: *const leaflog_session,
    from: i32,
    entry_id: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let context = session::read(session, |view| build(view, from, entry_id))?;
        out.put(leaflog_string::new(context.to_json()));
        Ok(())
    })
}

/// Reads a text of a context.
fn text(
    context: *const leaflog_context,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    read: impl FnOnce(&SessionContext) -> Result<leaflog_string, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let context: Arc<SessionContext> = table::get(context)?;
        out.put(read(&context)?);
        Ok(())
    })
}

/// The whole context, as `leaflog_session_context_json()` gives it.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_json(
    context: *const leaflog_context,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(context, out, error, |context| Ok(leaflog_string::new(context.to_json())))
}

/// The context without its messages: the same JSON object with an empty array of messages.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_state_json(
    context: *const leaflog_context,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(context, out, error, |context| Ok(leaflog_string::new(context.state_to_json())))
}

/// The thinking level; `off` when none was set.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_thinking_level(
    context: *const leaflog_context,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(context, out, error, |context| Ok(leaflog_string::new(context.thinking_level.as_str())))
}

/// The model of a role, as `provider/id`; absent when none was set. An absent `role` is the role `default`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_model(
    context: *const leaflog_context,
    role: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(context, out, error, |context| {
        let role = role.optional_text("role")?.unwrap_or("default");
        let model = context.models.iter().find(|(known, _)| known == role).map(|(_, model)| model.as_str());
        Ok(leaflog_string::optional(model))
    })
}

/// How many messages there are.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_message_count(
    context: *const leaflog_context,
    count: *mut u64,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(count, "count")?;
        let context: Arc<SessionContext> = table::get(context)?;
        out.put(context.messages().len() as u64);
        Ok(())
    })
}

/// One message as JSON, counted from 0 in the order they are sent: lent by the context until it is freed,
/// without a NUL after it. The bytes are UTF-8 unless the file is damaged. LEAFLOG_STATUS_END, without an
/// error, when there is none of that number.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_message(
    context: *const leaflog_context,
    at: u64,
    json: *mut leaflog_str,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(json, "json")?;
        let context: Arc<SessionContext> = table::get(context)?;
        let message = usize::try_from(at).ok().and_then(|at| context.message(at)).ok_or_else(Failure::end)?;
        out.put(leaflog_str::of(message.bytes()));
        Ok(())
    })
}

/// Frees a context. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_context_free(context: *mut leaflog_context) -> leaflog_status {
    table::free(context.cast_const())
}
