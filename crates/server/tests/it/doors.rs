//! Doors that close: at once for newcomers, politely for guests, in the end for all.

use std::time::Duration;

use futures_util::StreamExt;
use server::limits::HttpLimits;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::stage::{Stage, rest, until};

async fn all_stopped(stage: &mut Stage) {
    for serving in stage.serving.drain(..) {
        let stopped = tokio::time::timeout(soak::PATIENCE, serving).await;
        stopped.expect("it never stops").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_request_is_finished_and_nobody_new_comes_in() {
    let limits = HttpLimits { drain: soak::PATIENCE, ..HttpLimits::default() };
    let mut stage = Stage::limited(limits).await;
    let mut slow = stage.tcp().await;
    let head =
        format!("GET /v1/slow HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", stage.host(), stage.bearer());
    slow.write_all(head.as_bytes()).await.unwrap();
    crate::stage::eventually("it runs", || stage.counts.n_reached() == 1).await;
    let idle = stage.tcp().await;

    stage.stop.cancel();

    let answer = rest(slow).await;
    assert_eq!(answer.status(), 200, "{}", answer.0);
    assert!(answer.0.ends_with("done"));
    rest(idle).await;
    all_stopped(&mut stage).await;
    assert!(TcpStream::connect(stage.address).await.is_err());
    assert!(!stage.private.exists() && !stage.shared.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_is_cut() {
    let limits = HttpLimits { drain: Duration::from_millis(100), ..HttpLimits::default() };
    let mut stage = Stage::limited(limits).await;
    let mut stream = stage.tcp().await;
    stream.write_all(stage.head("GET", "/v1/events", &[&stage.bearer()]).as_bytes()).await.unwrap();
    until(&mut stream, "hello").await;
    let mut request = format!("ws://{}/v1/socket", stage.host()).into_client_request().unwrap();
    let value = format!("Bearer {}", stage.token).parse().unwrap();
    request.headers_mut().insert("authorization", value);
    let (mut socket, _) =
        tokio_tungstenite::client_async(request, stage.tcp().await).await.unwrap();

    stage.stop.cancel();

    all_stopped(&mut stage).await;
    rest(stream).await;
    let end = tokio::time::timeout(soak::PATIENCE, socket.next()).await.unwrap();
    assert!(end.is_none_or(|end| end.is_err()));
    assert_eq!(stage.counts.n_streams(), 0);
}
