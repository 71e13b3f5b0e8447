//! The turns of a run, shown as they happen.
//!
//! In: a session that is open, the first prompt, and where further ones come from. Out: the log as
//! it grows, in the format that was asked for, and an exit code. One turn runs at a time; the next
//! prompt is given when it has ended. A turn that fails does not end a run that has more to ask: its
//! end is told like any other, and the exit code remembers it.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sessions::host::AgentCapabilities;
use sessions::options::Wishes;
use sessions::session::Answer;
use store::EventLog;
use wire::{Event, Json, Seq, TurnId};

use super::messages::Messages;
use super::seen::Seen;
use crate::allowance::{self, limit_asked};
use crate::ask::Asker;
use crate::cli::{Format, RunArgs};
use crate::follow::{Followed, Questions, follow, show};
use crate::format::{Formatter, TextOptions};
use crate::outcome::{self, Failure};
use crate::reached::{Reached, UNATTENDED};
use crate::signals::Signals;
use crate::spinner::Spinner;
use crate::{prompt, terminal};

/// A session that is prompted, and how its turns are shown.
pub(super) struct Turns<'a> {
    pub(super) args: &'a RunArgs,
    pub(super) log: &'a dyn EventLog,
    pub(super) session: Reached,
    pub(super) cursor: Seq,
    pub(super) can_ask: bool,
    /// Something was refused because nobody was there to ask.
    pub(super) is_denied: AtomicBool,
    /// What the session is to be set to first, and whether it is new.
    pub(super) wishes: Option<(Wishes, bool)>,
}

/// What ends a run from outside.
struct Outside<'a> {
    signals: &'a mut Signals,
    /// Until nobody reads our output any more; one for the whole run, because it costs a thread.
    reader_gone: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// How one turn, or the wait for the next, has come to its end.
enum Over {
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

impl Turns<'_> {
    /// `first` are params of `session/prompt`; further prompts come from `messages`.
    pub(super) async fn take(
        self,
        first: Json,
        mut messages: Option<Messages>,
        signals: &mut Signals,
    ) -> Result<ExitCode, Failure> {
        let session = &self.session;
        let asker = self.can_ask.then(Asker::start);
        let formatter = Formatter::new(self.args.format, session.id(), self.text_options());
        let mut formatter = formatter.taking_back();
        let mut seen = Seen::after(self.cursor);
        if self.args.format == Format::Text {
            formatter.wait_with(Spinner::start("waiting for the agent …"));
        }
        if let Some(code) = self.grant(asker.as_ref(), &mut formatter, &mut seen, signals).await? {
            return Ok(ExitCode::from(code));
        }
        let mut turn = session.prompt(first, "run").await?;
        let mut outside = Outside { signals, reader_gone: Box::pin(terminal::reader_gone()) };
        // Of the last turn that did not go well.
        let mut code = 0;
        let mut hint = None;
        let over = loop {
            let over =
                self.follow(turn, asker.as_ref(), &mut formatter, &mut seen, &mut outside).await;
            let Ok(Over::Turn(of_turn)) = over else { break over };
            if of_turn != 0 {
                (code, hint) = (of_turn, Some((seen.hint(), seen.limit)));
            }
            let Some(messages) = &mut messages else { break over };
            self.end_answer(&mut formatter, &seen)?;
            let next = self.next_message(messages, &mut formatter, &mut seen, &mut outside).await;
            let Ok(Over::Next(text)) = next else { break next };
            seen = Seen::after(seen.until);
            self.is_denied.store(false, Ordering::Relaxed);
            let params = prompt::params(&text, &[], &AgentCapabilities::default())?;
            match session.prompt(params, "run").await {
                Ok(next) => turn = next,
                Err(failure) => break Err(failure),
            }
        };
        if let Ok(Over::AtOnce(code)) = over {
            // Asked twice: the keepers end what we leave behind.
            self.name_session();
            return Ok(ExitCode::from(code));
        }
        if let Ok(Over::Reader) = over {
            session.cancel("reader gone").await;
        }
        session.let_go().await;
        self.show_rest(&mut formatter, &mut seen, turn).await?;
        if messages.is_none() {
            self.end_answer(&mut formatter, &seen)?;
        }
        let over = over?;
        if let Some(why) = session.why_over() {
            return Err(halt_failure(Some(why)));
        }
        let code = match over {
            // As with any filter whose reader has had enough.
            Over::Reader => 0,
            Over::Signal(code) | Over::AtOnce(code) => code,
            _ if code == 0 && messages.is_some_and(|messages| messages.has_unread()) => {
                outcome::USAGE
            }
            _ => code,
        };
        self.name_session();
        match hint.filter(|_| code == outcome::DENIED) {
            Some((_, Some(limit))) => return Err(allowance::nobody_to_ask(limit)),
            Some((hint, None)) if self.args.format == Format::Text => {
                terminal::say(&format!("hint: {hint}"));
            }
            _ => {}
        }
        Ok(ExitCode::from(code))
    }

    /// Shows a turn until it has ended.
    async fn follow(
        &self,
        turn: TurnId,
        asker: Option<&Asker>,
        formatter: &mut Formatter,
        seen: &mut Seen,
        outside: &mut Outside<'_>,
    ) -> Result<Over, Failure> {
        let session = &self.session;
        // A signal, or the time that a turn may take.
        let mut signal = None;
        let mut is_late = false;
        let cursor = seen.until;
        let following = async {
            let look = |event: &Event| {
                match asker {
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
            follow(self.log, session.id(), cursor, formatter, self.questions(), look).await
        };
        let followed = {
            tokio::pin!(following);
            let timeout = sleep_or_never(self.args.timeout);
            tokio::pin!(timeout);
            loop {
                tokio::select! {
                    followed = &mut following => break followed?,
                    code = outside.signals.next() => {
                        if signal.is_some() || is_late {
                            return Ok(Over::AtOnce(code));
                        }
                        signal = Some(code);
                        if self.can_ask {
                            terminal::say("\ncancelling; Ctrl-C again ends at once");
                        }
                        session.cancel_soon("signal").await?;
                    }
                    () = &mut timeout, if signal.is_none() && !is_late => {
                        is_late = true;
                        session.cancel_soon("timeout").await?;
                    }
                    () = &mut outside.reader_gone => break Followed::ReaderGone,
                    why = session.halted() => return Err(halt_failure(why)),
                }
            }
        };
        Ok(match (followed, signal) {
            (Followed::ReaderGone, _) => Over::Reader,
            (Followed::Enough, Some(code)) => Over::Signal(code),
            (Followed::Enough, None) if is_late => Over::Turn(outcome::TIMEOUT),
            (Followed::Enough, None) => {
                seen.was_denied_unattended |= self.is_denied.load(Ordering::Relaxed);
                Over::Turn(seen.exit_code())
            }
        })
    }

    /// Waits for the next prompt, and shows what happens in the session meanwhile.
    async fn next_message(
        &self,
        messages: &mut Messages,
        formatter: &mut Formatter,
        seen: &mut Seen,
        outside: &mut Outside<'_>,
    ) -> Result<Over, Failure> {
        let cursor = seen.until;
        let look = |event: &Event| {
            seen.until = event.seq;
            self.reject(event);
            ControlFlow::Continue(())
        };
        let (log, id) = (self.log, self.session.id());
        tokio::select! {
            biased;
            code = outside.signals.next() => Ok(Over::Signal(code)),
            text = messages.next() => Ok(text.map_or(Over::Prompts, Over::Next)),
            followed = follow(log, id, cursor, formatter, Questions::Elsewhere, look) => {
                followed.map(|_| Over::Reader)
            }
            () = &mut outside.reader_gone => Ok(Over::Reader),
            why = self.session.halted() => Err(halt_failure(why)),
        }
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

    /// Where stdout has nothing but answers, each ends its line, and why there is none is said
    /// elsewhere.
    fn end_answer(&self, formatter: &mut Formatter, seen: &Seen) -> Result<(), Failure> {
        if self.args.format == Format::Quiet {
            formatter.end_line();
            show(formatter)?;
            seen.tell_failure();
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
        if let Some(id) = event.asked_person().map(|asked| asked.id) {
            self.is_denied.store(true, Ordering::Relaxed);
            let session = self.session.clone();
            task::spawn(async move { session.answer(id, Answer::Reject, UNATTENDED).await });
        }
    }

    pub(super) fn questions(&self) -> Questions {
        if self.can_ask { Questions::Here } else { Questions::Elsewhere }
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
