/* A program that has an SQLite of its own beside the one in libleaflog.a (U20): each uses its own. */
#include "check.h"

#include <sqlite3.h>

/* The name that install.sh gives to what is in the library. */
extern const char *leaflog_sqlite3_libversion(void);

int main(void) {
    /* The program's is the one whose header it was compiled with. */
    printf("the program: SQLite %s; libleaflog.a: SQLite %s\n", sqlite3_libversion(), leaflog_sqlite3_libversion());
    CHECK(strcmp(sqlite3_libversion(), SQLITE_VERSION) == 0);
    CHECK(strcmp(sqlite3_sourceid(), SQLITE_SOURCE_ID) == 0);
    CHECK(sqlite3_libversion() != leaflog_sqlite3_libversion());

    /* Both work, on one file, one after the other. */
    char *path = in_dir("history.db");
    leaflog_history *history = NULL;
    OK(leaflog_history_open(S(path), &history, &error));
    OK(leaflog_history_add(history, S("high water"), S("/home/ada"), &error));
    OK(leaflog_history_flush(history, &error));
    OK(leaflog_history_free(history));
    sqlite3 *db = NULL;
    sqlite3_stmt *rows = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT prompt FROM history", -1, &rows, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(rows) == SQLITE_ROW);
    CHECK(strcmp((const char *)sqlite3_column_text(rows, 0), "high water") == 0);
    CHECK(sqlite3_finalize(rows) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK);
    free(path);
    return all_freed();
}
