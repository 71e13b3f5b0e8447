//! The progress of the running turn: where its prompt is, and how far the agent is with it.
//!
//! In: what was sent, and what the agent says. Out: which answer ends the turn, and whether the
//! prompt can be sent again. No I/O and no clock.
//!
//! Some agents find out only when they are prompted that they have forgotten the session. As long
//! as such an agent has said nothing in the turn, the session can be opened anew, told what
//! happened so far, and the prompt sent again.
//!
//! Always true: a prompt is sent again at most once, and not after the agent has said something.

use wire::{Category, Fault, Json};

use super::masked_failure::LastMessage;
use crate::observer::{TurnWatch, WatchGuards};

/// Lines of a turn that are no messages, and are reported one by one.
const MAX_GARBAGE: u32 = 20;

#[derive(Debug, Default)]
pub(super) struct TurnProgress {
    prompt: PromptState,
    n_garbage: u32,
    pub(super) last_message: LastMessage,
    /// The observers' guards of the turn.
    pub(super) watch: WatchGuards<dyn TurnWatch>,
}

/// The state of the running turn's prompt.
#[derive(Debug, Default)]
enum PromptState {
    #[default]
    Nowhere,
    /// The agent has it.
    Sent {
        /// The tag of the request that stands for the turn.
        tag: u64,
        /// Its params, until the agent has said something.
        resendable: Option<Json>,
    },
    /// It is sent again when the session is linked anew.
    Waiting(Json),
}

impl TurnProgress {
    pub(super) fn begin(&mut self, watch: WatchGuards<dyn TurnWatch>) {
        *self = Self { watch, ..Self::default() };
        self.watch.begun();
    }

    /// The prompt is on its way, for the first time or again.
    pub(super) fn sent(&mut self, tag: u64, params: &Json) {
        let resendable = match &self.prompt {
            PromptState::Nowhere => Some(params.clone()),
            PromptState::Sent { .. } | PromptState::Waiting(_) => None,
        };
        self.prompt = PromptState::Sent { tag, resendable };
    }

    /// Notes that the agent has begun with the prompt.
    pub(super) fn note_activity(&mut self) {
        if let PromptState::Sent { resendable, .. } = &mut self.prompt {
            *resendable = None;
        }
    }

    /// Whether a tagged answer is that to the prompt.
    pub(super) fn is_answer(&self, answered: u64) -> bool {
        matches!(self.prompt, PromptState::Sent { tag, .. } if tag == answered)
    }

    /// Has the prompt wait for the session to be linked anew, if it can be sent again.
    pub(super) fn wait_for_link(&mut self) -> bool {
        let PromptState::Sent { resendable, .. } = &mut self.prompt else { return false };
        let Some(params) = resendable.take() else { return false };
        self.prompt = PromptState::Waiting(params);
        true
    }

    /// The prompt that waits to be sent again.
    pub(super) fn waiting(&self) -> Option<&Json> {
        match &self.prompt {
            PromptState::Waiting(params) => Some(params),
            PromptState::Nowhere | PromptState::Sent { .. } => None,
        }
    }

    /// The fault to log for a line that is no message.
    pub(super) fn garbage(&mut self, what: &str) -> Option<Fault> {
        self.n_garbage += 1;
        let message = match self.n_garbage {
            n if n < MAX_GARBAGE => format!("the agent sent something unreadable: {what}"),
            MAX_GARBAGE => "the agent goes on sending unreadable lines; no more are logged".into(),
            _ => return None,
        };
        Some(Fault::new(Category::Protocol, message))
    }

    /// Ends the turn. Its observers are still to be told.
    pub(super) fn end(&mut self) -> WatchGuards<dyn TurnWatch> {
        self.prompt = PromptState::Nowhere;
        std::mem::take(&mut self.watch)
    }
}

#[cfg(test)]
mod tests;
