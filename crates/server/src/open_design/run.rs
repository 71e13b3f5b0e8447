//! One run: made, looked at, followed, stopped; and `/api/chat`, which makes and streams it in one.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use store::SessionRecord;
use tokio::time::Instant;
use wire::{Category, Fault, TurnId};

use super::Runs;
use super::conversation::session_prefix;
use super::run_index::{Run, RunStatus};
use super::run_request::NewRun;
use crate::input::{PathParams, QueryParams};
use crate::principal::{Principal, Role};
use crate::problem::{Problem, kinds, shown};

/// Time limit of a cancel: longer than the whole ladder from asking an agent to stop to killing it.
const CANCEL_WITHIN: Duration = Duration::from_secs(60);

pub(super) async fn create(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    new: NewRun,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let begun = runs.begin(&principal, &new).await?;
    let mut answer = json!({
        "runId": begun.run,
        "conversationId": begun.conversation,
        "assistantMessageId": new.assistant_message_id,
        "clientRequestId": new.client_request_id,
    });
    if begun.is_reused {
        answer["reused"] = json!(true);
    }
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

pub(super) async fn get(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Run>, Problem> {
    Ok(Json(runs.find(&principal, &id).await?.1))
}

pub(super) async fn cancel(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, Problem> {
    principal.require(Role::Operator)?;
    let (record, run) = runs.find(&principal, &id).await?;
    let run = runs.cancel(&record, run, &principal.name).await?;
    Ok(Json(json!({ "ok": true, "run": run })))
}

impl Runs {
    /// A run by its id, if there is one that `principal` may see.
    pub(super) async fn find(
        &self,
        principal: &Principal,
        id: &str,
    ) -> Result<(SessionRecord, Run), Problem> {
        let missing = || Problem::not_found(format!("there is no run `{}`", shown(id)));
        let turn = TurnId::parse(id).map_err(|_| missing())?;
        let log = self.daemon.registry.log();
        for record in log.find(session_prefix(&turn)).await? {
            let Some(record) = self.visible(record.id.as_str(), principal).await? else {
                continue;
            };
            if let Some((run, _)) = self.run_indexes.run(&**log, &record, turn).await? {
                return Ok((record, self.as_it_stands(run)));
            }
        }
        Err(missing())
    }

    /// A run of the log, as it is: nothing runs in a session that could not go on.
    pub(super) fn as_it_stands(&self, mut run: Run) -> Run {
        let registry = &self.daemon.registry;
        if run.status == RunStatus::Running
            && registry.has_halted(run.session_id, run.id)
            && let Some(why) = registry.halted(run.session_id)
        {
            run.fail(&Fault::new(Category::Internal, why));
        }
        run
    }

    /// Stops a run, and no other that may have come after it. Answers when it has ended.
    pub(super) async fn cancel(
        &self,
        record: &SessionRecord,
        run: Run,
        by: &str,
    ) -> Result<Run, Problem> {
        if !run.status.is_active() {
            return Ok(run);
        }
        {
            let _place = self.conversation_locks.enter(&run.note.conversation_id).await;
            let now = self.daemon.registry.record(record.id).await?;
            let session = self.daemon.registry.awake_handle(record.id);
            match (session, now.active_turn) {
                (Some(session), Some(active)) if active == run.id => {
                    session.cancel_soon(by).await?;
                }
                (Some(session), Some(_)) => {
                    session.drop_queued(run.id).await?;
                }
                (None, Some(_)) if self.daemon.registry.halted(record.id).is_some() => {
                    let session = self.daemon.registry.session(record.id).await?;
                    session.drop_queued(run.id).await?;
                }
                (None, Some(_)) => {
                    let why = "another process has this conversation";
                    return Err(Problem::of(kinds::IN_USE).detail(why));
                }
                (_, None) => {}
            }
        }
        self.until_ended(record, run).await
    }

    /// Waits until a run has ended, in bounded time.
    async fn until_ended(&self, record: &SessionRecord, mut run: Run) -> Result<Run, Problem> {
        let log = self.daemon.registry.log();
        let deadline = Instant::now() + CANCEL_WITHIN;
        loop {
            let Some((now, heard)) = self.run_indexes.run(&**log, record, run.id).await? else {
                return Ok(run);
            };
            run = self.as_it_stands(now);
            if !run.status.is_active() {
                return Ok(run);
            }
            tokio::select! {
                more = log.wait(record.id, heard) => more?,
                () = tokio::time::sleep_until(deadline) => return Ok(run),
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RunEventsQuery {
    after: Option<String>,
}

pub(super) async fn events(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    QueryParams(wanted): QueryParams<RunEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (record, run) = runs.find(&principal, &id).await?;
    let after = wanted.after.filter(|after| !after.is_empty());
    crate::events::run(&runs.daemon, &principal, &record, run.id, after, &headers).await
}

/// Begins a run and streams it. Whoever closes the connection leaves the run alone, unless
/// it said otherwise.
pub(super) async fn chat(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    new: NewRun,
) -> Result<Response, Problem> {
    let begun = runs.begin(&principal, &new).await?;
    let ends_with_us = (new.cancel_on_disconnect == Some(true)).then(|| RunCancelGuard {
        runs: runs.clone(),
        run: begun.run,
        principal: principal.clone(),
    });
    let record = runs.daemon.registry.record(begun.session).await?;
    let headers = HeaderMap::new();
    let streamed =
        crate::events::run(&runs.daemon, &principal, &record, begun.run, None, &headers).await?;
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
struct RunCancelGuard {
    runs: Arc<Runs>,
    run: TurnId,
    principal: Principal,
}

impl Drop for RunCancelGuard {
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
                tracing::warn!(?error, "cannot cancel the run of a client that has gone");
            }
        });
    }
}
