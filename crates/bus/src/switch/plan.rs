//! The plan of a switch: its pools and limits.
//!
//! The fields are plain so that a configuration can be turned into them; [`SwitchPlan::check`]
//! says whether they make sense, and the switch is only given plans that do. As JSON a plan stands
//! in recorded histories.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchPlan {
    pub pools: Vec<PoolPlan>,
    pub limits: SwitchLimits,
}

/// Interchangeable workers. All times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolPlan {
    pub name: Arc<str>,
    /// Everything that makes the process what it is (command, arguments, environment,
    /// directory), in any form that is equal when they are. A pool whose launch changes at a
    /// reload has its workers replaced; any other change leaves them running.
    pub launch: Arc<str>,
    /// How many workers are kept running.
    pub min: u32,
    pub max: u32,
    pub start: StartPolicy,
    pub sharing: Sharing,
    pub restart: RestartPolicy,
    pub backoff: Backoff,
    pub intensity: RestartIntensity,
    /// How long a worker may take to end its requests before it is stopped.
    pub drain_timeout: u64,
    pub ping: Option<PingPolicy>,
    /// A worker that uses more is replaced.
    pub max_memory_bytes: Option<u64>,
    /// Time to answer a request, counted from when it came. Not for `session/prompt`: a turn lasts
    /// as long as the person behind it lets it.
    pub request_timeout: Option<u64>,
    /// Time to answer a `session/prompt`, counted in the same way.
    pub prompt_timeout: Option<u64>,
    pub max_sessions_per_worker: Option<u32>,
    /// Time without session or request after which a worker above `min` is stopped.
    pub idle_stop: Option<u64>,
    /// Methods that are sent to every worker and whose answers are merged; in a pool with a worker
    /// per client, to that one alone.
    pub fan_out: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartPolicy {
    /// `min` workers run from the beginning.
    Ahead,
    /// The first request starts them; when all have been idle for `idle_stop`, none is kept.
    OnDemand,
}

/// How many clients a worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Any number of clients.
    Shared,
    /// One client in its life, for workers that keep state beside their sessions, as MCP servers
    /// do. All messages of a client go to its own worker, all messages of the worker to it, and
    /// both its sessions and its worker end when it leaves. A client that comes when `max` workers
    /// have one waits if a place is about to become free, and is refused if not.
    OneClient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    Always,
    /// A worker that ends well stays down until a request needs one.
    OnFailure,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    pub initial: u64,
    /// Also how long a worker must have lived for its next death to count as the first.
    pub max: u64,
    /// Each delay is made longer or shorter by up to this part of it, at random.
    pub jitter_percent: u32,
}

/// The limit on deaths. After more than `n_deaths` in `window` the pool has failed: nothing is
/// started for `cool_down`, then one worker is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartIntensity {
    pub n_deaths: u32,
    pub window: u64,
    pub cool_down: u64,
}

/// A liveness check. A worker that sent nothing for `interval` gets a ping, and is stuck if it
/// sends nothing for `timeout` more. Any line is a sign of life, an error too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PingPolicy {
    pub method: Arc<str>,
    pub interval: u64,
    pub timeout: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwitchLimits {
    pub max_clients: usize,
    /// Requests of one client that wait for an answer.
    pub max_open_per_client: usize,
    pub max_sessions: usize,
    /// Sessions that one client has open.
    pub max_sessions_per_client: usize,
    pub client_queue: QueueMarks,
    /// `full` also bounds what waits for a pool whose workers are still starting.
    pub worker_queue: QueueMarks,
    /// How long sessions outlive their client.
    pub session_grace: u64,
    /// How long a client may stay above its high mark.
    pub slow_client_after: Option<u64>,
}

/// Bytes that wait for a reader: reading from those that feed it stops above `high` and goes
/// on below `low`; above `full` nothing more is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueMarks {
    pub low: usize,
    pub high: usize,
    pub full: usize,
}

/// Workers of one pool; more would be a slip of the keyboard.
const MAX_WORKERS: u32 = 4096;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("there is no pool")]
    NoPools,
    #[error("pool `{0}` is there twice")]
    PoolTwice(Arc<str>),
    #[error("pool `{pool}`: {why}")]
    Pool { pool: Arc<str>, why: &'static str },
    #[error("limits: {0}")]
    Limits(&'static str),
}

impl SwitchPlan {
    pub fn check(&self) -> Result<(), PlanError> {
        if self.pools.is_empty() {
            return Err(PlanError::NoPools);
        }
        let mut names = BTreeSet::new();
        for pool in &self.pools {
            if !names.insert(&pool.name) {
                return Err(PlanError::PoolTwice(pool.name.clone()));
            }
            pool.check()?;
        }
        self.limits.check()
    }
}

impl PoolPlan {
    /// A pool of `n_workers`, started ahead and always restarted, with defaults for the rest.
    pub fn fixed(name: &str, launch: &str, n_workers: u32) -> Self {
        Self {
            name: name.into(),
            launch: launch.into(),
            min: n_workers,
            max: n_workers,
            start: StartPolicy::Ahead,
            sharing: Sharing::Shared,
            restart: RestartPolicy::Always,
            backoff: Backoff { initial: 100, max: 30_000, jitter_percent: 20 },
            intensity: RestartIntensity { n_deaths: 5, window: 180_000, cool_down: 60_000 },
            drain_timeout: 30_000,
            ping: None,
            max_memory_bytes: None,
            request_timeout: None,
            prompt_timeout: None,
            max_sessions_per_worker: None,
            idle_stop: None,
            fan_out: vec!["session/list".into()],
        }
    }

    pub fn check(&self) -> Result<(), PlanError> {
        let why = match self {
            _ if self.name.is_empty() => "its name is empty",
            _ if self.max > MAX_WORKERS => "it may have too many workers; 4096 are enough",
            _ if self.max == 0 => "it may have no workers; `max` must be at least 1",
            _ if self.min > self.max => "`min` is larger than `max`",
            _ if self.min == 0 && self.start == StartPolicy::Ahead => {
                "nothing is started ahead with `min` = 0; start it on demand"
            }
            _ if self.backoff.initial > self.backoff.max => {
                "the first backoff is longer than the longest"
            }
            _ if self.backoff.jitter_percent > 100 => "jitter is more than 100 percent",
            _ if self.request_timeout == Some(0) => "the request timeout is zero",
            _ if self.prompt_timeout == Some(0) => "the prompt timeout is zero",
            _ if self.max_sessions_per_worker == Some(0) => "workers may have no sessions",
            _ if self.idle_stop == Some(0) => "the idle time is zero",
            Self { ping: Some(ping), .. } if ping.interval == 0 || ping.timeout == 0 => {
                "the ping's interval or timeout is zero"
            }
            _ => return Ok(()),
        };
        Err(PlanError::Pool { pool: self.name.clone(), why })
    }
}

impl SwitchLimits {
    pub fn check(&self) -> Result<(), PlanError> {
        let are_ordered = |marks: QueueMarks| marks.low <= marks.high && marks.high <= marks.full;
        let why = match () {
            () if self.max_clients == 0 => "`max_clients` is zero",
            () if self.max_open_per_client == 0 => "`max_open_per_client` is zero",
            () if self.max_sessions == 0 => "`max_sessions` is zero",
            () if self.max_sessions_per_client == 0 => "`max_sessions_per_client` is zero",
            () if !are_ordered(self.client_queue) || !are_ordered(self.worker_queue) => {
                "queue marks must rise from low to high to full"
            }
            () => return Ok(()),
        };
        Err(PlanError::Limits(why))
    }
}

impl Default for SwitchLimits {
    fn default() -> Self {
        Self {
            max_clients: 4096,
            max_open_per_client: 4096,
            max_sessions: 65_536,
            max_sessions_per_client: 16_384,
            client_queue: QueueMarks { low: 512 << 10, high: 2 << 20, full: 64 << 20 },
            worker_queue: QueueMarks { low: 1 << 20, high: 4 << 20, full: 64 << 20 },
            session_grace: 300_000,
            slow_client_after: Some(60_000),
        }
    }
}
