//! The files of a session's directory, for whoever wants to mention one.
//!
//! In: a few letters of a name. Out: the paths that fit them best, below the session's
//! directory. What git ignores is left out, no link is followed, and the search ends after a
//! while or when nobody waits for it any more: what was found by then is the answer.
//!
//! A path fits if it has the letters in their order, whatever their case. The fewer other
//! letters are in between, and the nearer they are to the file's own name, the better.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use axum::Json;
use roots::walk::{WalkBounds, WalkEnd, WalkStop, stoppable, walk};
use roots::{FileKind, ForbiddenDirs, Roots};
use serde::{Deserialize, Serialize};
use sessions::order::SessionOrder;
use utoipa::{IntoParams, ToSchema};

use crate::input::{Operator, QueryParams, SessionRequest, limit};
use crate::problem::Problem;

/// Time limit of a search: the user types meanwhile, and would rather see some than wait for all.
const WITHIN: Duration = Duration::from_secs(2);
/// Limits of the walk: deeper and larger trees are rarely written by people.
const BOUNDS: WalkBounds = WalkBounds { max_entries: 200_000, depth: 32 };
const MAX_QUERY_CHARS: usize = 200;
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileQuery {
    /// Letters of the path, in their order; without them, the files nearest to the top.
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
    /// Relative to the session's directory.
    path: String,
}

/// Files below the session's directory whose paths fit some letters.
#[utoipa::path(get, path = "/v1/sessions/{id}/files", operation_id = "findFiles", tag = "sessions",
    params(("id" = String, Path, description = "The session"), FileQuery),
    responses((status = 200, description = "What fits best", body = FileList)))]
pub(crate) async fn find(
    session: SessionRequest<Operator>,
    QueryParams(wanted): QueryParams<FileQuery>,
) -> Result<Json<FileList>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    let query = wanted.query.unwrap_or_default();
    if query.chars().count() > MAX_QUERY_CHARS {
        let detail = format!("`query` has more than {MAX_QUERY_CHARS} characters");
        return Err(Problem::bad_request(detail));
    }
    let best = BestMatches::new(&query, limit(wanted.limit, DEFAULT_LIMIT, MAX_LIMIT)?);
    // The roots may have become narrower since the session was made.
    let order = SessionOrder { cwd: record.cwd.clone().into(), ..SessionOrder::default() };
    let cwd = daemon.checked(order, &principal)?.cwd;
    let forbidden = daemon.registry.forbidden();
    let found = stoppable(WITHIN, async |stop: WalkStop| {
        let place = daemon.searches.enter(&principal.name).await;
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
    forbidden: &ForbiddenDirs,
    mut best: BestMatches,
    stop: &WalkStop,
) -> Result<FileList, roots::RootsError> {
    let opened = Roots::open(&[cwd.to_owned()], forbidden)?;
    let top = opened.resolve(cwd, ".")?;
    let end = walk(&opened, &top, BOUNDS, stop, &mut |found| {
        // A name that is no text cannot be mentioned.
        if let Some(path) = found.path.to_str().filter(|_| found.kind == FileKind::File) {
            best.offer(path);
        }
        ControlFlow::Continue(())
    })?;
    let files = best.into_paths().into_iter().map(|path| FileName { path }).collect();
    Ok(FileList { files, is_complete: end == WalkEnd::Whole })
}

/// A path with its rank: by fit, then those near the top, then the shorter, then by name.
type RankedPath = (usize, usize, usize, String);

/// The best matches so far; never more than were asked for.
#[derive(Debug)]
struct BestMatches {
    query: String,
    limit: usize,
    /// The worst of them is on top.
    found: BinaryHeap<RankedPath>,
}

impl BestMatches {
    fn new(query: &str, limit: usize) -> Self {
        let query = query.trim().to_lowercase();
        Self { query, limit, found: BinaryHeap::new() }
    }

    fn offer(&mut self, path: &str) {
        let Some(fit) = fit(path, &self.query) else { return };
        let ranked = (fit, path.matches('/').count(), path.len(), path.to_owned());
        if self.found.len() < self.limit {
            self.found.push(ranked);
        } else if let Some(mut worst) = self.found.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// The best first.
    fn into_paths(self) -> Vec<String> {
        self.found.into_sorted_vec().into_iter().map(|(_, _, _, path)| path).collect()
    }
}

/// How well a path fits; less is better.
fn fit(path: &str, query: &str) -> Option<usize> {
    let path = path.to_lowercase();
    let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
    let ranks = [
        name == query,
        name.starts_with(query),
        name.contains(query),
        path.contains(query),
        is_in_order(&path, query),
    ];
    ranks.iter().position(|fits| *fits)
}

fn is_in_order(path: &str, query: &str) -> bool {
    let mut letters = path.chars();
    query.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

#[cfg(test)]
mod tests;
