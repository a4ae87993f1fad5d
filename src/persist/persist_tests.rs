//! Scripts of a session's life, run over and over with one operation of the storage failing, for
//! every operation there is (R32, R53, R54).

#[path = "crash_images_tests.rs"]
mod crash_images;
#[path = "model_tests.rs"]
mod model;
#[path = "places_tests.rs"]
mod places;
#[path = "scripts_tests.rs"]
mod scripts;

use crate::manager::{ManagerOptions, SessionManager, TitleSource};
use crate::view::{SessionView, ViewOptions};
use crate::{AppendError, ErrorCode, Result};
use places::{Files, Place, Stored};
use std::path::{Path, PathBuf};

const USER: &str = r#"{"role":"user","content":"Hello"}"#;
const ASSISTANT: &str = r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}]}"#;

/// A message with an image that goes into the blob store: base64 of 1,200 zero bytes.
fn image() -> String {
    let data = "AAAA".repeat(400);
    format!(r#"{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#)
}

/// What must be found in a session's file.
struct Session {
    path: PathBuf,
    /// What was appended has to be on disk when the append returns.
    started: bool,
    entries: Vec<Expected>,
    /// The names that may be found; the last one is that in memory.
    names: Vec<Option<String>>,
    /// Lines that are no entries and stay.
    others: Vec<&'static str>,
}

struct Expected {
    id: String,
    /// The texts that may be found; the last one is that in memory.
    texts: Vec<String>,
    acknowledged: bool,
}

/// What a script calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Make,
    /// One that appends, flushes or closes.
    Write,
    /// One that writes the file anew.
    Rewrite,
    /// One after which the manager has another session.
    Leave,
    Move,
}

/// One run of a script.
struct Run<'p> {
    place: &'p dyn Place,
    manager: Option<SessionManager>,
    sessions: Vec<Session>,
    /// The session the manager has.
    current: usize,
    /// Calls of the script so far.
    calls: Vec<Call>,
    /// Calls that gave an error.
    failed: Vec<usize>,
    /// Files that were there before.
    given: Vec<PathBuf>,
    /// The operations of the storage, each with its call; only where nothing is to fail.
    operations: Option<Vec<(usize, String)>>,
}

/// Ids and texts of a view, in file order.
fn entries(view: &SessionView) -> Vec<(String, String)> {
    view.entries()
        .map(|entry| {
            let text = entry.loaded_text().unwrap();
            (entry.id().unwrap().into_owned(), String::from_utf8_lossy(text.json().bytes()).into_owned())
        })
        .collect()
}

fn expected(view: &SessionView) -> Vec<Expected> {
    let known = |(id, text)| Expected { id, texts: vec![text], acknowledged: true };
    entries(view).into_iter().map(known).collect()
}

impl<'p> Run<'p> {
    fn new(place: &'p dyn Place) -> Self {
        Self {
            place,
            manager: None,
            sessions: Vec::new(),
            current: 0,
            calls: Vec::new(),
            failed: Vec::new(),
            given: Vec::new(),
            operations: None,
        }
    }

    /// Puts a file where the script will find it.
    fn give(&mut self, path: &Path, text: &str) {
        self.place.put(path, text);
        self.given.push(path.to_owned());
    }

    /// Notes the outcome of a call.
    fn called<T>(&mut self, call: Call, result: Result<T>) -> Option<T> {
        let number = self.calls.len();
        self.calls.push(call);
        if let Some(operations) = &mut self.operations {
            operations.extend(self.place.end().into_iter().map(|operation| (number, operation)));
            self.place.plan(None, false);
        }
        if let Err(error) = &result {
            assert_eq!(error.code(), ErrorCode::Io, "{error}");
            self.failed.push(number);
        }
        result.ok()
    }

    /// Makes the manager. `others`: lines of its file that are no entries.
    fn make(&mut self, others: &[&'static str], make: impl FnOnce(ManagerOptions) -> Result<SessionManager>) {
        let made = make(self.place.options());
        let Some(manager) = self.called(Call::Make, made) else { return };
        self.manager = Some(manager);
        self.enter(others);
    }

    /// The manager has another session.
    fn enter(&mut self, others: &[&'static str]) {
        let manager = self.manager.as_ref().unwrap();
        let path = manager.session_file().unwrap().to_owned();
        let found = expected(manager);
        let names = vec![manager.title().map(str::to_owned)];
        let started = self.place.read(&path).is_some();
        self.current = self.sessions.iter().position(|session| session.path == path).unwrap_or(self.sessions.len());
        if let Some(known) = self.sessions.get_mut(self.current) {
            // What was left behind unsaved is gone, and nothing else.
            let is_found = |known: &Expected| found.iter().any(|found| found.id == known.id);
            assert!(known.entries.iter().all(|known| !known.acknowledged || is_found(known)));
            (known.entries, known.names, known.started) = (found, names, started);
        } else {
            self.sessions.push(Session { path, started, entries: found, names, others: others.to_vec() });
        }
    }

    /// A call that is refused while a failure is in force, and whose own failure stays in force.
    fn write<T>(&mut self, call: Call, write: impl FnOnce(&mut SessionManager) -> Result<T>) -> bool {
        let Some(manager) = &mut self.manager else { return false };
        let before = manager.persist_status().error;
        let result = write(manager);
        let after = manager.persist_status().error;
        if let Some(before) = before {
            // R32: later calls give the same failure.
            let error = result.as_ref().err().expect("refused while a failure is in force");
            assert_eq!(error.to_string(), before.to_string());
        }
        assert_eq!(result.as_ref().err().map(ToString::to_string), after.map(|error| error.to_string()));
        self.called(call, result).is_some()
    }

    /// An entry that starts the session.
    fn start(&mut self) {
        if let Some(session) = self.sessions.get_mut(self.current) {
            session.started = true;
        }
        self.append(|manager| manager.append_message(ASSISTANT));
    }

    fn append(&mut self, append: impl FnOnce(&mut SessionManager) -> Result<String, AppendError>) {
        let Some(manager) = &self.manager else { return };
        let (before, started) = (manager.entries().len(), self.sessions[self.current].started);
        let latched = manager.persist_status().error.is_some();
        let mut id = None;
        let done = if started {
            self.write(Call::Write, |manager| {
                let result = append(manager);
                id = result.as_ref().map_or_else(AppendError::entry_id, |id| Some(id)).map(str::to_owned);
                result.map_err(|error| error.error().clone())
            })
        } else {
            // Nothing is written before the session starts (R29): nothing can fail.
            assert!(!latched);
            let manager = self.manager.as_mut().unwrap();
            id = Some(append(manager).unwrap());
            self.called(Call::Write, Ok(())).is_some()
        };
        let manager = self.manager.as_ref().unwrap();
        // R32: in memory in any case, and the leaf.
        assert_eq!(manager.entries().len(), before + 1);
        let (leaf, text) = entries(manager).pop().unwrap();
        assert_eq!(manager.leaf().unwrap().id().unwrap(), leaf);
        // B23: the error has its id.
        assert_eq!(id.as_ref(), Some(&leaf));
        let session = &mut self.sessions[self.current];
        session.entries.push(Expected { id: leaf, texts: vec![text], acknowledged: false });
        if done && started {
            // Unsaved lines go first (R54).
            session.entries.iter_mut().for_each(|entry| entry.acknowledged = true);
        }
    }

    fn branch(&mut self, at: usize) {
        let Some(manager) = &mut self.manager else { return };
        manager.branch(&self.sessions[self.current].entries[at].id).unwrap();
    }

    fn rename(&mut self, name: &str) {
        let done = self.write(Call::Rewrite, |manager| manager.set_session_name(name, TitleSource::User));
        let Some(manager) = &self.manager else { return };
        let now = manager.title().map(str::to_owned);
        let session = &mut self.sessions[self.current];
        if done && session.started {
            session.names.clear();
            session.entries.iter_mut().for_each(|entry| entry.acknowledged = true);
        }
        session.names.push(now);
    }

    /// Rewrites with another text of a message.
    fn rewrite(&mut self, at: usize, content: &str) {
        let Some(manager) = &self.manager else { return };
        let id = self.sessions[self.current].entries[at].id.clone();
        let entry = manager.entry(&id).unwrap();
        let parent = entry.parent().and_then(|parent| parent.id()).map_or("null".into(), |id| format!("\"{id}\""));
        let text = format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-02-16T10:21:00.000Z","message":{{"role":"user","content":"{content}"}}}}"#
        );
        let latched = manager.persist_status().error.is_some();
        let done = self.write(Call::Rewrite, |manager| manager.rewrite_entries(&[(&id, &text)]));
        let session = &mut self.sessions[self.current];
        let texts = &mut session.entries[at].texts;
        if done {
            texts.clear();
        }
        if !latched {
            texts.push(text);
        }
        if done {
            session.started = true;
            session.entries.iter_mut().for_each(|entry| entry.acknowledged = true);
        }
    }

    /// A call after which the manager has another session, or still the old one.
    fn leave<T>(&mut self, leave: impl FnOnce(&mut SessionManager) -> Result<T>) {
        let Some(manager) = &mut self.manager else { return };
        let before =
            (manager.session_file().map(Path::to_owned), entries(manager), manager.header().json().to_string());
        let result = leave(manager);
        let done = result.is_ok();
        if !done {
            let after =
                (manager.session_file().map(Path::to_owned), entries(manager), manager.header().json().to_string());
            assert!(before == after, "{before:.200?} became {after:.200?}");
        }
        self.called(Call::Leave, result);
        if done {
            self.enter(&[]);
        }
    }

    /// Moves the session, entries and all.
    fn move_to(&mut self, cwd: &Path) {
        let Some(manager) = &mut self.manager else { return };
        let before = manager.session_file().unwrap().to_owned();
        let mine = entries(manager);
        // Opened in place of another project's session, it is in the directory of its own.
        let is_there = before.parent() == Some(&*manager.dir_after_move(cwd));
        let result = manager.move_to(cwd);
        assert_eq!(entries(manager), mine);
        let after = manager.session_file().unwrap().to_owned();
        assert_eq!(before == after, result.is_err() || is_there);
        if result.is_ok() {
            assert_eq!(self.place.read(&before).is_some(), is_there);
            let session = &mut self.sessions[self.current];
            session.path = after;
            session.entries.iter_mut().for_each(|entry| entry.acknowledged |= session.started);
        }
        self.called(Call::Move, result);
    }

    /// What was acknowledged is there, in order and whole; what is there was appended.
    fn check_files(&self, torn: usize) {
        for session in &self.sessions {
            let Some(bytes) = self.place.read(&session.path) else {
                assert!(!session.entries.iter().any(|entry| entry.acknowledged), "{:?} is gone", session.path);
                continue;
            };
            let view = ViewOptions::new().blobs(self.place.blobs()).read_bytes(bytes.clone()).unwrap();
            let mut found = entries(&view).into_iter().peekable();
            for entry in &session.entries {
                match found.next_if(|(id, _)| *id == entry.id) {
                    Some((_, text)) => {
                        assert!(entry.texts.contains(&text), "{text:.300} is none of {:.300?}", entry.texts)
                    }
                    None => assert!(!entry.acknowledged, "{} is lost, next is {:?}", entry.id, found.peek()),
                }
            }
            assert_eq!(found.next(), None, "never appended, or out of order");
            assert!(session.names.contains(&view.title().map(str::to_owned)), "{:?}", view.title());
            let report = view.report().unwrap();
            // Nothing is fused; a torn piece stands alone, and is the last line.
            assert_eq!(report.trailing_text, []);
            assert_eq!(report.duplicate_ids, []);
            assert_eq!(report.missing_blobs, []);
            let text = String::from_utf8(bytes).unwrap();
            assert!(session.others.iter().all(|other| text.lines().any(|line| line == *other)), "{text}");
            assert!(report.skipped_lines.len() <= session.others.len() + torn, "{:?}\n{text}", report.skipped_lines);
        }
    }

    /// With the fault gone everything in memory can be written (R32), and nothing else stays.
    fn check_retry(&mut self, nothing_works: bool) {
        if let Some(manager) = &mut self.manager {
            manager.ensure_on_disk().unwrap();
            let status = manager.persist_status();
            assert!(status.error.is_none());
            assert_eq!(status.unsaved, 0);
            let session = &mut self.sessions[self.current];
            session.started = true;
            session.names = vec![manager.title().map(str::to_owned)];
            for entry in &mut session.entries {
                entry.acknowledged = true;
                entry.texts.drain(..entry.texts.len() - 1);
            }
            self.append(|manager| manager.append_message(USER));
            self.append(|manager| manager.append_message(&image()));
            self.check_files(1);
        }
        // What is visible is a session of the script, or was set aside.
        for path in self.place.visible() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let known = self.sessions.iter().any(|session| session.path == path) || self.given.contains(&path);
            // Where nothing can be removed either, a whole copy may stay.
            assert!(known || name.contains(".invalid-") || nothing_works, "{name} is left");
        }
        for session in &self.sessions {
            if self.place.read(&session.path).is_none() {
                continue;
            }
            let mut again = self.place.options().open(&session.path).unwrap();
            let ids = |entries: Vec<(String, String)>| entries.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
            let acknowledged = session.entries.iter().filter(|entry| entry.acknowledged).count();
            assert!(again.entries().len() >= acknowledged);
            let new = again.append_message(ASSISTANT).unwrap();
            let bytes = self.place.read(&session.path).unwrap();
            let view = ViewOptions::new().read_bytes(bytes).unwrap();
            assert_eq!(ids(entries(&view)), ids(entries(&again)));
            assert_eq!(view.leaf().unwrap().id().unwrap(), new);
            // What a failed rewrite left is gone when the session is opened.
            let name = format!(".{}.tmp", session.path.file_name().unwrap().to_string_lossy());
            assert_eq!(self.place.read(&session.path.with_file_name(name)), None);
        }
        if !nothing_works {
            assert_eq!(self.place.temporary(), Vec::<PathBuf>::new());
        }
    }
}

type Script = fn(&mut Run<'_>);

/// Runs a script with nothing failing, then once for every operation and every way it can fail.
fn every_fault(make: impl Fn() -> Box<dyn Place>, script: Script) {
    let operations = {
        let place = make();
        let mut run = Run::new(&*place);
        run.operations = Some(Vec::new());
        place.plan(None, false);
        script(&mut run);
        place.end();
        assert_eq!(run.failed, Vec::<usize>::new());
        assert!(run.sessions.iter().all(|session| session.entries.iter().all(|entry| entry.acknowledged)));
        run.check_files(0);
        let operations = run.operations.take().unwrap();
        run.check_retry(false);
        operations
    };
    assert!(operations.len() > 3, "{operations:?}");
    for (at, (call, operation)) in operations.iter().enumerate() {
        let place = make();
        for fault in place.faults(operation) {
            for stays in [false, true] {
                let place = make();
                let mut run = Run::new(&*place);
                place.plan(Some((at, fault)), stays);
                let context = Context(format!("operation {at} {operation} of call {call}: {fault:?}, stays {stays}"));
                script(&mut run);
                place.end();
                // Where no disk is full for good, what was torn is cut back.
                run.check_files(usize::from(stays || !place.cuts_back()));
                let reported = run.failed.contains(call);
                assert!(reported || is_best_effort(operation, run.calls[*call]), "not reported");
                assert!(!reported || run.failed.iter().all(|failed| failed >= call));
                run.check_retry(stays);
                drop(context);
            }
        }
    }
}

/// Nobody is told that the operation failed, and nothing is lost by it: a leftover is removed when
/// the session is opened next; a writer is closed whose file is written anew.
fn is_best_effort(operation: &str, call: Call) -> bool {
    match operation {
        "Hidden" => true,
        "Unlink" => call != Call::Move,
        "flush" | "close" => call == Call::Rewrite,
        _ => false,
    }
}

/// Says what was being tested when a test fails.
struct Context(String);

impl Drop for Context {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

fn in_files(script: Script) {
    every_fault(|| Box::new(Files::new()), script);
}

fn in_a_storage(script: Script) {
    every_fault(|| Box::new(Stored::new()), script);
}
