//! The keeper of what the integration tests start.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("__keeper") => bus::keeper::main(),
        _ => ExitCode::from(64),
    }
}
