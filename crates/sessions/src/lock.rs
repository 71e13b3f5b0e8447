//! Locks that are held for a moment, and never while something is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also one that a panic left: nothing that can panic runs under such a lock, so its
/// value is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
