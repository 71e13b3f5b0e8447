//! Numbers that are collected with every scrape: of the process, of its own log, of warm pools.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use store::{LogHealth, LogTrouble};

/// The source of a number; empty until it is set.
pub(super) struct MetricSource<T>(RwLock<Option<Box<dyn Fn() -> T + Send + Sync>>>);

impl<T> Default for MetricSource<T> {
    fn default() -> Self {
        Self(RwLock::new(None))
    }
}

impl<T> fmt::Debug for MetricSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl<T> MetricSource<T> {
    pub(super) fn set(&self, source: impl Fn() -> T + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(source));
    }

    fn ask(&self) -> Option<T> {
        let source = self.0.read().unwrap_or_else(PoisonError::into_inner);
        source.as_ref().map(|source| source())
    }
}

/// Lines that the process's own log had to leave out.
#[derive(Debug)]
pub(super) struct DroppedLinesCollector(pub(super) Arc<MetricSource<u64>>);

impl Collector for DroppedLinesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(n_dropped) = self.0.ask() else { return Ok(()) };
        let counter = ConstCounter::new(n_dropped);
        let (name, help) = ("log_lines_dropped", "Lines that the daemon's own log left out");
        let kind = counter.metric_type();
        counter.encode(encoder.encode_descriptor(name, help, None, kind)?)
    }
}

/// The state of the event log.
#[derive(Debug, Clone, Default)]
pub struct LogState {
    pub health: LogHealth,
    /// Sessions that could not go on, and were not put right yet.
    pub n_halted: usize,
}

#[derive(Debug)]
pub(super) struct LogStateCollector(pub(super) Arc<MetricSource<LogState>>);

impl Collector for LogStateCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let Some(LogState { health, n_halted }) = self.0.ask() else { return Ok(()) };
        let (name, help) = ("store_trouble", "1 for what fails just now about the event log");
        let mut gauges = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for kind in LogTrouble::NAMES {
            let is_there = health.troubles.iter().any(|trouble| trouble.name() == kind);
            let gauge = ConstGauge::new(i64::from(is_there));
            gauge.encode(gauges.encode_family(&[("kind", kind)])?)?;
        }
        let mut gauge = |name: &str, help: &str, n: usize| {
            let gauge = ConstGauge::new(i64::try_from(n).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        gauge("sessions_lost", "Sessions missing from the database", health.lost.len())?;
        gauge("sessions_halted", "Sessions that could not go on", n_halted)
    }
}

/// Metrics of this process, from the kernel. The names are those that every Prometheus client uses,
/// so they have no prefix of ours.
#[derive(Debug)]
pub(super) struct ProcessCollector {
    pub(super) started: Instant,
}

impl Collector for ProcessCollector {
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

/// The workers of one agent that wait for a session.
#[derive(Debug, Clone, Default)]
pub struct WarmPool {
    pub agent: String,
    /// Initialised and free.
    pub n_ready: u64,
    pub n_starting: u64,
    /// Sessions that were given a ready worker, since the start.
    pub n_hits: u64,
    /// Sessions that had to wait for one to start.
    pub n_misses: u64,
}

#[derive(Debug)]
pub(super) struct WarmPoolCollector(pub(super) Arc<MetricSource<Vec<WarmPool>>>);

impl WarmPoolCollector {
    /// One row an agent: two pools of an agent (other directories, other models) are one.
    fn rows(&self) -> Vec<WarmPool> {
        let mut rows: Vec<WarmPool> = Vec::new();
        for pool in self.0.ask().unwrap_or_default() {
            match rows.iter_mut().find(|row| row.agent == pool.agent) {
                Some(row) => {
                    row.n_ready += pool.n_ready;
                    row.n_starting += pool.n_starting;
                    row.n_hits += pool.n_hits;
                    row.n_misses += pool.n_misses;
                }
                None => rows.push(pool),
            }
        }
        rows
    }
}

impl Collector for WarmPoolCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let rows = self.rows();
        if rows.is_empty() {
            return Ok(());
        }
        let (name, help) = ("warm_workers", "Workers that wait for a session");
        let mut gauges = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for row in &rows {
            for (state, n) in [("ready", row.n_ready), ("starting", row.n_starting)] {
                let labels = [("agent", row.agent.as_str()), ("state", state)];
                let gauge = ConstGauge::new(i64::try_from(n).unwrap_or(i64::MAX));
                gauge.encode(gauges.encode_family(&labels)?)?;
            }
        }
        let (name, help) = ("warm_leases", "Sessions that found a ready worker, or did not");
        let mut counters = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for row in &rows {
            for (found, n) in [("hit", row.n_hits), ("miss", row.n_misses)] {
                let labels = [("agent", row.agent.as_str()), ("found", found)];
                ConstCounter::new(n).encode(counters.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
