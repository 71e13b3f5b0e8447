//! `/acp`, after ACP's proposal for remote transports.
//!
//! `POST` carries one message of the client: `initialize` begins a connection and is answered at
//! once, everything else is accepted (202) and answered on a stream. `GET` is a stream of the
//! connection or of a session, or a WebSocket. `DELETE` ends the connection. Beyond the proposal,
//! frames have ids, and `Last-Event-ID` goes on after one.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use wire::{Message, MessageKind};

use super::http_connection::{HttpConnection, HttpConnections, PostError};
use super::message_stream::{MessageStreamReader, ReadOutcome};
use super::web_socket;
use crate::daemon::Daemon;
use crate::input::is_json;
use crate::limits::ByteQuota;
use crate::principal::Principal;
use crate::problem::{Problem, kinds};
use crate::web_socket::Handshake;

const CONNECTION: HeaderName = HeaderName::from_static("acp-connection-id");
const SESSION: HeaderName = HeaderName::from_static("acp-session-id");
const PROTOCOLS: [&str; 2] = ["acp.v1", "switchyard.v1"];
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Debug, Clone)]
pub(super) struct AcpState {
    pub(super) daemon: Arc<Daemon>,
    pub(super) connections: Arc<HttpConnections>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AcpQuery {
    agent: Option<String>,
}

pub(super) async fn post(
    State(acp): State<AcpState>,
    Extension(principal): Extension<Principal>,
    Query(wanted): Query<AcpQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    if !is_json(&headers) {
        return Err(Problem::of(kinds::NO_JSON));
    }
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Problem::of(kinds::BATCH));
    }
    let message = Message::parse(body).map_err(|error| Problem::bad_request(error.to_string()))?;
    let Some(id) = text_of(&headers, &CONNECTION) else {
        return initialize(&acp, &principal, wanted.agent, &message).await;
    };
    let connection = acp.connections.find(id, &principal).ok_or_else(no_such_connection)?;
    let (message, session) = scoped(message, text_of(&headers, &SESSION))?;
    match connection.send(&message, session).await {
        Ok(()) => Ok(StatusCode::ACCEPTED.into_response()),
        Err(PostError::Over) => Err(no_such_connection()),
        Err(PostError::TooMuch) => Err(Problem::of(kinds::TOO_MANY_REQUESTS).retry_after(1)),
    }
}

/// Begins a connection with `initialize`.
async fn initialize(
    acp: &AcpState,
    principal: &Principal,
    agent: Option<String>,
    message: &Message,
) -> Result<Response, Problem> {
    if message.kind() != MessageKind::Request || message.method() != "initialize" {
        return Err(Problem::bad_request("without `Acp-Connection-Id` there is only `initialize`"));
    }
    // The connection is kept only if `initialize` is answered while the client is still there.
    let Some(begun) = acp.connections.open(&acp.daemon, principal, agent) else {
        return Err(Problem::of(kinds::TOO_MANY_CONNECTIONS).retry_after(10));
    };
    let answer = match begun.connection.initialize(message).await {
        Ok(answer) => answer.await.ok(),
        Err(_) => None,
    };
    let Some(answer) = answer else {
        return Err(Problem::internal("the connection ended before it had begun"));
    };
    let is_refused =
        !Message::parse(answer.clone()).is_ok_and(|answer| answer.kind() == MessageKind::Response);
    let mut response = answer.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if !is_refused && let Ok(id) = HeaderValue::from_str(&begun.keep().id) {
        headers.insert(CONNECTION, id);
    }
    Ok(response)
}

/// The message, with the session id of the header put into its params, and that id.
fn scoped(message: Message, named: Option<&str>) -> Result<(Message, Option<String>), Problem> {
    let is_reply = !matches!(message.kind(), MessageKind::Request | MessageKind::Notification);
    if is_reply || message.method().starts_with("$/") {
        return Ok((message, None));
    }
    let said = message.peek().ok().and_then(|peek| peek.session_id().map(str::to_owned));
    match (said, named) {
        (Some(said), Some(named)) if said != named => {
            Err(Problem::bad_request("`Acp-Session-Id` is not `params.sessionId`"))
        }
        (None, Some(named)) => {
            let params = match message.body() {
                "" | "null" => wire::Json::trusted("{}"),
                _ => message.body_json(),
            };
            let params = wire::set_member(&params, &["sessionId"], &wire::Json::of(&named))
                .map_err(|_| Problem::bad_request("`Acp-Session-Id` needs `params`"))?;
            let line = match message.kind() {
                MessageKind::Request => {
                    wire::request_line(&message.id(), message.method(), params.as_str())
                }
                _ => wire::notification_line(message.method(), params.as_str()),
            };
            let message = Message::parse(Bytes::from(line))
                .map_err(|error| Problem::bad_request(error.to_string()))?;
            Ok((message, Some(named.to_owned())))
        }
        (said, _) => Ok((message, said)),
    }
}

pub(super) async fn get(
    State(acp): State<AcpState>,
    Extension(principal): Extension<Principal>,
    Extension(requests): Extension<Arc<ByteQuota>>,
    Query(wanted): Query<AcpQuery>,
    request: Request,
) -> Result<Response, Problem> {
    if let Some(handshake) = Handshake::read(request.headers(), &PROTOCOLS)? {
        let begun = requests.reserve(&principal.name);
        let serve = move |io| web_socket::serve(acp.daemon, principal, wanted.agent, begun, io);
        let mut response = handshake.accept(request, serve);
        if let Ok(id) = HeaderValue::from_str(sessions::mint::session_id().as_str()) {
            response.headers_mut().insert(CONNECTION, id);
        }
        return Ok(response);
    }
    let headers = request.headers();
    let accepts = text_of(headers, &header::ACCEPT).unwrap_or_default();
    if !accepts.contains("text/event-stream") {
        return Err(Problem::of(kinds::NOT_ACCEPTABLE));
    }
    let Some(id) = text_of(headers, &CONNECTION) else {
        return Err(Problem::bad_request("`Acp-Connection-Id` is missing"));
    };
    let connection = acp.connections.find(id, &principal).ok_or_else(no_such_connection)?;
    let session = text_of(headers, &SESSION);
    let stream = connection
        .stream(session)
        .ok_or_else(|| Problem::not_found("this connection has too many sessions open"))?;
    let cursor = text_of(headers, &HeaderName::from_static("last-event-id"));
    let cursor = cursor.map(|id| id.parse().unwrap_or(u64::MAX - 1));
    let Some(reader) = stream.read(cursor) else {
        return Err(Problem::of(kinds::STREAM_BUSY));
    };
    Ok(frames(connection, reader).into_response())
}

fn frames(connection: Arc<HttpConnection>, reader: MessageStreamReader) -> impl IntoResponse {
    let frames = stream::unfold((connection, reader), |(connection, mut reader)| async move {
        let frame = match reader.next().await {
            ReadOutcome::Message(number, line) => {
                let text = String::from_utf8_lossy(&line).into_owned();
                Frame::default().id(number.to_string()).data(text)
            }
            ReadOutcome::Lost => Frame::default().event("state_resync_required").data("{}"),
            ReadOutcome::Over => return None,
        };
        Some((Ok::<_, Infallible>(frame), (connection, reader)))
    });
    Sse::new(frames).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

pub(super) async fn delete(
    State(acp): State<AcpState>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let Some(id) = text_of(&headers, &CONNECTION) else {
        return Err(Problem::bad_request("`Acp-Connection-Id` is missing"));
    };
    let connection = acp.connections.find(id, &principal).ok_or_else(no_such_connection)?;
    acp.connections.remove(&connection.id);
    connection.end().await;
    Ok(StatusCode::ACCEPTED)
}

fn no_such_connection() -> Problem {
    Problem::not_found("there is no such connection; begin with `initialize`")
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
