//! Ids, names and payloads: what the bus must hand over exactly as it was written.
//!
//! In: lines written byte by byte. Out: the same bytes at the other end, to the right party.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{apart, bus, pool, session};
use serde_json::{Value, json};
use testkit::line_client::LineClient;

/// Ids as people write them, also those that a number type cannot hold.
const IDS: [&str; 16] = [
    "0",
    "1",
    "-7",
    "\"1\"",
    "\"\"",
    "\"0\"",
    "18446744073709551616",
    "-123456789012345678901234567890",
    "1e2",
    "100",
    "1.0",
    "1.50",
    "-0",
    r#""a\"b\\c\/d\u0041""#,
    r#""é \ud83d\ude00 漢""#,
    r#""{\"id\":1}""#,
];

#[test]
fn two_clients_with_the_same_ids_get_their_own_answers_byte_for_byte() {
    let bus = bus(&pool("workers = 1"));
    let (mut one, mut other) = (bus.tcp_client(), bus.client());
    let line = |id: &str, who: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"any/thing","params":{{"who":"{who}"}}}}"#)
    };
    for id in IDS {
        one.send(&line(id, "one"));
        other.send(&line(id, "other"));
    }
    for (client, who) in [(&mut one, "one"), (&mut other, "other")] {
        for id in IDS {
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"echo":{{"who":"{who}"}}}}}}"#);
            assert_eq!(client.next_line(), Some(expected));
        }
    }
    bus.finish([one, other]);
}

#[test]
fn one_client_may_use_an_id_twice_at_once() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    client.request("1", "any/thing", &json!(["first"]));
    client.request("1", "any/thing", &json!(["second"]));
    for text in ["first", "second"] {
        let answer = client.next_message();
        assert_eq!((&answer["id"], &answer["result"]["echo"]), (&json!(1), &json!([text])));
    }
    bus.finish([client]);
}

#[test]
fn payloads_pass_as_they_were_written() {
    let payloads = [
        r#"{ "a" : 1 ,  "a":2}"#,
        "[12345678901234567890123456789, 1.000, 1E+2, -0.0]",
        r#"{"text":"\u0041\/\ud83d\ude00\u2028 é","_meta":{"unknown":[[],{}]}}"#,
        r#"{"sessionId":null,"requestId":5,"id":7,"method":"inner","jsonrpc":"1.0"}"#,
        r#"{"nested":{"sessionId":"nobody","params":{"sessionId":"nobody"}}}"#,
        "null",
    ];
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    for payload in payloads {
        // Members in an order that nobody expects, with space between them.
        client.send(&format!(
            r#" {{ "method": "any/thing" ,"params": {payload}, "unknown":[1], "id" : "x" , "jsonrpc":"2.0" }} "#
        ));
        let line = client.next_line().unwrap();
        assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{"echo":{payload}}}}}"#));
    }
    bus.finish([client]);
}

#[test]
fn questions_of_two_workers_with_one_id_are_answered_each_by_its_answer() {
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.tcp_client());
    let (first, second) = apart(&mut one, &mut other);
    for ask_id in ["1", "1.0", "\"q\\u0041\"", "18446744073709551616"] {
        let raw = Value::String(ask_id.to_owned());
        let ask = |client: &mut LineClient, session: &str| {
            client.send(&format!(
                r#"{{"jsonrpc":"2.0","id":{raw},"method":"x/ask","params":{{"sessionId":"{session}","askId":{ask_id}}}}}"#
            ));
            let question =
                client.wait_for(|message| message["method"] == "session/request_permission");
            assert_eq!(question["params"]["sessionId"], session);
            question["id"].clone()
        };
        let (asked_one, asked_other) = (ask(&mut one, &first.name), ask(&mut other, &second.name));
        // Answered the other way round.
        for (client, id, text) in [(&mut other, asked_other, "b"), (&mut one, asked_one, "a")] {
            client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#));
            let answer = client.answer_to(&raw);
            assert_eq!(answer["result"]["result"]["text"], text, "{ask_id}: {answer}");
        }
    }
    bus.finish([one, other]);
}

#[test]
fn one_client_can_be_asked_by_two_workers_at_once() {
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let mut client = bus.client();
    let (first, second) = (session(&mut client), session(&mut client));
    assert_ne!(first.pid, second.pid);
    let asks: Vec<Value> = [&first, &second]
        .map(|session| client.start("x/ask", &json!({ "sessionId": session.name, "askId": 1 })))
        .into();
    let mut question = || {
        let question = client.wait_for(|message| message["method"] == "session/request_permission");
        (question["id"].clone(), question["params"]["sessionId"].clone())
    };
    let questions = [question(), question()];
    assert_ne!(questions[0].0, questions[1].0, "two questions, two ids");
    for (id, session) in questions.iter().rev() {
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "result": session }).to_string());
    }
    for (id, session) in asks.iter().zip([&first, &second]) {
        assert_eq!(client.answer_to(id)["result"]["result"], session.name);
    }
    bus.finish([client]);
}

#[test]
fn lists_of_all_workers_are_one_list() {
    let bus = bus(&pool("workers = 3"));
    let mut client = bus.client();
    let mut names: Vec<String> = (0..9).map(|_| session(&mut client).name).collect();
    let list = client.result("session/list", &json!({}));
    let mut listed: Vec<String> = list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["sessionId"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, names);
    bus.finish([client]);
}
