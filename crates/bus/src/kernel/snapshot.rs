//! A snapshot of a bus, for people and for metrics; as JSON, what `bus status` shows of it.

use serde::Serialize;

use crate::switch::{ClientId, Counters, PoolStatus, SwitchLimits};

use super::setup::IoLimits;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BusSnapshot {
    pub uptime_ms: u64,
    #[serde(rename = "sessions")]
    pub n_sessions: usize,
    /// Requests of clients that wait for an answer.
    #[serde(rename = "openRequests")]
    pub n_open: usize,
    /// Connections whose first message has not come yet.
    #[serde(rename = "guests")]
    pub n_guests: usize,
    /// Clients refused since the start because their token was wrong or missing.
    #[serde(rename = "notLetIn")]
    pub n_unauthorized: u64,
    #[serde(rename = "unfinishedBytes")]
    pub n_unfinished_bytes: usize,
    pub pools: Vec<PoolStatus>,
    pub clients: Vec<ClientSnapshot>,
    pub counters: Counters,
    pub limits: SwitchLimits,
    pub edges: IoLimits,
}

#[derive(Debug, Clone, Serialize)]
pub struct ClientSnapshot {
    #[serde(rename = "id")]
    pub client: ClientId,
    /// Its transport: `tcp 127.0.0.1:4711`, `unix uid 1000`, `port`.
    pub via: String,
    #[serde(rename = "queuedBytes")]
    pub n_queued_bytes: usize,
    #[serde(rename = "paused")]
    pub is_paused: bool,
}
