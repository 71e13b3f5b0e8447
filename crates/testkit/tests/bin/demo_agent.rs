//! The demo agent as a process, for the tests of this crate.
//!
//! In: the flags of `switchyard demo-agent`. Out: ACP v1 on stdout.
//! It adds nothing to the library, so what is tested here is what the real binary serves.

use std::ffi::OsString;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match agent::demo::DemoOptions::from_args(&arguments) {
        Ok(options) => agent::demo::serve(options).await,
        Err(_) => ExitCode::from(2),
    }
}
