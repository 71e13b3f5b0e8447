//! A fair limit for work that takes much of the machine while it is done.
//!
//! In: the name of who wants to begin. Out: a place, when there is one. Each name has one at a
//! time, and all together a few: whoever wants many waits for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::lock::lock;

#[derive(Debug)]
pub struct FairLimiter {
    all: Arc<Semaphore>,
    /// Locks by which those of one name wait for each other.
    queues: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct FairPermit {
    _of_all: Option<OwnedSemaphorePermit>,
    _own: OwnedMutexGuard<()>,
}

impl FairLimiter {
    pub fn new(n: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(n)), queues: Mutex::default() }
    }

    pub async fn enter(&self, name: &str) -> FairPermit {
        let own = self.queue(name).lock_owned().await;
        // It is never closed.
        FairPermit { _of_all: self.all.clone().acquire_owned().await.ok(), _own: own }
    }

    fn queue(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = lock(&self.queues);
        queues.retain(|_, queue| Arc::strong_count(queue) > 1);
        queues.entry(name.to_owned()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_name_has_one_place_and_leaves_the_others_to_others() {
        let places = FairLimiter::new(2);
        let is_free = async |name: &str| {
            tokio::time::timeout(std::time::Duration::ZERO, places.enter(name)).await.is_ok()
        };
        let first = places.enter("a").await;

        assert!(!is_free("a").await);
        assert!(is_free("b").await);
        let _second = places.enter("b").await;
        assert!(!is_free("c").await, "there are two");

        drop(first);
        assert!(is_free("a").await);
        assert!(places.queues.lock().unwrap().len() <= 2, "who waits no more is forgotten");
    }
}
