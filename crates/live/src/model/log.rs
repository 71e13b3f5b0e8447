//! The log of requests to the model server.
//!
//! In: one entry for each request. Out: the entries below a path, and waiting for one.
//! Agents that share a server are told apart by the path of the address that they were given.

use super::wire::Wire;
use std::sync::Mutex;
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub struct RequestLogEntry {
    pub path: String,
    /// Nothing for what is no question to a model, such as the list of models.
    pub wire: Option<Wire>,
    pub model: String,
    /// The scenario that was played; nothing for what an agent asks on the side.
    pub scenario: Option<String>,
    pub round: usize,
    pub tools: Vec<String>,
    /// The whole body; null if it was no JSON.
    pub body: serde_json::Value,
}

#[derive(Debug)]
pub struct RequestLog {
    entries: Mutex<Vec<RequestLogEntry>>,
    n_entries: watch::Sender<usize>,
}

impl RequestLog {
    pub(super) fn new() -> Self {
        Self { entries: Mutex::default(), n_entries: watch::Sender::new(0) }
    }

    pub(super) fn add(&self, entry: RequestLogEntry) {
        let n = {
            let mut entries = self.entries();
            entries.push(entry);
            entries.len()
        };
        self.n_entries.send_replace(n);
    }

    /// Everything whose path begins like this.
    pub fn below(&self, prefix: &str) -> Vec<RequestLogEntry> {
        let entries = self.entries();
        entries.iter().filter(|entry| entry.path.starts_with(prefix)).cloned().collect()
    }

    /// The nth entry, from 0; waits until it comes.
    pub async fn nth(&self, n: usize) -> RequestLogEntry {
        let mut news = self.n_entries.subscribe();
        loop {
            let found = self.entries().get(n).cloned();
            if let Some(entry) = found {
                return entry;
            }
            if news.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for an entry, also one that has come already.
    pub async fn wait_for(&self, fits: impl Fn(&RequestLogEntry) -> bool) -> RequestLogEntry {
        let mut n = 0;
        loop {
            let entry = self.nth(n).await;
            if fits(&entry) {
                return entry;
            }
            n += 1;
        }
    }

    // A poisoned lock means that a test has failed already; the entries are still whole.
    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<RequestLogEntry>> {
        self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
