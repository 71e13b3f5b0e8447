//! What a worker, and all workers of a session together, may use of the machine.
//!
//! In: the numbers of the configuration. Out: the files of a cgroup that hold a group to them. A
//! limit is in force only where its controller could be enabled ([`controllers`](super::controllers)),
//! and whoever asks is told which are not, and why.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Limits of one group of processes. Zero stands for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GroupLimits {
    /// Processes and threads.
    pub pids: u64,
    /// Bytes of memory. When more is needed, a worker is ended, with all that it has started.
    pub memory_bytes: u64,
    /// The share of the processor when others want it, too: 1 to 10000, 100 for any other group.
    pub cpu_weight: u64,
}

/// The largest `cpu.weight` that the kernel takes.
pub const MOST_CPU_WEIGHT: u64 = 10_000;

/// A controller of cgroup v2 that a limit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Pids,
    Memory,
    Cpu,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Pids, Self::Memory, Self::Cpu];

    /// Its name in the files of a cgroup.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pids => "pids",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
        }
    }

    /// The limit by its name in the configuration.
    pub(super) fn limit(self) -> &'static str {
        match self {
            Self::Pids => "pids",
            Self::Memory => "memory_bytes",
            Self::Cpu => "cpu_weight",
        }
    }
}

impl GroupLimits {
    pub(super) fn needs(&self, controller: Controller) -> bool {
        self.value(controller) > 0
    }

    fn value(&self, controller: Controller) -> u64 {
        match controller {
            Controller::Pids => self.pids,
            Controller::Memory => self.memory_bytes,
            Controller::Cpu => self.cpu_weight,
        }
    }

    fn remove(&mut self, controller: Controller) {
        match controller {
            Controller::Pids => self.pids = 0,
            Controller::Memory => self.memory_bytes = 0,
            Controller::Cpu => self.cpu_weight = 0,
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Holds the group to the limits. One that the kernel refuses is told to the log: the worker
    /// runs without it.
    fn write(&self, dir: &Path) {
        for controller in Controller::ALL.into_iter().filter(|needed| self.needs(*needed)) {
            let file = match controller {
                Controller::Pids => "pids.max",
                Controller::Memory => "memory.max",
                Controller::Cpu => "cpu.weight",
            };
            set(dir, file, self.value(controller));
        }
    }
}

fn set(dir: &Path, file: &str, value: u64) {
    if let Err(error) = fs::write(dir.join(file), value.to_string()) {
        let dir = dir.display();
        tracing::warn!(%dir, file, value, %error, "cannot set a limit of a worker");
    }
}

/// The limits of a worker, and those of its session, if it has one, as far as they can be enforced.
#[derive(Debug, Clone, Default)]
pub struct WorkerLimits {
    pub(super) worker: GroupLimits,
    session: GroupLimits,
    session_id: Option<String>,
    missing: Arc<[MissingLimit]>,
}

/// A limit that somebody wants and that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLimit {
    /// By its name in the configuration.
    pub limit: &'static str,
    pub why: String,
}

impl WorkerLimits {
    pub(super) fn without(
        mut worker: GroupLimits,
        mut session: GroupLimits,
        missing: Vec<(Controller, String)>,
    ) -> Self {
        for (controller, _) in &missing {
            worker.remove(*controller);
            session.remove(*controller);
        }
        let named = missing
            .into_iter()
            .map(|(controller, why)| MissingLimit { limit: controller.limit(), why });
        Self { worker, session, session_id: None, missing: named.collect() }
    }

    /// The same for the workers of a session. The id becomes part of the name of a directory.
    #[must_use]
    pub fn of_session(&self, id: &str) -> Self {
        Self { session_id: Some(id.to_owned()), ..self.clone() }
    }

    /// The limits that were asked for and are not in force.
    pub fn missing(&self) -> &[MissingLimit] {
        &self.missing
    }

    /// The session whose workers are limited together, if there is anything to limit.
    pub(super) fn limited_session(&self) -> Option<&str> {
        self.session_id.as_deref().filter(|id| !self.session.is_none() && !id.contains('/'))
    }

    /// The controllers that groups of workers need from the one around them.
    pub(super) fn worker_controllers(&self) -> impl Iterator<Item = Controller> {
        Controller::ALL.into_iter().filter(|controller| match controller {
            Controller::Memory => self.limits_memory(),
            Controller::Pids | Controller::Cpu => self.worker.needs(*controller),
        })
    }

    pub(super) fn write_session(&self, dir: &Path) {
        self.session.write(dir);
    }

    pub(super) fn write_worker(&self, dir: &Path) {
        self.worker.write(dir);
        if self.limits_memory() {
            // Half a worker is of no use to anybody: its tree dies as one.
            set(dir, "memory.oom.group", 1);
        }
    }

    fn limits_memory(&self) -> bool {
        self.worker.needs(Controller::Memory) || self.session.needs(Controller::Memory)
    }
}
