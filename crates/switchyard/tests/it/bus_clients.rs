//! Clients that leave, send too much, nonsense or half a line, or do not listen.
//!
//! In: bytes on the sockets of a running bus. Out: whether each request was answered once under
//! its own id, and whether the others noticed anything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use crate::bus::{
    OVERLOADED, Session, Stage, apart, assert_refused, assert_served, bus, pid_of, pool, session,
    wait_until_heard,
};
use serde_json::{Value, json};
use testkit::line_client::LineClient;
use testkit::test_home::{PATIENCE, wait_until};

#[test]
fn a_client_that_leaves_has_its_requests_cancelled_and_nobody_gets_its_answers() {
    // A TCP client that closes looks like one that still reads, until it is written to.
    let limits = "[limits]\nhalf_close_wait = \"200ms\"\n";
    let pool = pool("workers = 1\ndrain_timeout = \"100ms\"");
    let bus = bus(&format!("{pool}{limits}"));
    for (one, mut other) in [(bus.client(), bus.client()), (bus.tcp_client(), bus.client())] {
        leave_and_be_forgotten(one, &mut other);
    }
    bus.finish([]);
}

#[track_caller]
fn leave_and_be_forgotten(mut one: LineClient, other: &mut LineClient) {
    let own = session(&mut one);
    let prompt = json!({ "sessionId": own.name, "prompt": [{ "type": "text", "text": "hold" }] });
    one.request("1", "session/prompt", &prompt);
    one.request("2", "x/late", &json!({}));
    one.request("3", "x/hold", &json!({}));
    pid_of(&mut one, json!({}));
    // The same ids, so that a late answer would be taken for one of these.
    other.request("1", "x/silent", &json!({}));
    other.request("2", "x/silent", &json!({}));
    other.request("3", "x/silent", &json!({}));
    drop(one);
    wait_until_heard(other, &json!({}), |heard| {
        heard["method"] == "session/cancel" && heard["params"]["sessionId"] == *own.name
    });
    wait_until_heard(other, &json!({}), |heard| heard["method"] == "$/cancel_request");
    other.result("x/release", &json!({}));
    assert_served(other);
    assert_eq!(other.put_aside().count(), 0, "answers of another");
}

#[test]
fn a_session_outlives_its_client_and_can_be_claimed_again() {
    let bus = bus(&pool("workers = 2"));
    let mut one = bus.client();
    let own = session(&mut one);
    drop(one);
    let mut other = bus.client();
    assert_eq!(pid_of(&mut other, json!({ "sessionId": own.name })), own.pid);
    // Whoever names it has it only once the bus has seen that its client left.
    let is_claimed = wait_until(PATIENCE, || {
        other.result("x/notify", &json!({ "sessionId": own.name, "n": 3 }));
        other.put_aside().count() > 0
    });
    assert!(is_claimed, "its updates do not come to the new client");
    assert_eq!(other.put_aside().count(), 3);
    bus.finish([other]);
}

#[test]
fn large_requests_arrive_whole_whatever_else_goes_on() {
    let bus = bus(&pool("workers = 1"));
    let mut other = bus.client();
    for (n_bytes, is_tcp) in
        [(66_000, true), (66_000, false), (100_000, true), (1 << 20, false), (10 << 20, true)]
    {
        let mut client = if is_tcp { bus.tcp_client() } else { bus.client() };
        let text: String = ('a'..='z').cycle().take(n_bytes).collect();
        let id = client.start("any/thing", &json!({ "text": text }));
        assert_served(&mut other);
        let answer = client.answer_to(&id);
        assert!(answer["result"]["echo"]["text"] == *text, "{n_bytes} bytes came back changed");
        assert_served(&mut client);
    }
    bus.finish([other]);
}

#[test]
fn many_requests_of_many_clients_are_all_answered_in_order() {
    const N_CLIENTS: usize = 16;
    const N_EACH: usize = 64;
    let bus = bus(&pool("workers = 2"));
    let padding = "x".repeat(16 << 10);
    let mut clients: Vec<LineClient> = (0..N_CLIENTS).map(|_| bus.tcp_client()).collect();
    let sessions: Vec<Session> = clients.iter_mut().map(session).collect();
    std::thread::scope(|scope| {
        for (client, session) in clients.iter_mut().zip(&sessions) {
            let padding = &padding;
            scope.spawn(move || {
                let params = |n| json!({ "sessionId": session.name, "n": n, "padding": padding });
                let ids: Vec<Value> =
                    (0..N_EACH).map(|n| client.start("any/thing", &params(n))).collect();
                for (n, id) in ids.iter().enumerate() {
                    let answer = client.next_message();
                    assert_eq!((&answer["id"], &answer["result"]["echo"]["n"]), (id, &json!(n)));
                }
            });
        }
    });
    bus.finish(clients);
}

#[test]
fn a_line_over_the_limit_is_refused_under_its_id_and_the_connection_goes_on() {
    let bus = bus(&format!("{}[limits]\nmax_client_line = \"100KiB\"\n", pool("workers = 1")));
    let (mut client, mut other) = (bus.client(), bus.tcp_client());
    let text = "x".repeat(1 << 20);
    client.request("\"big\\u0021\"", "any/thing", &json!({ "text": text }));
    let line = client.next_line().unwrap();
    assert!(line.contains(r#""id":"big\u0021""#), "{line}");
    assert_refused(&serde_json::from_str(&line).unwrap(), -32600, "line_too_long");
    // Its id comes after what is too long.
    client.send(&format!(r#"{{"jsonrpc":"2.0","params":"{text}","method":"m","id":9}}"#));
    let answer = client.next_message();
    assert_eq!(answer["id"], Value::Null);
    assert_refused(&answer, -32600, "line_too_long");
    assert_served(&mut client);
    assert_served(&mut other);
    bus.finish([client, other]);
}

#[test]
fn nonsense_is_answered_closed_and_forgotten() {
    let bus = bus(&pool("workers = 1"));
    let mut other = bus.client();
    for n in 0..50 {
        let mut client = if n % 2 == 0 { bus.tcp_client() } else { bus.client() };
        let line: &[u8] = match n % 5 {
            0 => b"{bad\n",
            1 => b"\xff\xfe\x00\n",
            2 => b"[1,2\n",
            3 => b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":tru}\n",
            _ => b"\"text\"\n",
        };
        let _ = client.try_send_bytes(&line.repeat(10));
        let answers = client.rest();
        assert!((1..=10).contains(&answers.len()), "{answers:#?}");
        for answer in answers {
            let code = answer["error"]["code"].as_i64().unwrap();
            assert!(matches!(code, -32700 | -32600), "{answer}");
        }
        assert_served(&mut other);
    }
    bus.finish([other]);
}

#[test]
fn a_web_browser_is_shown_the_door() {
    let bus = bus(&pool("workers = 1"));
    let mut other = bus.client();
    for _ in 0..10 {
        let mut browser = bus.tcp_client();
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: any\r\nAccept: */*\r\n\
            Accept-Language: en\r\nConnection: keep-alive\r\nDNT: 1\r\nPragma: no-cache\r\n\
            Cache-Control: no-cache\r\n\r\n";
        let _ = browser.try_send_bytes(request.as_bytes());
        for answer in browser.rest() {
            assert_eq!(answer["error"]["code"], -32700, "{answer}");
        }
        assert_served(&mut other);
    }
    bus.finish([other]);
}

#[test]
fn a_client_that_has_made_sense_may_misspell() {
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.client();
    assert_served(&mut client);
    for _ in 0..50 {
        client.send("{bad");
        assert_eq!(client.next_message()["error"]["code"], -32700);
    }
    assert_served(&mut client);
    bus.finish([client]);
}

#[test]
fn an_unfinished_line_costs_nobody_but_its_sender() {
    let bus = bus(&format!("{}[limits]\nline_timeout = \"300ms\"\n", pool("workers = 1")));
    let mut other = bus.client();
    // Its sender goes away.
    for mut client in [bus.client(), bus.tcp_client()] {
        client.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"any/th"#);
        drop(client);
        assert_served(&mut other);
    }
    // Its sender says that no more comes, or stays and says nothing more.
    for is_finished in [true, false] {
        for mut client in [bus.client(), bus.tcp_client()] {
            client.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"any/th"#);
            if is_finished {
                client.finish_sending();
            }
            for answer in client.rest() {
                assert!(answer.get("error").is_some(), "{answer}");
            }
        }
    }
    assert_served(&mut other);
    bus.finish([other]);
}

#[test]
fn a_client_that_only_listens_any_more_gets_its_answers() {
    let bus = bus(&pool("workers = 2"));
    for mut client in [bus.tcp_client(), bus.client()] {
        let ids: Vec<Value> = (0..200).map(|n| client.start("any/thing", &json!([n]))).collect();
        client.finish_sending();
        let answers = client.rest();
        assert_eq!(answers.len(), ids.len());
        for (n, (id, answer)) in ids.iter().zip(&answers).enumerate() {
            assert_eq!((&answer["id"], &answer["result"]["echo"]), (id, &json!([n])));
        }
    }
    bus.finish([]);
}

#[test]
fn a_client_that_only_listens_any_more_waits_for_late_answers() {
    let bus = bus(&pool("workers = 1"));
    let (mut one, mut other) = (bus.tcp_client(), bus.client());
    let held = one.start("x/hold", &json!({}));
    pid_of(&mut one, json!({}));
    one.finish_sending();
    // The end of what it says has been seen when later bytes of others have been answered.
    assert_served(&mut other);
    other.result("x/release", &json!({}));
    let answers = one.rest();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!((&answers[0]["id"], &answers[0]["result"]["held"]), (&held, &json!(true)));
    bus.finish([one, other]);
}

#[test]
fn a_client_that_stops_reading_stops_its_own_worker_and_loses_nothing() {
    const N: usize = 3_000;
    const N_BYTES: usize = 32 << 10;
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let (mut slow, mut other) = (bus.tcp_client(), bus.client());
    let (own, theirs) = apart(&mut slow, &mut other);
    let params = json!({ "sessionId": own.name, "n": N, "bytes": N_BYTES });
    let id = slow.start("x/notify", &params);
    for _ in 0..200 {
        assert_eq!(pid_of(&mut other, json!({ "sessionId": theirs.name })), theirs.pid);
    }
    for n in 0..N {
        let update = slow.next_message();
        let text = update["params"]["update"]["content"]["text"].as_str().unwrap();
        assert_eq!(text.trim_end_matches('x'), n.to_string());
    }
    assert_eq!(slow.next_message()["id"], id);
    // 96 MiB have passed.
    assert!(bus.grown_kib() < 32 << 10, "{} KiB", bus.grown_kib());
    bus.finish([slow, other]);
}

#[test]
fn a_client_that_stops_reading_does_not_hold_up_others_of_its_worker() {
    const N: usize = 3_000;
    const QUEUE: &str =
        "[limits]\nclient_queue = { low = \"64KiB\", high = \"256KiB\", full = \"2MiB\" }\n";
    let bus = bus(&format!("{}{QUEUE}", pool("workers = 1")));
    let mut other = bus.client();
    assert_served(&mut other);
    let mut slow = bus.tcp_client();
    let own = session(&mut slow);
    slow.start("x/notify", &json!({ "sessionId": own.name, "n": N, "bytes": 32 << 10 }));
    for _ in 0..50 {
        assert_served(&mut other);
    }
    assert!(slow.count_until_cut_off() < N, "it was not sent away");
    assert_served(&mut other);
    assert!(bus.grown_kib() < 32 << 10, "{} KiB", bus.grown_kib());
    bus.finish([other]);
}

#[test]
fn a_client_that_asks_without_reading_is_not_kept_in_memory() {
    const N: usize = 10_000;
    let bus = bus(&pool("workers = 2")).with_workers(2);
    let (mut greedy, mut other) = (bus.client(), bus.client());
    let (own, theirs) = apart(&mut greedy, &mut other);
    let params = json!({ "sessionId": own.name, "padding": "x".repeat(4 << 10) });
    let mut reader = greedy.reader();
    let sender = std::thread::spawn(move || {
        for n in 0..N {
            greedy.request(&n.to_string(), "any/thing", &params);
        }
    });
    for _ in 0..200 {
        assert_eq!(pid_of(&mut other, json!({ "sessionId": theirs.name })), theirs.pid);
    }
    for n in 0..N {
        let answer = reader.next_message();
        assert_eq!((&answer["id"], answer.get("error")), (&json!(n), None));
    }
    sender.join().unwrap();
    assert!(bus.grown_kib() < 32 << 10, "{} KiB", bus.grown_kib());
    bus.finish([other]);
}

#[test]
fn thousands_of_small_requests_in_one_breath_are_all_answered() {
    const N: usize = 4_000;
    let bus = bus(&pool("workers = 1"));
    let mut client = bus.tcp_client();
    let mut reader = client.reader();
    let sender = std::thread::spawn(move || {
        for n in 0..N {
            client.request(&n.to_string(), "any/thing", &json!({}));
        }
    });
    for n in 0..N {
        let answer = reader.next_message();
        assert_eq!((&answer["id"], answer.get("error")), (&json!(n), None));
    }
    sender.join().unwrap();
    bus.finish([reader]);
}

#[test]
fn requests_beyond_what_one_client_may_have_open_are_refused_one_by_one() {
    const N: usize = 50;
    let bus = bus(&format!("{}[limits]\nmax_open_per_client = 10\n", pool("workers = 1")));
    let (mut client, mut other) = (bus.client(), bus.client());
    let ids: Vec<Value> = (0..N).map(|_| client.start("x/hold", &json!({}))).collect();
    for id in &ids[10..] {
        assert_refused(&client.answer_to(id), OVERLOADED, "overloaded");
    }
    other.result("x/release", &json!({}));
    for id in &ids[..10] {
        assert_eq!(client.answer_to(id)["result"]["held"], true);
    }
    assert_served(&mut client);
    bus.finish([client, other]);
}

#[test]
fn many_unfinished_lines_share_one_limit() {
    const N: usize = 40;
    let limits =
        "[limits]\nmax_client_line = \"4MiB\"\nmax_unfinished = \"8MiB\"\nline_timeout = \"1h\"\n";
    let bus = bus(&format!("{}{limits}", pool("workers = 1")));
    let mut other = bus.client();
    let half =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"#, "x".repeat(900_000));
    let senders: Vec<_> = (0..N)
        .map(|_| {
            let mut client = bus.client();
            let half = half.clone();
            std::thread::spawn(move || {
                let _ = client.try_send_bytes(half.as_bytes());
                client
            })
        })
        .collect();
    for _ in 0..50 {
        assert_served(&mut other);
    }
    // Those that stand still for ever would be waited for here.
    let clients: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    assert_served(&mut other);
    assert!(bus.grown_kib() < 32 << 10, "{} KiB", bus.grown_kib());
    drop(clients);
    bus.finish([other]);
}

#[test]
fn a_thousand_requests_on_stdio_are_answered_before_the_end() {
    let (mut bus, mut client) = Stage::new(&pool("workers = 2")).start_on_stdio();
    let ids: Vec<Value> = (0..1_000).map(|n| client.start("any/thing", &json!([n]))).collect();
    client.finish_sending();
    let answers = client.rest();
    assert_eq!(answers.len(), ids.len());
    for (id, answer) in ids.iter().zip(&answers) {
        assert_eq!(answer["id"], *id);
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_eq!(bus.exit(), Some(0), "{}", bus.said());
    bus.assert_left_nothing();
}

#[test]
fn descriptors_of_clients_that_left_are_closed() {
    let limits = "[limits]\nhalf_close_wait = \"200ms\"\n";
    let bus = bus(&format!("{}{limits}", pool("workers = 1")));
    let mut other = bus.client();
    assert_served(&mut other);
    let before = bus.n_descriptors();
    for n in 0..500 {
        let mut client = if n % 2 == 0 { bus.tcp_client() } else { bus.client() };
        match n % 4 {
            0 => {}
            1 => client.send_bytes(b"{\"half"),
            2 => drop(client.start("x/silent", &json!({}))),
            _ => assert_served(&mut client),
        }
    }
    let is_back = wait_until(PATIENCE, || bus.n_descriptors() <= before);
    assert!(is_back, "{} of {before}", bus.n_descriptors());
    assert_served(&mut other);
    bus.finish([other]);
}

#[test]
fn a_tcp_client_that_closes_is_missed_before_its_time_to_read_is_over() {
    let limits = "[limits]\nhalf_close_wait = \"1h\"\n";
    let bus = bus(&format!("{}{limits}", pool("workers = 1")));
    let (mut one, mut other) = (bus.tcp_client(), bus.client());
    one.start("x/late", &json!({}));
    pid_of(&mut one, json!({}));
    drop(one);
    wait_until_heard(&mut other, &json!({}), |heard| heard["method"] == "$/cancel_request");
    bus.finish([other]);
}
