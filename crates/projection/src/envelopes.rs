//! The log as session envelopes: `{id, time, role, turn?, ev: {t: …}}`.
//!
//! In: the changes of a conversation. Out: a flat stream of envelopes. Turns never overlap and
//! every start has one end; a tool call starts at most once and ends once, at the latest with its
//! turn; an end may stand alone, for a call that nobody has seen start. What a sub-agent does
//! stands between a start and a stop, under an id that is derived from that of its call: the
//! protocol does not allow that one there. Times never go back. All ids are cuid2 derived from the
//! log, so that the same log read again gives the same ids.

mod types;

pub use types::{Envelope, EnvelopeEvent, EnvelopeSender, EnvelopeUsage};

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wire::{CallId, Fault, Json, OwnEvent, Seq, TurnId};

use super::calls::ToolCall;
use super::content::ContentBlock;
use super::conversation::{Change, Conversation, Projection};
use super::inline::inline;
use super::plan::PlanStep;
use super::prompts::UserMessage;
use super::turn::{ActiveTurn, TurnEnd};
use super::usage::limit_words;

/// A log as session envelopes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnvelopesProjection {
    session: String,
    /// The turn that runs, by an id of ours if it has none.
    active: Option<TurnId>,
    last_time: i64,
    /// The last event that gave envelopes, and how many.
    seq: Seq,
    n_of_event: u64,
    subagents: Subagents,
    /// The output of the current change; empty in between.
    #[serde(skip)]
    out: Vec<Envelope>,
}

/// Sub-agents that are remembered; one that speaks again after so many others begins anew.
const MAX_SUBAGENTS: usize = 1024;

/// A sub-agent is known by the call that it works for.
type SubagentKey = (Option<TurnId>, String);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Subagents {
    /// The newest of those that have begun.
    begun: VecDeque<SubagentKey>,
    /// Those that have not stopped, in the order in which they began.
    running: Vec<SubagentKey>,
}

impl Subagents {
    /// True the first time.
    fn begin(&mut self, key: &SubagentKey) -> bool {
        // One that speaks is most likely one of the last.
        if self.begun.iter().rev().any(|known| known == key) {
            return false;
        }
        if self.begun.len() >= MAX_SUBAGENTS {
            self.begun.pop_front();
        }
        self.begun.push_back(key.clone());
        self.running.push(key.clone());
        true
    }
}

impl Projection for EnvelopesProjection {
    type Out = Vec<Envelope>;

    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut Vec<Envelope>) {
        self.change(change, now);
        out.append(&mut self.out);
    }
}

impl EnvelopesProjection {
    fn change(&mut self, change: Change<'_>, now: &Conversation) {
        match change {
            Change::Prompt(said) => self.prompt(&said, now),
            Change::TurnStarted => self.start_turn(now),
            Change::Answer { text, parent } => {
                self.say(parent, EnvelopeEvent::Text { text, thinking: false }, now);
            }
            Change::AnswerBlock { block, parent } => {
                if let Some(ev) = block_ev(&block).or_else(|| media_ev(&block)) {
                    self.say(parent, ev, now);
                }
            }
            Change::Thought { text, parent } => {
                self.say(parent, EnvelopeEvent::Text { text, thinking: true }, now);
            }
            Change::CallSeen { call, .. } => self.call_seen(now.call(call), now),
            Change::CallBegan { call, .. } => self.start_call(now.call(call), now),
            Change::CallMedia(call, block) => self.call_media(now.call(call), &block, now),
            Change::CallEnded(call) => self.end_call(now.call(call), now),
            Change::CallLeftOpen { call, .. } => self.leave_call(now.call(call), now),
            Change::Planned { .. } => self.plan(now),
            Change::Failed { fault, .. } if self.active.is_some() => self.error(&fault, now),
            Change::TurnEnded(end) if end.has_begun => self.end_turn(*end, now),
            Change::Own(own, _) => {
                if let OwnEvent::LimitReached(reached) = *own {
                    self.remark(format!("Paused: {}", limit_words(&reached)), now);
                }
            }
            Change::Asked(_)
            | Change::Decided(_)
            | Change::Failed { .. }
            | Change::TurnEnded(_)
            | Change::Update(..) => {}
        }
    }

    /// `session` makes the ids of this log differ from those of any other.
    pub fn new(session: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            active: None,
            last_time: i64::MIN,
            seq: Seq(0),
            n_of_event: 0,
            subagents: Subagents::default(),
            out: Vec::new(),
        }
    }

    fn prompt(&mut self, said: &UserMessage, now: &Conversation) {
        for ev in said.blocks().iter().filter_map(block_ev) {
            self.push(EnvelopeSender::User, said.turn, ev, now);
        }
    }

    /// Pushes output of the agent, or of the sub-agent that works for one of its calls.
    fn say(&mut self, parent: Option<String>, ev: EnvelopeEvent, now: &Conversation) {
        let subagent = parent.map(|parent| self.subagent_of(now.event_turn(), &parent, now));
        self.push_from(subagent, self.turn_of(now), ev, now);
    }

    fn remark(&mut self, text: String, now: &Conversation) {
        self.push(EnvelopeSender::Agent, self.turn_of(now), EnvelopeEvent::Service { text }, now);
    }

    fn start_turn(&mut self, now: &Conversation) {
        let Some(ActiveTurn { id, started, .. }) = now.turn() else { return };
        let derived =
            || TurnId::derived(&[self.session.as_bytes(), b"turn", &started.0.to_be_bytes()]);
        let turn = id.unwrap_or_else(derived);
        self.active = Some(turn);
        self.push(EnvelopeSender::Agent, Some(turn), EnvelopeEvent::TurnStart {}, now);
    }

    fn end_turn(&mut self, end: TurnEnd, now: &Conversation) {
        let turn = self.active.take();
        // Nothing of a turn goes on after its end.
        for subagent in std::mem::take(&mut self.subagents.running) {
            self.stop(&subagent, now);
        }
        let (status, stop_reason) = (end.outcome, end.stop_reason());
        self.push(EnvelopeSender::Agent, turn, EnvelopeEvent::TurnEnd { status, stop_reason }, now);
        if let Some(envelope) = self.out.last_mut() {
            let window = now.usage().window();
            envelope.usage = end.usage.map(|usage| EnvelopeUsage::of(&usage, window));
        }
    }

    fn plan(&mut self, now: &Conversation) {
        let lines = now.plan().iter().map(PlanStep::line);
        let text = std::iter::once("Plan".to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
        self.remark(text, now);
    }

    fn error(&mut self, fault: &Fault, now: &Conversation) {
        let text = match &fault.remedy {
            Some(remedy) => format!("Error: {}\n{remedy}", fault.message),
            None => format!("Error: {}", fault.message),
        };
        self.remark(text, now);
    }

    /// The start of a sub-agent stands before what it does.
    fn call_seen(&mut self, call: &ToolCall, now: &Conversation) {
        if let Some(parent) = &call.parent {
            self.subagent_of(call.turn, parent, now);
        }
    }

    fn start_call(&mut self, call: &ToolCall, now: &Conversation) {
        if call.is_orphan {
            return;
        }
        let name = call.name();
        let started = EnvelopeEvent::ToolCallStart {
            call: self.call_id(call.turn, &call.id),
            name: name.to_owned(),
            title: inline(call.title.as_deref().unwrap_or(name)),
            description: inline(&describe(call)),
            args: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        };
        self.push_from(self.subagent_behind(call), call.turn, started, now);
    }

    /// Images and sounds in a tool's output; the protocol has no place for the rest of it.
    fn call_media(&mut self, call: &ToolCall, block: &ContentBlock<'_>, now: &Conversation) {
        if let Some(ev) = media_ev(block) {
            self.push_from(self.subagent_behind(call), call.turn, ev, now);
        }
    }

    fn end_call(&mut self, call: &ToolCall, now: &Conversation) {
        if !call.is_left_open {
            self.leave_call(call, now);
            self.stop_subagent(call.turn, &call.id, now);
        }
    }

    fn leave_call(&mut self, call: &ToolCall, now: &Conversation) {
        let ended = EnvelopeEvent::ToolCallEnd { call: self.call_id(call.turn, &call.id) };
        self.push_from(self.subagent_behind(call), call.turn, ended, now);
    }

    fn subagent_behind(&self, call: &ToolCall) -> Option<CallId> {
        call.parent.as_deref().map(|parent| self.subagent_id(call.turn, parent))
    }

    fn call_id(&self, turn: Option<TurnId>, id: &str) -> CallId {
        self.derived_id("call", turn, id)
    }

    /// An id of ours for something that the agent calls `id` in a turn.
    fn derived_id(&self, what: &str, turn: Option<TurnId>, id: &str) -> CallId {
        let turn = turn.as_ref().map_or("", TurnId::as_str);
        CallId::derived(&[&self.session, what, turn, id].map(str::as_bytes))
    }

    /// The sub-agent that works for the call `parent`, which has begun by now.
    fn subagent_of(&mut self, turn: Option<TurnId>, parent: &str, now: &Conversation) -> CallId {
        let subagent = self.subagent_id(turn, parent);
        let key = (turn, parent.to_owned());
        if self.subagents.begin(&key) {
            let title = now.find_call(turn, parent).and_then(|call| call.title.as_deref());
            let started = EnvelopeEvent::Start { title: title.map(inline) };
            self.push_from(Some(subagent), self.turn_of(now), started, now);
        }
        subagent
    }

    fn subagent_id(&self, turn: Option<TurnId>, parent: &str) -> CallId {
        self.derived_id("subagent", turn, parent)
    }

    /// The call that a sub-agent worked for has ended.
    fn stop_subagent(&mut self, turn: Option<TurnId>, parent: &str, now: &Conversation) {
        let is_its = |key: &SubagentKey| key.0 == turn && key.1 == parent;
        let Some(place) = self.subagents.running.iter().position(is_its) else { return };
        let key = self.subagents.running.remove(place);
        self.stop(&key, now);
    }

    fn stop(&mut self, (turn, parent): &SubagentKey, now: &Conversation) {
        let subagent = self.subagent_id(*turn, parent);
        self.push_from(Some(subagent), *turn, EnvelopeEvent::Stop {}, now);
    }

    /// Pushes an envelope of the agent, or of one of its sub-agents.
    fn push_from(
        &mut self,
        subagent: Option<CallId>,
        turn: Option<TurnId>,
        ev: EnvelopeEvent,
        now: &Conversation,
    ) {
        self.push(EnvelopeSender::Agent, turn, ev, now);
        if let Some(envelope) = self.out.last_mut() {
            envelope.subagent = subagent;
        }
    }

    fn push(
        &mut self,
        role: EnvelopeSender,
        turn: Option<TurnId>,
        ev: EnvelopeEvent,
        now: &Conversation,
    ) {
        if std::mem::replace(&mut self.seq, now.seq()) != now.seq() {
            self.n_of_event = 0;
        }
        let (seq, index) = (self.seq.0.to_be_bytes(), self.n_of_event.to_be_bytes());
        self.n_of_event += 1;
        self.last_time = self.last_time.max(now.at().0);
        let id = CallId::derived(&[self.session.as_bytes(), &seq, &index]);
        let time = self.last_time;
        self.out.push(Envelope { id, time, role, turn, usage: None, subagent: None, ev });
    }

    fn turn_of(&self, now: &Conversation) -> Option<TurnId> {
        now.event_turn().or(self.active)
    }
}

fn describe(call: &ToolCall) -> String {
    call.input_text("description")
        .or_else(|| call.command())
        .or_else(|| call.locations.first().map(|place| place.path.clone()))
        .unwrap_or_else(|| format!("Running {}", call.name()))
}

/// The event for text, or for a file that is embedded or linked.
fn block_ev(block: &ContentBlock<'_>) -> Option<EnvelopeEvent> {
    if let Some(text) = block.text() {
        let text = text.into_owned();
        return (!text.is_empty()).then_some(EnvelopeEvent::Text { text, thinking: false });
    }
    block.file().or_else(|| block.media()?.file()).map(EnvelopeEvent::File)
}

/// An image or sound of the agent: the file, or where that is too large, a line about it.
fn media_ev(block: &ContentBlock<'_>) -> Option<EnvelopeEvent> {
    let media = block.media()?;
    block_ev(block).or_else(|| Some(EnvelopeEvent::Service { text: media.describe() }))
}

#[cfg(test)]
mod tests;
