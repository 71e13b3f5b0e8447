//! Starts, restarts, failure, probes, scaling, pings, memory.

use super::*;

#[test]
fn workers_start_ahead_and_requests_wait_for_them() {
    check(
        fixed(2),
        r#"
        > 0 time-passed
        < start-worker 1 p/0
        < start-worker 2 p/1
        > 0 client-came 1
        > 1 client-line 1 {"id":1,"method":"m"}
        > 2 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        "#,
    );
}

#[test]
fn nothing_new_goes_to_a_worker_that_cannot_answer_any_more() {
    check(
        fixed(1),
        r#"
        > 0 time-passed
        < start-worker 1 p/0
        > 1 worker-runs 1
        > 2 client-came 1
        > 2 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 3 worker-mute 1
        > 3 client-line 1 {"id":2,"method":"m"}
        > 4 worker-died 1 exit 1
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"the worker was lost: exit 1","data":{"reason":"worker_died","pool":"p","worker":1}}}
        > 200 time-passed
        < start-worker 2 p/0
        > 201 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        "#,
    );
}

#[test]
fn restarts_wait_longer_each_time_and_then_the_pool_fails_and_is_probed() {
    let intensity = RestartIntensity { n_deaths: 3, window: 100_000, cool_down: 5000 };
    let plan = plan_of(vec![PoolPlan { intensity, ..pool("p", 1) }]);
    let mut switch = running(plan, 1);
    run(
        &mut switch,
        r#"
        > 1 worker-died 1 exit 1
        > 100 time-passed
        > 101 time-passed
        < start-worker 2 p/0
        > 102 worker-not-started 2 no such file
        > 301 time-passed
        > 302 time-passed
        < start-worker 3 p/0
        > 302 worker-runs 3
        > 303 worker-ended 3 exit 0
        > 702 time-passed
        > 703 time-passed
        < start-worker 4 p/0
        > 704 client-line 1 {"id":1,"method":"m"}
        > 705 worker-died 4 exit 3
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32011,"message":"pool `p` has failed: its workers died too often, the last because: exit 3; it is tried again in 5000 ms","data":{"reason":"pool_failed","pool":"p","retryAfterMs":5000}}}
        > 1705 client-line 1 {"id":2,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32011,…"retryAfterMs":4000}}}
        "#,
    );
    let failed = &switch.status(MonotonicMillis(5000)).pools[0];
    assert_eq!((failed.state, failed.retry_in_ms), (PoolState::Failed, Some(705)));
    run(
        &mut switch,
        r#"
        > 5705 time-passed
        < start-worker 5 p/0
        > 5706 worker-died 5 exit 3
        > 5707 client-line 1 {"id":3,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":3,"error":{"code":-32011,…
        > 10706 time-passed
        < start-worker 6 p/0
        > 10707 worker-runs 6
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).pools[0].state, PoolState::Probing);
    run(
        &mut switch,
        r#"
        > 10708 client-line 1 {"id":4,"method":"m"}
        < to-worker 6 {"id":1,"method":"m"}
        > 10709 worker-line 6 {"id":1,"result":0}
        < to-client 1 {"id":4,"result":0}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).pools[0].state, PoolState::Serving);
    assert_eq!(switch.counters().pool_failures, 2);
}

#[test]
fn the_first_death_after_a_long_life_counts_as_the_first() {
    run(
        &mut running(fixed(1), 0),
        r"
        > 1 worker-died 1 x
        > 101 time-passed
        < start-worker 2 p/0
        > 101 worker-runs 2
        > 102 worker-died 2 x
        > 302 time-passed
        < start-worker 3 p/0
        > 302 worker-runs 3
        > 1302 time-passed
        > 1303 worker-died 3 x
        > 1403 time-passed
        < start-worker 4 p/0
        ",
    );
}

#[test]
fn jitter_changes_the_delay_within_its_bounds() {
    let backoff = Backoff { initial: 1000, max: 1000, jitter_percent: 50 };
    let mut delays = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let plan = plan_of(vec![PoolPlan { backoff, ..pool("p", 1) }]);
        let mut switch = Switch::new(plan, seed).unwrap();
        run(
            &mut switch,
            "> 0 time-passed
             < start-worker 1 p/0
             > 0 worker-died 1 x",
        );
        let delay = switch.wake_at().unwrap().0;
        assert!((500..=1500).contains(&delay), "{delay}");
        delays.insert(delay);
    }
    assert!(delays.len() > 40, "{delays:?}");
}

#[test]
fn restart_policies_are_kept() {
    for (restart, is_success, starts) in [
        (RestartPolicy::Always, true, true),
        (RestartPolicy::OnFailure, true, false),
        (RestartPolicy::OnFailure, false, true),
        (RestartPolicy::Never, false, false),
    ] {
        let mut switch = running(plan_of(vec![PoolPlan { restart, ..pool("p", 1) }]), 1);
        let mut out = Vec::new();
        let exit =
            SwitchInput::WorkerExited { worker: WorkerId(1), is_success, status: String::new() };
        switch.take(MonotonicMillis(1), exit, &mut out);
        switch.take(MonotonicMillis(101), SwitchInput::TimePassed, &mut out);
        assert_eq!(!out.is_empty(), starts, "{restart:?} {is_success}");
    }
    // A request starts what rests, but not what is never restarted.
    let rests = PoolPlan { restart: RestartPolicy::OnFailure, ..pool("p", 1) };
    run(
        &mut running(plan_of(vec![rests]), 1),
        r#"
        > 1 worker-ended 1 exit 0
        > 2 client-line 1 {"id":1,"method":"m"}
        < start-worker 2 p/0
        "#,
    );
    let never = PoolPlan { restart: RestartPolicy::Never, ..pool("p", 1) };
    run(
        &mut running(plan_of(vec![never]), 1),
        r#"
        > 1 worker-ended 1 exit 0
        > 2 client-line 1 {"id":1,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32011,…"reason":"no_worker"…
        > 3 recover-pool p
        < start-worker 2 p/0
        "#,
    );
}

#[test]
fn a_pool_grows_when_all_are_busy_and_shrinks_when_idle() {
    let elastic = PoolPlan { min: 1, max: 3, idle_stop: Some(1000), ..pool("p", 1) };
    let mut switch = running(plan_of(vec![elastic]), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 2 client-line 1 {"id":2,"method":"session/new"}
        < start-worker 2 p/1
        < to-worker 1 {"id":2,"method":"session/new"}
        > 3 client-line 1 {"id":3,"method":"session/new"}
        < to-worker 1 {"id":3,"method":"session/new"}
        > 4 worker-runs 2
        > 5 client-line 1 {"id":4,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"session/new"}
        > 6 worker-line 2 {"id":1,"result":{"sessionId":"x"}}
        < to-client 1 {"id":4,"result":{"sessionId":"x"}}
        > 6 worker-line 1 {"id":1,"result":{}}
        < to-client 1 {"id":1,"result":{}}
        > 6 worker-line 1 {"id":2,"result":{}}
        < to-client 1 {"id":2,"result":{}}
        > 6 worker-line 1 {"id":3,"result":{}}
        < to-client 1 {"id":3,"result":{}}
        > 2000 time-passed
        < stop-worker 1 gently
        > 2000 worker-ended 1 exit 0
        > 2001 client-line 1 {"id":5,"method":"session/close","params":{"sessionId":"x"}}
        < to-worker 2 {"id":2,"method":"session/close","params":{"sessionId":"x"}}
        > 2002 worker-line 2 {"id":2,"result":{}}
        < to-client 1 {"id":5,"result":{}}
        > 2900 time-passed
        > 9000 time-passed
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).pools[0].workers.len(), 1);
}

#[test]
fn a_pool_on_demand_starts_with_the_first_request_and_ends_with_idleness() {
    let demand =
        PoolPlan { start: StartPolicy::OnDemand, min: 1, idle_stop: Some(1000), ..pool("p", 1) };
    let mut switch = running(plan_of(vec![demand]), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < start-worker 1 p/0
        > 2 worker-runs 1
        < to-worker 1 {"id":1,"method":"m"}
        > 3 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        > 600 time-passed
        > 1100 time-passed
        < stop-worker 1 gently
        > 1101 worker-ended 1 exit 0
        > 5000 time-passed
        > 5001 client-line 1 {"id":2,"method":"m"}
        < start-worker 2 p/0
        "#,
    );
}

#[test]
fn a_silent_worker_is_pinged_and_then_stuck() {
    let ping = PingPolicy { method: "ping".into(), interval: 1000, timeout: 100 };
    let mut switch = running(plan_of(vec![PoolPlan { ping: Some(ping), ..pool("p", 1) }]), 0);
    run(
        &mut switch,
        r#"
        > 500 worker-line 1 {"method":"n"}
        > 1000 time-passed
        > 1500 time-passed
        < to-worker 1 {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}
        > 1550 worker-line 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}
        > 1600 time-passed
        > 2550 time-passed
        < to-worker 1 {"jsonrpc":"2.0","id":2,"method":"ping","params":{}}
        > 2650 time-passed
        < stop-worker 1 at-once
        > 2651 worker-died 1 signal 9
        > 2751 time-passed
        < start-worker 2 p/0
        "#,
    );
    assert_eq!(switch.counters().unasked, 0);
}

#[test]
fn a_worker_over_its_memory_limit_is_replaced_after_its_requests() {
    let mut switch =
        running(plan_of(vec![PoolPlan { max_memory_bytes: Some(100), ..pool("p", 1) }]), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-memory 1 100
        > 3 worker-memory 1 101
        > 4 client-line 1 {"id":2,"method":"m"}
        > 5 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        < stop-worker 1 gently
        > 6 worker-ended 1 exit 0
        > 106 time-passed
        < start-worker 2 p/0
        > 107 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        "#,
    );
}
