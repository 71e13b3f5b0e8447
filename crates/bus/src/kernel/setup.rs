//! The configuration of a bus: its pools, and the limits where bytes become lines.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use crate::processes::launch::Launch;
use crate::processes::worker::StopLadder;
use crate::switch::{PlanError, PoolPlan, SwitchLimits, SwitchPlan};

/// The configuration of a bus, at its start and at a reload.
#[derive(Debug, Clone)]
pub struct KernelSetup {
    pub pools: Vec<PoolSetup>,
    pub limits: SwitchLimits,
    pub edges: IoLimits,
    /// The file into which every input and output is recorded, so that the run can be replayed. It
    /// holds the messages of clients and workers. Taken from the start; a reload does not change
    /// it.
    pub record: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct PoolSetup {
    /// Its `launch` is filled in from the one below.
    pub plan: PoolPlan,
    pub launch: Launch,
    pub ladder: StopLadder,
}

/// Limits of what is read and waited for, where bytes become lines. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IoLimits {
    pub max_client_line_bytes: usize,
    pub max_worker_line_bytes: usize,
    /// Bytes that the unfinished lines of all clients may hold together.
    pub max_unfinished_bytes: usize,
    /// A client that stops in the middle of a line for so long is closed; a worker is ended if
    /// somebody waits for it meanwhile.
    pub line_timeout: u64,
    /// How long a client may take to show its token, where one is needed.
    pub hello_timeout: u64,
    /// How long a TCP client that has stopped sending waits for its answers. Whether it is
    /// still there cannot be seen before something is sent to it.
    pub half_close_wait: u64,
    /// A worker that takes nothing from its full pipe for so long is stuck.
    pub worker_stuck_after: u64,
    /// How often the memory of workers that have a limit is looked at.
    pub memory_interval: u64,
}

/// Places in a line are counted in 32 bits, and one line in memory is enough of this.
pub(super) const MAX_LINE_BYTES: usize = 1 << 30;

impl Default for IoLimits {
    fn default() -> Self {
        Self {
            max_client_line_bytes: wire::limits::CLIENT_LINE_BYTES,
            max_worker_line_bytes: wire::limits::WORKER_LINE_BYTES,
            max_unfinished_bytes: 256 << 20,
            line_timeout: 60_000,
            hello_timeout: 10_000,
            half_close_wait: 30_000,
            worker_stuck_after: 60_000,
            memory_interval: 2_000,
        }
    }
}

impl KernelSetup {
    /// The plan for the switch, checked.
    pub fn plan(&self) -> Result<SwitchPlan, PlanError> {
        let edges = &self.edges;
        if edges.max_client_line_bytes == 0 || edges.max_worker_line_bytes == 0 {
            return Err(PlanError::Limits("lines may not be empty"));
        }
        if edges.max_client_line_bytes.max(edges.max_worker_line_bytes) > MAX_LINE_BYTES {
            return Err(PlanError::Limits("a line may not have more than 1 GiB"));
        }
        let pools = self.pools.iter().map(PoolSetup::plan).collect();
        let plan = SwitchPlan { pools, limits: self.limits.clone() };
        plan.check()?;
        Ok(plan)
    }
}

impl PoolSetup {
    /// A pool with the default stop ladder.
    pub fn new(plan: PoolPlan, launch: Launch) -> Self {
        Self { plan, launch, ladder: StopLadder::default() }
    }

    fn plan(&self) -> PoolPlan {
        PoolPlan { launch: fingerprint_of(&self.launch), ..self.plan.clone() }
    }
}

/// A fingerprint of a launch: the same for launches that are the same, as long as this process
/// lives. Plans are written into recordings, so what may be a secret goes in under a key that
/// nobody has.
fn fingerprint_of(launch: &Launch) -> Arc<str> {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let Launch { program, args, cwd, env, .. } = launch;
    let all = (program, args, cwd, env.inherit, &env.set, &env.strip);
    format!("{} #{:016x}", program.display(), KEY.hash_one(all)).into()
}

#[cfg(test)]
mod tests;
