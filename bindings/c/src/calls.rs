//! Any calls: every function of the header, with arguments that are right, wrong and nonsense, in any order.
//!
//! For the test below and for the fuzz target `capi`; the library has nothing of it. An argument is drawn by its type,
//! which is that of the function itself, and by the name that the header gives it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod arguments;
mod call;
mod functions;
mod structs;
mod texts;
mod world;

use crate::{abi, append, artifacts, blobs, callbacks, context, entries, error, finding, folders, generator, history};
use crate::{life, options, read, status, storage, table, version};
use arguments::Function;
use call::Call;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use world::World;

/// Draws the arguments of a function, calls it, and looks at what came of it.
type Caller = Box<dyn Fn(Call) + Send + Sync>;

/// A function of the header.
struct Known {
    name: &'static str,
    call: Caller,
    /// The names of its parameters.
    parameters: Vec<String>,
}

fn boxed(function: impl Function + Send + Sync + 'static) -> Caller {
    Box::new(move |call| function.call(call))
}

macro_rules! functions {
    ($($module:ident::$name:ident($($parameter:tt),*),)*) => {
        vec![$((stringify!($name), boxed($module::$name as extern "C" fn($($parameter),*) -> _))),*]
    };
}

static FUNCTIONS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut declared = declared(include_str!("../../../include/leaflog.h"));
    let functions: Vec<(&'static str, Caller)> = functions![
        abi::leaflog_string_free(_),
        append::leaflog_session_append_message(_, _, _, _),
        append::leaflog_session_append_entry(_, _, _, _),
        append::leaflog_session_append_thinking_level_change(_, _, _, _),
        append::leaflog_session_append_service_tier_change(_, _, _, _),
        append::leaflog_session_append_mode_change(_, _, _, _, _),
        append::leaflog_session_append_context_change(_, _, _, _, _, _),
        append::leaflog_session_append_model_change(_, _, _, _, _),
        append::leaflog_session_append_session_init(_, _, _, _),
        append::leaflog_session_append_compaction(_, _, _, _),
        append::leaflog_session_append_custom_entry(_, _, _, _, _),
        append::leaflog_session_append_custom_message(_, _, _, _),
        append::leaflog_session_append_mcp_tool_selection(_, _, _, _, _),
        append::leaflog_session_append_ttsr_injection(_, _, _, _, _),
        append::leaflog_session_append_label_change(_, _, _, _, _),
        append::leaflog_session_branch(_, _, _),
        append::leaflog_session_reset_leaf(_, _),
        append::leaflog_session_branch_with_summary(_, _, _, _, _, _, _),
        artifacts::leaflog_session_artifacts_dir(_, _, _),
        artifacts::leaflog_session_allocate_artifact(_, _, _, _, _),
        artifacts::leaflog_session_save_artifact(_, _, _, _, _),
        artifacts::leaflog_session_artifact_path(_, _, _, _),
        artifacts::leaflog_artifacts_of(_, _, _),
        artifacts::leaflog_artifacts_dir(_, _, _),
        artifacts::leaflog_artifacts_allocate(_, _, _, _, _),
        artifacts::leaflog_artifacts_save(_, _, _, _, _),
        artifacts::leaflog_artifacts_path(_, _, _, _),
        artifacts::leaflog_artifacts_free(_),
        blobs::leaflog_blobs_open(_, _, _),
        blobs::leaflog_session_blobs(_, _, _),
        blobs::leaflog_blobs_dir(_, _, _),
        blobs::leaflog_blobs_put(_, _, _, _),
        blobs::leaflog_blobs_get(_, _, _, _, _),
        blobs::leaflog_blobs_has(_, _, _, _),
        blobs::leaflog_blobs_path(_, _, _, _),
        blobs::leaflog_blob_reference(_, _, _),
        blobs::leaflog_is_blob_reference(_),
        blobs::leaflog_blobs_free(_),
        callbacks::leaflog_reply_add(_, _),
        callbacks::leaflog_reply_fail(_, _, _),
        context::leaflog_session_context(_, _, _, _, _),
        context::leaflog_session_context_json(_, _, _, _, _),
        context::leaflog_context_json(_, _, _),
        context::leaflog_context_state_json(_, _, _),
        context::leaflog_context_thinking_level(_, _, _),
        context::leaflog_context_model(_, _, _, _),
        context::leaflog_context_message_count(_, _, _),
        context::leaflog_context_message(_, _, _, _),
        context::leaflog_context_free(_),
        entries::leaflog_session_entries(_, _, _),
        entries::leaflog_session_tree(_, _, _),
        entries::leaflog_session_entry(_, _, _, _),
        entries::leaflog_session_path(_, _, _, _),
        entries::leaflog_session_children(_, _, _, _, _),
        entries::leaflog_session_roots(_, _, _),
        entries::leaflog_session_leaves(_, _, _),
        entries::leaflog_entries_next(_, _, _),
        entries::leaflog_entries_json(_, _, _, _),
        entries::leaflog_entries_count(_, _, _),
        entries::leaflog_entries_free(_),
        entries::leaflog_session_entry_json(_, _, _, _, _),
        entries::leaflog_session_entries_json(_, _, _, _),
        entries::leaflog_session_tree_json(_, _, _, _),
        error::leaflog_error_status(_),
        error::leaflog_error_message(_),
        error::leaflog_error_text(_),
        error::leaflog_error_path(_),
        error::leaflog_error_line(_),
        error::leaflog_error_os_errno(_),
        error::leaflog_error_entry_id(_),
        error::leaflog_error_free(_),
        finding::leaflog_list(_, _, _, _, _),
        finding::leaflog_list_all(_, _, _, _),
        finding::leaflog_recent(_, _, _, _, _, _),
        finding::leaflog_recent_of(_, _, _, _, _, _),
        finding::leaflog_most_recent(_, _, _, _, _),
        finding::leaflog_most_recent_of(_, _, _, _, _),
        finding::leaflog_newest(_, _, _, _),
        finding::leaflog_resolve(_, _, _, _, _, _),
        finding::leaflog_candidates(_, _, _, _, _, _),
        finding::leaflog_by_prefix(_, _, _, _, _),
        finding::leaflog_all_messages_text(_, _, _, _, _),
        finding::leaflog_shows(_, _, _, _),
        finding::leaflog_info_of_bytes(_, _, _, _, _),
        finding::leaflog_recent_of_prefix(_, _, _, _, _),
        finding::leaflog_listing_count(_),
        finding::leaflog_listing_problem_count(_),
        finding::leaflog_listing_is_cancelled(_),
        finding::leaflog_listing_session(_, _, _, _),
        finding::leaflog_listing_is_meant(_, _, _, _, _),
        finding::leaflog_listing_problem(_, _, _, _),
        finding::leaflog_listing_free(_),
        folders::leaflog_folder(_, _, _, _),
        folders::leaflog_project_folders(_, _, _, _),
        folders::leaflog_default_session_dir(_, _, _, _),
        folders::leaflog_session_folders(_, _, _),
        generator::leaflog_generator_sequence(_, _, _, _),
        generator::leaflog_generator_free(_),
        history::leaflog_history_open(_, _, _),
        history::leaflog_history_open_read_only(_, _, _),
        history::leaflog_history_path(_, _, _),
        history::leaflog_history_set_aside(_, _, _),
        history::leaflog_history_add(_, _, _, _),
        history::leaflog_history_add_utf16(_, _, _, _, _, _),
        history::leaflog_history_flush(_, _),
        history::leaflog_history_close(_, _),
        history::leaflog_history_recent(_, _, _, _),
        history::leaflog_history_search(_, _, _, _, _),
        history::leaflog_history_free(_),
        history::leaflog_prompts_count(_),
        history::leaflog_prompts_get(_, _, _, _),
        history::leaflog_prompts_json(_, _, _),
        history::leaflog_prompts_free(_),
        life::leaflog_session_create(_, _, _, _),
        life::leaflog_session_open(_, _, _, _),
        life::leaflog_session_continue_recent(_, _, _, _),
        life::leaflog_session_in_memory(_, _, _, _),
        life::leaflog_session_fork_from(_, _, _, _, _),
        life::leaflog_session_open_read_only(_, _, _, _),
        life::leaflog_session_read_bytes(_, _, _, _),
        life::leaflog_session_snapshot(_, _, _),
        life::leaflog_session_free(_),
        life::leaflog_session_set_file(_, _, _),
        life::leaflog_session_new(_, _, _, _),
        life::leaflog_session_fork(_, _, _, _),
        life::leaflog_session_create_branched(_, _, _, _),
        life::leaflog_session_move(_, _, _),
        life::leaflog_session_dir_after_move(_, _, _, _),
        life::leaflog_session_flush(_, _),
        life::leaflog_session_close(_, _),
        life::leaflog_session_ensure_on_disk(_, _),
        life::leaflog_session_rewrite(_, _, _, _),
        life::leaflog_session_set_name(_, _, _, _, _),
        life::leaflog_session_sanitize_replay_metadata(_, _, _),
        life::leaflog_session_capture(_, _, _),
        life::leaflog_session_restore(_, _, _),
        life::leaflog_state_session_id(_, _, _),
        life::leaflog_state_free(_),
        options::leaflog_terminal_id(_, _, _),
        read::leaflog_session_id(_, _, _),
        read::leaflog_session_file(_, _, _),
        read::leaflog_session_cwd(_, _, _),
        read::leaflog_session_dir(_, _, _),
        read::leaflog_session_title(_, _, _),
        read::leaflog_session_title_source(_, _, _),
        read::leaflog_session_header_json(_, _, _),
        read::leaflog_session_raw_json(_, _, _),
        read::leaflog_session_leaf_id(_, _, _),
        read::leaflog_session_label(_, _, _, _),
        read::leaflog_session_labels_json(_, _, _),
        read::leaflog_session_last_model_change_role(_, _, _),
        read::leaflog_session_report_json(_, _, _),
        read::leaflog_session_report_text(_, _, _),
        read::leaflog_session_entry_count(_, _, _),
        read::leaflog_session_size(_, _, _),
        read::leaflog_session_is_migrated(_, _, _),
        read::leaflog_session_is_read_only(_, _, _),
        read::leaflog_session_is_persisted(_, _, _),
        read::leaflog_session_is_started(_, _, _),
        read::leaflog_session_persist_status(_, _, _, _, _),
        read::leaflog_session_usage(_, _, _),
        status::leaflog_status_name(_),
        storage::leaflog_storage_files(_, _),
        storage::leaflog_storage_memory(_, _),
        storage::leaflog_storage_new(_, _, _),
        storage::leaflog_storage_free(_),
        storage::leaflog_storage_ensure_dir(_, _, _),
        storage::leaflog_storage_exists(_, _, _, _),
        storage::leaflog_storage_read_text(_, _, _, _, _),
        storage::leaflog_storage_write_text(_, _, _, _),
        storage::leaflog_storage_stat(_, _, _, _, _),
        storage::leaflog_storage_list_files(_, _, _, _, _),
        storage::leaflog_storage_list_dirs(_, _, _, _),
        storage::leaflog_storage_rename(_, _, _, _),
        storage::leaflog_storage_unlink(_, _, _),
        storage::leaflog_delete_session(_, _),
        storage::leaflog_storage_open_writer(_, _, _, _, _),
        storage::leaflog_writer_write_line(_, _, _),
        storage::leaflog_writer_flush(_, _),
        storage::leaflog_writer_fsync(_, _),
        storage::leaflog_writer_close(_, _),
        storage::leaflog_writer_error(_, _, _),
        storage::leaflog_writer_free(_),
        table::leaflog_live_handles(),
        version::leaflog_version(),
        version::leaflog_version_number(),
        version::leaflog_abi_version(),
    ];
    let known = |(name, call)| {
        let parameters = declared.remove(name).unwrap_or_else(|| panic!("the header has no {name}"));
        Known { name, call, parameters }
    };
    let functions = functions.into_iter().map(known).collect();
    assert!(declared.is_empty(), "the header has more functions: {:?}", declared.keys());
    functions
});

/// The functions that a header declares, and the names of their parameters.
fn declared(header: &str) -> BTreeMap<String, Vec<String>> {
    let (_, functions) = header.split_once("extern \"C\" {").unwrap();
    let code: Vec<&str> =
        functions.lines().filter(|line| !line.trim_start().starts_with("//") && !line.starts_with('#')).collect();
    let last_word = |text: &str| text.trim().rsplit([' ', '*']).next().unwrap_or_default().to_owned();
    let declaration = |text: &str| {
        let (before, parameters) = text.split_once('(')?;
        let parameters = parameters.trim_end().strip_suffix(')')?;
        let names = parameters.split(',').map(last_word).filter(|name| name != "void");
        Some((last_word(before), names.collect()))
    };
    code.join("\n").split(';').filter_map(declaration).collect()
}

/// Makes one call.
fn call(world: &World) {
    // Two bytes, so that every function is as likely as another.
    let at = (world.next(256) * 256 + world.next(256)) % FUNCTIONS.len();
    let known = &FUNCTIONS[at];
    if world.show {
        eprintln!("{:indent$}{}", "", known.name, indent = world.depth.get() * 4);
    }
    (known.call)(Call::new(world, known.name, &known.parameters));
}

/// A call from a function of the caller, inside of another call.
fn inner_call(world: &World) {
    if world.inner_calls.get() == 0 || world.depth.get() == 3 {
        return;
    }
    world.inner_calls.set(world.inner_calls.get() - 1);
    world.depth.set(world.depth.get() + 1);
    call(world);
    world.depth.set(world.depth.get() - 1);
}

/// How the name of a folder that may be emptied begins.
pub const PREFIX: &str = "leaflog-calls-";

/// Makes the calls that the bytes say, and panics when something is wrong.
///
/// `HOME` is this process's own folder, which is emptied, and no other variable names one. Its name begins with [`PREFIX`],
/// so that nobody's home is.
pub fn any_calls(data: &[u8]) {
    let home = std::env::var_os("HOME").unwrap();
    let name = Path::new(&home).file_name().unwrap();
    assert!(name.as_encoded_bytes().starts_with(PREFIX.as_bytes()), "{home:?} may not be emptied");
    let before = table::leaflog_live_handles();
    let world = World::new(Path::new(&home), data);
    for _ in 0..60 {
        if world.is_at_end() {
            break;
        }
        call(&world);
        world.assert_right();
    }
    world.free_all();
    for store in world.stores.borrow().iter() {
        store.check(&world);
    }
    let live = table::leaflog_live_handles();
    world.hold(live == before, || format!("of {live} handles and texts {before} were there before"));
    world.assert_right();
}

#[cfg(test)]
#[path = "../../../tests/support/mod.rs"]
mod support;

#[cfg(test)]
mod tests {
    use super::{PREFIX, any_calls, support};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use std::path::Path;
    use std::process::Command;

    const NAME: &str = "calls::tests::any_calls_in_any_order";

    /// In a process of its own, which finds nothing of this machine's in its environment and whose folder is empty.
    #[test]
    fn any_calls_in_any_order() {
        if std::env::var_os("LEAFLOG_CALLS").is_some() {
            return calls();
        }
        let shm = Path::new("/dev/shm");
        let mut dir = tempfile::Builder::new();
        dir.prefix(PREFIX);
        let dir = if shm.is_dir() { dir.tempdir_in(shm) } else { dir.tempdir() }.unwrap();
        let home = dir.path().canonicalize().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([NAME, "--exact", "--nocapture", "--test-threads=1"]).env_clear().current_dir(&home);
        for name in ["PROPTEST_RNG_SEED", "LEAFLOG_SHOW", "LEAFLOG_LONG", "LEAFLOG_LONG_SECONDS"] {
            child.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        let done = child.env("LEAFLOG_CALLS", "1").env("HOME", &home).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success() && out.contains("1 passed"), "{}\n{out}\n{err}", done.status);
    }

    fn calls() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/capi");
        for seed in seeds.read_dir().unwrap() {
            any_calls(&std::fs::read(seed.unwrap().path()).unwrap());
        }
        let cases = if std::env::var_os("LEAFLOG_LONG").is_some() { 20_000 } else { 600 };
        support::rounds(|seed| {
            let rng_seed = RngSeed::Fixed(seed);
            let config = ProptestConfig {
                cases,
                rng_seed,
                failure_persistence: None,
                max_shrink_iters: 500,
                ..Default::default()
            };
            proptest!(config, |(data in prop::collection::vec(any::<u8>(), 0..600))| any_calls(&data));
        });
    }
}
