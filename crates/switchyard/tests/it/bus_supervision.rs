//! Workers that are watched: by their pipes, by a ping, by time and by memory; and pools that
//! grow, shrink, rest and are replaced.
//!
//! In: settings of a pool and workers that make them matter. Out: which worker lives, and that
//! nobody who asked was left without an answer.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{Stage, WORKER_LOST, assert_refused, assert_served, bus, pid_of, pool, session};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use testkit::line_client::LineClient;
use testkit::proc;
use testkit::test_home::{PATIENCE, wait_until};

const TIMED_OUT: i64 = -32013;

/// A pool whose workers are started again soon.
fn quick(settings: &str) -> String {
    pool(&format!("backoff = {{ initial = \"10ms\", max = \"50ms\" }}\n{settings}"))
}

/// Asks until it is served, by another worker than before.
#[track_caller]
fn wait_for_another(client: &mut LineClient, before: u32) {
    let mut answer = Value::Null;
    let is_served = wait_until(PATIENCE, || {
        answer = client.ask("x/pid", &json!({}));
        answer["result"]["pid"].as_u64().is_some_and(|pid| pid != u64::from(before))
    });
    assert!(is_served, "{answer}");
    assert!(wait_until(PATIENCE, || !proc::is_alive(before)), "the old one lives on");
}

/// Asks until the answer comes within the pool's limits, which a loaded machine may miss.
#[track_caller]
fn in_time(client: &mut LineClient, method: &str) -> Value {
    let mut answer = Value::Null;
    let is_served = wait_until(PATIENCE, || {
        answer = client.ask(method, &json!({}));
        let code = answer["error"]["code"].as_i64();
        assert!(code.is_none_or(|code| [TIMED_OUT, WORKER_LOST].contains(&code)), "{answer}");
        code.is_none()
    });
    assert!(is_served, "{answer}");
    answer["result"].take()
}

#[track_caller]
fn pid_in_time(client: &mut LineClient) -> u32 {
    u32::try_from(in_time(client, "x/pid")["pid"].as_u64().unwrap()).unwrap()
}

#[test]
fn a_worker_that_cannot_speak_or_hear_any_more_is_replaced() {
    for method in ["x/mute", "x/deaf"] {
        let bus = bus(&quick("workers = 1"));
        let mut client = bus.client();
        let before = pid_of(&mut client, json!({}));
        let held = client.start("x/hold", &json!({}));
        let broken = client.start(method, &json!({}));
        if method == "x/deaf" {
            client.answer_to(&broken);
        }
        // Whether it hears is seen when it is told something.
        let told = client.start("any/thing", &json!({}));
        assert_refused(&client.answer_to(&held), WORKER_LOST, "worker_died");
        // One that was seen to be mute in time got nothing more: its successor answers.
        let answer = client.answer_to(&told);
        match answer.get("error") {
            Some(_) => assert_refused(&answer, WORKER_LOST, "worker_died"),
            None => assert_eq!((method, &answer["result"]["echo"]), ("x/mute", &json!({}))),
        }
        wait_for_another(&mut client, before);
        bus.finish([client]);
    }
}

#[test]
fn a_worker_that_does_not_answer_a_ping_is_replaced() {
    let bus = bus(&quick(
        "workers = 1\nping = { method = \"x/pid\", interval = \"100ms\", timeout = \"300ms\" }",
    ));
    let mut client = bus.client();
    let before = pid_in_time(&mut client);
    let hung = client.start("x/hang", &json!({}));
    let waiting = client.start("any/thing", &json!({}));
    for id in [hung, waiting] {
        assert_refused(&client.answer_to(&id), WORKER_LOST, "worker_died");
    }
    wait_for_another(&mut client, before);
    assert_eq!(client.put_aside().count(), 0, "answers to pings are nobody's");
    bus.finish([client]);
}

#[test]
fn a_request_that_takes_too_long_is_given_up_and_its_late_answer_dropped() {
    let bus = bus(&quick("workers = 1\nrequest_timeout = \"200ms\""));
    let mut client = bus.client();
    let before = pid_in_time(&mut client);
    assert_refused(&client.ask("x/hold", &json!({})), TIMED_OUT, "timed_out");
    in_time(&mut client, "x/release");
    assert_eq!(in_time(&mut client, "any/thing")["echo"], json!({}));
    assert_eq!(client.put_aside().count(), 0, "it was answered twice");
    assert_eq!(pid_in_time(&mut client), before);
    bus.finish([client]);
}

#[test]
fn a_worker_that_takes_too_much_memory_is_replaced() {
    let config = quick("workers = 1\nmax_memory = \"200MiB\"\ndrain_timeout = \"200ms\"");
    let bus = bus(&format!("{config}[limits]\nmemory_interval = \"50ms\"\n"));
    let mut client = bus.client();
    let before = pid_of(&mut client, json!({}));
    // It may be found out before it can answer.
    client.ask("x/bloat", &json!({ "bytes": 300 << 20 }));
    wait_for_another(&mut client, before);
    bus.finish([client]);
}

#[test]
fn what_a_worker_says_on_stderr_holds_up_nobody() {
    let bus = bus(&quick("workers = 1"));
    let (mut loud, mut other) = (bus.client(), bus.client());
    loud.result("x/stderr", &json!({ "bytes": 5_000_000 }));
    assert_served(&mut loud);
    assert_served(&mut other);
    assert!(bus.grown_kib() < 32 << 10, "{} KiB", bus.grown_kib());
    bus.finish([loud, other]);
}

#[test]
fn workers_come_when_they_are_needed_and_go_when_they_are_not() {
    let bus = bus(&quick("min = 0\nmax = 2\nstart = \"on-demand\"\nidle_stop = \"200ms\""));
    let n_workers = || bus.status()["pools"][0]["workers"].as_array().unwrap().len();
    assert_eq!(n_workers(), 0);
    let mut client = bus.client();
    let before = pid_of(&mut client, json!({}));
    assert!(wait_until(PATIENCE, || n_workers() == 0), "it is kept for nothing");
    assert!(!proc::is_alive(before));
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn a_pool_grows_with_its_sessions_up_to_its_limit() {
    let bus = bus(&quick("min = 1\nmax = 3\nmax_sessions_per_worker = 1"));
    let mut client = bus.client();
    let pids: BTreeSet<u32> = (0..3).map(|_| session(&mut client).pid).collect();
    assert_eq!(pids.len(), 3);
    let answer = client.ask("session/new", &json!({ "cwd": "/", "mcpServers": [] }));
    assert!(answer.get("error").is_some(), "{answer}");
    bus.finish([client]);
}

#[test]
fn workers_of_one_client_each_are_not_shared_and_end_with_it() {
    let bus = bus(&quick("min = 1\nmax = 4\nsharing = \"one-client\""));
    let mut clients: Vec<LineClient> = (0..4).map(|_| bus.client()).collect();
    let pids: Vec<u32> = clients.iter_mut().map(|client| pid_of(client, json!({}))).collect();
    assert_eq!(pids.iter().collect::<BTreeSet<_>>().len(), 4);
    let left = clients.remove(0);
    drop(left);
    assert!(wait_until(PATIENCE, || !proc::is_alive(pids[0])), "it serves nobody any more");
    let mut next = None;
    let is_in = wait_until(PATIENCE, || {
        let mut client = bus.client();
        let pid = client.ask("x/pid", &json!({}))["result"]["pid"].clone();
        next = pid.as_u64().map(|pid| (client, pid));
        next.is_some()
    });
    assert!(is_in, "{:#}", bus.status());
    let (client, pid) = next.unwrap();
    assert!(pids.iter().all(|old| u64::from(*old) != pid), "somebody else's worker");
    clients.push(client);
    bus.finish(clients);
}

#[test]
fn a_restart_replaces_every_worker_and_loses_no_request() {
    let bus = bus(&quick("workers = 2")).with_workers(2);
    let mut clients: Vec<LineClient> = (0..4).map(|_| bus.client()).collect();
    let before: BTreeSet<u32> =
        clients.iter_mut().map(|client| pid_of(client, json!({}))).collect();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                let mut n_asked = 0;
                while n_asked < 50 || !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_served(client);
                    n_asked += 1;
                }
            });
        }
        let output = bus.home().command(["bus", "restart", "echo"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let are_gone = wait_until(PATIENCE, || !before.iter().any(|pid| proc::is_alive(*pid)));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(are_gone, "{:#}", bus.status());
    });
    bus.finish(clients);
}

#[test]
fn a_drained_pool_refuses_until_it_is_told_to_serve_again() {
    let bus = bus(&quick("workers = 1"));
    let mut client = bus.client();
    let held = client.start("x/hold", &json!({}));
    let before = pid_of(&mut client, json!({}));
    let tell = |verb: &str| {
        let output = bus.home().command(["bus", verb, "echo"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    tell("drain");
    assert!(client.ask("any/thing", &json!({})).get("error").is_some());
    assert!(proc::is_alive(before), "a request is still running");
    proc::kill9(before);
    assert!(client.answer_to(&held).get("error").is_some());
    assert!(client.ask("any/thing", &json!({})).get("error").is_some());
    tell("recover");
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn a_bus_after_a_killed_one_finds_its_place_and_leaves_no_worker_of_the_other() {
    let stage = Stage::new(&pool("workers = 2")).with_sockets();
    let (path, mut again) = (stage.socket(), Vec::new());
    let mut second: Command = stage.command();
    let mut bus = stage.start().ready().with_workers(2);
    let mut client = bus.client();
    again.push(pid_of(&mut client, json!({})));
    bus.signal(Signal::KILL);
    bus.exit();
    let mut child = second.stderr(std::process::Stdio::null()).spawn().unwrap();
    let is_there = wait_until(PATIENCE, || LineClient::try_unix(&path).is_ok());
    let mut client = LineClient::unix(&path);
    assert_served(&mut client);
    assert!(is_there);
    // Keepers end what a killed bus left, at their own pace.
    assert!(wait_until(PATIENCE, || !again.iter().any(|pid| proc::is_alive(*pid))));
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    client.rest();
    drop(client);
    assert!(wait_until(PATIENCE, || child.try_wait().unwrap().is_some()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    bus.assert_left_nothing();
}

#[test]
fn without_descriptors_left_those_who_are_in_are_served_and_others_wait() {
    const N: usize = 100;
    let stage = Stage::new(&quick("workers = 1")).with_sockets();
    let command = stage.command_after("ulimit -n 60");
    let bus = stage.start_with(command).ready().with_workers(1);
    let mut first = bus.client();
    assert_served(&mut first);
    let mut crowd: Vec<LineClient> = (0..N).map(|_| bus.client()).collect();
    let ids: Vec<Value> =
        crowd.iter_mut().map(|client| client.start("any/thing", &json!({}))).collect();
    for _ in 0..50 {
        assert_served(&mut first);
    }
    // Each that leaves makes room for one that waits.
    for (mut client, id) in crowd.into_iter().zip(ids) {
        let answer = client.answer_to(&id);
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_served(&mut first);
    bus.finish([first]);
}
