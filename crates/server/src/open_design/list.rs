//! Lists of runs: those of the sessions that were used last, a page at a time.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::{PageStart, SessionFilter, SessionRecord};

use super::Runs;
use super::conversation::ConversationNote;
use super::run_index::{Run, RunStatus};
use crate::input::QueryParams;
use crate::principal::Principal;
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;
/// Sessions that are looked at for one page; those of other kinds are passed over.
const MAX_SESSIONS: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunListQuery {
    project_id: Option<String>,
    conversation_id: Option<String>,
    /// `active`, or one of the states.
    status: Option<String>,
    /// About so many: a session's runs stay together.
    limit: Option<usize>,
    /// `next` of the page before.
    before: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RunPage {
    runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

const STATUSES: [RunStatus; 5] = {
    use RunStatus::{Canceled, Failed, Queued, Running, Succeeded};
    [Queued, Running, Succeeded, Failed, Canceled]
};

/// The states in which runs are listed; all if none is named.
fn wanted_statuses(named: Option<&str>) -> Result<Vec<RunStatus>, Problem> {
    let statuses = STATUSES.into_iter();
    Ok(match named.filter(|named| !named.is_empty()) {
        None => statuses.collect(),
        Some("active") => statuses.filter(|status| status.is_active()).collect(),
        Some(named) => {
            let status = serde_json::from_value(serde_json::json!(named));
            let known = "active, queued, running, succeeded, failed, canceled";
            let why = |_| Problem::bad_request(format!("`status` is one of {known}"));
            vec![status.map_err(why)?]
        }
    })
}

pub(super) async fn list(
    State(runs): State<Arc<Runs>>,
    principal: Principal,
    QueryParams(wanted): QueryParams<RunListQuery>,
) -> Result<Json<RunPage>, Problem> {
    let statuses = wanted_statuses(wanted.status.as_deref())?;
    let limit = wanted.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let given = |id: &Option<String>| id.clone().filter(|id| !id.is_empty());
    let (project, conversation) = (given(&wanted.project_id), given(&wanted.conversation_id));
    let mut filter = SessionFilter {
        has_active_turn: statuses.iter().all(|status| status.is_active()).then_some(true),
        made_by: principal.owner_filter(),
        before: wanted.before.as_deref().map(read_place).transpose()?,
        ..SessionFilter::default()
    };
    if let Some(project) = &project {
        let path = runs.projects.path(&principal, project)?;
        filter.cwd = Some(path.to_string_lossy().into_owned());
    }
    let fits = |record: &SessionRecord| {
        principal.sees(record)
            && ConversationNote::read(record).is_some_and(|note| {
                let is_of = conversation.as_ref().is_none_or(|id| note.conversation_id == *id);
                is_of && (project.is_none() || note.project_id == project)
            })
    };
    let _place = runs.daemon.load.lookup(&principal.name).await;
    let mut found = Vec::new();
    let (mut n_seen, mut next) = (0, None);
    'pages: while n_seen < MAX_SESSIONS {
        let page = runs.daemon.registry.log().sessions(filter.clone()).await?;
        next = None;
        let Some(last) = page.last() else { break };
        filter.before = Some(PageStart::of(last));
        n_seen += page.len();
        for record in &page {
            if fits(record) {
                let all = runs.run_indexes.runs(&**runs.daemon.registry.log(), record).await?;
                let all = all.into_iter().map(|run| runs.as_it_stands(run));
                found.extend(all.filter(|run| statuses.contains(&run.status)));
            }
            next = Some(PageStart::of(record));
            if found.len() >= limit {
                break 'pages;
            }
        }
    }
    found.sort_by_key(|run: &Run| std::cmp::Reverse((run.created_at, run.id)));
    Ok(Json(RunPage { runs: found, next: next.map(|place| place.to_string()) }))
}

fn read_place(text: &str) -> Result<PageStart, Problem> {
    let unread = || Problem::bad_request("`before` is not the `next` of a page");
    PageStart::parse(text).ok_or_else(unread)
}
