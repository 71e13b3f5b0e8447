//! What the events of a turn tell about its end, and the exit code that follows from it.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use sessions::budget::Limit;
use wire::{Event, Kind, Seq, TurnId};

use crate::{outcome, terminal};

/// What the events of a turn tell about its end.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) until: Seq,
    pub(super) was_denied_unattended: bool,
    /// A question was answered with no, by whomever.
    was_rejected: bool,
    was_cancelled: bool,
    /// The limit at which it was stopped, because nobody was there to ask.
    pub(super) limit: Option<Limit>,
    pub(super) end: Option<Value>,
}

impl Seen {
    /// Nothing is known yet of what stands behind `until`.
    pub(super) fn after(until: Seq) -> Self {
        Self { until, ..Self::default() }
    }

    /// Sees an event before there is a turn.
    pub(super) fn look_before(&mut self, event: &Event) {
        self.until = event.seq;
        if event.kind == Kind::PermissionResolved {
            self.answered(event);
        }
    }

    fn answered(&mut self, event: &Event) {
        let payload: Value = event.payload.read().unwrap_or_default();
        let by = &payload["by"];
        self.was_rejected |= payload["allowed"] == false;
        self.was_denied_unattended |= by["who"] == "unattended" || by["detail"] == "unattended";
    }

    pub(super) fn look(&mut self, event: &Event, turn: TurnId) -> ControlFlow<()> {
        self.until = event.seq;
        match &event.kind {
            Kind::PermissionResolved => self.answered(event),
            Kind::CancelRequested => self.was_cancelled = true,
            Kind::TurnEnded if event.turn == Some(turn) => {
                self.end = Some(event.payload.read().unwrap_or_default());
                return ControlFlow::Break(());
            }
            Kind::PromptDropped if event.turn == Some(turn) => {
                self.end = Some(json!({ "stopReason": "cancelled" }));
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Says on stderr why the turn failed, where stdout has nothing but the answer.
    pub(super) fn tell_failure(&self) {
        let Some(message) = self.end.as_ref().and_then(|end| end["error"]["message"].as_str())
        else {
            return;
        };
        let remedy = self.end.as_ref().and_then(|end| end["error"]["remedy"].as_str());
        let hint = remedy.map_or_else(String::new, |remedy| format!("\nhint: {remedy}"));
        terminal::say(&sessions::projection::sanitize(&format!("switchyard: {message}{hint}")));
    }

    fn was_refused(&self) -> bool {
        self.was_rejected || self.was_denied_unattended
    }

    /// What to say beside [`outcome::DENIED`].
    pub(super) fn hint(&self) -> &'static str {
        match self.was_denied_unattended {
            true => "nobody was there to ask; see --approve-reads, --permissions and --policy",
            false => "the agent ended its turn because something was not allowed",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self.end.as_ref().and_then(|end| end["stopReason"].as_str()) {
            Some("error") | None => outcome::ERROR,
            Some("cancelled") if self.limit.is_some() => outcome::DENIED,
            // Some agents end their turn as cancelled when they are told no.
            Some("cancelled") if !self.was_cancelled && self.was_refused() => outcome::DENIED,
            Some("cancelled") => outcome::INTERRUPTED,
            _ if self.was_denied_unattended => outcome::DENIED,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Json, Millis};

    fn code(events: &[(Kind, Value)]) -> u8 {
        let turn = sessions::mint::turn_id();
        let mut seen = Seen::default();
        for (kind, payload) in events {
            let (kind, payload) = (kind.clone(), Json::of(payload));
            let event = Event { seq: Seq(1), at: Millis(0), turn: Some(turn), kind, payload };
            let _ = seen.look(&event, turn);
        }
        seen.exit_code()
    }

    #[test]
    fn an_agent_that_cancels_its_turn_when_it_is_told_no_was_not_interrupted() {
        let ended = |reason: &str| (Kind::TurnEnded, json!({ "stopReason": reason }));
        let answered = |who: &str, allowed: bool| {
            (Kind::PermissionResolved, json!({ "by": { "who": who }, "allowed": allowed }))
        };
        let cancel = || (Kind::CancelRequested, json!({}));
        assert_eq!(code(&[answered("unattended", false), ended("cancelled")]), outcome::DENIED);
        assert_eq!(code(&[answered("rule", false), ended("cancelled")]), outcome::DENIED);
        assert_eq!(code(&[answered("rule", true), ended("cancelled")]), outcome::INTERRUPTED);
        assert_eq!(code(&[ended("cancelled")]), outcome::INTERRUPTED);
        let events = [answered("unattended", false), cancel(), ended("cancelled")];
        assert_eq!(code(&events), outcome::INTERRUPTED);
        assert_eq!(code(&[answered("rule", false), ended("end_turn")]), 0);
        assert_eq!(code(&[answered("unattended", false), ended("end_turn")]), outcome::DENIED);
    }
}
