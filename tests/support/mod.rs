//! What several of the tests need.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fmt::Display;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

/// Says that something cannot be tested on this machine. With `LEAFLOG_REQUIRE=1` that is a failure.
#[track_caller]
pub fn skip(what: impl Display) {
    assert!(std::env::var_os("LEAFLOG_REQUIRE").is_none(), "skipped, and LEAFLOG_REQUIRE is set: {what}");
    println!("skipped: {what}");
}

/// How long a long run takes: `LEAFLOG_LONG_SECONDS`; zero when it is not set.
pub fn long_run() -> Duration {
    let Ok(seconds) = std::env::var("LEAFLOG_LONG_SECONDS") else { return Duration::ZERO };
    Duration::from_secs(seconds.parse().expect("LEAFLOG_LONG_SECONDS is a number of seconds"))
}

/// Runs a test once, or again and again until [`long_run`] is over. Each round has another seed; that of the first
/// is `PROPTEST_RNG_SEED` when there is one. It is printed, and the test runner shows it when the test fails.
pub fn rounds(mut test: impl FnMut(u64)) {
    let start = Instant::now();
    let mut seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    for round in 1.. {
        let seed = seed.take().unwrap_or_else(|| RandomState::new().hash_one(round));
        println!("round {round}, PROPTEST_RNG_SEED={seed}");
        test(seed);
        if start.elapsed() >= long_run() {
            break;
        }
    }
}

/// Runs one test of this program again as a user without rights, for whom permissions count. Its temporary
/// directory is one that it may write to.
#[cfg(unix)]
pub fn again_without_rights(test: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (program, temp) = (dir.path().join("program"), dir.path().join("temp"));
    // The program may lie where nobody else may go.
    std::fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy of it");
    std::fs::create_dir(&temp).expect("a directory");
    for (path, mode) in [(dir.path(), 0o755), (&program, 0o755), (&temp, 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
    }
    let ran = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", test, "--nocapture"])
        .envs([("TMPDIR", &temp), ("HOME", &temp)])
        .current_dir("/")
        .output();
    match ran {
        Ok(output) => {
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            if err.contains("setpriv:") {
                return skip(format_args!("running as root, and setpriv cannot give up rights: {err}"));
            }
            assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
        }
        Err(error) => skip(format_args!("running as root, and there is no setpriv: {error}")),
    }
}

/// JSON text without the blanks between its tokens: a number keeps its spelling.
pub fn tokens(text: &str) -> String {
    let mut out = String::new();
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        out.push(c);
    }
    out
}
