//! A token that is taken back takes its open connections with it.

use axum::http::Request;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use server::principal::Role;
use server::tokens::{ADMIN, NewToken};
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::stage::{Stage, eventually, rest, until};

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(soak::PATIENCE, future).await.unwrap_or_else(|_| panic!("never: {what}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_and_sockets_end_when_another_process_revokes() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();

    let mut stream = stage.tcp().await;
    stream.write_all(stage.head("GET", "/v1/events", &[&bearer]).as_bytes()).await.unwrap();
    until(&mut stream, "hello").await;

    let mut client = stage.http2().await;
    let request = Request::builder()
        .uri(format!("http://{}/v1/events", stage.host()))
        .header("authorization", format!("Bearer {}", stage.token))
        .body(Full::<axum::body::Bytes>::default())
        .unwrap();
    let mut body = client.send_request(request).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());

    let mut request = format!("ws://{}/v1/socket", stage.host()).into_client_request().unwrap();
    let value = format!("Bearer {}", stage.token).parse().unwrap();
    request.headers_mut().insert("authorization", value);
    let (mut socket, _) =
        tokio_tungstenite::client_async(request, stage.tcp().await).await.unwrap();
    socket.send(Message::text("ping")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("ping"));
    assert_eq!(stage.counts.n_streams(), 3);

    let admin = stage.tokens.admin_token().unwrap();
    let mut other = stage.tcp().await;
    let head = stage.head("GET", "/v1/events", &[&format!("Authorization: Bearer {admin}")]);
    other.write_all(head.as_bytes()).await.unwrap();
    until(&mut other, "hello").await;

    stage.other_process().revoke("test").unwrap();

    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&bearer])).await.status(), 401);
    let tail = rest(stream).await;
    assert!(!tail.0.contains("\r\n0\r\n"), "it does not look complete: {:?}", tail.0);
    assert!(soon("the HTTP/2 stream breaks", body.frame()).await.unwrap().is_err());
    let end = soon("the WebSocket breaks", socket.next()).await;
    assert!(end.is_none_or(|end| end.is_err()));
    eventually("only the admin's stream is left", || stage.counts.n_streams() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_before_is_not_done_afterwards() {
    let stage = Stage::start().await;
    let bearer = stage.bearer();
    let lines = [bearer.as_str(), "Content-Type: application/json", "Content-Length: 3"];
    let mut begun = stage.tcp().await;
    let head = stage.head("POST", "/v1/json", &lines);
    begun.write_all(format!("{head}{{}}").as_bytes()).await.unwrap();
    // It has come as far as the body.
    eventually("it is being read", || stage.counts.n_reached() == 1).await;

    stage.other_process().revoke("test").unwrap();
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&bearer])).await.status(), 401);
    let _ = begun.write_all(b" ").await;
    assert_eq!(rest(begun).await.status(), 401);
    assert_eq!(stage.counts.n_parsed(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_admin_token_is_dead() {
    let stage = Stage::start().await;
    let old = format!("Authorization: Bearer {}", stage.tokens.admin_token().unwrap());
    let mut stream = stage.tcp().await;
    stream.write_all(stage.head("GET", "/v1/events", &[&old]).as_bytes()).await.unwrap();
    until(&mut stream, "hello").await;

    let new = stage.other_process().rotate(ADMIN).unwrap();

    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&old])).await.status(), 401);
    rest(stream).await;
    let new = format!("Authorization: Bearer {new}");
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&new])).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_ends_its_streams() {
    let stage = Stage::start().await;
    let new = NewToken {
        name: "brief".into(),
        role: Role::Observer,
        expires: Some(jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3)),
        own_sessions: false,
    };
    let brief = format!("Authorization: Bearer {}", stage.tokens.add(new).unwrap());
    let mut stream = stage.tcp().await;
    stream.write_all(stage.head("GET", "/v1/events", &[&brief]).as_bytes()).await.unwrap();
    until(&mut stream, "hello").await;
    rest(stream).await;
    assert_eq!(stage.say(stage.head("GET", "/v1/things", &[&brief])).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_table_on_disk_holds_no_token() {
    let stage = Stage::start().await;
    let text = std::fs::read_to_string(stage.state_dir().join("tokens.json")).unwrap();
    assert!(!text.contains(&stage.token));
}
