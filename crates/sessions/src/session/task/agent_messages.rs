//! Messages of the agent, and what becomes of them.

use std::time::{Duration, Instant};

use serde_json::Value;
use store::RecordChanges;
use wire::event::{AgentNotification, AgentStderr, StopReason, TurnEnded, WorkerExited};
use wire::{Category, Draft, Fault, Json, Kind, RpcError, TokenScope, codes};

use super::{LogFailure, SessionTask};
use crate::host::{AgentMessage, AgentQuirks, last_lines};
use crate::observer::ObservedToolCall;
use crate::permission::TurnToolCalls;
use crate::session::params_for_client;
use crate::session::turns::CurrentTurn;
use crate::session::usage;
use crate::{memory, mint};
use bus::connection::RpcResult;

/// The wait for the agent's end: far beyond the stop ladder, but not without end.
const ENDING: Duration = Duration::from_secs(30);
/// The wait for commands: most are gone at once, and then logged before the turn's end.
const ENDING_COMMANDS: Duration = Duration::from_secs(1);
/// Longest title of the agent: it is shown in every list.
const MAX_TITLE_CHARS: usize = 500;
/// Longest id by which the agent knows a session.
const MAX_ID_BYTES: usize = 4096;

impl SessionTask {
    /// Handles a batch in order. Updates next to each other are committed together.
    pub(super) async fn handle_batch(
        &mut self,
        batch: Vec<AgentMessage>,
    ) -> Result<(), LogFailure> {
        if batch.is_empty() {
            return Ok(());
        }
        tracing::trace!(session = %self.id, n_messages = batch.len(), "heard from the agent");
        self.silence.begin_anew(Instant::now());
        if memory::is_large(&batch) {
            memory::give_back_soon();
        }
        let (at, turn) = (mint::now(), self.turns.current());
        let mut drafts = Vec::with_capacity(batch.len());
        let mut changes = RecordChanges::default();
        for message in batch {
            match message {
                AgentMessage::Update { kind, payload } => {
                    let n_bytes = payload.as_str().len();
                    ::task::beside_others(n_bytes, || self.learn(&kind, &payload, &mut changes));
                    drafts.push(Draft { at, turn, kind, payload });
                }
                AgentMessage::Notification(message) => {
                    let params = params_for_client(&message, &self.public_id);
                    let method = message.method().to_owned();
                    let notification = AgentNotification { method, params: params.as_raw() };
                    drafts.push(self.event(notification));
                }
                AgentMessage::Stderr(line) => {
                    drafts.push(Draft::own(at, turn, AgentStderr { text: line.text }));
                }
                AgentMessage::Garbage(what) => {
                    let fault = self.progress.garbage(&what);
                    drafts.extend(fault.map(|fault| Draft::own(at, turn, fault)));
                }
                AgentMessage::Request(message) => {
                    self.flush(&mut drafts, &mut changes).await?;
                    self.handle_agent_request(message).await?;
                }
                AgentMessage::Answer { tag, outcome } => {
                    self.flush(&mut drafts, &mut changes).await?;
                    self.handle_answer(tag, outcome).await?;
                }
            }
        }
        self.flush(&mut drafts, &mut changes).await
    }

    async fn flush(
        &mut self,
        drafts: &mut Vec<Draft>,
        changes: &mut RecordChanges,
    ) -> Result<(), LogFailure> {
        if drafts.is_empty() {
            return Ok(());
        }
        if changes.details.is_none() && self.gate.is_record_old(Instant::now()) {
            self.count_time();
            changes.details = Some(self.details.to_json());
        }
        self.append(std::mem::take(drafts), std::mem::take(changes)).await
    }

    /// Remembers what later messages refer to.
    fn learn(&mut self, kind: &Kind, payload: &Json, changes: &mut RecordChanges) {
        if let (Some(name), Some(agent)) = (kind.update_name(), self.link.agent()) {
            self.progress.last_message.hear(name, payload, &agent.host.quirks);
            self.silence.last_act().hear(name);
        }
        match kind.update_name() {
            Some("tool_call" | "tool_call_update") => {
                self.progress.note_activity();
                self.learn_tool(payload);
            }
            Some("agent_message_chunk" | "agent_thought_chunk" | "plan") => {
                self.progress.note_activity();
            }
            Some("usage_update") => {
                self.details.budget.count_update(payload);
                changes.details = Some(self.details.to_json());
            }
            Some("current_mode_update" | "config_option_update") => self.learn_options(payload),
            Some("session_info_update") => {
                let payload: Value = payload.read().unwrap_or_default();
                let update = &payload["update"];
                let title = update["title"].as_str().filter(|_| !self.details.is_titled);
                if let Some(title) = title {
                    changes.title = Some(Some(title.chars().take(MAX_TITLE_CHARS).collect()));
                }
                // The id that a later process resumes by, when it is not the one in use.
                let id = update["_meta"]["switchyard"]["resumeId"].as_str();
                if let Some(id) = id.filter(|id| id.len() <= MAX_ID_BYTES) {
                    self.link.resume_by(id.to_owned());
                    changes.agent_session = Some(Some(id.to_owned()));
                }
            }
            Some("user_message_chunk" | "available_commands_update") | None => {}
            // Its name may be one that we cannot read, and somebody else can.
            Some(_) => self.learn_tool(payload),
        }
    }

    /// Notes that the agent changed what can be set, or what is.
    fn learn_options(&mut self, payload: &Json) {
        let payload: Value = payload.read().unwrap_or_default();
        let update = &payload["update"];
        self.offer_names(&["modes", "currentModeId"], &update["currentModeId"]);
        if update["configOptions"].is_array() {
            self.offer_has(&["configOptions"], &Json::of(&update["configOptions"]));
        }
    }

    fn learn_tool(&mut self, payload: &Json) {
        let payload = wire::readable(payload.as_str());
        let params: Value = serde_json::from_str(&payload).unwrap_or_default();
        let update = &params["update"];
        let text = |member: &str| update[member].as_str();
        if let Some(id) = text("toolCallId").filter(|_| !self.progress.watch.is_empty()) {
            let (kind, title, status) = (text("kind"), text("title"), text("status"));
            self.progress.watch.tool(&ObservedToolCall { id, kind, title, status });
        }
        self.tools.hear(&payload, update);
        if let Some(id) = text("toolCallId") {
            let known = self.tools.get(Some(id)).ok().flatten();
            let title = known.map_or_else(|| text("title").unwrap_or_default(), |call| &call.title);
            self.silence.last_act().hear_tool(title, text("status"));
        }
    }

    /// The answer to a request of ours: only the running prompt has one.
    async fn handle_answer(&mut self, tag: u64, outcome: RpcResult) -> Result<(), LogFailure> {
        let (Some(running), true) = (self.turns.running(), self.progress.is_answer(tag)) else {
            return Ok(());
        };
        match outcome {
            Ok(result) => self.prompt_answered(running, &result).await,
            Err(error) if !running.is_cancelling && self.try_again(&error) => Ok(()),
            Err(error) => {
                let login = self.quirks().and_then(|quirks| quirks.login.as_deref());
                let ended = match running.is_cancelling {
                    // Some agents answer a cancelled prompt with an error; it is still cancelled.
                    true => TurnEnded::of(StopReason::Cancelled),
                    false => TurnEnded::failed(Fault::from_agent(&error).with_login(login)),
                };
                let error = Json::of(&error);
                let agent_error = Some(error.as_raw());
                self.end_turn(running.turn, TurnEnded { agent_error, ..ended }).await
            }
        }
    }

    /// Whether the turn goes on after `error`: the agent has lost the session, and is given it
    /// again.
    fn try_again(&mut self, error: &RpcError) -> bool {
        let is_lost = error.code == codes::NOT_FOUND
            || Fault::from_agent(error).category == Category::SessionLost;
        if !(is_lost && self.progress.wait_for_link()) {
            return false;
        }
        tracing::info!(session = %self.id, %error, "the agent has lost the session");
        if let Some(agent) = self.release() {
            agent.close_soon();
        }
        self.link.forget(error.message.clone());
        self.start_agent();
        true
    }

    async fn prompt_answered(
        &mut self,
        running: CurrentTurn,
        result: &Json,
    ) -> Result<(), LogFailure> {
        let answer: Value = result.read().unwrap_or_default();
        let scope = self.quirks().map_or(TokenScope::Turn, |quirks| quirks.token_scope);
        let (usage, usage_of) = usage::of_turn(&mut self.details.usage_told, scope, &answer);
        let host = self.link.agent().map(|agent| &agent.host);
        let stderr =
            || host.map_or_else(String::new, |host| last_lines(&host.worker.stderr_tail(), 3));
        let ended = match self.progress.last_message.failure(&answer, self.quirks(), stderr) {
            // Cancelled is what the user asked for, whatever name the agent gives to the end.
            _ if running.is_cancelling => TurnEnded::of(StopReason::Cancelled),
            Some(fault) => TurnEnded::failed(fault),
            None => {
                let reason = answer["stopReason"].as_str().map(str::to_owned);
                TurnEnded::of(reason.map(StopReason::from).unwrap_or_default())
            }
        };
        let (usage, result) = (usage.as_ref().map(Json::as_raw), Some(result.as_raw()));
        self.end_turn(running.turn, TurnEnded { usage, usage_of, result, ..ended }).await
    }

    /// The agent's process has ended, or closed its stdout.
    pub(super) async fn agent_is_gone(&mut self) -> Result<(), LogFailure> {
        let Some(agent) = self.link.take_agent() else { return Ok(()) };
        self.tools = TurnToolCalls::default();
        // It has ended or is about to: what closes a session's messages also stops the agent.
        let ending = tokio::time::timeout(ENDING, agent.host.ended());
        let exit = ending.await.unwrap_or_default();
        let stderr = last_lines(&agent.host.worker.stderr_tail(), 10);
        let exited = WorkerExited {
            code: exit.code,
            signal: exit.signal,
            stopped: agent.host.is_stopping(),
            reason: None,
            stderr: stderr.clone(),
        };
        self.append_event(exited).await?;
        // Commands that are slow to die hold up neither the end of the turn nor the next one.
        let ending_commands = self.services.terminals.end_all();
        let _ = tokio::time::timeout(ENDING_COMMANDS, ending_commands).await;
        // Questions outside of a turn have nobody left who asks them.
        let Some(running) = self.turns.running() else { return self.cancel_questions().await };
        if running.is_cancelling {
            return self.end_turn(running.turn, TurnEnded::of(StopReason::Cancelled)).await;
        }
        let said = match last_lines(&stderr, 3) {
            none if none.is_empty() => String::new(),
            lines => format!("; it said: {lines}"),
        };
        let fault = Fault::new(
            Category::ProcessExit,
            format!("the agent ended during the turn: {exit}{said}"),
        )
        .remedy("prompt again: the agent is started anew and given the session back");
        self.end_turn_with(running.turn, fault).await
    }

    /// The quirks of the agent that runs.
    pub(super) fn quirks(&self) -> Option<&AgentQuirks> {
        self.link.agent().map(|agent| &agent.host.quirks)
    }
}
