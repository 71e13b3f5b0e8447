//! Questions on screens that are too small for them.

use ratatui::crossterm::event::KeyCode;
use serde_json::{Value, json};

use super::tests::{asking, look};
use crate::conversation::tests::{Log, call_id};
use crate::effect::{ChatMessage, Effect};
use crate::state::ChatState;
use crate::state::tests::{hear, key, opened};

/// Letters alone: where a line was broken does not matter.
fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

/// What one key that stays alone answers.
fn answer(state: &mut ChatState, code: KeyCode) -> Option<Value> {
    let mut effects = state.press(key(code));
    state.tick(state.now + 1000);
    effects.extend(state.send_due_answer());
    effects.into_iter().find_map(|effect| match effect {
        Effect::Answer { body, .. } => Some(body),
        _ => None,
    })
}

fn three() -> Value {
    json!([{ "optionId": "Allow", "name": "Allow", "kind": "allow_once" },
        { "optionId": "Always here", "name": "Always here", "kind": "allow_always" },
        { "optionId": "Reject", "name": "Reject", "kind": "reject_once" }])
}

fn questions() -> Vec<(Value, Value)> {
    let short = json!({ "toolCallId": "t", "title": "Run it" });
    let command = json!({ "toolCallId": "t", "title": "List all the files of the project",
        "rawInput": { "command": "ls\nrm -rf ~\nls\nls\nls" } });
    let name = "Go on and do whatever else it may want to do as long as it is in this directory";
    let wordy = json!([{ "optionId": name, "name": name, "kind": "allow_always" },
        { "optionId": "No", "name": "No", "kind": "reject_once" }]);
    let one = json!([{ "optionId": "Allow", "name": "Allow", "kind": "allow_once" }]);
    vec![(short.clone(), one), (short, three()), (command.clone(), three()), (command, wordy)]
}

#[test]
fn a_key_answers_only_what_is_on_the_screen() {
    let mut n_answered = 0;
    for (call, options) in questions() {
        let title = dense(call["title"].as_str().unwrap());
        let mut state = asking(&call, &options);
        for (height, width) in
            (4..=14).flat_map(|rows| (8..=40).map(move |columns| (rows, columns)))
        {
            assert!(state.is_answering);
            let shown = look(&mut state, width, height);
            for letter in ['1', '2', '3', 'y', 'a', 'n'] {
                let size = format!("{width}×{height} {letter}\n{shown}");
                let Some(body) = answer(&mut state, KeyCode::Char(letter)) else {
                    let has_once = options.to_string().contains("allow_once");
                    let is_option = letter == '1' || (letter == 'y' && has_once);
                    assert!(!is_option || dense(&shown).contains("toosmall"), "{size}");
                    continue;
                };
                n_answered += 1;
                assert!(dense(&shown).contains(&title), "{size}");
                // A long name may be cut, but not what it does.
                let name = dense(body["optionId"].as_str().unwrap());
                let begin: String = name.chars().take(8).collect();
                assert!(dense(&shown).contains(&begin), "{size}");
                let has_command = call["rawInput"].is_object();
                assert!(
                    !has_command || shown.contains("rm -rf ~") || shown.contains('…'),
                    "{size}"
                );
                // It did not arrive, so the same can be asked again.
                state.handle_message(ChatMessage::Failed("gone".into()));
                state.tick(state.now + 1000);
            }
        }
    }
    assert!(n_answered > 1000, "{n_answered}");
}

#[test]
fn ten_rows_are_enough_and_so_are_four_for_three_options() {
    let title = json!({ "toolCallId": "t", "title": "Run it" });
    for (width, height) in [(40, 10), (40, 4), (12, 14)] {
        let mut state = asking(&title, &three());
        look(&mut state, width, height);
        assert!(answer(&mut state, KeyCode::Char('y')).is_some(), "{width}×{height}");
    }
}

#[test]
fn what_was_too_small_works_once_it_is_larger() {
    let (call, options) = questions().remove(2);
    let mut state = asking(&call, &options);
    let small = look(&mut state, 40, 4);
    assert!(small.contains("the window is too small: no key answers"), "{small}");
    for code in [KeyCode::Char('y'), KeyCode::Char('1'), KeyCode::Down, KeyCode::Enter] {
        assert_eq!(answer(&mut state, code), None);
    }
    assert!(state.remark().unwrap().contains("not on the screen"));
    let large = look(&mut state, 40, 14);
    assert!(!large.contains("too small"), "{large}");
    assert!(answer(&mut state, KeyCode::Char('y')).is_some());

    // A size that is not drawn yet answers nothing either.
    let mut state = asking(&call, &options);
    state.note_visible_question(None);
    assert_eq!(answer(&mut state, KeyCode::Char('y')), None);
}

#[test]
fn a_page_to_visit_and_a_form_are_answered_only_when_they_are_seen() {
    let schema = json!({ "properties": { "name": { "type": "string" } } });
    let forms = [
        json!({ "message": "Who is it?", "requestedSchema": schema }),
        json!({ "message": "Log in, please", "url": "https://a.example/long/way/to/it" }),
    ];
    for (request, code) in forms.into_iter().zip([KeyCode::Enter, KeyCode::Char('y')]) {
        let message = dense(request["message"].as_str().unwrap());
        let wanted = if request["url"].is_string() { "/to/it" } else { "1/1name" };
        for (height, width) in
            (1..=14).flat_map(|rows| (8..=40).map(move |columns| (rows, columns)))
        {
            let mut state = opened();
            let mut log = Log::in_turn();
            let asked = json!({ "requestId": call_id('q'), "ask": true, "request": request });
            hear(&mut state, [log.event("elicitation_requested", &asked)]);
            state.tick(20_000);
            let shown = look(&mut state, width, height);
            let is_answered = answer(&mut state, code).is_some();
            let is_seen = dense(&shown).contains(&message) && dense(&shown).contains(wanted);
            assert!(is_seen || !is_answered, "{width}×{height}\n{shown}");
            assert!(is_answered || (width, height) != (40, 14), "{shown}");
        }
    }
}
