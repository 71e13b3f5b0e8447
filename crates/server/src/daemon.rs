//! What every handler shares.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use sessions::desk::{Desk, Order};
use sessions::details::Details;
use store::SessionRecord;
use tokio_util::sync::CancellationToken;
use wire::SessionId;

use crate::guard::{Guard, Routes};
use crate::login::Login;
use crate::principal::Principal;
use crate::problem::Problem;

/// What the daemon may do and where it keeps things.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where it is reached, for links: `http://127.0.0.1:7433`.
    pub base: String,
    /// The agent of whoever names none.
    pub default_agent: Option<String>,
    /// Where sessions of network clients may work; anywhere if there are none.
    pub roots: Vec<PathBuf>,
    /// The sessions' own directories, with their attachments.
    pub sessions_dir: PathBuf,
    /// Directories of projects are made below this.
    pub projects_dir: PathBuf,
}

/// The daemon, as its handlers know it.
#[derive(Debug)]
pub struct Daemon {
    pub desk: Arc<Desk>,
    pub settings: Settings,
    /// Streams end and nothing new is begun.
    pub stopping: CancellationToken,
}

impl Daemon {
    pub fn new(desk: Arc<Desk>, settings: Settings) -> Arc<Self> {
        Arc::new(Self { desk, settings, stopping: CancellationToken::new() })
    }
}

/// Every route. Whoever comes here has been let in: a [`crate::principal::Principal`] is in
/// the request's extensions.
pub fn router(daemon: &Arc<Daemon>, guard: &Arc<Guard>, login: &Login) -> Router {
    let (access, _) = crate::access::router(guard, login, &daemon.settings.base);
    let (login, _) = crate::login::routes(login.clone()).split_for_parts();
    Router::new()
        .merge(access)
        .merge(crate::api::router(daemon))
        .merge(crate::events::router(daemon))
        .merge(crate::acp::router(daemon))
        .merge(crate::open_design::router(daemon))
        .merge(login)
        .merge(crate::login::home())
}

/// What the guard has to know about them.
pub fn guarded_routes() -> Routes {
    Routes::default()
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
        let is_own = || Details::read(&record).made_by.as_deref() == Some(&*principal.name);
        match !principal.own_sessions || is_own() {
            true => Ok(record),
            false => Err(missing()),
        }
    }

    /// The order as far as `principal` may give it.
    pub(crate) fn checked(&self, order: Order, principal: &Principal) -> Result<Order, Problem> {
        if principal.is_local {
            return Ok(order.placed(&[])?);
        }
        Ok(order.placed(&self.settings.roots)?.without_commands()?)
    }
}

/// The beginning of something that a client sent, to be shown again.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
