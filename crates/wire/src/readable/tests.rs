//! What is JSON can be read, what is none cannot, and nothing else changes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(&readable(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn halves_of_pairs_and_numbers_beyond_all_others_are_read() {
    assert_eq!(read(r#""a \ud83d b""#), "a \u{fffd} b");
    assert_eq!(read(r#""\uDE00\ud83d\ud83d\ude00\ud83d""#), "\u{fffd}\u{fffd}😀\u{fffd}");
    assert_eq!(read(r#""\\ud83d \\\ud83d""#), "\\ud83d \\\u{fffd}");
    assert_eq!(read(r#""\ud83d\"1e400\u0041""#), "\u{fffd}\"1e400A");
    assert_eq!(
        read(r#"{"\ud83d":[1e400,-1E+400,1e-400,2]}"#)["\u{fffd}"],
        json!([1e308, -1e308, 0.0, 2])
    );
    assert_eq!(read(&"9".repeat(400)), 1e308);
    assert_eq!(read(&format!("[1e{},\"x\"]", "9".repeat(50)))[1], "x");
}

#[test]
fn what_can_be_read_stays_as_it_is() {
    for text in [r#"{"a":"\ud83d\ude00 1e400","b":[1.5e3,-0,18446744073709551616]}"#, "null", ""] {
        assert!(matches!(readable(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_no_json_is_not_made_any(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "\"", "\\", "\\u", "\\ud83d", "d83d", "\\ude00", "1e400", "-", "+", ".", "e", "0",
                "9", "01e400", "1.e400", "{", "}", "[", "]", ":", ",", " ", "a", "é", "\0",
            ]),
            0..12,
        )
    ) {
        let text = parts.concat();
        let is_json = serde_json::from_str::<IgnoredAny>(&text).is_ok();
        let is_read = serde_json::from_str::<Value>(&readable(&text)).is_ok();
        prop_assert_eq!(is_json, is_read, "{}", text);
    }
}
