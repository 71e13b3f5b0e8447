//! Connects to a server: from its spec to its first answer.
//!
//! In: how to reach it. Out: a [`McpConnection`], or a sentence why there is none. Both lifecycles
//! of the protocol are spoken: the newer one is tried first, and a server that breaks over the
//! question is asked again in the older way.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bus::{StopLadder, WorkerHandle};
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, NotificationContext, QuitReason, RunningService,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, Peer, RoleClient};
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::McpSettings;
use super::http::{self, BoundedHttpClient};
use super::message_filter::MAX_MESSAGE_BYTES;
use super::spec::{ServerSpec, ServerTransport};
use super::sse::SseTransport;
use super::stdio::{self, EndReason};
use crate::native::excerpt;

/// How a server is stopped: it has nothing to save that takes longer.
const LADDER: StopLadder =
    StopLadder { after_eof: Duration::from_secs(1), after_term: Duration::from_secs(1) };
/// Time for goodbyes on the wire: an HTTP session is deleted, what is queued is written.
const GOODBYE_WITHIN: Duration = Duration::from_secs(3);
/// Time between the end of its output and that of the process.
const EXIT_WITHIN: Duration = Duration::from_secs(2);
/// Characters of a server's last words on stderr, in a message for people.
const SHOWN_CHARS: usize = 300;

/// A server that has answered. Dropping it ends the server.
#[derive(Debug)]
pub(super) struct McpConnection {
    pub(super) peer: Peer<RoleClient>,
    /// Notified when the server says that its tools have changed.
    pub(super) changed: Arc<Notify>,
    running: AbortOnDropHandle<Result<QuitReason, JoinError>>,
    worker: Option<WorkerHandle>,
    reason: EndReason,
    is_over: CancellationToken,
    _over_with_us: DropGuard,
}

/// Our side of the protocol: it offers nothing that a server could ask for.
#[derive(Debug, Clone)]
struct ToolListWatcher {
    changed: Arc<Notify>,
}

impl ClientHandler for ToolListWatcher {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("switchyard", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// Why there is no connection, and whether the other lifecycle may help.
struct ConnectFailure {
    why: String,
    may_retry_older: bool,
}

impl McpConnection {
    pub(super) async fn open(spec: &ServerSpec, settings: &McpSettings) -> Result<Self, String> {
        let mut worker = None;
        let within = spec.start_within;
        let opening = timeout(within, open_either(spec, settings, &mut worker));
        let why = match opening.await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(why)) => why,
            Err(_elapsed) => format!("did not answer within {} s", within.as_secs_f32()),
        };
        let Some(worker) = worker else { return Err(why) };
        worker.kill();
        let _ = timeout(EXIT_WITHIN, worker.ended()).await;
        Err(with_last_words(why, &worker))
    }

    /// Waits until the server has ended, and says why.
    pub(super) async fn ended(&mut self) -> String {
        self.stopped().await;
        let told = self.reason.get().cloned();
        let Some(worker) = &self.worker else {
            return told.unwrap_or_else(|| "closed the connection".to_owned());
        };
        let exit = timeout(EXIT_WITHIN, worker.exited()).await;
        let why = match (told, exit) {
            (Some(told), _) => told,
            (None, Ok(exit)) => format!("ended ({exit})"),
            (None, Err(_elapsed)) => "closed its output".to_owned(),
        };
        with_last_words(why, worker)
    }

    async fn stopped(&mut self) {
        // A task that has given its result must not be polled again.
        if !self.running.is_finished() {
            let _ = (&mut self.running).await;
        }
    }

    /// Says goodbye and ends what was started.
    pub(super) async fn close(mut self) {
        self.is_over.cancel();
        let _ = timeout(GOODBYE_WITHIN, self.stopped()).await;
        if let Some(worker) = self.worker.take() {
            drop(self);
            worker.stop(&LADDER).await;
        }
    }
}

async fn open_either(
    spec: &ServerSpec,
    settings: &McpSettings,
    worker: &mut Option<WorkerHandle>,
) -> Result<McpConnection, String> {
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let first = match spec.transport {
        // This transport is older than the question for the newer lifecycle.
        ServerTransport::Sse { .. } => ClientLifecycleMode::Initialize,
        ServerTransport::Command { .. } | ServerTransport::Http { .. } => auto,
    };
    match open(spec, settings, first, worker).await {
        Ok(connection) => Ok(connection),
        Err(ConnectFailure { why, may_retry_older: false }) => Err(why),
        Err(ConnectFailure { why, may_retry_older: true }) => {
            tracing::debug!(server = spec.name, why, "asking an MCP server in the older way");
            let older = ClientLifecycleMode::Initialize;
            open(spec, settings, older, worker).await.map_err(|failed| failed.why)
        }
    }
}

async fn open(
    spec: &ServerSpec,
    settings: &McpSettings,
    lifecycle: ClientLifecycleMode,
    worker: &mut Option<WorkerHandle>,
) -> Result<McpConnection, ConnectFailure> {
    let unreachable = |why: String| ConnectFailure { why, may_retry_older: false };
    let may_be_asked_again = lifecycle != ClientLifecycleMode::Initialize;
    let reason: EndReason = Arc::new(OnceLock::new());
    let changed = Arc::new(Notify::new());
    let ear = ToolListWatcher { changed: Arc::clone(&changed) };
    let is_over = CancellationToken::new();
    let over_with_us = is_over.clone().drop_guard();
    let token = is_over.clone();
    let running = match &spec.transport {
        ServerTransport::Command { program, args, env } => {
            let what = (program.as_str(), args.as_slice(), env);
            let started = stdio::start(&spec.name, what, settings, Arc::clone(&reason)).await;
            let (lines, handle) = started.map_err(unreachable)?;
            *worker = Some(handle);
            serve_client_with_lifecycle_and_ct(ear, lines, lifecycle, token).await
        }
        ServerTransport::Sse { url, headers } => {
            let opened = SseTransport::open(url, headers, Arc::clone(&reason)).await;
            let link = opened.map_err(|error| unreachable(error.to_string()))?;
            serve_client_with_lifecycle_and_ct(ear, link, lifecycle, token).await
        }
        ServerTransport::Http { url, headers } => {
            let client = http::client().map_err(unreachable)?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(http::headers(headers))
                .max_sse_event_size(MAX_MESSAGE_BYTES);
            let link =
                StreamableHttpClientTransport::with_client(BoundedHttpClient(client), config);
            serve_client_with_lifecycle_and_ct(ear, link, lifecycle, token).await
        }
    };
    let running: RunningService<RoleClient, ToolListWatcher> =
        running.map_err(|error| ConnectFailure {
            why: reason.get().cloned().unwrap_or_else(|| sentence(&error)),
            may_retry_older: may_be_asked_again && may_retry_older(&error),
        })?;
    Ok(McpConnection {
        peer: running.peer().clone(),
        changed,
        running: AbortOnDropHandle::new(task::spawn(running.waiting())),
        worker: worker.take(),
        reason,
        is_over,
        _over_with_us: over_with_us,
    })
}

fn may_retry_older(error: &ClientInitializeError) -> bool {
    !error.is_authorization_required()
        && !matches!(
            error,
            ClientInitializeError::LegacyFallbackFailed { .. } | ClientInitializeError::Cancelled
        )
}

fn sentence(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "wants authorization; hint: put its token into the headers".to_owned();
    }
    let text = match error {
        ClientInitializeError::ConnectionClosed(_) => "ended before it answered".to_owned(),
        ClientInitializeError::JsonRpcError(error) => format!("refused: {}", error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => sentence(fallback),
        ClientInitializeError::TransportError { error, .. } => match below(error.error.as_ref()) {
            Some(error) => http::why(error),
            None => error.error.to_string(),
        },
        other => other.to_string(),
    };
    excerpt::head(&text, SHOWN_CHARS)
}

/// The error of our HTTP client below what `rmcp` made of it.
fn below<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a reqwest::Error> {
    use rmcp::transport::streamable_http_client::StreamableHttpError as Failure;
    if let Some(Failure::Client(error)) = error.downcast_ref::<Failure<reqwest::Error>>() {
        return Some(error);
    }
    error.downcast_ref().or_else(|| below(error.source()?))
}

fn with_last_words(why: String, worker: &WorkerHandle) -> String {
    let said = worker.stderr_tail();
    match excerpt::tail(said.trim(), SHOWN_CHARS) {
        "" => why,
        last => format!("{why}; it said: {last}"),
    }
}
