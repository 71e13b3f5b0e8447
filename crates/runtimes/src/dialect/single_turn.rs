//! The turn of a CLI process that lives for one turn.
//!
//! Always true: the turn ends once, its tool calls end with it, and a conversation that the CLI
//! does not find is reported as lost before that.

use super::tool_calls::ToolCalls;
use super::{CliExit, DialectOutput, StopReason, TokenUsage, TurnEnd, TurnOutcome, learn_session};
use wire::{Category, Fault};

#[derive(Debug, Default)]
pub(super) struct SingleTurn {
    pub(super) calls: ToolCalls,
    has_ended: bool,
    session: Option<String>,
}

impl SingleTurn {
    /// The CLI's own id of the conversation.
    pub(super) fn session(&mut self, id: &str, out: &mut Vec<DialectOutput>) {
        learn_session(&mut self.session, id, out);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    pub(super) fn stop(
        &mut self,
        reason: StopReason,
        usage: Option<TokenUsage>,
        out: &mut Vec<DialectOutput>,
    ) {
        self.end(TurnOutcome::Stopped(reason), usage, out);
    }

    pub(super) fn fail(
        &mut self,
        failure: Fault,
        usage: Option<TokenUsage>,
        out: &mut Vec<DialectOutput>,
    ) {
        self.end(TurnOutcome::Failed(failure), usage, out);
    }

    /// Ends the turn as the process did: cancelled if we ended it, else with `otherwise`.
    pub(super) fn exit(
        &mut self,
        exit: &CliExit,
        usage: Option<TokenUsage>,
        otherwise: TurnOutcome,
        out: &mut Vec<DialectOutput>,
    ) {
        let ending = if exit.is_stopped_by_us {
            TurnOutcome::Stopped(StopReason::Cancelled)
        } else {
            otherwise
        };
        self.end(ending, usage, out);
    }

    pub(super) fn end(
        &mut self,
        ending: TurnOutcome,
        usage: Option<TokenUsage>,
        out: &mut Vec<DialectOutput>,
    ) {
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
        out.push(DialectOutput::TurnEnded(TurnEnd { ending, usage }));
    }
}
