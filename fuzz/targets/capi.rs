//! Any functions of the C interface in any order, with arguments that are right, wrong and nonsense. With
//! `LEAFLOG_SHOW` each call is printed.
#![no_main]
#![allow(clippy::unwrap_used)]

use std::path::Path;

libfuzzer_sys::fuzz_target!(
    init: {
        let dir = ["/dev/shm", "/tmp"].into_iter().find(|dir| Path::new(dir).is_dir()).unwrap();
        // Left behind: libFuzzer ends the process without saying so.
        let home = tempfile::Builder::new().prefix(leaflog_c::calls::PREFIX).tempdir_in(dir).unwrap().keep();
        // Nothing of this machine's is found by the environment, and nothing written but in the folder.
        // SAFETY: there are no other threads yet.
        unsafe {
            for (name, _) in std::env::vars_os().filter(|(name, _)| name != "LEAFLOG_SHOW") {
                std::env::remove_var(name);
            }
            std::env::set_var("HOME", &home);
        }
    },
    |data: &[u8]| { leaflog_c::calls::any_calls(data) }
);
