//! Every error says which file, which line where there is one, what happened and why, and has a
//! code that never changes.
#![allow(clippy::unwrap_used)]

mod support;

use leaflog::{AppendError, Error, ErrorCode, Leaf, SessionView, ViewOptions};
use std::path::{Path, PathBuf};

/// A folder for one test's files.
struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn refused(path: &Path) -> Error {
    match SessionView::open(path) {
        Ok(view) => panic!("{} opened: {view:?}", path.display()),
        Err(error) => error,
    }
}

/// The code, the line, and the text with the path in it replaced.
fn told(error: &Error, path: &Path) -> (ErrorCode, Option<u64>, String) {
    assert_eq!(error.path(), Some(path));
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (error.code(), error.line(), text.replace(&path.display().to_string(), "FILE"))
}

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

// What a program shows whose `main` returns an error.
#[test]
fn debug_is_for_people_too() {
    let dir = Dir::new();
    let path = dir.path("none.jsonl");
    let error = refused(&path);
    let shown = format!("{error:?}");
    assert!(shown.starts_with(&format!("NOT_FOUND: {}: cannot open the session: ", path.display())), "{shown}");
    let parts = format!("{error:#?}");
    assert!(parts.contains("code: NotFound,") && parts.contains("kind: NotFound,"), "{parts}");
    let view = SessionView::open(dir.file("s.jsonl", HEADER)).unwrap();
    assert_eq!(format!("{:?}", view.header()), "Header({\"type\":\"session\",\"version\":3,\"id\":\"s\"})");
}

/// The error and its causes, as reports print them.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(|error| format!("{error}\n")).collect()
}

// B13: the cause stands in the line that is printed, and a report with all causes does not repeat it.
#[test]
fn b13_a_cause_is_printed_once() {
    let path = Path::new("/home/ada/shop");
    let full = || std::io::Error::from_raw_os_error(28);
    let error = Error::io(full(), "cannot write the session", path);
    let cause = full().to_string();
    assert_eq!(error.to_string(), format!("/home/ada/shop: cannot write the session: {cause}"));
    assert_eq!(chain(&error).matches(&cause).count(), 1, "{}", chain(&error));
    assert_eq!(error.io_error().unwrap().raw_os_error(), Some(28));
    // A cause that has one itself: that is not in the line, so it comes after it.
    let inner = Error::io(full(), "cannot read the source", Path::new("/source"));
    let outer = std::io::Error::other(inner);
    let chained = chain(&Error::io(outer, "cannot copy", path));
    assert_eq!(chained.matches(&cause).count(), 1, "{chained}");
    // Of an append too.
    let unsaved = AppendError::Unsaved { id: "0badcafe".to_owned(), error };
    assert_eq!(chain(&unsaved).matches(&cause).count(), 1, "{}", chain(&unsaved));
    // And on the way into a function of the standard library's kind.
    let io = std::io::Error::from(unsaved);
    assert_eq!(io.kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(chain(&io).matches(&cause).count(), 1, "{}", chain(&io));
    let io = std::io::Error::from(Error::entry_not_found("0badcafe"));
    assert_eq!((io.kind(), io.to_string().as_str()), (std::io::ErrorKind::NotFound, "Entry 0badcafe not found"));
}

// B13: an error of which there is a copy can be completed as any other; the copy stays as it was.
#[test]
fn b13_a_copy_is_a_value_of_its_own() {
    let error = Error::new(ErrorCode::Locked, "busy");
    let placed = error.clone().at(Path::new("/a"));
    let elsewhere = placed.clone().at(Path::new("/b"));
    let texts = [&error, &placed, &elsewhere].map(ToString::to_string);
    assert_eq!(texts, ["busy", "/a: busy", "/b: busy"]);
}

#[test]
fn kinds_can_be_asked_for() {
    type Ask = fn(&Error) -> bool;
    let table: [(ErrorCode, Ask); 7] = [
        (ErrorCode::NotFound, Error::is_not_found),
        (ErrorCode::EntryNotFound, Error::is_entry_not_found),
        (ErrorCode::Locked, Error::is_locked),
        (ErrorCode::PermissionDenied, Error::is_permission_denied),
        (ErrorCode::AlreadyExists, Error::is_already_exists),
        (ErrorCode::Gone, Error::is_gone),
        (ErrorCode::InvalidArgument, Error::is_invalid_argument),
    ];
    for &code in ErrorCode::ALL {
        let error = Error::new(code, "");
        for (asked, ask) in table {
            assert_eq!(ask(&error), asked == code, "{code} {asked}");
        }
    }
}

// Names and numbers as they were first given out: this table is only ever added to.
#[test]
fn codes_are_frozen() {
    let table = [
        (ErrorCode::NotFound, 1, "NOT_FOUND"),
        (ErrorCode::IsADirectory, 2, "IS_A_DIRECTORY"),
        (ErrorCode::PermissionDenied, 3, "PERMISSION_DENIED"),
        (ErrorCode::NotASession, 4, "NOT_A_SESSION"),
        (ErrorCode::EntryNotFound, 5, "ENTRY_NOT_FOUND"),
        (ErrorCode::FileChanged, 6, "FILE_CHANGED"),
        (ErrorCode::Ambiguous, 7, "AMBIGUOUS"),
        (ErrorCode::InvalidArgument, 8, "INVALID_ARGUMENT"),
        (ErrorCode::Io, 9, "IO"),
        (ErrorCode::Locked, 10, "LOCKED"),
        (ErrorCode::Closed, 11, "CLOSED"),
        (ErrorCode::AlreadyExists, 12, "ALREADY_EXISTS"),
        (ErrorCode::Gone, 13, "GONE"),
    ];
    assert_eq!(ErrorCode::ALL, table.map(|(code, ..)| code));
    for (code, number, name) in table {
        assert_eq!((code as i32, code.as_str(), code.to_string()), (number, name, name.to_owned()));
    }
}

// The numbers are those of Linux's errno.h.
#[cfg(target_os = "linux")]
#[test]
fn codes_of_the_system() {
    let table = [
        (1, "EPERM", ErrorCode::PermissionDenied),
        (2, "ENOENT", ErrorCode::NotFound),
        (5, "EIO", ErrorCode::Io),
        (13, "EACCES", ErrorCode::PermissionDenied),
        (17, "EEXIST", ErrorCode::AlreadyExists),
        (18, "EXDEV", ErrorCode::Io),
        (20, "ENOTDIR", ErrorCode::Io),
        (21, "EISDIR", ErrorCode::IsADirectory),
        (22, "EINVAL", ErrorCode::Io),
        (23, "ENFILE", ErrorCode::Io),
        (24, "EMFILE", ErrorCode::Io),
        (27, "EFBIG", ErrorCode::Io),
        (28, "ENOSPC", ErrorCode::Io),
        (30, "EROFS", ErrorCode::PermissionDenied),
        (36, "ENAMETOOLONG", ErrorCode::Io),
        (39, "ENOTEMPTY", ErrorCode::AlreadyExists),
        (40, "ELOOP", ErrorCode::Io),
        (116, "ESTALE", ErrorCode::Io),
        (122, "EDQUOT", ErrorCode::Io),
    ];
    for (number, name, code) in table {
        let path = Path::new("/home/ada/shop");
        let error = Error::io(std::io::Error::from_raw_os_error(number), "cannot do it", path);
        assert_eq!((error.code(), error.os_errno(), error.path()), (code, Some(number), Some(path)), "{name}");
        assert!(error.to_string().starts_with("/home/ada/shop: cannot do it: "), "{error}");
    }
}

#[test]
fn a_missing_file() {
    let dir = Dir::new();
    for path in [dir.path("none.jsonl"), dir.path("no/folder/none.jsonl")] {
        let error = refused(&path);
        let (code, line, text) = told(&error, &path);
        assert_eq!((code, line), (ErrorCode::NotFound, None));
        assert!(text.starts_with("FILE: cannot open the session: "), "{text}");
        assert_eq!(error.os_errno(), Some(2), "ENOENT");
        assert!(error.io_error().is_some());
    }
}

#[test]
fn a_folder() {
    let dir = Dir::new();
    let error = refused(dir.0.path());
    let (code, line, text) = told(&error, dir.0.path());
    assert_eq!((code, line), (ErrorCode::IsADirectory, None));
    assert_eq!(text, "FILE: this is a folder, not a session file");
    assert!(std::error::Error::source(&error).is_none());
}

#[cfg(unix)]
#[test]
fn a_path_below_a_file() {
    let dir = Dir::new();
    let path = dir.file("file", HEADER).join("below.jsonl");
    let error = refused(&path);
    let (code, line, text) = told(&error, &path);
    assert_eq!((code, line), (ErrorCode::Io, None));
    assert!(text.starts_with("FILE: cannot open the session: "), "{text}");
    assert_eq!(error.os_errno(), Some(20), "ENOTDIR");
}

#[cfg(unix)]
#[test]
fn a_link_to_itself() {
    let dir = Dir::new();
    let path = dir.path("loop.jsonl");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let (code, ..) = told(&refused(&path), &path);
    assert_eq!(code, ErrorCode::Io);
}

/// Set in the child that has no rights: the file it may not read.
const FORBIDDEN: &str = "LEAFLOG_TEST_FORBIDDEN";

// Root reads everything, so as root a child without rights does the test.
#[cfg(unix)]
#[test]
fn a_file_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    if let Some(path) = std::env::var_os(FORBIDDEN) {
        let path = PathBuf::from(path);
        let error = refused(&path);
        let (code, line, text) = told(&error, &path);
        assert_eq!((code, line), (ErrorCode::PermissionDenied, None));
        assert!(text.starts_with("FILE: cannot open the session: "), "{text}");
        assert_eq!(error.os_errno(), Some(13), "EACCES");
        println!("checked without rights");
        return;
    }
    let dir = Dir::new();
    let path = dir.file("private.jsonl", HEADER);
    std::fs::set_permissions(dir.0.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    let name = "a_file_without_permission";
    let mut child = if std::fs::File::open(&path).is_ok() {
        // The test program may lie where nobody else may go.
        let program = dir.path("program");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut child = std::process::Command::new("setpriv");
        child.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).current_dir("/");
        child
    } else {
        std::process::Command::new(std::env::current_exe().unwrap())
    };
    match child.args(["--exact", name, "--nocapture"]).env(FORBIDDEN, &path).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let complaint = String::from_utf8_lossy(&output.stderr);
            if complaint.contains("setpriv:") {
                support::skip(format_args!("running as root, and setpriv cannot give up rights: {complaint}"));
                return;
            }
            assert!(output.status.success() && text.contains("checked without rights"), "{text}{complaint}");
        }
        Err(error) => support::skip(format_args!("running as root, and there is no setpriv: {error}")),
    }
}

// R15, R16: what is no session, with the line it was seen on.
#[test]
fn files_that_are_no_sessions() {
    let dir = Dir::new();
    let cases: &[(&str, &[u8], Option<u64>, &str)] = &[
        ("empty", b"", None, "FILE: not a session: the file is empty"),
        ("text", b"Dear diary,\n\ntoday\n", Some(1), "FILE:1: not a session: the line is not JSON"),
        ("cut", b"{\"type\":\"session\",\"id\":\"s\"", Some(1), "FILE:1: not a session: the line is not JSON"),
        ("binary", b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe", Some(1), "FILE:1: not a session: the line is not JSON"),
        (
            "json",
            b"{\"name\":\"x\",\"version\":\"1\"}\n",
            Some(1),
            "FILE:1: not a session: no line is a session header",
        ),
        (
            "entries",
            b"{\"type\":\"message\",\"id\":\"a\"}\n",
            Some(1),
            "FILE:1: not a session: no line is a session header",
        ),
        (
            "no id",
            b"{\"type\":\"session\",\"version\":3}\n",
            Some(1),
            "FILE:1: not a session: the header has no string id",
        ),
        (
            "number id",
            b"{\"type\":\"session\",\"id\":7}\n",
            Some(1),
            "FILE:1: not a session: the header has no string id",
        ),
        (
            "array",
            b"[{\"type\":\"session\",\"id\":\"s\"}]\n",
            Some(1),
            "FILE:1: not a session: no line is a session header",
        ),
        (
            "inner",
            b"{\"a\":{\"type\":\"session\",\"id\":\"s\"}}\n",
            Some(1),
            "FILE:1: not a session: no line is a session header",
        ),
        ("blank", b"\n\n  \n\0\0\n", Some(1), "FILE:1: not a session: no line is a session header"),
    ];
    for (name, text, line, message) in cases {
        let path = dir.file(name, text);
        let error = refused(&path);
        assert_eq!(told(&error, &path), (ErrorCode::NotASession, *line, (*message).to_owned()), "{name}");
        // Reading never changes what it refuses (F4).
        assert_eq!(std::fs::read(&path).unwrap(), *text, "{name}");
        // From bytes there is no path, and the same code.
        let error = ViewOptions::new().read_bytes(*text).unwrap_err();
        assert_eq!((error.code(), error.path()), (ErrorCode::NotASession, None), "{name}");
        assert!(message.ends_with(&error.to_string()), "{error}");
    }
}

// R13: a newer version opens, and is reported.
#[test]
fn a_newer_version() {
    let dir = Dir::new();
    let path = dir.file(
        "newer.jsonl",
        HEADER.replace('3', "17")
            + "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"hookMessage\"}}\n",
    );
    let view = SessionView::open(&path).unwrap();
    assert_eq!((view.header().version, view.is_migrated()), (17, false));
    let report = view.report().unwrap();
    assert_eq!((report.newer_version, report.is_empty()), (Some(17), false));
    assert_eq!(report.to_string(), "version 17 is newer than version 3, the newest known here\n");
    assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), 1);
}

// R19: the words an agent looks for.
#[test]
fn an_unknown_leaf() {
    let dir = Dir::new();
    let path = dir.file("s.jsonl", format!("{HEADER}{{\"type\":\"x\",\"id\":\"a\"}}\n"));
    let view = SessionView::open(&path).unwrap();
    for error in [view.context(Leaf::Id("zz")).unwrap_err(), view.branch("zz").unwrap_err()] {
        assert_eq!(told(&error, &path), (ErrorCode::EntryNotFound, None, "FILE: Entry zz not found".to_owned()));
    }
    let view = ViewOptions::new().read_bytes(HEADER).unwrap();
    let error = view.branch("").unwrap_err();
    assert_eq!(
        (error.code(), error.path(), error.to_string().as_str()),
        (ErrorCode::EntryNotFound, None, "Entry  not found")
    );
    // No leaf is no error (R23).
    assert_eq!(view.context(Leaf::Last).unwrap().messages().len(), 0);
    assert_eq!(view.context(Leaf::Before).unwrap().messages().len(), 0);
}

// A file cut short while it is open: what is gone is an error, what is there can be read.
#[test]
fn a_file_cut_short_while_open() {
    let dir = Dir::new();
    let entry = |id: &str, parent: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
        )
    };
    let keep = format!("{HEADER}{}", entry("a", "null"));
    let path = dir.file("s.jsonl", format!("{keep}{}", entry("b", "\"a\"")));
    let view = SessionView::open(&path).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(keep.len() as u64).unwrap();
    let gone = "FILE: the file was cut short while it was open".to_owned();
    let changed = (ErrorCode::FileChanged, None, gone);
    assert_eq!(told(&view.entry("b").unwrap().text().unwrap_err(), &path), changed);
    assert_eq!(told(&view.entry("b").unwrap().loaded_text().unwrap_err(), &path), changed);
    assert_eq!(told(&view.context(Leaf::Last).unwrap_err(), &path), changed);
    assert_eq!(view.entry("a").unwrap().text().unwrap().id().unwrap(), "a");
    assert_eq!(view.context(Leaf::Id("a")).unwrap().messages().len(), 1);
    // The tree is the index: it needs no file.
    assert_eq!(view.branch("b").unwrap().len(), 2);
}

// A reader that fails: the cause is handed on.
#[test]
fn a_reader_that_fails() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the line is dead"))
        }
    }
    let error = ViewOptions::new().read_from(Broken).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Io);
    assert_eq!(error.to_string(), "<reader>: cannot read the session: the line is dead");
}

// A device may have no end: it is not read.
#[test]
#[cfg(unix)]
fn a_device_is_no_session() {
    assert_eq!(SessionView::open("/dev/null").unwrap_err().code(), ErrorCode::InvalidArgument);
}
