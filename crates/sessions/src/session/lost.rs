//! A prompt that the agent refused because it has forgotten the session.
//!
//! Agents that resume lazily find out only now. Nothing was said in the turn yet, so the
//! session is opened anew, told what happened so far, and the prompt is sent again: once.

use wire::{Category, Fault, Json, RpcError, TurnId, codes};

use super::actor::{Actor, Halt, LinkState};

/// A prompt that waits for a new link.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) turn: TurnId,
    params: Json,
}

impl Actor {
    /// Whether the turn goes on after `error`.
    pub(super) fn try_again(&mut self, turn: TurnId, error: &RpcError) -> bool {
        let is_lost = error.code == codes::NOT_FOUND
            || Fault::from_agent(error).category == Category::SessionLost;
        let Some(params) = self.unheard.take().filter(|_| is_lost) else { return false };
        tracing::info!(session = %self.id, %turn, %error, "the agent has lost the session");
        if let Some(linkage) = self.release() {
            linkage.close_soon();
        }
        self.agent_session = None;
        self.forgot = Some(error.message.clone());
        self.again = Some(Again { turn, params });
        self.link = LinkState::Linking;
        self.spawn_link();
        true
    }

    /// The session is linked anew: sends the prompt that waited for it.
    pub(super) async fn send_again(&mut self) -> Result<(), Halt> {
        let Some(Again { turn, params }) = self.again.take() else { return Ok(()) };
        self.send_prompt(turn, params).await
    }
}
