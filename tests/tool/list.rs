//! `leaflog list`, `recent`, `resume`, `delete`.

use crate::{Ran, finish, run, tool, user};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A home with two projects.
struct Home {
    dir: TempDir,
    path: PathBuf,
}

impl Home {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let home = Self { dir, path };
        home.put("one", "00aa000000000001", 300, Some("The first title"), &["hello"]);
        home.put("one", "00aa0000000000ff", 200, None, &["\u{1b}[2J\nWhat is\tthis?", "and that?"]);
        home.put("two", "00bb000000000003", 100, Some("\u{202e}会话"), &[]);
        fs::write(home.dir_of("one").join("foreign.jsonl"), "hello\n").unwrap();
        home
    }

    fn project(&self, name: &str) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn dir_of(&self, project: &str) -> PathBuf {
        let name = self.project(project).to_str().unwrap()[1..].replace('/', "-");
        self.path.join(".xcsh/agent/sessions").join(format!("--{name}--"))
    }

    fn put(&self, project: &str, id: &str, age: u64, title: Option<&str>, messages: &[&str]) -> PathBuf {
        let changed = SystemTime::now() - Duration::from_secs(age);
        // It was used when its file last changed.
        let used = format!("{:.3}", jiff::Timestamp::try_from(changed).unwrap());
        let began = if messages.is_empty() { &used } else { "2026-02-16T10:00:00.000Z" };
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": began,
            "cwd": self.project(project), "title": title});
        let mut text = format!("{header}\n");
        for (nth, message) in messages.iter().enumerate() {
            text += &user(&nth.to_string(), None, message).replace("2026-02-16T10:01:00.000Z", &used);
            text.push('\n');
        }
        let dir = self.dir_of(project);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(format!("2026-02-16T10-00-00-000Z_{id}.jsonl"));
        fs::write(&path, text).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(changed).unwrap();
        path
    }

    fn run(&self, args: &[&str]) -> Ran {
        finish(tool(args).env("HOME", &self.path).current_dir(self.project("one")))
    }

    fn file(&self, project: &str, id: &str) -> PathBuf {
        self.dir_of(project).join(format!("2026-02-16T10-00-00-000Z_{id}.jsonl"))
    }
}

fn ids(ran: &Ran) -> Vec<String> {
    ran.json().as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn list_for_a_person() {
    let home = Home::new();
    let ran = home.run(&["list"]);
    assert_eq!(ran.code, 0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["when", "title", "messages", "size", "project", "id"]);
    assert_eq!(lines.len(), 3);
    // The first message on one line, in which what steers a terminal is seen and does nothing.
    assert!(lines[1].starts_with("3m ago  \u{241b}[2J What is this?  "), "{}", lines[1]);
    assert!(lines[2].starts_with("5m ago  The first title "), "{}", lines[2]);
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    let size = fs::metadata(home.file("one", "00aa000000000001")).unwrap().len().to_string();
    assert_eq!(words[5..], ["1", &size, "~/one", "00aa000000000001"]);
    assert_eq!(ran.err, "leaflog: 1 file is not a session or cannot be read; --problems says why\n");
    // Columns stand below one another.
    let column = |line: &str| line[..line.find("~/one").unwrap()].chars().count();
    assert_eq!(column(lines[1]), column(lines[2]));

    let all = home.run(&["list", "--all", "--limit", "2"]);
    let lines: Vec<&str> = all.out.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].contains("\u{fffd}会话") && lines[1].ends_with("00bb000000000003"), "{}", lines[1]);
    let other = home.run(&["list", "--cwd", home.project("two").to_str().unwrap()]);
    assert_eq!((other.out.lines().count(), other.err.as_str()), (2, ""));
    let none = home.run(&["list", "--cwd", "/nowhere"]);
    let roots = home.path.join(".xcsh/agent/sessions");
    let want =
        format!("leaflog: no sessions of /nowhere in {}; `leaflog list --all` lists all projects\n", roots.display());
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (0, "", want.as_str()));
    // On a machine without any, the folder that would hold them is named.
    let none = run(["list", "--all"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "leaflog: no sessions: there is no folder /nonexistent/.xcsh/agent/sessions\n");
}

#[test]
fn list_for_programs() {
    let home = Home::new();
    let ran = home.run(&["list", "--all", "--json"]);
    assert_eq!(ids(&ran), ["00bb000000000003", "00aa0000000000ff", "00aa000000000001"]);
    let row = &ran.json()[2];
    let path = home.file("one", "00aa000000000001");
    let [modified, used] = ["modified", "used"].map(|key| row[key].as_str().unwrap().to_owned());
    assert_eq!(modified, used);
    assert_eq!(
        *row,
        json!({"path": path, "id": "00aa000000000001", "cwd": home.project("one"), "title": "The first title",
            "parentSessionPath": null, "created": "2026-02-16T10:00:00.000Z", "modified": modified,
            "used": used, "projectGone": false, "size": fs::metadata(&path).unwrap().len(), "messageCount": 1, "firstMessage": "hello"})
    );
    assert!(modified.ends_with('Z') && modified.len() == 24, "{modified}");
    let lines = home.run(&["list", "--all", "--ndjson"]);
    let rows: Vec<Value> = lines.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(rows), ran.json());
    assert_eq!(home.run(&["list", "--cwd", "/nowhere", "--json"]).json(), json!([]));
    assert_eq!(home.run(&["list", "--cwd", "/nowhere", "--ndjson"]).out, "");
    for wrong in [&["list", "--json", "--ndjson"][..], &["list", "--all", "--cwd", "/"], &["list", "--limit", "0"]] {
        assert_eq!(home.run(wrong).code, 2, "{wrong:?}");
    }
}

// F23
#[test]
fn list_of_problems() {
    let home = Home::new();
    let foreign = home.dir_of("one").join("foreign.jsonl");
    let ran = home.run(&["list", "--all", "--problems"]);
    let want = format!("{}: not a session: no session header in the first 64 KiB\n", foreign.display());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, want.as_str(), ""));
    let json = home.run(&["list", "--problems", "--json"]);
    let row = json!({"path": foreign, "code": "NOT_A_SESSION",
        "message": "not a session: no session header in the first 64 KiB"});
    assert_eq!((json.code, json.json()), (1, json!([row])));
    fs::remove_file(foreign).unwrap();
    let none = home.run(&["list", "--all", "--problems"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
}

// F16: 300 MB of nothing are listed with little memory.
#[cfg(target_os = "linux")]
#[test]
fn f16_listing_needs_little_memory() {
    let home = Home::new();
    for nth in 0..2 {
        let path = home.put("one", &format!("00cc00000000000{nth}"), 50, None, &["before the hole"]);
        fs::File::options().append(true).open(path).unwrap().set_len(300 << 20).unwrap();
    }
    // 160 MB of addresses, of which the program and its threads take most.
    let command = format!("ulimit -v 160000 && exec {} list --json", env!("CARGO_BIN_EXE_leaflog"));
    let mut shell = std::process::Command::new("sh");
    let ran = finish(shell.args(["-c", &command]).env_clear().env("HOME", &home.path).current_dir(home.project("one")));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ids(&ran).len(), 4);
    assert_eq!(ran.json()[0]["firstMessage"], "before the hole");
}

#[test]
fn recent() {
    let home = Home::new();
    let ran = home.run(&["recent"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].starts_with("3m ago      [2J") && lines[1].starts_with("5m ago      The first title "),
        "{}",
        ran.out
    );
    assert!(lines[1].ends_with(home.file("one", "00aa000000000001").to_str().unwrap()));
    let json = home.run(&["recent", "--json", "--limit", "1", "--cwd", home.project("two").to_str().unwrap()]).json();
    assert_eq!(json[0]["path"], json!(home.file("two", "00bb000000000003")));
    assert_eq!((&json[0]["name"], &json[0]["fullName"]), (&json!("\u{202e}会话"), &json!("\u{202e}会话")));
    let none = home.run(&["recent", "--cwd", "/nowhere"]);
    assert!(none.code == 0 && none.err.starts_with("leaflog: no sessions of /nowhere in "), "{}", none.err);
}

#[test]
fn resume() {
    let home = Home::new();
    let path = |ran: Ran| (ran.code, ran.out.trim_end().to_owned());
    let found = |project: &str, id: &str| (0, home.file(project, id).to_str().unwrap().to_owned());
    assert_eq!(path(home.run(&["resume", "00AA0000000000F"])), found("one", "00aa0000000000ff"));
    // Elsewhere when this project has none.
    assert_eq!(path(home.run(&["resume", "00bb"])), found("two", "00bb000000000003"));
    let several = home.run(&["resume", "00aa"]);
    assert_eq!((several.code, several.out.as_str()), (3, ""));
    let lines: Vec<&str> = several.err.lines().collect();
    assert_eq!(lines[0], "leaflog: 00aa: 2 sessions fit, the newest first:");
    assert!(lines[1].contains("_00aa0000000000ff.jsonl  3m ago  ") && lines[2].ends_with("  5m ago  The first title"));
    let none = home.run(&["resume", "ffff"]);
    assert_eq!(none.code, 3);
    assert!(none.err.starts_with("leaflog: ffff: no session of that id in "), "{}", none.err);
    // A whole id means its session, though another begins with it.
    home.put("one", "00aa", 10, None, &[]);
    assert_eq!(path(home.run(&["resume", "00aa"])), found("one", "00aa"));
}

// R56
#[test]
fn delete() {
    let home = Home::new();
    let path = home.file("one", "00aa000000000001");
    let artifacts = path.with_extension("");
    fs::create_dir(&artifacts).unwrap();
    fs::write(artifacts.join("0.bash.log"), "log").unwrap();
    let answer = |args: &[&str], text: &str| {
        let mut child = tool(args)
            .env("HOME", &home.path)
            .current_dir(home.project("one"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    };
    let file = path.to_str().unwrap();
    for no in ["", "\n", "n\n", "no\n", "yesterday\n"] {
        let ran = answer(&["delete", file], no);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{no:?}");
        assert!(ran.err.contains("\u{201c}The first title\u{201d}") && ran.err.contains("1 artifact"), "{}", ran.err);
        assert!(ran.err.ends_with("leaflog: nothing was deleted\n"), "{}", ran.err);
        assert!(path.exists() && artifacts.exists());
    }
    let ran = answer(&["delete", "00aa000000000001"], "y\n");
    assert_eq!((ran.code, ran.out), (0, format!("deleted {file}\n")));
    assert!(!path.exists() && !artifacts.exists());
    // Without asking; what is no session file is not deleted.
    let other = home.file("one", "00aa0000000000ff");
    assert_eq!(answer(&["delete", other.to_str().unwrap(), "--yes"], "").code, 0);
    assert!(!other.exists());
    assert_eq!(answer(&["delete", other.to_str().unwrap(), "--yes"], "").code, 3);
    let notes = home.path.join("notes.txt");
    fs::write(&notes, "notes").unwrap();
    let ran = answer(&["delete", notes.to_str().unwrap(), "--yes"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a session file ends in .jsonl") && notes.exists(), "{}", ran.err);
    assert_eq!(answer(&["delete", "-", "--yes"], "").code, 2);
    assert!(Path::new(&home.dir_of("two")).exists() && home.dir.path().exists());
}

#[test]
fn control_characters_stay_inside() {
    let home = Home::new();
    let mut bad: String = (1..0x20u8).chain([0x7f]).map(char::from).filter(|&c| c != '\n').collect();
    bad.extend(('\u{80}'..='\u{9f}').chain('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}'));
    bad += "\u{1b}[2J\u{1b}]0;title\u{7}";
    let header = json!({"type": "session", "id": bad, "cwd": format!("/{bad}"), "title": bad, "timestamp": bad});
    let dir = home.dir_of("one");
    fs::write(dir.join("x\u{1b}[2J\u{202e}.jsonl"), format!("{header}\n")).unwrap();
    fs::write(dir.join("y\u{1b}[2J.jsonl"), header.to_string()).unwrap();
    fs::write(dir.join("z\u{1b}[2J.jsonl"), "hello").unwrap();
    let file = dir.join("x\u{1b}[2J\u{202e}.jsonl");
    let file = file.to_str().unwrap();
    for args in [
        &["list", "--all"][..],
        &["list", "--all", "--json"],
        &["list", "--all", "--ndjson"],
        &["list", "--all", "--problems"],
        &["list", "--all", "--problems", "--json"],
        &["list", "--cwd", "/\u{1b}[2J"],
        &["recent", "--limit", "9"],
        &["recent", "--json", "--limit", "9"],
        &["resume", &bad],
        &["resume", "none\u{1b}[2J"],
        &["delete", file],
        &["delete", file, "--yes"],
        &["delete", file, "--yes"],
    ] {
        let ran = home.run(args);
        for text in [&ran.out, &ran.err] {
            let found = text.chars().find(|&c| crate::terminal::is_unsafe(c));
            assert_eq!(found, None, "{args:?}: {text:?}");
        }
        assert!(!ran.out.is_empty() || !ran.err.is_empty(), "{args:?}");
    }
    let home = Home::new();
    fs::write(home.dir_of("one").join("x.jsonl"), format!("{header}\n")).unwrap();
    assert!(home.run(&["list", "--all", "--json"]).json().as_array().unwrap().iter().any(|row| row["title"] == bad));
}

// G2, U19: what a person is told of sessions of a project that is gone, and of links.
#[cfg(unix)]
#[test]
fn g02_and_u19_marks_and_links() {
    let home = Home::new();
    let dir = home.dir_of("w-x");
    let gone = home.put("w/x", "00dd000000000001", 50, None, &["theirs"]);
    assert_eq!(gone.parent().unwrap(), dir);
    home.put("w-x", "00dd000000000002", 500, None, &["mine"]);
    fs::remove_dir_all(home.path.join("w")).unwrap();
    let cwd = home.project("w-x");
    let cwd = cwd.to_str().unwrap();
    let ran = home.run(&["list", "--cwd", cwd]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[1].contains("~/w/x (gone)  00dd000000000001"), "{}", ran.out);
    assert!(lines[2].contains("~/w-x ") && !lines[2].contains("gone"), "{}", ran.out);
    let rows = home.run(&["list", "--cwd", cwd, "--json"]).json();
    assert_eq!([&rows[0]["projectGone"], &rows[1]["projectGone"]], [true, false]);
    let recent = home.run(&["recent", "--cwd", cwd]);
    let lines: Vec<&str> = recent.out.lines().collect();
    assert!(lines[0].contains("mine") && lines[1].ends_with("(of another project, which is gone)"), "{}", recent.out);
    let several = home.run(&["resume", "00dd", "--cwd", cwd]);
    let lines: Vec<&str> = several.err.lines().collect();
    assert!(
        lines[1].ends_with("mine") && lines[2].ends_with("theirs  (of another project, which is gone)"),
        "{}",
        several.err
    );

    std::os::unix::fs::symlink(&gone, dir.join("linked.jsonl")).unwrap();
    let ran = home.run(&["list", "--cwd", cwd]);
    assert_eq!(ran.err, "leaflog: 1 link is not followed; --problems names what is not listed\n");
    let problems = home.run(&["list", "--cwd", cwd, "--problems"]);
    let want = format!("{}: a symbolic link is not followed here\n", dir.join("linked.jsonl").display());
    assert_eq!((problems.code, problems.out), (1, want));
    fs::remove_file(&gone).unwrap();
    fs::remove_file(home.file("w-x", "00dd000000000002")).unwrap();
    let none = home.run(&["list", "--cwd", cwd]);
    assert!(none.code == 0 && none.out.is_empty(), "{}", none.out);
    assert!(none.err.contains("no sessions of ") && none.err.contains("1 link is not followed"), "{}", none.err);
}

// G9: by the name of its file a session is known that cannot be read.
#[cfg(target_os = "linux")]
#[test]
fn g09_no_permission_is_not_no_session() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let locked = home.put("one", "00ee000000000001", 50, None, &["hello"]);
    home.put("one", "00ee000000000002", 60, None, &["hello"]);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&home.path, 0o755);
    mode(&locked, 0);
    // Whoever runs the tests as root may read it: then the tool runs as somebody else.
    let is_root = fs::File::open(&locked).is_ok();
    let program = home.path.join("leaflog");
    fs::copy(env!("CARGO_BIN_EXE_leaflog"), &program).unwrap();
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(if is_root { Path::new("setpriv") } else { &program });
        if is_root {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        }
        finish(
            command
                .args(args)
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .env("HOME", &home.path)
                .current_dir(home.project("one")),
        )
    };
    let denied = |ran: &Ran| {
        assert_eq!((ran.code, ran.out.as_str()), (5, ""), "{}", ran.err);
        let want = format!("leaflog: {}: cannot open the session: ", locked.display());
        assert!(ran.err.starts_with(&want), "{}", ran.err);
    };
    for args in [&["resume", "00ee000000000001"][..], &["show", "00ee000000000001"], &["context", "00ee000000000001"]] {
        denied(&run(args));
    }
    for args in [&["resume", "00ee"][..], &["show", "00ee"]] {
        let ran = run(args);
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.starts_with("leaflog: 00ee: 2 sessions fit, the newest first:\n"), "{}", ran.err);
        assert_eq!(ran.err.matches(".jsonl").count(), 2, "{}", ran.err);
    }
    assert_eq!(run(&["resume", "00ee000000000002"]).code, 0);
    // Nor is a directory empty that cannot be looked into.
    let dir = home.dir_of("two");
    mode(&dir, 0);
    let ran = run(&["resume", "00bb000000000003"]);
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains(dir.to_str().unwrap()), "{}", ran.err);
    assert_eq!(run(&["show", "00bb000000000003"]).code, 5);
    // Two of them are not two sessions.
    home.put("three", "00bb000000000004", 70, None, &["hello"]);
    let other = home.dir_of("three");
    mode(&other, 0);
    let ran = run(&["resume", "00bb"]);
    assert_eq!((ran.code, ran.err.lines().count()), (5, 1), "{}", ran.err);
    for dir in [&dir, &other] {
        mode(dir, 0o755);
    }
}

// G10: a link that a move left behind is where the shell says one is.
#[cfg(unix)]
#[test]
fn g10_the_directory_of_the_shell() {
    let home = Home::new();
    let (old, new) = (home.project("one"), home.path.join("moved"));
    fs::rename(&old, &new).unwrap();
    std::os::unix::fs::symlink(&new, &old).unwrap();
    let run = |args: &[&str], pwd: &Path| finish(tool(args).env("HOME", &home.path).env("PWD", pwd).current_dir(&new));
    assert_eq!(ids(&run(&["list", "--json"], &old)).len(), 2);
    assert_eq!(ids(&run(&["list", "--json", "--cwd", "."], &old)).len(), 2);
    assert_eq!(run(&["recent"], &old).out.lines().count(), 2);
    // What names another directory, or none, is not believed.
    for pwd in [&home.project("two"), Path::new("one"), Path::new("/nonexistent"), &new] {
        assert_eq!(ids(&run(&["list", "--json"], pwd)), [""; 0], "{}", pwd.display());
    }
}

// G10: what goes by an id needs no directory to be in.
#[cfg(target_os = "linux")]
#[test]
fn g10_in_a_directory_that_was_removed() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let gone = home.project("gone");
        let script = format!("rmdir '{}' && exec \"$@\"", gone.display());
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_leaflog")]).args(args);
        finish(shell.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home.path).current_dir(&gone))
    };
    let path = home.file("one", "00aa000000000001");
    let ran = run(&["resume", "00aa000000000001"]);
    assert_eq!((ran.code, ran.out.trim_end(), ran.err.as_str()), (0, path.to_str().unwrap(), ""));
    assert_eq!(run(&["resume", "00aa"]).code, 3);
    assert_eq!(run(&["resume", "00ff"]).code, 3);
    for args in [
        &["show", "00aa000000000001"][..],
        &["context", "00aa000000000001"],
        &["stats", "00aa000000000001"],
        &["show", "@last"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    }
    let ran = run(&["list", "--all", "--json"]);
    assert_eq!((ran.code, ids(&ran).len()), (0, 3), "{}", ran.err);
    let ran = run(&["list"]);
    assert!(ran.code == 3 && ran.err.starts_with("leaflog: the current directory: "), "{}", ran.err);
}
