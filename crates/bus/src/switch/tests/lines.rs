//! Lines that are no messages.

use super::*;

#[test]
fn bad_lines_are_answered_once_and_the_client_stays() {
    let mut switch = running(fixed(1), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {bad
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,…
        > 1 client-line 1 {"id":5,"method":"m","params":{"a":tru}}
        < to-client 1 {"jsonrpc":"2.0","id":5,"error":{"code":-32700,…
        > 1 client-line 1 [{"id":1,"method":"m"}]
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a JSON-RPC message: batches are not supported",…
        > 1 client-line 1 {"id":6}
        < to-client 1 {"jsonrpc":"2.0","id":6,"error":{"code":-32600,…
        > 1 client-line 1 hex:7b226964223a31ff7d
        < to-client 1 {"jsonrpc":"2.0","id":null,"error":{"code":-32700,…
        > 1 client-long 1 {"jsonrpc":"2.0","id":"big","method":"m","params":{"text":"aaaa
        < to-client 1 {"jsonrpc":"2.0","id":"big","error":{"code":-32600,…"reason":"line_too_long"}}}
        > 2 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        "#,
    );
    assert_eq!(switch.counters().bad_lines_from_clients, 6);
    assert_eq!(switch.status(MonotonicMillis(0)).n_open, 1);
}

#[test]
fn a_client_that_says_nothing_but_garbage_is_closed() {
    let mut switch = running(fixed(1), 2);
    let mut out = Vec::new();
    let client = ClientId(1);
    for _ in 0..7 {
        let line = "GET / HTTP/1.1".into();
        switch.take(MonotonicMillis(1), SwitchInput::ClientLine { client, line }, &mut out);
    }
    assert!(out.iter().all(|output| matches!(output, SwitchOutput::ToClient { .. })));
    run(
        &mut switch,
        "> 1 client-line 1 Host: x
         < to-client 1 {…
         < close-client 1 garbage
         > 1 client-line 1 {}",
    );
    // One that made sense before is only told.
    run(&mut switch, "> 1 client-line 2 {\"method\":\"m\"}");
    for _ in 0..20 {
        run(&mut switch, "> 1 client-line 2 garbage\n< to-client 2 {…");
    }
}

#[test]
fn a_spoilt_answer_is_still_an_answer() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":"c","method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-line 1 {"id":"w","method":"ask"}
        < to-client 1 {"id":1,"method":"ask"}
        > 3 client-line 1 {"id":1,"result":{"a":}}
        < to-worker 1 {"jsonrpc":"2.0","id":"w","error":{"code":-32700,…
        > 3 worker-line 1 {"id":1,"result":{"a":}}
        < to-client 1 {"jsonrpc":"2.0","id":"c","error":{"code":-32010,…
        > 4 worker-line 1 {"id":"w2","method":"ask","params":{"a":}}
        < to-worker 1 {"jsonrpc":"2.0","id":"w2","error":{"code":-32700,…
        > 4 worker-line 1 starting up…
        "#,
    );
}

#[test]
fn an_answer_over_the_limit_ends_its_request() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":"a","method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 1 {"id":"b","method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 worker-long 1 {"jsonrpc":"2.0","id":2,"result":{"text":"aaaaaaaa
        < to-client 1 {"jsonrpc":"2.0","id":"b","error":{"code":-32600,…"reason":"line_too_long","worker":1}}}
        > 3 worker-long 1 {"jsonrpc":"2.0","method":"session/update","params":{"text":"aaaa
        > 4 worker-long 1 {"jsonrpc":"2.0","result":{"text":"aaaaaaaa
        < to-client 1 {"jsonrpc":"2.0","id":"a","error":{"code":-32600,…
        "#,
    );
}

#[test]
fn an_answer_over_the_limit_that_could_be_anybodys_ends_the_worker() {
    run(
        &mut running(fixed(1), 1),
        r#"
        > 1 client-line 1 {"id":"a","method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 1 {"id":"b","method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 4 worker-long 1 {"jsonrpc":"2.0","result":{"text":"aaaaaaaa
        < stop-worker 1 at-once
        < to-client 1 {"jsonrpc":"2.0","id":"a","error":{"code":-32010,…
        < to-client 1 {"jsonrpc":"2.0","id":"b","error":{"code":-32010,…
        "#,
    );
}

#[test]
fn what_would_have_to_be_kept_in_a_size_that_nobody_needs_is_refused() {
    let mut switch = running(fixed(1), 1);
    let long = "x".repeat(1100);
    let said = |switch: &mut Switch, line: String| {
        let mut out = Vec::new();
        let input = SwitchInput::ClientLine { client: ClientId(1), line: line.into() };
        switch.take(MonotonicMillis(2), input, &mut out);
        out.iter().map(history::output_text).collect::<Vec<_>>().join("\n")
    };
    let name = format!(r#"{{"id":1,"method":"m","params":{{"sessionId":"{long}"}}}}"#);
    assert!(said(&mut switch, name).contains("the name of a session may have 1024 bytes"));
    let answer = said(&mut switch, format!(r#"{{"id":"{long}","method":"m"}}"#));
    assert!(answer.contains(&long) && answer.contains("an id may have 1024 bytes"), "{answer}");
    let pad = "x".repeat(70_000);
    let hello = format!(r#"{{"id":2,"method":"initialize","params":{{"x":"{pad}"}}}}"#);
    assert!(said(&mut switch, hello).contains("`initialize` may have 65536 bytes"));
    assert_eq!(switch.status(MonotonicMillis(0)).n_open, 0);
}
