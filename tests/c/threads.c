/* Handles used from four threads, as documented: each thread its own session, one session that is only read by all,
 * one storage and one history by all, sessions handed on; and one session by all at once, which is answered with BUSY. */
#include "check.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS 60
#define USER "{\"role\":\"user\",\"content\":\"Hello\"}"
#define ASSISTANT "{\"role\":\"assistant\",\"content\":\"Hi\"}"

struct shared {
    leaflog_session *read_only;
    leaflog_session *fought_over;
    leaflog_context *context;
    leaflog_error *failure;
    leaflog_storage *storage;
    leaflog_blobs *blobs;
    leaflog_history *history;
    leaflog_session *const *victims;
    const char *agent;
};

struct work {
    pthread_t thread;
    const struct shared *shared;
    int number;
    leaflog_session *own;
    unsigned appended, busy, freed;
};

/* `error` of check.h is for one thread. */
#define DONE(call) CHECK((call) == LEAFLOG_STATUS_OK)

static void *work(void *data) {
    struct work *work = (struct work *)data;
    const struct shared *shared = work->shared;
    leaflog_options options = options_in(shared->agent);
    DONE(leaflog_session_create(S("/home/ada"), &options, &work->own, NULL));
    leaflog_session *stored = NULL;
    options.storage = shared->storage;
    options.session_dir = S("/shared");
    DONE(leaflog_session_create(S("/home/ada"), &options, &stored, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        leaflog_id id;
        DONE(leaflog_session_append_message(work->own, S(round % 2 ? USER : ASSISTANT), &id, NULL));
        DONE(leaflog_session_append_message(stored, S(ASSISTANT), &id, NULL));
        DONE(leaflog_blobs_put(shared->blobs, part((const char *)&round, sizeof round), NULL, NULL));

        leaflog_entries *entries = NULL;
        leaflog_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.struct_size = sizeof entry;
        leaflog_str json;
        unsigned visited = 0;
        DONE(leaflog_session_tree(shared->read_only, &entries, NULL));
        while (leaflog_entries_next(entries, &entry, NULL) == LEAFLOG_STATUS_OK) {
            DONE(leaflog_entries_json(entries, LEAFLOG_LOADED, &json, NULL));
            visited++;
        }
        CHECK(visited == 3);
        DONE(leaflog_entries_free(entries));
        DONE(leaflog_context_message(shared->context, 0, &json, NULL));
        CHECK(json.len == strlen(USER));
        leaflog_string text;
        DONE(leaflog_session_report_json(shared->read_only, &text, NULL));
        DONE(leaflog_string_free(&text));
        CHECK(strlen(leaflog_error_text(shared->failure)) > 0);

        char prompt[32];
        snprintf(prompt, sizeof prompt, "prompt %d of thread %d", round, work->number);
        DONE(leaflog_history_add(shared->history, S(prompt), absent(), NULL));
        if (round % 20 == 0) {
            leaflog_prompts *prompts = NULL;
            DONE(leaflog_history_flush(shared->history, NULL));
            DONE(leaflog_history_search(shared->history, S(prompt), 5, &prompts, NULL));
            CHECK(leaflog_prompts_count(prompts) > 0);
            DONE(leaflog_prompts_free(prompts));
        }

        /* Freed by all at once, and used meanwhile: one frees it. */
        uint64_t count = 0;
        int32_t used = leaflog_session_entry_count(shared->victims[round], &count, NULL);
        CHECK(used == LEAFLOG_STATUS_OK || used == LEAFLOG_STATUS_BUSY || used == LEAFLOG_STATUS_INVALID_HANDLE);
        int32_t freed = leaflog_session_free(shared->victims[round]);
        CHECK(freed == LEAFLOG_STATUS_OK || freed == LEAFLOG_STATUS_INVALID_HANDLE);
        work->freed += freed == LEAFLOG_STATUS_OK;

        /* All at once: done or refused, nothing in between. */
        leaflog_error *failure = NULL;
        int32_t status = leaflog_session_append_message(shared->fought_over, S(USER), &id, &failure);
        CHECK(status == LEAFLOG_STATUS_OK || status == LEAFLOG_STATUS_BUSY);
        if (status == LEAFLOG_STATUS_OK) {
            work->appended++;
        } else {
            work->busy++;
            CHECK(leaflog_error_status(failure) == LEAFLOG_STATUS_BUSY);
            DONE(leaflog_error_free(failure));
        }
    }
    DONE(leaflog_session_close(stored, NULL));
    DONE(leaflog_session_free(stored));
    return NULL;
}

int main(void) {
    char *agent = in_dir("agent");
    struct shared shared;
    memset(&shared, 0, sizeof shared);
    shared.agent = agent;
    leaflog_session *session = NULL;
    OK(leaflog_session_in_memory(S("/home/ada"), NULL, &session, &error));
    for (int at = 0; at < 3; at++) {
        OK(leaflog_session_append_message(session, S(USER), NULL, &error));
    }
    OK(leaflog_session_snapshot(session, &shared.read_only, &error));
    OK(leaflog_session_context(session, LEAFLOG_FROM_LEAF, absent(), &shared.context, &error));
    shared.fought_over = session;
    OK(leaflog_storage_memory(&shared.storage, &error));
    char *dir = in_dir("agent/blobs");
    OK(leaflog_blobs_open(S(dir), &shared.blobs, &error));
    CHECK(leaflog_session_open(absent(), NULL, &session, &shared.failure) == LEAFLOG_STATUS_INVALID_ARGUMENT);

    char *database = in_dir("history.db");
    OK(leaflog_history_open(S(database), &shared.history, &error));

    leaflog_session *victims[ROUNDS];
    for (int at = 0; at < ROUNDS; at++) {
        OK(leaflog_session_in_memory(S("/home/ada"), NULL, &victims[at], &error));
    }
    shared.victims = victims;

    struct work works[THREADS];
    memset(works, 0, sizeof works);
    for (int at = 0; at < THREADS; at++) {
        works[at].shared = &shared;
        works[at].number = at;
        CHECK(pthread_create(&works[at].thread, NULL, work, &works[at]) == 0);
    }
    unsigned appended = 0, busy = 0, freed = 0;
    for (int at = 0; at < THREADS; at++) {
        CHECK(pthread_join(works[at].thread, NULL) == 0);
        appended += works[at].appended;
        busy += works[at].busy;
        freed += works[at].freed;
        /* Handed on: this thread goes on with what that one made. */
        CHECK(count_of(works[at].own) == ROUNDS);
        OK(leaflog_session_append_message(works[at].own, S(USER), NULL, &error));
        OK(leaflog_session_flush(works[at].own, &error));
        leaflog_session_free(works[at].own);
    }
    CHECK(appended + busy == THREADS * ROUNDS);
    CHECK(freed == ROUNDS);
    CHECK(count_of(shared.fought_over) == 3 + appended);
    leaflog_session_free(shared.fought_over);
    leaflog_session_free(shared.read_only);
    leaflog_context_free(shared.context);
    leaflog_error_free(shared.failure);
    leaflog_storage_free(shared.storage);
    leaflog_blobs_free(shared.blobs);
    leaflog_prompts *prompts = NULL;
    OK(leaflog_history_flush(shared.history, &error));
    OK(leaflog_history_recent(shared.history, 1000, &prompts, &error));
    CHECK(leaflog_prompts_count(prompts) == THREADS * ROUNDS);
    leaflog_prompts_free(prompts);
    OK(leaflog_history_close(shared.history, &error));
    leaflog_history_free(shared.history);
    free(database);
    free(agent);
    free(dir);
    return all_freed();
}
