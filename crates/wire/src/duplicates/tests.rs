//! Two of one name are found wherever they are, and nothing else is taken for them.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::readable;

#[test]
fn twins_are_found_at_any_depth() {
    for text in [
        r#"{"sessionId":"a","sessionId":"b"}"#,
        r#"{"a":{"b":[1,{"c":1,"c":1}]}}"#,
        r#"{"a":1,"\u0061":2}"#,
    ] {
        assert_eq!(check_unambiguous(text), Err(Ambiguity::Duplicate), "{text}");
    }
    for text in [
        r#"{"a":{"a":{"a":[{"a":1},{"a":1.5e3},null,true,-1,"a"]}}}"#,
        "[]",
        "{}",
        "\"x\"",
        "18446744073709551616",
    ] {
        assert_eq!(check_unambiguous(text), Ok(()), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_for_that() {
    let deep = "[".repeat(200) + &"]".repeat(200);
    for text in ["", "{", "{} {}", r#"{"a":"\ud83d"}"#, r#"{"a":1e400}"#, r#"{"a" 1}"#, &deep] {
        let refused = check_unambiguous(text).unwrap_err();
        assert!(matches!(refused, Ambiguity::Unreadable(_)), "{text}: {refused}");
    }
}

/// A value, and whether it has duplicate members.
fn value() -> impl Strategy<Value = (String, bool)> {
    let scalar =
        prop::sample::select(vec!["1", "-2.5e3", "1e400", "null", r#""\ud83d""#, r#""a""#]);
    let leaf = scalar.prop_map(|text| (text.to_owned(), false));
    leaf.prop_recursive(4, 32, 4, |inner| {
        let names = prop::sample::select(vec![
            ("a", "a"),
            (r"\u0061", "a"),
            ("b", "b"),
            (r"\ud83d", "\u{fffd}"),
            (r"\ud83d\ude00", "😀"),
            (r"\\u0061", "\\u0061"),
        ]);
        let object = prop::collection::vec((names, inner.clone()), 0..4).prop_map(|members| {
            let mut seen = HashSet::new();
            let has = members.iter().any(|((_, name), (_, has))| !seen.insert(*name) || *has);
            let member = |((name, _), (value, _)): &((&str, &str), (String, bool))| {
                format!("\"{name}\":{value}")
            };
            let members: Vec<String> = members.iter().map(member).collect();
            (format!("{{{}}}", members.join(",")), has)
        });
        let list = prop::collection::vec(inner, 0..4).prop_map(|items| {
            let has = items.iter().any(|(_, has)| *has);
            let items: Vec<String> = items.into_iter().map(|(text, _)| text).collect();
            (format!("[{}]", items.join(",")), has)
        });
        prop_oneof![object, list]
    })
}

proptest! {
    #[test]
    fn twins_are_found_beside_and_behind_what_is_made_readable((text, has_twins) in value()) {
        let wanted = if has_twins { Err(Ambiguity::Duplicate) } else { Ok(()) };
        prop_assert_eq!(check_unambiguous(&readable(&text)), wanted, "{}", text);
    }
}
