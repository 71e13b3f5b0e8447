//! Many frames in one message, for those who ask for it.

use futures_util::StreamExt as _;
use serde_json::Value;
use testkit::daemon::Daemon;
use testkit::event_client::{EventClient, EventQuery, EventTransport};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::{home, new_session, prompt};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_has_the_same_frames_in_few_messages() {
    let home = home();
    let daemon = Daemon::start(&home);
    let session = new_session(&daemon, &home).await;
    let turn = prompt(&daemon, &session, "flood 2000 40").await;
    let request =
        EventQuery::new(EventTransport::WebSocket, &session).query(&format!("turn={turn}"));
    EventClient::open(&daemon, &request).frame_named("stream_end").expect("the end of the flood");
    let mut client = EventClient::open(&daemon, &request);
    let single: Vec<_> = std::iter::from_fn(|| client.next_frame()).collect();
    assert!(single.len() > 2000);

    let url = format!("ws://{}/v1/sessions/{session}/events?turn={turn}", daemon.address());
    let mut handshake = url.into_client_request().unwrap();
    let bearer = format!("Bearer {}", daemon.token().unwrap());
    handshake.headers_mut().insert("authorization", bearer.parse().unwrap());
    let offered = "switchyard.v1, switchyard.batch.v1".parse().unwrap();
    handshake.headers_mut().insert("sec-websocket-protocol", offered);
    let stream = tokio::net::TcpStream::connect(daemon.address()).await.unwrap();
    let (mut socket, answer) = tokio_tungstenite::client_async(handshake, stream).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "switchyard.batch.v1");
    let (mut n_messages, mut batched) = (0, Vec::new());
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        n_messages += 1;
        let frames: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(!frames.is_empty());
        batched.extend(frames);
    }
    assert!(n_messages < single.len() / 10, "{n_messages} messages");
    assert_eq!(batched.len(), single.len());
    for (batched, single) in batched.iter().zip(&single) {
        assert_eq!(batched["id"].as_str(), single.id.as_deref());
        assert_eq!(batched["event"], single.event);
        assert_eq!(batched["data"], single.json());
    }
}
