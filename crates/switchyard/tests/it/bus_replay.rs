//! A recorded run, with everything that can go wrong in it, gives the same again.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{Stage, apart, assert_served, pid_of, pool};
use rustix::process::Signal;
use serde_json::json;
use testkit::line_client::LineClient;
use testkit::proc;

// Part of the switch's own tests, too.
#[path = "../../../bus/src/switch/tests/replaying.rs"]
mod replaying;
use replaying::replay;

#[test]
fn a_recorded_run_under_faults_is_the_same_when_replayed() {
    let stage = Stage::new(&format!(
        "{}[limits]\nmax_client_line = \"64KiB\"\nmax_worker_line = \"64KiB\"\nmax_clients = 40\n\
         client_queue = {{ low = \"16KiB\", high = \"64KiB\", full = \"256KiB\" }}\n",
        pool(
            "workers = 2\nargs = [\"--can-load\"]\n\
             backoff = { initial = \"5ms\", max = \"20ms\" }\nintensity = { deaths = 100 }"
        )
    ))
    .with_sockets();
    let record = stage.path().join("run.txt");
    let stage = stage.arg("--record").arg(&record);
    let mut bus = stage.start().ready().with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.tcp_client());
    one.result("initialize", &json!({ "protocolVersion": 1 }));
    let (first, second) = apart(&mut one, &mut other);

    let everyday = |client: &mut LineClient, session: &str| {
        let own = json!({ "sessionId": session });
        assert_served(client);
        client.result("x/notify", &json!({ "sessionId": session, "n": 20 }));
        client.result("x/garbage", &own);
        client.result("session/list", &json!({}));
        client.request("18446744073709551616", "any/thing", &json!({ "text": "é\u{2028}" }));
        client.wait_for(|message| message["result"]["echo"]["text"] == "é\u{2028}");
        let asked = client.start("x/ask", &json!({ "sessionId": session, "askId": "q" }));
        let question = client.wait_for(|message| message["method"] == "session/request_permission");
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": 1 }).to_string());
        client.answer_to(&asked);
    };
    everyday(&mut one, &first.name);
    everyday(&mut other, &second.name);

    one.send("{bad");
    one.send_bytes(b"\xff\xfe\n");
    one.request("1", "any/thing", &json!({ "text": "x".repeat(100_000) }));
    one.ask("x/big", &json!({ "bytes": 100_000 }));
    for _ in 0..3 {
        let mut browser = bus.tcp_client();
        let _ = browser.try_send_bytes(&b"GET / HTTP/1.1\r\n".repeat(9));
        browser.rest();
    }
    let mut leaving = bus.client();
    leaving.start("x/hold", &json!({}));
    pid_of(&mut leaving, json!({}));
    drop(leaving);
    let crowd: Vec<LineClient> = (0..50).map(|_| bus.client()).collect();
    assert_served(&mut other);
    drop(crowd);

    other.start("x/hold", &json!({ "sessionId": second.name }));
    pid_of(&mut other, json!({ "sessionId": second.name }));
    proc::kill9(second.pid);
    other.wait_for(|message| message.get("error").is_some());
    one.ask("x/abort", &json!({ "sessionId": first.name }));
    assert_served(&mut one);
    let mut slow = bus.client();
    slow.start("x/notify", &json!({ "n": 2_000, "bytes": 2_000 }));
    everyday(&mut one, &first.name);
    assert_served(&mut other);
    drop((one, other, slow));
    bus.signal(Signal::TERM);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());

    let text = std::fs::read_to_string(&record).unwrap();
    let n_inputs = text.lines().filter(|line| line.starts_with("> ")).count();
    assert!(n_inputs > 200, "only {n_inputs} inputs were recorded");
    for word in ["client-long", "worker-long", "worker-died", "client-left", "drain-all"] {
        assert!(text.contains(&format!(" {word}")), "no {word} in the record");
    }
    if let Err(problem) = replay(&text) {
        let shown: String = problem.to_string().chars().take(2_000).collect();
        panic!("{shown}");
    }
    bus.assert_left_nothing();
}
