/* Does what the sanitizers and valgrind must report: proof that they are really in. Not one of the tests. */
#include "check.h"

#include <pthread.h>

static int unguarded;
static void *count(void *data) {
    for (int at = 0; at < 1000; at++) {
        unguarded += data == NULL;
    }
    return NULL;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    if (strcmp(kind, "heap") == 0) {
        /* One byte behind a text of the library. */
        leaflog_string text;
        OK(leaflog_blob_reference(S("abc"), &text, &error));
        volatile char byte = text.data[text.len + 1];
        (void)byte;
        leaflog_string_free(&text);
    } else if (strcmp(kind, "undefined") == 0) {
        volatile int most = 2147483647;
        volatile int sum = most + argc;
        (void)sum;
    } else if (strcmp(kind, "leak") == 0) {
        volatile char *lost = (volatile char *)malloc(100);
        CHECK(lost != NULL);
        lost[0] = 1;
        lost = NULL;
    } else if (strcmp(kind, "race") == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, count, NULL) == 0);
        count(NULL);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    printf("the fault was not noticed\n");
    return 0;
}
