/* Finding sessions: listings, the latest, the one that is meant, the one of this terminal. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <sys/stat.h>
#include <unistd.h>

#define ASSISTANT "{\"role\":\"assistant\",\"content\":\"Hi\"}"

static leaflog_find_options empty_find(void) {
    leaflog_find_options find;
    memset(&find, 0, sizeof find);
    find.struct_size = sizeof find;
    return find;
}

static leaflog_session_info empty_info(void) {
    leaflog_session_info info;
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    return info;
}

/* A session of one question and one answer; the caller frees its path. */
static leaflog_string made(const leaflog_options *options, const char *cwd, const char *question, const char *title) {
    leaflog_session *session = NULL;
    leaflog_string path;
    char message[256];
    snprintf(message, sizeof message, "{\"role\":\"user\",\"content\":\"%s\"}", question);
    OK(leaflog_session_create(S(cwd), options, &session, &error));
    OK(leaflog_session_append_message(session, S(message), NULL, &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    if (title != NULL) {
        OK(leaflog_session_set_name(session, S(title), LEAFLOG_TITLE_USER, NULL, &error));
    }
    OK(leaflog_session_file(session, &path, &error));
    OK(leaflog_session_close(session, &error));
    leaflog_session_free(session);
    return path;
}

struct progress {
    uint64_t calls, done, all;
    int32_t stop;
};

static int32_t note(void *data, uint64_t done, uint64_t all) {
    struct progress *progress = (struct progress *)data;
    progress->calls++;
    progress->done = done;
    progress->all = all;
    return progress->stop;
}

static void listings(const leaflog_options *options, const char *cwd, leaflog_str mine, leaflog_str other) {
    struct progress progress;
    memset(&progress, 0, sizeof progress);
    leaflog_find_options find = empty_find();
    find.threads = 1;
    find.progress = note;
    find.progress_data = &progress;
    leaflog_listing *listing = NULL;
    leaflog_session_info info = empty_info();
    OK(leaflog_list(options, &find, S(cwd), &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1 && !leaflog_listing_is_cancelled(listing));
    CHECK(progress.calls > 0 && progress.all >= 1);
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(is(info.path, mine.data) && is(info.cwd, cwd) && is(info.title, "Tides"));
    CHECK(is(info.first_message, "When is high water?") && is(info.parent_session, NULL) && is(info.name, NULL));
    CHECK(info.id.len == 16 && info.message_count == 2 && info.scope == LEAFLOG_SCOPE_LOCAL);
    CHECK(is(info.time_ago, "just now") && info.first_message.data[info.first_message.len] == '\0');
    CHECK(info.created_ms > 1577836800000 && info.modified_ms > 1577836800000 && info.size > 100);
    CHECK(leaflog_listing_session(listing, 1, &info, &error) == LEAFLOG_STATUS_END && error == NULL);
    CHECK(leaflog_listing_session(listing, UINT64_MAX, &info, &error) == LEAFLOG_STATUS_END);
    bool flag = false;
    OK(leaflog_listing_is_meant(listing, 0, part(info.id.data, 10), &flag, &error));
    CHECK(flag);
    OK(leaflog_listing_is_meant(listing, 0, S("zzz"), &flag, &error));
    CHECK(!flag);
    CHECK(leaflog_listing_is_meant(listing, 1, S("zzz"), &flag, &error) == LEAFLOG_STATUS_END);
    char id[17];
    memcpy(id, info.id.data, 17);
    CHECK(leaflog_listing_free(listing) == LEAFLOG_STATUS_OK);

    OK(leaflog_list_all(options, NULL, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 2);
    leaflog_listing_free(listing);
    /* F23: what is no session is named, and costs nobody else. */
    leaflog_string dir;
    OK(leaflog_default_session_dir(options, S(cwd), &dir, &error));
    char bad[512];
    snprintf(bad, sizeof bad, "%s/9999_bad.jsonl", dir.data);
    write_file(bad, "{\"type\":\"session\",\"id\":\"x\",\"cwd\":\"/gone\"}\n");
    CHECK(chmod(bad, 0) == 0);
    OK(leaflog_list(options, NULL, S(cwd), &listing, &error));
    if (geteuid() == 0) {
        /* Nothing is unreadable for this user. */
        CHECK(leaflog_listing_count(listing) == 2);
    } else {
        CHECK(leaflog_listing_count(listing) == 1 && leaflog_listing_problem_count(listing) == 1);
    }
    leaflog_error *problem = NULL;
    uint64_t problems = leaflog_listing_problem_count(listing);
    for (uint64_t at = 0; at < problems; at++) {
        OK(leaflog_listing_problem(listing, at, &problem, &error));
        CHECK(leaflog_error_status(problem) == LEAFLOG_STATUS_PERMISSION_DENIED);
        leaflog_error_free(problem);
    }
    problem = NULL;
    CHECK(leaflog_listing_problem(listing, problems, &problem, &error) == LEAFLOG_STATUS_END && problem == NULL);
    leaflog_listing_free(listing);
    CHECK(remove(bad) == 0);

    progress.stop = 1;
    OK(leaflog_list_all(options, &find, &listing, &error));
    CHECK(leaflog_listing_is_cancelled(listing));
    leaflog_listing_free(listing);

    /* The latest. */
    OK(leaflog_recent(options, NULL, lend(dir), 3, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(is(info.path, mine.data) && is(info.name, "Tides") && is(info.full_name, "Tides") && is(info.id, NULL));
    CHECK(info.created_ms == LEAFLOG_NO_TIME && info.modified_ms > 0);
    leaflog_listing_free(listing);
    OK(leaflog_recent_of(options, NULL, S(cwd), UINT64_MAX, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    leaflog_listing_free(listing);
    leaflog_string out;
    OK(leaflog_most_recent(options, NULL, lend(dir), &out, &error));
    TEXT(out, mine.data);
    leaflog_string_free(&dir);
    OK(leaflog_most_recent_of(options, NULL, S(cwd), &out, &error));
    TEXT(out, mine.data);
    OK(leaflog_most_recent_of(options, NULL, S("/nowhere"), &out, &error));
    TEXT(out, NULL);
    OK(leaflog_newest(options, NULL, &out, &error));
    CHECK(is(lend(out), mine.data) || is(lend(out), other.data));
    leaflog_string_free(&out);

    /* The one that is meant. */
    OK(leaflog_resolve(options, NULL, S(id), S(cwd), &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(is(info.path, mine.data) && info.scope == LEAFLOG_SCOPE_LOCAL);
    leaflog_listing_free(listing);
    OK(leaflog_candidates(options, NULL, S(id), S("/nowhere"), &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(info.scope == LEAFLOG_SCOPE_GLOBAL);
    leaflog_listing_free(listing);
    OK(leaflog_resolve(options, NULL, S("nobody"), S(cwd), &listing, &error));
    CHECK(leaflog_listing_count(listing) == 0);
    leaflog_listing_free(listing);
    OK(leaflog_by_prefix(options, NULL, S(id), &out, &error));
    CHECK(strcmp(out.data, mine.data) == 0 && out.len == mine.len + 1);
    leaflog_string_free(&out);
    OK(leaflog_all_messages_text(options, NULL, mine, &out, &error));
    TEXT(out, "When is high water? Hi");

    /* Another root, where nothing is. */
    leaflog_str roots[1];
    roots[0] = S(test_dir());
    find = empty_find();
    find.roots = roots;
    find.root_count = 0;
    OK(leaflog_list_all(options, &find, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 0);
    leaflog_listing_free(listing);
    find.root_count = 1;
    OK(leaflog_list_all(options, &find, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 2);
    leaflog_listing_free(listing);
}

static void by_hand(void) {
    static const char *const bytes =
        "{\"type\":\"session\",\"version\":3,\"id\":\"1f9d2a6b9c0d1234\",\"timestamp\":\"2026-02-16T10:20:30.000Z\","
        "\"cwd\":\"/home/ada\",\"parentSession\":\"p\"}\n"
        "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"Q\"}}\n";
    leaflog_listing *listing = NULL;
    leaflog_session_info info = empty_info();
    OK(leaflog_info_of_bytes(S("/a/b.jsonl"), 1700000000123, S(bytes), &listing, &error));
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(is(info.path, "/a/b.jsonl") && is(info.parent_session, "p") && is(info.title, NULL));
    CHECK(is(info.id, "1f9d2a6b9c0d1234") && info.modified_ms == 1700000000123 && info.size == strlen(bytes));
    CHECK(info.created_ms == ((20500LL * 24 + 10) * 60 + 20) * 60000 + 30000);
    leaflog_listing_free(listing);
    OK(leaflog_info_of_bytes(S("/a/b.jsonl"), 0, S("no session"), &listing, &error));
    CHECK(leaflog_listing_count(listing) == 0);
    leaflog_listing_free(listing);
    OK(leaflog_recent_of_prefix(S("/a/b.jsonl"), -5, S(bytes), &listing, &error));
    OK(leaflog_listing_session(listing, 0, &info, &error));
    CHECK(is(info.name, "Q") && info.modified_ms == -5);
    leaflog_listing_free(listing);
    /* R58 */
    bool shows = true;
    OK(leaflog_shows(S("/"), S(test_dir()), &shows, &error));
    CHECK(!shows);
    OK(leaflog_shows(S("/"), absent(), &shows, &error));
    CHECK(shows);
}

/* R3: the session of this terminal comes before the newest. */
static void terminals(const leaflog_options *given, const char *cwd) {
    leaflog_options options = *given;
    leaflog_string out, path;
    options.terminal = part("", 0);
    OK(leaflog_terminal_id(&options, &out, &error));
    TEXT(out, NULL);
    options.terminal = S("test-1");
    OK(leaflog_terminal_id(&options, &out, &error));
    TEXT(out, "test-1");
    OK(leaflog_terminal_id(NULL, &out, &error));
    leaflog_string_free(&out);
    path = made(&options, cwd, "Mine", NULL);
    options.terminal = S("test-2");
    leaflog_string other = made(&options, cwd, "Another", NULL);
    leaflog_session *session = NULL;
    options.terminal = S("test-1");
    OK(leaflog_session_continue_recent(S(cwd), &options, &session, &error));
    OK(leaflog_session_file(session, &out, &error));
    TEXT(out, path.data);
    leaflog_session_free(session);
    OK(leaflog_session_continue_recent(S("/nowhere/yet"), &options, &session, &error));
    CHECK(count_of(session) == 0);
    leaflog_session_free(session);
    leaflog_string_free(&path);
    leaflog_string_free(&other);
}

/* In a storage sessions are found by its folders. */
static void in_storages(const char *agent) {
    leaflog_storage *storage = NULL;
    leaflog_options options = options_in(agent);
    OK(leaflog_storage_memory(&storage, &error));
    options.storage = storage;
    leaflog_string path = made(&options, "/home/ada", "Q", NULL);
    leaflog_listing *listing = NULL;
    OK(leaflog_list_all(&options, NULL, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    leaflog_listing_free(listing);
    leaflog_string dirs, sessions;
    OK(leaflog_folder(&options, LEAFLOG_FOLDER_SESSIONS, &sessions, &error));
    OK(leaflog_storage_list_dirs(storage, lend(sessions), &dirs, &error));
    CHECK(strncmp(path.data, dirs.data, strlen(dirs.data)) == 0 && strlen(dirs.data) + 1 == dirs.len);
    leaflog_string_free(&dirs);
    leaflog_string_free(&sessions);
    leaflog_string_free(&path);
    leaflog_storage_free(storage);
}

static void misused(void) {
    const int32_t bad = LEAFLOG_STATUS_INVALID_HANDLE;
    const int32_t argument = LEAFLOG_STATUS_INVALID_ARGUMENT;
    leaflog_listing *listing = NULL;
    leaflog_session_info info = empty_info();
    leaflog_find_options find = empty_find();
    leaflog_string out = {NULL, 0};
    leaflog_error *problem = NULL;
    bool flag = true;
    FAILS(argument, leaflog_list(NULL, NULL, S("x"), NULL, &error));
    FAILS(argument, leaflog_list(NULL, NULL, absent(), &listing, &error));
    FAILS(argument, leaflog_list_all(NULL, NULL, NULL, &error));
    FAILS(argument, leaflog_recent(NULL, NULL, absent(), 1, &listing, &error));
    FAILS(argument, leaflog_recent_of(NULL, NULL, absent(), 1, &listing, &error));
    FAILS(argument, leaflog_most_recent(NULL, NULL, absent(), &out, &error));
    FAILS(argument, leaflog_most_recent_of(NULL, NULL, absent(), &out, &error));
    FAILS(argument, leaflog_newest(NULL, NULL, NULL, &error));
    FAILS(argument, leaflog_resolve(NULL, NULL, absent(), absent(), &listing, &error));
    FAILS(LEAFLOG_STATUS_INVALID_UTF8, leaflog_candidates(NULL, NULL, S("\xff"), S("x"), &listing, &error));
    FAILS(argument, leaflog_by_prefix(NULL, NULL, part(NULL, 1), &out, &error));
    FAILS(LEAFLOG_STATUS_NOT_FOUND, leaflog_all_messages_text(NULL, NULL, S("/nowhere"), &out, &error));
    FAILS(argument, leaflog_shows(absent(), absent(), &flag, &error));
    FAILS(argument, leaflog_info_of_bytes(absent(), 0, absent(), &listing, &error));
    FAILS(argument, leaflog_recent_of_prefix(absent(), 0, absent(), &listing, &error));
    find.root_count = 2;
    FAILS(argument, leaflog_list_all(NULL, &find, &listing, &error));
    find.struct_size = 3;
    FAILS(argument, leaflog_list_all(NULL, &find, &listing, &error));
    FAILS(bad, leaflog_listing_session(NULL, 0, &info, &error));
    FAILS(bad, leaflog_listing_is_meant(NULL, 0, S("x"), &flag, &error));
    FAILS(bad, leaflog_listing_problem(NULL, 0, &problem, &error));
    FAILS(bad, leaflog_storage_list_dirs(NULL, S("x"), &out, &error));
    FAILS(argument, leaflog_terminal_id(NULL, NULL, &error));
    leaflog_session *session = NULL;
    FAILS(argument, leaflog_session_continue_recent(absent(), NULL, &session, &error));
    CHECK(leaflog_listing_count(NULL) == 0 && leaflog_listing_problem_count(NULL) == 0);
    CHECK(!leaflog_listing_is_cancelled(NULL) && leaflog_listing_free(NULL) == LEAFLOG_STATUS_OK);
    CHECK(listing == NULL && out.data == NULL && problem == NULL && flag && session == NULL);
}

int main(void) {
    char *agent = in_dir("agent");
    char *cwd = in_dir("tides");
    CHECK(mkdir(cwd, 0700) == 0);
    leaflog_options options = options_in(agent);
    options.terminal = part("", 0);
    leaflog_string mine = made(&options, cwd, "When is high water?", "Tides");
    leaflog_string other = made(&options, "/elsewhere", "Where?", NULL);
    listings(&options, cwd, lend(mine), lend(other));
    by_hand();
    terminals(&options, cwd);
    in_storages(agent);
    misused();
    leaflog_string_free(&mine);
    leaflog_string_free(&other);
    free(agent);
    free(cwd);
    return all_freed();
}
