/* The prompt history. */
#include "check.h"

static leaflog_prompt empty_prompt(void) {
    leaflog_prompt prompt;
    memset(&prompt, 0, sizeof prompt);
    prompt.struct_size = sizeof prompt;
    return prompt;
}

static void stores(const char *path) {
    leaflog_history *history = NULL;
    leaflog_prompts *prompts = NULL;
    leaflog_string out;
    FAILS(LEAFLOG_STATUS_NOT_FOUND, leaflog_history_open_read_only(S(path), &history, &error));
    OK(leaflog_history_open(S(path), &history, &error));
    OK(leaflog_history_path(history, &out, &error));
    TEXT(out, path);
    OK(leaflog_history_set_aside(history, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_history_add(history, S("mend the tide gauge"), S("/home/ada"), &error));
    /* R43: what is equal to the previous one is not stored again, nor is what is empty. */
    OK(leaflog_history_add(history, S(" mend the tide gauge\n"), absent(), &error));
    OK(leaflog_history_add(history, S("  "), absent(), &error));
    /* A lone surrogate, F31. */
    const uint16_t utf16[] = {'g', 'a', 'u', 0xd83d};
    const uint16_t cwd[] = {'/', 'x'};
    OK(leaflog_history_add_utf16(history, utf16, 4, cwd, 2, &error));
    OK(leaflog_history_add_utf16(history, utf16, 3, NULL, 0, &error));
    OK(leaflog_history_flush(history, &error));

    OK(leaflog_history_recent(history, 10, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 3);
    leaflog_prompt prompt = empty_prompt();
    OK(leaflog_prompts_get(prompts, 0, &prompt, &error));
    CHECK(is(prompt.prompt, "gau") && is(prompt.cwd, NULL) && prompt.id == 3);
    OK(leaflog_prompts_get(prompts, 1, &prompt, &error));
    CHECK(is(prompt.prompt, "gau\xef\xbf\xbd") && is(prompt.cwd, "/x"));
    OK(leaflog_prompts_get(prompts, 2, &prompt, &error));
    CHECK(is(prompt.prompt, "mend the tide gauge") && is(prompt.cwd, "/home/ada") && prompt.id == 1);
    CHECK(prompt.created_at > 1577836800); /* 2020-01-01 */
    CHECK(prompt.prompt.data[prompt.prompt.len] == '\0');
    CHECK(leaflog_prompts_get(prompts, 3, &prompt, &error) == LEAFLOG_STATUS_END && error == NULL);
    CHECK(leaflog_prompts_get(prompts, UINT64_MAX, &prompt, &error) == LEAFLOG_STATUS_END && error == NULL);
    OK(leaflog_prompts_json(prompts, &out, &error));
    HAS(out, "[{\"id\":3,\"prompt\":\"gau\",\"created_at\":");
    CHECK(leaflog_prompts_free(prompts) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_prompts_free(prompts) == LEAFLOG_STATUS_INVALID_HANDLE);
    CHECK(leaflog_prompts_count(prompts) == 0);

    OK(leaflog_history_search(history, S("gau men"), 10, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 1);
    leaflog_prompts_free(prompts);
    OK(leaflog_history_search(history, S("\"*"), UINT64_MAX, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 0);
    leaflog_prompts_free(prompts);
    OK(leaflog_history_recent(history, 0, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 0);
    leaflog_prompts_free(prompts);
    OK(leaflog_history_close(history, &error));
    OK(leaflog_history_close(history, &error));
    prompts = NULL;
    FAILS(LEAFLOG_STATUS_CLOSED, leaflog_history_add(history, S("late"), absent(), &error));
    FAILS(LEAFLOG_STATUS_CLOSED, leaflog_history_recent(history, 10, &prompts, &error));
    CHECK(prompts == NULL);
    CHECK(leaflog_history_free(history) == LEAFLOG_STATUS_OK);

    OK(leaflog_history_open_read_only(S(path), &history, &error));
    FAILS(LEAFLOG_STATUS_PERMISSION_DENIED, leaflog_history_add(history, S("x"), absent(), &error));
    OK(leaflog_history_recent(history, 1, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 1);
    leaflog_prompts_free(prompts);
    leaflog_history_free(history);

    /* Freeing closes: nothing that was added is lost. */
    OK(leaflog_history_open(S(path), &history, &error));
    OK(leaflog_history_add(history, S("last words"), absent(), &error));
    leaflog_history_free(history);
    OK(leaflog_history_open_read_only(S(path), &history, &error));
    OK(leaflog_history_search(history, S("last"), 1, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == 1);
    leaflog_prompts_free(prompts);
    leaflog_history_free(history);
}

static void misused(const char *path) {
    const int32_t bad = LEAFLOG_STATUS_INVALID_HANDLE;
    const int32_t argument = LEAFLOG_STATUS_INVALID_ARGUMENT;
    leaflog_history *history = NULL;
    leaflog_prompts *prompts = NULL;
    leaflog_string out = {NULL, 0};
    leaflog_prompt prompt = empty_prompt();
    const uint16_t unit[] = {'x'};
    FAILS(argument, leaflog_history_open(absent(), &history, &error));
    FAILS(argument, leaflog_history_open(S(path), NULL, &error));
    FAILS(argument, leaflog_history_open_read_only(part("a\0b", 3), &history, &error));
    FAILS(LEAFLOG_STATUS_IS_A_DIRECTORY, leaflog_history_open(S(test_dir()), &history, &error));
    FAILS(bad, leaflog_history_path(NULL, &out, &error));
    FAILS(bad, leaflog_history_set_aside(NULL, &out, &error));
    FAILS(bad, leaflog_history_add(NULL, S("x"), absent(), &error));
    FAILS(bad, leaflog_history_add_utf16(NULL, unit, 1, NULL, 0, &error));
    FAILS(bad, leaflog_history_flush(NULL, &error));
    FAILS(bad, leaflog_history_close(NULL, &error));
    FAILS(bad, leaflog_history_recent(NULL, 1, &prompts, &error));
    FAILS(bad, leaflog_history_search(NULL, S("x"), 1, &prompts, &error));
    FAILS(bad, leaflog_prompts_get(NULL, 0, &prompt, &error));
    FAILS(bad, leaflog_prompts_json(NULL, &out, &error));
    CHECK(leaflog_prompts_count(NULL) == 0);
    CHECK(leaflog_prompts_free(NULL) == LEAFLOG_STATUS_OK && leaflog_history_free(NULL) == LEAFLOG_STATUS_OK);
    OK(leaflog_history_open(S(path), &history, &error));
    FAILS(LEAFLOG_STATUS_INVALID_UTF8, leaflog_history_add(history, S("\xff"), absent(), &error));
    FAILS(argument, leaflog_history_add(history, part(NULL, 1), absent(), &error));
    FAILS(argument, leaflog_history_add_utf16(history, unit, SIZE_MAX / 2, NULL, 0, &error));
    FAILS(argument, leaflog_history_add_utf16(history, NULL, 1, NULL, 0, &error));
    FAILS(argument, leaflog_history_recent(history, 1, NULL, &error));
    FAILS(bad, leaflog_prompts_json((leaflog_prompts *)(void *)history, &out, &error));
    OK(leaflog_history_recent(history, 1, &prompts, &error));
    prompt.struct_size = 0;
    FAILS(argument, leaflog_prompts_get(prompts, 0, &prompt, &error));
    leaflog_prompts_free(prompts);
    CHECK(out.data == NULL);
    leaflog_history_free(history);
    CHECK(leaflog_history_free(history) == bad);
}

int main(void) {
    char *path = in_dir("history.db");
    char *other = in_dir("other.db");
    stores(path);
    misused(other);
    free(path);
    free(other);
    return all_freed();
}
