//! The default limits, in one place so that documentation and tests can name them.

/// A line from a client: larger than any prompt with attachments seen in practice.
pub const CLIENT_LINE_BYTES: usize = 16 << 20;
/// A line from a worker: agents put whole files and screenshots into one update.
pub const WORKER_LINE_BYTES: usize = 64 << 20;
/// Arrays and objects inside each other; the JSON parser itself stops at 128.
pub const MAX_NESTING: usize = 127;
/// Values in one message of a client, of which many may be kept: a prompt has a few.
pub const CLIENT_VALUES: usize = 20_000;
/// Values in one message of a worker: agents put the answers of other programs into one update.
pub const WORKER_VALUES: usize = 200_000;
