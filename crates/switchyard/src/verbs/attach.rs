//! `switchyard attach`: a live session at the terminal, line by line.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::SessionClient;
use projection::{TextOptions, sanitize_line};
use serde_json::Value;
use tokio::sync::mpsc;
use wire::event::StopReason;
use wire::{CallId, Event, OwnEvent, Seq, TurnId};

use crate::cli::daemon::AttachArgs;
use crate::cli::format::OutputFormat;
use crate::command_daemon::{CommandDaemon, RunningDaemon};
use crate::config::Config;
use crate::daemon::in_process::InProcessOptions;
use crate::outcome::{self, ERROR, Failure};
use crate::session_info::SessionInfo;
use crate::signals::Signals;
use crate::terminal;
use crate::terminal::format::{Formatter, style};
use crate::terminal::log_view::{LogView, QuestionHandling};
use crate::terminal::prompt::PromptInput;
use crate::terminal::questions::{FullQuestions, TypedAnswer, parse_answer};

/// A line that comes sooner after a question is no answer: a person takes longer to read it.
const READ_WITHIN: Duration = Duration::from_millis(600);
/// The longest reason why a session could not go on that is shown.
const MAX_WHY_CHARS: usize = 300;
/// Lines that come sooner after each other were pasted: a person takes longer to type one.
const PASTED_WITHIN: Duration = Duration::from_millis(100);

pub(crate) async fn attach(args: AttachArgs, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let signals = Signals::listen()?;
    let policy = config.policy();
    let options = InProcessOptions { policy, can_ask: true, ..InProcessOptions::default() };
    let daemon =
        CommandDaemon::for_sessions(&config, RunningDaemon::find(&config), options).await?;
    let left = take_part(&daemon, &args, signals).await;
    daemon.end().await;
    left
}

async fn take_part(
    daemon: &CommandDaemon,
    args: &AttachArgs,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let info = SessionInfo::find(daemon.client(), &args.session).await?;
    let session = daemon.client().session(info.id);
    let style = TextOptions { show_thinking: !args.hide_thinking, ..style() };
    let has_terminal = terminal::can_ask();
    let questions = if has_terminal { QuestionHandling::Here } else { QuestionHandling::Elsewhere };
    let formatter = Formatter::new(OutputFormat::Text, info.id, style, true);
    let shown_from = Seq(args.after.unwrap_or_default());
    let mut log = LogView::new(&session, Seq(0), formatter, questions);
    log.shows_after = shown_from;
    let mut view = AttachView {
        log,
        shown_from,
        attached_at: info.head,
        session,
        questions: Vec::new(),
        whole: FullQuestions::new(),
        open_turns: Vec::new(),
        stop: None,
        has_terminal,
        line_before: None,
    };
    if has_terminal {
        terminal::say("type to prompt; Ctrl-C stops a turn, Ctrl-D leaves; the session stays");
    }
    let mut lines = Some(read_lines());
    // Ends when nobody types any more and everything that was asked for has been seen.
    while lines.is_some() || view.is_running() || view.log.received < view.attached_at {
        tokio::select! {
            is_looked_at = view.show_next() => match is_looked_at? {
                true => {}
                false => break,
            },
            line = next(&mut lines) => match line {
                Some(line) => {
                    // Whoever typed it may have seen a question that is not here yet.
                    view.catch_up().await?;
                    view.take_line(&line).await?;
                }
                // Whoever pipes prompts in, or nothing, wants to see what becomes of the turn.
                None => lines = None,
            },
            code = signals.next() => match view.is_running() {
                true => view.cancel_soon(),
                false => return Ok(ExitCode::from(code)),
            },
            () = daemon.gone() => {
                return Err(Failure::new(ERROR, "the daemon has ended")
                    .hint("the session is in the log"));
            }
        }
    }
    Ok(ExitCode::from(view.exit_code()))
}

/// A question that waits for an answer.
struct AttachQuestion {
    id: CallId,
    turn: Option<TurnId>,
    request: Value,
    /// The question in full, where that is longer than what is shown.
    whole: Option<String>,
    is_form: bool,
    shown_at: Instant,
}

/// The session on the screen, and the questions that can be answered.
struct AttachView {
    log: LogView,
    shown_from: Seq,
    /// The last event at the time of attaching.
    attached_at: Seq,
    session: SessionClient,
    questions: Vec<AttachQuestion>,
    whole: FullQuestions,
    /// Prompts whose turn has not ended.
    open_turns: Vec<TurnId>,
    /// How the last turn ended that has done so since.
    stop: Option<StopReason>,
    has_terminal: bool,
    line_before: Option<Instant>,
}

impl AttachView {
    /// Shows what comes next, up to a question that waits; false when nobody looks any more.
    async fn show_next(&mut self) -> Result<bool, Failure> {
        let Some(events) = self.log.next().await? else { return Ok(false) };
        if let Some(why) = self.log.halted.take() {
            let why = sanitize_line(&why, MAX_WHY_CHARS);
            terminal::say(&format!("the session could not go on: {why}"));
            // The log may not be able to say so.
            (self.open_turns, self.questions) = (Vec::new(), Vec::new());
            self.stop = Some(StopReason::Error);
        }
        let mut offers_more = false;
        for event in &events {
            offers_more |= self.note(event);
        }
        if offers_more {
            terminal::say("  v shows all of it");
        }
        Ok(true)
    }

    /// Shows what is logged by now.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        let now: SessionInfo = self.session.get().await?;
        while self.log.received < now.head && self.show_next().await? {}
        Ok(())
    }

    fn cancel_soon(&self) {
        let session = self.session.clone();
        task::spawn(async move { session.cancel(Some("attach")).await.is_ok() });
    }

    /// Notes an event; true if it is a question of which more can be shown.
    fn note(&mut self, event: &Event) -> bool {
        let whole = self.whole.see(event);
        let Some(own) = event.own() else { return false };
        let asked = own.question().filter(|asked| asked.is_for_person);
        match own {
            OwnEvent::PromptReceived(_) | OwnEvent::TurnStarted(_) => {
                self.open_turns.extend(event.turn.filter(|turn| !self.open_turns.contains(turn)));
            }
            OwnEvent::TurnEnded(ended) => {
                self.open_turns.retain(|turn| Some(*turn) != event.turn);
                self.questions.retain(|asked| asked.turn.is_none() || asked.turn != event.turn);
                // Turns that ended before we attached do not decide the exit code.
                self.stop = Some(ended.stop_reason).filter(|_| event.seq > self.attached_at);
            }
            OwnEvent::PromptDropped(_) => self.open_turns.retain(|turn| Some(*turn) != event.turn),
            own => {
                let over = own.answered_question();
                self.questions.retain(|asked| Some(asked.id) != over);
            }
        }
        let offers_more = asked.is_some() && whole.is_some() && event.seq > self.shown_from;
        if let Some(asked) = asked {
            self.questions.push(AttachQuestion {
                id: asked.id,
                turn: event.turn,
                request: asked.request.read().unwrap_or_default(),
                whole,
                is_form: asked.wants_form,
                shown_at: Instant::now(),
            });
        }
        offers_more
    }

    fn is_running(&self) -> bool {
        !self.open_turns.is_empty()
    }

    /// The exit code: that of `run`, where nobody sits at a terminal.
    fn exit_code(&self) -> u8 {
        let stop = self.stop.as_ref().filter(|_| !self.has_terminal);
        stop.map_or(0, |stop| outcome::exit_code_of_turn(stop, false, false))
    }

    /// Takes a typed line as the answer to the oldest question, or as the next prompt.
    async fn take_line(&mut self, line: &StdinLine) -> Result<(), Failure> {
        let before = self.line_before.replace(line.at);
        let (line, at) = (line.text.trim(), line.at);
        let Some(asked) = self.questions.first() else {
            if !line.is_empty() {
                let prompt = PromptInput::default().with_text(line);
                let turn = self.session.prompt(&prompt.blocks, &[]).await?;
                self.open_turns.push(turn);
            }
            return Ok(());
        };
        // What was typed before the question could be read, or pasted, is no answer to it.
        let is_early = at < asked.shown_at + READ_WITHIN;
        let is_pasted = before.is_some_and(|before| at < before + PASTED_WITHIN);
        if self.has_terminal && (is_early || is_pasted) {
            let line = sanitize_line(line, 60);
            terminal::say(&format!("`{line}` was typed too early to be an answer; type it now"));
            return Ok(());
        }
        match parse_answer(line, &asked.request) {
            TypedAnswer::Answer(answer) => {
                // A question that somebody else has answered needs no answer.
                let _ = self.session.answer(asked.id, &answer).await;
            }
            _ if asked.is_form => terminal::say("the agent asks with a form: Enter rejects it"),
            TypedAnswer::View => {
                terminal::say(asked.whole.as_deref().unwrap_or("all of it is shown above"));
            }
            TypedAnswer::Nothing(why) => terminal::say(&why),
        }
        Ok(())
    }
}

/// A line, and when it came.
struct StdinLine {
    text: String,
    at: Instant,
}

/// Lines from stdin, read on a thread that nothing can interrupt.
fn read_lines() -> mpsc::Receiver<StdinLine> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(text) = line else { break };
            if sender.blocking_send(StdinLine { text, at: Instant::now() }).is_err() {
                break;
            }
        }
    });
    lines
}

/// Never ready once stdin has ended.
async fn next(lines: &mut Option<mpsc::Receiver<StdinLine>>) -> Option<StdinLine> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
