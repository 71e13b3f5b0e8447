use rmcp::model::{ClientResult, NumberOrString};
use serde_json::json;

use super::*;

fn sent(message: Value) -> ClientJsonRpcMessage {
    serde_json::from_value(message).unwrap()
}

fn call(id: i64) -> ClientJsonRpcMessage {
    sent(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "x" } }))
}

fn take(filter: &mut MessageFilter, message: Value) -> Option<Value> {
    match filter.admit(message.to_string().as_bytes()) {
        FilterVerdict::Pass(message) => Some(serde_json::to_value(*message).unwrap()),
        FilterVerdict::Skip => None,
        FilterVerdict::Disconnect(why) => panic!("{why}"),
    }
}

#[test]
fn what_nobody_looks_at_is_dropped() {
    let mut filter = MessageFilter::default();
    let log = json!({ "jsonrpc": "2.0", "method": "notifications/message",
        "params": { "level": "info", "data": "x" } });
    assert_eq!(take(&mut filter, log), None);
    let own = json!({ "jsonrpc": "2.0", "method": "$/whatever", "params": {} });
    assert_eq!(take(&mut filter, own), None);
    let news = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    assert!(take(&mut filter, news).is_some());
    assert!(matches!(filter.admit(b"Server running on stdio"), FilterVerdict::Skip));
    assert!(matches!(filter.admit(b"[1, 2"), FilterVerdict::Skip));
    assert!(matches!(filter.admit(b"\xff\xfe"), FilterVerdict::Skip));
}

#[test]
fn an_answer_that_cannot_be_read_becomes_an_error_for_who_waits() {
    let mut filter = MessageFilter::default();
    filter.note_sent(&call(3));
    let odd = json!({ "jsonrpc": "1.0", "id": 3, "result": {}, "error": 7 });
    let passed = take(&mut filter, odd).unwrap();
    assert_eq!(passed["id"], 3);
    assert!(passed["error"]["message"].as_str().unwrap().contains("cannot be read"));
    assert!(filter.fail_all("").is_empty());
}

#[test]
fn a_message_that_was_too_long_fails_those_who_wait_and_nobody_else() {
    let mut filter = MessageFilter::default();
    for id in 1..=3 {
        filter.note_sent(&call(id));
    }
    filter.note_sent(&sent(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 2 } })));
    take(&mut filter, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).unwrap();
    let failed = filter.fail_all("too long");
    let ids: Vec<_> = failed.iter().map(|error| serde_json::to_value(error).unwrap()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!((&ids[0]["id"], &ids[0]["error"]["message"]), (&json!(3), &json!("too long")));
}

#[test]
fn a_late_answer_to_the_probe_is_not_taken_for_that_to_initialize() {
    let mut filter = MessageFilter::default();
    let probe = json!({ "jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {} });
    filter.note_sent(&sent(probe));
    filter.note_sent(&sent(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "x", "version": "1" } } })));
    let late = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32601, "message": "?" } });
    assert_eq!(take(&mut filter, late), None);
    assert!(take(&mut filter, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).is_some());
}

#[test]
fn a_server_that_only_asks_is_left() {
    let mut filter = MessageFilter::default();
    let ping = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
    for id in 0..1000 {
        assert!(matches!(filter.admit(ping(id).as_bytes()), FilterVerdict::Pass(_)));
        let answer = ClientResult::empty(());
        filter.note_sent(&ClientJsonRpcMessage::response(answer, NumberOrString::Number(id)));
    }
    let is_left = |id| matches!(filter.admit(ping(id).as_bytes()), FilterVerdict::Disconnect(_));
    assert!((0..1000).any(is_left));
}
