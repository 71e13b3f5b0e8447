//! The runs of one router at one point.

use bench::report::Report;

/// A figure of a report.
#[derive(Debug, Clone, Copy)]
pub(super) enum Figure {
    PerSecond,
    P50,
    P99,
    /// Microseconds of the router's CPU time per round trip.
    Cpu,
    ResidentMb,
}

impl Figure {
    fn of(self, report: &Report) -> Option<f64> {
        match self {
            Self::PerSecond => Some(report.per_second),
            Self::P50 => Some(report.p50_us),
            Self::P99 => Some(report.p99_us),
            Self::Cpu => report.bus.map(|bus| bus.cpu_us_per_answer),
            Self::ResidentMb => report.bus.map(|bus| mb(bus.resident_kib)),
        }
    }
}

/// One run: the client's report, or why there is none.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) outcome: Result<Report, String>,
    /// Resident memory before the first request.
    pub(super) idle_kib: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Series {
    runs: Vec<Run>,
}

impl Series {
    pub(super) fn add(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// The median of a figure over the runs that have it.
    pub(super) fn median(&self, figure: Figure) -> Option<f64> {
        median(self.reports().filter_map(|report| figure.of(report)).collect())
    }

    /// The median of this one's figure as a multiple of the other's in the same round.
    pub(super) fn ratio(&self, other: &Self, figure: Figure) -> Option<f64> {
        let of = |run: &Run| run.outcome.as_ref().ok().and_then(|report| figure.of(report));
        let rounds = self.runs.iter().zip(&other.runs);
        let ratios = rounds.filter_map(|(ours, theirs)| Some((of(ours)?, of(theirs)?)));
        median(
            ratios
                .filter(|(_, theirs)| *theirs > 0.0)
                .map(|(ours, theirs)| ours / theirs)
                .collect(),
        )
    }

    pub(super) fn idle_mb(&self) -> Option<f64> {
        median(self.runs.iter().filter_map(|run| run.idle_kib).map(mb).collect())
    }

    /// The most sessions that a run has lost.
    pub(super) fn most_lost(&self) -> usize {
        self.reports().map(|report| report.n_lost).max().unwrap_or_default()
    }

    /// Errors and answers that should not have come, of all runs.
    pub(super) fn n_wrong(&self) -> u64 {
        self.reports().map(|report| report.n_errors + report.n_wrong).sum()
    }

    /// Why runs have no result.
    pub(super) fn failures(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().filter_map(|run| run.outcome.as_ref().err()).map(String::as_str)
    }

    pub(super) fn reports(&self) -> impl Iterator<Item = &Report> {
        self.runs.iter().filter_map(|run| run.outcome.as_ref().ok())
    }
}

pub(super) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let upper = *figures.get(figures.len() / 2)?;
    let lower = *figures.get((figures.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

pub(super) fn mb(kib: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let kib = kib as f64;
    kib / 1024.0
}
