//! Limits of the registry: sessions of one maker, sessions that are awake, forks at a time.
//!
//! A maker of many makes only itself wait, or is refused; no other maker is.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{RegistryError, SessionRegistry};
use crate::lock::lock;
use crate::order::{Maker, OrderError};

/// Forks that are made at a time: each has a part of a log in memory.
pub(super) const MAX_FORKS: usize = 2;
/// Sessions that are awake. Beyond, those that nobody uses are put aside at once: each holds its
/// directories open.
const MAX_AWAKE: usize = 256;
/// How often unused ones are put aside at most: those in use have to be asked, too.
const PUT_ASIDE_EVERY: Duration = Duration::from_secs(1);

/// A count for each key.
pub(super) type CountsByKey<K> = Arc<Mutex<HashMap<K, usize>>>;

/// A guard that counts as one of its key until dropped.
#[derive(Debug)]
pub(crate) struct CountGuard<K: Eq + Hash> {
    key: K,
    all: CountsByKey<K>,
}

impl<K: Eq + Hash + Clone> CountGuard<K> {
    /// A guard, and the count of its key with it.
    pub(super) fn begin(all: &CountsByKey<K>, key: K) -> (Self, usize) {
        let mut counts = lock(all);
        let n = counts.entry(key.clone()).or_default();
        *n += 1;
        (Self { key, all: all.clone() }, *n)
    }
}

impl<K: Eq + Hash> Drop for CountGuard<K> {
    fn drop(&mut self) {
        let mut counts = lock(&self.all);
        if let Some(n) = counts.get_mut(&self.key) {
            *n -= 1;
            if *n == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

impl SessionRegistry {
    /// Refuses one more session of a maker that has as many as one may have, or whose token was
    /// revoked.
    pub(super) async fn check_room(
        &self,
        maker: Option<&Maker>,
    ) -> Result<Option<CountGuard<String>>, RegistryError> {
        let Some(maker) = maker else { return Ok(None) };
        maker.check()?;
        if !maker.is_limited {
            return Ok(None);
        }
        let max = self.context.settings.limits.sessions_per_token.get();
        let (making, n_making) = CountGuard::begin(&self.making, maker.name.clone());
        let n_made = self.context.log.n_made_by(&maker.name, maker.since, max).await?;
        match n_made + n_making <= max {
            true => Ok(Some(making)),
            false => Err(RegistryError::TooMany { name: maker.name.clone(), max }),
        }
    }

    /// Puts sessions aside that nobody uses, if there are many awake.
    pub(super) fn put_aside_unused(&self) {
        let entries = {
            let mut entries = lock(&self.entries);
            if entries.len() <= MAX_AWAKE || !self.may_put_aside() {
                return;
            }
            // Those that halted are told of for as long as there is room.
            entries.retain(|_, entry| entry.get().is_none_or(|live| !live.handle.is_gone()));
            entries.values().cloned().collect::<Vec<_>>()
        };
        for live in entries.iter().filter_map(|entry| entry.get()) {
            live.handle.put_aside_if_unused();
        }
    }

    fn may_put_aside(&self) -> bool {
        let mut pressed = lock(&self.put_aside_at);
        let is_time = pressed.is_none_or(|at| at.elapsed() >= PUT_ASIDE_EVERY);
        if is_time {
            *pressed = Some(Instant::now());
        }
        is_time
    }
}

impl Maker {
    /// Refuses a maker whose token was revoked.
    pub(super) fn check(&self) -> Result<(), RegistryError> {
        match self.revoked.is_cancelled() {
            true => Err(OrderError::Refused("the token was revoked".to_owned()).into()),
            false => Ok(()),
        }
    }
}
