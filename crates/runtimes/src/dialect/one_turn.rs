//! The turn of a CLI process that lives for one turn.
//!
//! Always true: the turn ends once, its tool calls end with it, and a conversation that the CLI
//! does not find is reported as lost before that.

use super::calling::Calling;
use super::{Ending, Exit, Said, StopReason, TurnEnd, Usage, learn_session};
use wire::{Category, Fault};

#[derive(Debug, Default)]
pub(super) struct OneTurn {
    pub(super) calls: Calling,
    has_ended: bool,
    session: Option<String>,
}

impl OneTurn {
    /// The CLI's own id of the conversation.
    pub(super) fn session(&mut self, id: &str, out: &mut Vec<Said>) {
        learn_session(&mut self.session, id, out);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    pub(super) fn stop(&mut self, reason: StopReason, usage: Option<Usage>, out: &mut Vec<Said>) {
        self.end(Ending::Stopped(reason), usage, out);
    }

    pub(super) fn fail(&mut self, failure: Fault, usage: Option<Usage>, out: &mut Vec<Said>) {
        self.end(Ending::Failed(failure), usage, out);
    }

    /// Ends the turn as the process did: cancelled if we ended it, else with `otherwise`.
    pub(super) fn exit(
        &mut self,
        exit: &Exit,
        usage: Option<Usage>,
        otherwise: Ending,
        out: &mut Vec<Said>,
    ) {
        let ending =
            if exit.is_wanted { Ending::Stopped(StopReason::Cancelled) } else { otherwise };
        self.end(ending, usage, out);
    }

    pub(super) fn end(&mut self, ending: Ending, usage: Option<Usage>, out: &mut Vec<Said>) {
        if self.has_ended {
            // Calls that began after the turn's end are ended by nothing else.
            return self.calls.close("the turn was over", out);
        }
        self.has_ended = true;
        self.calls.close(&ending.of_open_calls(), out);
        if let Ending::Failed(failure) = &ending
            && failure.category == Category::SessionLost
        {
            out.push(Said::Lost(failure.clone()));
        }
        out.push(Said::TurnEnded(TurnEnd { ending, usage }));
    }
}
