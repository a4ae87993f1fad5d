//! Gives the shared library its name for the dynamic linker, which cargo does not.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/version.rs");
    let Ok(version) = std::fs::read_to_string("src/version.rs") else { return };
    let abi = version
        .lines()
        .find_map(|line| line.strip_prefix("pub const LEAFLOG_ABI_VERSION: u32 = ")?.strip_suffix(';'))
        .unwrap_or_else(|| panic!("src/version.rs has no LEAFLOG_ABI_VERSION"));
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos" | "ios") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libleaflog.{abi}.dylib");
        }
        Ok("windows") | Err(_) => {}
        Ok(_) => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libleaflog.so.{abi}"),
    }
}
