use serde_json::{Value, json};
use sessions::session::Answer;

use super::{Typed, prompt, typed};

fn request() -> Value {
    json!({ "toolCall": { "title": "make" }, "options": [
        { "optionId": "a", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "b", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "c", "name": "Reject", "kind": "reject_once" },
    ] })
}

fn chosen(line: &str, request: &Value) -> Option<String> {
    match typed(line, request) {
        Typed::Answer(Answer::Permission(id)) => id,
        Typed::Answer(Answer::Reject) => Some("rejected".to_owned()),
        _ => None,
    }
}

#[test]
fn a_number_a_letter_and_nothing_are_answers() {
    for (line, expected) in [
        ("1", "a"),
        ("2", "b"),
        ("3", "c"),
        ("y", "a"),
        ("Yes", "a"),
        ("n", "c"),
        ("NO", "c"),
        ("", "rejected"),
    ] {
        assert_eq!(chosen(line, &request()).as_deref(), Some(expected), "{line}");
    }
    assert!(matches!(typed("v", &request()), Typed::View));
}

#[test]
fn anything_else_is_told_what_is_accepted() {
    for line in ["0", "4", "x", "-1", "yy", "1 2"] {
        let Typed::Nothing(why) = typed(line, &request()) else { panic!("{line} is an answer") };
        assert!(why.contains(&format!("`{line}` is no answer")), "{why}");
        assert!(why.contains("1 for “Allow once”") && why.contains("n or Enter"), "{why}");
    }
}

#[test]
fn a_letter_does_not_choose_between_several() {
    let mut request = request();
    request["options"][1]["kind"] = json!("allow_once");
    assert_eq!(chosen("y", &request), None);

    let none = json!({ "options": [] });
    assert_eq!(chosen("y", &none), None);
    assert_eq!(chosen("n", &none).as_deref(), Some("rejected"));
}

#[test]
fn a_prompt_says_how_to_answer_without_the_options_again() {
    assert_eq!(prompt(&request(), false), "\nmake (1-3, y, n; Enter rejects) ");
    assert_eq!(prompt(&request(), true), "\nmake (1-3, y, n, v shows all of it; Enter rejects) ");
}
