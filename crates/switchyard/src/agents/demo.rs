//! The demo agent: as a process of its own, and what there is to say about it.

use std::ffi::OsString;
use std::process::ExitCode;

use agent::demo::{Options, USAGE, choices};
use runtimes::catalogue::Inside;
use runtimes::detect::{Auth, AuthState, Found};
use serde_json::{Value, json};

use crate::bootstrap::{DEMO_VERB, make_private_dir};
use crate::config::Config;
use crate::outcome::{self, Failure};
use crate::terminal;
use crate::terminal::format;

/// Serves one client on stdin and stdout until it goes.
pub(crate) async fn serve(args: Vec<OsString>) -> ExitCode {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        let about = "switchyard demo-agent: the demo agent alone, on stdin and stdout";
        let _ = format::print(&format!("{about}\n\n{USAGE}\n"));
        return ExitCode::SUCCESS;
    }
    match Options::from_args(&args) {
        Ok(options) => agent::demo::serve(options).await,
        Err(why) => {
            terminal::say(&format!("switchyard demo-agent: {why}"));
            ExitCode::from(outcome::USAGE)
        }
    }
}

/// The command line that serves sessions. With a memory of its own, so that going on with a
/// session shows a real resume.
pub(crate) fn args(config: &Config) -> Result<Vec<OsString>, Failure> {
    let memory = config.home.state.join("demo");
    make_private_dir(&memory)?;
    Ok(vec![DEMO_VERB.into(), "--all-sessions".into(), "--state".into(), memory.into()])
}

/// What `agents` says about it.
pub(crate) fn found() -> Found {
    let Value::Object(mut choices) = choices() else { return Found::default() };
    let mut read = |name: &str| choices.remove(name).unwrap_or_default();
    let models = serde_json::from_value(read("models")).unwrap_or_default();
    let efforts = serde_json::from_value(read("efforts")).unwrap_or_default();
    let default_model = serde_json::from_value(read("defaultModel")).unwrap_or_default();
    // Whoever has another agent has no use for its answers.
    choices.insert("isDemo".to_owned(), json!(true));
    Found {
        is_usable: true,
        auth: Auth { state: AuthState::Ok, by: Some("it is built in".to_owned()) },
        models,
        default_model,
        efforts,
        notes: vec!["built in, for trying things out: `switchyard run demo help`".to_owned()],
        more: choices,
        ..Found::inside(Inside::Demo, "Demo agent", ["switchyard", DEMO_VERB])
    }
}
