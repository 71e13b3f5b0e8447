//! Requests to every worker of a pool.

use super::*;

#[test]
fn a_list_is_asked_of_all_workers_and_merged() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":"l","method":"session/list","params":{"cwd":"/"}}
        < to-worker 1 {"id":1,"method":"session/list","params":{"cwd":"/"}}
        < to-worker 2 {"id":1,"method":"session/list","params":{"cwd":"/"}}
        > 2 worker-line 2 {"id":1,"result":{"sessions":[{"sessionId":"b","n":1e2},{"sessionId":"both"}],"extra":2}}
        > 3 worker-line 1 {"id":1,"result":{"sessions":[{"sessionId":"a"},{"sessionId":"both"}],"extra":1}}
        < to-client 1 {"jsonrpc":"2.0","id":"l","result":{"sessions":[{"sessionId":"a"},{"sessionId":"both"},{"sessionId":"b","n":1e2}],"extra":1}}
        "#,
    );
}

#[test]
fn pages_go_on_at_the_workers_that_have_more() {
    let mut switch = running(fixed(2), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/list","params":{}}
        < to-worker 1 {"id":1,"method":"session/list","params":{}}
        < to-worker 2 {"id":1,"method":"session/list","params":{}}
        > 2 worker-line 1 {"id":1,"result":{"sessions":[],"nextCursor":null}}
        > 2 worker-line 2 {"id":1,"result":{"sessions":[1],"nextCursor":"c\""}}
        < to-client 1 {"jsonrpc":"2.0","id":1,"result":{"sessions":[1],"nextCursor":"switchyard:2=22635c2222"}}
        > 3 client-line 1 {"id":2,"method":"session/list","params":{"cursor":"switchyard:2=22635c2222"}}
        < to-worker 2 {"id":2,"method":"session/list","params":{"cursor":"c\""}}
        > 4 worker-line 2 {"id":2,"result":{"sessions":[2]}}
        < to-client 1 {"id":2,"result":{"sessions":[2]}}
        > 5 client-line 1 {"id":3,"method":"session/list","params":{"cursor":"switchyard:9=22"}}
        < to-worker 1 {"id":2,"method":"session/list","params":{"cursor":"switchyard:9=22"}}
        > 5 client-line 1 {"id":4,"method":"session/list","params":{"cursor":"switchyard:9=2222"}}
        < to-client 1 {"jsonrpc":"2.0","id":4,"error":{"code":-32602,…
        "#,
    );
}

#[test]
fn a_worker_that_fails_or_dies_is_left_out() {
    run(
        &mut running(fixed(3), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/list"}
        < to-worker 1 {"id":1,"method":"session/list"}
        < to-worker 2 {"id":1,"method":"session/list"}
        < to-worker 3 {"id":1,"method":"session/list"}
        > 2 worker-line 1 {"id":1,"error":{"code":-32601,"message":"?"}}
        > 2 worker-died 2 killed
        > 2 worker-line 3 {"id":1,"result":{"sessions":[3]}}
        < to-client 1 {"jsonrpc":"2.0","id":1,"result":{"sessions":[3]}}
        > 3 client-line 1 {"id":2,"method":"session/list"}
        < to-worker 1 {"id":2,"method":"session/list"}
        < to-worker 3 {"id":2,"method":"session/list"}
        > 3 client-line 1 {"method":"$/cancel_request","params":{"requestId":2}}
        < to-worker 1 {"method":"$/cancel_request","params":{"requestId":2}}
        < to-worker 3 {"method":"$/cancel_request","params":{"requestId":2}}
        > 4 worker-line 1 {"id":2,"error":{"code":-32601,"message":"?"}}
        > 4 worker-died 3 killed
        < to-client 1 {"id":2,"error":{"code":-32601,"message":"?"}}
        "#,
    );
}

#[test]
fn aliases_are_what_clients_see_in_lists() {
    run(
        &mut running(fixed(2), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 client-line 1 {"id":2,"method":"session/new"}
        < to-worker 2 {"id":1,"method":"session/new"}
        > 2 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 2 worker-line 2 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":2,"result":{"sessionId":"s~2"}}
        > 3 client-line 1 {"id":3,"method":"session/list"}
        < to-worker 1 {"id":2,"method":"session/list"}
        < to-worker 2 {"id":2,"method":"session/list"}
        > 4 worker-line 1 {"id":2,"result":{"sessions":[{"sessionId":"s","cwd":"/1"}]}}
        > 4 worker-line 2 {"id":2,"result":{"sessions":[{"sessionId":"s","cwd":"/2"}]}}
        < to-client 1 {"jsonrpc":"2.0","id":3,"result":{"sessions":[{"sessionId":"s","cwd":"/1"},{"sessionId":"s~2","cwd":"/2"}]}}
        "#,
    );
}
