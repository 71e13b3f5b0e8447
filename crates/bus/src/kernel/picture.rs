//! A bus at one moment, for people and for metrics.

use crate::switch::{ClientId, Counters, Limits, Status, WorkerId};

use super::Edges;
use super::shell::Shell;

#[derive(Debug, Clone)]
pub struct Picture {
    pub uptime_ms: u64,
    pub status: Status,
    pub counters: Counters,
    pub limits: Limits,
    pub edges: Edges,
    pub clients: Vec<ClientPicture>,
    pub workers: Vec<WorkerPicture>,
    /// Connections that have not said who they are.
    pub n_guests: usize,
    /// Clients that were refused for want of the token, since the start.
    pub n_not_let_in: u64,
    pub n_unfinished_bytes: usize,
    pub listeners: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct ClientPicture {
    pub client: ClientId,
    /// How it came: `tcp 127.0.0.1:4711`, `unix uid 1000`, `port`.
    pub via: String,
    pub n_queued_bytes: usize,
    pub is_paused: bool,
}

#[derive(Debug, Clone)]
pub struct WorkerPicture {
    pub worker: WorkerId,
    /// `None` before it runs.
    pub pid: Option<u32>,
    pub n_queued_bytes: usize,
    pub is_paused: bool,
}

impl Shell {
    pub(super) fn picture(&self) -> Picture {
        let served = self.clients.iter().filter(|(_, client)| !client.is_guest());
        let mut clients: Vec<_> = served
            .map(|(id, client)| ClientPicture {
                client: *id,
                via: client.via.to_string(),
                n_queued_bytes: client.outbox.n_bytes(),
                is_paused: client.is_paused,
            })
            .collect();
        clients.sort_unstable_by_key(|client| client.client);
        let mut workers: Vec<_> = self
            .workers
            .iter()
            .map(|(id, worker)| WorkerPicture {
                worker: *id,
                pid: worker.pid(),
                n_queued_bytes: worker.outbox.n_bytes(),
                is_paused: worker.is_paused,
            })
            .collect();
        workers.sort_unstable_by_key(|worker| worker.worker);
        Picture {
            uptime_ms: self.now.0,
            status: self.switch.status(),
            counters: *self.switch.counters(),
            limits: self.switch.limits().clone(),
            edges: self.edges.clone(),
            n_guests: self.clients.len() - clients.len(),
            n_not_let_in: self.n_not_let_in,
            clients,
            workers,
            n_unfinished_bytes: self.n_unfinished_bytes,
            listeners: self.listeners.values().map(|one| one.listen.to_string()).collect(),
        }
    }
}
