//! Slow readers.

use super::*;

#[test]
fn clients_pause_when_they_feed_a_worker_that_has_enough_and_only_they() {
    run(
        &mut running(fixed(2), 3),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 2 {"id":1,"method":"m"}
        > 1 client-line 3 {"id":1,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 worker-outbox 1 high
        > 2 client-line 1 {"id":2,"method":"m"}
        < to-worker 1 {"id":3,"method":"m"}
        < pause-client 1
        > 2 client-line 1 {"id":3,"method":"m"}
        < to-worker 1 {"id":4,"method":"m"}
        > 2 client-line 2 {"id":2,"method":"m"}
        < to-worker 2 {"id":2,"method":"m"}
        > 3 worker-outbox 1 full
        > 3 client-line 3 {"id":2,"method":"m"}
        < to-client 3 {"jsonrpc":"2.0","id":2,"error":{"code":-32012,…"reason":"overloaded","pool":"p","worker":1}}}
        > 3 client-line 3 {"method":"note"}
        > 4 worker-outbox 1 low
        < resume-client 1
        > 4 client-line 3 {"id":3,"method":"m"}
        < to-worker 1 {"id":5,"method":"m"}
        "#,
    );
}

#[test]
fn a_death_resumes_who_was_paused_for_it() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 worker-outbox 1 high
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        < pause-client 1
        > 2 worker-stuck 1
        < stop-worker 1 at-once
        < resume-client 1
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":…
        > 3 worker-died 1 signal 9
        "#,
    );
}

#[test]
fn new_sessions_avoid_a_worker_that_does_not_read() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 worker-outbox 1 high
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"session/new"}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 2 {"id":2,"method":"session/new"}
        "#,
    );
}

#[test]
fn a_worker_pauses_for_its_only_client_until_it_gets_another() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 client-outbox 1 high
        < pause-client 1
        < pause-worker 1
        > 3 client-outbox 1 full
        > 4 client-line 2 {"id":1,"method":"m"}
        < resume-worker 1
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32012,…
        < close-client 1 slow-reader
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        < to-worker 1 {"id":2,"method":"m"}
        "#,
    );
}

#[test]
fn a_client_that_reads_again_goes_on() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 client-outbox 1 high
        < pause-client 1
        < pause-worker 1
        > 3 client-outbox 1 low
        < resume-client 1
        < resume-worker 1
        > 60002 time-passed
        "#,
    );
}

#[test]
fn a_slow_client_of_a_shared_worker_is_evicted_at_its_limit() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 client-outbox 1 high
        < pause-client 1
        > 3 client-outbox 1 full
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32012,…
        < close-client 1 slow-reader
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        > 4 client-left 1
        "#,
    );
}

#[test]
fn a_client_that_stays_slow_is_evicted_after_its_time() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 client-outbox 1 high
        < pause-client 1
        < pause-worker 1
        > 60001 time-passed
        > 60002 time-passed
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":…
        < close-client 1 slow-reader
        < to-worker 1 …cancel_request…
        < resume-worker 1
        "#,
    );
}
