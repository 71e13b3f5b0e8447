//! The daemons as a table, one row each, and as JSON.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use serde_json::json;

use super::figures::Figures;
use super::goals::{DaemonGoalKind, Goal};
use super::setup::{SLOW_INITIALIZE, SLOW_SESSION};
use super::{BURST, CHUNK_BYTES, DaemonBenchPlan, FEW, MANY};

pub(super) fn head(pace: DaemonBenchPlan) {
    println!();
    println!(
        "Daemons with the same scripted agent: {} prompts; {} bursts of {BURST} events of \
         {CHUNK_BYTES} B of text; in turns.",
        pace.n_prompts, pace.n_bursts
    );
    println!(
        "Session start: to the first event, of an agent that takes {} ms to start and {} ms \
         for a session.",
        SLOW_INITIALIZE.as_millis(),
        SLOW_SESSION.as_millis()
    );
    println!("Memory: all processes but the agents; {FEW} sessions with an agent, {MANY} without.");
}

pub(super) fn rows(all: &[Figures]) {
    println!();
    println!(
        "{:<16} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "", "ready", "first", "event", "events", "delivered", "idle", FEW, MANY, "start", "start"
    );
    println!(
        "{:<16} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "through", "ms", "p50 ms", "p99 ms", "per s", "%", "MB", "MB", "MB", "cold ms", "warm ms"
    );
    for row in all {
        let text = |figure: Option<f64>, n_digits: usize| {
            figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.n_digits$}"))
        };
        let is_empty = row.first.n() == 0 && row.ready_ms.is_empty();
        if let Some(why) = row.failure.as_ref().filter(|_| is_empty) {
            println!("{:<16} {why}", row.through.name());
            continue;
        }
        println!(
            "{:<16} {:>8} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8} {:>8} {:>9} {:>8}",
            row.through.name(),
            text(row.ready(), 1),
            text(row.first_ms(50), 3),
            text(row.first_ms(99), 3),
            text(row.per_second(), 0),
            text(row.percent_delivered(), 2),
            text(row.idle(), 1),
            text(row.few_mb, 1),
            text(row.many_mb, 1),
            text(row.cold(), 0),
            text(row.warm(), 1),
        );
        if let Some(why) = &row.failure {
            println!("{:<16} not all was measured: {why}", "");
        }
    }
}

pub(crate) fn end(goals: &[Goal]) {
    println!();
    for goal in goals {
        let limit = match goal.kind {
            DaemonGoalKind::AtLeast => "at least",
            DaemonGoalKind::Below => "below",
        };
        let unit = goal.unit;
        let found = goal.found.map_or_else(|| "-".to_owned(), |found| format!("{found:.2}{unit}"));
        println!("{:<44} {found:>12}  {limit} {}{unit}: {}", goal.what, goal.limit, goal.mark());
    }
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        let load = load.split(' ').next().unwrap_or_default();
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        println!();
        println!("Load average at the end: {load}, on {n_cores} cores.");
    }
}

pub(super) fn json(pace: DaemonBenchPlan, all: &[Figures], goals: &[Goal]) {
    let rows: Vec<_> = all.iter().map(Figures::to_json).collect();
    let goals = goals.iter().map(|goal| json!({ "goal": goal, "mark": goal.mark() }));
    let whole = json!({
        "n_prompts": pace.n_prompts,
        "n_bursts": pace.n_bursts,
        "n_events_of_a_burst": BURST,
        "rows": rows,
        "goals": goals.collect::<Vec<_>>(),
    });
    println!("{whole}");
}
