//! Clients that leave, and come back.

use super::*;

#[test]
fn what_a_client_that_left_had_open_is_cancelled() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 2 client-line 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        > 2 worker-line 1 {"id":"p","method":"session/request_permission","params":{"sessionId":"s"}}
        < to-client 1 {"id":1,"method":"session/request_permission","params":{"sessionId":"s"}}
        > 2 client-line 1 {"id":3,"method":"m"}
        < to-worker 1 {"id":3,"method":"m"}
        > 3 client-left 1
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}
        < to-worker 1 {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}
        < to-worker 1 {"jsonrpc":"2.0","id":"p","error":{"code":-32015,…
        > 4 worker-line 1 {"id":2,"result":{"stopReason":"cancelled"}}
        > 4 worker-line 1 {"id":3,"result":0}
        > 4 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        > 4 worker-line 1 {"id":"q","method":"session/request_permission","params":{"sessionId":"s"}}
        < to-worker 1 {"jsonrpc":"2.0","id":"q","error":{"code":-32015,…
        "#,
    );
    let counters = switch.counters();
    assert_eq!((counters.abandoned, counters.unasked, counters.undelivered), (2, 2, 1));
}

#[test]
fn the_next_client_that_names_a_session_owns_it_within_the_grace() {
    let limits = SwitchLimits { session_grace: 1000, ..SwitchLimits::default() };
    let mut switch = running(SwitchPlan { limits, ..fixed(2) }, 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 2 client-left 1
        > 1001 time-passed
        > 1001 client-line 2 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        > 1500 time-passed
        > 1500 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"s"}}
        > 1501 client-left 2
        < to-worker 1 …cancel_request…
        < to-worker 1 …session/cancel…
        > 2500 time-passed
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).n_sessions, 1);
    run(&mut switch, "> 2501 time-passed");
    assert_eq!(switch.status(MonotonicMillis(0)).n_sessions, 0);
}

#[test]
fn clients_have_a_limit() {
    let limits = SwitchLimits { max_clients: 1, ..SwitchLimits::default() };
    run(
        &mut running(SwitchPlan { limits, ..fixed(1) }, 1),
        r#"
        > 1 client-came 2
        < to-client 2 {"jsonrpc":"2.0","id":null,"error":{"code":-32012,…
        < close-client 2 too-many-clients
        > 2 client-left 1
        > 2 client-came 3
        "#,
    );
}

#[test]
fn what_waits_of_a_client_that_left_is_dropped() {
    let on_demand = PoolPlan { start: StartPolicy::OnDemand, min: 0, ..pool("p", 1) };
    let mut switch = running(plan_of(vec![on_demand]), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < start-worker 1 p/0
        > 1 client-line 2 {"id":2,"method":"m"}
        > 1 client-line 2 {"method":"note"}
        > 2 client-left 1
        > 3 worker-runs 1
        < to-worker 1 {"id":1,"method":"m"}
        < to-worker 1 {"method":"note"}
        > 4 worker-line 1 {"id":1,"result":0}
        < to-client 2 {"id":2,"result":0}
        "#,
    );
}

#[test]
fn a_client_that_only_reads_is_closed_when_it_has_its_answers() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 client-line 1 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 client-finished 1
        > 3 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 3 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"s"}}
        > 4 worker-line 1 {"id":2,"result":0}
        < to-client 1 {"id":2,"result":0}
        < close-client 1 finished
        > 5 client-left 1
        > 6 client-finished 2
        < close-client 2 finished
        "#,
    );
    assert_eq!((switch.clients.len(), switch.sessions.len()), (0, 1));
    assert_eq!(switch.counters().abandoned, 0);
}

#[test]
fn a_client_that_only_reads_cannot_be_asked() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-line 1 {"id":"a","method":"ask"}
        < to-client 1 {"id":1,"method":"ask"}
        > 3 client-finished 1 1000
        < to-worker 1 {"jsonrpc":"2.0","id":"a","error":{"code":-32015,…"reason":"client_finished"}}}
        > 4 worker-line 1 {"id":"b","method":"ask"}
        < to-worker 1 {"jsonrpc":"2.0","id":"b","error":{"code":-32015,…"reason":"client_finished"}}}
        > 5 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        < close-client 1 finished
        > 1003 time-passed
        "#,
    );
}

#[test]
fn a_client_that_only_reads_has_a_time_limit() {
    let mut switch = running(fixed(1), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 client-finished 1 1000
        > 1001 time-passed
        > 1002 time-passed
        < close-client 1 finished
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        > 1003 worker-line 1 {"id":1,"result":0}
        "#,
    );
    assert_eq!((switch.counters().abandoned, switch.counters().unasked), (1, 1));
}

#[test]
fn the_last_words_of_a_client_reach_their_worker() {
    run(
        &mut running(fixed(2), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 2 client-line 2 {"id":1,"method":"initialize"}
        < to-worker 2 {"id":1,"method":"initialize"}
        > 2 client-line 2 {"method":"session/cancel","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"initialize"}
        > 2 client-finished 2
        > 3 worker-line 2 {"id":1,"result":{}}
        < to-client 2 {"id":1,"result":{}}
        > 4 worker-line 1 {"id":2,"result":{}}
        < to-worker 1 {"method":"session/cancel","params":{"sessionId":"s"}}
        < close-client 2 finished
        "#,
    );
}

#[test]
fn a_client_is_not_kept_for_a_session_that_it_no_longer_waits_for() {
    run(
        &mut running(fixed(2), 2),
        r#"
        > 1 client-line 2 {"id":1,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{"agentCapabilities":{"loadSession":true}}}
        < to-client 2 {"id":1,"result":{"agentCapabilities":{"loadSession":true}}}
        > 1 client-line 1 {"id":1,"method":"session/new","params":{}}
        < to-worker 1 {"id":2,"method":"session/new","params":{}}
        > 1 worker-line 1 {"id":2,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 2 worker-died 1 signal 9
        > 3 client-line 2 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 2 {"id":1,"method":"initialize"}
        > 3 client-line 2 {"method":"$/cancel_request","params":{"requestId":2}}
        < to-client 2 {"jsonrpc":"2.0","id":2,"error":{"code":-32800,…
        > 4 client-finished 2
        > 5 worker-line 2 {"id":1,"result":{}}
        < to-worker 2 {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"s"}}
        < close-client 2 finished
        "#,
    );
}

#[test]
fn who_came_for_one_pool_cannot_reach_the_sessions_of_another() {
    check(
        plan_of(vec![pool("a", 1), pool("b", 1)]),
        r#"
        > 0 time-passed
        < start-worker 1 a/0
        < start-worker 2 b/0
        > 0 worker-runs 1
        > 0 worker-runs 2
        > 1 client-came 1 a
        > 1 client-came 2 b
        > 2 client-line 1 {"id":1,"method":"m","params":{"sessionId":"s"}}
        < to-worker 1 {"id":1,"method":"m","params":{"sessionId":"s"}}
        > 3 client-line 2 {"id":1,"method":"session/load","params":{"sessionId":"s"}}
        < to-client 2 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,…"reason":"session_of_another"}}}
        > 4 client-line 2 {"method":"session/cancel","params":{"sessionId":"s"}}
        > 5 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"s"}}
        "#,
    );
}

#[test]
fn a_pool_that_does_not_start_holds_up_only_what_is_for_it() {
    check(
        plan_of(vec![pool("a", 1), pool("b", 1)]),
        r#"
        > 0 time-passed
        < start-worker 1 a/0
        < start-worker 2 b/0
        > 0 worker-runs 2
        > 1 client-came 1
        > 2 client-line 1 {"id":1,"method":"m","pool":"a"}
        > 3 client-line 1 {"id":2,"method":"m","pool":"b"}
        < to-worker 2 {"id":1,"method":"m","pool":"b"}
        > 4 client-line 1 {"id":3,"method":"n","pool":"a"}
        > 5 worker-runs 1
        < to-worker 1 {"id":1,"method":"m","pool":"a"}
        < to-worker 1 {"id":2,"method":"n","pool":"a"}
        "#,
    );
}

#[test]
fn neither_a_hello_nor_a_token_reaches_a_worker() {
    check(
        fixed(1),
        r#"
        > 0 time-passed
        < start-worker 1 p/0
        > 0 worker-runs 1
        > 1 client-came 1
        > 2 client-line 1 {"id":"h","method":"switchyard\/hello","params":{"token":"secret"}}
        < to-client 1 {"jsonrpc":"2.0","id":"h","result":{}}
        > 3 client-line 1 {"method":"switchyard/hello","params":{"token":"secret"}}
        > 4 client-line 1 {"id":1,"method":"initialize","params":{"_meta":{"switchyard":{"token":"secret"}}}}
        < to-worker 1 {"id":1,"method":"initialize","params":{"_meta":{"switchyard":{"token":""}}}}
        "#,
    );
}
