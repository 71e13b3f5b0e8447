//! pi's `--mode rpc`, and the same events as `--mode json` prints them.
//!
//! The process lives as long as the session: commands go in, each with an id and answered by
//! a `response`; events come out. A run of the agent (`agent_start` … `agent_end`) may be
//! followed by others of the same turn, after an error or a compaction; `agent_settled` says
//! that none will. Versions that do not have it are asked for their state instead.
//!
//! Provider errors come with exit code 0 and a message whose `stopReason` is `error`.

mod dialogs;
mod handshake;
mod turn;

use serde_json::{Value, json};
use wire::Fault;

use super::streamed_texts::StreamedTexts;
use super::tool_calls::{ToolCallResult, ToolCalls};
use super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectOutput, OptionChange, Outputs,
    PermissionAnswer, TurnOutcome, json,
};
use crate::update::{CompactionStatus, ContentBlock, SessionUpdate, TextKind};
use dialogs::PiDialogs;
use handshake::PiHandshake;
use turn::PiTurn;

#[derive(Debug, Default)]
pub(super) struct Pi {
    handshake: PiHandshake,
    turn: PiTurn,
    speech: StreamedTexts,
    /// The next message is another attempt at the last one.
    is_again: bool,
    calls: ToolCalls,
    dialogs: PiDialogs,
    n_compactions: u32,
}

/// Sends commands, each with a number as id.
#[derive(Debug, Default)]
struct PiCommands {
    n_sent: u64,
}

impl PiCommands {
    /// Writes a command and gives its id.
    fn send(&mut self, mut command: Value, out: &mut Outputs) -> String {
        self.n_sent += 1;
        let id = format!("sy{}", self.n_sent);
        command["id"] = Value::from(id.clone());
        out.write(&command);
        id
    }
}

impl Dialect for Pi {
    fn open(&mut self, opening: &ConversationOptions, out: &mut Outputs) {
        self.handshake.open(opening, out);
    }

    fn prompt(&mut self, prompt: &ComposedPrompt, out: &mut Outputs) {
        let mut command = json!({ "type": "prompt", "message": prompt.text });
        if !prompt.images.is_empty() {
            let images = prompt.images.iter().map(
                |image| json!({ "type": "image", "data": image.data, "mimeType": image.mime_type }),
            );
            command["images"] = images.collect();
        }
        let id = self.handshake.commands.send(command, out);
        self.turn.prompted(id, &prompt.text);
        self.speech.begin_message();
        self.is_again = false;
    }

    fn line(&mut self, line: &str, out: &mut Outputs) {
        let event = json::parse_or_null(line);
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "response" => self.response(&event, line, out),
            "session" => self.handshake.session(event["id"].as_str().unwrap_or_default(), out),
            "agent_start" => self.turn.agent_starts(),
            "agent_end" => {
                let heard = self.turn.agent_ends(&event);
                self.take_step(heard, out);
            }
            "agent_settled" => self.end_turn(out),
            "message_start" => {
                if event["message"]["role"] == "assistant" {
                    self.turn.note_activity();
                    match std::mem::take(&mut self.is_again) {
                        true => self.speech.retry_message(),
                        false => self.speech.begin_message(),
                    }
                }
            }
            "message_update" => {
                self.turn.note_activity();
                self.speaks(&event["assistantMessageEvent"], out);
            }
            "message_end" => self.message_ends(&event["message"], out),
            "tool_execution_start" => {
                self.turn.note_activity();
                let name = event["toolName"].as_str().unwrap_or("tool");
                self.calls.start(id_of(&event), name, &event["args"], None, out);
            }
            "tool_execution_update" => {
                let text = text_of(&event["partialResult"]["content"]);
                if !text.is_empty() {
                    self.calls.output(id_of(&event), &text, out);
                }
            }
            "tool_execution_end" => self.tool_ends(&event, out),
            "auto_retry_start" => self.retry(&event, out),
            "auto_retry_end" => self.turn.retried(&event),
            "compaction_start" | "auto_compaction_start" => {
                self.n_compactions += 1;
                self.compact(CompactionStatus::InProgress, None, out);
            }
            "compaction_end" | "auto_compaction_end" => self.compacted(&event, out),
            "extension_ui_request" => self.dialogs.request(&event, out),
            "extension_error" => {
                let error = event["error"].as_str().unwrap_or("an extension failed");
                out.warn(error);
            }
            // Other events have the same, or it is of no use to users.
            "turn_start"
            | "turn_end"
            | "queue_update"
            | "entry_appended"
            | "thinking_level_changed"
            | "session_info_changed"
            | "bash_execution_update" => {}
            _ => out.unknown(line),
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            // It has all messages of the run; whether another run follows is at its end.
            Some("agent_end") => {
                let heard = self.turn.agent_ends_unread();
                self.take_step(heard, out);
            }
            Some("agent_settled") => self.end_turn(out),
            Some("response") => self.response(head, &head.to_string(), out),
            Some("extension_ui_request") => dialogs::refuse(head, out),
            Some(_) => {}
            None => {
                self.handshake.give_up(&failure, out);
                self.turn.last = Some(TurnOutcome::Failed(failure));
                if let Some(end) = self.turn.end() {
                    self.close(end, out);
                }
            }
        }
    }

    fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        self.dialogs.answer(ask, answer, out);
    }

    fn interrupt(&mut self, out: &mut Outputs) -> bool {
        self.turn.abort = Some(self.handshake.commands.send(json!({ "type": "abort" }), out));
        true
    }

    fn set(&mut self, change: &OptionChange, out: &mut Outputs) -> bool {
        self.handshake.set(change, out)
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        self.handshake.end(exit, out);
        match self.turn.exit(exit) {
            Some(end) => self.close(end, out),
            None => self.calls.close("pi has ended", out),
        }
    }
}

impl Pi {
    fn response(&mut self, event: &Value, line: &str, out: &mut Outputs) {
        let id = event["id"].as_str().unwrap_or_default();
        if self.handshake.response(id, event, out) {
            return;
        }
        match self.turn.response(id, event) {
            turn::PiNextStep::Unknown => out.unknown(line),
            heard => self.take_step(heard, out),
        }
    }

    /// Takes the next step of the turn.
    fn take_step(&mut self, heard: turn::PiNextStep, out: &mut Outputs) {
        match heard {
            turn::PiNextStep::Ask => {
                let id = self.handshake.commands.send(json!({ "type": "get_state" }), out);
                self.turn.state_request = Some(id);
            }
            turn::PiNextStep::End => self.end_turn(out),
            turn::PiNextStep::Nothing | turn::PiNextStep::Unknown => {}
        }
    }

    fn speaks(&mut self, event: &Value, out: &mut Outputs) {
        let voice = match event["type"].as_str().unwrap_or_default() {
            "text_delta" => TextKind::Message,
            "thinking_delta" => TextKind::Thought,
            // The rest is in the whole message, and calls are emitted when they run.
            _ => return,
        };
        let block = event["contentIndex"].as_u64().unwrap_or_default();
        self.speech.push_piece(
            block,
            voice,
            event["delta"].as_str().unwrap_or_default(),
            None,
            out,
        );
    }

    fn message_ends(&mut self, message: &Value, out: &mut Outputs) {
        if message["role"] != "assistant" {
            return;
        }
        self.turn.note_activity();
        for (block, part) in (0..).zip(message["content"].as_array().into_iter().flatten()) {
            let (voice, text) = match part["type"].as_str() {
                Some("text") => (TextKind::Message, &part["text"]),
                Some("thinking") => (TextKind::Thought, &part["thinking"]),
                _ => continue,
            };
            self.speech.push_whole(block, voice, text.as_str().unwrap_or_default(), None, out);
        }
        self.turn.message(message);
        let used = message["usage"]["totalTokens"].as_u64().unwrap_or_default();
        if let Some(size) = self.handshake.context_window()
            && used > 0
        {
            let cost = self.turn.cost();
            out.update(SessionUpdate::UsageUpdate { used, size, cost });
        }
    }

    fn tool_ends(&mut self, event: &Value, out: &mut Outputs) {
        let result = &event["result"];
        let outcome = ToolCallResult {
            text: text_of(&result["content"]),
            images: images_of(&result["content"]),
            raw: (!result.is_null()).then(|| without_images(result)),
            is_failure: event["isError"] == true,
        };
        self.calls.end(id_of(event), outcome, out);
    }

    fn retry(&mut self, event: &Value, out: &mut Outputs) {
        self.turn.retries();
        self.is_again = true;
        let count = |name: &str| event[name].as_u64().unwrap_or_default();
        let error = turn::failure_of(event["errorMessage"].as_str().unwrap_or("failed"));
        let title = format!("retry {} of {}", count("attempt"), count("maxAttempts"));
        out.warn_with(title, Some(error.message));
    }

    fn compacted(&mut self, event: &Value, out: &mut Outputs) {
        let error = event["errorMessage"].as_str();
        let status = match (event["aborted"] == true, error) {
            (true, _) => CompactionStatus::Cancelled,
            (false, Some(_)) => CompactionStatus::Failed,
            (false, None) => CompactionStatus::Completed,
        };
        self.compact(status, error, out);
        if event["willRetry"] == true {
            self.turn.retries();
            self.is_again = true;
        }
    }

    fn compact(&self, status: CompactionStatus, error: Option<&str>, out: &mut Outputs) {
        let id = format!("compaction-{}", self.n_compactions);
        out.compaction(id, status, error);
    }

    fn end_turn(&mut self, out: &mut Outputs) {
        match self.turn.end() {
            Some(end) => self.close(end, out),
            // The end of a run without a prompt.
            None => self.calls.close("the CLI did not say how this ended", out),
        }
    }

    fn close(&mut self, end: super::TurnEnd, out: &mut Outputs) {
        self.dialogs.withdraw(out);
        self.calls.close(&end.ending.open_call_text(), out);
        out.push(DialectOutput::TurnEnded(end));
    }
}

fn id_of(event: &Value) -> &str {
    event["toolCallId"].as_str().unwrap_or_default()
}

fn text_of(content: &Value) -> String {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part["text"].as_str()).collect()
}

fn images_of(content: &Value) -> Vec<ContentBlock> {
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let images = parts.iter().filter(|part| part["type"] == "image").filter_map(|part| {
        let (data, mime_type) = (part["data"].as_str()?, part["mimeType"].as_str()?);
        Some(ContentBlock::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
    });
    images.collect()
}

/// The result without its images, which are in the content already and too big to be sent twice.
fn without_images(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(Value::Array(parts)) = result.get_mut("content") {
        parts.retain(|part| part["type"] != "image");
    }
    result
}

#[cfg(test)]
mod tests;
