//! Artifacts: what tools gave that is too long for the session, in files beside it.

use crate::abi::{Out, leaflog_str, leaflog_string};
use crate::error::{Failure, guard, leaflog_error};
use crate::session::{self, leaflog_session};
use crate::status::leaflog_status;
use crate::table::{self, Opaque};
use leaflog_core::ArtifactManager;
use std::path::PathBuf;
use std::sync::Arc;

/// The artifacts of a session file: files `<id>.<tool type>.log` in the folder of the session's name
/// without `.jsonl`. It holds no file open, and any number of threads and processes may use one at once.
/// The caller frees it with `leaflog_artifacts_free()`.
pub struct leaflog_artifacts {
    _opaque: [u8; 0],
}

impl Opaque for leaflog_artifacts {
    type Object = ArtifactManager;
    const NAME: &'static str = "artifact folder";
}

/// Writes an id and a path, each where it is wanted.
fn put_both(id: Out<leaflog_string>, path: Out<leaflog_string>, made: Option<(String, PathBuf)>) {
    let (made_id, made_path) = made.unzip();
    id.put_with(|| leaflog_string::optional(made_id));
    path.put_with(|| made_path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
}

/// The folder of the session's artifacts, which need not exist; absent when it has no file, or one whose name
/// does not end in `.jsonl`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_artifacts_dir(
    session: *const leaflog_session,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let dir = session::work(session, |manager| Ok(manager.artifacts_dir()))?;
        out.put_with(|| dir.map_or(leaflog_string::ABSENT, |dir| leaflog_string::path(&dir)));
        Ok(())
    })
}

/// Takes the next artifact's id and makes its empty file. `id` and `path` may be NULL, and get absent texts
/// when the session has no file. INVALID_ARGUMENT for a tool type that is no plain name.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_allocate_artifact(
    session: *mut leaflog_session,
    tool_type: leaflog_str,
    id: *mut leaflog_string,
    path: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let (id, path) = (Out::optional(id, "id")?, Out::optional(path, "path")?);
        let tool_type = tool_type.text("tool_type")?;
        put_both(id, path, session::work(session, |manager| Ok(manager.allocate_artifact_path(tool_type)?))?);
        Ok(())
    })
}

/// Saves an artifact. `id`, which may be NULL, gets its id. Without a file it is kept in memory until the
/// handle goes on with a new session.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_save_artifact(
    session: *mut leaflog_session,
    content: leaflog_str,
    tool_type: leaflog_str,
    id: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let id = Out::optional(id, "id")?;
        let (content, tool_type) = (content.bytes("content")?, tool_type.text("tool_type")?);
        let saved = session::work(session, |manager| Ok(manager.save_artifact(content, tool_type)?))?;
        id.put_with(|| leaflog_string::new(saved));
        Ok(())
    })
}

/// The path of an artifact; absent when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_artifact_path(
    session: *const leaflog_session,
    id: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let id = id.text("id")?;
        let path = session::work(session, |manager| Ok(manager.artifact_path(id)))?;
        out.put_with(|| path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
        Ok(())
    })
}

/// The artifacts of the session file at the path `session_file`. INVALID_ARGUMENT when its name does not end in `.jsonl`.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_of(
    session_file: leaflog_str,
    artifacts: *mut *mut leaflog_artifacts,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(artifacts, "artifacts")?;
        let artifacts = ArtifactManager::new(session_file.path("session_file")?);
        table::hand_out(out, artifacts.ok_or_else(|| Failure::argument("a session file ends in .jsonl"))?);
        Ok(())
    })
}

/// The folder, which need not exist.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_dir(
    artifacts: *const leaflog_artifacts,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let artifacts: Arc<ArtifactManager> = table::get(artifacts)?;
        out.put_with(|| leaflog_string::path(artifacts.dir()));
        Ok(())
    })
}

/// Takes the next id and makes its empty file. `id` and `path` may be NULL. INVALID_ARGUMENT for a tool type
/// that is no plain name.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_allocate(
    artifacts: *const leaflog_artifacts,
    tool_type: leaflog_str,
    id: *mut leaflog_string,
    path: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let (id, path) = (Out::optional(id, "id")?, Out::optional(path, "path")?);
        let artifacts: Arc<ArtifactManager> = table::get(artifacts)?;
        put_both(id, path, Some(artifacts.allocate(tool_type.text("tool_type")?)?));
        Ok(())
    })
}

/// Saves an artifact. `id`, which may be NULL, gets its id.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_save(
    artifacts: *const leaflog_artifacts,
    content: leaflog_str,
    tool_type: leaflog_str,
    id: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let id = Out::optional(id, "id")?;
        let artifacts: Arc<ArtifactManager> = table::get(artifacts)?;
        let saved = artifacts.save(content.bytes("content")?, tool_type.text("tool_type")?)?;
        id.put_with(|| leaflog_string::new(saved));
        Ok(())
    })
}

/// The path of an artifact; absent when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_path(
    artifacts: *const leaflog_artifacts,
    id: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        let artifacts: Arc<ArtifactManager> = table::get(artifacts)?;
        let path = artifacts.path(id.text("id")?);
        out.put_with(|| path.map_or(leaflog_string::ABSENT, |path| leaflog_string::path(&path)));
        Ok(())
    })
}

/// Frees the handle; no file is touched. NULL is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_artifacts_free(artifacts: *mut leaflog_artifacts) -> leaflog_status {
    table::free(artifacts.cast_const())
}
