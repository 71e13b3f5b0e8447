//! The client of a front: its identity and rights, and the orders that it gives the registry.
//!
//! In: the client's orders. Out: orders as far as it may give them, and refusals. Until a
//! session has the first agent, the client's own requests are answered by a spare one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use store::{ReadBudget, SessionRecord};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use wire::{Json, Message, Millis, RpcError, SessionId, codes};

use super::Front;
use crate::details::{CreationParams, is_made_by};
use crate::host::Host;
use crate::lock::lock;
use crate::open::{OpenOptions, OpenedSession};
use crate::options::InitialOptions;
use crate::order::{Maker, OrderError, SessionOrder};
use crate::permission::PermissionMode;
use crate::registry::RegistryError;
use crate::session::{ServedRequests, SessionHandle};
use bus::quota::QuotaReservation;
use wire::Fault;

/// Requests served at a time: more than a client has that reads the answers.
const MAX_REQUESTS: usize = 256;
/// How long an agent's answer to `initialize` is cached.
const CACHED_FOR: Duration = Duration::from_secs(600);

/// The identity, the defaults and the rights of a client.
#[derive(Debug, Clone, Default)]
pub struct ClientProfile {
    /// The order for its sessions, but for what `session/new` says.
    pub order: SessionOrder,
    /// Its name in prompts and sessions.
    pub by: String,
    /// Its name in decisions, with its transport: `token:phone websocket`.
    pub client: String,
    /// Its transport: `http`, `websocket`, `tcp`, `unix`, `stdio`.
    pub transport: String,
    /// It sees everything and changes nothing.
    pub is_observer: bool,
    pub may_delete: bool,
    /// It may name commands: of MCP servers, and of agents.
    pub may_run_commands: bool,
    /// An agent started it: nobody is there who could be asked.
    pub is_worker: bool,
    /// It sees only the sessions that it made.
    pub own_sessions: bool,
    /// Since when it has its name.
    pub since: Millis,
    /// Directories in which its sessions may work; anywhere if there are none.
    pub roots: Vec<PathBuf>,
    /// The memory budget for the logs that it reads.
    pub budget: ReadBudget,
    /// The memory quota for its large messages; none if they are not counted.
    pub quota: Option<Arc<QuotaReservation>>,
    /// Permits for its requests that are served at a time.
    pub permits: RequestPermits,
    /// Cancelled when its access is revoked.
    pub revoked: CancellationToken,
    /// The registry is its alone, and ends when it leaves.
    pub owns_registry: bool,
}

/// Permits for the requests of one client that are served at a time, on all its connections.
#[derive(Debug, Clone)]
pub struct RequestPermits(Arc<Semaphore>);

impl Default for RequestPermits {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_REQUESTS)))
    }
}

impl RequestPermits {
    /// Waits for a permit; none only if the semaphore is closed, which it never is.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().acquire_owned().await.ok()
    }

    /// Whether another connection shares these permits.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Front {
    pub(super) fn order(&self) -> SessionOrder {
        lock(&self.order).clone()
    }

    /// An agent that belongs to no session yet, started if need be.
    pub(super) async fn host(&self) -> Result<Arc<Host>, RpcError> {
        let mut spare = self.spare.lock().await;
        let options = match spare.take() {
            Some(options) => options,
            None => self.registry.open_options(self.order(), None).await?,
        };
        let slot = spare.insert(options).slot.clone();
        drop(spare);
        let host = slot.host().await.map_err(|error| RpcError::from(&Fault::from(&error)))?;
        self.follow_sessionless(&host);
        Ok(host)
    }

    pub(super) async fn leave(&self) {
        if let Some(options) = self.spare.lock().await.take() {
            options.slot.shut_down().await;
        }
    }

    pub(super) fn sees(&self, record: &SessionRecord) -> bool {
        let ClientProfile { own_sessions, by, since, .. } = &self.profile;
        !own_sessions || is_made_by(record, by, *since)
    }

    /// Whether the client is the daemon's own user, on the same machine.
    pub(super) fn is_local(&self) -> bool {
        self.profile.may_run_commands
    }

    /// Whether the client is sent no questions and requests.
    pub(super) fn gets_no_requests(&self) -> bool {
        self.profile.is_observer || self.profile.is_worker
    }

    pub(super) fn maker(&self) -> Maker {
        let ClientProfile { by, since, may_run_commands, revoked, .. } = &self.profile;
        let (name, revoked) = (by.clone(), revoked.clone());
        Maker { name, since: *since, is_limited: !may_run_commands, revoked }
    }

    /// Whose sessions it sees, if not everybody's.
    pub(super) fn only_made_by(&self) -> Option<(String, Millis)> {
        let ClientProfile { own_sessions, by, since, .. } = &self.profile;
        own_sessions.then(|| (by.clone(), *since))
    }

    /// The answer with which a session's agent opened it; the agent is started if need be.
    pub(super) async fn linked(&self, id: SessionId) -> Result<Json, RpcError> {
        let linked = self.registry.with(id, async |session: SessionHandle| session.link().await);
        linked.await?.map_err(|fault| RpcError::from(&fault))
    }

    /// Refuses observers.
    pub(super) fn may_act(&self) -> Result<(), RpcError> {
        match self.profile.is_observer {
            true => Err(RpcError::new(codes::INVALID_REQUEST, "observers may only watch")),
            false => Ok(()),
        }
    }

    /// Refuses a setting by which an agent could allow another one more.
    pub(super) fn may_set(&self, method: &str, params: &Json) -> Result<(), RpcError> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct ModeSettingParams {
            mode_id: Option<String>,
        }
        let mode = params.read::<ModeSettingParams>().unwrap_or_default().mode_id;
        let is_modest = match method {
            "session/set_mode" => {
                mode.is_some()
                    && InitialOptions { mode, ..InitialOptions::default() }.are_restrictive()
            }
            // What an option means is known to its agent alone.
            method => !method.starts_with("session/set_") || method == "session/set_model",
        };
        match self.profile.is_worker && !is_modest {
            true => Err(RpcError::invalid_request(
                "an agent cannot give another agent wider permissions",
            )),
            false => Ok(()),
        }
    }

    pub(super) async fn make_session(&self, params: &Json) -> Result<OpenedSession, RpcError> {
        self.may_act()?;
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct NewSessionModeParams {
            /// Not of the protocol; some agents take it, the built-in one among them.
            mode: Value,
        }
        let mode = params.read::<NewSessionModeParams>().unwrap_or_default().mode;
        if !mode.is_null() {
            self.may_set("session/set_mode", &Json::of(&json!({ "modeId": mode })))?;
        }
        let order = self.checked(self.ordered(params)?, &self.profile.roots)?;
        let usual = self.order();
        let is_plain = order.agent == usual.agent && order.initial_options.is_empty();
        // The spare was started with the directories that all sessions get.
        let spare = match is_plain && order.additional_directories == usual.additional_directories {
            true => self.spare.lock().await.take(),
            false => None,
        };
        Ok(match spare {
            Some(options) => self.registry.create_with(OpenOptions { order, ..options }).await?,
            None => self.registry.create(order).await?,
        })
    }

    /// The client's order for an earlier session that it opens again. The directories may be
    /// outside of the client's roots if the session works there already.
    pub(super) fn again(
        &self,
        params: &Json,
        made_of: &CreationParams,
    ) -> Result<SessionOrder, RegistryError> {
        let order = self.ordered(params)?;
        match order.stays_within(made_of) {
            true => self.checked(order, &[]),
            false => self.checked(order, &self.profile.roots),
        }
    }

    /// The order as far as the client may give it.
    fn checked(
        &self,
        order: SessionOrder,
        roots: &[PathBuf],
    ) -> Result<SessionOrder, RegistryError> {
        let order = match self.is_local() {
            true => order,
            false => order.without_commands()?,
        };
        Ok(order.in_real_dirs(roots, &self.registry.forbidden())?)
    }

    /// The order in the params of `session/new`, `load` or `resume`.
    fn ordered(&self, params: &Json) -> Result<SessionOrder, RegistryError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct OpenSessionParams {
            cwd: PathBuf,
            #[serde(default)]
            additional_directories: Vec<PathBuf>,
            #[serde(default)]
            mcp_servers: Vec<Value>,
            #[serde(rename = "_meta", default)]
            meta: Value,
        }
        let read = params.read::<OpenSessionParams>();
        let read = read.map_err(|error| OrderError::Bad(error.to_string()))?;
        let member = |name: &str| read.meta["switchyard"][name].as_str().map(str::to_owned);
        let mut order = self.order();
        order.agent = member("agent").or(order.agent);
        order.title = member("title").or(order.title);
        order.cwd = read.cwd;
        order.additional_directories.extend(read.additional_directories);
        order.mcp_servers = read.mcp_servers;
        order.more_params = Some(params.clone());
        order.maker = Some(self.maker());
        Ok(order)
    }

    /// The agent's answer to `initialize`; remembered, so that it need not be started.
    pub(super) async fn introduction(&self) -> Result<Json, RpcError> {
        let order = self.order();
        let key = (order.agent, order.command);
        if let Some((answer, at)) = lock(&self.registry.initialize_answers).get(&key)
            && at.elapsed() < CACHED_FOR
        {
            return Ok(answer.clone());
        }
        let answer = self.host().await?.initialized.clone();
        let mut known = lock(&self.registry.initialize_answers);
        known.retain(|_, (_, at)| at.elapsed() < CACHED_FOR);
        known.insert(key, (answer.clone(), Instant::now()));
        Ok(answer)
    }

    /// The kinds of the agent's requests that the client answers. Only an editor on this machine
    /// has the same files, and is trusted with requests that nobody here can judge.
    pub(super) fn serves(&self) -> ServedRequests {
        let is_local = self.is_local();
        ServedRequests { files: is_local && self.abilities().files, others: is_local }
    }

    /// Takes `_switchyard/order`: the order of the daemon's own user for its sessions.
    pub(super) fn take_order(&self, message: &Message) {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct OrderParams {
            agent: Option<String>,
            command: Vec<String>,
            env: Option<BTreeMap<String, String>>,
            cwd: Option<PathBuf>,
            additional_directories: Vec<PathBuf>,
            permissions: Option<PermissionMode>,
        }
        if !self.is_local() {
            return;
        }
        let Ok(said) = message.body_json().read::<OrderParams>() else { return };
        let mut order = lock(&self.order);
        *order = SessionOrder {
            agent: said.agent.or_else(|| order.agent.clone()),
            command: said.command.into_iter().map(Into::into).collect(),
            env: said.env.map(|env| env.into_iter().map(|(k, v)| (k.into(), v.into())).collect()),
            cwd: said.cwd.unwrap_or_else(|| order.cwd.clone()),
            additional_directories: said.additional_directories,
            permissions: said.permissions,
            ..SessionOrder::default()
        };
    }
}

impl From<RegistryError> for RpcError {
    fn from(error: RegistryError) -> Self {
        let code = match error {
            RegistryError::Open(error) => return error.into(),
            RegistryError::NoSuchSession(_) => codes::NOT_FOUND,
            RegistryError::Order(OrderError::Refused(_)) | RegistryError::TooMany { .. } => {
                codes::INVALID_PARAMS
            }
            _ => return Self::from(&Fault::from(&error)),
        };
        Self { code, ..Self::from(&Fault::from(&error)) }
    }
}
