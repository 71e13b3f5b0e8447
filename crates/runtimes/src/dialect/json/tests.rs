//! Broken characters and broken lines.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn halves_of_characters_are_replaced_and_nothing_else_is() {
    for (line, expected) in [
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""a\uD83Db""#, "a\u{fffd}b"),
        (r#""\ude00x""#, "\u{fffd}x"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83d\n\"\\ud83d é\ud83d""#, "\u{fffd}\n\"\\ud83d é\u{fffd}"),
        (r#""\\\ud83d""#, "\\\u{fffd}"),
    ] {
        assert_eq!(parse(line).unwrap(), json!(expected), "{line}");
    }
    // An escaped backslash begins no escape.
    assert_eq!(parse(r#""\\ud83d""#).unwrap(), json!("\\ud83d"));
}

#[test]
fn what_is_no_json_otherwise_stays_none() {
    for line in ["", r#""\ud83d"#, r#""\u+12""#, r#"{"a":1e999}"#, "\"a\u{0}\"", r"\", "\\é", "NaN"]
    {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn a_beginning_tells_what_came_whole() {
    for (head, expected) in [
        (
            r#"{"type":"result","is_error":false,"result":"abc"#,
            r#"{"type":"result","is_error":false}"#,
        ),
        (r#"{"a":{"b":[1,2,{"c":"x, }","d":"#, r#"{"a":{"b":[1,2,{"c":"x, }"}]}}"#),
        (r#"{"a":{"b":1},"c"#, r#"{"a":{"b":1}}"#),
        (r#"{"a":"\ud83d","b":"\"#, r#"{"a":"�"}"#),
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"type":"res"#, "null"),
        ("no json, at all", "null"),
        ("", "null"),
        ("]}", "null"),
    ] {
        assert_eq!(parse_head(head).to_string(), expected, "{head}");
    }
}

proptest! {
    #[test]
    fn nothing_is_too_odd(line in r#"[\\u"{}\[\],:d8cD9é0 ]{0,40}"#) {
        let _ = (parse(&line), parse_head(&line));
    }
}
