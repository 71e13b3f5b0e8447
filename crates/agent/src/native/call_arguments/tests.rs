use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(text: &str, expect: Value) {
    assert_eq!(parse(text).map(Value::Object), Ok(expect), "{text}");
}

fn refuse(text: &str, why: &str) {
    let said = parse(text).unwrap_err();
    assert!(said.contains(why), "{text}: {said}");
}

#[test]
fn nothing_is_an_empty_object() {
    for nothing in ["", "  \n", "null", "{}", "{}{}", "\"\"", "\"{}\"", "``` \n```"] {
        check(nothing, json!({}));
    }
}

#[test]
fn what_is_right_stays_as_it_is() {
    check(r#"{"a":"b\n","n":1.5,"l":[{}]}"#, json!({ "a": "b\n", "n": 1.5, "l": [{}] }));
}

#[test]
fn small_faults_are_mended() {
    check("{\"a\": 1,}", json!({ "a": 1 }));
    check("{\"a\": [1, 2, ], }", json!({ "a": [1, 2] }));
    check("```json\n{\"a\": 1}\n```", json!({ "a": 1 }));
    check(r#""{\"a\": \"x\\ny\"}""#, json!({ "a": "x\ny" }));
    check("{\"a\": \"one\ntwo\tthree\"}", json!({ "a": "one\ntwo\tthree" }));
    check(r#"{"pattern": "\d+\.rs"}"#, json!({ "pattern": "\\d+\\.rs" }));
    check(r#"{"a": "it\'s"}"#, json!({ "a": "it's" }));
    check("{}{\"a\": 1}", json!({ "a": 1 }));
    check("{\"a\": 1}{\"a\": 1}", json!({ "a": 1 }));
    check("{\"a\": {\"b\": [true", json!({ "a": { "b": [true] } }));
    check("{\"a\": \"b\"", json!({ "a": "b" }));
}

#[test]
fn commas_and_brackets_inside_strings_are_left_alone() {
    check("{\"a\": \",}\", \"b\": \"{[\",}", json!({ "a": ",}", "b": "{[" }));
}

#[test]
fn what_was_cut_is_not_made_whole() {
    refuse("{\"path\": \"a\", \"content\": \"half of", "middle of a string");
    refuse("{\"n\": 12", "cut off");
    refuse("{\"a\": 1,", "cut off");
    refuse("{\"a\":", "cut off");
    refuse("{\"a\"", "near");
    refuse("{\"a\": \"b\\", "middle of a string");
}

#[test]
fn what_has_two_meanings_is_refused_with_a_reason() {
    refuse("{\"a\": 1}{\"b\": 2}", "near");
    refuse("{\"a\": 1]", "near");
    refuse("{'a': 1}", "near");
    refuse("[1]", "a list");
    refuse("\"words\"", "a string");
    refuse("7", "only `7`");
    refuse("{\"a\": 1,,}", "near");
    refuse(&"[".repeat(100_000), "could not be read");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_mixture_of_json_makes_it_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", "\"", "\\", ",", ":", "a", "1", "true", "\n", "```", " ", "ä",
            ]),
            0..40,
        ),
    ) {
        let _ = parse(&parts.concat());
    }

    #[test]
    fn every_object_comes_out_as_it_is_also_encoded_twice_or_fenced(
        members in prop::collection::btree_map("\\PC{0,6}", "(?s).{0,20}", 0..4),
    ) {
        let object = json!(members);
        let text = object.to_string();
        for text in [text.clone(), json!(text).to_string(), format!("```json\n{text}\n```")] {
            prop_assert_eq!(parse(&text).map(Value::Object), Ok(object.clone()));
        }
    }

    #[test]
    fn a_cut_object_is_never_read_as_something_else(
        content in "[a-z0-9 {}\\[\\],:\\\\\"\\n]{0,20}",
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = json!({ "path": "p", "content": content, "n": 1234 });
        let text = whole.to_string();
        let cut = cut.index(text.len());
        if let Ok(read) = parse(&text[..cut]) {
            // Members may be missing, but none has another value.
            for (name, value) in read {
                prop_assert_eq!(Some(&value), whole.get(&name));
            }
        }
    }
}
