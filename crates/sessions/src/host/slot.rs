//! A place for one agent process that is started again when it is needed and gone.
//!
//! A slot from the pools takes a worker that stands ready, or shares one with other slots.
//!
//! Always true: at most one process at a time, and no more than so many starts in a
//! window; then the slot refuses for a while instead of looping. So do all slots together, of an
//! agent that cannot be started in any.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use wire::{Json, SessionId};

use super::{AgentCommand, AgentKeepsFailing, FailingAgents, Host, StartCircuit, StartError};
use crate::pools::{PoolBacking, PreparedSession};
use crate::settings::{SessionSettings, WorkerSetup};

#[derive(Debug)]
pub struct HostSlot {
    command: AgentCommand,
    setup: WorkerSetup,
    settings: SessionSettings,
    circuit: StartCircuit,
    state: Mutex<HostSlotState>,
    /// The session that has it, whose limits hold for what is started here.
    session: OnceLock<SessionId>,
    /// The pools behind it, for a slot that came from them.
    pub(crate) backing: OnceLock<PoolBacking>,
    /// Ends a start that is under way.
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct HostSlotState {
    host: Option<Arc<Host>>,
    starts: VecDeque<Instant>,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(
        "the agent was started {starts} times in {window:?} and ended each time; \
         it is not started again for another {wait:?}"
    )]
    CircuitOpen { starts: usize, window: Duration, wait: Duration },
    #[error(transparent)]
    KeepsFailing(#[from] AgentKeepsFailing),
    #[error("Switchyard is shutting down")]
    ShuttingDown,
}

impl HostSlot {
    pub fn new(command: AgentCommand, setup: WorkerSetup, settings: SessionSettings) -> Self {
        Self::among(&FailingAgents::default(), command, setup, settings)
    }

    /// A slot that is refused the agent when it keeps failing in others.
    pub(crate) fn among(
        agents: &FailingAgents,
        command: AgentCommand,
        setup: WorkerSetup,
        settings: SessionSettings,
    ) -> Self {
        let circuit = agents.circuit_of(&command);
        let (session, backing) = (OnceLock::new(), OnceLock::new());
        let (state, closing) = (Mutex::default(), CancellationToken::new());
        Self { command, setup, settings, circuit, state, session, backing, closing }
    }

    /// Notes whose slot it is, for what is started here from now on. One that came with an agent,
    /// or shares one, has an agent of no session.
    pub(crate) fn belongs_to(&self, session: SessionId) {
        self.session.get_or_init(|| session);
    }

    /// Whether the agent serves other sessions too, so that this one may not end it.
    pub fn is_shared(&self) -> bool {
        self.shared().is_some()
    }

    fn shared(&self) -> Option<&Arc<Self>> {
        self.backing.get()?.shared()
    }

    /// A session that was opened with the params that are `wanted` before anybody asked for it;
    /// any other is freed.
    pub(crate) fn take_prepared(&self, wanted: Option<&Json>) -> Option<PreparedSession> {
        self.backing.get()?.take_prepared(wanted)
    }

    /// No agent is started here any more.
    pub(crate) fn refuse_starts(&self) {
        self.closing.cancel();
    }

    /// Takes the agent that runs here out, for another slot.
    pub(crate) async fn take_host(&self) -> Option<Arc<Host>> {
        self.state.lock().await.host.take()
    }

    /// The agent if it runs; nothing is started, and one that is just starting is not seen.
    pub(crate) fn running(&self) -> Option<Arc<Host>> {
        if let Some(shared) = self.shared() {
            return shared.running();
        }
        self.state.try_lock().ok()?.host.clone().filter(|host| host.is_running())
    }

    pub fn command(&self) -> &AgentCommand {
        &self.command
    }

    /// The running agent, started if need be.
    pub async fn host(&self) -> Result<Arc<Host>, HostError> {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(HostError::ShuttingDown),
            host = self.running_host() => host,
        }
    }

    async fn running_host(&self) -> Result<Arc<Host>, HostError> {
        if let Some(shared) = self.shared() {
            return Box::pin(shared.host()).await;
        }
        let mut state = self.state.lock().await;
        // The process is looked at, because its end may not have been noticed yet.
        if let Some(host) = state.host.as_ref().filter(|host| host.is_present()) {
            return Ok(host.clone());
        }
        if let Some(gone) = state.host.take() {
            // Two processes of one agent could fight over the same session files.
            gone.ended().await;
        }
        if let Err(error) = self.check_circuit(&mut state.starts) {
            // Why the agent fails everywhere says more than that it ends here.
            self.circuit.try_start(&self.settings)?;
            return Err(error);
        }
        state.starts.push_back(Instant::now());
        let backing = self.backing.get();
        if let Some(backing) = backing
            && let Some(host) = backing.ready(&self.command).await
        {
            state.host = Some(host.clone());
            return Ok(host);
        }
        self.circuit.try_start(&self.settings)?;
        let session = self.session.get();
        let setup = session.map_or_else(|| self.setup.clone(), |id| self.setup.of_session(*id));
        let host = Host::start(&self.command, &setup, &self.settings, &self.circuit).await?;
        state.host = Some(host.clone());
        if let Some(backing) = backing {
            backing.started();
        }
        Ok(host)
    }

    fn check_circuit(&self, starts: &mut VecDeque<Instant>) -> Result<(), HostError> {
        let SessionSettings { limits, restart_window, circuit_open, .. } = self.settings;
        while starts.front().is_some_and(|start| start.elapsed() > restart_window) {
            starts.pop_front();
        }
        // The first start is no restart.
        if starts.len() <= limits.restarts {
            return Ok(());
        }
        let since_last = starts.back().map_or(circuit_open, Instant::elapsed);
        if since_last >= circuit_open {
            starts.clear();
            return Ok(());
        }
        Err(HostError::CircuitOpen {
            starts: starts.len(),
            window: restart_window,
            wait: circuit_open.saturating_sub(since_last),
        })
    }

    /// Ends the agent; it is started again when it is needed. One that others use goes on.
    pub(crate) fn rest(self: &Arc<Self>) {
        let slot = self.clone();
        task::spawn(async move {
            let mut state = slot.state.lock().await;
            if let Some(host) = state.host.take() {
                host.stop(|_| {}).await;
            }
            // An orderly end says nothing about how well it starts.
            state.starts.clear();
        });
    }

    /// Ends the agent for good; one that others use is let go.
    pub async fn shut_down(&self) {
        self.closing.cancel();
        if let Some(backing) = self.backing.get() {
            backing.end_lease();
        }
        let host = self.state.lock().await.host.take();
        if let Some(host) = host {
            host.stop(|_| {}).await;
        }
    }
}
