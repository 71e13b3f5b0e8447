//! What the agent says, and what becomes of it.

use serde_json::Value;
use store::Changes;
use wire::event::{AgentNotification, AgentStderr, StopReason, TurnEnded, WorkerExited};
use wire::{Category, Draft, Fault, Json, Kind, Message, RpcError, RpcId};

use super::actor::{Actor, Halt, LinkState};
use super::judge::CHECK;
use super::limits::KeptBack;
use super::question::{Asks, permission};
use super::services::Services;
use super::turns::Running;
use super::{Client, ClientCall, params_for_client};
use crate::host::{FromAgent, last_lines};
use crate::observer::ToolCall;
use crate::permission::{PermissionOutcome, Question, Verdict, call_id, odd_in_question};
use crate::{memory, mint};
use bus::connection::Outcome;

/// Lines that are no messages are told one by one up to here, in each turn.
const MAX_GARBAGE: u32 = 20;
/// Far beyond the stop ladder; a session must not wait for its agent without end.
const ENDING: std::time::Duration = std::time::Duration::from_secs(30);
/// Most are gone at once, and then their end is in the log before that of the turn.
const ENDING_COMMANDS: std::time::Duration = std::time::Duration::from_secs(1);
/// Of a title that the agent gives; it is shown in every list.
const MAX_TITLE_CHARS: usize = 500;
/// Of the id by which the agent knows a session.
const MAX_ID_BYTES: usize = 4096;

impl Actor {
    /// Deals with a batch in order. Updates next to each other are committed together.
    pub(super) async fn hear(&mut self, batch: Vec<FromAgent>) -> Result<(), Halt> {
        if batch.is_empty() {
            return Ok(());
        }
        tracing::trace!(session = %self.id, n_messages = batch.len(), "heard from the agent");
        self.still_at_work();
        if memory::is_large(&batch) {
            memory::give_back_soon();
        }
        let (at, turn) = (mint::now(), self.current_turn());
        let mut drafts = Vec::with_capacity(batch.len());
        let mut changes = Changes::default();
        for message in batch {
            match message {
                FromAgent::Update { kind, payload } => {
                    self.learn(&kind, &payload, &mut changes);
                    drafts.push(Draft { at, turn, kind, payload });
                }
                FromAgent::Notification(message) => drafts.push(self.notified(&message)),
                FromAgent::Stderr(line) => {
                    drafts.push(Draft::own(at, turn, AgentStderr { text: line.text }));
                }
                FromAgent::Garbage(what) => drafts.extend(self.garbage(&what)),
                FromAgent::Request(message) => {
                    self.flush(&mut drafts, &mut changes).await?;
                    self.requested(message).await?;
                }
                FromAgent::Answer { tag, outcome } => {
                    self.flush(&mut drafts, &mut changes).await?;
                    self.answered(tag, outcome).await?;
                }
            }
        }
        self.flush(&mut drafts, &mut changes).await
    }

    async fn flush(&mut self, drafts: &mut Vec<Draft>, changes: &mut Changes) -> Result<(), Halt> {
        if drafts.is_empty() {
            return Ok(());
        }
        if changes.details.is_none() {
            changes.details = self.details_if_old();
        }
        self.append(std::mem::take(drafts), std::mem::take(changes)).await
    }

    /// Remembers what later messages refer to.
    fn learn(&mut self, kind: &Kind, payload: &Json, changes: &mut Changes) {
        if let Some(name) = kind.update_name() {
            self.note_words(name, payload);
            self.last_act.hear(name);
        }
        match kind.update_name() {
            Some("tool_call" | "tool_call_update") => {
                self.unheard = None;
                self.learn_tool(payload);
            }
            Some("agent_message_chunk" | "agent_thought_chunk" | "plan") => self.unheard = None,
            Some("usage_update") => {
                self.details.budget.hear(payload);
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
                    self.agent_session = Some(id.to_owned());
                    changes.agent_session = Some(self.agent_session.clone());
                }
            }
            Some("user_message_chunk" | "available_commands_update") | None => {}
            // Its name may be one that we cannot read, and somebody else can.
            Some(_) => self.learn_tool(payload),
        }
    }

    /// The agent changed what can be set, or what is.
    fn learn_options(&mut self, payload: &Json) {
        let payload: Value = payload.read().unwrap_or_default();
        let update = &payload["update"];
        self.answer_names(&["modes", "currentModeId"], &update["currentModeId"]);
        if update["configOptions"].is_array() {
            self.answer_has(&["configOptions"], &Json::of(&update["configOptions"]));
        }
    }

    fn learn_tool(&mut self, payload: &Json) {
        let payload = wire::readable(payload.as_str());
        let params: Value = serde_json::from_str(&payload).unwrap_or_default();
        let update = &params["update"];
        let text = |member: &str| update[member].as_str();
        if let Some(id) = text("toolCallId").filter(|_| !self.watch.is_empty()) {
            let (kind, title, status) = (text("kind"), text("title"), text("status"));
            self.watch.tool(&ToolCall { id, kind, title, status });
        }
        self.tools.hear(&payload, update);
        if let Some(id) = text("toolCallId") {
            let known = self.tools.get(Some(id)).ok().flatten();
            let title = known.map_or_else(|| text("title").unwrap_or_default(), |call| &call.title);
            self.last_act.hear_tool(title, text("status"));
        }
    }

    fn notified(&self, message: &Message) -> Draft {
        let params = params_for_client(message, &self.public_id);
        let method = message.method().to_owned();
        self.event(AgentNotification { method, params: params.as_raw() })
    }

    fn garbage(&mut self, what: &str) -> Option<Draft> {
        self.n_garbage += 1;
        let message = match self.n_garbage {
            n if n < MAX_GARBAGE => format!("the agent sent something unreadable: {what}"),
            MAX_GARBAGE => "the agent goes on sending unreadable lines; no more are told".into(),
            _ => return None,
        };
        Some(self.event(Fault::new(Category::Protocol, message)))
    }

    /// Every request of the agent is answered: here, by a service, or by a client.
    pub(super) async fn requested(&mut self, message: Message) -> Result<(), Halt> {
        let Some(KeptBack::Request(message)) = self.keep_back(KeptBack::Request(message)) else {
            return Ok(());
        };
        match message.method() {
            "session/request_permission" => self.asked_permission(&message).await,
            "elicitation/create" => self.asked_elicitation(&message).await,
            method if Services::serves(method) && self.server_of(method).is_none() => {
                self.serve(message);
                Ok(())
            }
            CHECK => {
                self.respond(&message.id(), self.judge.told(message.body()));
                Ok(())
            }
            method => {
                // What cannot be read is not passed on: the client may read it in another way.
                match self.judge.request(method, message.body()) {
                    Err(refused) => self.respond(&message.id(), Err(refused)),
                    Ok(()) => self.pass_to_client(&message),
                }
                Ok(())
            }
        }
    }

    fn serve(&self, message: Message) {
        let LinkState::Linked { linkage, .. } = &self.link else { return };
        let (services, connection) = (self.services.clone(), linkage.host.connection.clone());
        let turn = self.current_turn();
        task::spawn(async move {
            let _place = services.place(message.method()).await;
            let outcome = services.serve(message.method(), message.body(), turn).await;
            let _ = connection.respond(&message.id(), outcome).await;
        });
    }

    /// The client that is asked for what `method` asks for, if it is one.
    fn server_of(&self, method: &str) -> Option<&Client> {
        // The latest is the one that a person looks at.
        let mut clients = self.clients.iter().rev();
        clients.find(|client| match method {
            method if method.starts_with("fs/") => client.serves.files,
            method => client.serves.others && !Services::serves(method),
        })
    }

    fn pass_to_client(&mut self, message: &Message) {
        let LinkState::Linked { linkage, .. } = &self.link else { return };
        let Some(Client { calls, .. }) = self.server_of(message.method()) else {
            return self.respond(&message.id(), Err(RpcError::method_not_found(message.method())));
        };
        let call = ClientCall {
            method: message.method().to_owned(),
            params: params_for_client(message, &self.public_id),
            after: self.head,
            agent: linkage.host.connection.clone(),
            id: message.id(),
        };
        if calls.try_send(call).is_err() {
            self.respond(&message.id(), Err(RpcError::internal("the client is too busy")));
        }
    }

    async fn asked_permission(&mut self, message: &Message) -> Result<(), Halt> {
        // What is judged is what people are shown.
        let params = params_for_client(message, &self.public_id).made_readable();
        let question = match self.question(&params) {
            Ok(question) => question,
            Err(refused) => {
                self.respond(&message.id(), Err(refused));
                return Ok(());
            }
        };
        let rules = self.yard.rules.current();
        let decided = match self.judge.policy.judge_with(&rules, &question) {
            Verdict::Allow(by) => PermissionOutcome::allow_once(&question)
                .map(|outcome| (permission(&outcome, false), by)),
            Verdict::Deny(by) => {
                Some((permission(&PermissionOutcome::reject(&question), true), by))
            }
            Verdict::Ask => None,
        };
        self.put(message.id(), Asks::Permission(question), params, decided).await
    }

    /// What the agent asks, unless it may be asking something else as well: of two commands a rule
    /// would allow one, and the agent run the other.
    fn question(&self, params: &Json) -> Result<Question, RpcError> {
        wire::check_unambiguous(params.as_str()).map_err(RpcError::invalid_params)?;
        let read: Value = params.read().unwrap_or_default();
        if let Some(name) = odd_in_question(&read) {
            let error = format_args!("`{name}` is no member of this");
            return Err(RpcError::invalid_params(error));
        }
        let known = self.tools.get(call_id(&read["toolCall"]).as_deref());
        let known = known.map_err(RpcError::invalid_params)?;
        let question = Question::read(params.as_str(), known, &self.agent, &self.roots.paths());
        let edits = self.manners().map(|manners| &*manners.edit_tools).unwrap_or_default();
        let question = question.among_edits(edits, &read["toolCall"]);
        Ok(question.beside(self.roots.forbidden()))
    }

    async fn asked_elicitation(&mut self, message: &Message) -> Result<(), Halt> {
        let params = params_for_client(message, &self.public_id).made_readable();
        // Of two questions one client would show one, and another the other.
        if let Err(why) = wire::check_unambiguous(params.as_str()) {
            self.respond(&message.id(), Err(RpcError::invalid_params(why)));
            return Ok(());
        }
        self.put(message.id(), Asks::Elicitation, params, None).await
    }

    pub(super) fn respond(&mut self, id: &RpcId, outcome: Outcome) {
        let kept = self.keep_back(KeptBack::Answer(id.clone(), outcome));
        let Some(KeptBack::Answer(_, outcome)) = kept else { return };
        if let LinkState::Linked { linkage, .. } = &self.link {
            // An agent that does not read will be found stalled by its connection.
            let _ = linkage.host.connection.respond_now(id, outcome);
        }
    }

    /// The answer to a request of ours: only the running prompt has one.
    async fn answered(&mut self, tag: u64, outcome: Outcome) -> Result<(), Halt> {
        let (Some(running), true) = (self.turns.running(), self.prompt_tag == Some(tag)) else {
            return Ok(());
        };
        match outcome {
            Ok(result) => self.prompt_answered(running, &result).await,
            Err(error) if !running.is_cancelling && self.try_again(running.turn, &error) => Ok(()),
            Err(error) => {
                let login = self.manners().and_then(|manners| manners.login.as_deref());
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

    async fn prompt_answered(&mut self, running: Running, result: &Json) -> Result<(), Halt> {
        let answer: Value = result.read().unwrap_or_default();
        let (usage, usage_of) = self.usage_of_turn(&answer);
        let ended = match self.disguised_failure(&answer) {
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
    pub(super) async fn agent_is_gone(&mut self) -> Result<(), Halt> {
        let LinkState::Linked { linkage, .. } =
            std::mem::replace(&mut self.link, LinkState::Unlinked)
        else {
            return Ok(());
        };
        self.forget_words();
        // It has ended or is about to: what closes a session's messages also stops the agent.
        let ending = tokio::time::timeout(ENDING, linkage.host.ended());
        let exit = ending.await.unwrap_or_default();
        let stderr = last_lines(&linkage.host.stderr_tail(), 10);
        let exited = WorkerExited {
            code: exit.code,
            signal: exit.signal,
            stopped: linkage.host.is_stopping(),
            reason: None,
            stderr: stderr.clone(),
        };
        let drafts = vec![self.event(exited)];
        self.append(drafts, Changes::default()).await?;
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
}
