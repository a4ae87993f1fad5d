//! Whose sessions are shown (R57, R58), and which one is meant (part C, resolveResumableSession).

use crate::common::{Home, Watched, changed_at, text};
use leaflog::{ErrorCode, Listing, MemorySessionStorage, Scope, SessionFinder};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

fn ids(listing: Listing) -> Vec<String> {
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    listing.sessions.into_iter().map(|session| session.id).collect()
}

// F18, R58: `/a/b` and `/a-b` share a folder, and not their sessions.
#[test]
fn f18_folders_of_two_projects() {
    let home = Home::new();
    let (one, other) = (home.project("a/b"), home.project("a-b"));
    let shared = home.absolute_name("a/b");
    assert_eq!(shared, home.absolute_name("a-b"));
    let paths = [
        home.session(&shared, "one", &one),
        home.session(&shared, "other", &other),
        home.session(&shared, "nobody", Path::new("")),
        home.session(&shared, "gone", &home.path.join("removed")),
    ];
    for (nth, path) in (0..).zip(&paths) {
        changed_at(path, nth);
    }
    let list = |cwd: &Path| ids(home.options().finder().list(cwd));
    assert_eq!(list(&one), ["gone", "nobody", "one"]);
    assert_eq!(list(&other), ["gone", "nobody", "other"]);
    // The same when the default folder is given.
    let given = home.options().finder().session_dir(home.sessions().join(&shared));
    assert_eq!(ids(given.list(&one)), ["gone", "nobody", "one"]);
    // To a project of another name that folder is one like any other.
    assert_eq!(ids(given.list("/elsewhere")), ["gone", "nobody", "other", "one"]);
    // The one to go on with, and the one that is meant: that of the project comes first (G2).
    assert_eq!(home.options().finder().most_recent_of(&one), Some(paths[0].clone()));
    assert_eq!(home.options().finder().most_recent_of(&other), Some(paths[1].clone()));
    assert_eq!(home.options().continue_recent(&one).unwrap().session_id(), "one");
    assert_eq!(home.options().continue_recent(&other).unwrap().session_id(), "other");
    let found = home.options().finder().resolve("o", &one).unwrap().unwrap();
    assert_eq!((found.session.id.as_str(), found.scope), ("one", Scope::Local));
    // Whoever asks for the other's by its id gets it, from all projects.
    let found = home.options().finder().resolve("othe", &one).unwrap().unwrap();
    assert_eq!((found.session.id.as_str(), found.scope), ("other", Scope::Global));
    assert!(SessionFinder::shows(&one, one.to_str()) && !SessionFinder::shows(&one, other.to_str()));
    assert!(SessionFinder::shows(&one, None) && SessionFinder::shows(&one, Some("")));
}

// R57: a project's sessions are read from the folders of both names, whichever is written.
#[test]
fn r57_both_names_are_read() {
    let home = Home::new();
    let cwd = home.project("work/with space/会话");
    let absolute = home.absolute_name("work/with space/会话");
    changed_at(&home.session(&absolute, "absolute", &cwd), 1);
    changed_at(&home.session("-work-with space-会话", "relative", &cwd), 2);
    for options in [home.options(), home.home_relative()] {
        assert_eq!(ids(options.finder().list(&cwd)), ["relative", "absolute"]);
        for given in [&*absolute, "-work-with space-会话"] {
            let finder = options.finder().session_dir(home.sessions().join(given));
            assert_eq!(ids(finder.list(&cwd)), ["relative", "absolute"], "{given}");
        }
    }
    assert_eq!(home.options().continue_recent(&cwd).unwrap().session_id(), "relative");
}

// R1, R58: through links, and after the project was renamed or removed.
#[cfg(unix)]
#[test]
fn r58_links_and_projects_that_are_gone() {
    let home = Home::new();
    let real = home.project("real/app");
    std::os::unix::fs::symlink(home.path.join("real"), home.path.join("link")).unwrap();
    let link = home.path.join("link/app");
    // Written by a program that does not follow links, and by one that does.
    changed_at(&home.session(&home.absolute_name("link/app"), "by link", &link), 1);
    changed_at(&home.session(&home.absolute_name("real/app"), "by name", &real), 2);
    assert_eq!(ids(home.options().finder().list(&link)), ["by name", "by link"]);
    // By its real name nobody knows of the link.
    assert_eq!(ids(home.options().finder().list(&real)), ["by name"]);
    // Removed: the sessions are found as before.
    fs::remove_dir(&real).unwrap();
    assert_eq!(ids(home.options().finder().list(&real)), ["by name"]);
    assert_eq!(ids(home.options().finder().list(&link)), ["by name", "by link"]);
    // Renamed: they are the old name's.
    home.project("real/new");
    assert!(ids(home.options().finder().list(home.path.join("real/new"))).is_empty());
}

// F19: 300 bytes of a path, of which the end tells two projects apart.
#[test]
fn f19_projects_with_long_paths() {
    let home = Home::new();
    let base = format!("{}/{}", "会".repeat(70), "long name ".repeat(9));
    let (one, two) = (home.project(&format!("{base}/one")), home.project(&format!("{base}/two")));
    for (cwd, id) in [(&one, "1"), (&two, "2")] {
        for options in [home.options(), home.home_relative()] {
            let dir = options.default_session_dir(cwd).unwrap();
            assert!(dir.file_name().unwrap().len() <= 255);
            let path = home.session(dir.file_name().unwrap().to_str().unwrap(), id, cwd);
            assert_eq!(ids(options.finder().list(cwd)), [id]);
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn what_an_argument_means() {
    let home = Home::new();
    let (here, there) = (home.project("here"), home.project("there"));
    let (in_here, in_there) = (home.absolute_name("here"), home.absolute_name("there"));
    let put = |dir: &str, file: &str, id: &str, cwd: &Path, second| {
        changed_at(&home.file(&format!("{dir}/{file}.jsonl"), &text(id, cwd, "hello")), second);
    };
    put(&in_here, "2026-02-16T10-00-00-000Z_AAbb01", "AAbb01", &here, 1);
    put(&in_here, "2026-02-17T10-00-00-000Z_aabb02", "aabb02", &here, 2);
    put(&in_here, "renamed_x_cc01", "dd01", &here, 3);
    put(&in_there, "2026-03-01T10-00-00-000Z_aabb03", "aabb03", &there, 9);
    put(&in_there, "2026-03-01T10-00-00-000Z_ee01", "ee01", &there, 4);
    put(&format!("{in_there}/2026-03-01T10-00-00-000Z_ee01"), "0-task", "ee02", &there, 5);
    let finder = home.options().finder();
    let meant = |arg: &str| finder.resolve(arg, &here).unwrap().map(|found| (found.session.id, found.scope.as_str()));
    let local = |id: &str| Some((id.to_owned(), "local"));
    let global = |id: &str| Some((id.to_owned(), "global"));
    // The newest of this project, before a newer one elsewhere; case does not count.
    assert_eq!(meant("aabb"), local("aabb02"));
    assert_eq!(meant("AABB01"), local("AAbb01"));
    // By the file's name, by what follows its last `_`, by the id in the header.
    assert_eq!(meant("2026-02-16"), local("AAbb01"));
    assert_eq!(meant("renamed_x"), local("dd01"));
    assert_eq!(meant("cc"), local("dd01"));
    assert_eq!(meant("dd01"), local("dd01"));
    assert_eq!(meant("x_cc"), None, "what follows the last _ only");
    // Elsewhere when the project has none, those of sub-agents too.
    assert_eq!(meant("aabb03"), global("aabb03"));
    assert_eq!(meant("2026-03"), global("aabb03"));
    assert_eq!(meant("ee"), global("ee02"));
    assert_eq!(meant("none"), None);
    assert_eq!(meant(""), local("dd01"), "everything begins so");
    // A folder that was given is all there is.
    let only = home.options().finder().session_dir(home.sessions().join(&in_here));
    assert_eq!(only.resolve("aabb03", &here).unwrap(), None);
    assert_eq!(only.resolve("aabb", &here).unwrap().unwrap().session.id, "aabb02");
    // Everything that could be meant.
    let candidates = |arg: &str| {
        finder.candidates(arg, &here).sessions.into_iter().map(|found| found.session.id).collect::<Vec<_>>()
    };
    assert_eq!(candidates("aabb"), ["aabb02", "AAbb01"]);
    assert_eq!(candidates("ee"), ["ee02", "ee01"]);
    assert!(candidates("none").is_empty());
    let found = finder.resolve("dd01", &here).unwrap().unwrap().session;
    assert!(found.is_meant_by("RENAMED") && found.is_meant_by("CC01") && !found.is_meant_by("x_cc"));
    assert_eq!((found.message_count, found.first_message.as_str()), (1, "hello"));
}

// G2: two projects share a session directory, and the newer session is of one that is gone.
#[test]
fn g02_a_project_that_is_gone_does_not_come_first() {
    let home = Home::new();
    let (mine, gone) = (home.project("w/a-b"), home.path.join("w/a/b"));
    let shared = home.absolute_name("w/a-b");
    let own = home.session(&shared, "abc1", &mine);
    let unnamed = home.session(&shared, "abc2", Path::new(""));
    let other = home.session(&shared, "abc3", &gone);
    for (nth, path) in (1..).zip([&own, &unnamed, &other]) {
        changed_at(path, nth);
    }
    let terminal = || home.options().environment(home.environment().terminal(Some("pts-1")));
    // This terminal had the other project's session here.
    let crumb = home.path.join(".xcsh/agent/terminal-sessions/pts-1");
    fs::create_dir_all(crumb.parent().unwrap()).unwrap();
    let had_other = || fs::write(&crumb, format!("{}\n{}\n", mine.display(), other.display())).unwrap();
    for given in [false, true] {
        let options = || if given { terminal().session_dir(home.sessions().join(&shared)) } else { terminal() };
        let finder = options().finder();
        // A listing shows all, the newest first, and marks that one (R58).
        let listed: Vec<_> = finder.list(&mine).sessions.into_iter().map(|info| (info.id, info.project_gone)).collect();
        assert_eq!(listed, [("abc3".into(), true), ("abc2".into(), false), ("abc1".into(), false)]);
        let recent: Vec<_> =
            finder.recent_of(&mine, 9).into_iter().map(|info| (info.path, info.project_gone)).collect();
        assert_eq!(recent, [(own.clone(), false), (unnamed.clone(), false), (other.clone(), true)]);
        assert_eq!(finder.recent_of(&mine, 2).len(), 2);
        assert!(finder.recent_of(&mine, 0).is_empty());
        assert_eq!(finder.most_recent_of(&mine), Some(own.clone()));
        assert_eq!(finder.resolve("abc", &mine).unwrap().unwrap().session.id, "abc1");
        let candidates = finder.candidates("abc", &mine).sessions.into_iter();
        let candidates: Vec<_> = candidates.map(|found| (found.session.id, found.session.project_gone)).collect();
        assert_eq!(candidates, [("abc1".into(), false), ("abc2".into(), false), ("abc3".into(), true)]);
        had_other();
        assert_eq!(options().continue_recent(&mine).unwrap().session_id(), "abc1");
    }
    // In a listing of all projects nothing is marked: each is listed for its own.
    assert!(home.options().finder().list_all().sessions.iter().all(|info| !info.project_gone));
    // Without one of its own the project goes on with one that names none, then with the other's: it
    // may have been renamed.
    fs::remove_file(&own).unwrap();
    let goes_on = || home.options().continue_recent(&mine).unwrap().session_id().to_owned();
    assert_eq!(goes_on(), "abc2");
    fs::remove_file(&unnamed).unwrap();
    assert_eq!(goes_on(), "abc3");
    had_other();
    assert_eq!(terminal().continue_recent(&mine).unwrap().session_id(), "abc3");
    // When the other project is there, its sessions are its own.
    home.project("w/a/b");
    assert!(ids(home.options().finder().list(&mine)).is_empty());
}

// G2: the same in a storage of the caller's own.
#[test]
fn g02_in_a_storage() {
    let home = Home::new();
    let mine = home.project("w/a-b");
    let storage = MemorySessionStorage::new();
    let dir = home.sessions().join(home.absolute_name("w/a-b"));
    let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    storage.put(dir.join("x_1.jsonl"), text("1", &mine, "mine"), at(1));
    storage.put(dir.join("x_2.jsonl"), text("2", &home.path.join("w/a/b"), "theirs"), at(2));
    let session = home.options().storage(storage).continue_recent(&mine).unwrap();
    assert_eq!(session.session_id(), "1");
}

// G9: a session that cannot be read is meant by the name of its file.
#[test]
fn g09_what_cannot_be_read_is_not_absent() {
    let storage = MemorySessionStorage::new();
    let (readable, locked) = (Path::new("/s/a/t_00aa01.jsonl"), Path::new("/s/a/t_00aa02.jsonl"));
    let at = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    storage.put(readable, text("00aa01", Path::new("/p"), "hello"), at(1));
    storage.put(locked, text("00aa02", Path::new("/p"), "hello"), at(2));
    let finder = SessionFinder::new().roots(["/s"]).storage(Watched::locked(storage.clone(), "00aa02"));
    let resolve = |arg: &str| {
        let found = finder.resolve(arg, "/p");
        found
            .map(|found| found.map(|found| found.session.id))
            .map_err(|error| (error.code(), error.path().unwrap().to_owned()))
    };
    let denied = Err((ErrorCode::PermissionDenied, locked.to_owned()));
    assert_eq!(resolve("00aa02"), denied);
    assert_eq!(resolve("00AA"), denied, "the newest that is meant");
    assert_eq!(resolve("00aa01"), Ok(Some("00aa01".into())));
    assert_eq!(resolve("00bb"), Ok(None));
    let candidates = |arg: &str| {
        let found = finder.candidates(arg, "/p");
        (found.sessions.len(), found.problems.into_iter().map(|error| error.code()).collect::<Vec<_>>())
    };
    assert_eq!(candidates("00aa"), (1, vec![ErrorCode::PermissionDenied]), "two are meant");
    assert_eq!(candidates("t_00aa02.jsonl"), (0, vec![ErrorCode::PermissionDenied]));
    assert_eq!(candidates("00aa01"), (1, vec![]));
    assert_eq!(candidates("00bb"), (0, vec![]));
    assert_eq!(finder.by_prefix("00aa").unwrap(), [locked, readable]);
    assert_eq!(finder.by_prefix("00aa02").unwrap(), [locked]);
    // What only is to be listed, or gone on with, is passed over.
    assert_eq!(finder.newest().as_deref(), Some(readable));
    // A directory that cannot be looked into may hold what was not found.
    let home = Home::new();
    let root = home.file("file", "");
    let finder = SessionFinder::new().roots([&root]);
    assert_eq!(finder.resolve("00cc", "/p").unwrap_err().path(), Some(&*root));
    assert_eq!(finder.by_prefix("00cc").unwrap_err().path(), Some(&*root));
    assert_eq!(finder.candidates("00cc", "/p").not_searched.len(), 1);
}
