/* Sessions from their first entry to their last: create, append, branch, open again, copy, move. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#define USER "{\"role\":\"user\",\"content\":\"Hello\"}"
#define ASSISTANT                                                                                    \
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],\"provider\":\"acme\"," \
    "\"model\":\"m1\",\"usage\":{\"input\":10,\"output\":5,\"cacheRead\":2,\"cacheWrite\":1,\"cost\":{\"total\":0.5}}}"

static void versions(void) {
    CHECK(strcmp(leaflog_version(), LEAFLOG_VERSION) == 0);
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", LEAFLOG_VERSION_MAJOR, LEAFLOG_VERSION_MINOR, LEAFLOG_VERSION_PATCH);
    CHECK(strcmp(text, LEAFLOG_VERSION) == 0);
    CHECK(leaflog_version_number() == LEAFLOG_VERSION_NUMBER);
    CHECK(leaflog_version_number() ==
          LEAFLOG_VERSION_MAJOR * 1000000u + LEAFLOG_VERSION_MINOR * 1000u + LEAFLOG_VERSION_PATCH);
    CHECK(leaflog_abi_version() == LEAFLOG_ABI_VERSION);
    CHECK(strcmp(leaflog_status_name(LEAFLOG_STATUS_OK), "OK") == 0);
    CHECK(strcmp(leaflog_status_name(LEAFLOG_STATUS_NOT_A_SESSION), "NOT_A_SESSION") == 0);
    CHECK(strcmp(leaflog_status_name(LEAFLOG_STATUS_READ_ONLY), "READ_ONLY") == 0);
    CHECK(strcmp(leaflog_status_name(4711), "UNKNOWN") == 0);
}

/* R29: nothing is on disk before the first assistant message; R54: then every append is. */
static void starts(const leaflog_options *options, const char *cwd) {
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S(cwd), options, &session, &error));
    bool flag = false;
    OK(leaflog_session_is_persisted(session, &flag, &error));
    CHECK(flag);
    flag = true;
    OK(leaflog_session_is_read_only(session, &flag, &error));
    CHECK(!flag);
    leaflog_string file;
    OK(leaflog_session_file(session, &file, &error));
    leaflog_id id;
    OK(leaflog_session_append_message(session, S(USER), &id, &error));
    CHECK(strlen(id.text) == 8);
    OK(leaflog_session_is_started(session, &flag, &error));
    CHECK(!flag);
    OK(leaflog_session_flush(session, &error));
    CHECK(read_file(file.data) == NULL);

    uint64_t unsaved = 0;
    leaflog_string last;
    leaflog_error *failure = NULL;
    OK(leaflog_session_persist_status(session, &unsaved, &last, &failure, &error));
    CHECK(unsaved == 1 && failure == NULL);
    TEXT(last, NULL);

    leaflog_id answer;
    OK(leaflog_session_append_message(session, S(ASSISTANT), &answer, &error));
    char *text = read_file(file.data);
    CHECK(text != NULL && strstr(text, USER) != NULL && strstr(text, ASSISTANT) != NULL);
    free(text);
    OK(leaflog_session_is_started(session, &flag, &error));
    CHECK(flag);
    OK(leaflog_session_persist_status(session, &unsaved, &last, NULL, &error));
    CHECK(unsaved == 0);
    TEXT(last, answer.text);

    leaflog_usage usage;
    memset(&usage, 0, sizeof usage);
    usage.struct_size = sizeof usage;
    OK(leaflog_session_usage(session, &usage, &error));
    CHECK(usage.input == 10 && usage.output == 5 && usage.cache_read == 2 && usage.cache_write == 1);
    CHECK(usage.premium_requests == 0 && usage.cost == 0.5);

    leaflog_string out;
    OK(leaflog_session_leaf_id(session, &out, &error));
    TEXT(out, answer.text);
    OK(leaflog_session_cwd(session, &out, &error));
    TEXT(out, cwd);
    OK(leaflog_session_dir(session, &out, &error));
    CHECK(strncmp(file.data, out.data, out.len) == 0);
    leaflog_string_free(&out);
    OK(leaflog_session_id(session, &out, &error));
    CHECK(out.len == 16 && strstr(file.data, out.data) != NULL);
    leaflog_string_free(&out);
    OK(leaflog_session_header_json(session, &out, &error));
    HAS(out, "\"type\":\"session\",\"version\":3,\"id\":");
    OK(leaflog_session_report_json(session, &out, &error));
    HAS(out, "\"skippedLines\":[]");
    OK(leaflog_session_report_text(session, &out, &error));
    TEXT(out, "");

    OK(leaflog_session_close(session, &error));
    CHECK(leaflog_session_free(session) == LEAFLOG_STATUS_OK);

    /* Opened again it is the same, and nothing is written (R16). */
    char *before = read_file(file.data);
    OK(leaflog_session_open(lend(file), options, &session, &error));
    CHECK(count_of(session) == 2);
    OK(leaflog_session_is_migrated(session, &flag, &error));
    CHECK(!flag);
    uint64_t size = 0;
    OK(leaflog_session_size(session, &size, &error));
    CHECK(size == strlen(before));
    leaflog_session_free(session);
    char *after = read_file(file.data);
    CHECK(strcmp(before, after) == 0);
    free(before);
    free(after);
    leaflog_string_free(&file);
}

/* Part C: the key order of every type. */
static void every_append(const char *cwd) {
    leaflog_session *session = NULL;
    OK(leaflog_session_in_memory(S(cwd), NULL, &session, &error));
    bool flag = true;
    OK(leaflog_session_is_persisted(session, &flag, &error));
    CHECK(!flag);
    leaflog_string out;
    OK(leaflog_session_file(session, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_session_last_model_change_role(session, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_session_leaf_id(session, &out, &error));
    TEXT(out, NULL);

    leaflog_id id, first;
    OK(leaflog_session_append_message(session, S(USER), &first, &error));
    /* Nobody needs to want the id. */
    OK(leaflog_session_append_thinking_level_change(session, S("high"), NULL, &error));
    OK(leaflog_session_append_thinking_level_change(session, absent(), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"thinkingLevel\":null}");
    OK(leaflog_session_append_service_tier_change(session, S("flex"), &id, &error));
    OK(leaflog_session_append_service_tier_change(session, absent(), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"serviceTier\":null}");
    OK(leaflog_session_append_mode_change(session, S("plan"), S("{\"a\":1}"), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"mode\":\"plan\",\"data\":{\"a\":1}}");
    OK(leaflog_session_append_context_change(session, S("prod"), S("acme"), S("web"), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"contextName\":\"prod\",\"tenant\":\"acme\",\"namespace\":\"web\"}");
    OK(leaflog_session_append_model_change(session, S("acme/m2"), absent(), NULL, &error));
    OK(leaflog_session_append_model_change(session, S("acme/m3"), S("small"), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"model\":\"acme/m3\",\"role\":\"small\"}");
    OK(leaflog_session_last_model_change_role(session, &out, &error));
    TEXT(out, "small");

    leaflog_str tools[2];
    tools[0] = S("read");
    tools[1] = S("write");
    leaflog_session_init init;
    memset(&init, 0, sizeof init);
    init.struct_size = sizeof init;
    init.system_prompt = S("Be brief");
    init.task = S("Count");
    init.tools = tools;
    init.tool_count = 2;
    init.output_schema_json = S("{\"type\":\"object\"}");
    OK(leaflog_session_append_session_init(session, &init, &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"systemPrompt\":\"Be brief\",\"task\":\"Count\",\"tools\":[\"read\",\"write\"],"
             "\"outputSchema\":{\"type\":\"object\"}}");

    leaflog_custom_message message;
    memset(&message, 0, sizeof message);
    message.struct_size = sizeof message;
    message.custom_type = S("note");
    message.content_json = S("\"Look\"");
    message.display = 1;
    OK(leaflog_session_append_custom_message(session, &message, &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "{\"type\":\"custom_message\",\"customType\":\"note\",\"content\":\"Look\",\"display\":true,"
             "\"attribution\":\"agent\",\"id\":");
    OK(leaflog_session_append_custom_entry(session, S("state"), S("[1e400,-0]"), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "{\"type\":\"custom\",\"customType\":\"state\",\"data\":[1e400,-0],\"id\":");
    OK(leaflog_session_append_mcp_tool_selection(session, tools, 2, &id, &error));
    OK(leaflog_session_append_mcp_tool_selection(session, NULL, 0, &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"selectedToolNames\":[]}");
    OK(leaflog_session_append_ttsr_injection(session, tools, 1, &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"injectedRules\":[\"read\"]}");
    OK(leaflog_session_append_entry(session, S("{\"type\":\"from_the_future\",\"x\":[ 1 ]}"), &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "{\"type\":\"from_the_future\",\"id\":");

    leaflog_compaction compaction;
    memset(&compaction, 0, sizeof compaction);
    compaction.struct_size = sizeof compaction;
    compaction.summary = S("They met");
    compaction.first_kept_entry_id = S(first.text);
    compaction.tokens_before = 12345;
    compaction.details_json = S("{}");
    compaction.from_extension = LEAFLOG_NO;
    OK(leaflog_session_append_compaction(session, &compaction, &id, &error));
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"tokensBefore\":12345,\"details\":{},\"fromExtension\":false}");

    OK(leaflog_session_append_label_change(session, S(first.text), S("start"), &id, &error));
    OK(leaflog_session_label(session, S(first.text), &out, &error));
    TEXT(out, "start");
    OK(leaflog_session_labels_json(session, &out, &error));
    char expected[64];
    snprintf(expected, sizeof expected, "[{\"id\":\"%s\",\"label\":\"start\"}]", first.text);
    TEXT(out, expected);
    OK(leaflog_session_append_label_change(session, S(first.text), absent(), &id, &error));
    OK(leaflog_session_label(session, S(first.text), &out, &error));
    TEXT(out, NULL);
    leaflog_session_free(session);
}

/* R19-R21: the leaf moves, the next append hangs there. */
static void branches(const leaflog_options *options, const char *cwd) {
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S(cwd), options, &session, &error));
    leaflog_id a, b, c, d;
    OK(leaflog_session_append_message(session, S(USER), &a, &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), &b, &error));
    OK(leaflog_session_branch(session, S(a.text), &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), &c, &error));
    leaflog_string out;
    OK(leaflog_session_entry_json(session, S(c.text), LEAFLOG_STORED, &out, &error));
    char expected[64];
    snprintf(expected, sizeof expected, "\"parentId\":\"%s\"", a.text);
    HAS(out, expected);
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND, leaflog_session_branch(session, S("none"), &error));
    OK(leaflog_session_branch_with_summary(session, absent(), S("Left"), absent(), LEAFLOG_YES, &d, &error));
    OK(leaflog_session_entry_json(session, S(d.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"parentId\":null");
    OK(leaflog_session_entry_json(session, S(d.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"fromId\":\"root\",\"summary\":\"Left\",\"fromExtension\":true}");
    OK(leaflog_session_reset_leaf(session, &error));
    OK(leaflog_session_leaf_id(session, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_session_append_message(session, S(USER), &d, &error));
    OK(leaflog_session_entry_json(session, S(d.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"parentId\":null");

    /* A state can be gone back to, twice. */
    leaflog_state *state = NULL;
    OK(leaflog_session_capture(session, &state, &error));
    OK(leaflog_session_id(session, &out, &error));
    leaflog_string of_state;
    OK(leaflog_state_session_id(state, &of_state, &error));
    CHECK(strcmp(out.data, of_state.data) == 0);
    leaflog_string_free(&out);
    leaflog_string_free(&of_state);
    leaflog_string path;
    OK(leaflog_session_new(session, S("parent"), &path, &error));
    CHECK(count_of(session) == 0);
    OK(leaflog_session_header_json(session, &out, &error));
    HAS(out, "\"parentSession\":\"parent\"");
    leaflog_string_free(&path);
    OK(leaflog_session_restore(session, state, &error));
    CHECK(count_of(session) == 5);
    OK(leaflog_session_restore(session, state, &error));
    CHECK(leaflog_state_free(state) == LEAFLOG_STATUS_OK);
    OK(leaflog_session_leaf_id(session, &out, &error));
    TEXT(out, d.text);

    /* R45: another text for an entry; the others keep every byte. */
    leaflog_change change;
    OK(leaflog_session_entry_json(session, S(a.text), LEAFLOG_STORED, &out, &error));
    char *text = (char *)malloc(out.len + 16);
    CHECK(text != NULL);
    snprintf(text, out.len + 16, "%.*s,\"seen\":true}", (int)(out.len - 1), out.data);
    leaflog_string_free(&out);
    change.id = S(a.text);
    change.json = S(text);
    OK(leaflog_session_rewrite(session, &change, 1, &error));
    OK(leaflog_session_rewrite(session, NULL, 0, &error));
    OK(leaflog_session_file(session, &out, &error));
    char *file = read_file(out.data);
    CHECK(file != NULL && strstr(file, text) != NULL);
    free(file);
    free(text);
    change.json = S("{\"type\":\"message\",\"id\":\"other\"}");
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_session_rewrite(session, &change, 1, &error));

    /* Names: one of the agent's never replaces a person's. */
    bool taken = false;
    OK(leaflog_session_set_name(session, S(" a \n name "), LEAFLOG_TITLE_USER, &taken, &error));
    CHECK(taken);
    OK(leaflog_session_set_name(session, S("other"), LEAFLOG_TITLE_AUTO, &taken, &error));
    CHECK(!taken);
    leaflog_string title;
    OK(leaflog_session_title(session, &title, &error));
    TEXT(title, "a name");
    OK(leaflog_session_title_source(session, &title, &error));
    TEXT(title, "user");

    /* Copies. */
    leaflog_string old_path, new_path;
    OK(leaflog_session_fork(session, &old_path, &new_path, &error));
    CHECK(strcmp(old_path.data, out.data) == 0 && strcmp(new_path.data, out.data) != 0);
    CHECK(count_of(session) == 5);
    leaflog_string_free(&new_path);
    OK(leaflog_session_create_branched(session, S(b.text), &new_path, &error));
    CHECK(count_of(session) == 2);
    leaflog_session *fork = NULL;
    OK(leaflog_session_fork_from(lend(old_path), S(cwd), options, &fork, &error));
    CHECK(count_of(fork) == 5);
    leaflog_string_free(&old_path);
    leaflog_string_free(&new_path);
    leaflog_session_free(fork);

    /* Going on with another file, and in another project. */
    OK(leaflog_session_set_file(session, lend(out), &error));
    CHECK(count_of(session) == 5);
    char *elsewhere = in_dir("elsewhere");
    leaflog_string before, after;
    OK(leaflog_session_dir_after_move(session, S(elsewhere), &before, &error));
    OK(leaflog_session_move(session, S(elsewhere), &error));
    OK(leaflog_session_dir(session, &after, &error));
    TEXT(after, before.data);
    leaflog_string_free(&before);
    CHECK(read_file(out.data) == NULL);
    leaflog_string_free(&out);
    OK(leaflog_session_cwd(session, &out, &error));
    TEXT(out, elsewhere);
    free(elsewhere);
    leaflog_session_free(session);
}

/* A file that is no session is kept (R16, F4), and a session can be put where one wants it. */
static void files(const leaflog_options *options) {
    char *path = in_dir("notes.jsonl");
    write_file(path, "not a session\n");
    leaflog_session *session = NULL;
    leaflog_view_options view_options;
    memset(&view_options, 0, sizeof view_options);
    view_options.struct_size = sizeof view_options;
    view_options.threads = 1;
    view_options.blobs_dir = S(test_dir());
    view_options.fallback_blobs_dir = S(test_dir());
    CHECK(leaflog_session_open_read_only(S(path), &view_options, &session, &error) == LEAFLOG_STATUS_NOT_A_SESSION);
    CHECK(session == NULL);
    CHECK(strcmp(leaflog_error_path(error), path) == 0);
    CHECK(leaflog_error_line(error) == 1 && leaflog_error_os_errno(error) == 0);
    SEEN(LEAFLOG_STATUS_NOT_A_SESSION);
    CHECK(leaflog_session_open_read_only(S("/nowhere"), NULL, &session, &error) == LEAFLOG_STATUS_NOT_FOUND);
    CHECK(leaflog_error_os_errno(error) == 2 && leaflog_error_line(error) == 0);
    SEEN(LEAFLOG_STATUS_NOT_FOUND);

    OK(leaflog_session_open(S(path), options, &session, &error));
    leaflog_string out;
    OK(leaflog_session_report_json(session, &out, &error));
    HAS(out, "notes.jsonl.invalid-");
    OK(leaflog_session_ensure_on_disk(session, &error));
    leaflog_session_free(session);
    OK(leaflog_session_open_read_only(S(path), &view_options, &session, &error));
    CHECK(count_of(session) == 0);
    bool flag = false;
    OK(leaflog_session_is_read_only(session, &flag, &error));
    CHECK(flag);
    leaflog_string file;
    OK(leaflog_session_file(session, &file, &error));
    TEXT(file, path);
    leaflog_session_free(session);
    OK(leaflog_delete_session(S(path), &error));
    FAILS(LEAFLOG_STATUS_NOT_FOUND, leaflog_delete_session(S(path), &error));
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_delete_session(S(test_dir()), &error));
    free(path);
}

struct lines {
    int count;
    char last[512];
    leaflog_session *session;
    int32_t from_inside;
};

static void note(void *data, leaflog_str message) {
    struct lines *lines = (struct lines *)data;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%.*s", (int)message.len, message.data);
    uint64_t count;
    lines->from_inside = leaflog_session_entry_count(lines->session, &count, NULL);
}

/* R32: a failed write is told, logged once, stays in force, and can be tried again. */
static void failures(const char *agent, const char *cwd) {
    struct lines lines;
    memset(&lines, 0, sizeof lines);
    char *dir = in_dir("gone");
    leaflog_options options = options_in(agent);
    options.session_dir = S(dir);
    options.log = note;
    options.log_data = &lines;
    options.lock_timeout_ms = 2000;
    options.durability = LEAFLOG_DURABILITY_EVERY_APPEND;
    options.migration_rewrite = LEAFLOG_MIGRATION_DEFERRED;
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S(cwd), &options, &session, &error));
    lines.session = session;
    /* A file where the folder was: nothing can be written. */
    CHECK(remove(dir) == 0);
    write_file(dir, "x");
    leaflog_id id;
    memset(&id, 'x', sizeof id);
    int32_t status = leaflog_session_append_message(session, S(ASSISTANT), &id, &error);
    CHECK(status == LEAFLOG_STATUS_IO);
    CHECK(leaflog_error_os_errno(error) == 20);
    /* B23: the entry is in memory, and both places have its id. */
    const char *in_memory = leaflog_error_entry_id(error);
    CHECK(in_memory != NULL && strcmp(in_memory, id.text) == 0 && strlen(in_memory) == 8);
    CHECK(strstr(leaflog_error_text(error), in_memory) != NULL);
    leaflog_string leaf;
    CHECK(leaflog_session_leaf_id(session, &leaf, NULL) == LEAFLOG_STATUS_OK);
    TEXT(leaf, id.text);
    SEEN(status);
    memset(&id, 'x', sizeof id);
    CHECK(leaflog_session_append_message(session, S("[]"), &id, &error) == LEAFLOG_STATUS_INVALID_ARGUMENT);
    CHECK(leaflog_error_entry_id(error) == NULL);
    SEEN(LEAFLOG_STATUS_INVALID_ARGUMENT);
    CHECK(id.text[0] == 'x' && id.text[23] == 'x');
    CHECK(lines.count == 1 && strstr(lines.last, dir) != NULL);
    CHECK(lines.from_inside == LEAFLOG_STATUS_BUSY);
    FAILS(LEAFLOG_STATUS_IO, leaflog_session_append_message(session, S(USER), &id, &error));
    FAILS(LEAFLOG_STATUS_IO, leaflog_session_flush(session, &error));
    FAILS(LEAFLOG_STATUS_IO, leaflog_session_close(session, &error));
    CHECK(lines.count == 1);
    uint64_t unsaved = 0;
    leaflog_error *failure = NULL;
    OK(leaflog_session_persist_status(session, &unsaved, NULL, &failure, &error));
    CHECK(unsaved == 2 && leaflog_error_status(failure) == LEAFLOG_STATUS_IO);
    leaflog_error_free(failure);
    CHECK(remove(dir) == 0);
    leaflog_session *other = NULL;
    OK(leaflog_session_create(S(cwd), &options, &other, &error)); /* makes the folder */
    leaflog_session_free(other);
    OK(leaflog_session_ensure_on_disk(session, &error));
    OK(leaflog_session_persist_status(session, &unsaved, NULL, NULL, &error));
    CHECK(unsaved == 0);
    leaflog_session_free(session);
    free(dir);
}

/* R1, R57: where things are, by the options and by an environment that is handed over. */
static void folders(const leaflog_options *given, const char *agent) {
    leaflog_options options = *given;
    leaflog_string out;
    char expected[512];
    static const char *const names[] = {"", "/sessions", "/blobs", "/terminal-sessions", "/history.db"};
    for (int32_t which = LEAFLOG_FOLDER_AGENT; which <= LEAFLOG_FOLDER_HISTORY_DB; which++) {
        OK(leaflog_folder(&options, which, &out, &error));
        snprintf(expected, sizeof expected, "%s%s", agent, names[which]);
        TEXT(out, expected);
    }
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_folder(&options, 5, &out, &error));
    OK(leaflog_default_session_dir(&options, S("/srv/a:b"), &out, &error));
    snprintf(expected, sizeof expected, "%s/sessions/--srv-a-b--", agent);
    TEXT(out, expected);
    OK(leaflog_session_folders(&options, &out, &error));
    CHECK(strncmp(out.data, agent, strlen(agent)) == 0);
    leaflog_string_free(&out);

    leaflog_variable variables[1];
    variables[0].name = S("HOME");
    variables[0].value = S("/home/ada");
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.environment = variables;
    options.environment_count = 1;
    OK(leaflog_folder(&options, LEAFLOG_FOLDER_AGENT, &out, &error));
    TEXT(out, "/home/ada/.xcsh/agent");
    options.config_dir_name = S(".other");
    OK(leaflog_folder(&options, LEAFLOG_FOLDER_SESSIONS, &out, &error));
    TEXT(out, "/home/ada/.other/agent/sessions");
    options.dir_naming = LEAFLOG_DIRS_HOME_RELATIVE;
    OK(leaflog_project_folders(&options, S("/home/ada/tides"), &out, &error));
    CHECK(strcmp(out.data, "/home/ada/.other/agent/sessions/-tides") == 0);
    CHECK(strcmp(out.data + strlen(out.data) + 1, "/home/ada/.other/agent/sessions/--home-ada-tides--") == 0);
    leaflog_string_free(&out);
    options.dir_naming = 2;
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_project_folders(&options, S("/x"), &out, &error));
}

/* What belongs to a live connection is shown until it is said that there is none any more. */
static void sanitizes(void) {
    leaflog_session *session = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    leaflog_id id;
    OK(leaflog_session_append_message(session,
                                      S("{\"role\":\"assistant\",\"content\":[],\"providerPayload\":"
                                        "{\"type\":\"openaiResponsesHistory\",\"items\":[]}}"),
                                      &id, &error));
    leaflog_string out;
    OK(leaflog_session_context_json(session, LEAFLOG_FROM_LEAF, absent(), &out, &error));
    HAS(out, "openaiResponsesHistory");
    bool changed = false;
    OK(leaflog_session_sanitize_replay_metadata(session, &changed, &error));
    CHECK(changed);
    OK(leaflog_session_context_json(session, LEAFLOG_FROM_LEAF, absent(), &out, &error));
    HAS(out, "{\"messages\":[{\"role\":\"assistant\",\"content\":[]}]");
    OK(leaflog_session_entry_json(session, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "openaiResponsesHistory");
    leaflog_session_free(session);
}

/* R4: ids are of their moments, for all sessions of one generator; the sessions keep it. */
static void generators(void) {
    leaflog_generator *generator = NULL;
    /* 2026-02-16T10:00:00.000Z; an id of an entry is the lowest 32 bits of the milliseconds. */
    OK(leaflog_generator_sequence(1771236000000, 1000, &generator, &error));
    leaflog_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.generator = generator;
    leaflog_session *first = NULL, *second = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), &options, &first, &error));
    OK(leaflog_session_in_memory(S("/home/ada"), &options, &second, &error));
    CHECK(leaflog_generator_free(generator) == LEAFLOG_STATUS_OK);
    leaflog_string out;
    OK(leaflog_session_header_json(first, &out, &error));
    TEXT(out, "{\"type\":\"session\",\"version\":3,\"id\":\"1470c67440248100\","
              "\"timestamp\":\"2026-02-16T10:00:00.000Z\",\"cwd\":\"/home/ada\"}");
    OK(leaflog_session_id(second, &out, &error));
    TEXT(out, "1470c6753a2484e8");
    leaflog_id id;
    OK(leaflog_session_append_message(first, S(USER), &id, &error));
    CHECK(strcmp(id.text, "65e488d0") == 0);
    OK(leaflog_session_append_message(second, S(USER), &id, &error));
    CHECK(strcmp(id.text, "65e48cb8") == 0);
    OK(leaflog_session_entry_json(second, S(id.text), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"parentId\":null,\"timestamp\":\"2026-02-16T10:00:03.000Z\"");
    leaflog_session_free(first);
    leaflog_session_free(second);
}

/* The id of a new session; the last 22 bits are a number that goes up. */
static unsigned long long new_session_id(void) {
    leaflog_session *session = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    leaflog_string id;
    OK(leaflog_session_id(session, &id, &error));
    unsigned long long number = strtoull(id.data, NULL, 16);
    leaflog_string_free(&id);
    leaflog_session_free(session);
    return number;
}

/* R4: after fork() parent and child give other ids, be it in the same millisecond. */
static void forks(void) {
    const unsigned long long sequence = (1ull << 22) - 1;
    unsigned long long before = new_session_id(), theirs = 0;
    CHECK(((new_session_id() - before) & sequence) == 1);
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        theirs = new_session_id();
        _exit(write(ends[1], &theirs, sizeof theirs) == sizeof theirs ? 0 : 1);
    }
    unsigned long long ours = new_session_id();
    CHECK(((ours - before) & sequence) == 2);
    CHECK(read(ends[0], &theirs, sizeof theirs) == sizeof theirs);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK((theirs & sequence) != (ours & sequence));
    close(ends[0]);
    close(ends[1]);
}

/* What a child of fork() that draws its first random number gives its entry. */
static leaflog_id id_of_child(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    leaflog_id id;
    memset(&id, 0, sizeof id);
    if (child == 0) {
        leaflog_session *session = NULL;
        OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
        OK(leaflog_session_append_message(session, S(USER), &id, &error));
        CHECK(leaflog_session_free(session) == LEAFLOG_STATUS_OK);
        _exit(write(ends[1], &id, sizeof id) == sizeof id ? 0 : 1);
    }
    CHECK(read(ends[0], &id, sizeof id) == sizeof id);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
    close(ends[1]);
    return id;
}

/* A3: children of one parent give their entries other ids. */
static void a03_forks_of_entries(void) {
    leaflog_id first = id_of_child(), second = id_of_child();
    CHECK(strlen(first.text) == 8 && strlen(second.text) == 8);
    CHECK(strcmp(first.text, second.text) != 0);
}

int main(void) {
    /* First: the child is left with what is there by then. */
    forks();
    a03_forks_of_entries();
    char *agent = in_dir("agent");
    char *cwd = in_dir("project");
    leaflog_options options = options_in(agent);
    versions();
    starts(&options, cwd);
    every_append(cwd);
    branches(&options, cwd);
    files(&options);
    failures(agent, cwd);
    folders(&options, agent);
    sanitizes();
    generators();
    free(agent);
    free(cwd);
    return all_freed();
}
