//! Tests of `rpc`.

use super::*;

fn kind(line: &str) -> String {
    match read(line.as_bytes()) {
        Ok(Incoming::Request { id, method, params }) => format!("request {id} {method} {params}"),
        Ok(Incoming::Notification { method, params }) => format!("notification {method} {params}"),
        Ok(Incoming::Response { id, answer: Answer::Result(raw) }) => format!("result {id} {raw}"),
        Ok(Incoming::Response { id, answer: Answer::Error(raw) }) => format!("error {id} {raw}"),
        Err(error) => error.code.to_string(),
    }
}

#[test]
fn messages_are_told_apart() {
    for (line, expected) in [
        (r#"{"id":1,"method":"a","params":{"x":1e2}}"#, r#"request 1 a {"x":1e2}"#),
        (r#"{"id":null,"method":"a"}"#, "request null a null"),
        (r#"{"method":"\u0061"}"#, "notification a null"),
        (r#"{"id":"x","result":null}"#, r#"result "x" null"#),
        (r#"{"id":2,"error":{"code":1}}"#, r#"error 2 {"code":1}"#),
        (r#"{"id":2}"#, "-32600"),
        ("{}", "-32600"),
        ("[1]", "-32600"),
        (r#"{"id":1,"method":5}"#, "-32600"),
        ("{", "-32700"),
        ("hello", "-32700"),
    ] {
        assert_eq!(kind(line), expected, "{line}");
    }
}

#[test]
fn what_is_written_is_one_line_with_the_payload_as_given() {
    let line = update("s\"1\n", r#"{"sessionUpdate":"x", "n":1e2}"#);
    assert_eq!(
        line,
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":\
         {\"sessionId\":\"s\\\"1\\n\",\"update\":{\"sessionUpdate\":\"x\", \"n\":1e2}}}\n"
    );
}
