//! By what the switch knows its own things. Ids of clients and workers are known outside, too.

use super::WorkerId;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PoolId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FanId(pub(super) u64);

/// A session; they are in the order in which these were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionKey {
    pub(super) n: u64,
    /// Its place in the table, where another session may have followed it.
    pub(super) place: usize,
}

/// A request at a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallKey {
    pub(super) worker: WorkerId,
    pub(super) n: u64,
}
