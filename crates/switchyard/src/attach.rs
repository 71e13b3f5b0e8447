//! `switchyard attach`: a live session at the terminal, line by line.

use std::io::BufRead as _;
use std::process::ExitCode;

use serde_json::{Value, json};
use store::EventLog;
use tokio::sync::mpsc;
use wire::{CallId, Event, Json, Kind, Seq};

use crate::ask::{Typed, Whole, asked, typed};
use crate::cli::Format;
use crate::cli_daemon::AttachArgs;
use crate::config::Config;
use crate::follow::show;
use crate::format::{Formatter, TextOptions};
use crate::outcome::{ERROR, Failure};
use crate::reach::Daemon;
use crate::reached::Reached;
use crate::signals::Signals;
use crate::token_verbs::no_daemon;
use crate::{terminal, world};

/// Events read at once.
const PAGE: usize = 256;

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
        session: Reached::There { daemon, id: record.id },
        questions: Vec::new(),
        whole: Whole::new(),
        offers_more: false,
        is_running: false,
    };
    if terminal::can_ask() {
        terminal::say("type to prompt; Ctrl-C stops a turn, Ctrl-D leaves; the session stays");
    }
    let mut lines = Some(read_lines());
    loop {
        let is_looked_at = view.catch_up(&*log).await?;
        // Nobody types any more, and everything that was asked for has been seen.
        if !is_looked_at || (lines.is_none() && !view.is_running) {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            waited = log.wait(record.id, view.cursor) => waited?,
            line = next(&mut lines) => match line {
                Some(line) => {
                    // Whoever typed it may have seen a question that is not here yet.
                    view.catch_up(&*log).await?;
                    view.hear(line.trim()).await?;
                }
                // Whoever pipes prompts in wants to see what becomes of them.
                None if view.is_running => lines = None,
                None => return Ok(ExitCode::SUCCESS),
            },
            code = signals.next() => match view.is_running {
                true => view.session.cancel_soon("attach").await?,
                false => return Ok(ExitCode::from(code)),
            },
            why = view.session.halted() => {
                let why = why.unwrap_or_default();
                return Err(Failure::new(ERROR, why).hint("the session is in the log"));
            }
        }
    }
}

/// A question that waits for an answer.
struct Asked {
    id: CallId,
    request: Value,
    /// All of what it is about, where that is longer than what is shown.
    whole: Option<String>,
    is_form: bool,
}

/// What is on the screen, and what can be answered.
struct View {
    formatter: Formatter,
    cursor: Seq,
    shown_from: Seq,
    session: Reached,
    questions: Vec<Asked>,
    whole: Whole,
    /// A question that is about to be shown is longer than what is shown of it.
    offers_more: bool,
    is_running: bool,
}

impl View {
    /// Shows what is new; false when nobody looks any more.
    async fn catch_up(&mut self, log: &dyn EventLog) -> Result<bool, Failure> {
        loop {
            let events = log.read(self.session.id(), self.cursor, PAGE).await?;
            let Some(last) = events.last() else { return Ok(true) };
            self.cursor = last.seq;
            for event in &events {
                self.formatter.add(event);
                // A projection has to see all; the reader wants the end.
                if event.seq <= self.shown_from {
                    self.formatter.take();
                }
                self.note(event);
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
        let payload: Value = event.payload.read().unwrap_or_default();
        let whole = self.whole.see(event);
        match event.kind {
            Kind::PromptReceived | Kind::TurnStarted => self.is_running = true,
            Kind::TurnEnded => self.is_running = false,
            Kind::PermissionRequested | Kind::ElicitationRequested => {
                let Some(id) = asked(&payload) else { return };
                self.offers_more |= whole.is_some() && event.seq > self.shown_from;
                let is_form = event.kind == Kind::ElicitationRequested;
                let request = payload["request"].clone();
                self.questions.push(Asked { id, request, whole, is_form });
            }
            Kind::PermissionResolved | Kind::ElicitationResolved => {
                let id = payload["requestId"].as_str();
                self.questions.retain(|asked| Some(asked.id.as_str()) != id);
            }
            _ => {}
        }
    }

    /// A line is the answer to the oldest question, or the next prompt.
    async fn hear(&mut self, line: &str) -> Result<(), Failure> {
        let Some(asked) = self.questions.first() else {
            if !line.is_empty() {
                let blocks = json!([{ "type": "text", "text": line }]);
                self.session.prompt(Json::of(&json!({ "prompt": blocks })), "attach").await?;
                self.is_running = true;
            }
            return Ok(());
        };
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

/// Lines from stdin, read on a thread that nothing can interrupt.
fn read_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Never ready once stdin has ended.
async fn next(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
