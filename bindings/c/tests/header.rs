//! include/leaflog.h is what the source says. `make header` writes it.

use std::error::Error;
use std::path::{Path, PathBuf};

/// The header of the source as it is.
fn generate() -> Result<String, Box<dyn Error>> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"))?;
    let [major, minor, patch] =
        [env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH")];
    config.header = Some(
        "/* leaflog: the sessions of coding agents, for C and every language that can call C.\n *\n \
         * docs/c-api.md is the contract: who owns what, threads, errors, versions.\n \
         * Generated from bindings/c by `make header`; not to be edited. */"
            .to_owned(),
    );
    config.after_includes = Some(format!(
        "
/// The version of this header.
#define LEAFLOG_VERSION \"{major}.{minor}.{patch}\"
#define LEAFLOG_VERSION_MAJOR {major}
#define LEAFLOG_VERSION_MINOR {minor}
#define LEAFLOG_VERSION_PATCH {patch}
/// The version of this header as a number to compare with `leaflog_version_number()`.
#define LEAFLOG_VERSION_NUMBER \\
    (LEAFLOG_VERSION_MAJOR * 1000000 + LEAFLOG_VERSION_MINOR * 1000 + LEAFLOG_VERSION_PATCH)"
    ));
    let mut header = Vec::new();
    cbindgen::Builder::new().with_crate(crate_dir).with_config(config).generate()?.write(&mut header);
    let header = String::from_utf8(header)?;
    // After the types, inside of `extern "C"` and the include guard.
    let (types, functions) = header.split_once("#ifdef __cplusplus\nextern \"C\" {").ok_or("no functions")?;
    let cstr = "/// A NUL-terminated string as a leaflog_str; NULL is an absent one.
static inline leaflog_str leaflog_cstr(const char *text) {
    leaflog_str str;
    str.data = text;
    str.len = text != NULL ? strlen(text) : 0;
    return str;
}
";
    Ok(format!("{types}{cstr}\n#ifdef __cplusplus\nextern \"C\" {{{functions}"))
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/leaflog.h")
}

#[test]
fn the_header_is_that_of_the_source() {
    let generated = generate().unwrap();
    if std::env::var_os("LEAFLOG_WRITE_HEADER").is_some() {
        std::fs::write(path(), &generated).unwrap();
    }
    let committed = std::fs::read_to_string(path()).unwrap_or_default();
    if let Some((line, (old, new))) = (1..).zip(committed.lines().zip(generated.lines())).find(|(_, (a, b))| a != b) {
        panic!("include/leaflog.h:{line} is `{old}` and should be `{new}`: run `make header`");
    }
    assert_eq!(committed.len(), generated.len(), "include/leaflog.h is not whole: run `make header`");
}
