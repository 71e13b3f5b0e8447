//! `switchyard run`: one turn, shown as it happens.

mod granting;
mod seen;
mod there;

pub(crate) use there::environment;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sessions::details::Details;
use sessions::host::{AgentCommand, HostSlot, own_client_capabilities};
use sessions::open::{self, Notes, Opened, Terms};
use sessions::options::Wishes;
use sessions::session::{Answer, ServedBy};
use sessions::yard::Yard;
use store::{EventLog, SessionRecord};
use wire::{Event, Json, Seq, TurnId};

use crate::allowance::{self, limit_asked};
use crate::ask::{Asker, asked};
use crate::cli::{Format, RunArgs};
use crate::cli_permissions::PermissionArgs;
use crate::config::Config;
use crate::follow::{Followed, follow, show};
use crate::format::{Formatter, TextOptions};
use crate::launching::{Wanted, agent_command};
use crate::native::NATIVE;
use crate::outcome::{self, Failure};
use crate::reach::Daemon;
use crate::reached::{Reached, UNATTENDED};
use crate::signals::Signals;
use crate::spinner::Spinner;
use crate::worker::require_a_person;
use crate::{control, prompt, terminal, world};
use seen::Seen;

pub(crate) async fn run(args: RunArgs, config: Config) -> Result<ExitCode, Failure> {
    let (name, word) = prompt::split_words(&args)?;
    prompt::check_attached(&args.attach)?;
    if let Some(name) = name.filter(|_| args.command.is_empty() && args.session.is_none()) {
        crate::agents::check(name, &config)?;
        if name == NATIVE {
            crate::native::check(&config)?;
        }
    }
    let text = prompt::read_text(word)?;
    // Only now: until here an interrupt simply ends us, also while stdin is read.
    let mut signals = Signals::listen()?;
    if let Some(daemon) = Daemon::find_for(&config).filter(|_| can_be_elsewhere(&args)) {
        return there::run(&args, &config, daemon, name, &text, &mut signals).await;
    }
    let opening = Spinner::start("opening the log …");
    let mut yard = world::open_yard(&config).await?;
    drop(opening);
    let can_ask = args.format == Format::Text && terminal::can_ask();
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
    let terms = Terms { slot: slot.clone(), policy, services: ServedBy::Switchyard, notes };
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
    let turn = Turn {
        args: &args,
        log: &*yard.log,
        session,
        cursor,
        can_ask,
        is_denied: AtomicBool::new(false),
        wishes: Some((wishes, is_new)),
    };
    let taken = turn.take(params, &mut signals).await;
    drop(attachment);
    taken
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
            let opened = open::earlier(yard, terms, taken, None).await?;
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

/// One turn of a session, shown as it happens.
struct Turn<'a> {
    args: &'a RunArgs,
    log: &'a dyn EventLog,
    session: Reached,
    cursor: Seq,
    can_ask: bool,
    /// Something was refused because nobody was there to ask.
    is_denied: AtomicBool,
    /// What the session is to be set to first, and whether it is new.
    wishes: Option<(Wishes, bool)>,
}

impl Turn<'_> {
    async fn take(self, params: Json, signals: &mut Signals) -> Result<ExitCode, Failure> {
        let session = &self.session;
        let asker = self.can_ask.then(Asker::start);
        let mut formatter = Formatter::new(self.args.format, session.id(), self.text_options());
        let mut seen = Seen::default();
        if self.args.format == Format::Text {
            formatter.wait_with(Spinner::start("waiting for the agent …"));
        }
        seen.until = self.cursor;
        if let Some(code) = self.grant(asker.as_ref(), &mut formatter, &mut seen, signals).await? {
            return Ok(ExitCode::from(code));
        }
        let turn = session.prompt(params, "run").await?;

        let mut forced = None;
        let cursor = seen.until;
        let following = async {
            let look = |event: &Event| {
                match &asker {
                    // What stands behind the end of our turn is not ours to answer.
                    _ if seen.end.is_some() => {}
                    Some(asker) => asker.consider(event, session),
                    None => {
                        seen.limit = limit_asked(event).or(seen.limit.take());
                        self.reject(event);
                    }
                }
                seen.look(event, turn)
            };
            follow(self.log, session.id(), cursor, &mut formatter, look).await
        };
        let followed = {
            tokio::pin!(following);
            let timeout = sleep_or_never(self.args.timeout);
            let reader_gone = terminal::reader_gone();
            tokio::pin!(timeout, reader_gone);
            loop {
                tokio::select! {
                    followed = &mut following => break Ok(followed?),
                    code = signals.next() => {
                        if forced.is_some() {
                            // Asked twice: the keepers end what we leave behind.
                            self.name_session();
                            return Ok(ExitCode::from(code));
                        }
                        forced = Some(code);
                        if self.can_ask {
                            terminal::say("\ncancelling; Ctrl-C again ends at once");
                        }
                        session.cancel_soon("signal").await?;
                    }
                    () = &mut timeout, if forced.is_none() => {
                        forced = Some(outcome::TIMEOUT);
                        session.cancel_soon("timeout").await?;
                    }
                    () = &mut reader_gone => break Ok(Followed::ReaderGone),
                    why = session.halted() => break Err(halt_failure(why)),
                }
            }
        };
        if let Ok(Followed::ReaderGone) = followed {
            session.cancel("reader gone").await;
        }
        session.let_go().await;
        self.show_rest(&mut formatter, &mut seen, turn).await?;
        if self.args.format == Format::Quiet {
            formatter.end_line();
            show(&mut formatter)?;
            seen.tell_failure();
        }
        let followed = followed?;
        if let Some(why) = session.why_over() {
            return Err(halt_failure(Some(why)));
        }
        let code = match followed {
            // As with any filter whose reader has had enough.
            Followed::ReaderGone => 0,
            Followed::Enough => forced.unwrap_or_else(|| {
                seen.was_denied_unattended |= self.is_denied.load(Ordering::Relaxed);
                seen.exit_code()
            }),
        };
        self.name_session();
        if let (outcome::DENIED, Some(limit)) = (code, seen.limit) {
            return Err(allowance::nobody_to_ask(limit));
        }
        if code == outcome::DENIED && self.args.format == Format::Text {
            terminal::say(&format!("hint: {}", seen.hint()));
        }
        Ok(ExitCode::from(code))
    }

    /// Shows what the agent still had to say, and what is logged but not shown yet.
    async fn show_rest(
        &self,
        formatter: &mut Formatter,
        seen: &mut Seen,
        turn: TurnId,
    ) -> Result<(), Failure> {
        let mut after = seen.until;
        loop {
            let events = self.log.read(self.session.id(), after, 256).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                formatter.add(event);
                let _ = seen.look(event, turn);
            }
            if !show(formatter)? {
                break;
            }
        }
        Ok(())
    }

    /// Nobody is there to ask, and what waits for a person elsewhere would wait for long.
    fn reject(&self, event: &Event) {
        // Here the session itself rejects what its agent asks.
        let is_limit = limit_asked(event).is_some();
        if matches!(self.session, Reached::Here { .. }) && !is_limit {
            return;
        }
        let payload: Value = event.payload.read().unwrap_or_default();
        if let Some(id) = asked(&payload) {
            self.is_denied.store(true, Ordering::Relaxed);
            let session = self.session.clone();
            task::spawn(async move { session.answer(id, Answer::Reject, UNATTENDED).await });
        }
    }

    /// Tells a person how to go on with the session.
    fn name_session(&self) {
        if self.args.format == Format::Text && terminal::can_ask() {
            terminal::say(&format!("session {}", self.session.id()));
        }
    }

    fn text_options(&self) -> TextOptions {
        TextOptions {
            color: terminal::color_on_stdout(),
            show_thinking: !self.args.hide_thinking,
            show_prompts: false,
            verbose: false,
        }
    }
}

fn halt_failure(why: Option<String>) -> Failure {
    let why = why.unwrap_or_else(|| "the session has ended".into());
    let hint = match why.contains("has reached its limit") {
        true => "start a new session, or raise store.max_session_bytes",
        false => "everything shown so far is in the log",
    };
    Failure::new(outcome::ERROR, why).hint(hint)
}

async fn sleep_or_never(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
