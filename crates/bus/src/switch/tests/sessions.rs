//! Sessions: pinning, learning, aliases, owners.

use super::*;

const TWO_SESSIONS: &str = r#"
    > 1 client-line 1 {"id":1,"method":"session/new"}
    < to-worker 1 {"id":1,"method":"session/new"}
    > 1 client-line 2 {"id":1,"method":"session/new"}
    < to-worker 2 {"id":1,"method":"session/new"}
    > 2 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
    < to-client 1 {"id":1,"result":{"sessionId":"s"}}
    > 2 worker-line 2 {"id":1,"result":{"sessionId":"s"}}
    < to-client 2 {"id":1,"result":{"sessionId":"s~2"}}
"#;

#[test]
fn a_session_stays_with_the_worker_that_opened_it() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"session/new"}
        > 2 worker-line 1 {"id":1,"result":{"sessionId":"a"}}
        < to-client 1 {"id":1,"result":{"sessionId":"a"}}
        > 2 worker-line 2 {"id":1,"result":{"sessionId":"b"}}
        < to-client 1 {"id":2,"result":{"sessionId":"b"}}
        > 3 client-line 1 {"id":3,"method":"session/prompt","params":{"sessionId":"b"}}
        < to-worker 2 {"id":2,"method":"session/prompt","params":{"sessionId":"b"}}
        > 3 client-line 1 {"id":4,"method":"session/prompt","params":{"sessionId":"a"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"a"}}
        > 3 client-line 1 {"method":"session/cancel","params":{"sessionId":"b"}}
        < to-worker 2 {"method":"session/cancel","params":{"sessionId":"b"}}
        > 4 worker-line 2 {"method":"session/update","params":{"sessionId":"b","update":{}}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"b","update":{}}}
        "#,
    );
}

#[test]
fn two_workers_with_the_same_name_for_a_session_are_told_apart() {
    let mut switch = running(fixed(2), 2);
    run(&mut switch, TWO_SESSIONS);
    run(
        &mut switch,
        r#"
        > 3 client-line 2 {"id":2,"method":"session/prompt","params":{"sessionId":"s~2","big":1e400}}
        < to-worker 2 {"id":2,"method":"session/prompt","params":{"sessionId":"s","big":1e400}}
        > 3 client-line 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        > 4 worker-line 2 {"method":"session/update","params":{"x":1,"sessionId":"s"}}
        < to-client 2 {"method":"session/update","params":{"x":1,"sessionId":"s~2"}}
        > 4 worker-line 1 {"method":"session/update","params":{"x":1,"sessionId":"s"}}
        < to-client 1 {"method":"session/update","params":{"x":1,"sessionId":"s"}}
        > 5 worker-line 2 {"params":{"sessionId":"s"},"id":0,"method":"fs/read_text_file"}
        < to-client 2 {"params":{"sessionId":"s~2"},"id":1,"method":"fs/read_text_file"}
        "#,
    );
}

#[test]
fn a_name_that_nobody_knows_is_bound_by_its_first_request() {
    run(
        &mut running(fixed(2), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"m","sessionId":"x"}
        < to-worker 1 {"id":1,"method":"m","sessionId":"x"}
        > 1 client-line 2 {"id":1,"method":"m","sessionId":"y"}
        < to-worker 2 {"id":1,"method":"m","sessionId":"y"}
        > 1 client-line 1 {"id":2,"method":"m","sessionId":"y"}
        < to-worker 2 {"id":2,"method":"m","sessionId":"y"}
        > 2 worker-line 2 {"method":"n","sessionId":"y"}
        < to-client 2 {"method":"n","sessionId":"y"}
        "#,
    );
}

#[test]
fn a_name_whose_first_request_fails_is_not_kept() {
    let mut switch = running(fixed(2), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/load","params":{"sessionId":"old"}}
        < to-worker 1 {"id":1,"method":"session/load","params":{"sessionId":"old"}}
        > 1 worker-line 1 {"method":"session/update","params":{"sessionId":"old"}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"old"}}
        > 2 worker-line 1 {"id":1,"error":{"code":-32002,"message":"none"}}
        < to-client 1 {"id":1,"error":{"code":-32002,"message":"none"}}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).n_sessions, 0);
}

#[test]
fn updates_that_come_before_the_answer_wait_for_it() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 client-line 2 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 2 worker-line 1 {"method":"session/update","params":{"sessionId":"b","n":1}}
        > 2 worker-line 1 {"method":"session/update","params":{"sessionId":"a","n":1}}
        > 2 worker-line 1 {"method":"session/update","params":{"sessionId":"b","n":2}}
        > 3 worker-line 1 {"id":2,"result":{"sessionId":"b"}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"b","n":1}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"b","n":2}}
        < to-client 2 {"id":1,"result":{"sessionId":"b"}}
        > 3 worker-line 1 {"id":1,"result":{"sessionId":"a"}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"a","n":1}}
        < to-client 1 {"id":1,"result":{"sessionId":"a"}}
        "#,
    );
}

#[test]
fn a_question_before_the_answer_goes_to_the_only_opener() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 2 worker-line 1 {"id":0,"method":"ask","params":{"sessionId":"a"}}
        < to-client 1 {"id":1,"method":"ask","params":{"sessionId":"a"}}
        > 3 worker-line 1 {"id":2,"result":{"sessionId":"a"}}
        < to-client 1 {"id":1,"result":{"sessionId":"a"}}
        "#,
    );
}

#[test]
fn loading_takes_a_session_over_and_using_it_does_not() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 2 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 3 client-line 2 {"id":1,"method":"session/set_mode","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/set_mode","params":{"sessionId":"s"}}
        > 3 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"s"}}
        > 4 client-line 2 {"id":2,"method":"session/load","params":{"sessionId":"s"}}
        < to-worker 1 {"id":3,"method":"session/load","params":{"sessionId":"s"}}
        > 4 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"s"}}
        "#,
    );
}

#[test]
fn a_closed_session_is_forgotten() {
    let mut switch = running(fixed(2), 2);
    run(&mut switch, TWO_SESSIONS);
    run(
        &mut switch,
        r#"
        > 3 client-line 2 {"id":2,"method":"session/close","params":{"sessionId":"s~2"}}
        < to-worker 2 {"id":2,"method":"session/close","params":{"sessionId":"s"}}
        > 3 worker-line 2 {"id":2,"result":{}}
        < to-client 2 {"id":2,"result":{}}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).n_sessions, 1);
}

#[test]
fn sessions_have_a_limit_in_all_and_per_worker() {
    let limits = SwitchLimits { max_sessions: 2, ..SwitchLimits::default() };
    let full = PoolPlan { max_sessions_per_worker: Some(1), ..pool("p", 2) };
    let mut switch = running(SwitchPlan { pools: vec![full], limits }, 2);
    run(&mut switch, TWO_SESSIONS);
    run(
        &mut switch,
        r#"
        > 3 client-line 1 {"id":9,"method":"session/new"}
        < to-client 1 {"jsonrpc":"2.0","id":9,"error":{"code":-32012,"message":"overloaded: too many sessions",…
        "#,
    );
    let full = PoolPlan { max_sessions_per_worker: Some(1), ..pool("p", 2) };
    let mut switch = running(plan_of(vec![full]), 2);
    run(&mut switch, TWO_SESSIONS);
    run(
        &mut switch,
        r#"
        > 3 client-line 1 {"id":9,"method":"session/new"}
        < to-client 1 {"jsonrpc":"2.0","id":9,"error":{"code":-32012,"message":"overloaded: every worker…
        "#,
    );
}

#[test]
fn a_client_cannot_take_all_sessions() {
    let limits = SwitchLimits { max_sessions_per_client: 1, ..SwitchLimits::default() };
    let mut switch = running(SwitchPlan { pools: vec![pool("p", 1)], limits }, 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 2 client-line 1 {"id":2,"method":"session/new"}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32012,"message":"overloaded: this client has too many sessions",…
        > 3 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 4 client-line 1 {"id":3,"method":"session/load","params":{"sessionId":"other"}}
        < to-client 1 {"jsonrpc":"2.0","id":3,"error":{"code":-32012,…
        > 5 client-line 2 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 6 client-line 1 {"id":4,"method":"session/close","params":{"sessionId":"s"}}
        < to-worker 1 {"id":3,"method":"session/close","params":{"sessionId":"s"}}
        > 7 worker-line 1 {"id":3,"result":{}}
        < to-client 1 {"id":4,"result":{}}
        > 8 client-line 1 {"id":5,"method":"session/new"}
        < to-worker 1 {"id":4,"method":"session/new"}
        "#,
    );
}

#[test]
fn a_session_whose_client_left_before_it_was_opened_can_be_claimed() {
    let mut switch = running(fixed(2), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 2 client-left 1
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        > 3 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        > 4 client-line 2 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        > 5 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"s"}}
        "#,
    );
}

#[test]
fn a_name_that_a_worker_uses_for_another_session_does_not_reach_it() {
    let mut switch = running(fixed(2), 2);
    run(&mut switch, TWO_SESSIONS);
    run(
        &mut switch,
        r#"
        > 3 client-line 2 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 3 worker-died 1 killed
        < to-client 2 {"jsonrpc":"2.0","id":2,"error":…
        > 4 client-line 2 {"id":3,"method":"m"}
        < to-worker 2 {"id":2,"method":"m"}
        > 400000 time-passed
        < start-worker 3 p/0
        > 400001 client-line 2 {"method":"session/note","params":{"sessionId":"s"}}
        > 400001 client-line 2 {"id":4,"method":"session/load","params":{"sessionId":"s"}}
        < to-client 2 {"jsonrpc":"2.0","id":4,"error":{"code":-32002,…
        "#,
    );
}

#[test]
fn a_session_that_nobody_claims_is_closed_at_its_worker() {
    let limits = SwitchLimits { session_grace: 1000, ..SwitchLimits::default() };
    let mut switch = running(SwitchPlan { limits, ..fixed(1) }, 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}
        < to-client 1 {"id":1,"result":{"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 1 worker-line 1 {"id":2,"result":{"sessionId":"s\""}}
        < to-client 1 {"id":2,"result":{"sessionId":"s\""}}
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 1 {"id":3,"method":"m"}
        > 2 client-left 1
        > 1002 time-passed
        < to-worker 1 {"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"s\""}}
        > 1003 worker-line 1 {"method":"session/update","params":{"sessionId":"s\""}}
        > 1004 worker-line 1 {"id":4,"result":{}}
        > 1005 worker-line 1 {"id":4,"result":{}}
        "#,
    );
    let counters = switch.counters();
    assert_eq!((counters.sessions_closed, counters.undelivered, counters.unasked), (1, 1, 1));
    assert_eq!(switch.status(MonotonicMillis(0)).pools[0].workers[0].n_sessions, 0);
}

#[test]
fn a_session_in_which_somebody_works_is_not_closed() {
    let limits = SwitchLimits { session_grace: 1000, ..SwitchLimits::default() };
    run(
        &mut running(SwitchPlan { limits, ..fixed(1) }, 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"initialize"}
        < to-worker 1 {"id":1,"method":"initialize"}
        > 1 worker-line 1 {"id":1,"result":{"capabilities":{"session":{}}}}
        < to-client 1 {"id":1,"result":{"capabilities":{"session":{}}}}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 1 worker-line 1 {"id":2,"result":{"sessionId":"s"}}
        < to-client 1 {"id":2,"result":{"sessionId":"s"}}
        > 1 client-line 2 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}
        > 2 client-left 1
        > 1002 time-passed
        > 1003 client-line 2 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":4,"method":"session/prompt","params":{"sessionId":"s"}}
        > 1004 worker-line 1 {"method":"session/update","params":{"sessionId":"s"}}
        < to-client 2 {"method":"session/update","params":{"sessionId":"s"}}
        "#,
    );
}
