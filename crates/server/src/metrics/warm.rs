//! The warm pools' own numbers, asked for with every scrape.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

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

type Source = Box<dyn Fn() -> Vec<WarmPool> + Send + Sync>;

#[derive(Default)]
pub(super) struct Pools(RwLock<Option<Source>>);

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pools")
    }
}

impl Pools {
    pub(super) fn set(&self, source: impl Fn() -> Vec<WarmPool> + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(source));
    }

    /// One row an agent: two pools of an agent (other directories, other models) are one.
    fn rows(&self) -> Vec<WarmPool> {
        let source = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut rows: Vec<WarmPool> = Vec::new();
        for pool in source.as_ref().map(|source| source()).unwrap_or_default() {
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

#[derive(Debug)]
pub(super) struct Collected(pub(super) Arc<Pools>);

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let rows = self.0.rows();
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
