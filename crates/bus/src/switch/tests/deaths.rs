//! Workers that die.

use super::*;

#[test]
fn everybody_who_waits_for_a_dead_worker_is_told_at_once() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":"a","method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":"a","result":{"sessionId":"s"}}
        > 2 client-line 1 {"id":"b","method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        > 2 client-line 2 {"id":"b","method":"m"}
        < to-worker 1 {"id":3,"method":"m"}
        > 2 worker-line 1 {"id":"p","method":"ask","params":{"sessionId":"s"}}
        < to-client 1 {"id":1,"method":"ask","params":{"sessionId":"s"}}
        > 3 worker-died 1 signal 9
        < to-client 1 {"jsonrpc":"2.0","id":"b","error":{"code":-32010,"message":"the worker was lost: signal 9","data":{"reason":"worker_died","pool":"p","worker":1}}}
        < to-client 2 {"jsonrpc":"2.0","id":"b","error":{"code":-32010,…
        < to-client 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        > 4 client-line 1 {"id":1,"result":"for nobody"}
        > 4 client-line 1 {"id":"c","method":"session/prompt","params":{"sessionId":"s"}}
        < to-client 1 {"jsonrpc":"2.0","id":"c","error":{"code":-32002,…"data":{"reason":"session_lost","pool":"p"}}}
        > 4 client-line 1 {"method":"session/cancel","params":{"sessionId":"s"}}
        > 5 client-line 2 {"id":"d","method":"m"}
        > 103 time-passed
        < start-worker 2 p/0
        > 104 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        > 105 client-line 1 {"id":"e","method":"session/load","params":{"sessionId":"s"}}
        < to-worker 2 {"id":2,"method":"session/load","params":{"sessionId":"s"}}
        > 106 worker-line 2 {"id":2,"result":{}}
        < to-client 1 {"id":"e","result":{}}
        > 107 client-line 1 {"id":"f","method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 2 {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).n_open, 2);
}

#[test]
fn a_worker_that_ends_no_line_is_ended_if_somebody_has_waited_for_as_long() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 100 worker-line-unfinished 1 100
        > 150 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 200 worker-line-unfinished 1 100
        > 250 worker-line-unfinished 1 100
        < stop-worker 1 at-once
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"the worker was lost: it does not end a line that it has begun",…
        > 251 worker-died 1 signal 9
        > 351 time-passed
        < start-worker 2 p/0
        "#,
    );
}

#[test]
fn a_stuck_worker_is_ended_and_its_requests_with_it() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-stuck 1
        < stop-worker 1 at-once
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"the worker was lost: it is stuck",…
        > 3 worker-stuck 1
        > 3 client-line 1 {"id":2,"method":"m"}
        > 4 worker-died 1 signal 9
        > 104 time-passed
        < start-worker 2 p/0
        > 105 worker-runs 2
        < to-worker 2 {"id":1,"method":"m"}
        "#,
    );
}

#[test]
fn input_about_what_is_gone_is_ignored() {
    let mut switch = running(fixed(1), 1);
    run(
        &mut switch,
        r#"
        > 1 worker-died 1 x
        > 1 worker-died 1 x
        > 1 worker-line 1 {"id":1,"result":0}
        > 1 worker-runs 1
        > 1 worker-outbox 1 high
        > 1 worker-memory 1 5
        > 1 worker-long 1 {
        > 1 client-left 9
        > 1 client-line 9 {"id":1,"method":"m"}
        > 1 client-long 9 {
        > 1 client-outbox 9 full
        > 1 client-came 1
        "#,
    );
    assert_eq!(switch.counters().worker_deaths, 1);
}
