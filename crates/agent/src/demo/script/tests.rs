//! Tests of `script`.

use super::*;

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
