//! What clients take of the daemon together: with what they read, and with what they ask by ACP.
//!
//! Streams and exports have places. What is read for them is in memory until it was sent, so each
//! client has a budget for it: one that reads much and slowly waits for itself alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use sessions::front::RequestPlaces;
use store::ReadBudget;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{ByteQuota, Reserved};
use crate::problem::Problem;

/// Streams of events at a time. HTTP/2 has many on one connection, so the connections' limit
/// does not bound them.
const MAX_STREAMS: usize = 4096;
/// Those of one client, so that none can keep all others out.
const MAX_STREAMS_EACH: usize = 1024;
/// Logs that are written out as files at a time; each holds a page of its log.
const MAX_EXPORTS: usize = 8;
/// Clients that are remembered though they read nothing.
const MAX_IDLE_CLIENTS: usize = 256;

#[derive(Debug)]
pub(crate) struct Load {
    streams: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    /// Large messages of ACP until they were dealt with.
    messages: Arc<ByteQuota>,
    /// By the names of their tokens.
    clients: Mutex<HashMap<String, Client>>,
}

#[derive(Debug, Clone)]
struct Client {
    streams: Arc<Semaphore>,
    requests: RequestPlaces,
    budget: ReadBudget,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            exports: Arc::new(Semaphore::new(MAX_EXPORTS)),
            messages: Arc::default(),
            clients: Mutex::default(),
        }
    }
}

/// A stream's place.
#[derive(Debug)]
pub(super) struct StreamPlace {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Load {
    /// A place for a stream of events.
    pub(super) fn stream(&self, client: &str) -> Result<StreamPlace, Problem> {
        let of_client = self.client(client).streams.try_acquire_owned();
        let status = StatusCode::TOO_MANY_REQUESTS;
        let of_client = of_client.map_err(|_| too_many_streams(status))?;
        let of_all = self.streams.clone().try_acquire_owned();
        let of_all = of_all.map_err(|_| too_many_streams(StatusCode::SERVICE_UNAVAILABLE))?;
        Ok(StreamPlace { _of_client: of_client, _of_all: of_all })
    }

    /// A place for a log that is written out.
    pub(crate) fn export(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = self.exports.clone().try_acquire_owned();
        place.map_err(|_| {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            full(status, "too-many-exports", "too many logs are being exported")
        })
    }

    /// What a client may have of logs in memory.
    pub(crate) fn budget(&self, client: &str) -> ReadBudget {
        self.client(client).budget
    }

    /// Places for the requests of ACP that a client has open.
    pub(crate) fn requests(&self, client: &str) -> RequestPlaces {
        self.client(client).requests
    }

    /// Where large messages of a client count until they were dealt with.
    pub(crate) fn hold_messages(&self, client: &str) -> Arc<Reserved> {
        Arc::new(self.messages.reserve(client))
    }

    fn client(&self, name: &str) -> Client {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(name) {
            return client.clone();
        }
        if clients.len() >= MAX_IDLE_CLIENTS {
            clients.retain(|_, client| client.is_used());
        }
        let streams = Arc::new(Semaphore::new(MAX_STREAMS_EACH));
        let requests = RequestPlaces::default();
        let client = Client { streams, requests, budget: ReadBudget::default() };
        clients.insert(name.to_owned(), client.clone());
        client
    }
}

impl Client {
    fn is_used(&self) -> bool {
        self.budget.is_shared() || self.requests.is_shared() || Arc::strong_count(&self.streams) > 1
    }
}

fn too_many_streams(status: StatusCode) -> Problem {
    full(status, "too-many-streams", "too many streams are open")
}

fn full(status: StatusCode, slug: &str, title: &str) -> Problem {
    Problem::new(status, slug, title).retry_after(crate::limits::COME_BACK_SECONDS)
}

#[cfg(test)]
mod tests;
