//! The one reading of a log: events in, the changes they make out.
//!
//! It knows what every vocabulary would otherwise have to find out for itself: which turn runs
//! and that each ends once, what of an answer is new, what the pieces of a tool call come to, when
//! enough is known of a call to speak of it, which error was told. What is over is let go, so it
//! stays small however long the log is.

mod apply;
mod change;

pub use change::Change;

use serde::{Deserialize, Serialize};
use wire::{Event, Fault, Millis, Seq, TurnId};

use crate::calls::{CallKey, Calls, ToolCall};
use crate::plan::PlanStep;
use crate::prompts::Prompts;
use crate::question::OpenQuestions;
use crate::repeat_filter::RepeatFilter;
use crate::terminals::Terminals;
use crate::turn::{ActiveTurn, TurnEnd};
use crate::usage::{ConversationUsage, UsageTracker};

/// The state of a session according to its log, up to some event.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Conversation {
    seq: Seq,
    at: Millis,
    /// The turn of the current event.
    event_turn: Option<TurnId>,
    cwd: Option<String>,
    turn: Option<ActiveTurn>,
    last_ended: Option<TurnId>,
    prompts: Prompts,
    calls: Calls,
    pub(crate) terminals: Terminals,
    questions: OpenQuestions,
    plan: Vec<PlanStep>,
    context: UsageTracker,
    repeat_filter: RepeatFilter,
    /// The last piece of the answer.
    last_answer_piece: String,
    /// Errors of the running turn, which its end often repeats.
    errors_shown: Vec<String>,
}

/// One output format of a log: turns the changes of a conversation into that format.
pub trait Projection {
    type Out;

    /// Writes one change to `out`; `now` is the conversation after the event that caused it.
    fn render(&mut self, change: Change<'_>, now: &Conversation, out: &mut Self::Out);
}

/// Reads a log and renders it in one vocabulary. A copy goes on from the same event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogReader<P> {
    conversation: Conversation,
    projection: P,
}

impl<P: Projection> LogReader<P> {
    pub fn new(projection: P) -> Self {
        Self { conversation: Conversation::default(), projection }
    }

    pub fn project(&mut self, event: &Event, out: &mut P::Out) {
        for change in self.conversation.apply(event) {
            self.projection.render(change, &self.conversation, out);
        }
    }

    /// The output for one event.
    pub fn read(&mut self, event: &Event) -> P::Out
    where
        P::Out: Default,
    {
        let mut out = P::Out::default();
        self.project(event, &mut out);
        out
    }

    /// Shows the tool calls that were held back until more is known of them. A view of a growing
    /// log calls this when no event has come for a moment, so that a call is shown while it runs.
    pub fn settle(&mut self, out: &mut P::Out) {
        for change in self.conversation.settle() {
            self.projection.render(change, &self.conversation, out);
        }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn projection(&self) -> &P {
        &self.projection
    }

    pub fn projection_mut(&mut self) -> &mut P {
        &mut self.projection
    }
}

impl<P: Projection + Default> Default for LogReader<P> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl Conversation {
    /// Number of the last event.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Time of the last event.
    pub fn at(&self) -> Millis {
        self.at
    }

    /// The turn of the last event: its own, or else the one that runs.
    pub fn event_turn(&self) -> Option<TurnId> {
        self.event_turn.or(self.turn.as_ref().and_then(|turn| turn.id))
    }

    pub fn turn(&self) -> Option<&ActiveTurn> {
        self.turn.as_ref()
    }

    /// The session's working directory.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    pub fn call(&self, key: CallKey) -> &ToolCall {
        self.calls.get(key)
    }

    /// A call of a turn by the agent's own id.
    pub fn find_call(&self, turn: Option<TurnId>, id: &str) -> Option<&ToolCall> {
        self.calls.find(turn, id).map(|key| self.calls.get(key))
    }

    pub fn plan(&self) -> &[PlanStep] {
        &self.plan
    }

    /// Tokens, context and cost of the session so far, as its agent reports them.
    pub fn usage(&self) -> &ConversationUsage {
        &self.context.usage
    }

    fn settle(&mut self) -> Vec<Change<'static>> {
        let mut changes = Vec::new();
        self.begin_waiting_calls(&mut changes);
        changes
    }

    /// Begins the calls that were held back: the agent has gone on to something else, so no more of
    /// their input will come.
    fn begin_waiting_calls(&mut self, changes: &mut Vec<Change<'_>>) {
        let begin = |call| Change::CallBegan { call, is_asked: false };
        changes.extend(std::mem::take(&mut self.calls.waiting).into_iter().map(begin));
    }

    fn begin_call(&mut self, call: CallKey, is_asked: bool, changes: &mut Vec<Change<'_>>) {
        if self.calls.begin(call) {
            changes.push(Change::CallBegan { call, is_asked });
        }
    }

    fn start_turn(&mut self, changes: &mut Vec<Change<'_>>) {
        let id = self.event_turn;
        let is_repeated = |turn: &ActiveTurn| id.is_none() || turn.id == id;
        let has_ended = id.is_some() && id == self.last_ended;
        if has_ended || self.turn.as_ref().is_some_and(is_repeated) {
            return;
        }
        // The log lost the end of the turn before; its readers must not wait for it.
        if let Some(turn) = &self.turn {
            let lost = TurnEnd::lost(turn);
            self.close_turn(lost, changes);
        }
        self.turn = Some(ActiveTurn { id, started: self.seq, since: self.at });
        self.plan.clear();
        self.errors_shown.clear();
        self.context.start_turn();
        changes.push(Change::TurnStarted);
    }

    /// Ends the turn that runs, and what is still open in it.
    fn close_turn(&mut self, end: TurnEnd, changes: &mut Vec<Change<'_>>) {
        if end.has_begun || self.turn.is_none() {
            self.begin_waiting_calls(changes);
            let outcome = end.outcome;
            let leave = |call| Change::CallLeftOpen { call, outcome };
            changes.extend(self.calls.leave_open().into_iter().map(leave));
        }
        if let Some(fault) = &end.fault {
            self.fail(fault, Some(&end), changes);
        }
        if end.has_begun {
            self.last_ended = end.turn;
            self.turn = None;
        }
        self.errors_shown.clear();
        self.last_answer_piece.clear();
        changes.push(Change::TurnEnded(Box::new(end)));
    }

    /// `end` is that of the turn, if it ends with this.
    fn fail(&mut self, fault: &Fault, end: Option<&TurnEnd>, changes: &mut Vec<Change<'_>>) {
        if self.errors_shown.contains(&fault.message) {
            return;
        }
        self.begin_waiting_calls(changes);
        self.errors_shown.push(fault.message.clone());
        let is_in_answer = end.is_some_and(|end| end.is_in_answer);
        changes.push(Change::Failed { fault: fault.clone(), is_in_answer, is_end: end.is_some() });
    }
}

#[cfg(test)]
mod tests;
