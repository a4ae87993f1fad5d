//! Versions.

use std::ffi::c_char;

/// The number of the binary interface: that of the shared library's name, `libleaflog.so.1`. A
/// program runs with every library of the number it was built with; it grows when something that a
/// program could use is changed or removed, and not when something is added.
pub const LEAFLOG_ABI_VERSION: u32 = 1;

/// The version of the library that runs, `1.2.3`: NUL-terminated, of static lifetime. The macro
/// LEAFLOG_VERSION is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The version of the library that runs as a number to compare: major * 1000000 + minor * 1000 +
/// patch. The macro LEAFLOG_VERSION_NUMBER is that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_version_number() -> u32 {
    const fn number(text: &str) -> u32 {
        let mut number = 0;
        let mut at = 0;
        while at < text.len() {
            number = number * 10 + (text.as_bytes()[at] - b'0') as u32;
            at += 1;
        }
        number
    }
    const NUMBER: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

/// The LEAFLOG_ABI_VERSION of the library that runs.
#[unsafe(no_mangle)]
pub extern "C" fn leaflog_abi_version() -> u32 {
    LEAFLOG_ABI_VERSION
}
