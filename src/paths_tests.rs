use super::{blobs_beside, roots};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

// R2, R41: `blobs` beside `sessions`, however deep the file lies.
#[test]
fn blob_folders() {
    let beside = |path: &str| blobs_beside(Path::new(path));
    let agent = "/home/u/.xcsh/agent";
    let blobs = Some(PathBuf::from(format!("{agent}/blobs")));
    assert_eq!(beside(&format!("{agent}/sessions/--work--/a.jsonl")), blobs);
    assert_eq!(beside(&format!("{agent}/sessions/a.jsonl")), blobs);
    assert_eq!(beside(&format!("{agent}/sessions/--work--/a/0-task.jsonl")), blobs);
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

    /// `~` at the start of a value and of an answer is the home.
    fn roots(&self, vars: &[(&str, &str)], with_home: bool) -> Vec<String> {
        let home = self.0.path();
        let vars: HashMap<&str, OsString> = vars
            .iter()
            .map(|&(name, value)| (name, value.strip_prefix("~/").map_or(value.into(), |rest| home.join(rest).into())))
            .collect();
        roots(|name| vars.get(name).cloned(), with_home.then(|| home.to_owned()))
            .into_iter()
            .map(|root| format!("~/{}", root.strip_prefix(home).unwrap().display()))
            .collect()
    }
}

// R1, and part C, Folders.
#[test]
fn folders_of_agents() {
    let home = Home::new(&[".xcsh/agent/sessions", ".omp/agent/sessions", ".pi/agent/sessions"]);
    assert_eq!(home.roots(&[], true), ["~/.xcsh/agent/sessions", "~/.omp/agent/sessions", "~/.pi/agent/sessions"]);
    assert!(home.roots(&[], false).is_empty());
    assert_eq!(home.roots(&[("PI_CODING_AGENT_DIR", "~/.pi/agent")], true)[0], "~/.pi/agent/sessions");
    assert_eq!(home.roots(&[("PI_CODING_AGENT_DIR", "~/.pi/agent")], true).len(), 3);
    assert_eq!(home.roots(&[("PI_CODING_AGENT_DIR", "~/.pi/agent")], false), ["~/.pi/agent/sessions"]);

    let other = Home::new(&["custom/sessions", ".mine/agent/sessions", ".pi/agent/sessions"]);
    assert_eq!(other.roots(&[], true), ["~/.pi/agent/sessions"]);
    assert_eq!(
        other.roots(&[("PI_CODING_AGENT_DIR", "~/custom"), ("PI_CONFIG_DIR", ".mine")], true),
        ["~/custom/sessions", "~/.mine/agent/sessions", "~/.pi/agent/sessions"]
    );
    assert_eq!(other.roots(&[("PI_CONFIG_DIR", ".mine")], true), ["~/.mine/agent/sessions", "~/.pi/agent/sessions"]);
    // Named twice, listed once.
    assert_eq!(other.roots(&[("PI_CONFIG_DIR", ".pi")], true), ["~/.pi/agent/sessions"]);
}

// Only what exists; a file of that name is no folder.
#[test]
fn folders_that_are_not_there() {
    let home = Home::new(&[".xcsh/agent", ".omp/agent"]);
    std::fs::write(home.0.path().join(".omp/agent/sessions"), "").unwrap();
    assert!(home.roots(&[], true).is_empty());
    assert!(home.roots(&[("PI_CODING_AGENT_DIR", "~/nowhere")], true).is_empty());
}

// Part C: the data folder of XDG, only with the default agent folder.
#[cfg(unix)]
#[test]
fn the_data_folder() {
    let home = Home::new(&["data/xcsh/sessions", ".xcsh/agent/sessions"]);
    let data = ("XDG_DATA_HOME", "~/data");
    assert_eq!(home.roots(&[data], true), ["~/data/xcsh/sessions", "~/.xcsh/agent/sessions"]);
    assert_eq!(home.roots(&[data], false), ["~/data/xcsh/sessions"]);
    assert_eq!(home.roots(&[data, ("PI_CONFIG_DIR", ".xcsh")], true), ["~/.xcsh/agent/sessions"]);
    assert_eq!(home.roots(&[data, ("PI_CODING_AGENT_DIR", "~/.xcsh/agent")], true), ["~/.xcsh/agent/sessions"]);
}
