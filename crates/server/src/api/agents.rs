//! The agents of this machine, found once and shown to many.
//!
//! One search runs at a time, whoever asks; everybody follows the same one. What an earlier
//! search found is answered at once, and looked for again when it is old.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use utoipa::{IntoParams, ToSchema};

use super::input::{Observer, Params, flag};
use crate::daemon::Daemon;
use crate::problem::Problem;

/// Agents are installed and updated now and then, not every minute.
const FRESH_FOR: Duration = Duration::from_secs(5 * 60);
/// A list is answered after this, with what has been found by then. A search starts CLIs,
/// and some of them take seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// A catalogue has dozens.
const MAX_AGENTS: usize = 1000;
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What is known of the agents.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Searches>);

#[derive(Debug, Default)]
struct Searches {
    /// The last one that ended.
    done: Option<Search>,
    running: Option<Search>,
}

#[derive(Debug, Clone)]
struct Search {
    found: watch::Receiver<Found>,
    began: Instant,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) agents: Vec<wire::Json>,
    pub(crate) is_done: bool,
}

impl Known {
    /// What is found, as it is found.
    pub(crate) fn follow(&self, daemon: &Daemon, refresh: bool) -> watch::Receiver<Found> {
        self.search(daemon, refresh).found
    }

    /// The search to follow.
    fn search(&self, daemon: &Daemon, refresh: bool) -> Search {
        let mut searches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if searches.running.as_ref().is_some_and(Search::is_done) {
            searches.done = searches.running.take();
        }
        let is_old = searches.done.as_ref().is_none_or(|done| done.began.elapsed() > FRESH_FOR);
        if searches.running.is_none() && (refresh || is_old) {
            searches.running = Some(Search::begin(daemon, refresh));
        }
        let known = searches.done.clone().filter(|_| !refresh);
        let search = known.or_else(|| searches.running.clone());
        search.unwrap_or_else(|| Search::begin(daemon, refresh))
    }
}

impl Search {
    fn begin(daemon: &Daemon, refresh: bool) -> Self {
        let (sender, found) = watch::channel(Found::default());
        let mut agents = daemon.desk.agents().found(refresh);
        task::spawn(async move {
            while let Some(agent) = agents.recv().await {
                sender.send_if_modified(|found| {
                    let has_room = found.agents.len() < MAX_AGENTS;
                    if has_room {
                        found.agents.push(agent);
                    }
                    has_room
                });
            }
            sender.send_modify(|found| found.is_done = true);
        });
        Self { found, began: Instant::now() }
    }

    fn is_done(&self) -> bool {
        // A search that panicked will find no more.
        self.found.borrow().is_done || self.found.has_changed().is_err()
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// `1`: as server-sent events, `agent` for each as it is found, then `done`.
    #[serde(default, deserialize_with = "flag")]
    #[param(value_type = Option<String>, required = false)]
    stream: bool,
    /// `1`: look again instead of answering what is known.
    #[serde(default, deserialize_with = "flag")]
    #[param(value_type = Option<String>, required = false)]
    refresh: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agents {
    /// What is known of each: `id`, `name`, whether it `isUsable`, its `version`, `models`, `modes`
    /// and `efforts` as far as they are known before it runs, and more.
    #[schema(value_type = Vec<Object>)]
    agents: Vec<wire::Json>,
    /// False while some are still being looked at.
    is_complete: bool,
}

/// The agents that sessions can be made with.
#[utoipa::path(get, path = "/v1/agents", operation_id = "listAgents", tag = "agents", params(Wanted),
    responses((status = 200, description = "The agents", body = Agents)))]
pub(crate) async fn list(
    _: Observer,
    State(daemon): State<Arc<Daemon>>,
    Params(wanted): Params<Wanted>,
) -> Result<Response, Problem> {
    let search = daemon.memory.agents.search(&daemon, wanted.refresh);
    let mut found = search.found;
    if wanted.stream {
        let agent = |agent: &wire::Json| Some(agent.as_str().to_owned());
        return Ok(streamed(found, Telling { agent, end: done, keep_alive: KeepAlive::new() }));
    }
    let all = found.wait_for(|found| found.is_done);
    let _ = tokio::time::timeout(LONGEST_WAIT, all).await;
    let Found { agents, is_done } = found.borrow().clone();
    Ok(axum::Json(Agents { agents, is_complete: is_done }).into_response())
}

/// How agents are told while they are found.
pub(crate) struct Telling {
    /// What is said of one; some are passed over.
    pub(crate) agent: fn(&wire::Json) -> Option<String>,
    /// The last frame: how many were found, and whether these are all.
    pub(crate) end: fn(usize, bool) -> Frame,
    pub(crate) keep_alive: KeepAlive,
}

/// Where a reader of the search is.
struct Reader {
    found: watch::Receiver<Found>,
    telling: Telling,
    n_seen: usize,
    is_over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Frame> {
        while !self.is_over {
            let n_seen = self.n_seen;
            let has_news = |found: &Found| found.is_done || found.agents.len() > n_seen;
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
pub(crate) fn streamed(found: watch::Receiver<Found>, telling: Telling) -> Response {
    let keep_alive = telling.keep_alive.clone().interval(HEARTBEAT);
    let reader = Reader { found, telling, n_seen: 0, is_over: false };
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
