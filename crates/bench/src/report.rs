//! The report of one run of the load client: a line of JSON on its stdout.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    pub n_sessions: usize,
    pub n_connections: usize,
    pub n_bytes: usize,
    pub seconds: f64,
    pub n_answers: u64,
    pub per_second: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub longest_us: f64,
    pub n_errors: u64,
    /// Answers that nobody waited for, or that are not as long as they should be, and lines
    /// that are no answers.
    pub n_wrong: u64,
    /// Sessions that waited more than a second for an answer.
    pub n_lost: usize,
    pub n_lost_connections: usize,
    pub client_cpu_seconds: f64,
    pub bus: Option<BusUsage>,
    /// How many cores were busy with anything but the client, the bus and its workers.
    pub other_cores: f64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BusUsage {
    pub cpu_us_per_answer: f64,
    pub resident_kib: u64,
    pub peak_kib: u64,
}
