//! Signals that end a command.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::outcome;

/// The signals that end a run.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The exit code that the next signal asks for.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => outcome::INTERRUPTED,
            _ = self.terminate.recv() => outcome::TERMINATED,
            _ = self.hangup.recv() => outcome::TERMINATED,
        }
    }
}
