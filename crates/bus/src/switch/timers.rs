//! What is due when.
//!
//! A timer is only a reason to look: whoever is woken checks whether anything is really due,
//! so an old entry does no harm.

use super::pool::{Circuit, Pool, PoolId, Seat};
use super::session::SessionKey;
use super::{ClientId, Millis, Switch, WorkerId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Backoffs of the pool's slots, or its first start.
    Refill(PoolId),
    /// The end of a failed pool's cool-down.
    Circuit(PoolId),
    /// Requests that waited too long.
    Sweep(PoolId),
    /// Workers with nothing to do.
    Idle(PoolId),
    /// The worker has lived long enough to be trusted.
    Stable(WorkerId),
    Ping(WorkerId),
    Drain(WorkerId),
    Grace(SessionKey),
    SlowClient(ClientId),
    /// The time is over that a client has which said everything.
    Finish(ClientId),
}

impl Switch {
    pub(super) fn set_timer(&mut self, at: Millis, timer: Timer) {
        self.timers.insert((at, timer));
    }

    pub(super) fn time_passed(&mut self) {
        // What is set meanwhile and due at once waits for the next call: no endless loop.
        let later = self.timers.split_off(&(self.now.after(1), Timer::Refill(PoolId(0))));
        let due = std::mem::replace(&mut self.timers, later);
        for (_, timer) in due {
            self.fire(timer);
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Refill(pool) => self.backoff_ended(pool),
            Timer::Circuit(pool) => self.cool_down_ended(pool),
            Timer::Sweep(pool) => self.sweep(pool),
            Timer::Idle(pool) => self.stop_idle(pool),
            Timer::Stable(worker) => self.worker_proved(worker),
            Timer::Ping(worker) => self.ping(worker),
            Timer::Drain(worker) => self.drain_timed_out(worker),
            Timer::Grace(session) => self.grace_ended(session),
            Timer::SlowClient(client) => self.slow_client(client),
            Timer::Finish(client) => self.finish_timed_out(client),
        }
    }

    fn backoff_ended(&mut self, id: PoolId) {
        let now = self.now;
        let Some(pool) = self.pools.get_mut(&id) else { return };
        for slot in &mut pool.slots {
            if matches!(slot.seat, Seat::Backoff { until } if until <= now) {
                slot.seat = Seat::Vacant;
            }
        }
        self.refill(id);
    }

    fn cool_down_ended(&mut self, id: PoolId) {
        let now = self.now;
        let is_over = |pool: &Pool| matches!(pool.circuit, Circuit::Open { until } if until <= now);
        let Some(pool) = self.pools.get_mut(&id).filter(|pool| is_over(pool)) else { return };
        pool.circuit = Circuit::Probing(None);
        for slot in &mut pool.slots {
            if matches!(slot.seat, Seat::Backoff { .. }) {
                slot.seat = Seat::Vacant;
            }
        }
        self.refill(id);
    }
}
