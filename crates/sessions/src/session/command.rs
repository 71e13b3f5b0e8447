//! Commands to a session's task.

use tokio::sync::oneshot;
use wire::{CallId, Json, TurnId};

use super::{
    AgentOffer, AttachedClient, ForwardedRequest, NewPrompt, PromptAcceptance, QueuedPrompt,
    SessionError, SubmittedAnswer,
};
use crate::budget::BudgetLimits;
use crate::link::LinkOutcome;
use crate::permission::Decider;
use wire::Fault;

pub(super) type ReplySender<T> = oneshot::Sender<T>;

#[derive(Debug)]
pub(super) enum SessionTaskCommand {
    Prompt(NewPrompt, ReplySender<Result<PromptAcceptance, SessionError>>),
    Cancel { by: String, done: ReplySender<usize> },
    Drop { turn: TurnId, reply: ReplySender<bool> },
    Answer { request: CallId, answer: SubmittedAnswer, by: Decider, reply: ReplySender<bool> },
    Attach { client: AttachedClient, done: ReplySender<()> },
    Detach(u64),
    NoteSetting { method: String, params: Json },
    SetLimits { limits: BudgetLimits, by: String, done: ReplySender<()> },
    Linked(Result<LinkOutcome, Fault>),
    Stopping(bus::StopStep),
    Pass(ForwardedRequest),
    Link { reply: ReplySender<Result<Json, Fault>> },
    OptionsChanged(Json),
    Waiting { reply: ReplySender<Vec<QueuedPrompt>> },
    Peek { reply: ReplySender<Option<AgentOffer>> },
    Rename { title: Option<String>, by: String, done: ReplySender<()> },
    Notify { method: String, params: Json },
    Close { done: ReplySender<()> },
    Finish { done: ReplySender<()> },
    PutAsideIfUnused,
}

impl SessionTaskCommand {
    /// Whether the command only looks at the session, which is no use of it.
    pub(super) fn is_look(&self) -> bool {
        matches!(self, Self::Peek { .. } | Self::Waiting { .. } | Self::PutAsideIfUnused)
    }
}
