//! Streamable HTTP: the official SDK's server, and one that answers what it likes.

use std::convert::Infallible;
use std::sync::Arc;

use agent::native::mcp::ServerSpec;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, post};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

use super::stage::Stage;

#[path = "../../bin/mcp_stage/official.rs"]
mod official;

/// Serves until the test is over.
pub(crate) async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn session(name: &str, url: &str, headers: Value) -> Stage {
    let entry = json!({ "type": "http", "name": name, "url": url, "headers": headers });
    Stage::new(|_| vec![ServerSpec::from_acp(&entry).unwrap()], |_| {}).await
}

async fn official() -> String {
    let service = StreamableHttpService::new(
        || Ok(official::Official),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    serve(Router::new().nest_service("/mcp", service)).await
}

#[tokio::test]
async fn a_server_of_the_official_sdk_is_understood() {
    let url = official().await;
    let stage = session("web", &format!("{url}/mcp"), json!([])).await;
    assert_eq!(stage.troubles(), []);
    assert_eq!(stage.text("mcp__web__echo", json!({ "text": "hi" })).await, "official: hi");
    let error = stage.error("mcp__web__echo", json!({})).await;
    assert!(error.contains("`text` is missing"), "{error}");
    stage.servers.shut_down().await;
}

#[tokio::test]
async fn what_is_not_there_or_refuses_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let stage = session("gone", &nobody, json!([])).await;
    assert!(stage.troubles()[0].1.contains("cannot connect"), "{:?}", stage.troubles());

    let refuse = any(|| async {
        let challenge = [("www-authenticate", "Bearer realm=\"x\"")];
        (StatusCode::UNAUTHORIZED, challenge).into_response()
    });
    let page = any(|| async { ([("content-type", "text/html")], "<html>").into_response() });
    let url = serve(Router::new().route("/locked", refuse).route("/page", page)).await;
    let stage = session("locked", &format!("{url}/locked"), json!([])).await;
    assert!(stage.troubles()[0].1.contains("wants authorization"), "{:?}", stage.troubles());
    let stage = session("page", &format!("{url}/page"), json!([])).await;
    assert!(stage.troubles()[0].1.contains("content type"), "{:?}", stage.troubles());
}

/// The older protocol in plain JSON; headers are checked, and some calls misbehave.
async fn played(headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-key").is_none_or(|key| key != "hunter2") {
        return StatusCode::FORBIDDEN.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    let answer = |result: Value| {
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        ([("content-type", "application/json")], answer.to_string()).into_response()
    };
    match message["method"].as_str().unwrap() {
        // As middleware of older servers does.
        "server/discover" => (StatusCode::BAD_REQUEST, "Missing session").into_response(),
        "initialize" => answer(json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "played", "version": "1" },
        })),
        "tools/list" => {
            let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
            let tools = ["endless", "endless-events", "busy", "far", "fine"].map(tool);
            answer(json!({ "tools": tools }))
        }
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "endless" => endless("application/json"),
            "endless-events" => endless("text/event-stream"),
            "busy" => StatusCode::SERVICE_UNAVAILABLE.into_response(),
            // The headers hold a key: it must not follow.
            "far" => {
                let to = [("location", "http://localhost:1/elsewhere")];
                (StatusCode::TEMPORARY_REDIRECT, to).into_response()
            }
            _ => answer(json!({ "content": [{ "type": "text", "text": "fine" }] })),
        },
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

fn endless(kind: &'static str) -> Response {
    let chunk = Ok::<_, Infallible>(Bytes::from(vec![b'x'; 1 << 20]));
    let body = Body::from_stream(futures_util::stream::repeat(chunk));
    ([("content-type", kind)], body).into_response()
}

#[tokio::test]
async fn a_server_of_the_older_protocol_is_spoken_to_with_its_headers_and_limits() {
    let url = serve(Router::new().route("/mcp", post(played))).await;
    let key = json!([{ "name": "X-Key", "value": "hunter2" }]);
    let stage = session("old", &format!("{url}/mcp"), key).await;
    assert_eq!(stage.troubles(), []);
    assert_eq!(stage.text("mcp__old__fine", json!({})).await, "fine");
    for (name, expected) in [("endless", "longer than"), ("busy", "503"), ("far", "307")] {
        let error = stage.error(&format!("mcp__old__{name}"), json!({})).await;
        assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        assert_eq!(stage.text("mcp__old__fine", json!({})).await, "fine", "after {name}: {error}");
    }
    let without = session("old", &format!("{url}/mcp"), json!([])).await;
    assert!(without.troubles()[0].1.contains("403"), "{:?}", without.troubles());
}

#[tokio::test]
async fn a_stream_without_an_end_fails_its_call() {
    let url = serve(Router::new().route("/mcp", post(played))).await;
    let key = json!([{ "name": "X-Key", "value": "hunter2" }]);
    let stage = session("old", &format!("{url}/mcp"), key).await;
    stage.error("mcp__old__endless-events", json!({})).await;
    assert_eq!(stage.text("mcp__old__fine", json!({})).await, "fine");
}
