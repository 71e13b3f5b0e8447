//! The demo agent: how it is started, what there is to say about it, and its process.

use std::ffi::OsString;
use std::process::ExitCode;

use agent::demo::{DemoOptions, USAGE, choices};
use runtimes::catalogue::BuiltInAgent;
use runtimes::detect::{DetectedAgent, LoginState, LoginStatus};
use serde_json::{Value, json};

use crate::config::Config;
use crate::home::make_private_dir;
use crate::outcome::{self, Failure};
use crate::terminal;
use crate::terminal::output::print;

/// The verb by which the binary starts itself as this agent.
pub(crate) const VERB: &str = "demo-agent";

/// The command line that serves sessions. With a memory of its own, so that going on with a
/// session shows a real resume.
pub(crate) fn args(config: &Config) -> Result<Vec<OsString>, Failure> {
    let memory = config.home.state.join("demo");
    make_private_dir(&memory)?;
    Ok(vec![VERB.into(), "--all-sessions".into(), "--state".into(), memory.into()])
}

/// Its detection result, as `switchyard agents` shows it.
pub(crate) fn detect() -> DetectedAgent {
    let Value::Object(mut choices) = choices() else { return DetectedAgent::default() };
    let mut read = |name: &str| choices.remove(name).unwrap_or_default();
    let models = serde_json::from_value(read("models")).unwrap_or_default();
    let efforts = serde_json::from_value(read("efforts")).unwrap_or_default();
    let default_model = serde_json::from_value(read("defaultModel")).unwrap_or_default();
    // Lets clients prefer any other agent: its answers are of no use beside one.
    choices.insert("isDemo".to_owned(), json!(true));
    DetectedAgent {
        is_usable: true,
        auth: LoginState { state: LoginStatus::Ok, by: Some("it is built in".to_owned()) },
        models,
        default_model,
        efforts,
        notes: vec!["built in, for trying things out: `switchyard run demo help`".to_owned()],
        more: choices,
        ..DetectedAgent::built_in(BuiltInAgent::Demo, "Demo agent", ["switchyard", VERB])
    }
}

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
