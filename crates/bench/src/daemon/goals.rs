//! The goals of the daemon.

use serde::Serialize;

use super::MANY;
use super::figures::Figures;
use super::measured_services::MeasuredService;
use super::switchyard::EventTransport;

#[derive(Debug, Serialize)]
pub(crate) struct Goal {
    pub(crate) what: String,
    /// None where it was not measured.
    pub(crate) found: Option<f64>,
    pub(crate) limit: f64,
    pub(crate) kind: DaemonGoalKind,
    pub(crate) unit: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DaemonGoalKind {
    AtLeast,
    Below,
}

impl Goal {
    pub(crate) fn mark(&self) -> &'static str {
        let is_met = match (self.found, self.kind) {
            (None, _) => return "not measured",
            (Some(found), DaemonGoalKind::AtLeast) => found >= self.limit,
            (Some(found), DaemonGoalKind::Below) => found < self.limit,
        };
        if is_met { "ok" } else { "MISSED" }
    }
}

pub(super) fn of(all: &[Figures]) -> Vec<Goal> {
    let find = |over| all.iter().find(|row| row.through == MeasuredService::Switchyard(over));
    let mut goals = Vec::new();
    let mut add = |what: &str, found, kind, limit, unit| {
        goals.push(Goal { what: what.to_owned(), found, limit, kind, unit });
    };
    for (over, name) in [(EventTransport::Sse, "SSE"), (EventTransport::WebSocket, "WebSocket")] {
        let Some(row) = find(over) else { continue };
        let what = |what: &str| format!("{what}, {name}");
        add(
            &what("prompt to first event, p50"),
            row.first_ms(50),
            DaemonGoalKind::Below,
            1.0,
            " ms",
        );
        let rate = row.per_second();
        add(&what("events per second, durable"), rate, DaemonGoalKind::AtLeast, 50_000.0, "");
        let delivered = row.percent_delivered();
        add(&what("delivered of each burst"), delivered, DaemonGoalKind::AtLeast, 100.0, " %");
        #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
        let n_wrong = delivered.map(|_| row.n_wrong() as f64);
        add(&what("came twice or out of order"), n_wrong, DaemonGoalKind::Below, 1.0, "");
    }
    let Some(row) = find(EventTransport::Sse) else { return goals };
    add("start to ready", row.ready(), DaemonGoalKind::Below, 50.0, " ms");
    add("resident memory, idle", row.idle(), DaemonGoalKind::Below, 20.0, " MB");
    let per_session = row.many_mb.zip(row.idle());
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let per_session = per_session.map(|(many, idle)| (many - idle) * 1024.0 / MANY as f64);
    add("memory per idle session without worker", per_session, DaemonGoalKind::Below, 100.0, " KB");
    let ratio = row.cold().zip(row.warm()).map(|(cold, warm)| cold / warm);
    add("session start, slow agent: cold to warm", ratio, DaemonGoalKind::AtLeast, 20.0, "×");
    goals
}

#[cfg(test)]
mod tests;
