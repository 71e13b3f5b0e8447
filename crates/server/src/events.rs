//! A session's events as they happen: SSE, and the same over WebSocket.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::{Extension, Router};
use futures_util::stream;
use serde::Deserialize;
use wire::{Event, Seq};

use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::Problem;

/// Events read at once.
const PAGE: usize = 256;
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    Router::new()
        .route("/v1/sessions/{id}/events", axum::routing::get(events))
        .with_state(daemon.clone())
}

#[derive(Debug, Deserialize)]
struct Wanted {
    after: Option<u64>,
}

async fn events(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let last = last.and_then(|id| id.split('-').next()).and_then(|seq| seq.parse().ok());
    let after = Seq(last.or(wanted.after).unwrap_or_default());
    let (log, session, epoch) = (daemon.desk.log().clone(), record.id, record.epoch);
    let frames = stream::unfold((after, Vec::<Event>::new().into_iter()), move |state| {
        let log = log.clone();
        async move {
            let (mut after, mut page) = state;
            loop {
                if let Some(event) = page.next() {
                    let id = format!("{}-{epoch:x}", event.seq.0);
                    let frame = Frame::default().id(id).data(event.to_json_line());
                    after = event.seq;
                    return Some((Ok::<_, Infallible>(frame), (after, page)));
                }
                let events = log.read(session, after, PAGE).await.ok()?;
                if events.is_empty() {
                    log.wait(session, after).await.ok()?;
                }
                page = events.into_iter();
            }
        }
    });
    Ok(Sse::new(frames).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}
