//! The circuit breaker of agents that cannot be started: it refuses to try for a while.
//!
//! In: how the starts of each agent went, in whichever slot. Out: whether one more may be tried. A
//! start has failed when its process did not answer, or ended before a session was opened in it; it
//! has succeeded when one was, or the agent said why not. An agent that ends later, in the middle
//! of a session, is that session's trouble alone, and its slot counts.
//!
//! Always true: an agent is known by its command, arguments and environment, whatever its directory,
//! and no other one is refused for it. One success forgets all failures. While an agent is refused,
//! one start is tried each time that the pause is over.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::AgentCommand;
use crate::lock::lock;
use crate::settings::SessionSettings;

/// Agents whose failures are remembered; the one that was tried longest ago is forgotten for
/// another. More than anybody has.
const MAX_AGENTS: usize = 64;
/// Bytes of the last error that are shown again.
const MAX_ERROR_BYTES: usize = 1 << 10;

/// The agents of a process whose last starts have failed.
#[derive(Debug, Clone, Default)]
pub(crate) struct FailingAgents(Arc<Mutex<Vec<FailingAgent>>>);

#[derive(Debug)]
struct FailingAgent {
    command: AgentCommand,
    /// The times of its failures, the oldest first; no more than are needed to refuse it.
    failures: VecDeque<Instant>,
    last_error: String,
    last_try: Instant,
}

/// One agent and the failures of its starts.
#[derive(Debug, Clone)]
pub(crate) struct StartCircuit {
    agents: FailingAgents,
    /// The agent; in no directory, unless its program is another one in each.
    command: AgentCommand,
}

/// Why an agent is not started.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{agent}` could not be started {n_failures} times within {} seconds, and is tried again in {} \
     seconds; the last time: {last_error}",
    .window.as_secs(), .wait.as_secs()
)]
pub struct AgentKeepsFailing {
    agent: String,
    n_failures: usize,
    window: Duration,
    /// In whole seconds.
    pub wait: Duration,
    last_error: String,
}

impl FailingAgents {
    pub(crate) fn circuit_of(&self, command: &AgentCommand) -> StartCircuit {
        let program = command.program.as_encoded_bytes();
        let is_relative = program.contains(&b'/') && !program.starts_with(b"/");
        let cwd = if is_relative { command.cwd.clone() } else { PathBuf::new() };
        StartCircuit { agents: self.clone(), command: AgentCommand { cwd, ..command.clone() } }
    }
}

impl StartCircuit {
    /// Refuses a start, or notes that one is tried.
    pub(super) fn try_start(&self, settings: &SessionSettings) -> Result<(), AgentKeepsFailing> {
        let SessionSettings { limits, restart_window, circuit_open, .. } = settings;
        let mut agents = lock(&self.agents.0);
        let Some(agent) = agents.iter_mut().find(|agent| agent.command == self.command) else {
            return Ok(());
        };
        while agent.failures.front().is_some_and(|at| at.elapsed() > *restart_window) {
            agent.failures.pop_front();
        }
        let wait = circuit_open.saturating_sub(agent.last_try.elapsed());
        // The first start is no restart.
        if agent.failures.len() <= limits.restarts || wait.is_zero() {
            agent.last_try = Instant::now();
            return Ok(());
        }
        Err(AgentKeepsFailing {
            agent: self.command.name.clone(),
            n_failures: agent.failures.len(),
            window: *restart_window,
            // Whoever comes back then does not come too early.
            wait: Duration::from_secs(wait.as_secs() + 1),
            last_error: agent.last_error.clone(),
        })
    }

    /// Notes that the agent could be started.
    pub(super) fn succeeded(&self) {
        lock(&self.agents.0).retain(|agent| agent.command != self.command);
    }

    /// Notes that the agent could not be started, and why.
    pub(super) fn failed(&self, mut last_error: String, max_restarts: usize) {
        let now = Instant::now();
        last_error.truncate(last_error.floor_char_boundary(MAX_ERROR_BYTES));
        let mut agents = lock(&self.agents.0);
        let found = agents.iter().position(|agent| agent.command == self.command);
        let mut agent = match found {
            Some(at) => agents.swap_remove(at),
            None => FailingAgent {
                command: self.command.clone(),
                failures: VecDeque::new(),
                last_error: String::new(),
                last_try: now,
            },
        };
        agent.failures.push_back(now);
        if agent.failures.len() > max_restarts + 1 {
            agent.failures.pop_front();
        }
        (agent.last_error, agent.last_try) = (last_error, now);
        if agents.len() >= MAX_AGENTS {
            let oldest = agents.iter().enumerate().min_by_key(|(_, agent)| agent.last_try);
            if let Some((at, _)) = oldest {
                agents.swap_remove(at);
            }
        }
        agents.push(agent);
    }
}

#[cfg(test)]
mod tests;
