//! The session of a run: a new one, or one that was named.

use client::SessionClient;
use serde_json::{Map, Value, json};
use sessions::options::InitialOptions;
use wire::{Seq, SessionId};

use crate::cli::run::RunArgs;
use crate::command_daemon::CommandDaemon;
use crate::outcome::Failure;
use crate::session_info::SessionInfo;
use crate::terminal::format::members;
use crate::terminal::prompt;
use crate::terminal::spinner::Spinner;
use crate::this_process;
use crate::this_process::require_a_person;
use crate::verbs::session_args::add_dirs;
use crate::verbs::session_args::working_directory;

/// A session, and what is to be done before it is prompted.
#[derive(Clone)]
pub(super) struct RunSession {
    pub(super) session: SessionClient,
    /// Events after this one are shown.
    pub(super) cursor: Seq,
    pub(super) is_new: bool,
    /// Its agent is to be started before anything is set or prompted: what keeps it from that is no
    /// failed turn.
    pub(super) needs_start: bool,
    /// Changes to the session before its first prompt, as members of PATCH.
    pub(super) changes: Map<String, Value>,
}

pub(super) async fn open(daemon: &CommandDaemon, args: &RunArgs) -> Result<RunSession, Failure> {
    let initial_options = args.initial_options.initial_options();
    if !initial_options.are_restrictive() {
        require_a_person("it may not choose a mode or an option that may allow more")?;
    }
    match &args.session {
        Some(named) => earlier(daemon, args, named, &initial_options).await,
        None => new(daemon, args, &initial_options).await,
    }
}

async fn earlier(
    daemon: &CommandDaemon,
    args: &RunArgs,
    named: &str,
    initial_options: &InitialOptions,
) -> Result<RunSession, Failure> {
    let info = SessionInfo::find(daemon.client(), named).await?;
    check_same(args, &info)?;
    prompt::warn_outside(&args.attach, &[info.cwd.clone().into()]);
    let mut changes = members(initial_options);
    let limits = args.limits.limits();
    if !limits.is_empty() {
        changes.insert("limits".to_owned(), json!(limits.or(info.limits)));
    }
    Ok(RunSession {
        session: daemon.client().session(info.id),
        cursor: info.head,
        is_new: false,
        needs_start: true,
        changes,
    })
}

/// Refuses to go on with a session as another one.
fn check_same(args: &RunArgs, info: &SessionInfo) -> Result<(), Failure> {
    if args.agent.cwd.is_some() {
        return Err(Failure::usage(format!("the session works in {}", info.cwd))
            .hint("leave --cwd out, or start a new session"));
    }
    match args.agent.agent.as_deref().filter(|agent| *agent != info.agent) {
        None => Ok(()),
        Some(agent) => Err(Failure::usage(format!(
            "session {} belongs to agent `{}`, not to `{agent}`",
            info.id, info.agent
        ))),
    }
}

async fn new(
    daemon: &CommandDaemon,
    args: &RunArgs,
    initial_options: &InitialOptions,
) -> Result<RunSession, Failure> {
    #[derive(serde::Deserialize)]
    struct CreatedSession {
        id: SessionId,
    }
    let cwd = working_directory(args.agent.cwd.as_deref())?;
    let add_dirs = add_dirs(&args.agent)?;
    prompt::warn_outside(&args.attach, &[std::slice::from_ref(&cwd), &add_dirs[..]].concat());
    // While it is being set the agent may ask something, and only who knows the session can answer.
    let is_unstarted = !initial_options.is_empty() || args.auth.is_some();
    let words = args.command.iter().map(|word| word.to_string_lossy());
    let order = json!({
        "agent": args.agent.agent,
        "command": words.collect::<Vec<_>>(),
        "cwd": cwd,
        "additionalDirectories": add_dirs,
        "env": this_process::environment_for_agents(),
        "limits": args.limits.limits(),
        // Some agents take it only when they are started.
        "model": args.initial_options.model,
        "permissions": args.permissions.mode(),
        "systemPrompt": args.system_prompt,
        "startsLater": is_unstarted,
    });
    let agent = args.agent.agent.as_deref().unwrap_or("the agent");
    let waiting = Spinner::start(format!("starting {agent} …"));
    let made: CreatedSession = daemon.client().post("/v1/sessions", &order).await?;
    drop(waiting);
    let session = daemon.client().session(made.id);
    let changes = members(initial_options);
    Ok(RunSession { session, cursor: Seq(0), is_new: true, needs_start: is_unstarted, changes })
}
