//! The snapshot of a bus: the switch's status, and what only the event loop knows.

use super::EventLoop;
use crate::kernel::snapshot::{BusSnapshot, ClientSnapshot};
use crate::switch::SwitchStatus;

impl EventLoop {
    pub(super) fn snapshot(&self) -> BusSnapshot {
        let served = self.clients.iter().filter(|(_, client)| !client.is_guest());
        let mut clients: Vec<_> = served
            .map(|(id, client)| ClientSnapshot {
                client: *id,
                via: client.via.to_string(),
                n_queued_bytes: client.outbox.n_bytes(),
                is_paused: client.is_paused,
            })
            .collect();
        clients.sort_unstable_by_key(|client| client.client);
        let SwitchStatus { n_sessions, n_open, mut pools } = self.switch.status(self.now);
        for shown in pools.iter_mut().flat_map(|pool| &mut pool.workers) {
            if let Some(worker) = self.workers.get(&shown.worker) {
                shown.pid = worker.pid();
                shown.n_queued_bytes = Some(worker.outbox.n_bytes());
                shown.is_paused = worker.is_paused;
            }
        }
        BusSnapshot {
            uptime_ms: self.now.0,
            n_sessions,
            n_open,
            n_guests: self.clients.len() - clients.len(),
            n_unauthorized: self.n_unauthorized,
            n_unfinished_bytes: self.n_unfinished_bytes,
            pools,
            clients,
            counters: *self.switch.counters(),
            limits: self.switch.limits().clone(),
            edges: self.edges.clone(),
        }
    }
}
