//! Clients that send too much, too slowly, or never read.

use std::time::Duration;

use axum::http::Request;
use http_body_util::Full;
use server::limits::HttpLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::stage::{Stage, eventually, exchange, rest, says, unix, until};

const SHORT: Duration = Duration::from_millis(300);
const JSON: &str = "Content-Type: application/json";

/// An event stream that has said hello and now says nothing. On a machine that is busy enough its
/// head comes too late, and it is asked for again.
async fn quiet_stream(stage: &Stage) -> TcpStream {
    let head = stage.head("GET", "/v1/events", &[&stage.bearer()]);
    let asking = async {
        loop {
            let mut stream = stage.tcp().await;
            if stream.write_all(head.as_bytes()).await.is_ok() && says(&mut stream, "hello").await {
                return stream;
            }
        }
    };
    tokio::time::timeout(soak::PATIENCE, asking).await.expect("it is never served")
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_heads_are_refused() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    let long = format!("X-Long: {}", "x".repeat(100 << 10));
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&bearer, &long])).await.status(), 431);
    let many = vec!["X-Many: x"; 150];
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &many)).await.status(), 431);
    let target = format!("/v1/{}", "x".repeat(10 << 10));
    assert_eq!(stage.say(stage.head("GET", &target, &[&bearer])).await.status(), 414);
    let fits = format!("X-Fits: {}", "x".repeat(32 << 10));
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&bearer, &fits])).await.status(), 200);
    assert_eq!(stage.counts.n_reached(), 1);

    for (n_headers, size) in [(1, 100 << 10), (150, 1)] {
        let mut client = stage.http2().await;
        let mut request = Request::builder()
            .uri(format!("http://{}/v1/things", stage.host()))
            .header("authorization", format!("Bearer {}", stage.token));
        for n in 0..n_headers {
            request = request.header(format!("x-{n}"), "x".repeat(size));
        }
        let answer = client.send_request(request.body(Full::default()).unwrap()).await;
        assert!(answer.is_err() || answer.unwrap().status() == 431);
    }
    assert_eq!(stage.counts.n_reached(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn oversized_bodies_are_refused_announced_or_not() {
    let limits = HttpLimits { max_body_bytes: 3 << 20, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let bearer = stage.bearer();

    let announced = format!("Content-Length: {}", (3 << 20) + 1);
    let answer = stage.say(stage.head("POST", "/v1/json", &[&bearer, JSON, &announced])).await;
    assert_eq!(answer.status(), 413, "{}", answer.0);
    let expects = [bearer.as_str(), JSON, &announced, "Expect: 100-continue"];
    let answer = stage.say(stage.head("POST", "/v1/json", &expects)).await;
    assert_eq!(answer.status(), 413, "it is not asked to go on: {}", answer.0);
    assert_eq!(stage.counts.n_reached(), 0);

    let mut chunked =
        stage.head("POST", "/v1/json", &[&bearer, JSON, "Transfer-Encoding: chunked"]);
    for _ in 0..4 {
        chunked += "100000\r\n";
        chunked += &"x".repeat(1 << 20);
        chunked += "\r\n";
    }
    let (mut reader, mut writer) = stage.tcp().await.into_split();
    let writing = tokio::spawn(async move {
        let _ = writer.write_all(chunked.as_bytes()).await;
        // Kept open: it is the refusal that ends the connection.
        writer
    });
    until(&mut reader, "413 ").await;
    drop(writing.await);
    assert_eq!(stage.counts.n_parsed(), 0);

    let fits = format!("Content-Length: {}", 3 << 20);
    let whole = stage.head("POST", "/v1/json", &[&bearer, JSON, &fits]) + &"x".repeat(3 << 20);
    assert_eq!(stage.say(whole).await.status(), 200, "also beyond the framework's own limit");

    let path = "/v1/sessions/x/attachments";
    let upload =
        [bearer.as_str(), "Content-Type: application/octet-stream", "Content-Length: 2000000"];
    assert_eq!(stage.say(stage.head("POST", path, &upload)).await.status(), 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_contradict_each_other_are_refused() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    for lines in [
        &["Content-Length: 5", "Content-Length: 6"][..],
        &["Content-Length: -1"],
        &["Content-Length: 99999999999999999999"],
        &["Content-Length: 5", "Transfer-Encoding: chunked, identity"],
    ] {
        let mut all = vec![bearer.as_str(), JSON];
        all.extend(lines);
        let answer = stage.say(stage.head("POST", "/v1/json", &all) + "hello").await;
        assert!([0, 400, 413].contains(&answer.status()), "{lines:?}: {}", answer.0);
    }
    assert_eq!(stage.counts.n_parsed(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_end_ends_the_connection() {
    let limits = HttpLimits { head_timeout: SHORT, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let start =
        format!("GET /v1/things HTTP/1.1\r\nHost: {}\r\n{}\r\n", stage.host(), stage.bearer());
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for said in ["", "G", "PRI * HT", preface, &start] {
        // Each returns only because the connection was closed.
        let answer = stage.say(said).await;
        assert_ne!(answer.status(), 200, "{said}");
        exchange(unix(&stage.private).await, said).await;
    }

    let mut stream = stage.tcp().await;
    let dripping = async {
        stream.write_all(start.as_bytes()).await?;
        loop {
            stream.write_all(b"X-Drip: x\r\n").await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended: std::io::Result<()> =
        tokio::time::timeout(soak::PATIENCE, dripping).await.expect("it drips on");
    assert!(ended.is_err());
    assert_eq!(stage.counts.n_reached(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_waits_for_its_next_request_longer_than_for_its_first() {
    let limits = HttpLimits { head_timeout: SHORT, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let request = stage.head("GET", "/v1/things", &[&stage.bearer()]);
    let request = request.replace("Connection: close\r\n", "");
    // On a machine that is busy enough, a connection has ended before its first request is read.
    let first = async {
        loop {
            let mut stream = stage.tcp().await;
            let sent = stream.write_all(request.as_bytes()).await;
            if sent.is_ok() && stream.read_u8().await.is_ok() {
                return stream;
            }
        }
    };
    let first = tokio::time::timeout(soak::PATIENCE, first).await;
    let mut stream = first.expect("it is never served");
    tokio::time::sleep(SHORT * 2).await;
    let reached = stage.counts.n_reached();
    stream.write_all(request.as_bytes()).await.unwrap();
    eventually("the next one is served", || stage.counts.n_reached() == reached + 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_end_is_answered_so() {
    let limits = HttpLimits { body_timeout: SHORT, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let bearer = stage.bearer();
    for length in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let head = stage.head("POST", "/v1/json", &[&bearer, JSON, length]);
        let answer = stage.say(head + "1\r\n").await;
        assert_eq!(answer.status(), 408, "{length}: {}", answer.0);
    }
    assert_eq!(stage.counts.n_parsed(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_left() {
    let limits = HttpLimits { stall_timeout: SHORT, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let head = stage.head("GET", "/v1/flood", &[&stage.bearer()]);
    let mut over_tcp = stage.tcp().await;
    over_tcp.write_all(head.as_bytes()).await.unwrap();
    let mut over_unix = unix(&stage.private).await;
    over_unix.write_all(head.as_bytes()).await.unwrap();

    eventually("both are served", || stage.counts.n_reached() == 2).await;
    eventually("both are left", || stage.counts.n_streams() == 0).await;
    let answer = stage.say(stage.head("GET", "/v1/things", &[&stage.bearer()])).await;
    assert_eq!(answer.status(), 200, "nobody else notices");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_is_not_a_stalled_one() {
    let limits = HttpLimits {
        stall_timeout: SHORT,
        head_timeout: SHORT,
        idle_timeout: SHORT,
        ..HttpLimits::default()
    };
    let stage = Stage::limited(limits).await;
    let _quiet = quiet_stream(&stage).await;
    for _ in 0..4 {
        // Those who come later and say nothing are left, each after the same wait.
        stage.say("").await;
    }
    assert_eq!(stage.counts.n_streams(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_http2_connection_is_closed_and_a_used_one_is_not() {
    let limits = HttpLimits { head_timeout: SHORT, idle_timeout: SHORT, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let request = || {
        let request = Request::builder().uri(format!("http://{}/v1/events", stage.host()));
        let request = request.header("authorization", format!("Bearer {}", stage.token));
        request.body(Full::<axum::body::Bytes>::default()).unwrap()
    };
    // On a machine that is busy enough, a connection is idle before its first request is read.
    let asking = async {
        loop {
            let mut client = stage.http2().await;
            if let Ok(stream) = client.send_request(request()).await {
                return (client, stream);
            }
        }
    };
    let asked = tokio::time::timeout(soak::PATIENCE, asking).await;
    let (client, stream) = asked.expect("it is never served");
    for _ in 0..4 {
        let idle = stage.http2().await;
        eventually("one without a request is closed", || idle.is_closed()).await;
    }
    assert!(!client.is_closed());
    drop(stream);
    eventually("the idle connection is closed", || client.is_closed()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_so_many_places_and_no_more() {
    let limits = HttpLimits { max_connections: 2, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let head = stage.head("GET", "/v1/events", &[&stage.bearer()]);
    let mut inside = Vec::new();
    for _ in 0..2 {
        let mut stream = stage.tcp().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        until(&mut stream, "hello").await;
        inside.push(stream);
    }
    let refused = rest(stage.tcp().await).await;
    assert!([0, 503].contains(&refused.status()), "{}", refused.0);
    let private = stage.head("GET", "/v1/whoami", &[]);
    assert_eq!(
        exchange(unix(&stage.private).await, &private).await.status(),
        200,
        "a door of its own"
    );

    inside.pop();
    eventually("the place is free", || stage.counts.n_streams() == 1).await;
    let things = stage.head("GET", "/v1/things", &[&stage.bearer()]);
    let again = async {
        while stage.say(&things).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(soak::PATIENCE, again).await.expect("the place stays taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_make_way_for_those_who_come_after_them() {
    // Nobody leaves by itself.
    let head_timeout = Duration::from_secs(3600);
    let limits = HttpLimits { max_connections: 2, head_timeout, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let mut known = stage.tcp().await;
    known.write_all(stage.head("GET", "/v1/events", &[&stage.bearer()]).as_bytes()).await.unwrap();
    until(&mut known, "hello").await;
    let _silent = stage.tcp().await;
    let mut half = stage.tcp().await;
    half.write_all(b"GET /v1/things HT").await.unwrap();
    let things = stage.head("GET", "/v1/things", &[&stage.bearer()]);
    let served = async {
        while stage.say(&things).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(soak::PATIENCE, served).await.expect("strangers keep the place");
    assert_eq!(stage.counts.n_streams(), 1, "who has shown a token stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_streams_of_one_token_do_not_keep_the_others_out() {
    let limits = HttpLimits { max_connections: 64, ..HttpLimits::default() };
    let stage = Stage::limited(limits).await;
    let head = stage.head("GET", "/v1/events", &[&stage.bearer()]);
    let mut inside = Vec::new();
    for _ in 0..16 {
        let mut stream = stage.tcp().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        until(&mut stream, "hello").await;
        inside.push(stream);
    }
    let refused = stage.say(&head).await;
    assert_eq!(refused.status(), 429, "{}", refused.0);
    let said = refused.0.to_lowercase();
    assert!(said.contains("application/problem+json") && said.contains("retry-after: 5"), "{said}");
    assert!(said.contains("may take 16 connections"), "{said}");
    eventually("nothing is left of it", || stage.counts.n_streams() == 16).await;
    let things = stage.head("GET", "/v1/things", &[&stage.bearer()]);
    assert_eq!(stage.say(&things).await.status(), 200, "plain requests are served");

    inside.pop();
    eventually("one has gone", || stage.counts.n_streams() == 15).await;
    let again = async {
        loop {
            let mut stream = stage.tcp().await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut status = [0; 12];
            stream.read_exact(&mut status).await.unwrap();
            if status.ends_with(b"200") {
                break;
            }
        }
    };
    tokio::time::timeout(soak::PATIENCE, again).await.expect("its place stays taken");
}
