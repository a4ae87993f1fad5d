"""The C interface from Python, with nothing but ctypes: open a session, print its tree, append, search the prompts.

    python3 session.py <libleaflog.so> <session file> <history.db>
"""

import ctypes
import json
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p


class Str(ctypes.Structure):
    """A text that is lent: leaflog_str, and leaflog_string for one that is owned."""

    _fields_ = [("data", c_void_p), ("len", c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.len).decode() if self.data else ""


class Id(ctypes.Structure):
    _fields_ = [("text", c_char * 24)]


class Entry(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("id", Str),
        ("parent_id", Str),
        ("type_name", Str),
        ("role", Str),
        ("label", Str),
        ("time_ms", c_int64),
        ("position", c_uint64),
        ("depth", c_uint64),
        ("line", c_uint64),
        ("offset", c_uint64),
        ("len", c_uint64),
        ("is_superseded", c_int32),
    ]


class Prompt(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("id", c_int64), ("created_at", c_int64), ("prompt", Str), ("cwd", Str)]


OK, END, STORED = 0, 103, 0


class Leaflog:
    """The library. Handles are c_void_p; whoever gets one frees it."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("leaflog_error_text", "leaflog_status_name", "leaflog_version"):
            getattr(self.lib, name).restype = c_char_p
        self.lib.leaflog_live_handles.restype = c_size_t
        self.lib.leaflog_error_text.argtypes = [c_void_p]

    def __call__(self, name, *arguments):
        """Calls a function with a place for its error, and raises the error."""
        error = c_void_p()
        status = getattr(self.lib, "leaflog_" + name)(*arguments, byref(error))
        if status in (OK, END):
            return status
        text = self.lib.leaflog_error_text(error).decode()
        self.lib.leaflog_error_free(error)
        raise OSError(f"{self.lib.leaflog_status_name(status).decode()}: {text}")

    def take(self, name, *arguments):
        """Calls a function that makes a text, and takes the text."""
        out = Str()
        self(name, *arguments, byref(out))
        text = str(out)
        self.lib.leaflog_string_free(byref(out))
        return text


def lend(text):
    """A text for the library, with what keeps it alive."""
    data = text.encode()
    str_ = Str(ctypes.cast(c_char_p(data), c_void_p), len(data))
    str_.keep = data
    return str_


def print_tree(leaflog, session):
    entries, entry, text = c_void_p(), Entry(struct_size=ctypes.sizeof(Entry)), Str()
    leaflog("session_tree", session, byref(entries))
    while leaflog("entries_next", entries, byref(entry)) == OK:
        leaflog("entries_json", entries, STORED, byref(text))
        message = json.loads(str(text)).get("message") or {}
        label = f" [{entry.label}]" if entry.label.data else ""
        print("  " * entry.depth + f"{entry.type_name} {entry.role}{label} {json.dumps(message.get('content', ''))[:60]}")
    leaflog.lib.leaflog_entries_free(entries)


def search_history(leaflog, path, query):
    history, prompts, prompt = c_void_p(), c_void_p(), Prompt(struct_size=ctypes.sizeof(Prompt))
    leaflog("history_open", lend(path), byref(history))
    leaflog("history_add", history, lend("When is high water at the old pier?"), lend("/home/ada/tides"))
    leaflog("history_add", history, lend("And tomorrow?"), Str())
    leaflog("history_flush", history)
    leaflog("history_search", history, lend(query), c_uint64(10), byref(prompts))
    at = 0
    while leaflog("prompts_get", prompts, c_uint64(at), byref(prompt)) == OK:
        print(f"found: {prompt.prompt} ({prompt.cwd})")
        at += 1
    leaflog.lib.leaflog_prompts_free(prompts)
    leaflog("history_close", history)
    leaflog.lib.leaflog_history_free(history)


def main(library, path, history):
    leaflog = Leaflog(library)
    print("leaflog", leaflog.lib.leaflog_version().decode())
    session, new_id = c_void_p(), Id()
    leaflog("session_open", lend(path), None, byref(session))
    message = {"role": "user", "content": "And tomorrow?"}
    leaflog("session_append_message", session, lend(json.dumps(message)), byref(new_id))
    print_tree(leaflog, session)
    entry = json.loads(leaflog.take("session_entry_json", session, lend(new_id.text.decode()), STORED))
    assert entry["message"] == message, entry
    try:
        leaflog("session_branch", session, lend("nobody"))
        raise AssertionError("a leaf that is not there")
    except OSError as error:
        print(error)
    leaflog("session_close", session)
    leaflog.lib.leaflog_session_free(session)
    search_history(leaflog, history, "pier hi")
    assert leaflog.lib.leaflog_live_handles() == 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
