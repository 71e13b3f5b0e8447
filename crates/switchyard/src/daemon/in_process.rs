//! A daemon inside of this process, for a command that found none.
//!
//! The same sessions, guard and API as those of `switchyard serve`, called without a socket, for
//! as long as the command runs. It takes no lock, and what it runs ends with it. Sessions stay in
//! the log. Where it runs some, other processes of this user reach it on a private socket named
//! after this one.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, Response};
use client::{DaemonClient, RequestHandler};
use http_body_util::{BodyExt as _, Full};
use runtimes::catalogue::BuiltInAgent as InsideAgent;
use server::daemon::Daemon;
use server::guard::{Guard, GuardedRouter};
use server::limits::HttpLimits;
use server::listen::{BoundSocket, HttpListener, UnixKind};
use server::metrics::Metrics;
use server::principal::Principal;
use server::router::sessions_router;
use server::tokens::Tokens;
use sessions::context::SessionContext;
use sessions::permission::PermissionPolicy;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::assembly::{SHUTDOWN_GRACE, assemble};
use super::session_context;
use crate::cli::serve::ServeArgs;
use crate::config::Config;
use crate::home::make_private_dir;
use crate::outcome::Failure;
use crate::this_process::is_worker;

/// The prefix of an in-process daemon's socket name, before the pid.
const OWN_DAEMON: &str = "sessions-";

/// The options of an in-process daemon.
#[derive(Debug, Default)]
pub(crate) struct InProcessOptions {
    pub(crate) policy: PermissionPolicy,
    /// The policy's mode holds also for sessions that were made with another one.
    pub(crate) overrides_mode: bool,
    /// There is a person who can be asked.
    pub(crate) can_ask: bool,
    /// Workers are kept ready, as in a daemon that goes on.
    pub(crate) is_warm: bool,
}

#[derive(Debug)]
pub(crate) struct InProcessDaemon {
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) client: DaemonClient,
    /// The task that serves its private socket, and the token that stops it.
    socket: Option<(CancellationToken, JoinHandle<()>)>,
}

impl InProcessDaemon {
    /// Starts a daemon that runs sessions.
    pub(crate) async fn start(
        config: &Arc<Config>,
        options: InProcessOptions,
    ) -> Result<Self, Failure> {
        // Prompts that an earlier process left go on in a daemon that stays, or when their session is
        // opened.
        let (mut context, _) = session_context::open(config).await?;
        context.settings.forced_mode = options.overrides_mode.then_some(options.policy.mode);
        context.settings.questions_wait = options.can_ask;
        let (own, guarded) = Self::new(config, context, options.policy, options.is_warm)?;
        let socket = Some(listen(&config.home.run, guarded).await?);
        Ok(Self { socket, ..own })
    }

    /// A daemon that only reads and deletes sessions: what another process has left unfinished in
    /// them is not recovered.
    pub(crate) fn for_reading(config: &Arc<Config>) -> Result<Self, Failure> {
        let context = session_context::open_unrecovered(config)?;
        Ok(Self::new(config, context, PermissionPolicy::default(), false)?.0)
    }

    /// The daemon, and what to serve on its private socket.
    fn new(
        config: &Arc<Config>,
        context: SessionContext,
        policy: PermissionPolicy,
        is_warm: bool,
    ) -> Result<(Self, GuardedRouter), Failure> {
        let wanted = config.file.serve.with(&ServeArgs::default());
        // Nobody reads metrics here.
        let metrics = Metrics::new(InsideAgent::ALL.map(InsideAgent::id));
        let daemon =
            assemble(config, &wanted, Default::default(), context, policy, is_warm, &metrics)?;
        let tokens = Tokens::open_lazily(&config.home.state)?;
        let guard = Guard::new(tokens, server::router::guarded_routes(), &wanted.guard());
        let guard = Arc::new(guard.context("the daemon's settings are wrong")?);
        let router = sessions_router(&daemon);
        let transport = InProcessTransport {
            // As behind the guard, which has limits of its own.
            router: router.clone().layer(DefaultBodyLimit::disable()),
            principal: Principal::in_process(is_worker()),
        };
        let client = DaemonClient::inside(Arc::new(transport));
        let guarded = GuardedRouter::new(guard, router, HttpLimits::default());
        Ok((Self { daemon, client, socket: None }, guarded))
    }

    /// Stops what runs and ends every worker; the log can still be read.
    pub(crate) async fn stop_sessions(&self) {
        self.daemon.stopping.cancel();
        // The keepers end what we leave behind.
        let _ = tokio::time::timeout(SHUTDOWN_GRACE, self.daemon.registry.shut_down()).await;
    }

    /// Does the same, and closes streams and the socket.
    pub(crate) async fn end(self) {
        self.stop_sessions().await;
        self.daemon.ended.cancel();
        if let Some((stop, serving)) = self.socket {
            stop.cancel();
            let _ = tokio::time::timeout(SHUTDOWN_GRACE, serving).await;
        }
    }
}

/// Serves on the private socket of this process.
async fn listen(
    run: &Path,
    guarded: GuardedRouter,
) -> Result<(CancellationToken, JoinHandle<()>), Failure> {
    make_private_dir(run)?;
    remove_dead_sockets(run);
    let socket = socket_of(run, std::process::id());
    let bound = BoundSocket::unix(&socket, UnixKind::Private).await?;
    let stop = CancellationToken::new();
    let http = HttpListener { bound, guarded, stop: stop.clone() };
    Ok((stop, task::spawn(http.serve())))
}

/// The private socket of the sessions that a process runs by itself.
pub(crate) fn socket_of(run: &Path, pid: u32) -> PathBuf {
    run.join(format!("{OWN_DAEMON}{pid}.sock"))
}

/// Removes sockets that are named after processes which were killed, and could not take them with
/// them.
pub(crate) fn remove_dead_sockets(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_suffix(".sock"));
        let pid = pid.map(|pid| pid.strip_prefix(OWN_DAEMON).unwrap_or(pid));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { continue };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The client's transport into this process, without a socket.
#[derive(Debug)]
struct InProcessTransport {
    router: Router,
    principal: Principal,
}

impl RequestHandler for InProcessTransport {
    fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Response<client::Body>> + Send>> {
        let mut request = request.map(Body::new);
        // As the guard does with a request that it lets in.
        request.extensions_mut().insert(self.principal.clone());
        let answering = self.router.clone().oneshot(request);
        Box::pin(async {
            let Ok(response) = answering.await;
            response.map(|body| body.map_err(Into::into).boxed_unsync())
        })
    }
}
