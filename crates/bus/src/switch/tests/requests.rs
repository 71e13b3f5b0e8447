//! Requests, answers and notifications both ways; pools.

use super::*;

#[test]
fn ids_are_rewritten_and_restored_byte_for_byte() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"jsonrpc":"2.0","id":1.0,"method":"m","params":{"n":12345678901234567890123}}
        < to-worker 1 {"jsonrpc":"2.0","id":1,"method":"m","params":{"n":12345678901234567890123}}
        > 1 client-line 2 {"jsonrpc":"2.0","id":"a\u0041", "method":"m"}
        < to-worker 1 {"jsonrpc":"2.0","id":2, "method":"m"}
        > 1 client-line 1 {"method":"m","id":null}
        < to-worker 1 {"method":"m","id":3}
        > 2 worker-line 1 {"jsonrpc":"2.0","id":2,"result":{"x":1e2}}
        < to-client 2 {"jsonrpc":"2.0","id":"a\u0041","result":{"x":1e2}}
        > 2 worker-line 1 {"error":{"code":1,"message":"no"},"id":1}
        < to-client 1 {"error":{"code":1,"message":"no"},"id":1.0}
        > 2 worker-line 1 {"id":3,"result":null}
        < to-client 1 {"id":null,"result":null}
        "#,
    );
}

#[test]
fn an_answer_comes_once_and_only_to_what_was_asked() {
    let mut switch = running(fixed(1), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":7,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-line 1 {"id":1,"result":1}
        < to-client 1 {"id":7,"result":1}
        > 2 worker-line 1 {"id":1,"result":1}
        > 2 worker-line 1 {"id":"1","result":1}
        > 2 worker-line 1 {"id":99,"result":1}
        > 2 client-line 1 {"id":99,"result":1}
        "#,
    );
    assert_eq!(switch.counters().unasked, 4);
    assert_eq!(switch.status(MonotonicMillis(0)).n_open, 0);
}

#[test]
fn requests_of_workers_reach_the_owner_and_come_back() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new","params":{}}
        < to-worker 1 {"id":1,"method":"session/new","params":{}}
        > 1 client-line 2 {"id":1,"method":"session/new","params":{}}
        < to-worker 1 {"id":2,"method":"session/new","params":{}}
        > 2 worker-line 1 {"id":1,"result":{"sessionId":"a"}}
        < to-client 1 {"id":1,"result":{"sessionId":"a"}}
        > 2 worker-line 1 {"id":2,"result":{"sessionId":"b"}}
        < to-client 2 {"id":1,"result":{"sessionId":"b"}}
        > 3 worker-line 1 {"id":"q","method":"fs/read_text_file","params":{"sessionId":"b"}}
        < to-client 2 {"id":1,"method":"fs/read_text_file","params":{"sessionId":"b"}}
        > 3 worker-line 1 {"id":"q","method":"fs/read_text_file","params":{"sessionId":"a"}}
        < to-client 1 {"id":1,"method":"fs/read_text_file","params":{"sessionId":"a"}}
        > 4 client-line 2 {"id":1,"result":{"content":"x"}}
        < to-worker 1 {"id":"q","result":{"content":"x"}}
        > 4 client-line 2 {"id":1,"result":{"content":"again"}}
        > 4 client-line 1 {"id":1,"error":{"code":1,"message":"n"}}
        < to-worker 1 {"id":"q","error":{"code":1,"message":"n"}}
        "#,
    );
}

#[test]
fn cancellations_carry_the_id_of_the_hop_both_ways() {
    let mut switch = running(fixed(1), 1);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":"x","method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 1 {"method":"$/cancel_request","params":{"requestId":"x","w":1}}
        < to-worker 1 {"method":"$/cancel_request","params":{"requestId":1,"w":1}}
        > 1 client-line 1 {"method":"notifications/cancelled","params":{"requestId":"x"}}
        < to-worker 1 {"method":"notifications/cancelled","params":{"requestId":1}}
        > 1 client-line 1 {"method":"$/cancel_request","params":{"requestId":"other"}}
        > 2 worker-line 1 {"id":"w9","method":"ask"}
        < to-client 1 {"id":1,"method":"ask"}
        > 2 worker-line 1 {"method":"$/cancel_request","params":{"requestId":"w9"}}
        < to-client 1 {"method":"$/cancel_request","params":{"requestId":1}}
        > 2 worker-line 1 {"method":"$/cancel_request","params":{"requestId":"w8"}}
        "#,
    );
    assert_eq!(switch.counters().undelivered, 2);
}

#[test]
fn a_question_about_a_request_goes_to_who_made_it() {
    run(
        &mut running(fixed(1), 2),
        r#"
        > 1 client-line 1 {"id":"x","method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 2 {"id":"y","method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 worker-line 1 {"id":5,"method":"elicitation/create","params":{"requestId":2,"message":"?"}}
        < to-client 2 {"id":1,"method":"elicitation/create","params":{"requestId":"y","message":"?"}}
        "#,
    );
}

#[test]
fn words_of_a_worker_without_a_session_go_to_its_only_client_or_to_nobody() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 2 worker-line 1 {"method":"notifications/message"}
        < to-client 1 {"method":"notifications/message"}
        > 3 client-line 2 {"id":1,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 4 worker-line 1 {"method":"notifications/message"}
        > 4 worker-line 1 {"id":1,"method":"ask"}
        < to-worker 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32015,…"reason":"no_client"}}}
        "#,
    );
    assert_eq!(switch.counters().undelivered, 1);
}

#[test]
fn the_home_of_a_client_is_the_least_loaded_worker_and_stays() {
    run(
        &mut running(fixed(2), 3),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 2 {"id":1,"method":"m"}
        < to-worker 2 {"id":1,"method":"m"}
        > 1 client-line 1 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 1 client-line 3 {"id":1,"method":"m"}
        < to-worker 2 {"id":2,"method":"m"}
        > 1 client-line 1 {"method":"note"}
        < to-worker 1 {"method":"note"}
        "#,
    );
}

#[test]
fn the_pool_is_what_the_client_came_with_or_what_it_says() {
    let mut switch = running(plan_of(vec![pool("a", 1), pool("b", 1)]), 2);
    run(
        &mut switch,
        r#"
        > 1 client-came 3 b
        > 1 client-line 3 {"id":1,"method":"m","pool":"a"}
        < to-worker 2 {"id":1,"method":"m","pool":"a"}
        > 1 client-line 1 {"id":1,"method":"m","pool":"b"}
        < to-worker 2 {"id":2,"method":"m","pool":"b"}
        > 1 client-line 1 {"id":2,"method":"m","pool":"a"}
        < to-worker 1 {"id":1,"method":"m","pool":"a"}
        > 1 client-line 1 {"id":3,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":3,"error":{"code":-32014,"message":"there are several pools;…"data":{"reason":"no_route"}}}
        > 1 client-line 1 {"id":4,"method":"m","pool":"c"}
        < to-client 1 {"jsonrpc":"2.0","id":4,"error":{"code":-32014,"message":"there is no pool `c`",…
        > 1 client-line 2 {"id":1,"method":"initialize","params":{"_meta":{"switchyard":{"pool":"b"}}}}
        < to-worker 2 {"id":3,"method":"initialize","params":{"_meta":{"switchyard":{"pool":"b"}}}}
        > 1 client-line 2 {"id":2,"method":"m"}
        < to-worker 2 {"id":4,"method":"m"}
        > 1 client-came 4 nowhere
        > 1 client-line 4 {"id":1,"method":"m"}
        < to-client 4 {"jsonrpc":"2.0","id":1,"error":{"code":-32014,…
        "#,
    );
}

#[test]
fn too_many_open_requests_of_a_client_are_refused_with_their_ids() {
    let limits = SwitchLimits { max_open_per_client: 1, ..SwitchLimits::default() };
    run(
        &mut running(SwitchPlan { limits, ..fixed(1) }, 2),
        r#"
        > 1 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 1 client-line 1 {"id":2,"method":"m"}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32012,…"reason":"overloaded"}}}
        > 1 client-line 2 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 2 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        > 2 client-line 1 {"id":3,"method":"m"}
        < to-worker 1 {"id":3,"method":"m"}
        "#,
    );
}

#[test]
fn a_request_that_takes_too_long_is_cancelled_and_answered() {
    let plan = plan_of(vec![PoolPlan { request_timeout: Some(1000), ..pool("p", 1) }]);
    let mut switch = running(plan, 1);
    run(
        &mut switch,
        r#"
        > 100 client-line 1 {"id":1,"method":"m"}
        < to-worker 1 {"id":1,"method":"m"}
        > 600 client-line 1 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 1099 time-passed
        > 1100 time-passed
        < to-worker 1 {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32013,…"reason":"timed_out","pool":"p","worker":1}}}
        > 1101 worker-line 1 {"id":1,"result":"late"}
        > 1102 worker-line 1 {"id":2,"result":0}
        < to-client 1 {"id":2,"result":0}
        > 1600 time-passed
        "#,
    );
    assert_eq!((switch.counters().timed_out, switch.counters().unasked), (1, 1));
}

#[test]
fn a_prompt_may_take_long_unless_it_has_a_limit_of_its_own() {
    let script = r#"
        > 0 client-line 1 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        > 500 client-line 1 {"id":2,"method":"m"}
        < to-worker 1 {"id":2,"method":"m"}
        > 1000 time-passed
        > 1500 time-passed
        < to-worker 1 …cancel_request","params":{"requestId":2}}
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32013,"message":"no answer within 1000 ms",…
        "#;
    let limited = PoolPlan { request_timeout: Some(1000), ..pool("p", 1) };
    let mut switch = running(plan_of(vec![limited.clone()]), 1);
    run(&mut switch, script);
    assert_eq!(switch.wake_at(), None);
    run(
        &mut switch,
        r#"
        > 999999 worker-line 1 {"id":1,"result":0}
        < to-client 1 {"id":1,"result":0}
        "#,
    );

    let limited = PoolPlan { prompt_timeout: Some(9000), ..limited };
    let mut switch = running(plan_of(vec![limited]), 1);
    run(&mut switch, script);
    run(
        &mut switch,
        r#"
        > 8999 time-passed
        > 9000 time-passed
        < to-worker 1 …cancel_request","params":{"requestId":1}}
        < to-client 1 {"jsonrpc":"2.0","id":1,"error":{"code":-32013,"message":"no answer within 9000 ms",…
        "#,
    );
}

#[test]
fn a_prompt_that_waits_for_a_worker_is_not_timed_out_with_the_rest() {
    let plan = PoolPlan {
        start: StartPolicy::OnDemand,
        min: 0,
        request_timeout: Some(1000),
        ..pool("p", 1)
    };
    run(
        &mut running(plan_of(vec![plan]), 1),
        r#"
        > 1 client-line 1 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < start-worker 1 p/0
        > 1 client-line 1 {"id":2,"method":"m"}
        > 1 client-line 1 {"method":"session/cancel","params":{"sessionId":"s"}}
        > 1001 time-passed
        < to-client 1 {"jsonrpc":"2.0","id":2,"error":{"code":-32013,…
        > 1002 worker-runs 1
        < to-worker 1 {"id":1,"method":"session/prompt","params":{"sessionId":"s"}}
        < to-worker 1 {"method":"session/cancel","params":{"sessionId":"s"}}
        "#,
    );
}

#[test]
fn a_client_that_answers_nothing_leaves_room_for_questions_to_others() {
    let mut switch = running(fixed(1), 2);
    run(
        &mut switch,
        r#"
        > 1 client-line 1 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":1,"method":"session/new"}
        > 1 worker-line 1 {"id":1,"result":{"sessionId":"s"}}
        < to-client 1 {"id":1,"result":{"sessionId":"s"}}
        > 1 client-line 2 {"id":1,"method":"session/new"}
        < to-worker 1 {"id":2,"method":"session/new"}
        > 1 worker-line 1 {"id":2,"result":{"sessionId":"t"}}
        < to-client 2 {"id":1,"result":{"sessionId":"t"}}
        "#,
    );
    let mut out = Vec::new();
    let mut ask = |switch: &mut Switch, id: u32, session: &str| {
        let line = format!(r#"{{"id":{id},"method":"ask","params":{{"sessionId":"{session}"}}}}"#);
        let input = SwitchInput::WorkerLine { worker: WorkerId(1), line: line.into() };
        switch.take(MonotonicMillis(2), input, &mut out);
        output_text(&out.pop().unwrap())
    };
    for id in 0..1024 {
        assert!(ask(&mut switch, id, "s").starts_with("to-client 1 "));
    }

    let refused = ask(&mut switch, 1024, "s");

    assert!(refused.starts_with("to-worker 1 ") && refused.contains("overloaded"), "{refused}");
    assert!(ask(&mut switch, 1025, "t").starts_with("to-client 2 "));
    run(
        &mut switch,
        r#"
        > 3 client-line 1 {"id":7,"result":{}}
        < to-worker 1 {"id":6,"result":{}}
        "#,
    );
    assert!(ask(&mut switch, 1026, "s").starts_with("to-client 1 "));
}
