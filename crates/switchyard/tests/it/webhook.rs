//! The real daemon, and a receiver that it tells about questions.

use crate::faults::configured;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use testkit::proc;
use testkit::test_home::{PATIENCE, TestHome};

/// Answers every request with 204 and gives what it said.
fn receiver() -> (SocketAddr, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, announcements) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some((head, body)) = message(&mut stream) {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                if told.send((head, serde_json::from_slice(&body).unwrap())).is_err() {
                    return;
                }
            }
        }
    });
    (address, announcements)
}

/// One HTTP message: its head in lower case, and its body.
fn message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn next(announcements: &Receiver<(String, Value)>) -> (String, Value) {
    announcements.recv_timeout(PATIENCE).expect("an announcement")
}

struct Daemon {
    child: Child,
    address: String,
}

impl Daemon {
    fn start(home: &TestHome) -> Self {
        let mut command = home.command(["serve", "--host", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).expect(&line);
        let address = address.split_whitespace().next().unwrap().to_owned();
        Self { child, address }
    }

    fn post(&self, home: &TestHome, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = std::fs::read_to_string(home.path().join("token")).unwrap_or_default();
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: \
             application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            token.trim(),
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let (head, body) = message(&mut stream).unwrap();
        assert!(head.starts_with("http/1.1 20"), "{head}{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

#[test]
fn a_waiting_question_is_announced_and_withdrawn_when_the_daemon_was_killed() {
    let (address, announcements) = receiver();
    let config = format!("[webhook]\nurl = 'http://{address}/hook'\nsecret_file = 'secret'\n");
    let home = configured(&config);
    let secret = home.path().join("secret");
    std::fs::write(&secret, "a secret of more than sixteen bytes\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();

    let mut daemon = Daemon::start(&home);
    let made = daemon.post(&home, "/v1/sessions", &json!({ "agent": "demo", "cwd": home.work() }));
    let session = made["id"].as_str().unwrap();
    let prompt = json!({ "prompt": "permission execute ls" });
    let path = format!("/v1/sessions/{session}/prompt");
    let turn = daemon.post(&home, &path, &prompt)["turnId"].clone();
    let (head, asked) = next(&announcements);
    proc::kill9(daemon.child.id());
    daemon.child.wait().unwrap();
    let mut daemon = Daemon::start(&home);
    let (_, withdrawn) = next(&announcements);

    assert!(head.contains("switchyard-signature: t="), "{head}");
    assert_eq!((&asked["type"], &asked["turn"]), (&json!("permission_requested"), &turn));
    assert_eq!((&asked["session"], &asked["agent"]), (&made["id"], &json!("demo")));
    assert_eq!(asked["question"]["options"][0]["kind"], "allow_once");
    let (link, api) = (asked["link"].as_str().unwrap(), asked["api"].as_str().unwrap());
    assert!(link.ends_with(&format!("/sessions/{session}")) && !link.contains("/v1/"), "{asked}");
    assert!(api.contains(&format!("/v1/sessions/{session}/permissions/")), "{asked}");
    assert_eq!(withdrawn["type"], "permission_resolved");
    assert_eq!(withdrawn["requestId"], asked["requestId"]);
    assert_eq!(withdrawn["decision"]["by"]["who"], "interrupted");

    proc::kill9(daemon.child.id());
    daemon.child.wait().unwrap();
    home.assert_empty_within(PATIENCE);
}

#[test]
fn a_webhook_that_cannot_be_used_stops_the_start() {
    let table = "[webhook]\nurl = 'http://hooks.example.org/x'\nsecret_file = 'secret'\n";
    let home = configured(table);
    for args in [&["serve", "--host", "127.0.0.1:0"][..], &["config", "check"]] {
        let ran = crate::cli::run(&home, args);
        assert!(ran.code != 0 && ran.err.contains("allow_http"), "{args:?}: {ran:?}");
    }
}
