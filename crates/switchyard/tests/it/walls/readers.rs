//! Clients that ask for much and read nothing of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use testkit::line_client::LineClient;
use testkit::proc;

use super::session;
use crate::serve_acp::tcp;
use crate::serve_rest::{Api, EXE};

/// What one client may add while it reads nothing: its part, with what lies around it.
const MAX_ADDED_KIB: u64 = 160 << 10;

/// A daemon with a session whose log has 30 MB, in events of a megabyte.
async fn with_large_log() -> (Api, String) {
    let home = testkit::test_home::switchyard(EXE);
    let config = "[serve]\nagent = \"demo\"\ntcp = [\"127.0.0.1:0\"]\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(home).await;
    let id = session(&api, json!({})).await;
    api.prompt(&id, "text 30 1000000").await;
    api.until_idle(&id).await;
    (api, id)
}

/// The most that the daemon gets in a while, above what it had.
async fn most_added(api: &Api, before: u64) -> u64 {
    let mut most = 0;
    for _ in 0..30 {
        let now = proc::memory(api.daemon.pid()).unwrap().resident_kib;
        most = most.max(now.saturating_sub(before));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    most
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_and_pages_that_nobody_reads_share_what_a_client_may_hold() {
    let (api, id) = with_large_log().await;
    let before = proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let ways = ["events?after=0&format=ui", "events?after=0", "transcript?after=0&limit=500"];
    let mut unread = Vec::new();
    for n in 0..90 {
        let mut stream = TcpStream::connect(api.daemon.address()).unwrap();
        let (way, host, token) = (ways[n % 3], api.daemon.address(), api.daemon.token().unwrap());
        let head = format!(
            "GET /v1/sessions/{id}/{way} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        unread.push(stream);
    }
    let added = most_added(&api, before).await;
    assert!(added < MAX_ADDED_KIB, "{added} KiB");
    // Who reads gets everything, when the others have gone.
    let last = unread.pop().unwrap();
    drop(unread);
    last.set_read_timeout(Some(soak::PATIENCE)).unwrap();
    let mut first = [0; 12];
    (&last).read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 "));
    let events = api.events(&id).await;
    assert!(events.len() > 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_that_nobody_reads_share_what_a_client_may_hold() {
    let (api, id) = with_large_log().await;
    let before = proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let mut unread = Vec::new();
    for _ in 0..40 {
        let mut client = LineClient::tcp(tcp(&api.home));
        client.result("switchyard/hello", &json!({ "token": api.daemon.token().unwrap() }));
        client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        let params = json!({ "sessionId": id, "cwd": api.home.work(), "mcpServers": [] });
        client.request("1", "session/load", &params);
        client.request("2", "session/load", &params);
        unread.push(client);
    }
    let added = most_added(&api, before).await;
    assert!(added < MAX_ADDED_KIB, "{added} KiB");
    let mut last = unread.pop().unwrap();
    drop(unread);
    assert!(last.answer_to(&json!(1))["result"].is_object());
}

/// Each connection sends what it can until the daemon takes no more, and reads nothing.
fn send_unread(stream: &TcpStream, lines: &[String]) {
    let mut stream = stream;
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    for line in lines {
        if stream.write_all(line.as_bytes()).is_err() {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_are_not_made() {
    let home = testkit::test_home::switchyard(EXE);
    let config = "[serve]\nagent = \"demo\"\ntcp = [\"127.0.0.1:0\"]\n";
    std::fs::write(home.path().join("switchyard.toml"), config).unwrap();
    let api = Api::start_in(home).await;
    let before = proc::memory(api.daemon.pid()).unwrap().resident_kib;
    let token = api.daemon.token().unwrap();
    let asked = |id: &str, method: &str, params: serde_json::Value| {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        format!("{asked}\n")
    };
    let hello = [
        asked("a", "switchyard/hello", json!({ "token": token })),
        asked("b", "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })),
    ];
    let long_ids: Vec<String> = (0..15)
        .map(|n| asked(&format!("{n}{}", "x".repeat(3 << 20)), "no/such", json!({})))
        .collect();
    // Answers that fill what waits for the client, then what has to wait for them.
    let many = (0..3000).map(|n| asked(&format!("{n}{}", "x".repeat(900)), "$/ping", json!({})));
    let large = (0..2).map(|n| asked(&format!("l{n}"), "no/such", json!("x".repeat(15 << 20))));
    let full: Vec<String> = many.chain(large).collect();
    let mut unread = Vec::new();
    for lines in [&long_ids, &full] {
        for _ in 0..12 {
            let stream = TcpStream::connect(tcp(&api.home)).unwrap();
            send_unread(&stream, &hello);
            send_unread(&stream, lines);
            unread.push(stream);
        }
        let added = most_added(&api, before).await;
        assert!(added < MAX_ADDED_KIB, "{added} KiB");
    }
    drop(unread);
    let mut client = LineClient::tcp(tcp(&api.home));
    client.result("switchyard/hello", &json!({ "token": token }));
    client.result("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
}
