//! Odd lines: what JSON allows and nobody expects, and what it does not allow.
//!
//! In: single lines. Out: one answer each where one is due, and a connection that goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{apart, assert_served, bus, pid_of, pool, session};
use serde_json::{Value, json};
use testkit::test_home::{PATIENCE, wait_until};

#[test]
fn names_of_members_may_be_written_with_escapes() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    client
        .send(r#"{"jsonrpc":"2.0","\u0069d":"e","m\u0065thod":"any/thing","p\u0061rams":{"n":1}}"#);
    let answer = client.next_message();
    assert_eq!(answer["id"], "e", "{answer}");
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn a_session_is_the_same_however_its_name_is_spelt() {
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.client());
    let named = json!({ "cwd": "/", "mcpServers": [], "_meta": { "name": "a/é" } });
    one.result("session/new", &named);
    let pid = pid_of(&mut one, json!({ "sessionId": "a/é" }));
    session(&mut other);
    for spelt in [r"a/é", r"\u0061/é", r"a\/\u00e9", r"\u0061\u002f\u00E9"] {
        other.send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x/pid","params":{{"sessionId":"{spelt}"}}}}"#
        ));
        assert_eq!(other.next_message()["result"]["pid"], pid, "{spelt}");
    }
    bus.finish([one, other]);
}

#[test]
fn what_is_no_request_is_refused_and_costs_nothing_else() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    assert_served(&mut client);
    for line in [
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"any/thing"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"any/thing"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"any/thing"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"any/thing"} trailing"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"any/thing","params":tru}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"any/thing","params":[1,]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"any/thing","params":"a	b"}"#,
        r#"{"jsonrpc":"2.0","id":01,"method":"any/thing"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"any/thing","params":"\x"}"#,
        "5",
        "null",
        "{}",
        "\u{feff}{bad",
    ] {
        client.send(line);
        let answer = client.next_message();
        let code = answer["error"]["code"].as_i64();
        assert!(matches!(code, Some(-32700 | -32600)), "{line}: {answer}");
    }
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":\"\xff\"}\n");
    assert_eq!(client.next_message()["error"]["code"], -32700);
    assert_served(&mut client);
    assert_eq!(client.result("x/heard", &json!({}))["heard"], json!([]), "it reached the worker");
    bus.finish([client]);
}

#[test]
fn answers_to_nothing_and_unknown_notifications_go_nowhere_quietly() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    assert_served(&mut client);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"own","error":{"code":1,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}"#,
        "",
        "   ",
        "\r",
    ] {
        client.send(line);
    }
    assert_served(&mut client);
    assert_eq!(client.put_aside().count(), 0);
    bus.finish([client]);
}

#[test]
fn lines_may_end_as_on_windows() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"any/thing\"}\r\n\r\n");
    assert_eq!(client.next_message()["id"], 1);
    bus.finish([client]);
}

#[test]
fn deep_nesting_breaks_nothing() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    for depth in [100, 100_000, 5_000_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{depth},"method":"any/thing","params":{nested}}}"#
        ));
        // Carried or refused; an echo of it would be too deep for our own reader.
        let line = client.next_raw().unwrap();
        assert!(line.contains(&format!(r#""id":{depth},"#)), "{line:.200}");
        // Half of it is no JSON at all.
        client.send(&"[".repeat(depth));
        assert!(client.next_message().get("error").is_some());
    }
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn a_cancellation_reaches_the_request_of_its_sender_alone() {
    let bus = bus(&pool("workers = 1"));
    let (mut one, mut other) = (bus.client(), bus.tcp_client());
    for client in [&mut one, &mut other] {
        client.request("1", "x/late", &json!({}));
        client.request("2", "x/late", &json!({}));
        pid_of(client, json!({}));
    }
    for (id, text) in [(2, "2"), (1, "1")] {
        one.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{text}}}}}"#
        ));
        assert_eq!(
            one.next_message(),
            json!({ "jsonrpc": "2.0", "id": id, "result": { "late": true } })
        );
    }
    assert_served(&mut other);
    assert_eq!(other.put_aside().count(), 0);
    for id in [1, 2] {
        other.notify("$/cancel_request", &json!({ "requestId": id }));
        assert_eq!(other.next_message()["id"], id);
    }
    bus.finish([one, other]);
}

#[test]
fn nonsense_that_nobody_reads_the_answers_to_fills_no_memory() {
    let n = soak::size(400_000, 600_000);
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let (mut noisy, mut other) = (bus.client(), bus.client());
    let (_, theirs) = apart(&mut noisy, &mut other);
    let mut reader = noisy.reader();
    let lines = "{bad\n".repeat(1_000);
    let sender = std::thread::spawn(move || {
        for _ in 0..n / 1_000 {
            noisy.send_bytes(lines.as_bytes());
        }
        noisy.finish_sending();
    });
    for _ in 0..100 {
        assert_eq!(pid_of(&mut other, json!({ "sessionId": theirs.name })), theirs.pid);
    }
    let mut n_answers = 0;
    while let Some(line) = reader.next_raw() {
        assert!(line.contains("-32700"), "{line}");
        n_answers += 1;
    }
    assert_eq!(n_answers, n);
    sender.join().unwrap();
    // All of the answers would take more. Pages of the program itself, which come when they are
    // first used, count here too.
    assert!(bus.grown_kib() < 48 << 10, "{} KiB", bus.grown_kib());
    bus.finish([other]);
}

#[test]
fn notifications_that_a_stuck_worker_does_not_read_fill_no_memory() {
    let limits = "[limits]\nworker_stuck_after = \"1s\"\n";
    let bus = bus(&format!("{}{limits}", pool("workers = 2"))).with_workers(2);
    let (mut noisy, mut other) = (bus.client(), bus.client());
    let (stuck, theirs) = apart(&mut noisy, &mut other);
    let hung = noisy.start("x/hang", &json!({ "sessionId": stuck.name }));
    let params = json!({ "sessionId": stuck.name, "padding": "x".repeat(16 << 10) });
    let sender = std::thread::spawn(move || {
        for _ in 0..4_000 {
            noisy.notify("any/thing", &params);
        }
        noisy
    });
    let mut n_served = 0;
    while !sender.is_finished() || n_served < 10 {
        assert_eq!(pid_of(&mut other, json!({ "sessionId": theirs.name })), theirs.pid);
        n_served += 1;
    }
    let mut noisy = sender.join().unwrap();
    assert!(noisy.answer_to(&hung).get("error").is_some());
    assert!(bus.grown_kib() < 48 << 10, "{} KiB", bus.grown_kib());
    let is_served =
        wait_until(PATIENCE, || noisy.ask("any/thing", &Value::Null).get("result").is_some());
    assert!(is_served);
    bus.finish([noisy, other]);
}
