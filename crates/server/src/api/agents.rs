//! The agents that sessions can be made with, in a list or as they are found.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use utoipa::{IntoParams, ToSchema};

use crate::daemon::Daemon;
use crate::daemon::agents::FoundAgents;
use crate::input::{Observer, QueryParams, deserialize_flag};
use crate::problem::Problem;

const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentListQuery {
    /// `1`: as server-sent events, `agent` for each as it is found, then `done`.
    #[serde(default, deserialize_with = "deserialize_flag")]
    #[param(value_type = Option<String>, required = false)]
    stream: bool,
    /// `1`: look again instead of answering what is known.
    #[serde(default, deserialize_with = "deserialize_flag")]
    #[param(value_type = Option<String>, required = false)]
    refresh: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentList {
    /// What is known of each: `id`, `name`, whether it `isUsable`, its `version`, `models`, `modes`
    /// and `efforts` as far as they are known before it runs, and more.
    #[schema(value_type = Vec<Object>)]
    agents: Vec<wire::Json>,
    /// False while some are still being detected.
    is_complete: bool,
}

/// The agents that sessions can be made with.
#[utoipa::path(get, path = "/v1/agents", operation_id = "listAgents", tag = "agents", params(AgentListQuery),
    responses((status = 200, description = "The agents", body = AgentList)))]
pub(crate) async fn list(
    _: Observer,
    State(daemon): State<Arc<Daemon>>,
    QueryParams(wanted): QueryParams<AgentListQuery>,
) -> Result<Response, Problem> {
    let mut found = daemon.agents.follow(&daemon.registry, wanted.refresh);
    if wanted.stream {
        let agent = |agent: &wire::Json| Some(agent.as_str().to_owned());
        return Ok(stream_agents(found, agent, done, KeepAlive::new()));
    }
    let FoundAgents { agents, is_done } = FoundAgents::all(&mut found).await;
    Ok(axum::Json(AgentList { agents, is_complete: is_done }).into_response())
}

/// The agents as server-sent events, each as it is found.
///
/// `agent` gives the data of one agent's event; agents without any are skipped. `end` makes the last
/// frame of how many were found, and whether these are all.
pub(crate) fn stream_agents(
    found: watch::Receiver<FoundAgents>,
    agent: fn(&wire::Json) -> Option<String>,
    end: fn(usize, bool) -> Frame,
    keep_alive: KeepAlive,
) -> Response {
    let frames = stream::unfold((found, Some(0)), move |(mut found, n_seen)| async move {
        let n_seen: usize = n_seen?;
        let has_news = |found: &FoundAgents| found.is_done || found.agents.len() > n_seen;
        let _ = found.wait_for(has_news).await;
        let (frame, next) = {
            let now = found.borrow();
            let frame = |said| Frame::default().event("agent").data(said);
            match now.agents.get(n_seen) {
                Some(one) => (agent(one).map(frame), Some(n_seen + 1)),
                None => (Some(end(n_seen, now.is_done)), None),
            }
        };
        Some((frame, (found, next)))
    });
    let frames = frames.filter_map(async |frame| frame.map(Ok::<_, Infallible>));
    Sse::new(frames).keep_alive(keep_alive.interval(HEARTBEAT)).into_response()
}

fn done(n_agents: usize, is_complete: bool) -> Frame {
    let done = json!({ "agents": n_agents, "isComplete": is_complete });
    Frame::default().event("done").data(done.to_string())
}
