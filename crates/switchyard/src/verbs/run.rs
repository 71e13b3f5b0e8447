//! `switchyard run`: opens a session of a daemon and prompts it.

mod arguments;
mod initial_options;
mod messages;
mod opening;
mod turn_end;
mod turns;

use std::process::ExitCode;
use std::sync::Arc;

use crate::cli::format::OutputFormat;
use crate::cli::run::RunArgs;
use crate::cli::session::PermissionArgs;
use crate::command_daemon::{CommandDaemon, RunningDaemon};
use crate::config::Config;
use crate::daemon::in_process::InProcessOptions;
use crate::outcome::{self, Failure};
use crate::signals::Signals;
use crate::terminal;
use crate::terminal::prompt::{self, PromptInput};
use crate::verbs::session_args;
use messages::Messages;
use turns::{RunEnd, Turns};

pub(crate) async fn run(args: RunArgs, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let (agent, word) = arguments::split(&args)?;
    // Checks that all attachments are there.
    PromptInput::new("", &args.attach)?;
    if let Some(agent) = agent.filter(|_| args.command.is_empty() && args.session.is_none()) {
        crate::agents::find(agent, &config)?.check(&config)?;
    }
    let mut messages = args.stdin.then(Messages::from_stdin);
    let text = match (&mut messages, word) {
        (Some(messages), _) => match messages.next().await {
            Some(text) => text,
            // Nothing is asked, so nothing is started.
            None if messages.has_unread => return Ok(ExitCode::from(outcome::USAGE)),
            None => return Ok(ExitCode::SUCCESS),
        },
        (None, word) => prompt::read_text(word.unwrap_or_default())?,
    };
    let prompt = PromptInput::new(&text, &args.attach)?;
    // Not earlier: until here an interrupt simply ends us, also while stdin is read.
    let mut signals = Signals::listen()?;
    let running = RunningDaemon::find_for(&config).filter(|_| can_be_elsewhere(&args));
    let policy = session_args::policy(&config, &args.permissions)?;
    let mode_holds = args.permissions.mode().is_some();
    let options = InProcessOptions {
        policy,
        overrides_mode: mode_holds,
        can_ask: can_ask(&args),
        is_warm: false,
    };
    let daemon = CommandDaemon::for_sessions(&config, running, options).await?;
    let ended = tokio::select! {
        opened = opening::open(&daemon, &args, agent) => match opened {
            Ok(opened) => {
                let turns = Turns::new(&args, &daemon, opened);
                turns.run(&prompt, messages, &mut signals).await
            }
            Err(failure) => Err(failure),
        },
        signal = signals.next() => Ok(RunEnd::With(signal)),
    };
    match ended {
        // After a second signal: the keepers end what we leave behind.
        Ok(RunEnd::AtOnce(code)) => Ok(ExitCode::from(code)),
        ended => {
            daemon.end().await;
            ended.map(|ended| ExitCode::from(ended.code()))
        }
    }
}

/// Whether a person can answer questions: one who types prompts on stdin cannot.
fn can_ask(args: &RunArgs) -> bool {
    args.format == OutputFormat::Text && !args.stdin && terminal::can_ask()
}

/// Whether a running daemon may be used: it cannot be given permissions for this run alone.
fn can_be_elsewhere(args: &RunArgs) -> bool {
    let PermissionArgs { approve_reads, policy, .. } = &args.permissions;
    let has_mode = args.session.is_some() && args.permissions.mode().is_some();
    !args.no_daemon && !approve_reads && policy.is_none() && !has_mode
}
