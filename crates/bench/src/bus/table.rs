//! The measurements as a table, row by row as they come, and as JSON.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use serde_json::{Value, json};

use super::goals::{BusGoalKind, Goal};
use super::point::Point;
use super::router::MeasuredRouter;
use super::series::{self, Figure, Series};
use super::{BusBenchPlan, MeasuredPoint};

/// The most cores that other processes may use: with more, the figures show the scheduler and not
/// the routers.
const QUIET_CORES: f64 = 0.3;

pub(super) fn head(pace: BusBenchPlan, notes: &[String]) {
    println!();
    println!(
        "Round trips through a bus to one echo worker; median of {} × {} ms, in turns.",
        pace.n_rounds,
        pace.measure.as_millis()
    );
    for note in notes {
        println!("Note: {note}.");
    }
    println!();
    println!(
        "{:>6} {:<9} {:>8} {:<12} {:>9} {:>9} {:>9} {:>8} {:>8} {:>6} {:>7}  × reference",
        "bytes",
        "over",
        "sessions",
        "through",
        "per s",
        "p50 µs",
        "p99 µs",
        "CPU µs",
        "RSS MB",
        "lost",
        "wrong"
    );
}

pub(super) fn rows(point: Point, all: &[(MeasuredRouter, Series)]) {
    let reference = all.iter().find(|(through, _)| *through == MeasuredRouter::Reference);
    for (through, series) in all {
        let over = if *through == MeasuredRouter::Floor { "" } else { point.over.name() };
        print!("{:>6} {over:<9} {:>8} {:<12}", point.n_bytes, point.n_sessions, through.name());
        let text = |figure: Option<f64>, n_digits: usize| {
            figure.map_or_else(String::new, |figure| format!("{figure:.n_digits$}"))
        };
        print!(" {:>9}", text(series.median(Figure::PerSecond), 0));
        print!(" {:>9}", text(series.median(Figure::P50), 1));
        print!(" {:>9}", text(series.median(Figure::P99), 1));
        print!(" {:>8}", text(series.median(Figure::Cpu), 2));
        print!(" {:>8}", text(series.median(Figure::ResidentMb), 1));
        print!(" {:>6} {:>7}", series.most_lost(), series.n_wrong());
        let ratio = reference
            .filter(|_| !matches!(through, MeasuredRouter::Floor | MeasuredRouter::Reference))
            .and_then(|(_, reference)| series.ratio(reference, Figure::PerSecond));
        println!("  {}", text(ratio, 2));
        if let Some(why) = series.failures().next() {
            println!("       {} of the runs failed: {why}", series.failures().count());
        }
    }
}

pub(super) fn end(all: &[MeasuredPoint], goals: &[Goal], is_fifo: bool) {
    if !goals.is_empty() {
        println!();
    }
    for goal in goals {
        let limit = match goal.kind {
            BusGoalKind::AtLeast => "at least",
            BusGoalKind::AtMost => "at most",
        };
        let mark = if goal.is_met() { "(met)" } else { "(MISSED)" };
        let (found, unit) = (goal.found, goal.unit);
        println!("{:<56} {found:>8.2}{unit}  {limit} {:.2} {mark}", goal.what, goal.limit);
    }
    if let Some(n_cores) = others(all) {
        println!();
        println!("Other processes kept {n_cores:.2} cores busy meanwhile (median).");
        if n_cores > QUIET_CORES && !is_fifo {
            println!("hint: that is much; measure on a quiet machine, or as root with --fifo");
        }
    }
}

pub(super) fn json(
    pace: BusBenchPlan,
    notes: &[String],
    all: &[MeasuredPoint],
    goals: &[Goal],
) -> anyhow::Result<()> {
    let points = all.iter().flat_map(|(point, series)| {
        series.iter().map(|(through, series)| of_series(*point, *through, series))
    });
    let goals = goals.iter().map(|goal| json!({ "goal": goal, "is_met": goal.is_met() }));
    let whole = json!({
        "n_rounds": pace.n_rounds,
        "measure_ms": u64::try_from(pace.measure.as_millis())?,
        "notes": notes,
        "points": points.collect::<Vec<_>>(),
        "goals": goals.collect::<Vec<_>>(),
        "other_cores": others(all),
    });
    println!("{whole}");
    Ok(())
}

fn of_series(point: Point, through: MeasuredRouter, series: &Series) -> Value {
    json!({
        "through": through.name(),
        "over": (through != MeasuredRouter::Floor).then_some(point.over.name()),
        "n_sessions": point.n_sessions,
        "n_bytes": point.n_bytes,
        "per_second": series.median(Figure::PerSecond),
        "p50_us": series.median(Figure::P50),
        "p99_us": series.median(Figure::P99),
        "cpu_us_per_round_trip": series.median(Figure::Cpu),
        "resident_mb": series.median(Figure::ResidentMb),
        "idle_mb": series.idle_mb(),
        "n_lost": series.most_lost(),
        "n_wrong": series.n_wrong(),
        "failures": series.failures().collect::<Vec<_>>(),
        "runs": series.reports().collect::<Vec<_>>(),
    })
}

fn others(all: &[MeasuredPoint]) -> Option<f64> {
    let reports =
        all.iter().flat_map(|(_, series)| series).flat_map(|(_, series)| series.reports());
    series::median(reports.map(|report| report.other_cores).collect())
}
