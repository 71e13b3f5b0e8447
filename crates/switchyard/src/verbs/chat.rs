//! `switchyard chat`: a session at the terminal, of the daemon or of this process.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use chat::{ChatError, ChatOptions, ChatStart};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::chat::ChatArgs;
use crate::command_daemon::{CommandDaemon, RunningDaemon};
use crate::config::Config;
use crate::daemon::in_process::InProcessOptions;
use crate::home::make_private_dir;
use crate::outcome::{self, ERROR, Failure, NOT_FOUND, USAGE};
use crate::session_info::SessionInfo;
use crate::signals::Signals;
use crate::terminal::format::members;
use crate::terminal::spinner::Spinner;
use crate::verbs::session_args::add_dirs;
use crate::verbs::session_args::working_directory;
use crate::{agents, terminal, this_process};

/// The file in which typed prompts are kept.
const HISTORY: &str = "chat-history";

/// Whether the whole screen is used; the log must not be written there, then.
pub(crate) fn is_full_screen(args: &ChatArgs) -> bool {
    !args.plain
        && !terminal::is_dumb()
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
}

pub(crate) async fn chat(args: ChatArgs, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    // SIGQUIT would otherwise leave the terminal as the chat has set it.
    let mut quit = signal(SignalKind::quit()).map_err(anyhow::Error::from)?;
    let is_full = is_full_screen(&args);
    let running = RunningDaemon::find_for(&config).filter(|_| !args.no_daemon);
    let policy = config.policy();
    let options =
        InProcessOptions { policy, can_ask: true, is_warm: true, ..InProcessOptions::default() };
    let daemon = CommandDaemon::for_sessions(&config, running, options).await?;
    let wanted = match chat_request(&args, &config, &daemon).await {
        Ok(wanted) => wanted,
        Err(failure) => {
            daemon.end().await;
            return Err(failure);
        }
    };
    let client = daemon.client().clone();
    // Which signal ended it.
    let mut code = 0;
    let stop = async {
        code = tokio::select! {
            code = signals.next() => code,
            _ = quit.recv() => outcome::TERMINATED,
        };
    };
    let left = match is_full {
        true => chat::full_screen(client, wanted, stop).await,
        false => {
            let lines = chat::lines_of_stdin();
            chat::plain(client, wanted, lines, std::io::stdout(), stop).await
        }
    };
    let spinner = Spinner::start("ending the agent …");
    daemon.end().await;
    drop(spinner);
    let left = match left {
        // As with any filter whose reader has had enough.
        Err(ChatError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        left => left?,
    };
    if let Some(id) = left.session.as_ref().filter(|_| is_full) {
        terminal::say(&format!("session {id}; `switchyard chat -s {id:.10}` goes on with it"));
    }
    match (code, left.limit) {
        (0, _) if is_full => Ok(ExitCode::SUCCESS),
        (0, Some(limit)) if left.was_cut_by_denial => Err(Failure::at_limit(limit)),
        (0, _) => {
            let of_turn =
                |stop| outcome::exit_code_of_turn(stop, left.was_cut_by_denial, left.was_denied);
            // Whoever was denied something before any turn ended was denied it all the same.
            let usual = if left.was_denied { outcome::DENIED } else { 0 };
            Ok(ExitCode::from(left.stop.as_ref().map_or(usual, of_turn)))
        }
        (code, _) => Ok(ExitCode::from(code)),
    }
}

async fn chat_request(
    args: &ChatArgs,
    config: &Config,
    daemon: &CommandDaemon,
) -> Result<ChatOptions, Failure> {
    let remark = "no daemon runs: sessions run in this process, and stop when you leave";
    let cwd = working_directory(args.agent.cwd.as_deref())?;
    make_private_dir(&config.home.state)?;
    let start = if let Some(named) = &args.session {
        ChatStart::Session(SessionInfo::find(daemon.client(), named).await?.id.to_string())
    } else if args.resume {
        ChatStart::Continue
    } else if args.pick {
        ChatStart::AnySession
    } else if !args.command.is_empty() {
        ChatStart::New(None)
    } else {
        match args.name.clone().or_else(|| args.agent.agent.clone()) {
            Some(agent) => {
                agents::find(&agent, config)?;
                ChatStart::New(Some(agent))
            }
            None => ChatStart::AnyAgent,
        }
    };
    Ok(ChatOptions {
        start,
        create_params: create_params(args, &cwd)?,
        cwd,
        history: config.home.state.join(HISTORY),
        has_color: terminal::color_on_stdout(),
        remark: daemon.is_here().then(|| remark.to_owned()),
    })
}

/// The request for a new session, as the API takes it, beside the name of its agent.
fn create_params(args: &ChatArgs, cwd: &Path) -> Result<Map<String, Value>, Failure> {
    let mut params = members(&args.initial_options.initial_options());
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let more = [
        ("systemPrompt", args.system_prompt.as_ref().map(|prompt| json!(prompt))),
        ("additionalDirectories", Some(json!(add_dirs(&args.agent)?))),
        ("limits", Some(json!(args.limits.limits()))),
        ("permissions", args.permissions.map(|mode| json!(mode))),
        ("cwd", Some(json!(cwd))),
        ("env", Some(json!(this_process::environment_for_agents()))),
        ("command", (!words.is_empty()).then(|| json!(words))),
    ];
    params.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Ok(params)
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        let (code, hint) = match &error {
            ChatError::NothingToContinue(_) => {
                (NOT_FOUND, Some("`switchyard chat AGENT` begins a session"))
            }
            ChatError::WhichAgent(_) => (USAGE, Some("name one: switchyard chat AGENT")),
            ChatError::NoAgent => {
                (NOT_FOUND, Some("`switchyard agents doctor` says what is missing"))
            }
            ChatError::Terminal(_) => (ERROR, Some("--plain needs no screen")),
            _ => (ERROR, None),
        };
        match error {
            ChatError::Daemon(error) => error.into(),
            error => Self::new(code, error.to_string()).hinting(hint),
        }
    }
}
