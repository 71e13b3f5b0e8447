//! Signals that end a command, and those by which a daemon is run.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::outcome;

/// The signals that end a run.
#[derive(Debug)]
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

/// Cancels `stop` when one of them comes.
pub(crate) fn stop_on_signals(stop: &CancellationToken) -> anyhow::Result<()> {
    let (mut signals, stop) = (Signals::listen()?, stop.clone());
    task::spawn(async move {
        signals.next().await;
        stop.cancel();
    });
    Ok(())
}

/// The action that a signal asks of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalAction {
    /// SIGTERM or SIGINT: take no more, let what runs come to an end.
    Drain,
    /// The second of them: do not wait.
    EndNow,
    /// SIGHUP: read the configuration again.
    Reload,
    /// SIGUSR1: open the log file anew.
    ReopenLog,
}

/// The signals of a daemon.
#[derive(Debug)]
pub(crate) struct DaemonSignals {
    common: Signals,
    user1: Signal,
    is_draining: bool,
}

impl DaemonSignals {
    /// Registers the handlers: from here on none of the signals ends the process by itself.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            common: Signals::listen()?,
            user1: signal(SignalKind::user_defined1())?,
            is_draining: false,
        })
    }

    /// The action that the next signal asks for. Cancel-safe.
    pub(crate) async fn next(&mut self) -> SignalAction {
        tokio::select! {
            biased;
            _ = self.common.terminate.recv() => self.end(),
            _ = self.common.interrupt.recv() => self.end(),
            _ = self.common.hangup.recv() => SignalAction::Reload,
            _ = self.user1.recv() => SignalAction::ReopenLog,
        }
    }

    fn end(&mut self) -> SignalAction {
        match std::mem::replace(&mut self.is_draining, true) {
            false => SignalAction::Drain,
            true => SignalAction::EndNow,
        }
    }
}

#[cfg(test)]
mod tests;
