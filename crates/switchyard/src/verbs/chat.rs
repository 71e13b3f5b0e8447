//! `switchyard chat`: a session at the terminal, of the daemon or of this process.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

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
    let code = Arc::new(AtomicU8::new(0));
    let stop = {
        let code = code.clone();
        async move {
            let asked_for = tokio::select! {
                code = signals.next() => code,
                _ = quit.recv() => outcome::TERMINATED,
            };
            code.store(asked_for, Ordering::Relaxed);
        }
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
    match (code.load(Ordering::Relaxed), left.limit) {
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
        let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
        ChatStart::Command(words.collect())
    } else {
        match args.name.clone().or_else(|| args.agent.agent.clone()) {
            Some(agent) => {
                agents::find(&agent, config)?;
                ChatStart::Agent(agent)
            }
            None => ChatStart::AnyAgent,
        }
    };
    Ok(ChatOptions {
        start,
        cwd,
        create_params: order(args)?,
        env: this_process::environment_for_agents(),
        history: config.home.state.join(HISTORY),
        has_color: terminal::color_on_stdout(),
        remark: daemon.is_here().then(|| remark.to_owned()),
    })
}

/// The order for new sessions, as the API takes it.
fn order(args: &ChatArgs) -> Result<Map<String, Value>, Failure> {
    let mut order = members(&args.initial_options.initial_options());
    let more = [
        ("systemPrompt", args.system_prompt.as_ref().map(|prompt| json!(prompt))),
        ("additionalDirectories", Some(json!(add_dirs(&args.agent)?))),
        ("limits", Some(json!(args.limits.limits()))),
        ("permissions", args.permissions.map(|mode| json!(mode))),
    ];
    order.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Ok(order)
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::Daemon(error) => error.into(),
            ChatError::NothingToContinue(_) => Self::new(NOT_FOUND, error.to_string())
                .hint("`switchyard chat AGENT` begins a session"),
            ChatError::WhichAgent(_) => {
                Self::new(USAGE, error.to_string()).hint("name one: switchyard chat AGENT")
            }
            ChatError::NoAgent => Self::new(NOT_FOUND, error.to_string())
                .hint("`switchyard agents doctor` says what is missing"),
            ChatError::Terminal(_) => {
                Self::new(ERROR, error.to_string()).hint("--plain needs no screen")
            }
            ChatError::Write(_)
            | ChatError::CannotOpen(_)
            | ChatError::Halted(_)
            | ChatError::Lost(_) => Self::new(ERROR, error.to_string()),
        }
    }
}
