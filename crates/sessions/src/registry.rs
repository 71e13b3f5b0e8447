//! The registry of a daemon's sessions, which are made, found, shared by clients and put aside.
//!
//! In: orders of clients, and session ids. Out: handles. A session that is only in the log
//! is woken when somebody wants something of it; its agent is started with the next prompt.
//!
//! Always true: a session has one task in this process, whoever asks for it at the same
//! time. A client that leaves ends nothing.

mod ending;
mod fork;
mod leaving;
mod limits;
mod mending;
mod queue;
mod shutdown;
mod starting;
mod status;
mod waking;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use roots::ForbiddenDirs;
use store::{EventLog, SessionRecord, StoreError};
use tokio::sync::{OnceCell, mpsc, watch};
use tokio_util::sync::CancellationToken;
use wire::{Category, Fault, Json, SessionId};

use crate::context::SessionContext;
use crate::fair_limiter::FairLimiter;
use crate::host::{AgentCommand, HostSlot};
use crate::lock::lock;
use crate::open::{self, OpenError, OpenOptions, OpenedSession};
use crate::order::{OrderError, SessionOrder};
use crate::permission::{PermissionMode, PermissionPolicy};
use crate::pools::{Pools, WarmSettings};
use crate::session::{SessionError, SessionHandle, SessionPhase};

use limits::{CountGuard, CountsByKey};

pub use status::SessionStatus;
pub(crate) use waking::ReopenRequest;

/// Turns names of agents into commands, and says which there are.
#[async_trait]
pub trait AgentSource: Send + Sync + 'static {
    /// How the agent of an order is started today, in a session of that mode.
    async fn command(
        &self,
        order: &SessionOrder,
        mode: PermissionMode,
    ) -> Result<AgentCommand, Fault>;

    /// The agents on this machine, one JSON object each, sent as they are found.
    fn found(&self, refresh: bool) -> mpsc::Receiver<Json>;
}

pub struct SessionRegistry {
    context: SessionContext,
    agents: Arc<dyn AgentSource>,
    policy: Mutex<PermissionPolicy>,
    /// The pools that workers come from, which end with it.
    pools: Pools,
    entries: Arc<RegistryEntries>,
    client_counts: CountsByKey<SessionId>,
    pub(crate) initialize_answers: Mutex<InitializeAnswers>,
    /// Sessions that are being made, by the names of their makers.
    making: CountsByKey<String>,
    forks: FairLimiter,
    /// When unused sessions were put aside last.
    put_aside_at: Mutex<Option<Instant>>,
    /// Cancelled at shutdown: from then on no session is made or woken.
    stopping: CancellationToken,
}

/// Cached answers of agents to `initialize`, each with the time at which it came.
type InitializeAnswers = HashMap<(Option<String>, Vec<OsString>), (Json, Instant)>;

/// A client that has a session open, until dropped.
pub(crate) type ClientPresence = CountGuard<SessionId>;

/// A session's entry in the registry, from the first request for it on; empty while it is woken.
type RegistryEntry = OnceCell<LiveSession>;

type RegistryEntries = Mutex<HashMap<SessionId, Arc<RegistryEntry>>>;

#[derive(Debug, Clone)]
struct LiveSession {
    handle: SessionHandle,
    slot: Arc<HostSlot>,
}

impl LiveSession {
    /// Ends the worker and the session's task.
    async fn end(&self) {
        self.slot.shut_down().await;
        let _ = self.handle.finish().await;
        self.handle.ended().await;
    }
}

/// An error of the session registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("there is no session `{0}`")]
    NoSuchSession(String),
    #[error("{}", .0.message)]
    Agent(Fault),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error("`{name}` has {max} sessions, and may have no more (`sessions_per_token`)")]
    TooMany { name: String, max: usize },
    #[error("the daemon is shutting down")]
    ShuttingDown,
}

impl From<StoreError> for RegistryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchSession(id) => Self::NoSuchSession(id.to_string()),
            error => Self::Open(error.into()),
        }
    }
}

impl std::fmt::Debug for SessionRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionRegistry").field("context", &self.context).finish_non_exhaustive()
    }
}

impl SessionRegistry {
    /// Call it inside a runtime: one task looks after the workers that are kept `warm`, another
    /// after sessions that could not go on.
    pub fn new(
        context: SessionContext,
        agents: Arc<dyn AgentSource>,
        policy: PermissionPolicy,
        warm: WarmSettings,
    ) -> Arc<Self> {
        let registry = Arc::new(Self {
            pools: Pools::new(context.setup.clone(), context.settings.clone(), warm),
            context,
            agents,
            policy: Mutex::new(policy),
            entries: Arc::default(),
            client_counts: Arc::default(),
            initialize_answers: Mutex::default(),
            making: Arc::default(),
            forks: FairLimiter::new(limits::MAX_FORKS),
            put_aside_at: Mutex::default(),
            stopping: CancellationToken::new(),
        });
        registry.keep_mending();
        registry
    }

    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// The directories that no session may touch.
    pub fn forbidden(&self) -> ForbiddenDirs {
        self.context.settings.forbidden.renewed()
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    pub fn log(&self) -> &Arc<dyn EventLog> {
        &self.context.log
    }

    pub fn agents(&self) -> &Arc<dyn AgentSource> {
        &self.agents
    }

    /// Replaces the policy by which sessions are judged that are made or woken from now on.
    pub fn set_policy(&self, policy: PermissionPolicy) {
        *lock(&self.policy) = policy;
    }

    fn policy(&self, mode: Option<PermissionMode>) -> PermissionPolicy {
        let policy = lock(&self.policy).clone();
        let mode = self.context.settings.forced_mode.or(mode);
        PermissionPolicy { mode: mode.unwrap_or(policy.mode), ..policy }
    }

    /// Makes a session as ordered.
    pub async fn create(&self, order: SessionOrder) -> Result<OpenedSession, RegistryError> {
        self.check_open()?;
        let params = (!order.starts_later).then(|| order.new_params());
        let options = self.open_options(order, params.as_ref()).await?;
        self.create_with(options).await
    }

    /// As [`create`](Self::create), in an agent that was started for it already.
    pub(crate) async fn create_with(
        &self,
        options: OpenOptions,
    ) -> Result<OpenedSession, RegistryError> {
        let opened = self.open(&options).await;
        if opened.is_err() {
            options.slot.shut_down().await;
        }
        let opened = opened?;
        self.register(&opened.handle, options.slot);
        Ok(opened)
    }

    async fn open(&self, options: &OpenOptions) -> Result<OpenedSession, RegistryError> {
        let order = &options.order;
        let _making = self.check_room(order.maker.as_ref()).await?;
        let params = order.new_params();
        Ok(open::new(&self.context, options, &params).await?)
    }

    pub(crate) fn register(&self, handle: &SessionHandle, slot: Arc<HostSlot>) {
        let live = LiveSession { handle: handle.clone(), slot };
        let entry = Arc::new(OnceCell::new_with(Some(live)));
        lock(&self.entries).insert(handle.id(), entry.clone());
        self.remove_at_end(&entry, handle);
        self.put_aside_unused();
    }

    /// The options by which an order's session is opened; its agent is not started yet. With the
    /// params of a session that is opened at once, one may stand ready in an agent.
    pub(crate) async fn open_options(
        &self,
        order: SessionOrder,
        new_params: Option<&Json>,
    ) -> Result<OpenOptions, RegistryError> {
        let policy = self.policy(order.permissions);
        let command = self.command(&order, policy.mode).await?;
        let model = order.initial_options.model.as_deref();
        let slot = self.pools.slot(command, new_params, model).await;
        Ok(OpenOptions { slot, policy, order })
    }

    /// The command that starts the agent of an order.
    async fn command(
        &self,
        order: &SessionOrder,
        mode: PermissionMode,
    ) -> Result<AgentCommand, RegistryError> {
        let command = self.agents.command(order, mode).await;
        let mut command = command.map_err(RegistryError::Agent)?;
        command.quirks.shares_worker &= !order.has_own_worker;
        Ok(command)
    }

    /// The handle of a session that is awake.
    pub fn awake_handle(&self, id: SessionId) -> Option<SessionHandle> {
        self.live_session(id).map(|live| live.handle).filter(|handle| !handle.is_over())
    }

    /// The phase of the session's task, until it has ended; of one that halted until it is woken again,
    /// or many others are awake.
    pub fn phase(&self, id: SessionId) -> Option<watch::Receiver<SessionPhase>> {
        self.live_session(id).map(|live| live.handle.phase())
    }

    /// The slot in which the agent of a session that is awake runs, if it does.
    pub(crate) fn slot_of(&self, id: SessionId) -> Option<Arc<HostSlot>> {
        self.live_session(id).map(|live| live.slot)
    }

    /// The handle and slot in a session's entry; none while it is being woken.
    fn live_session(&self, id: SessionId) -> Option<LiveSession> {
        lock(&self.entries).get(&id)?.get().cloned()
    }

    pub fn n_live(&self) -> usize {
        let is_live =
            |entry: &&Arc<RegistryEntry>| entry.get().is_none_or(|live| !live.handle.is_over());
        lock(&self.entries).values().filter(is_live).count()
    }

    /// Does something with a session; once more if it was put aside just then.
    pub async fn with<T, F>(
        &self,
        id: SessionId,
        act: impl Fn(SessionHandle) -> F,
    ) -> Result<T, RegistryError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        loop {
            match act(self.session(id).await?).await {
                Err(SessionError::PutAside) => {}
                acted => return Ok(acted?),
            }
        }
    }

    pub async fn record(&self, id: SessionId) -> Result<SessionRecord, RegistryError> {
        let record = self.context.log.session(id).await?;
        record.ok_or_else(|| RegistryError::NoSuchSession(id.to_string()))
    }

    /// Notes that a client has the session open.
    pub(crate) fn enter(&self, id: SessionId) -> ClientPresence {
        CountGuard::begin(&self.client_counts, id).0
    }

    /// How many ACP clients have the session open.
    pub fn n_clients(&self, id: SessionId) -> usize {
        let present = lock(&self.client_counts);
        present.get(&id).copied().unwrap_or_default()
    }

    fn check_open(&self) -> Result<(), RegistryError> {
        match self.stopping.is_cancelled() {
            true => Err(RegistryError::ShuttingDown),
            false => Ok(()),
        }
    }
}

impl From<&RegistryError> for Fault {
    fn from(error: &RegistryError) -> Self {
        let category = match error {
            RegistryError::Agent(fault) => return fault.clone(),
            RegistryError::Open(error) => return error.into(),
            RegistryError::TooMany { .. } => {
                let remedy =
                    "have an admin delete old ones, or raise `sessions_per_token` in `[limits]`";
                return Self::new(Category::Rejected, error.to_string()).remedy(remedy);
            }
            RegistryError::NoSuchSession(_) | RegistryError::Order(OrderError::Bad(_)) => {
                Category::BadInput
            }
            RegistryError::Order(OrderError::Refused(_)) => Category::Rejected,
            RegistryError::Session(_) | RegistryError::ShuttingDown => Category::Internal,
        };
        Self::new(category, error.to_string())
    }
}
