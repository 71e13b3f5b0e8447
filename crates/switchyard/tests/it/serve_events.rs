//! Events of a session for many readers at once: all of them get exactly the log.
//!
//! Real sockets, the real binary, the demo agent. Readers come and go, some of them as slow
//! as they can be; what each has collected in the end is compared with the exported log.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]
#![allow(clippy::print_stderr, reason = "numbers for whoever runs the large version")]

mod batch;
mod ends;
mod memory;
mod slow;

use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::Stdio;
use testkit::daemon::Daemon;
use testkit::event_client::{EventClient, EventQuery, EventTransport};
use testkit::proc;
use testkit::test_home::{TestHome, switchyard};

pub(crate) fn home() -> TestHome {
    switchyard(env!("CARGO_BIN_EXE_switchyard"))
}

/// A session in the daemon; its id.
pub(crate) async fn new_session(daemon: &Daemon, home: &TestHome) -> String {
    let body = json!({ "agent": "demo", "cwd": home.work() });
    let sent = daemon.client().post(daemon.url("/v1/sessions")).json(&body).send().await.unwrap();
    let made: Value = sent.json().await.unwrap();
    made["id"].as_str().unwrap_or_else(|| panic!("no session: {made}")).to_owned()
}

/// The turn's id.
pub(crate) async fn prompt(daemon: &Daemon, session: &str, text: &str) -> String {
    let url = daemon.url(&format!("/v1/sessions/{session}/prompt"));
    let body = json!({ "prompt": text });
    let sent = daemon.client().post(url).json(&body).send().await.unwrap();
    let taken: Value = sent.json().await.unwrap();
    taken["turnId"].as_str().unwrap_or_else(|| panic!("no turn: {taken}")).to_owned()
}

/// What somebody has read, small enough to be kept for a million events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) n_events: u64,
    hash: u64,
}

impl Tally {
    fn add(&mut self, line: &str) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.hash);
        hasher.write(line.as_bytes());
        self.hash = hasher.finish();
        self.n_events += 1;
    }
}

/// The log as the command line exports it.
pub(crate) fn exported(home: &TestHome, session: &str) -> Tally {
    let mut command = home.command(["sessions", "export", session]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut tally = Tally::default();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        tally.add(&line.unwrap());
    }
    assert!(child.wait().unwrap().success());
    tally
}

/// A reader that goes away again and again and comes back with the last id that it saw.
struct Restless {
    address: SocketAddr,
    token: Option<String>,
    carrier: EventTransport,
    session: String,
    seed: u64,
    /// Frames read before it goes away, at most.
    stays_for: u64,
}

impl Restless {
    /// Reads until the turn has ended. Every event must be the next one.
    fn read(mut self, turn: &str) -> (Tally, u32) {
        let mut tally = Tally::default();
        let mut last_id: Option<String> = None;
        let mut n_connections = 0;
        let end = format!(r#""turn":"{turn}","kind":"turn_ended""#);
        loop {
            let request = EventQuery::new(self.carrier, &self.session).after(last_id.as_deref());
            let client = EventClient::try_connect(self.address, self.token.as_deref(), &request);
            let mut client = client.expect("a stream");
            n_connections += 1;
            for _ in 0..self.draw() {
                let frame = client.next_frame().expect("a frame before the end of the turn");
                let Some(id) = frame.id else {
                    assert_eq!(frame.event, "stream", "unexpected: {frame:?}");
                    continue;
                };
                let expected = format!(r#"{{"seq":{},"#, tally.n_events + 1);
                assert!(frame.data.starts_with(&expected), "not {expected}: {}", frame.data);
                tally.add(&frame.data);
                last_id = Some(id);
                if frame.data.get(..120).is_some_and(|head| head.contains(&end)) {
                    return (tally, n_connections);
                }
            }
        }
    }

    /// xorshift: the same seed gives the same reader.
    fn draw(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % self.stays_for + 1
    }
}

/// Floods a session while readers come and go. What each collected must be the log.
async fn flooded(daemon: &Daemon, home: &TestHome, n_readers: u64, n_events: u64) {
    let session = new_session(daemon, home).await;
    let turn = prompt(daemon, &session, &format!("flood {n_events}")).await;
    let readers: Vec<_> = (0..n_readers)
        .map(|n| Restless {
            address: daemon.address().parse().unwrap(),
            token: daemon.token().map(str::to_owned),
            carrier: if n % 2 == 0 { EventTransport::Sse } else { EventTransport::WebSocket },
            session: session.clone(),
            seed: 0x9e37_79b9_7f4a_7c15 ^ (n + 1),
            // Some hardly come in, some stay for most of it.
            stays_for: (n_events / (1 + n % 7)).max(10),
        })
        .map(|reader| {
            let turn = turn.clone();
            std::thread::spawn(move || reader.read(&turn))
        })
        .collect();
    let read: Vec<(Tally, u32)> =
        readers.into_iter().map(|reader| reader.join().expect("a reader")).collect();

    let log = exported(home, &session);
    assert!(log.n_events > n_events);
    for (tally, _) in &read {
        assert_eq!(*tally, log);
    }
    let n_connections: u32 = read.iter().map(|(_, n)| n).sum();
    eprintln!("{n_readers} readers, {n_events} events, {n_connections} connections");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_come_and_go_in_a_flood_all_end_with_the_log_and_memory_is_flat() {
    let n_events = soak::size(3_000, 100_000);
    let n_readers = soak::size(20, 50);
    let home = home();
    let daemon = Daemon::start(&home);
    let peak = || proc::memory(daemon.pid()).unwrap().peak_kib;

    let start = std::time::Instant::now();
    flooded(&daemon, &home, 2, n_events).await;
    let (with_few, took_few) = (peak(), start.elapsed());
    flooded(&daemon, &home, n_readers, n_events).await;
    let with_many = peak();

    eprintln!(
        "peak {with_few} KiB with 2 readers ({took_few:?}), {with_many} KiB with {n_readers} ({:?})",
        start.elapsed()
    );
    // A chunk, a page and what a connection costs; not the log, which is larger.
    let allowed = n_readers * 1024;
    assert!(with_many < with_few + allowed, "grew from {with_few} to {with_many} KiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cursors_that_are_no_good_are_refused_or_answered_with_everything() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let turn = prompt(&daemon, &session, "say one two three").await;
    let until = format!("turn={turn}");

    for carrier in [EventTransport::Sse, EventTransport::WebSocket] {
        for bad in ["-1", "18446744073709551616", "text", "1-zz"] {
            let request = EventQuery::new(carrier, &session).query(&format!("after={bad}"));
            let refused = EventClient::try_open(&daemon, &request).expect_err("a refusal");
            assert_eq!(refused.status, 400, "{carrier:?} {bad}: {}", refused.body);
            assert!(refused.body.contains("urn:switchyard:problem:"), "{}", refused.body);
        }
        let other = EventQuery::new(carrier, &"a".repeat(26));
        assert_eq!(EventClient::try_open(&daemon, &other).expect_err("none").status, 404);

        // All of them end with the turn, so everything can be collected.
        let whole = collect(&daemon, &EventQuery::new(carrier, &session).query(&until));
        assert_eq!(whole.first().unwrap().0, "stream");
        assert_eq!(whole.last().unwrap().0, "stream_end");
        for bad in ["999999", "1-1"] {
            let request = EventQuery::new(carrier, &session).query(&until).after(Some(bad));
            let frames = collect(&daemon, &request);
            assert_eq!(frames[1].0, "state_resync_required", "{bad}");
            assert_eq!(frames[2..], whole[1..], "{bad}");
        }
    }
    // Only a header can carry these.
    let request =
        EventQuery::new(EventTransport::Sse, &session).query(&until).after(Some("rubbish"));
    let frames = collect(&daemon, &request);
    assert_eq!(frames[1].0, "state_resync_required");
    assert_eq!(frames[1].1["reason"], "unreadable");
    assert_eq!(frames[2].1["seq"], 1);
}

/// Names and data of all frames until the stream ends.
fn collect(daemon: &Daemon, request: &EventQuery) -> Vec<(String, Value)> {
    let mut client = EventClient::open(daemon, request);
    let mut frames = Vec::new();
    while let Some(frame) = client.next_frame() {
        frames.push((frame.event.clone(), frame.json()));
    }
    frames
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_format_can_be_cut_after_any_frame_on_any_carrier() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let script = "think hard ; say hello ; tool edit ; diff a.txt ; plan ; usage ; tool-fail";
    let turn = prompt(&daemon, &session, script).await;

    for format in ["acp", "ui", "envelopes"] {
        let query = format!("format={format}&turn={turn}");
        let mut told: Vec<Vec<(Option<String>, String)>> = Vec::new();
        for carrier in [EventTransport::Sse, EventTransport::WebSocket] {
            let request = EventQuery::new(carrier, &session).query(&query);
            let whole = ids_and_data(&daemon, &request);
            assert!(whole.len() > 8, "{format} tells little");
            for (n, (id, _)) in whole.iter().enumerate() {
                let rest = ids_and_data(&daemon, &request.clone().after(id.as_deref()));
                assert_eq!(rest, whole[n + 1..], "{format} {carrier:?} cut after {id:?}");
            }
            told.push(whole);
        }
        assert_eq!(told[0], told[1], "{format} differs between the carriers");
    }
}

/// What stands for a place in the log, until the stream ends.
fn ids_and_data(daemon: &Daemon, request: &EventQuery) -> Vec<(Option<String>, String)> {
    let mut client = EventClient::open(daemon, request);
    let mut told = Vec::new();
    while let Some(frame) = client.next_frame() {
        if frame.id.is_some() {
            told.push((frame.id, frame.data));
        }
    }
    told
}
