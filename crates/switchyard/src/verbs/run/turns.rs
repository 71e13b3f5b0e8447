//! The turns of a run, shown as they happen.
//!
//! In: a session that is open, the first prompt, and where further ones come from. Out: the log as
//! it grows, in the format that was asked for, and an exit code. One turn runs at a time; the next
//! prompt is given when it has ended. A turn that fails does not end a run that has more to ask:
//! its end is told like any other, and the exit code remembers it.

use std::pin::Pin;
use std::time::Duration;

use client::{QuestionAnswer, SessionClient};
use projection::TextOptions;
use serde_json::Value;
use wire::{Event, TurnId};

use super::messages::Messages;
use super::opening::RunSession;
use super::turn_end::TurnFacts;
use crate::cli::format::OutputFormat;
use crate::cli::run::RunArgs;
use crate::command_daemon::CommandDaemon;
use crate::outcome::{self, ERROR, Failure};
use crate::session_info::SessionInfo;
use crate::signals::Signals;
use crate::terminal;
use crate::terminal::format::{Formatter, style};
use crate::terminal::log_view::{LogView, QuestionHandling};
use crate::terminal::prompt::PromptInput;
use crate::terminal::questions::Asker;
use crate::terminal::spinner::Spinner;

/// A session that is prompted, and how its turns are shown.
pub(super) struct Turns<'a> {
    args: &'a RunArgs,
    daemon: &'a CommandDaemon,
    opened: RunSession,
    view: LogView,
    facts: TurnFacts,
    /// Asks the person at the terminal, if one is there.
    asker: Option<Asker>,
}

/// The end of a run.
pub(super) enum RunEnd {
    /// With this exit code.
    With(u8),
    /// With this exit code, and nothing is waited for.
    AtOnce(u8),
}

/// The events that end a run from outside.
struct ExternalEnds<'a> {
    signals: &'a mut Signals,
    /// Resolves when nobody reads our output any more; one for the whole run, as it costs a thread.
    reader_gone: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The end of a turn, or of the wait for the next prompt.
enum FollowEnd {
    /// The turn has ended, with this exit code.
    Turn(u8),
    /// There is another prompt.
    Next(String),
    /// There are no more prompts.
    Prompts,
    /// Whoever read our output has gone.
    Reader,
    /// A signal asked for the end, with this exit code.
    Signal(u8),
    /// It was asked for twice: nothing is waited for.
    AtOnce(u8),
}

impl<'a> Turns<'a> {
    pub(super) fn new(
        args: &'a RunArgs,
        daemon: &'a CommandDaemon,
        opened: RunSession,
        can_ask: bool,
    ) -> Self {
        let asker = can_ask.then(Asker::start);
        let style = TextOptions { show_thinking: !args.hide_thinking, ..style() };
        let formatter = Formatter::new(args.format, opened.session.id(), style, false);
        let mut formatter = formatter.replacing_call_lines();
        if args.format == OutputFormat::Text {
            formatter.spinner = Some(Spinner::start("waiting for the agent …"));
        }
        let questions =
            if asker.is_some() { QuestionHandling::Here } else { QuestionHandling::Elsewhere };
        let view = LogView::new(&opened.session, opened.cursor, formatter, questions);
        Self { args, daemon, opened, view, facts: TurnFacts::default(), asker }
    }

    /// Prompts the session, and then again with what `messages` say.
    pub(super) async fn run(
        mut self,
        prompt: &PromptInput,
        mut messages: Option<Messages>,
        signals: &mut Signals,
    ) -> Result<RunEnd, Failure> {
        if let Some(ended) = self.apply_options(signals).await? {
            return Ok(ended);
        }
        let mut turn = self.prompt(prompt).await?;
        let mut outside = ExternalEnds { signals, reader_gone: Box::pin(terminal::reader_gone()) };
        // The exit code and the hint of the last turn that did not go well.
        let mut code = 0;
        let mut hint = None;
        let over = loop {
            let over = self.follow(turn, &mut outside).await;
            let Ok(FollowEnd::Turn(of_turn)) = over else { break over };
            if of_turn != 0 {
                (code, hint) = (of_turn, Some((self.facts.hint(), self.facts.limit)));
            }
            let Some(messages) = &mut messages else { break over };
            self.end_answer()?;
            let next = self.next_message(messages, &mut outside).await;
            let Ok(FollowEnd::Next(text)) = next else { break next };
            self.facts = TurnFacts::default();
            match self.prompt(&PromptInput::default().with_text(&text)).await {
                Ok(next) => turn = next,
                Err(failure) => break Err(failure),
            }
        };
        if let Ok(FollowEnd::AtOnce(code)) = over {
            self.print_session_id();
            return Ok(RunEnd::AtOnce(code));
        }
        if let Ok(FollowEnd::Reader) = over {
            let _ = self.session().cancel(Some("reader gone")).await;
        }
        self.daemon.stop_sessions().await;
        let rest = self.show_rest(turn).await;
        let over = over?;
        match rest {
            Ok(SessionInfo { halted: Some(why), .. }) => return Err(halted(why)),
            // Another process's daemon may have ended: it was there until the turn had.
            Err(failure) if self.daemon.is_here() => return Err(failure),
            _ => {}
        }
        if messages.is_none() {
            self.end_answer()?;
        }
        let code = match over {
            // As with any filter whose reader has had enough.
            FollowEnd::Reader => 0,
            FollowEnd::Signal(code) | FollowEnd::AtOnce(code) => code,
            _ if code == 0 && messages.is_some_and(|messages| messages.has_unread) => {
                outcome::USAGE
            }
            _ => code,
        };
        self.print_session_id();
        match hint.filter(|_| code == outcome::DENIED) {
            Some((_, Some(limit))) => return Err(Failure::at_limit(limit)),
            Some((hint, None)) if self.args.format == OutputFormat::Text => {
                terminal::say(&format!("hint: {hint}"));
            }
            _ => {}
        }
        Ok(RunEnd::With(code))
    }

    /// Starts the agent and applies the options; returns how the run has ended, if it has.
    ///
    /// The agent may ask something meanwhile, and may wait for the answer before it sets anything,
    /// so the log is shown and its questions are answered as in a turn.
    async fn apply_options(&mut self, signals: &mut Signals) -> Result<Option<RunEnd>, Failure> {
        let RunSession { session, is_new, needs_start, changes, .. } = self.opened.clone();
        let auth = self.args.auth.as_deref();
        let setting = async {
            if needs_start {
                session.start(auth).await?;
            }
            match changes.is_empty() {
                true => Ok(()),
                false => session.change(&Value::Object(changes)).await,
            }
        };
        tokio::pin!(setting);
        let failed = loop {
            tokio::select! {
                set = &mut setting => match set {
                    Ok(()) => {
                        // Whatever kept it from going on before.
                        self.view.halted = None;
                        return Ok(None);
                    }
                    Err(error) => break Err(error.into()),
                },
                events = self.view.next() => match events {
                    Ok(Some(events)) => {
                        for event in &events {
                            self.consider(event);
                            self.facts.note_before_turn(event);
                        }
                    }
                    // Nobody is left who could be shown anything.
                    Ok(None) => break Ok(Some(RunEnd::With(0))),
                    Err(failure) => break Err(failure),
                },
                signal = signals.next() => break Ok(Some(RunEnd::With(signal))),
            }
        };
        if is_new {
            // Nothing was said in it yet.
            let _ = session.delete().await;
        }
        failed
    }

    fn session(&self) -> &SessionClient {
        &self.opened.session
    }

    async fn prompt(&self, prompt: &PromptInput) -> Result<TurnId, Failure> {
        let mut attachments = Vec::new();
        for path in &prompt.media {
            let bytes = std::fs::read(path).map_err(|error| {
                Failure::usage(format!("cannot attach {}: {error}", path.display()))
            })?;
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            attachments.push(self.session().attach(&name, bytes).await?);
        }
        Ok(self.session().prompt(&prompt.blocks, &attachments).await?)
    }

    /// Shows a turn until it has ended.
    async fn follow(
        &mut self,
        turn: TurnId,
        outside: &mut ExternalEnds<'_>,
    ) -> Result<FollowEnd, Failure> {
        // A signal, or the time that a turn may take.
        let mut signal = None;
        let mut is_late = false;
        let timeout = sleep_or_never(self.args.timeout);
        tokio::pin!(timeout);
        let gone = self.daemon.gone();
        tokio::pin!(gone);
        while self.facts.end.is_none() {
            tokio::select! {
                events = self.view.next() => {
                    let Some(events) = events? else { return Ok(FollowEnd::Reader) };
                    if let Some(why) = self.view.halted.take() {
                        return Err(halted(why));
                    }
                    for event in &events {
                        // Questions after the end of our turn are not ours to answer.
                        if self.facts.end.is_none() {
                            self.consider(event);
                        }
                        self.facts.note(event, turn);
                    }
                }
                code = outside.signals.next() => {
                    if signal.is_some() || is_late {
                        return Ok(FollowEnd::AtOnce(code));
                    }
                    signal = Some(code);
                    if self.asker.is_some() {
                        terminal::say("\ncancelling; Ctrl-C again ends at once");
                    }
                    self.cancel_soon("signal");
                }
                () = &mut timeout, if signal.is_none() && !is_late => {
                    is_late = true;
                    self.cancel_soon("timeout");
                }
                () = &mut outside.reader_gone => return Ok(FollowEnd::Reader),
                () = &mut gone => return Err(gone_failure()),
            }
        }
        Ok(match signal {
            Some(code) => FollowEnd::Signal(code),
            None if is_late => FollowEnd::Turn(outcome::TIMEOUT),
            None => FollowEnd::Turn(self.facts.exit_code()),
        })
    }

    /// Waits for the next prompt, and shows what happens in the session meanwhile.
    async fn next_message(
        &mut self,
        messages: &mut Messages,
        outside: &mut ExternalEnds<'_>,
    ) -> Result<FollowEnd, Failure> {
        loop {
            tokio::select! {
                biased;
                code = outside.signals.next() => return Ok(FollowEnd::Signal(code)),
                text = messages.next() => return Ok(text.map_or(FollowEnd::Prompts, FollowEnd::Next)),
                events = self.view.next() => {
                    let Some(events) = events? else { return Ok(FollowEnd::Reader) };
                    if let Some(why) = self.view.halted.take() {
                        return Err(halted(why));
                    }
                    for event in &events {
                        self.consider(event);
                    }
                }
                () = &mut outside.reader_gone => return Ok(FollowEnd::Reader),
                () = self.daemon.gone() => return Err(gone_failure()),
            }
        }
    }

    /// Shows what the agent still had to say, and what is logged but not shown yet.
    async fn show_rest(&mut self, turn: TurnId) -> Result<SessionInfo, Failure> {
        let now: SessionInfo = self.session().get().await?;
        let seen = &mut self.facts;
        tokio::select! {
            shown = self.view.show_rest(now.head, |event| seen.note(event, turn)) => {
                shown.map(|_| now)
            }
            () = self.daemon.gone() => Err(gone_failure()),
        }
    }

    /// Ends the line of an answer, where stdout has nothing but answers, and prints on stderr why
    /// there is none.
    fn end_answer(&mut self) -> Result<(), Failure> {
        if self.args.format == OutputFormat::Quiet {
            self.view.formatter.end_line();
            self.view.formatter.show()?;
            self.facts.tell_failure();
        }
        Ok(())
    }

    /// Has a question answered: by the person at the terminal, or with no.
    fn consider(&mut self, event: &Event) {
        if let Some(asker) = &self.asker {
            return asker.consider(event, self.session());
        }
        let Some(asked) = event.question_for_person() else { return };
        if self.daemon.is_here() && asked.limit.is_none() {
            // A session of this process rejects by itself a question that nobody can answer.
            return;
        }
        self.facts.limit = asked.limit.or(self.facts.limit.take());
        let session = self.session().clone();
        // A question that somebody else has answered needs no answer.
        task::spawn(
            async move { session.answer(asked.id, &QuestionAnswer::Unattended).await.is_ok() },
        );
    }

    /// Asks the running turn to stop; does not wait for it.
    fn cancel_soon(&self, reason: &'static str) {
        let session = self.session().clone();
        task::spawn(async move { session.cancel(Some(reason)).await.is_ok() });
    }

    /// Tells a person how to go on with the session.
    fn print_session_id(&self) {
        if self.args.format == OutputFormat::Text && terminal::can_ask() {
            terminal::say(&format!("session {}", self.session().id()));
        }
    }
}

/// The failure of a session that could not go on.
fn halted(why: String) -> Failure {
    let hint = match why.contains("has reached its limit") {
        true => "start a new session, or raise store.max_session_bytes",
        false => "everything shown so far is in the log",
    };
    Failure::new(ERROR, why).hint(hint)
}

fn gone_failure() -> Failure {
    Failure::new(ERROR, "the daemon has ended").hint("everything shown so far is in the log")
}

async fn sleep_or_never(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
