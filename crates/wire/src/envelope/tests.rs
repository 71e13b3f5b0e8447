use proptest::prelude::*;

use super::*;

/// The other reader of the same lines must agree about all of it, here and under a fuzzer.
#[allow(unreachable_pub, reason = "it is part of a crate of its own, too")]
#[path = "../../../../fuzz/src/envelope.rs"]
mod target;
use target::read as agrees_with_message;

fn read(line: &str) -> Envelope {
    Envelope::read(line.as_bytes()).unwrap()
}

fn part(line: &str, span: Span) -> &str {
    std::str::from_utf8(span.of(line.as_bytes())).unwrap()
}

#[test]
fn a_request_shows_its_session_and_body() {
    let line = r#" {"jsonrpc":"2.0","id":"a\n1","method":"session/prompt","params":{"x":[{}],"sessionId":"s1","_meta":{"k":1}},"pool":"p"} "#;
    let envelope = read(line);
    assert_eq!(envelope.kind, MessageKind::Request);
    assert_eq!(part(line, envelope.id), r#""a\n1""#);
    assert_eq!(envelope.method.text(line.as_bytes()).unwrap(), "session/prompt");
    assert_eq!(envelope.session.text(line.as_bytes()).unwrap(), "s1");
    assert_eq!(envelope.pool.text(line.as_bytes()).unwrap(), "p");
    assert_eq!(part(line, envelope.meta), r#"{"k":1}"#);
    assert_eq!(part(line, envelope.body), r#"{"x":[{}],"sessionId":"s1","_meta":{"k":1}}"#);
    assert!(!envelope.top_session.is_some() && !envelope.request_id.is_some());
}

#[test]
fn an_answer_shows_the_session_that_it_made() {
    let line = r#"{"id":7,"sessionId":"top","result":{"sessionId":"s\u0031"}}"#;
    let envelope = read(line);
    assert_eq!(envelope.kind, MessageKind::Response);
    assert_eq!(envelope.session.text(line.as_bytes()).unwrap(), "s1");
    assert_eq!(part(line, envelope.session), r#""s\u0031""#);
    assert_eq!(envelope.top_session.text(line.as_bytes()).unwrap(), "top");
}

#[test]
fn names_written_with_escapes_are_the_same_names() {
    let line = r#"{"\u0069d":1,"method":"session\/new","params":{"session\u0049d":"x"}}"#;
    let envelope = read(line);
    assert_eq!(part(line, envelope.id), "1");
    assert_eq!(envelope.method.text(line.as_bytes()).unwrap(), "session/new");
    assert_eq!(part(line, envelope.session), r#""x""#);
}

#[test]
fn a_session_that_is_no_name_is_none() {
    for value in ["1", "null", "\"\"", "{}"] {
        let line =
            format!(r#"{{"method":"m","params":{{"sessionId":{value}}},"sessionId":{value}}}"#);
        assert!(!read(&line).session.is_some() && !read(&line).top_session.is_some(), "{line}");
    }
}

#[test]
fn what_cannot_be_read_keeps_the_id_that_came_before_the_fault() {
    for (line, is_parse_error, id, has_method) in [
        ("GET / HTTP/1.1", true, "", false),
        (r#"{"id":5,"method":"m","params":{"a":tru}}"#, true, "5", true),
        (r#"{"jsonrpc":"2.0","id":"x","result":{"cut":"of"#, true, "\"x\"", false),
        (r#"{"id":1,"method":"m"} x"#, true, "1", true),
        (r#"[{"id":1,"method":"m"}]"#, false, "", false),
        (r#"{"id":1,"id":2,"method":"m"}"#, false, "1", false),
        (r#"{"id":1,"method":"m","params":{"sessionId":"a","sessionId":"b"}}"#, false, "1", true),
        (r#"{"id":[1],"method":"m"}"#, false, "", true),
        (r#"{"id":3}"#, false, "3", false),
    ] {
        let error = Envelope::read(line.as_bytes()).unwrap_err();
        assert_eq!(
            (error.is_parse_error, part(line, error.id), error.has_method),
            (is_parse_error, id, has_method),
            "{line}: {error}"
        );
    }
}

#[test]
fn nesting_has_the_same_limit_as_for_messages() {
    for (inner, is_fine) in [(126, true), (127, false), (5000, false)] {
        let line =
            format!(r#"{{"method":"m","params":{}{}}}"#, "[".repeat(inner), "]".repeat(inner));
        assert_eq!(Envelope::read(line.as_bytes()).is_ok(), is_fine, "{inner}");
        let line =
            format!(r#"{{"method":"m","x":{}1{}}}"#, r#"{"a":"#.repeat(inner), "}".repeat(inner));
        assert_eq!(Envelope::read(line.as_bytes()).is_ok(), is_fine, "{inner}");
    }
}

#[test]
fn control_bytes_and_bad_utf8_in_strings_are_refused_wherever_they_stand() {
    for at in 0..200 {
        let mut text = vec![b'a'; 200];
        text[at] = 1;
        let line = [br#"{"method":"m","params":[""#.as_slice(), &text, b"\"]}"].concat();
        assert!(Envelope::read(&line).is_err(), "{at}");
        text[at] = 0xff;
        let line = [br#"{"method":"m","params":[""#.as_slice(), &text, b"\"]}"].concat();
        assert!(Envelope::read(&line).is_err(), "{at}");
    }
}

#[test]
fn escapes_are_checked_wherever_they_stand() {
    for (escape, is_fine) in [
        (r"\n", true),
        (r#"\""#, true),
        (r"\\", true),
        (r"\u00e9", true),
        (r"\x", false),
        (r"\u00g9", false),
        ("\\", false),
    ] {
        for at in 0..150 {
            for n_after in [0, 3, 100] {
                let (before, after) = ("a".repeat(at), "a".repeat(n_after));
                let line = format!(r#"{{"method":"m","params":["{before}{escape}{after}"]}}"#);
                assert_eq!(Envelope::read(line.as_bytes()).is_ok(), is_fine, "{line}");
                agrees_with_message(line.as_bytes());
                agrees_with_message(line.replace(escape, &escape.repeat(40)).as_bytes());
                // Cut off inside.
                agrees_with_message(&line.as_bytes()[..at + escape.len() + 24]);
            }
        }
    }
}

fn json_like() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"2.0\"".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?([eE][+-]?[0-9]{1,2})?",
        "\"([a-z é\u{2028}]|\\\\[\"\\\\/bfnrt]|\\\\u00[0-7][0-9a-f]){0,90}\"",
        "[-0-9.eE\"\\\\a-z]{1,6}",
    ];
    let key = prop::sample::select(vec![
        "id",
        "method",
        "params",
        "result",
        "error",
        "sessionId",
        "jsonrpc",
        "pool",
        "_meta",
        "requestId",
        "other",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|members| {
                let members: Vec<_> =
                    members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", members.join(" ,"))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn it_agrees_with_the_message_reader(line in json_like()) {
        agrees_with_message(line.as_bytes());
    }

    #[test]
    fn it_agrees_about_spoilt_messages(line in json_like(), at: prop::sample::Index, byte: u8) {
        let line = format!(r#"{{"id":1,"method":"m","params":{line}}}"#);
        agrees_with_message(line.as_bytes());
        let mut spoilt = line.clone().into_bytes();
        let place = at.index(spoilt.len());
        spoilt[place] = byte;
        agrees_with_message(&spoilt);
        agrees_with_message(&line.as_bytes()[..place]);
    }

    #[test]
    fn no_bytes_make_it_panic(line: Vec<u8>) {
        agrees_with_message(&line);
    }
}
