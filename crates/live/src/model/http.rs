//! The model server on its socket.
//!
//! In: HTTP/1.1 on loopback. Out: what the scenario of each request says, event by event.
//! A path is known by its end; what stands before it is free, and tells agents apart.

use super::MODELS;
use super::log::{RequestLog, RequestLogEntry};
use super::request::Request;
use super::scenario::{FaultKind, Reply, ScenarioAnswer, StreamFault, answer};
use super::tools::smallest;
use super::wire::{Context, Event, Wire};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

// Conversations with long system prompts and tool lists stay far below this.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

type Reply200 = Response<BoxBody<Bytes, CutConnection>>;

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    log: RequestLog,
    n_replies: AtomicU64,
    /// How often each marker was answered, by the path that it came on.
    seen: Mutex<HashMap<(String, String), usize>>,
}

impl Server {
    /// On a free port of 127.0.0.1.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            log: RequestLog::new(),
            n_replies: AtomicU64::new(0),
            seen: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { address, state, task })
    }

    /// Without a slash at the end. A path may be added to tell one agent from another.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn log(&self) -> &RequestLog {
        &self.state.log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // Dropped with the task, which ends all connections with the server.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => { connections.spawn(serve(stream, Arc::clone(&state))); }
                // Out of descriptors: those that serve now will give some back.
                Err(_) => tokio::task::yield_now().await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    // Each event is a write of its own and must not wait for the next.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(respond(request, state).await) }
    });
    let io = hyper_util::rt::TokioIo::new(stream);
    // Clients hang up when they like, and some scenarios cut the line on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
}

async fn respond(request: hyper::Request<Incoming>, state: Arc<State>) -> Reply200 {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match method {
        Method::POST => {
            let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            post(&path, serde_json::from_slice(&body).unwrap_or_default(), &state)
        }
        // Agents are given this server as their proxy too: nothing gets out.
        Method::CONNECT => {
            let host = request.uri().to_string();
            state.log.add(bare(host));
            json_reply(StatusCode::BAD_GATEWAY, &json!({ "error": "no way out" }))
        }
        Method::GET if path.ends_with("/models") => {
            state.log.add(bare(path.clone()));
            json_reply(StatusCode::OK, &models(&path))
        }
        Method::HEAD => json_reply(StatusCode::OK, &Value::Null),
        _ => not_found(&path, &state),
    }
}

fn post(path: &str, body: Value, state: &State) -> Reply200 {
    let Some(wire) = Wire::of_path(path) else {
        return match path {
            _ if path.ends_with("/count_tokens") => {
                json_reply(StatusCode::OK, &json!({ "input_tokens": 100 }))
            }
            _ if path.ends_with(":countTokens") => {
                json_reply(StatusCode::OK, &json!({ "totalTokens": 100 }))
            }
            _ => not_found(path, state),
        };
    };
    let request = wire.read(path, &body);
    let asked = request.asked();
    let n = state.n_replies.fetch_add(1, Ordering::Relaxed);
    state.log.add(RequestLogEntry {
        path: path.to_owned(),
        wire: Some(wire),
        model: request.model.clone(),
        scenario: asked.as_ref().map(|asked| asked.marker.scenario.clone()),
        round: asked.as_ref().map_or(0, |asked| asked.round),
        tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        body,
    });
    let answer = match &asked {
        Some(asked) => answer(asked, state.count(path, &asked.marker.to_string())),
        None => ScenarioAnswer::Reply(side_reply(&request)),
    };
    match answer {
        ScenarioAnswer::Status { code, retry_after } => status(wire, code, retry_after),
        ScenarioAnswer::Reply(reply) => {
            let context = Context { model: &request.model, tools: &request.tools, n };
            match request.is_stream {
                true => stream(wire, &reply, &context),
                false => json_reply(StatusCode::OK, &wire.whole(&reply, &context)),
            }
        }
    }
}

/// Titles, routers and summaries: as little as fits.
fn side_reply(request: &Request) -> Reply {
    match &request.schema {
        Some(schema) => Reply::text(smallest(schema).to_string()),
        None => Reply::text("ok"),
    }
}

impl State {
    /// How often this marker was answered before on this path.
    fn count(&self, path: &str, marker: &str) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let times = seen.entry((path.to_owned(), marker.to_owned())).or_default();
        *times += 1;
        *times - 1
    }
}

fn models(path: &str) -> Value {
    if path.contains("/v1beta/") {
        let model = |id: &str| {
            json!({ "name": format!("models/{id}"), "displayName": id,
                "supportedGenerationMethods": ["generateContent"] })
        };
        return json!({ "models": MODELS.map(model) });
    }
    let model = |id: &str| {
        json!({ "id": id, "object": "model", "type": "model", "display_name": id,
            "created": 1_700_000_000, "created_at": "2026-01-01T00:00:00Z", "owned_by": "live" })
    };
    json!({ "object": "list", "has_more": false, "data": MODELS.map(model) })
}

fn status(wire: Wire, code: u16, retry_after: Option<u64>) -> Reply200 {
    let code_or_500 = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_reply(code_or_500, &wire.error(code));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn not_found(path: &str, state: &State) -> Reply200 {
    state.log.add(bare(path.to_owned()));
    json_reply(StatusCode::NOT_FOUND, &json!({ "error": { "message": format!("no {path} here") } }))
}

fn bare(path: String) -> RequestLogEntry {
    RequestLogEntry {
        path,
        wire: None,
        model: String::new(),
        scenario: None,
        round: 0,
        tools: Vec::new(),
        body: Value::Null,
    }
}

fn json_reply(status: StatusCode, body: &Value) -> Reply200 {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    with_type(status, "application/json", body.boxed())
}

fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: BoxBody<Bytes, CutConnection>,
) -> Reply200 {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}

fn stream(wire: Wire, reply: &Reply, context: &Context) -> Reply200 {
    let events = wire.stream(reply, context);
    // One event on its way is enough; the next waits for the reader.
    let (to_body, frames) = mpsc::channel(1);
    let (pace, fault) = (reply.pace, reply.fault);
    tokio::spawn(async move {
        // The reader has gone when sending fails, and there is nobody to tell.
        let _ = play(wire, events, pace, fault, to_body).await;
    });
    with_type(StatusCode::OK, "text/event-stream", BodyFrames(frames).boxed())
}

type BodySender = mpsc::Sender<Result<Bytes, CutConnection>>;

async fn play(
    wire: Wire,
    events: Vec<Event>,
    pace: std::time::Duration,
    fault: Option<StreamFault>,
    to_body: BodySender,
) -> Result<(), mpsc::error::SendError<Result<Bytes, CutConnection>>> {
    let mut n_texts = 0;
    for event in events {
        if let Some(fault) = fault.filter(|fault| event.is_text && n_texts == fault.after) {
            match fault.how {
                FaultKind::Cut => to_body.send(Err(CutConnection)).await?,
                FaultKind::Hang => to_body.closed().await,
                FaultKind::Error => {
                    to_body.send(Ok(wire.frame(&wire.stream_error()).into())).await?;
                }
            }
            return Ok(());
        }
        n_texts += usize::from(event.is_text);
        to_body.send(Ok(wire.frame(&event).into())).await?;
        tokio::time::sleep(pace).await;
    }
    Ok(())
}

/// The error that cuts a connection on purpose.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("cut")]
struct CutConnection;

/// A body that is still being written.
struct BodyFrames(mpsc::Receiver<Result<Bytes, CutConnection>>);

impl Body for BodyFrames {
    type Data = Bytes;
    type Error = CutConnection;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutConnection>>> {
        self.0.poll_recv(context).map(|next| next.map(|sent| sent.map(Frame::data)))
    }
}
