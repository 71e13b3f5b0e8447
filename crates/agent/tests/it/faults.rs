//! Faults in the protocol, and ends of the process as far as they can be seen from inside it.

use crate::client::Client;
use agent::demo::ConnectionEnd;
use serde_json::{Value, json};

async fn lenient(flags: &[&str]) -> (Client, String) {
    let (mut client, session) = Client::with_session(flags).await;
    client.is_strict = false;
    (client, session)
}

#[tokio::test(start_paused = true)]
async fn a_turn_can_end_in_any_way() {
    let (mut client, session) = lenient(&[]).await;
    let reasons = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "bored"];
    for reason in reasons {
        let exchange = client.prompt(&session, &format!("stop {reason} ; echo never")).await;
        assert_eq!(exchange.stop_reason(), reason);
        assert!(exchange.messages.is_empty());
    }

    let failed = client.prompt(&session, "fail -32603 out of luck").await;
    assert_eq!(failed.response["error"], json!({ "code": -32603, "message": "out of luck" }));
}

#[tokio::test(start_paused = true)]
async fn a_crash_delivers_what_was_said_before() {
    let cases = [
        ("text 2 ; crash", 2, 101),
        ("crash 7", 0, 7),
        ("crash before-tool", 1, 101),
        ("crash during-tool", 2, 101),
        ("crash after-tool", 3, 101),
    ];
    for (script, n_updates, code) in cases {
        let (mut client, session) = Client::with_session(&[]).await;
        client.begin(&session, script).await;

        for _ in 0..n_updates {
            assert_eq!(client.receive().await["method"], "session/update", "{script}");
        }

        assert!(client.receive_line().await.is_empty(), "{script}");
        assert_eq!(client.ended().await, ConnectionEnd::Exit(code), "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn abort_asks_for_a_signal_and_a_cut_line_has_no_newline() {
    let (mut client, session) = Client::with_session(&[]).await;
    client.begin(&session, "abort").await;
    assert_eq!(client.ended().await, ConnectionEnd::Abort);

    let (mut client, session) = Client::with_session(&[]).await;
    client.begin(&session, "no-newline famous last words").await;
    let line = client.receive_line().await;
    assert_eq!(line.last(), Some(&b'}'));
    assert!(serde_json::from_slice::<Value>(&line).is_ok());
    assert_eq!(client.ended().await, ConnectionEnd::Exit(0));
}

#[tokio::test(start_paused = true)]
async fn hang_hard_survives_a_cancel() {
    let (mut client, session) = Client::with_session(&[]).await;
    client.begin(&session, "hang-hard").await;
    client.cancel(&session).await;

    let other = client.new_session().await;
    assert_eq!(client.prompt(&other, "sleep 100000 ; echo awake").await.text(), "awake");
    let busy = client.prompt(&session, "help").await;
    assert_eq!(busy.error_code(), -32600);
}

#[tokio::test(start_paused = true)]
async fn after_cancel_updates_come_before_the_answer_and_late_ones_after_it() {
    let (mut client, session) = Client::with_session(&[]).await;

    let id = client.begin(&session, "after-cancel 3").await;
    client.cancel(&session).await;
    let exchange = client.answer_to(id, "session/prompt").await;
    assert_eq!(exchange.updates().len(), 3);
    assert_eq!(exchange.stop_reason(), "cancelled");

    let exchange = client.prompt(&session, "late 2 ; echo on time").await;
    assert_eq!(exchange.text(), "on time");
    for n in 1..=2 {
        let update = client.receive().await["params"]["update"].clone();
        assert_eq!(update["content"]["text"], format!("late {n}\n"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_whole_numbered_and_of_the_asked_size() {
    let (mut client, session) = Client::with_session(&[]).await;
    for (script, n_bytes) in [("flood 5000", None), ("flood 5000 200", Some(200))] {
        let exchange = client.prompt(&session, script).await;

        let updates = exchange.updates();
        assert_eq!(updates.len(), 5000);
        for (n, update) in updates.iter().enumerate() {
            let text = update["content"]["text"].as_str().unwrap();
            let number = text.trim_start_matches("chunk ").trim_end().trim_end_matches('.');
            assert_eq!(number, (n + 1).to_string());
            assert!(n_bytes.is_none_or(|n_bytes| text.len() == n_bytes));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_can_be_big_or_deep() {
    let (mut client, session) = lenient(&[]).await;

    let big = client.prompt(&session, "big 3000000").await;
    assert_eq!(big.text().len(), 3_000_000);

    client.begin(&session, "deep 500").await;
    let line = String::from_utf8(client.receive_line().await).unwrap();
    assert!(line.contains(&format!("{}{}", "[".repeat(500), "]".repeat(500))));
}

#[tokio::test(start_paused = true)]
async fn garbage_comes_between_good_messages() {
    let (mut client, session) = lenient(&[]).await;
    for script in ["garbage", "bad-utf8"] {
        client.begin(&session, script).await;
        let mut good = Vec::new();
        let mut n_bad = 0;
        loop {
            let line = client.receive_line().await;
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message.get("result").is_some() => break,
                Ok(Value::Object(message)) if message.contains_key("method") => good.push(message),
                _ => n_bad += 1,
            }
        }

        let expected = if script == "garbage" { (3, 11) } else { (2, 1) };
        assert_eq!((good.len(), n_bad), expected, "{script}");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_can_be_doubled_reused_and_invented() {
    let (mut client, session) = lenient(&[]).await;

    let doubled = client.prompt(&session, "dup-id").await;
    assert_eq!(doubled.methods(), ["session/request_permission", "fs/read_text_file"]);
    assert_eq!(doubled.messages[0]["id"], doubled.messages[1]["id"]);
    assert!(doubled.text().contains("second result {\"content\""), "{}", doubled.text());

    let reused = client.prompt(&session, "collide").await;
    assert_eq!(reused.messages[0]["id"], reused.response["id"]);
    assert!(reused.text().starts_with("result"));

    let invented = client.prompt(&session, "unknown-response").await;
    assert_eq!(invented.messages[0]["id"], 987_654_321);

    let twice = client.prompt(&session, "dup-response").await;
    assert_eq!(client.receive().await, twice.response);
}

#[tokio::test(start_paused = true)]
async fn a_stuck_agent_reads_no_more_and_goes_on() {
    let (mut client, session) = Client::with_session(&[]).await;

    let exchange = client.prompt(&session, "stuck ; sleep 1 ; echo after").await;
    client.cancel(&session).await;
    client.close_input().await;

    assert_eq!(exchange.text(), "after");
    tokio::time::sleep(std::time::Duration::from_mins(1)).await;
    assert!(client.is_running());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_blocks_the_flood_and_can_still_cancel_it() {
    let (mut client, session) = Client::with_session(&[]).await;
    let id = client.begin(&session, "flood 1000000000").await;

    // Time passes only when everybody waits, so here the pipe and the queue are full.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    client.cancel(&session).await;

    let exchange = client.answer_to(id, "session/prompt").await;
    assert_eq!(exchange.stop_reason(), "cancelled");
    assert!(exchange.updates().len() < 100_000);
}

#[tokio::test(start_paused = true)]
async fn an_output_that_nobody_holds_ends_the_agent() {
    let (input, mut to_agent) = tokio::io::duplex(64);
    let (output, other_end) = tokio::io::duplex(64);
    drop(other_end);
    let running =
        tokio::spawn(agent::demo::run(agent::demo::DemoOptions::default(), input, output));

    tokio::io::AsyncWriteExt::write_all(&mut to_agent, b"garbage\n").await.unwrap();

    assert_eq!(running.await.unwrap(), ConnectionEnd::OutputClosed);
}
