//! Limits of what clients use of the daemon: streams, exports, transfers, log reads, ACP requests.
//!
//! The number of streams and exports is limited. What is read for them is in memory until it was
//! sent, so each client has a budget for it: one that reads much and slowly waits for itself alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use sessions::front::RequestPermits;
use store::ReadBudget;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::ByteQuota;
use crate::locking::Locking as _;
use crate::problem::{Problem, ProblemKind, kinds};

/// Streams of events at a time. HTTP/2 has many on one connection, so the connections' limit
/// does not bound them.
const MAX_STREAMS: usize = 4096;
/// Streams of one client, so that none can keep all others out.
const MAX_STREAMS_EACH: usize = 1024;
/// Logs that are written out as files at a time; each holds a page of its log.
const MAX_EXPORTS: usize = 8;
const MAX_EXPORTS_EACH: usize = 4;
/// Files that come or go at a time, however slowly; each is open meanwhile.
const MAX_TRANSFERS: usize = 256;
const MAX_TRANSFERS_EACH: usize = 64;
/// Lookups of one client at a time; further ones wait for these, with nothing in memory.
const MAX_LOOKUPS_EACH: usize = 4;
/// Clients that are remembered though they read nothing.
const MAX_IDLE_CLIENTS: usize = 256;

#[derive(Debug)]
pub(crate) struct Load {
    all: LoadLimits,
    /// Quota of large ACP messages until they were handled.
    pub(crate) messages: Arc<ByteQuota>,
    /// Clients by the names of their tokens.
    clients: Mutex<HashMap<String, ClientLoad>>,
}

/// Limits of all clients together, or of one.
#[derive(Debug, Clone)]
struct LoadLimits {
    streams: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
}

impl LoadLimits {
    fn new(streams: usize, exports: usize, transfers: usize) -> Self {
        let [streams, exports, transfers] =
            [streams, exports, transfers].map(|n| Arc::new(Semaphore::new(n)));
        Self { streams, exports, transfers }
    }
}

#[derive(Debug, Clone)]
struct ClientLoad {
    own: LoadLimits,
    lookups: Arc<Semaphore>,
    requests: RequestPermits,
    budget: ReadBudget,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            all: LoadLimits::new(MAX_STREAMS, MAX_EXPORTS, MAX_TRANSFERS),
            messages: Arc::default(),
            clients: Mutex::default(),
        }
    }
}

/// A permit out of one client's limit and out of that of all.
#[derive(Debug)]
pub(crate) struct LoadPermit {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Load {
    /// A permit for a stream of events.
    pub(crate) fn stream(&self, client: &str) -> Result<LoadPermit, Problem> {
        acquire(self.client(client).own.streams, &self.all.streams, kinds::TOO_MANY_STREAMS)
    }

    /// A permit for the export of a log.
    pub(crate) fn export(&self, client: &str) -> Result<LoadPermit, Problem> {
        acquire(self.client(client).own.exports, &self.all.exports, kinds::TOO_MANY_EXPORTS)
    }

    /// A permit for the upload or download of a file.
    pub(crate) fn transfer(&self, client: &str) -> Result<LoadPermit, Problem> {
        acquire(self.client(client).own.transfers, &self.all.transfers, kinds::TOO_MANY_TRANSFERS)
    }

    /// Waits for a permit to build a list or a page: all of these ask the same few readers of the
    /// log.
    pub(crate) async fn lookup(&self, client: &str) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.client(client).lookups.acquire_owned().await.ok()
    }

    /// A client's budget of log events in memory.
    pub(crate) fn budget(&self, client: &str) -> ReadBudget {
        self.client(client).budget
    }

    /// A client's limit of open ACP requests.
    pub(crate) fn requests(&self, client: &str) -> RequestPermits {
        self.client(client).requests
    }

    fn client(&self, name: &str) -> ClientLoad {
        let mut clients = self.clients.locked();
        if let Some(client) = clients.get(name) {
            return client.clone();
        }
        if clients.len() >= MAX_IDLE_CLIENTS {
            clients.retain(|_, client| client.is_used());
        }
        let client = ClientLoad {
            own: LoadLimits::new(MAX_STREAMS_EACH, MAX_EXPORTS_EACH, MAX_TRANSFERS_EACH),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS_EACH)),
            requests: RequestPermits::default(),
            budget: ReadBudget::default(),
        };
        clients.insert(name.to_owned(), client.clone());
        client
    }
}

impl ClientLoad {
    fn is_used(&self) -> bool {
        let LoadLimits { streams, exports, transfers } = &self.own;
        let places = [streams, exports, transfers, &self.lookups];
        self.budget.is_shared()
            || self.requests.is_shared()
            || places.iter().any(|places| Arc::strong_count(places) > 1)
    }
}

fn acquire(
    of_client: Arc<Semaphore>,
    of_all: &Arc<Semaphore>,
    too_many: ProblemKind,
) -> Result<LoadPermit, Problem> {
    let full = || Problem::of(too_many).retry_after(crate::limits::RETRY_AFTER_SECONDS);
    let of_client = of_client.try_acquire_owned().map_err(|_| full())?;
    let of_all = of_all.clone().try_acquire_owned();
    let status = StatusCode::SERVICE_UNAVAILABLE.as_u16();
    let of_all = of_all.map_err(|_| Problem { status, ..full() })?;
    Ok(LoadPermit { _of_client: of_client, _of_all: of_all })
}

#[cfg(test)]
mod tests;
