//! Which session a terminal had last (R3, F22; part C, Terminal id).

use crate::common::{Home, changed_at};
use leaflog::{Environment, ManagerOptions};
use std::fs;
use std::path::{Path, PathBuf};

const ANSWER: &str = r#"{"role":"assistant","content":[],"provider":"p","model":"m"}"#;

fn on_terminal(home: &Home, id: &str) -> ManagerOptions {
    home.options().environment(home.environment().terminal(Some(id)))
}

fn place(home: &Home, id: &str) -> PathBuf {
    home.path.join(".xcsh/agent/terminal-sessions").join(id)
}

/// The lines of a terminal's breadcrumb.
fn crumb(home: &Home, id: &str) -> String {
    fs::read_to_string(place(home, id)).unwrap()
}

fn says(cwd: &Path, file: Option<&Path>) -> String {
    format!("{}\n{}\n", cwd.display(), file.unwrap().display())
}

#[test]
fn r3_terminal_ids() {
    let id = |vars: &[(&str, &str)]| {
        // The standard input of the tests may be a terminal, which comes first.
        let env = Environment::from_vars(vars.iter().copied());
        env.terminal_id().filter(|id| !id.starts_with("pts-") && !id.starts_with("tty"))
    };
    let all = [("KITTY_WINDOW_ID", "7"), ("TMUX_PANE", "%3"), ("TERM_SESSION_ID", "w0t1/p0"), ("WT_SESSION", "a\\b")];
    let given = |from: usize| id(&all[from..]);
    if Environment::from_vars([("X", "")]).terminal_id().is_some() {
        println!("the standard input is a terminal: variables are not tested");
    } else {
        assert_eq!(given(0).as_deref(), Some("kitty-7"));
        assert_eq!(given(1).as_deref(), Some("tmux-%3"));
        assert_eq!(given(2).as_deref(), Some("apple-w0t1-p0"));
        assert_eq!(given(3).as_deref(), Some("wt-a-b"));
        assert_eq!(id(&[("TMUX_PANE", "")]), None);
    }
    // What is said comes first, and is a plain name always.
    let said = |name: Option<&str>| Environment::from_vars(all).terminal(name).terminal_id();
    assert_eq!(said(Some("pts/3")).as_deref(), Some("pts-3"));
    assert_eq!(said(Some("../../x")).as_deref(), Some("..-..-x"));
    for none in [None, Some(""), Some("."), Some("..")] {
        assert_eq!(said(none), None);
    }
}

// The device of the standard input, as a process on a terminal of its own has it.
#[cfg(target_os = "linux")]
#[test]
fn r3_the_device_of_the_standard_input() {
    use std::process::{Command, Stdio};
    const CHILD: &str = "LEAFLOG_TEST_SAY_TERMINAL";
    if std::env::var_os(CHILD).is_some() {
        println!("terminal id: {}", Environment::process().terminal_id().unwrap_or_default());
        return;
    }
    let this = std::env::current_exe().unwrap();
    let test = "breadcrumbs::r3_the_device_of_the_standard_input";
    let command = format!("tty; {CHILD}=1 TMUX_PANE=%1 {} --exact {test} --nocapture", this.display());
    let script = Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(output) = script else {
        println!("no program `script`, the id of a terminal is not tested");
        return;
    };
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let device = output.lines().next().unwrap().trim().strip_prefix("/dev/").unwrap();
    let want = format!("terminal id: {}", device.replace('/', "-"));
    assert!(output.lines().any(|line| line.trim_end().ends_with(&want)), "{want} in {output}");
}

// R3: a session that could not be made leaves the terminal with the one it had.
#[test]
fn r3_a_fork_that_fails_leaves_no_breadcrumb() {
    let home = Home::new();
    let cwd = home.project("work");
    let mut session = on_terminal(&home, "pts-1").create(&cwd).unwrap();
    session.append_message(ANSWER).unwrap();
    let before = crumb(&home, "pts-1");
    let invalid = home.path.join("notes.jsonl");
    fs::write(&invalid, "notes\n").unwrap();
    for source in [home.path.join("none.jsonl"), invalid] {
        on_terminal(&home, "pts-1").fork_from(&source, &cwd).unwrap_err();
        assert_eq!(crumb(&home, "pts-1"), before);
    }
}

// R3: every operation that gives the terminal a session says so.
#[test]
fn r3_who_leaves_breadcrumbs() {
    let home = Home::new();
    let (cwd, other) = (home.project("work"), home.project("other"));
    let options = || on_terminal(&home, "pts-1");
    let mut session = options().create(&cwd).unwrap();
    let check = |cwd: &Path, file: Option<&Path>, what: &str| {
        assert_eq!(crumb(&home, "pts-1"), says(cwd, file), "{what}");
        fs::remove_file(place(&home, "pts-1")).unwrap();
    };
    check(&cwd, session.session_file(), "create");
    session.append_message(ANSWER).unwrap();
    let first = session.session_file().unwrap().to_owned();
    session.new_session(None).unwrap();
    check(&cwd, session.session_file(), "new_session");
    session.set_session_file(&first).unwrap();
    check(&cwd, Some(&first), "set_session_file");
    let state = session.capture_state();
    let fork = session.fork().unwrap().unwrap();
    check(&cwd, Some(&fork.new_session_file), "fork");
    let leaf = session.leaf().unwrap().id().unwrap().into_owned();
    let branched = session.create_branched_session(&leaf).unwrap();
    check(&cwd, branched.as_deref(), "create_branched_session");
    session.restore_state(state);
    check(&cwd, Some(&first), "restore_state");
    session.move_to(&other).unwrap();
    check(&other, session.session_file(), "move_to");
    let moved = session.session_file().unwrap().to_owned();
    options().open(&moved).unwrap();
    check(&other, Some(&moved), "open");
    let copy = options().fork_from(&moved, &cwd).unwrap();
    check(&cwd, copy.session_file(), "fork_from");
    options().continue_recent(&other).unwrap();
    check(&other, Some(&moved), "continue_recent");
    // What leaves none: a session that is kept nowhere, and a program on no terminal.
    options().in_memory(&cwd).unwrap();
    home.options().environment(home.environment().terminal(None)).create(&cwd).unwrap();
    assert!(!place(&home, "pts-1").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        options().create(&cwd).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place(&home, "pts-1")), mode(&place(&home, ""))), (0o600, 0o700));
    }
}

// R3: two terminals in one project go on with their own sessions, not with the newest.
#[test]
fn r3_two_terminals() {
    let home = Home::new();
    let cwd = home.project("work");
    let mut files = Vec::new();
    for terminal in ["pts-1", "pts-2"] {
        let mut session = on_terminal(&home, terminal).create(&cwd).unwrap();
        session.append_message(ANSWER).unwrap();
        files.push(session.session_file().unwrap().to_owned());
    }
    changed_at(&files[0], 1);
    changed_at(&files[1], 2);
    let goes_on = |terminal: &str, cwd: &Path| {
        on_terminal(&home, terminal).continue_recent(cwd).unwrap().session_file().unwrap().to_owned()
    };
    assert_eq!(goes_on("pts-1", &cwd), files[0]);
    assert_eq!(goes_on("pts-2", &cwd), files[1]);
    assert_eq!(goes_on("pts-3", &cwd), files[1], "the newest");
    // In another project it begins a new one, and that is this terminal's then.
    let other = home.project("other");
    assert!(!files.contains(&goes_on("pts-1", &other)));
    assert_eq!(goes_on("pts-1", &cwd), files[1]);
}

// R3: a breadcrumb that leads nowhere, or to what is no session, is passed over.
#[test]
fn r3_breadcrumbs_that_lead_nowhere() {
    let home = Home::new();
    let cwd = home.project("work");
    let newest = home.session(&home.absolute_name("work"), "newest", &cwd);
    let empty = home.file("--x--/empty.jsonl", "");
    let foreign = home.file("--x--/foreign.jsonl", "hello\n");
    let good = home.session("--x--", "good", &cwd);
    let says = |file: &Path| format!("{}\n{}\n", cwd.display(), file.display());
    let folder = home.sessions();
    let missing = home.path.join("missing.jsonl");
    let cases = [&empty, &foreign, &folder, &missing].map(|file| (says(file), &newest));
    let odd = ["", "\n", "\n\n", "x", &format!("{}\n", cwd.display())].map(|text| (text.to_owned(), &newest));
    let right = [(says(&good), &good), (says(&good) + "more\n", &good), (says(&good).trim_end().to_owned(), &good)];
    for (text, want) in cases.into_iter().chain(odd).chain(right) {
        fs::create_dir_all(place(&home, "")).unwrap();
        fs::write(place(&home, "pts-1"), &text).unwrap();
        let session = on_terminal(&home, "pts-1").continue_recent(&cwd).unwrap();
        assert_eq!(session.session_file(), Some(&**want), "{text:?}");
    }
    // One that cannot be written is no error.
    let dir = home.path.join(".xcsh/agent/terminal-sessions");
    fs::remove_dir_all(&dir).unwrap();
    fs::write(&dir, "a file").unwrap();
    let session = on_terminal(&home, "pts-1").continue_recent(&cwd).unwrap();
    assert_eq!(session.session_file(), Some(&*newest));
}

// F22: with an explicit folder the breadcrumb counts only when its file is inside.
#[test]
fn f22_an_explicit_folder_comes_first() {
    let home = Home::new();
    let cwd = home.project("work");
    let mut session = on_terminal(&home, "pts-1").create(&cwd).unwrap();
    session.append_message(ANSWER).unwrap();
    let explicit = home.path.join("explicit");
    let in_explicit = |options: ManagerOptions| {
        let session = options.session_dir(&explicit).continue_recent(&cwd).unwrap();
        session.session_file().unwrap().to_owned()
    };
    let fresh = in_explicit(on_terminal(&home, "pts-1"));
    assert!(fresh.starts_with(&explicit) && !fresh.exists());
    let inside = home.session("x", "inside", &cwd);
    let (older, newer) = (explicit.join("older.jsonl"), explicit.join("newer.jsonl"));
    fs::copy(&inside, &older).unwrap();
    fs::copy(&inside, &newer).unwrap();
    changed_at(&older, 1);
    changed_at(&newer, 2);
    on_terminal(&home, "pts-1").create(&cwd).unwrap();
    assert_eq!(in_explicit(on_terminal(&home, "pts-1")), newer);
    let put = |file: &Path| fs::write(place(&home, "pts-1"), says(&cwd, Some(file))).unwrap();
    put(&older);
    assert_eq!(in_explicit(on_terminal(&home, "pts-1")), older);
    // A path that only looks as if it were inside.
    put(&explicit.join("../.xcsh/agent/sessions/x").join(inside.file_name().unwrap()));
    assert_eq!(in_explicit(on_terminal(&home, "pts-1")), newer);
    // Without the folder any file will do.
    put(&inside);
    let session = on_terminal(&home, "pts-1").continue_recent(&cwd).unwrap();
    assert_eq!(session.session_file(), Some(&*inside));
}

// R57: a session that was moved with its project's folder is found where it is now.
#[test]
fn r57_the_move_takes_the_breadcrumb_along() {
    let home = Home::new();
    let cwd = home.project("work");
    let mut session = on_terminal(&home, "pts-1").create(&cwd).unwrap();
    session.append_message(ANSWER).unwrap();
    changed_at(session.session_file().unwrap(), 1);
    let id = session.session_id().to_owned();
    drop(session);
    changed_at(&home.session(&home.absolute_name("work"), "newer", &cwd), 2);
    let relative = on_terminal(&home, "pts-1").dir_naming(leaflog::DirNaming::HomeRelative);
    let session = relative.continue_recent(&cwd).unwrap();
    assert_eq!(session.session_id(), id);
    assert_eq!(session.session_dir(), home.sessions().join("-work"));
}

// R16, R39: without a session to go on with a new one begins; what is no session is left alone.
#[test]
fn r16_nothing_to_go_on_with() {
    let home = Home::new();
    let cwd = home.project("work");
    let foreign = home.file(&format!("{}/foreign.jsonl", home.absolute_name("work")), "hello\n");
    let session = on_terminal(&home, "pts-1").continue_recent(&cwd).unwrap();
    assert_eq!(session.entries().len(), 0);
    assert!(!session.session_file().unwrap().exists());
    assert_eq!(session.cwd(), cwd);
    assert_eq!(fs::read_to_string(foreign).unwrap(), "hello\n");
}
