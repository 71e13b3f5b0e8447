//! One turn of the thread: its start, notifications, interrupts and end.

use serde_json::{Value, json};
use wire::{Category, Fault};

use super::super::codex::items::{self, CodexItem, ItemPhase};
use super::super::codex::{errors, usage_of};
use super::super::{ComposedPrompt, Outputs, StopReason, TokenUsage, TurnOutcome};
use super::{CodexAppServer, CodexRequest};
use crate::tools;
use crate::update::{CompactionStatus, NoticeSeverity, SessionUpdate, TextKind, ToolCall};

/// How often an interrupt is tried; after that the turn ends by itself, or by a signal.
const MAX_INTERRUPTS: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct CodexTurn {
    id: Option<String>,
    /// Codex takes an interrupt only from here on.
    is_started: bool,
    /// It is to be cancelled.
    pub(super) is_cancelling: bool,
    is_interrupt_sent: bool,
    n_interrupts: u32,
    /// The ending by the last `error` notification, if its end has no error.
    pub(super) error: Option<TurnOutcome>,
    /// Tokens of the thread before this turn.
    before: Option<TokenUsage>,
    has_used: bool,
    /// The last compaction that was emitted, with its status.
    compaction: Option<(String, CompactionStatus)>,
}

impl CodexAppServer {
    pub(super) fn begin_turn(&mut self, id: Option<String>) {
        self.streams.reset();
        self.last_notice.clear();
        self.turn = Some(CodexTurn { id, before: self.thread_usage, ..CodexTurn::default() });
    }

    pub(super) fn start_turn(&mut self, prompt: &ComposedPrompt, out: &mut Outputs) {
        if self.turn.as_ref().is_some_and(|turn| turn.is_cancelling) {
            return self.end_turn(TurnOutcome::Stopped(StopReason::Cancelled), out);
        }
        if let Some(turn) = &mut self.turn {
            turn.before = self.thread_usage;
        }
        let mut input = Vec::new();
        if !prompt.text.is_empty() || prompt.images.is_empty() {
            input.push(json!({ "type": "text", "text": prompt.text }));
        }
        input.extend(prompt.images.iter().map(|image| {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            json!({ "type": "image", "url": url })
        }));
        let settings = &self.settings;
        let mut params = json!({
            "threadId": self.thread,
            "input": input,
            "approvalPolicy": settings.approval_policy(),
            "approvalsReviewer": "user",
            "sandboxPolicy": settings.sandbox_policy(),
        });
        if let Some(model) = &settings.options.model {
            params["model"] = json!(model);
        }
        if let Some(effort) = &settings.options.effort {
            params["effort"] = json!(effort);
        }
        self.request(CodexRequest::Turn, "turn/start", params, out);
    }

    /// Codex has taken the prompt; it cannot be interrupted yet.
    pub(super) fn turn_accepted(&mut self, id: &Value, out: &mut Outputs) {
        if let (Some(turn), Some(id)) = (&mut self.turn, id.as_str()) {
            turn.id.get_or_insert_with(|| id.to_owned());
        }
        self.send_interrupt(out);
    }

    pub(super) fn send_interrupt(&mut self, out: &mut Outputs) {
        let Some(turn) = &mut self.turn else { return };
        let Some(id) = turn.id.clone() else { return };
        let is_due = turn.is_cancelling && turn.is_started && !turn.is_interrupt_sent;
        if !is_due || turn.n_interrupts == MAX_INTERRUPTS {
            return;
        }
        turn.is_interrupt_sent = true;
        turn.n_interrupts += 1;
        let params = json!({ "threadId": self.thread, "turnId": id });
        self.request(CodexRequest::Interrupt, "turn/interrupt", params, out);
    }

    /// Codex refused an interrupt. "No active turn to interrupt" may hold for a moment only: at the
    /// next notification of the turn another one is sent.
    pub(super) fn interrupt_refused(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.is_interrupt_sent = false;
        }
    }

    /// Handles notifications about a turn of our thread.
    pub(super) fn about_turn(&mut self, method: &str, params: &Value, out: &mut Outputs) -> bool {
        let item = params["itemId"].as_str().unwrap_or_default();
        let delta = params["delta"].as_str().unwrap_or_default();
        let part = |name: &str| params[name].as_u64().unwrap_or_default();
        let streams = &mut self.streams;
        match method {
            "turn/started" => self.turn_started(&params["turn"]["id"]),
            "turn/completed" => self.turn_completed(&params["turn"], out),
            "item/started" => return self.item(&params["item"], ItemPhase::Started, out),
            "item/completed" => return self.item(&params["item"], ItemPhase::Completed, out),
            "item/agentMessage/delta" | "item/plan/delta" => {
                streams.texts.piece(item, TextKind::Message, delta, out);
            }
            "item/reasoning/summaryTextDelta" => {
                streams.thought_piece(item, true, part("summaryIndex"), delta, out);
            }
            "item/reasoning/textDelta" => {
                streams.thought_piece(item, false, part("contentIndex"), delta, out);
            }
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                streams.output(item, delta, out);
            }
            "item/mcpToolCall/progress" => {
                let message = params["message"].as_str().unwrap_or_default();
                streams.output(item, &format!("{message}\n"), out);
            }
            "item/fileChange/patchUpdated" => {
                if streams.calls.is_open(item) {
                    streams.call(items::changed(item, &params["changes"]), out);
                }
            }
            "turn/plan/updated" => {
                let entries = tools::plan_of(&params["plan"]).unwrap_or_default();
                out.plan(entries);
            }
            "thread/tokenUsage/updated" => return self.used(params, out),
            "thread/compacted" => self.compacted(&params["turnId"], out),
            "error" => self.failed(params, out),
            _ => return false,
        }
        self.send_interrupt(out);
        true
    }

    fn turn_started(&mut self, id: &Value) {
        let id = id.as_str().map(str::to_owned);
        if self.turn.is_none() {
            // In a recording, or a turn that Codex starts by itself.
            self.begin_turn(id.clone());
        }
        if let Some(turn) = &mut self.turn {
            turn.is_started = true;
            if turn.id.is_none() {
                turn.id = id;
            }
        }
    }

    /// Whether this is about a turn other than the one that runs.
    fn is_other_turn(&self, id: Option<&str>) -> bool {
        let ours = self.turn.as_ref().and_then(|turn| turn.id.as_deref());
        match (ours, id) {
            (Some(ours), Some(id)) => ours != id,
            (None, Some(id)) => self.last_turn.as_deref() == Some(id),
            _ => false,
        }
    }

    /// A `turn/completed` line that was too long; `params` are from its beginning.
    pub(super) fn skipped_end(&mut self, params: &Value, failure: Fault, out: &mut Outputs) {
        let thread = params["threadId"].as_str();
        let is_foreign = thread.is_some() && thread != self.thread.as_deref();
        let told = &params["turn"];
        if is_foreign || self.is_other_turn(told["id"].as_str()) {
            return;
        }
        match told["status"].is_string() {
            true => self.turn_completed(told, out),
            false => self.end_turn(TurnOutcome::Failed(failure), out),
        }
    }

    fn turn_completed(&mut self, told: &Value, out: &mut Outputs) {
        let id = told["id"].as_str();
        if self.is_other_turn(id) {
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        let ending = ending(told, turn);
        // The last message comes once more; it is new only if its own lines were lost.
        for item in told["items"].as_array().into_iter().flatten() {
            if let CodexItem::Message(text) = items::read(item, ItemPhase::Completed) {
                let id = item["id"].as_str().unwrap_or_default();
                self.streams.texts.item(id, TextKind::Message, &text, ItemPhase::Completed, out);
            }
        }
        if let (Some(turn), Some(id)) = (&mut self.turn, id) {
            turn.id = Some(id.to_owned());
        }
        self.end_turn(ending, out);
    }

    fn item(&mut self, item: &Value, phase: ItemPhase, out: &mut Outputs) -> bool {
        self.send_interrupt(out);
        let Some(id) = item["id"].as_str() else { return false };
        let texts = &mut self.streams.texts;
        match (items::read(item, phase), phase) {
            (CodexItem::Message(text), _) => texts.item(id, TextKind::Message, &text, phase, out),
            (CodexItem::Thought { summary, content }, ItemPhase::Completed) => {
                self.streams.thought_whole(id, &summary, &content, out);
            }
            // It begins empty, and goes on in pieces.
            (CodexItem::Thought { .. }, _) => {}
            (CodexItem::Plan(entries), _) => {
                out.plan(entries);
            }
            (CodexItem::Call(call), _) => self.call(*call, out),
            (CodexItem::Notice(severity, title), _) => self.notice(severity, title, None, out),
            (CodexItem::Compaction, ItemPhase::Completed) => {
                self.compaction(id, CompactionStatus::Completed, out);
            }
            (CodexItem::Compaction, _) => self.compaction(id, CompactionStatus::InProgress, out),
            (CodexItem::Review(text), ItemPhase::Completed) => {
                if !texts.has_said(&text) {
                    texts.item(id, TextKind::Message, &text, phase, out);
                }
            }
            (CodexItem::Review(_) | CodexItem::UserMessage, _) => {}
            (CodexItem::Unknown, _) => return false,
        }
        true
    }

    fn call(&mut self, call: ToolCall, out: &mut Outputs) {
        let is_late = self.turn.is_none();
        let is_final = call.status.is_some_and(crate::update::ToolCallStatus::is_final);
        // Nothing would end a call that begins after the turn's end.
        if is_late && !is_final && !self.streams.calls.is_known(&call.id) {
            return;
        }
        self.streams.call(call, out);
    }

    /// Handles token counts, which come for the thread and for its last request to the model;
    /// after a resume also for turns that are long over.
    fn used(&mut self, params: &Value, out: &mut Outputs) -> bool {
        let counts = &params["tokenUsage"];
        let (Some(total), Some(last)) = (usage_of(&counts["total"]), usage_of(&counts["last"]))
        else {
            return false;
        };
        if let Some(turn) = &mut self.turn {
            if turn.id.as_deref() == params["turnId"].as_str() {
                turn.has_used = true;
                turn.before.get_or_insert_with(|| total.minus(&last));
            } else {
                turn.before = Some(total);
            }
        }
        self.thread_usage = Some(total);
        if let Some(size) = counts["modelContextWindow"].as_u64() {
            let used = last.total_tokens;
            out.update(SessionUpdate::UsageUpdate { used, size, cost: None });
        }
        true
    }

    fn failed(&mut self, params: &Value, out: &mut Outputs) {
        let error = &params["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let details = error["additionalDetails"].as_str().map(str::to_owned);
        if params["willRetry"] == true {
            self.streams.texts.break_off();
            return self.notice(NoticeSeverity::Warning, message.to_owned(), details, out);
        }
        let ending = errors::ending(message, &error["codexErrorInfo"]);
        match &mut self.turn {
            // The turn's end follows.
            Some(turn) => turn.error = Some(ending),
            None => self.notice(NoticeSeverity::Error, message.to_owned(), details, out),
        }
    }

    fn compaction(&mut self, id: &str, status: CompactionStatus, out: &mut Outputs) {
        let told = (id.to_owned(), status);
        if let Some(turn) = &mut self.turn {
            if turn.compaction.as_ref() == Some(&told) {
                return;
            }
            turn.compaction = Some(told);
        }
        out.compaction(id, status, None);
    }

    /// Handles the older notification of a compaction, which follows the item.
    fn compacted(&mut self, turn_id: &Value, out: &mut Outputs) {
        let told = self.turn.as_ref().and_then(|turn| turn.compaction.clone());
        match told {
            Some((_, CompactionStatus::Completed)) => {}
            Some((id, _)) => self.compaction(&id, CompactionStatus::Completed, out),
            None => {
                let id = turn_id.as_str().unwrap_or("compaction").to_owned();
                self.compaction(&id, CompactionStatus::Completed, out);
            }
        }
    }

    pub(super) fn end_turn(&mut self, ending: TurnOutcome, out: &mut Outputs) {
        let Some(mut turn) = self.turn.take() else { return };
        self.pending_prompt = None;
        let compaction = match &ending {
            TurnOutcome::Stopped(StopReason::Cancelled) => CompactionStatus::Cancelled,
            TurnOutcome::Stopped(_) => CompactionStatus::Completed,
            TurnOutcome::Failed(_) => CompactionStatus::Failed,
        };
        if let Some((id, CompactionStatus::InProgress)) = turn.compaction.take() {
            self.compaction(&id, compaction, out);
        }
        self.asks.withdraw_all(self.thread.as_deref(), out);
        if ending == TurnOutcome::Stopped(StopReason::EndTurn) {
            self.streams.leave_running(out);
        }
        self.streams.calls.close(&ending.open_call_text(), out);
        let usage = match (self.thread_usage, turn.before) {
            (Some(total), Some(before)) if turn.has_used => Some(total.minus(&before)),
            _ => None,
        };
        let usage = usage.filter(|usage| usage.total_tokens > 0);
        self.last_turn = turn.id;
        out.end_turn(ending, usage);
    }
}

/// The ending of a turn by its `turn/completed`. An unknown status is a failure, so that nobody
/// takes the answer for a whole one.
fn ending(told: &Value, turn: &mut CodexTurn) -> TurnOutcome {
    let error = told["error"]["message"]
        .as_str()
        .map(|message| errors::ending(message, &told["error"]["codexErrorInfo"]))
        .or(turn.error.take());
    match (told["status"].as_str(), error) {
        (Some("completed"), _) => TurnOutcome::Stopped(StopReason::EndTurn),
        (Some("interrupted"), _) => TurnOutcome::Stopped(StopReason::Cancelled),
        _ if turn.is_cancelling => TurnOutcome::Stopped(StopReason::Cancelled),
        (_, Some(error)) => error,
        (Some("failed"), None) => errors::ending("", &Value::Null),
        (None, None) if told["status"].is_null() => TurnOutcome::Stopped(StopReason::EndTurn),
        (_, None) => {
            let message = format!("Codex ended the turn with the status {}", told["status"]);
            TurnOutcome::Failed(Fault::new(Category::Protocol, message))
        }
    }
}
