/* leaflog: the sessions of coding agents, for C and every language that can call C.
 *
 * docs/c-api.md is the contract: who owns what, threads, errors, versions.
 * Generated from bindings/c by `make header`; not to be edited. */

#ifndef LEAFLOG_H
#define LEAFLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The version of this header.
#define LEAFLOG_VERSION "0.1.0"
#define LEAFLOG_VERSION_MAJOR 0
#define LEAFLOG_VERSION_MINOR 1
#define LEAFLOG_VERSION_PATCH 0
/// The version of this header as a number to compare with `leaflog_version_number()`.
#define LEAFLOG_VERSION_NUMBER \
    (LEAFLOG_VERSION_MAJOR * 1000000 + LEAFLOG_VERSION_MINOR * 1000 + LEAFLOG_VERSION_PATCH)

/// A choice that is left open: the field is not written.
#define LEAFLOG_UNSAID 0

/// The field is written as false.
#define LEAFLOG_NO 1

/// The field is written as true.
#define LEAFLOG_YES 2

/// A blob is there, and its bytes have the hash.
#define LEAFLOG_BLOB_FOUND 0

/// There is no such blob.
#define LEAFLOG_BLOB_MISSING 1

/// The file's bytes do not have the hash of its name.
#define LEAFLOG_BLOB_DAMAGED 2

/// The version of `leaflog_storage_functions` that this header describes.
#define LEAFLOG_STORAGE_VERSION 1

/// The context of the leaf.
#define LEAFLOG_FROM_LEAF 0

/// The context of the entry that is named.
#define LEAFLOG_FROM_ENTRY 1

/// The context of the place before the first entry, which is empty.
#define LEAFLOG_FROM_NOTHING 2

/// The text of an entry as stored, in the form of the current version; references to blobs stay.
#define LEAFLOG_STORED 0

/// The text of an entry as an agent sees it after loading: blobs in place of references, without a
/// provider's payload that belonged to another process.
#define LEAFLOG_LOADED 1

/// Children in the order of the file.
#define LEAFLOG_ORDER_FILE 0

/// Children with the oldest first, those without a date last.
#define LEAFLOG_ORDER_TIME 1

/// The time of an entry whose timestamp is no date.
#define LEAFLOG_NO_TIME INT64_MIN

/// A session that was asked for was found in the project, or the folder, that was given.
#define LEAFLOG_SCOPE_LOCAL 0

/// A session that was asked for was found elsewhere among the agent's sessions.
#define LEAFLOG_SCOPE_GLOBAL 1

/// The agent's folder.
#define LEAFLOG_FOLDER_AGENT 0

/// The folder of all projects' session folders.
#define LEAFLOG_FOLDER_SESSIONS 1

/// The folder of the blob store.
#define LEAFLOG_FOLDER_BLOBS 2

/// The folder of the terminals' breadcrumbs.
#define LEAFLOG_FOLDER_TERMINAL_SESSIONS 3

/// The database of the prompt history, which is a file.
#define LEAFLOG_FOLDER_HISTORY_DB 4

/// Who gives a name: the agent. It never replaces a name that a person gave.
#define LEAFLOG_TITLE_AUTO 0

/// Who gives a name: a person.
#define LEAFLOG_TITLE_USER 1

/// Bytes survive a power cut with `leaflog_session_flush()`; a killed process loses nothing in any case.
#define LEAFLOG_DURABILITY_FLUSH 0

/// Bytes survive a power cut before every append returns.
#define LEAFLOG_DURABILITY_EVERY_APPEND 1

/// A file of an older version is written anew when it is opened.
#define LEAFLOG_MIGRATION_IMMEDIATE 0

/// A file of an older version is written anew with the next change that is written.
#define LEAFLOG_MIGRATION_DEFERRED 1

/// The session folder of a project is named by its whole path: `--home-ada-tides--`.
#define LEAFLOG_DIRS_ABSOLUTE 0

/// The session folder of a project inside of the home or temporary folder is named by its path from there.
#define LEAFLOG_DIRS_HOME_RELATIVE 1

/// A writer begins after what is there.
#define LEAFLOG_WRITER_APPEND 0

/// A writer begins with an empty file.
#define LEAFLOG_WRITER_TRUNCATE 1

/// The number of the binary interface: that of the shared library's name, `libleaflog.so.1`. A
/// program runs with every library of the number it was built with; it grows when something that a
/// program could use is changed or removed, and not when something is added.
#define LEAFLOG_ABI_VERSION 1

/// How a call went. The numbers are fixed: none is ever given another meaning, and later versions
/// may add some.
enum leaflog_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /// It was done.
    LEAFLOG_STATUS_OK = 0,
    /// Nothing at the path.
    LEAFLOG_STATUS_NOT_FOUND = 1,
    /// A folder where a file belongs.
    LEAFLOG_STATUS_IS_A_DIRECTORY = 2,
    /// The operating system forbids it.
    LEAFLOG_STATUS_PERMISSION_DENIED = 3,
    /// No line of the file is a session header.
    LEAFLOG_STATUS_NOT_A_SESSION = 4,
    /// No entry has the id.
    LEAFLOG_STATUS_ENTRY_NOT_FOUND = 5,
    /// The file is shorter than it was when it was opened.
    LEAFLOG_STATUS_FILE_CHANGED = 6,
    /// More than one session fits.
    LEAFLOG_STATUS_AMBIGUOUS = 7,
    /// A value that cannot be meant: a missing argument, a text that is not the JSON it must be.
    LEAFLOG_STATUS_INVALID_ARGUMENT = 8,
    /// Any other failure of the operating system.
    LEAFLOG_STATUS_IO = 9,
    /// Another process held the session's lock for too long.
    LEAFLOG_STATUS_LOCKED = 10,
    /// A writer was used after it was closed.
    LEAFLOG_STATUS_CLOSED = 11,
    /// Something is there already that must not be replaced.
    LEAFLOG_STATUS_ALREADY_EXISTS = 12,
    /// Another process deleted the session while this one had it open. It is said once: the next append, or
    /// `leaflog_session_ensure_on_disk()`, writes everything again.
    LEAFLOG_STATUS_GONE = 13,
    /// A handle that is NULL, of another type, freed before, or never was one.
    LEAFLOG_STATUS_INVALID_HANDLE = 100,
    /// Another thread is using the handle, or a function of the caller that it called is. Nothing
    /// was done.
    LEAFLOG_STATUS_BUSY = 101,
    /// A bug in the library: it stopped in the middle of something. The handle answers nothing else
    /// from then on and can only be freed.
    LEAFLOG_STATUS_PANIC = 102,
    /// An iterator is at its end. No error is made.
    LEAFLOG_STATUS_END = 103,
    /// The session was opened for reading only.
    LEAFLOG_STATUS_READ_ONLY = 104,
    /// A text is not UTF-8.
    LEAFLOG_STATUS_INVALID_UTF8 = 105,
    /// The session has other entries now than when the iterator was made.
    LEAFLOG_STATUS_STALE = 106,
    /// An error of the core that this version of the interface has no number for.
    LEAFLOG_STATUS_OTHER = 107,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum leaflog_status leaflog_status;
#else
typedef int32_t leaflog_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/// The artifacts of a session file: files `<id>.<tool type>.log` in the folder of the session's name
/// without `.jsonl`. It holds no file open, and any number of threads and processes may use one at once.
/// The caller frees it with `leaflog_artifacts_free()`.
typedef struct leaflog_artifacts leaflog_artifacts;

/// The store of blobs in a folder. It holds no file open, and any number of threads and processes may
/// use one at once. The caller frees it with `leaflog_blobs_free()`.
typedef struct leaflog_blobs leaflog_blobs;

/// What the model would be sent, as it was when the context was built. It does not change, needs its
/// session no more, and any number of threads may read it at once. The caller frees it with
/// `leaflog_context_free()`.
typedef struct leaflog_context leaflog_context;

/// Goes over entries of a session: those that were there when it was made. Entries that are appended
/// meanwhile are not visited; when the handle of the session goes on with another session, or another
/// process replaced the file, `leaflog_entries_next()` gives LEAFLOG_STATUS_STALE.
///
/// An iterator is for one thread at a time (LEAFLOG_STATUS_BUSY). It keeps its session, whose handle
/// can be freed before, and uses it: not while another thread works on it. What it lends lives until
/// the next call with it. The caller frees it with `leaflog_entries_free()`.
typedef struct leaflog_entries leaflog_entries;

/// What went wrong: a handle that the caller frees with `leaflog_error_free()`. It does not change,
/// and any number of threads may read it at once. Every text that it lends lives until it is freed.
///
/// Functions take the place for one as their last argument. The place may be NULL. It is written when
/// the function fails, and left as it is otherwise; what was in it is not freed.
typedef struct leaflog_error leaflog_error;

/// Ids and times that are known beforehand, for tests: the same calls make the same files. Any number of threads
/// may use one at once. Sessions that were made with it keep it; the caller frees the handle with
/// `leaflog_generator_free()`.
typedef struct leaflog_generator leaflog_generator;

/// The prompt history: a SQLite database that any number of processes may have open. Any number of threads may use one
/// at once. A thread of its own writes; a forked child must not use its parent's. The caller frees it with
/// `leaflog_history_free()`.
///
/// A process must not open the database with two copies of SQLite: when one closes the file, the system takes away the
/// locks of the other, and the database may be damaged.
typedef struct leaflog_history leaflog_history;

/// What was found: sessions, and what could not be read. It does not change, and any number of threads may read it at
/// once. The caller frees it with `leaflog_listing_free()`.
typedef struct leaflog_listing leaflog_listing;

/// Prompts that were read. They do not change, and any number of threads may read them at once. The caller frees them
/// with `leaflog_prompts_free()`.
typedef struct leaflog_prompts leaflog_prompts;

/// What a function of a caller's storage answers with, beside its status. It is made for one call of that
/// function and used on that thread only; when the function has returned, it is gone and a call with it is
/// LEAFLOG_STATUS_INVALID_HANDLE.
typedef struct leaflog_reply leaflog_reply;

/// A session that is worked on, or one that is only read. The caller frees it with
/// `leaflog_session_free()`.
///
/// One that is worked on is for one thread at a time and may be handed to another; a call while
/// another call is using it is LEAFLOG_STATUS_BUSY and does nothing. One that was opened for reading
/// only may be used by any number of threads at once; functions that change a session give
/// LEAFLOG_STATUS_READ_ONLY for it.
///
/// Iterators keep the session they were made of; what they lend is theirs. Every text it gives is the
/// caller's own.
typedef struct leaflog_session leaflog_session;

/// What a session held at a moment: its entries, its leaf, its file. The caller frees it with
/// `leaflog_state_free()`. It does not change, and any number of threads may read it at once.
typedef struct leaflog_state leaflog_state;

/// A place that keeps sessions under paths. Any number of threads may use one at once. Sessions that were
/// made with it keep it; the caller frees the handle with `leaflog_storage_free()`.
typedef struct leaflog_storage leaflog_storage;

/// Writes lines to one file of a storage. It is for one thread at a time (LEAFLOG_STATUS_BUSY) and may be
/// handed to another. It keeps its storage. The caller frees it with `leaflog_writer_free()`.
typedef struct leaflog_writer leaflog_writer;

/// A text that the library made for the caller, who owns it and gives it back with
/// `leaflog_string_free()`. A NUL that is not counted follows the text. NULL and 0 when there is
/// nothing to give. What was in the variable before is overwritten, not freed.
typedef struct leaflog_string {
    /// The first byte, or NULL.
    const char *data;
    /// The number of bytes before the NUL.
    size_t len;
} leaflog_string;

/// A text or bytes of the caller: a pointer and a length, borrowed for the call. `data` need not end
/// with a NUL. NULL with the length 0 is an absent text, where a text may be absent, and an empty
/// one elsewhere; NULL with another length is an error. Texts are UTF-8; paths are bytes on Unix
/// and UTF-8 elsewhere. `leaflog_cstr()` makes one of a NUL-terminated string.
///
/// Handed out by the library, it is borrowed from the handle that the function names, and a NUL that
/// is not counted follows the text, unless the function says that none does.
typedef struct leaflog_str {
    /// The first byte, or NULL.
    const char *data;
    /// The number of bytes.
    size_t len;
} leaflog_str;

/// The id of an entry that was appended: NUL-terminated, at most 16 characters.
typedef struct leaflog_id {
    /// The characters, then at least one NUL.
    char text[24];
} leaflog_id;

/// What a sub-agent is started with.
typedef struct leaflog_session_init {
    /// `sizeof(leaflog_session_init)`.
    size_t struct_size;
    /// Its system prompt.
    struct leaflog_str system_prompt;
    /// Its task.
    struct leaflog_str task;
    /// The names of the tools it has.
    const struct leaflog_str *tools;
    /// How many tools there are.
    size_t tool_count;
    /// The JSON Schema of its answer, as JSON; may be absent.
    struct leaflog_str output_schema_json;
} leaflog_session_init;

/// What a compaction says.
typedef struct leaflog_compaction {
    /// `sizeof(leaflog_compaction)`.
    size_t struct_size;
    /// What was compacted, for the model.
    struct leaflog_str summary;
    /// The same in a few words, for a person; may be absent.
    struct leaflog_str short_summary;
    /// The id of the first entry on the path that stays; the compaction keeps nothing when there is none.
    struct leaflog_str first_kept_entry_id;
    /// Tokens in the context before.
    uint64_t tokens_before;
    /// Data of the extension that made it, as JSON; may be absent.
    struct leaflog_str details_json;
    /// Data handed on across compactions, as JSON; may be absent.
    struct leaflog_str preserve_data_json;
    /// Whether an extension made it: LEAFLOG_UNSAID, LEAFLOG_NO or LEAFLOG_YES.
    int32_t from_extension;
} leaflog_compaction;

/// What an extension's message says.
typedef struct leaflog_custom_message {
    /// `sizeof(leaflog_custom_message)`.
    size_t struct_size;
    /// The extension's own type.
    struct leaflog_str custom_type;
    /// A string or an array of content blocks, as JSON.
    struct leaflog_str content_json;
    /// Data the model is not sent, as JSON; may be absent.
    struct leaflog_str details_json;
    /// Who caused it; absent: `agent`.
    struct leaflog_str attribution;
    /// Whether a person sees it: not 0.
    int32_t display;
} leaflog_custom_message;

/// What the index knows of an entry. The texts are lent by the iterator until the next call with it.
typedef struct leaflog_entry {
    /// `sizeof(leaflog_entry)`, set by the caller.
    size_t struct_size;
    /// The id; absent when the line has none.
    struct leaflog_str id;
    /// The id of the parent; absent for a root, and when no entry has the id that the line names.
    struct leaflog_str parent_id;
    /// The type.
    struct leaflog_str type_name;
    /// The role of a message; absent for other types.
    struct leaflog_str role;
    /// The label in force; may be absent.
    struct leaflog_str label;
    /// Milliseconds since 1970 of the timestamp; LEAFLOG_NO_TIME when it is no date.
    int64_t time_ms;
    /// Its place among all entries, counted from 0.
    uint64_t position;
    /// How many entries lie between it and a root, in an iterator of the tree; 0 in others.
    uint64_t depth;
    /// The line of the file, counted from 1; 0 for an entry that has none yet.
    uint64_t line;
    /// Where its text starts in the file; 0 for an entry that has no line there.
    uint64_t offset;
    /// Bytes of its text: in the file, or in memory while it is not there, or there only in part.
    uint64_t len;
    /// Not 0: a later line has the same id, and this one is not in the tree.
    int32_t is_superseded;
} leaflog_entry;

/// Is handed errors of writing, once each, with the session's file in them; the text is borrowed for
/// the call. It is called inside a call with the session, on that thread: it must return, and calls
/// with the same session give LEAFLOG_STATUS_BUSY from there.
typedef void (*leaflog_log)(void *data, struct leaflog_str message);

/// A variable of an environment.
typedef struct leaflog_variable {
    /// Its name.
    struct leaflog_str name;
    /// Its value.
    struct leaflog_str value;
} leaflog_variable;

/// How a session is made. Set all to 0 and `struct_size` to `sizeof(leaflog_options)`: 0 is the
/// default of every field. A NULL pointer in place of the struct is all defaults. It is only read
/// during the call.
typedef struct leaflog_options {
    /// `sizeof(leaflog_options)`.
    size_t struct_size;
    /// Path: the agent's folder, which holds `sessions` and `blobs`; absent: the one of this machine.
    struct leaflog_str agent_dir;
    /// Path: the folder of the session files; absent: the project's in the agent's folder, or that of
    /// the file that is opened.
    struct leaflog_str session_dir;
    /// Where sessions are kept; NULL: in files. The session keeps the storage, whose handle can be
    /// freed before.
    const struct leaflog_storage *storage;
    /// How long another process's lock is waited for, in milliseconds; 0: 10 seconds; negative: not
    /// at all.
    int64_t lock_timeout_ms;
    /// LEAFLOG_DURABILITY_…
    int32_t durability;
    /// LEAFLOG_MIGRATION_…
    int32_t migration_rewrite;
    /// Is handed errors of writing; NULL: nobody is.
    leaflog_log log;
    /// Handed to `log`. It must live as long as the session.
    void *log_data;
    /// The name of the config folder under home; absent: that of `PI_CONFIG_DIR`, else `.xcsh`.
    struct leaflog_str config_dir_name;
    /// The environment that folders and the terminal are found by; NULL: that of the process.
    const struct leaflog_variable *environment;
    /// How many variables there are.
    size_t environment_count;
    /// Which terminal the program is on, as `leaflog_terminal_id()` names it; empty: on none; absent: the one of the
    /// standard input or the environment.
    struct leaflog_str terminal;
    /// How session folders of projects are named: LEAFLOG_DIRS_…
    int32_t dir_naming;
    /// Where ids and times come from, for tests; NULL: the clock of the machine and random numbers. The session keeps
    /// it; the handle can be freed before.
    const struct leaflog_generator *generator;
} leaflog_options;

/// Is told how many files of how many are done, and stops the listing by giving anything but 0. It is called on the
/// thread that asked for the listing.
typedef int32_t (*leaflog_progress)(void *data, uint64_t done, uint64_t all);

/// How sessions are looked for, beside `leaflog_options`, which say where. Set all to 0 and `struct_size` to
/// `sizeof(leaflog_find_options)`: 0 is the default of every field. A NULL pointer in place of the struct is all
/// defaults.
typedef struct leaflog_find_options {
    /// `sizeof(leaflog_find_options)`.
    size_t struct_size;
    /// Paths: the folders that hold the session folders of projects; NULL: the one of the agent.
    const struct leaflog_str *roots;
    /// How many roots there are.
    size_t root_count;
    /// How many threads may read at once; 0: as many as the machine has, at most four. The functions of a storage of
    /// the caller's own are called from several threads, unless this is 1.
    uint32_t threads;
    /// Is told how far a listing is; NULL: nobody is.
    leaflog_progress progress;
    /// Handed to `progress`.
    void *progress_data;
} leaflog_find_options;

/// What is known of a session that was found. The texts are lent by the listing until it is freed. Of a session of
/// `leaflog_recent()` and `leaflog_recent_of()`, which read the beginnings of files only, the path, the names and the
/// time of the last change are known; the names are known of those only.
typedef struct leaflog_session_info {
    /// `sizeof(leaflog_session_info)`, set by the caller.
    size_t struct_size;
    /// The path of its file.
    struct leaflog_str path;
    /// Its id.
    struct leaflog_str id;
    /// The folder of its project; empty when the header has none.
    struct leaflog_str cwd;
    /// Its title, else the short summary of its last compaction, each when it is not blank; may be absent.
    struct leaflog_str title;
    /// What it was derived from, an id or a path, not to be resolved; may be absent.
    struct leaflog_str parent_session;
    /// The first text of a user that is not blank, else the task of the session, else the first text of a custom
    /// message; at most 64 KiB of it. Empty when there is none.
    struct leaflog_str first_message;
    /// What to call it: one line, cut to 40 UTF-16 units.
    struct leaflog_str name;
    /// The same, not cut.
    struct leaflog_str full_name;
    /// How long before the listing it was used last, in words: `5m ago`.
    struct leaflog_str time_ago;
    /// When it began, in milliseconds since 1970; LEAFLOG_NO_TIME when the header does not say.
    int64_t created_ms;
    /// When the file last changed, in milliseconds since 1970.
    int64_t modified_ms;
    /// The bytes of the file; of another storage, its units.
    uint64_t size;
    /// Its messages, of every branch.
    uint64_t message_count;
    /// LEAFLOG_SCOPE_LOCAL or, from `leaflog_resolve()` and `leaflog_candidates()`, LEAFLOG_SCOPE_GLOBAL.
    int32_t scope;
    /// 1 when the session is another project's, whose directory does not exist any longer; it is listed since the two
    /// projects share a session directory. Only what is found for a project says so. Else 0.
    int32_t project_gone;
    /// When the session was used last, in milliseconds since 1970, by which it is older or newer than others: when its
    /// last message was written or it began, whichever is later, and not after `modified_ms`. A new name, a label or a
    /// migration is not a use.
    int64_t used_ms;
} leaflog_session_info;

/// A prompt of the history. The texts are lent by the list until it is freed.
typedef struct leaflog_prompt {
    /// `sizeof(leaflog_prompt)`, set by the caller.
    size_t struct_size;
    /// Counts up; never given twice.
    int64_t id;
    /// When it was stored, in seconds since 1970.
    int64_t created_at;
    /// What was written.
    struct leaflog_str prompt;
    /// The folder it was written in; may be absent.
    struct leaflog_str cwd;
} leaflog_prompt;

/// How a session is opened for reading only. Set all to 0 and `struct_size` to
/// `sizeof(leaflog_view_options)`: 0 is the default of every field. A NULL pointer in place of the
/// struct is all defaults.
typedef struct leaflog_view_options {
    /// `sizeof(leaflog_view_options)`.
    size_t struct_size;
    /// Path: the folder blobs are read from; absent: `blobs` beside the folder `sessions` that the
    /// file lies in.
    struct leaflog_str blobs_dir;
    /// Path: the folder blobs are read from when none is given and the file lies in no folder
    /// `sessions`.
    struct leaflog_str fallback_blobs_dir;
    /// How many threads may scan a large file; 0: as many as fit the file and the machine.
    uint32_t threads;
} leaflog_view_options;

/// Another text for an entry.
typedef struct leaflog_change {
    /// The entry's id.
    struct leaflog_str id;
    /// The whole entry as JSON; its id and parent stay what they are.
    struct leaflog_str json;
} leaflog_change;

/// Sums over the messages of all branches.
typedef struct leaflog_usage {
    /// `sizeof(leaflog_usage)`, set by the caller.
    size_t struct_size;
    /// Tokens sent.
    double input;
    /// Tokens received.
    double output;
    /// Tokens read from the provider's cache.
    double cache_read;
    /// Tokens written to the provider's cache.
    double cache_write;
    /// Requests billed as premium.
    double premium_requests;
    /// Cost in the provider's currency, US dollars as a rule.
    double cost;
} leaflog_usage;

/// A storage of the caller's own. Set all to 0, then `struct_size`, `version` and the functions; all but
/// `release` and `list_dirs` are needed. Every function is handed `data` first.
///
/// Those that give an `int32_t` give a `leaflog_status`, LEAFLOG_STATUS_OK when they did it;
/// `leaflog_reply_fail()` can say more about a failure. Numbers from LEAFLOG_STATUS_INVALID_HANDLE on mean
/// LEAFLOG_STATUS_IO. NOT_FOUND of `read_text` is how a session that does not exist yet is told.
///
/// Functions are called inside calls of the library, on the thread that called it: on several threads
/// at once when several sessions use the storage, but never so for one writer. They must return: no exception, no
/// `longjmp` may leave one. Paths and what is in files are bytes, borrowed for the call:
/// UTF-8, unless a session is damaged, and then they are to be kept as they are.
typedef struct leaflog_storage_functions {
    /// `sizeof(leaflog_storage_functions)`.
    size_t struct_size;
    /// LEAFLOG_STORAGE_VERSION.
    uint32_t version;
    /// Handed to every function.
    void *data;
    /// Called once, when the handle and all sessions and writers of the storage are freed. May be NULL.
    void (*release)(void *data);
    /// Makes a folder and those above it.
    int32_t (*ensure_dir)(void *data, struct leaflog_str dir, struct leaflog_reply *reply);
    /// Not 0 when there is something at the path.
    int32_t (*exists)(void *data, struct leaflog_str path);
    /// Gives the first `most` bytes of a file, UINT64_MAX for all, with `leaflog_reply_add()`, in any number of
    /// pieces.
    int32_t (*read_text)(void *data,
                         struct leaflog_str path,
                         uint64_t most,
                         struct leaflog_reply *reply);
    /// Makes `text` the content of a file, and the folders above it.
    int32_t (*write_text)(void *data,
                          struct leaflog_str path,
                          struct leaflog_str text,
                          struct leaflog_reply *reply);
    /// Size and milliseconds since 1970 of the last change. Both places are there.
    int32_t (*stat)(void *data,
                    struct leaflog_str path,
                    uint64_t *size,
                    int64_t *modified_ms,
                    struct leaflog_reply *reply);
    /// Gives the path of each file of a folder that `pattern` names (`*`, `*.ext` or a name) with one
    /// `leaflog_reply_add()`.
    int32_t (*list_files)(void *data,
                          struct leaflog_str dir,
                          struct leaflog_str pattern,
                          struct leaflog_reply *reply);
    /// Puts a file in another's place, at once. A missing one is not an error and changes nothing.
    int32_t (*rename)(void *data,
                      struct leaflog_str from,
                      struct leaflog_str to,
                      struct leaflog_reply *reply);
    /// Removes a file. A missing one is not an error.
    int32_t (*unlink)(void *data, struct leaflog_str path, struct leaflog_reply *reply);
    /// Opens a file for writing lines, and makes the folders above it. `mode` is LEAFLOG_WRITER_APPEND or
    /// LEAFLOG_WRITER_TRUNCATE. What it puts into `writer` is handed to the functions below, and given back to
    /// `writer_free` once.
    int32_t (*open_writer)(void *data,
                           struct leaflog_str path,
                           int32_t mode,
                           void **writer,
                           struct leaflog_reply *reply);
    /// Writes a line, which brings its newline.
    int32_t (*writer_write_line)(void *data,
                                 void *writer,
                                 struct leaflog_str line,
                                 struct leaflog_reply *reply);
    /// Hands on what is still in the writer.
    int32_t (*writer_flush)(void *data, void *writer, struct leaflog_reply *reply);
    /// Waits until what was written would survive a power cut.
    int32_t (*writer_fsync)(void *data, void *writer, struct leaflog_reply *reply);
    /// Closes the file; nothing is written after it.
    int32_t (*writer_close)(void *data, void *writer, struct leaflog_reply *reply);
    /// Frees a writer, closed or not.
    void (*writer_free)(void *data, void *writer);
    /// Gives the path of each folder in a folder with one `leaflog_reply_add()`, hidden ones and links left out. May be
    /// NULL: then `leaflog_list_all()` finds what is in the roots themselves.
    int32_t (*list_dirs)(void *data, struct leaflog_str dir, struct leaflog_reply *reply);
} leaflog_storage_functions;

/// A NUL-terminated string as a leaflog_str; NULL is an absent one.
static inline leaflog_str leaflog_cstr(const char *text) {
    leaflog_str str;
    str.data = text;
    str.len = text != NULL ? strlen(text) : 0;
    return str;
}

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Gives back a text of the library, and makes the variable an absent one. Giving back an absent
/// text does nothing; a text that is not the library's, or was given back already through a copy of
/// the variable, is LEAFLOG_STATUS_INVALID_HANDLE.
leaflog_status leaflog_string_free(struct leaflog_string *text);

/// Appends a message: a JSON object with a string `role`. An assistant's starts the session.
///
/// For this and every append: `id`, which may be NULL, receives the entry's id. When the entry cannot be
/// written, the call fails, but the entry is in memory and is the leaf: `id` receives its id, and
/// `leaflog_error_entry_id()` returns it. Do not append it again. After LOCKED, the next append or flush that
/// succeeds writes it, after GONE the next append or `leaflog_session_ensure_on_disk()`; any other error of writing
/// is sticky, and `leaflog_session_ensure_on_disk()` tries again. All other failures, INVALID_ARGUMENT,
/// INVALID_UTF8 and ENTRY_NOT_FOUND among them, append nothing and leave `id` as it is.
leaflog_status leaflog_session_append_message(struct leaflog_session *session,
                                              struct leaflog_str message_json,
                                              struct leaflog_id *id,
                                              struct leaflog_error **error);

/// Appends an entry of any type: a JSON object with a string `type`, to which id, parent and timestamp
/// are added; members of those names are not taken from it. A label needs an entry that it labels.
leaflog_status leaflog_session_append_entry(struct leaflog_session *session,
                                            struct leaflog_str entry_json,
                                            struct leaflog_id *id,
                                            struct leaflog_error **error);

/// Appends a change of the thinking level; absent for the default.
leaflog_status leaflog_session_append_thinking_level_change(struct leaflog_session *session,
                                                            struct leaflog_str level,
                                                            struct leaflog_id *id,
                                                            struct leaflog_error **error);

/// Appends a change of the service tier; absent for none.
leaflog_status leaflog_session_append_service_tier_change(struct leaflog_session *session,
                                                          struct leaflog_str tier,
                                                          struct leaflog_id *id,
                                                          struct leaflog_error **error);

/// Appends a change of the mode; `data_json` may be absent.
leaflog_status leaflog_session_append_mode_change(struct leaflog_session *session,
                                                  struct leaflog_str mode,
                                                  struct leaflog_str data_json,
                                                  struct leaflog_id *id,
                                                  struct leaflog_error **error);

/// Appends a change of the cloud context.
leaflog_status leaflog_session_append_context_change(struct leaflog_session *session,
                                                     struct leaflog_str context_name,
                                                     struct leaflog_str tenant,
                                                     struct leaflog_str name_space,
                                                     struct leaflog_id *id,
                                                     struct leaflog_error **error);

/// Appends a change of the model, `provider/id`; an absent `role` is the role `default`.
leaflog_status leaflog_session_append_model_change(struct leaflog_session *session,
                                                   struct leaflog_str model,
                                                   struct leaflog_str role,
                                                   struct leaflog_id *id,
                                                   struct leaflog_error **error);

/// Appends what a sub-agent is started with.
leaflog_status leaflog_session_append_session_init(struct leaflog_session *session,
                                                   const struct leaflog_session_init *init,
                                                   struct leaflog_id *id,
                                                   struct leaflog_error **error);

/// Appends a compaction.
leaflog_status leaflog_session_append_compaction(struct leaflog_session *session,
                                                 const struct leaflog_compaction *compaction,
                                                 struct leaflog_id *id,
                                                 struct leaflog_error **error);

/// Appends state of an extension, which is never sent to the model; `data_json` may be absent.
leaflog_status leaflog_session_append_custom_entry(struct leaflog_session *session,
                                                   struct leaflog_str custom_type,
                                                   struct leaflog_str data_json,
                                                   struct leaflog_id *id,
                                                   struct leaflog_error **error);

/// Appends an extension's message.
leaflog_status leaflog_session_append_custom_message(struct leaflog_session *session,
                                                     const struct leaflog_custom_message *message,
                                                     struct leaflog_id *id,
                                                     struct leaflog_error **error);

/// Appends a selection of `count` MCP tools.
leaflog_status leaflog_session_append_mcp_tool_selection(struct leaflog_session *session,
                                                         const struct leaflog_str *names,
                                                         size_t count,
                                                         struct leaflog_id *id,
                                                         struct leaflog_error **error);

/// Appends the names of `count` rules that were injected.
leaflog_status leaflog_session_append_ttsr_injection(struct leaflog_session *session,
                                                     const struct leaflog_str *names,
                                                     size_t count,
                                                     struct leaflog_id *id,
                                                     struct leaflog_error **error);

/// Appends a label for an entry; an absent or empty one clears it. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_append_label_change(struct leaflog_session *session,
                                                   struct leaflog_str target_id,
                                                   struct leaflog_str label,
                                                   struct leaflog_id *id,
                                                   struct leaflog_error **error);

/// Moves the leaf to an entry: the next append becomes its child. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_branch(struct leaflog_session *session,
                                      struct leaflog_str entry_id,
                                      struct leaflog_error **error);

/// Moves the leaf to before the first entry: the next append is a root.
leaflog_status leaflog_session_reset_leaf(struct leaflog_session *session,
                                          struct leaflog_error **error);

/// Moves the leaf to an entry, or with an absent `from_id` to before the first one, and appends there what
/// the branch that was left held. `details_json` may be absent; `from_extension` is LEAFLOG_UNSAID,
/// LEAFLOG_NO or LEAFLOG_YES. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_branch_with_summary(struct leaflog_session *session,
                                                   struct leaflog_str from_id,
                                                   struct leaflog_str summary,
                                                   struct leaflog_str details_json,
                                                   int32_t from_extension,
                                                   struct leaflog_id *id,
                                                   struct leaflog_error **error);

/// The folder of the session's artifacts, which need not exist; absent when it has no file, or one whose name
/// does not end in `.jsonl`.
leaflog_status leaflog_session_artifacts_dir(const struct leaflog_session *session,
                                             struct leaflog_string *out,
                                             struct leaflog_error **error);

/// Takes the next artifact's id and makes its empty file. `id` and `path` may be NULL, and get absent texts
/// when the session has no file. INVALID_ARGUMENT for a tool type that is no plain name.
leaflog_status leaflog_session_allocate_artifact(struct leaflog_session *session,
                                                 struct leaflog_str tool_type,
                                                 struct leaflog_string *id,
                                                 struct leaflog_string *path,
                                                 struct leaflog_error **error);

/// Saves an artifact. `id`, which may be NULL, gets its id. Without a file it is kept in memory until the
/// handle goes on with a new session.
leaflog_status leaflog_session_save_artifact(struct leaflog_session *session,
                                             struct leaflog_str content,
                                             struct leaflog_str tool_type,
                                             struct leaflog_string *id,
                                             struct leaflog_error **error);

/// The path of an artifact; absent when there is none.
leaflog_status leaflog_session_artifact_path(const struct leaflog_session *session,
                                             struct leaflog_str id,
                                             struct leaflog_string *out,
                                             struct leaflog_error **error);

/// The artifacts of the session file at the path `session_file`. INVALID_ARGUMENT when its name does not end in `.jsonl`.
leaflog_status leaflog_artifacts_of(struct leaflog_str session_file,
                                    struct leaflog_artifacts **artifacts,
                                    struct leaflog_error **error);

/// The folder, which need not exist.
leaflog_status leaflog_artifacts_dir(const struct leaflog_artifacts *artifacts,
                                     struct leaflog_string *out,
                                     struct leaflog_error **error);

/// Takes the next id and makes its empty file. `id` and `path` may be NULL. INVALID_ARGUMENT for a tool type
/// that is no plain name.
leaflog_status leaflog_artifacts_allocate(const struct leaflog_artifacts *artifacts,
                                          struct leaflog_str tool_type,
                                          struct leaflog_string *id,
                                          struct leaflog_string *path,
                                          struct leaflog_error **error);

/// Saves an artifact. `id`, which may be NULL, gets its id.
leaflog_status leaflog_artifacts_save(const struct leaflog_artifacts *artifacts,
                                      struct leaflog_str content,
                                      struct leaflog_str tool_type,
                                      struct leaflog_string *id,
                                      struct leaflog_error **error);

/// The path of an artifact; absent when there is none.
leaflog_status leaflog_artifacts_path(const struct leaflog_artifacts *artifacts,
                                      struct leaflog_str id,
                                      struct leaflog_string *out,
                                      struct leaflog_error **error);

/// Frees the handle; no file is touched. NULL is nothing to free.
leaflog_status leaflog_artifacts_free(struct leaflog_artifacts *artifacts);

/// The store in the folder at the path `dir`, which need not exist.
leaflog_status leaflog_blobs_open(struct leaflog_str dir,
                                  struct leaflog_blobs **blobs,
                                  struct leaflog_error **error);

/// The store that a session puts its blobs into. READ_ONLY for a session that is only read.
leaflog_status leaflog_session_blobs(const struct leaflog_session *session,
                                     struct leaflog_blobs **blobs,
                                     struct leaflog_error **error);

/// The folder of the store.
leaflog_status leaflog_blobs_dir(const struct leaflog_blobs *blobs,
                                 struct leaflog_string *out,
                                 struct leaflog_error **error);

/// Puts bytes into the store and waits until they would survive a power cut; what is there already is not
/// written again. `reference`, which may be NULL, gets `blob:sha256:` and the hash.
leaflog_status leaflog_blobs_put(const struct leaflog_blobs *blobs,
                                 struct leaflog_str bytes,
                                 struct leaflog_string *reference,
                                 struct leaflog_error **error);

/// Reads a blob, named by its hash or a reference, and checks it. `found` gets LEAFLOG_BLOB_FOUND,
/// LEAFLOG_BLOB_MISSING or LEAFLOG_BLOB_DAMAGED; `bytes` is absent unless it was found. Both are needed.
leaflog_status leaflog_blobs_get(const struct leaflog_blobs *blobs,
                                 struct leaflog_str hash,
                                 int32_t *found,
                                 struct leaflog_string *bytes,
                                 struct leaflog_error **error);

/// Whether the store has a file for a hash or a reference. The bytes are not looked at.
leaflog_status leaflog_blobs_has(const struct leaflog_blobs *blobs,
                                 struct leaflog_str hash,
                                 bool *has,
                                 struct leaflog_error **error);

/// The path of the file of a hash or a reference, which need not exist.
leaflog_status leaflog_blobs_path(const struct leaflog_blobs *blobs,
                                  struct leaflog_str hash,
                                  struct leaflog_string *out,
                                  struct leaflog_error **error);

/// The reference that stands for bytes in an entry, without storing them.
leaflog_status leaflog_blob_reference(struct leaflog_str bytes,
                                      struct leaflog_string *out,
                                      struct leaflog_error **error);

/// Whether a text is a reference to a blob: `blob:sha256:` and exactly 64 lowercase hex digits. Bytes that are
/// no text are none.
bool leaflog_is_blob_reference(struct leaflog_str text);

/// Frees the handle; no file is touched. NULL is nothing to free.
leaflog_status leaflog_blobs_free(struct leaflog_blobs *blobs);

/// Adds a piece of the text, or a path, to what the function gives.
leaflog_status leaflog_reply_add(struct leaflog_reply *reply, struct leaflog_str piece);

/// Says why the function is going to fail. With an `os_errno` that is not 0 the status that it gives is not
/// looked at, and the error of the operating system tells.
leaflog_status leaflog_reply_fail(struct leaflog_reply *reply,
                                  struct leaflog_str message,
                                  int32_t os_errno);

/// Builds the context of a place in the tree: `from` is LEAFLOG_FROM_LEAF, LEAFLOG_FROM_ENTRY (of the id
/// `entry_id`, which is not looked at otherwise) or LEAFLOG_FROM_NOTHING. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_context(const struct leaflog_session *session,
                                       int32_t from,
                                       struct leaflog_str entry_id,
                                       struct leaflog_context **context,
                                       struct leaflog_error **error);

/// The context of a place in the tree as one JSON object with the agent's names: messages, thinking level,
/// models, mode and so on. Messages keep their stored spelling; U+FFFD stands for bytes that are not
/// UTF-8. As `leaflog_session_context()`.
leaflog_status leaflog_session_context_json(const struct leaflog_session *session,
                                            int32_t from,
                                            struct leaflog_str entry_id,
                                            struct leaflog_string *out,
                                            struct leaflog_error **error);

/// The whole context, as `leaflog_session_context_json()` gives it.
leaflog_status leaflog_context_json(const struct leaflog_context *context,
                                    struct leaflog_string *out,
                                    struct leaflog_error **error);

/// The context without its messages: the same JSON object with an empty array of messages.
leaflog_status leaflog_context_state_json(const struct leaflog_context *context,
                                          struct leaflog_string *out,
                                          struct leaflog_error **error);

/// The thinking level; `off` when none was set.
leaflog_status leaflog_context_thinking_level(const struct leaflog_context *context,
                                              struct leaflog_string *out,
                                              struct leaflog_error **error);

/// The model of a role, as `provider/id`; absent when none was set. An absent `role` is the role `default`.
leaflog_status leaflog_context_model(const struct leaflog_context *context,
                                     struct leaflog_str role,
                                     struct leaflog_string *out,
                                     struct leaflog_error **error);

/// How many messages there are.
leaflog_status leaflog_context_message_count(const struct leaflog_context *context,
                                             uint64_t *count,
                                             struct leaflog_error **error);

/// One message as JSON, counted from 0 in the order they are sent: lent by the context until it is freed,
/// without a NUL after it. The bytes are UTF-8 unless the file is damaged. LEAFLOG_STATUS_END, without an
/// error, when there is none of that number.
leaflog_status leaflog_context_message(const struct leaflog_context *context,
                                       uint64_t at,
                                       struct leaflog_str *json,
                                       struct leaflog_error **error);

/// Frees a context. NULL is nothing to free.
leaflog_status leaflog_context_free(struct leaflog_context *context);

/// All entries, in the order of the file.
leaflog_status leaflog_session_entries(const struct leaflog_session *session,
                                       struct leaflog_entries **entries,
                                       struct leaflog_error **error);

/// The tree: roots in the order of the file, each entry before its children, the oldest child first.
/// `depth` of each entry tells where it hangs. Every entry is visited once, whatever the file says.
leaflog_status leaflog_session_tree(const struct leaflog_session *session,
                                    struct leaflog_entries **entries,
                                    struct leaflog_error **error);

/// The one entry of an id: its last line. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_entry(const struct leaflog_session *session,
                                     struct leaflog_str entry_id,
                                     struct leaflog_entries **entries,
                                     struct leaflog_error **error);

/// The path from the root to an entry; with an absent id to the leaf. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_path(const struct leaflog_session *session,
                                    struct leaflog_str entry_id,
                                    struct leaflog_entries **entries,
                                    struct leaflog_error **error);

/// The children of an entry. `order` is LEAFLOG_ORDER_FILE or LEAFLOG_ORDER_TIME. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_children(const struct leaflog_session *session,
                                        struct leaflog_str entry_id,
                                        int32_t order,
                                        struct leaflog_entries **entries,
                                        struct leaflog_error **error);

/// The entries that hang on none, in the order of the file.
leaflog_status leaflog_session_roots(const struct leaflog_session *session,
                                     struct leaflog_entries **entries,
                                     struct leaflog_error **error);

/// The entries without children, in the order of the file: the end of every branch.
leaflog_status leaflog_session_leaves(const struct leaflog_session *session,
                                      struct leaflog_entries **entries,
                                      struct leaflog_error **error);

/// Goes to the next entry and fills in what is known of it; LEAFLOG_STATUS_END after the last, without an
/// error. After another failure the iterator stays where it was.
leaflog_status leaflog_entries_next(struct leaflog_entries *entries,
                                    struct leaflog_entry *entry,
                                    struct leaflog_error **error);

/// The JSON text of the entry that was visited last, lent by the iterator: the bytes as they are in the
/// file, which are UTF-8 unless it is damaged. `form` is LEAFLOG_STORED or LEAFLOG_LOADED. INVALID_ARGUMENT
/// before the first entry.
leaflog_status leaflog_entries_json(struct leaflog_entries *entries,
                                    int32_t form,
                                    struct leaflog_str *json,
                                    struct leaflog_error **error);

/// How many entries the iterator visits in all.
leaflog_status leaflog_entries_count(const struct leaflog_entries *entries,
                                     uint64_t *count,
                                     struct leaflog_error **error);

/// Frees an iterator. NULL is nothing to free.
leaflog_status leaflog_entries_free(struct leaflog_entries *entries);

/// The whole text of one entry as JSON; U+FFFD stands for bytes that are not UTF-8. `form` is
/// LEAFLOG_STORED or LEAFLOG_LOADED. ENTRY_NOT_FOUND.
leaflog_status leaflog_session_entry_json(const struct leaflog_session *session,
                                          struct leaflog_str entry_id,
                                          int32_t form,
                                          struct leaflog_string *out,
                                          struct leaflog_error **error);

/// All entries as a JSON array, in the order of the file: for sessions that fit in memory well. As
/// `leaflog_session_entry_json()`.
leaflog_status leaflog_session_entries_json(const struct leaflog_session *session,
                                            int32_t form,
                                            struct leaflog_string *out,
                                            struct leaflog_error **error);

/// The tree as a JSON array of objects `{"depth", "label"?, "entry"}`, in the order of
/// `leaflog_session_tree()`. It is not nested: a session is as deep as it is long, and most parsers of
/// JSON are not. As `leaflog_session_entry_json()`.
leaflog_status leaflog_session_tree_json(const struct leaflog_session *session,
                                         int32_t form,
                                         struct leaflog_string *out,
                                         struct leaflog_error **error);

/// The status that the function gave; LEAFLOG_STATUS_INVALID_HANDLE for a handle that is no error.
leaflog_status leaflog_error_status(const struct leaflog_error *error);

/// What happened and the cause the operating system gave, without the place. NUL-terminated, lent by
/// the error; NULL for a handle that is no error.
const char *leaflog_error_message(const struct leaflog_error *error);

/// One line for people: the path, the line, what happened, the cause. NUL-terminated, lent by the
/// error; NULL for a handle that is no error.
const char *leaflog_error_text(const struct leaflog_error *error);

/// The file or folder it is about. NUL-terminated, lent by the error; NULL when it is about none.
const char *leaflog_error_path(const struct leaflog_error *error);

/// The line of the file, counted from 1; 0 when it is about none.
uint64_t leaflog_error_line(const struct leaflog_error *error);

/// The operating system's error number; 0 when it gave none.
int32_t leaflog_error_os_errno(const struct leaflog_error *error);

/// The id of the entry that an append left in memory because it could not be written: do not append it again.
/// NUL-terminated, borrowed from the error; NULL when nothing was appended, and for the errors of other functions.
const char *leaflog_error_entry_id(const struct leaflog_error *error);

/// Frees an error. NULL is nothing to free.
leaflog_status leaflog_error_free(struct leaflog_error *error);

/// The sessions of the project at the path `cwd`, the newest first: those in its default folders, or in
/// `options->session_dir`. A folder that is not there holds none.
leaflog_status leaflog_list(const struct leaflog_options *options,
                            const struct leaflog_find_options *find_options,
                            struct leaflog_str cwd,
                            struct leaflog_listing **listing,
                            struct leaflog_error **error);

/// The sessions of all projects, those of sub-agents too, the newest first.
leaflog_status leaflog_list_all(const struct leaflog_options *options,
                                const struct leaflog_find_options *find_options,
                                struct leaflog_listing **listing,
                                struct leaflog_error **error);

/// The latest sessions in the folder at the path `dir`, at most `limit`, the newest first. Only the beginnings and ends
/// of files are read.
leaflog_status leaflog_recent(const struct leaflog_options *options,
                              const struct leaflog_find_options *find_options,
                              struct leaflog_str dir,
                              uint64_t limit,
                              struct leaflog_listing **listing,
                              struct leaflog_error **error);

/// The latest sessions of the project at the path `cwd`, as `leaflog_recent()` tells them of a folder. Those whose header
/// names the project come first, whatever their age; then those that name no directory; then those of a project that is
/// gone.
leaflog_status leaflog_recent_of(const struct leaflog_options *options,
                                 const struct leaflog_find_options *find_options,
                                 struct leaflog_str cwd,
                                 uint64_t limit,
                                 struct leaflog_listing **listing,
                                 struct leaflog_error **error);

/// The path of the newest session in the folder at the path `dir`; absent when there is none.
leaflog_status leaflog_most_recent(const struct leaflog_options *options,
                                   const struct leaflog_find_options *find_options,
                                   struct leaflog_str dir,
                                   struct leaflog_string *out,
                                   struct leaflog_error **error);

/// The path of the session of the project at the path `cwd` to go on with: the first of `leaflog_recent_of()`; absent
/// when there is none.
leaflog_status leaflog_most_recent_of(const struct leaflog_options *options,
                                      const struct leaflog_find_options *find_options,
                                      struct leaflog_str cwd,
                                      struct leaflog_string *out,
                                      struct leaflog_error **error);

/// The path of the newest session of all projects; absent when there is none.
leaflog_status leaflog_newest(const struct leaflog_options *options,
                              const struct leaflog_find_options *find_options,
                              struct leaflog_string *out,
                              struct leaflog_error **error);

/// The session that `arg` means, by the beginning of its id, of its file's name, or of what follows the last `_` of
/// that: a listing of one or none. The first of the project at the path `cwd`, in the order of `leaflog_recent_of()`, else
/// the newest of all projects; with `options->session_dir` only of that folder. An error when the session that is meant,
/// by the name of its file, cannot be read, or when none was found and a directory that may hold it cannot be read.
leaflog_status leaflog_resolve(const struct leaflog_options *options,
                               const struct leaflog_find_options *find_options,
                               struct leaflog_str arg,
                               struct leaflog_str cwd,
                               struct leaflog_listing **listing,
                               struct leaflog_error **error);

/// All sessions that `leaflog_resolve()` could mean, in that order. When `arg` is the whole id, or the whole name of the
/// file, of just one of them, that one alone. A file that cannot be read is one of them by its name, and among the
/// problems of the listing; when nothing is meant, directories that cannot be read are.
leaflog_status leaflog_candidates(const struct leaflog_options *options,
                                  const struct leaflog_find_options *find_options,
                                  struct leaflog_str arg,
                                  struct leaflog_str cwd,
                                  struct leaflog_listing **listing,
                                  struct leaflog_error **error);

/// The paths of the sessions of all projects that `prefix` means, as in `leaflog_candidates()`, the newest first,
/// those that cannot be read too: one after another, a NUL after each.
leaflog_status leaflog_by_prefix(const struct leaflog_options *options,
                                 const struct leaflog_find_options *find_options,
                                 struct leaflog_str prefix,
                                 struct leaflog_string *out,
                                 struct leaflog_error **error);

/// The texts of the users and assistants of the session at `path`, of every branch, joined by spaces: what a person
/// searches in.
leaflog_status leaflog_all_messages_text(const struct leaflog_options *options,
                                         const struct leaflog_find_options *find_options,
                                         struct leaflog_str path,
                                         struct leaflog_string *out,
                                         struct leaflog_error **error);

/// Whether a session whose header names the folder `header_cwd`, which may be absent, is shown for the project at
/// the path `cwd`.
leaflog_status leaflog_shows(struct leaflog_str cwd,
                             struct leaflog_str header_cwd,
                             bool *shows,
                             struct leaflog_error **error);

/// What a listing would say of a session that is in memory: a listing of one, or of none when the bytes have no
/// header. `modified_ms` is in milliseconds since 1970.
leaflog_status leaflog_info_of_bytes(struct leaflog_str path,
                                     int64_t modified_ms,
                                     struct leaflog_str bytes,
                                     struct leaflog_listing **listing,
                                     struct leaflog_error **error);

/// What `leaflog_recent()` would say of a session with these first bytes: a listing of one, or of none when they have
/// no header. `modified_ms` is in milliseconds since 1970.
leaflog_status leaflog_recent_of_prefix(struct leaflog_str path,
                                        int64_t modified_ms,
                                        struct leaflog_str prefix,
                                        struct leaflog_listing **listing,
                                        struct leaflog_error **error);

/// How many sessions a listing has; 0 for a handle that is none.
uint64_t leaflog_listing_count(const struct leaflog_listing *listing);

/// How many files and directories could not be read, are not sessions, or are symbolic links that are not followed; 0 for
/// a handle that is none.
uint64_t leaflog_listing_problem_count(const struct leaflog_listing *listing);

/// Whether the listing was stopped: it has what was found until then.
bool leaflog_listing_is_cancelled(const struct leaflog_listing *listing);

/// What is known of a session of the listing, counted from 0. LEAFLOG_STATUS_END, without an error, when there is none
/// of that number.
leaflog_status leaflog_listing_session(const struct leaflog_listing *listing,
                                       uint64_t at,
                                       struct leaflog_session_info *info,
                                       struct leaflog_error **error);

/// Whether `prefix` means a session of the listing, as in `leaflog_resolve()`. LEAFLOG_STATUS_END when there is none of
/// that number; never for those of `leaflog_recent()`, whose ids are not known.
leaflog_status leaflog_listing_is_meant(const struct leaflog_listing *listing,
                                        uint64_t at,
                                        struct leaflog_str prefix,
                                        bool *is_meant,
                                        struct leaflog_error **error);

/// One of the files and directories that are not listed, as an error that the caller frees: a link is an
/// INVALID_ARGUMENT. LEAFLOG_STATUS_END when there is none of that number.
leaflog_status leaflog_listing_problem(const struct leaflog_listing *listing,
                                       uint64_t at,
                                       struct leaflog_error **problem,
                                       struct leaflog_error **error);

/// Frees a listing. NULL is nothing to free.
leaflog_status leaflog_listing_free(struct leaflog_listing *listing);

/// The path of one of the agent's folders, LEAFLOG_FOLDER_…, as options and environment name it. It need not exist.
leaflog_status leaflog_folder(const struct leaflog_options *options,
                              int32_t which,
                              struct leaflog_string *out,
                              struct leaflog_error **error);

/// Every folder that sessions of the project at the path `cwd` are read from, that of new ones first: one path after
/// another, a NUL after each. They need not exist.
leaflog_status leaflog_project_folders(const struct leaflog_options *options,
                                       struct leaflog_str cwd,
                                       struct leaflog_string *out,
                                       struct leaflog_error **error);

/// The folder that new sessions of the project at the path `cwd` go to by default. It is made, and with
/// LEAFLOG_DIRS_HOME_RELATIVE what the project has under the other name is moved to it.
leaflog_status leaflog_default_session_dir(const struct leaflog_options *options,
                                           struct leaflog_str cwd,
                                           struct leaflog_string *out,
                                           struct leaflog_error **error);

/// The folders of this machine that agents keep sessions in, the agent's own first; only those that exist. One path
/// after another, a NUL after each.
leaflog_status leaflog_session_folders(const struct leaflog_options *options,
                                       struct leaflog_string *out,
                                       struct leaflog_error **error);

/// A clock that stands at `start_ms`, in milliseconds since 1970, and moves on by `step_ms` milliseconds with each
/// id it gives; otherwise it stands still. A step of 0 is one of 1. The id of an entry is the lowest 32 bits of the
/// milliseconds of its timestamp, in hex. Ids that one generator gives never meet; two that begin at the same moment
/// give the same ids. So share one among all that goes on with the same sessions.
leaflog_status leaflog_generator_sequence(int64_t start_ms,
                                          uint32_t step_ms,
                                          struct leaflog_generator **generator,
                                          struct leaflog_error **error);

/// Frees the handle; sessions that were made with it go on. NULL is nothing to free.
leaflog_status leaflog_generator_free(struct leaflog_generator *generator);

/// Opens the history at `path`, made with its folder when it is missing; the agent's own is
/// LEAFLOG_FOLDER_HISTORY_DB of `leaflog_folder()`. What may not be written is opened for reading. LOCKED when another
/// program holds the lock for 5 seconds; INVALID_ARGUMENT for a file that was never a database, which stays as it is.
leaflog_status leaflog_history_open(struct leaflog_str path,
                                    struct leaflog_history **history,
                                    struct leaflog_error **error);

/// Opens a history that is there, and changes nothing in it. NOT_FOUND.
leaflog_status leaflog_history_open_read_only(struct leaflog_str path,
                                              struct leaflog_history **history,
                                              struct leaflog_error **error);

/// The path of the database.
leaflog_status leaflog_history_path(const struct leaflog_history *history,
                                    struct leaflog_string *out,
                                    struct leaflog_error **error);

/// Where a damaged database was copied to before it was begun anew, if this history did that; absent otherwise.
leaflog_status leaflog_history_set_aside(const struct leaflog_history *history,
                                         struct leaflog_string *out,
                                         struct leaflog_error **error);

/// Adds a prompt written in the folder `cwd`, which may be absent. It is stored by a thread, within some 100 ms: this
/// never waits, and `leaflog_history_flush()` says whether it went well. An empty prompt, and one equal to the
/// previous, is not stored. CLOSED; PERMISSION_DENIED when the history is read-only.
leaflog_status leaflog_history_add(const struct leaflog_history *history,
                                   struct leaflog_str prompt,
                                   struct leaflog_str cwd,
                                   struct leaflog_error **error);

/// The same for UTF-16, lengths in units: U+FFFD takes the place of a lone surrogate. NULL and 0 is an absent `cwd`.
leaflog_status leaflog_history_add_utf16(const struct leaflog_history *history,
                                         const uint16_t *prompt,
                                         size_t prompt_len,
                                         const uint16_t *cwd,
                                         size_t cwd_len,
                                         struct leaflog_error **error);

/// Stores at once what was added before, and waits for that. LOCKED when another program holds the lock for 5 seconds:
/// the prompts are kept, and tried again. What any other error is about is given up, and may be added again.
leaflog_status leaflog_history_flush(const struct leaflog_history *history,
                                     struct leaflog_error **error);

/// Stores what was added, ends the thread and lets go of the files. Everything but flush and close is CLOSED from then
/// on; the handle is to be freed. Close before the process ends: what was added last may be lost otherwise.
leaflog_status leaflog_history_close(const struct leaflog_history *history,
                                     struct leaflog_error **error);

/// The last `limit` prompts that are stored, at most 1,000, the newest first.
leaflog_status leaflog_history_recent(const struct leaflog_history *history,
                                      uint64_t limit,
                                      struct leaflog_prompts **prompts,
                                      struct leaflog_error **error);

/// The last `limit` stored prompts, at most 1,000, that have for every word of the query a word that begins with it;
/// the newest first. A part of a word counts as one, as in camelCase, and so does any piece of Chinese and the like;
/// when no word begins so, those are found that have it inside. Nothing in a query is an operator; one without words
/// finds nothing.
leaflog_status leaflog_history_search(const struct leaflog_history *history,
                                      struct leaflog_str query,
                                      uint64_t limit,
                                      struct leaflog_prompts **prompts,
                                      struct leaflog_error **error);

/// Closes and frees a history. NULL is nothing to free.
leaflog_status leaflog_history_free(struct leaflog_history *history);

/// How many prompts there are; 0 for a handle that is none.
uint64_t leaflog_prompts_count(const struct leaflog_prompts *prompts);

/// One of the prompts, counted from 0. LEAFLOG_STATUS_END, without an error, when there is none of that number.
leaflog_status leaflog_prompts_get(const struct leaflog_prompts *prompts,
                                   uint64_t at,
                                   struct leaflog_prompt *prompt,
                                   struct leaflog_error **error);

/// The prompts as a JSON array of objects `{"id", "prompt", "created_at", "cwd"?}`.
leaflog_status leaflog_prompts_json(const struct leaflog_prompts *prompts,
                                    struct leaflog_string *out,
                                    struct leaflog_error **error);

/// Frees a list of prompts. NULL is nothing to free.
leaflog_status leaflog_prompts_free(struct leaflog_prompts *prompts);

/// A new session of the project at the path `cwd`. Its folder is made; nothing else is written before it
/// starts: with the first assistant message, or `leaflog_session_ensure_on_disk()`.
leaflog_status leaflog_session_create(struct leaflog_str cwd,
                                      const struct leaflog_options *options,
                                      struct leaflog_session **session,
                                      struct leaflog_error **error);

/// The session at `path`, of the project that its header names. A missing or empty file becomes a
/// new session at exactly that path; bytes that are not a session are set aside first, never lost.
leaflog_status leaflog_session_open(struct leaflog_str path,
                                    const struct leaflog_options *options,
                                    struct leaflog_session **session,
                                    struct leaflog_error **error);

/// Goes on with the session that was worked on last in the project at the path `cwd`: the one that this terminal had,
/// else the newest of the project. Without one, a new session.
leaflog_status leaflog_session_continue_recent(struct leaflog_str cwd,
                                               const struct leaflog_options *options,
                                               struct leaflog_session **session,
                                               struct leaflog_error **error);

/// A session of the project at the path `cwd` that is kept nowhere.
leaflog_status leaflog_session_in_memory(struct leaflog_str cwd,
                                         const struct leaflog_options *options,
                                         struct leaflog_session **session,
                                         struct leaflog_error **error);

/// A new session of the project at the path `cwd` with the history of the session at the path `source`.
/// NOT_FOUND and NOT_A_SESSION for a source that is none.
leaflog_status leaflog_session_fork_from(struct leaflog_str source,
                                         struct leaflog_str cwd,
                                         const struct leaflog_options *options,
                                         struct leaflog_session **session,
                                         struct leaflog_error **error);

/// Opens the session at `path` for reading only: no lock is taken, nothing is written, an older
/// version is migrated in memory only. The file may grow meanwhile or be replaced; the session stays
/// what it was. NOT_A_SESSION when no line of it is a session header.
leaflog_status leaflog_session_open_read_only(struct leaflog_str path,
                                              const struct leaflog_view_options *options,
                                              struct leaflog_session **session,
                                              struct leaflog_error **error);

/// A session from its bytes, for reading only. The bytes are copied.
leaflog_status leaflog_session_read_bytes(struct leaflog_str bytes,
                                          const struct leaflog_view_options *options,
                                          struct leaflog_session **session,
                                          struct leaflog_error **error);

/// A copy of the session as it is now, in memory and for reading only: for other threads. It costs the
/// index of the session, not its text, unless that is in memory anyway.
leaflog_status leaflog_session_snapshot(const struct leaflog_session *session,
                                        struct leaflog_session **snapshot,
                                        struct leaflog_error **error);

/// Frees a session. NULL is nothing to free. What was acknowledged is on disk already and nothing is
/// synced: `leaflog_session_close()` says whether that went well. While another thread is in a call with
/// the session, it lives until that call returns.
leaflog_status leaflog_session_free(struct leaflog_session *session);

/// Goes on with the session at `path`; the project and the folder stay. As `leaflog_session_open()` for a
/// file that is none. After an error the handle has the session it had.
leaflog_status leaflog_session_set_file(struct leaflog_session *session,
                                        struct leaflog_str path,
                                        struct leaflog_error **error);

/// Begins a new session of the project. `parent_session` may be absent. `path`, which may be NULL, gets
/// the new file's path, absent when the session is kept nowhere. An error is that of closing the session
/// that was before; the new one has begun all the same.
leaflog_status leaflog_session_new(struct leaflog_session *session,
                                   struct leaflog_str parent_session,
                                   struct leaflog_string *path,
                                   struct leaflog_error **error);

/// Goes on in a copy of the session with an id of its own; title and leaf stay, artifacts are copied.
/// Both paths may be NULL, and get absent texts when the session is kept nowhere, which is no error.
/// After an error the handle has the session it had.
leaflog_status leaflog_session_fork(struct leaflog_session *session,
                                    struct leaflog_string *old_path,
                                    struct leaflog_string *new_path,
                                    struct leaflog_error **error);

/// Goes on in a session of its own that has only the path from the root to the entry `leaf_id`, and the
/// labels of what is on it. `path`, which may be NULL, gets the file's path, absent when the session is
/// kept nowhere. ENTRY_NOT_FOUND; after an error the handle has the session it had.
leaflog_status leaflog_session_create_branched(struct leaflog_session *session,
                                               struct leaflog_str leaf_id,
                                               struct leaflog_string *path,
                                               struct leaflog_error **error);

/// Moves the session to the project at the path `new_cwd`: its file and its artifacts go to that project's
/// folder, and the header names the project. Nothing that exists is replaced (ALREADY_EXISTS); after an
/// error everything is as before.
leaflog_status leaflog_session_move(struct leaflog_session *session,
                                    struct leaflog_str new_cwd,
                                    struct leaflog_error **error);

/// The folder that `leaflog_session_move()` would move the session to.
leaflog_status leaflog_session_dir_after_move(const struct leaflog_session *session,
                                              struct leaflog_str new_cwd,
                                              struct leaflog_string *out,
                                              struct leaflog_error **error);

/// Waits until everything appended would survive a power cut. Before the session starts there is nothing
/// to wait for.
leaflog_status leaflog_session_flush(struct leaflog_session *session,
                                     struct leaflog_error **error);

/// Flushes and closes the file, in any case; gives the first error there was. The next append opens it
/// again; the handle stays and is to be freed.
leaflog_status leaflog_session_close(struct leaflog_session *session,
                                     struct leaflog_error **error);

/// Writes the session even though it has not started. After a failed write, the way to try again: it
/// puts the failure out of force and writes everything.
leaflog_status leaflog_session_ensure_on_disk(struct leaflog_session *session,
                                              struct leaflog_error **error);

/// Writes the file anew, with other texts for `count` entries, which may be 0. ENTRY_NOT_FOUND, or
/// INVALID_ARGUMENT for a text that is not that entry: nothing is changed then.
leaflog_status leaflog_session_rewrite(struct leaflog_session *session,
                                       const struct leaflog_change *changes,
                                       size_t count,
                                       struct leaflog_error **error);

/// Gives the session a name. Control characters become spaces, runs of spaces one. `taken`, which may be
/// NULL, says whether the name was taken: an empty one is not, and one of LEAFLOG_TITLE_AUTO not over one
/// of LEAFLOG_TITLE_USER.
leaflog_status leaflog_session_set_name(struct leaflog_session *session,
                                        struct leaflog_str name,
                                        int32_t source,
                                        bool *taken,
                                        struct leaflog_error **error);

/// Takes out of what is shown of this handle's assistant messages what belongs to a live connection to a
/// provider, as it is not shown of those that were loaded: for going on in another process's place. The file
/// keeps it, and so does LEAFLOG_STORED. `changed`, which may be NULL, says whether there was any.
leaflog_status leaflog_session_sanitize_replay_metadata(struct leaflog_session *session,
                                                        bool *changed,
                                                        struct leaflog_error **error);

/// Keeps what the session holds now.
leaflog_status leaflog_session_capture(const struct leaflog_session *session,
                                       struct leaflog_state **state,
                                       struct leaflog_error **error);

/// Goes back to a state of this session, without the failure in force. The state can be used again and is to
/// be freed. What was appended since is not in memory; when it is in the file, it is there still.
/// Iterators that were made before are stale.
leaflog_status leaflog_session_restore(struct leaflog_session *session,
                                       const struct leaflog_state *state,
                                       struct leaflog_error **error);

/// The id of the session that a state is of.
leaflog_status leaflog_state_session_id(const struct leaflog_state *state,
                                        struct leaflog_string *id,
                                        struct leaflog_error **error);

/// Frees a state. NULL is nothing to free.
leaflog_status leaflog_state_free(struct leaflog_state *state);

/// The id of the terminal that options and environment name: a plain name, such as `pts-3`; absent when it is none.
leaflog_status leaflog_terminal_id(const struct leaflog_options *options,
                                   struct leaflog_string *out,
                                   struct leaflog_error **error);

/// The id of the session.
leaflog_status leaflog_session_id(const struct leaflog_session *session,
                                  struct leaflog_string *out,
                                  struct leaflog_error **error);

/// The path of the session's file, which need not exist yet; absent when it is kept nowhere.
leaflog_status leaflog_session_file(const struct leaflog_session *session,
                                    struct leaflog_string *out,
                                    struct leaflog_error **error);

/// The project's folder; for a session that is only read the header's, absent when that has none.
leaflog_status leaflog_session_cwd(const struct leaflog_session *session,
                                   struct leaflog_string *out,
                                   struct leaflog_error **error);

/// The folder of the session's file. READ_ONLY for a session that is only read.
leaflog_status leaflog_session_dir(const struct leaflog_session *session,
                                   struct leaflog_string *out,
                                   struct leaflog_error **error);

/// The title; absent when it has none.
leaflog_status leaflog_session_title(const struct leaflog_session *session,
                                     struct leaflog_string *out,
                                     struct leaflog_error **error);

/// Who gave the title, `auto` or `user`; may be absent.
leaflog_status leaflog_session_title_source(const struct leaflog_session *session,
                                            struct leaflog_string *out,
                                            struct leaflog_error **error);

/// The header as JSON, as stored.
leaflog_status leaflog_session_header_json(const struct leaflog_session *session,
                                           struct leaflog_string *out,
                                           struct leaflog_error **error);

/// The whole file as one JSON array: the header, then further headers and the entries in the order of the file,
/// neither migrated nor with blobs in place of references.
leaflog_status leaflog_session_raw_json(const struct leaflog_session *session,
                                        struct leaflog_string *out,
                                        struct leaflog_error **error);

/// The id of the leaf, which the next append becomes a child of; absent when that is a root.
leaflog_status leaflog_session_leaf_id(const struct leaflog_session *session,
                                       struct leaflog_string *out,
                                       struct leaflog_error **error);

/// The label of an entry; absent when it has none, or when there is no such entry.
leaflog_status leaflog_session_label(const struct leaflog_session *session,
                                     struct leaflog_str entry_id,
                                     struct leaflog_string *out,
                                     struct leaflog_error **error);

/// All labels in force, as a JSON array of objects `{"id", "label"}`.
leaflog_status leaflog_session_labels_json(const struct leaflog_session *session,
                                           struct leaflog_string *out,
                                           struct leaflog_error **error);

/// The role of the last model change on the leaf's path, `default` when it names none; absent when there
/// is no model change. READ_ONLY for a session that is only read.
leaflog_status leaflog_session_last_model_change_role(const struct leaflog_session *session,
                                                      struct leaflog_string *out,
                                                      struct leaflog_error **error);

/// What was noticed while reading the session, as JSON: an object of arrays, with lines counted from 1.
leaflog_status leaflog_session_report_json(const struct leaflog_session *session,
                                           struct leaflog_string *out,
                                           struct leaflog_error **error);

/// What was noticed while reading the session, for people: one line for each thing, an empty text when
/// there is nothing.
leaflog_status leaflog_session_report_text(const struct leaflog_session *session,
                                           struct leaflog_string *out,
                                           struct leaflog_error **error);

/// How many entries there are, those that are not in the tree included.
leaflog_status leaflog_session_entry_count(const struct leaflog_session *session,
                                           uint64_t *count,
                                           struct leaflog_error **error);

/// The bytes of the session's file, as far as this handle knows it.
leaflog_status leaflog_session_size(const struct leaflog_session *session,
                                    uint64_t *bytes,
                                    struct leaflog_error **error);

/// Whether the file is of an older version, and was migrated in memory only.
leaflog_status leaflog_session_is_migrated(const struct leaflog_session *session,
                                           bool *is_migrated,
                                           struct leaflog_error **error);

/// Whether the session was opened for reading only.
leaflog_status leaflog_session_is_read_only(const struct leaflog_session *session,
                                            bool *is_read_only,
                                            struct leaflog_error **error);

/// Whether the session is kept somewhere. READ_ONLY for a session that is only read.
leaflog_status leaflog_session_is_persisted(const struct leaflog_session *session,
                                            bool *is_persisted,
                                            struct leaflog_error **error);

/// Whether the session has started: every append is written at once from then on. READ_ONLY for a session that is only
/// read.
leaflog_status leaflog_session_is_started(const struct leaflog_session *session,
                                          bool *is_started,
                                          struct leaflog_error **error);

/// How far the session is on disk. Each of the places may be NULL. `unsaved` gets how many entries are in
/// memory and not on disk; `last_saved_id` the id of the last entry of this handle that is, absent when
/// there is none; `failure` the failure that stays in force until `leaflog_session_ensure_on_disk()`,
/// which the caller frees, or NULL. READ_ONLY for a session that is only read.
leaflog_status leaflog_session_persist_status(const struct leaflog_session *session,
                                              uint64_t *unsaved,
                                              struct leaflog_string *last_saved_id,
                                              struct leaflog_error **failure,
                                              struct leaflog_error **error);

/// What the messages say they cost.
leaflog_status leaflog_session_usage(const struct leaflog_session *session,
                                     struct leaflog_usage *usage,
                                     struct leaflog_error **error);

/// The name of a status, `NOT_FOUND`: NUL-terminated, of static lifetime. `UNKNOWN` for a number
/// that is none.
const char *leaflog_status_name(int32_t status);

/// The storage that is the file system. A session that is given it is kept in files, as one that is given none.
leaflog_status leaflog_storage_files(struct leaflog_storage **storage,
                                     struct leaflog_error **error);

/// An empty storage in memory.
leaflog_status leaflog_storage_memory(struct leaflog_storage **storage,
                                      struct leaflog_error **error);

/// A storage of the caller's own functions. The table is copied. After a failure its `release` is not called.
leaflog_status leaflog_storage_new(const struct leaflog_storage_functions *functions,
                                   struct leaflog_storage **storage,
                                   struct leaflog_error **error);

/// Frees the handle; sessions and writers of the storage go on. NULL is nothing to free.
leaflog_status leaflog_storage_free(struct leaflog_storage *storage);

/// Makes a folder and those above it.
leaflog_status leaflog_storage_ensure_dir(const struct leaflog_storage *storage,
                                          struct leaflog_str dir,
                                          struct leaflog_error **error);

/// Whether there is something at the path.
leaflog_status leaflog_storage_exists(const struct leaflog_storage *storage,
                                      struct leaflog_str path,
                                      bool *exists,
                                      struct leaflog_error **error);

/// What is in a file, or in its first `most` bytes; UINT64_MAX for all. Its bytes are given as they are, and are not
/// UTF-8 where the file is damaged. NOT_FOUND.
leaflog_status leaflog_storage_read_text(const struct leaflog_storage *storage,
                                         struct leaflog_str path,
                                         uint64_t most,
                                         struct leaflog_string *out,
                                         struct leaflog_error **error);

/// Makes `text`, any bytes, the content of a file, and the directories above it. The old content or the new is there
/// at any time.
leaflog_status leaflog_storage_write_text(const struct leaflog_storage *storage,
                                          struct leaflog_str path,
                                          struct leaflog_str text,
                                          struct leaflog_error **error);

/// Size and time of the last change, in milliseconds since 1970, of a file; each may be NULL. Sizes are bytes
/// for files and UTF-16 units in memory. NOT_FOUND.
leaflog_status leaflog_storage_stat(const struct leaflog_storage *storage,
                                    struct leaflog_str path,
                                    uint64_t *size,
                                    int64_t *modified_ms,
                                    struct leaflog_error **error);

/// The paths of the files of a folder that `pattern` names, `*`, `*.ext` or a name: one after another, a NUL
/// after each. Empty when the folder cannot be read.
leaflog_status leaflog_storage_list_files(const struct leaflog_storage *storage,
                                          struct leaflog_str dir,
                                          struct leaflog_str pattern,
                                          struct leaflog_string *out,
                                          struct leaflog_error **error);

/// The paths of the folders in a folder, hidden ones and links left out: one after another, a NUL after each. A storage
/// need not know of folders.
leaflog_status leaflog_storage_list_dirs(const struct leaflog_storage *storage,
                                         struct leaflog_str dir,
                                         struct leaflog_string *out,
                                         struct leaflog_error **error);

/// Puts a file in another's place. A missing one is not an error and changes nothing.
leaflog_status leaflog_storage_rename(const struct leaflog_storage *storage,
                                      struct leaflog_str from,
                                      struct leaflog_str to,
                                      struct leaflog_error **error);

/// Removes a file. A missing one is not an error.
leaflog_status leaflog_storage_unlink(const struct leaflog_storage *storage,
                                      struct leaflog_str path,
                                      struct leaflog_error **error);

/// Removes a session file of the file system and its folder of artifacts. INVALID_ARGUMENT for a path that does
/// not end in `.jsonl` and NOT_FOUND for a missing file: nothing is touched then.
leaflog_status leaflog_delete_session(struct leaflog_str path,
                                      struct leaflog_error **error);

/// Opens a file for writing lines, and makes the folders above it. `mode` is LEAFLOG_WRITER_APPEND or
/// LEAFLOG_WRITER_TRUNCATE.
leaflog_status leaflog_storage_open_writer(const struct leaflog_storage *storage,
                                           struct leaflog_str path,
                                           int32_t mode,
                                           struct leaflog_writer **writer,
                                           struct leaflog_error **error);

/// Writes a line, any bytes, which bring their newline. CLOSED after closing; the first error of the writer ever after.
leaflog_status leaflog_writer_write_line(struct leaflog_writer *writer,
                                         struct leaflog_str line,
                                         struct leaflog_error **error);

/// Hands on what is still in the writer.
leaflog_status leaflog_writer_flush(struct leaflog_writer *writer, struct leaflog_error **error);

/// Waits until what was written would survive a power cut. CLOSED after closing.
leaflog_status leaflog_writer_fsync(struct leaflog_writer *writer, struct leaflog_error **error);

/// Closes the file; closing again does nothing.
leaflog_status leaflog_writer_close(struct leaflog_writer *writer, struct leaflog_error **error);

/// The first error of the writer, as text; absent when it had none.
leaflog_status leaflog_writer_error(struct leaflog_writer *writer,
                                    struct leaflog_string *out,
                                    struct leaflog_error **error);

/// Frees a writer, and closes it. NULL is nothing to free.
leaflog_status leaflog_writer_free(struct leaflog_writer *writer);

/// How many handles and texts were handed out and not given back, those of other threads too: a
/// program that gave back everything reads 0.
size_t leaflog_live_handles(void);

/// The version of the library that runs, `1.2.3`: NUL-terminated, of static lifetime. The macro
/// LEAFLOG_VERSION is that of the header.
const char *leaflog_version(void);

/// The version of the library that runs as a number to compare: major * 1000000 + minor * 1000 +
/// patch. The macro LEAFLOG_VERSION_NUMBER is that of the header.
uint32_t leaflog_version_number(void);

/// The LEAFLOG_ABI_VERSION of the library that runs.
uint32_t leaflog_abi_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LEAFLOG_H */
