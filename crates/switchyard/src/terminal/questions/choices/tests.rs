use client::QuestionAnswer;
use serde_json::{Value, json};

use super::{TypedAnswer, parse_answer, prompt};

fn request() -> Value {
    json!({ "toolCall": { "title": "make" }, "options": [
        { "optionId": "a", "name": "Allow once", "kind": "allow_once" },
        { "optionId": "b", "name": "Always allow", "kind": "allow_always" },
        { "optionId": "c", "name": "Reject", "kind": "reject_once" },
    ] })
}

fn chosen(line: &str, request: &Value) -> Option<String> {
    match parse_answer(line, request) {
        TypedAnswer::Answer(QuestionAnswer::Option(id)) => Some(id),
        TypedAnswer::Answer(QuestionAnswer::Rejected) => Some("rejected".to_owned()),
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
    assert!(matches!(parse_answer("v", &request()), TypedAnswer::View));
}

#[test]
fn anything_else_is_told_what_is_accepted() {
    for line in ["0", "4", "x", "-1", "yy", "1 2"] {
        let TypedAnswer::Nothing(why) = parse_answer(line, &request()) else {
            panic!("{line} is an answer")
        };
        assert!(why.contains(&format!("`{line}` is no answer")), "{why}");
        assert!(why.contains("1 for “Allow once”") && why.contains("n or Enter"), "{why}");
    }
}

#[test]
fn a_letter_does_not_choose_between_several() {
    let mut request = request();
    request["options"][1]["kind"] = json!("allow_once");
    assert_eq!(chosen("y", &request), None);
    assert!(prompt(&request, false).contains("(1-3, n;"), "{}", prompt(&request, false));

    let none = json!({ "options": [] });
    assert_eq!(chosen("y", &none), None);
    assert_eq!(chosen("n", &none).as_deref(), Some("rejected"));
}

#[test]
fn a_letter_takes_the_first_of_several_grants_and_says_which() {
    let mut request = request();
    let more = json!({ "optionId": "d", "name": "Allow, and ask less", "kind": "allow_once" });
    request["options"].as_array_mut().unwrap().push(more);
    assert_eq!(chosen("y", &request).as_deref(), Some("a"));
    assert!(prompt(&request, false).contains("(1-4, y is 1, n;"), "{}", prompt(&request, false));
    let TypedAnswer::Nothing(why) = parse_answer("x", &request) else { panic!("x is an answer") };
    assert!(why.contains("y for 1"), "{why}");

    // Without one that lasts it takes a tool that acts.
    request["options"][1]["kind"] = json!("reject_always");
    assert_eq!(chosen("y", &request), None);
    request["toolCall"]["kind"] = json!("execute");
    assert_eq!(chosen("y", &request).as_deref(), Some("a"));
}

#[test]
fn a_prompt_says_how_to_answer_without_the_options_again() {
    assert_eq!(prompt(&request(), false), "\nmake (1-3, y, n; Enter rejects) ");
    assert_eq!(prompt(&request(), true), "\nmake (1-3, y, n, v shows all of it; Enter rejects) ");
}
