/* Sessions that are read: iterators, the tree, the context, JSON texts, snapshots. */
#include "check.h"

#define HEADER "{\"type\":\"session\",\"version\":3,\"id\":\"1f9d2a6b9c0d1234\",\"timestamp\":" \
               "\"2026-02-16T10:20:30.000Z\",\"cwd\":\"/home/ada\",\"title\":\"A title\",\"titleSource\":\"auto\"}\n"
#define T(minute) "\"timestamp\":\"2026-02-16T10:" minute ":00.000Z\""

/* r - a - b (a label on b), and c under a, older than b although it comes later. */
static const char *const file =
    HEADER
    "{\"type\":\"message\",\"id\":\"r\",\"parentId\":null," T("21") ",\"message\":{\"role\":\"user\",\"content\":\"Q\"}}\n"
    "{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"r\"," T("22") ",\"message\":{\"role\":\"assistant\",\"content\":\"A\","
    "\"provider\":\"acme\",\"model\":\"m1\"}}\n"
    "{\"type\":\"odd_type\",\"id\":\"b\",\"parentId\":\"a\"," T("29") ",\"n\":1e400}\n"
    "{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"a\"," T("25") ",\"message\":{\"role\":\"oracle\",\"content\":\"\\ud83d\"}}\n"
    "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"c\"," T("30") ",\"targetId\":\"b\",\"label\":\"here\"}\n"
    "{\"type\":\"message\",\"id\":\"o\",\"parentId\":\"gone\",\"timestamp\":\"never\",\"message\":{\"role\":\"user\",\"content\":\"O\"}}\n"
    "not JSON\n"
    "{\"type\":\"message\",\"parentId\":null,\"message\":null}\n";

static leaflog_entry empty_entry(void) {
    leaflog_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.struct_size = sizeof entry;
    return entry;
}

/* The ids that an iterator gives, one letter each; it is freed. */
static void visits(leaflog_entries *entries, const char *expected) {
    char ids[32] = "";
    leaflog_entry entry = empty_entry();
    size_t at = 0;
    int32_t status;
    uint64_t count = 0;
    OK(leaflog_entries_count(entries, &count, &error));
    CHECK(count == strlen(expected));
    while ((status = leaflog_entries_next(entries, &entry, &error)) == LEAFLOG_STATUS_OK) {
        CHECK(at + 1 < sizeof ids);
        ids[at++] = entry.id.data != NULL ? entry.id.data[0] : '-';
    }
    CHECK(status == LEAFLOG_STATUS_END && error == NULL);
    CHECK(leaflog_entries_next(entries, &entry, &error) == LEAFLOG_STATUS_END && error == NULL);
    if (strcmp(ids, expected) != 0) {
        fprintf(stderr, "visited %s, expected %s\n", ids, expected);
        exit(1);
    }
    CHECK(leaflog_entries_free(entries) == LEAFLOG_STATUS_OK);
}

static void iterators(const leaflog_session *session) {
    leaflog_entries *entries = NULL;
    OK(leaflog_session_entries(session, &entries, &error));
    visits(entries, "rabclo-");
    OK(leaflog_session_tree(session, &entries, &error));
    visits(entries, "raclbo"); /* R49: children oldest first; the line without an id hangs nowhere */
    OK(leaflog_session_path(session, S("l"), &entries, &error));
    visits(entries, "racl");
    OK(leaflog_session_path(session, absent(), &entries, &error));
    visits(entries, "o"); /* R17: the last entry is the leaf */
    OK(leaflog_session_children(session, S("a"), LEAFLOG_ORDER_FILE, &entries, &error));
    visits(entries, "bc");
    OK(leaflog_session_children(session, S("a"), LEAFLOG_ORDER_TIME, &entries, &error));
    visits(entries, "cb");
    OK(leaflog_session_roots(session, &entries, &error));
    visits(entries, "ro");
    OK(leaflog_session_leaves(session, &entries, &error));
    visits(entries, "blo");
    OK(leaflog_session_entry(session, S("b"), &entries, &error));
    visits(entries, "b");
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND, leaflog_session_entry(session, S("nobody"), &entries, &error));
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND, leaflog_session_path(session, S("nobody"), &entries, &error));
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND,
          leaflog_session_children(session, S("nobody"), LEAFLOG_ORDER_FILE, &entries, &error));
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_session_children(session, S("a"), 7, &entries, &error));
}

static void fields(const leaflog_session *session) {
    leaflog_entries *entries = NULL;
    leaflog_entry entry = empty_entry();
    leaflog_str json;
    OK(leaflog_session_tree(session, &entries, &error));
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_entries_json(entries, LEAFLOG_STORED, &json, &error));
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(is(entry.id, "r") && is(entry.parent_id, NULL) && is(entry.type_name, "message"));
    CHECK(is(entry.role, "user") && is(entry.label, NULL) && entry.depth == 0 && entry.position == 0);
    CHECK(entry.line == 2 && entry.offset == strlen(HEADER) && entry.is_superseded == 0);
    /* 2026-02-16T10:21:00Z: 20500 days, 10 hours and 21 minutes after 1970. */
    CHECK(entry.time_ms == ((20500LL * 24 + 10) * 60 + 21) * 60000);
    OK(leaflog_entries_json(entries, LEAFLOG_STORED, &json, &error));
    CHECK(json.len == entry.len && memcmp(json.data, file + strlen(HEADER), json.len) == 0);
    CHECK(json.data[json.len] == '\0');
    OK(leaflog_entries_next(entries, &entry, &error)); /* a */
    OK(leaflog_entries_next(entries, &entry, &error));
    /* A role the index has no name for. */
    CHECK(is(entry.id, "c") && is(entry.parent_id, "a") && is(entry.role, "oracle") && entry.depth == 2);
    OK(leaflog_entries_next(entries, &entry, &error)); /* l */
    CHECK(is(entry.role, NULL) && is(entry.type_name, "label") && entry.depth == 3);
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(is(entry.id, "b") && is(entry.type_name, "odd_type") && is(entry.label, "here") && entry.depth == 2);
    OK(leaflog_entries_json(entries, LEAFLOG_LOADED, &json, &error));
    CHECK(strstr(json.data, "\"n\":1e400}") != NULL); /* R45 */
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(is(entry.id, "o") && is(entry.parent_id, NULL) && entry.time_ms == LEAFLOG_NO_TIME && entry.depth == 0);
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_entries_json(entries, 9, &json, &error));

    /* A program that was built with a smaller struct gets what it knows. */
    union {
        leaflog_entry entry;
        unsigned char bytes[sizeof(leaflog_entry)];
    } old;
    memset(old.bytes, 0xee, sizeof old.bytes);
    old.entry.struct_size = offsetof(leaflog_entry, parent_id);
    leaflog_entries_free(entries);
    OK(leaflog_session_entries(session, &entries, &error));
    OK(leaflog_entries_next(entries, &old.entry, &error));
    CHECK(is(old.entry.id, "r") && old.entry.struct_size == offsetof(leaflog_entry, parent_id));
    for (size_t at = offsetof(leaflog_entry, parent_id); at < sizeof old.bytes; at++) {
        CHECK(old.bytes[at] == 0xee);
    }
    /* B24: a size between a text and its length is not that of any version. */
    old.entry.struct_size = offsetof(leaflog_entry, parent_id) + offsetof(leaflog_str, len);
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_entries_next(entries, &old.entry, &error));
    leaflog_entries_free(entries);
}

static void texts(const leaflog_session *session) {
    leaflog_string out;
    OK(leaflog_session_entry_json(session, S("b"), LEAFLOG_STORED, &out, &error));
    TEXT(out, "{\"type\":\"odd_type\",\"id\":\"b\",\"parentId\":\"a\"," T("29") ",\"n\":1e400}");
    OK(leaflog_session_entries_json(session, LEAFLOG_STORED, &out, &error));
    CHECK(out.data[0] == '[' && out.data[out.len - 1] == ']');
    HAS(out, "\"content\":\"\\ud83d\"}},{\"type\":\"label\"");
    OK(leaflog_session_raw_json(session, &out, &error));
    CHECK(strncmp(out.data, "[{\"type\":\"session\",\"version\":3,", 31) == 0);
    HAS(out, "\"n\":1e400},{\"type\":\"message\",\"id\":\"c\"");
    OK(leaflog_session_tree_json(session, LEAFLOG_LOADED, &out, &error));
    CHECK(strncmp(out.data, "[{\"depth\":0,\"entry\":{\"type\":\"message\",\"id\":\"r\"", 45) == 0);
    HAS(out, "{\"depth\":2,\"label\":\"here\",\"entry\":{\"type\":\"odd_type\"");
    OK(leaflog_session_report_json(session, &out, &error));
    HAS(out, "\"skippedLines\":[{\"line\":8,\"reason\":\"invalid\"}]");
    OK(leaflog_session_report_text(session, &out, &error));
    HAS(out, "the parent gone of o is not in the file");
    OK(leaflog_session_title(session, &out, &error));
    TEXT(out, "A title");
    OK(leaflog_session_title_source(session, &out, &error));
    TEXT(out, "auto");
    OK(leaflog_session_cwd(session, &out, &error));
    TEXT(out, "/home/ada");
    OK(leaflog_session_file(session, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_session_id(session, &out, &error));
    TEXT(out, "1f9d2a6b9c0d1234");
    OK(leaflog_session_header_json(session, &out, &error));
    HAS(out, "\"title\":\"A title\"");
    FAILS(LEAFLOG_STATUS_READ_ONLY, leaflog_session_dir(session, &out, &error));
    uint64_t size = 0;
    OK(leaflog_session_size(session, &size, &error));
    CHECK(size == strlen(file));
}

static void contexts(const leaflog_session *session) {
    leaflog_context *context = NULL;
    OK(leaflog_session_context(session, LEAFLOG_FROM_ENTRY, S("c"), &context, &error));
    uint64_t count = 0;
    OK(leaflog_context_message_count(context, &count, &error));
    CHECK(count == 3);
    leaflog_str message;
    OK(leaflog_context_message(context, 0, &message, &error));
    CHECK(is(message, "{\"role\":\"user\",\"content\":\"Q\"}"));
    OK(leaflog_context_message(context, 2, &message, &error));
    CHECK(is(message, "{\"role\":\"oracle\",\"content\":\"\\ud83d\"}"));
    CHECK(leaflog_context_message(context, 3, &message, &error) == LEAFLOG_STATUS_END && error == NULL);
    CHECK(leaflog_context_message(context, UINT64_MAX, &message, &error) == LEAFLOG_STATUS_END && error == NULL);
    leaflog_string out, direct;
    OK(leaflog_context_json(context, &out, &error));
    OK(leaflog_session_context_json(session, LEAFLOG_FROM_ENTRY, S("c"), &direct, &error));
    CHECK(strcmp(out.data, direct.data) == 0);
    leaflog_string_free(&direct);
    HAS(out, "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\"");
    OK(leaflog_context_state_json(context, &out, &error));
    TEXT(out, "{\"messages\":[],\"thinkingLevel\":\"off\",\"models\":{\"default\":\"acme/m1\"},\"injectedTtsrRules\":[],"
              "\"selectedMCPToolNames\":[],\"hasPersistedMCPToolSelection\":false,\"mode\":\"none\"}");
    OK(leaflog_context_thinking_level(context, &out, &error));
    TEXT(out, "off");
    OK(leaflog_context_model(context, absent(), &out, &error));
    TEXT(out, "acme/m1");
    OK(leaflog_context_model(context, S("small"), &out, &error));
    TEXT(out, NULL);
    CHECK(leaflog_context_free(context) == LEAFLOG_STATUS_OK);
    /* R23 */
    OK(leaflog_session_context_json(session, LEAFLOG_FROM_NOTHING, absent(), &out, &error));
    HAS(out, "{\"messages\":[],");
    OK(leaflog_session_context_json(session, LEAFLOG_FROM_LEAF, absent(), &out, &error));
    HAS(out, "{\"messages\":[{\"role\":\"user\",\"content\":\"O\"}],");
    FAILS(LEAFLOG_STATUS_ENTRY_NOT_FOUND,
          leaflog_session_context(session, LEAFLOG_FROM_ENTRY, S("nobody"), &context, &error));
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_session_context(session, -1, absent(), &context, &error));
}

/* An iterator goes over what was there, and says when that is gone. */
static void changes(void) {
    leaflog_session *session = NULL, *snapshot = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    OK(leaflog_session_append_message(session, S("{\"role\":\"user\",\"content\":1}"), NULL, &error));
    leaflog_entries *entries = NULL, *other = NULL;
    leaflog_entry entry = empty_entry();
    leaflog_str json;
    OK(leaflog_session_entries(session, &entries, &error));
    OK(leaflog_session_entries(session, &other, &error));
    OK(leaflog_session_snapshot(session, &snapshot, &error));
    OK(leaflog_session_append_message(session, S("{\"role\":\"user\",\"content\":2}"), NULL, &error));
    CHECK(count_of(snapshot) == 1 && count_of(session) == 2);
    FAILS(LEAFLOG_STATUS_READ_ONLY, leaflog_session_append_message(snapshot, S("{\"role\":\"user\"}"), NULL, &error));
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(leaflog_entries_next(entries, &entry, &error) == LEAFLOG_STATUS_END);
    OK(leaflog_session_new(session, absent(), NULL, &error));
    FAILS(LEAFLOG_STATUS_STALE, leaflog_entries_json(entries, LEAFLOG_STORED, &json, &error));
    FAILS(LEAFLOG_STATUS_STALE, leaflog_entries_next(other, &entry, &error));
    leaflog_entries_free(entries);
    leaflog_entries_free(other);
    /* It keeps its session. */
    OK(leaflog_session_entries(snapshot, &entries, &error));
    leaflog_session_free(snapshot);
    leaflog_session_free(session);
    OK(leaflog_entries_next(entries, &entry, &error));
    OK(leaflog_entries_json(entries, LEAFLOG_STORED, &json, &error));
    CHECK(strstr(json.data, "\"content\":1}}") != NULL);
    leaflog_entries_free(entries);
}

/* F12: of two lines with one id the last counts. */
static void duplicates(void) {
    static const char *const twice =
        HEADER "{\"type\":\"message\",\"id\":\"x\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":1}}\n"
               "{\"type\":\"message\",\"id\":\"x\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":2}}\n";
    leaflog_session *session = NULL;
    OK(leaflog_session_read_bytes(S(twice), NULL, &session, &error));
    leaflog_entries *entries = NULL;
    leaflog_entry entry = empty_entry();
    OK(leaflog_session_entries(session, &entries, &error));
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(entry.is_superseded == 1);
    OK(leaflog_entries_next(entries, &entry, &error));
    CHECK(entry.is_superseded == 0);
    leaflog_entries_free(entries);
    leaflog_string out;
    OK(leaflog_session_entry_json(session, S("x"), LEAFLOG_STORED, &out, &error));
    HAS(out, "\"content\":2");
    leaflog_session_free(session);
}

int main(void) {
    leaflog_session *session = NULL;
    OK(leaflog_session_read_bytes(S(file), NULL, &session, &error));
    iterators(session);
    fields(session);
    texts(session);
    contexts(session);
    leaflog_session_free(session);
    changes();
    duplicates();
    return all_freed();
}
