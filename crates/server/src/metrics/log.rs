//! What the process's own log had to leave out, asked for with every scrape.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;

type Source = Box<dyn Fn() -> u64 + Send + Sync>;

#[derive(Default)]
pub(super) struct Dropped(RwLock<Option<Source>>);

impl fmt::Debug for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dropped")
    }
}

impl Dropped {
    pub(super) fn set(&self, source: impl Fn() -> u64 + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(source));
    }
}

impl Collector for Dropped {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let source = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(source) = &*source else { return Ok(()) };
        let counter = ConstCounter::new(source());
        let (name, help) = ("log_lines_dropped", "Lines that the daemon's own log left out");
        let kind = counter.metric_type();
        counter.encode(encoder.encode_descriptor(name, help, None, kind)?)
    }
}
