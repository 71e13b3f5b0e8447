//! GitHub Copilot CLI's `--output-format json`.
//!
//! One process, one turn. Events are `{type, data}`; a request to the model is bracketed by
//! `model.call_start` and `assistant.message`, which repeats in full what came as deltas. A
//! request that failed is announced with `assistant.turn_retry`, and its text comes again
//! under another message id. `result` ends the turn; an error is in `session.error` before it.
//!
//! Events of sub-agents carry the call that started them: their tool calls are shown, their
//! messages are not, since those are not the answer.

use serde_json::Value;
use wire::{Category, Fault};

use super::single_turn::SingleTurn;
use super::streamed_texts::StreamedTexts;
use super::tool_calls::ToolCallResult;
use super::{CliExit, Dialect, Outputs, StopReason, TokenUsage, TurnOutcome, json, stderr};
use crate::tools;
use crate::update::{
    CompactionStatus, NoticeSeverity, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextKind,
};

#[derive(Debug, Default)]
pub(super) struct Copilot {
    turn: SingleTurn,
    speech: StreamedTexts,
    failure: Option<Fault>,
    is_aborted: bool,
    /// The last context usage that was emitted: used and size.
    context: Option<(u64, u64)>,
    intent: Option<String>,
    n_compactions: u32,
}

impl Dialect for Copilot {
    fn line(&mut self, line: &str, out: &mut Outputs) {
        let event = json::parse_or_null(line);
        let kind = event["type"].as_str().unwrap_or_default();
        let data = &event["data"];
        let parent = data["parentToolCallId"].as_str().or(event["agentId"].as_str());
        if parent.is_some() && kind.starts_with("assistant.") {
            return;
        }
        match kind {
            "model.call_start" => self.speech.begin_request(),
            "assistant.turn_start" => self.speech.begin_message(),
            "assistant.message_delta" | "assistant.reasoning_delta" => {
                let voice =
                    if kind.contains("reasoning") { TextKind::Thought } else { TextKind::Message };
                let delta = data["deltaContent"].as_str().unwrap_or_default();
                self.speech.push_piece(voice as u64, voice, delta, id_of_message(voice, data), out);
            }
            "assistant.message" => {
                self.whole(TextKind::Thought, &data["reasoningText"], data, out);
                self.whole(TextKind::Message, &data["content"], data, out);
            }
            "assistant.reasoning" => self.whole(TextKind::Thought, &data["content"], data, out),
            "assistant.turn_retry" => self.retry(data, out),
            "assistant.intent" => self.show_intent(&data["intent"], out),
            "assistant.usage" => self.add_usage(data),
            "tool.execution_start" => self.tool_start(data, parent, out),
            "tool.execution_partial_result" => {
                let output = data["partialOutput"].as_str().unwrap_or_default();
                self.turn.calls.output(id_of(data), output, out);
            }
            "tool.execution_complete" => self.tool_end(data, out),
            "session.start" | "session.resume" => self.turn.learn_session(&data["sessionId"], out),
            "session.info" | "session.warning" => inform(kind, data, out),
            "session.error" => self.failure = Some(failure_of(data)),
            "session.usage_info" => {
                self.report_context(&data["currentTokens"], &data["tokenLimit"], out);
            }
            "session.title_changed" => {
                let title = data["title"].as_str().map(str::to_owned);
                out.update(SessionUpdate::SessionInfoUpdate { title, meta: None });
            }
            "session.compaction_start" => {
                self.n_compactions += 1;
                self.compact(CompactionStatus::InProgress, None, out);
            }
            "session.compaction_complete" => {
                let error = data["error"].as_str().or(data["error"]["message"].as_str());
                match data["success"] == false {
                    true => self.compact(CompactionStatus::Failed, error, out),
                    false => self.compact(CompactionStatus::Completed, None, out),
                }
            }
            "abort" => self.is_aborted = true,
            "result" => self.result(&event, out),
            _ if is_ignored(kind) => {}
            _ => out.unknown(line),
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            Some("result") if head["exitCode"].is_number() => self.result(head, out),
            Some("result") | None => self.turn.fail(failure, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        let failure = self.failure.take().unwrap_or_else(|| stderr::failure(exit));
        self.turn.exit(exit, TurnOutcome::Failed(failure), out);
    }
}

/// Whether an event is known and ignored: another one has the same, or it is of no use to users.
fn is_ignored(kind: &str) -> bool {
    matches!(
        kind,
        "user.message"
            | "system.message"
            | "model.call_failure"
            | "model.call_finished"
            | "model.call_final_result"
            | "assistant.message_start"
            | "assistant.streaming_delta"
            | "assistant.tool_call_delta"
            | "assistant.turn_end"
            | "assistant.idle"
            | "tool.shell_output"
            | "tool.execution_progress"
            | "tool.user_requested"
            | "session.skills_loaded"
            | "session.mcp_servers_loaded"
            | "session.mcp_server_status_changed"
            | "session.tools_updated"
            | "session.custom_agents_updated"
            | "session.extensions_loaded"
            | "session.background_tasks_changed"
            | "session.plan_changed"
            | "session.workspace_file_changed"
            | "session.context_changed"
            | "session.idle"
            | "session.shutdown"
            | "pending_messages.modified"
            | "permission.requested"
            | "permission.completed"
            | "hook.start"
            | "hook.end"
            | "skill.invoked"
            | "subagent.selected"
            | "subagent.started"
            | "subagent.completed"
            | "subagent.failed"
    )
}

fn id_of(data: &Value) -> &str {
    data["toolCallId"].as_str().unwrap_or_default()
}

fn id_of_message(voice: TextKind, data: &Value) -> Option<&str> {
    match voice {
        TextKind::Message => data["messageId"].as_str(),
        TextKind::Thought => data["reasoningId"].as_str(),
    }
}

impl Copilot {
    /// Each voice is one block, which comes in pieces and then whole.
    fn whole(&mut self, voice: TextKind, text: &Value, data: &Value, out: &mut Outputs) {
        let text = text.as_str().unwrap_or_default();
        self.speech.push_whole(voice as u64, voice, text, id_of_message(voice, data), out);
    }

    fn retry(&mut self, data: &Value, out: &mut Outputs) {
        self.speech.retry_message();
        let title = match data["reason"].as_str() {
            Some(reason) => {
                format!("the request failed ({}); trying again", reason.replace('_', " "))
            }
            None => "the request failed; trying again".to_owned(),
        };
        out.warn(title);
    }

    fn show_intent(&mut self, intent: &Value, out: &mut Outputs) {
        let Some(intent) = intent.as_str().filter(|intent| !intent.is_empty()) else { return };
        if self.intent.as_deref() != Some(intent) {
            self.intent = Some(intent.to_owned());
            out.notice(NoticeSeverity::Info, intent);
        }
    }

    fn tool_start(&mut self, data: &Value, parent: Option<&str>, out: &mut Outputs) {
        let (id, input) = (id_of(data), &data["arguments"]);
        let name = data["toolName"].as_str().unwrap_or("tool");
        if name == "report_intent" {
            self.turn.calls.hide(id);
            return self.show_intent(&input["intent"], out);
        }
        if matches!(name, "update_todo" | "manage_todo_list")
            && let Some(entries) = plan_of(&input["todos"])
        {
            return self.turn.calls.plan(id, entries, out);
        }
        self.turn.calls.start(id, name, input, parent, out);
    }

    fn tool_end(&mut self, data: &Value, out: &mut Outputs) {
        let metrics = &data["toolTelemetry"]["metrics"];
        self.report_context(
            &metrics["context_current_tokens"],
            &metrics["context_token_limit"],
            out,
        );
        let result = &data["result"];
        let text = result["content"].as_str().or(result.as_str());
        let text = text.or(data["error"]["message"].as_str());
        let exit = data["shellExecution"]["exitCode"].as_i64();
        let outcome = ToolCallResult {
            text: text.unwrap_or_default().to_owned(),
            raw: match (result, &data["error"]) {
                (Value::Null, Value::Null) => None,
                (Value::Null, error) => Some(error.clone()),
                (result, _) => Some(result.clone()),
            },
            is_failure: data["success"] == false || exit.is_some_and(|code| code != 0),
            ..ToolCallResult::default()
        };
        self.turn.calls.end(id_of(data), outcome, out);
    }

    fn report_context(&mut self, used: &Value, size: &Value, out: &mut Outputs) {
        let Some((used, size)) = used.as_u64().zip(size.as_u64()) else { return };
        if size > 0 && self.context != Some((used, size)) {
            self.context = Some((used, size));
            out.update(SessionUpdate::UsageUpdate { used, size, cost: None });
        }
    }

    fn add_usage(&mut self, data: &Value) {
        let count = |name: &str| data[name].as_u64().unwrap_or_default();
        let (read, write) = (count("cacheReadTokens"), count("cacheWriteTokens"));
        let (input, output) = (count("inputTokens"), count("outputTokens"));
        self.turn.usage.get_or_insert_default().add(&TokenUsage {
            total_tokens: input.saturating_add(output),
            // Input includes what was read from the cache.
            input_tokens: input.saturating_sub(read),
            output_tokens: output,
            thought_tokens: None,
            cached_read_tokens: Some(read),
            cached_write_tokens: Some(write),
        });
    }

    fn compact(&self, status: CompactionStatus, error: Option<&str>, out: &mut Outputs) {
        let id = format!("compaction-{}", self.n_compactions);
        out.compaction(id, status, error);
    }

    fn result(&mut self, event: &Value, out: &mut Outputs) {
        self.turn.learn_session(&event["sessionId"], out);
        let code = &event["exitCode"];
        let is_well = code.is_null() || code.as_i64() == Some(0);
        match self.failure.take() {
            Some(failure) => self.turn.fail(failure, out),
            None if self.is_aborted => self.turn.stop(StopReason::Cancelled, out),
            None if !is_well => {
                let failure =
                    Fault::new(Category::ProcessExit, format!("Copilot failed with code {code}"));
                self.turn.fail(failure, out);
            }
            None => self.turn.stop(StopReason::EndTurn, out),
        }
    }
}

/// The plan in a todo list, which Copilot writes in Markdown.
fn plan_of(todos: &Value) -> Option<Vec<PlanEntry>> {
    let Some(text) = todos.as_str() else { return tools::plan_of(todos) };
    let entries: Vec<PlanEntry> = text.lines().filter_map(plan_entry).collect();
    (!entries.is_empty()).then_some(entries)
}

/// The entry in a line such as `- [x] done`, `- [ ] to do`, `- [-] being done`.
fn plan_entry(line: &str) -> Option<PlanEntry> {
    let line = line.trim().trim_start_matches(['-', '*']).trim_start();
    let (mark, content) = line.strip_prefix('[')?.split_once(']')?;
    let status = match mark.trim() {
        "x" | "X" => PlanEntryStatus::Completed,
        "" => PlanEntryStatus::Pending,
        _ => PlanEntryStatus::InProgress,
    };
    let content = content.trim().to_owned();
    (!content.is_empty()).then_some(PlanEntry {
        content,
        priority: PlanEntryPriority::Medium,
        status,
    })
}

fn inform(kind: &str, data: &Value, out: &mut Outputs) {
    // Retries have their own event, and changed files are in the tool calls.
    let what = data["infoType"].as_str().unwrap_or_default();
    if what == "model_retry" || what.starts_with("file_") {
        return;
    }
    let severity =
        if kind == "session.warning" { NoticeSeverity::Warning } else { NoticeSeverity::Info };
    if let Some(message) = data["message"].as_str() {
        out.notice(severity, message);
    }
}

fn failure_of(data: &Value) -> Fault {
    let message = data["message"].as_str().unwrap_or("Copilot reported an error");
    let category = match data["errorType"].as_str().unwrap_or_default() {
        "authentication" | "authorization" => Category::Auth,
        "rate_limit" | "quota" => Category::RateLimit,
        "context_limit" => Category::PromptTooLarge,
        _ => Category::classify(data["statusCode"].as_u64(), message),
    };
    Fault::new(category, message)
}

#[cfg(test)]
mod tests;
