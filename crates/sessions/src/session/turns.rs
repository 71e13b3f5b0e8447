//! Which turn runs, and which prompts wait for it to end.
//!
//! In: prompts, starts, ends. Out: what to do next. No I/O and no clock.
//!
//! Always true: at most one turn runs; prompts start in the order in which they came;
//! every prompt that was accepted either starts or is dropped, and every turn that started
//! ends once. An end that comes late or twice changes nothing.

use std::collections::VecDeque;

use wire::TurnId;

use crate::halted::QueuedPrompt;

#[derive(Debug)]
pub(crate) struct Turns<P> {
    running: Option<CurrentTurn>,
    /// The one that was started last.
    last: Option<TurnId>,
    queue: VecDeque<(TurnId, P)>,
    max_queued: usize,
    /// No turn begins any more; what waits stays as it is.
    is_held: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CurrentTurn {
    pub(crate) turn: TurnId,
    pub(crate) is_cancelling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotQueued {
    #[error("{0} prompts are waiting already")]
    QueueFull(usize),
    #[error("a prompt with this turn id exists already")]
    DuplicateTurn,
    #[error("another prompt was sent under this request id")]
    OtherPrompt,
}

impl<P> Turns<P> {
    pub(crate) fn new(max_queued: usize) -> Self {
        Self { running: None, last: None, queue: VecDeque::new(), max_queued, is_held: false }
    }

    pub(crate) fn running(&self) -> Option<CurrentTurn> {
        self.running
    }

    /// The turn that what happens now belongs to; what comes late counts for the last one.
    pub(crate) fn current(&self) -> Option<TurnId> {
        self.running.map(|running| running.turn).or(self.last)
    }

    /// The turn that runs, or else the one that is next.
    pub(crate) fn next(&self) -> Option<TurnId> {
        self.running.map(|running| running.turn).or_else(|| self.queued().next())
    }

    /// Nothing runs, and nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.next().is_none()
    }

    pub(crate) fn queued(&self) -> impl Iterator<Item = TurnId> + '_ {
        self.queue.iter().map(|(turn, _)| *turn)
    }

    pub(crate) fn first_queued(&self) -> Option<&P> {
        self.queue.front().map(|(_, prompt)| prompt)
    }

    /// The prompts that wait, in order, as `shown` shows them.
    pub(crate) fn waiting(&self, shown: impl Fn(&P) -> String) -> Vec<QueuedPrompt> {
        let shown =
            |(turn, prompt): &(TurnId, P)| QueuedPrompt { turn: *turn, text: shown(prompt) };
        self.queue.iter().map(shown).collect()
    }

    pub(crate) fn last_queued(&mut self) -> Option<&mut P> {
        self.queue.back_mut().map(|(_, prompt)| prompt)
    }

    /// Accepts a prompt behind those that wait already. Whether there is room is asked
    /// before anything is logged.
    pub(crate) fn check_room(&self, turn: TurnId) -> Result<(), NotQueued> {
        let is_known = self.running.is_some_and(|running| running.turn == turn)
            || self.queued().any(|queued| queued == turn);
        if is_known {
            return Err(NotQueued::DuplicateTurn);
        }
        // The prompt that can start at once does not wait.
        let n_waiting = self.queue.len() + usize::from(self.running.is_some());
        if n_waiting > self.max_queued {
            return Err(NotQueued::QueueFull(self.max_queued));
        }
        Ok(())
    }

    pub(crate) fn enqueue(&mut self, turn: TurnId, prompt: P) -> Result<(), NotQueued> {
        self.check_room(turn)?;
        self.queue.push_back((turn, prompt));
        Ok(())
    }

    /// Queues a prompt that was accepted before, however many wait.
    pub(crate) fn restore(&mut self, turn: TurnId, prompt: P) {
        self.queue.push_back((turn, prompt));
    }

    /// From now on no turn begins: what waits is left to the next process.
    pub(crate) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Whether a prompt waits that may begin when nothing runs.
    pub(crate) fn has_next(&self) -> bool {
        !self.is_held && !self.queue.is_empty()
    }

    /// Starts the next prompt, unless a turn runs or none may begin.
    pub(crate) fn start_next(&mut self) -> Option<(TurnId, P)> {
        if self.running.is_some() || self.is_held {
            return None;
        }
        let (turn, prompt) = self.queue.pop_front()?;
        self.running = Some(CurrentTurn { turn, is_cancelling: false });
        self.last = Some(turn);
        Some((turn, prompt))
    }

    /// Marks the running turn as being cancelled; gives it unless it was marked before.
    pub(crate) fn cancel(&mut self) -> Option<TurnId> {
        let running = self.running.as_mut()?;
        let is_first = !std::mem::replace(&mut running.is_cancelling, true);
        is_first.then_some(running.turn)
    }

    /// Ends `turn`; true the first time.
    pub(crate) fn end(&mut self, turn: TurnId) -> bool {
        let ends = self.running.is_some_and(|running| running.turn == turn);
        if ends {
            self.running = None;
        }
        ends
    }

    /// Takes a prompt back that was never logged, whether it waits or was to begin.
    pub(crate) fn forget(&mut self, turn: TurnId) {
        self.drop_queued(turn);
        self.end(turn);
    }

    /// Takes a waiting prompt out of the queue.
    pub(crate) fn drop_queued(&mut self, turn: TurnId) -> bool {
        let before = self.queue.len();
        self.queue.retain(|(queued, _)| *queued != turn);
        self.queue.len() < before
    }

    pub(crate) fn drop_all_queued(&mut self) -> Vec<TurnId> {
        self.queue.drain(..).map(|(turn, _)| turn).collect()
    }
}

#[cfg(test)]
mod tests;
