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
        Self { command, setup, settings, initialize, state: Mutex::default(), closing }
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
        if let Some(host) = state.host.as_ref().filter(|host| host.is_running()) {
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

    /// Ends the agent; it is started again when it is needed.
    pub(crate) fn rest(self: &Arc<Self>) {
        let slot = self.clone();
        tokio::spawn(async move {
            let mut state = slot.state.lock().await;
            if let Some(host) = state.host.take() {
                host.stop(|_| {}).await;
            }
            // An orderly end says nothing about how well it starts.
            state.starts.clear();
        });
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
