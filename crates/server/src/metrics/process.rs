//! What the kernel says about this process, read with every scrape.
//!
//! The names are those that every Prometheus client uses, so they have no prefix of ours.

use std::fmt;
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

#[derive(Debug)]
pub(super) struct Process {
    started: Instant,
}

impl Process {
    pub(super) fn since(started: Instant) -> Self {
        Self { started }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let mut gauge = |name: &str, help: &str, value: Option<u64>| match value {
            Some(value) => {
                let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
                let kind = gauge.metric_type();
                gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)
            }
            None => Ok(()),
        };
        let (resident, threads) = memory_and_threads();
        gauge("process_resident_memory_bytes", "Memory that is in RAM", resident)?;
        gauge("process_threads", "Threads", threads)?;
        gauge("process_open_fds", "Open file descriptors", n_open_fds())?;
        let uptime = self.started.elapsed().as_secs();
        gauge("process_uptime_seconds", "Since the start", Some(uptime))
    }
}

/// From `/proc/self/status`, which says both.
fn memory_and_threads() -> (Option<u64>, Option<u64>) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (number("VmRSS:").map(|kib| kib * 1024), number("Threads:"))
}

fn n_open_fds() -> Option<u64> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    // The listing itself has one open.
    Some((entries.count() as u64).saturating_sub(1))
}
