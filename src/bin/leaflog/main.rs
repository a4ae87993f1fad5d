//! The command-line tool `leaflog`.
fn main() {}
