//! The log as events for a user interface: `start`, `agent{type: …}`, `stderr`, `error`, `end`.
//!
//! In: the changes of a conversation. Out: what a page needs to draw a turn while it happens. A
//! turn gives one `start` and one `end`; a tool call gives one `tool_use`, as soon as its input is
//! known, and one `tool_result`, at the latest when its turn ends; thinking that has started is
//! ended before anything else is sent.

mod types;

pub use types::{
    UiAgentUpdate, UiEnd, UiEndStatus, UiError, UiErrorDetail, UiEvent, UiOption, UiStart, UiStatus,
};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wire::event::{AgentStderr, OptionSet, SessionCreated, TurnOutcome};
use wire::event::{PermissionResolved, RecordedOutcome, TerminalExited, WorkerStarted};
use wire::{Category, Fault, Json, Millis, OwnEvent};

use super::calls::{CallStatus, ToolCall, ToolOutput};
use super::command_output::CommandOutput;
use super::content::ContentBlock;
use super::conversation::{Change, Conversation, Projection};
use super::diff::unified;
use super::json::{JsonNode, JsonObject};
use super::plan::PlanStep;
use super::question::{PermissionChoice, PermissionQuestion};
use super::shell::command_line;
use super::terminals::Terminals;
use super::turn::TurnEnd;
use super::usage::limit_words;

/// Version of the vocabulary, which `start` names.
const PROTOCOL_VERSION: u32 = 1;

/// Events before the first turn that are kept for it; agents send only a few.
const MAX_EARLY_EVENTS: usize = 64;

/// A log as events for a user interface.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UiProjection {
    /// Fields of the session's first event, which each turn's `start` repeats.
    start: UiStart,
    /// Events before the first turn; they are sent after its `start`, which has to come first.
    #[serde(skip)]
    early_events: Vec<UiEvent>,
    has_begun: bool,
    /// The running turn has had output of the agent.
    has_output: bool,
    is_thinking: bool,
}

impl Projection for UiProjection {
    type Out = Vec<UiEvent>;

    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut Vec<UiEvent>) {
        let n_before = out.len();
        self.change(change, now, out);
        if !self.has_begun {
            self.early_events.extend(out.extract_if(n_before.., |told| is_about_the_session(told)));
            self.early_events.truncate(MAX_EARLY_EVENTS);
        }
    }
}

impl UiProjection {
    /// Whether it can be stored: what it sends after the first `start` is not.
    pub(crate) fn is_storable(&self) -> bool {
        self.early_events.is_empty()
    }

    fn change(&mut self, change: Change<'_>, now: &Conversation, out: &mut Vec<UiEvent>) {
        match change {
            Change::TurnStarted => self.start_turn(now, out),
            Change::TurnEnded(end) if end.has_begun => self.end_turn(*end, out),
            Change::Answer { text, .. } => self.text(text, now, out),
            Change::AnswerBlock { block, .. } => self.answer_block(&block, now, out),
            Change::Thought { text, .. } => self.thought(text, now, out),
            Change::CallSeen { .. } => {
                self.first_output(now, out);
                self.end_thinking(out);
            }
            Change::CallBegan { call, .. } => {
                out.push(UiEvent::Agent(tool_use(now.call(call))));
            }
            Change::CallEnded(call) if !now.call(call).is_left_open => {
                out.push(UiEvent::Agent(tool_result(now.call(call), now, None)));
            }
            Change::CallLeftOpen { call, outcome } => {
                let result = tool_result(now.call(call), now, Some(outcome));
                out.push(UiEvent::Agent(result));
            }
            Change::Planned { .. } => {
                let lines: Vec<_> = now.plan().iter().map(PlanStep::line).collect();
                detailed("plan", Some(lines.join("\n")), out);
            }
            Change::Asked(question) => self.asked(&question, out),
            Change::Decided(decision) => out.push(UiEvent::Agent(decided(decision.resolved))),
            Change::Failed { fault, .. } => out.push(UiEvent::Error(error(&fault))),
            Change::Own(own, _) => self.own_event(*own, out),
            Change::Update(name, update, _) => self.update(name, &update, out),
            Change::Prompt(_)
            | Change::CallMedia(..)
            | Change::CallEnded(_)
            | Change::TurnEnded(_) => {}
        }
    }

    fn update(&mut self, name: &str, update: &JsonObject<'_>, out: &mut Vec<UiEvent>) {
        match name {
            "config_option_update" => match model_of(update) {
                Some(model) if self.start.model.as_ref() != Some(&model) => self.model(model, out),
                _ => status(UiStatus::labelled(name), out),
            },
            "session_info_update" => match update.non_blank_text("title") {
                Some(title) => {
                    let title = title.into_owned();
                    out.push(UiEvent::Agent(UiAgentUpdate::ConversationTitle { title }));
                }
                None => status(UiStatus::labelled(name), out),
            },
            _ => {
                let detail = (name == "notice").then(|| update.non_blank_text("title")).flatten();
                detailed(name, detail.map(Cow::into_owned), out);
            }
        }
    }

    fn own_event(&mut self, own: OwnEvent<'_>, out: &mut Vec<UiEvent>) {
        match own {
            OwnEvent::SessionCreated(created) => self.created(created),
            OwnEvent::LimitReached(reached) => {
                self.end_thinking(out);
                detailed("paused", Some(limit_words(&reached)), out);
            }
            OwnEvent::LimitRaised(raised) => {
                detailed("continued", Some(raised.limit.as_str().to_owned()), out);
            }
            OwnEvent::TerminalExited(TerminalExited { lost: true, .. }) => {
                status(UiStatus::labelled("command_lost"), out);
            }
            OwnEvent::CancelRequested(_) => status(UiStatus::labelled("cancelling"), out),
            OwnEvent::AgentQuiet(quiet) => {
                let (detail, elapsed_ms) = (quiet.waiting_for, Some(quiet.quiet_ms));
                let label = UiStatus::labelled("quiet");
                status(UiStatus { detail, elapsed_ms, ..label }, out);
            }
            OwnEvent::SessionResumed(resumed) => {
                detailed("resumed", Some(resumed.how.as_str().to_owned()), out);
            }
            // The model that the agent starts with, when nobody chose one.
            OwnEvent::WorkerStarted(WorkerStarted { model: Some(model), .. })
                if self.start.model.as_ref() != Some(&model) =>
            {
                self.model(model, out);
            }
            OwnEvent::AgentStderr(AgentStderr { text: chunk }) => {
                out.push(UiEvent::Stderr { chunk });
            }
            OwnEvent::OptionSet(set) => {
                if let Some(model) = chosen_model(&set) {
                    self.model(model, out);
                }
            }
            _ => {}
        }
    }

    fn created(&mut self, created: SessionCreated) {
        let SessionCreated { agent, command, cwd, .. } = created;
        self.start = UiStart {
            run_id: None,
            // The vocabulary requires it; an agent without a command is its own name.
            bin: match command.is_empty() {
                true => agent.clone(),
                false => command_line(command.iter().map(String::as_str)),
            },
            agent_id: Some(agent),
            protocol_version: PROTOCOL_VERSION,
            cwd: Some(cwd),
            model: None,
        };
    }

    fn start_turn(&mut self, now: &Conversation, out: &mut Vec<UiEvent>) {
        self.has_output = false;
        let run_id = now.turn().and_then(|turn| turn.id).map(|turn| turn.to_string());
        let start = self.start.clone();
        out.push(UiEvent::Start(UiStart { run_id, protocol_version: PROTOCOL_VERSION, ..start }));
        self.has_begun = true;
        out.append(&mut self.early_events);
        status(UiStatus::labelled("requesting"), out);
    }

    fn end_turn(&mut self, end: TurnEnd, out: &mut Vec<UiEvent>) {
        self.end_thinking(out);
        let stop_reason = end.stop_reason();
        out.push(UiEvent::Agent(UiAgentUpdate::Usage {
            usage: end.usage,
            cost_usd: end.cost_usd,
            duration_ms: end.took_ms,
            stop_reason: stop_reason.clone(),
        }));
        let (code, status) = match end.outcome {
            TurnOutcome::Completed => (Some(0), UiEndStatus::Succeeded),
            TurnOutcome::Failed => (Some(1), UiEndStatus::Failed),
            TurnOutcome::Cancelled => (None, UiEndStatus::Canceled),
        };
        out.push(UiEvent::End(UiEnd {
            code,
            status,
            stop_reason,
            failure_category: end.fault.as_ref().map(|fault| fault.category),
            failure_detail: end.fault.map(|fault| fault.message),
        }));
    }

    fn text(&mut self, delta: String, now: &Conversation, out: &mut Vec<UiEvent>) {
        self.first_output(now, out);
        self.end_thinking(out);
        out.push(UiEvent::Agent(UiAgentUpdate::TextDelta { delta }));
    }

    /// The vocabulary has no event for an image, and its clients leave out events they do not know;
    /// so it is named in the answer, as a paragraph.
    fn answer_block(
        &mut self,
        block: &ContentBlock<'_>,
        now: &Conversation,
        out: &mut Vec<UiEvent>,
    ) {
        if let Some(described) = block.describe() {
            self.text(format!("\n\n{described}\n\n"), now, out);
        }
    }

    fn thought(&mut self, delta: String, now: &Conversation, out: &mut Vec<UiEvent>) {
        self.first_output(now, out);
        if !std::mem::replace(&mut self.is_thinking, true) {
            out.push(UiEvent::Agent(UiAgentUpdate::ThinkingStart {}));
        }
        out.push(UiEvent::Agent(UiAgentUpdate::ThinkingDelta { delta }));
    }

    fn end_thinking(&mut self, out: &mut Vec<UiEvent>) {
        if std::mem::take(&mut self.is_thinking) {
            out.push(UiEvent::Agent(UiAgentUpdate::ThinkingEnd {}));
        }
    }

    /// Reports the time to the first output, once in a turn.
    fn first_output(&mut self, now: &Conversation, out: &mut Vec<UiEvent>) {
        let Some(turn) = now.turn().filter(|_| !self.has_output) else { return };
        self.has_output = true;
        let ttft_ms = elapsed(turn.since, now.at());
        status(UiStatus { ttft_ms, ..UiStatus::labelled("streaming") }, out);
    }

    /// A question stands right after the `tool_use` it is about.
    fn asked(&mut self, question: &PermissionQuestion<'_>, out: &mut Vec<UiEvent>) {
        self.end_thinking(out);
        let option = |choice: &PermissionChoice| UiOption {
            option_id: choice.id.clone(),
            name: choice.label().to_owned(),
            kind: choice.kind.clone(),
        };
        let options = question.options.iter().filter(|choice| !choice.id.is_empty());
        out.push(UiEvent::Agent(UiAgentUpdate::PermissionRequest {
            request_id: question.id.to_string(),
            tool_use_id: question.tool_call_id(),
            title: question.title.clone(),
            options: options.map(option).collect(),
            tool_call: question.tool_call.map(JsonNode::to_json),
        }));
    }

    fn model(&mut self, model: String, out: &mut Vec<UiEvent>) {
        self.start.model = Some(model.clone());
        status(UiStatus { model: Some(model), ..UiStatus::labelled("model") }, out);
    }
}

fn error(fault: &Fault) -> UiError {
    use Category::{RateLimit, Timeout, UpstreamUnavailable};
    UiError {
        message: fault.message.clone(),
        error: UiErrorDetail {
            code: fault.category,
            message: fault.message.clone(),
            details: fault.remedy.clone(),
            retryable: matches!(fault.category, RateLimit | UpstreamUnavailable | Timeout),
        },
    }
}

fn decided(resolved: PermissionResolved) -> UiAgentUpdate {
    let RecordedOutcome { outcome, option_id, kind, .. } = resolved.outcome;
    UiAgentUpdate::PermissionResolved {
        request_id: resolved.request_id.to_string(),
        outcome,
        option_id,
        kind,
        by: Some(resolved.by.who.as_str().to_owned()),
        detail: resolved.by.detail,
    }
}

/// Status and titles; not parts of an answer, which are sent at once even where the log has no turn
/// for them.
fn is_about_the_session(event: &UiEvent) -> bool {
    use UiAgentUpdate::{ConversationTitle, Status};
    matches!(event, UiEvent::Agent(Status(_) | ConversationTitle { .. }))
}

fn status(status: UiStatus, out: &mut Vec<UiEvent>) {
    out.push(UiEvent::Agent(UiAgentUpdate::Status(status)));
}

fn detailed(label: &str, detail: Option<String>, out: &mut Vec<UiEvent>) {
    status(UiStatus { detail, ..UiStatus::labelled(label) }, out);
}

/// The model that was chosen, by either of the two ways that ACP has.
fn chosen_model(set: &OptionSet<'_>) -> Option<String> {
    let params = JsonNode::of(set.params).object();
    let is_model = params.text("configId").as_deref() == Some("model");
    let value = params.non_blank_text("value").filter(|_| is_model);
    value.or_else(|| params.non_blank_text("modelId")).map(Cow::into_owned)
}

fn elapsed(from: Millis, to: Millis) -> Option<u64> {
    u64::try_from(to.0.saturating_sub(from.0)).ok()
}

/// The model a session's details or configuration options name.
fn model_of(fields: &JsonObject<'_>) -> Option<String> {
    if let Some(model) = fields.non_blank_text("model") {
        return Some(model.into_owned());
    }
    if let Some(model) = fields.object("models").non_blank_text("currentModelId") {
        return Some(model.into_owned());
    }
    let options: Vec<_> = fields.items("configOptions").into_iter().map(JsonNode::object).collect();
    let by_category = options.iter().find(|o| o.text("category").as_deref() == Some("model"));
    let by_id = || options.iter().find(|o| o.text("id").as_deref() == Some("model"));
    let option = by_category.or_else(by_id)?;
    option.non_blank_text("currentValue").map(Cow::into_owned)
}

fn tool_use(call: &ToolCall) -> UiAgentUpdate {
    UiAgentUpdate::ToolUse {
        id: call.id.clone(),
        name: call.name().to_owned(),
        input: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        started_at: call.first_seen.0,
    }
}

/// `turn` is the outcome of the turn, for a call whose own end was not reported: a page must not
/// wait for it for ever.
fn tool_result(call: &ToolCall, now: &Conversation, turn: Option<TurnOutcome>) -> UiAgentUpdate {
    // Some agents call a command that failed a call that went well.
    let has_failed = || {
        let end = CommandOutput::of(call, &now.terminals).and_then(|printed| printed.end);
        end.is_some_and(|end| end.failure().is_some())
    };
    let is_error = match turn {
        Some(outcome) => outcome != TurnOutcome::Completed,
        None => call.status != Some(CallStatus::Completed) || has_failed(),
    };
    let content = result_text(call, &now.terminals);
    UiAgentUpdate::ToolResult { tool_use_id: call.id.clone(), content, is_error }
}

fn result_text(call: &ToolCall, terminals: &Terminals) -> String {
    let texts = call.output.iter().map(|output| match output {
        ToolOutput::Text(text) | ToolOutput::Other(text) => text.clone(),
        ToolOutput::Diff(file) => unified(file),
        ToolOutput::Terminal(id) => printed_text(call, terminals)
            .filter(|text| !text.is_empty())
            .or_else(|| call.raw_output_text())
            .unwrap_or_else(|| format!("[terminal {id}]")),
    });
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    if text.is_empty() { call.raw_output_text().unwrap_or_default() } else { text }
}

/// The output of the call's command, and how it failed if it did.
fn printed_text(call: &ToolCall, terminals: &Terminals) -> Option<String> {
    let CommandOutput { text, end, .. } = CommandOutput::of(call, terminals)?;
    Some(match end.and_then(|end| end.failure()) {
        Some(failure) => format!("{text}\n\n{failure}").trim_start().to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests;
