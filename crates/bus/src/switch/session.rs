//! Sessions in the switch: each one's worker, its owning client, and its names.
//!
//! Towards clients a name is unique over all workers. When a second worker hands out a name
//! that is taken, its session gets an alias towards clients (`name~2`), and the two names are
//! exchanged in every message about it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::hash::{NameHash, NameKey, NameMap};
use super::ids::{PoolId, SessionKey};
use super::routed_message::RoutedMessage;
use super::{ClientId, MonotonicMillis, WorkerId};

#[derive(Debug)]
pub(super) struct SwitchSession {
    /// Its name towards clients.
    pub(super) name: Arc<str>,
    /// Its name towards its worker.
    pub(super) worker_name: Arc<str>,
    pub(super) pool: PoolId,
    pub(super) location: SessionLocation,
    /// The client that gets its updates.
    pub(super) owner: Option<ClientId>,
    /// When it is forgotten, if it has no owner.
    pub(super) grace_until: Option<MonotonicMillis>,
    pub(super) n_calls: usize,
    /// Params with which it can be loaded by another worker.
    pub(super) load: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) enum SessionLocation {
    At(WorkerId),
    /// Its worker is gone.
    Lost,
    /// It is being moved to another worker; messages of clients are held meanwhile.
    Moving {
        to: WorkerId,
        held: VecDeque<(ClientId, RoutedMessage<'static>)>,
    },
}

impl SwitchSession {
    /// Whether its two names differ.
    pub(super) fn has_alias(&self) -> bool {
        self.name != self.worker_name
    }

    pub(super) fn worker(&self) -> Option<WorkerId> {
        match self.location {
            SessionLocation::At(worker) | SessionLocation::Moving { to: worker, .. } => {
                Some(worker)
            }
            SessionLocation::Lost => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct SwitchSessions {
    table: Vec<Option<(u64, SwitchSession)>>,
    free: Vec<usize>,
    by_name: NameMap<SessionKey>,
    n_made: u64,
}

impl SwitchSessions {
    pub(super) fn new(names: NameHash) -> Self {
        let by_name = NameMap::with_hasher(names);
        Self { table: Vec::new(), free: Vec::new(), by_name, n_made: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionKey, &SwitchSession)> {
        let key = |place, n| SessionKey { n, place };
        let table = self.table.iter().enumerate();
        table.filter_map(move |(place, slot)| slot.as_ref().map(|(n, s)| (key(place, *n), s)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut SwitchSession> {
        self.table.iter_mut().flatten().map(|(_, session)| session)
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<SessionKey> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, key: SessionKey) -> Option<&SwitchSession> {
        match self.table.get(key.place) {
            Some(Some((n, session))) if *n == key.n => Some(session),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, key: SessionKey) -> Option<&mut SwitchSession> {
        match self.table.get_mut(key.place) {
            Some(Some((n, session))) if *n == key.n => Some(session),
            _ => None,
        }
    }

    /// Adds a session of `worker` under its own name, or under an alias if that is taken.
    pub(super) fn add(&mut self, worker_name: Arc<str>, pool: PoolId, at: WorkerId) -> SessionKey {
        let name = self.free_name(&worker_name);
        self.n_made += 1;
        let n = self.n_made;
        let place = self.free.pop().unwrap_or(self.table.len());
        let key = SessionKey { n, place };
        self.by_name.insert(NameKey(name.clone()), key);
        let session = SwitchSession {
            name,
            worker_name,
            pool,
            location: SessionLocation::At(at),
            owner: None,
            grace_until: None,
            n_calls: 0,
            load: None,
        };
        match self.table.get_mut(place) {
            Some(slot) => *slot = Some((n, session)),
            None => self.table.push(Some((n, session))),
        }
        key
    }

    pub(super) fn remove(&mut self, key: SessionKey) -> Option<SwitchSession> {
        let slot = self.table.get_mut(key.place)?;
        let (_, session) = slot.take_if(|(n, _)| *n == key.n)?;
        self.free.push(key.place);
        self.by_name.remove(session.name.as_bytes());
        Some(session)
    }

    fn free_name(&self, wanted: &Arc<str>) -> Arc<str> {
        if !self.by_name.contains_key(wanted.as_bytes()) {
            return wanted.clone();
        }
        // Ends: the table is finite.
        let mut n = 2_u64;
        loop {
            let alias: Arc<str> = format!("{wanted}~{n}").into();
            if !self.by_name.contains_key(alias.as_bytes()) {
                return alias;
            }
            n += 1;
        }
    }
}
