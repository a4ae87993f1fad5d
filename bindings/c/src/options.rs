//! Option structs.

use crate::abi::{self, Out, leaflog_str, leaflog_string, os_text, read_optional, slice};
use crate::error::{Failure, guard, leaflog_error};
use crate::generator::leaflog_generator;
use crate::status::leaflog_status;
use crate::storage::{Storage, leaflog_storage};
use crate::table;
use leaflog_core::{DirNaming, Durability, Environment, ManagerOptions, MigrationRewrite, ViewOptions};
use std::ffi::{OsString, c_void};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// Bytes survive a power cut with `leaflog_session_flush()`; a killed process loses nothing in any case.
pub const LEAFLOG_DURABILITY_FLUSH: i32 = 0;
/// Bytes survive a power cut before every append returns.
pub const LEAFLOG_DURABILITY_EVERY_APPEND: i32 = 1;

/// A file of an older version is written anew when it is opened.
pub const LEAFLOG_MIGRATION_IMMEDIATE: i32 = 0;
/// A file of an older version is written anew with the next change that is written.
pub const LEAFLOG_MIGRATION_DEFERRED: i32 = 1;

/// The session folder of a project is named by its whole path: `--home-ada-tides--`.
pub const LEAFLOG_DIRS_ABSOLUTE: i32 = 0;
/// The session folder of a project inside of the home or temporary folder is named by its path from there.
pub const LEAFLOG_DIRS_HOME_RELATIVE: i32 = 1;

/// A variable of an environment.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_variable {
    /// Its name.
    pub name: leaflog_str,
    /// Its value.
    pub value: leaflog_str,
}

/// Is handed errors of writing, once each, with the session's file in them; the text is borrowed for
/// the call. It is called inside a call with the session, on that thread: it must return, and calls
/// with the same session give LEAFLOG_STATUS_BUSY from there.
pub type leaflog_log = Option<unsafe extern "C" fn(data: *mut c_void, message: leaflog_str)>;

/// How a session is made. Set all to 0 and `struct_size` to `sizeof(leaflog_options)`: 0 is the
/// default of every field. A NULL pointer in place of the struct is all defaults. It is only read
/// during the call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_options {
    /// `sizeof(leaflog_options)`.
    pub struct_size: usize,
    /// Path: the agent's folder, which holds `sessions` and `blobs`; absent: the one of this machine.
    pub agent_dir: leaflog_str,
    /// Path: the folder of the session files; absent: the project's in the agent's folder, or that of
    /// the file that is opened.
    pub session_dir: leaflog_str,
    /// Where sessions are kept; NULL: in files. The session keeps the storage, whose handle can be
    /// freed before.
    pub storage: *const leaflog_storage,
    /// How long another process's lock is waited for, in milliseconds; 0: 10 seconds; negative: not
    /// at all.
    pub lock_timeout_ms: i64,
    /// LEAFLOG_DURABILITY_…
    pub durability: i32,
    /// LEAFLOG_MIGRATION_…
    pub migration_rewrite: i32,
    /// Is handed errors of writing; NULL: nobody is.
    pub log: leaflog_log,
    /// Handed to `log`. It must live as long as the session.
    pub log_data: *mut c_void,
    /// The name of the config folder under home; absent: that of `PI_CONFIG_DIR`, else `.xcsh`.
    pub config_dir_name: leaflog_str,
    /// The environment that folders and the terminal are found by; NULL: that of the process.
    pub environment: *const leaflog_variable,
    /// How many variables there are.
    pub environment_count: usize,
    /// Which terminal the program is on, as `leaflog_terminal_id()` names it; empty: on none; absent: the one of the
    /// standard input or the environment.
    pub terminal: leaflog_str,
    /// How session folders of projects are named: LEAFLOG_DIRS_…
    pub dir_naming: i32,
    /// Where ids and times come from, for tests; NULL: the clock of the machine and random numbers. The session keeps
    /// it; the handle can be freed before.
    pub generator: *const leaflog_generator,
}

/// How a session is opened for reading only. Set all to 0 and `struct_size` to
/// `sizeof(leaflog_view_options)`: 0 is the default of every field. A NULL pointer in place of the
/// struct is all defaults.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct leaflog_view_options {
    /// `sizeof(leaflog_view_options)`.
    pub struct_size: usize,
    /// Path: the folder blobs are read from; absent: `blobs` beside the folder `sessions` that the
    /// file lies in.
    pub blobs_dir: leaflog_str,
    /// Path: the folder blobs are read from when none is given and the file lies in no folder
    /// `sessions`.
    pub fallback_blobs_dir: leaflog_str,
    /// How many threads may scan a large file; 0: as many as fit the file and the machine.
    pub threads: u32,
}

// SAFETY: `repr(C)`, a `usize` first, and numbers, pointers and optional functions after it.
unsafe impl abi::Plain for leaflog_options {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_options {
        agent_dir,
        session_dir,
        storage,
        lock_timeout_ms,
        durability,
        migration_rewrite,
        log,
        log_data,
        config_dir_name,
        environment,
        environment_count,
        terminal,
        dir_naming,
        generator
    });
}
// SAFETY: as above.
unsafe impl abi::Plain for leaflog_view_options {
    const FIELDS: &'static [usize] = abi::fields!(leaflog_view_options { blobs_dir, fallback_blobs_dir, threads });
}

/// The caller's log function and what it wants to be handed.
#[derive(Clone, Copy)]
struct Log {
    log: unsafe extern "C" fn(*mut c_void, leaflog_str),
    data: *mut c_void,
}

// SAFETY: the contract says that the function may be called on the thread that uses the session,
// whichever that is; `data` is only handed to it.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

impl Log {
    fn call(&self, message: &str) {
        // SAFETY: the contract says that the function can be called with these for as long as the
        // session lives.
        unsafe { (self.log)(self.data, leaflog_str::of(message.as_bytes())) }
    }
}

/// The core's options of a caller's.
pub(crate) fn manager_options(options: *const leaflog_options) -> Result<ManagerOptions, Failure> {
    let mut made = ManagerOptions::new();
    let Some(options) = read_optional(options, "options")? else { return Ok(made) };
    if let Some(dir) = options.agent_dir.optional_path("options.agent_dir")? {
        made = made.agent_dir(dir);
    }
    if let Some(dir) = options.session_dir.optional_path("options.session_dir")? {
        made = made.session_dir(dir);
    }
    if let Some(name) = options.config_dir_name.optional_path("options.config_dir_name")? {
        made = made.config_dir_name(name);
    }
    made = made.environment(environment(&options)?);
    made = made.dir_naming(match options.dir_naming {
        LEAFLOG_DIRS_ABSOLUTE => DirNaming::Absolute,
        LEAFLOG_DIRS_HOME_RELATIVE => DirNaming::HomeRelative,
        other => return Err(Failure::argument(format!("options.dir_naming: there is no {other}"))),
    });
    if let Some(storage) = table::get_optional(options.storage)? {
        made = match &*storage {
            Storage::Files(files) => made.storage(*files),
            Storage::Other(other) => made.storage(Arc::clone(other)),
        };
    }
    if options.lock_timeout_ms != 0 {
        made = made.lock_timeout(Duration::from_millis(options.lock_timeout_ms.max(0).cast_unsigned()));
    }
    made = made.durability(match options.durability {
        LEAFLOG_DURABILITY_FLUSH => Durability::Flush,
        LEAFLOG_DURABILITY_EVERY_APPEND => Durability::EveryAppend,
        other => return Err(Failure::argument(format!("options.durability: there is no {other}"))),
    });
    made = made.migration_rewrite(match options.migration_rewrite {
        LEAFLOG_MIGRATION_IMMEDIATE => MigrationRewrite::Immediate,
        LEAFLOG_MIGRATION_DEFERRED => MigrationRewrite::Deferred,
        other => return Err(Failure::argument(format!("options.migration_rewrite: there is no {other}"))),
    });
    if let Some(generator) = table::get_optional(options.generator)? {
        made = made.generator(generator);
    }
    if let Some(log) = options.log {
        let log = Log { log, data: options.log_data };
        made = made.logger(move |message| log.call(message));
    }
    Ok(made)
}

fn environment(options: &leaflog_options) -> Result<Environment, Failure> {
    let text = |text: leaflog_str| text.bytes("options.environment").map(os_text);
    let environment = match slice(options.environment, options.environment_count, "options.environment")? {
        None => Environment::process(),
        Some(variables) => {
            let variables: Vec<(OsString, OsString)> = variables
                .iter()
                .map(|variable| Ok((text(variable.name)?, text(variable.value)?)))
                .collect::<Result<_, Failure>>()?;
            Environment::from_vars(variables)
        }
    };
    let terminal = options.terminal.optional_text("options.terminal")?;
    Ok(match terminal {
        None => environment,
        Some(id) => environment.terminal(Some(id).filter(|id| !id.is_empty())),
    })
}

/// The id of the terminal that options and environment name: a plain name, such as `pts-3`; absent when it is none.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_terminal_id(
    options: *const leaflog_options,
    out: *mut leaflog_string,
    error: *mut *mut leaflog_error,
) -> leaflog_status {
    guard(error, || {
        let out = Out::new(out, "out")?;
        // What is wrong in the other fields is not passed over.
        manager_options(options)?;
        let environment = match read_optional(options, "options")? {
            None => Environment::process(),
            Some(options) => environment(&options)?,
        };
        out.put(leaflog_string::optional(environment.terminal_id()));
        Ok(())
    })
}

/// The core's view options of a caller's.
pub(crate) fn view_options(options: *const leaflog_view_options) -> Result<ViewOptions, Failure> {
    let mut made = ViewOptions::new();
    let Some(options) = read_optional(options, "options")? else { return Ok(made) };
    if let Some(dir) = options.blobs_dir.optional_path("options.blobs_dir")? {
        made = made.blobs(dir);
    }
    if let Some(dir) = options.fallback_blobs_dir.optional_path("options.fallback_blobs_dir")? {
        made = made.fallback_blobs(dir);
    }
    if let Some(threads) = NonZero::new(options.threads as usize) {
        made = made.threads(threads);
    }
    Ok(made)
}
