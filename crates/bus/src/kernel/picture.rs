//! A bus at one moment, for people and for metrics; as JSON, what `bus status` shows of it.

use serde::Serialize;

use crate::switch::{ClientId, Counters, Limits, PoolStatus, Status};

use super::Edges;
use super::shell::Shell;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    pub uptime_ms: u64,
    #[serde(rename = "sessions")]
    pub n_sessions: usize,
    /// Requests of clients that wait for an answer.
    #[serde(rename = "openRequests")]
    pub n_open: usize,
    /// Connections that have not said who they are.
    #[serde(rename = "guests")]
    pub n_guests: usize,
    /// Clients that were refused for want of the token, since the start.
    #[serde(rename = "notLetIn")]
    pub n_not_let_in: u64,
    #[serde(rename = "unfinishedBytes")]
    pub n_unfinished_bytes: usize,
    pub pools: Vec<PoolStatus>,
    pub clients: Vec<ClientPicture>,
    pub counters: Counters,
    pub limits: Limits,
    pub edges: Edges,
}

#[derive(Debug, Clone, Serialize)]
pub struct ClientPicture {
    #[serde(rename = "id")]
    pub client: ClientId,
    /// How it came: `tcp 127.0.0.1:4711`, `unix uid 1000`, `port`.
    pub via: String,
    #[serde(rename = "queuedBytes")]
    pub n_queued_bytes: usize,
    #[serde(rename = "paused")]
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
        let Status { n_sessions, n_open, mut pools } = self.switch.status(self.now);
        for shown in pools.iter_mut().flat_map(|pool| &mut pool.workers) {
            if let Some(worker) = self.workers.get(&shown.worker) {
                shown.pid = worker.pid();
                shown.n_queued_bytes = Some(worker.outbox.n_bytes());
                shown.is_paused = worker.is_paused;
            }
        }
        Picture {
            uptime_ms: self.now.0,
            n_sessions,
            n_open,
            n_guests: self.clients.len() - clients.len(),
            n_not_let_in: self.n_not_let_in,
            n_unfinished_bytes: self.n_unfinished_bytes,
            pools,
            clients,
            counters: *self.switch.counters(),
            limits: self.switch.limits().clone(),
            edges: self.edges.clone(),
        }
    }
}
