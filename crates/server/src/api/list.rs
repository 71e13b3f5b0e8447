//! The sessions, a page at a time.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use sessions::registry::SessionStatus;
use store::{EventLog, PageStart, SessionFilter, SessionRecord, StoreError};
use utoipa::{IntoParams, ToSchema};

use super::session::SessionView;
use crate::daemon::Daemon;
use crate::input::{self, Observer, QueryParams};
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Records read from the log at once.
const PAGE: usize = 200;
/// Records looked at for one answer. A page may be short, or empty, and have a next one.
const MAX_LOOKED_AT: usize = 5000;

/// Which sessions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionListQuery {
    /// The beginning of the session's id. Of those that match, only the first ten are looked at:
    /// where there are more, a longer beginning is needed.
    id: Option<String>,
    agent: Option<String>,
    cwd: Option<String>,
    status: Option<SessionStatus>,
    /// Words of the title, the agent's name or the directory, all of them; upper and lower case
    /// are the same.
    q: Option<String>,
    /// 1 to 500; 50 if it is left out.
    limit: Option<usize>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionPage {
    /// The one that was used last comes first.
    sessions: Vec<SessionView>,
    /// Cursor of the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The sessions, the one that was used last first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "listSessions", tag = "sessions", params(SessionListQuery),
    responses((status = 200, description = "A page of them", body = SessionPage)))]
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    Observer(principal): Observer,
    QueryParams(wanted): QueryParams<SessionListQuery>,
) -> Result<Json<SessionPage>, Problem> {
    let _place = daemon.load.lookup(&principal.name).await;
    let limit = input::limit(wanted.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let mut before = wanted.cursor.as_deref().map(read_cursor).transpose()?;
    let words = wanted.q.as_deref().map(str::to_lowercase);
    let (mut sessions, mut n_looked_at) = (Vec::new(), 0);
    let next = 'pages: loop {
        let filter = SessionFilter {
            agent: wanted.agent.clone(),
            cwd: wanted.cwd.clone(),
            made_by: principal.owner_filter(),
            limit: PAGE,
            before,
            ..SessionFilter::default()
        };
        let records = records(&**daemon.registry.log(), filter, wanted.id.as_deref()).await?;
        let is_last_page = records.len() < PAGE;
        n_looked_at += records.len();
        for record in records {
            if sessions.len() == limit {
                break 'pages before;
            }
            before = Some(PageStart::of(&record));
            if !principal.sees(&record) || !has_words(&record, words.as_deref()) {
                continue;
            }
            let session = SessionView::of(&daemon, record).await;
            if wanted.status.is_none_or(|status| status == session.status) {
                sessions.push(session);
            }
        }
        if is_last_page {
            break None;
        }
        if n_looked_at >= MAX_LOOKED_AT {
            break before;
        }
    };
    Ok(Json(SessionPage { sessions, next_cursor: next.map(|next| next.to_string()) }))
}

/// The records that match a filter; those found by the beginning of an id come all at once.
async fn records(
    log: &dyn EventLog,
    filter: SessionFilter,
    id: Option<&str>,
) -> Result<Vec<SessionRecord>, StoreError> {
    let Some(prefix) = id else { return log.sessions(filter).await };
    let mut found = log.find(prefix).await?;
    // The owner is checked by the caller, for each record.
    let filter = SessionFilter { made_by: None, ..filter };
    found.retain(|record| filter.admits(record, None));
    found.sort_by_key(|record| Reverse(PageStart::of(record)));
    Ok(found)
}

fn read_cursor(cursor: &str) -> Result<PageStart, Problem> {
    PageStart::parse(cursor).ok_or_else(|| Problem::bad_request("`cursor` is not a `nextCursor`"))
}

fn has_words(record: &SessionRecord, words: Option<&str>) -> bool {
    let Some(words) = words else { return true };
    let title = record.title.as_deref().unwrap_or_default();
    let all = [title, &record.agent, &record.cwd].map(str::to_lowercase);
    words.split_whitespace().all(|word| all.iter().any(|text| text.contains(word)))
}
