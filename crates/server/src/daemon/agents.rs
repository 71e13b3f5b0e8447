//! The agents of this machine, found once and shown to many.
//!
//! One search runs at a time, whoever asks; everybody follows the same one. What an earlier
//! search found is answered at once, and looked for again when it is old.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use sessions::registry::SessionRegistry;
use tokio::sync::watch;

use crate::locking::Locking as _;

/// How long a search's result is fresh: agents are installed and updated now and then.
const FRESH_FOR: Duration = Duration::from_secs(5 * 60);
/// A list is answered after this, with what has been found by then. A search starts CLIs,
/// and some of them take seconds.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Limit of the agents in one list; a catalogue has dozens.
const MAX_AGENTS: usize = 1000;

/// The searches for this machine's agents, and what they found.
#[derive(Debug, Default)]
pub(crate) struct KnownAgents(Mutex<AgentSearches>);

#[derive(Debug, Default)]
struct AgentSearches {
    /// The last one that ended.
    done: Option<AgentSearch>,
    running: Option<AgentSearch>,
}

#[derive(Debug, Clone)]
struct AgentSearch {
    found: watch::Receiver<FoundAgents>,
    began: Instant,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FoundAgents {
    pub(crate) agents: Vec<wire::Json>,
    pub(crate) is_done: bool,
}

impl KnownAgents {
    /// The agents found by the current search, as they are found.
    pub(crate) fn follow(
        &self,
        registry: &SessionRegistry,
        refresh: bool,
    ) -> watch::Receiver<FoundAgents> {
        let mut searches = self.0.locked();
        let AgentSearches { done, running } = &mut *searches;
        if running.as_ref().is_some_and(AgentSearch::is_done) {
            *done = running.take();
        }
        let known = done.as_ref().filter(|_| !refresh);
        match known {
            Some(fresh) if fresh.began.elapsed() <= FRESH_FOR => fresh.found.clone(),
            old => {
                let running = running.get_or_insert_with(|| AgentSearch::begin(registry, refresh));
                old.unwrap_or(running).found.clone()
            }
        }
    }
}

impl FoundAgents {
    /// All of them, as far as they are found in time.
    pub(crate) async fn all(search: &mut watch::Receiver<Self>) -> Self {
        Self::when(search, |found| found.is_done).await
    }

    /// The agents found by the time `is_enough` says so, or [`LONGEST_WAIT`] is over.
    pub(crate) async fn when(
        search: &mut watch::Receiver<Self>,
        is_enough: impl FnMut(&Self) -> bool,
    ) -> Self {
        let _ = tokio::time::timeout(LONGEST_WAIT, search.wait_for(is_enough)).await;
        search.borrow().clone()
    }
}

impl AgentSearch {
    fn begin(registry: &SessionRegistry, refresh: bool) -> Self {
        let (sender, found) = watch::channel(FoundAgents::default());
        let mut agents = registry.agents().found(refresh);
        task::spawn(async move {
            while let Some(agent) = agents.recv().await {
                sender.send_if_modified(|found| {
                    let has_room = found.agents.len() < MAX_AGENTS;
                    if has_room {
                        found.agents.push(agent);
                    }
                    has_room
                });
            }
            sender.send_modify(|found| found.is_done = true);
        });
        Self { found, began: Instant::now() }
    }

    fn is_done(&self) -> bool {
        // A search that panicked will find no more.
        self.found.borrow().is_done || self.found.has_changed().is_err()
    }
}
