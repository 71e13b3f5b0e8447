//! Backpressure: which clients and workers are not read because another party reads too slowly.
//!
//! The rule under which a slow party never delays another stands in [`super`].

use super::refusal::Refusal;
use super::timers::Timer;
use super::{ClientId, CloseReason, QueueLevel, Switch, SwitchOutput, WorkerId};

impl Switch {
    pub(super) fn worker_level(&mut self, id: WorkerId, level: QueueLevel) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.level = level;
        if level == QueueLevel::Low {
            for client in std::mem::take(&mut worker.pausing) {
                self.end_pause_for(client, id);
            }
        }
    }

    /// After a client sent a line to a worker: pauses the client if the worker has too many unread
    /// bytes.
    pub(super) fn pause_if_full(&mut self, client_id: ClientId, worker_id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&worker_id) else { return };
        if worker.level == QueueLevel::Low || worker.pausing.contains(&client_id) {
            return;
        }
        let Some(client) = self.clients.get_mut(&client_id) else { return };
        worker.pausing.push(client_id);
        let was_paused = client.is_paused();
        client.paused_for.push(worker_id);
        if !was_paused {
            self.counters.pauses += 1;
            self.out.push(SwitchOutput::PauseClient { client: client_id });
        }
    }

    pub(super) fn end_pause_for(&mut self, id: ClientId, worker: WorkerId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let was_paused = client.is_paused();
        client.paused_for.retain(|paused_for| *paused_for != worker);
        if was_paused && !client.is_paused() {
            self.out.push(SwitchOutput::ResumeClient { client: id });
        }
    }

    pub(super) fn client_level(&mut self, id: ClientId, level: QueueLevel) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let was_paused = client.is_paused();
        client.level = level;
        let is_paused = client.is_paused();
        let workers: Vec<WorkerId> = client.links.iter().map(|link| link.worker).collect();
        match (was_paused, is_paused) {
            (false, true) => {
                self.counters.pauses += 1;
                self.out.push(SwitchOutput::PauseClient { client: id });
            }
            (true, false) => self.out.push(SwitchOutput::ResumeClient { client: id }),
            _ => {}
        }
        if level == QueueLevel::Low {
            client.slow_since = None;
            for worker in workers {
                self.resume_worker_of(id, worker);
            }
            return;
        }
        if client.slow_since.is_none() {
            client.slow_since = Some(self.now);
            if let Some(after) = self.limits.slow_client_after {
                self.set_timer(self.now.after(after), Timer::SlowClient(id));
            }
        }
        let mut is_fed_by_others = false;
        for worker_id in workers {
            let Some(worker) = self.workers.get_mut(&worker_id) else { continue };
            if worker.sole_client() != Some(id) {
                is_fed_by_others = true;
            } else if worker.paused_for.is_none() {
                worker.paused_for = Some(id);
                self.out.push(SwitchOutput::PauseWorker { worker: worker_id });
            }
        }
        if level == QueueLevel::Full && is_fed_by_others {
            self.evict(id);
        }
    }

    pub(super) fn resume_worker_of(&mut self, client: ClientId, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        if worker.paused_for == Some(client) {
            worker.paused_for = None;
            self.out.push(SwitchOutput::ResumeWorker { worker: id });
        }
    }

    /// Resumes a worker that was paused for its only client, since it has got another one.
    pub(super) fn serves_another(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Some(slow) = worker.paused_for else { return };
        if worker.clients.len() < 2 {
            return;
        }
        worker.paused_for = None;
        self.out.push(SwitchOutput::ResumeWorker { worker: id });
        if self.clients.get(&slow).is_some_and(|client| client.level == QueueLevel::Full) {
            self.evict(slow);
        }
    }

    pub(super) fn slow_client(&mut self, id: ClientId) {
        let Some(after) = self.limits.slow_client_after else { return };
        let Some(since) = self.clients.get(&id).and_then(|client| client.slow_since) else {
            return;
        };
        match since.after(after) {
            due if due <= self.now => self.evict(id),
            due => self.set_timer(due, Timer::SlowClient(id)),
        }
    }

    fn evict(&mut self, id: ClientId) {
        self.counters.clients_evicted += 1;
        let refusal = Refusal::overloaded("this client leaves too much unread and is closed");
        self.out.push(SwitchOutput::ToClient { client: id, line: refusal.to_line(b"null") });
        self.close_client(id, CloseReason::SlowReader);
    }
}
