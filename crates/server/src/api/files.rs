//! The files of a session's directory, for whoever wants to mention one.
//!
//! In: a few letters of a name. Out: the paths that fit them best, below the session's
//! directory. What git ignores is left out, no link is followed, and the search ends after a
//! while or when nobody waits for it any more: what was found by then is the answer.

mod rank;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use roots::walk::{Bounds, End, Stop, stoppable, walk};
use roots::{Forbidden, Kind, Roots};
use serde::{Deserialize, Serialize};
use sessions::desk::Order;
use sessions::places::Places;
use utoipa::{IntoParams, ToSchema};

use super::caller::Operator;
use super::input::{At, Params, limit};
use crate::daemon::Daemon;
use crate::problem::Problem;
use rank::Best;

/// Somebody types meanwhile, and would rather see some than wait for all.
const WITHIN: Duration = Duration::from_secs(2);
/// Deeper and larger trees are rarely written by people.
const BOUNDS: Bounds = Bounds { max_entries: 200_000, depth: 32 };
/// Everyone who types asks again and again; the disk shall have time for the agents.
const MAX_AT_ONCE: usize = 2;
const MAX_QUERY_CHARS: usize = 200;
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;

/// The places of those who search.
#[derive(Debug)]
pub(crate) struct Searches(Places);

impl Default for Searches {
    fn default() -> Self {
        Self(Places::new(MAX_AT_ONCE))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// Letters of the path, in their order; without them, what is nearest to the top.
    query: Option<String>,
    /// 1 to 200 [default: 20].
    limit: Option<usize>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileList {
    /// The best first.
    files: Vec<FileName>,
    /// Whether all of the directory was looked at.
    is_complete: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileName {
    /// Below the session's directory.
    path: String,
}

/// Files below the session's directory whose paths fit some letters.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", operation_id = "findFiles", tag = "sessions",
    params(("id" = String, Path, description = "The session"), Wanted),
    responses((status = 200, description = "What fits best", body = FileList)))]
pub(crate) async fn find(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    At(id): At<String>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<FileList>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    let query = wanted.query.unwrap_or_default();
    if query.chars().count() > MAX_QUERY_CHARS {
        let detail = format!("`query` has more than {MAX_QUERY_CHARS} characters");
        return Err(Problem::bad_request(detail));
    }
    let best = Best::new(&query, limit(wanted.limit, DEFAULT_LIMIT, MAX_LIMIT)?);
    // The roots may have become narrower since the session was made.
    let order = Order { cwd: record.cwd.clone().into(), ..Order::default() };
    let cwd = daemon.checked(order, &principal)?.cwd;
    let forbidden = daemon.desk.forbidden();
    let found = stoppable(WITHIN, async |stop: Stop| {
        let place = daemon.memory.searches.0.enter(&principal.name).await;
        let search = tokio::task::spawn_blocking(move || {
            let _place = place;
            search(&cwd, &forbidden, best, &stop)
        });
        // A disk that hangs is not waited for; the search ends when the disk answers.
        tokio::time::timeout(2 * WITHIN, search).await.ok()
    });
    match found.await {
        Some(Ok(Ok(list))) => Ok(Json(list)),
        Some(Ok(Err(error))) => Err(Problem::not_found(error.to_string())),
        Some(Err(error)) => Err(Problem::internal(error)),
        None => Ok(Json(FileList { files: Vec::new(), is_complete: false })),
    }
}

fn search(
    cwd: &Path,
    forbidden: &Forbidden,
    mut best: Best,
    stop: &Stop,
) -> Result<FileList, roots::Error> {
    let opened = Roots::open(&[cwd.to_owned()], forbidden)?;
    let top = opened.resolve(cwd, ".")?;
    let end = walk(&opened, &top, BOUNDS, stop, &mut |found| {
        // A name that is no text cannot be mentioned.
        if let Some(path) = found.path.to_str().filter(|_| found.kind == Kind::File) {
            best.offer(path);
        }
        ControlFlow::Continue(())
    })?;
    let files = best.into_paths().into_iter().map(|path| FileName { path }).collect();
    Ok(FileList { files, is_complete: end == End::Whole })
}

#[cfg(test)]
mod tests;
