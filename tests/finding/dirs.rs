//! The folders of projects, and the move to the other name.

use crate::common::Home;
use std::fs;
use std::path::Path;

const ANSWER: &str = r#"{"role":"assistant","content":[],"provider":"p","model":"m"}"#;

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

// R1, R57: where a new session goes; the folder is made (R55).
#[test]
fn r57_where_new_sessions_go() {
    let home = Home::new();
    let cwd = home.project("work/a b/会话");
    let absolute = home.options().create(&cwd).unwrap();
    assert_eq!(absolute.session_dir(), home.sessions().join(home.absolute_name("work/a b/会话")));
    #[cfg(unix)]
    for dir in [absolute.session_dir(), &home.sessions(), &home.path.join(".xcsh")] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700, "{}", dir.display());
    }
    let relative = home.home_relative().create(&cwd).unwrap();
    // The other folder was empty.
    assert!(!absolute.session_dir().exists());
    assert_eq!(relative.session_dir(), home.sessions().join("-work-a b-会话"));
    assert_eq!(home.home_relative().default_session_dir(&cwd).unwrap(), relative.session_dir());
    let elsewhere = home.home_relative().create("/nowhere/else").unwrap();
    assert_eq!(elsewhere.session_dir(), home.sessions().join("--nowhere-else--"));
    let temporary = home.home_relative().create("/nowhere/tmp/x").unwrap();
    assert_eq!(temporary.session_dir(), home.sessions().join("-tmp-x"));
}

// F19: a project whose path is longer than any file name.
#[test]
fn f19_a_project_with_a_long_path() {
    let home = Home::new();
    let long = home.project(&format!("{}/{}/{}", "会".repeat(60), "x".repeat(100), "y ".repeat(50)));
    for options in [home.options(), home.home_relative()] {
        let mut session = options.create(&long).unwrap();
        session.append_message(ANSWER).unwrap();
        assert!(session.session_file().unwrap().exists());
        assert!(session.session_dir().file_name().unwrap().len() <= 255);
    }
}

// R41, R57, R58: the folders that a listing looks through, for a program that has to hand their files in.
#[test]
fn the_folders_that_are_looked_through() {
    let home = Home::new();
    let cwd = home.project("work/app");
    let both = |dir: &Path| vec![dir.join(home.absolute_name("work/app")), dir.join("-work-app")];
    let finder = || home.options().finder();
    assert_eq!(finder().folders(Some(&cwd)), both(&home.sessions()));
    assert_eq!(finder().folders(None), [home.sessions()]);
    // By its other name a default folder is beside it, wherever it lies.
    assert_eq!(finder().session_dir("/else/-work-app").folders(Some(&cwd)), both(Path::new("/else")));
    assert_eq!(finder().session_dir("/else/mine").folders(Some(&cwd)), [Path::new("/else/mine")]);
}

// R57, F6: the project's own old folder is moved, whatever the manager is asked for; everything that
// was in it is read after that.
#[test]
fn f6_the_move_to_the_other_name() {
    let home = Home::new();
    let cwd = home.project("work/app");
    let old = home.absolute_name("work/app");
    home.session(&old, "00aa000000000001", &cwd);
    home.file(&format!("{old}/2026-02-16T10-00-00-000Z_00aa000000000001/0.bash.log"), "log");
    // A listing, or the naming by the whole path, moves nothing.
    home.options().create(&cwd).unwrap();
    assert_eq!(names(&home.sessions()), [old.as_str()]);

    let session = home.home_relative().create(&cwd).unwrap();
    assert_eq!(names(&home.sessions()), ["-work-app"]);
    let file = "2026-02-16T10-00-00-000Z_00aa000000000001";
    assert_eq!(names(session.session_dir()), [file, &format!("{file}.jsonl")]);
    let moved = home.options().open(session.session_dir().join(format!("{file}.jsonl"))).unwrap();
    assert_eq!((moved.session_id(), moved.entries().len()), ("00aa000000000001", 1));
    assert_eq!(names(&session.session_dir().join(file)), ["0.bash.log"]);
}

// R57: a session can be forked from the old folder, whose sessions move when the project's new one is made.
#[test]
fn r57_a_fork_of_what_is_moved() {
    let home = Home::new();
    let cwd = home.project("app");
    let old = home.session(&home.absolute_name("app"), "00aa000000000001", &cwd);
    let fork = home.home_relative().fork_from(&old, &cwd).unwrap();
    assert_eq!((fork.entries().len(), fork.header().parent_session.as_deref()), (1, Some("00aa000000000001")));
    assert_eq!(names(&home.sessions()), ["-app"]);
    let sessions = names(fork.session_dir()).into_iter().filter(|name| name.ends_with(".jsonl"));
    assert_eq!(sessions.count(), 2);
}

// F6: two files of one name are both kept, and the old folder with them.
#[test]
fn f6_namesakes_are_both_kept() {
    let home = Home::new();
    let cwd = home.project("app");
    let old = home.session(&home.absolute_name("app"), "00aa000000000001", &cwd);
    let new = home.session("-app", "00aa000000000001", &cwd);
    fs::write(&new, crate::common::text("00aa000000000001", &cwd, "another")).unwrap();
    let before = (fs::read(&old).unwrap(), fs::read(&new).unwrap());
    assert_eq!(home.home_relative().default_session_dir(&cwd).unwrap(), new.parent().unwrap());
    assert_eq!((fs::read(&old).unwrap(), fs::read(&new).unwrap()), before);
}

// R57, R58: a folder whose name several projects have in common keeps what is not this project's.
#[test]
fn f6_other_projects_stay_where_they_are() {
    let home = Home::new();
    let cwd = home.project("a/b");
    let namesake = home.project("a-b");
    let shared = home.absolute_name("a/b");
    assert_eq!(shared, home.absolute_name("a-b"));
    // Outside home, the old name is the only one there is.
    let outside = home.path.parent().unwrap().join(format!("{}-a/b", home.path.file_name().unwrap().display()));
    home.session(&shared, "00aa000000000001", &cwd);
    home.session(&shared, "00aa000000000002", &outside);
    home.session(&shared, "00aa000000000003", Path::new(""));
    home.file(&format!("{shared}/notes.jsonl"), "no session\n");
    // Another folder whose name begins alike.
    let other = home.project("a/b/c");
    home.session(&home.absolute_name("a/b/c"), "00aa000000000004", &other);
    home.home_relative().create(&cwd).unwrap();
    let file = |number: u8| format!("2026-02-16T10-00-00-000Z_00aa00000000000{number}.jsonl");
    assert_eq!(names(&home.sessions().join("-a-b")), [file(1)]);
    assert_eq!(names(&home.sessions().join(&shared)), [file(2), file(3), "notes.jsonl".into()]);
    assert_eq!(names(&home.sessions().join(home.absolute_name("a/b/c"))), [file(4)]);
    // The namesake's new name is the same one, so its sessions go there with it.
    home.session(&shared, "00aa000000000005", &namesake);
    home.home_relative().create(&cwd).unwrap();
    assert_eq!(names(&home.sessions().join("-a-b")), [file(1), file(5)]);
}

// Part C, moveTo: to the default folder of the new project, in the same root when the session is in a
// default folder, by either name.
#[test]
fn moves_within_the_root() {
    let home = Home::new();
    let (from, to) = (home.project("from"), home.project("to"));
    let root = home.path.join("root");
    for dir in [home.absolute_name("from"), "-from".to_owned()] {
        let mut session = home.home_relative().session_dir(root.join(&dir)).create(&from).unwrap();
        session.append_message(ANSWER).unwrap();
        session.move_to(&to).unwrap();
        assert_eq!(session.session_dir(), root.join("-to"), "{dir}");
    }
    let mut session = home.home_relative().session_dir(root.join("mine")).create(&from).unwrap();
    session.move_to(&to).unwrap();
    assert_eq!(session.session_dir(), home.sessions().join("-to"));
}
