//! `[limits]`: how many clients, sessions and bytes a bus takes, and how long it waits.
//!
//! Everything has a default that suits a machine of one's own; what makes no sense together
//! is refused when the whole file is checked ([`super::setup`]).

use bus::IoLimits;
use bus::switch::{QueueMarks, SwitchLimits};
use serde::{Deserialize, Serialize};

use super::units::{BusWait, ByteSize, WaitOrNever, show_bytes, show_millis};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    pub(super) max_clients: Option<usize>,
    pub(super) max_open_per_client: Option<usize>,
    pub(super) max_sessions: Option<usize>,
    pub(super) max_sessions_per_client: Option<usize>,
    pub(super) client_queue: Option<QueueLimit>,
    pub(super) worker_queue: Option<QueueLimit>,
    pub(super) session_grace: Option<BusWait>,
    pub(super) slow_client_after: Option<WaitOrNever>,
    pub(super) max_client_line: Option<ByteSize>,
    pub(super) max_worker_line: Option<ByteSize>,
    pub(super) max_unfinished: Option<ByteSize>,
    pub(super) line_timeout: Option<BusWait>,
    pub(super) hello_timeout: Option<BusWait>,
    pub(super) half_close_wait: Option<BusWait>,
    pub(super) worker_stuck_after: Option<BusWait>,
    pub(super) memory_interval: Option<BusWait>,
}

/// A queue: its limit alone, or all three of its marks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a size such as \"64MiB\", or { low, high, full }")]
pub(super) enum QueueLimit {
    Limit(ByteSize),
    Marks(QueueMarksTable),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueMarksTable {
    low: ByteSize,
    high: ByteSize,
    full: ByteSize,
}

impl QueueLimit {
    /// The marks of a queue. With its limit alone, reading stops where it usually does, or early
    /// enough that what is on its way still finds room.
    fn marks(self, usual: QueueMarks) -> QueueMarks {
        match self {
            Self::Limit(full) => {
                let full = full.bytes();
                QueueMarks { low: usual.low.min(full / 4), high: usual.high.min(full / 2), full }
            }
            Self::Marks(QueueMarksTable { low, high, full }) => {
                QueueMarks { low: low.bytes(), high: high.bytes(), full: full.bytes() }
            }
        }
    }
}

impl LimitsTable {
    pub(super) fn settle(&self) -> (SwitchLimits, IoLimits) {
        let usual = SwitchLimits::default();
        let limits = SwitchLimits {
            max_clients: self.max_clients.unwrap_or(usual.max_clients),
            max_open_per_client: self.max_open_per_client.unwrap_or(usual.max_open_per_client),
            max_sessions: self.max_sessions.unwrap_or(usual.max_sessions),
            max_sessions_per_client: self
                .max_sessions_per_client
                .unwrap_or(usual.max_sessions_per_client),
            client_queue: marks(self.client_queue, usual.client_queue),
            worker_queue: marks(self.worker_queue, usual.worker_queue),
            session_grace: BusWait::millis_or(self.session_grace, usual.session_grace),
            slow_client_after: match self.slow_client_after {
                Some(WaitOrNever(wait)) => wait.map(BusWait::millis),
                None => usual.slow_client_after,
            },
        };
        let usual = IoLimits::default();
        let max_client_line_bytes = bytes(self.max_client_line, usual.max_client_line_bytes);
        // It grows with the line limit: whoever allows longer lines need not set it, too.
        let max_unfinished_bytes = usual.max_unfinished_bytes.max(max_client_line_bytes);
        let edges = IoLimits {
            max_client_line_bytes,
            max_worker_line_bytes: bytes(self.max_worker_line, usual.max_worker_line_bytes),
            max_unfinished_bytes: bytes(self.max_unfinished, max_unfinished_bytes),
            line_timeout: BusWait::millis_or(self.line_timeout, usual.line_timeout),
            hello_timeout: BusWait::millis_or(self.hello_timeout, usual.hello_timeout),
            half_close_wait: BusWait::millis_or(self.half_close_wait, usual.half_close_wait),
            worker_stuck_after: BusWait::millis_or(
                self.worker_stuck_after,
                usual.worker_stuck_after,
            ),
            memory_interval: BusWait::millis_or(self.memory_interval, usual.memory_interval),
        };
        (limits, edges)
    }
}

/// A limit that is not the usual one, in the words of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ChangedLimit {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) usual: String,
}

pub(super) fn changed_limits(limits: &SwitchLimits, edges: &IoLimits) -> Vec<ChangedLimit> {
    let all = |limits: &SwitchLimits, edges: &IoLimits| {
        let wait = |wait: Option<u64>| wait.map_or_else(|| "never".to_owned(), show_millis);
        let bytes = |n_bytes: usize| show_bytes(n_bytes as u64);
        let queue = |marks: QueueMarks| {
            format!("{} / {} / {}", bytes(marks.low), bytes(marks.high), bytes(marks.full))
        };
        [
            ("max_clients", limits.max_clients.to_string()),
            ("max_open_per_client", limits.max_open_per_client.to_string()),
            ("max_sessions", limits.max_sessions.to_string()),
            ("max_sessions_per_client", limits.max_sessions_per_client.to_string()),
            ("client_queue", queue(limits.client_queue)),
            ("worker_queue", queue(limits.worker_queue)),
            ("session_grace", show_millis(limits.session_grace)),
            ("slow_client_after", wait(limits.slow_client_after)),
            ("max_client_line", bytes(edges.max_client_line_bytes)),
            ("max_worker_line", bytes(edges.max_worker_line_bytes)),
            ("max_unfinished", bytes(edges.max_unfinished_bytes)),
            ("line_timeout", show_millis(edges.line_timeout)),
            ("hello_timeout", show_millis(edges.hello_timeout)),
            ("half_close_wait", show_millis(edges.half_close_wait)),
            ("worker_stuck_after", show_millis(edges.worker_stuck_after)),
            ("memory_interval", show_millis(edges.memory_interval)),
        ]
    };
    let usual = all(&SwitchLimits::default(), &IoLimits::default());
    let pairs = all(limits, edges).into_iter().zip(usual);
    let changed = pairs.filter(|((_, value), (_, usual))| value != usual);
    changed.map(|((name, value), (_, usual))| ChangedLimit { name, value, usual }).collect()
}

fn marks(queue: Option<QueueLimit>, usual: QueueMarks) -> QueueMarks {
    queue.map_or(usual, |queue| queue.marks(usual))
}

fn bytes(size: Option<ByteSize>, usual: usize) -> usize {
    size.map_or(usual, ByteSize::bytes)
}

#[cfg(test)]
mod tests;
