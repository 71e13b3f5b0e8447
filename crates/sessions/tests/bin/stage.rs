//! What the integration tests start: the keeper, and the demo agent as a process.
//!
//! In: `__keeper`, or the flags of `switchyard demo-agent`.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // Before any thread is started.
    if arguments.first().is_some_and(|first| first == "__keeper") {
        return bus::keeper::main();
    }
    serve(&arguments)
}

#[tokio::main]
async fn serve(arguments: &[OsString]) -> ExitCode {
    match agent::demo::DemoOptions::from_args(arguments) {
        Ok(options) => agent::demo::serve(options).await,
        Err(_) => ExitCode::from(2),
    }
}
