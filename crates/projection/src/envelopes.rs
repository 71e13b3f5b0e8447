//! The log as session envelopes: `{id, time, role, turn?, ev: {t: …}}`.
//!
//! In: the changes of a conversation. Out: a flat stream of envelopes. Turns never overlap and
//! every start has one end; a tool call starts at most once and ends once, at the latest with its
//! turn; times never go back. All ids are cuid2 derived from the log, so that the same log read
//! again gives the same ids.

mod subagents;
mod tools;
mod types;

pub use types::{Envelope, EnvelopeEvent, EnvelopeSender, EnvelopeUsage};

use wire::{CallId, Fault, OwnEvent, Seq, TurnId};

use super::content::ContentBlock;
use super::conversation::{Change, Conversation, Projection};
use super::media::FileContent;
use super::prompts::UserMessage;
use super::turn::{ActiveTurn, TurnEnd};
use super::usage::limit_words;
use subagents::Subagents;

/// A log as session envelopes.
#[derive(Debug, Clone)]
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
    out: Vec<Envelope>,
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
        self.stop_subagents(now);
        let (status, stop_reason) = (end.outcome, end.stop_reason());
        self.push(EnvelopeSender::Agent, turn, EnvelopeEvent::TurnEnd { status, stop_reason }, now);
        if let Some(envelope) = self.out.last_mut() {
            let window = now.usage().window();
            envelope.usage = end.usage.map(|usage| EnvelopeUsage::of(&usage, window));
        }
    }

    fn plan(&mut self, now: &Conversation) {
        let lines = now.plan().iter();
        let lines = lines.map(|entry| format!("{} {}", entry.mark(), entry.content));
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

fn text_ev(text: String) -> Option<EnvelopeEvent> {
    (!text.is_empty()).then_some(EnvelopeEvent::Text { text, thinking: false })
}

/// The event for text, or for a file that is embedded or linked.
fn block_ev(block: &ContentBlock<'_>) -> Option<EnvelopeEvent> {
    if let Some(text) = block.text() {
        return text_ev(text.into_owned());
    }
    let file = block.file().or_else(|| block.media()?.file())?;
    let FileContent { reference, name, size, mime_type } = file;
    Some(EnvelopeEvent::File { reference, name, size, mime_type })
}

/// An image or sound of the agent: the file, or where that is too large, a line about it.
fn media_ev(block: &ContentBlock<'_>) -> Option<EnvelopeEvent> {
    let media = block.media()?;
    block_ev(block).or_else(|| Some(EnvelopeEvent::Service { text: media.describe() }))
}

#[cfg(test)]
mod tests;
