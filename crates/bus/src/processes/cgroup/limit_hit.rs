//! Which limit a worker died of, as far as its cgroup has counted it.
//!
//! In: the group's counters, after the worker has failed. Out: the limit, in words that the person
//! gets who waits for the answer. Where the kernel counts nothing there is no reason to give.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A limit that a worker has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitHit {
    /// It needed more bytes, or all workers of its session together did.
    Memory { limit: u64, of_session: bool },
    /// The machine had no more memory, whoever used it.
    MachineMemory,
    /// It, or its session, had as many processes and threads as it may have.
    Pids { limit: u64, of_session: bool },
}

impl LimitHit {
    /// The limit that explains why a worker in the group `dir` was killed.
    pub(super) fn why_killed(dir: &Path, session: Option<&Path>) -> Option<Self> {
        if count(dir, "memory.events", "oom_kill") == 0 {
            return None;
        }
        // Only the group that had reached its limit counts an `oom`.
        let of = |dir: &Path, of_session| {
            let limit = number(dir, "memory.max")?;
            (count(dir, "memory.events", "oom") > 0).then_some(Self::Memory { limit, of_session })
        };
        let of_session = || of(session?, true);
        Some(of(dir, false).or_else(of_session).unwrap_or(Self::MachineMemory))
    }

    /// The limit that may explain why a worker in the group `dir` has failed by itself.
    pub(super) fn why_failed(dir: &Path, session: Option<&Path>) -> Option<Self> {
        let of = |dir: &Path, of_session| {
            let limit = number(dir, "pids.max")?;
            (count(dir, "pids.events", "max") > 0).then_some(Self::Pids { limit, of_session })
        };
        of(dir, false).or_else(|| of(session?, true))
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = |of_session| if of_session { "its session" } else { "it" };
        match *self {
            Self::Memory { limit, of_session } => {
                let (whose, mib) = (whose(of_session), limit.div_ceil(1 << 20));
                write!(f, "ran out of the memory that {whose} may use (limit {mib} MiB)")
            }
            Self::MachineMemory => f.write_str("the machine ran out of memory"),
            Self::Pids { limit, of_session } => {
                let whose = whose(of_session);
                write!(f, "had as many processes as {whose} may have (limit {limit})")
            }
        }
    }
}

/// A counter in a file of names and numbers.
fn count(dir: &Path, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(dir.join(file)).unwrap_or_default();
    let mut fields = text.lines().filter_map(|line| line.split_once(' '));
    fields.find(|(found, _)| *found == name).and_then(|(_, n)| n.parse().ok()).unwrap_or_default()
}

/// The number in a file, unless it says `max`.
fn number(dir: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(dir.join(file)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
