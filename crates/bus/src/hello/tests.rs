use serde_json::{Value, json};

use crate::hello::HELLO;

use super::*;

const SECRET: &str = "correct horse battery";

fn greeted(line: &str, needs_token: bool) -> Greeting {
    let token = BusToken::new(SECRET).unwrap();
    greet(Bytes::copy_from_slice(line.as_bytes()), needs_token.then_some(&token))
}

fn error_of(greeting: Greeting) -> Value {
    let Greeting::Refused { answer, .. } = greeting else { panic!("{greeting:?}") };
    serde_json::from_slice(&answer).unwrap()
}

#[test]
fn a_token_must_be_the_same_from_end_to_end() {
    let token = BusToken::new(SECRET).unwrap();
    assert!(token.is(SECRET));
    for wrong in ["", "correct horse", "correct horse battery ", "Correct horse battery"] {
        assert!(!token.is(wrong), "{wrong:?}");
    }
    assert_eq!(BusToken::new("short"), None);
    assert!(!format!("{token:?}").contains("horse"));
}

#[test]
fn a_hello_request_is_answered_and_a_notification_is_not() {
    let line = json!({"jsonrpc": "2.0", "id": 9_007_199_254_740_993_u64, "method": HELLO,
                      "params": {"token": SECRET, "pool": "b"}})
    .to_string();
    let Greeting::Hello { pool, answer } = greeted(&line, true) else { panic!() };
    assert_eq!(pool.as_deref(), Some("b"));
    assert_eq!(
        &answer.unwrap()[..],
        br#"{"jsonrpc":"2.0","id":9007199254740993,"result":{}}
"#
    );
    // Some encoders escape slashes.
    let line = r#"{"jsonrpc":"2.0","method":"switchyard\/hello"}"#;
    assert_eq!(greeted(line, false), Greeting::Hello { pool: None, answer: None });
}

#[test]
fn without_the_token_nobody_comes_in() {
    let lines = [
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": HELLO, "params": {"token": "wrong"}}),
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": HELLO}),
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": HELLO, "params": {"token": [SECRET]}}),
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": "initialize", "params": {}}),
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": "initialize",
               "params": {"_meta": {"switchyard": {"token": "wrong"}}}}),
        json!({"jsonrpc": "2.0", "id": "a\"b", "method": "x", "params": {"token": SECRET}}),
    ];
    for line in lines {
        let error = error_of(greeted(&line.to_string(), true));
        assert_eq!(error["id"], "a\"b", "{line}");
        assert_eq!(error["error"]["code"], -32000, "{line}");
    }
    for line in ["GET / HTTP/1.1", "", "{", "[]"] {
        assert_eq!(error_of(greeted(line, true))["id"], Value::Null, "{line}");
    }
}

#[test]
fn the_token_of_an_initialize_goes_no_further() {
    let line = format!(
        r#"{{ "jsonrpc":"2.0", "id":1.50, "method":"initialize", "params":{{"x":12345678901234567890,"_meta":{{"switchyard":{{"pool":"p","token" : "{SECRET}"}}}}}} }}"#
    );
    let Greeting::Message(passed_on) = greeted(&line, true) else { panic!() };
    let expected = line.replace(&format!("\"{SECRET}\""), "\"\"");
    assert_eq!(String::from_utf8_lossy(&passed_on), expected);
}

#[test]
fn where_no_token_is_needed_lines_pass_as_they_are() {
    for line in ["not json", r#"{"method":"hello"}"#, r#"{"jsonrpc":"2.0","method":"a"}"#] {
        assert_eq!(greeted(line, false), Greeting::Message(Bytes::from_static(line.as_bytes())));
    }
}
