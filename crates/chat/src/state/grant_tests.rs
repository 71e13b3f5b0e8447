//! Which of several options a letter takes.

use ratatui::crossterm::event::KeyCode;
use serde_json::json;

use super::tests::{answer, hear, opened};
use crate::conversation::tests::{Log, call_id};
use crate::effect::Effect;

#[test]
fn a_letter_takes_the_first_of_several_grants_and_none_of_several_answers() {
    let ask = |lasting: &str| {
        let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
        let options = [option("no", "reject_once"), option("a", "allow_once")];
        let more = [option("b", "allow_once"), option("c", lasting)];
        let request = json!({
            "toolCall": { "toolCallId": "t1", "title": "Confirm", "kind": "other" },
            "options": ([options, more].concat()),
        });
        let payload = json!({ "requestId": call_id('q'), "ask": true, "request": request });
        let (mut state, mut log) = (opened(), Log::in_turn());
        hear(&mut state, [log.event("permission_requested", &payload)]);
        state.tick(1000);
        let screen = crate::render::tests::look(&mut state, 80, 40);
        (answer(&mut state, KeyCode::Char('y')), screen.matches("(y)").count())
    };
    let id = wire::CallId::parse(&call_id('q')).unwrap();
    let first = Effect::Answer { id, body: json!({ "optionId": "a" }) };
    assert_eq!(ask("allow_always"), (vec![first], 1));
    assert_eq!(ask("reject_always"), (vec![], 0));
}
