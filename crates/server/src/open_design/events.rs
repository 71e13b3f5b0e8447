//! A run's stream of events, and `/api/chat`, which begins a run and streams it in one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::StreamExt as _;
use serde::Deserialize;
use wire::TurnId;

use super::Runs;
use super::body::{Given, NewRun};
use crate::api::input::{At, Params};
use crate::principal::Principal;
use crate::problem::Problem;

#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    after: Option<String>,
}

pub(super) async fn events(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    At(id): At<String>,
    Params(wanted): Params<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (record, run) = runs.find(&principal, &id).await?;
    let after = wanted.after.filter(|after| !after.is_empty());
    crate::events::run(&runs.daemon, &principal, &record, run.id, after, &headers)
}

/// Begins a run and streams it. Whoever closes the connection leaves the run alone, unless
/// it said otherwise.
pub(super) async fn chat(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    Given(new): Given<NewRun>,
) -> Result<Response, Problem> {
    let new = new.checked()?;
    let begun = runs.begin(&principal, &new).await?;
    let ends_with_us = (new.cancel_on_disconnect == Some(true)).then(|| Leash {
        runs: runs.clone(),
        run: begun.run,
        principal: principal.clone(),
    });
    let record = runs.daemon.desk.record(begun.session).await?;
    let headers = HeaderMap::new();
    let streamed =
        crate::events::run(&runs.daemon, &principal, &record, begun.run, None, &headers)?;
    let Some(leash) = ends_with_us else { return Ok(streamed) };
    let (head, body) = streamed.into_parts();
    let held = body.into_data_stream().map(move |chunk| {
        // Dropped with the stream.
        let _ = &leash;
        chunk
    });
    Ok(Response::from_parts(head, Body::from_stream(held)))
}

/// Stops a run when it is dropped.
struct Leash {
    runs: Arc<Runs>,
    run: TurnId,
    principal: Principal,
}

impl Drop for Leash {
    fn drop(&mut self) {
        let (runs, run, principal) = (self.runs.clone(), self.run, self.principal.clone());
        if runs.daemon.stopping.is_cancelled() {
            return;
        }
        task::spawn(async move {
            // One that has ended is left as it is.
            if let Ok((record, run)) = runs.find(&principal, run.as_str()).await
                && let Err(error) = runs.cancel(&record, run, &principal.name).await
            {
                tracing::warn!(?error, "a run goes on without its client");
            }
        });
    }
}
