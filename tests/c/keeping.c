/* Where sessions are kept: storages, the caller's own too, writers, artifacts, blobs. */
#include "check.h"

#define ASSISTANT "{\"role\":\"assistant\",\"content\":\"Hi\"}"

/* What every storage does alike. */
static void operations(leaflog_storage *storage, const char *dir) {
    char path[512], other[512];
    snprintf(path, sizeof path, "%s/one.txt", dir);
    snprintf(other, sizeof other, "%s/two.txt", dir);
    OK(leaflog_storage_ensure_dir(storage, S(dir), &error));
    bool exists = true;
    OK(leaflog_storage_exists(storage, S(path), &exists, &error));
    CHECK(!exists);
    leaflog_string out;
    FAILS(LEAFLOG_STATUS_NOT_FOUND, leaflog_storage_read_text(storage, S(path), UINT64_MAX, &out, &error));
    OK(leaflog_storage_write_text(storage, S(path), S("a line\n"), &error));
    OK(leaflog_storage_exists(storage, S(path), &exists, &error));
    CHECK(exists);

    leaflog_writer *writer = NULL;
    OK(leaflog_storage_open_writer(storage, S(path), LEAFLOG_WRITER_APPEND, &writer, &error));
    OK(leaflog_writer_write_line(writer, S("another\n"), &error));
    OK(leaflog_writer_flush(writer, &error));
    OK(leaflog_writer_fsync(writer, &error));
    OK(leaflog_writer_error(writer, &out, &error));
    TEXT(out, NULL);
    OK(leaflog_writer_close(writer, &error));
    OK(leaflog_writer_close(writer, &error));
    FAILS(LEAFLOG_STATUS_CLOSED, leaflog_writer_write_line(writer, S("late\n"), &error));
    CHECK(leaflog_writer_free(writer) == LEAFLOG_STATUS_OK);
    OK(leaflog_storage_read_text(storage, S(path), UINT64_MAX, &out, &error));
    TEXT(out, "a line\nanother\n");
    OK(leaflog_storage_read_text(storage, S(path), 4, &out, &error));
    TEXT(out, "a li");
    uint64_t size = 0;
    int64_t modified = 0;
    OK(leaflog_storage_stat(storage, S(path), &size, &modified, &error));
    CHECK(size == 15 && modified > 1577836800000); /* 2020-01-01 */
    OK(leaflog_storage_stat(storage, S(path), NULL, NULL, &error));
    OK(leaflog_storage_rename(storage, S(path), S(other), &error));
    OK(leaflog_storage_list_files(storage, S(dir), S("*.txt"), &out, &error));
    CHECK(out.len == strlen(other) + 1 && strcmp(out.data, other) == 0);
    leaflog_string_free(&out);
    OK(leaflog_storage_list_files(storage, S(dir), S("*.none"), &out, &error));
    TEXT(out, "");
    OK(leaflog_storage_open_writer(storage, S(other), LEAFLOG_WRITER_TRUNCATE, &writer, &error));
    leaflog_writer_free(writer);
    OK(leaflog_storage_read_text(storage, S(other), UINT64_MAX, &out, &error));
    TEXT(out, "");
    OK(leaflog_storage_unlink(storage, S(other), &error));
    /* B11: what is gone is no error. */
    OK(leaflog_storage_unlink(storage, S(other), &error));
    OK(leaflog_storage_rename(storage, S(other), S(path), &error));
    OK(leaflog_storage_exists(storage, S(other), &exists, &error));
    CHECK(!exists);
}

/* One session through a storage, from its first entry to being opened again. */
static void drives(const leaflog_options *options, const char *dir) {
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S("/home/ada"), options, &session, &error));
    leaflog_string path;
    OK(leaflog_session_file(session, &path, &error));
    CHECK(strncmp(path.data, dir, strlen(dir)) == 0);
    leaflog_id first;
    OK(leaflog_session_append_message(session, S("{\"role\":\"user\",\"content\":\"Q\"}"), &first, &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    OK(leaflog_session_append_thinking_level_change(session, S("low"), NULL, &error));
    OK(leaflog_session_flush(session, &error));
    bool taken = false;
    OK(leaflog_session_set_name(session, S("kept"), LEAFLOG_TITLE_AUTO, &taken, &error));
    CHECK(taken);
    OK(leaflog_session_branch(session, S(first.text), &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    OK(leaflog_session_close(session, &error));
    leaflog_session_free(session);
    OK(leaflog_session_open(lend(path), options, &session, &error));
    CHECK(count_of(session) == 4);
    leaflog_string title;
    OK(leaflog_session_title(session, &title, &error));
    TEXT(title, "kept");
    leaflog_session_free(session);
    leaflog_string_free(&path);
}

/* A storage of a caller's own: a few files in a table. */
#define FILES 16
struct shelf {
    struct {
        char path[512];
        char *text;
    } files[FILES];
    int writers;
    int released;
    int32_t fails;     /* the status of writer_write_line */
    int os_errno;      /* with it */
    leaflog_reply *kept;
    leaflog_session *frees; /* what writer_write_line frees, in the middle of a call with it */
    size_t live;            /* handles when release was called */
};

static int find(struct shelf *shelf, leaflog_str path) {
    for (int at = 0; at < FILES; at++) {
        if (shelf->files[at].text != NULL && is(path, shelf->files[at].path)) {
            return at;
        }
    }
    return -1;
}

static int put(struct shelf *shelf, leaflog_str path, leaflog_str text, bool append) {
    int at = find(shelf, path);
    for (int place = 0; at < 0 && place < FILES; place++) {
        if (shelf->files[place].text == NULL) {
            at = place;
            snprintf(shelf->files[at].path, sizeof shelf->files[at].path, "%.*s", (int)path.len, path.data);
        }
    }
    CHECK(at >= 0);
    char *old = shelf->files[at].text;
    size_t before = append && old != NULL ? strlen(old) : 0;
    char *made = (char *)malloc(before + text.len + 1);
    CHECK(made != NULL);
    if (before > 0) {
        memcpy(made, old, before);
    }
    if (text.len > 0) {
        memcpy(made + before, text.data, text.len);
    }
    made[before + text.len] = '\0';
    free(old);
    shelf->files[at].text = made;
    return at;
}

static void own_release(void *data) {
    struct shelf *shelf = (struct shelf *)data;
    shelf->released++;
    /* The library can be called from here. */
    shelf->live = leaflog_live_handles();
}
static int32_t own_ensure_dir(void *data, leaflog_str dir, leaflog_reply *reply) {
    (void)data, (void)dir, (void)reply;
    return LEAFLOG_STATUS_OK;
}
static int32_t own_exists(void *data, leaflog_str path) {
    return find((struct shelf *)data, path) >= 0;
}
static int32_t own_read_text(void *data, leaflog_str path, uint64_t most, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    int at = find(shelf, path);
    if (at < 0) {
        return LEAFLOG_STATUS_NOT_FOUND;
    }
    size_t len = strlen(shelf->files[at].text);
    if (most < len) {
        len = (size_t)most;
    }
    /* In two pieces. */
    CHECK(leaflog_reply_add(reply, part(shelf->files[at].text, len / 2)) == LEAFLOG_STATUS_OK);
    CHECK(leaflog_reply_add(reply, part(shelf->files[at].text + len / 2, len - len / 2)) == LEAFLOG_STATUS_OK);
    shelf->kept = reply;
    return LEAFLOG_STATUS_OK;
}
static int32_t own_write_text(void *data, leaflog_str path, leaflog_str text, leaflog_reply *reply) {
    (void)reply;
    put((struct shelf *)data, path, text, false);
    return LEAFLOG_STATUS_OK;
}
static int32_t own_stat(void *data, leaflog_str path, uint64_t *size, int64_t *modified, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    int at = find(shelf, path);
    (void)reply;
    if (at < 0) {
        return LEAFLOG_STATUS_NOT_FOUND;
    }
    *size = strlen(shelf->files[at].text);
    *modified = 1700000000123;
    return LEAFLOG_STATUS_OK;
}
static int32_t own_list_files(void *data, leaflog_str dir, leaflog_str pattern, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    for (int at = 0; at < FILES; at++) {
        const char *path = shelf->files[at].path;
        if (shelf->files[at].text == NULL || strncmp(path, dir.data, dir.len) != 0 || path[dir.len] != '/' ||
            strchr(path + dir.len + 1, '/') != NULL) {
            continue;
        }
        /* `*.ext` only: enough for here. */
        size_t len = strlen(path), ending = pattern.len - 1;
        if (len >= ending && memcmp(path + len - ending, pattern.data + 1, ending) == 0) {
            CHECK(leaflog_reply_add(reply, S(path)) == LEAFLOG_STATUS_OK);
        }
    }
    return LEAFLOG_STATUS_OK;
}
static int32_t own_list_dirs(void *data, leaflog_str dir, leaflog_reply *reply) {
    (void)data;
    /* It knows of one folder. */
    return is(dir, "/shelf") ? leaflog_reply_add(reply, S("/shelf/sessions")) : LEAFLOG_STATUS_OK;
}
static int32_t own_rename(void *data, leaflog_str from, leaflog_str to, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    int at = find(shelf, from);
    (void)reply;
    if (at < 0) {
        return LEAFLOG_STATUS_OK;
    }
    char *text = shelf->files[at].text;
    shelf->files[at].text = NULL;
    put(shelf, to, S(text), false);
    free(text);
    return LEAFLOG_STATUS_OK;
}
static int32_t own_unlink(void *data, leaflog_str path, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    int at = find(shelf, path);
    (void)reply;
    if (at >= 0) {
        free(shelf->files[at].text);
        shelf->files[at].text = NULL;
    }
    return LEAFLOG_STATUS_OK;
}
static int32_t own_open_writer(void *data, leaflog_str path, int32_t mode, void **writer, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    (void)reply;
    char *name = (char *)malloc(path.len + 1);
    CHECK(name != NULL);
    memcpy(name, path.data, path.len);
    name[path.len] = '\0';
    if (mode == LEAFLOG_WRITER_TRUNCATE || find(shelf, path) < 0) {
        put(shelf, path, S(""), false);
    }
    shelf->writers++;
    *writer = name;
    return LEAFLOG_STATUS_OK;
}
static int32_t own_write_line(void *data, void *writer, leaflog_str line, leaflog_reply *reply) {
    struct shelf *shelf = (struct shelf *)data;
    if (shelf->frees != NULL) {
        CHECK(leaflog_session_flush(shelf->frees, NULL) == LEAFLOG_STATUS_BUSY);
        CHECK(leaflog_session_free(shelf->frees) == LEAFLOG_STATUS_OK);
        CHECK(leaflog_session_free(shelf->frees) == LEAFLOG_STATUS_INVALID_HANDLE);
        shelf->frees = NULL;
    }
    if (shelf->fails != LEAFLOG_STATUS_OK) {
        CHECK(leaflog_reply_fail(reply, S("the shelf is full"), shelf->os_errno) == LEAFLOG_STATUS_OK);
        return shelf->fails;
    }
    CHECK(line.len > 0 && line.data[line.len - 1] == '\n');
    put(shelf, S((char *)writer), line, true);
    return LEAFLOG_STATUS_OK;
}
static int32_t own_writer_done(void *data, void *writer, leaflog_reply *reply) {
    (void)data, (void)writer, (void)reply;
    return LEAFLOG_STATUS_OK;
}
static void own_writer_free(void *data, void *writer) {
    ((struct shelf *)data)->writers--;
    free(writer);
}

static leaflog_storage_functions functions_of(struct shelf *shelf) {
    leaflog_storage_functions functions;
    memset(&functions, 0, sizeof functions);
    functions.struct_size = sizeof functions;
    functions.version = LEAFLOG_STORAGE_VERSION;
    functions.data = shelf;
    functions.release = own_release;
    functions.ensure_dir = own_ensure_dir;
    functions.exists = own_exists;
    functions.read_text = own_read_text;
    functions.write_text = own_write_text;
    functions.stat = own_stat;
    functions.list_files = own_list_files;
    functions.rename = own_rename;
    functions.unlink = own_unlink;
    functions.open_writer = own_open_writer;
    functions.writer_write_line = own_write_line;
    functions.writer_flush = own_writer_done;
    functions.writer_fsync = own_writer_done;
    functions.writer_close = own_writer_done;
    functions.writer_free = own_writer_free;
    functions.list_dirs = own_list_dirs;
    return functions;
}

static void own_storage(const char *agent) {
    struct shelf shelf;
    memset(&shelf, 0, sizeof shelf);
    leaflog_storage_functions functions = functions_of(&shelf);
    leaflog_storage *storage = NULL;

    functions.version = 99;
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_storage_new(&functions, &storage, &error));
    functions.version = LEAFLOG_STORAGE_VERSION;
    functions.writer_fsync = NULL;
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_storage_new(&functions, &storage, &error));
    functions = functions_of(&shelf);
    functions.struct_size = offsetof(leaflog_storage_functions, rename);
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_storage_new(&functions, &storage, &error));
    CHECK(storage == NULL && shelf.released == 0);

    functions = functions_of(&shelf);
    OK(leaflog_storage_new(&functions, &storage, &error));
    operations(storage, "/shelf/texts");
    leaflog_options options = options_in(agent);
    options.session_dir = S("/shelf/sessions");
    options.storage = storage;
    drives(&options, "/shelf/sessions/");
    leaflog_str roots[1];
    roots[0] = S("/shelf");
    leaflog_find_options find;
    memset(&find, 0, sizeof find);
    find.struct_size = sizeof find;
    find.roots = roots;
    find.root_count = 1;
    find.threads = 1;
    leaflog_listing *listing = NULL;
    OK(leaflog_list_all(&options, &find, &listing, &error));
    CHECK(leaflog_listing_count(listing) == 1);
    leaflog_listing_free(listing);
    /* A reply is gone when the function has returned. */
    CHECK(leaflog_reply_add(shelf.kept, S("late")) == LEAFLOG_STATUS_INVALID_HANDLE);
    CHECK(leaflog_reply_fail(shelf.kept, S("late"), 1) == LEAFLOG_STATUS_INVALID_HANDLE);

    /* What it says went wrong is what the caller is told. */
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S("/home/ada"), &options, &session, &error));
    OK(leaflog_session_ensure_on_disk(session, &error));
    shelf.fails = LEAFLOG_STATUS_PERMISSION_DENIED;
    CHECK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error) == LEAFLOG_STATUS_PERMISSION_DENIED);
    CHECK(strcmp(leaflog_error_message(error), "the shelf is full") == 0);
    CHECK(strncmp(leaflog_error_path(error), "/shelf/sessions/", 16) == 0);
    SEEN(LEAFLOG_STATUS_PERMISSION_DENIED);
    shelf.os_errno = 28;
    FAILS(LEAFLOG_STATUS_PERMISSION_DENIED, leaflog_session_flush(session, &error)); /* R32 */
    CHECK(leaflog_session_ensure_on_disk(session, &error) == LEAFLOG_STATUS_IO);
    CHECK(leaflog_error_os_errno(error) == 28);
    SEEN(LEAFLOG_STATUS_IO);
    shelf.fails = LEAFLOG_STATUS_OK;
    OK(leaflog_session_ensure_on_disk(session, &error));
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    CHECK(count_of(session) == 2);

    /* B25: what is damaged in a file is read and written as it is. */
    put(&shelf, S("/shelf/bad"), S("\xff\xfe"), false);
    leaflog_string out;
    OK(leaflog_storage_read_text(storage, S("/shelf/bad"), UINT64_MAX, &out, &error));
    CHECK(out.len == 2 && memcmp(out.data, "\xff\xfe", 2) == 0);
    leaflog_string_free(&out);
    OK(leaflog_storage_write_text(storage, S("/shelf/bad"), S("\xff\n"), &error));
    OK(leaflog_storage_read_text(storage, S("/shelf/bad"), 1, &out, &error));
    CHECK(out.len == 1 && memcmp(out.data, "\xff", 1) == 0);
    leaflog_string_free(&out);

    /* The session keeps the storage; release is the last thing that is called. */
    CHECK(leaflog_storage_free(storage) == LEAFLOG_STATUS_OK);
    CHECK(shelf.released == 0);
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    /* Freed in the middle of a call, it lives until the call returns. */
    shelf.frees = session;
    OK(leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    FAILS(LEAFLOG_STATUS_INVALID_HANDLE, leaflog_session_append_message(session, S(ASSISTANT), NULL, &error));
    CHECK(shelf.released == 1 && shelf.writers == 0 && shelf.live == 0);
    for (int at = 0; at < FILES; at++) {
        free(shelf.files[at].text);
    }
}

static void artifacts(const leaflog_options *options) {
    leaflog_session *session = NULL;
    OK(leaflog_session_create(S("/home/ada"), options, &session, &error));
    leaflog_string dir, id, path, out;
    OK(leaflog_session_artifacts_dir(session, &dir, &error));
    OK(leaflog_session_allocate_artifact(session, S("bash"), &id, &path, &error));
    TEXT(id, "0");
    CHECK(strncmp(path.data, dir.data, dir.len) == 0);
    HAS(path, "/0.bash.log");
    OK(leaflog_session_allocate_artifact(session, S("bash"), NULL, NULL, &error));
    OK(leaflog_session_save_artifact(session, part("a\0b", 3), S("fetch"), &id, &error));
    TEXT(id, "2");
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_session_save_artifact(session, S("x"), S("../up"), &id, &error));
    OK(leaflog_session_artifact_path(session, S("2"), &path, &error));
    FILE *file = fopen(path.data, "rb");
    char bytes[4];
    CHECK(file != NULL && fread(bytes, 1, 4, file) == 3 && memcmp(bytes, "a\0b", 3) == 0);
    fclose(file);
    leaflog_string_free(&path);
    OK(leaflog_session_artifact_path(session, S("77"), &path, &error));
    TEXT(path, NULL);
    leaflog_string_free(&dir);

    /* The same without the session. */
    leaflog_artifacts *artifacts = NULL;
    OK(leaflog_session_file(session, &path, &error));
    OK(leaflog_artifacts_of(lend(path), &artifacts, &error));
    leaflog_string_free(&path);
    OK(leaflog_artifacts_save(artifacts, S("text"), S("read"), &id, &error));
    TEXT(id, "3");
    OK(leaflog_artifacts_allocate(artifacts, S("read"), &id, &path, &error));
    TEXT(id, "4");
    HAS(path, "/4.read.log");
    OK(leaflog_artifacts_path(artifacts, S("3"), &path, &error));
    HAS(path, "/3.read.log");
    OK(leaflog_artifacts_dir(artifacts, &dir, &error));
    OK(leaflog_session_artifacts_dir(session, &out, &error));
    CHECK(strcmp(dir.data, out.data) == 0);
    leaflog_string_free(&out);
    leaflog_string_free(&dir);
    CHECK(leaflog_artifacts_free(artifacts) == LEAFLOG_STATUS_OK);
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_artifacts_of(S("/a/b.txt"), &artifacts, &error));
    leaflog_session_free(session);

    OK(leaflog_session_in_memory(S("/home/ada"), options, &session, &error));
    OK(leaflog_session_allocate_artifact(session, S("bash"), &id, &path, &error));
    TEXT(id, NULL);
    TEXT(path, NULL);
    OK(leaflog_session_save_artifact(session, S("x"), S("bash"), &id, &error));
    TEXT(id, "0");
    OK(leaflog_session_artifacts_dir(session, &dir, &error));
    TEXT(dir, NULL);
    leaflog_session_free(session);
}

/* R2, R51: the SHA-256 of "abc" is known. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
static void blobs(const leaflog_options *options, const char *agent) {
    leaflog_session *session = NULL;
    leaflog_blobs *blobs = NULL, *other = NULL;
    OK(leaflog_session_create(S("/home/ada"), options, &session, &error));
    OK(leaflog_session_blobs(session, &blobs, &error));
    leaflog_session_free(session);
    leaflog_string out, dir;
    OK(leaflog_blobs_dir(blobs, &dir, &error));
    CHECK(strncmp(dir.data, agent, strlen(agent)) == 0);
    bool has = true;
    OK(leaflog_blobs_has(blobs, S(ABC), &has, &error));
    CHECK(!has);
    OK(leaflog_blobs_put(blobs, S("abc"), &out, &error));
    TEXT(out, "blob:sha256:" ABC);
    OK(leaflog_blobs_put(blobs, S("abc"), NULL, &error));
    OK(leaflog_blob_reference(S("abc"), &out, &error));
    TEXT(out, "blob:sha256:" ABC);
    OK(leaflog_blobs_has(blobs, S("blob:sha256:" ABC), &has, &error));
    CHECK(has);
    OK(leaflog_blobs_open(lend(dir), &other, &error));
    int32_t found = -1;
    OK(leaflog_blobs_get(other, S(ABC), &found, &out, &error));
    CHECK(found == LEAFLOG_BLOB_FOUND);
    TEXT(out, "abc");
    leaflog_string path;
    OK(leaflog_blobs_path(other, S(ABC), &path, &error));
    write_file(path.data, "abx");
    leaflog_string_free(&path);
    OK(leaflog_blobs_get(other, S(ABC), &found, &out, &error));
    CHECK(found == LEAFLOG_BLOB_DAMAGED);
    TEXT(out, NULL);
    OK(leaflog_blob_reference(S(""), &path, &error));
    OK(leaflog_blobs_get(other, lend(path), &found, &out, &error));
    CHECK(found == LEAFLOG_BLOB_MISSING);
    leaflog_string_free(&path);
    FAILS(LEAFLOG_STATUS_INVALID_ARGUMENT, leaflog_blobs_has(other, S("../../etc/passwd"), &has, &error));
    CHECK(leaflog_is_blob_reference(S("blob:sha256:" ABC)));
    CHECK(!leaflog_is_blob_reference(S(ABC)) && !leaflog_is_blob_reference(absent()));
    CHECK(!leaflog_is_blob_reference(part(NULL, 5)) && !leaflog_is_blob_reference(S("\xff")));
    leaflog_string_free(&dir);
    leaflog_blobs_free(blobs);
    leaflog_blobs_free(other);
}

int main(void) {
    char *agent = in_dir("agent");
    char *texts = in_dir("texts");
    leaflog_options options = options_in(agent);
    leaflog_storage *storage = NULL;

    OK(leaflog_storage_files(&storage, &error));
    operations(storage, texts);
    options.storage = storage;
    drives(&options, agent);
    CHECK(leaflog_storage_free(storage) == LEAFLOG_STATUS_OK);

    OK(leaflog_storage_memory(&storage, &error));
    operations(storage, "/m");
    options.session_dir = S("/m/sessions");
    options.storage = storage;
    drives(&options, "/m/sessions/");
    leaflog_storage_free(storage);

    own_storage(agent);
    options = options_in(agent);
    artifacts(&options);
    blobs(&options, agent);
    free(agent);
    free(texts);
    return all_freed();
}
