//! The traits of a service that is measured and of its sessions.

use std::path::Path;

use super::processes::{Program, memory_mb, own};
use super::setup::DaemonBenchSetup;

/// Whether agents are kept ready, where a service can do that: as it comes, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarmPool {
    AsItComes,
    Off,
}

/// A running service, or a stand-in for peers without one.
pub(super) trait Service {
    /// A new session with an agent of its own.
    fn open(&mut self) -> anyhow::Result<Box<dyn MeasuredSession>>;

    /// Its program, where there is one that runs all the time.
    fn program(&self) -> Option<&Program>;

    fn home(&self) -> Option<&Path>;
}

/// One session, as its client sees it.
pub(super) trait MeasuredSession {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()>;

    /// The number of the next chunk; none when the turn is over and nothing more comes.
    fn next(&mut self) -> anyhow::Result<Option<u64>>;

    /// Waits for the end of a turn all of whose chunks have come.
    fn finish(&mut self) -> anyhow::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }
}

/// Memory of all that the service runs, but for the agents.
pub(super) fn memory_of(stage: &DaemonBenchSetup, service: &dyn Service) -> Option<f64> {
    let home = service.home()?;
    Some(memory_mb(&own(stage, service.program().map(Program::pid), home)))
}
