//! The turn of a CLI process that lives for one turn.
//!
//! Always true: the turn ends once, its tool calls end with it, and a conversation that the CLI
//! does not find is reported as lost before that.

use super::tool_calls::ToolCalls;
use super::{CliExit, DialectOutput, Outputs, StopReason, TokenUsage, TurnOutcome, learn_session};
use serde_json::Value;
use wire::{Category, Fault};

#[derive(Debug, Default)]
pub(super) struct SingleTurn {
    pub(super) calls: ToolCalls,
    pub(super) has_ended: bool,
    /// The CLI's own id of the conversation.
    pub(super) session: Option<String>,
    /// The tokens of the turn, as far as they are known.
    pub(super) usage: Option<TokenUsage>,
}

impl SingleTurn {
    /// Emits the CLI's own id of the conversation, if `id` is one and not known.
    pub(super) fn learn_session(&mut self, id: &Value, out: &mut Outputs) {
        learn_session(&mut self.session, id.as_str().unwrap_or_default(), out);
    }

    pub(super) fn stop(&mut self, reason: StopReason, out: &mut Outputs) {
        self.end(TurnOutcome::Stopped(reason), out);
    }

    pub(super) fn fail(&mut self, failure: Fault, out: &mut Outputs) {
        self.end(TurnOutcome::Failed(failure), out);
    }

    /// Ends the turn as the process did: cancelled if we ended it, else with `otherwise`.
    pub(super) fn exit(&mut self, exit: &CliExit, otherwise: TurnOutcome, out: &mut Outputs) {
        let ending = match exit.is_stopped_by_us {
            true => TurnOutcome::Stopped(StopReason::Cancelled),
            false => otherwise,
        };
        self.end(ending, out);
    }

    pub(super) fn end(&mut self, ending: TurnOutcome, out: &mut Outputs) {
        if self.has_ended {
            // Calls that began after the turn's end are ended by nothing else.
            return self.calls.close("the turn was over", out);
        }
        self.has_ended = true;
        self.calls.close(&ending.open_call_text(), out);
        if let TurnOutcome::Failed(failure) = &ending
            && failure.category == Category::SessionLost
        {
            out.push(DialectOutput::ConversationLost(failure.clone()));
        }
        out.end_turn(ending, self.usage);
    }
}
