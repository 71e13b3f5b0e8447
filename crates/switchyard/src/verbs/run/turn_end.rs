//! A turn's end, as its events tell it, and the exit code that follows from it.

use wire::event::{DecidedBy, Limit, StopReason};
use wire::{Event, Fault, OwnEvent, TurnId};

use crate::outcome::{self, Failure};

/// The facts in a turn's events that decide the exit code.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    pub(super) was_denied_unattended: bool,
    /// A question was answered with no, by whomever.
    was_rejected: bool,
    was_cancelled: bool,
    /// The limit that it reached while nobody was there to ask.
    pub(super) limit: Option<Limit>,
    pub(super) end: Option<RunTurnEnd>,
}

/// The end of a turn.
#[derive(Debug)]
pub(super) struct RunTurnEnd {
    reason: StopReason,
    fault: Option<Fault>,
}

impl TurnFacts {
    /// Notes an event before there is a turn.
    pub(super) fn note_before_turn(&mut self, event: &Event) {
        match event.own() {
            Some(OwnEvent::PermissionResolved(resolved)) => {
                self.was_rejected |= !resolved.allowed;
                self.was_denied_unattended |= resolved.by.who == DecidedBy::Unattended;
            }
            Some(OwnEvent::ElicitationResolved(resolved)) => {
                self.was_denied_unattended |= resolved.by.who == DecidedBy::Unattended;
            }
            // Somebody else was there to ask.
            Some(OwnEvent::LimitRaised(_)) => self.limit = None,
            _ => {}
        }
    }

    pub(super) fn note(&mut self, event: &Event, turn: TurnId) {
        self.note_before_turn(event);
        match event.own() {
            Some(OwnEvent::CancelRequested(_)) => self.was_cancelled = true,
            Some(OwnEvent::TurnEnded(ended)) if event.turn == Some(turn) => {
                self.end = Some(RunTurnEnd { reason: ended.stop_reason, fault: ended.error });
            }
            Some(OwnEvent::PromptDropped(_)) if event.turn == Some(turn) => {
                self.end = Some(RunTurnEnd { reason: StopReason::Cancelled, fault: None });
            }
            _ => {}
        }
    }

    /// Says on stderr why the turn failed, where stdout has nothing but the answer.
    pub(super) fn tell_failure(&self) {
        let fault = self.end.as_ref().and_then(|end| end.fault.as_ref());
        let Some(Fault { message, remedy, .. }) = fault else { return };
        Failure::new(outcome::ERROR, message).hinting(remedy.as_ref()).say();
    }

    /// The hint beside [`outcome::DENIED`].
    pub(super) fn hint(&self) -> &'static str {
        match self.was_denied_unattended {
            true => "nobody was there to ask; see --approve-reads, --permissions and --policy",
            false => "the agent ended its turn because something was not allowed",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        let Some(end) = &self.end else { return outcome::ERROR };
        // Some agents end their turn as cancelled when they are told no.
        let was_refused = self.was_rejected || self.was_denied_unattended;
        let was_told_no = !self.was_cancelled && was_refused;
        let was_cut_by_denial = self.limit.is_some() || was_told_no;
        // A turn may end by itself just before it is stopped at its limit.
        let was_denied = self.limit.is_some() || self.was_denied_unattended;
        outcome::exit_code_of_turn(&end.reason, was_cut_by_denial, was_denied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wire::event::{CancelRequested, TurnEnded};
    use wire::{CallId, Millis};

    fn code(events: &[OwnEvent<'_>]) -> u8 {
        let turn = sessions::mint::turn_id();
        let mut seen = TurnFacts::default();
        for own in events {
            let (kind, payload) = (own.kind(), own.to_payload());
            let event = Event { seq: wire::Seq(1), at: Millis(0), turn: Some(turn), kind, payload };
            seen.note(&event, turn);
        }
        seen.exit_code()
    }

    #[test]
    fn an_agent_that_cancels_its_turn_when_it_is_told_no_was_not_interrupted() {
        let ended = |reason: &str| TurnEnded::of(reason.to_owned().into()).into();
        let answered = |who: &str, allowed: bool| {
            let resolved =
                json!({ "requestId": CallId::MIN, "by": { "who": who }, "allowed": allowed });
            OwnEvent::PermissionResolved(serde_json::from_value(resolved).unwrap())
        };
        let cancel = || CancelRequested::default().into();
        assert_eq!(code(&[answered("unattended", false), ended("cancelled")]), outcome::DENIED);
        assert_eq!(code(&[answered("rule", false), ended("cancelled")]), outcome::DENIED);
        assert_eq!(code(&[answered("rule", true), ended("cancelled")]), outcome::INTERRUPTED);
        assert_eq!(code(&[ended("cancelled")]), outcome::INTERRUPTED);
        let events = [answered("unattended", false), cancel(), ended("cancelled")];
        assert_eq!(code(&events), outcome::INTERRUPTED);
        assert_eq!(code(&[answered("rule", false), ended("end_turn")]), 0);
        assert_eq!(code(&[answered("unattended", false), ended("end_turn")]), outcome::DENIED);
    }

    #[test]
    fn a_limit_that_nobody_could_be_asked_about_counts_also_where_the_turn_ended_before() {
        let code = |raised: Option<OwnEvent<'_>>| {
            let turn = sessions::mint::turn_id();
            let mut seen = TurnFacts { limit: Some(Limit::Tokens), ..TurnFacts::default() };
            let ended = TurnEnded::of(StopReason::EndTurn).into();
            for own in raised.into_iter().chain([ended]) {
                let (kind, payload): (_, wire::Json) = (own.kind(), own.to_payload());
                let at = Millis(0);
                let event = Event { seq: wire::Seq(1), at, turn: Some(turn), kind, payload };
                seen.note(&event, turn);
            }
            seen.exit_code()
        };
        let raised = json!({ "limit": "tokens", "requestId": CallId::MIN, "by": {} });
        let raised = OwnEvent::LimitRaised(serde_json::from_value(raised).unwrap());
        assert_eq!(code(None), outcome::DENIED);
        assert_eq!(code(Some(raised)), 0);
    }
}
