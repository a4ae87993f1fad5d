/* What the test programs share. Every program is C11 and C++17. */
#ifndef CHECK_H
#define CHECK_H

#include "leaflog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) check_((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* The call, which is handed `&error`, succeeds. */
#define OK(call) check_status_((call), LEAFLOG_STATUS_OK, #call, __FILE__, __LINE__)

/* The call, which is handed `&error`, gives this status, and an error of the same. */
#define FAILS(status, call) check_status_((call), (status), #call, __FILE__, __LINE__)

/* The last call, which gave this status, made an error of the same. */
#define SEEN(status) check_status_((status), (status), "the last call", __FILE__, __LINE__)

/* The text is this; it is freed. */
#define TEXT(text, expected) check_text_((text), (expected), __FILE__, __LINE__)

/* The text has this in it; it is freed. */
#define HAS(text, part) check_has_((text), (part), __FILE__, __LINE__)

/* Shorter to read. */
#define S(text) leaflog_cstr(text)

static leaflog_error *error = NULL;

static inline void check_(int holds, const char *what, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
        exit(1);
    }
}

static inline void check_status_(int32_t got, int32_t wanted, const char *what, const char *file, int line) {
    if (got != wanted) {
        const char *text = error != NULL ? leaflog_error_text(error) : "no error";
        fprintf(stderr, "%s:%d: %s gave %s (%s)\n", file, line, what, leaflog_status_name(got), text);
        exit(1);
    }
    if (wanted == LEAFLOG_STATUS_OK) {
        check_(error == NULL, "no error is made when a call succeeds", file, line);
    } else {
        check_(error != NULL, "an error is made when a call fails", file, line);
        check_(leaflog_error_status(error) == wanted, "the error has the status", file, line);
        check_(strlen(leaflog_error_message(error)) > 0, "the error has a message", file, line);
        check_(strlen(leaflog_error_text(error)) >= strlen(leaflog_error_message(error)), "text", file, line);
        leaflog_error_free(error);
        error = NULL;
    }
}

static inline void check_text_(leaflog_string text, const char *expected, const char *file, int line) {
    if (expected == NULL) {
        check_(text.data == NULL && text.len == 0, "the text is absent", file, line);
        return;
    }
    check_(text.data != NULL, "the text is there", file, line);
    /* The NUL after it is not counted. */
    check_(text.data[text.len] == '\0', "a NUL follows", file, line);
    if (text.len != strlen(expected) || memcmp(text.data, expected, text.len) != 0) {
        fprintf(stderr, "%s:%d: got      %s\n%s:%d: expected %s\n", file, line, text.data, file, line, expected);
        exit(1);
    }
    check_(leaflog_string_free(&text) == LEAFLOG_STATUS_OK, "it is freed", file, line);
}

static inline void check_has_(leaflog_string text, const char *part, const char *file, int line) {
    check_(text.data != NULL, "the text is there", file, line);
    if (strstr(text.data, part) == NULL) {
        fprintf(stderr, "%s:%d: %s is not in %s\n", file, line, part, text.data);
        exit(1);
    }
    check_(leaflog_string_free(&text) == LEAFLOG_STATUS_OK, "it is freed", file, line);
}

/* Whether a lent text is this; NULL for an absent one. */
static inline int is(leaflog_str text, const char *expected) {
    if (expected == NULL) {
        return text.data == NULL && text.len == 0;
    }
    return text.data != NULL && text.len == strlen(expected) && memcmp(text.data, expected, text.len) == 0;
}

static inline leaflog_str lend(leaflog_string text) {
    leaflog_str str;
    str.data = text.data;
    str.len = text.len;
    return str;
}

static inline leaflog_str part(const char *data, size_t len) {
    leaflog_str str;
    str.data = data;
    str.len = len;
    return str;
}

static inline leaflog_str absent(void) {
    return part(NULL, 0);
}

/* The folder of this program's files. */
static inline const char *test_dir(void) {
    const char *dir = getenv("TEST_DIR");
    CHECK(dir != NULL);
    return dir;
}

/* A path in the folder; the caller frees it. */
static inline char *in_dir(const char *name) {
    size_t size = strlen(test_dir()) + strlen(name) + 2;
    char *path = (char *)malloc(size);
    CHECK(path != NULL);
    snprintf(path, size, "%s/%s", test_dir(), name);
    return path;
}

static inline void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(text, 1, strlen(text), file) == strlen(text));
    CHECK(fclose(file) == 0);
}

/* The content, which the caller frees; NULL when there is no file. */
static inline char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    size_t size = 1 << 20;
    char *text = (char *)calloc(1, size);
    CHECK(text != NULL);
    CHECK(fread(text, 1, size - 1, file) < size - 1);
    CHECK(fclose(file) == 0);
    return text;
}

/* Options with the agent's folder in the test's. `dir` lives as long as they are used. */
static inline leaflog_options options_in(const char *dir) {
    leaflog_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.agent_dir = S(dir);
    return options;
}

static inline uint64_t count_of(const leaflog_session *session) {
    uint64_t count = 0;
    OK(leaflog_session_entry_count(session, &count, &error));
    return count;
}

/* Everything was given back. */
static inline int all_freed(void) {
    size_t live = leaflog_live_handles();
    if (live != 0) {
        fprintf(stderr, "%u handles or texts were not freed\n", (unsigned)live);
    }
    return live == 0 ? 0 : 1;
}

#endif
