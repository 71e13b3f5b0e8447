//! A place for one agent process that is started again when it is needed and gone.
//!
//! Always true: at most one process at a time, and no more than so many starts in a
//! window; then the slot refuses for a while instead of looping.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use wire::Json;

use super::{AgentCommand, Host, StartError};
use crate::settings::{Settings, WorkerSetup};

#[derive(Debug)]
pub struct HostSlot {
    command: AgentCommand,
    setup: WorkerSetup,
    settings: Settings,
    initialize: Json,
    state: Mutex<State>,
    /// Several sessions use it, so that none of them may end it.
    is_shared: bool,
    /// Set when the first process has said hello.
    started: CancellationToken,
    /// Ends a start that is under way.
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    host: Option<Arc<Host>>,
    starts: VecDeque<Instant>,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(
        "the agent was started {starts} times in {window:?} and did not stay; \
         it is left alone for another {wait:?}"
    )]
    CircuitOpen { starts: usize, window: Duration, wait: Duration },
    #[error("Switchyard is shutting down")]
    ShuttingDown,
}

impl HostSlot {
    /// `initialize` is sent as it is to every process that is started here.
    pub fn new(
        command: AgentCommand,
        setup: WorkerSetup,
        settings: Settings,
        initialize: Json,
    ) -> Self {
        let closing = CancellationToken::new();
        let initialize = match command.manners.no_client_reads {
            true => {
                let path = ["clientCapabilities", "fs", "readTextFile"];
                wire::set_member(&initialize, &path, &Json::trusted("false")).unwrap_or(initialize)
            }
            false => initialize,
        };
        Self {
            command,
            setup,
            settings,
            initialize,
            state: Mutex::default(),
            is_shared: false,
            started: CancellationToken::new(),
            closing,
        }
    }

    /// The same place, for several sessions at once.
    #[must_use]
    pub(crate) fn shared(self) -> Self {
        Self { is_shared: true, ..self }
    }

    /// Whether a session that is done with its agent lets go of it instead of ending it.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Is cancelled as soon as an agent has been started here.
    pub(crate) fn started(&self) -> CancellationToken {
        self.started.clone()
    }

    /// No agent is started here any more.
    pub(crate) fn refuse(&self) {
        self.closing.cancel();
    }

    /// The agent if it runs; nothing is started, and one that is just starting is not seen.
    pub(crate) fn running(&self) -> Option<Arc<Host>> {
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
        let mut state = self.state.lock().await;
        // Looked at, because its end may not have been told yet.
        if let Some(host) = state.host.as_ref().filter(|host| host.is_present()) {
            return Ok(host.clone());
        }
        if let Some(gone) = state.host.take() {
            // Two processes of one agent could fight over the same session files.
            gone.ended().await;
        }
        self.check_circuit(&mut state.starts)?;
        state.starts.push_back(Instant::now());
        let host =
            Host::start(&self.command, &self.setup, &self.settings, &self.initialize).await?;
        state.host = Some(host.clone());
        self.started.cancel();
        Ok(host)
    }

    fn check_circuit(&self, starts: &mut VecDeque<Instant>) -> Result<(), HostError> {
        let Settings { max_restarts, restart_window, circuit_open, .. } = self.settings;
        while starts.front().is_some_and(|start| start.elapsed() > restart_window) {
            starts.pop_front();
        }
        // The first start is none again.
        if starts.len() <= max_restarts {
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

    /// Ends the agent for good.
    pub async fn shut_down(&self) {
        self.closing.cancel();
        let host = self.state.lock().await.host.take();
        if let Some(host) = host {
            host.stop(|_| {}).await;
        }
    }
}
