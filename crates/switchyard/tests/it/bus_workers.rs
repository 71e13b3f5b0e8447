//! Workers that die, loop, hang, talk nonsense or too much, behind a running bus.
//!
//! In: faults of the testkit's worker. Out: whether everybody who waited was told, nobody else
//! noticed, and the next request was served.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{
    Stage, UNAVAILABLE, WORKER_LOST, apart, assert_refused, assert_served, bus, pid_of, pool,
    session, wait_until_heard,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::line_client::LineClient;
use testkit::proc;
use testkit::test_home::{PATIENCE, wait_until};

/// Restarts that a test does not have to wait for, as often as it likes.
const QUICK: &str = "backoff = { initial = \"10ms\", max = \"50ms\" }\n\
    intensity = { deaths = 1000, window = \"1s\", cool_down = \"1s\" }";

fn quick(settings: &str) -> String {
    pool(&format!("{QUICK}\n{settings}"))
}

/// Each of these ids is answered once, by an error that says that the worker was lost.
#[track_caller]
fn assert_all_lost(client: &mut LineClient, ids: &[Value]) {
    let mut left: HashSet<String> = ids.iter().map(Value::to_string).collect();
    while !left.is_empty() {
        let answer = client.next_message();
        assert!(left.remove(&answer["id"].to_string()), "not asked, or twice: {answer}");
        assert_refused(&answer, WORKER_LOST, "worker_died");
    }
}

#[test]
fn a_killed_worker_fails_its_own_requests_at_once_and_no_others() {
    let bus = bus(&quick("workers = 2")).with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.tcp_client());
    let (lost, kept) = apart(&mut one, &mut other);
    let ids: Vec<Value> =
        (0..20).map(|_| one.start("x/hold", &json!({ "sessionId": lost.name }))).collect();
    let held = other.start("x/hold", &json!({ "sessionId": kept.name }));
    // All are there: lines are handled in order.
    pid_of(&mut one, json!({ "sessionId": lost.name }));
    pid_of(&mut other, json!({ "sessionId": kept.name }));

    proc::kill9(lost.pid);
    assert_all_lost(&mut one, &ids);
    assert_ne!(pid_of(&mut one, json!({})), lost.pid);
    let gone = one.ask("session/prompt", &json!({ "sessionId": lost.name, "prompt": [] }));
    assert_refused(&gone, -32002, "session_lost");
    assert_eq!(pid_of(&mut other, json!({ "sessionId": kept.name })), kept.pid);
    other.result("x/release", &json!({ "sessionId": kept.name }));
    assert_eq!(other.answer_to(&held)["result"]["held"], true);
    assert_eq!((one.put_aside().count(), other.put_aside().count()), (0, 0));
    bus.finish([one, other]);
}

#[test]
fn workers_killed_again_and_again_under_load_leave_no_request_without_its_one_answer() {
    const N_CLIENTS: usize = 6;
    const N_KILLS: usize = 10;
    let bus = bus(&quick("workers = 3")).with_workers(3);
    let mut killer = bus.client();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for n in 0..N_CLIENTS {
            let mut client = if n % 2 == 0 { bus.tcp_client() } else { bus.client() };
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let mut left: HashSet<String> = (0..20)
                        .map(|_| client.start("any/thing", &json!({})).to_string())
                        .collect();
                    while !left.is_empty() {
                        let answer = client.next_message();
                        let id = answer["id"].to_string();
                        assert!(left.remove(&id), "not asked, or twice: {answer}");
                        if answer.get("error").is_some() {
                            assert_refused(&answer, WORKER_LOST, "worker_died");
                        }
                    }
                }
            });
        }
        for _ in 0..N_KILLS {
            let mut pid = None;
            let is_found = wait_until(PATIENCE, || {
                pid = killer.ask("x/pid", &json!({}))["result"]["pid"].as_u64();
                pid.is_some()
            });
            assert!(is_found);
            proc::kill9(u32::try_from(pid.unwrap()).unwrap());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(killer.put_aside().count(), 0);
    bus.finish([killer]);
}

#[test]
fn half_an_answer_and_death_is_one_error() {
    let bus = bus(&quick("workers = 1"));
    let mut client = bus.client();
    for method in ["x/abort", "x/exit", "x/cut"] {
        let answer = client.ask(method, &json!({ "code": 1 }));
        assert_refused(&answer, WORKER_LOST, "worker_died");
        // Half an answer is seen before the death that follows it.
        let is_served =
            wait_until(PATIENCE, || client.ask("x/pid", &json!({})).get("result").is_some());
        assert!(is_served, "{method}");
    }
    assert_eq!(client.put_aside().count(), 0);
    bus.finish([client]);
}

#[test]
fn a_worker_that_ends_well_in_the_middle_fails_its_requests_and_is_replaced() {
    for policy in ["always", "on-failure"] {
        let bus = bus(&quick(&format!("workers = 1\nrestart = \"{policy}\"")));
        let mut client = bus.client();
        let before = pid_of(&mut client, json!({}));
        let held = client.start("x/hold", &json!({}));
        let ended = client.start("x/exit", &json!({ "code": 0 }));
        assert_all_lost(&mut client, &[held, ended]);
        assert_ne!(pid_of(&mut client, json!({})), before, "{policy}");
        bus.finish([client]);
    }
}

/// Asks until the pool is given up; a worker that lives for a moment may take a request with it.
#[track_caller]
fn wait_for_failure(mut ask: impl FnMut() -> Value) -> Value {
    let mut answer = Value::Null;
    let has_failed = wait_until(PATIENCE, || {
        answer = ask();
        answer["error"]["data"]["reason"] != "worker_died"
    });
    assert!(has_failed, "{answer}");
    assert_refused(&answer, UNAVAILABLE, "pool_failed");
    assert!(answer["error"]["message"].as_str().unwrap().contains("exit code 3"), "{answer}");
    answer
}

#[test]
fn a_pool_that_crashes_again_and_again_says_so_and_recovers_by_itself() {
    let stage = Stage::new("");
    let needed = stage.path().join("needed");
    let settings = format!(
        "args = [\"--needs\", {needed:?}]\nworkers = 1\n\
         backoff = {{ initial = \"10ms\", max = \"20ms\" }}\n\
         intensity = {{ deaths = 2, window = \"1m\", cool_down = \"200ms\" }}"
    );
    let bus = bus(&pool(&settings));
    let mut client = bus.client();
    let failed = wait_for_failure(|| client.ask("any/thing", &json!({})));
    assert_eq!(failed["error"]["data"]["pool"], "echo", "{failed}");
    std::fs::write(&needed, "").unwrap();
    let is_served =
        wait_until(PATIENCE, || client.ask("any/thing", &json!({})).get("result").is_some());
    assert!(is_served, "does not recover: {}", bus.said());
    bus.finish([client]);
}

#[test]
fn a_failed_pool_recovers_when_told_and_leaves_the_others_alone() {
    let place = Stage::new("");
    let needed = place.path().join("needed");
    let broken = format!(
        "[[pool]]\nname = \"broken\"\ncommand = \"$WORKER\"\nargs = [\"--needs\", {needed:?}]\n\
         backoff = {{ initial = \"10ms\", max = \"20ms\" }}\n\
         intensity = {{ deaths = 2, window = \"1m\", cool_down = \"1h\" }}\n"
    );
    let bus = bus(&format!("{}{broken}", pool("workers = 1")));
    let mut client = bus.client();
    let ask = |client: &mut LineClient, pool: &str| {
        client.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"{pool}","method":"any/thing","pool":"{pool}"}}"#
        ));
        client.answer_to(&json!(pool))
    };
    wait_for_failure(|| ask(&mut client, "broken"));
    assert!(ask(&mut client, "echo").get("result").is_some());
    std::fs::write(&needed, "").unwrap();
    let output = bus.home().command(["bus", "recover", "broken"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(ask(&mut client, "broken").get("result").is_some());
    bus.finish([client]);
}

#[test]
fn a_program_that_is_not_there_is_named_in_the_error() {
    let config = pool("workers = 1\nbackoff = { initial = \"10ms\", max = \"20ms\" }")
        .replace("$WORKER", "/no/such/program");
    let bus = bus(&config);
    let mut client = bus.client();
    for _ in 0..2 {
        let answer = client.ask("any/thing", &json!({}));
        assert_eq!(answer["error"]["code"], UNAVAILABLE, "{answer}");
        assert!(answer.to_string().contains("/no/such/program"), "{answer}");
    }
    bus.finish([client]);
}

#[test]
fn garbage_of_a_worker_costs_nobody_anything() {
    let bus = bus(&quick("workers = 1"));
    let mut client = bus.client();
    let before = pid_of(&mut client, json!({}));
    for _ in 0..20 {
        assert_eq!(client.result("x/garbage", &json!({ "a": 1 }))["echo"]["a"], 1);
    }
    assert_eq!(client.result("x/partial", &json!({}))["pieces"], 2);
    assert_eq!(pid_of(&mut client, json!({})), before);
    assert_eq!(client.put_aside().count(), 0);
    bus.finish([client]);
}

#[test]
fn an_answer_over_the_limit_is_an_error_and_the_worker_lives() {
    let bus = bus(&format!("{}[limits]\nmax_worker_line = \"100KiB\"\n", quick("workers = 1")));
    let (mut client, mut other) = (bus.client(), bus.client());
    let before = pid_of(&mut client, json!({}));
    let held = other.start("x/hold", &json!({}));
    pid_of(&mut other, json!({}));
    for n_bytes in [200_000, 5_000_000] {
        let answer = client.ask("x/big", &json!({ "bytes": n_bytes }));
        assert_refused(&answer, -32600, "line_too_long");
    }
    assert_eq!(
        client.result("x/big", &json!({ "bytes": 50_000 }))["big"].as_str().unwrap().len(),
        50_000
    );
    assert_eq!(pid_of(&mut client, json!({})), before);
    client.result("x/release", &json!({}));
    assert_eq!(other.answer_to(&held)["result"]["held"], true);
    bus.finish([client, other]);
}

#[test]
fn a_worker_that_stops_reading_is_found_stuck_and_delays_nobody_else() {
    const N: usize = 1_000;
    let bus = bus(&format!("{}[limits]\nworker_stuck_after = \"1s\"\n", quick("workers = 2")))
        .with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.client());
    let (stuck, well) = apart(&mut one, &mut other);
    let params = json!({ "sessionId": stuck.name, "padding": "x".repeat(16 << 10) });
    let hung = one.start("x/hang", &json!({ "sessionId": stuck.name }));
    // More than all queues on the way take, so the sender stands still until it is over.
    let flood = std::thread::spawn(move || {
        let mut ids = vec![hung];
        ids.extend((0..N).map(|_| one.start("any/thing", &params)));
        let mut left: HashSet<String> = ids.iter().map(Value::to_string).collect();
        while !left.is_empty() {
            let answer = one.next_message();
            assert!(left.remove(&answer["id"].to_string()), "not asked, or twice: {answer}");
            assert!(answer.get("error").is_some(), "{answer}");
        }
        one
    });
    let mut n_served = 0;
    while !flood.is_finished() || n_served < 10 {
        assert_eq!(pid_of(&mut other, json!({ "sessionId": well.name })), well.pid);
        n_served += 1;
    }
    let mut one = flood.join().unwrap();
    assert_served(&mut one);
    assert!(wait_until(PATIENCE, || !proc::is_alive(stuck.pid)), "a stuck worker is ended");
    assert!(bus.grown_kib() < 112 << 10, "{} KiB", bus.grown_kib());
    bus.finish([one, other]);
}

#[test]
fn what_a_worker_left_ends_with_it_also_if_it_keeps_the_pipes() {
    for keeps_pipes in [false, true] {
        let bus = bus(&quick("workers = 1"));
        let mut client = bus.client();
        let spawned = client.result("x/spawn", &json!({ "keepsPipes": keeps_pipes }));
        let grandchild = u32::try_from(spawned["pid"].as_u64().unwrap()).unwrap();
        assert!(proc::is_alive(grandchild));
        assert_refused(&client.ask("x/abort", &json!({})), WORKER_LOST, "worker_died");
        assert!(wait_until(PATIENCE, || !proc::is_alive(grandchild)), "outlives its worker");
        assert_served(&mut client);
        client.result("x/spawn", &json!({ "keepsPipes": keeps_pipes }));
        bus.finish([client]);
    }
}

#[test]
fn a_session_that_can_be_loaded_moves_when_its_worker_dies() {
    let bus = bus(&quick("workers = 2\nargs = [\"--can-load\"]"));
    let mut client = bus.client();
    client.result("initialize", &json!({ "protocolVersion": 1 }));
    let before = session(&mut client);
    proc::kill9(before.pid);
    let gone = || !proc::is_alive(before.pid);
    assert!(wait_until(PATIENCE, gone));
    // Until the death is known, a request may still be lost with the worker; it is told so.
    let mut after = None;
    let is_served = wait_until(PATIENCE, || {
        let answer = client.ask("x/pid", &json!({ "sessionId": before.name }));
        after = answer["result"]["pid"].as_u64();
        after.is_some()
    });
    assert!(is_served);
    assert_ne!(after, Some(u64::from(before.pid)));
    bus.finish([client]);
}

#[test]
fn sessions_of_two_workers_with_one_name_are_two_sessions() {
    let bus = bus(&quick("workers = 2")).with_workers(2);
    let (mut one, mut other) = (bus.client(), bus.client());
    let named = json!({ "cwd": "/", "mcpServers": [], "_meta": { "name": "same" } });
    let open = |client: &mut LineClient| {
        client.result("session/new", &named)["sessionId"].as_str().unwrap().to_owned()
    };
    let (first, second) = (open(&mut one), open(&mut other));
    assert_ne!(first, second, "towards clients they have different names");
    for (client, name, n) in [(&mut one, &first, 3), (&mut other, &second, 5)] {
        client.result("x/notify", &json!({ "sessionId": name, "n": n }));
        let updates: Vec<String> = client.put_aside().map(str::to_owned).collect();
        assert_eq!(updates.len(), n);
        let name = json!(name).to_string();
        assert!(updates.iter().all(|update| update.contains(&name)), "{updates:#?}");
    }
    let pid_one = pid_of(&mut one, json!({ "sessionId": first }));
    assert_ne!(pid_one, pid_of(&mut other, json!({ "sessionId": second })));
    bus.finish([one, other]);
}

#[test]
fn a_worker_is_told_when_the_client_that_it_asked_leaves() {
    let bus = bus(&quick("workers = 1"));
    let (mut one, mut other) = (bus.client(), bus.client());
    let own = session(&mut one);
    one.start("x/ask", &json!({ "sessionId": own.name, "askId": "q" }));
    one.wait_for(|message| message["method"] == "session/request_permission");
    drop(one);
    wait_until_heard(&mut other, &json!({}), |heard| heard["method"] == "$/cancel_request");
    assert_served(&mut other);
    bus.finish([other]);
}

#[test]
fn a_worker_that_has_closed_its_stdout_gets_no_more_requests() {
    let settings = "workers = 1\nbackoff = { initial = \"10ms\", max = \"50ms\" }";
    let bus = bus(&pool(settings));
    let mut client = bus.client();
    for _ in 0..3 {
        assert_refused(&client.ask("x/cut", &json!({})), WORKER_LOST, "worker_died");
        assert_served(&mut client);
    }
    bus.finish([client]);
}
