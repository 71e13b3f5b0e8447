//! Stops commands because somebody cancelled.
//!
//! They are asked first and killed then, with all that they started, and stay known to the
//! agent, which may look at what they printed. What a stopped turn still wants to start is
//! refused: nobody would end it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bus::StopLadder;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::{RpcError, TurnId};

use super::{ENDING, LOGGED_WITHIN, Terminal, Terminals};
use crate::lock::lock;

/// The ladder for commands, which have no input that could end.
const LADDER: StopLadder =
    StopLadder { after_eof: Duration::ZERO, after_term: Duration::from_secs(3) };

/// Commands that are being ended.
#[derive(Debug, Default)]
pub(crate) struct StoppedCommands {
    pub(crate) n_commands: usize,
    endings: Vec<JoinHandle<()>>,
}

impl StoppedCommands {
    pub(crate) fn is_none(&self) -> bool {
        self.n_commands == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.n_commands += other.n_commands;
        self.endings.extend(other.endings);
    }

    /// Waits until they are gone and the log says so. They are stopped without that as well.
    pub(crate) async fn gone(self) {
        for ending in self.endings {
            let _ = ending.await;
        }
    }
}

impl Terminals {
    /// Ends the commands that `turn` started and that still run.
    pub(crate) fn stop_turn(&self, turn: TurnId) -> StoppedCommands {
        self.stop(Some(turn), |terminal| terminal.turn == Some(turn))
    }

    /// Ends every command that still runs, whichever turn up to `last` started it.
    pub(crate) fn stop_all(&self, last: Option<TurnId>) -> StoppedCommands {
        self.stop(last, |_| true)
    }

    fn stop(&self, turn: Option<TurnId>, is_meant: impl Fn(&Terminal) -> bool) -> StoppedCommands {
        // Before looking at what is open: what is being started is either seen here or sees this.
        *lock(&self.stopped) = turn;
        let open = lock(&self.open);
        // Each is stopped once, and none that has ended.
        let begins_to_stop = |terminal: &Terminal| {
            terminal.report().is_none() && !terminal.is_stopping.swap(true, Ordering::Relaxed)
        };
        let meant = open.values().filter(|terminal| is_meant(terminal) && begins_to_stop(terminal));
        let endings: Vec<_> = meant.map(|terminal| task::spawn(end(terminal.clone()))).collect();
        StoppedCommands { n_commands: endings.len(), endings }
    }

    pub(super) fn check_not_stopped(&self, turn: Option<TurnId>) -> Result<(), RpcError> {
        let stopped = *lock(&self.stopped);
        match turn.is_some() && turn == stopped {
            true => Err(RpcError::internal("the turn was cancelled: it starts no more commands")),
            false => Ok(()),
        }
    }
}

async fn end(terminal: Arc<Terminal>) {
    let stopping = async {
        terminal.worker.stop(&LADDER).await;
        terminal.finished().await;
    };
    let _ = timeout(ENDING, stopping).await;
    let _ = timeout(LOGGED_WITHIN, terminal.logged()).await;
}
