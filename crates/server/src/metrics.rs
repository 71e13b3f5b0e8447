//! The daemon's metrics, for Prometheus.
//!
//! In: small calls from wherever something happens. Out: [`Metrics::render`], the text that
//! `GET /metrics` answers with. A value that is passed around, no global; cheap to clone,
//! and nothing here blocks or allocates without bound.
//!
//! Always true: every label takes its values from a bounded set. Agents go by the names of
//! the catalogue, routes by the router's own patterns; whatever else comes is `other`.

mod collectors;
mod labels;
mod observer;
mod web;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use collectors::MetricSource;
pub use collectors::{LogState, WarmPool};
use labels::LabelValues;
pub use web::{measure, router};

/// Content type of the answer to `GET /metrics`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Limit of the label `route`: more than the router has.
const MAX_ROUTES: usize = 256;

/// Limit of the label `by`: more than there are ways to decide a question.
const MAX_DECIDERS: usize = 32;

/// Limit of the label `why`: more than the guard has reasons.
const MAX_REFUSALS: usize = 32;

type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Gauges<const N: usize> = Family<Labels<N>, Gauge>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// A cheap handle on the daemon's counters.
#[derive(Debug, Clone)]
pub struct Metrics(Arc<MetricFamilies>);

#[derive(Debug)]
struct MetricFamilies {
    registry: Registry,
    agents: Arc<LabelValues>,
    routes: LabelValues,
    deciders: LabelValues,
    refusals: LabelValues,
    warm: Arc<MetricSource<Vec<WarmPool>>>,
    sessions: Gauges<1>,
    prompts: Counters<1>,
    turns_started: Counters<1>,
    turns_running: Gauges<1>,
    turns_ended: Counters<2>,
    events: Counter,
    appends: Histogram,
    questions: Gauge,
    decisions: Counters<2>,
    workers_started: Counters<1>,
    workers_running: Gauges<1>,
    workers_exited: Counters<2>,
    requests: Counters<3>,
    request_seconds: Histograms<1>,
    streams: Gauges<1>,
    slow_clients: Counters<1>,
    auth_failures: Counters<1>,
    bytes_out: Counters<1>,
    dropped: Arc<MetricSource<u64>>,
    log_state: Arc<MetricSource<LogState>>,
}

/// The step against a client that does not read fast enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlowClient {
    Warned,
    Evicted,
}

/// An open stream; dropped when it closes.
#[derive(Debug)]
pub struct OpenStream {
    _open: GaugeGuard,
    sent: Counter,
}

/// Raises a gauge by one until it is dropped.
#[derive(Debug)]
struct GaugeGuard(Gauge);

impl GaugeGuard {
    fn one(gauges: &Gauges<1>, agent: Cow<'static, str>) -> Self {
        Self::of(gauges.get_or_create_owned(&[("agent", agent)]))
    }

    fn of(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl OpenStream {
    pub fn sent(&self, n_bytes: usize) {
        self.sent.inc_by(n_bytes as u64);
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// `agents` are the names that may appear as labels.
    pub fn new(agents: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut registry = Registry::default();
        let process = collectors::ProcessCollector { started: Instant::now() };
        registry.register_collector(Box::new(process));
        let all = registry.sub_registry_with_prefix("switchyard");
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        all.register("build", "The version that runs", Info::new(build));
        let (warm, dropped): (Arc<MetricSource<_>>, Arc<MetricSource<_>>) = Default::default();
        let log_state: Arc<MetricSource<_>> = Arc::default();
        all.register_collector(Box::new(collectors::LogStateCollector(log_state.clone())));
        all.register_collector(Box::new(collectors::WarmPoolCollector(warm.clone())));
        all.register_collector(Box::new(collectors::DroppedLinesCollector(dropped.clone())));
        let inner = MetricFamilies {
            sessions: added(all, "sessions_live", "Sessions in memory"),
            prompts: added(all, "prompts", "Prompts taken into the log"),
            turns_started: added(all, "turns_started", "Turns that reached their agent"),
            turns_running: added(all, "turns_running", "Turns that run now"),
            turns_ended: added(all, "turns_ended", "Turns that ended, by stop reason"),
            events: added(all, "events_appended", "Events committed to the log"),
            appends: timed(
                all,
                "append",
                "From handing a batch of events to the log until it is committed",
                fine(),
            ),
            questions: added(all, "permissions_pending", "Questions that wait for a person"),
            decisions: added(all, "permissions_decided", "Permissions, by outcome and decider"),
            workers_started: added(all, "workers_started", "Agent processes started"),
            workers_running: added(all, "workers_running", "Agent processes that run now"),
            workers_exited: added(all, "workers_exited", "Agent processes that ended, and how"),
            requests: added(all, "http_requests", "HTTP requests answered"),
            request_seconds: timed(
                all,
                "http_request_duration",
                "From a request's head to its answer's head",
                Histograms::new_with_constructor(coarse),
            ),
            streams: added(all, "streams_open", "Event streams and connections open, by kind"),
            slow_clients: added(all, "slow_clients", "Clients that did not keep up"),
            auth_failures: added(
                all,
                "auth_failures",
                "Requests that were refused for their token or origin, and why",
            ),
            bytes_out: added(
                all,
                "sent_bytes",
                "Bytes of events sent to clients, by kind of stream",
            ),
            dropped,
            log_state,
            agents: Arc::new(LabelValues::fixed(agents)),
            routes: LabelValues::growing(MAX_ROUTES),
            deciders: LabelValues::growing(MAX_DECIDERS),
            refusals: LabelValues::growing(MAX_REFUSALS),
            warm,
            registry: Registry::default(),
        };
        Self(Arc::new(MetricFamilies { registry, ..inner }))
    }

    /// The text of `GET /metrics`; its type is [`CONTENT_TYPE`].
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    /// Counts an answered request. `route` is the router's pattern, never the path as it came.
    pub fn request(&self, route: &str, method: &str, status: u16, took: Duration) {
        let route = self.0.routes.label(route);
        let status = match status {
            100..=599 => Cow::Owned(status.to_string()),
            _ => labels::OTHER,
        };
        let labels =
            [("route", route.clone()), ("method", labels::method(method)), ("status", status)];
        self.0.requests.get_or_create(&labels).inc();
        self.0.request_seconds.get_or_create(&[("route", route)]).observe(took.as_secs_f64());
    }

    /// Counts a stream as open until the returned value is dropped: `sse`, `ws`, `acp-tcp` …
    #[must_use]
    pub fn stream(&self, kind: impl Into<Cow<'static, str>>) -> OpenStream {
        let labels = [("kind", kind.into())];
        let open = GaugeGuard::of(self.0.streams.get_or_create_owned(&labels));
        OpenStream { _open: open, sent: self.0.bytes_out.get_or_create_owned(&labels) }
    }

    pub fn slow_client(&self, what: SlowClient) {
        let what = match what {
            SlowClient::Warned => "warned",
            SlowClient::Evicted => "evicted",
        };
        self.0.slow_clients.get_or_create(&[("what", Cow::Borrowed(what))]).inc();
    }

    /// Counts a refused request; `why` is the problem's name.
    pub fn auth_failed(&self, why: &str) {
        self.0.auth_failures.get_or_create(&[("why", self.0.refusals.label(why))]).inc();
    }

    /// Sets the source of the warm pools' numbers, which is called with every scrape.
    pub fn warm_pools_from(&self, source: impl Fn() -> Vec<WarmPool> + Send + Sync + 'static) {
        let agents = self.0.agents.clone();
        self.0.warm.set(move || {
            let mut pools = source();
            for pool in &mut pools {
                pool.agent = agents.label(&pool.agent).into_owned();
            }
            pools
        });
    }

    /// Sets the source of the event log's state.
    pub fn log_state_from(&self, source: impl Fn() -> LogState + Send + Sync + 'static) {
        self.0.log_state.set(source);
    }

    /// Sets the source of the number of lines that the process's own log has dropped so far.
    pub fn dropped_lines_from(&self, source: impl Fn() -> u64 + Send + Sync + 'static) {
        self.0.dropped.set(source);
    }

    fn agent(&self, name: &str) -> Cow<'static, str> {
        self.0.agents.label(name)
    }
}

fn added<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn timed<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register_with_unit(name, help, Unit::Seconds, metric.clone());
    metric
}

/// Buckets from 50 µs, a commit on a fast disk, to 3 s, a disk in trouble.
fn fine() -> Histogram {
    Histogram::new([5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, 0.25, 1.0, 3.0])
}

/// Buckets from half a millisecond to half a minute, which a session on a slow agent may take.
fn coarse() -> Histogram {
    Histogram::new([5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 0.1, 0.25, 1.0, 5.0, 30.0])
}

#[cfg(test)]
mod tests;
