//! What a test lets go wrong in a [`MemoryLog`](super::MemoryLog): calls that fail, and calls that
//! wait.

use std::collections::HashMap;
use std::sync::Mutex;

use store::StoreError;
use tokio::sync::watch;

use super::lock;

/// A call of the log that a test can let fail or wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogCall {
    Create,
    Claim,
    Append,
    Session,
}

#[derive(Debug, Default)]
pub(super) struct Troubles {
    failures: Mutex<HashMap<LogCall, StoreError>>,
    waits: Mutex<HashMap<LogCall, watch::Sender<usize>>>,
}

/// Calls that wait, until this is dropped.
#[derive(Debug)]
pub struct WaitingCalls<'a> {
    troubles: &'a Troubles,
    call: LogCall,
    n_waiting: watch::Receiver<usize>,
}

impl Troubles {
    pub(super) fn fail(&self, call: LogCall, error: StoreError) {
        lock(&self.failures).insert(call, error);
    }

    pub(super) fn mend(&self) {
        lock(&self.failures).clear();
    }

    pub(super) fn hold(&self, call: LogCall) -> WaitingCalls<'_> {
        let (sender, n_waiting) = watch::channel(0);
        lock(&self.waits).insert(call, sender);
        WaitingCalls { troubles: self, call, n_waiting }
    }

    /// Waits and fails as the test wants it.
    pub(super) async fn meet(&self, call: LogCall) -> Result<(), StoreError> {
        let held = lock(&self.waits).get(&call).map(|waiting| {
            waiting.send_modify(|n| *n += 1);
            waiting.subscribe()
        });
        if let Some(mut held) = held {
            // Ends when the sender is dropped.
            while held.changed().await.is_ok() {}
        }
        lock(&self.failures).get(&call).cloned().map_or(Ok(()), Err)
    }
}

impl WaitingCalls<'_> {
    pub async fn until_one_waits(&mut self) {
        let _ = self.n_waiting.wait_for(|n| *n > 0).await;
    }
}

impl Drop for WaitingCalls<'_> {
    fn drop(&mut self) {
        lock(&self.troubles.waits).remove(&self.call);
    }
}
