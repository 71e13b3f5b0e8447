//! How many requests of one client are served on the side at a time, on all its connections.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More than anybody asks for who reads the answers.
const MAX_REQUESTS: usize = 256;

#[derive(Debug, Clone)]
pub struct RequestPlaces(Arc<Semaphore>);

impl Default for RequestPlaces {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_REQUESTS)))
    }
}

impl RequestPlaces {
    /// Waits for one; none only if there are none any more.
    pub(super) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        self.0.clone().acquire_owned().await.ok()
    }

    /// Whether anybody else has them too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}
