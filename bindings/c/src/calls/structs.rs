//! The structs of the interface: what is filled in, what is read.

use super::call::Call;
use super::functions::{self, Store};
use crate::abi::leaflog_str;
use crate::append::{leaflog_compaction, leaflog_custom_message, leaflog_session_init};
use crate::callbacks::leaflog_storage_functions;
use crate::entries::leaflog_entry;
use crate::finding::{leaflog_find_options, leaflog_session_info};
use crate::history::leaflog_prompt;
use crate::options::{leaflog_options, leaflog_variable, leaflog_view_options};
use crate::read::leaflog_usage;
use std::ptr;

/// A struct that the caller fills in.
pub(super) trait Fields {
    /// Fills in all but the size.
    fn fill(&mut self, call: &mut Call);
}

fn flag(call: &mut Call, usual: &[i32]) -> i32 {
    if call.world.next(8) == 7 {
        call.odd();
        return call.world.one(&[-1, 3, 99, i32::MIN, i32::MAX]);
    }
    call.world.one(usual)
}

/// Most fields of most structs are left alone.
fn maybe(call: &mut Call, name: &str) -> leaflog_str {
    if call.world.next(3) == 2 { call.text(name) } else { leaflog_str::ABSENT }
}

impl Fields for leaflog_options {
    fn fill(&mut self, call: &mut Call) {
        self.agent_dir = maybe(call, "agent_dir");
        self.session_dir = maybe(call, "session_dir");
        if call.world.next(2) == 1 {
            self.storage = ptr::without_provenance(call.handle::<crate::storage::leaflog_storage>("storage?"));
        }
        self.lock_timeout_ms = call.world.one(&[-1, i64::MIN, 1]);
        self.durability = flag(call, &[0, 1]);
        self.migration_rewrite = flag(call, &[0, 1]);
        if call.world.next(2) == 1 {
            self.log = Some(functions::log);
            self.log_data = functions::data(call.world);
        }
        self.config_dir_name = maybe(call, "config_dir_name");
        if call.world.next(4) == 3 {
            self.environment =
                call.array(|call| leaflog_variable { name: call.text("variable"), value: call.text("value") });
            self.environment_count = call.len;
        }
        self.terminal = maybe(call, "terminal");
        self.dir_naming = flag(call, &[0, 1]);
        if call.world.next(4) == 3 {
            self.generator = ptr::without_provenance(call.handle::<crate::generator::leaflog_generator>("generator?"));
        }
    }
}

impl Fields for leaflog_view_options {
    fn fill(&mut self, call: &mut Call) {
        self.blobs_dir = maybe(call, "blobs_dir");
        self.fallback_blobs_dir = maybe(call, "fallback_blobs_dir");
        self.threads = call.world.one(&[0, 1, 2, 3]);
    }
}

impl Fields for leaflog_find_options {
    fn fill(&mut self, call: &mut Call) {
        if call.world.next(2) == 1 {
            self.roots = call.array(|call| call.text("dir"));
            self.root_count = call.len;
        }
        self.threads = call.world.one(&[1, 0, 2]);
        if call.world.next(2) == 1 {
            self.progress = Some(functions::progress);
            self.progress_data = functions::data(call.world);
        }
    }
}

impl Fields for leaflog_session_init {
    fn fill(&mut self, call: &mut Call) {
        self.system_prompt = maybe(call, "system_prompt");
        self.task = maybe(call, "task");
        self.tools = call.array(|call| call.text("tool"));
        self.tool_count = call.len;
        self.output_schema_json = maybe(call, "output_schema_json");
    }
}

impl Fields for leaflog_compaction {
    fn fill(&mut self, call: &mut Call) {
        self.summary = maybe(call, "summary");
        self.short_summary = maybe(call, "short_summary");
        self.first_kept_entry_id = call.text("first_kept_entry_id");
        self.tokens_before = call.world.one(&[0, 1, u64::MAX]);
        self.details_json = maybe(call, "details_json");
        self.preserve_data_json = maybe(call, "preserve_data_json");
        self.from_extension = flag(call, &[0, 1, 2]);
    }
}

impl Fields for leaflog_custom_message {
    fn fill(&mut self, call: &mut Call) {
        self.custom_type = call.text("custom_type");
        self.content_json = call.text("content_json");
        self.details_json = maybe(call, "details_json");
        self.attribution = maybe(call, "attribution");
        self.display = flag(call, &[0, 1]);
    }
}

impl Fields for leaflog_storage_functions {
    fn fill(&mut self, call: &mut Call) {
        *self = Store::functions(call.world);
        match call.world.next(16) {
            10 => self.exists = None,
            11 => self.writer_free = None,
            12 => self.read_text = None,
            13 => self.version = call.world.one(&[0, 2, u32::MAX]),
            14 => self.release = None,
            15 => self.list_dirs = None,
            _ => return,
        }
        call.odd();
    }
}

/// A struct that the library fills in.
pub(super) trait Lends {
    fn lent(&self) -> Vec<leaflog_str>;
}

impl Lends for leaflog_entry {
    fn lent(&self) -> Vec<leaflog_str> {
        vec![self.id, self.parent_id, self.type_name, self.role, self.label]
    }
}

impl Lends for leaflog_session_info {
    fn lent(&self) -> Vec<leaflog_str> {
        let found = [self.path, self.id, self.cwd, self.title, self.parent_session, self.first_message];
        [found.as_slice(), &[self.name, self.full_name, self.time_ago]].concat()
    }
}

impl Lends for leaflog_prompt {
    fn lent(&self) -> Vec<leaflog_str> {
        vec![self.prompt, self.cwd]
    }
}

impl Lends for leaflog_usage {
    fn lent(&self) -> Vec<leaflog_str> {
        Vec::new()
    }
}
