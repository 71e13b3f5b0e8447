//! `initialize` reaches every worker that serves a client.

use super::*;

#[test]
fn a_further_worker_is_initialised_before_it_serves() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":0,"method":"initialize","params":{"protocolVersion":1}}
        < to-worker 1 {"id":1,"method":"initialize","params":{"protocolVersion":1}}
        > 1 worker-line 1 {"id":1,"result":{"protocolVersion":1}}
        < to-client 1 {"id":0,"result":{"protocolVersion":1}}
        > 2 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 2 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"initialize","params":{"protocolVersion":1}}
        > 2 client-line 1 {"id":3,"method":"session/new"}
        < to-worker 1 {"id":3,"method":"session/new"}
        > 2 client-line 1 {"id":4,"method":"session/new"}
        > 3 client-line 1 {"method":"$/cancel_request","params":{"requestId":4}}
        < to-client 1 {"jsonrpc":"2.0","id":4,"error":{"code":-32800,…
        > 3 worker-line 2 {"id":1,"result":{"protocolVersion":1}}
        < to-worker 2 {"id":2,"method":"session/new"}
        > 4 worker-line 2 {"id":2,"result":{"sessionId":"b"}}
        < to-client 1 {"id":2,"result":{"sessionId":"b"}}
        > 5 client-line 1 {"id":5,"method":"m","params":{"sessionId":"b"}}
        < to-worker 2 {"id":3,"method":"m","params":{"sessionId":"b"}}
        "#,
    );
}

#[test]
fn the_second_half_of_mcps_handshake_follows() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":0,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{}}
        < to-client 1 {"id":0,"result":{}}
        > 2 client-line 1 {"method":"notifications/initialized"}
        < to-worker 1 {"method":"notifications/initialized"}
        > 3 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 3 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"initialize"}
        > 4 worker-line 2 {"id":1,"error":{"code":1,"message":"no"}}
        < to-worker 2 {"method":"notifications/initialized"}
        < to-worker 2 {"id":2,"method":"session/new"}
        "#,
    );
}

#[test]
fn what_waits_for_a_worker_that_dies_while_it_is_initialised_is_answered() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":0,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"initialize"}
        > 2 worker-died 2 killed
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32010,…
        "#,
    );
}

#[test]
fn a_new_home_is_told_too() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":0,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{}}
        < to-client 1 {"id":0,"result":{}}
        > 2 worker-died 1 killed
        > 3 client-line 1 {"id":1,"method":"m"}
        > 102 time-passed
        < start-worker 2 p/0
        > 103 worker-runs 2
        < to-worker 2 {"id":1,"method":"initialize"}
        > 104 worker-line 2 {"id":1,"result":{}}
        < to-worker 2 {"id":2,"method":"m"}
        "#,
    );
}
