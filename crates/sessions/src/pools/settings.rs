//! Settings of the pools, each with its default and its reason.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::name_list::names;

#[derive(Debug, Clone)]
pub struct WarmSettings {
    /// Whether workers are kept ready at all, where `agents` does not say otherwise.
    pub is_on: bool,
    /// Agents for which it is different, by name.
    pub agents: BTreeMap<String, bool>,
    /// Over all keys. A warm worker of a Node CLI takes 100 to 600 MB.
    pub max_workers: usize,
    /// How many are ready for the same agent, directory, environment and model.
    pub max_per_key: usize,
    /// Resident memory of all warm workers with everything they started.
    pub max_memory_bytes: u64,
    /// Since the last use; for a shared worker, since the last session let go of it.
    pub idle: Duration,
    /// A warm start that takes longer has failed. Nobody waits for it, but the next one does.
    pub start_within: Duration,
    /// How often programs, memory and idle times are looked at.
    pub check_every: Duration,
    /// Also open a session in each warm worker: `session/new` alone takes some agents seconds.
    /// An agent that keeps sessions and can neither close nor delete them keeps one for every
    /// worker that was not needed.
    pub opens_sessions: bool,
    /// Files that agents read when they start or open a session, relative to its directory: a
    /// worker that has read an older one is replaced.
    pub watched: Vec<PathBuf>,
    /// The directory in which shared workers are started; without it, that of the first session.
    pub shared_cwd: Option<PathBuf>,
}

impl Default for WarmSettings {
    fn default() -> Self {
        const WATCHED: &[&str] = names!(
            "AGENTS.md CLAUDE.md GEMINI.md .mcp.json opencode.json .claude/settings.json \
             .claude/settings.local.json"
        );
        Self {
            is_on: true,
            agents: BTreeMap::new(),
            max_workers: 4,
            max_per_key: 1,
            max_memory_bytes: 1 << 30,
            idle: Duration::from_secs(600),
            start_within: Duration::from_secs(60),
            check_every: Duration::from_secs(30),
            opens_sessions: true,
            watched: WATCHED.iter().map(PathBuf::from).collect(),
            shared_cwd: None,
        }
    }
}

impl WarmSettings {
    pub(super) fn is_warm(&self, agent: &str) -> bool {
        self.agents.get(agent).copied().unwrap_or(self.is_on)
            && self.max_workers > 0
            && self.max_per_key > 0
    }
}
