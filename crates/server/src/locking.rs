//! Mutexes that a panic elsewhere does not spoil: nothing that can panic runs while one is held, so
//! what is in them is sound.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) trait Locking<T> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> Locking<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
