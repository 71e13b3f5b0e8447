//! The bus without its pipes: routes lines between clients and workers, and decides which workers
//! live.
//!
//! In: a [`SwitchInput`] and the time. Out: [`SwitchOutput`]s, appended to a list. No I/O, no
//! clock, no randomness but a seeded generator for jitter: the same plan, seed and history give the
//! same outputs, so that any run can be recorded ([`history`]) and replayed.
//!
//! **Ids.** Every request gets an id of the hop it takes: a worker sees 1, 2, 3… of the switch
//! whatever clients wrote, and so does a client for requests of workers. Answers carry the
//! asker's id, byte for byte; so does `params.requestId` of cancellations. Nothing else in a
//! line is touched, but for the name of a session that has an alias.
//!
//! **Sessions** are pinned to a worker: by `params.sessionId`, by `result.sessionId` of the
//! answer that opened them, or by a `sessionId` beside the method. A name that nobody knows is
//! bound by the first request that uses it. The first client is the owner, to whom updates go;
//! `session/load` and `session/resume` take a session over, and one whose owner left belongs to
//! the next client that names it. Names are unique within a worker; when two workers hand out
//! the same one, the second session gets an alias towards clients. A session whose worker died
//! is moved with `session/load` where the agent said that it can, and is not found otherwise.
//! One that nobody claims in time is closed at its worker, where the agent said that it can.
//!
//! **Without a session** requests go to the client's home worker, the least loaded when it was
//! chosen. Before a worker serves a client that has sent `initialize`, it is sent the same, and its
//! answer is swallowed. Fan-out methods (`session/list`) are sent to all workers and their answers
//! merged. Messages of a worker without a session go to its only client; if it has several, to
//! none. In a pool with [`Sharing::OneClient`] every client has a worker of its own.
//!
//! **Exactly one answer.** Every request that is taken is answered under its own id: by its
//! worker, or by an error with `data {reason, pool?, worker?, retryAfterMs?}`, unless its client
//! leaves. A client that has ended its input and still reads stays until it has its answers.
//!
//! **Pressure.** A slow party never delays another:
//! - a worker that leaves too much unread: clients are no longer read *when they send to it*;
//!   above its limit their requests are refused;
//! - a client that leaves too much unread is no longer read; a worker that serves only this
//!   client is not read either; if it has workers that serve others too, they are read on and
//!   the client is evicted at its limit; and in any case after `slow_client_after`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod answers;
mod backpressure;
mod client;
mod client_lifecycle;
mod client_messages;
mod commands;
mod counters;
mod destination;
mod fan_out;
mod hash;
pub mod history;
mod ids;
mod interface;
mod line_edits;
mod merge;
mod plan;
mod pool;
mod refusal;
mod request_timeouts;
mod routed_message;
mod sending;
mod session;
mod session_moves;
mod supervision;
mod timers;
mod waiting_messages;
mod worker;
mod worker_choice;
mod worker_deaths;
mod worker_messages;

pub use counters::{Counters, PoolState, PoolStatus, SwitchStatus, WorkerStatus};
pub use interface::{
    BusCommand, ClientId, CloseReason, MonotonicMillis, QueueLevel, StopHow, SwitchInput,
    SwitchOutput, WorkerId,
};
pub use plan::{
    Backoff, PingPolicy, PlanError, PoolPlan, QueueMarks, RestartIntensity, RestartPolicy, Sharing,
    StartPolicy, SwitchLimits, SwitchPlan,
};
pub use refusal::{CLIENT_GONE, NO_ROUTE, OVERLOADED, TIMED_OUT, UNAVAILABLE, WORKER_LOST};
pub use worker::WorkerStage;

use client::SwitchClient;
use fan_out::FanOut;
pub(crate) use hash::IdMap;
use hash::{Jitter, NameHash};
use ids::{FanOutId, PoolId};
use pool::SwitchPool;
use session::SwitchSessions;
use timers::Timer;
use worker::SwitchWorker;

#[derive(Debug)]
pub struct Switch {
    limits: SwitchLimits,
    /// As the plan lists them; those that were removed stay until their workers have ended.
    pools: BTreeMap<PoolId, SwitchPool>,
    pool_names: BTreeMap<Arc<str>, PoolId>,
    clients: IdMap<ClientId, SwitchClient>,
    workers: IdMap<WorkerId, SwitchWorker>,
    sessions: SwitchSessions,
    fans: IdMap<FanOutId, FanOut>,
    timers: BTreeSet<(MonotonicMillis, Timer)>,
    counters: Counters,
    jitter: Jitter,
    names: NameHash,
    n_workers: u64,
    n_pools: u32,
    n_fans: u64,
    /// Pools with waiting messages, for which a worker may now be found.
    retries: Vec<PoolId>,
    /// Clients that have ended their input and may have got their last answer.
    finishing: Vec<ClientId>,
    is_draining: bool,
    now: MonotonicMillis,
    /// The outputs of one step, in the order in which they are to be done.
    out: Vec<SwitchOutput>,
}

impl Switch {
    /// Nothing is started before the first input: give it [`SwitchInput::TimePassed`] to begin.
    pub fn new(plan: SwitchPlan, seed: u64) -> Result<Self, PlanError> {
        plan.check()?;
        let names = NameHash { seed };
        let mut switch = Self {
            limits: plan.limits,
            pools: BTreeMap::new(),
            pool_names: BTreeMap::new(),
            clients: IdMap::default(),
            workers: IdMap::default(),
            sessions: SwitchSessions::new(names),
            fans: IdMap::default(),
            timers: BTreeSet::new(),
            counters: Counters::default(),
            jitter: Jitter(seed),
            names,
            n_workers: 0,
            n_pools: 0,
            n_fans: 0,
            retries: Vec::new(),
            finishing: Vec::new(),
            is_draining: false,
            now: MonotonicMillis::default(),
            out: Vec::new(),
        };
        for pool in plan.pools {
            let id = switch.add_pool(pool);
            switch.timers.insert((MonotonicMillis::default(), Timer::Refill(id)));
        }
        Ok(switch)
    }

    /// Takes one input; what is to be done is appended to `out`. A plan that makes no sense is
    /// ignored: check it first.
    pub fn take(&mut self, now: MonotonicMillis, input: SwitchInput, out: &mut Vec<SwitchOutput>) {
        self.step(now, out, |switch| match input {
            SwitchInput::ClientLine { client, line } => switch.client_line(client, &line),
            SwitchInput::WorkerLine { worker, line } => switch.worker_line(worker, &line),
            SwitchInput::ClientCame { client, pool } => switch.client_came(client, pool),
            SwitchInput::ClientLineTooLong { client, head } => {
                switch.client_line_too_long(client, &head);
            }
            SwitchInput::ClientLeft { client } => switch.client_left(client),
            SwitchInput::ClientFinished { client, wait } => switch.client_finished(client, wait),
            SwitchInput::ClientOutbox { client, level } => switch.client_level(client, level),
            SwitchInput::WorkerRuns { worker } => switch.worker_runs(worker),
            SwitchInput::WorkerNotStarted { worker, why } => {
                switch.worker_gone(worker, false, &format!("it could not be started: {why}"));
            }
            SwitchInput::WorkerLineTooLong { worker, head } => {
                switch.worker_line_too_long(worker, &head);
            }
            SwitchInput::WorkerExited { worker, is_success, status } => {
                switch.worker_gone(worker, is_success, &status);
            }
            SwitchInput::WorkerMute { worker } => switch.worker_mute(worker),
            SwitchInput::WorkerStuck { worker } => switch.worker_stuck(worker, "it is stuck"),
            SwitchInput::WorkerLineUnfinished { worker, n_millis } => {
                switch.worker_line_unfinished(worker, n_millis);
            }
            SwitchInput::WorkerMemory { worker, n_bytes } => switch.worker_memory(worker, n_bytes),
            SwitchInput::WorkerOutbox { worker, level } => switch.worker_level(worker, level),
            SwitchInput::TimePassed => switch.time_passed(),
            SwitchInput::NewPlan(plan) => switch.new_plan(*plan),
            SwitchInput::Command(command) => switch.command(command),
        });
    }

    /// As [`take`](Self::take) of a [`SwitchInput::ClientLine`], for a line that stands in a buffer
    /// of the caller.
    pub fn take_client_line(
        &mut self,
        now: MonotonicMillis,
        client: ClientId,
        line: &[u8],
        out: &mut Vec<SwitchOutput>,
    ) {
        self.step(now, out, |switch| switch.client_line(client, line));
    }

    /// As [`take`](Self::take) of a [`SwitchInput::WorkerLine`], for such a line.
    pub fn take_worker_line(
        &mut self,
        now: MonotonicMillis,
        worker: WorkerId,
        line: &[u8],
        out: &mut Vec<SwitchOutput>,
    ) {
        self.step(now, out, |switch| switch.worker_line(worker, line));
    }

    /// Lets one thing happen and routes again what it made possible; the outputs go to `out`.
    fn step(
        &mut self,
        now: MonotonicMillis,
        out: &mut Vec<SwitchOutput>,
        act: impl FnOnce(&mut Self),
    ) {
        self.now = self.now.max(now);
        std::mem::swap(&mut self.out, out);
        act(self);
        self.retry_waiting();
        while self.close_done() {
            self.retry_waiting();
        }
        std::mem::swap(&mut self.out, out);
    }

    /// When [`SwitchInput::TimePassed`] is due; earlier calls do no harm.
    pub fn wake_at(&self) -> Option<MonotonicMillis> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether a drain of everything has ended: no worker is left.
    pub fn is_drained(&self) -> bool {
        self.is_draining && self.workers.is_empty()
    }

    pub fn limits(&self) -> &SwitchLimits {
        &self.limits
    }
}

#[cfg(test)]
mod tests;
