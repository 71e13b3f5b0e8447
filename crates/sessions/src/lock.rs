//! Locks that are held for a moment, and never while something is waited for.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What such a lock guards. Nothing that can panic runs under one, so that what a panic left is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
