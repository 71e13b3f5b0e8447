//! One server of one session: a task that keeps it running, and calls to it.
//!
//! In: calls, from any number of tasks. Out: results, and what the server offers now. The task
//! owns the connection; everybody else sees its state. A server that has ended is started again
//! by the next call, a few times; a call that runs when it ends fails.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientNotification, ClientRequest, RequestId, SubscriptionFilter,
};
use rmcp::service::{PeerRequestOptions, Subscription};
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::super::tool::ToolError;
use super::McpSettings;
use super::connection::McpConnection;
use super::offered_tools::{self, OfferedTool};
use super::spec::ServerSpec;
use crate::native::excerpt;

/// A server that needs more is broken, and each costs a process.
const MAX_RESTARTS: usize = 3;
const RESTARTS_WITHIN: Duration = Duration::from_mins(5);
/// Pause between a change of the tools and asking for them: changes come in bursts.
const REFRESH_PAUSE: Duration = Duration::from_millis(200);
/// Added to the server's own limits, for what is between us and it.
const SLACK: Duration = Duration::from_secs(10);
/// Characters of what a server says in an error of the protocol.
const SHOWN_CHARS: usize = 2000;

#[derive(Debug)]
pub(super) struct McpServer {
    pub(super) spec: ServerSpec,
    settings: Arc<McpSettings>,
    state: watch::Sender<ServerState>,
    /// The number of the latest end after which a call wants the server to be started again.
    restart_after: watch::Sender<u64>,
    is_over: CancellationToken,
}

#[derive(Debug, Clone)]
struct ServerState {
    phase: ServerPhase,
    offers: Arc<Vec<OfferedTool>>,
    /// The current problem, for people.
    fault: Option<String>,
}

#[derive(Debug, Clone)]
enum ServerPhase {
    Starting,
    Up(Peer<RoleClient>),
    /// Ended. Ends are counted, so that a request for a new start is never taken for a later one's.
    Down {
        n_ends: u64,
    },
}

impl McpServer {
    pub(super) fn new(
        spec: ServerSpec,
        settings: Arc<McpSettings>,
        is_over: CancellationToken,
    ) -> Arc<Self> {
        let state =
            ServerState { phase: ServerPhase::Starting, offers: Arc::default(), fault: None };
        Arc::new(Self {
            spec,
            settings,
            state: watch::Sender::new(state),
            restart_after: watch::Sender::new(0),
            is_over,
        })
    }

    pub(super) fn offers(&self) -> Arc<Vec<OfferedTool>> {
        Arc::clone(&self.state.borrow().offers)
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.state.borrow().fault.clone()
    }

    /// Waits until the server has answered or failed for the first time.
    pub(super) async fn settled(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| !matches!(state.phase, ServerPhase::Starting)).await;
    }

    /// Runs the server until the session is over.
    pub(super) async fn run(self: Arc<Self>) {
        let is_over = self.is_over.clone();
        let mut starts = VecDeque::new();
        let mut n_ends = 0;
        loop {
            let opened = is_over.run_until_cancelled(self.open()).await;
            let why = match opened {
                None => return,
                Some(Err(why)) => why,
                Some(Ok((mut connection, offers))) => {
                    let peer = connection.peer.clone();
                    self.state.send_modify(|state| {
                        *state = ServerState { phase: ServerPhase::Up(peer), offers, fault: None };
                    });
                    let why = is_over.run_until_cancelled(self.watch_tools(&mut connection)).await;
                    connection.close().await;
                    let Some(why) = why else { return };
                    why
                }
            };
            tracing::warn!(server = self.spec.name, why, "an MCP server is not available");
            n_ends += 1;
            self.end(n_ends, why);
            loop {
                let mut wanted = self.restart_after.subscribe();
                let change = wanted.wait_for(|wanted| *wanted >= n_ends);
                if !matches!(is_over.run_until_cancelled(change).await, Some(Ok(_))) {
                    return;
                }
                if may_start(&mut starts) {
                    break;
                }
                n_ends += 1;
                let minutes = RESTARTS_WITHIN.as_secs() / 60;
                let why =
                    format!("ended again and again: {MAX_RESTARTS} times in {minutes} minutes");
                self.end(n_ends, why);
            }
            self.state.send_modify(|state| state.phase = ServerPhase::Starting);
        }
    }

    fn end(&self, n_ends: u64, why: String) {
        self.state.send_modify(|state| {
            state.fault = Some(why);
            state.phase = ServerPhase::Down { n_ends };
        });
    }

    async fn open(&self) -> Result<(McpConnection, Arc<Vec<OfferedTool>>), String> {
        let within = self.spec.start_within;
        let connection = McpConnection::open(&self.spec, &self.settings).await?;
        let asked = timeout(within, offered_tools::ask(&connection.peer, within)).await;
        match asked.unwrap_or_else(|_| Err("did not list its tools in time".to_owned())) {
            Ok(offers) => Ok((connection, Arc::new(offers))),
            Err(why) => {
                connection.close().await;
                Err(why)
            }
        }
    }

    /// Keeps the list of tools in step until the server ends, and says why it did.
    async fn watch_tools(&self, connection: &mut McpConnection) -> String {
        let changed = Arc::clone(&connection.changed);
        let peer = connection.peer.clone();
        let mut news = self.listen(&peer).await;
        loop {
            let is_listening = news.is_some();
            let heard = async {
                match &mut news {
                    Some(news) => matches!(news.next().await, Ok(Some(_))),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                why = connection.ended() => return why,
                () = changed.notified() => {}
                is_open = heard, if is_listening => {
                    if !is_open {
                        news = None;
                        continue;
                    }
                }
            }
            sleep(REFRESH_PAUSE).await;
            match offered_tools::ask(&peer, self.spec.start_within).await {
                Ok(offers) => self.state.send_modify(|state| state.offers = Arc::new(offers)),
                // The tools that were known stay.
                Err(why) => tracing::debug!(server = self.spec.name, why, "no new list of tools"),
            }
        }
    }

    /// Subscribes to changes of the tools: in the newer protocol a server only tells those that
    /// listen.
    async fn listen(&self, peer: &Peer<RoleClient>) -> Option<Subscription> {
        let info = peer.peer_info()?;
        let tells = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if info.protocol_version.has_initialize() || tells != Some(true) {
            return None;
        }
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        timeout(self.spec.start_within, peer.listen(filter)).await.ok()?.ok()
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, ToolError> {
        let name = &self.spec.name;
        let peer = self.peer().await.map_err(|why| {
            ToolError(format!("The MCP server `{name}` is not available: it {why}."))
        })?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let within = self.spec.call_within;
        let answered = async {
            let options = PeerRequestOptions::with_timeout(within);
            let asked = peer.send_request_with_option(request, options).await?;
            let mut abandoned = CancelOnDrop { peer: &peer, id: Some(asked.id.clone()) };
            let answer = asked.await_response().await;
            abandoned.id = None;
            answer
        };
        let failed = |how: &str| Err(ToolError(format!("The MCP server `{name}` {how}")));
        match timeout(within + SLACK, answered).await {
            Ok(Ok(result)) => Ok(offered_tools::value_of(&result)),
            Ok(Err(ServiceError::Timeout { .. })) | Err(_) => {
                let within = within.as_secs_f32();
                failed(&format!("did not answer within {within} s; the call was given up."))
            }
            Ok(Err(ServiceError::McpError(error))) => {
                failed(&format!("refused: {}", excerpt::head(&error.message, SHOWN_CHARS)))
            }
            Ok(Err(ServiceError::TransportClosed)) => failed(
                "ended during the call, and it is not known how far it came. It is started again \
                 with the next call.",
            ),
            Ok(Err(other)) => {
                let why = excerpt::head(&other.to_string(), SHOWN_CHARS);
                failed(&format!("could not be called: {why}"))
            }
        }
    }

    /// The running server; one that has ended is started again first.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut state = self.state.subscribe();
        let mut asked_for = None;
        let over = || "belongs to a session that is over".to_owned();
        let running = async {
            loop {
                let ServerState { phase, fault, .. } = state.borrow_and_update().clone();
                match phase {
                    ServerPhase::Up(peer) if !peer.is_transport_closed() => return Ok(peer),
                    ServerPhase::Down { n_ends }
                        if asked_for.is_some_and(|asked| asked < n_ends) =>
                    {
                        return Err(fault.unwrap_or_default());
                    }
                    ServerPhase::Down { n_ends } => {
                        asked_for = Some(n_ends);
                        self.restart_after.send_modify(|wanted| *wanted = n_ends.max(*wanted));
                    }
                    // The server's end is about to be noticed, or its start to succeed.
                    ServerPhase::Up(_) | ServerPhase::Starting => {}
                }
                if state.changed().await.is_err() {
                    return Err(over());
                }
            }
        };
        let ready = self.is_over.run_until_cancelled(running);
        // Starting, and then listing its tools.
        match timeout(self.spec.start_within * 2 + SLACK, ready).await {
            Ok(ready) => ready.unwrap_or_else(|| Err(over())),
            Err(_elapsed) => Err("does not start".to_owned()),
        }
    }
}

fn may_start(starts: &mut VecDeque<Instant>) -> bool {
    let now = Instant::now();
    starts.retain(|start| now.duration_since(*start) < RESTARTS_WITHIN);
    let is_allowed = starts.len() < MAX_RESTARTS;
    if is_allowed {
        starts.push_back(now);
    }
    is_allowed
}

/// Tells the server of a call that nobody waits for any more.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.peer.clone();
        let reason = Some("the call was cancelled".to_owned());
        let params = CancelledNotificationParam::new(Some(id), reason);
        let told = ClientNotification::CancelledNotification(CancelledNotification::new(params));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(task::boxed(async move {
                timeout(SLACK, peer.send_notification(told)).await
            }));
        }
    }
}
