//! The transport of 2024: a stream of events and an address to post to.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use agent::native::mcp::ServerSpec;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::remote::serve;
use super::stage::{Stage, until};

type Chunk = Result<Bytes, Infallible>;

/// The stream that is open, and what was posted.
#[derive(Clone, Default)]
struct Server {
    stream: Arc<Mutex<Option<mpsc::Sender<Chunk>>>>,
    posted: Arc<Mutex<Vec<String>>>,
    address: &'static str,
}

impl Server {
    fn send(&self, text: &str) {
        let stream = self.stream.lock().unwrap();
        stream.as_ref().unwrap().try_send(Ok(Bytes::from(text.to_owned()))).unwrap();
    }
}

async fn open(State(server): State<Server>) -> Response {
    let (sender, receiver) = mpsc::channel(64);
    *server.stream.lock().unwrap() = Some(sender);
    // In pieces, with what the standard allows.
    server.send(": welcome\r\nevent: endp");
    server.send(&format!("oint\r\ndata: {}\r\n\r\n", server.address));
    let chunks = futures_util::stream::unfold(receiver, |mut receiver| async {
        Some((receiver.recv().await?, receiver))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(chunks)).into_response()
}

async fn take(State(server): State<Server>, body: Bytes) -> StatusCode {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap().to_owned();
    server.posted.lock().unwrap().push(method.clone());
    let name = message["params"]["name"].as_str().unwrap_or_default();
    let result = match method.as_str() {
        "initialize" => json!({
            "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
            "serverInfo": { "name": "old", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "echo", "inputSchema": {} }, { "name": "leave" },
            { "name": "refuse" }] })
        }
        "tools/call" if name == "leave" => {
            *server.stream.lock().unwrap() = None;
            return StatusCode::ACCEPTED;
        }
        "tools/call" if name == "refuse" => return StatusCode::INTERNAL_SERVER_ERROR,
        "tools/call" => json!({ "content": [{ "type": "text", "text": "old: hi" }] }),
        _ => return StatusCode::ACCEPTED,
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    server.send(&format!("event: message\ndata: {answer}\n\n"));
    StatusCode::ACCEPTED
}

async fn session(server: &Server) -> Stage {
    let router = Router::new()
        .route("/sse", get(open))
        .route("/post", post(take))
        .with_state(server.clone());
    let url = serve(router).await;
    let entry = json!({ "type": "sse", "name": "old", "url": format!("{url}/sse") });
    Stage::new(|_| vec![ServerSpec::from_acp(&entry).unwrap()], |_| {}).await
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let server = Server { address: "/post?session=1", ..Server::default() };
    let stage = session(&server).await;
    assert_eq!(stage.troubles(), []);
    assert_eq!(stage.text("mcp__old__echo", json!({})).await, "old: hi");
    let posted = server.posted.lock().unwrap().clone();
    assert_eq!(posted, ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
    let error = stage.error("mcp__old__refuse", json!({})).await;
    assert!(error.contains("HTTP 500"), "{error}");
}

#[tokio::test]
async fn a_stream_that_ends_fails_the_call_and_is_opened_again_by_the_next() {
    let server = Server { address: "/post", ..Server::default() };
    let stage = session(&server).await;
    let error = stage.error("mcp__old__leave", json!({})).await;
    assert!(error.contains("ended during the call"), "{error}");
    until("its end is seen", || !stage.troubles().is_empty()).await;
    assert_eq!(stage.text("mcp__old__echo", json!({})).await, "old: hi");
    assert_eq!(stage.troubles(), []);
}

#[tokio::test]
async fn messages_are_not_posted_to_another_origin() {
    let server = Server { address: "http://example.invalid/post", ..Server::default() };
    let stage = session(&server).await;
    let troubles = stage.troubles();
    assert!(troubles[0].1.contains("another origin"), "{troubles:?}");
    assert!(server.posted.lock().unwrap().is_empty());
}
