//! `switchyard run`: opens a session of a daemon and prompts it.

mod arguments;
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

pub(crate) async fn run(mut args: RunArgs, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let word = arguments::take_prompt(&mut args)?;
    // Refused before anything waits for stdin; what is sent is as it is then.
    PromptInput::attaching(&args.attach)?;
    let agent = args.agent.agent.as_deref();
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
        (None, word) => prompt::read_text(word.as_deref().unwrap_or_default())?,
    };
    let prompt = PromptInput::attaching(&args.attach)?.with_text(&text);
    // Not earlier: until here an interrupt simply ends us, also while stdin is read.
    let mut signals = Signals::listen()?;
    let running = RunningDaemon::find_for(&config).filter(|_| can_be_elsewhere(&args));
    let policy = session_args::policy(&config, &args.permissions)?;
    // A person who types prompts on stdin cannot answer questions.
    let can_ask = args.format == OutputFormat::Text && !args.stdin && terminal::can_ask();
    let overrides_mode = args.permissions.mode().is_some();
    let options = InProcessOptions { policy, overrides_mode, can_ask, is_warm: false };
    let daemon = CommandDaemon::for_sessions(&config, running, options).await?;
    let ended = tokio::select! {
        opened = opening::open(&daemon, &args) => match opened {
            Ok(opened) => {
                let turns = Turns::new(&args, &daemon, opened, can_ask);
                turns.run(&prompt, messages, &mut signals).await
            }
            Err(failure) => Err(failure),
        },
        signal = signals.next() => Ok(RunEnd::With(signal)),
    };
    // After a second signal the keepers end what we leave behind.
    if !matches!(ended, Ok(RunEnd::AtOnce(_))) {
        daemon.end().await;
    }
    ended.map(|(RunEnd::With(code) | RunEnd::AtOnce(code))| ExitCode::from(code))
}

/// Whether a running daemon may be used: it cannot be given permissions for this run alone.
fn can_be_elsewhere(args: &RunArgs) -> bool {
    let PermissionArgs { approve_reads, policy, .. } = &args.permissions;
    let has_mode = args.session.is_some() && args.permissions.mode().is_some();
    !args.no_daemon && !approve_reads && policy.is_none() && !has_mode
}
