//! `codex exec --json`: one process, one turn, whole items only.
//!
//! In: JSON lines. Out: updates and one end.
//!
//! Codex counts tokens over the whole thread, also over earlier processes. The count before a
//! resume is not reported, so the usage of a resumed thread's turn is unknown and left out.

use serde_json::Value;
use wire::Fault;

use super::codex::items::{self, Item, Phase};
use super::codex::texts::Texts;
use super::codex::{trouble, usage_of};
use super::one_turn::OneTurn;
use super::{Dialect, Ending, Exit, Opening, Said, StopReason, json};
use crate::mint;
use crate::tools;
use crate::update::{Call, CompactionStatus, Severity, Status, Update, Voice};
use wire::text::last_screen;

/// Enough of an id to tell the calls of two processes apart.
const PREFIX_CHARS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct CodexExec {
    turn: OneTurn,
    texts: Texts,
    /// Codex numbers its items anew in every process; within a session their ids must differ.
    prefix: String,
    is_resumed: bool,
    /// The last error that was no retry: the reason of a failed turn if no other is reported.
    error: Option<String>,
    /// The message of the retry that runs.
    retry: Option<String>,
    last_notice: String,
}

impl Dialect for CodexExec {
    fn open(&mut self, opening: &Opening, _out: &mut Vec<Said>) {
        self.is_resumed = opening.resume.is_some();
        self.prefix = mint::uuid().chars().take(PREFIX_CHARS).chain(['-']).collect();
    }

    fn line(&mut self, line: &str, out: &mut Vec<Said>) {
        let Ok(event) = json::parse(line) else {
            return out.push(Said::Raw(line.to_owned()));
        };
        let is_known = match event["type"].as_str().unwrap_or_default() {
            "thread.started" => match event["thread_id"].as_str() {
                Some(id) => {
                    self.turn.session(id, out);
                    true
                }
                None => false,
            },
            "turn.started" => true,
            "item.started" => self.item(&event["item"], Phase::Begins, out),
            "item.updated" => self.item(&event["item"], Phase::GoesOn, out),
            "item.completed" => self.item(&event["item"], Phase::IsOver, out),
            "error" => self.error(event["message"].as_str().unwrap_or_default(), out),
            "turn.completed" => {
                let used = usage_of(&event["usage"]).filter(|_| !self.is_resumed);
                self.turn.stop(StopReason::EndTurn, used, out);
                true
            }
            "turn.failed" => {
                let message = event["error"]["message"].as_str().map(str::to_owned);
                let message = message.or_else(|| self.error.take()).unwrap_or_default();
                self.turn.end(trouble::ending(&message, &Value::Null), None, out);
                true
            }
            _ => false,
        };
        if !is_known {
            out.push(Said::Raw(line.to_owned()));
        }
    }

    fn skipped(&mut self, head: &Value, failure: Fault, out: &mut Vec<Said>) {
        match head["type"].as_str() {
            Some("turn.completed") => {
                let used = usage_of(&head["usage"]).filter(|_| !self.is_resumed);
                self.turn.stop(StopReason::EndTurn, used, out);
            }
            Some("turn.failed") | None => self.turn.fail(failure, None, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &Exit, out: &mut Vec<Said>) {
        self.refusals(&exit.stderr, out);
        let ending = match self.error.take().or_else(|| self.retry.take()) {
            Some(error) => trouble::ending(&error, &Value::Null),
            None => Ending::Failed(trouble::died(exit)),
        };
        self.turn.exit(exit, None, ending, out);
    }
}

impl CodexExec {
    fn item(&mut self, item: &Value, phase: Phase, out: &mut Vec<Said>) -> bool {
        let Some(id) = item["id"].as_str() else { return false };
        let id = format!("{}{id}", self.prefix);
        self.retry = None;
        match items::read(item, phase) {
            Item::Message(text) => self.text(&id, Voice::Message, &text, phase, out),
            Item::Thought { summary, content } => {
                let text = if summary.is_empty() { content } else { summary };
                self.text(&id, Voice::Thought, &text, phase, out);
            }
            Item::Plan(entries) => out.push(Said::Update(Update::Plan { entries })),
            Item::Call(call) => self.call(Call { id, ..*call }, out),
            Item::Notice(severity, title) => self.notice(severity, title, out),
            Item::Compaction => {
                let status = match phase {
                    Phase::IsOver => CompactionStatus::Completed,
                    _ => CompactionStatus::InProgress,
                };
                out.push(Said::Update(Update::compaction(id, status, None)));
            }
            Item::Review(text) => {
                if !self.texts.has_said(&text) {
                    self.text(&id, Voice::Message, &text, phase, out);
                }
            }
            Item::Echo => {}
            Item::Unknown => return false,
        }
        true
    }

    fn text(&mut self, id: &str, voice: Voice, text: &str, phase: Phase, out: &mut Vec<Said>) {
        match phase {
            Phase::IsOver => self.texts.whole(id, voice, text, out),
            _ => self.texts.grown(id, voice, text, out),
        }
    }

    /// Emits a call. One that begins after the turn's end is ended at once: nothing else would.
    fn call(&mut self, mut call: Call, out: &mut Vec<Said>) {
        if self.turn.has_ended() && !self.turn.calls.is_known(&call.id) {
            call.status = call.status.filter(|status| status.is_final()).or(Some(Status::Failed));
        }
        self.turn.calls.say(call, out);
    }

    /// Retries become notices; another error may be the turn's failure.
    fn error(&mut self, message: &str, out: &mut Vec<Said>) -> bool {
        if message.starts_with("Reconnecting") {
            self.retry = Some(message.to_owned());
            self.notice(Severity::Warning, message.to_owned(), out);
        } else if self.turn.has_ended() {
            self.notice(Severity::Error, message.to_owned(), out);
        } else {
            self.error = Some(message.to_owned());
        }
        true
    }

    /// Emits a notice, not twice in a row: without a network Codex repeats the same for ever.
    fn notice(&mut self, severity: Severity, title: String, out: &mut Vec<Said>) {
        if self.last_notice != title {
            self.last_notice.clone_from(&title);
            out.push(Said::Update(Update::notice(severity, title)));
        }
    }

    /// Emits notices for tools that Codex refused to run, which are on stderr alone.
    fn refusals(&mut self, stderr: &str, out: &mut Vec<Said>) {
        const SIGN: &str = "tools::router: error=";
        for line in last_screen(stderr).lines() {
            if let Some((_, error)) = line.split_once(SIGN) {
                let title = format!("a tool was refused: {}", tools::one_line(error));
                self.notice(Severity::Warning, title, out);
            }
        }
    }
}

#[cfg(test)]
mod tests;
