//! The goals of the bus, as ratios within one run wherever that can be.

use serde::Serialize;

use super::point::{BusTransport, Point};
use super::router::MeasuredRouter;
use super::series::{self, Figure, Series};
use super::{LARGE, MeasuredPoint, SMALL};

#[derive(Debug, Serialize)]
pub(super) struct Goal {
    pub(super) what: String,
    pub(super) found: f64,
    pub(super) limit: f64,
    pub(super) kind: BusGoalKind,
    pub(super) unit: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BusGoalKind {
    AtLeast,
    AtMost,
}

impl Goal {
    pub(super) fn is_met(&self) -> bool {
        match self.kind {
            BusGoalKind::AtLeast => self.found >= self.limit,
            BusGoalKind::AtMost => self.found <= self.limit,
        }
    }
}

/// The goals of all points that were measured.
pub(super) fn of(all: &[MeasuredPoint]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (point, series) in all {
        let find = |through| series.iter().find(|(t, _)| *t == through).map(|(_, series)| series);
        let Some(ours) = find(MeasuredRouter::Switchyard) else { continue };
        let reference = find(MeasuredRouter::Reference);
        let stdio_bus = find(MeasuredRouter::StdioBus);
        speed(*point, ours, reference, stdio_bus, &mut goals);
    }
    losses(all, &mut goals);
    memory(all, &mut goals);
    goals
}

fn speed(
    point: Point,
    ours: &Series,
    reference: Option<&Series>,
    stdio_bus: Option<&Series>,
    goals: &mut Vec<Goal>,
) {
    let Point { over, n_sessions, n_bytes } = point;
    let place = format!("{}, {n_sessions} sessions, {n_bytes} B", over.name());
    let place = place.replace(", 1 sessions", ", 1 session");
    let mut add = |what: &str, found: Option<f64>, kind, limit| {
        let what = format!("{place}: {what}");
        goals.extend(found.map(|found| Goal { what, found, limit, kind, unit: "×" }));
    };
    let to_reference =
        |figure: Figure| reference.and_then(|reference| ours.ratio(reference, figure));
    let to_stdio_bus = || stdio_bus.and_then(|stdio_bus| ours.ratio(stdio_bus, Figure::PerSecond));
    match (over, n_sessions, n_bytes) {
        (_, 1, _) => {
            add("p50 to the reference's", to_reference(Figure::P50), BusGoalKind::AtMost, 1.15);
        }
        (BusTransport::Tcp, 16 | 256, SMALL) => {
            add("rate to stdio Bus's", to_stdio_bus(), BusGoalKind::AtLeast, 1.5);
            add(
                "rate to the reference's",
                to_reference(Figure::PerSecond),
                BusGoalKind::AtLeast,
                0.9,
            );
            // 7 µs where the reference needs 5.7.
            add(
                "CPU to the reference's",
                to_reference(Figure::Cpu),
                BusGoalKind::AtMost,
                7.0 / 5.7,
            );
        }
        (BusTransport::UnixMux, 256, SMALL) => {
            add("rate to stdio Bus's", to_stdio_bus(), BusGoalKind::AtLeast, 3.5);
        }
        (_, _, LARGE) => {
            add(
                "rate to the reference's",
                to_reference(Figure::PerSecond),
                BusGoalKind::AtLeast,
                0.85,
            );
        }
        _ => {}
    }
}

fn losses(all: &[MeasuredPoint], goals: &mut Vec<Goal>) {
    let n_bad = ours(all).map(|(_, series)| {
        let n_lost = u64::try_from(series.most_lost() + series.failures().count());
        series.n_wrong() + n_lost.unwrap_or(u64::MAX)
    });
    if let Some(n_bad) = n_bad.reduce(u64::saturating_add) {
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let found = n_bad as f64;
        let what = "everywhere: lost, wrong and failed".to_owned();
        goals.push(Goal { what, found, limit: 0.0, kind: BusGoalKind::AtMost, unit: "" });
    }
}

fn memory(all: &[MeasuredPoint], goals: &mut Vec<Goal>) {
    let idle = series::median(ours(all).filter_map(|(_, series)| series.idle_mb()).collect());
    let crowded = ours(all)
        .filter(|(point, _)| point.n_sessions == 1000)
        .filter_map(|(_, series)| series.median(Figure::ResidentMb))
        .max_by(f64::total_cmp);
    let mut add = |what: &str, found: Option<f64>, limit| {
        let what = what.to_owned();
        goals.extend(found.map(|found| Goal {
            what,
            found,
            limit,
            kind: BusGoalKind::AtMost,
            unit: " MB",
        }));
    };
    add("resident memory, idle", idle, 10.0);
    add("resident memory, 1000 sessions, most of all points", crowded, 40.0);
}

fn ours(all: &[MeasuredPoint]) -> impl Iterator<Item = (Point, &Series)> {
    all.iter().flat_map(|(point, series)| {
        series
            .iter()
            .filter(|(through, _)| *through == MeasuredRouter::Switchyard)
            .map(|(_, series)| (*point, series))
    })
}

#[cfg(test)]
mod tests;
