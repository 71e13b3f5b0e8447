//! What Switchyard itself has to say about the session.

use std::sync::Arc;

use serde_json::Value;
use wire::event::{
    AgentQuiet, CancelRung, CancelStep, LimitRaised, LogRecovered, SessionResumed, StopReason,
    TurnEnded,
};
use wire::{Event, Fault, Own, TurnId};

use super::reading::{line, lines};
use super::{Conversation, Item, Part};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Dim,
    Good,
    Doubtful,
    Bad,
}

impl Conversation {
    pub(super) fn tell_end(&mut self, event: &Event, ended: &TurnEnded<'_>) {
        let (tone, text) = match (&ended.stop_reason, &ended.error) {
            (_, Some(fault)) if self.has_said(event, fault) => (Tone::Bad, afterwards(fault)),
            (StopReason::Cancelled, Some(fault)) => {
                (Tone::Bad, format!("stopped: {}", in_words(fault)))
            }
            (_, Some(fault)) => (Tone::Bad, in_words(fault)),
            (StopReason::EndTurn, None) => return,
            (StopReason::Cancelled, None) => (Tone::Doubtful, "stopped".to_owned()),
            (StopReason::MaxTokens, None) => {
                (Tone::Doubtful, "the answer reached its longest length".to_owned())
            }
            (StopReason::MaxTurnRequests, None) => {
                (Tone::Doubtful, "the agent made as many steps as it may".to_owned())
            }
            (StopReason::Refusal, None) => {
                (Tone::Doubtful, "the agent refuses to go on".to_owned())
            }
            (other, None) => (Tone::Doubtful, format!("ended: {}", line(other.as_str(), 100))),
        };
        self.note(event.turn, tone, text);
    }

    /// Whether the agent's last words in this turn are the error.
    fn has_said(&self, event: &Event, fault: &Fault) -> bool {
        let message = lines(&fault.message, 2000);
        let last = self.items.last().filter(|item| item.turn == event.turn);
        let is_said = |text: &str| text.trim_end().ends_with(message.trim_end());
        matches!(last, Some(Item { part: Part::Answer(prose), .. }) if is_said(&prose.text))
    }

    /// What an agent says that is not its answer.
    pub(super) fn notice(&mut self, turn: Option<TurnId>, update: &Value) {
        let text = |key: &str| lines(update[key].as_str().unwrap_or_default(), 2000);
        let (title, more) = (text("title"), text("description"));
        // A title that only begins what the description says is said with it.
        let said = match (title.as_str(), more.as_str()) {
            (title, "") => title.to_owned(),
            (title, more) if more.starts_with(title.trim_end_matches('…')) => more.to_owned(),
            (title, more) => format!("{title}: {more}"),
        };
        let tone = match update["severity"].as_str() {
            Some("error") => Tone::Bad,
            Some("warning") => Tone::Doubtful,
            _ => Tone::Dim,
        };
        if !said.is_empty() {
            self.note(turn, tone, said);
        }
    }

    pub(super) fn remark(&mut self, event: &Event, own: &Own<'_>) {
        let (tone, said) = match own {
            Own::SessionCreated(created) => {
                self.cwd = Some(Arc::from(created.cwd.as_str()));
                let Some(from) = &created.forked_from else { return };
                (Tone::Dim, format!("forked from {}", line(from, 300)))
            }
            Own::SessionResumed(SessionResumed { how, verified, .. }) => {
                let (how, verified) = (how.as_str(), verified.as_str());
                (Tone::Dim, format!("the agent has its session back ({how}, {verified})"))
            }
            Own::SessionClosed(_) => (Tone::Dim, "closed; a prompt opens it again".to_owned()),
            Own::CancelStep(CancelStep { step: CancelRung::Terminate }) => {
                (Tone::Doubtful, "the agent did not stop; ending it".to_owned())
            }
            Own::CancelStep(CancelStep { step: CancelRung::Kill }) => {
                (Tone::Doubtful, "killing the agent".to_owned())
            }
            Own::LimitRaised(LimitRaised { limit, request_id, by, .. }) => {
                let by = self.own.decider(by, *request_id, event.seq.0);
                (Tone::Dim, format!("goes on: the limit of {} was raised{by}", limit.as_str()))
            }
            Own::WorkerExited(exited) if !exited.stopped => {
                let how = match (exited.signal, exited.code) {
                    (Some(signal), _) => format!("by signal {signal}"),
                    (_, Some(code)) => format!("with code {code}"),
                    _ => "without a word".to_owned(),
                };
                (Tone::Doubtful, format!("the agent ended {how}"))
            }
            Own::AgentQuiet(AgentQuiet { quiet_ms, waiting_for }) => {
                let last = waiting_for.as_ref().map(|last| format!(": {}", line(last, 300)));
                let (seconds, last) = (quiet_ms / 1000, last.unwrap_or_default());
                (Tone::Dim, format!("nothing heard for {seconds} s{last}"))
            }
            Own::Error(fault) => (Tone::Bad, in_words(fault)),
            Own::LogRecovered(LogRecovered { lost_from, lost_to }) => {
                (Tone::Bad, format!("events {lost_from} to {lost_to} were lost from the log"))
            }
            _ => return,
        };
        self.note(event.turn, tone, said);
    }
}

/// What is left to say about an error that stands there as the agent's own words.
fn afterwards(fault: &Fault) -> String {
    with_hint("the turn failed".to_owned(), fault)
}

/// What is wrong, and what to do about it.
fn in_words(fault: &Fault) -> String {
    let message = match fault.message.as_str() {
        "" => "no details were given",
        message => message,
    };
    with_hint(lines(message, 2000), fault)
}

fn with_hint(text: String, fault: &Fault) -> String {
    match &fault.remedy {
        Some(remedy) => format!("{text}\nhint: {}", lines(remedy, 500)),
        None => text,
    }
}
