//! Sessions: which worker has them, which client owns them, and under which names.
//!
//! Towards clients a name is unique over all workers. When a second worker hands out a name
//! that is taken, its session gets an alias towards clients (`name~2`), and the two names are
//! exchanged in every message about it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::client::Parcel;
use super::hash::{IdMap, NameHash, NameMap};
use super::pool::PoolId;
use super::{ClientId, Millis, WorkerId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SessionKey(u64);

#[derive(Debug)]
pub(super) struct Session {
    /// Towards clients.
    pub(super) name: Arc<str>,
    /// Towards its worker.
    pub(super) worker_name: Arc<str>,
    pub(super) pool: PoolId,
    pub(super) place: Place,
    /// Where its updates go.
    pub(super) owner: Option<ClientId>,
    /// When it is forgotten, if it has no owner.
    pub(super) grace_until: Option<Millis>,
    pub(super) n_calls: usize,
    /// Params with which it can be loaded by another worker.
    pub(super) load: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) enum Place {
    At(WorkerId),
    /// Its worker is gone.
    Lost,
    /// On the way to another worker; what clients say meanwhile is held.
    Moving {
        to: WorkerId,
        held: VecDeque<(ClientId, Parcel)>,
    },
}

impl Session {
    /// Whether its two names differ.
    pub(super) fn has_alias(&self) -> bool {
        self.name != self.worker_name
    }

    pub(super) fn worker(&self) -> Option<WorkerId> {
        match self.place {
            Place::At(worker) | Place::Moving { to: worker, .. } => Some(worker),
            Place::Lost => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Sessions {
    table: IdMap<SessionKey, Session>,
    by_name: NameMap<Arc<str>, SessionKey>,
    n_made: u64,
}

impl Sessions {
    pub(super) fn new(names: NameHash) -> Self {
        let by_name = NameMap::with_hasher(names);
        Self { table: IdMap::default(), by_name, n_made: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SessionKey, &Session)> {
        self.table.iter()
    }

    pub(super) fn find(&self, name: &str) -> Option<SessionKey> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, key: SessionKey) -> Option<&Session> {
        self.table.get(&key)
    }

    pub(super) fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.table.get_mut(&key)
    }

    /// Adds a session of `worker` under its own name, or under an alias if that is taken.
    pub(super) fn add(&mut self, worker_name: Arc<str>, pool: PoolId, at: WorkerId) -> SessionKey {
        let name = self.free_name(&worker_name);
        self.n_made += 1;
        let key = SessionKey(self.n_made);
        self.by_name.insert(name.clone(), key);
        let session = Session {
            name,
            worker_name,
            pool,
            place: Place::At(at),
            owner: None,
            grace_until: None,
            n_calls: 0,
            load: None,
        };
        self.table.insert(key, session);
        key
    }

    pub(super) fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let session = self.table.remove(&key)?;
        self.by_name.remove(&session.name);
        Some(session)
    }

    fn free_name(&self, wanted: &Arc<str>) -> Arc<str> {
        if !self.by_name.contains_key(wanted) {
            return wanted.clone();
        }
        // Ends: the table is finite.
        let mut n = 2_u64;
        loop {
            let alias: Arc<str> = format!("{wanted}~{n}").into();
            if !self.by_name.contains_key(&alias) {
                return alias;
            }
            n += 1;
        }
    }
}
