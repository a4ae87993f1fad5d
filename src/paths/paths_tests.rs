use super::{AgentDirs, DirNaming, Environment, blobs_beside};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

// R2, R41: `blobs` beside `sessions`, however deep the file lies.
#[test]
fn blob_folders() {
    let beside = |path: &str| blobs_beside(Path::new(path));
    let agent = "/home/u/.xcsh/agent";
    let blobs = Some(PathBuf::from(format!("{agent}/blobs")));
    assert_eq!(beside(&format!("{agent}/sessions/--home-ada--/a.jsonl")), blobs);
    assert_eq!(beside(&format!("{agent}/sessions/a.jsonl")), blobs);
    assert_eq!(beside(&format!("{agent}/sessions/--home-ada--/a/0-task.jsonl")), blobs);
    // The nearest folder of that name.
    assert_eq!(beside("/sessions/x/sessions/y/a.jsonl"), Some("/sessions/x/blobs".into()));
    assert_eq!(beside("/sessions/a.jsonl"), Some("/blobs".into()));
    assert_eq!(beside("/home/u/a.jsonl"), None);
    // The file's own name is no folder.
    assert_eq!(beside("/home/u/sessions"), None);
    // A relative path starts here.
    let here = std::env::current_dir().unwrap();
    if !here.components().any(|part| part.as_os_str() == "sessions") {
        assert_eq!(beside("sessions/a.jsonl"), Some(here.join("blobs")));
        assert_eq!(beside("a.jsonl"), None);
    }
}

/// A made-up home with some folders, asked with some variables.
struct Home(tempfile::TempDir);

impl Home {
    fn new(dirs: &[&str]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        dirs.iter().for_each(|dir| std::fs::create_dir_all(home.0.path().join(dir)).unwrap());
        home
    }

    /// `~` at the start of a value is the home.
    fn dirs(&self, vars: &[(&str, &str)]) -> AgentDirs {
        let home = self.0.path();
        let own = vars.iter().map(|&(name, value)| {
            (name.to_owned(), value.strip_prefix("~/").map_or(value.into(), |rest| home.join(rest).into()))
        });
        let all = own.chain([("HOME".to_owned(), home.as_os_str().to_owned())]);
        AgentDirs::new().environment(Environment::from_vars::<String, OsString>(all))
    }

    /// With `~` for the home.
    fn short(&self, path: &Path) -> String {
        match path.strip_prefix(self.0.path()) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    fn roots(&self, vars: &[(&str, &str)]) -> Vec<String> {
        self.dirs(vars).session_roots().iter().map(|root| self.short(root)).collect()
    }

    /// Agent, sessions, blobs, history, breadcrumbs.
    fn all(&self, dirs: &AgentDirs) -> [String; 5] {
        [dirs.agent(), dirs.sessions(), dirs.blobs(), dirs.history_db(), dirs.terminal_sessions()]
            .map(|path| self.short(&path))
    }
}

fn all_in(agent: &str) -> [String; 5] {
    ["", "/sessions", "/blobs", "/history.db", "/terminal-sessions"].map(|name| format!("{agent}{name}"))
}

// R1, R2, R3, R42, and part C, Folders: which folder is the agent's.
#[test]
fn the_agents_folder() {
    let home = Home::new(&[]);
    assert_eq!(home.all(&home.dirs(&[])), all_in("~/.xcsh/agent"));
    let config = ("PI_CONFIG_DIR", ".mine");
    let agent = ("PI_CODING_AGENT_DIR", "~/custom");
    assert_eq!(home.all(&home.dirs(&[config])), all_in("~/.mine/agent"));
    assert_eq!(home.all(&home.dirs(&[agent, config])), all_in("~/custom"));
    // An empty variable is none; a name that begins with a slash is a name under home.
    assert_eq!(home.all(&home.dirs(&[("PI_CONFIG_DIR", ""), ("PI_CODING_AGENT_DIR", "")])), all_in("~/.xcsh/agent"));
    assert_eq!(home.all(&home.dirs(&[("PI_CONFIG_DIR", "/etc/mine")])), all_in("~/etc/mine/agent"));
    // Options come before the environment.
    assert_eq!(home.all(&home.dirs(&[config]).config_dir_name(".other")), all_in("~/.other/agent"));
    assert_eq!(home.all(&home.dirs(&[agent]).config_dir_name(".other")), all_in("~/custom"));
    assert_eq!(home.all(&home.dirs(&[agent, config]).agent_dir("/srv/agent")), all_in("/srv/agent"));
    // A relative one is from the process's folder.
    let here = std::env::current_dir().unwrap();
    assert_eq!(home.dirs(&[("PI_CODING_AGENT_DIR", "a/../b")]).agent(), here.join("b"));
}

// Part C, Folders: existing folders of XDG, only with the default agent folder.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn the_folders_of_xdg() {
    let vars = [("XDG_DATA_HOME", "~/data"), ("XDG_STATE_HOME", "~/state")];
    let home = Home::new(&["data", "state"]);
    assert_eq!(home.all(&home.dirs(&vars)), all_in("~/.xcsh/agent"), "without xcsh in them");
    let home = Home::new(&["data/xcsh", "state"]);
    let mut data_only = all_in("~/data/xcsh");
    data_only[0] = "~/.xcsh/agent".into();
    data_only[4] = "~/.xcsh/agent/terminal-sessions".into();
    assert_eq!(home.all(&home.dirs(&vars)), data_only);
    let home = Home::new(&["data", "state/xcsh"]);
    let mut state_only = all_in("~/.xcsh/agent");
    state_only[4] = "~/state/xcsh/terminal-sessions".into();
    assert_eq!(home.all(&home.dirs(&vars)), state_only);
    // Whoever names the default folder means it; whoever names another does not mean XDG's.
    let named = |dir| [vars[0], vars[1], ("PI_CODING_AGENT_DIR", dir)];
    assert_eq!(home.all(&home.dirs(&named("~/.xcsh/agent"))), state_only);
    assert_eq!(home.all(&home.dirs(&named("~/other"))), all_in("~/other"));
    assert_eq!(home.all(&home.dirs(&vars).agent_dir("/srv/agent")), all_in("/srv/agent"));
}

// Where sessions are looked for on a machine: R1, and part C, Folders.
#[test]
fn roots_of_sessions() {
    let home = Home::new(&[".xcsh/agent/sessions", ".omp/agent/sessions", ".pi/agent/sessions"]);
    let standard = ["~/.xcsh/agent/sessions", "~/.omp/agent/sessions", "~/.pi/agent/sessions"];
    assert_eq!(home.roots(&[]), standard);
    let pi_first = ["~/.pi/agent/sessions", "~/.xcsh/agent/sessions", "~/.omp/agent/sessions"];
    assert_eq!(home.roots(&[("PI_CODING_AGENT_DIR", "~/.pi/agent")]), pi_first);

    let other = Home::new(&["custom/sessions", ".mine/agent/sessions", ".pi/agent/sessions"]);
    assert_eq!(other.roots(&[]), ["~/.pi/agent/sessions"]);
    assert_eq!(
        other.roots(&[("PI_CODING_AGENT_DIR", "~/custom"), ("PI_CONFIG_DIR", ".mine")]),
        ["~/custom/sessions", "~/.mine/agent/sessions", "~/.pi/agent/sessions"]
    );
    // Named twice, listed once.
    assert_eq!(other.roots(&[("PI_CONFIG_DIR", ".pi")]), ["~/.pi/agent/sessions"]);
    // Only what exists; a file of that name is no folder.
    let none = Home::new(&[".xcsh/agent", ".omp/agent"]);
    std::fs::write(none.0.path().join(".omp/agent/sessions"), "").unwrap();
    assert!(none.roots(&[("PI_CODING_AGENT_DIR", "~/nowhere")]).is_empty());
    if cfg!(any(target_os = "linux", target_os = "macos")) {
        let home = Home::new(&["data/xcsh/sessions", ".xcsh/agent/sessions"]);
        let data = ("XDG_DATA_HOME", "~/data");
        assert_eq!(home.roots(&[data]), ["~/data/xcsh/sessions", "~/.xcsh/agent/sessions"]);
    }
}

fn name(dirs: &AgentDirs, cwd: impl AsRef<Path>) -> String {
    dirs.session_dir_name(cwd.as_ref())
}

// R1: the names by the whole path, worked out by hand.
#[cfg(unix)]
#[test]
fn r1_names_by_the_whole_path() {
    let dirs = Home::new(&[]).dirs(&[]);
    for (cwd, want) in [
        ("/nowhere/x", "--nowhere-x--"),
        ("/nowhere/x/", "--nowhere-x--"),
        ("/nowhere/./x/../y", "--nowhere-y--"),
        ("/nowhere/c:\\d", "--nowhere-c--d--"),
        ("/nowhere/with space/ü", "--nowhere-with space-ü--"),
        ("/nowhere/会话/目录", "--nowhere-会话-目录--"),
        ("/", "----"),
    ] {
        assert_eq!(name(&dirs, cwd), want);
        assert_eq!(dirs.session_dir(cwd), dirs.sessions().join(want));
    }
}

// R57: below home, below the folder for temporary files, elsewhere.
#[cfg(unix)]
#[test]
fn r57_names_below_home() {
    let home = Home::new(&["work/a b", "tmp/t"]);
    let at = |rest: &str| home.0.path().join(rest);
    let env = [("TMPDIR", "/nowhere/tmp/")];
    let dirs = home.dirs(&env).dir_naming(DirNaming::HomeRelative);
    for (cwd, want) in [
        (at(""), "-"),
        (at("work/a b"), "-work-a b"),
        (at("work/not:there"), "-work-not-there"),
        (PathBuf::from("/nowhere/tmp"), "-tmp"),
        (PathBuf::from("/nowhere/tmp/x/y"), "-tmp-x-y"),
        (PathBuf::from("/nowhere/else"), "--nowhere-else--"),
        // No part of a name is a folder.
        (PathBuf::from("/nowhere/tmp2"), "--nowhere-tmp2--"),
    ] {
        assert_eq!(name(&dirs, &cwd), want);
    }
    // Home comes first when the other is in it.
    let inside = home.dirs(&[("TMPDIR", "~/tmp")]).dir_naming(DirNaming::HomeRelative);
    assert_eq!(name(&inside, at("tmp/t")), "-tmp-t");
    assert_eq!(name(&inside, at("tmp")), "-tmp");
    // Both names are read, the one that is written first.
    let absolute = format!("--{}-work--", home.0.path().to_str().unwrap()[1..].replace('/', "-"));
    let names = |naming| {
        let dirs = home.dirs(&env).dir_naming(naming);
        let dirs = dirs.session_dirs(at("work"));
        dirs.iter().map(|dir| dir.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(DirNaming::HomeRelative), ["-work", &absolute]);
    assert_eq!(names(DirNaming::Absolute), [&absolute, "-work"]);
}

// R1, R57: links are followed when the folder exists; the folder of the other name is read too.
#[cfg(unix)]
#[test]
fn r1_links_are_followed() {
    let home = Home::new(&["real/project"]);
    let base = home.0.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
    let dirs = home.dirs(&[]);
    let spelled = |rest: &str| format!("--{}-{rest}--", base.to_str().unwrap()[1..].replace('/', "-"));
    assert_eq!(name(&dirs, base.join("link/project")), spelled("real-project"));
    assert_eq!(name(&dirs.clone().dir_naming(DirNaming::HomeRelative), base.join("link/project")), "-real-project");
    let read = dirs.session_dirs(base.join("link/project"));
    assert!(read.contains(&dirs.sessions().join(spelled("link-project"))), "{read:?}");
    // One that is gone is named as it is spelled, and found by the way there as well.
    assert_eq!(name(&dirs, base.join("link/gone")), spelled("link-gone"));
    let read = dirs.session_dirs(base.join("link/gone"));
    assert!(read.contains(&dirs.sessions().join(spelled("real-gone"))), "{read:?}");
    assert!(dirs.is_session_dir_of(&Path::new("/any/where").join(spelled("real-project")), &base.join("link/project")));
    assert!(!dirs.is_session_dir_of(&dirs.sessions().join(spelled("real")), &base.join("link/project")));
}

// F19, R57: no name is over 255 bytes, and two that are cut alike differ in the hash.
#[cfg(unix)]
#[test]
fn f19_names_over_255_bytes() {
    let home = Home::new(&[]);
    for dirs in [home.dirs(&[]), home.dirs(&[]).dir_naming(DirNaming::HomeRelative)] {
        for part in ["x".repeat(300), "会".repeat(100), "ü/".repeat(120), "a b ".repeat(90)] {
            for base in [PathBuf::from("/nowhere"), home.0.path().to_owned()] {
                let (one, two) = (name(&dirs, base.join(&part)), name(&dirs, base.join(format!("{part}2"))));
                assert!(one.len() <= 255 && one.len() > 250, "{} bytes", one.len());
                assert_ne!(one, two);
                assert!(!one.contains('/') && one.starts_with('-'));
            }
        }
    }
    // Exactly as long as it may be: 4 dashes and 251 letters.
    let dirs = home.dirs(&[]);
    assert_eq!(name(&dirs, format!("/{}", "y".repeat(251))), format!("--{}--", "y".repeat(251)));
    // SHA-256 of 252 times y, by sha256sum, begins with 8202ca532d9ac5e0.
    assert_eq!(name(&dirs, format!("/{}", "y".repeat(252))), format!("--{}-8202ca532d9ac5e0--", "y".repeat(234)));
}
