//! Internal ids of the switch. Those of clients and workers, which are known outside, are in
//! [`super`].

use super::WorkerId;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PoolId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FanOutId(pub(super) u64);

/// The key of a session; keys are ordered by when their sessions were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey {
    pub(super) n: u64,
    /// Its index in the table, where another session may have followed it.
    pub(super) place: usize,
}

/// The key of a request at a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallKey {
    pub(super) worker: WorkerId,
    pub(super) n: u64,
}
