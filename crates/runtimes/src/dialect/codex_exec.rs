//! `codex exec --json`: one process, one turn, whole items only.
//!
//! In: JSON lines. Out: updates and one end.
//!
//! Codex counts tokens over the whole thread, also over earlier processes. The count before a
//! resume is not reported, so the usage of a resumed thread's turn is unknown and left out.

use serde_json::Value;
use wire::Fault;

use super::codex::items::{self, CodexItem, ItemPhase};
use super::codex::texts::CodexTexts;
use super::codex::{errors, usage_of};
use super::single_turn::SingleTurn;
use super::{CliExit, ConversationOptions, Dialect, Outputs, StopReason, TurnOutcome, json};
use crate::ids;
use crate::tools;
use crate::update::{CompactionStatus, NoticeSeverity, TextKind, ToolCall, ToolCallStatus};
use wire::text::last_screen;

/// Enough of an id to tell the calls of two processes apart.
const PREFIX_CHARS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct CodexExec {
    turn: SingleTurn,
    texts: CodexTexts,
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
    fn open(&mut self, opening: &ConversationOptions, _out: &mut Outputs) {
        self.is_resumed = opening.resume.is_some();
        self.prefix = ids::uuid().chars().take(PREFIX_CHARS).chain(['-']).collect();
    }

    fn line(&mut self, line: &str, out: &mut Outputs) {
        let Ok(event) = json::parse(line) else {
            return out.unknown(line);
        };
        let is_known = match event["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                self.turn.learn_session(&event["thread_id"], out);
                event["thread_id"].is_string()
            }
            "turn.started" => true,
            "item.started" => self.item(&event["item"], ItemPhase::Started, out),
            "item.updated" => self.item(&event["item"], ItemPhase::Updated, out),
            "item.completed" => self.item(&event["item"], ItemPhase::Completed, out),
            "error" => self.error(event["message"].as_str().unwrap_or_default(), out),
            "turn.completed" => {
                self.turn.usage = usage_of(&event["usage"]).filter(|_| !self.is_resumed);
                self.turn.stop(StopReason::EndTurn, out);
                true
            }
            "turn.failed" => {
                let message = event["error"]["message"].as_str().map(str::to_owned);
                let message = message.or_else(|| self.error.take()).unwrap_or_default();
                self.turn.end(errors::ending(&message, &Value::Null), out);
                true
            }
            _ => false,
        };
        if !is_known {
            out.unknown(line);
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            Some("turn.completed") => {
                self.turn.usage = usage_of(&head["usage"]).filter(|_| !self.is_resumed);
                self.turn.stop(StopReason::EndTurn, out);
            }
            Some("turn.failed") | None => self.turn.fail(failure, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        self.refusals(&exit.stderr, out);
        let ending = match self.error.take().or_else(|| self.retry.take()) {
            Some(error) => errors::ending(&error, &Value::Null),
            None => TurnOutcome::Failed(errors::died(exit)),
        };
        self.turn.exit(exit, ending, out);
    }
}

impl CodexExec {
    fn item(&mut self, item: &Value, phase: ItemPhase, out: &mut Outputs) -> bool {
        let Some(id) = item["id"].as_str() else { return false };
        let id = format!("{}{id}", self.prefix);
        self.retry = None;
        match items::read(item, phase) {
            CodexItem::Message(text) => {
                self.texts.item(&id, TextKind::Message, &text, phase, out);
            }
            CodexItem::Thought { summary, content } => {
                let text = if summary.is_empty() { content } else { summary };
                self.texts.item(&id, TextKind::Thought, &text, phase, out);
            }
            CodexItem::Plan(entries) => {
                out.plan(entries);
            }
            CodexItem::Call(call) => self.call(ToolCall { id, ..*call }, out),
            CodexItem::Notice(severity, title) => self.notice(severity, title, out),
            CodexItem::Compaction => {
                let status = match phase {
                    ItemPhase::Completed => CompactionStatus::Completed,
                    _ => CompactionStatus::InProgress,
                };
                out.compaction(id, status, None);
            }
            CodexItem::Review(text) => {
                if !self.texts.has_said(&text) {
                    self.texts.item(&id, TextKind::Message, &text, phase, out);
                }
            }
            CodexItem::UserMessage => {}
            CodexItem::Unknown => return false,
        }
        true
    }

    /// Emits a call. One that begins after the turn's end is ended at once: nothing else would.
    fn call(&mut self, mut call: ToolCall, out: &mut Outputs) {
        if self.turn.has_ended && !self.turn.calls.is_known(&call.id) {
            call.status =
                call.status.filter(|status| status.is_final()).or(Some(ToolCallStatus::Failed));
        }
        self.turn.calls.states.emit(call, out);
    }

    /// Retries become notices; another error may be the turn's failure.
    fn error(&mut self, message: &str, out: &mut Outputs) -> bool {
        if message.starts_with("Reconnecting") {
            self.retry = Some(message.to_owned());
            self.notice(NoticeSeverity::Warning, message.to_owned(), out);
        } else if self.turn.has_ended {
            self.notice(NoticeSeverity::Error, message.to_owned(), out);
        } else {
            self.error = Some(message.to_owned());
        }
        true
    }

    /// Emits a notice, not twice in a row: without a network Codex repeats the same for ever.
    fn notice(&mut self, severity: NoticeSeverity, title: String, out: &mut Outputs) {
        if self.last_notice != title {
            self.last_notice.clone_from(&title);
            out.notice(severity, title);
        }
    }

    /// Emits notices for tools that Codex refused to run, which are on stderr alone.
    fn refusals(&mut self, stderr: &str, out: &mut Outputs) {
        const SIGN: &str = "tools::router: error=";
        for line in last_screen(stderr).lines() {
            if let Some((_, error)) = line.split_once(SIGN) {
                let title = format!("a tool was refused: {}", tools::one_line(error));
                self.notice(NoticeSeverity::Warning, title, out);
            }
        }
    }
}

#[cfg(test)]
mod tests;
