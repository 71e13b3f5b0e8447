//! Clients of the bus by WebSocket, with a client that we did not write.
//!
//! In: handshakes and frames. Out: who is let in, and that a frame is a message and nothing
//! else. What happens behind the door is the same for all clients and tested elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{Bus, Stage, pool, wait_until_heard};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use testkit::test_home::PATIENCE;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::HandshakeError;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

const TOKEN: &str = "a token that nobody guesses, 0123456789abcdef";
type Socket = WebSocket<TcpStream>;

/// A bus by WebSocket and on a unix socket; with the token, or open to this machine.
fn bus(has_token: bool, limits: &str) -> Bus {
    let stage = Stage::new(&format!("{}[limits]\n{limits}\n", pool("workers = 1")));
    let (file, socket) = (stage.path().join("token"), stage.socket());
    std::fs::write(&file, TOKEN).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let stage = stage.arg("--ws").arg("127.0.0.1:0").arg("--unix").arg(socket);
    let stage = match has_token {
        true => stage.arg("--token-file").arg(file),
        false => stage.arg("--no-token"),
    };
    let bus = stage.start();
    bus.listens("ws");
    bus
}

fn connect(bus: &Bus, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
    let address = bus.listens("ws");
    let mut request = format!("ws://{address}/").into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(error)) => Err(error),
        Err(HandshakeError::Interrupted(_)) => panic!("no handshake in time"),
    }
}

#[track_caller]
fn ask(socket: &mut Socket, text: &str) -> String {
    socket.send(Message::text(text)).unwrap();
    next_text(socket).expect("an answer, not the end")
}

fn next_text(socket: &mut Socket) -> Option<String> {
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => return Some(text.to_string()),
            Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                return None;
            }
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[track_caller]
fn assert_served(socket: &mut Socket) {
    // A message over several lines, and an id that numbers would spoil.
    let text = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 12345678901234567890123,\n  \"method\": \"any/thing\",\n  \"params\": {\"a\": \"b\\nc\"}\n}";
    let answer = ask(socket, text);
    assert!(answer.contains(r#""id":12345678901234567890123"#), "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["echo"], json!({ "a": "b\nc" }));
}

#[test]
fn the_token_opens_the_door_in_three_ways() {
    let bus = bus(true, "");
    let bearer = format!("Bearer {TOKEN}");
    assert_served(&mut connect(&bus, &[("authorization", &bearer)]).unwrap());

    // As a page in a browser can say it; a token in a header's list cannot hold commas.
    let mut socket = connect(&bus, &[]).unwrap();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "switchyard/hello",
                        "params": { "token": TOKEN } });
    assert_eq!(ask(&mut socket, &hello.to_string()), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_served(&mut socket);
    drop(socket);
    bus.finish([]);
}

#[test]
fn without_the_token_a_client_is_told_why_and_closed() {
    let bus = bus(true, "");
    let mut socket = connect(&bus, &[]).unwrap();
    let answer = ask(&mut socket, r#"{"jsonrpc":"2.0","id":"x","method":"any/thing"}"#);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32000)));
    assert_eq!(next_text(&mut socket), None);
    match connect(&bus, &[("authorization", "Bearer wrong")]) {
        Err(Error::Http(response)) => assert_eq!(response.status(), 401),
        other => panic!("{other:?}"),
    }
    bus.finish([]);
}

#[test]
fn pages_of_other_hosts_are_refused_where_no_token_keeps_them_out() {
    let bus = bus(false, "");
    assert_served(&mut connect(&bus, &[]).unwrap());
    assert_served(&mut connect(&bus, &[("origin", "http://localhost:5173")]).unwrap());
    let foreign =
        [("origin", "https://evil.example"), ("origin", "null"), ("host", "rebound.example:80")];
    for header in foreign {
        match connect(&bus, &[header]) {
            Err(Error::Http(response)) => assert_eq!(response.status(), 403, "{header:?}"),
            other => panic!("{header:?}: {other:?}"),
        }
    }
    bus.finish([]);
}

#[test]
fn large_messages_pass_and_endless_ones_end_their_client_only() {
    let bus = bus(false, "max_client_line = \"2MiB\"");
    let mut socket = connect(&bus, &[]).unwrap();
    let large = "x".repeat(1 << 20);
    let request = |text: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "any/thing", "params": { "text": text } })
            .to_string()
    };
    let answer: Value = serde_json::from_str(&ask(&mut socket, &request(&large))).unwrap();
    assert_eq!(answer["result"]["echo"]["text"].as_str().unwrap().len(), large.len());

    let mut endless = connect(&bus, &[]).unwrap();
    let _refused = endless.send(Message::text(request(&"x".repeat(3 << 20))));
    assert!(!matches!(endless.read(), Ok(Message::Text(_))));
    assert_served(&mut socket);
    bus.finish([]);
}

#[test]
fn who_has_shown_no_token_cannot_fill_memory_also_with_pings_in_between() {
    let bus = bus(true, "");
    let mut socket = connect(&bus, &[]).unwrap();
    let part = |opcode| Message::Frame(Frame::message("x".repeat(32 << 10), opcode, false));
    let mut is_open = socket.send(part(OpCode::Data(Data::Text))).is_ok();
    for _ in 0..16 {
        is_open = is_open
            && socket.send(Message::Ping("?".into())).is_ok()
            && socket.send(part(OpCode::Data(Data::Continue))).is_ok();
    }
    let end = loop {
        match socket.read() {
            Ok(Message::Pong(_)) => {}
            other => break other,
        }
    };
    let is_waiting = matches!(&end, Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock);
    assert!(!is_waiting && !matches!(end, Ok(Message::Text(_))), "{end:?}");
    bus.finish([]);
}

#[test]
fn a_client_that_leaves_has_its_requests_cancelled() {
    let bus = bus(false, "");
    let mut socket = connect(&bus, &[]).unwrap();
    let silent = r#"{"jsonrpc":"2.0","id":1,"method":"x/silent"}"#;
    socket.send(Message::text(silent)).unwrap();
    assert_served(&mut socket);
    socket.close(None).unwrap();
    let _rest = next_text(&mut socket);
    let mut other = bus.client();
    wait_until_heard(&mut other, &json!({}), |heard| heard["method"] == "$/cancel_request");
    bus.finish([other]);
}

#[test]
fn a_drained_bus_says_goodbye() {
    let mut bus = bus(false, "");
    let mut socket = connect(&bus, &[]).unwrap();
    assert_served(&mut socket);
    bus.signal(Signal::TERM);
    assert_eq!(next_text(&mut socket), None);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}
