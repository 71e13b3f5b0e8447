//! Sessions leave the registry as soon as their task has ended, and give back what they held.
//!
//! In: an entry with its session. Out: nothing is left of it here, whoever else asks for what. Only
//! a session that halted stays, so that it can be told why, until it is woken again or many are
//! awake.

use std::sync::{Arc, Weak};

use wire::SessionId;

use super::{RegistryEntries, RegistryEntry, SessionRegistry};
use crate::lock::lock;
use crate::memory;
use crate::session::SessionHandle;

impl SessionRegistry {
    /// Has the entry removed when the task of its session has ended.
    pub(super) fn remove_at_end(&self, entry: &Arc<RegistryEntry>, handle: &SessionHandle) {
        // Whoever waits here must not keep the session: it ends when nobody has a handle any more.
        let (entries, entry) = (Arc::downgrade(&self.entries), Arc::downgrade(entry));
        let (id, mut phase) = (handle.id(), handle.phase());
        task::spawn(async move {
            while phase.changed().await.is_ok() {}
            let has_halted = phase.borrow().halted().is_some();
            if let Some(entries) = entries.upgrade().filter(|_| !has_halted) {
                remove_from(&entries, id, &entry);
            }
            memory::session_has_left();
        });
    }

    pub(super) fn remove(&self, id: SessionId, entry: &Arc<RegistryEntry>) {
        remove_from(&self.entries, id, &Arc::downgrade(entry));
    }
}

/// Removes an entry, unless another one has taken its place.
fn remove_from(entries: &RegistryEntries, id: SessionId, entry: &Weak<RegistryEntry>) {
    let mut entries = lock(entries);
    let is_same = |other: &Arc<RegistryEntry>| std::ptr::eq(Arc::as_ptr(other), entry.as_ptr());
    let removed = entries.get(&id).is_some_and(is_same).then(|| entries.remove(&id));
    // What an entry holds may take a while to end; nobody should wait for that.
    drop(entries);
    drop(removed);
}
