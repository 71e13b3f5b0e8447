//! The end of the bus: told, told twice, killed, or left by its only client.
//!
//! In: signals and closed pipes at points that were seen. Out: what became of the requests in
//! flight, the exit code, and that nothing is left.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{
    Bus, Stage, UNAVAILABLE, WORKER_LOST, assert_refused, assert_served, bus, pid_of, pool,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use testkit::line_client::LineClient;
use testkit::proc;
use testkit::test_home::{PATIENCE, wait_until};

/// A request that is answered when the file is made.
struct Pending {
    id: Value,
    file: PathBuf,
}

/// For one worker that notes what it hears, so that one can know that it has the request.
const NOTING: &str = "args = [\"--log\", \"heard\"]\nworkers = 1";

#[track_caller]
fn start_pending(bus: &Bus, client: &mut LineClient) -> Pending {
    let file = bus.home().path().join("go on");
    let id = client.start("x/await", &json!({ "path": file }));
    let heard = bus.home().work().join("heard");
    let has_come = || std::fs::read_to_string(&heard).is_ok_and(|text| text.contains("x/await"));
    assert!(wait_until(PATIENCE, has_come), "the request does not reach the worker");
    Pending { id, file }
}

#[test]
fn the_end_of_stdin_waits_for_the_answers() {
    let (mut bus, mut client) = Stage::new(&pool(NOTING)).start_on_stdio();
    assert_served(&mut client);
    let pending = start_pending(&bus, &mut client);
    let after = client.start("any/thing", &json!({}));
    client.finish_sending();
    std::fs::write(pending.file, "").unwrap();
    let ids: Vec<Value> = client.rest().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [pending.id, after]);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

#[test]
fn stdin_that_ends_at_once_is_an_end_like_any_other() {
    let (mut bus, mut client) = Stage::new(&pool("workers = 2")).start_on_stdio();
    client.finish_sending();
    assert_eq!(client.rest().len(), 0);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

#[test]
fn a_client_on_stdio_that_goes_away_ends_the_bus() {
    let (mut bus, mut client) = Stage::new(&pool("workers = 2")).start_on_stdio();
    assert_served(&mut client);
    drop(client);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

#[test]
fn a_signal_lets_requests_end_and_takes_no_more() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut bus = bus(&pool(NOTING));
        let (mut client, mut other) = (bus.tcp_client(), bus.client());
        let pending = start_pending(&bus, &mut client);
        // Asked before, but behind the one that takes its time.
        let waiting = other.start("any/thing", &json!({}));
        bus.signal(signal);
        let is_draining = wait_until(PATIENCE, || bus.status()["pools"][0]["state"] != "serving");
        assert!(is_draining);
        assert_refused(&other.ask("any/thing", &json!({})), UNAVAILABLE, "draining");
        std::fs::write(&pending.file, "").unwrap();
        for (mut client, id) in [(client, &pending.id), (other, &waiting)] {
            let answer = client.answer_to(id);
            assert!(answer.get("result").is_some(), "{answer}");
            assert!(client.rest().is_empty());
        }
        assert_eq!(bus.exit(), Some(0), "{}", bus.said());
        bus.assert_left_nothing();
    }
}

#[test]
fn a_signal_under_load_leaves_no_request_without_its_one_answer() {
    const N_CLIENTS: usize = 8;
    let mut bus = bus(&pool("workers = 2"));
    let mut threads = Vec::new();
    for n in 0..N_CLIENTS {
        let mut client = if n % 2 == 0 { bus.tcp_client() } else { bus.client() };
        assert_served(&mut client);
        threads.push(std::thread::spawn(move || load(client)));
    }
    // Under way when each has been served some more.
    let mut watcher = bus.client();
    for _ in 0..50 {
        assert_served(&mut watcher);
    }
    drop(watcher);
    bus.signal(Signal::TERM);
    for thread in threads {
        let (n_sent, answers) = thread.join().unwrap();
        assert!(answers.values().all(|n| *n == 1), "twice");
        // What was read was answered; what was not read when the bus ended was not accepted.
        let n_answered = answers.len();
        assert!((0..n_answered).all(|id| answers.contains_key(&id)), "a request without answer");
        assert!(n_answered <= n_sent);
    }
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

/// Asks until the other side ends; how often it asked, and how often each was answered.
fn load(mut client: LineClient) -> (usize, BTreeMap<usize, usize>) {
    const WINDOW: usize = 32;
    let mut answers = BTreeMap::new();
    let (mut n_sent, mut n_answered) = (0, 0);
    loop {
        while n_sent < n_answered + WINDOW {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{n_sent},"method":"any/thing"}}"#);
            if client.try_send_bytes(format!("{line}\n").as_bytes()).is_err() {
                break;
            }
            n_sent += 1;
        }
        let Some(line) = client.next_line() else { return (n_sent, answers) };
        let answer: Value = serde_json::from_str(&line).unwrap();
        if let Some(error) = answer.get("error") {
            assert_eq!(error["data"]["reason"], "draining", "{answer}");
        }
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        *answers.entry(id).or_default() += 1;
        n_answered += 1;
    }
}

#[test]
fn a_drain_does_not_wait_for_ever() {
    let mut bus = bus(&pool("workers = 1\ndrain_timeout = \"300ms\""));
    let mut client = bus.client();
    let id = client.start("x/hold", &json!({}));
    pid_of(&mut client, json!({}));
    bus.signal(Signal::TERM);
    assert_refused(&client.answer_to(&id), WORKER_LOST, "worker_died");
    assert!(client.rest().is_empty());
    drop(client);
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

/// Workers that end neither with their stdin nor when they are told.
fn stubborn() -> String {
    let settings = "args = [\"-c\", \"trap '' TERM; exec $WORKER --ignore-eof\"]\nworkers = 2\n\
        stop = { after_eof = \"200ms\", after_term = \"200ms\" }";
    pool(settings).replace("command = \"$WORKER\"", "command = \"sh\"")
}

#[test]
fn workers_that_do_not_want_to_end_are_ended() {
    let bus = bus(&stubborn());
    let mut client = bus.client();
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn a_second_signal_waits_for_nothing_and_leaves_nothing() {
    let config = stubborn().replace("200ms", "1h");
    let mut bus = bus(&format!("{config}drain_timeout = \"1h\"\n"));
    let mut client = bus.client();
    client.start("x/hold", &json!({}));
    pid_of(&mut client, json!({}));
    bus.signal(Signal::TERM);
    let is_draining =
        wait_until(PATIENCE, || client.ask("any/thing", &json!({})).get("error").is_some());
    assert!(is_draining);
    bus.signal(Signal::TERM);
    bus.exit();
    bus.assert_left_nothing();
}

#[test]
fn a_killed_bus_leaves_no_worker() {
    let mut bus = bus(&stubborn());
    let mut client = bus.client();
    let worker = pid_of(&mut client, json!({}));
    let spawned = client.result("x/spawn", &json!({}));
    client.start("x/hang", &json!({}));
    bus.signal(Signal::KILL);
    assert_eq!(bus.exit(), None);
    assert!(client.rest().is_empty());
    bus.assert_left_nothing();
    assert!(!proc::is_alive(worker));
    assert!(!proc::is_alive(u32::try_from(spawned["pid"].as_u64().unwrap()).unwrap()));
}

#[test]
fn a_reload_touches_only_what_changed() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    let ask = |client: &mut LineClient, pool: &str| {
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"{pool}","method":"x/pid","pool":"{pool}"}}"#
        ));
        client.answer_to(&json!(pool))
    };
    let before = ask(&mut client, "echo")["result"]["pid"].clone();
    assert!(ask(&mut client, "more").get("error").is_some());
    let held = client.start("x/hold", &json!({}));

    let file = bus.home().path().join("bus.toml");
    let old = std::fs::read_to_string(&file).unwrap();
    let new = format!("{old}\n{}", old.replace("\"echo\"", "\"more\""));
    std::fs::write(&file, &new).unwrap();
    bus.signal(Signal::HUP);
    let mut added = Value::Null;
    let is_there = wait_until(PATIENCE, || {
        added = ask(&mut client, "more")["result"]["pid"].clone();
        !added.is_null()
    });
    assert!(is_there, "{}", bus.said());
    assert_ne!(added, before);
    assert_eq!(ask(&mut client, "echo")["result"]["pid"], before);

    // What cannot be read changes nothing.
    std::fs::write(&file, "[[pool]\n").unwrap();
    bus.signal(Signal::HUP);
    assert!(wait_until(PATIENCE, || bus.said().contains("bus.toml:1:")), "{}", bus.said());
    assert_eq!(ask(&mut client, "more")["result"]["pid"], added);

    std::fs::write(&file, &old).unwrap();
    bus.signal(Signal::HUP);
    let is_gone = wait_until(PATIENCE, || ask(&mut client, "more").get("error").is_some());
    assert!(is_gone);
    client.result("x/release", &json!({}));
    assert_eq!(client.answer_to(&held)["result"]["held"], true);
    bus.finish([client]);
}

#[test]
fn a_client_on_stdio_that_goes_away_in_the_middle_of_a_request_ends_the_bus() {
    let (mut bus, mut client) = Stage::new(&pool("workers = 1")).start_on_stdio();
    client.start("x/silent", &json!({}));
    pid_of(&mut client, json!({}));
    drop(client);
    bus.exit();
    bus.assert_left_nothing();
}
