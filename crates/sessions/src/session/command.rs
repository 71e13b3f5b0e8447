//! Commands to a session's task.

use tokio::sync::oneshot;
use wire::{CallId, Json, TurnId};

use super::{Answer, Client, NewPrompt, Offer, Pass, QueuedPrompt, Received, SessionError};
use crate::budget::Limits;
use crate::link::Linked;
use crate::permission::Decider;
use wire::Fault;

pub(super) type Reply<T> = oneshot::Sender<T>;

#[derive(Debug)]
pub(super) enum Command {
    Prompt(NewPrompt, Reply<Result<Received, SessionError>>),
    Cancel { by: String, done: Reply<usize> },
    Drop { turn: TurnId, reply: Reply<bool> },
    Answer { request: CallId, answer: Answer, by: Decider, reply: Reply<bool> },
    Attach { client: Client, done: Reply<()> },
    Detach(u64),
    NoteSetting { method: String, params: Json },
    SetLimits { limits: Limits, by: String, done: Reply<()> },
    Linked(Result<Linked, Fault>),
    Stopping(bus::StopStep),
    Pass(Pass),
    Link { reply: Reply<Result<Json, Fault>> },
    OptionsAre(Json),
    Waiting { reply: Reply<Vec<QueuedPrompt>> },
    Peek { reply: Reply<Option<Offer>> },
    Rename { title: Option<String>, by: String, done: Reply<()> },
    Tell { method: String, params: Json },
    Close { done: Reply<()> },
    Finish { done: Reply<()> },
    Rest,
}

impl Command {
    /// Whether the command only looks at the session, which is no use of it.
    pub(super) fn is_look(&self) -> bool {
        matches!(self, Self::Peek { .. } | Self::Waiting { .. } | Self::Rest)
    }
}
