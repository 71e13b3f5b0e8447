//! `switchyard demo-agent`: the demo agent as a process of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use agent::demo::{DemoOptions, USAGE};

use crate::terminal::output::print;
use crate::{outcome, terminal};

/// Serves one client on stdin and stdout until it goes.
pub(crate) async fn serve(args: Vec<OsString>) -> ExitCode {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        let about = "switchyard demo-agent: the demo agent alone, on stdin and stdout";
        let _ = print(&format!("{about}\n\n{USAGE}\n"));
        return ExitCode::SUCCESS;
    }
    match DemoOptions::from_args(&args) {
        Ok(options) => agent::demo::serve(options).await,
        Err(why) => {
            terminal::say(&format!("switchyard demo-agent: {why}"));
            ExitCode::from(outcome::USAGE)
        }
    }
}
