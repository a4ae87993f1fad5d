/* A tour of the C interface: append, branch, be killed, open again, list.
 *
 *     cc tour.c $(pkg-config --cflags --libs leaflog) -o tour && ./tour <folder>
 *
 * The folder takes the place of an agent's; it is made.
 */
#define _POSIX_C_SOURCE 200809L

#include <leaflog.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program when a call failed, and says why. */
static void must(leaflog_status status, leaflog_error *error) {
    if (status != LEAFLOG_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", leaflog_status_name(status), leaflog_error_text(error));
        exit(1);
    }
}

static void print_tree(const leaflog_session *session) {
    leaflog_error *error = NULL;
    leaflog_entries *entries = NULL;
    leaflog_entry entry = {.struct_size = sizeof entry};
    leaflog_status status;

    must(leaflog_session_tree(session, &entries, &error), error);
    while ((status = leaflog_entries_next(entries, &entry, &error)) == LEAFLOG_STATUS_OK) {
        /* What the iterator lends ends with a NUL. */
        printf("%*s%s %s %s\n", (int)(2 * entry.depth), "", entry.id.data, entry.type_name.data,
               entry.role.data != NULL ? entry.role.data : "");
    }
    if (status != LEAFLOG_STATUS_END) {
        must(status, error);
    }
    leaflog_entries_free(entries);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s <folder>\n", argv[0]);
        return 2;
    }
    leaflog_error *error = NULL;
    leaflog_session *session = NULL;
    leaflog_options options = {.struct_size = sizeof options, .agent_dir = leaflog_cstr(argv[1])};
    leaflog_id question, answer;
    leaflog_string path;

    /* Append. Nothing is written before the first answer; from then on every append is in the file when it returns. */
    must(leaflog_session_create(leaflog_cstr("/home/ada/tides"), &options, &session, &error), error);
    must(leaflog_session_append_message(
             session, leaflog_cstr("{\"role\":\"user\",\"content\":\"When is high water?\"}"), &question, &error),
         error);
    must(leaflog_session_append_message(
             session, leaflog_cstr("{\"role\":\"assistant\",\"content\":\"At noon.\"}"), &answer, &error),
         error);

    /* Branch: another answer to the same question. */
    must(leaflog_session_branch(session, leaflog_cstr(question.text), &error), error);
    must(leaflog_session_append_message(
             session, leaflog_cstr("{\"role\":\"assistant\",\"content\":\"At 12:04.\"}"), NULL, &error),
         error);
    must(leaflog_session_append_label_change(session, leaflog_cstr(answer.text), leaflog_cstr("rough"), NULL, &error),
         error);
    must(leaflog_session_file(session, &path, &error), error);
    leaflog_session_free(session);

    /* Be killed: another process appends, and dies at once. */
    pid_t child = fork();
    if (child == 0) {
        must(leaflog_session_open((leaflog_str){path.data, path.len}, &options, &session, &error), error);
        must(leaflog_session_append_message(
                 session, leaflog_cstr("{\"role\":\"user\",\"content\":\"Thank you.\"}"), NULL, &error),
             error);
        raise(SIGKILL);
    }
    int ended = 0;
    if (child < 0 || waitpid(child, &ended, 0) != child || !WIFSIGNALED(ended)) {
        fprintf(stderr, "the other process did not die\n");
        return 1;
    }

    /* Open again: nothing that was acknowledged is lost. */
    must(leaflog_session_open((leaflog_str){path.data, path.len}, &options, &session, &error), error);
    print_tree(session);
    leaflog_string context;
    must(leaflog_session_context_json(session, LEAFLOG_FROM_LEAF, leaflog_cstr(NULL), &context, &error), error);
    printf("%s\n", context.data);
    leaflog_string_free(&context);
    must(leaflog_session_close(session, &error), error);
    leaflog_session_free(session);
    leaflog_string_free(&path);

    /* List the project's sessions. */
    leaflog_listing *listing = NULL;
    leaflog_session_info info = {.struct_size = sizeof info};
    must(leaflog_list(&options, NULL, leaflog_cstr("/home/ada/tides"), &listing, &error), error);
    for (uint64_t at = 0; leaflog_listing_session(listing, at, &info, NULL) == LEAFLOG_STATUS_OK; at++) {
        printf("%s: %u messages, %s: %s\n", info.id.data, (unsigned)info.message_count, info.time_ago.data,
               info.first_message.data);
    }
    leaflog_listing_free(listing);
    return leaflog_live_handles() == 0 ? 0 : 1;
}
