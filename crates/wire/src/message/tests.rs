use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Message, MessageError> {
    Message::parse(Bytes::copy_from_slice(text.as_bytes()))
}

fn check(text: &str, kind: MessageKind, id: &str, method: &str, body: &str) {
    let message = parse(text).unwrap();
    assert_eq!(
        (message.kind(), message.id().as_str(), message.method(), message.body()),
        (kind, id, method, body),
        "{text}"
    );
}

#[test]
fn the_four_kinds_are_told_apart() {
    use MessageKind::*;
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
        Request,
        "1",
        "m",
        r#"{"a":1}"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"m"}"#, Notification, "null", "m", "null");
    check(r#"{"id":"x","result":null,"jsonrpc":"2.0"}"#, Response, r#""x""#, "", "null");
    check(r#"{"id":null,"error":{"code":1}}"#, Error, "null", "", r#"{"code":1}"#);
    check(r#"{"id":3,"result":1,"error":null}"#, Response, "3", "", "1");
    check(r#"{"id":null,"method":"m"}"#, Request, "null", "m", "null");
    check(r#"{"method":"session\/update"}"#, Notification, "null", "session/update", "null");
    check("\u{feff}{\"method\":\"m\"}", Notification, "null", "m", "null");
}

#[test]
fn ids_and_bodies_keep_their_bytes() {
    let body = r#"{ "n":12345678901234567890123,"e":1e2, "s":"\u0041"}"#;
    let line = format!(r#"{{"id":12345678901234567890123,"method":"m","params":{body},"x":[1]}}"#);
    check(&line, MessageKind::Request, "12345678901234567890123", "m", body);
}

#[test]
fn what_is_no_message_says_why_and_keeps_its_id() {
    for (text, code, id) in [
        ("garbage", codes::PARSE, "null"),
        ("{\"a\":", codes::PARSE, "null"),
        ("[]", codes::INVALID_REQUEST, "null"),
        ("42", codes::INVALID_REQUEST, "null"),
        ("[{\"id\":1,\"method\":\"m\"}]", codes::INVALID_REQUEST, "null"),
        ("{}", codes::INVALID_REQUEST, "null"),
        (r#"{"id":1}"#, codes::INVALID_REQUEST, "1"),
        (r#"{"id":1,"method":2}"#, codes::INVALID_REQUEST, "null"),
        (r#"{"id":true,"method":"m"}"#, codes::INVALID_REQUEST, "null"),
        (r#"{"id":[1],"method":"m"}"#, codes::INVALID_REQUEST, "null"),
        (r#"{"id":1,"method":"m","result":1}"#, codes::INVALID_REQUEST, "1"),
        (r#"{"id":1,"result":1,"error":{}}"#, codes::INVALID_REQUEST, "1"),
        (r#"{"id":1,"id":2,"method":"m"}"#, codes::INVALID_REQUEST, "null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, codes::INVALID_REQUEST, "1"),
    ] {
        let (answered, error) = parse(text).unwrap_err().to_rpc();
        assert_eq!((error.code, answered.as_str()), (code, id), "{text}");
    }
}

#[test]
fn nesting_has_a_limit_that_strings_do_not_count_towards() {
    let nested =
        |n: usize| format!(r#"{{"method":"m","params":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    assert!(parse(&nested(MAX_NESTING - 1)).is_ok());
    assert_eq!(parse(&nested(MAX_NESTING)).unwrap_err(), MessageError::TooDeep);
    assert_eq!(parse(&nested(1_000_000)).unwrap_err(), MessageError::TooDeep);
    assert!(parse(&format!(r#"{{"method":"m","params":"{}\\\""}}"#, "[".repeat(500))).is_ok());
}

#[test]
fn a_peek_finds_session_and_update() {
    let line = r#"{"method":"session/update","params":{"sessionId":"a\"b","update":{"x":[1],"sessionUpdate":"plan"}}}"#;
    let message = parse(line).unwrap();

    let peek = message.peek().unwrap();

    assert_eq!(peek.session_id(), Some("a\"b"));
    assert_eq!(peek.update_name(), Some("plan"));
    assert_eq!(
        message.body_for_session(&peek, "mine").as_str(),
        r#"{"sessionId":"mine","update":{"x":[1],"sessionUpdate":"plan"}}"#
    );
}

#[test]
fn a_peek_into_odd_bodies_finds_nothing_or_refuses() {
    for body in
        ["null", "{}", r#"{"sessionId":5}"#, r#"{"update":7}"#, r#"{"update":{"sessionUpdate":7}}"#]
    {
        let message = parse(&format!(r#"{{"method":"m","params":{body}}}"#)).unwrap();
        let peek = message.peek().unwrap();
        assert_eq!((peek.session_id(), peek.update_name()), (None, None), "{body}");
        assert_eq!(message.body_for_session(&UpdatePeek::default(), "s").as_str(), body);
    }
    for twins in [r#""sessionId":"a","sessionId":"b""#, r#""update":{},"update":7"#] {
        let twice = parse(&format!(r#"{{"id":4,"method":"m","params":{{{twins}}}}}"#)).unwrap();
        assert_eq!(twice.peek().unwrap_err().to_rpc().0.as_str(), "4");
    }
}

#[test]
fn the_id_of_an_unreadable_line_is_salvaged() {
    let deep = format!(r#"{{"id":7,"result":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    for (line, expected) in [
        (deep.as_bytes(), Some(("7", false))),
        (br#"{"id":"a","result":1,"error":{}}"#, Some((r#""a""#, false))),
        (br#"{"id":3,"method":"m","result":1}"#, Some(("3", true))),
        (b"{\"id\":4,\"result\":\"\xff\"}", Some(("4", false))),
        (b"{\"result\":1}", None),
        (b"[]", None),
        (b"garbage", None),
    ] {
        let salvaged = salvage_id(line);
        let salvaged = salvaged.as_ref().map(|(id, is_request)| (id.as_str(), *is_request));
        assert_eq!(salvaged, expected, "{}", String::from_utf8_lossy(line));
    }
}

proptest! {
    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::parse(bytes.into()) {
            let _ = message.peek().map(|peek| message.body_for_session(&peek, "s"));
        }
    }

    #[test]
    fn almost_messages_never_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ":", ",", "\"id\"", "\"method\"", "\"params\"", "\"result\"",
                "\"sessionId\"", "\"update\"", "1", "null", "\"x\"", "-", "1e400", "\\", "\"",
            ]), 0..24),
    ) {
        if let Ok(message) = parse(&parts.concat()) {
            let _ = message.peek().map(|peek| message.body_for_session(&peek, "s"));
        }
    }
}
