//! The figures of one way to an agent.

use bench::histogram::Histogram;
use serde_json::{Value, json};

use super::measured_services::MeasuredService;
use super::tally::Burst;

#[derive(Debug)]
pub(super) struct Figures {
    pub(super) through: MeasuredService,
    pub(super) ready_ms: Vec<f64>,
    pub(super) first: Histogram,
    pub(super) bursts: Vec<Burst>,
    pub(super) idle_mb: Vec<f64>,
    /// All processes but the agents, with [`FEW`](super::FEW) sessions that have one each.
    pub(super) few_mb: Option<f64>,
    /// With [`MANY`](super::MANY) sessions that have none.
    pub(super) many_mb: Option<f64>,
    /// From asking for a session with the slow agent to the first event of its first turn.
    pub(super) cold_ms: Vec<f64>,
    /// The same where an agent was kept ready.
    pub(super) warm_ms: Vec<f64>,
    /// The reason why figures are missing.
    pub(super) failure: Option<String>,
}

impl Figures {
    pub(super) fn new(through: MeasuredService) -> Self {
        Self {
            through,
            ready_ms: Vec::new(),
            first: Histogram::default(),
            bursts: Vec::new(),
            idle_mb: Vec::new(),
            few_mb: None,
            many_mb: None,
            cold_ms: Vec::new(),
            warm_ms: Vec::new(),
            failure: None,
        }
    }

    pub(super) fn first_ms(&self, percent: u64) -> Option<f64> {
        (self.first.n() > 0).then(|| self.first.percentile(percent) / 1000.0)
    }

    pub(super) fn per_second(&self) -> Option<f64> {
        median(self.bursts.iter().map(|burst| burst.per_second))
    }

    /// The worst of all bursts, in percent: none may be torn.
    pub(super) fn percent_delivered(&self) -> Option<f64> {
        let shares = self.bursts.iter().map(|burst| burst.share_delivered * 100.0);
        shares.min_by(f64::total_cmp)
    }

    /// Chunks that came twice or out of order, in all bursts.
    pub(super) fn n_wrong(&self) -> usize {
        self.bursts.iter().map(|burst| burst.n_doubled + burst.n_disordered).sum()
    }

    pub(super) fn ready(&self) -> Option<f64> {
        median(self.ready_ms.iter().copied())
    }

    pub(super) fn idle(&self) -> Option<f64> {
        median(self.idle_mb.iter().copied())
    }

    pub(super) fn cold(&self) -> Option<f64> {
        median(self.cold_ms.iter().copied())
    }

    pub(super) fn warm(&self) -> Option<f64> {
        median(self.warm_ms.iter().copied())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "through": self.through.name(),
            "ready_ms": self.ready(),
            "first_event_p50_ms": self.first_ms(50),
            "first_event_p99_ms": self.first_ms(99),
            "n_prompts": self.first.n(),
            "events_per_second": self.per_second(),
            "percent_delivered": self.percent_delivered(),
            "n_doubled_or_disordered": self.n_wrong(),
            "idle_mb": self.idle(),
            "few_sessions_mb": self.few_mb,
            "many_sessions_mb": self.many_mb,
            "session_start_cold_ms": self.cold(),
            "session_start_warm_ms": self.warm(),
            "failure": self.failure,
        })
    }
}

pub(super) fn median(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    let lower = *figures.get((figures.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}
