//! Sessions that are moved to another worker.

use super::*;

const OPEN: &str = r#"
    > 1 client-line 1 {"id":0,"method":"initialize"}
    < to-worker 1 {"id":1,"method":"initialize"}
    > 1 worker-line 1 {"id":1,"result":{"agentCapabilities":{"loadSession":true}}}
    < to-client 1 {"id":0,"result":{"agentCapabilities":{"loadSession":true}}}
    > 2 client-line 1 {"id":1,"method":"session/new","params":{"cwd":"/x","mcpServers":[]}}
    < to-worker 1 {"id":2,"method":"session/new","params":{"cwd":"/x","mcpServers":[]}}
    > 2 worker-line 1 {"id":2,"result":{"sessionId":"s"}}
    < to-client 1 {"id":1,"result":{"sessionId":"s"}}
    > 3 worker-died 1 killed
    > 4 client-line 1 {"id":2,"method":"session/prompt","params":{"sessionId":"s"}}
    < to-worker 2 {"id":1,"method":"initialize"}
    > 4 client-line 1 {"id":3,"method":"session/set_mode","params":{"sessionId":"s"}}
    > 5 worker-line 2 {"id":1,"result":{"agentCapabilities":{"loadSession":true}}}
    < to-worker 2 {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"cwd":"/x","mcpServers":[],"sessionId":"s"}}
    > 6 worker-line 2 {"method":"session/update","params":{"sessionId":"s","replayed":1}}
"#;

#[test]
fn a_session_moves_and_its_requests_follow_in_order() {
    let mut switch = running(fixed(2), 1);
    run(&mut switch, OPEN);
    run(
        &mut switch,
        r#"
        > 7 worker-line 2 {"id":2,"result":{}}
        < to-worker 2 {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 2 {"id":4,"method":"session/set_mode","params":{"sessionId":"s"}}
        > 8 worker-line 2 {"method":"session/update","params":{"sessionId":"s","new":1}}
        < to-client 1 {"method":"session/update","params":{"sessionId":"s","new":1}}
        > 9 worker-line 2 {"id":3,"result":{"stopReason":"end_turn"}}
        < to-client 1 {"id":2,"result":{"stopReason":"end_turn"}}
        "#,
    );
    assert_eq!((switch.counters().swallowed, switch.counters().sessions_moved), (1, 1));
}

#[test]
fn a_session_that_cannot_be_loaded_is_lost() {
    let mut switch = running(fixed(2), 1);
    run(&mut switch, OPEN);
    run(
        &mut switch,
        r#"
        > 7 worker-line 2 {"id":2,"error":{"code":-32002,"message":"no"}}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32002,…"reason":"session_lost"…
        < to-client 1 {"jsonrpc":"2.0","id":3,"error":{"code":-32002,…
        > 8 client-line 1 {"id":4,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-client 1 {"jsonrpc":"2.0","id":4,"error":{"code":-32002,…
        "#,
    );
}

#[test]
fn a_second_death_on_the_way_is_answered_and_tried_again() {
    let mut switch = running(fixed(2), 1);
    run(&mut switch, OPEN);
    run(
        &mut switch,
        r#"
        > 7 worker-died 2 killed
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32010,…
        < to-client 1 {"jsonrpc":"2.0","id":3,"error":{"code":-32010,…
        > 8 client-line 1 {"id":4,"method":"session/prompt","params":{"sessionId":"s"}}
        > 103 time-passed
        < start-worker 3 p/0
        > 104 worker-runs 3
        < to-worker 3 {"id":1,"method":"initialize"}
        > 105 worker-line 3 {"id":1,"result":{}}
        < to-worker 3 {"jsonrpc":"2.0","id":2,"method":"session/load",…
        > 106 worker-line 3 {"id":2,"result":null}
        < to-worker 3 {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}
        "#,
    );
    assert_eq!(switch.status(MonotonicMillis(0)).n_open, 1);
}

#[test]
fn a_client_that_leaves_during_its_move_leaves_nothing_behind() {
    let mut switch = running(fixed(2), 1);
    run(&mut switch, OPEN);
    run(&mut switch, "> 7 client-left 1");
    run(&mut switch, r#"> 8 worker-line 2 {"id":2,"result":{}}"#);
    run(
        &mut switch,
        r#"
        > 9 client-came 2
        > 9 client-line 2 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 2 {"id":3,"method":"session/prompt","params":{"sessionId":"s"}}
        "#,
    );
}
