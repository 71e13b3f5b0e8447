//! `switchyard attach`: a live session at the terminal, line by line.

use std::io::BufRead as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use projection::sanitize_line;
use serde_json::{Value, json};
use store::EventLog;
use tokio::sync::mpsc;
use wire::event::StopReason;
use wire::{CallId, Event, Json, Own, Seq, SessionId, TurnId};

use crate::ask::{Typed, Whole, typed};
use crate::cli::Format;
use crate::cli_daemon::AttachArgs;
use crate::config::Config;
use crate::follow::{OpenQuestion, show};
use crate::format::{Formatter, TextOptions};
use crate::outcome::{ERROR, Failure, INTERRUPTED, NOT_FOUND};
use crate::reach::Daemon;
use crate::reached::Reached;
use crate::signals::Signals;
use crate::token_verbs::no_daemon;
use crate::{terminal, world};

/// Events read at once.
const PAGE: usize = 256;
/// A person takes longer to read a question.
const READ_WITHIN: Duration = Duration::from_millis(600);
/// A person takes longer to type a line.
const PASTED_WITHIN: Duration = Duration::from_millis(100);
/// How often is looked whether the session is still there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn attach(args: AttachArgs, config: Config) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let daemon = Daemon::find(&config).ok_or_else(no_daemon)?;
    let log = world::open_log(&config)?;
    let record = world::find_session(&*log, &args.session).await?;
    let options = TextOptions {
        color: terminal::color_on_stdout(),
        show_thinking: !args.hide_thinking,
        show_prompts: true,
        verbose: false,
    };
    let mut view = View {
        formatter: Formatter::new(Format::Text, record.id, options),
        cursor: Seq(0),
        shown_from: Seq(args.after.unwrap_or_default()),
        came_at: record.head,
        session: Reached::There { daemon, id: record.id },
        questions: Vec::new(),
        open_question: None,
        whole: Whole::new(),
        offers_more: false,
        open_turns: Vec::new(),
        stop: None,
        has_terminal: terminal::can_ask(),
        line_before: None,
    };
    if view.has_terminal {
        terminal::say("type to prompt; Ctrl-C stops a turn, Ctrl-D leaves; the session stays");
    }
    let mut lines = Some(read_lines());
    loop {
        let is_looked_at = view.catch_up(&*log).await?;
        // Nobody types any more, and everything that was asked for has been seen.
        if !is_looked_at || (lines.is_none() && !view.is_running()) {
            return Ok(ExitCode::from(view.exit_code()));
        }
        tokio::select! {
            waited = log.wait(record.id, view.known()) => waited?,
            line = next(&mut lines) => match line {
                Some(line) => {
                    // Whoever typed it may have seen a question that is not here yet.
                    view.catch_up(&*log).await?;
                    view.hear(&line).await?;
                }
                // Whoever pipes prompts in, or nothing, wants to see what becomes of the turn.
                None => lines = None,
            },
            code = signals.next() => match view.is_running() {
                true => view.session.cancel_soon("attach").await?,
                false => return Ok(ExitCode::from(code)),
            },
            why = view.session.halted() => {
                let why = why.unwrap_or_default();
                return Err(Failure::new(ERROR, why).hint("the session is in the log"));
            }
            gone = deleted(&*log, record.id) => {
                gone?;
                return Err(Failure::new(NOT_FOUND, "the session was deleted"));
            }
        }
    }
}

/// Until there is no such session any more; a log tells nobody about that.
async fn deleted(log: &dyn EventLog, id: SessionId) -> Result<(), Failure> {
    while log.session(id).await?.is_some() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// A question that waits for an answer.
struct Asked {
    id: CallId,
    turn: Option<TurnId>,
    request: Value,
    /// All of what it is about, where that is longer than what is shown.
    whole: Option<String>,
    is_form: bool,
    shown_at: Instant,
}

/// What is on the screen, and what can be answered.
struct View {
    formatter: Formatter,
    cursor: Seq,
    shown_from: Seq,
    /// The last event that was there before us.
    came_at: Seq,
    session: Reached,
    questions: Vec<Asked>,
    /// The last thing on the screen is this question.
    open_question: Option<OpenQuestion>,
    whole: Whole,
    /// A question that is about to be shown is longer than what is shown of it.
    offers_more: bool,
    /// Prompts whose turn has not ended.
    open_turns: Vec<TurnId>,
    /// How the last turn ended that did so before our eyes.
    stop: Option<StopReason>,
    has_terminal: bool,
    line_before: Option<Instant>,
}

impl View {
    /// Shows what is new, up to a question that waits; false when nobody looks any more.
    async fn catch_up(&mut self, log: &dyn EventLog) -> Result<bool, Failure> {
        loop {
            if let Some(question) = &mut self.open_question {
                if !question.is_over(log, self.session.id()).await? {
                    return Ok(true);
                }
                self.open_question = None;
            }
            let events = log.read(self.session.id(), self.cursor, PAGE).await?;
            if events.is_empty() {
                return Ok(true);
            }
            for event in &events {
                self.cursor = event.seq;
                self.formatter.add(event);
                // A projection has to see all; the reader wants the end.
                if event.seq <= self.shown_from {
                    self.formatter.take();
                }
                self.note(event);
                self.open_question = OpenQuestion::of(event).filter(|_| self.has_terminal);
                if self.open_question.is_some() {
                    break;
                }
            }
            if !show(&mut self.formatter)? {
                return Ok(false);
            }
            if std::mem::take(&mut self.offers_more) {
                terminal::say("  v shows all of it");
            }
        }
    }

    fn note(&mut self, event: &Event) {
        let whole = self.whole.see(event);
        let Some(own) = event.own() else { return };
        let asked = own.asked().filter(|asked| asked.is_for_person);
        match own {
            Own::PromptReceived(_) | Own::TurnStarted(_) => {
                self.open_turns.extend(event.turn.filter(|turn| !self.open_turns.contains(turn)));
            }
            Own::TurnEnded(ended) => {
                self.open_turns.retain(|turn| Some(*turn) != event.turn);
                self.questions.retain(|asked| asked.turn.is_none() || asked.turn != event.turn);
                // How turns of the past ended is not how this one did.
                self.stop = Some(ended.stop_reason).filter(|_| event.seq > self.came_at);
            }
            Own::PromptDropped(_) => self.open_turns.retain(|turn| Some(*turn) != event.turn),
            own => {
                let over = own.answered();
                self.questions.retain(|asked| Some(asked.id) != over);
            }
        }
        if let Some(asked) = asked {
            self.offers_more |= whole.is_some() && event.seq > self.shown_from;
            self.questions.push(Asked {
                id: asked.id,
                turn: event.turn,
                request: asked.request.read().unwrap_or_default(),
                whole,
                is_form: asked.wants_form,
                shown_at: Instant::now(),
            });
        }
    }

    /// How far the log is known, whether that is shown or not.
    fn known(&self) -> Seq {
        self.open_question.as_ref().map_or(self.cursor, OpenQuestion::known)
    }

    fn is_running(&self) -> bool {
        !self.open_turns.is_empty()
    }

    /// As that of `run`, where nobody sits at a terminal.
    fn exit_code(&self) -> u8 {
        match self.stop {
            _ if self.has_terminal => 0,
            Some(StopReason::Error) => ERROR,
            Some(StopReason::Cancelled) => INTERRUPTED,
            _ => 0,
        }
    }

    /// A line is the answer to the oldest question, or the next prompt.
    async fn hear(&mut self, line: &Line) -> Result<(), Failure> {
        let before = self.line_before.replace(line.at);
        let (line, at) = (line.text.trim(), line.at);
        let Some(asked) = self.questions.first() else {
            if !line.is_empty() {
                let blocks = json!([{ "type": "text", "text": line }]);
                let params = Json::of(&json!({ "prompt": blocks }));
                let turn = self.session.prompt(params, "attach").await?;
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
        match typed(line, &asked.request) {
            Typed::Answer(answer) => self.session.answer(asked.id, answer, "attach").await,
            _ if asked.is_form => terminal::say("the agent asks with a form: Enter rejects it"),
            Typed::View => {
                terminal::say(asked.whole.as_deref().unwrap_or("all of it is shown above"));
            }
            Typed::Nothing(why) => terminal::say(&why),
        }
        Ok(())
    }
}

/// A line, and when it came.
struct Line {
    text: String,
    at: Instant,
}

/// Lines from stdin, read on a thread that nothing can interrupt.
fn read_lines() -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(text) = line else { break };
            if sender.blocking_send(Line { text, at: Instant::now() }).is_err() {
                break;
            }
        }
    });
    lines
}

/// Never ready once stdin has ended.
async fn next(lines: &mut Option<mpsc::Receiver<Line>>) -> Option<Line> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
