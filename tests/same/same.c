/* Does what a script says through the C interface; same.rs says what a script is.
 *
 * same SCRIPT LOG works in the current folder. */
#include "../c/check.h"

#include <unistd.h>

#define MOST_FIELDS 8
#define SLOTS 3

static leaflog_session *sessions[SLOTS];
static leaflog_state *states[SLOTS];
static int used = 0;
static leaflog_options options;

/* Texts that are kept to the end. */
typedef struct {
    char **items;
    size_t count;
} list;

static list files;
/* The ids of entries that `message` made. */
static list messages;

static bool has(const list *known, const char *text) {
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->items[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void add(list *known, const char *text) {
    known->items = (char **)realloc(known->items, (known->count + 1) * sizeof *known->items);
    CHECK(known->items != NULL);
    known->items[known->count] = strdup(text);
    CHECK(known->items[known->count] != NULL);
    known->count++;
}

static void drop(list *known) {
    for (size_t i = 0; i < known->count; i++) {
        free(known->items[i]);
    }
    free(known->items);
}

/* The fields of the operation at hand. TEXT fields are decoded in place when they are read, so once each. */
static leaflog_str field[MOST_FIELDS];
static char *field_data[MOST_FIELDS];

static bool is_word(int at, const char *word) { return is(field[at], word); }

/* As it stands; absent for "~". */
static leaflog_str json(int at) { return is_word(at, "~") ? absent() : field[at]; }

static leaflog_str decode(char *data, size_t len) {
    size_t to = 0;
    for (size_t from = 0; from < len; from++, to++) {
        if (data[from] == '%') {
            unsigned byte = 0;
            char hex[3] = {data[from + 1], data[from + 2], 0};
            CHECK(sscanf(hex, "%2x", &byte) == 1);
            data[to] = (char)byte;
            from += 2;
        } else {
            data[to] = data[from];
        }
    }
    return part(data, to);
}

static leaflog_str text(int at) { return decode(field_data[at], field[at].len); }

static leaflog_str optional(int at) { return is_word(at, "~") ? absent() : text(at); }

static int32_t choice(int at) {
    return is_word(at, "~") ? LEAFLOG_UNSAID : is_word(at, "yes") ? LEAFLOG_YES : LEAFLOG_NO;
}

/* A list; the caller frees it. */
static leaflog_str *texts(int at, size_t *count) {
    leaflog_str *items = (leaflog_str *)calloc(field[at].len + 1, sizeof *items);
    CHECK(items != NULL);
    *count = 0;
    char *data = field_data[at];
    char *end = data + field[at].len;
    while (data < end) {
        char *comma = (char *)memchr(data, ',', (size_t)(end - data));
        char *stop = comma != NULL ? comma : end;
        items[(*count)++] = decode(data, (size_t)(stop - data));
        data = stop + 1;
    }
    return items;
}

static size_t number(const char *digits) { return (size_t)strtoull(digits, NULL, 10); }

static leaflog_str path(int at) {
    if (field[at].data[0] != '=') {
        return text(at);
    }
    return files.count == 0 ? S("in/none.jsonl") : S(files.items[number(field[at].data + 1) % files.count]);
}

/* What the operation gave. */
static char result[256];

static void give(const char *text) { snprintf(result, sizeof result, "%s", text); }

static void give_string(leaflog_string text) {
    give(text.data);
    leaflog_string_free(&text);
}

static void give_bool(bool value) { give(value ? "true" : "false"); }

/* The id of the entry at @K. */
static char id_text[4096];

static leaflog_str id_at(int at) {
    uint64_t count = count_of(sessions[used]);
    id_text[0] = '\0';
    if (count > 0) {
        uint64_t position = number(field[at].data + 1) % count;
        leaflog_entries *entries = NULL;
        OK(leaflog_session_entries(sessions[used], &entries, &error));
        leaflog_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.struct_size = sizeof entry;
        do {
            OK(leaflog_entries_next(entries, &entry, &error));
        } while (entry.position != position);
        CHECK(entry.id.len < sizeof id_text);
        if (entry.id.data != NULL) {
            memcpy(id_text, entry.id.data, entry.id.len);
        }
        id_text[entry.id.len] = '\0';
        leaflog_entries_free(entries);
    }
    return S(id_text);
}

/* Makes room for a session; what was there is closed. */
static leaflog_status close_before(void) {
    leaflog_status status = LEAFLOG_STATUS_OK;
    if (sessions[used] != NULL) {
        status = leaflog_session_close(sessions[used], NULL);
        leaflog_session_free(sessions[used]);
        sessions[used] = NULL;
    }
    leaflog_state_free(states[used]);
    states[used] = NULL;
    return status;
}

static leaflog_status change(void) {
    leaflog_str id = id_at(1);
    if (!has(&messages, id.data)) {
        give("not a message of this script");
        return LEAFLOG_STATUS_OK;
    }
    leaflog_string before;
    OK(leaflog_session_entry_json(sessions[used], id, LEAFLOG_STORED, &before, &error));
    const char *base_end = strstr(before.data, ",\"message\":");
    CHECK(base_end != NULL);
    size_t base = (size_t)(base_end - before.data) + strlen(",\"message\":");
    char *after = (char *)malloc(base + field[2].len + 2);
    CHECK(after != NULL);
    memcpy(after, before.data, base);
    memcpy(after + base, field[2].data, field[2].len);
    after[base + field[2].len] = '}';
    leaflog_change changed;
    changed.id = id;
    changed.json = part(after, base + field[2].len + 1);
    leaflog_status status = leaflog_session_rewrite(sessions[used], &changed, 1, NULL);
    free(after);
    leaflog_string_free(&before);
    return status;
}

static leaflog_status compaction(leaflog_id *id) {
    leaflog_compaction given;
    memset(&given, 0, sizeof given);
    given.struct_size = sizeof given;
    given.first_kept_entry_id = id_at(3);
    given.summary = text(1);
    given.short_summary = optional(2);
    given.tokens_before = number(field[4].data);
    given.from_extension = choice(5);
    given.details_json = json(6);
    given.preserve_data_json = json(7);
    return leaflog_session_append_compaction(sessions[used], &given, id, NULL);
}

static leaflog_status custom_message(leaflog_id *id) {
    leaflog_custom_message given;
    memset(&given, 0, sizeof given);
    given.struct_size = sizeof given;
    given.custom_type = text(1);
    given.display = is_word(2, "yes");
    given.attribution = optional(3);
    given.details_json = json(4);
    given.content_json = field[5];
    return leaflog_session_append_custom_message(sessions[used], &given, id, NULL);
}

static leaflog_status session_init(leaflog_id *id) {
    leaflog_session_init given;
    memset(&given, 0, sizeof given);
    given.struct_size = sizeof given;
    given.system_prompt = text(1);
    given.task = text(2);
    leaflog_str *tools = texts(3, &given.tool_count);
    given.tools = tools;
    given.output_schema_json = json(4);
    leaflog_status status = leaflog_session_append_session_init(sessions[used], &given, id, NULL);
    free(tools);
    return status;
}

static leaflog_status names(bool tools, leaflog_id *id) {
    size_t count = 0;
    leaflog_str *items = texts(1, &count);
    leaflog_status status = tools ? leaflog_session_append_mcp_tool_selection(sessions[used], items, count, id, NULL)
                                  : leaflog_session_append_ttsr_injection(sessions[used], items, count, id, NULL);
    free(items);
    return status;
}

/* Operations that append: the result is the id. */
static bool append(leaflog_status *status) {
    leaflog_session *session = sessions[used];
    leaflog_id id;
    if (is_word(0, "message")) {
        *status = leaflog_session_append_message(session, field[1], &id, NULL);
        if (*status == LEAFLOG_STATUS_OK) {
            add(&messages, id.text);
        }
    } else if (is_word(0, "thinking")) {
        *status = leaflog_session_append_thinking_level_change(session, optional(1), &id, NULL);
    } else if (is_word(0, "tier")) {
        *status = leaflog_session_append_service_tier_change(session, optional(1), &id, NULL);
    } else if (is_word(0, "mode")) {
        *status = leaflog_session_append_mode_change(session, text(1), json(2), &id, NULL);
    } else if (is_word(0, "context")) {
        *status = leaflog_session_append_context_change(session, text(1), text(2), text(3), &id, NULL);
    } else if (is_word(0, "model")) {
        *status = leaflog_session_append_model_change(session, text(1), optional(2), &id, NULL);
    } else if (is_word(0, "init")) {
        *status = session_init(&id);
    } else if (is_word(0, "compaction")) {
        *status = compaction(&id);
    } else if (is_word(0, "custom")) {
        *status = leaflog_session_append_custom_entry(session, text(1), json(2), &id, NULL);
    } else if (is_word(0, "custom-message")) {
        *status = custom_message(&id);
    } else if (is_word(0, "mcp")) {
        *status = names(true, &id);
    } else if (is_word(0, "ttsr")) {
        *status = names(false, &id);
    } else if (is_word(0, "label")) {
        *status = leaflog_session_append_label_change(session, id_at(1), optional(2), &id, NULL);
    } else if (is_word(0, "branch-summary")) {
        leaflog_str from = is_word(1, "~") ? absent() : id_at(1);
        *status = leaflog_session_branch_with_summary(session, from, text(2), json(4), choice(3), &id, NULL);
    } else {
        return false;
    }
    if (*status == LEAFLOG_STATUS_OK) {
        give(id.text);
    }
    return true;
}

static leaflog_status work(void) {
    leaflog_session *session = sessions[used];
    leaflog_status status = LEAFLOG_STATUS_OK;
    bool flag = false;
    leaflog_string string = {NULL, 0};
    if (append(&status)) {
        return status;
    }
    if (is_word(0, "set-file")) {
        return leaflog_session_set_file(session, path(1), NULL);
    }
    if (is_word(0, "new")) {
        return leaflog_session_new(session, optional(1), NULL, NULL);
    }
    if (is_word(0, "fork")) {
        return leaflog_session_fork(session, NULL, NULL, NULL);
    }
    if (is_word(0, "branched")) {
        return leaflog_session_create_branched(session, id_at(1), NULL, NULL);
    }
    if (is_word(0, "move")) {
        return leaflog_session_move(session, text(1), NULL);
    }
    if (is_word(0, "flush")) {
        return leaflog_session_flush(session, NULL);
    }
    if (is_word(0, "close")) {
        return leaflog_session_close(session, NULL);
    }
    if (is_word(0, "ensure")) {
        return leaflog_session_ensure_on_disk(session, NULL);
    }
    if (is_word(0, "rewrite")) {
        return leaflog_session_rewrite(session, NULL, 0, NULL);
    }
    if (is_word(0, "branch")) {
        return leaflog_session_branch(session, id_at(1), NULL);
    }
    if (is_word(0, "reset")) {
        return leaflog_session_reset_leaf(session, NULL);
    }
    if (is_word(0, "change")) {
        return change();
    }
    if (is_word(0, "capture")) {
        leaflog_state_free(states[used]);
        return leaflog_session_capture(session, &states[used], NULL);
    }
    if (is_word(0, "restore")) {
        return states[used] == NULL ? LEAFLOG_STATUS_OK : leaflog_session_restore(session, states[used], NULL);
    }
    if (is_word(0, "sanitize")) {
        status = leaflog_session_sanitize_replay_metadata(session, NULL, NULL);
    } else if (is_word(0, "name")) {
        int32_t source = is_word(1, "user") ? LEAFLOG_TITLE_USER : LEAFLOG_TITLE_AUTO;
        status = leaflog_session_set_name(session, text(2), source, &flag, NULL);
        give_bool(flag);
    } else if (is_word(0, "artifact")) {
        status = leaflog_session_save_artifact(session, text(2), text(1), &string, NULL);
        if (status == LEAFLOG_STATUS_OK) {
            give_string(string);
        }
    } else if (is_word(0, "allocate")) {
        status = leaflog_session_allocate_artifact(session, text(1), &string, NULL, NULL);
        if (status == LEAFLOG_STATUS_OK && string.data == NULL) {
            give("none");
        } else if (status == LEAFLOG_STATUS_OK) {
            give_string(string);
        }
    } else if (is_word(0, "blob")) {
        leaflog_blobs *blobs = NULL;
        OK(leaflog_session_blobs(session, &blobs, &error));
        status = leaflog_blobs_put(blobs, text(1), &string, NULL);
        leaflog_blobs_free(blobs);
        if (status == LEAFLOG_STATUS_OK) {
            give_string(string);
        }
    } else {
        fprintf(stderr, "there is no operation %s\n", field[0].data);
        exit(1);
    }
    return status;
}

static leaflog_status step(void) {
    bool create = is_word(0, "create"), memory = is_word(0, "memory"), recent = is_word(0, "continue");
    bool opens = is_word(0, "open"), forks = is_word(0, "fork-from");
    if (is_word(0, "use")) {
        used = atoi(field[1].data);
        return LEAFLOG_STATUS_OK;
    }
    if (is_word(0, "options")) {
        options.migration_rewrite =
            is_word(1, "deferred") ? LEAFLOG_MIGRATION_DEFERRED : LEAFLOG_MIGRATION_IMMEDIATE;
        options.dir_naming = is_word(2, "home-relative") ? LEAFLOG_DIRS_HOME_RELATIVE : LEAFLOG_DIRS_ABSOLUTE;
        options.durability =
            is_word(3, "every-append") ? LEAFLOG_DURABILITY_EVERY_APPEND : LEAFLOG_DURABILITY_FLUSH;
        return LEAFLOG_STATUS_OK;
    }
    if (create || memory || recent || opens || forks) {
        leaflog_status status = close_before();
        leaflog_session **made = &sessions[used];
        if (status != LEAFLOG_STATUS_OK) {
            return status;
        }
        return create   ? leaflog_session_create(text(1), &options, made, NULL)
               : memory ? leaflog_session_in_memory(text(1), &options, made, NULL)
               : recent ? leaflog_session_continue_recent(text(1), &options, made, NULL)
               : opens  ? leaflog_session_open(path(1), &options, made, NULL)
                        : leaflog_session_fork_from(path(1), text(2), &options, made, NULL);
    }
    /* What another program does to a file. */
    if (is_word(0, "tail") || is_word(0, "remove")) {
        const char *name = path(1).data;
        if (access(name, F_OK) != 0) {
            give("no file");
        } else if (is_word(0, "remove")) {
            CHECK(unlink(name) == 0);
        } else {
            leaflog_str tail = text(2);
            FILE *file = fopen(name, "ab");
            CHECK(file != NULL && fwrite(tail.data, 1, tail.len, file) == tail.len && fclose(file) == 0);
        }
        return LEAFLOG_STATUS_OK;
    }
    if (sessions[used] == NULL) {
        give("no session");
        return LEAFLOG_STATUS_OK;
    }
    return work();
}

/* `{{N:TEXT}}` written out; the caller frees it. */
static char *expand(const char *line, size_t len) {
    size_t size = len + 1;
    const char *end = line + len;
    char *out = NULL;
    /* First how long it gets, then again to write it. */
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (const char *from = line; from < end;) {
            if (end - from > 2 && from[0] == '{' && from[1] == '{') {
                size_t count = number(from + 2);
                const char *piece = (const char *)memchr(from, ':', (size_t)(end - from)) + 1;
                const char *stop = piece;
                while (stop[0] != '}' || stop[1] != '}') {
                    stop++;
                }
                for (size_t i = 0; i < count; i++) {
                    if (out != NULL) {
                        memcpy(out + at, piece, (size_t)(stop - piece));
                    }
                    at += (size_t)(stop - piece);
                }
                from = stop + 2;
            } else {
                if (out != NULL) {
                    out[at] = *from;
                }
                at++;
                from++;
            }
        }
        if (out == NULL) {
            size = at + 1;
            out = (char *)malloc(size);
            CHECK(out != NULL);
        }
    }
    out[size - 1] = '\0';
    return out;
}

static void split(char *line) {
    for (int i = 0; i < MOST_FIELDS; i++) {
        size_t len = line == NULL ? 0 : strcspn(line, "\t");
        field_data[i] = line;
        field[i] = part(line, len);
        if (line != NULL) {
            line = line[len] == '\0' ? NULL : line + len + 1;
            field_data[i][len] = '\0';
        }
    }
}

static char *read_script(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *len = (size_t)ftell(file);
    rewind(file);
    char *script = (char *)malloc(*len + 1);
    CHECK(script != NULL && fread(script, 1, *len, file) == *len && fclose(file) == 0);
    script[*len] = '\0';
    return script;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    char agent[4096];
    CHECK(getcwd(agent, sizeof agent - 8) != NULL);
    strcat(agent, "/agent");
    leaflog_generator *generator = NULL;
    /* 2026-02-16T10:00:00.000Z, a second for each id. */
    OK(leaflog_generator_sequence(1771236000000, 1000, &generator, &error));
    options = options_in(agent);
    options.generator = generator;

    size_t len = 0;
    char *script = read_script(argv[1], &len);
    FILE *log = fopen(argv[2], "wb");
    CHECK(log != NULL);
    int line_number = 0;
    for (const char *line = script; line < script + len;) {
        size_t line_len = strcspn(line, "\n");
        line_number++;
        if (line_len > 0 && line[0] != '#') {
            char *expanded = expand(line, line_len);
            split(expanded);
            give("ok");
            leaflog_status status = step();
            if (status != LEAFLOG_STATUS_OK) {
                give(leaflog_status_name(status));
            }
            leaflog_string leaf = {NULL, 0}, file = {NULL, 0};
            if (sessions[used] != NULL) {
                OK(leaflog_session_leaf_id(sessions[used], &leaf, &error));
                OK(leaflog_session_file(sessions[used], &file, &error));
            }
            fprintf(log, "%d\t%s\t%s\t%s\n", line_number, field[0].data, result, leaf.data != NULL ? leaf.data : "-");
            if (file.data != NULL && !has(&files, file.data)) {
                add(&files, file.data);
            }
            leaflog_string_free(&leaf);
            leaflog_string_free(&file);
            free(expanded);
        }
        line += line_len + 1;
    }
    CHECK(fclose(log) == 0);
    for (used = 0; used < SLOTS; used++) {
        close_before();
    }
    leaflog_generator_free(generator);
    drop(&files);
    drop(&messages);
    free(script);
    return all_freed();
}
