//! The log as events for a user interface: `start`, `agent{type: …}`, `stderr`, `error`, `end`.
//!
//! In: every event. Out: what a page needs to draw a turn while it happens. A turn gives
//! one `start` and one `end`; a tool call gives one `tool_use`, as soon as its input is
//! known, and one `tool_result`, at the latest when its turn ends; thinking that has started
//! is ended before anything else is said.

mod questions;
mod tools;
mod types;

pub use types::{
    AgentUpdate, EndStatus, UiEnd, UiError, UiErrorDetail, UiEvent, UiOption, UiStart, UiStatus,
};

use std::borrow::Cow;

use wire::event::{AgentStderr, OptionSet, Outcome, SessionCreated, TurnEnded, WorkerStarted};
use wire::{Category, Event, Fault, Millis, Own, TurnId};

use super::argv::command_line;
use super::json::{Node, Object};
use super::retold::Retold;
use super::terminals::Terminals;
use super::tools::ToolCalls;
use super::usage::Context;
use super::view::{
    PlanEntry, TurnEnd, blocks, chunk_text, limit_words, model_of, plan_entries, update_of,
};

/// Version of the vocabulary, which `start` names.
const PROTOCOL_VERSION: u32 = 1;

/// What is told before the first turn and still wanted in it; agents say a few things.
const MOST_EARLY: usize = 64;

/// Projects a log into UI events.
#[derive(Debug, Default)]
pub struct Ui {
    /// What the session's first event told; each turn's `start` repeats it.
    start: UiStart,
    /// What was told before the first turn: it begins with its `start`, whatever came earlier.
    early: Vec<UiEvent>,
    has_begun: bool,
    turn: Option<RunningTurn>,
    last_ended: Option<TurnId>,
    is_thinking: bool,
    tools: ToolCalls<tools::Marks>,
    terminals: Terminals,
    plan: Vec<PlanEntry>,
    context: Context,
    retold: Retold,
}

#[derive(Debug)]
struct RunningTurn {
    id: Option<TurnId>,
    started: Millis,
    has_output: bool,
    errors_told: Vec<String>,
}

impl Ui {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn project(&mut self, event: &Event, out: &mut Vec<UiEvent>) {
        let told = out.len();
        self.terminals.project(event);
        let added = self.retold.see(event);
        match event.kind.update_name() {
            Some("agent_message_chunk") => self.answer(event, added, out),
            Some(name) => self.update(name, event, out),
            None => self.own_event(event, out),
        }
        if !self.has_begun {
            self.early.extend(out.extract_if(told.., |told| is_about_the_session(told)));
            self.early.truncate(MOST_EARLY);
        }
    }

    fn update(&mut self, name: &str, event: &Event, out: &mut Vec<UiEvent>) {
        let update = update_of(event);
        match name {
            "agent_thought_chunk" => self.thought(event, &update, out),
            "user_message_chunk" => {}
            "tool_call" | "tool_call_update" => {
                self.first_output(event, out);
                self.end_thinking(out);
                self.tool(event, &update, out);
            }
            "plan" | "plan_update" => self.plan(name, &update, out),
            "config_option_update" => self.options(name, &update, out),
            "session_info_update" => match update.words("title") {
                Some(title) => {
                    let title = title.into_owned();
                    out.push(UiEvent::Agent(AgentUpdate::ConversationTitle { title }));
                }
                None => status(UiStatus::labelled(name), out),
            },
            _ => {
                if name == "usage_update" {
                    self.context.update(&update);
                    self.tell_waiting_tools(out);
                }
                let detail = (name == "notice").then(|| update.words("title")).flatten();
                let detail = detail.map(Cow::into_owned);
                status(UiStatus { detail, ..UiStatus::labelled(name) }, out);
            }
        }
    }

    fn own_event(&mut self, event: &Event, out: &mut Vec<UiEvent>) {
        let Some(own) = event.own() else { return };
        match own {
            Own::SessionCreated(created) => self.created(created),
            Own::TurnStarted(_) => self.start_turn(event, out),
            Own::TurnEnded(ended) => self.end_turn(event, &ended, out),
            // Whoever waits for the answer to a prompt is told that there is none.
            Own::PromptDropped(dropped) if self.turn.is_none() => {
                self.start_turn(event, out);
                self.close_turn(event.at, TurnEnd::dropped(dropped), out);
            }
            Own::PermissionRequested(asked) => self.permission_requested(event, &asked, out),
            Own::PermissionResolved(resolved) => questions::permission_resolved(resolved, out),
            Own::LimitReached(reached) => {
                self.end_thinking(out);
                let detail = Some(limit_words(&reached));
                status(UiStatus { detail, ..UiStatus::labelled("paused") }, out);
            }
            Own::LimitRaised(raised) => {
                let detail = Some(raised.limit.as_str().to_owned());
                status(UiStatus { detail, ..UiStatus::labelled("continued") }, out);
            }
            Own::CancelRequested(_) => status(UiStatus::labelled("cancelling"), out),
            Own::AgentQuiet(quiet) => {
                self.tell_waiting_tools(out);
                let (detail, elapsed_ms) = (quiet.waiting_for, Some(quiet.quiet_ms));
                let label = UiStatus::labelled("quiet");
                status(UiStatus { detail, elapsed_ms, ..label }, out);
            }
            Own::SessionResumed(resumed) => {
                let detail = Some(resumed.how.as_str().to_owned());
                status(UiStatus { detail, ..UiStatus::labelled("resumed") }, out);
            }
            // What the agent starts with, when nobody chose.
            Own::WorkerStarted(WorkerStarted { model: Some(model), .. })
                if self.start.model.as_ref() != Some(&model) =>
            {
                self.model(model, out);
            }
            Own::AgentStderr(AgentStderr { text: chunk }) => out.push(UiEvent::Stderr { chunk }),
            Own::OptionSet(set) => {
                if let Some(model) = chosen_model(&set) {
                    self.model(model, out);
                }
            }
            Own::Error(fault) => self.error(&fault, out),
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

    fn start_turn(&mut self, event: &Event, out: &mut Vec<UiEvent>) {
        let is_repeated = |turn: &RunningTurn| event.turn.is_none() || turn.id == event.turn;
        let has_ended = event.turn.is_some() && event.turn == self.last_ended;
        if has_ended || self.turn.as_ref().is_some_and(is_repeated) {
            return;
        }
        // The log lost the end of the turn before; its readers must not wait for it.
        self.close_turn(event.at, TurnEnd::unknown(), out);
        self.turn = Some(RunningTurn {
            id: event.turn,
            started: event.at,
            has_output: false,
            errors_told: Vec::new(),
        });
        self.context.start_turn();
        let run_id = event.turn.map(|turn| turn.to_string());
        let start = self.start.clone();
        out.push(UiEvent::Start(UiStart { run_id, protocol_version: PROTOCOL_VERSION, ..start }));
        self.has_begun = true;
        out.append(&mut self.early);
        status(UiStatus::labelled("requesting"), out);
    }

    fn end_turn(&mut self, event: &Event, ended: &TurnEnded<'_>, out: &mut Vec<UiEvent>) {
        let is_other =
            |turn: &RunningTurn| event.turn.is_some() && turn.id.is_some() && turn.id != event.turn;
        if self.turn.as_ref().is_none_or(is_other) {
            return;
        }
        self.close_turn(event.at, TurnEnd::of(ended), out);
    }

    fn close_turn(&mut self, at: Millis, end: TurnEnd, out: &mut Vec<UiEvent>) {
        if self.turn.is_none() {
            return;
        }
        self.end_thinking(out);
        self.close_tools(end.outcome, out);
        if let Some(fault) = &end.fault {
            self.error(fault, out);
        }
        let Some(turn) = self.turn.take() else { return };
        self.last_ended = turn.id;
        out.push(UiEvent::Agent(AgentUpdate::Usage {
            usage: end.usage,
            cost_usd: self.context.turn_cost_usd(),
            duration_ms: elapsed(turn.started, at),
            stop_reason: end.stop_reason.clone(),
        }));
        let (code, status) = match end.outcome {
            Outcome::Completed => (Some(0), EndStatus::Succeeded),
            Outcome::Failed => (Some(1), EndStatus::Failed),
            Outcome::Cancelled => (None, EndStatus::Canceled),
        };
        out.push(UiEvent::End(UiEnd {
            code,
            status,
            stop_reason: end.stop_reason,
            failure_category: end.fault.as_ref().map(|fault| fault.category),
            failure_detail: end.fault.map(|fault| fault.message),
        }));
    }

    /// `added` is what its text adds to what was told.
    fn answer(&mut self, event: &Event, mut added: Option<String>, out: &mut Vec<UiEvent>) {
        for block in blocks(update_of(event).get("content")) {
            let delta = match block.text() {
                Some(_) => added.take(),
                // The vocabulary has no word for an image, and what its clients do not know they
                // leave out; so it is named in the answer, as a paragraph.
                None => block.describe().map(|described| format!("\n\n{described}\n\n")),
            };
            self.text(event, delta.unwrap_or_default(), out);
        }
    }

    fn text(&mut self, event: &Event, delta: String, out: &mut Vec<UiEvent>) {
        if delta.is_empty() {
            return;
        }
        self.first_output(event, out);
        self.end_thinking(out);
        self.tell_waiting_tools(out);
        out.push(UiEvent::Agent(AgentUpdate::TextDelta { delta }));
    }

    fn thought(&mut self, event: &Event, update: &Object<'_>, out: &mut Vec<UiEvent>) {
        let delta = chunk_text(update);
        if delta.is_empty() {
            return;
        }
        self.first_output(event, out);
        self.tell_waiting_tools(out);
        if !std::mem::replace(&mut self.is_thinking, true) {
            out.push(UiEvent::Agent(AgentUpdate::ThinkingStart {}));
        }
        out.push(UiEvent::Agent(AgentUpdate::ThinkingDelta { delta }));
    }

    fn end_thinking(&mut self, out: &mut Vec<UiEvent>) {
        if std::mem::take(&mut self.is_thinking) {
            out.push(UiEvent::Agent(AgentUpdate::ThinkingEnd {}));
        }
    }

    /// Says once per turn how long the first sign of an answer took.
    fn first_output(&mut self, event: &Event, out: &mut Vec<UiEvent>) {
        let Some(turn) = &mut self.turn else { return };
        if !std::mem::replace(&mut turn.has_output, true) {
            let ttft_ms = elapsed(turn.started, event.at);
            status(UiStatus { ttft_ms, ..UiStatus::labelled("streaming") }, out);
        }
    }

    fn plan(&mut self, name: &str, update: &Object<'_>, out: &mut Vec<UiEvent>) {
        let entries = plan_entries(update);
        if entries == self.plan {
            return;
        }
        self.tell_waiting_tools(out);
        let lines = entries.iter().map(|entry| format!("{} {}", entry.mark(), entry.content));
        let detail = Some(lines.collect::<Vec<_>>().join("\n"));
        self.plan = entries;
        status(UiStatus { detail, ..UiStatus::labelled(name) }, out);
    }

    fn options(&mut self, name: &str, update: &Object<'_>, out: &mut Vec<UiEvent>) {
        match model_of(update) {
            Some(model) if self.start.model.as_ref() != Some(&model) => self.model(model, out),
            _ => status(UiStatus::labelled(name), out),
        }
    }

    fn model(&mut self, model: String, out: &mut Vec<UiEvent>) {
        self.start.model = Some(model.clone());
        status(UiStatus { model: Some(model), ..UiStatus::labelled("model") }, out);
    }

    fn error(&mut self, fault: &Fault, out: &mut Vec<UiEvent>) {
        if let Some(turn) = &mut self.turn {
            if turn.errors_told.contains(&fault.message) {
                return;
            }
            turn.errors_told.push(fault.message.clone());
        }
        use Category::{RateLimit, Timeout, UpstreamUnavailable};
        let retryable = matches!(fault.category, RateLimit | UpstreamUnavailable | Timeout);
        out.push(UiEvent::Error(UiError {
            message: fault.message.clone(),
            error: UiErrorDetail {
                code: fault.category,
                message: fault.message.clone(),
                details: fault.remedy.clone(),
                retryable,
            },
        }));
    }
}

/// Nothing of an answer, which is told at once even where the log has no turn for it.
fn is_about_the_session(event: &UiEvent) -> bool {
    use AgentUpdate::{ConversationTitle, Status};
    matches!(event, UiEvent::Agent(Status(_) | ConversationTitle { .. }))
}

fn status(status: UiStatus, out: &mut Vec<UiEvent>) {
    out.push(UiEvent::Agent(AgentUpdate::Status(status)));
}

/// The model that was chosen, by either of the two ways that ACP has.
fn chosen_model(set: &OptionSet<'_>) -> Option<String> {
    let params = Node::of(set.params).object();
    let is_model = params.text("configId").as_deref() == Some("model");
    let value = params.words("value").filter(|_| is_model);
    value.or_else(|| params.words("modelId")).map(Cow::into_owned)
}

fn elapsed(from: Millis, to: Millis) -> Option<u64> {
    u64::try_from(to.0.saturating_sub(from.0)).ok()
}

#[cfg(test)]
mod tests;
