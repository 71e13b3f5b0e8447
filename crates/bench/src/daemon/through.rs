//! The ways to an agent that are compared, and what each must be able to do.

use std::path::Path;
use std::time::Duration;

use super::acpx::Acpx;
use super::bare_pipe::BarePipe;
use super::processes::{Program, memory_mb, own};
use super::sandbox_agent::SandboxAgent;
use super::stage::{Agent, Stage};
use super::stdio_to_ws::StdioToWs;
use super::switchyard::{Over, Switchyard};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    BarePipe,
    StdioToWs,
    SandboxAgent,
    Acpx,
    Switchyard(Over),
}

/// Whether agents are kept ready, where a service can do that: as it comes, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pool {
    AsItComes,
    Off,
}

/// A running service, or what stands for one.
pub(super) trait Service {
    /// A new session with an agent of its own.
    fn open(&mut self) -> anyhow::Result<Box<dyn Conversation>>;

    /// Its program, where there is one that runs all the time.
    fn program(&self) -> Option<&Program>;

    fn home(&self) -> Option<&Path>;
}

/// One session, as its client sees it.
pub(super) trait Conversation {
    fn prompt(&mut self, text: &str) -> anyhow::Result<()>;

    /// The number of the next chunk; none when the turn is over and nothing more comes.
    fn next(&mut self) -> anyhow::Result<Option<u64>>;

    /// Waits for the end of a turn all of whose chunks have come.
    fn finish(&mut self) -> anyhow::Result<()> {
        while self.next()?.is_some() {}
        Ok(())
    }
}

/// A service, and how long it took to be ready.
pub(super) type Started = (Box<dyn Service>, Duration);

impl Through {
    pub(super) const ALL: [Self; 6] = [
        Self::BarePipe,
        Self::StdioToWs,
        Self::SandboxAgent,
        Self::Acpx,
        Self::Switchyard(Over::Sse),
        Self::Switchyard(Over::WebSocket),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BarePipe => "bare pipe",
            Self::StdioToWs => "stdio-to-ws",
            Self::SandboxAgent => "sandbox-agent",
            Self::Acpx => "acpx",
            Self::Switchyard(Over::Sse) => "switchyard, SSE",
            Self::Switchyard(Over::WebSocket) => "switchyard, WS",
        }
    }

    pub(super) fn start(self, stage: &Stage, agent: Agent, pool: Pool) -> anyhow::Result<Started> {
        fn boxed<S: Service + 'static>((service, took): (S, Duration)) -> Started {
            (Box::new(service), took)
        }
        Ok(match self {
            Self::BarePipe => boxed((BarePipe::new(stage, agent), Duration::ZERO)),
            Self::StdioToWs => boxed(StdioToWs::start(stage, agent)?),
            Self::SandboxAgent => boxed(SandboxAgent::start(stage, agent)?),
            Self::Acpx => boxed((Acpx::new(stage, agent)?, Duration::ZERO)),
            Self::Switchyard(over) => boxed(Switchyard::start(stage, agent, pool, over)?),
        })
    }

    /// Whether a program runs all the time that clients connect to.
    pub(super) fn is_daemon(self) -> bool {
        !matches!(self, Self::BarePipe | Self::Acpx)
    }

    /// The same daemon as another row, over other wires.
    pub(super) fn is_second_row(self) -> bool {
        self == Self::Switchyard(Over::WebSocket)
    }

    /// Whether one prompt takes the better part of a second whatever it asks for.
    pub(super) fn is_slow(self) -> bool {
        self == Self::Acpx
    }
}

/// Memory of all that the service runs, but for the agents.
pub(super) fn memory_of(stage: &Stage, service: &dyn Service) -> Option<f64> {
    let home = service.home()?;
    Some(memory_mb(&own(stage, service.program().map(Program::pid), home)))
}
