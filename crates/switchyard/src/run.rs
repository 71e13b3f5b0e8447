//! `switchyard run`: a session is opened, here or in the daemon, and prompted.

mod granting;
mod messages;
mod seen;
mod there;
mod turns;

pub(crate) use there::environment;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use sessions::details::Details;
use sessions::host::{AgentCommand, HostSlot, own_client_capabilities};
use sessions::open::{self, Notes, Opened, Terms};
use sessions::options::Wishes;
use sessions::yard::Yard;
use store::SessionRecord;
use wire::Json;

use crate::cli::{Format, RunArgs};
use crate::cli_permissions::PermissionArgs;
use crate::config::Config;
use crate::launching::{Wanted, agent_command};
use crate::native::NATIVE;
use crate::outcome::{self, Failure};
use crate::reach::Daemon;
use crate::reached::Reached;
use crate::signals::Signals;
use crate::spinner::Spinner;
use crate::worker::require_a_person;
use crate::{control, prompt, terminal, world};
use messages::Messages;
use turns::Turns;

pub(crate) async fn run(args: RunArgs, config: Config) -> Result<ExitCode, Failure> {
    let (name, word) = prompt::split_words(&args)?;
    prompt::check_attached(&args.attach)?;
    if let Some(name) = name.filter(|_| args.command.is_empty() && args.session.is_none()) {
        crate::agents::check(name, &config)?;
        if name == NATIVE {
            crate::native::check(&config)?;
        }
    }
    let mut messages = args.stdin.then(Messages::from_stdin);
    let text = match (&mut messages, word) {
        (Some(messages), _) => match messages.next().await {
            Some(text) => text,
            // Nothing is asked, so nothing is started.
            None if messages.has_unread() => return Ok(ExitCode::from(outcome::USAGE)),
            None => return Ok(ExitCode::SUCCESS),
        },
        (None, word) => prompt::read_text(word.unwrap_or_default())?,
    };
    // Only now: until here an interrupt simply ends us, also while stdin is read.
    let mut signals = Signals::listen()?;
    if let Some(daemon) = Daemon::find_for(&config).filter(|_| can_be_elsewhere(&args)) {
        return there::run(&args, &config, daemon, name, &text, messages, &mut signals).await;
    }
    let opening = Spinner::start("opening the log …");
    let mut yard = world::open_yard(&config).await?;
    drop(opening);
    let can_ask = can_ask(&args);
    // The agent may ask before we are attached, which we will be in a moment.
    yard.settings.questions_wait = can_ask;
    let earlier = match &args.session {
        None => None,
        Some(named) => Some(world::find_session(&*yard.log, named).await?),
    };
    let cwd = match &earlier {
        Some(record) => PathBuf::from(&record.cwd),
        None => world::working_directory(args.agent.cwd.as_deref())?,
    };
    let policy = world::policy(&config, &args.permissions)?;
    let add_dirs = args.agent.add_dirs()?;
    prompt::tell_outside(&args.attach, &[std::slice::from_ref(&cwd), &add_dirs[..]].concat());
    let wanted = Wanted {
        name,
        command: &args.command,
        cwd: &cwd,
        permissions: world::runtime_mode(policy.mode),
        add_dirs: &add_dirs,
        model: args.model.as_deref(),
    };
    // Some take long to say what they can, and one that hangs longer than anybody waits silently.
    let looking = Spinner::start(format!("asking {} what it can …", name.unwrap_or("the agent")));
    let agent = tokio::select! {
        agent = choose_agent(&args, &config, wanted, earlier.as_ref()) => agent?,
        signal = signals.next() => {
            world::scratch(&config).clear();
            return Ok(ExitCode::from(signal));
        }
    };
    drop(looking);
    let new_params = new_params(&args, &agent.cwd)?;
    let slot = Arc::new(HostSlot::new(
        agent,
        yard.setup.clone(),
        yard.settings.clone(),
        own_client_capabilities(can_ask),
    ));
    let wishes = Wishes {
        model: args.model.clone(),
        effort: args.effort.clone(),
        mode: args.mode.clone(),
        options: args.options.by_id(),
    };
    if !wishes.are_modest() {
        require_a_person("it cannot choose a mode or an option that may allow more")?;
    }
    let limits = args.limits.limits();
    let made_by = Some("run".to_owned());
    let instructions = args.system_prompt.clone();
    // What is wished for is set later, when the agent's questions can be heard.
    let notes = Notes { made_by, limits, instructions, ..Notes::default() };
    let terms = Terms { slot: slot.clone(), policy, notes };
    let is_new = earlier.is_none();
    let _listening = control::listen(&config.home.run, &yard)?;

    let opened = tokio::select! {
        opened = open_session(&args, &yard, &terms, earlier, &new_params) => opened,
        signal = signals.next() => {
            slot.shut_down().await;
            return Ok(ExitCode::from(signal));
        }
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            slot.shut_down().await;
            return Err(failure);
        }
    };
    let params = composed(&args, &slot, &text).await?;
    let cursor = opened.cursor;
    let attachment = match can_ask {
        true => Some(opened.handle.attach().await?),
        false => None,
    };
    let session = Reached::Here { handle: opened.handle, slot };
    let turns = Turns {
        args: &args,
        log: &*yard.log,
        session,
        cursor,
        can_ask,
        is_denied: AtomicBool::new(false),
        wishes: Some((wishes, is_new)),
    };
    let taken = turns.take(params, messages, &mut signals).await;
    drop(attachment);
    taken
}

/// Whether a person can answer questions: one who types prompts on stdin cannot.
fn can_ask(args: &RunArgs) -> bool {
    args.format == Format::Text && !args.stdin && terminal::can_ask()
}

/// Rules of one run and logins are between this process and the agent.
fn can_be_elsewhere(args: &RunArgs) -> bool {
    let PermissionArgs { approve_reads, policy, .. } = &args.permissions;
    !args.no_daemon && !approve_reads && policy.is_none() && args.auth.is_none()
}

/// Params of `session/prompt`.
async fn composed(args: &RunArgs, slot: &HostSlot, text: &str) -> Result<Json, Failure> {
    let host = slot.host().await.map_err(open::OpenError::from)?;
    prompt::params(text, &args.attach, host.capabilities())
}

async fn choose_agent(
    args: &RunArgs,
    config: &Config,
    wanted: Wanted<'_>,
    earlier: Option<&SessionRecord>,
) -> Result<AgentCommand, Failure> {
    let Some(record) = earlier else { return agent_command(config, &wanted).await };
    check_same(args, wanted.name, record)?;
    let wanted = Wanted { name: Some(&record.agent), ..wanted };
    let details = Details::read(record);
    // A named agent as it is today; any other by the command that started it.
    if !args.command.is_empty() || details.is_named || details.command.is_empty() {
        return agent_command(config, &wanted).await;
    }
    let command: Vec<OsString> = details.command.into_iter().map(Into::into).collect();
    agent_command(config, &Wanted { command: &command, ..wanted }).await
}

/// Refuses to go on with a session as another one.
fn check_same(args: &RunArgs, name: Option<&str>, record: &SessionRecord) -> Result<(), Failure> {
    if args.agent.cwd.is_some() {
        return Err(Failure::usage(format!("the session works in {}", record.cwd))
            .hint("leave --cwd out, or start a new session"));
    }
    match name.filter(|name| *name != record.agent) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!(
            "session {} belongs to agent `{}`, not to `{name}`",
            record.id, record.agent
        ))),
    }
}

/// Params of `session/new`. MCP servers are always named, if only as none: some agents
/// insist.
fn new_params(args: &RunArgs, cwd: &std::path::Path) -> Result<Json, Failure> {
    let mut params = json!({ "cwd": cwd, "mcpServers": [] });
    let dirs = args.agent.add_dirs()?;
    if !dirs.is_empty() {
        params["additionalDirectories"] = json!(dirs);
    }
    if let Some(text) = &args.system_prompt {
        params["_meta"] = json!({ "systemPrompt": { "append": text } });
    }
    Ok(Json::of(&params))
}

async fn open_session(
    args: &RunArgs,
    yard: &Yard,
    terms: &Terms,
    earlier: Option<SessionRecord>,
    new_params: &Json,
) -> Result<Opened, Failure> {
    let waiting = Spinner::start(format!("starting {} …", terms.slot.command().name));
    if let Some(method) = &args.auth {
        let host = terms.slot.host().await.map_err(open::OpenError::from)?;
        let params = Json::of(&json!({ "methodId": method }));
        host.connection()
            .call_within(yard.settings.open_within, "authenticate", &params)
            .await
            .map_err(|error| Failure::new(outcome::ERROR, format!("cannot log in: {error}")))?;
    }
    let opened = match earlier {
        Some(record) => {
            let taken = open::take(yard, record.id).await?;
            let before = Details::read(&taken.record).budget.limits();
            let opened = open::earlier(yard, terms, taken).await?;
            let limits = terms.notes.limits;
            if !limits.is_empty() {
                opened.handle.set_limits(limits.or(before), "run").await?;
            }
            opened
        }
        None => open::new(yard, terms, new_params).await?,
    };
    drop(waiting);
    Ok(opened)
}
