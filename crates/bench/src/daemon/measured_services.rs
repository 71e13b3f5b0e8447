//! The ways to an agent that are compared.

use std::time::Duration;

use super::acpx::Acpx;
use super::bare_pipe::BarePipe;
use super::sandbox_agent::SandboxAgent;
use super::service::{Service, WarmPool};
use super::setup::{Agent, DaemonBenchSetup};
use super::stdio_to_ws::StdioToWs;
use super::switchyard::{EventTransport, Switchyard};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasuredService {
    BarePipe,
    StdioToWs,
    SandboxAgent,
    Acpx,
    Switchyard(EventTransport),
}

/// A service, and how long it took to be ready.
pub(super) type StartedService = (Box<dyn Service>, Duration);

impl MeasuredService {
    pub(super) const ALL: [Self; 6] = [
        Self::BarePipe,
        Self::StdioToWs,
        Self::SandboxAgent,
        Self::Acpx,
        Self::Switchyard(EventTransport::Sse),
        Self::Switchyard(EventTransport::WebSocket),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::BarePipe => "bare pipe",
            Self::StdioToWs => "stdio-to-ws",
            Self::SandboxAgent => "sandbox-agent",
            Self::Acpx => "acpx",
            Self::Switchyard(EventTransport::Sse) => "switchyard, SSE",
            Self::Switchyard(EventTransport::WebSocket) => "switchyard, WS",
        }
    }

    pub(super) fn start(
        self,
        stage: &DaemonBenchSetup,
        agent: Agent,
        pool: WarmPool,
    ) -> anyhow::Result<StartedService> {
        fn boxed<S: Service + 'static>((service, took): (S, Duration)) -> StartedService {
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
        self == Self::Switchyard(EventTransport::WebSocket)
    }

    /// Whether one prompt takes the better part of a second whatever it asks for.
    pub(super) fn is_slow(self) -> bool {
        self == Self::Acpx
    }
}
