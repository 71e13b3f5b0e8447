//! A recorded log, for tests: several turns with all that the demo agent can do.

use wire::{Draft, Event, Json, Kind, Millis, Seq, TurnId};

#[derive(serde::Deserialize)]
struct Line {
    seq: u64,
    time: i64,
    turn: Option<TurnId>,
    kind: String,
    payload: Json,
}

pub(super) fn events() -> Vec<Event> {
    let lines = include_str!("../../recordings/turns.jsonl").lines();
    lines.map(|line| event(serde_json::from_str(line).unwrap())).collect()
}

pub(super) fn drafts() -> Vec<Draft> {
    let draft = |Event { at, turn, kind, payload, .. }| Draft { at, turn, kind, payload };
    events().into_iter().map(draft).collect()
}

fn event(Line { seq, time, turn, kind, payload }: Line) -> Event {
    Event { seq: Seq(seq), at: Millis(time), turn, kind: Kind::from_log(&kind), payload }
}
