//! `codex exec --json`: one process, one turn, whole items only.
//!
//! In: JSON lines. Out: updates and one end.
//!
//! Codex counts tokens over the whole thread, also over earlier processes. What a resumed
//! thread had used before is not told, so that the use of its turn is unknown and not said.

use serde_json::Value;
use wire::{Category, Fault};

use super::codex::items::{self, Item, Phase};
use super::codex::texts::{Texts, Voice};
use super::codex::{trouble, usage};
use super::{Dialect, Ending, Exit, Opening, Said, StopReason, TurnEnd, Usage, json};
use crate::calls::Calls;
use crate::mint;
use crate::tools;
use crate::update::{Call, Compaction, CompactionStatus, Severity, Status, Update};
use wire::text::last_screen;

/// Enough of an id to tell the calls of two processes apart.
const PREFIX_CHARS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct CodexExec {
    calls: Calls,
    texts: Texts,
    session: Option<String>,
    /// Codex numbers its items anew in every process; within a session their ids must differ.
    prefix: String,
    has_ended: bool,
    is_resumed: bool,
    /// The last error that was no retry: what the turn failed of if nothing else is said.
    error: Option<String>,
    /// It is trying again after this.
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
            "thread.started" => self.thread(&event["thread_id"], out),
            "turn.started" => true,
            "item.started" => self.item(&event["item"], Phase::Begins, out),
            "item.updated" => self.item(&event["item"], Phase::GoesOn, out),
            "item.completed" => self.item(&event["item"], Phase::IsOver, out),
            "error" => self.error(event["message"].as_str().unwrap_or_default(), out),
            "turn.completed" => {
                let used = usage::read(&event["usage"]).filter(|_| !self.is_resumed);
                self.end_turn(Ending::Stopped(StopReason::EndTurn), used, out);
                true
            }
            "turn.failed" => {
                let message = event["error"]["message"].as_str().map(str::to_owned);
                let message = message.or_else(|| self.error.take()).unwrap_or_default();
                self.end_turn(trouble::ending(&message, &Value::Null), None, out);
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
                let used = usage::read(&head["usage"]).filter(|_| !self.is_resumed);
                self.end_turn(Ending::Stopped(StopReason::EndTurn), used, out);
            }
            Some("turn.failed") | None => self.end_turn(Ending::Failed(failure), None, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &Exit, out: &mut Vec<Said>) {
        self.refusals(&exit.stderr, out);
        let ending = match self.error.take().or_else(|| self.retry.take()) {
            _ if exit.is_wanted => Ending::Stopped(StopReason::Cancelled),
            Some(error) => trouble::ending(&error, &Value::Null),
            None => Ending::Failed(trouble::died(exit)),
        };
        self.end_turn(ending, None, out);
    }
}

impl CodexExec {
    fn thread(&mut self, id: &Value, out: &mut Vec<Said>) -> bool {
        let Some(id) = id.as_str() else { return false };
        if self.session.as_deref() != Some(id) {
            self.session = Some(id.to_owned());
            out.push(Said::Session(id.to_owned()));
        }
        true
    }

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
                let compaction = Compaction { compaction_id: id, status, error: None };
                out.push(Said::Update(Update::CompactionUpdate(compaction)));
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

    /// A call that is told after the turn's end could not end with it.
    fn call(&mut self, mut call: Call, out: &mut Vec<Said>) {
        if self.has_ended && !self.calls.is_known(&call.id) {
            call.status = call.status.filter(|status| status.is_final()).or(Some(Status::Failed));
        }
        self.calls.say(call, out);
    }

    /// Retries are notices; what is said last may be the failure.
    fn error(&mut self, message: &str, out: &mut Vec<Said>) -> bool {
        if message.starts_with("Reconnecting") {
            self.retry = Some(message.to_owned());
            self.notice(Severity::Warning, message.to_owned(), out);
        } else if self.has_ended {
            self.notice(Severity::Error, message.to_owned(), out);
        } else {
            self.error = Some(message.to_owned());
        }
        true
    }

    /// Without a network the same is said for ever.
    fn notice(&mut self, severity: Severity, title: String, out: &mut Vec<Said>) {
        if self.last_notice != title {
            self.last_notice.clone_from(&title);
            out.push(Said::Update(Update::notice(severity, title)));
        }
    }

    /// Tools that Codex refused to run are told on stderr alone.
    fn refusals(&mut self, stderr: &str, out: &mut Vec<Said>) {
        const SIGN: &str = "tools::router: error=";
        for line in last_screen(stderr).lines() {
            if let Some((_, error)) = line.split_once(SIGN) {
                let title = format!("a tool was refused: {}", tools::one_line(error));
                self.notice(Severity::Warning, title, out);
            }
        }
    }

    fn end_turn(&mut self, ending: Ending, usage: Option<Usage>, out: &mut Vec<Said>) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        match &ending {
            Ending::Stopped(StopReason::Cancelled) => self.calls.close("cancelled", out),
            Ending::Stopped(_) => self.calls.close("Codex did not say how this ended", out),
            Ending::Failed(failure) => {
                self.calls.close(&failure.message, out);
                if failure.category == Category::SessionLost {
                    out.push(Said::Lost(failure.clone()));
                }
            }
        }
        out.push(Said::TurnEnded(TurnEnd { ending, usage }));
    }
}

#[cfg(test)]
mod tests;
