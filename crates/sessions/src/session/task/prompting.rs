//! Prompts: received, queued, begun and ended.

use std::time::{Duration, Instant};

use serde_json::json;
use store::RecordChanges;
use wire::event::{DecidedBy, Decider, PromptReceived, TurnEnded, TurnStarted};
use wire::{Category, Draft, Event, Fault, Json, OwnEvent, RawJson, Seq, TurnId};

use super::{LogFailure, SessionTask};
use crate::context::{WaitingPrompt, draft};
use crate::details::prompt_text;
use crate::memory;
use crate::notices::Notice;
use crate::observer::{ReceivedPrompt, TurnWatch, WatchGuards};
use crate::session::turns::NotQueued;
use crate::session::{NewPrompt, PromptAcceptance, SessionError};

/// A prompt is made safe against a power cut a moment after it was sent: the disk would
/// otherwise be busy with it just when the first words of the answer are to be logged.
const SYNC_AFTER: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct PendingPrompt {
    params: Json,
    /// The place of its content in the log, if it is not here.
    logged_at: Option<Seq>,
    pub(super) text: String,
    pub(super) watch: WatchGuards<dyn TurnWatch>,
}

/// Larger prompts do not wait in memory: they are in the log already.
const MAX_KEPT_BYTES: usize = 64 << 10;

impl PendingPrompt {
    /// Leaves the content to the log, which has it at `seq`.
    fn put_aside(&mut self, seq: Seq) {
        if self.params.as_str().len() <= MAX_KEPT_BYTES {
            return;
        }
        let without = wire::set_member(&self.params, &["prompt"], &Json::trusted("[]"));
        // Params that are no object are no prompt, and were refused.
        let Ok(params) = without else { return };
        (self.params, self.logged_at) = (params, Some(seq));
        self.text.truncate(self.text.floor_char_boundary(MAX_KEPT_BYTES));
        self.text.shrink_to_fit();
    }
}

impl SessionTask {
    /// Queues the prompts of the log that never began, in their order.
    pub(super) async fn restore(&mut self, waiting: &[WaitingPrompt]) -> Result<(), LogFailure> {
        for WaitingPrompt { turn, seq } in waiting {
            let events = self.context.log.read(self.id, Seq(seq.0 - 1), 1).await?;
            let Some(OwnEvent::PromptReceived(received)) = events.first().and_then(Event::own)
            else {
                return Err(self.not_in_log(*seq));
            };
            let params = Json::of(&PromptParts { prompt: received.prompt, meta: received.meta });
            let text = prompt_text(&params);
            let watch = self.watch(*turn, &params);
            let mut prompt = PendingPrompt { params, logged_at: None, text, watch };
            prompt.put_aside(*seq);
            self.turns.restore(*turn, prompt);
        }
        Ok(())
    }

    fn watch(&self, turn: TurnId, params: &Json) -> WatchGuards<dyn TurnWatch> {
        let prompt = ReceivedPrompt { session: self.id, turn, agent: &self.judge.agent, params };
        self.context.settings.observers.watch(|observer| observer.prompt(&prompt))
    }

    /// Logs a prompt and starts or queues it.
    pub(super) async fn receive(
        &mut self,
        prompt: NewPrompt,
    ) -> Result<Result<PromptAcceptance, SessionError>, LogFailure> {
        let NewPrompt { turn, params, by, request } = prompt;
        let known = self.details.request(turn).filter(|_| request.is_some());
        match (known, &request) {
            (Some(known), Some(request)) if known.digest == request.digest => {
                return Ok(Ok(PromptAcceptance::Known));
            }
            (Some(_), _) => return Ok(Err(NotQueued::OtherPrompt.into())),
            (None, _) => {}
        }
        if let Err(full) = self.turns.check_room(turn) {
            return Ok(Err(full.into()));
        }
        if let Some(reached) = self.details.budget.refusal() {
            return Ok(Err(SessionError::LimitReached(Box::new(reached))));
        }
        let text = prompt_text(&params);
        // From here on a crash leaves something to put right.
        let first = self.turns.next().or(Some(turn));
        let mut changes = RecordChanges {
            is_closed: Some(false),
            active_turn: Some(first),
            ..RecordChanges::default()
        };
        if self.title.is_none() {
            self.title = title_from(&text);
            changes.title = self.title.clone().map(Some);
        }
        let client_request_id = request.map(|request| {
            // In the same commit as the prompt: neither is there without the other.
            self.details.note_request(turn, request.digest);
            changes.details = Some(self.details.to_json());
            request.id
        });
        let PromptParts { prompt, meta } = PromptParts::of(&params);
        let received = PromptReceived { by, prompt, meta, client_request_id };
        let received = draft(Some(turn), received);
        // There is room; it was checked before anything was logged.
        let watch = self.watch(turn, &params);
        let _ = self.turns.enqueue(turn, PendingPrompt { params, logged_at: None, text, watch });
        let is_next = self.turns.next() == Some(turn) && self.link.agent().is_some();
        let may_start =
            !self.gate.is_paused() && self.details.budget.reached_before_turn().is_none();
        let head_before = self.head;
        let logged = match (is_next && may_start).then(|| self.turns.start_next()).flatten() {
            // One commit for both, because the agent waits for it.
            Some((turn, prompt)) => self.begin(turn, prompt, vec![received], changes).await,
            None => self.append(vec![received], changes).await,
        };
        if let Err(failure) = logged {
            if self.head == head_before {
                // It was not accepted: nothing of it is to be found, and it can be sent again.
                self.turns.forget(turn);
                self.details.forget_request(turn);
            }
            return Err(failure);
        }
        if self.turns.running().is_none_or(|running| running.turn != turn) {
            let logged_at = self.head;
            if let Some(last) = self.turns.last_queued() {
                last.put_aside(logged_at);
            }
        }
        Ok(Ok(PromptAcceptance::New))
    }

    pub(super) async fn start_next_turn(&mut self) -> Result<(), LogFailure> {
        if self.turns.running().is_some() {
            return Ok(());
        }
        if !self.turns.has_next() {
            // The prompt that the question was about is gone.
            self.withdraw_limit(&Decider::new(DecidedBy::Cancel)).await?;
            return self.unpause().await;
        }
        if self.gate.is_paused() {
            return Ok(());
        }
        if let Some(reached) = self.details.budget.reached_before_turn() {
            return self.pause(reached).await;
        }
        if self.link.agent().is_none() {
            self.start_agent();
            return Ok(());
        }
        let Some((turn, mut prompt)) = self.turns.start_next() else { return Ok(()) };
        if let Some(seq) = prompt.logged_at {
            prompt.params = self.with_content(&prompt.params, seq).await?;
        }
        self.begin(turn, prompt, Vec::new(), RecordChanges::default()).await
    }

    /// The params of a prompt whose content is in the log at `seq`.
    async fn with_content(&self, params: &Json, seq: Seq) -> Result<Json, LogFailure> {
        let events = self.context.log.read(self.id, Seq(seq.0 - 1), 1).await?;
        let with = match events.first().and_then(Event::own) {
            Some(OwnEvent::PromptReceived(received)) => {
                wire::set_member(params, &["prompt"], &received.prompt.to_json()).ok()
            }
            _ => None,
        };
        with.ok_or_else(|| self.not_in_log(seq))
    }

    /// The failure of a log that has no prompt at `seq`, where there was one.
    fn not_in_log(&self, seq: Seq) -> LogFailure {
        LogFailure::Corrupt { session: self.id, seq }
    }

    /// Sends a prompt to the agent, once its start is logged behind `drafts`.
    pub(super) async fn begin(
        &mut self,
        turn: TurnId,
        prompt: PendingPrompt,
        mut drafts: Vec<Draft>,
        changes: RecordChanges,
    ) -> Result<(), LogFailure> {
        tracing::info!(session = %self.id, %turn, "turn started");
        self.progress.begin(prompt.watch);
        self.details.note_prompt(&prompt.text);
        self.details.budget.start_turn();
        self.silence.begin_anew(Instant::now());
        self.tools.clear();
        let details = Some(self.details.to_json());
        let changes = RecordChanges { active_turn: Some(Some(turn)), details, ..changes };
        drafts.push(draft(Some(turn), TurnStarted {}));
        self.append(drafts, changes).await?;
        self.send_prompt(turn, prompt.params).await
    }

    /// Sends the running turn's prompt to the agent.
    pub(super) async fn send_prompt(
        &mut self,
        turn: TurnId,
        params: Json,
    ) -> Result<(), LogFailure> {
        let text_before = self.link.take_text_before_prompt();
        // A prompt is sent to an agent that has the session.
        let Some(agent) = self.link.agent() else { return Ok(()) };
        let tag = agent.host.routes.tag(&agent.agent_session);
        self.progress.sent(tag, &params);
        let params = agent.params(&with_text_before(params, text_before));
        let params = match self.progress.watch.context() {
            Some(trace) => trace.put(params),
            None => params,
        };
        if let Err(error) = agent.host.connection.call_tagged(tag, "session/prompt", &params) {
            let fault =
                Fault::new(Category::ProcessExit, format!("the prompt was not sent: {error}"));
            return self.end_turn_with(turn, fault).await;
        }
        let log = self.context.log.clone();
        task::spawn(async move {
            tokio::time::sleep(SYNC_AFTER).await;
            log.sync().await
        });
        Ok(())
    }

    /// Ends `turn` with an error.
    pub(super) async fn end_turn_with(
        &mut self,
        turn: TurnId,
        fault: Fault,
    ) -> Result<(), LogFailure> {
        self.end_turn(turn, TurnEnded::failed(fault)).await
    }

    /// Ends `turn` if it runs; questions that are still open are withdrawn first.
    pub(super) async fn end_turn(
        &mut self,
        turn: TurnId,
        ended: TurnEnded<'_>,
    ) -> Result<(), LogFailure> {
        memory::give_back_soon();
        self.unpause().await?;
        self.cancel_questions().await?;
        self.count_time();
        // A session that is full has room for the end of its turn alone.
        let _ = self.log_terminals(Some(turn)).await;
        if self.turns.running().is_some_and(|running| running.turn == turn) {
            self.stop_commands_if_cancelled();
        }
        if !self.turns.end(turn) {
            return Ok(());
        }
        let mut ended = self.cancelling.end_of(ended);
        self.details.budget.end_turn(&ended);
        ended.cost_usd = self.details.budget.turn_cost_usd();
        self.details.note_end(turn, &ended);
        self.note_open_commands();
        self.progress.end().ended(&ended);
        self.silence.forget_acts();
        self.tools.clear();
        self.used_at = Instant::now();
        tracing::info!(session = %self.id, %turn, "turn ended");
        let details = Some(self.details.to_json());
        let changes = RecordChanges { details, ..self.next_turn_is_active() };
        self.append_durably(vec![draft(Some(turn), ended)], changes).await?;
        self.context.notices.add(self.id, Notice::TurnEnded(self.head));
        self.notify_cancelled();
        Ok(())
    }

    /// The record's note of the turn that a crash would leave undone.
    pub(super) fn next_turn_is_active(&self) -> RecordChanges {
        RecordChanges { active_turn: Some(self.turns.next()), ..RecordChanges::default() }
    }
}

/// The content of a prompt's params beside the session's id.
#[derive(serde::Serialize, serde::Deserialize)]
struct PromptParts<'a> {
    #[serde(borrow)]
    prompt: RawJson<'a>,
    #[serde(borrow, rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson<'a>>,
}

impl<'a> PromptParts<'a> {
    fn of(params: &'a Json) -> Self {
        params.read().unwrap_or_default()
    }
}

impl Default for PromptParts<'_> {
    fn default() -> Self {
        Self { prompt: RawJson::EMPTY_LIST, meta: None }
    }
}

/// Puts a text block before the others.
fn with_text_before(params: Json, text: Option<String>) -> Json {
    let Some(text) = text else { return params };
    let blocks: Vec<Json> = PromptParts::of(&params).prompt.read().unwrap_or_default();
    let first = Json::of(&json!({ "type": "text", "text": text }));
    let blocks: Vec<Json> = std::iter::once(first).chain(blocks).collect();
    wire::set_member(&params, &["prompt"], &Json::of(&blocks)).unwrap_or(params)
}

/// A name for lists: the first line of the first prompt, not too long.
fn title_from(text: &str) -> Option<String> {
    const MAX_CHARS: usize = 80;
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let mut title: String = line.chars().take(MAX_CHARS).collect();
    if line.chars().count() > MAX_CHARS {
        title.push('…');
    }
    Some(title)
}
