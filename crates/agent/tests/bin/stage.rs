//! What the unit tests start: the keeper, and the launcher of sandboxes.
//!
//! In: `__keeper`, or `__sandbox` with what the launcher wants to know.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Both before any thread is started.
    match arguments.split_first() {
        Some((verb, _)) if verb == "__keeper" => bus::keeper::main(),
        Some((verb, rest)) if verb == "__sandbox" => agent::native::sandbox::launcher_main(rest),
        _ => ExitCode::from(2),
    }
}
