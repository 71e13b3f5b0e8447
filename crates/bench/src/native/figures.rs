//! The figures of one agent, and their goals.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use bench::histogram::Histogram;
use serde_json::{Value, json};

use super::measured_agents::MeasuredAgent;
use super::{FEW, MANY};
use crate::daemon::{DaemonGoalKind, Goal};

#[derive(Debug)]
pub(super) struct Figures {
    pub(super) through: MeasuredAgent,
    pub(super) ready_ms: Vec<f64>,
    pub(super) idle_mb: Vec<f64>,
    pub(super) delays: Histogram,
    pub(super) rates: Vec<f64>,
    /// More than without a session, for each of a few and of many.
    pub(super) few_mb: Option<f64>,
    pub(super) many_mb: Option<f64>,
    pub(super) n_processes: usize,
    /// Why something is missing.
    pub(super) failure: Option<String>,
}

impl Figures {
    pub(super) fn new(through: MeasuredAgent) -> Self {
        Self {
            through,
            ready_ms: Vec::new(),
            idle_mb: Vec::new(),
            delays: Histogram::default(),
            rates: Vec::new(),
            few_mb: None,
            many_mb: None,
            n_processes: 0,
            failure: None,
        }
    }

    fn delay_ms(&self, percent: u64) -> Option<f64> {
        (self.delays.n() > 0).then(|| self.delays.percentile(percent) / 1000.0)
    }

    fn to_json(&self, floor: &Self) -> Value {
        json!({
            "through": self.through.name(), "ready_ms": median(&self.ready_ms),
            "token_p50_ms": self.delay_ms(50), "token_p99_ms": self.delay_ms(99),
            "tokens_per_second": median(&self.rates), "of_plain_reader": self.share(floor),
            "idle_mb": median(&self.idle_mb), "n_processes": self.n_processes,
            "mb_per_session_of_few": self.few_mb, "mb_per_session_of_many": self.many_mb,
            "failure": self.failure,
        })
    }

    /// Of the rate of the plain reader.
    fn share(&self, floor: &Self) -> Option<f64> {
        Some(median(&self.rates)? / median(&floor.rates)?)
    }
}

fn median(all: &[f64]) -> Option<f64> {
    let mut sorted = all.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

pub(super) fn goals(rows: &[Figures]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for row in rows.iter().filter(|row| row.through.is_ours()) {
        let name = row.through.name();
        let mut below = |what: &str, found, limit, unit| {
            let what = format!("{what}, {name}");
            goals.push(Goal { what, found, limit, kind: DaemonGoalKind::Below, unit });
        };
        below("write to read of a token, p50", row.delay_ms(50), 0.3, " ms");
        // The front holds a log and an agent's process of its own: it has goals elsewhere.
        if row.through == MeasuredAgent::NativeAgent {
            below("start to `initialize`", median(&row.ready_ms), 30.0, " ms");
            below("resident memory, idle", median(&row.idle_mb), 20.0, " MB");
            below(&format!("memory per session, {FEW}"), row.few_mb, 1.0, " MB");
            below(&format!("memory per session, {MANY}"), row.many_mb, 1.0, " MB");
        }
    }
    goals
}

pub(super) fn table(rows: &[Figures]) {
    let Some(floor) = rows.first() else { return };
    println!();
    let mb_few = format!("MB/{FEW}");
    let mb_many = format!("MB/{MANY}");
    println!(
        "{:<16} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>8} {:>8}",
        "", "start", "token", "token", "tokens", "of the", "idle", "pro-", "session", "session"
    );
    println!(
        "{:<16} {:>8} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>8} {:>8}",
        "through", "ms", "p50 ms", "p99 ms", "per s", "reader", "MB", "cesses", mb_few, mb_many
    );
    for row in rows {
        let text = |figure: Option<f64>, n_digits: usize| {
            figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.n_digits$}"))
        };
        let is_empty = row.delays.n() == 0 && row.ready_ms.is_empty();
        if let Some(why) = row.failure.as_ref().filter(|_| is_empty) {
            println!("{:<16} {why}", row.through.name());
            continue;
        }
        println!(
            "{:<16} {:>8} {:>9} {:>9} {:>9} {:>7}% {:>8} {:>6} {:>8} {:>8}",
            row.through.name(),
            text(median(&row.ready_ms), 1),
            text(row.delay_ms(50), 3),
            text(row.delay_ms(99), 3),
            text(median(&row.rates), 0),
            text(row.share(floor).map(|share| share * 100.0), 1),
            text(median(&row.idle_mb), 1),
            row.n_processes,
            text(row.few_mb, 2),
            text(row.many_mb, 2),
        );
        if let Some(why) = &row.failure {
            println!("{:<16} not all was measured: {why}", "");
        }
    }
}

pub(super) fn json(rows: &[Figures], goals: &[Goal]) {
    let Some(floor) = rows.first() else { return };
    let rows: Vec<_> = rows.iter().map(|row| row.to_json(floor)).collect();
    let goals = goals.iter().map(|goal| json!({ "goal": goal, "mark": goal.mark() }));
    println!("{}", json!({ "rows": rows, "goals": goals.collect::<Vec<_>>() }));
}
