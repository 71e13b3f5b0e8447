//! The end of a worker: what happens to its requests, sessions and clients.

use super::ids::SessionKey;
use super::line_edits::cancel_request;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::SessionLocation;
use super::timers::Timer;
use super::worker::{SwitchWorker, WorkerCall};
use super::{ClientId, Switch, SwitchOutput, WorkerId};

impl Switch {
    /// Removes a worker; everybody who waits for it gets an error at once.
    pub(super) fn lose_worker(&mut self, id: WorkerId, why: &str) {
        let Some(worker) = self.workers.remove(&id) else { return };
        let refusal = self.pool_refusal(worker.pool, Refusal::worker_lost(why).of_worker(id));
        let numbers = worker.call_numbers();
        let SwitchWorker { mut calls, sessions, clients, asks, pausing, early, can_load, .. } =
            worker;
        self.counters.undelivered += early.len() as u64;

        let mut lost: Vec<SessionKey> = sessions.into_values().collect();
        lost.sort_unstable();
        for key in &lost {
            self.lose_session(*key, id, can_load);
        }
        for n in numbers {
            if let Some(call) = calls.remove(&n) {
                self.unlist_call(id, n, &call);
                self.fail(call, &refusal);
            }
        }
        for (client, n) in asks {
            let known = self.clients.get_mut(&client);
            if known.is_some_and(|client| client.asks.remove(&n).is_some()) {
                let line = cancel_request(n);
                self.out.push(SwitchOutput::ToClient { client, line });
            }
        }
        for client in clients {
            for routed in self.unlink(client, id) {
                self.refuse(client, &routed, &refusal);
            }
        }
        for client in pausing {
            self.end_pause_for(client, id);
        }
    }

    fn lose_session(&mut self, key: SessionKey, from: WorkerId, can_load: bool) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        // A session that is being moved is dealt with when its `session/load` fails.
        if matches!(session.location, SessionLocation::At(at) if at == from) {
            session.location = SessionLocation::Lost;
            session.n_calls = 0;
            if !can_load {
                session.load = None;
            }
            self.counters.sessions_lost += 1;
            // One that cannot be moved is remembered for a while, so that its clients learn why it
            // is gone.
            if session.load.is_none() && session.grace_until.is_none() {
                let until = self.now.after(self.limits.session_grace);
                session.grace_until = Some(until);
                self.set_timer(until, Timer::Grace(key));
            }
        }
    }

    /// Removes a link; returns the messages that were held in it.
    fn unlink(&mut self, client: ClientId, worker: WorkerId) -> Vec<RoutedMessage<'static>> {
        let Some(client) = self.clients.get_mut(&client) else { return Vec::new() };
        let Some(at) = client.links.iter().position(|link| link.worker == worker) else {
            return Vec::new();
        };
        let held = client.links.remove(at).held;
        client.release(&held);
        held.into()
    }

    /// Ends one request at a worker with an error.
    pub(super) fn fail_call(&mut self, at: WorkerId, n: u64, refusal: &Refusal) {
        match self.close_call(at, n) {
            Some(call) if call.kind == CallKind::Replay => {
                // The client is not to blame; its own requests will show what is wrong.
                if let Some(client) = call.client {
                    self.link_opened(client, at);
                }
            }
            Some(call) => self.fail(call, refusal),
            None => self.counters.unasked += 1,
        }
        self.call_ended(at);
    }

    /// Ends every request at a worker with an error; it may live on for a while.
    pub(super) fn fail_calls(&mut self, at: WorkerId, refusal: &Refusal) {
        let Some(worker) = self.workers.get(&at) else { return };
        let (numbers, clients) = (worker.call_numbers(), worker.clients.clone());
        for n in numbers {
            if let Some(call) = self.close_call(at, n) {
                self.fail(call, refusal);
            }
        }
        for client in clients {
            let held = match self.clients.get_mut(&client).and_then(|client| client.link(at)) {
                Some(link) => std::mem::take(&mut link.held),
                None => continue,
            };
            if let Some(client) = self.clients.get_mut(&client) {
                client.release(&held);
            }
            for routed in held {
                self.refuse(client, &routed, refusal);
            }
        }
    }

    fn fail(&mut self, call: WorkerCall, refusal: &Refusal) {
        let WorkerCall { client, id, kind, session, .. } = call;
        match (kind, client) {
            (CallKind::Replay, _) => {}
            (CallKind::Fan(fan, part), _) => self.fan_refused(fan, part, refusal),
            (CallKind::Move, _) => {
                if let Some(session) = session {
                    self.move_failed(session, refusal);
                }
            }
            // Its session is not forgotten: the worker may yet open it.
            (_, Some(client)) => self.answer_refused(client, id.as_bytes(), refusal),
            (_, None) => {}
        }
    }
}
