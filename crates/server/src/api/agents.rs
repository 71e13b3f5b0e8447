//! The agents that sessions can be made with, in a list or as they are found.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
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
        return Ok(stream_agents(
            found,
            AgentStreamFormat { agent, end: done, keep_alive: KeepAlive::new() },
        ));
    }
    let FoundAgents { agents, is_done } = FoundAgents::all(&mut found).await;
    Ok(axum::Json(AgentList { agents, is_complete: is_done }).into_response())
}

/// The server-sent events of a search for agents.
pub(crate) struct AgentStreamFormat {
    /// The data of one agent's event; agents without any are skipped.
    pub(crate) agent: fn(&wire::Json) -> Option<String>,
    /// The last frame: how many were found, and whether these are all.
    pub(crate) end: fn(usize, bool) -> Frame,
    pub(crate) keep_alive: KeepAlive,
}

/// One response to a search: how far it has come.
struct AgentStream {
    found: watch::Receiver<FoundAgents>,
    telling: AgentStreamFormat,
    n_seen: usize,
    is_over: bool,
}

impl AgentStream {
    async fn next(&mut self) -> Option<Frame> {
        while !self.is_over {
            let n_seen = self.n_seen;
            let has_news = |found: &FoundAgents| found.is_done || found.agents.len() > n_seen;
            let _ = self.found.wait_for(has_news).await;
            let found = self.found.borrow();
            let Some(agent) = found.agents.get(n_seen) else {
                self.is_over = true;
                return Some((self.telling.end)(n_seen, found.is_done));
            };
            self.n_seen += 1;
            if let Some(said) = (self.telling.agent)(agent) {
                return Some(Frame::default().event("agent").data(said));
            }
        }
        None
    }
}

/// The agents as server-sent events, each as it is found.
pub(crate) fn stream_agents(
    found: watch::Receiver<FoundAgents>,
    telling: AgentStreamFormat,
) -> Response {
    let keep_alive = telling.keep_alive.clone().interval(HEARTBEAT);
    let reader = AgentStream { found, telling, n_seen: 0, is_over: false };
    let frames = stream::unfold(reader, async |mut reader| {
        let frame = reader.next().await?;
        Some((Ok::<_, Infallible>(frame), reader))
    });
    Sse::new(frames).keep_alive(keep_alive).into_response()
}

fn done(n_agents: usize, is_complete: bool) -> Frame {
    let done = json!({ "agents": n_agents, "isComplete": is_complete });
    Frame::default().event("done").data(done.to_string())
}
