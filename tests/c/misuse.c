/* Everything a program can get wrong and the library can notice: an error each time, never a crash. */
#include "check.h"

/* A handle of any type with these bits. */
#define HANDLE(type, bits) ((type *)(uintptr_t)(bits))

#define USER "{\"role\":\"user\",\"content\":\"Hello\"}"

/* NULL for every argument of every function that takes a handle. */
static void null_everywhere(void) {
    leaflog_string out = {NULL, 0};
    leaflog_str str = {NULL, 0};
    uint64_t number = 7;
    bool flag = true;
    leaflog_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.struct_size = sizeof entry;
    leaflog_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    const int32_t bad = LEAFLOG_STATUS_INVALID_HANDLE;
    const int32_t argument = LEAFLOG_STATUS_INVALID_ARGUMENT;

    /* Nothing but NULL: whichever argument is looked at first, it is an error. */
    CHECK(leaflog_session_create(str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_open(str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_in_memory(str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_fork_from(str, str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_open_read_only(str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_read_bytes(str, NULL, NULL, NULL) == argument);
    CHECK(leaflog_session_snapshot(NULL, NULL, NULL) == argument);
    CHECK(leaflog_artifacts_of(str, NULL, NULL) == argument);
    CHECK(leaflog_blobs_open(str, NULL, NULL) == argument);
    CHECK(leaflog_blob_reference(str, NULL, NULL) == argument);
    CHECK(leaflog_storage_files(NULL, NULL) == argument);
    CHECK(leaflog_storage_memory(NULL, NULL) == argument);
    CHECK(leaflog_storage_new(NULL, NULL, NULL) == argument);
    CHECK(leaflog_generator_sequence(0, 0, NULL, NULL) == argument);
    CHECK(leaflog_delete_session(str, NULL) == argument);

    leaflog_session *session = NULL;
    FAILS(argument, leaflog_session_create(str, NULL, &session, &error));
    FAILS(argument, leaflog_session_open(str, NULL, &session, &error));
    FAILS(LEAFLOG_STATUS_NOT_A_SESSION, leaflog_session_read_bytes(str, NULL, &session, &error));
    leaflog_storage *storage = NULL;
    FAILS(argument, leaflog_storage_new(NULL, &storage, &error));

    /* No handle, and a place for what comes back. */
    FAILS(bad, leaflog_session_set_file(NULL, S("x"), &error));
    FAILS(bad, leaflog_session_new(NULL, str, &out, &error));
    FAILS(bad, leaflog_session_fork(NULL, &out, &out, &error));
    FAILS(bad, leaflog_session_create_branched(NULL, str, &out, &error));
    FAILS(bad, leaflog_session_move(NULL, S("x"), &error));
    FAILS(bad, leaflog_session_flush(NULL, &error));
    FAILS(bad, leaflog_session_close(NULL, &error));
    FAILS(bad, leaflog_session_ensure_on_disk(NULL, &error));
    FAILS(bad, leaflog_session_rewrite(NULL, NULL, 0, &error));
    FAILS(bad, leaflog_session_sanitize_replay_metadata(NULL, &flag, &error));
    FAILS(argument, leaflog_folder(NULL, 0, NULL, &error));
    FAILS(argument, leaflog_project_folders(NULL, str, &out, &error));
    FAILS(argument, leaflog_default_session_dir(NULL, str, &out, &error));
    FAILS(argument, leaflog_session_folders(NULL, NULL, &error));
    FAILS(bad, leaflog_session_set_name(NULL, str, 0, &flag, &error));
    leaflog_state *state = NULL;
    FAILS(bad, leaflog_session_capture(NULL, &state, &error));
    FAILS(bad, leaflog_session_restore(NULL, NULL, &error));
    FAILS(bad, leaflog_state_session_id(NULL, &out, &error));
    FAILS(bad, leaflog_session_append_message(NULL, S(USER), NULL, &error));
    FAILS(bad, leaflog_session_append_entry(NULL, str, NULL, &error));
    FAILS(bad, leaflog_session_append_thinking_level_change(NULL, str, NULL, &error));
    FAILS(bad, leaflog_session_append_service_tier_change(NULL, str, NULL, &error));
    FAILS(bad, leaflog_session_append_mode_change(NULL, str, str, NULL, &error));
    FAILS(bad, leaflog_session_append_context_change(NULL, str, str, str, NULL, &error));
    FAILS(bad, leaflog_session_append_model_change(NULL, str, str, NULL, &error));
    FAILS(bad, leaflog_session_append_session_init(NULL, NULL, NULL, &error));
    FAILS(bad, leaflog_session_append_compaction(NULL, NULL, NULL, &error));
    FAILS(bad, leaflog_session_append_custom_entry(NULL, str, str, NULL, &error));
    FAILS(bad, leaflog_session_append_custom_message(NULL, NULL, NULL, &error));
    FAILS(bad, leaflog_session_append_mcp_tool_selection(NULL, NULL, 0, NULL, &error));
    FAILS(bad, leaflog_session_append_ttsr_injection(NULL, NULL, 0, NULL, &error));
    FAILS(bad, leaflog_session_append_label_change(NULL, str, str, NULL, &error));
    FAILS(bad, leaflog_session_branch(NULL, str, &error));
    FAILS(bad, leaflog_session_reset_leaf(NULL, &error));
    FAILS(bad, leaflog_session_branch_with_summary(NULL, str, str, str, 0, NULL, &error));
    leaflog_entries *entries = NULL;
    FAILS(bad, leaflog_session_entries(NULL, &entries, &error));
    FAILS(bad, leaflog_session_tree(NULL, &entries, &error));
    FAILS(bad, leaflog_session_entry(NULL, str, &entries, &error));
    FAILS(bad, leaflog_session_path(NULL, str, &entries, &error));
    FAILS(bad, leaflog_session_children(NULL, str, 0, &entries, &error));
    FAILS(bad, leaflog_session_roots(NULL, &entries, &error));
    FAILS(bad, leaflog_session_leaves(NULL, &entries, &error));
    FAILS(bad, leaflog_entries_next(NULL, &entry, &error));
    FAILS(bad, leaflog_entries_json(NULL, 0, &str, &error));
    FAILS(bad, leaflog_entries_count(NULL, &number, &error));
    leaflog_context *context = NULL;
    FAILS(bad, leaflog_session_context(NULL, 0, str, &context, &error));
    FAILS(bad, leaflog_context_message(NULL, 0, &str, &error));
    FAILS(bad, leaflog_context_message_count(NULL, &number, &error));
    FAILS(bad, leaflog_context_json(NULL, &out, &error));
    FAILS(bad, leaflog_context_state_json(NULL, &out, &error));
    FAILS(bad, leaflog_context_thinking_level(NULL, &out, &error));
    FAILS(bad, leaflog_context_model(NULL, str, &out, &error));
    leaflog_status (*const texts[])(const leaflog_session *, leaflog_string *, leaflog_error **) = {
        leaflog_session_id, leaflog_session_file, leaflog_session_cwd, leaflog_session_dir, leaflog_session_title,
        leaflog_session_title_source, leaflog_session_header_json, leaflog_session_leaf_id,
        leaflog_session_labels_json, leaflog_session_last_model_change_role, leaflog_session_report_json,
        leaflog_session_report_text, leaflog_session_artifacts_dir,
    };
    for (size_t at = 0; at < sizeof texts / sizeof texts[0]; at++) {
        FAILS(bad, texts[at](NULL, &out, &error));
        FAILS(argument, texts[at](NULL, NULL, &error));
    }
    FAILS(bad, leaflog_session_label(NULL, str, &out, &error));
    FAILS(bad, leaflog_session_entry_json(NULL, str, 0, &out, &error));
    FAILS(bad, leaflog_session_entries_json(NULL, 0, &out, &error));
    FAILS(bad, leaflog_session_tree_json(NULL, 0, &out, &error));
    FAILS(bad, leaflog_session_context_json(NULL, 0, str, &out, &error));
    FAILS(bad, leaflog_session_entry_count(NULL, &number, &error));
    FAILS(bad, leaflog_session_size(NULL, &number, &error));
    FAILS(bad, leaflog_session_is_migrated(NULL, &flag, &error));
    FAILS(bad, leaflog_session_is_read_only(NULL, &flag, &error));
    FAILS(bad, leaflog_session_is_started(NULL, &flag, &error));
    FAILS(bad, leaflog_session_raw_json(NULL, &out, &error));
    FAILS(bad, leaflog_session_dir_after_move(NULL, S("x"), &out, &error));
    FAILS(bad, leaflog_session_is_persisted(NULL, &flag, &error));
    FAILS(bad, leaflog_session_persist_status(NULL, NULL, NULL, NULL, &error));
    FAILS(bad, leaflog_session_usage(NULL, &usage, &error));
    FAILS(bad, leaflog_session_allocate_artifact(NULL, S("x"), &out, &out, &error));
    FAILS(bad, leaflog_session_save_artifact(NULL, str, S("x"), &out, &error));
    FAILS(bad, leaflog_session_artifact_path(NULL, str, &out, &error));
    FAILS(bad, leaflog_artifacts_dir(NULL, &out, &error));
    FAILS(bad, leaflog_artifacts_allocate(NULL, S("x"), &out, &out, &error));
    FAILS(bad, leaflog_artifacts_save(NULL, str, S("x"), &out, &error));
    FAILS(bad, leaflog_artifacts_path(NULL, str, &out, &error));
    leaflog_blobs *blobs = NULL;
    int32_t found = -1;
    FAILS(bad, leaflog_session_blobs(NULL, &blobs, &error));
    FAILS(bad, leaflog_blobs_dir(NULL, &out, &error));
    FAILS(bad, leaflog_blobs_put(NULL, str, &out, &error));
    FAILS(bad, leaflog_blobs_get(NULL, str, &found, &out, &error));
    FAILS(bad, leaflog_blobs_has(NULL, str, &flag, &error));
    FAILS(bad, leaflog_blobs_path(NULL, str, &out, &error));
    FAILS(bad, leaflog_storage_ensure_dir(NULL, S("x"), &error));
    FAILS(bad, leaflog_storage_exists(NULL, S("x"), &flag, &error));
    FAILS(bad, leaflog_storage_read_text(NULL, S("x"), 1, &out, &error));
    FAILS(bad, leaflog_storage_write_text(NULL, S("x"), str, &error));
    FAILS(bad, leaflog_storage_stat(NULL, S("x"), NULL, NULL, &error));
    FAILS(bad, leaflog_storage_list_files(NULL, S("x"), S("*"), &out, &error));
    FAILS(bad, leaflog_storage_rename(NULL, S("x"), S("y"), &error));
    FAILS(bad, leaflog_storage_unlink(NULL, S("x"), &error));
    leaflog_writer *writer = NULL;
    FAILS(bad, leaflog_storage_open_writer(NULL, S("x"), 0, &writer, &error));
    FAILS(bad, leaflog_writer_write_line(NULL, S("x\n"), &error));
    FAILS(bad, leaflog_writer_flush(NULL, &error));
    FAILS(bad, leaflog_writer_fsync(NULL, &error));
    FAILS(bad, leaflog_writer_close(NULL, &error));
    FAILS(bad, leaflog_writer_error(NULL, &out, &error));
    CHECK(leaflog_reply_add(NULL, S("x")) == bad);
    CHECK(leaflog_reply_fail(NULL, S("x"), 1) == bad);
    CHECK(leaflog_error_status(NULL) == bad && leaflog_error_message(NULL) == NULL);
    CHECK(leaflog_error_text(NULL) == NULL && leaflog_error_path(NULL) == NULL);
    CHECK(leaflog_error_line(NULL) == 0 && leaflog_error_os_errno(NULL) == 0);
    CHECK(leaflog_error_entry_id(NULL) == NULL);

    /* Nothing of it was written anywhere. */
    CHECK(out.data == NULL && number == 7 && flag && found == -1 && str.data == NULL);
    CHECK(!session && !state && !entries && !context && !blobs && !writer && !storage);

    /* NULL is nothing to free. */
    CHECK(leaflog_session_free(NULL) == LEAFLOG_STATUS_OK && leaflog_state_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_entries_free(NULL) == LEAFLOG_STATUS_OK && leaflog_context_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_artifacts_free(NULL) == LEAFLOG_STATUS_OK && leaflog_blobs_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_storage_free(NULL) == LEAFLOG_STATUS_OK && leaflog_writer_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_error_free(NULL) == LEAFLOG_STATUS_OK && leaflog_string_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_generator_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_string_free(&out) == LEAFLOG_STATUS_OK);
}

static void freed_twice(void) {
    leaflog_session *session = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    leaflog_entries *entries = NULL;
    OK(leaflog_session_entries(session, &entries, &error));
    CHECK(leaflog_session_free(session) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_session_free(session) == LEAFLOG_STATUS_INVALID_HANDLE);
    FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_append_message(session, S(USER), NULL, &error));
    /* Another handle never gets its number. */
    leaflog_session *next = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &next, &error));
    CHECK(next != session);
    FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_flush(session, &error));
    CHECK(leaflog_entries_free(entries) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_entries_free(entries) == LEAFLOG_STATUS_INVALID_HANDLE);

    leaflog_string text, copy;
    OK(leaflog_session_cwd(next, &text, &error));
    copy = text;
    CHECK(leaflog_string_free(&text) == LEAFLOG_STATUS_OK);
    CHECK(text.data == NULL && leaflog_string_free(&text) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_string_free(&copy) == LEAFLOG_STATUS_INVALID_HANDLE);
    copy.data = "a text of the caller";
    CHECK(leaflog_string_free(&copy) == LEAFLOG_STATUS_INVALID_HANDLE);

    CHECK(leaflog_session_open_read_only(S("/nowhere"), NULL, &session, &error) == LEAFLOG_STATUS_NOT_FOUND);
    leaflog_error *first = error;
    error = NULL;
    CHECK(leaflog_error_free(first) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_error_free(first) == LEAFLOG_STATUS_INVALID_HANDLE);
    CHECK(leaflog_error_message(first) == NULL);
    leaflog_session_free(next);
}

static void other_types(void) {
    leaflog_session *session = NULL;
    leaflog_storage *storage = NULL;
    leaflog_string out = {NULL, 0};
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    OK(leaflog_storage_memory(&storage, &error));
    FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_id(HANDLE(leaflog_session, storage), &out, &error));
    CHECK(leaflog_session_free(HANDLE(leaflog_session, storage)) == LEAFLOG_STATUS_INVALID_HANDLE);
    CHECK(leaflog_storage_free(HANDLE(leaflog_storage, session)) == LEAFLOG_STATUS_INVALID_HANDLE);
    CHECK(leaflog_error_text(HANDLE(leaflog_error, session)) == NULL);
    /* A storage that is none. */
    leaflog_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.storage = HANDLE(leaflog_storage, session);
    leaflog_session *none = NULL;
    FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_create(S("/home/ada"), &options, &none, &error));
    /* Addresses, numbers. */
    uintptr_t bits[] = {1, 16, (uintptr_t)&options, (uintptr_t)session + 1, (uintptr_t)session - 16,
                        (uintptr_t)session + 1600, UINTPTR_MAX, UINTPTR_MAX / 2};
    for (size_t at = 0; at < sizeof bits / sizeof bits[0]; at++) {
        FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_id(HANDLE(leaflog_session, bits[at]), &out, &error));
        CHECK(leaflog_session_free(HANDLE(leaflog_session, bits[at])) == LEAFLOG_STATUS_INVALID_HANDLE);
        CHECK(leaflog_entries_free(HANDLE(leaflog_entries, bits[at])) == LEAFLOG_STATUS_INVALID_HANDLE);
        CHECK(leaflog_error_status(HANDLE(leaflog_error, bits[at])) == LEAFLOG_STATUS_INVALID_HANDLE);
    }
    CHECK(out.data == NULL);
    leaflog_session_free(session);
    leaflog_storage_free(storage);
}

static void texts_and_lengths(void) {
    leaflog_session *session = NULL, *none = NULL;
    leaflog_storage *storage = NULL;
    const int32_t argument = LEAFLOG_STATUS_INVALID_ARGUMENT;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    OK(leaflog_storage_memory(&storage, &error));
    FAILS(argument, leaflog_session_append_message(session, part(NULL, 5), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, part(USER, SIZE_MAX), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, part(USER, (SIZE_MAX / 2) + 1), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, absent(), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, part(USER, 10), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, S("[]"), NULL, &error));
    FAILS(argument, leaflog_session_append_message(session, S(USER USER), NULL, &error));
    FAILS(LEAFLOG_STATUS_INVALID_UTF8, leaflog_session_append_message(session, S("{\"role\":\"\xff\"}"), NULL, &error));
    FAILS(LEAFLOG_STATUS_INVALID_UTF8, leaflog_session_append_model_change(session, S("\xc3"), absent(), NULL, &error));
    FAILS(argument, leaflog_session_append_entry(session, S("{\"no\":1}"), NULL, &error));
    FAILS(argument, leaflog_session_append_entry(session, S("{\"type\":\"session\"}"), NULL, &error));
    FAILS(argument, leaflog_session_append_mode_change(session, S("m"), S("{"), NULL, &error));
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND, leaflog_session_append_label_change(session, S("x"), absent(), NULL, &error));
    FAILS(argument, leaflog_session_set_name(session, S("n"), 9, NULL, &error));
    FAILS(argument, leaflog_session_branch_with_summary(session, absent(), S("s"), absent(), 9, NULL, &error));
    FAILS(argument, leaflog_session_append_mcp_tool_selection(session, NULL, 3, NULL, &error));
    leaflog_str names[1] = {{NULL, 2}};
    FAILS(argument, leaflog_session_append_mcp_tool_selection(session, names, 1, NULL, &error));
    FAILS(argument, leaflog_session_append_mcp_tool_selection(session, names, SIZE_MAX / 2, NULL, &error));
    FAILS(argument, leaflog_session_rewrite(session, NULL, 1, &error));
    CHECK(count_of(session) == 0);
    /* A NUL inside of a text is a character as any other. */
    OK(leaflog_session_append_custom_entry(session, part("a\0b", 3), absent(), NULL, &error));
    leaflog_string out = {NULL, 0};
    OK(leaflog_session_entries_json(session, LEAFLOG_STORED, &out, &error));
    HAS(out, "\"customType\":\"a\\u0000b\"");

    /* Paths. */
    FAILS(argument, leaflog_session_open_read_only(S(""), NULL, &none, &error));
    FAILS(argument, leaflog_session_open_read_only(part("a\0b", 3), NULL, &none, &error));
    FAILS(LEAFLOG_STATUS_IS_A_DIRECTORY, leaflog_session_open_read_only(S(test_dir()), NULL, &none, &error));
    FAILS(LEAFLOG_STATUS_NOT_FOUND, leaflog_session_open_read_only(S("/\xff\xfe"), NULL, &none, &error));
    FAILS(argument, leaflog_storage_exists(storage, part(NULL, 1), NULL, &error));
    /* What a storage keeps is bytes (B25). */
    OK(leaflog_storage_write_text(storage, S("x"), S("\xf0\x90"), &error));
    OK(leaflog_storage_read_text(storage, S("x"), UINT64_MAX, &out, &error));
    TEXT(out, "\xf0\x90");
    leaflog_writer *writer = NULL;
    FAILS(argument, leaflog_storage_open_writer(storage, S("x"), 2, &writer, &error));

    /* Places that are not aligned. */
    union {
        uint64_t aligned[4];
        unsigned char bytes[32];
    } place;
    memset(&place, 0, sizeof place);
    FAILS(argument, leaflog_session_entry_count(session, (uint64_t *)(uintptr_t)((uintptr_t)place.bytes + 1), &error));
    FAILS(argument, leaflog_session_id(session, (leaflog_string *)(uintptr_t)((uintptr_t)place.bytes + 4), &error));
    for (size_t at = 0; at < sizeof place.bytes; at++) {
        CHECK(place.bytes[at] == 0);
    }
    leaflog_session_free(session);
    leaflog_storage_free(storage);
}

static void never_called(void *data, leaflog_str message) {
    (void)data;
    (void)message;
    CHECK(0);
}

static void option_structs(void) {
    leaflog_session *session = NULL;
    const int32_t argument = LEAFLOG_STATUS_INVALID_ARGUMENT;
    struct {
        leaflog_options options;
        unsigned char more[16];
    } larger;
    memset(&larger, 0, sizeof larger);
    /* A size that was never set. */
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    larger.options.struct_size = sizeof(size_t) - 1;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    larger.options.struct_size = (size_t)-1;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    /* A size that ends inside of a field, as that of no version does: half of a function would be called. */
    larger.options.struct_size = offsetof(leaflog_options, log) + 4;
    larger.options.log = never_called;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    larger.options.log = NULL;
    /* B24: one that ends between a text and its length. */
    larger.options.struct_size = offsetof(leaflog_options, session_dir) + offsetof(leaflog_str, len);
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    leaflog_string text = {NULL, 0};
    /* A program of a later version: what it does not use does not matter, what it uses does. */
    larger.options.struct_size = sizeof larger;
    OK(leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    leaflog_session_free(session);
    session = NULL;
    larger.more[9] = 1;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    /* A program of an earlier version: what it does not know is default. */
    larger.options.struct_size = offsetof(leaflog_options, durability);
    larger.options.durability = 77;
    OK(leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    leaflog_session_free(session);
    session = NULL;
    larger.options.struct_size = sizeof larger.options;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    larger.options.durability = LEAFLOG_DURABILITY_FLUSH;
    larger.options.migration_rewrite = -1;
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    /* Where it makes no difference too. */
    FAILS(argument, leaflog_terminal_id(&larger.options, &text, &error));
    larger.options.migration_rewrite = LEAFLOG_MIGRATION_IMMEDIATE;
    larger.options.session_dir = part(NULL, 3);
    FAILS(argument, leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));
    larger.options.session_dir = absent();
    larger.options.lock_timeout_ms = INT64_MIN;
    OK(leaflog_session_in_memory(S("/w"), &larger.options, &session, &error));

    leaflog_compaction compaction;
    memset(&compaction, 0, sizeof compaction);
    FAILS(argument, leaflog_session_append_compaction(session, NULL, NULL, &error));
    FAILS(argument, leaflog_session_append_compaction(session, &compaction, NULL, &error));
    compaction.struct_size = sizeof compaction;
    compaction.from_extension = 3;
    FAILS(argument, leaflog_session_append_compaction(session, &compaction, NULL, &error));
    leaflog_session_init init;
    memset(&init, 0, sizeof init);
    init.struct_size = sizeof init;
    init.tool_count = 1;
    FAILS(argument, leaflog_session_append_session_init(session, &init, NULL, &error));
    leaflog_custom_message message;
    memset(&message, 0, sizeof message);
    message.struct_size = sizeof message;
    FAILS(argument, leaflog_session_append_custom_message(session, &message, NULL, &error));
    leaflog_usage usage;
    memset(&usage, 0xee, sizeof usage);
    FAILS(argument, leaflog_session_usage(session, &usage, &error));
    usage.struct_size = sizeof usage - 4;
    FAILS(argument, leaflog_session_usage(session, &usage, &error));
    CHECK(((unsigned char *)&usage)[sizeof usage - 1] == 0xee && ((unsigned char *)&usage)[sizeof(size_t)] == 0xee);
    CHECK(count_of(session) == 0);
    leaflog_session_free(session);
}

/* Calls in an order that nobody planned, with handles that are alive, freed, of other types or none. */
static uint32_t seed = 20261130;
static uint32_t roll(uint32_t sides) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

#define POOL 64
static void *pool[POOL];
static void *any(void) {
    switch (roll(8)) {
    case 0:
        return NULL;
    case 1:
        return HANDLE(void, ((uintptr_t)roll(1u << 24) << 24) ^ roll(1u << 24));
    case 2:
        return HANDLE(void, (uintptr_t)pool[roll(POOL)] + 16 * roll(4));
    default:
        return pool[roll(POOL)];
    }
}

static leaflog_str any_text(void) {
    static const char *const texts[] = {USER, "{\"role\":\"assistant\"}", "", "x", "\xff", "/tmp/nowhere", "{\"type\":\"t\"}"};
    switch (roll(12)) {
    case 0:
        return absent();
    case 1:
        return part(NULL, roll(9));
    case 2:
        return part(USER, SIZE_MAX - roll(9));
    default:
        return S(texts[roll(sizeof texts / sizeof texts[0])]);
    }
}

static void anything(void) {
    size_t succeeded = 0;
    for (int round = 0; round < 20000; round++) {
        leaflog_session *session = HANDLE(leaflog_session, any());
        leaflog_string text = {NULL, 0}, more = {NULL, 0};
        leaflog_str str = {NULL, 0};
        leaflog_id id;
        leaflog_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.struct_size = roll(4) == 0 ? roll(5000) : sizeof entry;
        /* Whole structs only: a size that is too large for the variable is beyond what can be noticed. */
        if (entry.struct_size > sizeof entry && entry.struct_size <= 4096) {
            entry.struct_size = sizeof entry;
        }
        void *made = NULL;
        int32_t status = LEAFLOG_STATUS_OK;
        switch (roll(26)) {
        case 0: status = leaflog_session_in_memory(S("/w"), NULL, (leaflog_session **)&made, &error); break;
        case 1: status = leaflog_session_append_message(session, any_text(), &id, &error); break;
        case 2: status = leaflog_session_append_entry(session, any_text(), &id, &error); break;
        case 3: status = leaflog_session_entries(session, (leaflog_entries **)&made, &error); break;
        case 4: status = leaflog_session_tree(session, (leaflog_entries **)&made, &error); break;
        case 5: status = leaflog_entries_next(HANDLE(leaflog_entries, any()), &entry, &error); break;
        case 6: status = leaflog_entries_json(HANDLE(leaflog_entries, any()), (int32_t)roll(3), &str, &error); break;
        case 7: status = leaflog_session_context(session, (int32_t)roll(4), any_text(), (leaflog_context **)&made, &error); break;
        case 8: status = leaflog_context_json(HANDLE(leaflog_context, any()), &text, &error); break;
        case 9: status = leaflog_session_snapshot(session, (leaflog_session **)&made, &error); break;
        case 10: status = leaflog_session_capture(session, (leaflog_state **)&made, &error); break;
        case 11: status = leaflog_session_restore(session, HANDLE(leaflog_state, any()), &error); break;
        case 12: status = leaflog_session_new(session, any_text(), &text, &error); break;
        case 13: status = leaflog_session_free(session); break;
        case 14: status = leaflog_entries_free(HANDLE(leaflog_entries, any())); break;
        case 15: status = leaflog_context_free(HANDLE(leaflog_context, any())); break;
        case 16: status = leaflog_state_free(HANDLE(leaflog_state, any())); break;
        case 17: status = leaflog_storage_memory((leaflog_storage **)&made, &error); break;
        case 18: status = leaflog_storage_open_writer(HANDLE(leaflog_storage, any()), any_text(), (int32_t)roll(3), (leaflog_writer **)&made, &error); break;
        case 19: status = leaflog_writer_write_line(HANDLE(leaflog_writer, any()), any_text(), &error); break;
        case 20: status = leaflog_writer_free(HANDLE(leaflog_writer, any())); break;
        case 21: status = leaflog_session_fork(session, &text, &more, &error); break;
        case 22: status = leaflog_session_path(session, any_text(), (leaflog_entries **)&made, &error); break;
        case 23: status = leaflog_session_create_branched(session, any_text(), &text, &error); break;
        case 24: status = leaflog_session_set_name(session, any_text(), (int32_t)roll(3), NULL, &error); break;
        default: status = leaflog_error_free(HANDLE(leaflog_error, any())); break;
        }
        CHECK(status != LEAFLOG_STATUS_PANIC);
        if (status == LEAFLOG_STATUS_OK) {
            succeeded++;
            CHECK(error == NULL);
        } else {
            CHECK(made == NULL && text.data == NULL && more.data == NULL);
            leaflog_error_free(error);
            error = NULL;
        }
        leaflog_string_free(&text);
        leaflog_string_free(&more);
        if (made != NULL) {
            /* The handle that was there is freed, of whatever type it is, or was freed before. */
            void **place = &pool[roll(POOL)];
            leaflog_session_free(HANDLE(leaflog_session, *place));
            leaflog_entries_free(HANDLE(leaflog_entries, *place));
            leaflog_context_free(HANDLE(leaflog_context, *place));
            leaflog_state_free(HANDLE(leaflog_state, *place));
            leaflog_storage_free(HANDLE(leaflog_storage, *place));
            leaflog_writer_free(HANDLE(leaflog_writer, *place));
            *place = made;
        }
    }
    CHECK(succeeded > 1000);
    for (int at = 0; at < POOL; at++) {
        leaflog_session_free(HANDLE(leaflog_session, pool[at]));
        leaflog_entries_free(HANDLE(leaflog_entries, pool[at]));
        leaflog_context_free(HANDLE(leaflog_context, pool[at]));
        leaflog_state_free(HANDLE(leaflog_state, pool[at]));
        leaflog_storage_free(HANDLE(leaflog_storage, pool[at]));
        leaflog_writer_free(HANDLE(leaflog_writer, pool[at]));
    }
}

int main(void) {
    null_everywhere();
    freed_twice();
    other_types();
    texts_and_lengths();
    option_structs();
    anything();
    return all_freed();
}
