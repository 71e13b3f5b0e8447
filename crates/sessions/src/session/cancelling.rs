//! A turn that is being cancelled: who waits for its end, and how long the agent is asked before it
//! is made to stop.
//!
//! In: requests to cancel, time, ends of turns. Out: when asking is over, as what the turn ends,
//! and who is to be told. No I/O and no clock.
//!
//! Always true: whoever waits is told once, when no turn runs; asking is over once.

use std::time::Instant;

use wire::Fault;
use wire::event::TurnEnded;

use super::ReplySender;
use crate::terminals::StoppedCommands;

#[derive(Debug, Default)]
pub(super) struct Cancelling {
    /// Replies with the number of commands that were ended.
    waiting: Vec<ReplySender<usize>>,
    /// When asking is over.
    deadline: Option<Instant>,
    commands: StoppedCommands,
    /// Why the turn is stopped, if nobody wanted it to be.
    gave_up: Option<Fault>,
}

/// The work that is left when a turn that was cancelled has ended.
#[derive(Debug)]
pub(super) struct CancelResult {
    pub(super) waiting: Vec<ReplySender<usize>>,
    /// Those that wait are told when these have gone, too.
    pub(super) commands: StoppedCommands,
}

impl Cancelling {
    pub(super) fn wait(&mut self, done: ReplySender<usize>) {
        self.waiting.push(done);
    }

    /// The agent has been asked, and has until then.
    pub(super) fn asked(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether asking is over now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        self.deadline.take_if(|deadline| *deadline <= now).is_some()
    }

    /// Commands that are ended with the turn.
    pub(super) fn add(&mut self, commands: StoppedCommands) {
        self.commands.add(commands);
    }

    /// The turn fails for that, however the agent ends it.
    pub(super) fn give_up(&mut self, why: Fault) {
        self.gave_up = Some(why);
    }

    /// The end of a turn that its agent has ended: failed, if it was given up.
    pub(super) fn end_of<'a>(&mut self, ended: TurnEnded<'a>) -> TurnEnded<'a> {
        self.gave_up.take().map_or(ended, TurnEnded::failed)
    }

    /// No turn runs any more.
    pub(super) fn finish(&mut self) -> CancelResult {
        let Self { waiting, commands, .. } = std::mem::take(self);
        CancelResult { waiting, commands }
    }
}

#[cfg(test)]
mod tests;
