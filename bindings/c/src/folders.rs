//! The folders of an agent.

use crate::abi::{Out, leaflog_str, leaflog_string, path_list};
use crate::error::{Failure, guard, leaflog_error};
use crate::options::{leaflog_options, manager_options};
use crate::status::leaflog_status;
use leaflog_core::ManagerOptions;

/// The agent's folder.
pub const LEAFLOG_FOLDER_AGENT: i32 = 0;
/// The folder of all projects' session folders.
pub const LEAFLOG_FOLDER_SESSIONS: i32 = 1;
/// The folder of the blob store.
pub const LEAFLOG_FOLDER_BLOBS: i32 = 2;
/// The folder of the terminals' breadcrumbs.
pub const LEAFLOG_FOLDER_TERMINAL_SESSIONS: i32 = 3;
/// The database of the prompt history, which is a file.
pub const LEAFLOG_FOLDER_HISTORY_DB: i32 = 4;

/// Makes a text of options.
fn text(
    options: *const leaflog_options,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
    make: impl FnOnce(&ManagerOptions) -> Result<leaflog_string, Failure>,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        out.put(make(&manager_options(options)?)?);
        Ok(())
    })
}

/// The path of one of the agent's folders, LEAFLOG_FOLDER_…, as options and environment name it. It need not exist.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_folder(
    options: *const leaflog_options,
    which: i32,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(options, out, error, |options| {
        let dirs = options.dirs();
        Ok(leaflog_string::path(&match which {
            LEAFLOG_FOLDER_AGENT => dirs.agent(),
            LEAFLOG_FOLDER_SESSIONS => dirs.sessions(),
            LEAFLOG_FOLDER_BLOBS => dirs.blobs(),
            LEAFLOG_FOLDER_TERMINAL_SESSIONS => dirs.terminal_sessions(),
            LEAFLOG_FOLDER_HISTORY_DB => dirs.history_db(),
            other => return Err(Failure::argument(format!("which: there is no {other}"))),
        }))
    })
}

/// Every folder that sessions of the project at the path `cwd` are read from, that of new ones first: one path after
/// another, a NUL after each. They need not exist.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_project_folders(
    options: *const leaflog_options,
    cwd: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(options, out, error, |options| Ok(path_list(&options.dirs().session_dirs(cwd.path("cwd")?))))
}

/// The folder that new sessions of the project at the path `cwd` go to by default. It is made, and with
/// LEAFLOG_DIRS_HOME_RELATIVE what the project has under the other name is moved to it.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_default_session_dir(
    options: *const leaflog_options,
    cwd: leaflog_str,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(options, out, error, |options| Ok(leaflog_string::path(&options.default_session_dir(cwd.path("cwd")?)?)))
}

/// The folders of this machine that agents keep sessions in, the agent's own first; only those that exist. One path
/// after another, a NUL after each.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_session_folders(
    options: *const leaflog_options,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    text(options, out, error, |options| Ok(path_list(&options.dirs().session_roots())))
}
