//! A web server of somebody else: the attacker's own, or one that guards nothing.
//!
//! `/page` is a page for scripts to run in, `/redirect` leads to where its query says. Whatever
//! else is asked for is given away to anybody in the form that was asked for, and contains the
//! secret. All that was heard is kept.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::extract::{FromRequestParts as _, Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Router, body};

/// What the attacker wants to read.
pub(crate) const SECRET: &str = "sesame";

const WORKER: &str = "
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const headers = { 'Content-Type': 'text/html' };
  if (event.request.mode === 'navigate') event.respondWith(new Response('still mine', { headers }));
});
";

const MAX_BODY_BYTES: usize = 1 << 20;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) method: Method,
    /// With the query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

type Ears = Arc<Mutex<Vec<Heard>>>;

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    ears: Ears,
    serving: tokio::task::JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let ears = Ears::default();
        let router = Router::new().fallback(answer).with_state(ears.clone());
        let serving = async { axum::serve(listener, router).await.unwrap() };
        Self { address, ears, serving: tokio::spawn(serving) }
    }

    /// An origin under which it is reached.
    pub(crate) fn at(&self, host: &str) -> String {
        format!("http://{host}:{}", self.address.port())
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.ears.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.ears.lock().unwrap().clear();
    }

    /// Leaves its port to somebody else.
    pub(crate) async fn close(mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(serde::Deserialize)]
struct Elsewhere {
    status: u16,
    to: String,
}

async fn answer(State(ears): State<Ears>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
    let body = body::to_bytes(body, MAX_BODY_BYTES).await.unwrap_or_default();
    ears.lock().unwrap().push(Heard {
        method: parts.method.clone(),
        target: parts.uri.to_string(),
        headers: parts.headers.clone(),
        body: String::from_utf8_lossy(&body).into_owned(),
    });
    if let Ok(upgrade) = upgrade {
        return upgrade.protocols(["switchyard.v1"]).on_upgrade(async |mut socket| {
            let _ = socket.send(Message::Text(SECRET.into())).await;
            while let Some(Ok(_)) = socket.recv().await {}
        });
    }
    let mut response = match parts.uri.path() {
        "/page" => html("<!doctype html><title>foreign</title><body>a page"),
        "/redirect" => {
            let Query(Elsewhere { status, to }) = Query::try_from_uri(&parts.uri).unwrap();
            let status = StatusCode::from_u16(status).unwrap();
            (status, [(header::LOCATION, to)]).into_response()
        }
        _ => give_away(&parts.headers),
    };
    allow_everything(&parts.headers, response.headers_mut());
    response
}

fn html(text: &str) -> Response {
    ([(header::CONTENT_TYPE, "text/html")], text.to_owned()).into_response()
}

/// The secret, in whatever form the page can use.
fn give_away(asked: &HeaderMap) -> Response {
    let wanted = |name: &str| asked.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if wanted("accept") == "text/event-stream" {
        let first = futures_util::stream::once(async {
            Ok::<_, std::convert::Infallible>(Bytes::from(format!("data: {SECRET}\n\n")))
        });
        let rest = futures_util::stream::pending();
        let events = body::Body::from_stream(futures_util::StreamExt::chain(first, rest));
        return ([(header::CONTENT_TYPE, "text/event-stream")], events).into_response();
    }
    let (kind, text) = match wanted("sec-fetch-dest") {
        // It answers for its site from then on, whoever is there.
        "serviceworker" => ("text/javascript", WORKER.to_owned()),
        "script" => ("text/javascript", format!("window.leak = '{SECRET}'")),
        "style" => ("text/css", format!("body {{ --leak: {SECRET} }}")),
        "image" => {
            let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>"#;
            ("image/svg+xml", svg.to_owned())
        }
        "document" | "iframe" | "frame" | "object" | "embed" => {
            ("text/html", format!("<!doctype html><p>{SECRET}"))
        }
        _ => ("application/json", format!("{{\"said\":\"{SECRET}\"}}")),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// What servers send that want no trouble with browsers.
fn allow_everything(asked: &HeaderMap, headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*");
    let origin = asked.get(header::ORIGIN).cloned().unwrap_or(any);
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, last-event-id"),
        // A page that stays open must not hold on to a server that has closed.
        (header::CONNECTION, "close"),
        (HeaderName::from_static("cache-control"), "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
