//! The prompts that wait in a session, also while it cannot go on.
//!
//! In: a session's id. Out: what its task says; where that has failed, what it had said last, without
//! what somebody has given up since.

use wire::{SessionId, TurnId};

use super::SessionRegistry;
use crate::session::QueuedPrompt;

impl SessionRegistry {
    /// The prompts that wait for their turn; none of a session that nobody uses.
    pub async fn waiting(&self, id: SessionId) -> Vec<QueuedPrompt> {
        match self.awake_handle(id) {
            // A session that was put aside just now has no queue.
            Some(session) => session.waiting().await.unwrap_or_default(),
            None => {
                let halt = self.context.halted.get(id);
                halt.iter().flat_map(|halt| halt.waiting().cloned()).collect()
            }
        }
    }

    /// Takes a prompt out of the queue; false if it does not wait there.
    pub async fn drop_queued(&self, id: SessionId, turn: TurnId) -> bool {
        if let Some(session) = self.awake_handle(id) {
            return session.drop_queued(turn).await.unwrap_or_default();
        }
        let halt = self.context.halted.get(id);
        let is_waiting = halt.is_some_and(|halt| halt.waiting().any(|prompt| prompt.turn == turn));
        if is_waiting {
            self.context.halted.drop_turns(id, [turn]);
        }
        is_waiting
    }

    /// Whether somebody gave the prompt up while its session could not go on, so that the log does
    /// not say so yet.
    pub fn is_given_up(&self, id: SessionId, turn: TurnId) -> bool {
        self.context.halted.get(id).is_some_and(|halt| halt.dropped.has(turn))
    }
}
