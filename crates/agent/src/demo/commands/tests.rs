//! Tests of `commands`.

use super::*;

#[test]
fn words_and_numbers_are_taken_from_the_front() {
    let mut arguments = ScriptArguments::new("  12  x  the rest ");
    assert_eq!(arguments.number::<u64>().ok(), Some(12));
    assert_eq!(arguments.word(), Some("x"));
    assert_eq!(arguments.rest(), "the rest");
    assert!(ScriptArguments::new("x").number::<u64>().is_err());
    assert_eq!(ScriptArguments::new("").number_or(5).ok(), Some(5));
}

#[test]
fn quotes_keep_words_together() {
    for (text, expected) in [
        ("a  b", Some(&["a", "b"][..])),
        ("a 'b c' \"d 'e'\"f ''", Some(&["a", "b c", "d 'e'f", ""])),
        ("a 'b", None),
        ("", None),
    ] {
        let argv = ScriptArguments::new(text).argv().ok();
        assert_eq!(
            argv.as_deref(),
            expected.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>()).as_deref()
        );
    }
}

#[test]
fn a_script_is_split_at_newlines_and_spaced_semicolons() {
    for (text, expected) in [
        ("help", &[("help", "")][..]),
        ("echo a;b ; say  c d ", &[("echo", "a;b"), ("say", "c d")]),
        ("echo a\r\n\n  pid", &[("echo", "a"), ("pid", "")]),
        ("/echo /x", &[("echo", "/x")]),
        (" \n ", &[]),
    ] {
        assert_eq!(split(text), expected, "{text:?}");
    }
}

#[test]
fn what_clients_put_before_the_request_is_passed_over() {
    let text = "# Instructions\n\nsay no\n\n# Request\n\n## user\nsay yes ; echo so";
    assert_eq!(split(request(text)), [("say", "yes"), ("echo", "so")]);
    assert_eq!(request("say yes"), "say yes");
}
