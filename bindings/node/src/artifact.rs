//! Artifacts.

use crate::error::{convert, invalid};
use crate::session::Handle;
use leaflog::ArtifactManager;
use napi_derive::napi;

fn files(session_file: &str) -> napi::Result<ArtifactManager> {
    ArtifactManager::new(session_file).ok_or_else(|| invalid("the name of a session file ends in .jsonl"))
}

/// The folder of a session file's artifacts.
#[napi(catch_unwind)]
pub fn artifacts_dir(session_file: String) -> Option<String> {
    ArtifactManager::new(session_file).map(|files| files.dir().to_string_lossy().into_owned())
}

/// Id and path.
#[napi(catch_unwind)]
pub fn artifact_allocate(session_file: String, tool_type: String) -> napi::Result<Vec<String>> {
    let (id, path) = files(&session_file)?.allocate(&tool_type).map_err(convert)?;
    Ok(vec![id, path.to_string_lossy().into_owned()])
}

#[napi(catch_unwind)]
pub fn artifact_save(session_file: String, content: &[u8], tool_type: String) -> napi::Result<String> {
    files(&session_file)?.save(content, &tool_type).map_err(convert)
}

#[napi(catch_unwind)]
pub fn artifact_path(session_file: String, id: String) -> Option<String> {
    let path = ArtifactManager::new(session_file)?.path(&id)?;
    Some(path.to_string_lossy().into_owned())
}

/// Keeps an artifact of a session, in memory when it has no file.
#[napi(catch_unwind)]
pub fn session_save_artifact(session: &Handle, content: &[u8], tool_type: String) -> napi::Result<String> {
    session.run(|manager| manager.save_artifact(content, &tool_type))
}

/// Takes the next artifact's id and file; nothing when the session has no file that artifacts are kept beside.
#[napi(catch_unwind)]
pub fn session_allocate_artifact(session: &Handle, tool_type: String) -> napi::Result<Option<Vec<String>>> {
    let made = session.run(|manager| manager.allocate_artifact_path(&tool_type))?;
    Ok(made.map(|(id, path)| vec![id, path.to_string_lossy().into_owned()]))
}

#[napi(catch_unwind)]
pub fn session_artifact_path(session: &Handle, id: String) -> napi::Result<Option<String>> {
    let path = session.run(|manager| Ok(manager.artifact_path(&id)))?;
    Ok(path.map(|path| path.to_string_lossy().into_owned()))
}
