//! Requests are as long as asked for, valid, and their answers are known again.

use serde_json::{Value, json};

use super::*;

#[test]
fn a_request_has_its_length_and_its_session_twice() {
    for n_bytes in [200, 16_384] {
        let mut request = Request::new(7, n_bytes);
        request.next_line();
        let line = request.next_line();
        assert_eq!(line.len(), n_bytes);
        assert_eq!(line.last(), Some(&b'\n'));
        let message: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(message["id"], "s000007-0000000002");
        assert_eq!(message["sessionId"], "sess-000007");
        assert_eq!(message["params"]["sessionId"], "sess-000007");
        assert_eq!(request.count(), 2);
    }
}

#[test]
fn the_length_of_an_echo_is_known() {
    let mut request = Request::new(12, 300);
    let message: Value = serde_json::from_slice(request.next_line()).unwrap();
    let answer = json!({
        "jsonrpc": "2.0",
        "id": message["id"],
        "sessionId": message["sessionId"],
        "result": { "echo": message["params"] },
    });
    assert_eq!(answer.to_string().len() + 1, request.n_answer_bytes());
}

#[test]
fn answers_are_told_from_everything_else() {
    let reader = AnswerReader::default();
    let read = |line: &str| reader.read(line.as_bytes());

    let (session, count) = (7, 12);
    let result = r#"{"jsonrpc":"2.0","id":"s000007-0000000012","result":{}}"#;
    assert_eq!(read(result), LoadAnswer::Result { session, count });
    let error = r#"{"id":"s000007-0000000012","error":{"code":1}}"#;
    assert_eq!(read(error), LoadAnswer::Error { session, count });
    assert_eq!(read(r#"{"method":"x","id":"s000007-0000000012"}"#), LoadAnswer::Other);
    assert_eq!(read(r#"{"id":12,"result":{}}"#), LoadAnswer::Other);
    assert_eq!(read(r#"{"id":"s00000"#), LoadAnswer::Other);
    assert_eq!(read("garbage\n"), LoadAnswer::Other);
}
