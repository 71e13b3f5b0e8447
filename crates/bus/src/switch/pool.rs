//! A pool in the switch: its slots, its circuit breaker and the messages that wait for it.

use std::collections::VecDeque;

use super::routed_message::RoutedMessage;
use super::{ClientId, MonotonicMillis, PoolPlan, Sharing, StartPolicy, WorkerId};

#[derive(Debug)]
pub(super) struct SwitchPool {
    pub(super) plan: PoolPlan,
    pub(super) mode: PoolMode,
    pub(super) slots: Vec<Slot>,
    pub(super) circuit: CircuitBreaker,
    /// When workers died, within the window.
    pub(super) deaths: VecDeque<MonotonicMillis>,
    pub(super) last_failure: Option<String>,
    /// Messages that wait for a worker.
    pub(super) waiting: VecDeque<(ClientId, RoutedMessage<'static>)>,
    pub(super) n_waiting_bytes: usize,
    /// Workers that are still to be replaced, one after the other.
    pub(super) replacing: VecDeque<WorkerId>,
    /// Whether an `initialize` was answered with `loadSession`.
    pub(super) can_load: bool,
    /// Whether a client has needed a pool that starts on demand.
    pub(super) is_woken: bool,
    /// When its requests are next checked for timeouts.
    pub(super) sweep_at: Option<MonotonicMillis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolMode {
    Serving,
    /// Told to drain; its last workers may still be there.
    Stopped,
    /// No longer in the plan.
    Removed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CircuitBreaker {
    Closed,
    Open {
        until: MonotonicMillis,
    },
    /// One worker is tried, to see whether the pool works again; which, once it is started.
    Probing(Option<WorkerId>),
}

/// The place of one worker, which a restarted one takes over.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    pub(super) state: SlotState,
    /// Deaths in a row.
    pub(super) n_failures: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum SlotState {
    #[default]
    Vacant,
    /// Its worker ended well: only a request starts another.
    Resting,
    /// Its worker ended and is not to be restarted.
    Finished,
    Backoff {
        until: MonotonicMillis,
    },
    Taken(WorkerId),
}

impl SwitchPool {
    pub(super) fn new(plan: PoolPlan) -> Self {
        let slots = vec![Slot::default(); plan.max as usize];
        Self {
            plan,
            mode: PoolMode::Serving,
            slots,
            circuit: CircuitBreaker::Closed,
            deaths: VecDeque::new(),
            last_failure: None,
            waiting: VecDeque::new(),
            n_waiting_bytes: 0,
            replacing: VecDeque::new(),
            can_load: false,
            is_woken: false,
            sweep_at: None,
        }
    }

    /// Its workers, by slot.
    pub(super) fn workers(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.workers_from(0)
    }

    /// Its workers from a slot on.
    pub(super) fn workers_from(&self, slot: u32) -> impl Iterator<Item = WorkerId> + '_ {
        self.slots.iter().skip(slot as usize).filter_map(|slot| match slot.state {
            SlotState::Taken(worker) => Some(worker),
            _ => None,
        })
    }

    pub(super) fn n_workers(&self) -> usize {
        self.workers().count()
    }

    /// How many sessions a worker of it may have.
    pub(super) fn max_sessions(&self) -> usize {
        self.plan.max_sessions_per_worker.map_or(usize::MAX, |n| n as usize)
    }

    /// Whether every client has a worker of its own.
    pub(super) fn is_private(&self) -> bool {
        self.plan.sharing == Sharing::OneClient
    }

    /// How many workers are to be kept running.
    pub(super) fn floor(&self) -> usize {
        match self.plan.start {
            StartPolicy::Ahead => self.plan.min as usize,
            StartPolicy::OnDemand if self.is_woken => self.plan.min as usize,
            StartPolicy::OnDemand => 0,
        }
    }

    /// The slots that the plan allows; more may still be taken after it became smaller.
    pub(super) fn usable(&self) -> &[Slot] {
        self.slots.get(..self.slots.len().min(self.plan.max as usize)).unwrap_or_default()
    }

    /// Grows or shrinks to the plan's size; surplus slots go as soon as they have no worker.
    pub(super) fn resize(&mut self) {
        let max = self.plan.max as usize;
        if self.slots.len() < max {
            self.slots.resize_with(max, Slot::default);
        }
        while self.slots.len() > max
            && self.slots.last().is_some_and(|slot| !matches!(slot.state, SlotState::Taken(_)))
        {
            self.slots.pop();
        }
    }

    /// Makes the matching slots vacant.
    pub(super) fn vacate(&mut self, is_to_be: impl Fn(&SlotState) -> bool) {
        for slot in self.slots.iter_mut().filter(|slot| is_to_be(&slot.state)) {
            slot.state = SlotState::Vacant;
        }
    }

    pub(super) fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)
    }
}
