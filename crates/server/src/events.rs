//! A session's events as they happen: SSE, and the same over WebSocket.
//!
//! In: a session, a cursor and a format. Out: frames, each with an id that is a cursor
//! again. A reader has its own place in the log and takes its own time: what is held for it
//! is one chunk, and one that takes nothing is warned and then loses its connection.
//!
//! Always true: whoever comes back with the last id that it saw gets every frame once.

mod ending;
mod frame_buffer;
mod frame_encoder;
mod query;
mod reader;
mod session_changes;
mod slow_reader;
mod socket;
mod sse;
mod stream;
#[cfg(test)]
pub(crate) mod testing;

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Extension, Router};
use store::SessionRecord;
use wire::TurnId;

use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::Problem;
use crate::web_socket::Handshake;
use query::{EventsQuery, EventsRequest};
use reader::EventReader;
pub(crate) use session_changes::SessionChange;
use session_changes::SessionChanges;
use stream::{FrameSource, FrameStream};

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    Router::new()
        .route("/v1/sessions/{id}/events", axum::routing::get(events))
        .route("/v1/events", axum::routing::get(lists))
        .with_state(daemon.clone())
}

/// A turn alone, as the UI of Open Design reads it: from `start`, or from where the client
/// left it, to `end`.
pub(crate) async fn run(
    daemon: &Arc<Daemon>,
    principal: &Principal,
    record: &SessionRecord,
    turn: TurnId,
    after: Option<String>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let wanted = EventsRequest::run(turn, after, headers)?;
    let budget = daemon.load.budget(&principal.name);
    let reader = EventReader::new(daemon, record, &wanted, budget).await;
    let source = FrameSource::Log(Box::new(reader));
    Ok(sse::respond(FrameStream::new(source, daemon, principal)?))
}

async fn events(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    asked: Result<Query<EventsQuery>, QueryRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let Query(asked) = asked.map_err(|error| Problem::bad_request(error.body_text()))?;
    let wanted = EventsRequest::read(&asked, request.headers())?;
    let record = daemon.visible(&id, &principal).await?;
    let handshake = Handshake::read(request.headers(), &socket::PROTOCOLS)?;
    let budget = daemon.load.budget(&principal.name);
    let reader = EventReader::new(&daemon, &record, &wanted, budget).await;
    let source = FrameSource::Log(Box::new(reader));
    Ok(respond(handshake, request, FrameStream::new(source, &daemon, &principal)?))
}

/// Changes in the list of sessions.
async fn lists(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    request: Request,
) -> Result<Response, Problem> {
    let handshake = Handshake::read(request.headers(), &socket::PROTOCOLS)?;
    let source = FrameSource::Lists(SessionChanges::new(&daemon, &principal));
    Ok(respond(handshake, request, FrameStream::new(source, &daemon, &principal)?))
}

fn respond(handshake: Option<Handshake>, request: Request, stream: FrameStream) -> Response {
    let stream = stream.over(&request);
    match handshake {
        Some(handshake) => socket::respond(handshake, request, stream),
        None => sse::respond(stream),
    }
}
