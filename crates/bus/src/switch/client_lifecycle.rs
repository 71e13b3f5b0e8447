//! The life of clients: they come, end their input, and leave.
//!
//! When one leaves, its requests are cancelled at their workers and late answers are dropped; open
//! requests of workers to it are refused; its sessions stay for the grace. A worker of its own goes
//! with it, and so do its sessions there.
//!
//! One that has ended its input and still reads, as in `printf … | nc`, gets the answers to its
//! requests, and its messages are still delivered; then it is closed. It cannot answer any more, so
//! requests of workers to it are refused.

use std::sync::Arc;

use super::client::{HalfClose, SwitchClient, WorkerRequest};
use super::hash::IdMap;
use super::ids::CallKey;
use super::line_edits::{cancel_request, session_cancel};
use super::pool::SwitchPool;
use super::refusal::{CLIENT_GONE, Refusal};
use super::routed_message::CallKind;
use super::timers::Timer;
use super::worker::WorkerStage;
use super::{ClientId, CloseReason, Switch, SwitchOutput, WorkerId};

/// Abandoned requests that one worker may still have open.
const MAX_LEFT_OPEN: usize = 256;

impl Switch {
    pub(super) fn client_came(&mut self, id: ClientId, pool: Option<Arc<str>>) {
        if self.clients.contains_key(&id) {
            return;
        }
        let (reason, refusal) = match () {
            () if self.is_draining => (CloseReason::Draining, Refusal::draining()),
            () if self.clients.len() >= self.limits.max_clients => {
                (CloseReason::TooManyClients, Refusal::overloaded("too many clients"))
            }
            () => {
                self.counters.clients_came += 1;
                self.clients
                    .insert(id, SwitchClient { fixed_pool: pool, ..SwitchClient::default() });
                return;
            }
        };
        self.out.push(SwitchOutput::ToClient { client: id, line: refusal.to_line(b"null") });
        self.out.push(SwitchOutput::CloseClient { client: id, reason });
    }

    /// Closes a client because the switch decides so.
    pub(super) fn close_client(&mut self, id: ClientId, reason: CloseReason) {
        if self.clients.contains_key(&id) {
            self.out.push(SwitchOutput::CloseClient { client: id, reason });
            self.client_left(id);
        }
    }

    pub(super) fn client_left(&mut self, id: ClientId) {
        let Some(client) = self.clients.remove(&id) else { return };
        self.counters.abandoned += client.n_open as u64;
        self.drop_waiting(id);
        self.abandon_calls(&client);
        let refusal = Refusal::new(CLIENT_GONE, "client_left", "the client left");
        self.refuse_asks(id, client.asks, &refusal);
        if let Some(until) = client.finish.and_then(|finish| finish.until) {
            self.timers.remove(&(until, Timer::Finish(id)));
        }
        let workers: Vec<WorkerId> = client.links.iter().map(|link| link.worker).collect();
        for link in client.links {
            if let Some(worker) = self.workers.get_mut(&link.worker) {
                worker.clients.retain(|whose| *whose != id);
                worker.pausing.retain(|whose| *whose != id);
                worker.last_used = self.now;
            }
            self.resume_worker_of(id, link.worker);
            for routed in link.held {
                // A request that moves a session concerns others too.
                if routed.kind == CallKind::Move {
                    self.refuse(id, &routed, &Refusal::worker_lost("its client left"));
                }
            }
        }
        self.fans.retain(|_, fan| fan.client != id);
        let until = self.now.after(self.limits.session_grace);
        for key in client.sessions {
            let session = self.sessions.get_mut(key);
            if let Some(session) = session.filter(|session| session.owner == Some(id)) {
                session.owner = None;
                if self.pools.get(&session.pool).is_some_and(SwitchPool::is_private) {
                    // Others may wait for it from before a reload.
                    let refusal = Refusal::session_lost(&session.name);
                    self.move_failed(key, &refusal);
                    self.forget_session(key);
                    continue;
                }
                if let Some(before) = session.grace_until.replace(until) {
                    self.timers.remove(&(before, Timer::Grace(key)));
                }
                self.set_timer(until, Timer::Grace(key));
            }
        }
        for id in workers {
            let Some(worker) = self.workers.get(&id) else { continue };
            // The next client must find nothing of the one that had the worker for itself.
            if worker.clients.is_empty() && self.is_private(worker.pool) {
                self.retire(id);
            }
        }
    }

    fn abandon_calls(&mut self, client: &SwitchClient) {
        let mut calls: Vec<_> = client.calls.keys().copied().collect();
        calls.sort_unstable();
        for key in calls {
            if self.leave_open(key) {
                let line = cancel_request(key.n);
                self.out.push(SwitchOutput::ToWorker { worker: key.worker, line });
                continue;
            }
            let Some(call) = self.close_call(key.worker, key.n) else { continue };
            let is_told =
                self.workers.get(&key.worker).is_some_and(|w| w.stage != WorkerStage::Stopping);
            if is_told && call.kind != CallKind::Replay {
                let line = cancel_request(key.n);
                self.out.push(SwitchOutput::ToWorker { worker: key.worker, line });
                let session = call.session.and_then(|key| self.sessions.get(key));
                if let (CallKind::Prompt, Some(session)) = (call.kind, session) {
                    let line = session_cancel(&session.worker_name);
                    self.out.push(SwitchOutput::ToWorker { worker: key.worker, line });
                }
            }
            self.call_ended(key.worker);
        }
    }

    /// A request that opens a session stays open when nobody waits for it any more: its answer says
    /// which name the worker uses from then on. Returns whether it is such a request.
    pub(super) fn leave_open(&mut self, key: CallKey) -> bool {
        let Some(worker) = self.workers.get_mut(&key.worker) else { return false };
        match worker.calls.get_mut(&key.n) {
            Some(call) if call.kind == CallKind::Open && worker.n_left_open < MAX_LEFT_OPEN => {
                let client = call.client.take();
                worker.n_left_open += usize::from(client.is_some());
                if let Some(client) = client.and_then(|id| self.clients.get_mut(&id)) {
                    client.calls.remove(&key);
                }
                worker.stage != WorkerStage::Stopping
            }
            _ => false,
        }
    }

    /// Tells workers that a client will not answer.
    pub(super) fn refuse_asks(
        &mut self,
        id: ClientId,
        asks: IdMap<u64, WorkerRequest>,
        refusal: &Refusal,
    ) {
        let mut asks: Vec<_> = asks.into_iter().collect();
        asks.sort_unstable_by_key(|(n, _)| *n);
        for (n, ask) in asks {
            if let Some(worker) = self.workers.get_mut(&ask.worker) {
                worker.asks.retain(|key| *key != (id, n));
                self.refuse_ask(ask.worker, ask.id.as_bytes(), refusal);
            }
        }
    }

    /// Tells a worker that nobody answers its request.
    pub(super) fn refuse_ask(&mut self, worker: WorkerId, raw_id: &[u8], refusal: &Refusal) {
        if self.workers.get(&worker).is_some_and(|worker| worker.stage != WorkerStage::Stopping) {
            self.out.push(SwitchOutput::ToWorker { worker, line: refusal.to_line(raw_id) });
        }
    }

    pub(super) fn client_finished(&mut self, id: ClientId, wait: Option<u64>) {
        let Some(client) = self.clients.get_mut(&id).filter(|c| c.finish.is_none()) else { return };
        let until = wait.map(|wait| self.now.after(wait));
        client.finish = Some(HalfClose { until });
        let asks = std::mem::take(&mut client.asks);
        if let Some(until) = until {
            self.set_timer(until, Timer::Finish(id));
        }
        self.refuse_asks(id, asks, &cannot_answer());
        self.maybe_done(id);
    }

    /// Notes that one of a client's requests or messages is done with; it may have been the last.
    pub(super) fn maybe_done(&mut self, id: ClientId) {
        if self.clients.get(&id).is_some_and(|client| client.finish.is_some()) {
            self.finishing.push(id);
        }
    }

    /// Closes the next finished client if nothing of it is left to do; false if there was none to
    /// look at.
    pub(super) fn close_done(&mut self) -> bool {
        let Some(id) = self.finishing.pop() else { return false };
        if self.clients.get(&id).is_some_and(SwitchClient::is_done) {
            self.close_client(id, CloseReason::Finished);
        }
        true
    }

    pub(super) fn finish_timed_out(&mut self, id: ClientId) {
        let until = self.clients.get(&id).and_then(|client| client.finish?.until);
        if until.is_some_and(|until| until <= self.now) {
            self.close_client(id, CloseReason::Finished);
        }
    }

    /// Whether a client can answer a request; if not, the worker's request is refused.
    pub(super) fn can_be_asked(&mut self, id: ClientId, by: WorkerId, raw_id: &[u8]) -> bool {
        let can = self.clients.get(&id).is_some_and(|client| client.finish.is_none());
        if !can {
            self.refuse_ask(by, raw_id, &cannot_answer());
        }
        can
    }
}

fn cannot_answer() -> Refusal {
    let message = "the client has ended its input, so it cannot answer";
    Refusal::new(CLIENT_GONE, "client_finished", message)
}
