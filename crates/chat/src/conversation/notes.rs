//! What Switchyard itself has to say about the session.

use serde_json::Value;
use wire::{Event, Kind, TurnId};

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
    pub(super) fn tell_end(&mut self, event: &Event, payload: &Value) {
        let error = &payload["error"];
        let stop = payload["stopReason"].as_str().unwrap_or("error");
        let (tone, mut text) = match stop {
            _ if error.is_object() && self.has_said(event, error) => (Tone::Bad, afterwards(error)),
            _ if error.is_object() => (Tone::Bad, fault(error)),
            "end_turn" => return,
            "cancelled" => (Tone::Doubtful, "stopped".to_owned()),
            "max_tokens" => (Tone::Doubtful, "the answer reached its longest length".to_owned()),
            "max_turn_requests" => {
                (Tone::Doubtful, "the agent made as many steps as it may".to_owned())
            }
            "refusal" => (Tone::Doubtful, "the agent refuses to go on".to_owned()),
            other => (Tone::Doubtful, format!("ended: {}", line(other, 100))),
        };
        if stop == "cancelled" && error.is_object() {
            text = format!("stopped: {text}");
        }
        self.note(event.turn, tone, text);
    }

    /// Whether the agent's last words in this turn are the error.
    fn has_said(&self, event: &Event, error: &Value) -> bool {
        let Some(message) = error["message"].as_str() else { return false };
        let message = lines(message, 2000);
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

    pub(super) fn remark(&mut self, event: &Event, payload: &Value) {
        let text = |key: &str| line(payload[key].as_str().unwrap_or_default(), 300);
        let (tone, said) = match event.kind {
            Kind::SessionCreated if payload["forkedFrom"].is_string() => {
                (Tone::Dim, format!("forked from {}", text("forkedFrom")))
            }
            Kind::SessionResumed => {
                let verified = text("verified");
                (Tone::Dim, format!("the agent has its session back ({}, {verified})", text("how")))
            }
            Kind::SessionClosed => (Tone::Dim, "closed; a prompt opens it again".to_owned()),
            Kind::CancelStep => match payload["step"].as_str() {
                Some("terminate") => {
                    (Tone::Doubtful, "the agent did not stop; ending it".to_owned())
                }
                Some("kill") => (Tone::Doubtful, "killing the agent".to_owned()),
                _ => return,
            },
            Kind::LimitRaised => {
                let by = self.own.decider(payload, event.seq.0);
                (Tone::Dim, format!("goes on: the limit of {} was raised{by}", text("limit")))
            }
            Kind::WorkerExited if payload["stopped"] != true => {
                let how = match (payload["signal"].as_i64(), payload["code"].as_i64()) {
                    (Some(signal), _) => format!("by signal {signal}"),
                    (_, Some(code)) => format!("with code {code}"),
                    _ => "without a word".to_owned(),
                };
                (Tone::Doubtful, format!("the agent ended {how}"))
            }
            Kind::AgentQuiet => {
                let seconds = payload["quietMs"].as_u64().unwrap_or_default() / 1000;
                let last =
                    payload["waitingFor"].as_str().map(|last| format!(": {}", line(last, 300)));
                (Tone::Dim, format!("nothing heard for {seconds} s{}", last.unwrap_or_default()))
            }
            Kind::Error => (Tone::Bad, fault(payload)),
            Kind::LogRecovered => {
                let (from, to) = (&payload["lostFrom"], &payload["lostTo"]);
                (Tone::Bad, format!("events {from} to {to} were lost from the log"))
            }
            _ => return,
        };
        self.note(event.turn, tone, said);
    }
}

/// What is wrong, and what to do about it.
/// What is left to say about an error that stands there as the agent's own words.
fn afterwards(error: &Value) -> String {
    match error["remedy"].as_str() {
        Some(remedy) => format!("the turn failed\nhint: {}", lines(remedy, 500)),
        None => "the turn failed".to_owned(),
    }
}

fn fault(error: &Value) -> String {
    let message = lines(error["message"].as_str().unwrap_or("no details were given"), 2000);
    match error["remedy"].as_str() {
        Some(remedy) => format!("{message}\nhint: {}", lines(remedy, 500)),
        None => message,
    }
}
