//! What every handler shares.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::response::Response;
use sessions::desk::{Desk, DeskError, Order};
use sessions::host::AgentCapabilities;
use sessions::permission::Mode;
use sessions::session::SessionHandle;
use store::SessionRecord;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use wire::{Fault, SessionId};

use crate::attachments;
pub use crate::events::Pace;
use crate::guard::{BodyKind, BodyRule, Guard, Routes};
use crate::login::Login;
use crate::metrics::Metrics;
use crate::principal::Principal;
use crate::problem::Problem;

/// What the daemon may do and where it keeps things.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where the page is, for links: `http://k3v9qw72hpxm.localhost:7433`.
    pub base: String,
    /// Where it is for other devices, if it is.
    pub elsewhere: Vec<String>,
    /// The agent of whoever names none.
    pub default_agent: Option<String>,
    /// Where sessions of network clients may work; anywhere if there are none.
    pub roots: Vec<PathBuf>,
    /// The home directory of the daemon's user, if there is one.
    pub home: Option<PathBuf>,
    /// The sessions' own directories, with their attachments.
    pub sessions_dir: PathBuf,
    /// Directories of projects are made below this.
    pub projects_dir: PathBuf,
    /// How long those who read events may keep us waiting.
    pub pace: Pace,
}

/// The daemon, as its handlers know it.
#[derive(Debug)]
pub struct Daemon {
    pub desk: Arc<Desk>,
    pub settings: Settings,
    pub metrics: Metrics,
    /// Nothing new is begun.
    pub stopping: CancellationToken,
    /// Every turn has ended: so do streams and connections.
    pub over: CancellationToken,
    open_design: Mutex<crate::open_design::Settings>,
    pub(crate) memory: crate::api::Memory,
    pub(crate) load: crate::events::Load,
    pub(crate) looks: crate::events::Looks,
    pub(crate) snapshots: crate::events::Snapshots,
}

impl Daemon {
    pub fn new(desk: Arc<Desk>, settings: Settings, metrics: Metrics) -> Arc<Self> {
        let memory = crate::api::Memory::new(&settings);
        let (stopping, over) = (CancellationToken::new(), CancellationToken::new());
        let (load, looks) = (crate::events::Load::default(), crate::events::Looks::default());
        let (open_design, snapshots) = Default::default();
        Arc::new(Self {
            desk,
            settings,
            metrics,
            stopping,
            over,
            open_design,
            memory,
            load,
            looks,
            snapshots,
        })
    }

    /// What runs under `/api` get now.
    pub(crate) fn open_design(&self) -> crate::open_design::Settings {
        self.open_design.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces what runs under `/api` get; those that have begun keep theirs.
    pub fn set_open_design(&self, settings: crate::open_design::Settings) {
        *self.open_design.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Removes the files of sessions that are no longer in the log.
    pub async fn sweep_attachments(&self) {
        let Ok(sessions) = self.memory.attachments.sessions().await else { return };
        for id in sessions {
            if let Ok(None) = self.desk.log().session(id).await
                && let Err(error) = self.memory.attachments.remove_all(id).await
            {
                tracing::warn!(session = %id, %error, "cannot remove its attachments");
            }
        }
    }
}

/// Every route. Whoever comes here has been let in: a [`crate::principal::Principal`] is in
/// the request's extensions.
pub fn router(daemon: &Arc<Daemon>, guard: &Arc<Guard>, login: &Login) -> Router {
    let router = Router::new()
        .merge(crate::access::router(guard, login, &daemon.settings))
        .merge(crate::api::router(daemon))
        .merge(crate::events::router(daemon))
        .merge(crate::acp::router(daemon))
        .merge(crate::open_design::router(daemon))
        .merge(crate::login::routes().with_state(login.clone()))
        .merge(crate::page::router());
    refusing(router)
}

/// The routes that commands use, of a daemon to which nobody else comes.
pub fn sessions_router(daemon: &Arc<Daemon>) -> Router {
    refusing(crate::api::router(daemon).merge(crate::events::router(daemon)))
}

/// With the answers to those who ask for what is not there.
fn refusing(router: Router) -> Router {
    router
        .fallback(crate::api::no_such_route)
        .method_not_allowed_fallback(crate::api::no_such_method)
}

/// A way into the daemon from its own process, for the one for whom it is there.
#[derive(Debug, Clone)]
pub struct Inside {
    router: Router,
    principal: Principal,
}

impl Inside {
    pub fn new(router: Router, principal: Principal) -> Self {
        // As behind the guard, where there are limits of our own.
        Self { router: router.layer(DefaultBodyLimit::disable()), principal }
    }

    /// Answers as to a request that the guard has let in.
    pub async fn answer(self, mut request: Request) -> Response {
        request.extensions_mut().insert(self.principal);
        let Ok(response) = self.router.oneshot(request).await;
        response
    }
}

/// What the guard has to know about them.
pub fn guarded_routes() -> Routes {
    let upload = BodyRule { kind: BodyKind::Upload, max_bytes: Some(attachments::MAX_FILE_BYTES) };
    let max_bytes = Some(crate::open_design::MAX_FORM_BYTES);
    let form = BodyRule { kind: BodyKind::Form, max_bytes };
    crate::page::opened(Routes::default())
        .body("/v1/sessions/{id}/attachments", upload)
        .body("/api/upload", form)
        .body("/api/projects/{id}/upload", form)
}

impl Daemon {
    /// A session by its id, if there is one that `principal` may see.
    pub(crate) async fn visible(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<SessionRecord, Problem> {
        let missing = || Problem::not_found(format!("there is no session `{}`", shown(id)));
        let parsed = SessionId::parse(id).map_err(|_| missing())?;
        let record = self.desk.record(parsed).await.map_err(|_| missing())?;
        match principal.sees(&record) {
            true => Ok(record),
            false => Err(missing()),
        }
    }

    /// What a session's agent takes, which is started if need be.
    pub(crate) async fn capabilities(
        &self,
        session: SessionId,
    ) -> Result<Result<AgentCapabilities, Fault>, DeskError> {
        let linking = async |session: SessionHandle| {
            if let Err(fault) = session.link().await? {
                return Ok(Err(fault));
            }
            Ok(Ok(session.offer().await?.map(|offer| offer.capabilities).unwrap_or_default()))
        };
        self.desk.with(session, linking).await
    }

    /// The order as far as `principal` may give it.
    pub(crate) fn checked(&self, order: Order, principal: &Principal) -> Result<Order, Problem> {
        self.checked_in(self.roots_of(principal), order, principal)
    }

    /// Where sessions of `principal` may work; anywhere if there are none.
    pub(crate) fn roots_of(&self, principal: &Principal) -> &[PathBuf] {
        match principal.is_local {
            true => &[],
            false => &self.settings.roots,
        }
    }

    /// A directory as a person names it: `~` is the home of the daemon's user.
    pub(crate) fn whole_path(&self, path: PathBuf) -> Result<PathBuf, Problem> {
        let Ok(below) = path.strip_prefix("~") else { return Ok(path) };
        match &self.settings.home {
            Some(home) => Ok(home.join(below)),
            None => {
                Err(Problem::bad_request("the daemon has no home directory; name the whole path"))
            }
        }
    }

    /// The same where it may work is known already.
    pub(crate) fn checked_in(
        &self,
        roots: &[PathBuf],
        order: Order,
        principal: &Principal,
    ) -> Result<Order, Problem> {
        let is_wide = matches!(order.permissions, Some(Mode::Auto | Mode::AcceptEdits));
        if principal.is_worker && is_wide {
            let why = "an agent cannot give a session wider permissions than it would get";
            return Err(Problem::forbidden(why));
        }
        principal.check_wishes(&order.wishes)?;
        let order = match principal.is_local {
            true => order,
            false => order.without_commands().map_err(DeskError::from)?,
        };
        let placed = order.placed(roots, &self.desk.forbidden());
        Ok(placed.map_err(DeskError::from)?)
    }
}

/// The beginning of something that a client sent, to be shown again.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
