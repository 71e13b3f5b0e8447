use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq};

use super::{CommandEnd, KEPT_BYTES, MAX_TERMINALS, Terminals};

fn event(kind: Kind, payload: &Value) -> Event {
    Event { seq: Seq(1), at: Millis(0), turn: None, kind, payload: Json::of(payload) }
}

fn output(terminal: &str, data: &str) -> Event {
    event(Kind::TerminalOutput, &json!({ "terminalId": terminal, "data": data }))
}

#[test]
fn pieces_become_one_text_and_the_end_is_known() {
    let mut terminals = Terminals::default();
    for (terminal, data) in [("a", "one "), ("b", "other"), ("a", "two")] {
        terminals.apply(&output(terminal, data).own().unwrap());
    }
    let killed = json!({ "terminalId": "a", "signal": "9" });
    terminals.apply(&event(Kind::TerminalExited, &killed).own().unwrap());
    let terminal = terminals.get("a").unwrap();
    assert_eq!(
        (&*terminal.text, &terminal.end),
        ("one two", &Some(CommandEnd::Signal("9".into())))
    );
    assert_eq!(terminals.get("b").unwrap().end, None);
    let lost = json!({ "terminalId": "b", "lost": true });
    terminals.apply(&event(Kind::TerminalExited, &lost).own().unwrap());
    assert_eq!(terminals.get("b").unwrap().end, Some(CommandEnd::Lost));
    assert!(terminals.get("c").is_none());
}

#[test]
fn memory_is_bounded_and_the_newest_stays() {
    let mut terminals = Terminals::default();
    for _ in 0..100 {
        terminals.apply(&output("long", &"ü".repeat(4000)).own().unwrap());
    }
    terminals.apply(&output("long", "end").own().unwrap());
    let text = &terminals.get("long").unwrap().text;
    assert!(text.len() <= 2 * KEPT_BYTES && text.ends_with("end"));
    for n in 0..1000 {
        terminals.apply(&output(&n.to_string(), "x").own().unwrap());
    }
    assert!(terminals.get("long").is_none() && terminals.get("999").is_some());
    assert_eq!(terminals.known.len(), MAX_TERMINALS);
}
