//! Drain, recover, restart, reload.

use super::*;

#[test]
fn a_drain_lets_requests_end_and_takes_no_new_ones() {
    let mut switch = running(fixed(2), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 drain-all
        < stop-worker 2 gently
        > 3 client-line 1 {"id":2,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32011,…"reason":"draining"}}}
        > 3 client-came 2
        < to-client 2 {…
        < close-client 2 draining
        > 4 worker-ended 2 exit 0
        > 5 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        < stop-worker 1 gently
        "#,
    );
    assert!(!switch.is_drained());
    run(&mut switch, "> 6 worker-ended 1 exit 0");
    assert!(switch.is_drained());
}

#[test]
fn a_drain_has_a_time_limit() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 drain-all
        > 30001 time-passed
        > 30002 time-passed
        < stop-worker 1 gently
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32010,…
        "#,
    );
}

#[test]
fn one_pool_can_be_drained_and_recovered() {
    run(
        &mut running(plan_of(vec![pool("a", 1), pool("b", 1)]), 1),
        r#"
        > 1 drain-pool a
        < stop-worker 1 gently
        > 2 client-line 1 {"id":1,"method":"m","pool":"a"}
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32011,…"reason":"draining","pool":"a"}}}
        > 2 client-line 1 {"id":2,"method":"m","pool":"b"}
        < to-worker 2 {"id":1,"method":"m","pool":"b"}
        > 3 worker-ended 1 exit 0
        > 4 recover-pool a
        < start-worker 3 a/0
        > 5 worker-runs 3
        > 6 client-line 1 {"id":3,"method":"m","pool":"a"}
        < to-worker 3 {"id":1,"method":"m","pool":"a"}
        "#,
    );
}

#[test]
fn a_restart_replaces_one_worker_after_the_other() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 restart-pool p
        < stop-worker 1 gently
        > 2 worker-ended 1 exit 0
        < start-worker 3 p/0
        > 3 client-line 1 {"id":1,"method":"m"}
        < to-worker 2 {"id":1,"method":"m"}
        > 4 worker-runs 3
        > 5 worker-line 2 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        < stop-worker 2 gently
        > 6 worker-ended 2 exit 0
        < start-worker 4 p/1
        > 7 worker-runs 4
        "#,
    );
}

#[test]
fn a_reload_touches_only_what_it_changes() {
    let mut switch = running(plan_of(vec![pool("same", 1), pool("gone", 1), pool("other", 1)]), 1);
    let other = PoolPlan { launch: "new".into(), ..pool("other", 1) };
    let plan = plan_of(vec![pool("same", 1), other, pool("added", 1)]);
    let mut out = Vec::new();
    run(
        &mut switch,
        "> 1 client-line 1 {\"id\":1,\"method\":\"m\",\"pool\":\"gone\"}\n< to-worker 2 …",
    );
    switch.take(MonotonicMillis(2), SwitchInput::NewPlan(Box::new(plan)), &mut out);
    let words: Vec<_> = out.iter().map(output_text).collect();
    assert_eq!(words, ["stop-worker 3 gently", "start-worker 4 added/0"]);
    run(
        &mut switch,
        r#"
        > 3 worker-line 2 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        < stop-worker 2 gently
        > 4 worker-ended 2 exit 0
        > 4 worker-ended 3 exit 0
        < start-worker 5 other/0
        > 5 client-line 1 {"id":2,"method":"m","pool":"gone"}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32014,"message":"there is no pool `gone`",…
        > 5 client-line 1 {"id":3,"method":"m","pool":"same"}
        < to-worker 1 {"id":1,"method":"m","pool":"same"}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).pools.len(), 3);
}

#[test]
fn a_reload_resizes_a_pool_in_place() {
    let mut switch = running(fixed(2), 1);
    let mut out = Vec::new();
    switch.take(MonotonicMillis(1), SwitchInput::NewPlan(Box::new(fixed(3))), &mut out);
    switch.take(MonotonicMillis(2), SwitchInput::NewPlan(Box::new(fixed(1))), &mut out);
    let words: Vec<_> = out.iter().map(output_text).collect();
    assert_eq!(words, ["start-worker 3 p/2", "stop-worker 2 gently", "stop-worker 3 at-once"]);
    run(
        &mut switch,
        "> 3 worker-ended 3 x
         > 3 worker-ended 2 x
         > 9999 time-passed",
    );
    assert_eq!(switch.status(MonotonicMillis(0)).pools[0].workers.len(), 1);
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let bad = |change: fn(&mut PoolPlan)| {
        let mut plan = pool("p", 1);
        change(&mut plan);
        Switch::new(plan_of(vec![plan]), 0).is_err()
    };
    assert!(bad(|p| p.max = 0));
    assert!(bad(|p| p.min = 2));
    assert!(bad(|p| p.min = 0));
    assert!(bad(|p| p.name = "".into()));
    assert!(bad(|p| p.backoff.initial = 5000));
    assert!(bad(|p| p.backoff.jitter_percent = 101));
    assert!(bad(|p| p.ping = Some(PingPolicy { method: "m".into(), interval: 0, timeout: 1 })));
    assert!(!bad(|_| {}));
    assert!(Switch::new(plan_of(vec![]), 0).is_err());
    assert!(Switch::new(plan_of(vec![pool("p", 1), pool("p", 1)]), 0).is_err());
    // A bad one at a reload changes nothing.
    let mut switch = running(fixed(1), 0);
    let mut out = Vec::new();
    switch.take(MonotonicMillis(1), SwitchInput::NewPlan(Box::new(plan_of(vec![]))), &mut out);
    assert_eq!(out, []);
}
