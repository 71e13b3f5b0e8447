//! Pools in which every client has a worker of its own.

use super::*;

fn private(n_workers: u32) -> SwitchPlan {
    plan_of(vec![PoolPlan { sharing: Sharing::OneClient, ..pool("p", n_workers) }])
}

#[test]
fn everything_of_a_client_is_at_its_own_worker() {
    run(
        &mut running(private(2), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 client-line 1 {"method":"note"}
        < to-worker 1 {"method":"note"}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 1 client-line 1 {"id":3,"method":"session/list"}
        < to-worker 1 {"id":3,"method":"session/list"}
        > 2 client-line 2 {"id":1,"method":"m"}
        < to-worker 2 {"id":1,"method":"m"}
        > 3 worker-line 1 {"method":"notifications/message"}
        < to-client 1 {"method":"notifications/message"}
        > 3 worker-line 2 {"id":"a","method":"roots/list"}
        < to-client 2 {"id":1,"method":"roots/list"}
        "#,
    );
}

#[test]
fn the_next_client_gets_a_fresh_worker() {
    let mut switch = running(private(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 1 client-line 2 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-client 2 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,…"reason":"session_of_another","pool":"p"}}}
        > 1 client-line 2 {"method":"session/cancel","params":{"sessionId":"s"}}
        > 2 client-line 2 {"id":2,"method":"m"}
        < to-client 2 {"jsonrpc":"2.0","id":2,"error":{"code":-32012,"message":"overloaded: every worker serves another client",…
        > 3 client-left 1
        < stop-worker 1 gently
        > 4 client-line 2 {"id":3,"method":"m"}
        > 5 worker-ended 1 exit 0
        < start-worker 2 p/0
        > 6 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        > 7 client-line 2 {"id":4,"method":"session/load","params":{"sessionId":"s"}}
        < to-worker 2 {"id":2,"method":"session/load","params":{"sessionId":"s"}}
        "#,
    );
    assert_eq!(switch.counters().worker_deaths, 0);
}

#[test]
fn whoever_waits_gets_a_worker_as_long_as_there_is_a_place() {
    let plan = PoolPlan {
        sharing: Sharing::OneClient,
        start: StartPolicy::OnDemand,
        min: 0,
        idle_stop: Some(1000),
        ..pool("p", 2)
    };
    run(
        &mut running(plan_of(vec![plan]), 3),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < start-worker 1 p/0
        > 1 client-line 2 {"id":1,"method":"m"}
        < start-worker 2 p/1
        > 1 client-line 3 {"id":1,"method":"m"}
        > 2 worker-runs 1
        < to-worker 1 {"id":1,"method":"m"}
        > 3 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        < to-client 3 {"jsonrpc":"2.0","id":1,"error":{"code":-32012,…
        > 4 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        > 5000 time-passed
        > 5001 client-left 1
        < stop-worker 1 gently
        > 5002 worker-ended 1 exit 0
        > 5003 client-line 3 {"id":2,"method":"m"}
        < start-worker 3 p/0
        "#,
    );
}

#[test]
fn a_client_whose_worker_died_gets_another_and_is_introduced_again() {
    run(
        &mut running(private(2), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{}}
        < to-client 1 {"id":1,"result":{}}
        > 2 worker-died 1 signal 9
        > 3 client-line 1 {"id":2,"method":"m"}
        < to-worker 2 {"id":1,"method":"initialize"}
        > 4 worker-line 2 {"id":1,"result":{}}
        < to-worker 2 {"id":2,"method":"m"}
        "#,
    );
}

#[test]
fn workers_that_were_shared_are_replaced_when_they_no_longer_may_be() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 1 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        > 1 worker-line 1 {"id":2,"result":0}
        < to-client 2 {"id":1,"result":0}
        "#,
    );
    let mut out = Vec::new();
    switch.take(MonotonicMillis(2), SwitchInput::NewPlan(Box::new(private(1))), &mut out);
    assert_eq!(out.iter().map(output_text).collect::<Vec<_>>(), ["stop-worker 1 gently"]);
}
