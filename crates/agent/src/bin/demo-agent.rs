//! The demo agent as a program of its own, for tests that need a real process.
//!
//! In: the flags of `switchyard demo-agent`. Out: ACP v1 on stdout.
//! It adds nothing to the library, so what is tested here is what the real binary serves.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match agent::demo::DemoOptions::from_args(&arguments) {
        Ok(options) => agent::demo::serve(options).await,
        Err(problem) => {
            // A closed stderr must not turn a usage error into a panic.
            let _ = writeln!(std::io::stderr(), "demo-agent: {problem}");
            ExitCode::from(2)
        }
    }
}
