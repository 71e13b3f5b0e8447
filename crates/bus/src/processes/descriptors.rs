//! The limit on open descriptors, of this process and of its workers.
//!
//! A bus with a thousand clients needs more than most systems allow at first. Workers do not,
//! and some of them suffer from a high limit: they close every number up to it, or keep tables
//! that long.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit before it was raised; `None` within if there was none.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Lets this process open as many descriptors as the system allows. Workers that are started later
/// keep the limit as it was.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    BEFORE.get_or_init(|| limit.current);
    let _as_before = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The limit that workers are to have, if it is another than ours.
pub(crate) fn limit_of_workers() -> Option<u64> {
    BEFORE.get().copied().flatten()
}

/// Lowers the limit in a keeper, before it starts its worker.
pub(crate) fn lower_limit(n: u64) {
    let limit = getrlimit(Resource::Nofile);
    let _as_before = setrlimit(Resource::Nofile, Rlimit { current: Some(n), ..limit });
}
